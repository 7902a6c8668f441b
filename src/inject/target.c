// SPDX-License-Identifier: Apache-2.0
// Reads another process: its memory, its libraries and what they export. inject.c calls it. Files are untrusted: they are read, and
// every offset is checked.
#include "inject/target.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/file.h"
#include "base/other_root.h"
#include "base/status.h"
#include "symbols/elf_file.h"

enum { PAGE = 4096 };

// ---- memory

bool target_hold(struct inject_target *target) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/mem", (int)target->pid);
    target->memory = open(path, O_RDWR | O_CLOEXEC);
    return target->memory >= 0;
}

void target_release(struct inject_target *target) {
    if (target->memory >= 0)
        close(target->memory);
    target->memory = -1;
}

bool target_is_held(const struct inject_target *target, uint64_t stack) {
    uint64_t held, now;
    // The open file refers to the memory, not to the process. Two processes can share it (vfork), hence the comparison.
    return pread(target->memory, &held, sizeof held, (off_t)stack) == sizeof held &&
           target_read(target, stack, &now, sizeof now) && held == now;
}

bool target_read(const struct inject_target *target, uint64_t at, void *into, size_t bytes) {
    const struct iovec own = {into, bytes}, theirs = {(void *)(uintptr_t)at, bytes};
    return process_vm_readv(target->pid, &own, 1, &theirs, 1, 0) == (ssize_t)bytes;
}

bool target_write(const struct inject_target *target, uint64_t at, const void *from, size_t bytes) {
    const struct iovec own = {(void *)(uintptr_t)from, bytes}, theirs = {(void *)(uintptr_t)at, bytes};
    return process_vm_writev(target->pid, &own, 1, &theirs, 1, 0) == (ssize_t)bytes;
}

bool target_read_held(const struct inject_target *target, uint64_t at, void *into, size_t bytes) {
    return pread(target->memory, into, bytes, (off_t)at) == (ssize_t)bytes;
}

bool target_write_held(const struct inject_target *target, uint64_t at, const void *from, size_t bytes) {
    return pwrite(target->memory, from, bytes, (off_t)at) == (ssize_t)bytes;
}

size_t target_read_some(const struct inject_target *target, uint64_t at, void *into, size_t room) {
    enum { PIECES = 128 };
    struct iovec pieces[PIECES];
    const struct iovec own = {into, room};
    size_t count = 0, covered = 0;
    // By pages: what is read ends where a piece cannot be.
    for (; count < PIECES && covered < room; count++) {
        const size_t left = PAGE - (at + covered) % PAGE,
                     bytes = left < room - covered ? left : room - covered;
        pieces[count] = (struct iovec){(void *)(uintptr_t)(at + covered), bytes};
        covered += bytes;
    }
    const ssize_t got = process_vm_readv(target->pid, &own, 1, pieces, count, 0);
    return got > 0 ? (size_t)got : 0;
}

bool target_is_over(const struct inject_target *target) {
    char byte;
    uint64_t size;
    // Memory that is gone has an end at every address; in memory that is there nothing is at 0, which is an error.
    if (target->memory >= 0)
        return pread(target->memory, &byte, 1, 0) == 0;
    // A process that ends has no memory for a while before it is a zombie, and /proc says that root owns it.
    return !target_status(target->pid, target->pid, "VmSize:", 10, &size);
}

// ---- /proc

bool target_status_all(pid_t pid, pid_t thread, const char *const *keys, int base, uint64_t *out,
                       size_t count) {
    char path[64], text[8192];
    size_t length = 0;
    ssize_t got;
    snprintf(path, sizeof path, "/proc/%d/task/%d/status", (int)pid, (int)thread);
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    while (fd >= 0 && length < sizeof text - 1 &&
           (got = read(fd, text + length, sizeof text - 1 - length)) > 0)
        length += (size_t)got;
    if (fd >= 0)
        close(fd);
    text[length] = '\0';
    const char *at = text;
    for (size_t i = 0; i < count; i++) {
        while (at && *at && strncmp(at, keys[i], strlen(keys[i])) != 0)
            at = strchr(at, '\n') ? strchr(at, '\n') + 1 : NULL;
        if (!at || !*at)
            return false;
        out[i] = strtoull(at + strlen(keys[i]), NULL, base);
    }
    return true;
}

bool target_status(pid_t pid, pid_t thread, const char *key, int base, uint64_t *out) {
    return target_status_all(pid, thread, &key, base, out, 1);
}

uint64_t target_own_number(const struct inject_target *target) {
    char path[64], text[8192];
    ssize_t length = 0;
    snprintf(path, sizeof path, "/proc/%d/status", (int)target->pid);
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        length = read(fd, text, sizeof text - 1);
        close(fd);
    }
    text[length > 0 ? length : 0] = '\0';
    const char *line = strstr(text, "\nNSpid:"), *end = line ? strchr(line + 1, '\n') : NULL;
    while (end && end[-1] >= '0' && end[-1] <= '9')
        end--;
    const uint64_t number = end ? strtoull(end, NULL, 10) : 0;
    return number ? number : (uint64_t)target->pid; // a kernel that does not say it
}

// ---- libraries

tsmith_status target_map(struct inject_target *target, tsmith_error *error) {
    if (!process_code_read(&target->code, &target->files, (unsigned)target->pid))
        return status_set(error, TSMITH_ERROR_PERMISSION,
                          "the mappings of process %d cannot be read: it has ended, or is not yours",
                          (int)target->pid);
    return TSMITH_OK;
}

static const char *name_of(const struct code_file *file) {
    const char *slash = strrchr(file->path, '/');
    return slash ? slash + 1 : file->path;
}

const struct code_file *target_file(const struct inject_target *target, const char *file_name) {
    for (size_t i = 0; i < target->code.count; i++) {
        const struct code_file *file = target->code.mappings[i].file;
        if (file && strcmp(name_of(file), file_name) == 0)
            return file;
    }
    return NULL;
}

bool target_has_file(const struct inject_target *target, const char *beginning) {
    for (size_t i = 0; i < target->code.count; i++) {
        const struct code_file *file = target->code.mappings[i].file;
        if (file && strncmp(name_of(file), beginning, strlen(beginning)) == 0)
            return true;
    }
    return false;
}

uint64_t target_bias(const struct inject_target *target, const struct code_file *file) {
    for (size_t i = 0; i < target->code.count; i++)
        if (target->code.mappings[i].file == file)
            return target->code.mappings[i].bias;
    return 0;
}

static bool same_build_id(const uint8_t *id, size_t bytes, const char *text) {
    char hex[2 * ELF_BUILD_ID_MAX + 1] = "";
    if (!bytes || bytes > ELF_BUILD_ID_MAX)
        return false;
    for (size_t i = 0; i < bytes; i++)
        snprintf(hex + 2 * i, 3, "%02x", id[i]);
    return strcmp(hex, text) == 0;
}

static bool note_has(const uint8_t *notes, size_t size, const char *text) {
    Elf64_Nhdr head;
    for (size_t at = 0; at + sizeof head <= size;) {
        memcpy(&head, notes + at, sizeof head);
        const uint64_t name = (head.n_namesz + UINT64_C(3)) & ~UINT64_C(3),
                       bytes = (head.n_descsz + UINT64_C(3)) & ~UINT64_C(3);
        at += sizeof head;
        if (name + bytes > size - at)
            return false;
        if (head.n_type == NT_GNU_BUILD_ID && head.n_namesz == 4 && memcmp(notes + at, "GNU", 4) == 0)
            return same_build_id(notes + at + name, head.n_descsz, text);
        at += name + bytes;
    }
    return false;
}

bool target_has_build_id(const struct inject_target *target, uint64_t bias, const char *build_id) {
    enum { HEADERS = 32, NOTES = 4096 };
    Elf64_Ehdr head;
    Elf64_Phdr segments[HEADERS];
    uint8_t notes[NOTES];
    if (!build_id[0] || !target_read(target, bias, &head, sizeof head) ||
        memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 || head.e_phentsize != sizeof *segments ||
        head.e_phnum > HEADERS ||
        !target_read(target, bias + head.e_phoff, segments, head.e_phnum * sizeof *segments))
        return false;
    for (uint32_t i = 0; i < head.e_phnum; i++)
        if (segments[i].p_type == PT_NOTE && segments[i].p_memsz <= sizeof notes &&
            target_read(target, bias + segments[i].p_vaddr, notes, segments[i].p_memsz) &&
            note_has(notes, segments[i].p_memsz, build_id))
            return true;
    return false;
}

bool target_is_mapped(const struct inject_target *target, const struct code_file *file) {
    return target_has_build_id(target, target_bias(target, file), file->build_id);
}

// ---- exports

int target_open_file(const struct inject_target *target, const struct code_file *file) {
    char path[4096 + 64];
    for (size_t i = 0; i < target->code.count; i++) {
        const struct code_mapping *mapping = &target->code.mappings[i];
        if (mapping->file != file)
            continue;
        snprintf(path, sizeof path, "/proc/%d/map_files/%lx-%lx", (int)target->pid,
                 (unsigned long)mapping->begin, (unsigned long)mapping->end);
        const int fd = file_open_regular(path);
        if (fd >= 0)
            return fd;
    }
    return other_root_mapped((uint32_t)target->pid, file->path);
}

bool exports_read_from(struct exports *exports, int fd, char build_id[2 * ELF_BUILD_ID_MAX + 1]) {
    struct elf_file elf;
    size_t bytes = 0;
    *exports = (struct exports){0};
    build_id[0] = '\0';
    if (elf_file_open(&elf, fd)) {
        const Elf64_Shdr *symbols = elf_file_section(&elf, ".dynsym"),
                         *names = elf_file_section(&elf, ".dynstr");
        exports->symbols = symbols ? (void *)elf_file_read(&elf, symbols, &bytes) : NULL;
        exports->count = exports->symbols ? bytes / sizeof *exports->symbols : 0;
        exports->names = names ? (char *)elf_file_read(&elf, names, &exports->names_size) : NULL;
        elf_file_build_id(&elf, build_id);
        elf_file_close(&elf);
    }
    return exports->symbols && exports->names;
}

bool exports_read(struct exports *exports, const struct inject_target *target, const struct code_file *file) {
    char build_id[2 * ELF_BUILD_ID_MAX + 1];
    const int fd = target_open_file(target, file);
    const bool read = fd >= 0 && exports_read_from(exports, fd, build_id);
    if (fd >= 0)
        close(fd);
    return read;
}

void exports_finish(struct exports *exports) {
    free(exports->symbols);
    free(exports->names);
    *exports = (struct exports){0};
}

static const char *export_name(const struct exports *exports, const Elf64_Sym *symbol) {
    return symbol->st_name < exports->names_size ? exports->names + symbol->st_name : "";
}

static bool is_defined_function(const Elf64_Sym *symbol) {
    return ELF64_ST_TYPE(symbol->st_info) == STT_FUNC && symbol->st_shndx != SHN_UNDEF && symbol->st_value;
}

uint64_t exports_find(const struct exports *exports, const char *name) {
    for (size_t i = 0; i < exports->count; i++)
        if (is_defined_function(&exports->symbols[i]) &&
            strcmp(export_name(exports, &exports->symbols[i]), name) == 0)
            return exports->symbols[i].st_value;
    return 0;
}

bool exports_at(const struct exports *exports, uint64_t address, bool (*each)(const char *name), bool *any) {
    *any = false;
    for (size_t i = 0; i < exports->count; i++) {
        const Elf64_Sym *symbol = &exports->symbols[i];
        if (!is_defined_function(symbol) || address < symbol->st_value ||
            address - symbol->st_value >= symbol->st_size)
            continue;
        *any = true;
        if (each(export_name(exports, symbol)))
            return true;
    }
    return false;
}
