// SPDX-License-Identifier: Apache-2.0
// Call paths as people read them, for whoever makes a tree of them: recursion is folded, and what is missing has a name.
//
// A function that calls itself, directly or through at most FOLD_PERIOD_MAX - 1 others, is one node however deep it goes:
// where the names that end a path are those right before them once more, the path goes on from the first of the two.
#ifndef EVENT_FOLD_H
#define EVENT_FOLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tracesmith/dictionary.h"

// Stand in a path where frames are not known.
enum fold_mark {
    FOLD_NO_MARK,
    FOLD_TRUNCATED, // before the outermost frame: who called it is not known
    FOLD_GUESSED, // between a frame and its caller that was found by a frame pointer: callers may be missing here
};

static inline const char *fold_mark_name(enum fold_mark mark) {
    return mark == FOLD_TRUNCATED ? "[truncated]" : mark == FOLD_GUESSED ? "[guessed]" : "";
}

// What stands right before a frame with `flags`, whose caller has `outer` (0: it is the outermost, or exact).
static inline enum fold_mark fold_mark_of(uint32_t flags, uint32_t outer) {
    return flags & TSMITH_FRAME_TRUNCATED                                    ? FOLD_TRUNCATED
           : outer & TSMITH_FRAME_GUESSED && !(flags & TSMITH_FRAME_GUESSED) ? FOLD_GUESSED
                                                                             : FOLD_NO_MARK;
}

enum { FOLD_PERIOD_MAX = 8, FOLD_NAMES = 2 * FOLD_PERIOD_MAX - 1 };

// Recursion at the end of a path. Zeroed at its beginning.
struct fold {
    uint32_t node;  // the innermost of the cycle
    uint32_t times; // that it is gone through, at once
};

// `names` are those of the path, innermost first, at most FOLD_NAMES; `name` comes next. How many functions the cycle has
// that it completes, 0: it completes none; the path then goes on at the node that many less one above its end.
static inline uint32_t fold_period(const uint64_t *names, uint32_t count, uint64_t name) {
    for (uint32_t period = 1; period <= FOLD_PERIOD_MAX && 2 * period - 1 <= count; period++) {
        bool same = names[period - 1] == name;
        for (uint32_t i = 0; same && i + 1 < period; i++)
            same = names[i] == names[i + period];
        if (same)
            return period;
    }
    return 0;
}

// After the cycle that ends at `node` was completed once more; how often it was now.
static inline uint32_t fold_count(struct fold *fold, uint32_t node) {
    fold->times = fold->node == node ? fold->times + 1 : 2;
    fold->node = node;
    return fold->times;
}

#endif
