// SPDX-License-Identifier: Apache-2.0
// Launches and waits as they are made: CUPTI's callbacks on the program's own threads. What is noted here under the
// correlation id joins the record that comes later: which thread it was, when, from where (host stack). And it is how
// the ledger knows of kernels that were launched and never heard of again, even when the process is killed. A launch that failed has
// ended: no record comes for it.
#ifndef CUDA_LAUNCHES_H
#define CUDA_LAUNCHES_H

#include "agent.h"
#include "cupti.h"

struct launch {
    uint32_t track; // of the thread; 0: nothing is known of this correlation id
    uint32_t stack; // 0: none
    int64_t time;   // trace clock, when the call began
};

bool launches_init(void);
// Has CUPTI call us at launches and waits. False: CUPTI's error in `result`.
bool launches_subscribe(int *result);
// For a call of the driver or the runtime.
void launches_call(int domain, uint32_t id, const struct cupti_callback_data *data);

// Whether a call launches, waits, copies, sets or allocates.
bool launches_matter(int domain, uint32_t id);

enum launch_use {
    LAUNCH_LOOK,   // only what is known
    LAUNCH_RECORD, // a record of the device has come for it
};
// *ended is counted up when this is the first record of an open launch. False when the id is of no launch or wait that
// was seen.
bool launches_find(uint32_t correlation, enum launch_use use, struct launch *out, uint64_t *ended);

// A node of a graph was made on this thread: if it is within a launch, that was captured, and runs nothing.
void launches_captured(void);

// The correlation id of the launch or wait that began last.
uint32_t launches_newest(void);
uint64_t launches_made(void);
uint64_t launches_open(void); // made, and no record of the device has come yet

#endif
