// SPDX-License-Identifier: Apache-2.0
// Records of commands that a device ran, on the track of their queue: kernels, copies and fills, with the device's times or without.
// For agents that follow the commands themselves (Level Zero, Vulkan). Any thread.
#ifndef AGENTKIT_COMMAND_RECORD_H
#define AGENTKIT_COMMAND_RECORD_H

#include <stdbool.h>
#include <stdint.h>

#include "wire/record_part.h"

enum command_class {
    COMMAND_KERNEL,
    COMMAND_PASS, // a kernel that has no sizes: a render pass
    COMMAND_COPY,
    COMMAND_FILL,
    COMMAND_CLASSES
};

// As the program gave it to the driver.
struct command_facts {
    uint8_t class, operation, direction;
    bool has_bytes;
    uint32_t name, stack; // stack 0: that of the launch
    uint64_t bytes;
    uint64_t global[3]; // 0: unknown, as is `local`
    uint32_t local[3];
};

// The call that had it executed.
struct command_launch {
    uint64_t correlation;
    uint32_t track, host_track; // of the queue; of the calling thread
    uint32_t stack;
    uint64_t not_before; // the call's begin, on a clock of the agent's choice
    uint64_t not_after;  // the tick of its end
};

// When it ran, on the trace clock.
struct command_times {
    uint64_t start, end; // start 0: unknown, which is counted
    bool inferred;       // the device's clock cannot be read: they may be off
};

// While the agent attaches. `more`: the agent's own words, by class; `list`: the last of them, which some records have. NULL: none.
void command_records_register(record_part_add *const *more, record_part_add *list);

void command_record(const struct command_facts *facts, const struct command_launch *launch,
                    const struct command_times *times);
// `more`: the agent's own words, as registered; with_list: the list among them.
void command_record_more(const struct command_facts *facts, const struct command_launch *launch,
                         const struct command_times *times, const uint64_t *more, uint32_t more_count,
                         bool with_list);

#endif
