// SPDX-License-Identifier: Apache-2.0
// A new file that begins with the sound frames of one that was cut off, and continues with batches from
// elsewhere.
#ifndef SBT_CONTINUE_H
#define SBT_CONTINUE_H

#include <stdbool.h>
#include <stdint.h>

#include "tracesmith/sbt.h"

struct sbt_continued;

// How a file ends.
struct sbt_tail {
    uint64_t events;  // of all its frames, by their headers
    bool uncertain;   // there are parts that have none
    uint32_t track;   // of its last event frames,
    uint64_t rows;    // number of events in these frames,
    int64_t last_end; // the last of which ends here
};

tsmith_status sbt_continue_open(const char *path, struct sbt_continued **out, struct sbt_tail *tail,
                                tsmith_error *error);
void sbt_continue_close(struct sbt_continued *continued);
// For the file, and then for the new one. Its attributes may be added to before the sink is finished.
tsmith_dictionary *sbt_continue_dictionary(struct sbt_continued *continued);
bool sbt_continue_damaged(const struct sbt_continued *continued);
uint64_t sbt_continue_events(const struct sbt_continued *continued); // carried over
// Creates the new file with the frames of the first `whole_events` events; `recording`: and what was recorded for a replay.
// The sink takes the batches of one source, and brings what they refer to into the dictionary; it is destroyed before
// `continued` is closed.
tsmith_status sbt_continue_into(struct sbt_continued *continued, const char *path, uint64_t whole_events,
                                bool recording, tsmith_sink **out, tsmith_error *error);
struct sbt_writer *sbt_continue_writer(struct sbt_continued *continued); // of the new file

#endif
