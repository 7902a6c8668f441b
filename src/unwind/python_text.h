// SPDX-License-Identifier: Apache-2.0
// Reading CPython's objects: words, strings, and the line that an instruction is on.
#ifndef UNWIND_PYTHON_TEXT_H
#define UNWIND_PYTHON_TEXT_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "unwind/python_layout.h"

static inline uint64_t python_word(uint64_t address) {
    uint64_t word;
    memcpy(&word, (const void *)(uintptr_t)address, sizeof word);
    return word;
}

static inline int32_t python_int(uint64_t address) {
    int32_t word;
    memcpy(&word, (const void *)(uintptr_t)address, sizeof word);
    return word;
}

static inline uint8_t python_byte(uint64_t address) {
    return *(const uint8_t *)(uintptr_t)address;
}

// The str `object` as UTF-8, cut where `capacity` ends; its length.
size_t python_text(const struct python_layout *layout, uint64_t object, char *text, size_t capacity);

// The line of the instruction at that many bytes of a code object; 0: it has none.
uint32_t python_line(const struct python_layout *layout, uint64_t code, uint64_t instruction);

#endif
