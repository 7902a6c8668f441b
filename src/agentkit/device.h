// SPDX-License-Identifier: Apache-2.0
// What agents say of devices, and counters of devices that have fewer than 64 bits. Pure functions; any thread.
#ifndef AGENTKIT_DEVICE_H
#define AGENTKIT_DEVICE_H

#include <stdint.h>
#include <stdio.h>

enum { DEVICE_UUID_BYTES = 16, DEVICE_UUID_TEXT = 41 }; // the latter with a prefix of 4 and the end

// As NVML writes it: the prefix, "GPU-" or "MIG-", and 32 digits in five groups.
static inline void device_uuid_text(const char *prefix, const uint8_t uuid[DEVICE_UUID_BYTES], char *out,
                                    size_t size) {
    size_t length = (size_t)snprintf(out, size, "%s", prefix);
    for (size_t i = 0; i < DEVICE_UUID_BYTES && length < size; i++)
        length += (size_t)snprintf(out + length, size - length, "%s%02x",
                                   i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", uuid[i]);
}

// How far the counter with these bits is from a reading of it: the nearer of the two ways around.
static inline int64_t device_counter_distance(uint64_t counter, uint64_t reading, uint64_t mask) {
    const uint64_t ahead = (counter - reading) & mask;
    return ahead > mask / 2 ? (int64_t)ahead - (int64_t)mask - 1 : (int64_t)ahead;
}

#endif
