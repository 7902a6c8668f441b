// SPDX-License-Identifier: Apache-2.0
// A mock of an agent, built several times: a library of its own for each API,
// with the kit and the wire that agents have. tests/wire/test_meeting.c loads
// them into one process.
#include "agentkit/agent.h"
#include "agentkit/stacks.h"

#include "agents/agent.h"

static uint16_t shape, stack_shape;

static void begin(void) {
    const struct record_shape with_stack = {.kind = TSMITH_KIND_MARKER,
                                            .role = RECORD_EVENT,
                                            .subject = RECORD_SUBJECT_NAME,
                                            .field_count = 4,
                                            .fields = {{TSMITH_FIELD_START, RECORD_TICK, 0},
                                                       {TSMITH_FIELD_CORRELATION, RECORD_VALUE, 0},
                                                       {TSMITH_FIELD_OBJECT, RECORD_VALUE, 0},
                                                       {TSMITH_FIELD_STACK, RECORD_STACK, 0}}};
    shape = numbered_shape(agent.channel);
    stack_shape = channel_shape(agent.channel, &with_stack);
    (void)stacks_start(agent.channel);
}

static const struct agent_spec spec = {.api = AGENT_API, .begin = begin};

static bool attach(void) {
    return agent_attach(&spec);
}

static bool emit(uint64_t emitter, uint64_t number) {
    return agent_on() && numbered_emit(agent.channel, shape, emitter, number, (uint32_t)number % 5);
}

static bool emit_stack(uint64_t emitter, uint64_t number) {
    enum { WORDS = 5 };
    const uint32_t stack = stacks_capture();
    struct ring *own = channel_ring(agent.channel);
    uint64_t *at = own ? ring_reserve(own, WORDS) : NULL;
    if (!at)
        return false;
    at[0] = record_head(stack_shape, WORDS, 0);
    at[1] = clock_tick(own->tick_is_tsc);
    at[2] = number;
    at[3] = emitter;
    at[4] = stack;
    ring_commit(own, WORDS);
    return true;
}

static uint32_t text(const char *bytes) {
    return channel_string_cstr(agent.channel, bytes);
}

static void flight(uint64_t begun, uint64_t ended) {
    channel_begun(agent.channel, 0, begun);
    channel_ended(agent.channel, 0, ended);
}

static const void *ring(void) {
    return channel_ring(agent.channel);
}

AGENT_EXPORT extern const struct mock_agent mock_agent;
AGENT_EXPORT const struct mock_agent mock_agent = {attach, emit, emit_stack, text, flight, ring};
