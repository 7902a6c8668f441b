// SPDX-License-Identifier: Apache-2.0
#ifndef EVENT_SORT_H
#define EVENT_SORT_H

#include <stdbool.h>
#include <stdint.h>

// Whether times ascend as they are.
bool sort_is_done(const int64_t *times, uint32_t count);

// Writes the rows 0 .. count-1 into `order` so that their times ascend; rows of equal time keep their order.
// `scratch` has room for `count`. O(n) where few rows come later than their time.
void sort_order_by_time(const int64_t *times, uint32_t count, uint32_t *order, uint32_t *scratch);

#endif
