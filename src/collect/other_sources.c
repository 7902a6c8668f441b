// SPDX-License-Identifier: Apache-2.0
// Delivers the events of additional sources after those of the recorded programs. capture.c and recovery.c call it.
#include "collect/other_sources.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/status.h"
#include "event/merge.h"

struct other_source {
    tsmith_source *source;
    struct merge *merge; // NULL until its turn
};

void other_sources_finish(struct other_sources *others) {
    for (size_t i = 0; i < others->count; i++) {
        merge_destroy(others->sources[i].merge);
        tsmith_source_destroy(others->sources[i].source);
    }
    free(others->sources);
    *others = (struct other_sources){0};
}

tsmith_status other_sources_add(struct other_sources *others, tsmith_source *taken) {
    if (!ARRAY_RESERVE(others->sources, others->capacity, others->count + 1)) {
        tsmith_source_destroy(taken);
        return TSMITH_ERROR_NO_MEMORY;
    }
    others->sources[others->count++] = (struct other_source){taken, NULL};
    return TSMITH_OK;
}

static tsmith_status take_batch(struct other_source *source, tsmith_dictionary *into,
                                const tsmith_batch *batch, const tsmith_batch **out, tsmith_error *error) {
    if (!source->merge)
        source->merge = merge_create(into, MERGE_SAME_PROCESSES);
    tsmith_status status = source->merge ? TSMITH_OK : TSMITH_ERROR_NO_MEMORY;
    if (status == TSMITH_OK)
        status = merge_take(source->merge, tsmith_source_dictionary(source->source));
    if (status == TSMITH_OK)
        status = merge_batch(source->merge, batch, out);
    return status == TSMITH_OK ? status
                               : status_set(error, TSMITH_ERROR_NO_MEMORY,
                                            "out of memory while joining the events of another source");
}

tsmith_status other_sources_next(struct other_sources *others, tsmith_dictionary *into,
                                 const tsmith_batch **out, tsmith_error *error) {
    for (; others->at < others->count; others->at++) {
        struct other_source *source = &others->sources[others->at];
        const tsmith_batch *batch;
        const tsmith_status status = tsmith_source_next(source->source, &batch, error);
        if (status == TSMITH_OK)
            return take_batch(source, into, batch, out, error);
        if (status < 0)
            return status;
        // The end, or the readable part of an input that stops early: its own ledger has the loss.
    }
    return TSMITH_END;
}
