// SPDX-License-Identifier: Apache-2.0
// The totals of `view --stats`: collected once, in time order, then written as text or JSON.
#ifndef CLI_STATS_H
#define CLI_STATS_H

#include "covered.h"
#include "map.h"
#include "views.h"

// Everything of one kind, name, operation and direction.
struct total {
    uint8_t kind, operation, direction;
    uint32_t name;
    uint64_t count;
    uint64_t timed; // how many of them have a duration
    int64_t sum, least, most;
    uint64_t bytes, sized; // `sized`: the number of them with a known size
    uint64_t timed_bytes;  // of those that have a duration
    int64_t bytes_time;    // duration of those whose bytes are known
};

struct track_totals {
    struct covered device_work; // kernels and transfers
    struct covered calls;
    struct covered waiting;
    int64_t work_sum; // of device work, counted for each command
    uint64_t events;
};

struct device_totals {
    struct covered work;
    int64_t work_sum;
    uint64_t commands;
};

// All waits of one kind for one queue, and what ran there in the meantime.
struct wait {
    uint8_t operation;
    uint32_t queue; // track, 0: not known
    uint64_t count;
    int64_t sum;
    int64_t explained; // sum over the causes
};

struct cause {
    uint32_t wait;
    uint8_t kind;
    uint32_t name;
    uint8_t operation;
    int64_t sum;
};

// Calls of a function that failed with the same result.
struct failure {
    uint32_t name;
    int64_t result;
    uint64_t count;
};

struct memory_totals {
    uint64_t allocations, frees;
    uint64_t allocated_bytes, sized; // `sized`: allocations and frees of known size
    uint64_t live, peak;             // bytes
    int64_t peak_at;
};

struct stats {
    struct view *view;
    int64_t from, to; // the window, ns on the trace clock
    uint64_t events;
    uint64_t kinds[TSMITH_KIND_LIMIT];
    struct map total_map, wait_map, cause_map, failure_map;
    struct total *totals;
    struct wait *waits;
    struct cause *causes;
    struct failure *failures; // in the order of the first of each
    size_t total_capacity, wait_capacity, cause_capacity, failure_capacity;
    struct track_totals *tracks;     // by id
    struct device_totals *devices;   // by id
    struct memory_totals *processes; // by id
    uint32_t track_count, device_count, process_count;
    struct covered holes;      // time in which something was not recorded
    uint64_t lost;             // events, from the loss events
    uint64_t partial;          // of those, events that may be in the trace without a part
    uint64_t work, timed_work; // kernels and transfers, and how many of them have times
    bool out_of_memory;
};

void stats_write_text(struct stats *stats);
void stats_write_json(struct stats *stats);

bool stats_is_device_work(uint8_t kind);
// Whether bytes over time are a rate of moved memory: for copies and fills of known size, not for maps.
bool stats_has_rate(const struct total *total);
// Whether the trace has the waits of its host threads. One of another profiler may only have calls, some of which wait.
bool stats_know_waits(const struct stats *stats);
// Indices of the totals that `keep` keeps, largest sum first; the caller frees. NULL when memory is
// exhausted.
uint32_t *stats_sorted(const struct stats *stats, bool (*keep)(const struct total *total, uint8_t kind),
                       uint8_t kind, size_t *count);
uint32_t *stats_sorted_waits(const struct stats *stats, size_t *count);
uint32_t *stats_sorted_causes(const struct stats *stats, uint32_t wait, size_t *count);

#endif
