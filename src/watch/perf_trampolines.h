// SPDX-License-Identifier: Apache-2.0
// The perf trampolines of another process (unwind/perf_trampoline.h). For the recording process, while the other process runs.
#ifndef WATCH_PERF_TRAMPOLINES_H
#define WATCH_PERF_TRAMPOLINES_H

#include <stdint.h>

#include "unwind/perf_trampoline.h"

// What was read, by address.
struct perf_trampolines {
    struct {
        uint64_t pc;
        enum perf_trampoline kind;
    } places[256];
};

// `known` has the answers about this process so far. PERF_TRAMPOLINE_NONE too if the process is gone or may not be looked at.
enum perf_trampoline perf_trampolines_find(struct perf_trampolines *known, unsigned pid, uint64_t pc);

#endif
