// SPDX-License-Identifier: Apache-2.0
// What the files of the analysis of device memory share: the changes (memory.c reads them and balances each place), the calls that
// made them (memory_calls.c), the free memory between blocks (memory_space.c), sites and
// streams (memory_sites.c), phases, the course of time and the segments of allocators (memory_time.c).
#ifndef ANALYZE_MEMORY_H
#define ANALYZE_MEMORY_H

#include <stdlib.h>

#include "analyze/analysis.h"
#include "analyze/tally.h"
#include "base/table.h"
#include "tracesmith/stacks.h"

// The location of memory: the process, and the device's number if the trace has it.
#define MEMORY_DEVICE_UNKNOWN UINT32_MAX

struct memory_change {
    int64_t time;
    uint64_t place;  // process << 32 | device
    uint64_t object; // 0: unknown
    uint64_t bytes;
    uint64_t correlation; // of the call that caused it; 0: unknown
    uint32_t name, stack;
    uint32_t track, thread;   // of the event; of the call, or the same
    uint8_t freed, addressed; // its object is its address on the device
    uint8_t counted;          // `after` is known
    uint8_t unsized : 1;      // `bytes` is not
    uint8_t early : 1;        // it was allocated before the recording began, when is not known
    uint8_t has_reserved : 1; // `reserved` is known
    uint64_t after;           // alive in the place after the change, by a counter of the trace
    uint64_t reserved;        // of the allocator after the change
};

// A piece of memory that an allocator has from the driver, at the end of a snapshot.
struct memory_segment {
    uint64_t place, address, bytes, allocated, requested, active, largest_free, blocks;
    uint32_t track, type;
};

// Objects alive, by number.
struct memory_slot {
    uint64_t object;
    uint32_t change; // the allocation, TSMITH_INDEX_NONE once it is freed
};

struct memory_slots {
    struct memory_slot *items;
    size_t size; // a power of 2
};

static inline bool memory_slots_make(struct memory_slots *slots, size_t objects) {
    slots->size = table_capacity(objects);
    slots->items = calloc(slots->size, sizeof *slots->items);
    return slots->items;
}

static inline struct memory_slot *memory_slot(const struct memory_slots *slots, uint64_t object) {
    return TABLE_SLOT(slots->items, slots->size, object * 0x9e3779b97f4a7c15u >> 20, slot,
                      !slot->object || slot->object == object);
}

// One place: its changes in order, and what is known of them.
struct memory_place {
    const struct analysis_context *context;
    const struct memory_change *changes;
    size_t count;
    size_t peak_change; // after this one most was alive
    int64_t peak;       // by the changes; 0: nothing was
    bool objects;       // which allocation a free is of is known
    bool sized;
};

// ---- memory_calls.c

// Calls that may have allocated or freed, with their stacks: the events of memory have none of their own. A zeroed struct is
// valid.
struct memory_calls {
    struct memory_call *items;
    size_t count, capacity;
    uint8_t *about; // by string: 1 + whether a call of this name may allocate or free
    size_t about_capacity;
};

// Keeps a call, whose stack, time and track are those of `call`. False when memory is exhausted.
bool memory_calls_add(struct memory_calls *calls, const tsmith_dictionary *dictionary,
                      const struct memory_change *call, uint32_t process);
// Gives changes without a stack that of their call, and its thread.
void memory_calls_join(struct memory_calls *calls, struct memory_change *changes, size_t count);
void memory_calls_finish(struct memory_calls *calls);

// ---- memory_space.c

// Bytes of the addresses that blocks have had up to the peak: all of them, those free then, the largest free piece.
struct memory_space {
    uint64_t known, free, largest;
};

// False when memory is exhausted.
bool memory_space_measure(const struct memory_place *place, struct memory_space *space);

// ---- memory_sites.c

struct memory_site {
    uint64_t place;
    uint32_t stack, name, range; // 0: none; a range is the name of one
    uint32_t track;              // of a stream; a site has none
    uint64_t allocations, objects, objects_at_peak;
    int64_t allocated, live, at_peak, most;
    bool objects_known;
};

struct memory_sites {
    struct memory_site *sites, *streams;
    size_t site_count, site_capacity, stream_count, stream_capacity;
    tsmith_stack_names *names;
    struct report_table *site_table, *stream_table;
};

// Begins the tables `sites` and `streams`.
void memory_sites_begin(struct memory_sites *sites, struct report *report);

// Adds the sites and streams of a place. False when memory is exhausted.
bool memory_sites_add(struct memory_sites *sites, const struct memory_place *place);
// Writes the rows of both, those with most at the peak first.
void memory_sites_write(struct memory_sites *sites, const struct analysis_context *context,
                        struct report *report);
void memory_sites_finish(struct memory_sites *sites);
// The path of a stack: a cell.
void memory_write_stack(struct memory_sites *sites, const struct analysis_context *context,
                        struct report *report, struct report_table *table, uint32_t stack);

// ---- memory_time.c

struct memory_times {
    struct report_table *over_time, *phase_table;
    struct memory_phase *phases;
    size_t phase_count, phase_capacity;
};

void memory_times_begin(struct memory_times *times, struct report *report);
// Writes the place's course of time, and adds its phases. False when memory is exhausted.
bool memory_times_add(struct memory_times *times, const struct memory_place *place, struct report *report);
void memory_phases_write(struct memory_times *times, const struct analysis_context *context,
                         struct report *report);
void memory_times_finish(struct memory_times *times);
void memory_segments_write(const struct memory_segment *segments, size_t count,
                           const struct analysis_context *context, struct report *report);

// ---- memory.c

// Process and device of a place: two cells.
void memory_write_place(const struct analysis_context *context, struct report *report,
                        struct report_table *table, uint64_t place);

#endif
