// SPDX-License-Identifier: Apache-2.0
// Replaces entries of global offset tables, so that calls to libcupti come to the agent first; sharing.c calls it.
// Rules: agent.h. A library that was linked with libcupti calls it through its global offset table, whose entries the
// dynamic linker fills, some of them at the first call. An entry that leads to the libcupti that we use, or that is not
// filled yet, is replaced by one store; where the table is read-only after relocation, its page is writable meanwhile.
// The list of libraries is locked while it is walked, so none of them is unloaded.
#include "interpose.h"

#include <elf.h>
#include <link.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "vendor.h"

struct walk {
    const struct interpose_function *functions;
    size_t count, replaced;
    unsigned long long added, removed;
    bool every; // library, those that were looked at before too
};

struct module {
    ElfW(Addr) base;
    const char *names;
    size_t names_size;
    const ElfW(Sym) * symbols;
    const ElfW(Rela) * tables[2];
    size_t sizes[2];
    ElfW(Addr) protected_from, protected_to; // read-only after relocation
    const struct dl_phdr_info *info;
};

// The C library relocates these in place, but for libraries that it may not write to.
static const void *address_of(const struct module *module, ElfW(Addr) value) {
    return (const void *)(value < module->base ? value + module->base : value); // NOLINT: as the linker does
}

static bool needs_cupti(const struct module *module, const ElfW(Dyn) * dynamic) {
    for (; dynamic->d_tag != DT_NULL; dynamic++)
        if (dynamic->d_tag == DT_NEEDED && dynamic->d_un.d_val < module->names_size &&
            strncmp(module->names + dynamic->d_un.d_val, vendor.library, strlen(vendor.library)) == 0)
            return true;
    return false;
}

static bool read_module(const struct dl_phdr_info *info, struct module *out) {
    const ElfW(Dyn) *dynamic = NULL;
    *out = (struct module){.base = info->dlpi_addr, .info = info};
    for (size_t i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        if (header->p_type == PT_DYNAMIC)
            dynamic = (const ElfW(Dyn) *)(info->dlpi_addr + header->p_vaddr); // NOLINT
        else if (header->p_type == PT_GNU_RELRO) {
            out->protected_from = info->dlpi_addr + header->p_vaddr;
            out->protected_to = out->protected_from + header->p_memsz;
        }
    }
    for (const ElfW(Dyn) *at = dynamic; at && at->d_tag != DT_NULL; at++)
        switch (at->d_tag) {
        case DT_STRTAB:
            out->names = address_of(out, at->d_un.d_ptr);
            break;
        case DT_STRSZ:
            out->names_size = at->d_un.d_val;
            break;
        case DT_SYMTAB:
            out->symbols = address_of(out, at->d_un.d_ptr);
            break;
        case DT_JMPREL:
            out->tables[0] = address_of(out, at->d_un.d_ptr);
            break;
        case DT_PLTRELSZ:
            out->sizes[0] = at->d_un.d_val;
            break;
        case DT_RELA:
            out->tables[1] = address_of(out, at->d_un.d_ptr);
            break;
        case DT_RELASZ:
            out->sizes[1] = at->d_un.d_val;
            break;
        default:
            break;
        }
    return dynamic && out->names && out->symbols && needs_cupti(out, dynamic);
}

bool interpose_needs_cupti(const struct dl_phdr_info *info) {
    struct module module;
    return read_module(info, &module);
}

static bool module_has_address(const struct module *module, const void *address) {
    for (size_t i = 0; i < module->info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &module->info->dlpi_phdr[i];
        const ElfW(Addr) from = module->base + header->p_vaddr;
        if (header->p_type == PT_LOAD && (ElfW(Addr))address >= from &&
            (ElfW(Addr))address < from + header->p_memsz)
            return true;
    }
    return false;
}

// Whether it could be written.
static bool replace(const struct module *module, void **slot, void *with) {
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    void *const start = (void *)((ElfW(Addr))slot & ~(ElfW(Addr))(page - 1)); // NOLINT
    const bool is_protected =
        (ElfW(Addr))slot >= module->protected_from && (ElfW(Addr))slot < module->protected_to;
    if (is_protected && mprotect(start, page, PROT_READ | PROT_WRITE) != 0)
        return false;
    __atomic_store_n(slot, with, __ATOMIC_RELEASE);
    if (is_protected)
        mprotect(start, page, PROT_READ);
    return true;
}

static const struct interpose_function *find_function(const struct walk *walk, const char *name) {
    for (size_t i = 0; i < walk->count; i++)
        if (walk->functions[i].real && strcmp(walk->functions[i].name, name) == 0)
            return &walk->functions[i];
    return NULL;
}

static bool is_entry(unsigned long type) {
#if defined(__x86_64__)
    return type == R_X86_64_JUMP_SLOT || type == R_X86_64_GLOB_DAT || type == R_X86_64_64;
#elif defined(__aarch64__)
    return type == R_AARCH64_JUMP_SLOT || type == R_AARCH64_GLOB_DAT || type == R_AARCH64_ABS64;
#else
    (void)type;
    return false;
#endif
}

static void replace_entries(struct walk *walk, const struct module *module) {
    for (size_t table = 0; table < 2; table++) {
        const ElfW(Rela) *entries = module->tables[table];
        for (size_t i = 0; entries && i < module->sizes[table] / sizeof *entries; i++) {
            if (!is_entry(ELF64_R_TYPE(entries[i].r_info)))
                continue;
            const ElfW(Sym) *symbol = &module->symbols[ELF64_R_SYM(entries[i].r_info)];
            if (symbol->st_name >= module->names_size ||
                strncmp(module->names + symbol->st_name, vendor.prefix, strlen(vendor.prefix)) != 0)
                continue;
            const struct interpose_function *function = find_function(walk, module->names + symbol->st_name);
            void **slot = (void **)(module->base + entries[i].r_offset); // NOLINT
            if (!function || *slot == function->ours ||
                (*slot != function->real && !module_has_address(module, *slot)))
                continue;
            walk->replaced += function->ours ? replace(module, slot, function->ours) : true;
        }
    }
}

static int look_at(struct dl_phdr_info *info, size_t size, void *context) {
    static unsigned long long added, removed;
    struct walk *walk = context;
    struct module module;
    (void)size;
    if (!walk->added && !walk->every) {
        if (info->dlpi_adds == added && info->dlpi_subs == removed)
            return 1; // nothing was loaded since
        walk->added = added = info->dlpi_adds;
        walk->removed = removed = info->dlpi_subs;
    }
    if (read_module(info, &module))
        replace_entries(walk, &module);
    return 0;
}

size_t interpose(const struct interpose_function *functions, size_t count) {
    struct walk walk = {.functions = functions, .count = count};
    dl_iterate_phdr(look_at, &walk);
    return walk.replaced;
}

size_t interpose_count(const struct interpose_function *functions, size_t count) {
    struct walk walk = {.functions = functions, .count = count, .every = true};
    dl_iterate_phdr(look_at, &walk);
    return walk.replaced;
}
