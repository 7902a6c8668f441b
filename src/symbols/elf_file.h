// SPDX-License-Identifier: Apache-2.0
// ELF files of 64 bits, as far as names need them. Reading is by pread into memory of our own: a file that shrinks
// meanwhile is merely short. The file is not trusted: nothing outside of it is read, and no more memory taken than it has
// bytes (of a compressed table of symbols, DEBUGDATA_MAX).
#ifndef SYMBOLS_ELF_FILE_H
#define SYMBOLS_ELF_FILE_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbols/segments.h"

enum { ELF_BUILD_ID_MAX = 64 }; // bytes

struct elf_file {
    int fd; // the caller's
    uint64_t size;
    Elf64_Shdr *sections;
    size_t section_count;
    char *names; // of the sections, with a NUL behind them
    size_t names_size;
    uint64_t code_start, code_end; // of all sections with code
    uint16_t machine;
};

// False: it is no ELF file of 64 bits, or has no sections that can be read.
bool elf_file_open(struct elf_file *file, int fd);
void elf_file_close(struct elf_file *file);
// NULL: it has none, or none with bytes in the file.
const Elf64_Shdr *elf_file_section(const struct elf_file *file, const char *name);
// The next one of that name behind `after`; NULL: from the first on, and there is none.
const Elf64_Shdr *elf_file_next(const struct elf_file *file, const char *name, const Elf64_Shdr *after);
// The bytes of a section, cut where the file ends, and a NUL behind them; the caller's to free. NULL: there is no memory.
uint8_t *elf_file_read(const struct elf_file *file, const Elf64_Shdr *section, size_t *size);
// How many bytes of the section the file has; and `size` of them, from one on. False: they are not all there.
size_t elf_file_size(const struct elf_file *file, const Elf64_Shdr *section);
bool elf_file_copy(const struct elf_file *file, const Elf64_Shdr *section, uint64_t from, void *into,
                   size_t size);
// As lower-case hex; empty when there is none.
void elf_file_build_id(const struct elf_file *file, char text[2 * ELF_BUILD_ID_MAX + 1]);

// Functions of one or several files, by address. A zeroed struct has none.
struct elf_symbols {
    struct elf_symbol *items;
    size_t count, capacity;
    char **strings; // the tables that contain the names
    size_t string_count, string_capacity;
    struct symbols_segments segments; // value: index + 1
};

// Adds the functions of .symtab, or where there is none those of .dynsym and of .gnu_debugdata. False when memory is
// exhausted.
bool elf_symbols_add(struct elf_symbols *symbols, const struct elf_file *file);
// A symbol that no table has: its name is in memory whose ownership passes to the symbols, also on failure.
bool elf_symbols_add_named(struct elf_symbols *symbols, uint64_t start, uint64_t size, const char *name);
bool elf_symbols_keep(struct elf_symbols *symbols, char *strings);
// Once all are added.
bool elf_symbols_sort(struct elf_symbols *symbols);
// The mangled name; NULL: no function is there. `start` is where it begins.
const char *elf_symbols_find(const struct elf_symbols *symbols, uint64_t address, uint64_t *start);
void elf_symbols_finish(struct elf_symbols *symbols);

#endif
