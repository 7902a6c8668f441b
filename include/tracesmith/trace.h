// SPDX-License-Identifier: Apache-2.0
// A trace of any format, opened the same way: SBT, and all formats that tracesmith/import.h reads. The format is
// detected from the content, never from the name.
#ifndef TRACESMITH_TRACE_H
#define TRACESMITH_TRACE_H

#include <stddef.h>
#include <stdint.h>

#include "tracesmith/export.h"
#include "tracesmith/sbt.h"
#include "tracesmith/status.h"
#include "tracesmith/stream.h"
#include "tracesmith/tiles.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tsmith_trace tsmith_trace;

typedef struct tsmith_trace_options {
    size_t size; // sizeof(tsmith_trace_options)
    // Called now and then while a foreign trace is read: bytes read so far (0: not known), and the bytes of the whole
    // file (0: not known, as of a pipe). May be NULL.
    void (*progress)(void *context, uint64_t done, uint64_t total);
    void *progress_context;
    // For tsmith_trace_stream: the events that the caller needs. A hint: for an SBT file, frames without such events are
    // skipped; other formats yield everything. May be NULL.
    const tsmith_scan *scan;
    // Where tsmith_trace_stream stores the name of the format ("sbt", "chrome-json"...), which lives as long as the
    // source. May be NULL.
    const char **format;
    // The program that wrote the trace, for formats whose function names are in the program (XRay). NULL: the value
    // of the environment variable TRACESMITH_BINARY, if set. Not used after the trace is opened.
    const char *binary;
    // A folder in which tsmith_trace_open keeps converted foreign traces for reuse: a file is not imported twice. It
    // is created if it does not exist, and must belong to the user and be closed to others (0700). A file that was
    // changed is imported again, as are all after an update of the library; files below 1 MiB, pipes, damaged traces
    // and those with `binary` always are. A problem with the folder costs time only. NULL: no cache.
    const char *cache;
    // The largest size of the folder; the least recently used files are removed first. 0: 4 GiB.
    uint64_t cache_bytes;
    // The names of the arguments that the caller reads, `argument_count` of them. A hint: of a foreign trace that is not kept in `cache`,
    // other arguments, what is derived from them, and call stacks may be missing. They live as long as the source. NULL: all are needed.
    const char *const *arguments;
    size_t argument_count;
    // For tsmith_trace_stream, the same of events: whether those of a kind and name are needed. Any thread calls it, two at
    // once as well; it is asked about a pair once or more. The first and the last moment of the trace come from an event in any case.
    // NULL: all are needed.
    int (*needs_event)(tsmith_kind kind, const char *name);
    // The caller reads several traces at once: no thread is started for this one.
    int one_thread;
} tsmith_trace_options;

// Opens a file, a named pipe, or standard input ("-"). An SBT file is used as it is; everything else, and what comes
// out of a pipe, goes into a temporary SBT file first (in TMPDIR or /tmp; mode 0600, without a name), so that
// windows, totals and several passes work alike. Memory does not grow with the file.
//
// A foreign trace that stops early or is damaged opens all the same; tsmith_trace_ended reports it. Fails with
// ERROR_FORMAT if no format matches, ERROR_NOT_FOUND, ERROR_PERMISSION, ERROR_NO_SPACE (of the temporary file) and
// the like. `options` may be NULL. One thread at a time.
TSMITH_API tsmith_status tsmith_trace_open(const char *path, const tsmith_trace_options *options,
                                           tsmith_trace **out, tsmith_error *error);
TSMITH_API void tsmith_trace_close(tsmith_trace *trace);

// The trace as SBT; borrowed, lives as long as the trace.
TSMITH_API tsmith_sbt *tsmith_trace_sbt(tsmith_trace *trace);
// "sbt", "chrome-json", "rocprofv3-json"...: the format of what was opened. Lives as long as the trace.
TSMITH_API const char *tsmith_trace_format(const tsmith_trace *trace);
// Size of the file that was opened, compressed if it is; 0 of a pipe.
TSMITH_API uint64_t tsmith_trace_bytes(const tsmith_trace *trace);
// OK, or TRUNCATED when a foreign trace could not be read to its end, with the reason in `error`. For an SBT file
// this is OK; tsmith_sbt_summarize has the details.
TSMITH_API tsmith_status tsmith_trace_ended(const tsmith_trace *trace, tsmith_error *error);

// Fills tiles of tsmith_trace_sbt(trace), of which nothing was filled yet, with what tsmith_trace_keep_tiles kept when a trace with the
// same content was opened with the same `cache`. ERROR_NOT_FOUND where there is none that can be used: tsmith_tiles_fill fills them then.
// The events are not read: damage of them that is new is noticed when they are.
TSMITH_API tsmith_status tsmith_trace_load_tiles(tsmith_trace *trace, tsmith_tiles *tiles,
                                                 tsmith_error *error);
// Keeps what tsmith_tiles_fill filled, in the folder `cache` and within its bounds. Nothing is kept without one, of a damaged trace, of
// one below 1 MiB as SBT, or of tiles that are not full. A problem with the folder is not reported. ERROR_NO_MEMORY, ERROR_NO_SPACE
// and the like of the temporary file.
TSMITH_API tsmith_status tsmith_trace_keep_tiles(tsmith_trace *trace, const tsmith_tiles *tiles,
                                                 tsmith_error *error);

// Yields the batches of a trace once, without the temporary file (only an SBT file that comes out of a pipe needs it).
// Destroyed like any source. Fails as tsmith_trace_open does.
TSMITH_API tsmith_status tsmith_trace_stream(const char *path, const tsmith_trace_options *options,
                                             tsmith_source **out, tsmith_error *error);

#ifdef __cplusplus
}
#endif
#endif
