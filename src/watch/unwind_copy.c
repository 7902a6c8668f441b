// SPDX-License-Identifier: Apache-2.0
// As the full walk of unwind.c, over bytes that are somewhere else. Upwards only, so that it ends.
#include "watch/unwind_copy.h"

#include <string.h>

#include "unwind/machine.h"

enum { WORD = sizeof(uint64_t) };

struct copy_walk {
    struct cfi_frame frame;
    uint64_t pc;
    const struct code_mapping *mapping; // that has pc
    bool is_exact, is_guess;
    enum unwind_copy_end end;
};

static bool stop(struct copy_walk *walk, enum unwind_copy_end end) {
    walk->end = end;
    return false;
}

// What the rules name and the copy does not have is above it, or nonsense.
static enum unwind_copy_end why_missing(const struct copy_walk *walk, uint64_t address) {
    enum { NEAR = 1 << 20 };
    return address >= walk->frame.high - WORD && address - walk->frame.high < NEAR ? UNWIND_COPY_SHORT
                                                                                   : UNWIND_COPY_LOST;
}

// By the frame pointer, if the code has no unwind data; into code that has it, or a chain that continues.
static bool guess(struct copy_walk *walk, const struct process_code *code) {
    const uint64_t at = walk->frame.registers[CFI_FRAME_POINTER],
                   stack = walk->frame.registers[CFI_STACK_POINTER];
    uint64_t next, pc;
    if (!(walk->frame.known >> CFI_FRAME_POINTER & 1) || at < stack || at % WORD)
        return stop(walk, UNWIND_COPY_LOST);
    if (!cfi_read(&walk->frame, at, &next) || !cfi_read(&walk->frame, at + WORD, &pc))
        return stop(walk, why_missing(walk, at));
    pc = machine_address(pc);
    if (!pc || (!process_code_find(code, pc - 1) && (next <= at || next >= walk->frame.high)))
        return stop(walk, UNWIND_COPY_LOST);
    walk->frame.known = UINT64_C(1) << CFI_STACK_POINTER | UINT64_C(1) << CFI_FRAME_POINTER;
    walk->frame.registers[CFI_STACK_POINTER] = at + 2 * WORD;
    walk->frame.registers[CFI_FRAME_POINTER] = next;
    walk->pc = pc;
    walk->is_exact = false;
    walk->is_guess = true;
    return true;
}

// Out of a perf trampoline (perf_trampolines.h).
static bool leave_trampoline(struct copy_walk *walk, enum perf_trampoline kind) {
    const uint64_t stack = walk->frame.registers[CFI_STACK_POINTER];
    uint64_t pc, saved;
    if (kind == PERF_TRAMPOLINE_POPS_FRAME_POINTER) {
        if (!cfi_read(&walk->frame, stack, &saved))
            return stop(walk, why_missing(walk, stack));
        walk->frame.registers[CFI_FRAME_POINTER] = saved;
        walk->frame.known |= UINT64_C(1) << CFI_FRAME_POINTER;
    }
    if (!cfi_read(&walk->frame, stack + WORD, &pc))
        return stop(walk, why_missing(walk, stack + WORD));
    walk->frame.registers[CFI_STACK_POINTER] = stack + 2 * WORD;
    walk->pc = machine_address(pc);
    return walk->pc != 0 || stop(walk, UNWIND_COPY_OUTERMOST);
}

static bool step_to(struct copy_walk *walk, uint64_t pc, bool is_exact) {
    walk->pc = machine_address(pc);
    walk->is_exact = is_exact;
    return walk->pc != 0 || stop(walk, UNWIND_COPY_OUTERMOST);
}

// What cfi_cfa and cfi_apply do with such a row.
static bool step_up_plain(struct copy_walk *walk, const struct code_plain_row *row) {
    struct cfi_frame *frame = &walk->frame;
    const uint64_t stack = frame->registers[CFI_STACK_POINTER];
    if (!(frame->known >> row->base & 1))
        return stop(walk, UNWIND_COPY_LOST);
    const uint64_t cfa = frame->registers[row->base] + (uint64_t)(int64_t)row->cfa;
    for (uint8_t i = 0; i < row->count; i++) {
        const uint64_t bit = UINT64_C(1) << row->saved[i].reg;
        const bool is_read =
            cfi_read(frame, cfa + (uint64_t)(int64_t)row->saved[i].at, &frame->registers[row->saved[i].reg]);
        frame->known = is_read ? frame->known | bit : frame->known & ~bit;
    }
    if (!(frame->known >> row->return_register & 1))
        return stop(walk, why_missing(walk, cfa));
    if (cfa <= stack && !walk->is_exact)
        return stop(walk, UNWIND_COPY_LOST);
    frame->registers[CFI_STACK_POINTER] = cfa;
    frame->known |= UINT64_C(1) << CFI_STACK_POINTER;
    return step_to(walk, frame->registers[row->return_register], false);
}

static bool step_up(struct copy_walk *walk, const struct process_code *code) {
    struct cfi_section section;
    struct cfi_row row;
    struct cfi_frame *frame = &walk->frame, caller = {.low = frame->low, .high = frame->high};
    uint64_t cfa;
    const enum perf_trampoline trampoline =
        walk->mapping || walk->is_exact ? PERF_TRAMPOLINE_NONE : process_code_trampoline(code, walk->pc);
    if (trampoline != PERF_TRAMPOLINE_NONE)
        return leave_trampoline(walk, trampoline);
    const struct code_plain_row *plain =
        walk->mapping ? code_mapping_plain_row(walk->mapping, walk->pc - !walk->is_exact) : NULL;
    if (plain)
        return step_up_plain(walk, plain);
    if (!walk->mapping || !code_mapping_row(walk->mapping, walk->pc - !walk->is_exact, &section, &row))
        return guess(walk, code);
    if (row.registers[row.return_register].how == CFI_UNDEFINED)
        return stop(walk, UNWIND_COPY_OUTERMOST);
    if (!cfi_cfa(&section, &row, frame, &cfa))
        return stop(walk, UNWIND_COPY_LOST);
    cfi_apply(&section, &row, frame, cfa, &caller);
    const uint64_t needed = UINT64_C(1) << CFI_STACK_POINTER | UINT64_C(1) << row.return_register;
    if ((caller.known & needed) != needed)
        return stop(walk, why_missing(walk, cfa));
    // A signal may have come on a stack of its own: the one below it was not copied.
    const uint64_t above = caller.registers[CFI_STACK_POINTER];
    if (above <= frame->registers[CFI_STACK_POINTER] && !(row.is_signal_frame || walk->is_exact))
        return stop(walk, UNWIND_COPY_LOST);
    memcpy(frame->registers, caller.registers, sizeof caller.registers);
    frame->known = caller.known;
    return step_to(walk, caller.registers[row.return_register], row.is_signal_frame);
}

uint32_t unwind_copy_walk(const struct unwind_copy *copy, const struct process_code *code,
                          struct unwind_copy_frame *frames, uint32_t capacity, enum unwind_copy_end *end) {
    const uint64_t low = copy->registers[CFI_STACK_POINTER];
    struct copy_walk walk = {.pc = copy->pc, .is_exact = true, .end = UNWIND_COPY_FULL};
    uint32_t count = 0;
    walk.frame.bytes = copy->bytes;
    walk.frame.low = low;
    walk.frame.high = copy->size > UINT64_MAX - low ? UINT64_MAX : low + copy->size;
    walk.frame.known = copy->known;
    memcpy(walk.frame.registers, copy->registers, sizeof walk.frame.registers);
    while (count < capacity) {
        const uint64_t at = walk.pc - !walk.is_exact;
        if (!walk.mapping || at < walk.mapping->begin || at >= walk.mapping->end)
            walk.mapping = process_code_find(code, at);
        frames[count++] = (struct unwind_copy_frame){walk.pc, walk.mapping, walk.is_exact, walk.is_guess};
        walk.is_guess = false;
        if (!step_up(&walk, code))
            break;
    }
    *end = walk.end;
    return count;
}
