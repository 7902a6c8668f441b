// SPDX-License-Identifier: Apache-2.0
// Call paths in a tree: recursion is folded, and unknown parts of a path are marked.
//
// Folding: names are added to a path from the outermost function on. Whenever the last n names of the path (n from 1 to
// FOLD_PERIOD_MAX, the smallest first) are the same as the n names before them, the last n are removed. A function that
// calls itself repeatedly, directly or through others, is therefore one node at any depth, and no function of a path disappears
// from it.
//
// Marks: "[truncated]" stands as a function of its own outside of a frame whose caller is not known; " [guessed]" follows
// the name of a frame that was found by a frame pointer: between it and what it called, callers may be missing.
#ifndef EVENT_FOLD_H
#define EVENT_FOLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FOLD_TRUNCATED "[truncated]"
#define FOLD_GUESSED_WORD "[guessed]"
#define FOLD_GUESSED " " FOLD_GUESSED_WORD

enum { FOLD_PERIOD_MAX = 16, FOLD_NAMES = 2 * FOLD_PERIOD_MAX - 1 };

// `names` are the last of a folded path, innermost first, at most FOLD_NAMES; `name` comes next. How many names the
// repetition has that it completes, 0: none; the path then ends that many less one above its present end.
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

#endif
