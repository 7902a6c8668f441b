// SPDX-License-Identifier: Apache-2.0
// What the page shows first: overview, tiles, names. The server answers with them (picture_answers.c), and so does the reader that runs in a
// browser (reader/), so that both say the same.
#ifndef CLI_STUDIO_PICTURE_H
#define CLI_STUDIO_PICTURE_H

#include <stdbool.h>

#include "cli/present/text.h"
#include "tracesmith/live.h"
#include "tracesmith/tiles.h"

// All borrowed.
struct picture {
    const char *path, *format;
    tsmith_sbt *sbt;
    const tsmith_dictionary *dictionary;
    tsmith_tiles *tiles;
    const tsmith_live_totals *live; // of a trace that is still being written, up to now; NULL: of another
    bool is_filled;                 // the tiles are
    bool is_loaded;                 // from what was kept of an earlier run
    const char *
        incomplete; // why the trace is known to be incomplete, apart from what its file says; NULL: it is not
};

// JSON.
void picture_overview(const struct picture *picture, struct text *out);
// The bytes of the tile "TRACK/LEVEL/INDEX". As tsmith_tiles_read; ERROR_INVALID_ARGUMENT for other words.
tsmith_status picture_tile(tsmith_tiles *tiles, const char *rest, struct text *out, tsmith_error *error);
// The tiles "TRACK/LEVEL/INDEX,...", at most PICTURE_TILES_MOST, each behind where it is: uint32 track, level, uint64 index, uint32
// bytes. One that cannot be read is left out.
enum { PICTURE_TILES_MOST = 64 };
void picture_tiles(tsmith_tiles *tiles, const char *list, struct text *out);
// In the same form those that a timeline of `width` pixels shows of the whole trace, track by track, until they are `most` bytes.
void picture_first_tiles(tsmith_tiles *tiles, uint64_t width, size_t most, struct text *out);
// JSON: the texts of the strings "1,2,3".
void picture_names(const tsmith_dictionary *dictionary, const char *ids, struct text *out);

// A number of a path or parameter; false when it is none or above `most`.
bool picture_number(const char *text, uint64_t most, uint64_t *out);

#endif
