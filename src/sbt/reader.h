// SPDX-License-Identifier: Apache-2.0
// An open trace from inside: what scanning, summing up and recovery share.
#ifndef SBT_READER_H
#define SBT_READER_H

#include "sbt/column.h"
#include "sbt/index.h"
#include "sbt/totals.h"

struct tsmith_sbt {
    int fd;
    char *path;
    uint64_t size;
    uint32_t major, minor;
    bool header_damaged;
    bool ended;      // a sound END frame is where the file ends
    bool has_totals; // `totals` are those of the END frame
    struct totals totals;
    struct frame_index frames; // every frame whose header is sound, in order of offset
    uint64_t damaged_regions;  // stretches without a sound header
    uint64_t damaged_bytes;    // in them and in the torn end
    uint64_t torn_offset;      // of a frame that the file ends within, or UINT64_MAX
    uint64_t torn_events;      // from its header
    uint64_t damaged_entries;  // of `frames`, found by reading them
    uint64_t damaged_events;   // in those
    uint64_t unknown_frames, unknown_columns;
    uint64_t first_bad;
    struct { // behind the last sound frame, where the walk of a file that grows goes on
        uint64_t offset, sequence;
        uint64_t regions, bytes, first_bad; // what was damaged before it
    } walked;
    tsmith_dictionary *dictionary; // NULL until it is wanted
    size_t dictionary_next;        // frame that was not read for it yet
    uint64_t dictionary_left;      // what it may still grow by
    struct output buffer;          // of the frame read last, for everything but scans
    struct scratch scratch;
};

// A frame's payload, sound, in `buffer`. DAMAGED: noted in the trace.
enum frame_result { FRAME_SOUND, FRAME_DAMAGED, FRAME_FAILED };
enum frame_result reader_read_frame(tsmith_sbt *trace, size_t entry, struct output *buffer,
                                    struct frame_header *header, struct input *payload, tsmith_error *error);
// A frame's header as it stands in the file; false when it cannot be read, or is damaged.
bool reader_read_header(const tsmith_sbt *trace, size_t entry, uint8_t out[SBT_FRAME_HEADER_SIZE]);
// The sequence in a frame's header; false when it cannot be read.
bool reader_read_sequence(const tsmith_sbt *trace, size_t entry, uint64_t *out);
// END, when it is sound and the file ends with it.
bool reader_read_end(tsmith_sbt *trace, uint64_t *end_offset, uint64_t *index_offset,
                     struct frame_header *header);
// Adds what the frames that were not read for it yet have.
tsmith_status reader_read_dictionary(tsmith_sbt *trace, tsmith_dictionary *dictionary, tsmith_error *error);
// ERROR_UNSUPPORTED when a frame from `from` on is critical and unknown.
tsmith_status reader_check_frames(tsmith_sbt *trace, size_t from, tsmith_error *error);
void reader_note_bad(tsmith_sbt *trace, uint64_t offset);
// Notes that a frame, sound as it was, made no sense.
void reader_note_damage(tsmith_sbt *trace, size_t entry);
bool reader_is_complete(const tsmith_sbt *trace);
// TRUNCATED with its message when anything is missing, else END.
tsmith_status reader_say_end(const tsmith_sbt *trace, tsmith_error *error);

#endif
