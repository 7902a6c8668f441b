// SPDX-License-Identifier: Apache-2.0
// Counts for distinguishing tracks with equal names. Part of a dictionary; filled when labels are
// requested.
#ifndef EVENT_LABELS_H
#define EVENT_LABELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/table.h"

struct labels {
    struct table counts; // by hash of what is counted
    uint32_t *ordinals;  // by track: its number among tracks that nothing else distinguishes, from 1
    size_t ordinal_capacity;
    uint32_t tracks_seen;
    bool *with_threads; // by process: a thread of it has a track
    size_t with_threads_capacity;
    uint32_t processes_with_threads;
    uint32_t queue_device; // of the first queue that is on a device
    bool several_devices;  // have queues
    bool failed;           // no memory: labels are names then
};

void labels_finish(struct labels *labels);

#endif
