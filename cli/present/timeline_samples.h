// SPDX-License-Identifier: Apache-2.0
// Samples of host threads in `view --timeline`: below each sampled thread, its CPU time and the functions that took most of it.
#ifndef CLI_TIMELINE_SAMPLES_H
#define CLI_TIMELINE_SAMPLES_H

#include <stddef.h>
#include <stdint.h>

#include "views.h"

struct timeline_samples;

// What the picture shows: ns on the trace clock, columns of time, and the row + 1 of each track (0: none).
struct timeline_frame {
    int64_t from, to;
    size_t columns, label_columns;
    const uint32_t *row_of;
    uint32_t track_count;
    size_t row_count;
};

// Reads the samples of a trace. *out is NULL if it has none, or the view excludes them. The exit code; failures are complained about.
int timeline_samples_read(struct view *view, const struct timeline_frame *frame,
                          struct timeline_samples **out);
bool timeline_samples_has(const struct timeline_samples *samples, size_t row);
// The lines of a row; nothing if it has no samples.
void timeline_samples_draw(struct timeline_samples *samples, size_t row);
// What the colors mean; nothing without samples.
void timeline_samples_legend(const struct timeline_samples *samples);
void timeline_samples_destroy(struct timeline_samples *samples);

#endif
