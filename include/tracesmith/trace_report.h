// SPDX-License-Identifier: Apache-2.0
// A report about a trace for readers who do not have TraceSmith: one self-contained HTML page, or Markdown for a pull
// request.
#ifndef TRACESMITH_TRACE_REPORT_H
#define TRACESMITH_TRACE_REPORT_H

#include <stddef.h>
#include <stdint.h>

#include "tracesmith/analyze.h"
#include "tracesmith/export.h"
#include "tracesmith/output.h"
#include "tracesmith/status.h"
#include "tracesmith/trace.h"

#ifdef __cplusplus
extern "C" {
#endif

// X(NAME, number, "name", "doc")
#define TSMITH_REPORT_FORMAT_TABLE(X)                                                                        \
    X(HTML, 0, "html",                                                                                       \
      "one page with tables and pictures, which loads nothing and is complete without scripts")              \
    X(MARKDOWN, 1, "markdown", "GitHub's Markdown: what to fix first, findings, losses")

typedef enum tsmith_report_format {
#define TSMITH_REPORT_FORMAT_ENUM(NAME, number, name, doc) TSMITH_REPORT_FORMAT_##NAME = number,
    TSMITH_REPORT_FORMAT_TABLE(TSMITH_REPORT_FORMAT_ENUM)
#undef TSMITH_REPORT_FORMAT_ENUM
} tsmith_report_format;

typedef struct tsmith_trace_report_options {
    size_t size; // sizeof(tsmith_trace_report_options)
    tsmith_report_format format;
    const char *title; // name of the trace; NULL: "trace"
    int has_window;
    int64_t from, to;  // ns on the trace clock: only events that begin there
    size_t table_rows; // maximum number of rows per table; rows left out are counted. 0: 30
} tsmith_trace_report_options;

// Writes the report. Runs all analyses in one pass over the events, with their memory (tracesmith/analyze.h).
// Names of the trace are treated as text only. `options` may be NULL. TRUNCATED where the trace ends early: the report is
// written and states it. ERROR_INVALID_ARGUMENT for an unknown format, an empty window, or an output without a function.
TSMITH_API tsmith_status tsmith_trace_report_write(tsmith_trace *trace,
                                                   const tsmith_trace_report_options *options,
                                                   const tsmith_output *output, tsmith_error *error);

// Writes existing answers (tsmith_diff_report, tsmith_ranks_report, tsmith_analysis_report) in the same way: their findings, notes
// and tables. If the title is NULL, it is the question of the first answer. ERROR_INVALID_ARGUMENT as above, and with a window.
TSMITH_API tsmith_status tsmith_reports_write(const tsmith_report *const *reports, size_t count,
                                              const tsmith_trace_report_options *options,
                                              const tsmith_output *output, tsmith_error *error);

// By index: "html", and a line about it; NULL past the last.
TSMITH_API const char *tsmith_report_format_name(unsigned index);
TSMITH_API const char *tsmith_report_format_doc(unsigned index);

#ifdef __cplusplus
}
#endif
#endif
