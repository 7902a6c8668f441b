// SPDX-License-Identifier: Apache-2.0
// Adds events to buckets in order of time, so that only one bucket is open at any moment. fill.c and read.c call it.
#include "tiles/load.h"

#include <string.h>

enum { SHARE_MOST = 65535 };

static int64_t bucket_start(const struct load *load, size_t bucket) {
    return load->from + (int64_t)((uint64_t)bucket << load->shift);
}

void load_begin(struct load *load, int64_t from, unsigned shift, tsmith_bucket *buckets, size_t count) {
    memset(load, 0, sizeof *load);
    load->from = load->covered = load->time = from;
    load->shift = shift;
    load->scale = SHARE_MOST / (double)(UINT64_C(1) << shift);
    load->buckets = buckets;
    load->count = count;
}

static uint64_t key_of(uint32_t name, uint8_t kind) {
    return (uint64_t)kind << 32 | name;
}

// Where the search for a name begins. Names of a trace are numbered one after the other, so that few share a place.
static unsigned slot_of(uint32_t name, uint8_t kind) {
    return (name + kind * 37u) % LOAD_NAMES;
}

static void find_name(struct load *load, unsigned slot, uint64_t key, uint64_t time) {
    const uint64_t stamp = load->at + 1;
    for (;; slot = (slot + 1) % LOAD_NAMES) { // ends: at most half of the entries are in use
        struct load_name *entry = &load->names[slot];
        if (entry->bucket != stamp) {
            if (load->name_count == sizeof load->used)
                return;
            load->used[load->name_count++] = (uint8_t)slot;
            *entry = (struct load_name){key, time, stamp};
            return;
        }
        if (entry->key == key) {
            entry->time += time;
            return;
        }
    }
}

static inline void add_name(struct load *load, uint32_t name, uint8_t kind, uint64_t time) {
    const uint64_t key = key_of(name, kind);
    const unsigned slot = slot_of(name, kind);
    struct load_name *entry = &load->names[slot];
    if (entry->key == key && entry->bucket == load->at + 1)
        entry->time += time;
    else
        find_name(load, slot, key, time);
}

static void write_bucket(struct load *load) {
    tsmith_bucket *out = &load->buckets[load->at];
    const struct load_name *most = NULL;
    for (unsigned i = 0; i < load->name_count; i++) {
        const struct load_name *entry = &load->names[load->used[i]];
        if (!most || entry->time > most->time)
            most = entry;
    }
    out->busy = (uint16_t)((double)load->busy * load->scale + 0.5);
    if (load->busy && !out->busy)
        out->busy = 1; // little is not nothing
    out->events = load->events < UINT32_MAX ? (uint32_t)load->events : UINT32_MAX;
    out->flags = load->flags;
    out->name = most ? (uint32_t)most->key : 0;
    out->kind = most ? (uint8_t)(most->key >> 32) : 0;
}

// Gives the time up to `time`, which is in the bucket, to what ran last.
static void pass_time(struct load *load, int64_t time) {
    while (load->time < time && load->open_count) {
        const struct load_open *last = &load->open[load->open_count - 1];
        const int64_t to = last->end < time ? last->end : time;
        if (to > load->time) {
            add_name(load, last->name, last->kind, (uint64_t)(to - load->time));
            load->time = to;
        }
        if (last->end <= time)
            load->open_count--;
    }
    load->time = time;
}

// Begins the next bucket with what still runs in it.
static void go_to_next(struct load *load) {
    pass_time(load, bucket_start(load, load->at + 1));
    write_bucket(load);
    load->at++;
    load->busy = load->events = 0;
    load->flags = 0;
    load->name_count = 0;
    const int64_t start = bucket_start(load, load->at), end = bucket_start(load, load->at + 1);
    if (load->covered > start)
        load->busy = (uint64_t)((load->covered < end ? load->covered : end) - start);
    for (unsigned i = 0; i < load->open_count; i++)
        load->flags |= load->open[i].end > start ? load->open[i].flags : 0;
}

static void go_to(struct load *load, size_t bucket) {
    while (load->at < bucket && load->at < load->count) {
        if (!load->events && !load->name_count && !load->busy && !load->open_count) {
            load->at = bucket; // nothing runs from here to there
            load->time = bucket_start(load, bucket);
        } else {
            go_to_next(load);
        }
    }
}

static void keep_open(struct load *load, const struct tile_event *event) {
    if (load->open_count == LOAD_OPEN) {
        load->open_count--;
        memmove(load->open, load->open + 1, load->open_count * sizeof *load->open);
    }
    load->open[load->open_count++] = (struct load_open){event->end, event->name, event->kind, event->flags};
}

void load_add(struct load *load, const struct tile_event *event) {
    const int64_t limit = bucket_start(load, load->count);
    const bool starts_before = event->start < load->from;
    if (event->start >= limit || (starts_before && event->end <= load->from))
        return;
    go_to(load, starts_before ? 0 : (size_t)((uint64_t)(event->start - load->from) >> load->shift));
    const int64_t start = bucket_start(load, load->at), end = bucket_start(load, load->at + 1);
    const int64_t from = event->start > start ? event->start : start,
                  to = event->end < end ? event->end : end;
    load->events += !starts_before;
    load->flags |= event->flags;
    pass_time(load, from > load->time ? from : load->time);
    add_name(load, event->name, event->kind, 0);
    if (event->end <= from || event->is_idle)
        return;
    if (to > load->covered)
        load->busy += (uint64_t)(to - (from > load->covered ? from : load->covered));
    if (event->end > load->covered)
        load->covered = event->end;
    keep_open(load, event);
}

// Adds rows from `row` on while each lies in the bucket that is being filled and ends before the next begins: nothing has to be kept
// for later then. Returns the first row that is not so; row `to` - 1 at the latest, since what follows it is not known.
static uint32_t add_plain(struct load *load, const struct tile_rows *rows, uint32_t row, uint32_t to) {
    const int64_t end = bucket_start(load, load->at + 1) + rows->origin;
    const int64_t origin = rows->origin, *starts = rows->starts, *durations = rows->duration.values;
    const uint8_t *kinds = rows->kind.values; // every event has one
    const uint8_t needed = rows->is_queue ? TRAIT_WORK : 0;
    const uint32_t first = row;
    int64_t time = load->time + origin, covered = load->covered + origin;
    uint64_t busy = load->busy;
    uint8_t flags = load->flags;
    for (; row + 1 < to; row++) {
        const int64_t start = starts[row], next = starts[row + 1] < end ? starts[row + 1] : end;
        const uint8_t trait = tile_traits[kinds[row]];
        if (start >= end || (trait & needed) != needed || kinds[row] == TSMITH_KIND_SUM ||
            !tsmith_view_has(&rows->duration, row) || (uint64_t)durations[row] > (uint64_t)(next - start))
            break;
        if (load->open_count) {
            load->time = time - origin;
            pass_time(load, (start > time ? start : time) - origin);
        }
        const int64_t stop = start + durations[row];
        if (stop > covered) {
            busy += (uint64_t)(stop - (start > covered ? start : covered));
            covered = stop;
        }
        add_name(load, tsmith_view_id(&rows->name, row), kinds[row], (uint64_t)durations[row]);
        flags |= trait & TRAIT_FLAGS;
        time = stop;
    }
    load->time = time - origin;
    load->covered = covered - origin;
    load->busy = busy;
    load->events += row - first;
    load->flags = flags;
    return row;
}

void load_add_rows(struct load *load, const struct tile_rows *rows, uint32_t row, uint32_t to) {
    while (row < to) {
        const int64_t start = rows->starts[row] - rows->origin;
        const uint64_t bucket = (uint64_t)(start - load->from) >> load->shift;
        if (start >= load->from && bucket < load->count) {
            go_to(load, (size_t)bucket);
            if (load->at == bucket) // a file with a wrong index may have an event before it
                row = add_plain(load, rows, row, to);
        }
        const struct tile_event event = tile_event_of(rows, row);
        load_add(load, &event);
        row++;
    }
}

void load_end(struct load *load) {
    go_to(load, load->count);
}
