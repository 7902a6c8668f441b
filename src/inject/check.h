// SPDX-License-Identifier: Apache-2.0
// Refusals that need no look at a thread: what the process is, and what it has loaded.
#ifndef INJECT_CHECK_H
#define INJECT_CHECK_H

#include "inject/target.h"

bool check_is_kernel_thread(pid_t pid);
tsmith_status check_process(struct inject_target *target, tsmith_error *error);
// After target_map: finds libc and what is needed of it.
tsmith_status check_libraries(struct inject_target *target, tsmith_error *error);
// Whether it is still the same process, with no other tracer.
tsmith_status check_again(const struct inject_target *target, tsmith_error *error);

#endif
