// SPDX-License-Identifier: Apache-2.0
// The shapes of the agent's records: which word of a record is which field. Rules: agent.h.
//
// A device record is head, the times, and the body that the wrapper built when it enqueued the command:
//   timed:   START END QUEUED SUBMITTED COMPLETED (NOT_BEFORE NOT_AFTER) (STACK) | body
//   untimed: START (the call's end)  RESULT INFERRED                   (STACK) | body
// and the body is CORRELATION HOST_TRACK NAME OPERATION, the words of its class, and (with waits) the list.
#ifndef OPENCL_SHAPES_H
#define OPENCL_SHAPES_H

#include "agent.h"

enum device_class {
    CLASS_KERNEL_1D, // GLOBAL_X LOCAL_X
    CLASS_KERNEL,    // GLOBAL_X..Z LOCAL_X..Z OFFSET_X..Z
    CLASS_COPY,      // DIRECTION BYTES SOURCE DESTINATION FLAGS
    CLASS_FILL,      // BYTES DESTINATION
    CLASS_FREE,      // (nothing)
    CLASS_HOST,      // (nothing): native kernel
    CLASS_MARKER,    // (nothing)
    CLASS_BARRIER,   // (nothing)
    CLASS_LIMIT
};

enum {
    TIMED_WORDS = 5,
    CALIBRATION_WORDS = 2,
    UNTIMED_WORDS = 3,
    BODY_FIXED = 4,
    BODY_CLASS_MAX = 9,
    BODY_MAX = BODY_FIXED + BODY_CLASS_MAX
};

struct shapes {
    // [1]: with a wait list; [][1]: with NOT_BEFORE and NOT_AFTER; the last index 1: with the STACK of the call
    uint16_t timed[CLASS_LIMIT][2][2][2];
    uint16_t untimed[CLASS_LIMIT][2][2];
    uint16_t call[2][2];   // START END CORRELATION QUEUE_TRACK RESULT; [][1]: and STACK; [1]: and BLOCKING
    uint16_t sync[2];      // START END OPERATION QUEUE_TRACK CORRELATION; [1]: and WAITS
    uint16_t memory[2];    // START END OPERATION BYTES FLAGS OBJECT PARENT LIVE_BYTES; [0] ALLOC, [1] FREE
    uint16_t object;       // START END OPERATION OBJECT PARENT QUEUE_TRACK FLAGS TEXT
    uint16_t compile[2];   // START END OPERATION OBJECT TEXT; [1]: and RESULT
    uint16_t first_launch; // START END OPERATION NAME CORRELATION HOST_TRACK INFERRED, on the queue's track
};
extern struct shapes shapes;

void shapes_register(struct channel *channel);

#endif
