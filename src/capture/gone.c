// SPDX-License-Identifier: Apache-2.0
#include "capture/gone.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "tracesmith/batch.h"
#include "tracesmith/dictionary.h"

static const int64_t INTERVAL = 100000000; // ns between looks

// Another file of that name is another session's.
static bool is_there(const struct session_directory *directory) {
    char path[sizeof directory->path + sizeof LAYOUT_CONTROL_NAME + 1];
    struct stat ours, found;
    (void)snprintf(path, sizeof path, "%s/%s", directory->path, LAYOUT_CONTROL_NAME);
    return fstatat(directory->fd, LAYOUT_CONTROL_NAME, &ours, AT_SYMLINK_NOFOLLOW) == 0 &&
           lstat(path, &found) == 0 && ours.st_dev == found.st_dev && ours.st_ino == found.st_ino;
}

void gone_look(struct gone *gone, const struct session_directory *directory, bool at_once) {
    const int64_t now = clock_trace_now();
    if (gone->is_gone || (gone->there_at && !at_once && now - gone->there_at < INTERVAL))
        return;
    if (is_there(directory))
        gone->there_at = now;
    else
        gone->is_gone = true;
}

// ---- the loss

struct losses {
    const struct gone *gone;
    bool told;
    tsmith_dictionary *dictionary;
    tsmith_batch *batch;
};

static tsmith_status next(void *self, const tsmith_batch **out, tsmith_error *error) {
    struct losses *losses = self;
    (void)error;
    if (losses->told || !losses->gone->is_gone)
        return TSMITH_END;
    losses->told = true;
    const int64_t since = losses->gone->there_at;
    const tsmith_track track = {.kind = TSMITH_TRACK_LOSS,
                                .name = tsmith_dictionary_intern_cstr(losses->dictionary, "session")};
    const uint32_t text = tsmith_dictionary_intern_cstr(losses->dictionary,
                                                        "the session directory was removed while the program "
                                                        "ran: what started after that was not recorded");
    tsmith_batch_reset(losses->batch, tsmith_dictionary_add_track(losses->dictionary, &track));
    if (tsmith_dictionary_failed(losses->dictionary) ||
        tsmith_batch_append(losses->batch, TSMITH_KIND_LOSS, since) == UINT32_MAX ||
        tsmith_batch_set(losses->batch, TSMITH_FIELD_DURATION, (uint64_t)(clock_trace_now() - since)) !=
            TSMITH_OK ||
        tsmith_batch_set(losses->batch, TSMITH_FIELD_REASON, TSMITH_REASON_FILES_DAMAGED) != TSMITH_OK ||
        tsmith_batch_set(losses->batch, TSMITH_FIELD_TEXT, text) != TSMITH_OK)
        return TSMITH_ERROR_NO_MEMORY;
    tsmith_batch_finish(losses->batch);
    *out = losses->batch;
    return TSMITH_OK;
}

static const tsmith_dictionary *dictionary(void *self) {
    return ((struct losses *)self)->dictionary;
}

static void destroy(void *self) {
    struct losses *losses = self;
    tsmith_batch_destroy(losses->batch);
    tsmith_dictionary_destroy(losses->dictionary);
    free(losses);
}

tsmith_status gone_source_create(const struct gone *gone, tsmith_source **out) {
    static const tsmith_source_ops ops = {next, dictionary, destroy};
    struct losses *losses = calloc(1, sizeof *losses);
    if (!losses)
        return TSMITH_ERROR_NO_MEMORY;
    losses->gone = gone;
    if (tsmith_dictionary_create(&losses->dictionary) == TSMITH_OK &&
        tsmith_batch_create(&losses->batch) == TSMITH_OK &&
        tsmith_source_create(&ops, losses, out) == TSMITH_OK)
        return TSMITH_OK;
    destroy(losses);
    return TSMITH_ERROR_NO_MEMORY;
}
