// SPDX-License-Identifier: Apache-2.0
// The times that a driver gives for a command, and whether they are possible. Rules: agent.h.
//
// Times of a command are accepted if they
//   - are all there (not 0) and in order: queued, submitted, start, end;
//   - span no more than there was between the call that enqueued it and now;
//   - are not those of the command before it in the same queue, where that runs in order;
//   - place QUEUED, by the device's clock, within the call. Where that clock stands against the host's, the commands before
//     tell: each call bounds it from both sides. Any clock will do that runs at the speed of time; one that is stepped is
//     believed again once two commands, far enough apart and with none between that contradicts them, agree on where it is.
// The first command of a device has nothing to be compared with but itself. A command whose times are rejected has no times.
#ifndef OPENCL_TIMES_H
#define OPENCL_TIMES_H

#include "agent.h"
#include "agentkit/pending.h"
#include "objects.h"

enum { TIMES_TOLERANCE = 1000000 }; // ns: what a driver that converts clocks may be off by

extern uint64_t times_scale; // ns of a tick, << 32
// How many ns of the trace clock a tick is; before the first command.
void times_begin(void);

static inline int64_t times_ns(uint64_t tick) {
    return (int64_t)((unsigned __int128)tick * times_scale >> 32);
}

// Where the device's clock may be: the offset to ours is within these bounds, as seen at a time of ours.
struct times_bounds {
    int64_t low, high, at;
};

static inline struct times_bounds times_load(const struct clock_bounds *from) {
    return (struct times_bounds){.low = atomic_load_explicit(&from->low, memory_order_relaxed),
                                 .high = atomic_load_explicit(&from->high, memory_order_relaxed),
                                 .at = atomic_load_explicit(&from->at, memory_order_relaxed)};
}

// Threads that store at once leave a mixture of what are bounds of one clock.
static inline void times_store(struct clock_bounds *to, struct times_bounds bounds) {
    atomic_store_explicit(&to->low, bounds.low, memory_order_relaxed);
    atomic_store_explicit(&to->high, bounds.high, memory_order_relaxed);
    atomic_store_explicit(&to->at, bounds.at, memory_order_relaxed);
}

static inline bool times_agree(struct times_bounds a, struct times_bounds b, int64_t tolerance) {
    return a.low <= b.high + tolerance && b.low <= a.high + tolerance;
}

// The seldom cases of the function below.
bool times_placed_anew(struct device *device, struct times_bounds seen);
bool times_possible_now(int64_t took, int64_t call, uint64_t *now);

// Whether the last command's are these. What takes no time may well happen twice in one tick of a coarse clock.
static inline bool times_repeated(const struct pending_times *times, struct queue *queue) {
    // Not exchanged: threads that look at commands of one queue at once are in no order anyway.
    const uint64_t start = atomic_load_explicit(&queue->seen_start, memory_order_relaxed);
    const uint64_t end = atomic_load_explicit(&queue->seen_end, memory_order_relaxed);
    atomic_store_explicit(&queue->seen_start, times->start, memory_order_relaxed);
    atomic_store_explicit(&queue->seen_end, times->end, memory_order_relaxed);
    return __builtin_expect(start == times->start, 0) && end == times->end && times->end > times->start &&
           !queue->pending.out_of_order;
}

// For the first command `at` is 0: our clock has been running since before.
static inline bool times_placed(struct device *device, struct times_bounds seen) {
    const struct times_bounds known = times_load(&device->clock);
    // Enough nearly always, and it divides nothing.
    const bool near = known.at == 0 || times_agree(known, seen, TIMES_TOLERANCE);
    if (__builtin_expect(!near || atomic_load_explicit(&device->other_clock.at, memory_order_relaxed), 0))
        return times_placed_anew(device, seen);
    times_store(&device->clock, seen);
    return true;
}

// `begun` and `returned` are the ticks of the call; `now` is any earlier time in ns, 0 at first, made newer when that is too
// early to tell: reading the clock costs as much as all the rest.
static inline bool times_believed(const struct pending_times *times, struct queue *queue, uint64_t begun,
                                  uint64_t returned, uint64_t *now) {
    const bool repeated = times_repeated(times, queue);
    const int64_t queued = (int64_t)times->queued, took = (int64_t)times->end - queued;
    if (!queued || times->submitted < times->queued || times->start < times->submitted ||
        times->end < times->start || repeated || times->end > INT64_MAX / 4)
        return false;
    if (!times_scale)
        return true;
    const int64_t call = times_ns(begun);
    if (took > (int64_t)*now - call + TIMES_TOLERANCE && !times_possible_now(took, call, now))
        return false;
    const struct times_bounds seen = {.low = call - queued, .high = times_ns(returned) - queued, .at = call};
    return !queue->device || times_placed(&queue->device->device, seen);
}

#endif
