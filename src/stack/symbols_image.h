// SPDX-License-Identifier: Apache-2.0
// The debug sections of a file, unpacked, as an ELF file in memory that is made for libdw: whatever the sections hold, there
// are zeros behind each of them, so that a string that does not end ends there. (libdw does not look everywhere: a
// damaged table of lines has it read on to the next zero, wherever that is.)
#ifndef STACK_SYMBOLS_IMAGE_H
#define STACK_SYMBOLS_IMAGE_H

#include "stack/symbols_elf.h"

struct symbols_image {
    char *bytes; // NULL: there is no DWARF in the file, or what is packed is damaged, or no memory
    size_t size;
};

struct symbols_image symbols_image_make(const struct elf_file *file);

#endif
