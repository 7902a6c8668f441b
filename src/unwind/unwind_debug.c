// SPDX-License-Identifier: Apache-2.0
// Invariants: entries below `count` never change, nor does the memory that they point to. A file is believed to be the
// module's when its ELF header, program headers and notes (the build id) are those in memory. It is read, not mapped,
// so that truncating it cannot crash the process.
#include "unwind/unwind_debug.h"

#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "unwind/go_table.h"
#include "unwind/unwind_table.h"

enum { ENTRIES_MAX = 64, PATH_SIZE = 4096, HEADERS_MAX = 64, NOTES_MAX = 2048 };
static const uint64_t SECTION_MAX = UINT64_C(64) << 20;

struct entry {
    struct unwind_module module;
    struct cfi_section section; // no entries: the file has none, or is not the module's
    struct go_table go;         // of a Go program
};

static struct {
    struct entry entries[ENTRIES_MAX];
    _Atomic uint32_t count;
    // The code that a file is wanted for; 0: none. The module is in `asked`, which belongs to who set it from 0 to BUSY.
    _Atomic uint64_t wanted;
    struct unwind_module asked;
} files;

static const uint64_t BUSY = 1; // no code is there

// --- readers -------------------------------------------------------------------------------------

static bool is_same(const struct unwind_module *a, const struct unwind_module *b) {
    return a->begin == b->begin && a->end == b->end && a->identity == b->identity &&
           a->content[0] == b->content[0] && a->content[1] == b->content[1];
}

enum unwind_debug_found unwind_debug_find(const struct unwind_module *module, uint64_t pc,
                                          struct cfi_section *section, struct cfi_row *row) {
    const uint32_t count = atomic_load_explicit(&files.count, memory_order_acquire);
    for (uint32_t i = 0; i < count; i++) {
        if (!is_same(&files.entries[i].module, module))
            continue;
        *section = files.entries[i].section;
        if (files.entries[i].go.bytes && go_table_find(&files.entries[i].go, pc, row))
            return UNWIND_DEBUG_ROW;
        return section->entries && cfi_find(section, pc, row) ? UNWIND_DEBUG_ROW : UNWIND_DEBUG_NONE;
    }
    uint64_t nothing = 0;
    if (count == ENTRIES_MAX)
        return UNWIND_DEBUG_NONE;
    if (atomic_compare_exchange_strong_explicit(&files.wanted, &nothing, BUSY, memory_order_acquire,
                                                memory_order_relaxed)) {
        files.asked = *module;
        atomic_store_explicit(&files.wanted, module->begin, memory_order_release);
    }
    return UNWIND_DEBUG_WANTED;
}

bool unwind_debug_is_wanted(void) {
    return atomic_load_explicit(&files.wanted, memory_order_relaxed) > BUSY;
}

// --- what is in memory ---------------------------------------------------------------------------

// For the module that has the code, from the linker's data; copied, because it may be closed afterwards.
struct loaded {
    uint64_t code, bias;
    bool found;
    char path[PATH_SIZE];
    ElfW(Ehdr) header;
    ElfW(Phdr) headers[HEADERS_MAX];
    uint32_t header_count;
    uint8_t notes[NOTES_MAX]; // of all its segments of notes, one after the other
    size_t note_bytes;
};

// `size` bytes at a place of the file, from memory. NULL: they are not loaded.
static const void *in_memory(const struct dl_phdr_info *info, uint64_t offset, uint64_t size) {
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        if (segment->p_type == PT_LOAD && segment->p_flags & PF_R && !(segment->p_flags & PF_W) &&
            offset >= segment->p_offset && offset - segment->p_offset <= segment->p_filesz &&
            size <= segment->p_filesz - (offset - segment->p_offset))
            return (const void *)(uintptr_t)(info->dlpi_addr + segment->p_vaddr + offset - segment->p_offset);
    }
    return NULL;
}

static bool copy_loaded(const struct dl_phdr_info *info, struct loaded *loaded) {
    const void *header = in_memory(info, 0, sizeof loaded->header);
    const size_t length = strnlen(info->dlpi_name, PATH_SIZE);
    if (!header || length == PATH_SIZE || info->dlpi_phnum > HEADERS_MAX)
        return false;
    memcpy(&loaded->header, header, sizeof loaded->header);
    memcpy(loaded->headers, info->dlpi_phdr, info->dlpi_phnum * sizeof *loaded->headers);
    loaded->header_count = info->dlpi_phnum;
    loaded->bias = info->dlpi_addr;
    memcpy(loaded->path, info->dlpi_name, length + 1);
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        if (segment->p_type != PT_NOTE)
            continue;
        const void *notes = in_memory(info, segment->p_offset, segment->p_filesz);
        if (!notes || segment->p_filesz > NOTES_MAX - loaded->note_bytes)
            return false;
        memcpy(loaded->notes + loaded->note_bytes, notes, segment->p_filesz);
        loaded->note_bytes += segment->p_filesz;
    }
    return true;
}

static int find_loaded(struct dl_phdr_info *info, size_t size, void *context) {
    struct loaded *loaded = context;
    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        if (segment->p_type != PT_LOAD || loaded->code - info->dlpi_addr < segment->p_vaddr ||
            loaded->code - info->dlpi_addr - segment->p_vaddr >= segment->p_memsz)
            continue;
        loaded->found = copy_loaded(info, loaded);
        return 1;
    }
    return 0;
}

// --- the file ------------------------------------------------------------------------------------

static bool read_all(int fd, uint64_t offset, void *into, size_t size) {
    for (size_t done = 0; done < size;) {
        ssize_t got = pread(fd, (char *)into + done, size - done, (off_t)(offset + done));
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        done += (size_t)got;
    }
    return true;
}

// Not malloc: this may be the program's thread, in the middle of anything. NULL: there is none, or too much is asked for.
static void *take_memory(uint64_t size) {
    void *at = size && size <= SECTION_MAX
                   ? mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
                   : MAP_FAILED;
    return at == MAP_FAILED ? NULL : at;
}

static void drop_memory(void *at, uint64_t size) {
    if (at)
        munmap(at, size);
}

static void *read_part(int fd, uint64_t offset, uint64_t size) {
    void *at = take_memory(size);
    if (at && !read_all(fd, offset, at, size)) {
        drop_memory(at, size);
        return NULL;
    }
    return at;
}

// Whether the file is what was loaded.
static bool is_file_of(int fd, const struct loaded *loaded) {
    ElfW(Ehdr) header;
    ElfW(Phdr) headers[HEADERS_MAX];
    uint8_t notes[NOTES_MAX];
    size_t at = 0;
    const size_t bytes = loaded->header_count * sizeof *headers;
    if (!read_all(fd, 0, &header, sizeof header) || memcmp(&header, &loaded->header, sizeof header) != 0 ||
        memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_shentsize != sizeof(ElfW(Shdr)) ||
        !read_all(fd, header.e_phoff, headers, bytes))
        return false;
    // The linker may have relocated these in memory, but not changed their meaning.
    if (memcmp(headers, loaded->headers, bytes) != 0)
        return false;
    for (uint32_t i = 0; i < loaded->header_count; i++) {
        if (headers[i].p_type != PT_NOTE)
            continue;
        if (headers[i].p_filesz > loaded->note_bytes - at ||
            !read_all(fd, headers[i].p_offset, notes, headers[i].p_filesz) ||
            memcmp(notes, loaded->notes + at, headers[i].p_filesz) != 0)
            return false;
        at += headers[i].p_filesz;
    }
    return true;
}

// A compressed section is not read.
static bool is_called(const ElfW(Shdr) * section, const char *names, uint64_t name_bytes, const char *name) {
    const size_t length = strlen(name) + 1;
    return section->sh_type == SHT_PROGBITS && !(section->sh_flags & SHF_COMPRESSED) &&
           section->sh_name < name_bytes && name_bytes - section->sh_name >= length &&
           memcmp(names + section->sh_name, name, length) == 0;
}

// The first section of that name.
static bool find_section(int fd, const ElfW(Ehdr) * header, const char *name, ElfW(Shdr) * found) {
    const uint64_t bytes = (uint64_t)header->e_shnum * sizeof *found;
    ElfW(Shdr) *sections = read_part(fd, header->e_shoff, bytes);
    const bool named = sections && header->e_shstrndx < header->e_shnum;
    const uint64_t name_bytes = named ? sections[header->e_shstrndx].sh_size : 0;
    char *names = named ? read_part(fd, sections[header->e_shstrndx].sh_offset, name_bytes) : NULL;
    bool is_there = false;
    *found = (ElfW(Shdr)){0};
    for (uint32_t i = 0; names && i < header->e_shnum && !is_there; i++) {
        is_there = is_called(&sections[i], names, name_bytes, name);
        *found = sections[i];
    }
    drop_memory(names, name_bytes);
    drop_memory(sections, bytes);
    return is_there;
}

// Where a section is in memory; NULL: not all of it is loaded.
static const uint8_t *section_in_memory(const struct loaded *loaded, const ElfW(Shdr) * section) {
    for (uint32_t i = 0; i < loaded->header_count; i++) {
        const ElfW(Phdr) *segment = &loaded->headers[i];
        if (segment->p_type == PT_LOAD && segment->p_flags & PF_R && section->sh_addr >= segment->p_vaddr &&
            section->sh_addr - segment->p_vaddr <= segment->p_filesz &&
            section->sh_size <= segment->p_filesz - (section->sh_addr - segment->p_vaddr))
            return (const uint8_t *)(uintptr_t)(loaded->bias + section->sh_addr);
    }
    return NULL;
}

// Go's table is read in memory, where the linker has moved its addresses: a Go program or library is never closed. In a
// program whose addresses are moved the table is somewhere in .data.rel.ro.
static void find_go(int fd, const struct loaded *loaded, const struct unwind_module *module,
                    struct go_table *table) {
    enum { ALIGNMENT = 8 };
    ElfW(Shdr) found;
    const bool own = find_section(fd, &loaded->header, ".gopclntab", &found);
    if (!own && (!find_section(fd, &loaded->header, ".go.buildinfo", &found) ||
                 !find_section(fd, &loaded->header, ".data.rel.ro", &found)))
        return;
    const uint8_t *bytes = section_in_memory(loaded, &found);
    for (uint64_t at = 0; bytes && at < found.sh_size; at += ALIGNMENT) {
        if (go_table_open(table, bytes + at, found.sh_size - at) && table->text >= module->begin &&
            table->text < module->end)
            return;
        *table = (struct go_table){0};
        if (own)
            return;
    }
}

static void read_section(int fd, const struct loaded *loaded, struct cfi_section *section) {
    ElfW(Shdr) found;
    if (!find_section(fd, &loaded->header, ".debug_frame", &found))
        return;
    uint8_t *bytes = read_part(fd, found.sh_offset, found.sh_size);
    if (!bytes)
        return;
    struct cfi_section of = {.start = bytes, .end = bytes + found.sh_size, .bias = loaded->bias};
    const size_t count = cfi_index(&of, NULL, 0);
    struct cfi_entry *entries = take_memory(count * sizeof *entries);
    if (!entries) {
        drop_memory(bytes, found.sh_size);
        return;
    }
    of.entry_count = cfi_index(&of, entries, count);
    of.entries = entries;
    *section = of;
}

bool unwind_debug_load(void) {
    static struct loaded loaded; // one thread at a time, which may have a small stack
    const uint32_t count = atomic_load_explicit(&files.count, memory_order_relaxed);
    const uint64_t code = atomic_load_explicit(&files.wanted, memory_order_acquire);
    if (code <= BUSY || count == ENTRIES_MAX)
        return false;
    struct entry *entry = &files.entries[count];
    *entry = (struct entry){.module = files.asked};
    loaded.code = code;
    loaded.found = false;
    loaded.note_bytes = 0;
    dl_iterate_phdr(find_loaded, &loaded);
    int saved = errno;
    int fd = loaded.found ? open(loaded.path[0] ? loaded.path : "/proc/self/exe", O_RDONLY | O_CLOEXEC) : -1;
    if (fd >= 0) {
        if (is_file_of(fd, &loaded)) {
            find_go(fd, &loaded, &entry->module, &entry->go);
            read_section(fd, &loaded, &entry->section);
        }
        close(fd);
    }
    errno = saved;
    atomic_store_explicit(&files.count, count + 1, memory_order_release);
    atomic_store_explicit(&files.wanted, 0, memory_order_release);
    return entry->section.entries != NULL || entry->go.bytes != NULL;
}
