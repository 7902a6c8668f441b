// SPDX-License-Identifier: Apache-2.0
// Reads the mappings of another process and the unwind information of their files. The unwinder of copied stacks calls
// it.
#include "watch/process_code.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/file.h"
#include "base/other_root.h"
#include "base/sorted.h"
#include "base/table.h"
#include "symbols/vdso.h"

enum { MAPPINGS_MOST = 1 << 16 };
static const uint64_t FRAMES_MOST = UINT64_C(512) << 20; // bytes of all files

// Code of a file: where it is, there and in memory.
struct code_section {
    uint64_t offset, size, address;
};

// A row of the unwind information, or that there is none.
struct code_row {
    uint64_t at; // 1 + the address in the file; 0: the place is empty
    bool exists;
    struct code_plain_row plain;
    struct cfi_row row;
};
enum { ROWS_LOG2 = 9 };

// ---- files

static void free_file(struct code_file *file) {
    free(file->path);
    free(file->frames);
    free(file->sections);
    free(file->rows);
    free(file);
}

void code_files_finish(struct code_files *files) {
    for (struct code_file *file = files->first, *next; file; file = next) {
        next = file->next;
        free_file(file);
    }
    *files = (struct code_files){0};
}

static bool take_sections(struct code_file *file, const struct elf_file *elf) {
    size_t capacity = 0;
    for (size_t i = 0; i < elf->section_count; i++) {
        const Elf64_Shdr *section = &elf->sections[i];
        if (!(section->sh_flags & SHF_EXECINSTR) || section->sh_type == SHT_NOBITS)
            continue;
        if (!ARRAY_RESERVE(file->sections, capacity, file->section_count + 1))
            return false;
        file->sections[file->section_count++] =
            (struct code_section){section->sh_offset, section->sh_size, section->sh_addr};
    }
    return true;
}

// Both parts into one piece of memory, as far from each other as the loader puts them.
static void take_frames(struct code_files *files, struct code_file *file, const struct elf_file *elf) {
    const Elf64_Shdr *header = elf_file_section(elf, ".eh_frame_hdr"),
                     *frames = elf_file_section(elf, ".eh_frame");
    size_t header_size = 0, frames_size = 0;
    if (!header || !frames || header->sh_size > FRAMES_MOST || frames->sh_size > FRAMES_MOST)
        return;
    const uint64_t start = header->sh_addr < frames->sh_addr ? header->sh_addr : frames->sh_addr;
    const uint64_t header_at = header->sh_addr - start, frames_at = frames->sh_addr - start;
    if (header_at > FRAMES_MOST || frames_at > FRAMES_MOST)
        return;
    const uint64_t header_end = header_at + header->sh_size, frames_end = frames_at + frames->sh_size;
    const uint64_t size = header_end > frames_end ? header_end : frames_end;
    if (size > FRAMES_MOST - files->bytes)
        return;
    uint8_t *head = elf_file_read(elf, header, &header_size),
            *rest = elf_file_read(elf, frames, &frames_size);
    uint8_t *both = head && rest ? calloc(size, 1) : NULL;
    if (both) {
        memcpy(both + header_at, head, header_size);
        memcpy(both + frames_at, rest, frames_size);
        file->frames = both;
        file->frames_size = size;
        file->frames_start = start;
        file->frames_header = header_at;
        files->bytes += size;
    }
    free(head);
    free(rest);
}

// By the mapping itself, which is the running file even if its path has changed; that needs more rights.
static int open_mapped(unsigned pid, uint64_t begin, uint64_t end, const char *path) {
    char link[96];
    snprintf(link, sizeof link, "/proc/%u/map_files/%" PRIx64 "-%" PRIx64, pid, begin, end);
    const int fd = file_open_regular(link);
    return fd >= 0 ? fd : other_root_mapped(pid, path);
}

static struct code_file *read_file(struct code_files *files, int fd, const char *path) {
    struct code_file *file = calloc(1, sizeof *file);
    struct elf_file elf;
    struct stat status;
    if (!file || !(file->path = strdup(path))) {
        free(file);
        return NULL;
    }
    if (fd >= 0 && fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && elf_file_open(&elf, fd)) {
        elf_file_build_id(&elf, file->build_id);
        if (take_sections(file, &elf))
            take_frames(files, file, &elf);
        elf_file_close(&elf);
    }
    return file;
}

static struct code_file *file_of(struct code_files *files, unsigned pid, const struct code_mapping *mapping,
                                 uint64_t device, uint64_t inode, const char *path) {
    for (struct code_file *file = files->first; file; file = file->next)
        if (file->device == device && file->inode == inode && strcmp(file->path, path) == 0)
            return file;
    const int fd = *path == '[' ? vdso_open() : open_mapped(pid, mapping->begin, mapping->end, path);
    struct code_file *file = read_file(files, fd, path);
    if (fd >= 0)
        close(fd);
    if (file) {
        file->device = device;
        file->inode = inode;
        file->next = files->first;
        files->first = file;
    }
    return file;
}

// ---- mappings

// Where the loader put the file, by code that this mapping has.
static bool find_bias(struct code_mapping *mapping, uint64_t offset) {
    for (size_t i = 0; mapping->file && i < mapping->file->section_count; i++) {
        const struct code_section *section = &mapping->file->sections[i];
        if (section->offset < offset || section->offset - offset >= mapping->end - mapping->begin)
            continue;
        mapping->bias = mapping->begin + (section->offset - offset) - section->address;
        return true;
    }
    return false;
}

// A number and the character after it.
static bool take_number(char **at, int base, char after, uint64_t *value) {
    char *end;
    *value = strtoull(*at, &end, base);
    const bool is_one = end != *at && *end == after;
    *at = is_one ? end + 1 : end;
    return is_one;
}

// "begin-end rights offset major:minor inode   path"; false: another kind of line, or of something that is no code of a file.
static bool read_line(char *at, struct code_mapping *mapping, uint64_t *offset, uint64_t *device,
                      uint64_t *inode, const char **path) {
    uint64_t major, minor;
    at[strcspn(at, "\n")] = '\0';
    if (!take_number(&at, 16, '-', &mapping->begin) || !take_number(&at, 16, ' ', &mapping->end) ||
        strnlen(at, 5) < 5 || at[2] != 'x' || at[4] != ' ')
        return false;
    at += 5;
    if (!take_number(&at, 16, ' ', offset) || !take_number(&at, 16, ':', &major) ||
        !take_number(&at, 16, ' ', &minor) || !take_number(&at, 10, ' ', inode))
        return false;
    at += strspn(at, " ");
    *device = major << 32 | minor;
    *path = at;
    return (*at == '/' || strcmp(at, "[vdso]") == 0) && mapping->begin < mapping->end;
}

static bool take_line(struct process_code *into, struct code_files *files, unsigned pid, char *line) {
    struct code_mapping mapping = {0};
    uint64_t offset, device, inode;
    const char *path;
    if (!read_line(line, &mapping, &offset, &device, &inode, &path))
        return true;
    mapping.file = file_of(files, pid, &mapping, device, inode, path);
    if (!find_bias(&mapping, offset) || into->count == MAPPINGS_MOST)
        return true;
    if (!ARRAY_RESERVE(into->mappings, into->capacity, into->count + 1))
        return false;
    into->mappings[into->count++] = mapping; // the kernel lists them sorted
    return true;
}

bool process_code_read(struct process_code *code, struct code_files *files, unsigned pid) {
    struct process_code now = {0};
    char path[64], *line = NULL;
    size_t room = 0;
    bool ok = true;
    snprintf(path, sizeof path, "/proc/%u/maps", pid);
    FILE *maps = fopen(path, "re");
    while (maps && ok && getline(&line, &room, maps) > 0)
        ok = take_line(&now, files, pid, line);
    free(line);
    if (maps)
        fclose(maps);
    // One that is about to end has no memory any more.
    if (!ok || !now.count) {
        process_code_finish(&now);
        return false;
    }
    process_code_finish(code);
    *code = now;
    code->pid = pid;
    code->trampolines = calloc(1, sizeof *code->trampolines);
    return true;
}

const struct code_mapping *process_code_find(const struct process_code *code, uint64_t pc) {
    const size_t at = SORTED_FIND(i, 0, code->count, code->mappings[i].end <= pc);
    return at < code->count && pc >= code->mappings[at].begin ? &code->mappings[at] : NULL;
}

enum perf_trampoline process_code_trampoline(const struct process_code *code, uint64_t pc) {
    return code->trampolines ? perf_trampolines_find(code->trampolines, code->pid, pc) : PERF_TRAMPOLINE_NONE;
}

void process_code_finish(struct process_code *code) {
    free(code->mappings);
    free(code->trampolines);
    *code = (struct process_code){0};
}

// Most stacks are made of few calls: their rows are kept. NULL: without memory.
static struct code_row *row_place(struct code_file *file, uint64_t address) {
    if (!file->rows)
        file->rows = calloc((size_t)1 << ROWS_LOG2, sizeof *file->rows);
    return file->rows ? &file->rows[table_hash(address) >> (64 - ROWS_LOG2)] : NULL;
}

static void make_plain(const struct cfi_row *row, struct code_plain_row *out) {
    *out = (struct code_plain_row){.count = 0};
    const uint32_t returns = row->return_register;
    if (row->cfa.how != CFI_IS_OFFSET || row->cfa_register >= CFI_REGISTERS || row->is_signal_frame ||
        row->go_calls_c || returns >= CFI_REGISTERS || row->registers[returns].how != CFI_AT_OFFSET ||
        row->registers[CFI_STACK_POINTER].how != CFI_SAME)
        return;
    uint8_t count = 0;
    for (int32_t reg = 0; reg < CFI_REGISTERS; reg++) {
        const struct cfi_rule *rule = &row->registers[reg];
        if (rule->how == CFI_SAME)
            continue;
        if (rule->how != CFI_AT_OFFSET || count == CODE_SAVED_MOST)
            return;
        out->saved[count].reg = reg;
        out->saved[count++].at = rule->value;
    }
    out->base = (uint8_t)row->cfa_register;
    out->cfa = row->cfa.value;
    out->return_register = (uint8_t)returns;
    out->count = count;
}

static struct cfi_section section_of(const struct code_mapping *mapping) {
    const struct code_file *file = mapping->file;
    return (struct cfi_section){.start = file->frames,
                                .end = file->frames + file->frames_size,
                                .address = mapping->bias + file->frames_start,
                                .header = file->frames_header};
}

// NULL: without memory.
static const struct code_row *find_row(const struct code_mapping *mapping, uint64_t pc) {
    struct code_row *kept = row_place(mapping->file, pc - mapping->bias);
    if (kept && kept->at != pc - mapping->bias + 1) {
        const struct cfi_section section = section_of(mapping);
        kept->exists = cfi_find(&section, pc, &kept->row);
        kept->at = pc - mapping->bias + 1;
        kept->plain.count = 0;
        if (kept->exists)
            make_plain(&kept->row, &kept->plain);
    }
    return kept;
}

const struct code_plain_row *code_mapping_plain_row(const struct code_mapping *mapping, uint64_t pc) {
    const struct code_row *row = mapping->file->frames ? find_row(mapping, pc) : NULL;
    return row && row->plain.count ? &row->plain : NULL;
}

bool code_mapping_row(const struct code_mapping *mapping, uint64_t pc, struct cfi_section *section,
                      struct cfi_row *row) {
    if (!mapping->file->frames)
        return false;
    *section = section_of(mapping);
    const struct code_row *kept = find_row(mapping, pc);
    if (!kept)
        return cfi_find(section, pc, row);
    *row = kept->row;
    return kept->exists;
}
