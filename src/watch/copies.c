// SPDX-License-Identifier: Apache-2.0
// Where a process has its code is looked up when its first stack comes, when that was a while ago, and when a stack does not
// come out to its end.
#include "watch/copies.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "tracesmith/dictionary.h"

static const int64_t FRESH = 100000000; // ns

// Code of a process that was already reported.
struct told {
    const struct code_file *file; // NULL: what was generated
    uint32_t module;
};

struct watch_process {
    struct watch_process *next;
    unsigned group, pid;
    struct process_code code;
    int64_t read;  // when that was
    bool is_stale; // it has more code since
    struct told *told;
    size_t told_count, told_capacity;
};

struct putting {
    struct watch_copies *copies;
    struct watch_process *process;
    watch_copies_put *put;
    void *context;
};

static void empty_process(struct watch_process *process) {
    process_code_finish(&process->code);
    process->read = 0;
    process->is_stale = false;
    process->told_count = 0;
}

static struct watch_process *find(struct watch_copies *copies, unsigned group) {
    struct watch_process *process = copies->processes[group % 256];
    while (process && process->group != group)
        process = process->next;
    return process;
}

static struct watch_process *process_of(struct watch_copies *copies, unsigned group, unsigned pid) {
    struct watch_process *process = find(copies, group);
    if (!process && (process = calloc(1, sizeof *process))) {
        process->group = group;
        process->next = copies->processes[group % 256];
        copies->processes[group % 256] = process;
    }
    if (process && process->pid != pid)
        empty_process(process);
    if (process)
        process->pid = pid;
    return process;
}

void watch_copies_forget(struct watch_copies *copies, unsigned group) {
    struct watch_process *process = find(copies, group);
    if (process)
        empty_process(process);
}

void watch_copies_changed(struct watch_copies *copies, unsigned group) {
    struct watch_process *process = find(copies, group);
    if (process)
        process->is_stale = true;
}

void watch_copies_finish(struct watch_copies *copies) {
    for (size_t i = 0; i < sizeof copies->processes / sizeof copies->processes[0]; i++)
        for (struct watch_process *process = copies->processes[i], *next; process; process = next) {
            next = process->next;
            empty_process(process);
            free(process->told);
            free(process);
        }
    code_files_finish(&copies->files);
    *copies = (struct watch_copies){0};
}

// ---- modules

static void put_module(const struct putting *to, uint32_t number, const char *path, const char *build_id,
                       uint32_t flags) {
    char record[sizeof(struct watch_module) + 4096 + 2 * ELF_BUILD_ID_MAX];
    const size_t path_size = strnlen(path, 4096), id_size = strnlen(build_id, 2 * ELF_BUILD_ID_MAX);
    const struct watch_module module = {
        .head = {.type = WATCH_MODULE, .pid = to->process->pid, .more = number},
        .flags = flags,
        .path_size = (uint32_t)path_size};
    memcpy(record, &module, sizeof module);
    memcpy(record + sizeof module, path, path_size);
    memcpy(record + sizeof module + path_size, build_id, id_size);
    to->put(to->context, record, sizeof module + path_size + id_size);
}

static uint32_t add_module(const struct putting *to, const struct code_file *file) {
    struct watch_process *process = to->process;
    char path[64];
    snprintf(path, sizeof path, "/tmp/perf-%u.map", process->pid);
    // Compilers that generate code at run time write its symbols to a file of this name.
    if (!file && access(path, F_OK))
        return 0;
    if (!ARRAY_RESERVE(process->told, process->told_capacity, process->told_count + 1))
        return 0;
    const uint32_t number = ++to->copies->modules;
    process->told[process->told_count++] = (struct told){file, number};
    put_module(to, number, file ? file->path : path, file ? file->build_id : "",
               file ? 0 : TSMITH_MODULE_GENERATED);
    return number;
}

static uint32_t module_of(const struct putting *to, const struct code_file *file) {
    const struct watch_process *process = to->process;
    for (size_t i = 0; i < process->told_count; i++)
        if (process->told[i].file == file)
            return process->told[i].module;
    return add_module(to, file);
}

// ---- stacks

static uint32_t walk(struct watch_copies *copies, struct watch_process *process,
                     const struct unwind_copy *from, struct unwind_copy_frame *frames,
                     enum unwind_copy_end *end) {
    const int64_t now = clock_trace_now();
    const bool is_old = copies->told_of_code ? process->is_stale : now - process->read > FRESH;
    bool is_new = process->code.count == 0 || is_old;
    if (is_new && process_code_read(&process->code, &copies->files, process->group)) {
        process->read = now;
        process->is_stale = false;
    }
    uint32_t count = unwind_copy_walk(from, &process->code, frames, WATCH_FRAMES_MOST, end);
    // Perhaps by code that was loaded since.
    if (*end == UNWIND_COPY_LOST && !is_new && !copies->told_of_code &&
        process_code_read(&process->code, &copies->files, process->group)) {
        process->read = now;
        count = unwind_copy_walk(from, &process->code, frames, WATCH_FRAMES_MOST, end);
    }
    return count;
}

static void put_stack(const struct putting *to, const struct watch_stack *head,
                      const struct unwind_copy_frame *frames, uint32_t count, bool is_whole) {
    struct {
        struct watch_stack head;
        struct watch_place places[WATCH_FRAMES_MOST];
    } record;
    record.head = *head;
    for (uint32_t i = 0; i < count; i++) {
        const struct unwind_copy_frame *frame = &frames[i];
        const uint64_t pc = frame->pc - !frame->is_exact;
        record.places[i] =
            (struct watch_place){.module = module_of(to, frame->mapping ? frame->mapping->file : NULL),
                                 .flags = (frame->is_guess ? TSMITH_FRAME_GUESSED : 0) |
                                          (i + 1 == count && !is_whole ? TSMITH_FRAME_TRUNCATED : 0),
                                 .address = frame->mapping ? pc - frame->mapping->bias : pc};
    }
    to->put(to->context, &record, sizeof record.head + count * sizeof record.places[0]);
}

void watch_copies_unwind(struct watch_copies *copies, const struct agent_bpf_head *head, uint32_t group,
                         uint64_t start, const struct unwind_copy *copy, watch_copies_put *put,
                         void *context) {
    struct unwind_copy_frame frames[WATCH_FRAMES_MOST];
    enum unwind_copy_end end;
    struct watch_stack stack = {.head = *head, .start = start};
    struct watch_process *process = process_of(copies, group, head->pid);
    if (!process)
        return;
    const uint32_t count = walk(copies, process, copy, frames, &end);
    if (process->code.count == 0) {
        copies->unread_code++;
        return;
    }
    copies->short_copies += end == UNWIND_COPY_SHORT;
    stack.head.type = WATCH_STACK;
    put_stack(&(struct putting){copies, process, put, context}, &stack, frames, count,
              end == UNWIND_COPY_OUTERMOST);
}

void watch_copies_take(struct watch_copies *copies, const struct agent_bpf_copy *copy, size_t size,
                       watch_copies_put *put, void *context) {
    const size_t head = offsetof(struct agent_bpf_copy, bytes);
    if (size < head || copy->bytes_count > size - head)
        return;
    struct unwind_copy from = {
        .pc = copy->pc, .known = copy->known, .bytes = copy->bytes, .size = copy->bytes_count};
    for (size_t i = 0; i < CFI_REGISTERS && i < AGENT_BPF_REGISTERS; i++)
        from.registers[i] = copy->registers[i];
    struct agent_bpf_head of = copy->head;
    of.pid = copy->pid;
    watch_copies_unwind(copies, &of, copy->group, copy->start, &from, put, context);
}
