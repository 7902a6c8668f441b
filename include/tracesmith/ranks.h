// SPDX-License-Identifier: Apache-2.0
// The ranks of one distributed run, with one trace each: which rank arrives late at collectives, which ranks wait, and
// how much steps differ.
//
// The clocks of several machines may differ, so arrival is computed without them: a collective ends on all ranks at
// about the same time, so a rank on which it is d ns shorter than on another arrived d ns later. Collectives are
// matched by name and process group, the n-th of one rank with the n-th of the others. 24 bytes per collective and
// rank. One thread at a time.
//
// The answer depends on the set of traces alone, not on the order in which they are added, nor on whether they came as
// traces or as partials. A trace that is added twice counts once.
#ifndef TRACESMITH_RANKS_H
#define TRACESMITH_RANKS_H

#include "tracesmith/analyze.h"
#include "tracesmith/export.h"
#include "tracesmith/output.h"
#include "tracesmith/status.h"
#include "tracesmith/stream.h"
#include "tracesmith/trace.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tsmith_ranks tsmith_ranks;

TSMITH_API tsmith_status tsmith_ranks_create(tsmith_ranks **out, tsmith_error *error);
TSMITH_API void tsmith_ranks_destroy(tsmith_ranks *ranks);
// Reads the trace of a rank to its end. Its number comes from the trace (PyTorch's distributedInfo); if a trace has
// none or all have the same, numbers follow the order of the labels (rank2 before rank10); of several traces with one number
// only the first by label is compared. `label` is copied: the name of the file. TRUNCATED when the trace ends early: the
// part that was read is used.
TSMITH_API tsmith_status tsmith_ranks_add(tsmith_ranks *ranks, const char *label, tsmith_source *source,
                                          tsmith_error *error);
// Sets `arguments` and `needs_event`, so that tsmith_trace_stream leaves out what tsmith_ranks_add does not use: the comparison is the
// same. Any thread.
TSMITH_API void tsmith_ranks_set_needs(tsmith_trace_options *options);
// Notes a trace that could not be read, and why: the report counts and names it. Both strings are copied.
TSMITH_API tsmith_status tsmith_ranks_add_missing(tsmith_ranks *ranks, const char *label, const char *reason,
                                                  tsmith_error *error);

// A partial has what a comparison needs of any number of traces, as bytes (docs/partials.md): some 6 bytes per collective.
// Machines write partials of their own traces, and partials of partials, in any tree; the bytes depend on the set of traces
// alone. ERROR_STATE after finish.
TSMITH_API tsmith_status tsmith_ranks_write_partial(const tsmith_ranks *ranks, const tsmith_output *output,
                                                    tsmith_error *error);
// Adds the traces of a partial, all of them or none. `label`, the name of the file, is for messages. The bytes are not kept.
// ERROR_CORRUPT (with offset and record) when it is damaged, ERROR_FORMAT when it is something else, ERROR_UNSUPPORTED when
// another version wrote it.
TSMITH_API tsmith_status tsmith_ranks_add_partial(tsmith_ranks *ranks, const char *label, const void *bytes,
                                                  size_t size, tsmith_error *error);
// Whether bytes (8 are enough) begin as a partial does.
TSMITH_API int tsmith_ranks_is_partial(const void *bytes, size_t size);

// After the last rank; ERROR_STATE when there are fewer than two different ones.
TSMITH_API tsmith_status tsmith_ranks_finish(tsmith_ranks *ranks, tsmith_error *error);
// After finish: tables of ranks, collectives and steps. Lives as long as the ranks.
TSMITH_API const tsmith_report *tsmith_ranks_report(const tsmith_ranks *ranks);

#ifdef __cplusplus
}
#endif
#endif
