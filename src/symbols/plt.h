// SPDX-License-Identifier: Apache-2.0
// Names for the stubs through which a module calls what is elsewhere: `malloc@plt`. No table of symbols has them; they
// are where the code of a stub loads an address from, and what the dynamic linker was told to put there.
#ifndef SYMBOLS_PLT_H
#define SYMBOLS_PLT_H

#include "symbols/elf_file.h"

// Adds the stubs of a module (x86-64, aarch64). False when memory is exhausted.
bool symbols_plt_add(struct elf_symbols *symbols, const struct elf_file *file);

#endif
