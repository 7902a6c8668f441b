// SPDX-License-Identifier: Apache-2.0
// A mock of an agent, built several times: a library of its own for each API, with the kit and the wire that agents have.
// tests/wire/test_meeting.c loads them into one process.
#include "agentkit/agent.h"

#include "agents/agent.h"

static uint16_t shape;

static void begin(void) {
    shape = numbered_shape(agent.channel);
}

static const struct agent_spec spec = {.api = AGENT_API, .begin = begin};

static bool attach(void) {
    return agent_attach(&spec);
}

static bool emit(uint64_t emitter, uint64_t number) {
    return agent_on() && numbered_emit(agent.channel, shape, emitter, number, (uint32_t)number % 5);
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
AGENT_EXPORT const struct mock_agent mock_agent = {attach, emit, text, flight, ring};
