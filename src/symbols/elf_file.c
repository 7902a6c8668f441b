// SPDX-License-Identifier: Apache-2.0
// Reads sections, build ids and symbol tables of 64-bit ELF files. The symbolizer and src/watch call it.
#include "symbols/elf_file.h"

#include <errno.h>
#include <lzma.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/bytes.h"
#include "base/file.h"

enum { DEBUGDATA_MAX = 256 << 20, LZMA_MEMORY = 512 << 20, NOTE_MAX = 1 << 16 };

// ---- the file

// False unless all of it is there.
static bool read_at(const struct elf_file *file, uint64_t offset, void *into, size_t size) {
    uint8_t *to = into;
    if (offset > file->size || size > file->size - offset)
        return false;
    while (size) {
        ssize_t got = pread(file->fd, to, size, (off_t)offset);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        to += got;
        offset += (uint64_t)got;
        size -= (size_t)got;
    }
    return true;
}

size_t elf_file_size(const struct elf_file *file, const Elf64_Shdr *section) {
    if (section->sh_type == SHT_NOBITS || section->sh_offset > file->size)
        return 0;
    uint64_t left = file->size - section->sh_offset;
    return (size_t)(section->sh_size < left ? section->sh_size : left);
}

bool elf_file_copy(const struct elf_file *file, const Elf64_Shdr *section, uint64_t from, void *into,
                   size_t size) {
    size_t there = elf_file_size(file, section);
    return from <= there && size <= there - from && read_at(file, section->sh_offset + from, into, size);
}

uint8_t *elf_file_read(const struct elf_file *file, const Elf64_Shdr *section, size_t *size) {
    *size = elf_file_size(file, section);
    uint8_t *bytes = malloc(*size + 1);
    if (bytes && *size && !elf_file_copy(file, section, 0, bytes, *size))
        *size = 0; // the file has shrunk
    if (bytes)
        bytes[*size] = 0;
    return bytes;
}

// A file with 65,280 sections or more keeps the numbers in its first section.
static void count_sections(const struct elf_file *file, const Elf64_Ehdr *head, uint64_t *count,
                           uint64_t *names) {
    Elf64_Shdr first = {0};
    *count = head->e_shnum;
    *names = head->e_shstrndx;
    if ((*count == 0 || *names == SHN_XINDEX) && read_at(file, head->e_shoff, &first, sizeof first)) {
        *count = *count ? *count : first.sh_size;
        *names = *names == SHN_XINDEX ? first.sh_link : *names;
    }
}

bool elf_file_open(struct elf_file *file, int fd) {
    struct stat stat;
    Elf64_Ehdr head;
    uint64_t count, names;
    *file = (struct elf_file){.fd = fd, .code_start = UINT64_MAX};
    if (fstat(fd, &stat) != 0 || stat.st_size <= 0)
        return false;
    file->size = (uint64_t)stat.st_size;
    if (!read_at(file, 0, &head, sizeof head) || memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 ||
        head.e_ident[EI_CLASS] != ELFCLASS64 || head.e_ident[EI_DATA] != ELFDATA2LSB ||
        head.e_shentsize != sizeof(Elf64_Shdr))
        return false;
    file->machine = head.e_machine;
    count_sections(file, &head, &count, &names);
    if (!count || count > file->size / sizeof(Elf64_Shdr) || names >= count)
        return false;
    file->section_count = (size_t)count;
    file->sections = calloc(file->section_count, sizeof *file->sections);
    if (!file->sections ||
        !read_at(file, head.e_shoff, file->sections, file->section_count * sizeof *file->sections) ||
        !(file->names = (char *)elf_file_read(file, &file->sections[names], &file->names_size))) {
        elf_file_close(file);
        return false;
    }
    for (size_t i = 0; i < file->section_count; i++) {
        const Elf64_Shdr *section = &file->sections[i];
        if (!(section->sh_flags & SHF_EXECINSTR) || section->sh_size > UINT64_MAX - section->sh_addr)
            continue;
        uint64_t end = section->sh_addr + section->sh_size;
        file->code_start = section->sh_addr < file->code_start ? section->sh_addr : file->code_start;
        file->code_end = end > file->code_end ? end : file->code_end;
    }
    return true;
}

void elf_file_close(struct elf_file *file) {
    free(file->sections);
    free(file->names);
    *file = (struct elf_file){.fd = -1};
}

const Elf64_Shdr *elf_file_next(const struct elf_file *file, const char *name, const Elf64_Shdr *after) {
    for (size_t i = after ? (size_t)(after - file->sections) + 1 : 0; i < file->section_count; i++)
        if (file->sections[i].sh_name < file->names_size &&
            strcmp(file->names + file->sections[i].sh_name, name) == 0)
            return &file->sections[i];
    return NULL;
}

const Elf64_Shdr *elf_file_section(const struct elf_file *file, const char *name) {
    const Elf64_Shdr *section = elf_file_next(file, name, NULL);
    return section && elf_file_size(file, section) ? section : NULL;
}

// ---- the build id

static bool take_build_id(const uint8_t *notes, size_t size, char *text) {
    size_t at = 0;
    while (size - at >= sizeof(Elf64_Nhdr)) {
        uint64_t name = bytes_get_u32(notes + at), length = bytes_get_u32(notes + at + 4);
        uint32_t type = bytes_get_u32(notes + at + 8);
        uint64_t value = at + sizeof(Elf64_Nhdr) + ((name + 3) & ~UINT64_C(3));
        if (value > size || length > size - value)
            return false;
        if (type == NT_GNU_BUILD_ID && name == 4 && memcmp(notes + at + sizeof(Elf64_Nhdr), "GNU", 4) == 0 &&
            length <= ELF_BUILD_ID_MAX) {
            for (uint64_t i = 0; i < length; i++) {
                text[2 * i] = "0123456789abcdef"[notes[value + i] >> 4];
                text[2 * i + 1] = "0123456789abcdef"[notes[value + i] & 15];
            }
            text[2 * length] = '\0';
            return length > 0;
        }
        at = (size_t)(value + ((length + 3) & ~UINT64_C(3)));
        if (at > size)
            return false;
    }
    return false;
}

void elf_file_build_id(const struct elf_file *file, char text[2 * ELF_BUILD_ID_MAX + 1]) {
    bool found = false;
    text[0] = '\0';
    for (size_t i = 0; i < file->section_count && !found; i++) {
        const Elf64_Shdr *section = &file->sections[i];
        size_t size = section->sh_type == SHT_NOTE ? elf_file_size(file, section) : 0;
        if (!size || size > NOTE_MAX)
            continue;
        uint8_t *notes = elf_file_read(file, section, &size);
        found = notes && take_build_id(notes, size, text);
        free(notes);
    }
}

// ---- functions

enum { FUNCTION = 64, SIZED = 32 }; // of ranks

struct elf_symbol {
    uint64_t start, end;
    const char *name;
    uint32_t rank; // of several at one address the highest is shown
};

bool elf_symbols_keep(struct elf_symbols *symbols, char *strings) {
    if (!strings || !ARRAY_RESERVE(symbols->strings, symbols->string_capacity, symbols->string_count + 1)) {
        free(strings);
        return false;
    }
    symbols->strings[symbols->string_count++] = strings;
    return true;
}

// Labels of the assembler and of the ARM ABI ("$x": here is code) are no functions.
static bool is_function(const struct elf_file *file, const Elf64_Sym *symbol, const char *name) {
    unsigned type = ELF64_ST_TYPE(symbol->st_info);
    if (type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_NOTYPE)
        return false;
    if (symbol->st_shndx == SHN_UNDEF || !name[0] || name[0] == '$' || (name[0] == '.' && name[1] == 'L'))
        return false;
    if (symbol->st_shndx >= file->section_count) // its section's number is elsewhere, or it is in none
        return symbol->st_shndx == SHN_XINDEX && type != STT_NOTYPE;
    return file->sections[symbol->st_shndx].sh_flags & SHF_EXECINSTR;
}

// What people call a function: rather the public name than a private one, and rather `malloc` than `__libc_malloc`.
static uint32_t rank_of(const Elf64_Sym *symbol, const char *name) {
    unsigned binding = ELF64_ST_BIND(symbol->st_info);
    uint32_t underscores = name[0] == '_' ? name[1] == '_' ? 0 : 1 : 2;
    return (ELF64_ST_TYPE(symbol->st_info) != STT_NOTYPE ? (uint32_t)FUNCTION : 0) +
           (symbol->st_size ? (uint32_t)SIZED : 0) +
           (binding == STB_GLOBAL ? 8u
            : binding == STB_WEAK ? 4u
                                  : 0) +
           underscores;
}

static bool add_table(struct elf_symbols *symbols, const struct elf_file *file, const Elf64_Shdr *section) {
    size_t size, strings_size;
    if (section->sh_link >= file->section_count)
        return true;
    char *strings = (char *)elf_file_read(file, &file->sections[section->sh_link], &strings_size);
    if (!elf_symbols_keep(symbols, strings))
        return false;
    uint8_t *table = elf_file_read(file, section, &size);
    if (!table)
        return false;
    char none = '\0';
    bool ok = ARRAY_RESERVE(symbols->items, symbols->capacity, symbols->count + size / sizeof(Elf64_Sym));
    for (size_t at = 0; ok && size - at >= sizeof(Elf64_Sym); at += sizeof(Elf64_Sym)) {
        Elf64_Sym symbol;
        memcpy(&symbol, table + at, sizeof symbol);
        char *name = symbol.st_name < strings_size ? strings + symbol.st_name : &none;
        char *version = strchr(name, '@'); // `memcpy@@GLIBC_2.14` in a table that is not the dynamic linker's
        if (version && version > name)
            *version = '\0';
        if (!is_function(file, &symbol, name))
            continue;
        uint64_t limit = UINT64_MAX;
        if (symbol.st_shndx < file->section_count) {
            const Elf64_Shdr *home = &file->sections[symbol.st_shndx];
            limit = home->sh_size > UINT64_MAX - home->sh_addr ? UINT64_MAX : home->sh_addr + home->sh_size;
        }
        uint64_t end = symbol.st_size && symbol.st_size < UINT64_MAX - symbol.st_value
                           ? symbol.st_value + symbol.st_size
                           : limit;
        symbols->items[symbols->count++] =
            (struct elf_symbol){symbol.st_value, end, name, rank_of(&symbol, name)};
    }
    free(table);
    return ok;
}

bool elf_symbols_add_named(struct elf_symbols *symbols, uint64_t start, uint64_t size, const char *name) {
    if (size > UINT64_MAX - start)
        return true;
    struct elf_symbol *symbol = ARRAY_PUSH(symbols->items, symbols->count, symbols->capacity);
    // Below the entry that a table has for the same place.
    if (symbol)
        *symbol = (struct elf_symbol){start, start + size, name, SIZED};
    return symbol != NULL;
}

static const Elf64_Shdr *table_of(const struct elf_file *file, uint32_t type) {
    for (size_t i = 0; i < file->section_count; i++)
        if (file->sections[i].sh_type == type && elf_file_size(file, &file->sections[i]))
            return &file->sections[i];
    return NULL;
}

// ---- the table of symbols that some distributions leave in a stripped file, compressed

static uint8_t *decompress(const uint8_t *packed, size_t packed_size, size_t *size) {
    lzma_stream stream = LZMA_STREAM_INIT;
    uint8_t *bytes = NULL;
    size_t capacity = 0;
    lzma_ret result = lzma_stream_decoder(&stream, LZMA_MEMORY, 0);
    stream.next_in = packed;
    stream.avail_in = packed_size;
    while (result == LZMA_OK) {
        if (stream.total_out >= DEBUGDATA_MAX ||
            !ARRAY_RESERVE(bytes, capacity, (size_t)stream.total_out + (1 << 16)))
            break;
        stream.next_out = bytes + stream.total_out;
        stream.avail_out = capacity - (size_t)stream.total_out;
        result = lzma_code(&stream, LZMA_FINISH);
    }
    *size = (size_t)stream.total_out;
    lzma_end(&stream);
    if (result == LZMA_STREAM_END)
        return bytes;
    free(bytes);
    return NULL;
}

// What is damaged in it costs names, nothing else.
static bool add_debugdata(struct elf_symbols *symbols, const struct elf_file *file,
                          const Elf64_Shdr *section) {
    size_t packed_size, size = 0;
    bool ok = true;
    uint8_t *packed = elf_file_read(file, section, &packed_size);
    uint8_t *bytes = packed ? decompress(packed, packed_size, &size) : NULL;
    int fd = bytes ? memfd_create("debugdata", MFD_CLOEXEC) : -1;
    if (fd >= 0 && file_write(fd, bytes, size)) {
        struct elf_file inner;
        const Elf64_Shdr *table;
        if (elf_file_open(&inner, fd)) {
            table = table_of(&inner, SHT_SYMTAB);
            ok = !table || add_table(symbols, &inner, table);
            elf_file_close(&inner);
        }
    }
    if (fd >= 0)
        (void)close(fd);
    free(bytes);
    free(packed);
    return ok;
}

bool elf_symbols_add(struct elf_symbols *symbols, const struct elf_file *file) {
    const Elf64_Shdr *table = table_of(file, SHT_SYMTAB);
    if (table)
        return add_table(symbols, file, table);
    table = table_of(file, SHT_DYNSYM);
    const Elf64_Shdr *packed = elf_file_section(file, ".gnu_debugdata");
    return (!table || add_table(symbols, file, table)) && (!packed || add_debugdata(symbols, file, packed));
}

static int compare(const void *left, const void *right) {
    const struct elf_symbol *a = left, *b = right;
    if (a->start != b->start)
        return a->start < b->start ? -1 : 1;
    if (a->rank != b->rank)
        return a->rank > b->rank ? -1 : 1;
    return strcmp(a->name, b->name);
}

bool elf_symbols_sort(struct elf_symbols *symbols) {
    struct symbols_ranges ranges = {0};
    size_t kept = 0;
    uint64_t covered = 0;
    bool ok = true;
    if (symbols->count)
        qsort(symbols->items, symbols->count, sizeof *symbols->items, compare);
    for (size_t i = 0; i < symbols->count; i++) {
        const struct elf_symbol *symbol = &symbols->items[i];
        // One without a size reaches to the next; within one that has a size it is a label.
        if ((kept && symbols->items[kept - 1].start == symbol->start) ||
            (!(symbol->rank & SIZED) && symbol->start < covered))
            continue;
        if (symbol->rank & SIZED && symbol->end > covered)
            covered = symbol->end;
        symbols->items[kept++] = *symbol;
    }
    symbols->count = kept;
    for (size_t i = 0; ok && i < kept && i < UINT32_MAX; i++) {
        struct elf_symbol *symbol = &symbols->items[i];
        if (!(symbol->rank & SIZED) && i + 1 < kept && symbols->items[i + 1].start < symbol->end)
            symbol->end = symbols->items[i + 1].start;
        ok = symbols_ranges_add(&ranges,
                                (struct symbols_range){symbol->start, symbol->end, (uint32_t)i + 1, 0});
    }
    ok = ok && symbols_segments_build(&symbols->segments, &ranges);
    free(ranges.items);
    return ok;
}

const char *elf_symbols_find(const struct elf_symbols *symbols, uint64_t address, uint64_t *start) {
    uint32_t found = symbols_segments_find(&symbols->segments, address);
    if (!found)
        return NULL;
    *start = symbols->items[found - 1].start;
    return symbols->items[found - 1].name;
}

void elf_symbols_finish(struct elf_symbols *symbols) {
    for (size_t i = 0; i < symbols->string_count; i++)
        free(symbols->strings[i]);
    free(symbols->strings);
    free(symbols->items);
    symbols_segments_finish(&symbols->segments);
    *symbols = (struct elf_symbols){0};
}
