// SPDX-License-Identifier: Apache-2.0
// A file's facts about its events as a whole: totals (in the END frame) and totals per name (AGGREGATE frames).
#ifndef SBT_TOTALS_H
#define SBT_TOTALS_H

#include "sbt/packing.h"
#include "sbt/tables.h"
#include "tracesmith/sbt.h"

// ---- totals

struct totals {
    uint64_t frames; // before END
    uint64_t events;
    int64_t first_start, last_end; // of all events; both 0 when there are none
    uint64_t kinds[TSMITH_KIND_LIMIT];
    uint64_t lost[TSMITH_REASON_LIMIT];
};

// Adds one batch: counts by kind, losses by reason, and the bounds.
void totals_add(struct totals *totals, const tsmith_batch *batch);
// Adds `events` from `first_start` to `last_end` to the count and the bounds.
void totals_add_span(struct totals *totals, uint64_t events, int64_t first_start, int64_t last_end);

// The payload of the END frame at `offset`, trailer included.
void totals_write_end(const struct totals *totals, uint64_t index_offset, uint64_t offset,
                      struct output *out);
// False when it is damaged, or its trailer is not that of a file of `file_size` bytes.
bool totals_read_end(struct input payload, uint64_t file_size, struct totals *totals, uint64_t *index_offset);
// The offset of the END frame that the last SBT_TRAILER_SIZE bytes of a file give; false when they are no
// trailer.
bool totals_read_trailer(const uint8_t *trailer, uint64_t file_size, uint64_t *end_offset);

// ---- totals per name

struct aggregate_entry {
    tsmith_aggregate total; // min and max are of the timed ones
    uint64_t timed;         // events that have a duration
};

// A table by (kind, name). A zeroed one is valid and empty.
struct aggregates {
    struct aggregate_entry *entries; // in order of first appearance
    size_t count, capacity;
    uint32_t *slots; // index + 1
    size_t slot_count;
    bool failed; // memory ran out
};

void aggregates_finish(struct aggregates *aggregates);
void aggregates_clear(struct aggregates *aggregates);
void aggregates_add(struct aggregates *aggregates, const tsmith_batch *batch);
// The payload of an AGGREGATE frame that covers the frames from `first_sequence` on. Sorts the entries.
void aggregates_write(struct aggregates *aggregates, uint64_t first_sequence, struct packer *packer,
                      struct output *out);
// Adds the values of a payload; nothing if it is damaged (false).
bool aggregates_read(struct aggregates *aggregates, struct input payload, struct scratch *scratch,
                     uint64_t *first_sequence);
#endif
