// SPDX-License-Identifier: Apache-2.0
// Traces, answers and SQL as Arrow tables, in memory: pyarrow, polars, DuckDB, pandas and many others use this data
// without a copy and without a library of Arrow's. The structs are those of the Arrow C data interface and the Arrow
// C stream interface (https://arrow.apache.org/docs/format/CDataInterface.html), which never change.
//
//     tsmith_arrow_source(source, NULL, &stream, &error)  ->  pyarrow.RecordBatchReader._import_from_c(address of stream)
//
// The columns:
//   - A value that is not known is null, never 0.
//   - Times and durations are 64-bit integers in nanoseconds, times on the trace clock (it does not begin in 1970).
//   - Texts are UTF-8 (large_utf8). A byte of the trace that is not UTF-8 becomes U+FFFD.
//   - Strings of events are dictionary-encoded, with the ids of the trace's dictionary, which are not copied. Kinds, operations,
//     directions and reasons are encoded likewise; a number that this version has no name for becomes a decimal number.
//   - A column's metadata may have its "unit" and its description ("doc").
//
// Ownership: `out` belongs to the caller and need not be initialized. Its `release`, which the importing library calls,
// frees its contents. The caller or the importer releases a stream before closing the object from which it was created;
// arrays of the stream stay valid until they are released. On failure `out->release` is NULL.
//
// Threads: a stream is used by one thread at a time, under the rule of that object. Arrays and schemas may be read
// by any number of threads and released by any thread.
//
// Errors: the functions of a stream return 0 or an errno value, and its get_last_error the message: ENOMEM, EINVAL,
// or EIO for any other. After a failure every further call returns the same.
#ifndef TRACESMITH_ARROW_H
#define TRACESMITH_ARROW_H

#include <stddef.h>
#include <stdint.h>

#include "tracesmith/analyze.h"
#include "tracesmith/export.h"
#include "tracesmith/query.h"
#include "tracesmith/status.h"
#include "tracesmith/stream.h"

#ifdef __cplusplus
extern "C" {
#endif

// As the specification gives them, with its guards: other headers may define the same.
#ifndef ARROW_C_DATA_INTERFACE
#define ARROW_C_DATA_INTERFACE

#define ARROW_FLAG_DICTIONARY_ORDERED 1
#define ARROW_FLAG_NULLABLE 2
#define ARROW_FLAG_MAP_KEYS_SORTED 4

struct ArrowSchema {
    const char *format;
    const char *name;
    const char *metadata;
    int64_t flags;
    int64_t n_children;
    struct ArrowSchema **children;
    struct ArrowSchema *dictionary;
    void (*release)(struct ArrowSchema *);
    void *private_data;
};

struct ArrowArray {
    int64_t length;
    int64_t null_count;
    int64_t offset;
    int64_t n_buffers;
    int64_t n_children;
    const void **buffers;
    struct ArrowArray **children;
    struct ArrowArray *dictionary;
    void (*release)(struct ArrowArray *);
    void *private_data;
};

#endif

#ifndef ARROW_C_STREAM_INTERFACE
#define ARROW_C_STREAM_INTERFACE

struct ArrowArrayStream {
    int (*get_schema)(struct ArrowArrayStream *, struct ArrowSchema *out);
    int (*get_next)(struct ArrowArrayStream *, struct ArrowArray *out);
    const char *(*get_last_error)(struct ArrowArrayStream *);
    void (*release)(struct ArrowArrayStream *);
    void *private_data;
};

#endif

typedef struct tsmith_arrow_options {
    size_t size; // sizeof(tsmith_arrow_options)
    const uint32_t
        *fields; // the columns, in this order; NULL: every field of the schema and of the dictionary
    size_t field_count;
    // A source that ends early (TRUNCATED) ends the stream. 0: the stream fails after the last batch, so that a part
    // is not mistaken for the whole.
    int accept_truncated;
    uint64_t kinds; // TSMITH_KIND_BIT of each: only events of these kinds; 0: all
    int has_window; // only events whose start is at or after `from` and before `to`, ns on the trace clock
    int64_t from, to;
    int without_track; // leave out the column "track"
} tsmith_arrow_options;

// The batches of a source, one array each: a struct with the column "track" (id of the dictionary's track, uint32) and
// a column per field, named as the field, or "args.NAME" for a field that the trace itself defines. Columns are shared
// with the batch (tsmith_batch_retain). Booleans, which Arrow packs into bits, and columns of a batch of which only some events
// are selected (`kinds`, window) are copied. If a live source has no batch yet, the stream waits for one.
//
// The stream takes ownership of `source` and destroys it when it is released; after a failure the caller keeps it. The object
// that the source reads from (a tsmith_sbt, a tsmith_trace) must outlive the stream. The first call of the stream fixes the schema: a
// field that a foreign trace defines only later makes the stream fail, unless `fields` leaves it out. All fields of a
// file opened with tsmith_trace_open are known from the beginning. `fields` is copied. `options` may be NULL.
//
// INVALID_ARGUMENT, NO_MEMORY. An unknown field makes the first call of the stream fail.
TSMITH_API tsmith_status tsmith_arrow_source(tsmith_source *source, const tsmith_arrow_options *options,
                                             struct ArrowArrayStream *out, tsmith_error *error);

// A table of a report: one array, with columns named as in JSON and CSV ("duration_ns"). It is copied: neither the report
// nor its analysis need to outlive the call. NO_MEMORY.
TSMITH_API tsmith_status tsmith_arrow_table(const tsmith_report_table *table, struct ArrowArrayStream *out,
                                            tsmith_error *error);

// The answer of the statement that tsmith_query_prepare prepared, in arrays of up to 65,536 rows. A column is int64, double,
// text or binary, by the values in the first array; without values there, it has its declared type, or else text. Integers among
// reals become reals if no digit is lost. A value of another type makes the stream fail with a message that names the column; a CAST
// in the statement sets the type. `query` is borrowed: the caller must not prepare or step with it until the stream is released.
//
// ERROR_STATE if no statement with an answer was prepared, NO_MEMORY.
TSMITH_API tsmith_status tsmith_arrow_query(tsmith_query *query, struct ArrowArrayStream *out,
                                            tsmith_error *error);

#ifdef __cplusplus
}
#endif
#endif
