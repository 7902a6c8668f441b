// SPDX-License-Identifier: Apache-2.0
// What of the rings has got into the output file, kept in the session directory while the collector works, so that
// recover can go on from the very row where the file ends.
//
// The event that decides is the file's own write: a batch is delivered when all its frames are whole in the file, and
// not before. So an entry is made before its batch is handed out, with the number of events that the file has once it
// is written; when both are read after a crash, that number in the file tells which entries hold. There is no moment
// in between: an entry whose batch is not in the file, or only in part, is passed over, and the sub-buffers it speaks
// of are still there, as they are freed after the batch was taken, never before.
//
//     entry of batch n committed -> batch n handed out -> written to the file -> consumer back: sub-buffers freed -> n + 1
//
// An entry says of one track how far the rings that gave it rows had been read: what lies before, of this track, is in
// the file. Ranges that were open then are in no batch, and their sub-buffers may go: their records are in the entry.
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
    bool failed;                      // the journal says so of itself
};

struct journal;

// Makes the journal of a session.
tsmith_status journal_create(int directory, struct journal **out, tsmith_error *error);
void journal_destroy(struct journal *journal);
// The number of a channel that was found. UINT32_MAX when it could not be noted.
uint32_t journal_add_channel(struct journal *journal, const char *name, int64_t process_start, bool shares);
void journal_finish_channel(struct journal *journal, uint32_t channel);
// Notes a batch that is about to be handed out (type, bytes and events are filled in). False when it could not be
// noted, which the journal says of itself then.
void journal_give_up(struct journal *journal); // what comes from now on is not noted; it says so
bool journal_deliver(struct journal *journal, const struct layout_journal_entry *entry,
                     const struct layout_journal_mark *marks, const uint64_t *words);

// Reads the journal of a dead session: the entries that hold when the file has `events` events. False when there is
// none, or it makes no sense.
bool journal_read(int directory, uint64_t events, struct journal_state *out);
void journal_state_finish(struct journal_state *state);
// The number of a channel, UINT32_MAX when it is not known.
uint32_t journal_find_channel(const struct journal_state *state, const char *name);

#endif
