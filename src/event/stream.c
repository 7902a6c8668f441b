// SPDX-License-Identifier: Apache-2.0
// Sources, sinks and the pump that moves batches from one to the other. All code that delivers or takes batches calls
// it.
#include "tracesmith/stream.h"

#include <stdlib.h>

struct tsmith_source {
    tsmith_source_ops ops;
    void *self;
};

struct tsmith_sink {
    tsmith_sink_ops ops;
    void *self;
};

tsmith_status tsmith_source_create(const tsmith_source_ops *ops, void *self, tsmith_source **out) {
    *out = malloc(sizeof **out);
    if (!*out)
        return TSMITH_ERROR_NO_MEMORY;
    **out = (tsmith_source){*ops, self};
    return TSMITH_OK;
}

tsmith_status tsmith_sink_create(const tsmith_sink_ops *ops, void *self, tsmith_sink **out) {
    *out = malloc(sizeof **out);
    if (!*out)
        return TSMITH_ERROR_NO_MEMORY;
    **out = (tsmith_sink){*ops, self};
    return TSMITH_OK;
}

tsmith_status tsmith_source_next(tsmith_source *source, const tsmith_batch **out, tsmith_error *error) {
    *out = NULL;
    return source->ops.next(source->self, out, error);
}

const tsmith_dictionary *tsmith_source_dictionary(tsmith_source *source) {
    return source->ops.dictionary(source->self);
}

void tsmith_source_destroy(tsmith_source *source) {
    if (!source)
        return;
    if (source->ops.destroy)
        source->ops.destroy(source->self);
    free(source);
}

tsmith_status tsmith_sink_write(tsmith_sink *sink, const tsmith_dictionary *dictionary,
                                const tsmith_batch *batch, tsmith_error *error) {
    return sink->ops.write(sink->self, dictionary, batch, error);
}

tsmith_status tsmith_sink_finish(tsmith_sink *sink, const tsmith_dictionary *dictionary,
                                 tsmith_error *error) {
    return sink->ops.finish(sink->self, dictionary, error);
}

void tsmith_sink_destroy(tsmith_sink *sink) {
    if (!sink)
        return;
    if (sink->ops.destroy)
        sink->ops.destroy(sink->self);
    free(sink);
}

tsmith_status tsmith_pump(tsmith_source *source, tsmith_sink *sink, int (*keep_going)(void *context),
                          void *context, tsmith_error *error) {
    tsmith_status got;
    for (;;) {
        const tsmith_batch *batch;
        got = tsmith_source_next(source, &batch, error);
        if (got != TSMITH_OK && got != TSMITH_AGAIN)
            break;
        if (got == TSMITH_OK) {
            tsmith_status put = tsmith_sink_write(sink, tsmith_source_dictionary(source), batch, error);
            if (put != TSMITH_OK)
                return put;
        }
        if (keep_going && !keep_going(context)) {
            got = TSMITH_END;
            break;
        }
    }
    // After a failure of the source its error is the one to report; what it gave is finished all the same.
    tsmith_status finished =
        tsmith_sink_finish(sink, tsmith_source_dictionary(source), got == TSMITH_END ? error : NULL);
    return got == TSMITH_END ? finished : got;
}
