// SPDX-License-Identifier: Apache-2.0
// Events in order of start, turned into buckets of equal length: how busy each was, and with what.
#ifndef TILES_LOAD_H
#define TILES_LOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tracesmith/tiles.h"

// An event of a track. Times are ns since the origin.
struct tile_event {
    int64_t start, end; // end - start is the duration; 0 when there is none
    double value;       // of a counter
    uint32_t name;
    uint8_t kind;
    uint8_t flags;
    bool is_timed; // has a duration
    bool is_idle;  // nothing runs because of it, as of an annotation on a queue
};

enum {
    LOAD_OPEN =
        128, // events that run at once, or are nested; of more, those that began first are left out of names
    LOAD_NAMES = 128 // names of a bucket; a power of two. What does not fit cannot become its name
};

// The event that began last of those that run at a time gives a bucket its name: for nested calls the innermost.
struct load {
    int64_t from;   // where the first bucket begins
    unsigned shift; // a bucket is 2^shift ns
    size_t count;
    tsmith_bucket *buckets; // zeroed at first; the caller's
    size_t at;              // the bucket that is being filled; `count` at the end
    int64_t time;           // names have their time up to here
    int64_t covered;        // an event ran up to here
    uint64_t busy;          // ns of the bucket
    uint64_t events;
    uint8_t flags;
    struct load_name {
        uint64_t time;
        uint32_t name, bucket; // bucket + 1: data that another bucket left here does not count
        uint8_t kind;
    } names[LOAD_NAMES];
    uint8_t used[LOAD_NAMES / 2]; // the entries of this bucket, in order of appearance
    unsigned name_count;
    struct load_open {
        int64_t end;
        uint32_t name;
        uint8_t kind, flags;
    } open[LOAD_OPEN]; // in order of start
    unsigned open_count;
};

void load_begin(struct load *load, int64_t from, unsigned shift, tsmith_bucket *buckets, size_t count);
// Events come in order of start. Events outside the buckets are left out.
void load_add(struct load *load, const struct tile_event *event);
void load_end(struct load *load);

#endif
