// SPDX-License-Identifier: Apache-2.0
// Libraries of ours that a process has loaded for an earlier session. Their files may have been removed or replaced since.
#ifndef INJECT_LOADED_H
#define INJECT_LOADED_H

#include <stdint.h>

struct inject_target;

// Where the process has a library with the file name and the build id of the file `own`; 0: nowhere.
uint64_t loaded_at(const struct inject_target *target, const char *own);
// The address of a function that this library exports; 0: it is not loaded, or has no such function.
uint64_t loaded_find(const struct inject_target *target, const char *own, const char *function);

#endif
