// SPDX-License-Identifier: Apache-2.0
// Keeps the table of the program's events; the invariants are in events.h. Rules: agent.h.
#include "events.h"

#include "agentkit/map.h"

enum { LOG2_BUCKETS = 13 }; // 65,536 events alive at once

#define HELD 1u
#define REFERENCE 2u
#define REFERENCES 0xffffu // mask of HELD and the references
#define CORRELATION_SHIFT 16

static struct map table;

bool events_init(void) {
    return map_init(&table, LOG2_BUCKETS);
}

void events_forget(void) {
    for (size_t i = 0; i < (size_t)MAP_SLOTS << LOG2_BUCKETS; i++)
        atomic_store(&table.slots[i].key, 0);
}

bool events_add(cl_event event, uint64_t correlation, bool held) {
    return map_put(&table, event, correlation << CORRELATION_SHIFT | REFERENCE | (held ? HELD : 0));
}

uint64_t events_correlation(cl_event event) {
    return map_get(&table, event) >> CORRELATION_SHIFT;
}

bool events_held(cl_event event) {
    return map_get(&table, event) & HELD;
}

void events_unhold(cl_event event, uint64_t correlation) {
    _Atomic uint64_t *place = map_slot(&table, event);
    if (!place)
        return;
    uint64_t value = atomic_load(place);
    while (value >> CORRELATION_SHIFT == correlation && (value & HELD))
        if (atomic_compare_exchange_weak(place, &value, value & ~(uint64_t)HELD))
            return;
}

void events_retain(cl_event event) {
    _Atomic uint64_t *place = map_slot(&table, event);
    if (!place)
        return;
    uint64_t value = atomic_load(place);
    // A count that no longer fits stays where it is: the entry then outlives its event, and is replaced when
    // the address comes again.
    while ((value & REFERENCES) < REFERENCES - REFERENCE)
        if (atomic_compare_exchange_weak(place, &value, value + REFERENCE))
            return;
}

void events_release(cl_event event) {
    _Atomic uint64_t *place = map_slot(&table, event);
    if (!place)
        return;
    uint64_t value = atomic_load(place);
    do {
        if ((value & REFERENCES) < 2 * REFERENCE) {
            map_remove(&table, event);
            return;
        }
    } while (!atomic_compare_exchange_weak(place, &value, value - REFERENCE));
}

uint32_t events_list(uint64_t *at, uint32_t count, const cl_event *events) {
    uint32_t known = 0;
    for (uint32_t i = 0; i < count && known < EVENTS_LIST_MAX; i++) {
        const uint64_t correlation = events_correlation(events[i]);
        if (correlation)
            at[++known] = correlation;
    }
    *at = known;
    return known + 1;
}
