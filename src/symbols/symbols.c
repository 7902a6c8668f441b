// SPDX-License-Identifier: Apache-2.0
// Opens a module and resolves addresses to functions, files and lines. src/api/symbols.c calls it.
#include "symbols/symbols.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "symbols/dwarf_info.h"
#include "symbols/elf_file.h"
#include "symbols/files.h"
#include "symbols/go_names.h"
#include "symbols/map.h"
#include "symbols/plt.h"

struct symbols {
    struct elf_symbols functions;
    struct dwarf_lines *lines;
    struct symbols_map map;
    bool unread; // there are lines, and no way to them
};

void symbols_close(struct symbols *symbols) {
    if (!symbols)
        return;
    dwarf_lines_close(symbols->lines);
    elf_symbols_finish(&symbols->functions);
    symbols_map_finish(&symbols->map);
    free(symbols);
}

static bool has_lines(const struct elf_file *file) {
    return elf_file_section(file, ".debug_info") || elf_file_section(file, ".zdebug_info");
}

// What the file shares with others stands in one that has to be there, or there is no reading of it.
static struct dwarf_lines *open_lines(const struct elf_file *file, const char *path, const char *module) {
    struct elf_file alternate;
    int fd;
    if (!symbols_files_alternate(path, file, &fd))
        return NULL;
    if (fd < 0)
        return dwarf_lines_open(file, NULL, symbols_split_create(path, module));
    struct dwarf_lines *lines = NULL;
    if (elf_file_open(&alternate, fd)) {
        lines = dwarf_lines_open(file, &alternate, symbols_split_create(path, module));
        elf_file_close(&alternate);
    }
    (void)close(fd);
    return lines;
}

static bool add_file(struct symbols *symbols, const struct elf_file *file, const char *path,
                     const char *module) {
    if (!elf_symbols_add(&symbols->functions, file))
        return false;
    if (!symbols->lines && has_lines(file)) {
        symbols->lines = open_lines(file, path, module);
        symbols->unread = !symbols->lines;
    }
    return true;
}

static bool add_debug_file(struct symbols *symbols, const char *path, const char *build_id,
                           const struct elf_file *module) {
    struct elf_file debug;
    char found[PATH_MAX];
    bool ok = true;
    int fd = symbols_files_debug(path, build_id, module, found);
    if (fd >= 0 && elf_file_open(&debug, fd)) {
        ok = add_file(symbols, &debug, found, path);
        elf_file_close(&debug);
    }
    if (fd >= 0)
        (void)close(fd);
    return ok;
}

// The module's own file, when it is the right one: true, and to be closed. Its build id is put into `build_id`.
static bool open_module(int fd, const char *expected, struct elf_file *module, char *build_id,
                        enum symbols_state *state) {
    if (fd < 0 || !elf_file_open(module, fd)) {
        *state = fd < 0 ? SYMBOLS_GONE : SYMBOLS_DAMAGED;
        return false;
    }
    elf_file_build_id(module, build_id);
    *state = expected && strcmp(build_id, expected) != 0 ? SYMBOLS_OTHER : SYMBOLS_FOUND;
    if (*state == SYMBOLS_OTHER)
        elf_file_close(module);
    return *state == SYMBOLS_FOUND;
}

struct symbols *symbols_open(const char *path, const char *build_id, enum symbols_state *state) {
    struct symbols *symbols = calloc(1, sizeof *symbols);
    struct elf_file module;
    char own[2 * ELF_BUILD_ID_MAX + 1] = "";
    int fd = symbols_files_open(path);
    bool opened = open_module(fd, build_id, &module, own, state), ok = symbols != NULL;
    if (ok && opened)
        ok = add_file(symbols, &module, path, path) && symbols_plt_add(&symbols->functions, &module) &&
             symbols_go_add(&symbols->functions, &module);
    if (ok && !symbols->lines)
        ok = add_debug_file(symbols, path,
                            build_id         ? build_id
                            : opened && *own ? own
                                             : NULL,
                            opened ? &module : NULL);
    if (opened)
        elf_file_close(&module);
    if (fd >= 0)
        (void)close(fd);
    if (ok && elf_symbols_sort(&symbols->functions)) {
        // Its debug file alone has all the names there are.
        if (!opened && (symbols->lines || symbols_count(symbols)))
            *state = SYMBOLS_FOUND;
        return symbols;
    }
    symbols_close(symbols);
    return NULL;
}

struct symbols *symbols_open_fd(int fd, int package, enum symbols_state *state) {
    struct symbols *symbols = calloc(1, sizeof *symbols);
    struct elf_file module;
    *state = SYMBOLS_DAMAGED;
    if (!symbols || !elf_file_open(&module, fd))
        return symbols;
    bool ok = elf_symbols_add(&symbols->functions, &module) &&
              symbols_plt_add(&symbols->functions, &module) && symbols_go_add(&symbols->functions, &module) &&
              elf_symbols_sort(&symbols->functions);
    if (ok && has_lines(&module) && !elf_file_section(&module, ".gnu_debugaltlink"))
        symbols->lines =
            dwarf_lines_open(&module, NULL, package >= 0 ? symbols_split_create_fd(package) : NULL);
    elf_file_close(&module);
    *state = SYMBOLS_FOUND;
    if (ok)
        return symbols;
    symbols_close(symbols);
    return NULL;
}

struct symbols *symbols_open_map(const char *path, enum symbols_state *state) {
    struct symbols *symbols = calloc(1, sizeof *symbols);
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

static bool is_mangled(const char *name) {
    return name[0] == '_' && (name[1] == 'Z' || name[1] == 'R');
}

// Functions local to their file have a bare name in DWARF ("operator()", "run"); the linker's name includes
// namespace, class and function.
static bool is_better_name(const char *linker, const char *dwarf) {
    return linker && (!dwarf || (is_mangled(linker) && !is_mangled(dwarf)));
}

// Code that no call returns to, but a signal handler or the function of a coroutine: the address is one before its beginning,
// as if it were behind a call (__restore_rt, __start_context).
static const char *find_base(const struct symbols *symbols, uint64_t address, uint64_t *start) {
    const char *function = elf_symbols_find(&symbols->functions, address + 1, start);
    return function && *start == address + 1 ? function : NULL;
}

size_t symbols_find(struct symbols *symbols, uint64_t address, struct symbols_frame *frames, size_t limit) {
    struct symbols_frame place = {0};
    uint64_t start = 0;
    const char *function = symbols_map_find(&symbols->map, address, &start);
    if (!function)
        function = elf_symbols_find(&symbols->functions, address, &start);
    if (!function && address < UINT64_MAX)
        function = find_base(symbols, address, &start);
    size_t count = symbols->lines ? dwarf_lines_find(symbols->lines, address, frames, limit, &place) : 0;
    if (count) {
        struct symbols_frame *outermost = &frames[count - 1];
        outermost->start = function ? start : 0;
        if (is_better_name(function, outermost->function))
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
    return symbols->map.damaged || symbols->unread || (symbols->lines && dwarf_lines_damaged(symbols->lines));
}
