// SPDX-License-Identifier: Apache-2.0
// Names for the stubs through which a module calls other modules: `malloc@plt`. No symbol table has them; they follow
// from the address that the code of a stub loads, and the relocation of that address.
#ifndef SYMBOLS_PLT_H
#define SYMBOLS_PLT_H

#include "symbols/elf_file.h"

// Adds the stubs of a module (x86-64, aarch64). False when memory is exhausted.
bool symbols_plt_add(struct elf_symbols *symbols, const struct elf_file *file);

#endif
