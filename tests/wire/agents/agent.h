// SPDX-License-Identifier: Apache-2.0
// What a mock of an agent does, for the program that has loaded it. The library
// exports one, "mock_agent".
#ifndef TESTS_WIRE_AGENTS_AGENT_H
#define TESTS_WIRE_AGENTS_AGENT_H

#include "support/numbered.h"

struct mock_agent {
    bool (*attach)(void);
    bool (*emit)(uint64_t emitter, uint64_t number);
    bool (*emit_stack)(uint64_t emitter,
                       uint64_t number); // with the stack of its caller
    uint32_t (*text)(const char *bytes);
    void (*flight)(uint64_t begun, uint64_t ended);
    const void *(*ring)(void); // of the calling thread
};

#endif
