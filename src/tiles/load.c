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
    load->buckets = buckets;
    load->count = count;
}

static void add_name(struct load *load, uint32_t name, uint8_t kind, uint64_t time) {
    const uint32_t stamp = (uint32_t)load->at + 1;
    unsigned slot = (name * 0x9E3779B1u ^ kind * 0x85EBCA6Bu) >> 25;
    for (;; slot = (slot + 1) % LOAD_NAMES) { // ends: at most half of the entries are in use
        struct load_name *entry = &load->names[slot];
        if (entry->bucket != stamp) {
            if (load->name_count == sizeof load->used)
                return;
            load->used[load->name_count++] = (uint8_t)slot;
            *entry = (struct load_name){time, name, stamp, kind};
            return;
        }
        if (entry->name == name && entry->kind == kind) {
            entry->time += time;
            return;
        }
    }
}

static void write_bucket(struct load *load) {
    tsmith_bucket *out = &load->buckets[load->at];
    const struct load_name *most = NULL;
    for (unsigned i = 0; i < load->name_count; i++) {
        const struct load_name *entry = &load->names[load->used[i]];
        if (!most || entry->time > most->time)
            most = entry;
    }
    const double share = (double)load->busy / (double)(UINT64_C(1) << load->shift);
    out->busy = (uint16_t)(share * SHARE_MOST + 0.5);
    if (load->busy && !out->busy)
        out->busy = 1; // little is not nothing
    out->events = load->events < UINT32_MAX ? (uint32_t)load->events : UINT32_MAX;
    out->flags = load->flags;
    out->name = most ? most->name : 0;
    out->kind = most ? most->kind : 0;
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

void load_end(struct load *load) {
    go_to(load, load->count);
}
