// SPDX-License-Identifier: Apache-2.0
// Reads a command's times from the driver and decides whether they are believed, by the rules in times.h. Rules:
// agent.h.
#include "times.h"

static const int64_t TOLERANCE = 1000000; // ns: what a driver that converts clocks may be off by
static const int64_t DRIFT = 1000;        // ns per tick
static const int64_t APART = 20000000;    // ns between two commands that together place a clock anew

static uint64_t scale; // ns of a tick, << 32

void times_begin(void) {
    scale = channel_tick_scale(agent.channel);
}

static int64_t ns_of(uint64_t tick) {
    return (int64_t)((unsigned __int128)tick * scale >> 32);
}

static bool time_get(cl_event event, cl_profiling_info what, uint64_t *out) {
    return opencl_next.clGetEventProfilingInfo(event, what, sizeof *out, out, NULL) == CL_SUCCESS;
}

bool times_get(cl_event event, struct queue *queue, struct pending_times *times) {
    if (!time_get(event, CL_PROFILING_COMMAND_END, &times->end) ||
        !time_get(event, CL_PROFILING_COMMAND_START, &times->start) ||
        !time_get(event, CL_PROFILING_COMMAND_SUBMIT, &times->submitted) ||
        !time_get(event, CL_PROFILING_COMMAND_QUEUED, &times->queued))
        return false;
    times->complete = 0;
    if (!queue->no_complete_time && !time_get(event, CL_PROFILING_COMMAND_COMPLETE, &times->complete))
        queue->no_complete_time = true;
    return true;
}

// Whether the last command's are these. What takes no time may well happen twice in one tick of a coarse clock.
static bool is_repeated(const struct pending_times *times, struct queue *queue) {
    // Not exchanged: threads that look at commands of one queue at once are in no order anyway.
    const uint64_t start = atomic_load_explicit(&queue->seen_start, memory_order_relaxed);
    const uint64_t end = atomic_load_explicit(&queue->seen_end, memory_order_relaxed);
    atomic_store_explicit(&queue->seen_start, times->start, memory_order_relaxed);
    atomic_store_explicit(&queue->seen_end, times->end, memory_order_relaxed);
    return !queue->pending.out_of_order && times->end > times->start && start == times->start &&
           end == times->end;
}

// Where the device's clock may be: the offset to ours is within these bounds, as seen at a time of ours.
struct bounds {
    int64_t low, high, at;
};

static struct bounds load(const struct clock_bounds *from) {
    return (struct bounds){.low = atomic_load_explicit(&from->low, memory_order_relaxed),
                           .high = atomic_load_explicit(&from->high, memory_order_relaxed),
                           .at = atomic_load_explicit(&from->at, memory_order_relaxed)};
}

// Threads that store at once leave a mixture of what are bounds of one clock.
static void store(struct clock_bounds *to, const struct bounds *bounds) {
    atomic_store_explicit(&to->low, bounds->low, memory_order_relaxed);
    atomic_store_explicit(&to->high, bounds->high, memory_order_relaxed);
    atomic_store_explicit(&to->at, bounds->at, memory_order_relaxed);
}

static int64_t distance(int64_t a, int64_t b) {
    return a > b ? a - b : b - a;
}

// Enough nearly always, and it divides nothing.
static bool agree_without_drift(const struct bounds *a, const struct bounds *b) {
    return a->low <= b->high + TOLERANCE && b->low <= a->high + TOLERANCE;
}

static bool agree(const struct bounds *a, const struct bounds *b) {
    const int64_t tolerance = TOLERANCE + distance(a->at, b->at) / DRIFT;
    return a->low <= b->high + tolerance && b->low <= a->high + tolerance;
}

// For the first command `at` is 0: our clock has been running since before.
static bool is_placed(struct device *device, const struct bounds *seen) {
    const struct bounds known = load(&device->clock);
    if (known.at == 0 || agree_without_drift(&known, seen) || agree(&known, seen)) {
        store(&device->clock, seen);
        // The clock was not set: it is where it was.
        if (atomic_load_explicit(&device->other_clock.at, memory_order_relaxed))
            store(&device->other_clock, &(struct bounds){.at = 0});
        return true;
    }
    const struct bounds other = load(&device->other_clock);
    if (other.at == 0 || !agree(&other, seen)) {
        store(&device->other_clock, seen);
        return false;
    }
    if (distance(other.at, seen->at) < APART)
        return false;
    store(&device->clock, seen);
    store(&device->other_clock, &(struct bounds){.at = 0});
    return true;
}

// Whether the command took no longer than there was between `call` and `now`, both ns.
static bool is_possible(const struct pending_times *times, int64_t call, int64_t now) {
    const int64_t past = now - call, took = (int64_t)(times->end - times->queued);
    return took <= past + TOLERANCE || took <= past + TOLERANCE + past / DRIFT;
}

bool times_believed(const struct pending_times *times, struct queue *queue, uint64_t begun, uint64_t returned,
                    uint64_t *now) {
    const bool repeated = is_repeated(times, queue);
    if (!times->queued || times->submitted < times->queued || times->start < times->submitted ||
        times->end < times->start || repeated || times->end > INT64_MAX / 4)
        return false;
    if (!scale)
        return true;
    const int64_t call = ns_of(begun);
    // Reading the clock costs as much as all the rest: an old reading that proves it possible is good enough.
    if (!is_possible(times, call, ns_of(*now))) {
        *now = agent_tick();
        if (!is_possible(times, call, ns_of(*now)))
            return false;
    }
    const int64_t queued = (int64_t)times->queued;
    const struct bounds seen = {.low = call - queued, .high = ns_of(returned) - queued, .at = call};
    return !queue->device || is_placed(&queue->device->device, &seen);
}
