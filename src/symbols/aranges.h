// SPDX-License-Identifier: Apache-2.0
// .debug_aranges: which unit has code where, as most compilers write it down, so that not every unit has to be looked into.
#ifndef SYMBOLS_ARANGES_H
#define SYMBOLS_ARANGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Takes a range of a unit; ranges of a unit follow each other. False: it wants no more.
typedef bool symbols_arange_function(void *context, uint64_t unit, uint64_t start, uint64_t end);

// False when the section is damaged, or its sets are of another form than 64-bit addresses without segments: then it is not
// to be relied on.
bool symbols_aranges_read(const uint8_t *bytes, size_t size, symbols_arange_function *take, void *context);

#endif
