// SPDX-License-Identifier: Apache-2.0
// Growing an array: the one place where capacity is doubled and a multiplication can overflow.
#ifndef BASE_ARRAY_H
#define BASE_ARRAY_H

#include <stdbool.h>
#include <stddef.h>

// Makes room for `needed` elements of `element` bytes in *items (NULL at first), whose capacity is *capacity.
// False when memory is exhausted; the array is then unchanged.
bool array_reserve(void **items, size_t *capacity, size_t needed, size_t element);

#endif
