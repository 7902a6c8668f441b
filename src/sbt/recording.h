// SPDX-License-Identifier: Apache-2.0
// The frames of a recording (section 17 of docs/sbt-format.md): whole records, as the recorder wrote them.
#ifndef SBT_RECORDING_H
#define SBT_RECORDING_H

#include "sbt/writer.h"
#include "tracesmith/sbt.h"

// Of records, before compression: when a frame is begun (of chunks), and the most that is believed.
enum { RECORDING_FRAME_BYTES = 8 << 20, RECORDING_CHUNKS_BYTES = 192 << 10, RECORDING_FRAME_MOST = 80 << 20 };

// One frame: `type` is FRAME_RECORDS or FRAME_CHUNKS.
tsmith_status sbt_recording_write(struct sbt_writer *writer, enum frame_type type, uint32_t process,
                                  const void *records, size_t size, tsmith_error *error);

// Every sound frame in the order of the file; `records` is the receiver's own for the call. What it returns other than OK
// ends the reading. `process` counts from 1.
typedef tsmith_status (*sbt_recording_take)(void *context, uint32_t process, const uint8_t *records,
                                            size_t size, uint64_t frame_offset, tsmith_error *error);
tsmith_status sbt_recording_read(tsmith_sbt *trace, sbt_recording_take take, void *context,
                                 tsmith_error *error);

#endif
