// SPDX-License-Identifier: Apache-2.0
// Recording the calling process itself, for a profiler and for a session with agents.
#ifndef API_OWN_PROCESS_H
#define API_OWN_PROCESS_H

#include <stdbool.h>
#include <stddef.h>

#include "tracesmith/capture.h"

struct own_variable {
    char *entry;  // "NAME=VALUE", in `all`
    char *before; // NULL: it was not set
};
struct own_environment {
    char **all; // NULL after the last
    struct own_variable *changed;
    size_t count;
};

// One at a time records this process with agents: false when there is one.
bool own_process_take(void);
void own_process_release(void);

// ERROR_STATE with the reason when an API is in use already, so that its agent comes too late.
tsmith_status own_process_check(tsmith_error *error);
// The session directory that this process is recorded into from outside, if its collector is alive; else NULL.
const char *own_process_recorded(void);

// Sets in this process what a started program would be given. UNSUPPORTED when it needs LD_PRELOAD, which is for children
// only, unless `preload` allows that. `environment` is to be restored or forgotten, also after a failure.
tsmith_status own_process_set(const tsmith_capture_options *options, const char *directory, bool preload,
                              struct own_environment *environment, tsmith_error *error);
void own_process_restore(struct own_environment *environment);
void own_process_forget(struct own_environment *environment);

// Notifies loaded agents that recording was switched.
void own_process_switch(bool on);

#endif
