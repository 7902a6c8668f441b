// SPDX-License-Identifier: Apache-2.0
// Answers: the analyses of a trace, each as a report of tables with a finding in plain words.
//
// An analysis is given the batches of a trace, once, in any order, and then finished; its reports are the same for
// equal traces. Text, JSON and CSV are written from the same tables. Every report states the share of the window that
// it covers. docs/analyses.md defines each analysis. Analyses of commands and waits share one timeline (48 to 88 bytes
// per command, 48 or 60 per API call), graph and states, up to 320 bytes per command and 336 per call
// (tracesmith/timeline.h describes their limit), those of ranges 24 bytes per range; `kernels` and `memory` need none.
// One thread at a time.
#ifndef TRACESMITH_ANALYZE_H
#define TRACESMITH_ANALYZE_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "tracesmith/export.h"
#include "tracesmith/output.h"
#include "tracesmith/sbt.h"
#include "tracesmith/status.h"
#include "tracesmith/stream.h"
#include "tracesmith/timeline.h"
#include "tracesmith/trace.h"

#ifdef __cplusplus
extern "C" {
#endif

// The type of a cell of a table. X(NAME, number, "suffix of the column's name in JSON and CSV", "doc")
#define TSMITH_CELL_TABLE(X)                                                                                 \
    X(TEXT, 0, "", "text")                                                                                   \
    X(COUNT, 1, "", "a number of things")                                                                    \
    X(DURATION, 2, "_ns", "nanoseconds")                                                                     \
    X(TIME, 3, "_ns", "nanoseconds since the window began")                                                  \
    X(SHARE, 4, "", "a part of 1")                                                                           \
    X(BYTES, 5, "_bytes", "bytes")                                                                           \
    X(RATE, 6, "_bytes_per_s", "bytes per second")                                                           \
    X(NUMBER, 7, "", "a number")                                                                             \
    X(FLOP_RATE, 8, "_flop_per_s", "floating-point operations per second")

typedef enum tsmith_cell_type {
#define TSMITH_CELL_ENUM(NAME, number, suffix, doc) TSMITH_CELL_##NAME = number,
    TSMITH_CELL_TABLE(TSMITH_CELL_ENUM)
#undef TSMITH_CELL_ENUM
} tsmith_cell_type;

typedef struct tsmith_cell {
    int known; // 0: unknown
    union {
        int64_t integer;  // COUNT, DURATION, TIME, BYTES
        double number;    // SHARE, RATE, NUMBER, FLOP_RATE
        const char *text; // TEXT
    } value;
} tsmith_cell;

typedef struct tsmith_report_column {
    const char *name; // snake case
    tsmith_cell_type type;
} tsmith_report_column;

typedef struct tsmith_report_table {
    const char *name; // snake case
    const char *doc;  // what a row is, and the meaning of columns that is not obvious
    const tsmith_report_column *columns;
    size_t column_count;
    const tsmith_cell *cells; // row after row
    size_t row_count;
} tsmith_report_table;

typedef struct tsmith_report {
    const char *name;         // of the analysis: "kernels"
    const char *question;     // "Which kernels take the time?"
    const char *finding;      // one or two sentences; of "advice": a line for each of the first three
    const char *const *notes; // limits of the answer
    size_t note_count;
    tsmith_interval window;
    int64_t missing; // ns of the window in which the trace is known to be incomplete
    uint64_t lost;   // events known to be lost
    const tsmith_report_table *tables;
    size_t table_count;
} tsmith_report;

typedef struct tsmith_analysis tsmith_analysis;

typedef struct tsmith_analysis_options {
    size_t size;              // sizeof(tsmith_analysis_options)
    const char *const *names; // which analyses; NULL: all
    size_t name_count;
    int has_window;
    int64_t from, to; // ns on the trace clock
    // Functions that are never the code location of a launch in `callsites`; their caller is. The strings must outlive the
    // analysis.
    const char *const *skip;
    size_t skip_count;
    int hide_interpreter; // `callsites` leaves them out: tsmith_stack_names_hide_interpreter
    // The peak of each device per second, for `roofline`: floating-point operations, bytes of memory. 0: not stated; then only
    // a peak that the trace states is known. ERROR_INVALID_ARGUMENT for a number that is negative or not finite.
    double peak_flops, peak_bytes;
    // What a frame is, for `frames` (tracesmith/frames.h); NULL: what the trace states, else "present".
    const char *frames;
} tsmith_analysis_options;

// `options` may be NULL. ERROR_NOT_FOUND for an unknown name; the message lists the known ones.
TSMITH_API tsmith_status tsmith_analysis_create(const tsmith_analysis_options *options, tsmith_analysis **out,
                                                tsmith_error *error);
TSMITH_API void tsmith_analysis_destroy(tsmith_analysis *analysis);
TSMITH_API tsmith_status tsmith_analysis_add(tsmith_analysis *analysis, const tsmith_dictionary *dictionary,
                                             const tsmith_batch *batch, tsmith_error *error);
TSMITH_API tsmith_status tsmith_analysis_finish(tsmith_analysis *analysis,
                                                const tsmith_dictionary *dictionary, tsmith_error *error);
// The same as a sink, for a pump; the analysis must outlive it.
TSMITH_API tsmith_status tsmith_analysis_sink(tsmith_analysis *analysis, tsmith_sink **out);

// The answer `kernels` without reading events: from totals by name, which a file keeps (tsmith_sbt_aggregates).
// Median, p99 and shapes are then unknown, which the report states. Instead of `add`, for an analysis of `kernels`
// alone and without a window: ERROR_STATE for any other. `window` is that of the events. Losses are added as batches.
typedef struct tsmith_kernel_total {
    uint32_t name;           // string of the dictionary
    uint64_t count;          // events, those without a duration among them
    int64_t total, min, max; // ns
} tsmith_kernel_total;

TSMITH_API tsmith_status tsmith_analysis_add_totals(tsmith_analysis *analysis,
                                                    const tsmith_kernel_total *totals, size_t count,
                                                    tsmith_interval window, tsmith_error *error);
// The same with the totals and losses of a file; finishes the analysis. ERROR_NOT_FOUND if the totals do not cover all kernels,
// because the file is damaged: its events must be read instead.
TSMITH_API tsmith_status tsmith_analysis_read_totals(tsmith_analysis *analysis, tsmith_sbt *trace,
                                                     tsmith_error *error);

// After finish: the reports of the requested analyses, in the order of tsmith_analysis_name; NULL past the last.
// Lives as long as the analysis.
TSMITH_API const tsmith_report *tsmith_analysis_report(const tsmith_analysis *analysis, size_t index);

// After finish: the timeline that the analyses share; NULL if no requested analysis needs one. Lives as long as the
// analysis.
TSMITH_API const tsmith_timeline *tsmith_analysis_timeline(const tsmith_analysis *analysis);

// All analyses: name and question; NULL past the last.
TSMITH_API const char *tsmith_analysis_name(size_t index);
TSMITH_API const char *tsmith_analysis_question(size_t index);
// Whether its answer takes sums of events too (TSMITH_KIND_SUM), or needs no kernels and transfers. Of a trace that has its
// work in sums alone, the finding of the others says that the answer is not known.
TSMITH_API bool tsmith_analysis_reads_sums(size_t index);

// Sets `arguments` in options whose size is set, where the analyses of these names need few of them or none: their reports are the
// same. Any thread.
TSMITH_API void tsmith_analysis_set_needs(const char *const *names, size_t count,
                                          tsmith_trace_options *options);

// Writes a report: as text (at most `max_rows` rows per table, 0: 20; lines of at most `width` columns, 0: 100, unless the
// numbers alone are wider), as one JSON object, or as CSV (one header per table; the first two columns are report and table).
// ERROR_IO and similar errors if the file cannot be written.
TSMITH_API tsmith_status tsmith_report_write_text(const tsmith_report *report, size_t max_rows, size_t width,
                                                  FILE *out, tsmith_error *error);
TSMITH_API tsmith_status tsmith_report_write_json(const tsmith_report *report, FILE *out,
                                                  tsmith_error *error);
TSMITH_API tsmith_status tsmith_report_write_csv(const tsmith_report *report, FILE *out, tsmith_error *error);
// The same bytes, written to a function of the caller. If it fails, its status is returned.
TSMITH_API tsmith_status tsmith_report_write_text_to(const tsmith_report *report, size_t max_rows,
                                                     size_t width, const tsmith_output *output,
                                                     tsmith_error *error);
TSMITH_API tsmith_status tsmith_report_write_json_to(const tsmith_report *report, const tsmith_output *output,
                                                     tsmith_error *error);
TSMITH_API tsmith_status tsmith_report_write_csv_to(const tsmith_report *report, const tsmith_output *output,
                                                    tsmith_error *error);

#ifdef __cplusplus
}
#endif
#endif
