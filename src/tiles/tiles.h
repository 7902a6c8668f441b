// SPDX-License-Identifier: Apache-2.0
// What the files of this room share: a track with its buckets, at every level that is kept.
#ifndef TILES_TILES_H
#define TILES_TILES_H

#include "tiles/load.h"
#include "tracesmith/stream.h"

enum {
    TILES_PER_BUCKET = 64, // events, on average, of the finest buckets that are kept
    TILES_LEAST = 512,     // such buckets of a track with fewer events
    TILES_STEP = 2,        // each level that is kept has buckets 2^2 times as long as the one before
    TILES_KEPT = 22        // levels
};

// Times beyond this are drawn there.
#define TILES_FARTHEST (INT64_C(1) << 61)

// The load of a track at one level. Values of counters and loads have the same size.
union tile_bucket {
    tsmith_bucket load;
    tsmith_value_bucket value;
};

struct tile_frame {
    int64_t first, last; // since the origin
    int64_t least_after; // the earliest start of all later frames of the track
    uint32_t events;
};

struct tile_events {
    struct tile_event *events;
    size_t count, capacity;
    int64_t least; // earliest start, where there are events
    bool is_unsorted;
};

// Buckets of one length: 2^shift ns, from bucket `skipped` on, counted from the origin.
struct tile_stretch {
    unsigned shift;
    uint64_t skipped;
    size_t count;
};

struct tile_track {
    uint32_t track;
    uint64_t events;
    int64_t first, last; // since the origin
    bool is_counter, is_queue;
    bool is_filled;
    unsigned shift;   // of the finest level that is kept
    uint64_t skipped; // buckets of that level before the first that is kept
    struct tile_level {
        union tile_bucket *buckets;
        size_t count;
    } levels[TILES_KEPT];
    unsigned level_count;
    struct tile_frame *frames;
    size_t frame_count, frame_capacity, frame_next;
    // While it is filled: what cannot be added yet, since an earlier event may come.
    struct tile_events pending;
    struct load *load;
    size_t kept_count;         // buckets that were put, while tiles are filled from kept ones
    struct tile_stretch finer; // buckets that are read when they are wanted (tiles->finer); count 0: none
    // Of a trace that grows: where events came to which the buckets have not been fitted yet. Empty: from >= to.
    int64_t outdated_from, outdated_to;
};

// Reads buckets that are finer than those in memory, of which a large trace has too many.
struct tiles_finer {
    void *context;
    // The buckets `first` to `first` + `count` - 1 of the track at this place of the list; all are in its stretch `finer`. False: they
    // are damaged or cannot be read.
    bool (*read)(void *context, size_t track, uint64_t first, size_t count, union tile_bucket *out);
    void (*finish)(void *context);
};

struct tsmith_tiles {
    tsmith_sbt *trace;
    int64_t origin, end; // on the trace clock
    uint32_t string_count;
    struct tile_track *tracks;
    size_t track_count, track_capacity;
    tsmith_tile_track *described;
    tsmith_source *filling; // NULL before the first and after the last batch
    bool is_full, is_truncated;
    bool has_events; // origin and end are those of events
    bool grows;
    size_t frame_next;        // of the trace: those before it are known
    struct tiles_finer finer; // `read` NULL: none
    // Of the tile that was read last.
    union tile_bucket *buckets;
    tsmith_slice *slices;
    struct tile_events events;
    struct load load;
};

enum { TILES_FIELDS = 5 };
extern const uint32_t tiles_fields[TILES_FIELDS];

// The columns of a batch; false when it has no events.
bool tiles_open_rows(const struct tsmith_tiles *tiles, const struct tile_track *track,
                     const tsmith_batch *batch, struct tile_rows *out);
// Appends the events from row `first` on that touch [from, to) ns since the origin. False when memory is exhausted.
bool tiles_take_rows(const struct tile_rows *rows, uint32_t first, int64_t from, int64_t to,
                     struct tile_events *out);
// Sorts them by start, the longer first. False when memory is exhausted.
bool tiles_sort_events(struct tile_events *events);
// Puts a value into a bucket.
void tiles_add_value(tsmith_value_bucket *bucket, double value);

// The finest level that a track has when its events were read.
struct tile_stretch tiles_finest(const struct tile_track *track);
// Gives a track its lowest level: these buckets, all zeros; the finest ones. False when memory is exhausted.
bool tiles_make_stretch(struct tile_track *track, const struct tile_stretch *stretch);
bool tiles_make_finest(struct tile_track *track);
// Ends filling. False when memory is exhausted.
bool tiles_finish(struct tsmith_tiles *tiles);

// ---- buckets that are kept from one fill for the next opening of the same file

// A stretch of the finest buckets of a track.
struct tiles_kept {
    uint32_t track;
    bool is_counter;
    int64_t origin; // on the trace clock
    unsigned shift;
    uint64_t first; // bucket
    const union tile_bucket *buckets;
    size_t count;
};
// The tracks of tiles that are full, one stretch each; none where events could not be read.
size_t tiles_kept_count(const struct tsmith_tiles *tiles);
// The finest buckets of a track, or those joined `joined` times, or the coarsest that there are.
struct tiles_kept tiles_kept_at(const struct tsmith_tiles *tiles, size_t index, unsigned joined);
// Fills tiles instead of tsmith_tiles_fill: begin, put every stretch in order of time, end. Each is false when that cannot be: memory
// is exhausted, or what was put does not fit the index of the file (`is_good` false: the caller knows that). Tiles are then as
// they were before.
bool tiles_kept_begin(struct tsmith_tiles *tiles);
bool tiles_kept_put(struct tsmith_tiles *tiles, const struct tiles_kept *kept);
bool tiles_kept_end(struct tsmith_tiles *tiles, bool is_good);
// The same from coarser buckets: begin in place of tiles_kept_begin, and put stretches whose buckets are as long as the first one of their
// track has them. `finer` is then what reads the finest; it is the tiles' when `end` is true, and the caller's otherwise.
bool tiles_kept_begin_coarse(struct tsmith_tiles *tiles);
bool tiles_kept_end_coarse(struct tsmith_tiles *tiles, const struct tiles_finer *finer, bool is_good);
// Whether a bucket of a file can be of this trace.
bool tiles_kept_is_load(const struct tsmith_tiles *tiles, const tsmith_bucket *bucket);

// Makes the levels above the finest. False when memory is exhausted.
bool tiles_make_levels(struct tile_track *track);
// The same where buckets `first` to `last` of the finest level (counted from the origin) have changed, or were added.
bool tiles_update_levels(struct tile_track *track, uint64_t first, uint64_t last);
// Reads the events of a track that touch [from, to) ns since the origin into tiles->events, in order.
tsmith_status tiles_read_events(struct tsmith_tiles *tiles, const struct tile_track *track, int64_t from,
                                int64_t to, tsmith_error *error);
// What a track is.
void tiles_set_kind(struct tile_track *track, const tsmith_dictionary *dictionary);
// Sorts tracks by number.
void tiles_order_tracks(struct tsmith_tiles *tiles);
// Makes the list of tracks for callers anew. False when memory is exhausted.
bool tiles_describe(struct tsmith_tiles *tiles);
// The bucket made of `count` neighbors.
union tile_bucket tiles_join(const union tile_bucket *buckets, size_t count, uint64_t of, bool is_counter);

// ns since the origin, or as far from it as is drawn: sums of two such times do not overflow.
int64_t tile_time_since(int64_t time, int64_t origin);
struct tile_track *tiles_find(const struct tsmith_tiles *tiles, uint32_t track);

#endif
