// SPDX-License-Identifier: Apache-2.0
// Clips the polygon of the lines that pass through all gates so far. host_pairs.c calls it.
#include "state/host_lines.h"

#include <math.h>
#include <stdlib.h>

#include "base/array.h"

void host_lines_finish(struct host_lines *lines) {
    free(lines->corners);
    free(lines->scratch);
    *lines = (struct host_lines){0};
}

static double value_at(const struct host_line *line, double at) {
    return line->offset + line->rate * at;
}

// Keeps the corners where sign * (value - limit) <= 0, and where the edges of the polygon cross the limit.
static bool clip(struct host_lines *lines, double at, double sign, double limit) {
    size_t kept = 0, outside = 0;
    for (size_t i = 0; i < lines->count; i++)
        outside += sign * (value_at(&lines->corners[i], at) - limit) > 0;
    if (!outside)
        return true;
    if (!ARRAY_RESERVE(lines->scratch, lines->scratch_capacity, 2 * lines->count + 2))
        return false;
    for (size_t i = 0; i < lines->count; i++) {
        const struct host_line *from = &lines->corners[i], *to = &lines->corners[(i + 1) % lines->count];
        const double before = sign * (value_at(from, at) - limit), after = sign * (value_at(to, at) - limit);
        if (before <= 0)
            lines->scratch[kept++] = *from;
        if ((before <= 0) == (after <= 0))
            continue;
        const double part = before / (before - after);
        lines->scratch[kept++] = (struct host_line){from->offset + part * (to->offset - from->offset),
                                                    from->rate + part * (to->rate - from->rate)};
    }
    struct host_line *spare = lines->corners;
    const size_t spare_capacity = lines->capacity;
    lines->corners = lines->scratch;
    lines->capacity = lines->scratch_capacity;
    lines->scratch = spare;
    lines->scratch_capacity = spare_capacity;
    lines->count = kept;
    return true;
}

bool host_lines_fit(struct host_lines *lines, const struct host_gate *gates, size_t count, double low,
                    double high, double rate) {
    if (!ARRAY_RESERVE(lines->corners, lines->capacity, 4))
        return false;
    lines->corners[0] = (struct host_line){low, -rate};
    lines->corners[1] = (struct host_line){high, -rate};
    lines->corners[2] = (struct host_line){high, rate};
    lines->corners[3] = (struct host_line){low, rate};
    lines->count = 4;
    for (size_t i = 0; i < count && lines->count; i++)
        if ((isfinite(gates[i].high) && !clip(lines, gates[i].at, 1, gates[i].high)) ||
            (isfinite(gates[i].low) && !clip(lines, gates[i].at, -1, gates[i].low)))
            return false;
    return true;
}

void host_lines_range(const struct host_lines *lines, double at, double *low, double *high) {
    *low = INFINITY;
    *high = -INFINITY;
    for (size_t i = 0; i < lines->count; i++) {
        const double value = value_at(&lines->corners[i], at);
        *low = fmin(*low, value);
        *high = fmax(*high, value);
    }
}
