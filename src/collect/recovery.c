// SPDX-License-Identifier: Apache-2.0
// Reading the session directory of a collector that is gone.
#include "collect/recovery.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/plural.h"
#include "base/sized.h"
#include "base/status.h"
#include "collect/other_sources.h"
#include "collect/session_processes.h"
#include "tracesmith/capture.h"

struct recovery {
    struct session_directory directory;
    struct journal_state known;
    bool has_known;
    struct collector *collector;
    struct other_sources other_sources;
    void (*ended)(void *context, struct recovery *recovery); // NULL: no callback, or it was called already
    void *ended_context;
    bool drained; // only the other sources are left
};

tsmith_status recovery_open(const char *directory, struct recovery **out, tsmith_error *error) {
    *out = NULL;
    struct recovery *recovery = calloc(1, sizeof *recovery);
    if (!recovery)
        return status_set(error, TSMITH_ERROR_NO_MEMORY, "out of memory while recovering a session");
    tsmith_status status = session_directory_open(&recovery->directory, directory, error);
    if (status)
        free(recovery);
    else
        *out = recovery;
    return status;
}

void recovery_close(struct recovery *recovery) {
    if (!recovery)
        return;
    other_sources_finish(&recovery->other_sources);
    collector_destroy(recovery->collector);
    journal_state_finish(&recovery->known);
    session_directory_close(&recovery->directory);
    free(recovery);
}

const struct layout_control *recovery_control(const struct recovery *recovery) {
    return recovery->directory.control;
}

uid_t recovery_user(const struct recovery *recovery) {
    return recovery->directory.user;
}

uint32_t recovery_processes(const struct recovery *recovery) {
    uint32_t unclear;
    return session_processes_alive(recovery->directory.path, &unclear);
}

// Whether the file ends with the batch of this entry, where counting does not help.
static bool ends_with(const struct recovery_file *file, const struct layout_journal_entry *entry) {
    const struct layout_journal_entry *tail = &file->tail;
    return tail->dictionary_track == entry->dictionary_track && tail->rows >= entry->rows &&
           tail->last_end == entry->last_end;
}

enum recovery_match recovery_match_file(struct recovery *recovery, const struct recovery_file *file,
                                        uint64_t *whole_events) {
    struct journal_state *known = &recovery->known;
    uint64_t events = file->events;
    journal_state_finish(known);
    recovery->has_known = false;
    if (file->uncertain) {
        // All but the last batch was written for sure; where it was lost in the file, it is lost.
        if (!journal_read(recovery->directory.fd, UINT64_MAX, known))
            return RECOVERY_NO_JOURNAL;
        events = ends_with(file, &known->last) ? known->last.events : known->last.events - known->last.rows;
        journal_state_finish(known);
    }
    if (!journal_read(recovery->directory.fd, events, known))
        return RECOVERY_NO_JOURNAL;
    recovery->has_known = true;
    bool is_short = known->events < known->last.events - known->last.rows;
    // More than the journal knows of: it could not note everything.
    *whole_events = file->uncertain || known->failed ? UINT64_MAX : known->events;
    return known->failed ? RECOVERY_UNSURE : is_short ? RECOVERY_SHORT : RECOVERY_EXACT;
}

// ---- the source

static tsmith_status recovery_next(void *self, const tsmith_batch **out, tsmith_error *error) {
    struct recovery *recovery = self;
    if (!recovery->drained) {
        const tsmith_status status = collector_next(recovery->collector, out, error);
        if (status != TSMITH_END)
            return status;
        recovery->drained = true;
        if (recovery->ended)
            recovery->ended(recovery->ended_context, recovery);
    }
    return other_sources_next(&recovery->other_sources, collector_dictionary(recovery->collector), out,
                              error);
}

static const tsmith_dictionary *source_dictionary(void *self) {
    return recovery_dictionary(self);
}

const tsmith_dictionary *recovery_dictionary(struct recovery *recovery) {
    return collector_dictionary(recovery->collector);
}

bool recovery_same_boot(const struct recovery *recovery) {
    return session_directory_same_boot(&recovery->directory);
}

void recovery_on_end(struct recovery *recovery, void (*ended)(void *context, struct recovery *recovery),
                     void *context) {
    recovery->ended = ended;
    recovery->ended_context = context;
}

tsmith_status recovery_add_source(struct recovery *recovery, tsmith_source *taken) {
    return other_sources_add(&recovery->other_sources, taken);
}

static void recovery_destroy(void *self) {
    recovery_close(self);
}

static const tsmith_source_ops recovery_ops = {recovery_next, source_dictionary, recovery_destroy};

tsmith_status recovery_source(struct recovery *recovery, tsmith_source **out, tsmith_error *error) {
    bool same_boot = session_directory_same_boot(&recovery->directory);
    tsmith_status status = collector_create(
        &recovery->directory, same_boot ? COLLECT_DEAD : COLLECT_BEFORE_BOOT, &recovery->collector, error);
    if (!status) {
        if (recovery->has_known)
            collector_skip(recovery->collector, &recovery->known);
        session_directory_describe(&recovery->directory, collector_dictionary(recovery->collector));
        if (recovery->directory.control->command[0])
            tsmith_dictionary_set_attribute(collector_dictionary(recovery->collector), "command",
                                            recovery->directory.control->command);
        status = tsmith_source_create(&recovery_ops, recovery, out);
        if (status)
            status_set(error, status, "out of memory while recovering a session");
    }
    if (status)
        recovery_close(recovery);
    return status;
}

tsmith_status tsmith_capture_recover(const char *directory, tsmith_source **out, tsmith_error *error) {
    struct recovery *recovery;
    *out = NULL;
    tsmith_status status = recovery_open(directory, &recovery, error);
    return status ? status : recovery_source(recovery, out, error);
}
