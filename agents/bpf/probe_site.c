// SPDX-License-Identifier: Apache-2.0
// Finds the address of a probed function or static probe (SystemTap note) in an ELF file and classifies its first
// instruction. bpf.c calls it for `profile --probe`.
#include "probe_site.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { HITS = 200, ROUNDS = 5 };

// ---- functions of ours

// On a machine with other instructions all are of one kind.
#if defined(__x86_64__)
#define BEGIN_NOP5 ".byte 0x0f, 0x1f, 0x44, 0x00, 0x00\n"
#define BEGIN_NOP "nop\n"
#define BEGIN_PUSH "push %rbp\npop %rbp\n"
#define BEGIN_OTHER "lea 0(%rsp), %rax\n"
#else
#define BEGIN_NOP5 "nop\n"
#define BEGIN_NOP "nop\n"
#define BEGIN_PUSH "nop\n"
#define BEGIN_OTHER "nop\n"
#endif

#define OWN_FUNCTION(name, begin)                                                                            \
    __asm__(".pushsection .text\n.hidden " #name "\n.globl " #name "\n.type " #name                          \
            ", %function\n.p2align 4\n" #name ":\n" begin "ret\n.size " #name ", .-" #name                   \
            "\n.popsection\n");                                                                              \
    extern void name(void);
OWN_FUNCTION(probe_own_nop5, BEGIN_NOP5)
OWN_FUNCTION(probe_own_nop, BEGIN_NOP)
OWN_FUNCTION(probe_own_push, BEGIN_PUSH)
OWN_FUNCTION(probe_own_other, BEGIN_OTHER)

static const struct {
    const char *name;
    void (*function)(void);
} kinds[] = {
    [PROBE_NOP5] = {"a nop of 5 bytes", probe_own_nop5},
    [PROBE_NOP] = {"a nop", probe_own_nop},
    [PROBE_PUSH] = {"a push", probe_own_push},
    [PROBE_OTHER] = {"no nop and no push", probe_own_other},
};

const char *probe_site_kind_name(enum probe_kind kind) {
    return kinds[kind].name;
}

double probe_site_time(enum probe_kind kind) {
    void (*volatile function)(void) = kinds[kind].function;
    double best = 1e18;
    for (int round = 0; round < ROUNDS; round++) {
        struct timespec before, after;
        clock_gettime(CLOCK_MONOTONIC, &before);
        for (int i = 0; i < HITS; i++)
            function();
        clock_gettime(CLOCK_MONOTONIC, &after);
        const double ns =
            ((double)(after.tv_sec - before.tv_sec) * 1e9 + (double)(after.tv_nsec - before.tv_nsec)) / HITS;
        best = ns < best ? ns : best;
    }
    return best;
}

static enum probe_kind kind_of(const uint8_t *bytes) {
    static const uint8_t nop5[] = {0x0f, 0x1f, 0x44, 0x00, 0x00};
    if (memcmp(bytes, nop5, sizeof nop5) == 0)
        return PROBE_NOP5;
    if (bytes[0] == 0x90)
        return PROBE_NOP;
    if (bytes[0] >= 0x50 && bytes[0] <= 0x57) // of a register
        return PROBE_PUSH;
    return PROBE_OTHER;
}

// ---- files

enum { NAME_MOST = 512, NEAR_MOST = 64, NEAR = PROBE_SITE_FAR - 1 };

struct search {
    const char *function;
    agent_bpf_demangle *demangle; // NULL: only the linker's names are compared
    uint64_t address;             // 0: not found
    unsigned distance;            // of the nearest name
    char nearest[NAME_MOST];
};

unsigned probe_site_distance(const char *a, const char *b) {
    const size_t rows = strlen(a), columns = strlen(b);
    unsigned row[NEAR_MOST + 1];
    if (rows > NEAR_MOST || columns > NEAR_MOST || rows > columns + NEAR || columns > rows + NEAR)
        return PROBE_SITE_FAR;
    for (size_t j = 0; j <= columns; j++)
        row[j] = (unsigned)j;
    for (size_t i = 1; i <= rows; i++) {
        unsigned before = row[0];
        row[0] = (unsigned)i;
        for (size_t j = 1; j <= columns; j++) {
            const unsigned same = before + (a[i - 1] != b[j - 1]);
            before = row[j];
            row[j] = row[j] + 1 < same ? row[j] + 1 : same;
            row[j] = row[j - 1] + 1 < row[j] ? row[j - 1] + 1 : row[j];
        }
    }
    return row[columns];
}

static int is_searched_function(struct search *search, const char *name) {
    char text[NAME_MOST];
    if (strcmp(name, search->function) == 0)
        return 1;
    if (!search->demangle)
        return 0;
    const unsigned long length = search->demangle(name, text, sizeof text);
    if (length == 0 || length >= sizeof text)
        snprintf(text, sizeof text, "%s", name);
    if (strcmp(text, search->function) == 0)
        return 1;
    char *parameters = length ? strchr(text, '(') : NULL;
    if (parameters && parameters != text)
        *parameters = '\0';
    const unsigned distance = probe_site_distance(text, search->function);
    if (distance < search->distance) {
        search->distance = distance;
        snprintf(search->nearest, sizeof search->nearest, "%s", text);
    }
    return distance == 0;
}

static void look_in(Elf *elf, Elf_Scn *section, const GElf_Shdr *header, struct search *search) {
    Elf_Data *data = elf_getdata(section, NULL);
    const size_t count = data && header->sh_entsize ? data->d_size / header->sh_entsize : 0;
    for (size_t i = 0; i < count && i <= INT32_MAX && !search->address; i++) {
        GElf_Sym symbol;
        if (!gelf_getsym(data, (int)i, &symbol) || GELF_ST_TYPE(symbol.st_info) != STT_FUNC ||
            !symbol.st_value)
            continue;
        const char *name = elf_strptr(elf, header->sh_link, symbol.st_name);
        if (name && is_searched_function(search, name))
            search->address = symbol.st_value;
    }
}

static void look_through(Elf *elf, struct search *search) {
    for (Elf_Scn *section = NULL; (section = elf_nextscn(elf, section)) && !search->address;) {
        GElf_Shdr header;
        if (gelf_getshdr(section, &header) && (header.sh_type == SHT_DYNSYM || header.sh_type == SHT_SYMTAB))
            look_in(elf, section, &header, search);
    }
}

// The place in the file of an address; UINT64_MAX when no segment has it.
static uint64_t offset_of(Elf *elf, uint64_t address) {
    size_t count = 0;
    if (elf_getphdrnum(elf, &count))
        return UINT64_MAX;
    for (size_t i = 0; i < count && i <= INT32_MAX; i++) {
        GElf_Phdr segment;
        if (gelf_getphdr(elf, (int)i, &segment) && segment.p_type == PT_LOAD && segment.p_flags & PF_X &&
            address >= segment.p_vaddr && address - segment.p_vaddr < segment.p_filesz)
            return address - segment.p_vaddr + segment.p_offset;
    }
    return UINT64_MAX;
}

static int find_function(Elf *elf, struct probe_site *site, const char *function,
                         agent_bpf_demangle *demangle, char *message, unsigned long size) {
    struct search search = {.function = function, .distance = PROBE_SITE_FAR};
    look_through(elf, &search);
    if (!search.address && demangle) {
        search.demangle = demangle;
        look_through(elf, &search);
    }
    if (!search.address) {
        const int is_near = search.nearest[0] != '\0';
        snprintf(message, size, "%.400s has no function named '%.200s'%s%.200s%s", site->path, function,
                 is_near ? ": is it '" : "", search.nearest, is_near ? "'?" : "");
        return -1;
    }
    site->offsets[0] = offset_of(elf, search.address);
    site->count = 1;
    if (site->offsets[0] != UINT64_MAX)
        return 0;
    snprintf(message, size, "'%.200s' of %.400s is not in the file", function, site->path);
    return -1;
}

// ---- static probes

// A note's three addresses (the place, the base as it was when linked, a semaphore), then provider, name and arguments.
static int take_note(const char *note, size_t length, const char *name, uint64_t base, uint64_t *address) {
    uint64_t values[3];
    const char *provider = note + sizeof values, *end = note + length;
    if (length < sizeof values || !memchr(provider, 0, (size_t)(end - provider)))
        return 0;
    const char *is = provider + strlen(provider) + 1;
    if (is >= end || !memchr(is, 0, (size_t)(end - is)) || strcmp(is, name) != 0)
        return 0;
    memcpy(values, note, sizeof values);
    *address = values[0] + (values[1] && base ? base - values[1] : 0);
    return 1;
}

static void look_in_notes(Elf *elf, Elf_Scn *section, const char *name, uint64_t base,
                          struct probe_site *site) {
    Elf_Data *data = elf_getdata(section, NULL);
    size_t at = 0, name_at, note_at;
    GElf_Nhdr header;
    while (data && site->count < PROBE_OFFSETS_MOST &&
           (at = gelf_getnote(data, at, &header, &name_at, &note_at)) > 0) {
        const char *bytes = data->d_buf;
        uint64_t address;
        if (header.n_type != 3 || header.n_namesz != sizeof "stapsdt" ||
            memcmp(bytes + name_at, "stapsdt", sizeof "stapsdt") != 0 ||
            !take_note(bytes + note_at, header.n_descsz, name, base, &address))
            continue;
        const uint64_t offset = offset_of(elf, address);
        if (offset != UINT64_MAX)
            site->offsets[site->count++] = offset;
    }
}

static Elf_Scn *section_named(Elf *elf, const char *name, GElf_Shdr *header) {
    size_t names;
    if (elf_getshdrstrndx(elf, &names))
        return NULL;
    for (Elf_Scn *section = NULL; (section = elf_nextscn(elf, section));) {
        const char *is = gelf_getshdr(section, header) ? elf_strptr(elf, names, header->sh_name) : NULL;
        if (is && strcmp(is, name) == 0)
            return section;
    }
    return NULL;
}

static int find_static(Elf *elf, struct probe_site *site, const char *name, char *message,
                       unsigned long size) {
    GElf_Shdr header = {0};
    const uint64_t base = section_named(elf, ".stapsdt.base", &header) ? header.sh_addr : 0;
    Elf_Scn *notes = section_named(elf, ".note.stapsdt", &header);
    site->is_static = 1;
    if (notes)
        look_in_notes(elf, notes, name, base, site);
    if (site->count)
        return 0;
    snprintf(message, size, "%.400s has no static probe named '%.200s' (readelf -n lists its probes)",
             site->path, name);
    return -1;
}

// A name without a slash is a library's, found as the loader does it.
static void find_path(struct probe_site *site, const char *path) {
    struct link_map *map = NULL;
    void *library = strchr(path, '/') ? NULL : dlopen(path, RTLD_LAZY | RTLD_LOCAL);
    if (library && dlinfo(library, RTLD_DI_LINKMAP, &map) == 0 && map && map->l_name[0])
        path = map->l_name;
    if (!realpath(path, site->path))
        snprintf(site->path, sizeof site->path, "%s", path);
    if (library)
        dlclose(library);
}

int probe_site_find(struct probe_site *site, const struct agent_bpf_probe *probe,
                    agent_bpf_demangle *demangle, char *message, unsigned long size) {
    const char *function = probe->function;
    uint8_t bytes[8] = {0};
    memset(site, 0, sizeof *site);
    find_path(site, probe->path);
    const int file = open(site->path, O_RDONLY | O_CLOEXEC);
    if (file < 0) {
        snprintf(message, size, "%.400s: %s", site->path, strerror(errno));
        return -1;
    }
    elf_version(EV_CURRENT);
    Elf *elf = elf_begin(file, ELF_C_READ_MMAP, NULL);
    int status = -1;
    if (!elf || elf_kind(elf) != ELF_K_ELF)
        snprintf(message, size, "%.400s is neither a program nor a library", site->path);
    else
        status = function[0] == '@' ? find_static(elf, site, function + 1, message, size)
                                    : find_function(elf, site, function, demangle, message, size);
    if (elf)
        elf_end(elf);
    if (status == 0 && pread(file, bytes, sizeof bytes, (off_t)site->offsets[0]) > 0)
        site->kind = kind_of(bytes);
    close(file);
    return status;
}

int probe_site_of_kind(struct probe_site *site, enum probe_kind kind, char *message, unsigned long size) {
    Dl_info info;
    void *at = __extension__(void *) kinds[kind].function;
    if (!dladdr(at, &info) || !info.dli_fname || !realpath(info.dli_fname, site->path)) {
        snprintf(message, size, "this library's own file is not found");
        return -1;
    }
    const int file = open(site->path, O_RDONLY | O_CLOEXEC);
    elf_version(EV_CURRENT);
    Elf *elf = file < 0 ? NULL : elf_begin(file, ELF_C_READ_MMAP, NULL);
    site->kind = kind;
    site->offsets[0] = elf ? offset_of(elf, (uint64_t)((char *)at - (char *)info.dli_fbase)) : UINT64_MAX;
    site->count = 1;
    if (elf)
        elf_end(elf);
    if (file >= 0)
        close(file);
    return site->offsets[0] == UINT64_MAX ? -1 : 0;
}
