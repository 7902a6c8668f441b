// SPDX-License-Identifier: Apache-2.0
// A stream over something that makes a schema and arrays.
#ifndef ARROW_STREAM_H
#define ARROW_STREAM_H

#include "tracesmith/arrow.h"

struct arrow_stream_ops {
    // Both begin what they need; either may be called first. `next` returns OK, END or a failure; it makes nothing then.
    tsmith_status (*schema)(void *self, struct ArrowSchema *out, tsmith_error *error);
    tsmith_status (*next)(void *self, struct ArrowArray *out, tsmith_error *error);
    void (*destroy)(void *self);
};

// `self` is given up to `destroy` when the stream is released; on failure (no memory) it stays the caller's.
tsmith_status arrow_stream_make(const struct arrow_stream_ops *ops, void *self, struct ArrowArrayStream *out,
                                tsmith_error *error);

#endif
