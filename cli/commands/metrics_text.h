// SPDX-License-Identifier: Apache-2.0
// The totals of a recording in Prometheus's text format.
#ifndef CLI_METRICS_TEXT_H
#define CLI_METRICS_TEXT_H

#include "cli/present/text.h"
#include "metrics_series.h"

void metrics_add_text(struct text *text, const tsmith_live_totals *totals, struct metrics_kernels *kernels);

#endif
