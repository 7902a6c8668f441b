// SPDX-License-Identifier: Apache-2.0
// Rules: agent.h. The comparisons lie in a ring that one thread writes; readers take those that are not about to be
// overwritten. Where two comparisons tell of a jump (somebody set the clock), a time between them belongs to the
// nearer one.
#include "timebase.h"

#include "agent.h"
#include "library.h"

enum { PLACES = 1024, SPARE = 8, ATTEMPTS = 5 };
static const int64_t SLEW = 1000;            // 1 / this: more than any clock is slewed by
static const uint64_t BEYOND = 10000000000u; // ns that the newest comparison holds for

struct comparison {
    _Atomic uint64_t time; // of CUPTI
    _Atomic int64_t offset;
};
static struct comparison places[PLACES];
static _Atomic uint32_t count;
static _Atomic int64_t worst;

static bool cupti_now(uint64_t *time) {
    return (cupti.shared ? cupti.GetTimestamp_v2(cupti.subscriber, time) : cupti.GetTimestamp(time)) ==
           CUPTI_OK;
}

bool timebase_compare(void) {
    int64_t best = INT64_MAX, offset = 0;
    uint64_t at = 0;
    for (int i = 0; i < ATTEMPTS; i++) {
        uint64_t time;
        const int64_t before = clock_trace_now();
        if (!cupti_now(&time))
            return false;
        const int64_t after = clock_trace_now();
        if (after - before < best) {
            best = after - before;
            offset = (int64_t)((uint64_t)(before + best / 2) - time);
            at = time;
        }
    }
    const uint32_t next = atomic_load_explicit(&count, memory_order_relaxed);
    atomic_store_explicit(&places[next % PLACES].time, at, memory_order_relaxed);
    atomic_store_explicit(&places[next % PLACES].offset, offset, memory_order_relaxed);
    atomic_store_explicit(&count, next + 1, memory_order_release);
    if (best > atomic_load_explicit(&worst, memory_order_relaxed))
        atomic_store_explicit(&worst, best, memory_order_relaxed);
    return true;
}

int64_t timebase_error(void) {
    return (atomic_load_explicit(&worst, memory_order_relaxed) + 1) / 2;
}

static uint64_t time_of(uint32_t i) {
    return atomic_load_explicit(&places[i % PLACES].time, memory_order_relaxed);
}

static int64_t offset_of(uint32_t i) {
    return atomic_load_explicit(&places[i % PLACES].offset, memory_order_relaxed);
}

static void between(struct timebase *base, uint32_t i, uint64_t time) {
    const uint64_t low = time_of(i), high = time_of(i + 1);
    const int64_t change = offset_of(i + 1) - offset_of(i), length = (int64_t)(high - low);
    const uint64_t middle = low + (high - low) / 2;
    const bool jump = change > length / SLEW + SLEW || -change > length / SLEW + SLEW;
    *base = (struct timebase){.low = low, .high = high, .offset = offset_of(i)};
    if (!jump)
        base->slope = (double)change / (double)length;
    else if (time < middle)
        base->high = middle;
    else
        base->low = middle, base->offset = offset_of(i + 1);
}

void timebase_look_up(struct timebase *base, uint64_t time) {
    const uint32_t known = atomic_load_explicit(&count, memory_order_acquire);
    const uint32_t oldest = known > PLACES - SPARE ? known - (PLACES - SPARE) : 0;
    if (known == 0)
        return;
    uint32_t i = known;
    while (i > oldest && time_of(i - 1) > time)
        i--;
    if (i == known) // the newest comparison is older: it holds until there is a newer one
        *base =
            (struct timebase){.low = time_of(known - 1), .high = time + 1, .offset = offset_of(known - 1)};
    else if (i == oldest)
        *base = (struct timebase){.low = time, .high = time_of(oldest), .offset = offset_of(oldest)};
    else
        between(base, i - 1, time);
    if (i == known && time - base->low < BEYOND)
        base->high = base->low + BEYOND;
}
