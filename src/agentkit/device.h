// SPDX-License-Identifier: Apache-2.0
// The description of devices and their queues, and counters of devices with fewer than 64 bits. Any thread.
#ifndef AGENTKIT_DEVICE_H
#define AGENTKIT_DEVICE_H

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>

#include "agentkit/agent.h"

enum { DEVICE_UUID_BYTES = 16, DEVICE_UUID_TEXT = 41 }; // the latter with a prefix of 4 and the end

// As NVML writes it: the prefix, "GPU-" or "MIG-", and 32 digits in five groups.
static inline void device_uuid_text(const char *prefix, const uint8_t uuid[DEVICE_UUID_BYTES], char *out,
                                    size_t size) {
    size_t length = (size_t)snprintf(out, size, "%s", prefix);
    for (size_t i = 0; i < DEVICE_UUID_BYTES && length < size; i++)
        length += (size_t)snprintf(out + length, size - length, "%s%02x",
                                   i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", uuid[i]);
}

// The track "WHAT NUMBER" of a queue; `context`: the number of its context, or 0.
static inline uint32_t device_queue_track(const char *what, uint64_t number, uint16_t flags, uint32_t device,
                                          uint64_t context) {
    char name[64];
    snprintf(name, sizeof name, "%s %" PRIu64, what, number);
    const tsmith_track track = {.kind = TSMITH_TRACK_QUEUE,
                                .flags = flags,
                                .name = channel_string_cstr(agent.channel, name),
                                .device = device,
                                .context = context,
                                .queue = number};
    return channel_track(agent.channel, &track);
}

// How far the counter with these bits is from a reading of it: the nearer of the two ways around.
static inline int64_t device_counter_distance(uint64_t counter, uint64_t reading, uint64_t mask) {
    const uint64_t ahead = (counter - reading) & mask;
    return ahead > mask / 2 ? (int64_t)ahead - (int64_t)mask - 1 : (int64_t)ahead;
}

#endif
