// SPDX-License-Identifier: Apache-2.0
// Records of what the program called, on the calling thread: calls, waits, memory, compilations. For agents that see a call begin and
// end (Level Zero, Vulkan). Any thread.
#ifndef AGENTKIT_CALL_RECORD_H
#define AGENTKIT_CALL_RECORD_H

#include <stdbool.h>
#include <stdint.h>

#include "wire/record_part.h"

// A call of the program. Ids and ticks of 0: unknown.
struct agent_call {
    uint64_t start, end; // ticks; one of them is 0 in a call that is not recorded
    uint64_t correlation;
    uint32_t name;
    uint32_t stack;
    uint32_t track; // of the queue
};

static inline bool call_is_recorded(const struct agent_call *call) {
    return call->start && call->end;
}

// Memory, as the program has it from the driver.
struct memory_facts {
    uint64_t bytes, number, address; // number: of the object
    uint8_t operation;
    uint64_t more; // the agent's own word
};

// While the agent attaches. `more`: the agent's own word of memory; NULL: none.
void call_records_register(record_part_add *more);

// Only of calls that are recorded.
void call_record(const struct agent_call *call, int64_t result);
void call_record_void(const struct agent_call *call);
// `waits`: the correlation ids of what it waited for.
void call_record_wait(const struct agent_call *call, tsmith_operation operation, uint32_t count,
                      const uint64_t *waits);
// `name` 0: the call's; `options` may be NULL.
void call_record_compile(const struct agent_call *call, uint32_t name, const char *options, int64_t result);

// Of all calls, for they keep count of the live bytes; recorded if the call is.
void call_record_alloc(const struct agent_call *call, const struct memory_facts *memory);
void call_record_free(const struct agent_call *call, const struct memory_facts *memory);

#endif
