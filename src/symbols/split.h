// SPDX-License-Identifier: Apache-2.0
// Split DWARF: a program's file has skeletons of its units, the units lie in files of their own (.dwo) or all in a
// package (PROGRAM.dwp). GNU's form of DWARF 4 and that of DWARF 5.
//
//     skeleton (id, name of its .dwo) --- package, by the id ---.
//                     |                                          >--- sections of one unit ---> an image for libdw
//                     `----------------- .dwo, by its name -----'
//
// libdw reads no packages, and .dwo files only from disk. So each unit is made a plain one in memory of
// its own (split_unit.c): what it took from its skeleton is put in.
#ifndef SYMBOLS_SPLIT_H
#define SYMBOLS_SPLIT_H

#include "symbols/image.h"

struct symbols_skeleton {
    uint64_t id;
    const char *name, *folder;              // of the .dwo, as the compiler was given it; NULL: unknown
    uint64_t base;                          // address that its ranges are relative to
    struct symbols_bytes addresses, ranges; // its parts of .debug_addr, and (DWARF 4) of .debug_ranges
};

struct symbols_split;

// For the files at these paths (the file with skeletons, and its module; "": none): a package is next to one of them,
// and so is a .dwo that is no longer where it was made. NULL: no memory.
struct symbols_split *symbols_split_create(const char *path, const char *module);
// For an open package, which stays the caller's; no other file is searched.
struct symbols_split *symbols_split_create_fd(int fd);
void symbols_split_destroy(struct symbols_split *split);

// The unit as an image, its one compilation unit at offset 0. Without bytes: it is not there, damaged, or too much.
struct symbols_image symbols_split_read(struct symbols_split *split, const struct symbols_skeleton *skeleton);

// ---- split_unit.c

// What belongs to one unit, in the form of .dwo files.
struct symbols_split_parts {
    uint8_t *info; // the unit, from its header on: is changed
    size_t info_size;
    struct symbols_bytes abbrev; // from its declarations on
    struct symbols_bytes str_offsets, str, rnglists;
};

// Bytes of the unit at the start of a .debug_info.dwo, its header too; 0 when it is none that can be read.
size_t symbols_split_unit_size(const uint8_t *info, size_t size);
// Where among the declarations those of the unit begin.
uint64_t symbols_split_unit_declared(const uint8_t *info);
// Whether it is the unit of that id.
bool symbols_split_unit_is(const struct symbols_split_parts *parts, uint64_t id);
struct symbols_image symbols_split_unit_make(const struct symbols_split_parts *parts,
                                             const struct symbols_skeleton *skeleton, uint16_t machine);

#endif
