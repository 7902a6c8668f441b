// SPDX-License-Identifier: Apache-2.0
// Prepares the agents for a session of the calling process. The session continues without agents that come too late.
#include "api/session_agents.h"

#include <stdio.h>
#include <string.h>

#include "base/status.h"

tsmith_status session_agents_check(const tsmith_capture_options *options, tsmith_error *error) {
    const char *what = options->recording          ? "recording"
                       : options->gpu_counter_rate ? "gpu_counter_rate"
                       : options->environment      ? "environment"
                                                   : NULL;
    return !what
               ? TSMITH_OK
               : status_set(error, TSMITH_ERROR_INVALID_ARGUMENT,
                            "a session cannot use the capture option %s: it is for programs that are started",
                            what);
}

// Agents that are preloaded come too late for this process.
static void note_preload(struct session_agents *agents) {
    static const char PRELOAD[] = "LD_PRELOAD=";
    for (size_t i = 0; i < agents->environment.count; i++) {
        const char *entry = agents->environment.changed[i].entry;
        if (strncmp(entry, PRELOAD, sizeof PRELOAD - 1) != 0)
            continue;
        const bool opencl = strstr(entry, "libtracesmith-opencl") != NULL;
        snprintf(agents->note, sizeof agents->note,
                 "%s recorded in programs that this process starts, not in this process: %s",
                 opencl ? "OpenCL is" : "MACA and CANN are",
                 opencl ? "the OpenCL loader of this machine does not support layers"
                        : "their agents are loaded before a program begins");
    }
}

tsmith_status session_agents_begin(struct session_agents *agents, const tsmith_capture_options *options,
                                   const char *directory, tsmith_error *error) {
    const char *recorded = own_process_recorded();
    tsmith_error late;
    if (recorded) {
        snprintf(agents->note, sizeof agents->note,
                 "GPU calls of this process are recorded into %s already, and not into this file", recorded);
        return TSMITH_OK;
    }
    if (!own_process_take()) {
        snprintf(agents->note, sizeof agents->note,
                 "GPU calls of this process are recorded by another session or profiler of it, and not into "
                 "this file");
        return TSMITH_OK;
    }
    agents->on = true;
    if (own_process_check(&late) != TSMITH_OK)
        snprintf(agents->note, sizeof agents->note, "not recorded in this process: %.400s", late.message);
    const tsmith_status status = own_process_set(options, directory, true, &agents->environment, error);
    if (status)
        session_agents_end(agents);
    else if (!agents->note[0])
        note_preload(agents);
    return status;
}

void session_agents_end(struct session_agents *agents) {
    if (!agents->on)
        return;
    own_process_restore(&agents->environment);
    own_process_release();
    agents->on = false;
}
