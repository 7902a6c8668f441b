// SPDX-License-Identifier: Apache-2.0
// The NEST transform (section 6 of docs/sbt-format.md): nested ranges, such as calls, stored by the time from each
// begin or end to the preceding one, of any range. A caller's duration is then only the part after its last
// callee.
#ifndef SBT_NEST_H
#define SBT_NEST_H

#include <stdbool.h>
#include <stdint.h>

// By row. A range that reaches beyond the one it began in, or has no duration, is loose: it is stored unchanged.
struct nest {
    uint64_t *opens; // time from the begin or end before to this begin
    uint64_t *steps; // ranges that ended since the row before, times 2; + 1 when this one is loose
    uint64_t
        *closes; // from the begin or end before to this end; the duration where loose; 0 where it has none
    uint32_t *stack; // room for `rows` of them
};

// From `start`, ascending, and `duration` (0 where there is none) of `rows` rows.
void nest_make(struct nest *nest, const int64_t *start, const int64_t *duration, const uint64_t *valid,
               uint32_t rows);

// And back: `start` and `duration` from what nest_make made, `origin` being the first start. False when there are more
// ends than begins.
bool nest_undo(const struct nest *nest, int64_t origin, const uint64_t *valid, uint32_t rows, int64_t *start,
               int64_t *duration);

#endif
