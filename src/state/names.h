// SPDX-License-Identifier: Apache-2.0
// The meaning of the names of calls and kernels. The names are facts of the APIs (CUDA, HIP, OpenCL) and of
// the communication libraries; the trace's own kinds and operations have precedence.
#ifndef STATE_NAMES_H
#define STATE_NAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "tracesmith/dictionary.h"
#include "tracesmith/timeline.h"

enum {
    NAME_SEEN = 1 << 0,
    NAME_COMMUNICATION = 1 << 1, // a kernel of a communication library
    NAME_BLOCKING = 1 << 2,      // the call returns only when what it started is complete
    NAME_PAGEABLE = 1 << 3,      // a copy from or to memory that is not pinned
    NAME_DIRECTION_SHIFT = 4,    // tsmith_direction of a copy, 3 bits
    NAME_ROLE_SHIFT = 8          // tsmith_call_role
};

uint16_t names_classify(tsmith_string name);
// Whether a kernel of this name communicates.
bool names_communicates(tsmith_string name);

static inline uint8_t names_role(uint16_t class) {
    return (uint8_t)(class >> NAME_ROLE_SHIFT);
}

static inline uint8_t names_direction(uint16_t class) {
    return class >> NAME_DIRECTION_SHIFT & 7;
}

// The argument of a collective of PyTorch that says among which ranks it is.
#define NAMES_PROCESS_GROUP "Process Group Name"

#endif
