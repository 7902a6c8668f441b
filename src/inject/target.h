// SPDX-License-Identifier: Apache-2.0
// What is known of the process in which a function is called: its mappings, its libc, its memory. inject.c, stack.c and frame.c share it.
#ifndef INJECT_TARGET_H
#define INJECT_TARGET_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "inject/inject.h"
#include "watch/process_code.h"

// Functions that a library exports, from its file.
struct exports {
    Elf64_Sym *symbols;
    size_t count;
    char *names;
    size_t names_size;
};

struct inject_target {
    pid_t pid;
    int memory;          // of the program that was opened; of no other one that the process executes later
    uint64_t start_time; // of the process: the number is not given out again to another one unseen
    struct code_files files;
    struct process_code code;
    const struct code_file *libc, *loader;
    struct exports exports; // of libc
    uint64_t return_code;   // rt_sigreturn of libc
    pid_t thread;           // that is stopped
};

// Before anything is read of it.
bool target_hold(struct inject_target *target);
void target_release(struct inject_target *target);
// Whether the process still runs the program that was held, so that what was read of it is true: exec gives it other memory. While
// the thread whose stack is at `stack` is stopped.
bool target_is_held(const struct inject_target *target, uint64_t stack);
// Whether the program that was held is over: the process has ended, or replaced it. What /proc says of such a process is not true
// of the program.
bool target_is_over(const struct inject_target *target);
// Reads the mappings anew.
tsmith_status target_map(struct inject_target *target, tsmith_error *error);
bool target_read(const struct inject_target *target, uint64_t at, void *into, size_t bytes);
bool target_write(const struct inject_target *target, uint64_t at, const void *from, size_t bytes);
// The same of the program that was held: false if the process has replaced it (exec), at whatever moment. What may not be written to
// is written to as well.
bool target_read_held(const struct inject_target *target, uint64_t at, void *into, size_t bytes);
bool target_write_held(const struct inject_target *target, uint64_t at, const void *from, size_t bytes);
// As much as there is from `at` on, up to `room` bytes.
size_t target_read_some(const struct inject_target *target, uint64_t at, void *into, size_t room);

const struct code_file *target_file(const struct inject_target *target, const char *file_name);
bool target_has_file(const struct inject_target *target, const char *beginning);
// Whether the file is what the process has mapped: their build ids are the same.
bool target_is_mapped(const struct inject_target *target, const struct code_file *file);
// The file that the process has mapped, for reading, or the one that has its path now; -1. Untrusted.
int target_open_file(const struct inject_target *target, const struct code_file *file);
// Whether what is mapped there has this build id, in hex.
bool target_has_build_id(const struct inject_target *target, uint64_t bias, const char *build_id);
bool exports_read(struct exports *exports, const struct inject_target *target, const struct code_file *file);
bool exports_read_from(struct exports *exports, int fd, char build_id[2 * ELF_BUILD_ID_MAX + 1]);
void exports_finish(struct exports *exports);
// The address in the file; 0: it exports no such function.
uint64_t exports_find(const struct exports *exports, const char *name);
// Calls `each` with every name of the function that has the address, until it returns true; whether it did. `any` tells whether there
// was one.
bool exports_at(const struct exports *exports, uint64_t address, bool (*each)(const char *name), bool *any);
uint64_t target_bias(const struct inject_target *target, const struct code_file *file);

// The number that the process itself knows: that of its own namespace.
uint64_t target_own_number(const struct inject_target *target);

// The number behind `key` ("TracerPid:") in /proc/PID/status, or of a thread; false: there is no such line.
bool target_status(pid_t pid, pid_t thread, const char *key, int base, uint64_t *out);
// Several of them, from one reading; in the order of the lines. False: one is not there.
bool target_status_all(pid_t pid, pid_t thread, const char *const *keys, int base, uint64_t *out,
                       size_t count);

#endif
