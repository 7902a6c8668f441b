// SPDX-License-Identifier: Apache-2.0
// The events that a dead collector left in the session directory; src/api/recover.c joins them with the file that it was writing.
#ifndef COLLECT_RECOVERY_H
#define COLLECT_RECOVERY_H

#include <stdbool.h>
#include <stdint.h>

#include "collect/collector.h"
#include "collect/session_directory.h"
#include "tracesmith/stream.h"

struct recovery;

tsmith_status recovery_open(const char *directory, struct recovery **out, tsmith_error *error);
// A source gives it up to recovery_source.
void recovery_close(struct recovery *recovery);
const struct layout_control *recovery_control(const struct recovery *recovery);
// Whose recording it is.
uid_t recovery_user(const struct recovery *recovery);
// Processes alive that record into it.
uint32_t recovery_processes(const struct recovery *recovery);

// What is in the file.
struct recovery_file {
    uint64_t events;
    bool uncertain; // parts of it are damaged so that it is unknown how many events they had,
    struct layout_journal_entry
        tail; // but these are its last ones: dictionary_track, rows, first_start, last_end of
              // the frames of one track that it ends with
};

enum recovery_match {
    RECOVERY_NO_JOURNAL, // it is unknown what of the rings is in the file
    RECOVERY_EXACT,      // *whole_events of the file are whole batches; the rings go on from there
    RECOVERY_SHORT,      // the file lacks some that were written to it
    RECOVERY_UNSURE,     // the journal ended early: some may be in both
};
// Looks up what of the rings is in the file; the source then leaves it out. Before it is called the source yields all
// there is.
enum recovery_match recovery_match_file(struct recovery *recovery, const struct recovery_file *file,
                                        uint64_t *whole_events);
// The source owns the recovery from now on. On failure it is closed.
tsmith_status recovery_source(struct recovery *recovery, tsmith_source **out, tsmith_error *error);

// Calls `ended` once, when the source has delivered all that the programs recorded: the moment to add others.
void recovery_on_end(struct recovery *recovery, void (*ended)(void *context, struct recovery *recovery),
                     void *context);
// From `ended`. Taken, also on failure.
tsmith_status recovery_add_source(struct recovery *recovery, tsmith_source *taken);
const tsmith_dictionary *recovery_dictionary(struct recovery *recovery);
// Whether the machine has not been started anew since.
bool recovery_same_boot(const struct recovery *recovery);

#endif
