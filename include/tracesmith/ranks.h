// SPDX-License-Identifier: Apache-2.0
// The ranks of one distributed run, a trace each: which comes late to collectives, who waits, how far steps differ.
//
// Clocks of several machines need not agree, so arrival is judged without them: a collective ends for all at about the
// same time, so a rank for which it lasts d ns shorter than for another came d ns later. Collectives are matched by name
// and process group, the n-th of one rank with the n-th of the others. 24 bytes per collective and rank. One thread at
// a time.
#ifndef TRACESMITH_RANKS_H
#define TRACESMITH_RANKS_H

#include "tracesmith/analyze.h"
#include "tracesmith/export.h"
#include "tracesmith/status.h"
#include "tracesmith/stream.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tsmith_ranks tsmith_ranks;

TSMITH_API tsmith_status tsmith_ranks_create(tsmith_ranks **out, tsmith_error *error);
TSMITH_API void tsmith_ranks_destroy(tsmith_ranks *ranks);
// Reads the trace of a rank to its end. Its number comes from the trace (PyTorch's distributedInfo); if a trace has
// none or two have the same, numbers follow the order of adding. `label` is copied: the name of the file. TRUNCATED
// when the trace ends early: the part that was read is used.
TSMITH_API tsmith_status tsmith_ranks_add(tsmith_ranks *ranks, const char *label, tsmith_source *source,
                                          tsmith_error *error);
// After the last rank; ERROR_STATE when there are fewer than two.
TSMITH_API tsmith_status tsmith_ranks_finish(tsmith_ranks *ranks, tsmith_error *error);
// After finish: tables of ranks, collectives and steps. Lives as long as the ranks.
TSMITH_API const tsmith_report *tsmith_ranks_report(const tsmith_ranks *ranks);

#ifdef __cplusplus
}
#endif
#endif
