// SPDX-License-Identifier: Apache-2.0
// The totals of a recording as metrics: one list, which metrics_text.c writes for Prometheus and otlp_text.c for OpenTelemetry. The
// number of series is bounded, and no counter decreases.
#ifndef CLI_METRICS_SERIES_H
#define CLI_METRICS_SERIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tracesmith/live.h"

enum { METRICS_KERNELS = 32 }; // that have series of their own; the others share one

// Which kernels have series, so that every series only grows: a kernel keeps its place, and counts from when it got it.
struct metrics_kernels {
    struct {
        uint64_t id;
        char name[TSMITH_LIVE_TEXT];
        uint64_t count_before, count; // when it got the place; since then
        int64_t sum_before, sum;
    } places[METRICS_KERNELS];
    size_t count;
};

enum metric_unit { METRIC_NUMBER, METRIC_BYTES, METRIC_SECONDS }; // the value of a time is in ns

struct metric {
    const char *name, *help;
    bool is_gauge; // else a counter
    enum metric_unit unit;
};

// Values may have any bytes.
struct metric_label {
    const char *name, *value;
};

struct metric_visitor {
    void *context;
    void (*begin)(void *context, const struct metric *metric);
    void (*value)(void *context, const struct metric *metric, const struct metric_label *labels, size_t count,
                  int64_t value);
    void (*end)(void *context, const struct metric *metric); // may be NULL
};

// Visits each metric and its values.
void metrics_each(const tsmith_live_totals *totals, struct metrics_kernels *kernels,
                  const struct metric_visitor *visitor);

#endif
