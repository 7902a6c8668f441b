// SPDX-License-Identifier: Apache-2.0
// CPython's perf trampolines (PYTHONPERFSUPPORT): generated code through which the interpreter calls each Python function, one for each.
// It has no unwind data. For the recording process, while the other process runs.
#ifndef WATCH_PERF_TRAMPOLINES_H
#define WATCH_PERF_TRAMPOLINES_H

#include <stdint.h>

// What the code at a return address does before it returns. The caller's address is 8 bytes above the stack pointer.
enum perf_trampoline {
    PERF_TRAMPOLINE_NONE,              // something else
    PERF_TRAMPOLINE_SKIPS,             // takes 8 bytes off the stack: CPython 3.12 and 3.13
    PERF_TRAMPOLINE_POPS_FRAME_POINTER // CPython 3.14
};

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
