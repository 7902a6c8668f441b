// SPDX-License-Identifier: Apache-2.0
// The tables and sentences of `idle` about the code that samples found running while a device was host-bound.
#ifndef ANALYZE_IDLE_CODE_H
#define ANALYZE_IDLE_CODE_H

#include "analyze/analysis.h"
#include "analyze/host_samples.h"

struct report_table *idle_code_begin(struct report *report);
// `samples`: those of the device's host-bound time, sorted.
void idle_code_write(const struct analysis_context *context, const struct host_samples *samples,
                     const tsmith_row *device, struct report *report, struct report_table *table);
struct report_table *idle_code_begin_gaps(struct report *report);
// `samples`: those of one gap, sorted.
void idle_code_write_gap(const struct analysis_context *context, const struct host_samples *samples,
                         const tsmith_row *device, tsmith_interval gap, struct report *report,
                         struct report_table *table);
// Adds what the samples say about the host-bound time to the evidence.
void idle_code_advise(const struct analysis_context *context, const struct host_samples *samples);

#endif
