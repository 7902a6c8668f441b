// SPDX-License-Identifier: Apache-2.0
// Reads /proc/kallsyms and resolves kernel addresses. stacks.c calls it.
#include "watch/kernel_symbols.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/sorted.h"

enum { SYMBOLS_MOST = 1 << 22, NAME_MOST = 255 };

void kernel_symbols_finish(struct kernel_symbols *symbols) {
    free(symbols->items);
    free(symbols->text);
    *symbols = (struct kernel_symbols){0};
}

static bool add(struct kernel_symbols *symbols, uint64_t address, const char *name) {
    const size_t length = strlen(name) + 1;
    if (symbols->count == SYMBOLS_MOST || symbols->text_length > UINT32_MAX - length ||
        !ARRAY_RESERVE(symbols->items, symbols->capacity, symbols->count + 1) ||
        !ARRAY_RESERVE(symbols->text, symbols->text_capacity, symbols->text_length + length))
        return false;
    memcpy(symbols->text + symbols->text_length, name, length);
    symbols->items[symbols->count++] = (struct kernel_symbol){address, (uint32_t)symbols->text_length};
    symbols->text_length += length;
    return true;
}

// If several names have one address, the file's last.
static int by_address(const void *a, const void *b) {
    const struct kernel_symbol *left = a, *right = b;
    if (left->address != right->address)
        return left->address < right->address ? -1 : 1;
    return (left->name > right->name) - (left->name < right->name);
}

void kernel_symbols_read(struct kernel_symbols *symbols, const char *path) {
    char line[1024];
    FILE *file = fopen(path, "re");
    bool room = true;
    while (room && file && fgets(line, sizeof line, file)) {
        char *end, *name;
        const uint64_t address = strtoull(line, &end, 16);
        // "address type name [module]"; functions are of type t and w. Hidden addresses are 0.
        if (end == line || end[0] != ' ' || !end[1] || !strchr("tTwW", end[1]) || end[2] != ' ' || !address)
            continue;
        name = end + 3;
        char *after = name + strcspn(name, " \t\n");
        const char *module = after + strspn(after, " \t");
        const size_t length = strcspn(module, "\n");
        // "name [module]", as kernel people write it.
        if (after > name && *module == '[' && module[length - 1] == ']') {
            *after++ = ' ';
            memmove(after, module, length);
            after += length;
        }
        *after = '\0';
        if (*name && strlen(name) <= NAME_MOST)
            room = add(symbols, address, name);
    }
    if (file)
        fclose(file);
    if (symbols->count)
        qsort(symbols->items, symbols->count, sizeof *symbols->items, by_address);
}

const char *kernel_symbols_find(const struct kernel_symbols *symbols, uint64_t address) {
    // The first beyond it.
    const size_t at = SORTED_FIND(i, 0, symbols->count, symbols->items[i].address <= address);
    return at ? symbols->text + symbols->items[at - 1].name : NULL;
}
