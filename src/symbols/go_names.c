// SPDX-License-Identifier: Apache-2.0
// Finds names of functions in stripped Go programs. symbols.c calls it for each module. The layout is that of
// runtime/symtab.go (pcHeader, _func); src/unwind/go_table.c reads the same table in the profiled process, for frame sizes.
#include "symbols/go_names.h"

#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"

enum {
    MAGIC_118 = -16, // 0xfffffff0
    MAGIC_120 = -15,
    HEADER = 72,
    TEXT = 24,      // in the header: the address that functions count from
    ALIGNMENT = 8,  // of the header
    NAME_AFTER = 4, // in a function: where its name is
    WORD = sizeof(uint64_t)
};

// The table, which begins at `bytes`.
struct table {
    const uint8_t *bytes;
    uint64_t size, text, count, names, functions;
};

static bool is_table(struct table *table, const uint8_t *bytes, uint64_t size) {
    if (size < HEADER || bytes[4] || bytes[5] || !bytes[6] || bytes[7] != WORD)
        return false;
    const int32_t magic = (int32_t)bytes_get_u32(bytes);
    *table = (struct table){.bytes = bytes,
                            .size = size,
                            .count = bytes_get_u64(bytes + 8),
                            .text = bytes_get_u64(bytes + TEXT),
                            .names = bytes_get_u64(bytes + 32),
                            .functions = bytes_get_u64(bytes + 64)};
    return (magic == MAGIC_118 || magic == MAGIC_120) && table->count && table->names < size &&
           table->functions < size && table->count < (size - table->functions) / 8;
}

// The addend of the dynamic linker's relocation at `address`, in a position-independent program; 0: there is none.
static bool read_addend(const struct elf_file *file, uint64_t address, uint64_t *addend) {
    for (const Elf64_Shdr *section = NULL; (section = elf_file_next(file, ".rela.dyn", section));) {
        size_t size;
        uint8_t *bytes = elf_file_read(file, section, &size);
        if (!bytes)
            return false;
        for (size_t at = 0; size - at >= sizeof(Elf64_Rela); at += sizeof(Elf64_Rela)) {
            Elf64_Rela entry;
            memcpy(&entry, bytes + at, sizeof entry);
            if (entry.r_offset == address && ELF64_R_SYM(entry.r_info) == 0)
                *addend = (uint64_t)entry.r_addend;
        }
        free(bytes);
    }
    return true;
}

static uint32_t word_at(const struct table *table, uint64_t index) {
    return bytes_get_u32(table->bytes + table->functions + index * 4);
}

// The list has two words for each function, where it begins and where more is said of it, and the end of the last one.
static bool add_functions(struct elf_symbols *symbols, const struct table *table) {
    bool ok = true;
    for (uint64_t i = 0; ok && i < table->count; i++) {
        const uint64_t begin = word_at(table, 2 * i), end = word_at(table, 2 * i + 2);
        const uint64_t at = table->functions + word_at(table, 2 * i + 1);
        if (end <= begin || begin > UINT64_MAX - table->text || at + NAME_AFTER + 4 > table->size)
            continue;
        const uint64_t name = table->names + bytes_get_u32(table->bytes + at + NAME_AFTER);
        if (name < table->size && table->bytes[name])
            ok = elf_symbols_add_named(symbols, table->text + begin, end - begin,
                                       (const char *)table->bytes + name);
    }
    return ok;
}

bool symbols_go_add(struct elf_symbols *symbols, const struct elf_file *file) {
    // A program that may be loaded anywhere has the table somewhere in a section of other data.
    const Elf64_Shdr *own = elf_file_section(file, ".gopclntab");
    const Elf64_Shdr *section = own ? own
                                : elf_file_section(file, ".go.buildinfo")
                                    ? elf_file_section(file, ".data.rel.ro")
                                    : NULL;
    if (!section || elf_file_section(file, ".symtab"))
        return true;
    size_t size;
    uint8_t *bytes = elf_file_read(file, section, &size);
    struct table table;
    bool ok = bytes != NULL, found = false;
    for (uint64_t at = 0; ok && !found && at < size && (!own || at == 0); at += ALIGNMENT) {
        found = is_table(&table, bytes + at, size - at);
        if (found && !table.text)
            ok = read_addend(file, section->sh_addr + at + TEXT, &table.text);
        found = found && table.text >= file->code_start && table.text < file->code_end;
    }
    if (!ok || !found) {
        free(bytes);
        return ok;
    }
    return elf_symbols_keep(symbols, (char *)bytes) && add_functions(symbols, &table);
}
