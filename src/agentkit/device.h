// SPDX-License-Identifier: Apache-2.0
// The description of devices and their queues, and directions of copies. Any thread.
#ifndef AGENTKIT_DEVICE_H
#define AGENTKIT_DEVICE_H

#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "agentkit/agent.h"
#include "wire/agent.h"

enum { DEVICE_UUID_BYTES = 16, DEVICE_UUID_TEXT = 41 }; // the latter with a prefix of 4 and the end

// As NVML writes it: the prefix, "GPU-" or "MIG-", and 32 digits in five groups.
static inline void device_uuid_text(const char *prefix, const uint8_t uuid[DEVICE_UUID_BYTES], char *out,
                                    size_t size) {
    size_t length = (size_t)snprintf(out, size, "%s", prefix);
    for (size_t i = 0; i < DEVICE_UUID_BYTES && length < size; i++)
        length += (size_t)snprintf(out + length, size - length, "%s%02x",
                                   i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", uuid[i]);
}

static inline uint32_t device_string(const char *text) {
    return text && *text ? channel_string_cstr(agent.channel, text) : 0;
}

// Adds a device to the channel, described as for `tracesmith devices`. `number`: 1 + the API's own; `identity` as in dictionary.h.
static inline uint32_t device_add(const struct agent_device *described, uint32_t number,
                                  const char *identity) {
    const tsmith_device device = {.name = device_string(described->name),
                                  .vendor = device_string(described->vendor),
                                  .driver = device_string(described->driver),
                                  .api = device_string(described->api),
                                  .type = device_string(described->type),
                                  .memory_bytes = described->memory_bytes,
                                  .compute_units = described->compute_units,
                                  .clock_mhz = described->clock_mhz,
                                  .number = number};
    return channel_device_identified(agent.channel, &device, identity);
}

// The track of something of a device. `queue` and `context`: their numbers, or 0.
static inline uint32_t device_track(tsmith_track_kind kind, const char *name, uint16_t flags, uint32_t device,
                                    uint64_t context, uint64_t queue) {
    const tsmith_track track = {.kind = (uint8_t)kind,
                                .flags = flags,
                                .name = channel_string_cstr(agent.channel, name),
                                .device = device,
                                .context = context,
                                .queue = queue};
    return channel_track(agent.channel, &track);
}
// Of a queue: "WHAT NUMBER".
static inline uint32_t device_queue_track(const char *what, uint64_t number, uint16_t flags, uint32_t device,
                                          uint64_t context) {
    char name[64];
    snprintf(name, sizeof name, "%s %" PRIu64, what, number);
    return device_track(TSMITH_TRACK_QUEUE, name, flags, device, context, number);
}

// The names of copies by direction, where records do not say which call it was.
#define DEVICE_COPY_NAMES(platform)                                                                          \
    {                                                                                                        \
        [TSMITH_DIRECTION_NONE] = "[" platform " memcpy]",                                                   \
        [TSMITH_DIRECTION_HOST_TO_DEVICE] = "[" platform " memcpy HtoD]",                                    \
        [TSMITH_DIRECTION_DEVICE_TO_HOST] = "[" platform " memcpy DtoH]",                                    \
        [TSMITH_DIRECTION_DEVICE_TO_DEVICE] = "[" platform " memcpy DtoD]",                                  \
        [TSMITH_DIRECTION_HOST_TO_HOST] = "[" platform " memcpy HtoH]",                                      \
        [TSMITH_DIRECTION_PEER_TO_PEER] = "[" platform " memcpy PtoP]"                                       \
    }

// The direction of a copy between memories, by whether each is a device's; what a program did that asked for it.
static inline tsmith_direction device_direction(bool from_device, bool to_device) {
    return to_device     ? from_device ? TSMITH_DIRECTION_DEVICE_TO_DEVICE : TSMITH_DIRECTION_HOST_TO_DEVICE
           : from_device ? TSMITH_DIRECTION_DEVICE_TO_HOST
                         : TSMITH_DIRECTION_HOST_TO_HOST;
}
static inline tsmith_operation device_copy_operation(tsmith_direction direction) {
    return direction == TSMITH_DIRECTION_HOST_TO_DEVICE   ? TSMITH_OPERATION_WRITE
           : direction == TSMITH_DIRECTION_DEVICE_TO_HOST ? TSMITH_OPERATION_READ
                                                          : TSMITH_OPERATION_COPY;
}

#endif
