// SPDX-License-Identifier: Apache-2.0
// The call stack of a thread that stood still while its registers and the top of its stack were copied.
#ifndef WATCH_UNWIND_COPY_H
#define WATCH_UNWIND_COPY_H

#include <stdbool.h>
#include <stdint.h>

#include "watch/process_code.h"

struct unwind_copy {
    uint64_t pc, known; // known: a bit per register
    uint64_t registers[CFI_REGISTERS];
    const uint8_t *bytes; // from the stack pointer on
    uint32_t size;
};

struct unwind_copy_frame {
    uint64_t pc;                        // of a frame that waits for a call: where it returns to
    const struct code_mapping *mapping; // NULL: no file's code
    bool is_exact;                      // the program counter is where it stopped
    bool is_guess;                      // it rests on a frame pointer
};

enum unwind_copy_end {
    UNWIND_COPY_OUTERMOST, // the stack is whole
    UNWIND_COPY_FULL,      // there are more frames than room
    UNWIND_COPY_SHORT,     // it continues beyond the copied part
    UNWIND_COPY_LOST,      // no rule for leaving the last frame
};

// Innermost first; how many.
uint32_t unwind_copy_walk(const struct unwind_copy *copy, const struct process_code *code,
                          struct unwind_copy_frame *frames, uint32_t capacity, enum unwind_copy_end *end);

#endif
