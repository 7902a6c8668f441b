// SPDX-License-Identifier: Apache-2.0
// The agent of Huawei's CANN (Ascend), through MSPTI. CANN has no variable for tools: MSPTI's library and this one are preloaded, and
// the agent starts where libascendcl is (preload/preload.h). MSPTI itself works by taking the place of the runtime's functions.
//
// MSPTI writes packed records into buffers of the agent and returns them full, or when it is flushed every 100 ms; records.c
// translates them. Callbacks of launches note the call stack by thread and time (stacks_here.c): MSPTI does not set the correlation
// id of a callback.
//
// Rules: agentkit/agent.h. In addition:
//   - MSPTI's iterator keeps its place between calls, per thread. So a buffer is always read to its end, and the iterator is reset
//     before (a buffer of no bytes).
//   - While a buffer is returned, MSPTI may hold its lock: nothing but the iterator is called then.
#ifndef CANN_AGENT_H
#define CANN_AGENT_H

#include <stdbool.h>
#include <stdint.h>

#include "agentkit/agent.h"
#include "agentkit/foreign_clock.h"
#include "mspti.h"

#define AGENT_API "cann"

enum { CANN_BUFFER_BYTES = 2 << 20 }; // MSPTI warns of less

struct mspti {
#define MSPTI_POINTER(name, ...) int (*name)(__VA_ARGS__);
    MSPTI_FUNCTIONS(MSPTI_POINTER)
    MSPTI_LATER_FUNCTIONS(MSPTI_POINTER)
#undef MSPTI_POINTER
    void *subscriber;
    uint32_t version; // 0: it does not say
    bool simulated;   // it is a mock of the tests
};
extern struct mspti mspti __attribute__((visibility("hidden")));
extern struct foreign_clock mspti_clock __attribute__((visibility("hidden")));

// ---- records.c

bool records_init(void);
void records_read(uint8_t *buffer, size_t valid);
// At the end: ranges whose end was not seen.
void records_end(void);

// ---- tracks.c, under the lock of records.c

uint32_t tracks_stream(uint32_t device, uint32_t stream);
enum tracks_what { TRACKS_MEMORY, TRACKS_OVERHEAD, TRACKS_EXTERNAL, TRACKS_WHATS };
uint32_t tracks_of_device(uint32_t device, enum tracks_what what);

// ---- stacks_here.c

bool stacks_here_init(void);
// At the begin of a launch, on its thread.
void stacks_here_note(uint32_t stack, int64_t time);
// The stack that the thread had at a time between these, on the trace clock; 0: none.
uint32_t stacks_here_between(uint32_t tid, int64_t start, int64_t end);

#endif
