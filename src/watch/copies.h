// SPDX-License-Identifier: Apache-2.0
// The program's own stacks at its waits: copies that the kernel made become frames as soon as they are read, while
// the process still exists and its mappings can be read.
#ifndef WATCH_COPIES_H
#define WATCH_COPIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "watch/process_code.h"
#include "watch/spool.h"
#include "watch/unwind_copy.h"

struct watch_process;

// Takes a record that was made.
typedef void watch_copies_put(void *context, const void *record, size_t size);

// A zeroed struct is a valid, empty one.
struct watch_copies {
    struct watch_process *processes[256]; // by number
    struct code_files files;
    uint32_t modules;
    uint64_t unread_code, short_copies;
    bool told_of_code; // watch_copies_changed reports all new code: the mappings are read again only then
};

// The stack of a thread; its top is borrowed.
void watch_copies_unwind(struct watch_copies *copies, const struct agent_bpf_head *head, uint32_t group,
                         uint64_t start, const struct unwind_copy *copy, watch_copies_put *put,
                         void *context);
// The same of a record; `size` is that of the record.
void watch_copies_take(struct watch_copies *copies, const struct agent_bpf_copy *copy, size_t size,
                       watch_copies_put *put, void *context);
// The process of this number has other code from now on, or is another one.
void watch_copies_forget(struct watch_copies *copies, unsigned group);
// The process has mapped more code.
void watch_copies_changed(struct watch_copies *copies, unsigned group);
void watch_copies_finish(struct watch_copies *copies);

#endif
