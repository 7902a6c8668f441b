// SPDX-License-Identifier: Apache-2.0
// The file of a timeline's detail, for its tests: trace_tiles.c keeps it in the cache.
#ifndef API_TRACE_TILES_H
#define API_TRACE_TILES_H

#include <stdbool.h>

#include "tracesmith/sbt.h"
#include "tracesmith/tiles.h"

// Writes tiles that are full into a descriptor. Where they have more than `held` buckets, coarser ones follow, at most so many if tracks
// are not too many: a reader holds these, and reads the finer ones when they are wanted.
tsmith_status trace_tiles_write(int fd, const tsmith_tiles *tiles, size_t held, tsmith_error *error);
// Fills tiles, of which nothing was filled yet, from such a file. False, and the tiles are as before, when it does not fit their trace.
bool trace_tiles_read(tsmith_sbt *kept, tsmith_tiles *tiles);
// The same of a file that has coarser buckets, of which `kept` is the tiles' from then on; false also where it has none.
bool trace_tiles_read_coarse(tsmith_sbt *kept, tsmith_tiles *tiles);

#endif
