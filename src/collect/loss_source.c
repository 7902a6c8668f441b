// SPDX-License-Identifier: Apache-2.0
// A batch source that delivers rows of the loss ledger. gone.c and recorder_losses.c build their sources with it.
#include "collect/loss_source.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "tracesmith/batch.h"
#include "tracesmith/dictionary.h"

struct losses {
    const struct loss_finder *finder;
    void *self;
    tsmith_dictionary *dictionary;
    tsmith_batch *batch;
    const char *name; // of the track of the last loss; NULL: there was none
    uint64_t pid;     // its process
    uint32_t track;
};

// Losses of the same name and process that follow each other have one track.
static uint32_t track_of(struct losses *losses, const struct loss *loss) {
    tsmith_dictionary *dictionary = losses->dictionary;
    const tsmith_process process = {.pid = loss->pid};
    if (losses->name && losses->pid == loss->pid && strcmp(losses->name, loss->track) == 0)
        return losses->track;
    tsmith_track track = {.kind = TSMITH_TRACK_LOSS,
                          .name = tsmith_dictionary_intern_cstr(dictionary, loss->track)};
    if (loss->pid)
        track.process = tsmith_dictionary_add_process(dictionary, &process);
    losses->name = loss->track;
    losses->pid = loss->pid;
    losses->track = tsmith_dictionary_add_track(dictionary, &track);
    return losses->track;
}

static bool add_loss(struct losses *losses, const struct loss *loss) {
    tsmith_dictionary *dictionary = losses->dictionary;
    const uint32_t text = tsmith_dictionary_intern_cstr(dictionary, loss->text);
    tsmith_batch_reset(losses->batch, track_of(losses, loss));
    return !tsmith_dictionary_failed(dictionary) &&
           tsmith_batch_append(losses->batch, TSMITH_KIND_LOSS, loss->since) != UINT32_MAX &&
           tsmith_batch_set(losses->batch, TSMITH_FIELD_DURATION,
                            (uint64_t)((loss->until ? loss->until : clock_trace_now()) - loss->since)) ==
               TSMITH_OK &&
           tsmith_batch_set(losses->batch, TSMITH_FIELD_REASON, loss->reason) == TSMITH_OK &&
           tsmith_batch_set(losses->batch, TSMITH_FIELD_TEXT, text) == TSMITH_OK;
}

static tsmith_status next(void *self, const tsmith_batch **out, tsmith_error *error) {
    struct losses *losses = self;
    struct loss loss = {0};
    (void)error;
    if (!losses->finder->find(losses->self, &loss))
        return TSMITH_END;
    if (!add_loss(losses, &loss))
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
    losses->finder->destroy(losses->self);
    tsmith_batch_destroy(losses->batch);
    tsmith_dictionary_destroy(losses->dictionary);
    free(losses);
}

tsmith_status loss_source_create(const struct loss_finder *finder, void *self, tsmith_source **out) {
    static const tsmith_source_ops ops = {next, dictionary, destroy};
    struct losses *losses = self ? calloc(1, sizeof *losses) : NULL;
    if (!losses) {
        if (self)
            finder->destroy(self);
        return TSMITH_ERROR_NO_MEMORY;
    }
    losses->finder = finder;
    losses->self = self;
    if (tsmith_dictionary_create(&losses->dictionary) == TSMITH_OK &&
        tsmith_batch_create(&losses->batch) == TSMITH_OK &&
        tsmith_source_create(&ops, losses, out) == TSMITH_OK)
        return TSMITH_OK;
    destroy(losses);
    return TSMITH_ERROR_NO_MEMORY;
}
