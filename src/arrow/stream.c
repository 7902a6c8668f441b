// SPDX-License-Identifier: Apache-2.0
// The functions of a stream: what follows a failure or the end stays the same. Used by source.c, table.c and query.c.
#include "arrow/stream.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/status.h"

struct stream {
    const struct arrow_stream_ops *ops;
    void *self;
    tsmith_error error; // status is not OK once something failed
    bool ended;
};

static int code_of(tsmith_status status) {
    switch ((int)status) {
    case TSMITH_OK:
        return 0;
    case TSMITH_ERROR_NO_MEMORY:
        return ENOMEM;
    case TSMITH_ERROR_INVALID_ARGUMENT:
    case TSMITH_ERROR_STATE:
        return EINVAL;
    default:
        return EIO;
    }
}

// Keeps the error only of a failure: a source may have written into the error although its status is success.
static int set_status(struct stream *stream, tsmith_status status) {
    if (status == TSMITH_OK || status == TSMITH_END)
        stream->error.status = status = TSMITH_OK;
    else if (stream->error.status != status)
        status_set(&stream->error, status, "%s", tsmith_status_text(status));
    return code_of(status);
}

static int get_schema(struct ArrowArrayStream *out, struct ArrowSchema *schema) {
    struct stream *stream = out->private_data;
    schema->release = NULL;
    if (stream->error.status != TSMITH_OK)
        return code_of(stream->error.status);
    return set_status(stream, stream->ops->schema(stream->self, schema, &stream->error));
}

static int get_next(struct ArrowArrayStream *out, struct ArrowArray *array) {
    struct stream *stream = out->private_data;
    array->release = NULL; // the end
    if (stream->error.status != TSMITH_OK)
        return code_of(stream->error.status);
    if (stream->ended)
        return 0;
    const tsmith_status status = stream->ops->next(stream->self, array, &stream->error);
    stream->ended = status == TSMITH_END;
    return set_status(stream, status);
}

static const char *get_last_error(struct ArrowArrayStream *out) {
    const struct stream *stream = out->private_data;
    return stream->error.status == TSMITH_OK ? NULL : stream->error.message;
}

static void release(struct ArrowArrayStream *out) {
    struct stream *stream = out->private_data;
    stream->ops->destroy(stream->self);
    free(stream);
    out->release = NULL;
}

tsmith_status arrow_stream_make(const struct arrow_stream_ops *ops, void *self, struct ArrowArrayStream *out,
                                tsmith_error *error) {
    struct stream *stream = calloc(1, sizeof *stream);
    *out = (struct ArrowArrayStream){.release = NULL};
    if (!stream)
        return status_set(error, TSMITH_ERROR_NO_MEMORY, "out of memory while creating an Arrow stream");
    stream->ops = ops;
    stream->self = self;
    *out = (struct ArrowArrayStream){get_schema, get_next, get_last_error, release, stream};
    return TSMITH_OK;
}
