// SPDX-License-Identifier: Apache-2.0
// Device memory over time, by the program's own ranges (steps, phases), and the segments of an allocator.
#include <string.h>

#include "analyze/memory.h"
#include "base/array.h"
#include "base/sorted.h"

enum { BUCKETS = 100, BLOCK = 256, ROWS_MAX = 10000 };

// A range of the program, all of its instances: what was allocated and freed while one was open.
struct memory_phase {
    uint64_t place;
    uint32_t key; // of ranges.keys
    uint64_t count;
    int64_t allocated, freed, most;
};

static const tsmith_report_column OVER_TIME[] = {
    {"process", TSMITH_CELL_COUNT}, {"device", TSMITH_CELL_COUNT}, {"at", TSMITH_CELL_TIME},
    {"most", TSMITH_CELL_BYTES},    {"live", TSMITH_CELL_BYTES},   {"counter", TSMITH_CELL_BYTES},
    {"reserved", TSMITH_CELL_BYTES}};
static const tsmith_report_column PHASES[] = {
    {"process", TSMITH_CELL_COUNT},   {"device", TSMITH_CELL_COUNT}, {"range", TSMITH_CELL_TEXT},
    {"category", TSMITH_CELL_TEXT},   {"count", TSMITH_CELL_COUNT},  {"most", TSMITH_CELL_BYTES},
    {"allocated", TSMITH_CELL_BYTES}, {"freed", TSMITH_CELL_BYTES},  {"kept", TSMITH_CELL_BYTES}};
static const tsmith_report_column SEGMENTS[] = {
    {"process", TSMITH_CELL_COUNT},   {"device", TSMITH_CELL_COUNT},       {"address", TSMITH_CELL_COUNT},
    {"size", TSMITH_CELL_BYTES},      {"type", TSMITH_CELL_TEXT},          {"stream", TSMITH_CELL_TEXT},
    {"allocated", TSMITH_CELL_BYTES}, {"requested", TSMITH_CELL_BYTES},    {"active", TSMITH_CELL_BYTES},
    {"inactive", TSMITH_CELL_BYTES},  {"largest_free", TSMITH_CELL_BYTES}, {"blocks", TSMITH_CELL_COUNT}};

// ---- what each change adds or takes

// Sums of bytes allocated and freed before each change, and after the last.
struct sums {
    int64_t *allocated, *freed; // count + 1
    int64_t *most;              // of each block of changes: the most alive after one of them
    size_t count;
};

static bool sums_make(const struct memory_place *place, struct sums *sums) {
    struct memory_slots slots = {0};
    const size_t count = place->count;
    *sums = (struct sums){.allocated = calloc(count + 1, sizeof *sums->allocated),
                          .freed = calloc(count + 1, sizeof *sums->freed),
                          .most = malloc((count / BLOCK + 1) * sizeof *sums->most),
                          .count = count};
    const bool done = sums->allocated && sums->freed && sums->most && memory_slots_make(&slots, count);
    for (size_t i = 0; done && i < count; i++) {
        const struct memory_change *change = &place->changes[i];
        struct memory_slot *slot = change->object ? memory_slot(&slots, change->object) : NULL;
        int64_t bytes = 0;
        if (!change->freed) {
            bytes = (int64_t)change->bytes;
            if (slot)
                *slot = (struct memory_slot){change->object, (uint32_t)i};
        } else if (!change->object && !place->objects) {
            bytes = (int64_t)change->bytes;
        } else if (slot && slot->object && slot->change != TSMITH_INDEX_NONE) {
            bytes = (int64_t)place->changes[slot->change].bytes;
            slot->change = TSMITH_INDEX_NONE;
        }
        sums->allocated[i + 1] = sweep_add(sums->allocated[i], change->freed ? 0 : bytes);
        sums->freed[i + 1] = sweep_add(sums->freed[i], change->freed ? bytes : 0);
        const int64_t live = sums->allocated[i + 1] - sums->freed[i + 1];
        if (i % BLOCK == 0 || live > sums->most[i / BLOCK])
            sums->most[i / BLOCK] = live;
    }
    free(slots.items);
    return done;
}

static void sums_finish(struct sums *sums) {
    free(sums->allocated);
    free(sums->freed);
    free(sums->most);
}

// Alive before change `index`.
static int64_t live_at(const struct sums *sums, size_t index) {
    return sums->allocated[index] - sums->freed[index];
}

// The most that was alive from before change `from` to after change `to` - 1.
static int64_t most_of(const struct sums *sums, size_t from, size_t to) {
    int64_t most = live_at(sums, from);
    for (size_t i = from; i < to;) {
        if (i % BLOCK == 0 && i + BLOCK <= to) {
            most = sums->most[i / BLOCK] > most ? sums->most[i / BLOCK] : most;
            i += BLOCK;
        } else {
            const int64_t live = live_at(sums, ++i);
            most = live > most ? live : most;
        }
    }
    return most;
}

// The first change that is not before `time`.
static size_t change_at(const struct memory_place *place, int64_t time) {
    return SORTED_FIND(i, 0, place->count, place->changes[i].time < time);
}

// ---- over time

void memory_times_begin(struct memory_times *times, struct report *report) {
    times->phase_table = REPORT_TABLE(
        report, "phases", "what was allocated, freed and alive while ranges of the program's own were open",
        PHASES);
    times->over_time =
        REPORT_TABLE(report, "over_time",
                     "what was alive, in equal parts of the time: most in a part, and at its end", OVER_TIME);
}

static void write_optional(struct report *report, struct report_table *table, int64_t value) {
    if (value >= 0)
        report_integer(report, table, value);
    else
        report_unknown(report, table);
}

static void write_course(const struct memory_times *times, const struct memory_place *place,
                         const struct sums *sums, struct report *report) {
    const tsmith_interval window = place->context->window;
    const int64_t length = tsmith_time_subtract(window.to, window.from);
    int64_t reserved = -1;
    if (length <= 0 || !place->sized)
        return;
    for (int64_t bucket = 0; bucket < BUCKETS; bucket++) {
        const int64_t from = window.from + (int64_t)((__int128)length * bucket / BUCKETS),
                      to = bucket + 1 == BUCKETS
                               ? window.to
                               : window.from + (int64_t)((__int128)length * (bucket + 1) / BUCKETS);
        const size_t first = change_at(place, from),
                     last = bucket + 1 == BUCKETS ? place->count : change_at(place, to);
        int64_t counter = -1;
        for (size_t i = first; i < last; i++) {
            const struct memory_change *change = &place->changes[i];
            if (change->counted && change->after <= INT64_MAX && (int64_t)change->after > counter)
                counter = (int64_t)change->after;
            if (change->has_reserved && change->reserved <= INT64_MAX)
                reserved = (int64_t)change->reserved;
        }
        memory_write_place(place->context, report, times->over_time, place->changes[0].place);
        report_integer(report, times->over_time, from - window.from);
        report_integer(report, times->over_time, most_of(sums, first, last));
        report_integer(report, times->over_time, live_at(sums, last));
        write_optional(report, times->over_time, counter);
        write_optional(report, times->over_time, reserved);
    }
}

// ---- phases

static struct memory_phase *phase_of(struct memory_times *times, struct tally *keys, size_t first,
                                     uint64_t place, uint32_t key) {
    const uint32_t number = tally_number(keys, key);
    if (number == UINT32_MAX)
        return NULL;
    if (first + number == times->phase_count) {
        struct memory_phase *phase = ARRAY_PUSH(times->phases, times->phase_count, times->phase_capacity);
        if (!phase)
            return NULL;
        *phase = (struct memory_phase){.place = place, .key = key};
    }
    return &times->phases[first + number];
}

static bool add_phase(struct memory_phase *phase, const struct memory_place *place, const struct sums *sums,
                      const struct range *range) {
    const size_t from = change_at(place, range->start), to = change_at(place, range->end);
    const int64_t most = most_of(sums, from, to > from ? to : from);
    phase->count++;
    if (to > from) {
        phase->allocated = sweep_add(phase->allocated, sums->allocated[to] - sums->allocated[from]);
        phase->freed = sweep_add(phase->freed, sums->freed[to] - sums->freed[from]);
    }
    phase->most = most > phase->most ? most : phase->most;
    return true;
}

static bool add_phases(struct memory_times *times, const struct memory_place *place,
                       const struct sums *sums) {
    const struct analysis_context *context = place->context;
    const struct ranges *ranges = context->ranges;
    const uint64_t where = place->changes[0].place;
    struct tally keys = {0};
    bool done = true;
    const size_t first = times->phase_count;
    for (size_t t = 0; done && ranges && t < ranges->track_count; t++) {
        const struct range_track *track = &ranges->tracks[t];
        const tsmith_track *entry = tsmith_dictionary_track(context->dictionary, track->track);
        if (!entry || entry->process != (uint32_t)(where >> 32))
            continue;
        for (size_t i = 0; done && i < track->count; i++) {
            const struct range *range = &track->items[i];
            if (range->start < context->window.from || range->start >= context->window.to ||
                range_key_class(ranges, context->dictionary, range->key) != RANGE_USER)
                continue;
            struct memory_phase *phase = phase_of(times, &keys, first, where, range->key);
            done = phase && add_phase(phase, place, sums, range);
        }
    }
    tally_finish(&keys);
    return done;
}

bool memory_times_add(struct memory_times *times, const struct memory_place *place, struct report *report) {
    struct sums sums;
    bool done = sums_make(place, &sums);
    if (done) {
        write_course(times, place, &sums, report);
        done = add_phases(times, place, &sums);
    }
    sums_finish(&sums);
    return done;
}

static int by_most(const void *left, const void *right) {
    const struct memory_phase *a = left, *b = right;
    if (a->most != b->most)
        return a->most > b->most ? -1 : 1;
    if (a->allocated != b->allocated)
        return a->allocated > b->allocated ? -1 : 1;
    if (a->place != b->place)
        return a->place < b->place ? -1 : 1;
    return a->key < b->key ? -1 : a->key > b->key;
}

void memory_phases_write(struct memory_times *times, const struct analysis_context *context,
                         struct report *report) {
    struct report_table *table = times->phase_table;
    if (times->phase_count)
        qsort(times->phases, times->phase_count, sizeof *times->phases, by_most);
    for (size_t i = 0; i < times->phase_count && i < ROWS_MAX; i++) {
        const struct memory_phase *phase = &times->phases[i];
        memory_write_place(context, report, table, phase->place);
        analysis_range_text(report, table, context, phase->key);
        report_integer(report, table, (int64_t)phase->count);
        report_integer(report, table, phase->most);
        report_integer(report, table, phase->allocated);
        report_integer(report, table, phase->freed);
        report_integer(report, table, phase->allocated - phase->freed);
    }
}

void memory_times_finish(struct memory_times *times) {
    free(times->phases);
}

// ---- segments

void memory_segments_write(const struct memory_segment *segments, size_t count,
                           const struct analysis_context *context, struct report *report) {
    struct report_table *table =
        REPORT_TABLE(report, "segments", "what an allocator had from the driver at the end", SEGMENTS);
    for (size_t i = 0; i < count; i++) {
        const struct memory_segment *segment = &segments[i];
        const uint64_t inactive = segment->bytes > segment->active ? segment->bytes - segment->active : 0;
        const uint64_t cells[] = {segment->allocated, segment->requested,    segment->active,
                                  inactive,           segment->largest_free, segment->blocks};
        memory_write_place(context, report, table, segment->place);
        report_integer(report, table, (int64_t)segment->address);
        report_integer(report, table, (int64_t)segment->bytes);
        report_text(report, table, tsmith_dictionary_string(context->dictionary, segment->type));
        analysis_track_text(report, table, context, segment->track);
        for (size_t j = 0; j < sizeof cells / sizeof *cells; j++)
            report_integer(report, table, (int64_t)cells[j]);
    }
}
