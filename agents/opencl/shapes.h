// SPDX-License-Identifier: Apache-2.0
// The shapes of the agent's records: which parts (record_parts.h) a record has. Rules: agent.h.
//
// A device record is head, the times, and the body that the wrapper built when it enqueued the command:
//   timed:   TIMED (CALIBRATION) (STACK) | body
//   untimed: UNTIMED (START is the call's end) (STACK) | body
// and the body is COMMAND, the part of its class, and (with a wait list) WAITS.
#ifndef OPENCL_SHAPES_H
#define OPENCL_SHAPES_H

#include "agent.h"
#include "record_parts.h"

enum device_class {
    CLASS_KERNEL_1D, // KERNEL_1D
    CLASS_KERNEL,    // KERNEL
    CLASS_COPY,      // COPY
    CLASS_FILL,      // FILL
    CLASS_FREE,      // (nothing)
    CLASS_HOST,      // (nothing): native kernel
    CLASS_MARKER,    // (nothing)
    CLASS_BARRIER,   // (nothing)
    CLASS_LIMIT
};

enum {
    BODY_FIXED = RECORD_PART_WORDS(command_words),
    BODY_MAX = BODY_FIXED + RECORD_PART_WORDS(kernel_words)
};

struct shapes {
    // [1]: with a wait list; [][1]: with CALIBRATION; the last index 1: with the STACK of the call
    uint16_t timed[CLASS_LIMIT][2][2][2];
    uint16_t untimed[CLASS_LIMIT][2][2];
    uint16_t call[2][2];   // CALL; [][1]: and STACK; [1]: and BLOCKING
    uint16_t sync[2];      // SYNC; [1]: and WAITS
    uint16_t memory[2];    // MEMORY; [0] ALLOC, [1] FREE
    uint16_t object;       // OBJECT
    uint16_t compile[2];   // COMPILE; [1]: and RESULT
    uint16_t first_launch; // FIRST_LAUNCH, on the queue's track
};
extern struct shapes shapes;
extern const uint8_t shapes_kinds[CLASS_LIMIT]; // tsmith_kind

void shapes_register(struct channel *channel);

#endif
