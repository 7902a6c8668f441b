// SPDX-License-Identifier: Apache-2.0
// The order of values that are GROUPED by another column (section 6 of docs/sbt-format.md): equal keys are
// adjacent.
#ifndef SBT_GROUP_H
#define SBT_GROUP_H

#include "sbt/scratch.h"

#include <stdint.h>

// order[k] is the index of the k-th of `count` keys by value, equal ones in the order they have. NULL when memory is
// exhausted.
const uint32_t *group_order(struct scratch *scratch, const uint64_t *keys, uint32_t count);

#endif
