// SPDX-License-Identifier: Apache-2.0
// The two files by which recording on demand is asked for and answered, in the session directory. on_demand.c (the recorder)
// and on_demand_ask.c (the other side) use it.
#ifndef API_ON_DEMAND_FILES_H
#define API_ON_DEMAND_FILES_H

#include <stdint.h>

#include "tracesmith/on_demand.h"

#define ON_DEMAND_REQUEST "record.wanted" // exists from the request until its end
#define ON_DEMAND_ANSWER "record.state"   // struct on_demand_answer
#define ON_DEMAND_MAGIC UINT64_C(0x6b7361636572736d)

struct on_demand_request {
    uint64_t magic;
    uint64_t steps;
    int64_t duration, at;
    char api[32], step[128], output[4096]; // NUL-terminated
};

struct on_demand_answer {
    uint64_t magic;
    uint32_t state;
    uint32_t reserved;
    char note[512];
};

#endif
