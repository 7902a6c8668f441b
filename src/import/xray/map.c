// SPDX-License-Identifier: Apache-2.0
// Names of functions: the section xray_instr_map of the program, whose entries are in the order of function ids, and the
// symbols at the addresses found there. ELF of 64 bits, little-endian.
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/bytes.h"
#include "base/sorted.h"
#include "demangle/demangle.h"
#include "import/xray/xray.h"

enum { ENTRY = 32, FUNCTIONS_MAX = 1 << 24, SECTIONS_MAX = 1 << 16, NAME_LENGTH = 4096 };

struct function {
    uint64_t address;
    uint32_t id;
};

struct elf {
    struct seekable file;
    Elf64_Shdr *sections;
    size_t section_count, names; // names: index of the section with their names
    struct function *functions;  // sorted by address, once all are there
    size_t function_count, function_capacity;
};

static bool read_at(const struct elf *elf, uint64_t offset, void *into, size_t size) {
    return seekable_read(&elf->file, offset, into, size) == (int64_t)size;
}

// Bytes of a section that the file has.
static uint64_t section_size(const struct elf *elf, const Elf64_Shdr *section) {
    if (section->sh_type == SHT_NOBITS || section->sh_offset > elf->file.size)
        return 0;
    uint64_t left = elf->file.size - section->sh_offset;
    return section->sh_size < left ? section->sh_size : left;
}

static bool read_sections(struct elf *elf) {
    Elf64_Ehdr head;
    if (!read_at(elf, 0, &head, sizeof head) || memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 ||
        head.e_ident[EI_CLASS] != ELFCLASS64 || head.e_ident[EI_DATA] != ELFDATA2LSB ||
        head.e_shentsize != sizeof(Elf64_Shdr) || head.e_shnum == 0)
        return false;
    elf->section_count = head.e_shnum;
    elf->names = head.e_shstrndx;
    elf->sections = calloc(elf->section_count, sizeof *elf->sections);
    return elf->sections &&
           read_at(elf, head.e_shoff, elf->sections, elf->section_count * sizeof *elf->sections) &&
           elf->names < elf->section_count;
}

// A string of a section of strings, cut to the room there is; its length.
static size_t read_string(const struct elf *elf, const Elf64_Shdr *strings, uint64_t at, char *into,
                          size_t size) {
    uint64_t there = section_size(elf, strings);
    if (at >= there)
        return 0;
    size_t wanted = there - at < size ? (size_t)(there - at) : size;
    int64_t got = seekable_read(&elf->file, strings->sh_offset + at, into, wanted);
    return got > 0 ? strnlen(into, (size_t)got) : 0;
}

static const Elf64_Shdr *find_section(const struct elf *elf, const char *name) {
    char text[64];
    for (size_t i = 0; i < elf->section_count; i++) {
        size_t length =
            read_string(elf, &elf->sections[elf->names], elf->sections[i].sh_name, text, sizeof text);
        if (length == strlen(name) && memcmp(text, name, length) == 0)
            return &elf->sections[i];
    }
    return NULL;
}

// ---- functions

static bool add_function(struct elf *elf, uint64_t address) {
    if (elf->function_count && elf->functions[elf->function_count - 1].address == address)
        return true;
    if (elf->function_count == FUNCTIONS_MAX ||
        !ARRAY_RESERVE(elf->functions, elf->function_capacity, elf->function_count + 1))
        return false;
    elf->functions[elf->function_count] = (struct function){address, (uint32_t)elf->function_count + 1};
    elf->function_count++;
    return true;
}

// In logs of old compilers the map holds addresses that the loader fills in: the relocation has them.
static void relocate(const struct elf *elf, const Elf64_Shdr *map, uint8_t *entries, uint64_t size) {
    Elf64_Rela relocations[128];
    for (size_t i = 0; i < elf->section_count; i++) {
        const Elf64_Shdr *section = &elf->sections[i];
        uint64_t left = section->sh_type == SHT_RELA ? section_size(elf, section) : 0,
                 at = section->sh_offset;
        while (left >= sizeof *relocations) {
            size_t bytes =
                left < sizeof relocations ? (size_t)(left - left % sizeof *relocations) : sizeof relocations;
            if (!read_at(elf, at, relocations, bytes))
                break;
            for (size_t k = 0; k < bytes / sizeof *relocations; k++) {
                uint64_t place = relocations[k].r_offset - map->sh_addr;
                if (place <= size && size - place >= 8 && bytes_get_u64(entries + place) == 0)
                    bytes_put_u64(entries + place, (uint64_t)relocations[k].r_addend);
            }
            at += bytes;
            left -= bytes;
        }
    }
}

static tsmith_status read_functions(struct elf *elf, const char *path, tsmith_error *error) {
    const Elf64_Shdr *map = find_section(elf, "xray_instr_map");
    uint64_t size = map ? section_size(elf, map) : 0;
    if (size < ENTRY)
        return status_set(error, TSMITH_ERROR_FORMAT,
                          "%s: has no XRay instrumentation map; give the program that wrote the log", path);
    size -= size % ENTRY;
    uint8_t *entries = malloc(size);
    tsmith_status status = TSMITH_OK;
    if (!entries)
        return status_set(error, TSMITH_ERROR_NO_MEMORY, "%s: out of memory", path);
    if (!read_at(elf, map->sh_offset, entries, size))
        status = status_set_errno(error, "%s: cannot be read", path);
    else
        relocate(elf, map, entries, size);
    for (uint64_t at = 0; status == TSMITH_OK && at < size; at += ENTRY) {
        uint64_t function = bytes_get_u64(entries + at + 8);
        if (entries[at + 18] >= 2) // of version 2 on, relative to itself
            function += map->sh_addr + at + 8;
        if (!add_function(elf, function))
            status = status_set(error, TSMITH_ERROR_LIMIT, "%s: has too many functions", path);
    }
    free(entries);
    return status;
}

static int compare(const void *a, const void *b) {
    const struct function *one = a, *two = b;
    if (one->address != two->address)
        return one->address < two->address ? -1 : 1;
    return (one->id > two->id) - (one->id < two->id);
}

// Gives the name to all functions at the address that have none yet.
static void name_functions(const struct elf *elf, struct xray_map *map, uint64_t address, uint32_t name) {
    size_t place = SORTED_FIND(i, 0, elf->function_count, elf->functions[i].address < address);
    for (; place < elf->function_count && elf->functions[place].address == address; place++)
        if (!map->names[elf->functions[place].id])
            map->names[elf->functions[place].id] = name;
}

static bool is_wanted(const struct elf *elf, uint64_t address) {
    struct function key = {address, 0};
    const size_t at = SORTED_FIND(i, 0, elf->function_count, elf->functions[i].address < key.address);
    return at < elf->function_count && elf->functions[at].address == address;
}

static void read_symbols(const struct elf *elf, struct xray_map *map, tsmith_dictionary *dictionary,
                         const Elf64_Shdr *section) {
    Elf64_Sym symbols[128];
    char name[NAME_LENGTH + 1], shown[DEMANGLE_MAX];
    uint64_t left = section_size(elf, section), at = section->sh_offset;
    if (section->sh_link >= elf->section_count)
        return;
    while (left >= sizeof *symbols) {
        size_t bytes = left < sizeof symbols ? (size_t)(left - left % sizeof *symbols) : sizeof symbols;
        if (!read_at(elf, at, symbols, bytes))
            return;
        for (size_t i = 0; i < bytes / sizeof *symbols; i++) {
            if (ELF64_ST_TYPE(symbols[i].st_info) != STT_FUNC || !symbols[i].st_value ||
                !is_wanted(elf, symbols[i].st_value))
                continue;
            size_t length =
                read_string(elf, &elf->sections[section->sh_link], symbols[i].st_name, name, NAME_LENGTH);
            name[length] = '\0';
            size_t demangled = demangle(name, shown, sizeof shown);
            if (length)
                name_functions(elf, map, symbols[i].st_value,
                               demangled ? tsmith_dictionary_intern(dictionary, shown, demangled)
                                         : tsmith_dictionary_intern(dictionary, name, length));
        }
        at += bytes;
        left -= bytes;
    }
}

tsmith_status xray_map_read(struct xray_map *map, tsmith_dictionary *dictionary, const char *path,
                            tsmith_error *error) {
    struct elf elf = {0};
    const struct import_place place = {.fd = open(path, O_RDONLY | O_CLOEXEC), .owned = true, .name = path};
    if (place.fd < 0)
        return status_set_errno(error, "%s: cannot be opened", path);
    tsmith_status status = seekable_open(&elf.file, &place, error);
    if (status == TSMITH_OK && !read_sections(&elf))
        status = status_set(error, TSMITH_ERROR_FORMAT, "%s: is not a 64-bit ELF program", path);
    if (status == TSMITH_OK)
        status = read_functions(&elf, path, error);
    if (status == TSMITH_OK && !(map->names = calloc(elf.function_count + 1, sizeof *map->names)))
        status = status_set(error, TSMITH_ERROR_NO_MEMORY, "%s: out of memory", path);
    if (status == TSMITH_OK) {
        map->count = (uint32_t)elf.function_count;
        qsort(elf.functions, elf.function_count, sizeof *elf.functions, compare);
        for (int type = SHT_SYMTAB; type; type = type == SHT_SYMTAB ? SHT_DYNSYM : 0)
            for (size_t i = 0; i < elf.section_count; i++)
                if (elf.sections[i].sh_type == (uint32_t)type)
                    read_symbols(&elf, map, dictionary, &elf.sections[i]);
    }
    free(elf.functions);
    free(elf.sections);
    seekable_close(&elf.file);
    return status;
}
