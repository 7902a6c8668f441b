// SPDX-License-Identifier: Apache-2.0
// Adds user and kernel stacks to the trace's dictionary. rows.c calls it for each event with a stack.
#include "watch/stacks.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

enum { MODULES_MOST = 1 << 20 };

static uint32_t intern_text(struct watch_stacks *stacks, const char *bytes, size_t size) {
    return tsmith_dictionary_intern(stacks->dictionary, bytes, size);
}

// ---- the program

bool watch_stacks_add_module(struct watch_stacks *stacks, const struct watch_module *record, size_t size,
                             uint32_t process) {
    const char *bytes = (const char *)(record + 1);
    const uint32_t number = record->head.more;
    if (size < sizeof *record || record->path_size > size - sizeof *record || number >= MODULES_MOST)
        return false;
    if (!ARRAY_RESERVE(stacks->modules, stacks->module_capacity, number + 1u))
        return false;
    for (; stacks->module_count <= number; stacks->module_count++)
        stacks->modules[stacks->module_count] = 0;
    const size_t id_size = size - sizeof *record - record->path_size;
    const tsmith_module module = {.path = intern_text(stacks, bytes, record->path_size),
                                  .build_id =
                                      id_size ? intern_text(stacks, bytes + record->path_size, id_size) : 0,
                                  .process = process,
                                  .flags = record->flags};
    stacks->modules[number] = tsmith_dictionary_intern_module(stacks->dictionary, &module);
    return true;
}

uint32_t watch_stacks_user(struct watch_stacks *stacks, const struct watch_stack *record, size_t size) {
    const struct watch_place *places = (const struct watch_place *)(record + 1);
    const size_t count = size < sizeof *record ? 0 : (size - sizeof *record) / sizeof *places;
    uint32_t parent = 0;
    for (size_t i = count; i > 0; i--) {
        const struct watch_place *place = &places[i - 1];
        const tsmith_frame frame = {
            .module = place->module < stacks->module_count ? stacks->modules[place->module] : 0,
            .flags = place->flags,
            .address = place->address};
        const tsmith_stack entry = {parent, tsmith_dictionary_intern_frame(stacks->dictionary, &frame)};
        parent = tsmith_dictionary_intern_stack(stacks->dictionary, &entry);
    }
    return parent;
}

// ---- the kernel

bool watch_stacks_add_kernel(struct watch_stacks *stacks, const struct agent_bpf_head *record, size_t size) {
    const size_t count = (size - sizeof *record) / sizeof(uint64_t);
    if (!stacks->stacks)
        stacks->stacks = calloc(WATCH_KERNEL_STACKS, sizeof *stacks->stacks);
    if (!stacks->stacks || record->more >= WATCH_KERNEL_STACKS || count > AGENT_BPF_DEPTH)
        return false;
    struct watch_kernel_stack *stack = &stacks->stacks[record->more];
    free(stack->addresses);
    stack->addresses = calloc(count + 1, sizeof *stack->addresses);
    stack->count = stack->addresses ? (uint32_t)count : 0;
    if (stack->count)
        memcpy(stack->addresses, record + 1, count * sizeof *stack->addresses);
    return stack->addresses != NULL;
}

// A frame that is new to the dictionary is named at once: only the machine that recorded can.
static uint32_t frame_of(struct watch_stacks *stacks, uint64_t address, uint32_t flags) {
    const uint32_t known = tsmith_dictionary_frame_count(stacks->dictionary);
    const tsmith_frame frame = {
        .module = stacks->kernel, .flags = TSMITH_FRAME_KERNEL | flags, .address = address};
    const uint32_t id = tsmith_dictionary_intern_frame(stacks->dictionary, &frame);
    const char *name = id && id >= known ? kernel_symbols_find(&stacks->symbols, address) : NULL;
    if (name)
        tsmith_dictionary_add_symbol(
            stacks->dictionary,
            &(tsmith_symbol){.frame = id, .function = intern_text(stacks, name, strlen(name))});
    return id;
}

// What the kernel was in because of us: the innermost frames of every stack.
static bool is_ours(const struct watch_stacks *stacks, uint64_t address) {
    static const char *const ours[] = {"bpf_prog_", "bpf_trace_run", "__bpf_trace_", "__traceiter_",
                                       "bpf_trampoline_"};
    const char *name = kernel_symbols_find(&stacks->symbols, address);
    for (size_t i = 0; name && i < sizeof ours / sizeof ours[0]; i++)
        if (strncmp(name, ours[i], strlen(ours[i])) == 0)
            return true;
    return false;
}

// Whether a thread of the kernel begins here, or a processor: it has no caller.
static bool is_base(const struct watch_stacks *stacks, uint64_t address) {
    static const char *const bases[] = {"ret_from_fork",     "ret_from_kernel_thread", "secondary_startup_64",
                                        "common_startup_64", "start_kernel",           "x86_64_start",
                                        "rest_init",         "cpu_startup_entry",      "__secondary_switched",
                                        "__primary_switched"};
    const char *name = kernel_symbols_find(&stacks->symbols, address);
    for (size_t i = 0; name && i < sizeof bases / sizeof bases[0]; i++)
        if (strncmp(name, bases[i], strlen(bases[i])) == 0)
            return true;
    return false;
}

static void read_symbols(struct watch_stacks *stacks) {
    static const char name[] = "[kernel]";
    const tsmith_module module = {.path = intern_text(stacks, name, sizeof name - 1),
                                  .flags = TSMITH_MODULE_KERNEL};
    kernel_symbols_read(&stacks->symbols, "/proc/kallsyms");
    stacks->kernel = tsmith_dictionary_intern_module(stacks->dictionary, &module);
    stacks->read = true;
}

uint32_t watch_stacks_kernel(struct watch_stacks *stacks, int number, uint32_t user, bool is_programs) {
    if (number < 0 || number >= WATCH_KERNEL_STACKS || !stacks->stacks || !stacks->stacks[number].count)
        return user;
    const struct watch_kernel_stack *stack = &stacks->stacks[number];
    uint32_t inner = 0, parent = user;
    if (!stacks->read)
        read_symbols(stacks);
    while (inner < stack->count && is_ours(stacks, stack->addresses[inner]))
        inner++;
    // A return address is after the call: the address before it is in the call.
    for (uint32_t i = stack->count; i > inner; i--) {
        const uint64_t address = stack->addresses[i - 1] - 1;
        const bool is_cut = !parent && (is_programs || !is_base(stacks, address));
        const tsmith_stack entry = {parent, frame_of(stacks, address, is_cut ? TSMITH_FRAME_TRUNCATED : 0)};
        parent = tsmith_dictionary_intern_stack(stacks->dictionary, &entry);
    }
    return parent;
}

void watch_stacks_finish(struct watch_stacks *stacks) {
    for (size_t i = 0; stacks->stacks && i < WATCH_KERNEL_STACKS; i++)
        free(stacks->stacks[i].addresses);
    free(stacks->stacks);
    free(stacks->modules);
    kernel_symbols_finish(&stacks->symbols);
    *stacks = (struct watch_stacks){0};
}
