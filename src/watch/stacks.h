// SPDX-License-Identifier: Apache-2.0
// Stacks of the kernel and of the program, from the spool into the dictionary.
#ifndef WATCH_STACKS_H
#define WATCH_STACKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tracesmith/dictionary.h"
#include "watch/kernel_symbols.h"
#include "watch/spool.h"

enum { WATCH_KERNEL_STACKS = 16384 }; // as many as the kernel's table holds

struct watch_kernel_stack {
    uint32_t count;
    uint64_t *addresses;
};

// A zeroed struct with a dictionary is valid.
struct watch_stacks {
    tsmith_dictionary *dictionary;
    struct kernel_symbols symbols;
    bool read;                         // they are
    uint32_t kernel;                   // the module
    struct watch_kernel_stack *stacks; // of the kernel, by its number
    uint32_t *modules;                 // of the program, by the spool's number
    size_t module_count, module_capacity;
};

// False: the record is damaged, or memory is exhausted. `process`: in the dictionary.
bool watch_stacks_add_module(struct watch_stacks *stacks, const struct watch_module *record, size_t size,
                             uint32_t process);
bool watch_stacks_add_kernel(struct watch_stacks *stacks, const struct agent_bpf_head *record, size_t size);
// A stack of the program; 0: there is none in the record.
uint32_t watch_stacks_user(struct watch_stacks *stacks, const struct watch_stack *record, size_t size);
// What the kernel did for `user` (0: for no known loss), by its number; `user` itself when that is not known. Without
// `user` its outermost frame is marked as truncated, if a program called it: `is_programs`, or else unless the kernel's own
// threads begin there.
uint32_t watch_stacks_kernel(struct watch_stacks *stacks, int number, uint32_t user, bool is_programs);
void watch_stacks_finish(struct watch_stacks *stacks);

#endif
