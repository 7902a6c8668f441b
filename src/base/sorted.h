// SPDX-License-Identifier: Apache-2.0
// Binary search in what is sorted: the one place where its bounds are computed.
#ifndef BASE_SORTED_H
#define BASE_SORTED_H

// The lowest index of [from, to) for which `is_before`, an expression of the index `i`, is false; `to` if it is true for all of them, and
// `from` if `to` is not above it. It has to be true for a beginning of the range and false for the rest: then it is evaluated for at most
// log2(to - from) + 1 indexes, all of them in the range. The result has the type of `to`.
//
//     the first that is not before `time`:      SORTED_FIND(i, 0, count, items[i].time < time)
//     the first that is after it:               SORTED_FIND(i, 0, count, items[i].time <= time)
//     the last that is not, or else the first:  SORTED_FIND(i, 1, count, items[i].time <= time) - 1
#define SORTED_FIND(i, from, to, is_before)                                                                  \
    ({                                                                                                       \
        __typeof__((to) + 0) sorted_low_ = (from), sorted_high_ = (to);                                      \
        while (sorted_low_ < sorted_high_) {                                                                 \
            const __typeof__((to) + 0) i = sorted_low_ + (sorted_high_ - sorted_low_) / 2;                   \
            if (is_before)                                                                                   \
                sorted_low_ = i + 1;                                                                         \
            else                                                                                             \
                sorted_high_ = i;                                                                            \
        }                                                                                                    \
        sorted_low_;                                                                                         \
    })

#endif
