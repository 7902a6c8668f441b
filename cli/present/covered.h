// SPDX-License-Identifier: Apache-2.0
// A union of intervals that come in order of their start: never more than the time there is.
#ifndef CLI_COVERED_H
#define CLI_COVERED_H

#include <stdbool.h>
#include <stdint.h>

// A zeroed struct is empty.
struct covered {
    int64_t busy; // ns
    int64_t until;
    bool started;
};

// Adds [start, end). *from is where the part that is new begins (it ends at `end`); false when nothing is
// new.
static inline bool covered_add(struct covered *covered, int64_t start, int64_t end, int64_t *from) {
    *from = covered->started && start < covered->until ? covered->until : start;
    if (end <= *from)
        return false;
    covered->busy += end - *from;
    covered->until = end;
    covered->started = true;
    return true;
}

#endif
