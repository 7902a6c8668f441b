// SPDX-License-Identifier: Apache-2.0
// Messages of OTLP as JSON.
#ifndef CLI_OTLP_TEXT_H
#define CLI_OTLP_TEXT_H

#include "cli/present/text.h"
#include "metrics_series.h"
#include "tracesmith/dictionary.h"

// A trace of OpenTelemetry, in which the run is a span.
struct otlp_trace {
    char id[33], parent[17]; // hexadecimal; parent "": the run is the root
    const char *state;       // TRACESTATE; NULL: none
    bool is_wanted;          // the caller records this trace
    uint64_t first_span;     // id of the run; those of ranges follow
};

// Who sends.
struct otlp_resource {
    const char *service, *program;
    int64_t pid; // of tracesmith
    char host[65];
};

// A range of the program, or the run itself. Times are ns since 1970.
struct otlp_span {
    int64_t start, end;
    uint32_t name, track; // of the dictionary
    uint64_t number;      // from 1; 0: the run
};

// TRACEPARENT of W3C's Trace Context; false if it is none.
bool otlp_read_parent(const char *text, struct otlp_trace *trace);
void otlp_add_metrics(struct text *text, const struct otlp_resource *resource,
                      const tsmith_live_totals *totals, struct metrics_kernels *kernels, int64_t since,
                      int64_t now);
// `run` NULL: it has not ended. `wait_status` is of the program.
void otlp_add_spans(struct text *text, const struct otlp_resource *resource, const struct otlp_trace *trace,
                    const tsmith_dictionary *dictionary, const struct otlp_span *spans, size_t count,
                    const struct otlp_span *run, int wait_status);

#endif
