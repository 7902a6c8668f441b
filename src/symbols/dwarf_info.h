// SPDX-License-Identifier: Apache-2.0
// Lines and inlined functions, from DWARF by libdw. The ranges of all units are read when it is opened, what is in a unit
// when the first address of it is asked for, each once, into flat tables that are searched by halving.
//
// libdw reads untrusted bytes. It is given no file, and none is looked for by it, but memory that is made for it
// (image.h); and it is asked for as many entries as the bytes can hold, not for as many as they claim.
#ifndef SYMBOLS_DWARF_INFO_H
#define SYMBOLS_DWARF_INFO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbols/elf_file.h"
#include "symbols/split.h"
#include "symbols/symbols.h"

struct dwarf_lines;

// `alternate`: what the file's .gnu_debugaltlink names, or NULL. Neither is needed afterwards. `split` is where units are whose
// skeletons the file has; it is taken over, also when this fails. NULL: there is no DWARF in it, or no memory.
struct dwarf_lines *dwarf_lines_open(const struct elf_file *file, const struct elf_file *alternate,
                                     struct symbols_split *split);
void dwarf_lines_close(struct dwarf_lines *lines);
// The functions at the address, innermost first; how many. `place` is where it is, also when there is no function.
size_t dwarf_lines_find(struct dwarf_lines *lines, uint64_t address, struct symbols_frame *frames,
                        size_t limit, struct symbols_frame *place);
// Whether something was left out because it is damaged, or too much.
bool dwarf_lines_damaged(const struct dwarf_lines *lines);

#endif
