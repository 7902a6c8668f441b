// SPDX-License-Identifier: Apache-2.0
// Finds names for PLT stubs (`malloc@plt`). symbols.c calls it for each module.
#include "symbols/plt.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/bytes.h"

// A place that the dynamic linker fills in, and the symbol whose address that is.
struct slot {
    uint64_t address;
    uint32_t symbol;
};

struct plt {
    struct slot *slots; // by address
    size_t count, capacity;
    uint8_t *symbols; // of .dynsym
    size_t symbols_size;
    char *names; // of those
    size_t names_size;
    char *text; // `name@plt`, one after the other
    size_t length, text_capacity;
};

static bool is_slot(const struct elf_file *file, uint32_t type) {
    return file->machine == EM_X86_64    ? type == R_X86_64_JUMP_SLOT || type == R_X86_64_GLOB_DAT
           : file->machine == EM_AARCH64 ? type == R_AARCH64_JUMP_SLOT || type == R_AARCH64_GLOB_DAT
                                         : false;
}

static bool read_slots(struct plt *plt, const struct elf_file *file, const Elf64_Shdr *section) {
    size_t size;
    uint8_t *bytes = elf_file_read(file, section, &size);
    bool ok = bytes && ARRAY_RESERVE(plt->slots, plt->capacity, plt->count + size / sizeof(Elf64_Rela));
    for (size_t at = 0; ok && size - at >= sizeof(Elf64_Rela); at += sizeof(Elf64_Rela)) {
        Elf64_Rela entry;
        memcpy(&entry, bytes + at, sizeof entry);
        if (is_slot(file, ELF64_R_TYPE(entry.r_info)) && ELF64_R_SYM(entry.r_info))
            plt->slots[plt->count++] = (struct slot){entry.r_offset, (uint32_t)ELF64_R_SYM(entry.r_info)};
    }
    free(bytes);
    return ok;
}

static int compare(const void *left, const void *right) {
    const struct slot *a = left, *b = right;
    return (a->address > b->address) - (a->address < b->address);
}

static const char *name_at(const struct plt *plt, uint64_t address) {
    const struct slot key = {address, 0};
    const struct slot *slot = bsearch(&key, plt->slots, plt->count, sizeof *plt->slots, compare);
    Elf64_Sym symbol;
    if (!slot || (uint64_t)slot->symbol >= plt->symbols_size / sizeof symbol)
        return NULL;
    memcpy(&symbol, plt->symbols + slot->symbol * sizeof symbol, sizeof symbol);
    const char *name = symbol.st_name < plt->names_size ? plt->names + symbol.st_name : "";
    return *name ? name : NULL;
}

// ---- the code of stubs

// endbr64 or nothing, bnd or nothing, jmp *distance(%rip), and what fills up. (The first stub pushes before it jumps.)
static bool loads_x86(const uint8_t *code, size_t size, uint64_t address, uint64_t *from) {
    size_t at = size >= 4 && bytes_get_u32(code) == 0xfa1e0ff3 ? 4 : 0;
    at += at < size && code[at] == 0xf2;
    if (size - at < 6 || code[at] != 0xff || code[at + 1] != 0x25)
        return false;
    *from = address + at + 6 + (uint64_t)(int64_t)(int32_t)bytes_get_u32(code + at + 2);
    return true;
}

// bti c or nothing, adrp x16, page; ldr x17, [x16, #offset]; add x16, ..; br x17
static bool loads_aarch64(const uint8_t *code, size_t size, uint64_t address, uint64_t *from) {
    size_t at = size >= 4 && bytes_get_u32(code) == 0xd503245f ? 4 : 0;
    if (size - at < 8)
        return false;
    uint32_t page = bytes_get_u32(code + at), load = bytes_get_u32(code + at + 4);
    if ((page & 0x9f00001f) != 0x90000010 || (load & 0xffc003ff) != 0xf9400211)
        return false;
    uint64_t pages = (page >> 29 & 3) | (page >> 5 & 0x7ffff) << 2;
    if (pages & 0x100000)
        pages |= ~UINT64_C(0x1fffff);
    *from = ((address + at) & ~UINT64_C(0xfff)) + (pages << 12) + (load >> 10 & 0xfff) * UINT64_C(8);
    return true;
}

static bool add_stub(struct plt *plt, struct elf_symbols *symbols, uint64_t address, uint64_t size,
                     const char *name) {
    static const char AFTER[] = "@plt";
    size_t length = strlen(name);
    if (length + sizeof AFTER > plt->text_capacity - plt->length)
        return true; // names of a damaged file may be used again and again
    char *text = plt->text + plt->length;
    memcpy(text, name, length);
    memcpy(text + length, AFTER, sizeof AFTER);
    plt->length += length + sizeof AFTER;
    return elf_symbols_add_named(symbols, address, size, text);
}

static bool read_stubs(struct plt *plt, struct elf_symbols *symbols, const struct elf_file *file,
                       const Elf64_Shdr *section) {
    bool x86 = file->machine == EM_X86_64, ok = true;
    uint64_t step = section->sh_entsize == 8 || section->sh_entsize == 24 ? section->sh_entsize : 16;
    size_t size;
    uint8_t *code = elf_file_read(file, section, &size);
    for (size_t at = 0; code && ok && at < size;) {
        uint64_t from, address = section->sh_addr + at;
        size_t left = size - at;
        bool stub = x86 ? loads_x86(code + at, left < step ? left : step, address, &from)
                        : loads_aarch64(code + at, left, address, &from);
        const char *name = stub ? name_at(plt, from) : NULL;
        uint64_t reach = stub && !x86 ? (step == 16 && bytes_get_u32(code + at) == 0xd503245f ? 24 : step)
                         : x86        ? step
                                      : 4;
        if (name)
            ok = add_stub(plt, symbols, address, reach < left ? reach : left, name);
        at += reach < left ? reach : left;
    }
    ok = ok && code;
    free(code);
    return ok;
}

static bool read_all(struct plt *plt, const struct elf_file *file) {
    for (size_t i = 0; i < file->section_count; i++) {
        const Elf64_Shdr *section = &file->sections[i];
        if (section->sh_type == SHT_RELA && elf_file_size(file, section) && !read_slots(plt, file, section))
            return false;
        if (section->sh_type != SHT_DYNSYM || plt->symbols || section->sh_link >= file->section_count ||
            !elf_file_size(file, section))
            continue;
        plt->symbols = elf_file_read(file, section, &plt->symbols_size);
        plt->names = (char *)elf_file_read(file, &file->sections[section->sh_link], &plt->names_size);
        if (!plt->symbols || !plt->names)
            return false;
    }
    if (plt->count)
        qsort(plt->slots, plt->count, sizeof *plt->slots, compare);
    plt->text_capacity = 2 * plt->names_size + plt->count * 8;
    return !plt->count || !plt->symbols || (plt->text = malloc(plt->text_capacity + 1)) != NULL;
}

bool symbols_plt_add(struct elf_symbols *symbols, const struct elf_file *file) {
    static const char *const SECTIONS[] = {".plt", ".plt.sec", ".plt.got"};
    struct plt plt = {0};
    bool any = false, ok = true;
    for (size_t i = 0; i < sizeof SECTIONS / sizeof *SECTIONS; i++)
        any |= elf_file_section(file, SECTIONS[i]) != NULL;
    if (!any || (file->machine != EM_X86_64 && file->machine != EM_AARCH64))
        return true;
    ok = read_all(&plt, file);
    for (size_t i = 0; ok && plt.text && i < sizeof SECTIONS / sizeof *SECTIONS; i++) {
        const Elf64_Shdr *section = elf_file_section(file, SECTIONS[i]);
        ok = !section || read_stubs(&plt, symbols, file, section);
    }
    if (plt.text)
        ok = elf_symbols_keep(symbols, plt.text) && ok;
    free(plt.slots);
    free(plt.symbols);
    free(plt.names);
    return ok;
}
