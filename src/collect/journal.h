// SPDX-License-Identifier: Apache-2.0
// Records which part of the rings is in the output file. It is kept in the session directory while the collector
// works, so that recover can continue from the exact row where the file ends.
//
// The write of the file decides: a batch is delivered when all its frames are complete in the file. An entry is
// therefore made before its batch is delivered, with the number of events that the file has after the write. When
// both are read after a crash, the number of events in the file tells which entries are valid. There is no gap
// between the two: an entry whose batch is not completely in the file is ignored, and its sub-buffers still exist,
// because they are freed only after the batch was taken.
//
//     entry of batch n committed -> batch n delivered -> written to the file -> consumer back: sub-buffers freed -> n + 1
//
// An entry has, for one track, the position up to which its rings had been read: everything before it, of this track, is in
// the file. Ranges that were open then are in no batch, and their sub-buffers may be freed: their records are in the entry.
//
// Only the collector writes. Everything read back is checked.
#ifndef COLLECT_JOURNAL_H
#define COLLECT_JOURNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tracesmith/status.h"
#include "wire/layout.h"

// What is known of a track.
struct journal_track {
    struct layout_journal_entry entry; // the last one
    struct layout_journal_mark *marks; // one per ring, the last ones
    size_t mark_count, mark_capacity;
    uint64_t *words; // entry.words of them
    size_t word_capacity;
};

struct journal_channel {
    char *name;
    int64_t process_start;
    bool shares;
    bool finished;
};

struct journal_state {
    struct journal_channel *channels;
    size_t channel_count, channel_capacity;
    struct journal_track *tracks;
    size_t track_count, track_capacity;
    uint32_t *places; // index + 1 into tracks, by hash of channel and track
    size_t place_count;
    uint64_t events;                  // of the entries that hold
    uint64_t all_events;              // of all
    struct layout_journal_entry last; // of type TRACK with a batch, whether it holds or not; all 0: none
    bool failed;                      // the journal records this itself
};

struct journal;

// Makes the journal of a session.
tsmith_status journal_create(int directory, struct journal **out, tsmith_error *error);
void journal_destroy(struct journal *journal);
// The number of a channel that was found. UINT32_MAX when it could not be noted.
uint32_t journal_add_channel(struct journal *journal, const char *name, int64_t process_start, bool shares);
void journal_finish_channel(struct journal *journal, uint32_t channel);
// Records a batch that is about to be delivered (type, bytes and events are filled in). False if that failed, which
// is then marked in the journal.
void journal_give_up(
    struct journal *journal); // later batches are not recorded; the journal is marked accordingly
bool journal_deliver(struct journal *journal, const struct layout_journal_entry *entry,
                     const struct layout_journal_mark *marks, const uint64_t *words);

// Reads the journal of a dead session: the entries that hold when the file has `events` events. False when there is
// none, or it makes no sense.
bool journal_read(int directory, uint64_t events, struct journal_state *out);
void journal_state_finish(struct journal_state *state);
// The number of a channel, UINT32_MAX when it is not known.
uint32_t journal_find_channel(const struct journal_state *state, const char *name);

#endif
