// SPDX-License-Identifier: Apache-2.0
// Generated code between the functions of an interpreter, which has no unwind data and no frame pointer: CPython's stubs for
// perf (PYTHONPERFSUPPORT), one for each Python function. For the recording process, while the other process runs.
#ifndef WATCH_STUB_CODE_H
#define WATCH_STUB_CODE_H

#include <stdbool.h>
#include <stdint.h>

// What was read, by address.
struct stub_code {
    struct {
        uint64_t pc;
        bool is_stub;
    } places[256];
};

// Whether the code at a return address only takes 8 bytes off the stack and returns. `known` has the answers about this process so
// far. False too if the process is gone or may not be looked at.
bool stub_code_is_at(struct stub_code *known, unsigned pid, uint64_t pc);

#endif
