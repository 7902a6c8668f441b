// SPDX-License-Identifier: Apache-2.0
// What is at an address of a module: functions (those inlined there too), files and lines. For a trace's frames after
// the run; never inside the profiled process.
//
//     module's file, or its build id --- ELF symbols ------------------.
//                 |                                                     >--- address --> frames, innermost first
//                 `--- DWARF: its own, or a separate file's ------------'
//
// One thread at a time per table.
#ifndef SYMBOLS_SYMBOLS_H
#define SYMBOLS_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SYMBOLS_DEPTH_MAX = 64 }; // inlined functions that are reported

// Strings live as long as the table, and the same string is the same pointer most of the time. NULL and 0: not known.
struct symbols_frame {
    const char *function; // as the linker has it: mangled
    const char *file;
    uint32_t line;
    uint64_t start; // of the function, if the ELF symbols have it; 0 otherwise
};

enum symbols_state {
    SYMBOLS_FOUND,
    SYMBOLS_GONE,    // nothing to read is there
    SYMBOLS_OTHER,   // another file is there now: its build id is not the one that was loaded
    SYMBOLS_DAMAGED, // no ELF file of 64 bits, or one that cannot be read
};

struct symbols;

// The tables of the module that was loaded from `path`. `build_id` (lower-case hex, NULL when not known) decides
// whether a file is the right one; debug files are found by it as well, even when the module no longer exists. NULL
// only when memory is exhausted; `state` is the reason why a table is empty.
struct symbols *symbols_open(const char *path, const char *build_id, enum symbols_state *state);
// The same of an open file, and of a package of split DWARF (-1: none), which stay the caller's, the package open as long as the
// tables; no other file is looked for.
struct symbols *symbols_open_fd(int fd, int package, enum symbols_state *state);
// The names that a just-in-time compiler wrote down for its code: lines of `start size name`, hexadecimal.
struct symbols *symbols_open_map(const char *path, enum symbols_state *state);
void symbols_close(struct symbols *symbols);

// How many functions are at the address (0: not known), innermost first; at most `limit` are written.
size_t symbols_find(struct symbols *symbols, uint64_t address, struct symbols_frame *frames, size_t limit);
// How many functions the tables of the linker have, whether there are lines, and whether something of them was damaged.
size_t symbols_count(const struct symbols *symbols);
bool symbols_have_lines(const struct symbols *symbols);
bool symbols_damaged(const struct symbols *symbols);

#endif
