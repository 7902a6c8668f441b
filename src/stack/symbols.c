// SPDX-License-Identifier: Apache-2.0
#include "stack/symbols.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "stack/symbols_dwarf.h"
#include "stack/symbols_elf.h"
#include "stack/symbols_files.h"
#include "stack/symbols_map.h"

struct symbols {
    int module, debug, alternate; // descriptors, -1: none; libdw reads them until the end
    struct elf_symbols functions;
    struct dwarf_lines *lines;
    struct symbols_map map;
};

static struct symbols *create(void) {
    struct symbols *made = calloc(1, sizeof *made);
    if (made)
        made->module = made->debug = made->alternate = -1;
    return made;
}

void symbols_close(struct symbols *symbols) {
    if (!symbols)
        return;
    dwarf_lines_close(symbols->lines);
    elf_symbols_finish(&symbols->functions);
    symbols_map_finish(&symbols->map);
    int descriptors[] = {symbols->module, symbols->debug, symbols->alternate};
    for (size_t i = 0; i < sizeof descriptors / sizeof *descriptors; i++)
        if (descriptors[i] >= 0)
            (void)close(descriptors[i]);
    free(symbols);
}

static bool has_lines(const struct elf_file *file) {
    return elf_file_section(file, ".debug_info") || elf_file_section(file, ".zdebug_info");
}

// What one file, of which `path` may be empty, tells.
static bool add_file(struct symbols *symbols, const struct elf_file *file, const char *path) {
    if (!elf_symbols_add(&symbols->functions, file))
        return false;
    if (!symbols->lines && has_lines(file) && symbols_files_alternate(path, file, &symbols->alternate))
        symbols->lines = dwarf_lines_open(file, symbols->alternate);
    return true;
}

static bool add_debug_file(struct symbols *symbols, const char *path, const char *build_id,
                           const struct elf_file *module) {
    struct elf_file debug;
    bool ok = true;
    symbols->debug = symbols_files_debug(path, build_id, module);
    if (symbols->debug >= 0 && elf_file_open(&debug, symbols->debug)) {
        ok = add_file(symbols, &debug, path);
        elf_file_close(&debug);
    }
    return ok;
}

struct symbols *symbols_open(const char *path, const char *build_id, enum symbols_state *state) {
    struct symbols *symbols = create();
    struct elf_file module;
    char own[2 * ELF_BUILD_ID_MAX + 1] = "";
    bool ok = symbols != NULL, opened = false;
    *state = SYMBOLS_GONE;
    if (!ok)
        return NULL;
    symbols->module = symbols_files_open(path);
    if (symbols->module >= 0) {
        opened = elf_file_open(&module, symbols->module);
        *state = opened ? SYMBOLS_FOUND : SYMBOLS_DAMAGED;
    }
    if (opened) {
        elf_file_build_id(&module, own);
        if (build_id && strcmp(own, build_id) != 0) {
            *state = SYMBOLS_OTHER;
            elf_file_close(&module);
            opened = false;
        }
    }
    if (opened)
        ok = add_file(symbols, &module, path);
    if (ok && !symbols->lines)
        ok = add_debug_file(symbols, path, build_id ? build_id : *own ? own : NULL, opened ? &module : NULL);
    if (opened)
        elf_file_close(&module);
    if (ok && elf_symbols_sort(&symbols->functions)) {
        // Its debug file alone has all the names there are.
        if (!opened && (symbols->lines || symbols_count(symbols)))
            *state = SYMBOLS_FOUND;
        return symbols;
    }
    symbols_close(symbols);
    return NULL;
}

struct symbols *symbols_open_fd(int fd, enum symbols_state *state) {
    struct symbols *symbols = create();
    struct elf_file module;
    *state = SYMBOLS_DAMAGED;
    if (!symbols || !elf_file_open(&module, fd))
        return symbols;
    bool ok = elf_symbols_add(&symbols->functions, &module) && elf_symbols_sort(&symbols->functions);
    if (ok && has_lines(&module) && !elf_file_section(&module, ".gnu_debugaltlink"))
        symbols->lines = dwarf_lines_open(&module, -1);
    elf_file_close(&module);
    *state = SYMBOLS_FOUND;
    if (ok)
        return symbols;
    symbols_close(symbols);
    return NULL;
}

struct symbols *symbols_open_map(const char *path, enum symbols_state *state) {
    struct symbols *symbols = create();
    if (!symbols)
        return NULL;
    int fd = symbols_files_open(path);
    *state = fd < 0 ? SYMBOLS_GONE : SYMBOLS_FOUND;
    if (fd >= 0 && !symbols_map_read(&symbols->map, fd))
        *state = SYMBOLS_DAMAGED;
    if (fd >= 0)
        (void)close(fd);
    return symbols;
}

size_t symbols_find(struct symbols *symbols, uint64_t address, struct symbols_frame *frames, size_t limit) {
    struct symbols_frame place = {0};
    uint64_t start = 0;
    const char *function = symbols_map_find(&symbols->map, address, &start);
    if (!function)
        function = elf_symbols_find(&symbols->functions, address, &start);
    size_t count = symbols->lines ? dwarf_lines_find(symbols->lines, address, frames, limit, &place) : 0;
    if (count) {
        struct symbols_frame *outermost = &frames[count - 1];
        outermost->start = function ? start : 0;
        if (!outermost->function)
            outermost->function = function;
        return count;
    }
    if (!function || !limit)
        return 0;
    frames[0] = (struct symbols_frame){function, place.file, place.line, start};
    return 1;
}

size_t symbols_count(const struct symbols *symbols) {
    return symbols->functions.count + symbols->map.names.count;
}

bool symbols_have_lines(const struct symbols *symbols) {
    return symbols->lines != NULL;
}

bool symbols_damaged(const struct symbols *symbols) {
    return symbols->map.damaged || (symbols->lines && dwarf_lines_damaged(symbols->lines));
}
