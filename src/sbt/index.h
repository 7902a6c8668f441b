// SPDX-License-Identifier: Apache-2.0
// Where the frames of a file are: kept by the writer, written into INDEX frames, and what a reader works
// from.
#ifndef SBT_INDEX_H
#define SBT_INDEX_H

#include "sbt/bytestream.h"
#include "sbt/format.h"

struct index_entry {
    uint64_t offset;
    uint32_t length; // of the payload
    uint16_t type, flags;
    uint32_t track, events, kinds;
    uint16_t version;
    bool damaged; // found out by reading it; not stored
    int64_t first_start, last_end;
};

struct frame_index {
    struct index_entry *entries; // in order of offset and sequence
    size_t count, capacity;
};

// False when memory or the limit of frames is exhausted.
bool index_add(struct frame_index *index, uint64_t offset, const struct frame_header *header);
struct index_entry index_entry_of(uint64_t offset, const struct frame_header *header);
void index_finish(struct frame_index *index);

// The payload of an INDEX frame that lists all entries.
void index_write(const struct frame_index *index, uint64_t previous, uint64_t first_sequence,
                 struct output *out);

struct index_head {
    uint64_t previous, first_sequence;
    uint32_t count;
};
bool index_read_head(struct input payload, struct index_head *head);
// Appends the entries of a payload; false when it is damaged: when its frames do not fill the file from
// `from` to `to`.
bool index_read(struct frame_index *index, struct input payload, uint64_t from, uint64_t to);

#endif
