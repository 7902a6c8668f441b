// SPDX-License-Identifier: Apache-2.0
// If ticks are the TSC, CLOCK_MONOTONIC_RAW is the TSC scaled by a constant: the slope from the first
// calibration to the newest becomes more exact. Each segment begins where the previous one ends and aims at the
// time of the newest calibration, so that trace time is continuous, ascending, and as exact as the
// calibrations.
#include "collect/session_clock.h"

#include <string.h>
#include <time.h>

#include "base/sorted.h"

static const int64_t FIRST_BASELINE = 2000000;       // ns
static const int64_t INTERVAL = 250000000;           // ns between calibrations
static const uint32_t INTERVAL_DOUBLES_AFTER = 1024; // segments: a day fits in LAYOUT_SEGMENTS
static const uint64_t UNIT = 1ull << 32;
enum { OFFSET_ATTEMPTS = 16 };

int64_t session_clock_offset_of(clockid_t other, int64_t *error) {
    int64_t best = INT64_MAX, offset = 0;
    for (int i = 0; i < OFFSET_ATTEMPTS; i++) {
        int64_t before = clock_trace_now();
        int64_t there = clock_now(other);
        int64_t after = clock_trace_now();
        if (after - before < best) {
            best = after - before;
            offset = before + best / 2 - there;
        }
    }
    *error = (best + 1) / 2;
    return offset;
}

static uint64_t slope(uint64_t from_tick, int64_t from_trace, uint64_t to_tick, int64_t to_trace) {
    if (to_tick <= from_tick || to_trace <= from_trace)
        return 0;
    unsigned __int128 scale =
        ((unsigned __int128)(uint64_t)(to_trace - from_trace) << 32) / (to_tick - from_tick);
    return scale < (unsigned __int128)UNIT * 1000 ? (uint64_t)scale : 0;
}

static void use_segment(struct session_clock *clock, uint32_t index) {
    const struct layout_segment *segments = clock->control->segments;
    clock->current = segments[index];
    clock->current_end = index + 1 < clock->count ? segments[index + 1].tick : UINT64_MAX;
}

void session_clock_seek(struct session_clock *clock, uint64_t tick) {
    if (clock->count == 0)
        return;
    const uint32_t at = SORTED_FIND(i, 1, clock->count, clock->control->segments[i].tick <= tick) - 1;
    use_segment(clock, at);
    if (at == 0)
        clock->current.tick = clock->control->segments[0].tick; // earlier ticks: the first slope, backwards
}

static void append(struct session_clock *clock, const struct layout_segment *segment) {
    clock->control->segments[clock->count] = *segment;
    clock->count++;
    atomic_store_explicit(&clock->control->segment_count, clock->count, memory_order_release);
    use_segment(clock, clock->count - 1);
}

void session_clock_start(struct session_clock *clock, struct layout_control *control) {
    memset(clock, 0, sizeof *clock);
    clock->control = control;
    if (!control->tick_is_tsc) {
        append(clock, &(struct layout_segment){.scale = UNIT});
        return;
    }
    clock->first = clock_sample_take(true);
    struct clock_sample second;
    do {
        const struct timespec moment = {.tv_nsec = FIRST_BASELINE / 4};
        nanosleep(&moment, NULL);
        second = clock_sample_take(true);
    } while (second.trace - clock->first.trace < FIRST_BASELINE);
    clock->last_sample = second.trace;
    append(clock, &(struct layout_segment){
                      .tick = clock->first.tick,
                      .trace = clock->first.trace,
                      .scale = slope(clock->first.tick, clock->first.trace, second.tick, second.trace),
                      .error = clock->first.error + second.error,
                  });
}

static void describe(struct session_clock *clock, tsmith_dictionary *dictionary) {
    const struct layout_segment *segment = &clock->control->segments[clock->described];
    if (!clock->tick_clock) {
        const char *name = clock->control->tick_is_tsc ? "tsc" : "CLOCK_MONOTONIC_RAW";
        clock->tick_clock = tsmith_dictionary_add_clock(
            dictionary, &(tsmith_clock){.name = tsmith_dictionary_intern_cstr(dictionary, name)});
    }
    tsmith_dictionary_add_clock_pair(dictionary, &(tsmith_clock_pair){.clock = clock->tick_clock,
                                                                      .clock_time = (int64_t)segment->tick,
                                                                      .trace_time = segment->trace,
                                                                      .error = segment->error});
    clock->described++;
}

static tsmith_clock_pair describe_other(tsmith_dictionary *dictionary, clockid_t other, const char *name,
                                        uint32_t *id) {
    if (!*id)
        *id = tsmith_dictionary_add_clock(
            dictionary, &(tsmith_clock){.name = tsmith_dictionary_intern_cstr(dictionary, name)});
    int64_t error;
    int64_t offset = session_clock_offset_of(other, &error);
    int64_t now = clock_trace_now();
    const tsmith_clock_pair pair = {
        .clock = *id, .clock_time = now - offset, .trace_time = now, .error = error};
    tsmith_dictionary_add_clock_pair(dictionary, &pair);
    return pair;
}

static int64_t offset_of(const tsmith_clock_pair *pair) {
    return pair->trace_time - pair->clock_time;
}

static void recalibrate(struct session_clock *clock) {
    struct clock_sample sample = clock_sample_take(true);
    uint64_t scale = slope(clock->first.tick, clock->first.trace, sample.tick, sample.trace);
    int64_t reached = session_clock_convert(clock, sample.tick);
    int64_t off = sample.trace - reached;
    int64_t noise = sample.error + clock->first.error;
    if (scale == 0 || clock->count == LAYOUT_SEGMENTS)
        return;
    int64_t error = (off < 0 ? -off : off) + noise;
    if (off > noise || off < -noise) {
        // Made up for over one interval; never so fast that time would stand still.
        int64_t most = INTERVAL / 2;
        off = off > most ? most : off < -most ? -most : off;
        scale = (uint64_t)((unsigned __int128)scale * (uint64_t)(INTERVAL + off) / (uint64_t)INTERVAL);
    }
    append(clock, &(struct layout_segment){sample.tick, reached, scale, error});
    clock->last_sample = sample.trace;
}

void session_clock_advance(struct session_clock *clock, tsmith_dictionary *dictionary) {
    int64_t now = clock_trace_now();
    int64_t interval = INTERVAL << (clock->count / INTERVAL_DOUBLES_AFTER);
    // Early on the baseline is short: calibrate whenever it has doubled.
    int64_t baseline = clock->last_sample - clock->first.trace;
    if (clock->described > 0 && now - clock->last_sample < (baseline < interval ? baseline : interval))
        return;
    if (clock->control->tick_is_tsc)
        recalibrate(clock);
    else
        clock->last_sample = now;
    while (clock->described < clock->count)
        describe(clock, dictionary);
    _Atomic int64_t *kept = clock->control->host_offsets;
    const tsmith_clock_pair wall = describe_other(dictionary, CLOCK_REALTIME, "CLOCK_REALTIME",
                                                  &clock->realtime_clock),
                            monotonic = describe_other(dictionary, CLOCK_MONOTONIC, "CLOCK_MONOTONIC",
                                                       &clock->monotonic_clock);
    kept[LAYOUT_HOST_REALTIME] = offset_of(&wall);
    kept[LAYOUT_HOST_MONOTONIC] = offset_of(&monotonic);
    wall_clock_describe(&clock->wall, dictionary, &wall);
    int64_t error;
    kept[LAYOUT_HOST_BOOTTIME] = session_clock_offset_of(CLOCK_BOOTTIME, &error);
}

void session_clock_load(struct session_clock *clock, struct layout_control *control,
                        tsmith_dictionary *dictionary) {
    memset(clock, 0, sizeof *clock);
    clock->control = control;
    clock->current = (struct layout_segment){.scale = UNIT};
    clock->current_end = UINT64_MAX;
    uint32_t count = atomic_load_explicit(&control->segment_count, memory_order_acquire);
    count = count < LAYOUT_SEGMENTS ? count : LAYOUT_SEGMENTS;
    for (uint32_t i = 0; i < count; i++) {
        const struct layout_segment *segment = &control->segments[i];
        if (segment->scale == 0 || segment->scale > UNIT * 1000 ||
            (i > 0 && segment[-1].tick >= segment->tick))
            break;
        clock->count++;
    }
    while (clock->described < clock->count)
        describe(clock, dictionary);
    if (control->final_tick && control->tick_is_tsc && clock->count > 0) {
        struct layout_segment *last = &control->segments[clock->count - 1];
        uint64_t scale = slope(last->tick, last->trace, control->final_tick, control->final_trace);
        if (scale)
            last->scale = scale;
    }
    if (clock->count > 0)
        use_segment(clock, clock->count - 1);
}
