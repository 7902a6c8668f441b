// SPDX-License-Identifier: Apache-2.0
// Functions of the running kernel by address, from /proc/kallsyms, as far as this process may see addresses there.
#ifndef WATCH_KERNEL_SYMBOLS_H
#define WATCH_KERNEL_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct kernel_symbol {
    uint64_t address;
    uint32_t name; // in `text`
};

// A zeroed struct is a valid one that knows nothing.
struct kernel_symbols {
    struct kernel_symbol *items; // by address
    size_t count, capacity;
    char *text;
    size_t text_length, text_capacity;
};

// Reads `path` ("/proc/kallsyms"). What cannot be read is not known.
void kernel_symbols_read(struct kernel_symbols *symbols, const char *path);
void kernel_symbols_finish(struct kernel_symbols *symbols);
// The function with this address; NULL when none is known.
const char *kernel_symbols_find(const struct kernel_symbols *symbols, uint64_t address);

#endif
