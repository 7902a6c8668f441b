// SPDX-License-Identifier: Apache-2.0
// Finds the interpreter in a process and writes the request. src/api/attach.c calls it. All that is read is the program's, and
// checked: the request is written only where two structures point to each other as the table says.
#include "inject/remote_python.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "inject/target.h"
#include "symbols/elf_file.h"

enum { INTERPRETERS_MOST = 4096, PLEASE_STOP = 1 << 5 };
static const char SECTION[] = ".PyRuntime";

// ---- where it is

// The address of the section in the process, and its size; false: the file has none.
static bool find_section(const struct inject_target *target, const struct code_file *file, uint64_t *at,
                         uint64_t *size) {
    struct elf_file elf;
    const int fd = target_open_file(target, file);
    const Elf64_Shdr *section = NULL;
    const bool opened = fd >= 0 && elf_file_open(&elf, fd);
    if (opened)
        section = elf_file_section(&elf, SECTION);
    if (section) {
        *at = target_bias(target, file) + section->sh_addr;
        *size = section->sh_size;
    }
    if (opened)
        elf_file_close(&elf);
    if (fd >= 0)
        close(fd);
    return section != NULL;
}

static bool is_program(const struct inject_target *target, const char *path) {
    char link[64], program[4096];
    snprintf(link, sizeof link, "/proc/%d/exe", (int)target->pid);
    const ssize_t length = readlink(link, program, sizeof program - 1);
    program[length > 0 ? length : 0] = '\0';
    return length > 0 && strcmp(program, path) == 0;
}

// In the program's own file, or in a libpython that it has loaded.
static bool find_runtime(const struct inject_target *target, uint64_t *at, uint64_t *size) {
    const struct code_file *before = NULL;
    for (size_t i = 0; i < target->code.count; i++) {
        const struct code_file *file = target->code.mappings[i].file;
        const char *slash = file && file != before ? strrchr(file->path, '/') : NULL;
        before = file;
        if (slash && (strncmp(slash + 1, "libpython", 9) == 0 || is_program(target, file->path)) &&
            find_section(target, file, at, size))
            return true;
    }
    return false;
}

// ---- its structures: of the program that was held, so that nothing is read of, or written to, one that replaces it

static bool read_pointer(const struct inject_target *target, uint64_t at, uint64_t *out) {
    return target_read_held(target, at, out, sizeof *out) && *out % 8 == 0 && *out >> 47 == 0;
}

// The first interpreter that the process made, which has the number 0; the list has the newest first. 0: it is not there.
static uint64_t find_interpreter(const struct inject_target *target, const struct python_offsets *offsets,
                                 uint64_t runtime) {
    uint64_t interpreter = 0, id = 1;
    bool read = read_pointer(target, runtime + offsets->interpreters, &interpreter);
    for (int i = 0; read && interpreter && i < INTERPRETERS_MOST; i++) {
        if (!target_read_held(target, interpreter + offsets->id, &id, sizeof id))
            return 0;
        if (id == 0)
            return interpreter;
        read = read_pointer(target, interpreter + offsets->next, &interpreter);
    }
    return 0;
}

static uint64_t find_thread(const struct inject_target *target, const struct python_offsets *offsets,
                            uint64_t runtime, char *why) {
    const uint64_t interpreter = find_interpreter(target, offsets, runtime);
    uint64_t thread = 0, back = 0;
    int32_t enabled = 0, pending = 0;
    if (!interpreter || !target_read_held(target, interpreter + offsets->enabled, &enabled, sizeof enabled) ||
        !read_pointer(target, interpreter + offsets->main_thread, &thread) || !thread ||
        !read_pointer(target, thread + offsets->interpreter, &back) || back != interpreter ||
        !target_read_held(target, thread + offsets->pending, &pending, sizeof pending))
        snprintf(why, PYTHON_WHY_BYTES,
                 "its Python has no main thread that can be found (it starts or ends)");
    else if (enabled != 1)
        snprintf(why, PYTHON_WHY_BYTES,
                 "its Python runs no script for another process (PYTHON_DISABLE_REMOTE_DEBUG, -X "
                 "disable_remote_debug)");
    else if (pending)
        snprintf(why, PYTHON_WHY_BYTES, "another process has asked its Python to run a script");
    else
        return thread;
    return 0;
}

// ---- the request

static bool set_pending(const struct inject_target *target, const struct remote_python *request, int32_t to) {
    return target_write_held(target, request->pending, &to, sizeof to);
}

static bool set_breaker(const struct inject_target *target, const struct remote_python *request) {
    uint8_t byte;
    if (!target_read_held(target, request->eval_breaker, &byte, sizeof byte))
        return false;
    byte |= PLEASE_STOP;
    return target_write_held(target, request->eval_breaker, &byte, sizeof byte);
}

bool remote_python_ask(const struct inject_target *target, const char *script, struct remote_python *out,
                       char why[PYTHON_WHY_BYTES]) {
    uint8_t table[PYTHON_OFFSETS_BYTES];
    struct python_offsets offsets;
    uint64_t runtime = 0, size = 0;
    const size_t length = strlen(script) + 1;
    why[0] = '\0';
    if (!find_runtime(target, &runtime, &size))
        return false;
    if (!target_read_held(target, runtime, table, size < sizeof table ? size : sizeof table)) {
        snprintf(why, PYTHON_WHY_BYTES, "the memory of its Python cannot be read");
        return false;
    }
    if (!python_offsets_read(table, size < sizeof table ? size : sizeof table, size, &offsets, why))
        return false;
    const uint64_t thread = find_thread(target, &offsets, runtime, why);
    if (!thread)
        return false;
    if (length > offsets.path_bytes) {
        snprintf(why, PYTHON_WHY_BYTES, "the path of the session directory is too long for its Python");
        return false;
    }
    *out = (struct remote_python){.eval_breaker = thread + offsets.eval_breaker,
                                  .pending = thread + offsets.pending,
                                  .path = thread + offsets.path};
    if (target_write_held(target, out->path, script, length) && set_pending(target, out, 1) &&
        set_breaker(target, out))
        return true;
    snprintf(why, PYTHON_WHY_BYTES, "%s",
             target_is_over(target) ? "it has ended, or has replaced its program (exec), meanwhile"
                                    : "the memory of its Python cannot be written to");
    remote_python_withdraw(target, out);
    return false;
}

bool remote_python_is_taken(const struct inject_target *target, const struct remote_python *request) {
    int32_t pending = 1;
    return target_read_held(target, request->pending, &pending, sizeof pending) && pending == 0;
}

void remote_python_withdraw(const struct inject_target *target, const struct remote_python *request) {
    const char end = '\0';
    // Another program has these addresses, or what is there now may be the request of another process.
    if (target_is_over(target) || remote_python_is_taken(target, request))
        return;
    // The path first: an interpreter that takes the request between the two finds an empty one, and runs nothing.
    (void)target_write_held(target, request->path, &end, sizeof end);
    (void)set_pending(target, request, 0);
}
