// SPDX-License-Identifier: Apache-2.0
// Finds split units. A package is opened when the first unit is asked for; of its plain sections only what a unit has
// is read, except for strings. `room` only falls: a damaged package can name the same bytes for every unit.
#include "symbols/split.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bytes.h"
#include "symbols/files.h"

enum { COLUMNS_MAX = 16, CONTRIBUTIONS = 4 };
static const uint64_t ROOM = UINT64_C(4) << 30; // bytes of all units together

// What a unit has a part of.
enum part { PART_INFO, PART_ABBREV, PART_STR_OFFSETS, PART_RNGLISTS };
static const char *const NAMES[CONTRIBUTIONS] = {".debug_info.dwo", ".debug_abbrev.dwo",
                                                 ".debug_str_offsets.dwo", ".debug_rnglists.dwo"};

// A section of a package: packed ones are kept unpacked.
struct section {
    const Elf64_Shdr *plain;
    uint8_t *bytes;
    size_t size;
};

struct package {
    struct elf_file file;
    int fd; // to be closed, or -1
    bool opened, there;
    struct section sections[CONTRIBUTIONS];
    uint8_t *str, *index;
    size_t str_size;
    uint32_t column_count, unit_count, slot_count;
    uint32_t columns[CONTRIBUTIONS];                // of each part, column_count: there is none
    size_t slots_at, rows_at, offsets_at, sizes_at; // in the index
};

struct symbols_split {
    char path[PATH_MAX], module[PATH_MAX];
    struct package package;
    uint64_t room;
};

// ---- the index of a package: a hash table of ids, and for each the parts of its unit

static bool read_index(struct package *package) {
    enum { HEADER = 16, INFO = 1, ABBREV = 3, STR_OFFSETS = 6, RNGLISTS = 8 };
    size_t size;
    uint8_t *index = package->index = symbols_image_section(&package->file, ".debug_cu_index", &size);
    if (!index || size < HEADER)
        return false;
    // GNU's version 2 is a word; that of DWARF 5 half of one.
    bool five = bytes_get_u32(index) == 5;
    uint64_t columns = bytes_get_u32(index + 4), units = bytes_get_u32(index + 8),
             slots = bytes_get_u32(index + 12);
    if ((!five && bytes_get_u32(index) != 2) || !columns || columns > COLUMNS_MAX || !units ||
        (slots & (slots - 1)) != 0 || slots > size / 12 || units > size / 8 ||
        HEADER + slots * 12 + columns * 4 + units * columns * 8 > size)
        return false;
    package->column_count = (uint32_t)columns;
    package->unit_count = (uint32_t)units;
    package->slot_count = (uint32_t)slots;
    package->slots_at = HEADER;
    package->rows_at = HEADER + slots * 8;
    size_t names_at = package->rows_at + slots * 4;
    package->offsets_at = names_at + columns * 4;
    package->sizes_at = package->offsets_at + units * columns * 4;
    const uint32_t wanted[CONTRIBUTIONS] = {INFO, ABBREV, STR_OFFSETS, five ? RNGLISTS : 0};
    for (uint32_t part = 0; part < CONTRIBUTIONS; part++) {
        package->columns[part] = package->column_count;
        for (uint32_t i = 0; i < columns; i++)
            if (wanted[part] && bytes_get_u32(index + names_at + i * (size_t)4) == wanted[part])
                package->columns[part] = i;
    }
    return true;
}

// The row of the unit, from 1; 0: it is not in the package.
static uint32_t find_row(const struct package *package, uint64_t id) {
    uint32_t mask = package->slot_count - 1, at = (uint32_t)id & mask,
             step = ((uint32_t)(id >> 32) & mask) | 1;
    for (uint32_t tried = 0; tried < package->slot_count; tried++, at = (at + step) & mask) {
        uint32_t row = bytes_get_u32(package->index + package->rows_at + at * (size_t)4);
        if (!row || row > package->unit_count)
            return 0;
        if (bytes_get_u64(package->index + package->slots_at + at * (size_t)8) == id)
            return row;
    }
    return 0;
}

static void open_section(struct package *package, enum part part) {
    struct section *section = &package->sections[part];
    const Elf64_Shdr *header = elf_file_section(&package->file, NAMES[part]);
    if (header && !(header->sh_flags & SHF_COMPRESSED)) {
        section->plain = header;
        section->size = elf_file_size(&package->file, header);
    } else {
        section->bytes = symbols_image_section(&package->file, NAMES[part], &section->size);
    }
}

static bool open_package(struct package *package, int fd) {
    if (!elf_file_open(&package->file, fd))
        return false;
    package->there = read_index(package);
    for (uint32_t part = 0; package->there && part < CONTRIBUTIONS; part++)
        open_section(package, (enum part)part);
    if (package->there)
        package->str = symbols_image_section(&package->file, ".debug_str.dwo", &package->str_size);
    return package->there;
}

static void close_package(struct package *package) {
    for (uint32_t part = 0; part < CONTRIBUTIONS; part++)
        free(package->sections[part].bytes);
    free(package->str);
    free(package->index);
    elf_file_close(&package->file);
    if (package->fd >= 0)
        (void)close(package->fd);
    *package = (struct package){.fd = -1, .opened = true};
}

static void find_package(struct symbols_split *split) {
    struct package *package = &split->package;
    const char *const bases[] = {split->module, split->path};
    package->opened = true;
    for (size_t i = 0; i < sizeof bases / sizeof *bases && !package->there; i++) {
        char name[PATH_MAX + 8];
        if (!*bases[i])
            continue;
        (void)snprintf(name, sizeof name, "%s.dwp", bases[i]);
        package->fd = symbols_files_open(name);
        if (package->fd >= 0 && !open_package(package, package->fd))
            close_package(package);
    }
}

// A copy of what the unit in that row has of the section; NULL when it has nothing, or that is not there.
static uint8_t *copy_part(struct symbols_split *split, enum part part, uint32_t row, size_t *size) {
    const struct package *package = &split->package;
    const struct section *section = &package->sections[part];
    *size = 0;
    if (package->columns[part] == package->column_count)
        return NULL;
    size_t cell = ((row - 1) * (size_t)package->column_count + package->columns[part]) * 4;
    uint32_t offset = bytes_get_u32(package->index + package->offsets_at + cell),
             length = bytes_get_u32(package->index + package->sizes_at + cell);
    if (!length || offset > section->size || length > section->size - offset || length > split->room)
        return NULL;
    split->room -= length;
    uint8_t *bytes = malloc(length);
    if (bytes && section->plain && !elf_file_copy(&package->file, section->plain, offset, bytes, length)) {
        free(bytes);
        bytes = NULL;
    }
    if (bytes && !section->plain)
        memcpy(bytes, section->bytes + offset, length);
    *size = bytes ? length : 0;
    return bytes;
}

// ---- a unit

// Of all units in the info (DWARF 5 has those of types there) the one with the id, with its own declarations.
static bool choose_unit(struct symbols_split_parts *parts, uint64_t id) {
    const struct symbols_split_parts all = *parts;
    uint8_t *at = all.info;
    for (size_t left = all.info_size, size; (size = symbols_split_unit_size(at, left)) != 0; left -= size) {
        uint64_t declared = symbols_split_unit_declared(at);
        parts->info = at;
        parts->info_size = size;
        at += size;
        if (declared >= all.abbrev.size)
            continue;
        parts->abbrev =
            (struct symbols_bytes){all.abbrev.bytes + declared, all.abbrev.size - (size_t)declared};
        if (symbols_split_unit_is(parts, id))
            return true;
    }
    return false;
}

static struct symbols_image make_image(struct symbols_split *split, uint8_t *const bytes[CONTRIBUTIONS],
                                       const size_t sizes[CONTRIBUTIONS], struct symbols_bytes str,
                                       const struct symbols_skeleton *skeleton, uint16_t machine) {
    struct symbols_split_parts parts = {
        .info = bytes[PART_INFO],
        .info_size = sizes[PART_INFO],
        .abbrev = {bytes[PART_ABBREV], sizes[PART_ABBREV]},
        .str_offsets = {bytes[PART_STR_OFFSETS], sizes[PART_STR_OFFSETS]},
        .rnglists = {bytes[PART_RNGLISTS], sizes[PART_RNGLISTS]},
        .str = str,
    };
    struct symbols_image image = {0};
    if (parts.info && parts.abbrev.bytes && choose_unit(&parts, skeleton->id))
        image = symbols_split_unit_make(&parts, skeleton, machine);
    if (image.size > split->room) {
        free(image.bytes);
        return (struct symbols_image){0};
    }
    split->room -= image.size;
    return image;
}

static struct symbols_image read_packaged(struct symbols_split *split,
                                          const struct symbols_skeleton *skeleton) {
    struct package *package = &split->package;
    uint8_t *bytes[CONTRIBUTIONS] = {0};
    size_t sizes[CONTRIBUTIONS] = {0};
    struct symbols_image image = {0};
    uint32_t row = find_row(package, skeleton->id);
    if (!row)
        return image;
    for (uint32_t part = 0; part < CONTRIBUTIONS; part++)
        bytes[part] = copy_part(split, (enum part)part, row, &sizes[part]);
    image = make_image(split, bytes, sizes, (struct symbols_bytes){package->str, package->str_size}, skeleton,
                       package->file.machine);
    for (uint32_t part = 0; part < CONTRIBUTIONS; part++)
        free(bytes[part]);
    return image;
}

static struct symbols_image read_file(struct symbols_split *split, int fd,
                                      const struct symbols_skeleton *skeleton) {
    struct elf_file file;
    struct symbols_image image = {0};
    uint8_t *bytes[CONTRIBUTIONS] = {0};
    size_t sizes[CONTRIBUTIONS] = {0}, str_size;
    if (!elf_file_open(&file, fd))
        return image;
    for (uint32_t part = PART_INFO + 1; part < CONTRIBUTIONS; part++)
        bytes[part] = symbols_image_section(&file, NAMES[part], &sizes[part]);
    uint8_t *str = symbols_image_section(&file, ".debug_str.dwo", &str_size);
    // Units of types have sections of that name, too.
    for (const Elf64_Shdr *info = NULL;
         !image.bytes && (info = elf_file_next(&file, NAMES[PART_INFO], info)) != NULL;) {
        free(bytes[PART_INFO]);
        bytes[PART_INFO] = symbols_image_read(&file, info, &sizes[PART_INFO]);
        if (sizes[PART_INFO] > split->room)
            break;
        split->room -= sizes[PART_INFO];
        image =
            make_image(split, bytes, sizes, (struct symbols_bytes){str, str_size}, skeleton, file.machine);
    }
    for (uint32_t part = 0; part < CONTRIBUTIONS; part++)
        free(bytes[part]);
    free(str);
    elf_file_close(&file);
    return image;
}

// ---- the files of units

// Where it was made; else in the program's directory, by its whole name or by its last part.
static bool place_of(const struct symbols_split *split, const struct symbols_skeleton *skeleton,
                     unsigned which, char path[PATH_MAX]) {
    const char *name = skeleton->name, *slash = strrchr(name, '/'),
               *own = which & 1 ? split->path : split->module;
    const char *end = strrchr(own, '/');
    int length;
    if (which == 0 && name[0] == '/')
        length = snprintf(path, PATH_MAX, "%s", name);
    else if (which == 0 && skeleton->folder)
        length = snprintf(path, PATH_MAX, "%s/%s", skeleton->folder, name);
    else if (which == 0 || !*own)
        return false;
    else
        length = snprintf(path, PATH_MAX, "%.*s/%s", end ? (int)(end - own) : 1, end ? own : ".",
                          which > 2 && slash ? slash + 1 : name);
    return length > 0 && length < PATH_MAX;
}

static struct symbols_image read_named(struct symbols_split *split, const struct symbols_skeleton *skeleton) {
    enum { PLACES = 5 };
    struct symbols_image image = {0};
    for (unsigned i = 0; i < PLACES && !image.bytes; i++) {
        char path[PATH_MAX];
        int fd = place_of(split, skeleton, i, path) ? symbols_files_open(path) : -1;
        if (fd < 0)
            continue;
        image = read_file(split, fd, skeleton);
        (void)close(fd);
    }
    return image;
}

struct symbols_image symbols_split_read(struct symbols_split *split,
                                        const struct symbols_skeleton *skeleton) {
    struct symbols_image image = {0};
    if (!split->package.opened)
        find_package(split);
    if (split->package.there)
        image = read_packaged(split, skeleton);
    if (!image.bytes && skeleton->name && *skeleton->name && (*split->path || *split->module))
        image = read_named(split, skeleton);
    return image;
}

struct symbols_split *symbols_split_create(const char *path, const char *module) {
    struct symbols_split *split = calloc(1, sizeof *split);
    if (!split)
        return NULL;
    split->room = ROOM;
    split->package.fd = -1;
    (void)snprintf(split->path, sizeof split->path, "%s", path);
    (void)snprintf(split->module, sizeof split->module, "%s", module);
    return split;
}

struct symbols_split *symbols_split_create_fd(int fd) {
    struct symbols_split *split = symbols_split_create("", "");
    if (split) {
        split->package.opened = true;
        if (!open_package(&split->package, fd))
            close_package(&split->package);
    }
    return split;
}

void symbols_split_destroy(struct symbols_split *split) {
    if (!split)
        return;
    close_package(&split->package);
    free(split);
}
