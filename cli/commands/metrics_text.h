// SPDX-License-Identifier: Apache-2.0
// The totals of a recording in Prometheus's text format.
#ifndef CLI_METRICS_TEXT_H
#define CLI_METRICS_TEXT_H

#include "cli/present/text.h"
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

void metrics_add_text(struct text *text, const tsmith_live_totals *totals, struct metrics_kernels *kernels);

#endif
