// SPDX-License-Identifier: Apache-2.0
// Events in order of start, turned into buckets of equal length: how busy each was, and with what.
#ifndef TILES_LOAD_H
#define TILES_LOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tracesmith/tiles.h"
#include "tracesmith/view.h"

// An event of a track. Times are ns since the origin.
struct tile_event {
    int64_t start, end; // end - start is the duration; 0 when there is none
    double value;       // of a counter; not a number: not known
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

// Events of a batch, as columns.
struct tile_rows {
    const int64_t *starts; // on the trace clock
    uint32_t count;
    int64_t origin;
    tsmith_view duration, kind, name, value;
    bool is_queue; // see is_idle of tile_event
};

// The event that began last of those that run at a time gives a bucket its name: for nested calls the innermost.
struct load {
    int64_t from;   // where the first bucket begins
    unsigned shift; // a bucket is 2^shift ns
    double scale;   // busy ns to a share
    size_t count;
    tsmith_bucket *buckets; // zeroed at first; the caller's
    size_t at;              // the bucket that is being filled; `count` at the end
    int64_t time;           // names have their time up to here
    int64_t covered;        // an event ran up to here
    uint64_t busy;          // ns of the bucket
    uint64_t events;
    uint8_t flags;
    struct load_name {
        uint64_t key; // kind and name
        uint64_t time;
        uint64_t bucket; // bucket + 1: data that another bucket left here does not count
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
// The same for rows [row, to) of a batch that tile_rows_are_plain.
void load_add_rows(struct load *load, const struct tile_rows *rows, uint32_t row, uint32_t to);
void load_end(struct load *load);

// What a kind is. TRAIT_FLAGS are those of tsmith_bucket that its events have.
enum {
    TRAIT_FLAGS = TSMITH_TILE_LOSS | TSMITH_TILE_WAIT | TSMITH_TILE_BUILD,
    TRAIT_WORK =
        64, // keeps a queue busy; other events on a queue (annotations, waits) are about something else
    TRAIT_COMMAND = 128 // has a duration, unless the trace lacks it
};
extern const uint8_t tile_traits[UINT8_MAX + 1];

// Whether the starts are in order, at or after the origin and less than 2^61 ns after it, so that sums of such times do not overflow.
bool tile_rows_are_plain(const struct tile_rows *rows);
// An event as the pictures show it. Times that are farther from the origin than that are drawn there.
struct tile_event tile_event_of(const struct tile_rows *rows, uint32_t row);

#endif
