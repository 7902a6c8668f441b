// SPDX-License-Identifier: Apache-2.0
// The marks of a time axis. timeline.c calls it.
#include "timeline_axis.h"

int64_t axis_step(int64_t least) {
    int64_t step = 1;
    for (;;) {
        static const int64_t factors[] = {1, 2, 5};
        for (size_t i = 0; i < 3; i++)
            if (step * factors[i] >= least)
                return step * factors[i];
        if (step > INT64_MAX / 100)
            return least;
        step *= 10;
    }
}

void axis_add_time(struct text *text, int64_t time, int64_t step) {
    static const struct {
        int64_t ns;
        const char *name;
    } units[] = {{1000000000, "s"}, {1000000, "ms"}, {1000, "us"}, {1, "ns"}};
    if (!time) {
        text_add_cstr(text, "0");
        return;
    }
    // The largest unit in which the step has at most one decimal.
    size_t unit = 0;
    while (units[unit].ns > 1 && step < units[unit].ns / 10)
        unit++;
    text_add_format(text, step % units[unit].ns ? "%.1f %s" : "%.0f %s",
                    (double)time / (double)units[unit].ns, units[unit].name);
}
