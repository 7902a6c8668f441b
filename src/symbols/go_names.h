// SPDX-License-Identifier: Apache-2.0
// Names of functions from Go's own table (.gopclntab), which a stripped Go program still has.
#ifndef SYMBOLS_GO_NAMES_H
#define SYMBOLS_GO_NAMES_H

#include "symbols/elf_file.h"

// Adds the functions of a module without a table of symbols, as Go 1.18 to 1.25 writes them. A damaged table adds fewer.
// False when memory is exhausted.
bool symbols_go_add(struct elf_symbols *symbols, const struct elf_file *file);

#endif
