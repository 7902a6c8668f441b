// SPDX-License-Identifier: Apache-2.0
// Pictures of a trace at any zoom: the load of each track in buckets of 2^k nanoseconds, and single events where few are seen.
//
// Tiles are filled in one pass over the events of a file. They keep about 16 bytes for every 64 events: 25 MB for 100
// million events. Finer detail is read from the file on request. The timeline of `tracesmith studio` is drawn from
// tiles.
//
// Times of tiles are nanoseconds since tsmith_tiles_origin. One thread at a time, and the same thread rule as the file that they
// were made of: it must not be used by another thread during a call, and must outlive the tiles.
#ifndef TRACESMITH_TILES_H
#define TRACESMITH_TILES_H

#include <stddef.h>
#include <stdint.h>

#include "tracesmith/export.h"
#include "tracesmith/sbt.h"
#include "tracesmith/status.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    TSMITH_TILE_BUCKETS = 512, // of a tile
    TSMITH_TILE_SLICES = 2048, // at most this many events are listed one by one
    TSMITH_TILE_LEVELS = 41,   // levels are 0 .. 40: buckets of 1 ns to 18 minutes
    TSMITH_TILE_LANES = 255
};

typedef struct tsmith_tiles tsmith_tiles;

// What is in a tile. X(NAME, number, "name", "doc")
#define TSMITH_TILE_FORM_TABLE(X)                                                                            \
    X(BUCKETS, 1, "buckets", "the load of each of its buckets")                                              \
    X(SLICES, 2, "slices", "the events that touch it")                                                       \
    X(VALUES, 3, "values", "the values of a counter in each of its buckets")

typedef enum tsmith_tile_form {
#define TSMITH_TILE_FORM_ENUM(NAME, number, name, doc) TSMITH_FORM_##NAME = number,
    TSMITH_TILE_FORM_TABLE(TSMITH_TILE_FORM_ENUM)
#undef TSMITH_TILE_FORM_ENUM
} tsmith_tile_form;

enum {                             // tsmith_bucket.flags, tsmith_slice.flags
    TSMITH_TILE_LOSS = 1u << 0,    // events are missing
    TSMITH_TILE_WAIT = 1u << 1,    // a wait (kind sync)
    TSMITH_TILE_BUILD = 1u << 2,   // a compilation
    TSMITH_TILE_UNTIMED = 1u << 3, // a command of which the trace has no duration
};

typedef struct tsmith_bucket {
    // String: the events of this name took most of the bucket's time; 0: there are none, or they have no name. Where several run,
    // a moment counts for the one that began last: of nested calls for the innermost. In buckets that are joined from finer ones
    // it is the name of most of the finer buckets' busy time.
    uint32_t name;
    uint32_t events; // that start in the bucket; UINT32_MAX: this many or more
    // Share of the bucket in which at least one event ran, in 65535ths. On a queue only kernels, copies, fills, collectives, graphs
    // and host functions run; annotations and waits do not keep it busy.
    uint16_t busy;
    uint8_t kind; // tsmith_kind of the events of that name
    uint8_t flags;
} tsmith_bucket;

// `events` is 0 where no value was recorded, and the others then mean nothing.
typedef struct tsmith_value_bucket {
    float least, most;
    uint32_t events;
} tsmith_value_bucket;

typedef struct tsmith_slice {
    int64_t start;    // ns since the origin; negative for one that begins before it
    int64_t duration; // ns; -1 when the event has none
    uint32_t name;    // string
    uint8_t kind;     // tsmith_kind
    uint8_t
        lane; // events that overlap are in different lanes; a nested one is in a lane below the one that contains it
    uint16_t flags;
} tsmith_slice;

typedef struct tsmith_tile {
    size_t size; // sizeof(tsmith_tile)
    tsmith_tile_form form;
    uint32_t level; // buckets are 2^level ns
    uint32_t count; // of buckets, slices or values
    // Not final: events were not read yet. Of buckets only `events` is set then, as the file's index has it, spread evenly.
    int preliminary;
    union { // borrowed until the next call
        const tsmith_bucket *buckets;
        const tsmith_slice *slices; // sorted by start, the longer first
        const tsmith_value_bucket *values;
    } of;
} tsmith_tile;

// A track that has events.
typedef struct tsmith_tile_track {
    uint32_t track; // of the dictionary
    uint64_t events;
    int64_t first, last; // first start and last end, ns since the origin
    int is_counter;
} tsmith_tile_track;

// Reads the index of the file, and no event. ERROR_NO_MEMORY; failures of the file.
TSMITH_API tsmith_status tsmith_tiles_create(tsmith_sbt *trace, tsmith_tiles **out, tsmith_error *error);
TSMITH_API void tsmith_tiles_destroy(tsmith_tiles *tiles);

// Reads up to `batches` more batches of events (0: all that are left). AGAIN while there are more, OK when all were read,
// TRUNCATED when all were read that the damaged file still has, or a failure; a call after the last is OK again.
TSMITH_API tsmith_status tsmith_tiles_fill(tsmith_tiles *tiles, size_t batches, tsmith_error *error);

// Instead of tsmith_tiles_fill, for a trace that grows: takes in the frames that came by tsmith_sbt_refresh, and makes the buckets of which
// they have events anew, up to `pieces` pieces of about 100,000 events (0: all). AGAIN while there are more; until then tiles there are read
// from the file, or are preliminary. The first call takes in all. Origin, end and tracks may change; pointers to tracks end with the call.
// ERROR_STATE when tiles were filled; ERROR_NO_MEMORY; failures of the file.
TSMITH_API tsmith_status tsmith_tiles_extend(tsmith_tiles *tiles, size_t pieces, tsmith_error *error);

// Keeps tiles that are filled in a new file (SBT with detail frames and no events), of about 8 bytes for every 64 events.
// ERROR_INVALID_ARGUMENT when they are not filled, or were by TRUNCATED; failures of the file, of which nothing is left then.
TSMITH_API tsmith_status tsmith_tiles_save(const tsmith_tiles *tiles, const char *path, tsmith_error *error);
// Fills tiles, of which nothing was filled yet, from such a file, and reads no event. Of a file with more than 262,144 buckets, coarser ones
// are held, and the file stays open: finer ones are read when they are wanted. Such tiles cannot be saved. ERROR_CORRUPT, and the tiles are as before, when it
// does not fit the index of their trace; failures of the file.
TSMITH_API tsmith_status tsmith_tiles_load(tsmith_tiles *tiles, const char *path, tsmith_error *error);

// First start and last end of all events, ns on the trace clock. Times of tiles are relative to the first.
TSMITH_API int64_t tsmith_tiles_origin(const tsmith_tiles *tiles);
TSMITH_API int64_t tsmith_tiles_end(const tsmith_tiles *tiles);
// By number of the track. Lives as long as the tiles.
TSMITH_API const tsmith_tile_track *tsmith_tiles_tracks(const tsmith_tiles *tiles, size_t *count);

// The tile [index, index + 1) * TSMITH_TILE_BUCKETS * 2^level ns of a track: its events when they are at most
// TSMITH_TILE_SLICES, else buckets. Empty (no slices) where the track has nothing. ERROR_INVALID_ARGUMENT for a level beyond the
// last or an index beyond the end of time; ERROR_NOT_FOUND for a track without events; ERROR_NO_MEMORY; failures of the file.
TSMITH_API tsmith_status tsmith_tiles_read(tsmith_tiles *tiles, uint32_t track, uint32_t level,
                                           uint64_t index, tsmith_tile *out, tsmith_error *error);

#ifdef __cplusplus
}
#endif
#endif
