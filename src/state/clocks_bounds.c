// SPDX-License-Identifier: Apache-2.0
// The bounds of device clocks: from the launches and waits of a trace. Only recorded facts count; facts inferred
// elsewhere (the queue of a wait that names none, the device of one that could mean several) does not.
#include <stdlib.h>

#include "base/array.h"
#include "state/clocks.h"

// A bound of one device, as it comes.
struct device_bound {
    uint32_t device;
    struct clock_bound bound;
};

struct side {
    struct device_bound *items;
    size_t count, capacity;
};

struct bounds {
    const tsmith_timeline *timeline;
    const struct launch_order *order;
    tsmith_device_clock *clocks; // by device: `low` and `high` are the tightest bounds
    bool keep;                   // all bounds, not only the tightest
    struct side lower, upper;
    bool failed;
};

static void keep_bound(struct bounds *bounds, struct side *side, uint32_t device, int64_t at, int64_t bound) {
    if (bounds->failed || !ARRAY_RESERVE(side->items, side->capacity, side->count + 1)) {
        bounds->failed = true;
        return;
    }
    side->items[side->count++] = (struct device_bound){device, {at, bound}};
}

static void add_lower(struct bounds *bounds, uint32_t device, int64_t at, int64_t bound) {
    tsmith_device_clock *clock = &bounds->clocks[device];
    if (bounds->keep) {
        keep_bound(bounds, &bounds->lower, device, at, bound);
        return;
    }
    clock->launches++;
    clock->low = bound > clock->low ? bound : clock->low; // unknown is below everything
}

static void add_upper(struct bounds *bounds, uint32_t device, int64_t at, int64_t bound) {
    tsmith_device_clock *clock = &bounds->clocks[device];
    if (bounds->keep) {
        keep_bound(bounds, &bounds->upper, device, at, bound);
        return;
    }
    clock->high = !clock->waits++ || bound < clock->high ? bound : clock->high;
}

static void add_launches(struct bounds *bounds) {
    const tsmith_timeline *timeline = bounds->timeline;
    for (uint32_t i = 0; i < timeline->command_count; i++) {
        const tsmith_command *command = &timeline->commands[i];
        timeline_fetch_call(timeline, i, (uint32_t)timeline->command_count);
        if (command->call == TSMITH_INDEX_NONE || command->kind == TSMITH_KIND_COMPILE || command->untimed ||
            !timeline_runs(command))
            continue;
        const tsmith_call *call = &timeline->calls[command->call];
        const uint32_t device = timeline->rows[command->row].device;
        add_lower(bounds, device, command->start, call->start - command->start);
        if (call->blocking && command->direction == TSMITH_DIRECTION_DEVICE_TO_HOST)
            add_upper(bounds, device, command->end, call->end - command->end);
    }
}

static void add_waited(struct bounds *bounds, uint32_t command, int64_t returned) {
    const tsmith_command *waited = &bounds->timeline->commands[command];
    if (!waited->untimed && timeline_runs(waited))
        add_upper(bounds, bounds->timeline->rows[waited->row].device, waited->end, returned - waited->end);
}

static void add_row(struct bounds *bounds, uint32_t row, int64_t before, int64_t returned) {
    const tsmith_row *entry = &bounds->timeline->rows[row];
    const uint32_t count = launch_order_before(bounds->order, entry, before);
    if (count)
        add_waited(bounds, bounds->order->latest[entry->first_command + count - 1], returned);
}

// A wait for the device of a process that has one.
static void add_device_wait(struct bounds *bounds, const tsmith_call *call) {
    const tsmith_timeline *timeline = bounds->timeline;
    const uint32_t process = timeline->threads[call->thread].process;
    uint32_t device = TSMITH_INDEX_NONE;
    for (uint32_t row = 0; row < timeline->row_count; row++) {
        if (timeline->rows[row].process != process)
            continue;
        if (device != TSMITH_INDEX_NONE && device != timeline->rows[row].device)
            return;
        device = timeline->rows[row].device;
    }
    for (uint32_t row = 0; row < timeline->row_count; row++)
        if (timeline->rows[row].process == process)
            add_row(bounds, row, call->start, call->end);
}

static void add_waits(struct bounds *bounds) {
    const tsmith_timeline *timeline = bounds->timeline;
    for (size_t i = 0; i < timeline->call_count; i++) {
        const tsmith_call *call = &timeline->calls[i];
        const struct call_details details = timeline_call_details(timeline, call);
        if (call->role != TSMITH_CALL_WAIT_EVENT)
            for (uint32_t k = 0; k < details.wait_count; k++)
                add_waited(bounds, timeline->waits[details.wait_first + k], call->end);
        if (call->role == TSMITH_CALL_SYNC_QUEUE && call->row != TSMITH_INDEX_NONE && !call->row_inferred)
            add_row(bounds, call->row, call->start, call->end);
        else if (call->role == TSMITH_CALL_SYNC_DEVICE)
            add_device_wait(bounds, call);
        else if (call->role == TSMITH_CALL_SYNC_EVENT && details.record != TSMITH_INDEX_NONE &&
                 timeline->calls[details.record].row != TSMITH_INDEX_NONE)
            add_row(bounds, timeline->calls[details.record].row, timeline->calls[details.record].start,
                    call->end);
    }
}

static bool is_admissible(const tsmith_device_clock *clock) {
    return (!clock->launches || clock->low <= 0) && (!clock->waits || clock->high >= 0);
}

static int by_device(const void *left, const void *right) {
    const struct device_bound *a = left, *b = right;
    return a->device < b->device ? -1 : a->device > b->device;
}

// Moves the bounds of a device, which come next in the sorted side, to the front of `to`.
static size_t take_device(const struct side *side, size_t *at, uint32_t device, struct clock_bound *to) {
    size_t count = 0;
    for (; *at < side->count && side->items[*at].device <= device; ++*at)
        if (side->items[*at].device == device)
            to[count++] = side->items[*at].bound;
    return count;
}

// Fits the clocks to which 0 is not admissible.
static bool fit_clocks(struct bounds *bounds, bool *any) {
    bounds->keep = true;
    add_launches(bounds);
    add_waits(bounds);
    struct clock_bound *lower = malloc((bounds->lower.count + 1) * sizeof *lower),
                       *upper = malloc((bounds->upper.count + 1) * sizeof *upper);
    bool done = lower && upper && !bounds->failed;
    if (done && bounds->lower.count)
        qsort(bounds->lower.items, bounds->lower.count, sizeof *bounds->lower.items, by_device);
    if (done && bounds->upper.count)
        qsort(bounds->upper.items, bounds->upper.count, sizeof *bounds->upper.items, by_device);
    size_t at_lower = 0, at_upper = 0;
    for (uint32_t device = 0; device < bounds->timeline->device_count && done; device++) {
        tsmith_device_clock *clock = &bounds->clocks[device];
        if (is_admissible(clock))
            continue;
        const size_t lowers = take_device(&bounds->lower, &at_lower, device, lower),
                     uppers = take_device(&bounds->upper, &at_upper, device, upper);
        done = clocks_fit(clock, lower, lowers, upper, uppers);
        *any |= clock->state == TSMITH_CLOCK_PLACED;
    }
    free(lower);
    free(upper);
    return done;
}

tsmith_device_clock *clocks_make(const tsmith_timeline *timeline, const struct launch_order *order,
                                 bool *any) {
    struct bounds bounds = {.timeline = timeline, .order = order};
    bounds.clocks = calloc(timeline->device_count + 1, sizeof *bounds.clocks);
    bool admissible = true, done = bounds.clocks;
    *any = false;
    for (size_t i = 0; i < timeline->device_count && done; i++)
        bounds.clocks[i].low = bounds.clocks[i].high = TSMITH_TIME_UNKNOWN;
    if (done) {
        add_launches(&bounds);
        add_waits(&bounds);
    }
    for (size_t i = 0; i < timeline->device_count && done; i++)
        admissible &= is_admissible(&bounds.clocks[i]);
    if (!admissible)
        done = fit_clocks(&bounds, any);
    free(bounds.lower.items);
    free(bounds.upper.items);
    if (done)
        return bounds.clocks;
    free(bounds.clocks);
    return NULL;
}
