// SPDX-License-Identifier: Apache-2.0
// Growing an array: the one place where capacity is doubled and a multiplication can overflow.
#ifndef BASE_ARRAY_H
#define BASE_ARRAY_H

#include <stdbool.h>
#include <stddef.h>

// Makes room for `needed` elements of `element` bytes in *items (NULL at first), whose capacity is *capacity.
// False when memory is exhausted; the array is then unchanged.
bool array_reserve(void **items, size_t *capacity, size_t needed, size_t element);

// The same of a pointer to elements and its capacity, a size_t; no call is made where there is room. False when memory is
// exhausted. `items` and `capacity` are evaluated more than once.
#define ARRAY_RESERVE(items, capacity, needed)                                                               \
    ({                                                                                                       \
        const size_t array_needed_ = (needed);                                                               \
        bool array_good_ = array_needed_ <= (capacity);                                                      \
        if (!array_good_) {                                                                                  \
            void *array_items_ = (items);                                                                    \
            array_good_ = array_reserve(&array_items_, &(capacity), array_needed_, sizeof *(items));         \
            (items) = array_items_;                                                                          \
        }                                                                                                    \
        array_good_;                                                                                         \
    })

// One more element, not initialized: its address, until the array grows; NULL when memory is exhausted. All three are
// evaluated more than once.
#define ARRAY_PUSH(items, count, capacity)                                                                   \
    (ARRAY_RESERVE(items, capacity, (size_t)(count) + 1) ? &(items)[(count)++] : NULL)

#endif
