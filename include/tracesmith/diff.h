// SPDX-License-Identifier: Apache-2.0
// Compares two sides of traces: per kernel (also by shape), operator, range and state, matched by name.
//
// A side is one run or several of the same program. With two or more on both sides every change has a confidence
// interval (Welch's: the runs are independent, their means about normal, variances may differ); with one run on a side
// there is no interval. A name that does not occur in a run counts as 0. Deterministic. One thread at a time.
#ifndef TRACESMITH_DIFF_H
#define TRACESMITH_DIFF_H

#include <stddef.h>
#include <stdio.h>

#include "tracesmith/analyze.h"
#include "tracesmith/export.h"
#include "tracesmith/output.h"
#include "tracesmith/status.h"
#include "tracesmith/stream.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tsmith_diff tsmith_diff;

typedef enum tsmith_diff_side { TSMITH_DIFF_BASE = 0, TSMITH_DIFF_NEW = 1 } tsmith_diff_side;

typedef struct tsmith_diff_options {
    size_t size;       // sizeof(tsmith_diff_options)
    double confidence; // of the intervals, above 0 and below 1; 0: 0.95
} tsmith_diff_options;

// `options` may be NULL.
TSMITH_API tsmith_status tsmith_diff_create(const tsmith_diff_options *options, tsmith_diff **out,
                                            tsmith_error *error);
TSMITH_API void tsmith_diff_destroy(tsmith_diff *diff);
// Reads a run to its end. TRUNCATED when it ends early: the part that was read is used, and the report states it.
TSMITH_API tsmith_status tsmith_diff_add(tsmith_diff *diff, tsmith_diff_side side, tsmith_source *source,
                                         tsmith_error *error);
// After the last run; ERROR_STATE when a side has none.
TSMITH_API tsmith_status tsmith_diff_finish(tsmith_diff *diff, tsmith_error *error);

// After finish: tables of times, counts, kernels, shapes, operators, ranges and states, the largest change first. Base
// and new are means over the runs of a side. `window`, `missing` and `lost` are sums over all runs. Lives as long
// as the diff.
TSMITH_API const tsmith_report *tsmith_diff_report(const tsmith_diff *diff);

// The metrics of gates: name and meaning; NULL past the last. A name that ends in ':' is followed by the name of a kernel,
// operator, range or state.
TSMITH_API const char *tsmith_diff_metric_name(size_t index);
TSMITH_API const char *tsmith_diff_metric_doc(size_t index);

typedef struct tsmith_gate {
    size_t size;      // sizeof(tsmith_gate), the caller's
    const char *gate; // as it was given; must outlive this
    int passed;
    char message[256]; // what was measured
} tsmith_gate;

// After finish: checks a condition on the new side's mean: METRIC, then < <= > or >=, then a limit. A limit with a
// sign or % is about the change (kernel_time<+3%, launch_count<=+10, idle<+2ms), without one about the new value
// (peak_memory<2GiB). Units: ns us ms s, B KiB MiB GiB, % or none. ERROR_INVALID_ARGUMENT when it cannot be read,
// ERROR_NOT_FOUND when neither side has the metric.
TSMITH_API tsmith_status tsmith_diff_gate(const tsmith_diff *diff, const char *gate, tsmith_gate *out,
                                          tsmith_error *error);
// Writes gates as JUnit XML, one test case each.
TSMITH_API tsmith_status tsmith_gates_write_junit(const tsmith_gate *gates, size_t count, FILE *out,
                                                  tsmith_error *error);
// The same bytes, written to a function of the caller. If it fails, its status is returned.
TSMITH_API tsmith_status tsmith_gates_write_junit_to(const tsmith_gate *gates, size_t count,
                                                     const tsmith_output *output, tsmith_error *error);

#ifdef __cplusplus
}
#endif
#endif
