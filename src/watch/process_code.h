// SPDX-License-Identifier: Apache-2.0
// The code of another process, from outside: what is mapped where (/proc/PID/maps), and each file's .eh_frame, read
// once for all processes that have it. For the recording process; never inside the profiled process.
//
// A process that has ended keeps what was last read of it. Files are not trusted: they are read, never mapped.
#ifndef WATCH_PROCESS_CODE_H
#define WATCH_PROCESS_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbols/elf_file.h"
#include "unwind/cfi.h"
#include "watch/perf_trampolines.h"

// A file that processes have mapped.
struct code_file {
    struct code_file *next;
    uint64_t device, inode;
    char *path;
    char build_id[2 * ELF_BUILD_ID_MAX + 1];
    uint8_t *frames; // from .eh_frame_hdr to the end of .eh_frame; NULL: it has none that can be read
    size_t frames_size;
    uint64_t frames_start; // address in the file
    size_t frames_header;  // of .eh_frame_hdr, from `frames`
    struct code_section *sections;
    size_t section_count;
    struct code_row *rows; // those found last, by address; NULL: none yet
};

// An executable mapping of a file.
struct code_mapping {
    uint64_t begin, end, bias;
    struct code_file *file;
};

// The files; a zeroed struct has none.
struct code_files {
    struct code_file *first;
    uint64_t bytes; // of all frames
};
void code_files_finish(struct code_files *files);

// A zeroed struct knows nothing.
struct process_code {
    struct code_mapping *mappings; // sorted
    size_t count, capacity;
    unsigned pid;
    struct perf_trampolines *trampolines; // NULL: without memory
};

// What is mapped now; false, and what was known stays, when the process is gone or may not be looked at.
bool process_code_read(struct process_code *code, struct code_files *files, unsigned pid);
const struct code_mapping *process_code_find(const struct process_code *code, uint64_t pc);
// perf_trampolines_find, in code that is in no mapping of a file.
enum perf_trampoline process_code_trampoline(const struct process_code *code, uint64_t pc);
void process_code_finish(struct process_code *code);

// A row of the common form: the CFA is a register and an offset, the return address and some registers are at offsets from it, all others
// are as they were, and the caller's stack begins at the CFA.
enum { CODE_SAVED_MOST = 8 };
struct code_plain_row {
    uint8_t base, return_register, count; // count 0: the row is of another form
    int32_t cfa;                          // from the base
    struct {
        int32_t reg, at; // from the CFA
    } saved[CODE_SAVED_MOST];
};
// NULL: it is not, or nothing is known of the code.
const struct code_plain_row *code_mapping_plain_row(const struct code_mapping *mapping, uint64_t pc);
// What unwinds the code at `pc`; the row's expressions are in `section`. False: nothing is known of it.
bool code_mapping_row(const struct code_mapping *mapping, uint64_t pc, struct cfi_section *section,
                      struct cfi_row *row);

#endif
