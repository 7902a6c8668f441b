// SPDX-License-Identifier: Apache-2.0
// The debug sections of a file, unpacked, as an ELF file in memory that is made for libdw: each section is followed
// by zeros, which end an unterminated string. (libdw does not check every bound: a damaged line table makes it read
// on to the next zero.)
#ifndef SYMBOLS_IMAGE_H
#define SYMBOLS_IMAGE_H

#include "symbols/elf_file.h"

// The sections from which lines and functions are read. X(NAME, name without its point)
#define SYMBOLS_SECTION_TABLE(X)                                                                             \
    X(INFO, debug_info)                                                                                      \
    X(TYPES, debug_types)                                                                                    \
    X(ABBREV, debug_abbrev)                                                                                  \
    X(LINE, debug_line)                                                                                      \
    X(STR, debug_str)                                                                                        \
    X(LINE_STR, debug_line_str)                                                                              \
    X(RANGES, debug_ranges)                                                                                  \
    X(RNGLISTS, debug_rnglists)                                                                              \
    X(ADDR, debug_addr)                                                                                      \
    X(STR_OFFSETS, debug_str_offsets)

enum symbols_section {
#define SYMBOLS_SECTION_ENUM(NAME, name) SYMBOLS_##NAME,
    SYMBOLS_SECTION_TABLE(SYMBOLS_SECTION_ENUM)
#undef SYMBOLS_SECTION_ENUM
        SYMBOLS_SECTIONS
};

struct symbols_image {
    char *bytes; // NULL: there is no DWARF in the file, or what is packed is damaged, or no memory
    size_t size;
};

struct symbols_bytes {
    const uint8_t *bytes;
    size_t size;
};

// The sections of a file. Large ones are unpacked by a second thread, which has ended when this returns.
struct symbols_image symbols_image_make(const struct elf_file *file);
// Sections that are in memory: they are copied.
struct symbols_image symbols_image_of(const struct symbols_bytes sections[SYMBOLS_SECTIONS],
                                      uint16_t machine);
// A section of an image that has bytes.
struct symbols_bytes symbols_image_part(const struct symbols_image *image, enum symbols_section which);
// A section of any name (".debug_info.dwo"), unpacked, and zeros behind it; the caller's to free. NULL: there is none, it is
// damaged, or no memory.
uint8_t *symbols_image_section(const struct elf_file *file, const char *name, size_t *size);
uint8_t *symbols_image_read(const struct elf_file *file, const Elf64_Shdr *section, size_t *size);

#endif
