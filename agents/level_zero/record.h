// SPDX-License-Identifier: Apache-2.0
// Writing records: calls, waits, memory, compilations, and commands of the device. Rules: agent.h.
#ifndef LEVEL_ZERO_RECORD_H
#define LEVEL_ZERO_RECORD_H

#include "agentkit/device.h"
#include "objects.h"

void record_init(void);

// The API event of a call that has returned.
void record_call(const struct frame *frame);
void record_wait(const struct frame *frame, tsmith_operation operation);
void record_memory(const struct frame *frame, tsmith_kind kind, const struct memory *memory, uint64_t live);
void record_compile(const struct frame *frame, const char *options);

// A command that ran: on which track, launched by which call of which thread.
struct launch {
    uint64_t correlation;
    uint32_t track, host_track;
    uint32_t stack;
    uint64_t not_before, not_after; // ticks around the call
};

// On the trace clock. Times of 0: they are not known, which is counted.
void record_command(const struct command *command, const struct launch *launch, uint64_t start, uint64_t end);

// The track of a queue, or of an immediate list.
uint32_t record_queue_track(const struct object *queue, const char *what, const struct object *device,
                            const struct object *context);

#endif
