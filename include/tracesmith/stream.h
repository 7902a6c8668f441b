// SPDX-License-Identifier: Apache-2.0
// Everything is a stream of batches: a source yields them, a sink takes them, and a pump carries them over.
// Capture, import and the file reader are sources; the file writer, exporters and analyses are sinks.
#ifndef TRACESMITH_STREAM_H
#define TRACESMITH_STREAM_H

#include "tracesmith/batch.h"
#include "tracesmith/dictionary.h"
#include "tracesmith/export.h"
#include "tracesmith/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tsmith_source tsmith_source;
typedef struct tsmith_sink tsmith_sink;

// What a source does. `next` sets *out to a batch that lives until the next call on the source, and returns
// OK, END, AGAIN (a live source has nothing right now), TRUNCATED (END of an input that stops early; error
// has the position), or a failure. Everything a batch refers to is in the dictionary when next returns it.
typedef struct tsmith_source_ops {
    tsmith_status (*next)(void *self, const tsmith_batch **out, tsmith_error *error);
    const tsmith_dictionary *(*dictionary)(void *self);
    void (*destroy)(void *self);
} tsmith_source_ops;

// What a sink does. `write` may keep nothing of the batch or of pointers into it. `finish` is called once,
// after the last batch and with the final dictionary; a sink destroyed without it leaves what a crash would
// leave.
typedef struct tsmith_sink_ops {
    tsmith_status (*write)(void *self, const tsmith_dictionary *dictionary, const tsmith_batch *batch,
                           tsmith_error *error);
    tsmith_status (*finish)(void *self, const tsmith_dictionary *dictionary, tsmith_error *error);
    void (*destroy)(void *self);
} tsmith_sink_ops;

// Makes a source or sink of anything. `self` is handed to the ops and given up to `destroy` (which may be
// NULL).
TSMITH_API tsmith_status tsmith_source_create(const tsmith_source_ops *ops, void *self, tsmith_source **out);
TSMITH_API tsmith_status tsmith_sink_create(const tsmith_sink_ops *ops, void *self, tsmith_sink **out);

TSMITH_API tsmith_status tsmith_source_next(tsmith_source *source, const tsmith_batch **out,
                                            tsmith_error *error);
TSMITH_API const tsmith_dictionary *tsmith_source_dictionary(tsmith_source *source);
TSMITH_API void tsmith_source_destroy(tsmith_source *source);

TSMITH_API tsmith_status tsmith_sink_write(tsmith_sink *sink, const tsmith_dictionary *dictionary,
                                           const tsmith_batch *batch, tsmith_error *error);
TSMITH_API tsmith_status tsmith_sink_finish(tsmith_sink *sink, const tsmith_dictionary *dictionary,
                                            tsmith_error *error);
TSMITH_API void tsmith_sink_destroy(tsmith_sink *sink);

// Carries batches until the source ends, then finishes the sink. `keep_going` (may be NULL) is asked after
// every batch and AGAIN; when it returns 0 the pump stops early and finishes the sink. Returns OK, TRUNCATED,
// or the first failure (the sink has then not been finished, unless the source failed: then what it gave is
// finished first).
TSMITH_API tsmith_status tsmith_pump(tsmith_source *source, tsmith_sink *sink,
                                     int (*keep_going)(void *context), void *context, tsmith_error *error);

#ifdef __cplusplus
}
#endif
#endif
