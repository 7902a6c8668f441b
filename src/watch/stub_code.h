// SPDX-License-Identifier: Apache-2.0
// Generated code between the functions of an interpreter, which has no unwind data: CPython's stubs for perf
// (PYTHONPERFSUPPORT), one for each Python function. For the recording process, while the other process runs.
#ifndef WATCH_STUB_CODE_H
#define WATCH_STUB_CODE_H

#include <stdint.h>

// What the code at a return address does before it returns. The caller's address is 8 bytes above the stack pointer.
enum stub_kind {
    STUB_NONE,              // something else
    STUB_SKIPS,             // takes 8 bytes off the stack: CPython 3.12 and 3.13
    STUB_POPS_FRAME_POINTER // CPython 3.14
};

// What was read, by address.
struct stub_code {
    struct {
        uint64_t pc;
        enum stub_kind kind;
    } places[256];
};

// `known` has the answers about this process so far. STUB_NONE too if the process is gone or may not be looked at.
enum stub_kind stub_code_at(struct stub_code *known, unsigned pid, uint64_t pc);

#endif
