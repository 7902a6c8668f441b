// SPDX-License-Identifier: Apache-2.0
// Finds frames from header to header: of a file without a sound index, and of one that grows.
#ifndef SBT_WALK_H
#define SBT_WALK_H

#include "sbt/reader.h"

// Lists the frames from `offset` on, where a frame must begin.
tsmith_status reader_walk(tsmith_sbt *trace, uint64_t offset, tsmith_error *error);
// Notes that the file ends within the frame at `offset`.
void reader_note_torn(tsmith_sbt *trace, uint64_t offset, uint64_t events);

#endif
