// SPDX-License-Identifier: Apache-2.0
// Applies a row of call frame information: evaluates DWARF expressions and recovers the caller's registers. unwind.c
// and src/watch call it.
#include <string.h>

#include "base/bytes.h"
#include "unwind/cfi.h"

enum { EXPRESSION_STACK = 16, EXPRESSION_STEPS = 256 };

bool cfi_read(const struct cfi_frame *frame, uint64_t address, uint64_t *value) {
    if (address < frame->low || address >= frame->high || frame->high - address < sizeof *value)
        return false;
    *value = bytes_get_u64(frame->bytes ? frame->bytes + (address - frame->low)
                                        : (const void *)(uintptr_t)address);
    return true;
}

struct evaluation {
    const struct cfi_frame *frame;
    const uint8_t *at, *begin, *end;
    uint32_t depth;
    bool bad;
    uint64_t stack[EXPRESSION_STACK];
};

static uint64_t operand(struct evaluation *run, size_t size) {
    uint64_t value = 0;
    if ((size_t)(run->end - run->at) < size) {
        run->bad = true;
        return 0;
    }
    memcpy(&value, run->at, size);
    run->at += size;
    return value;
}

static uint64_t operand_leb(struct evaluation *run, bool is_signed) {
    uint64_t value = 0, byte = 0x80;
    unsigned shift = 0;
    while (byte & 0x80 && !run->bad) {
        byte = operand(run, 1);
        if (shift < 64)
            value |= (byte & 0x7f) << shift;
        shift += 7;
    }
    if (is_signed && byte & 0x40 && shift < 64)
        value |= ~UINT64_C(0) << shift;
    return value;
}

static void push(struct evaluation *run, uint64_t value) {
    if (run->depth == EXPRESSION_STACK)
        run->bad = true;
    else
        run->stack[run->depth++] = value;
}

static uint64_t pop(struct evaluation *run) {
    if (run->depth)
        return run->stack[--run->depth];
    run->bad = true;
    return 0;
}

static void push_copy(struct evaluation *run, uint64_t below) {
    if (below < run->depth)
        push(run, run->stack[run->depth - 1 - below]);
    else
        run->bad = true;
}

static void push_register(struct evaluation *run, uint64_t reg, uint64_t offset) {
    if (reg >= CFI_REGISTERS || !(run->frame->known >> reg & 1))
        run->bad = true;
    else
        push(run, run->frame->registers[reg] + offset);
}

static void jump(struct evaluation *run, bool taken) {
    int64_t by = (int16_t)operand(run, 2);
    if (!taken || run->bad)
        return;
    if (by > run->end - run->at || by < run->begin - run->at)
        run->bad = true;
    else
        run->at += by;
}

static void dereference(struct evaluation *run) {
    uint64_t value = 0;
    if (!cfi_read(run->frame, pop(run), &value))
        run->bad = true;
    push(run, value);
}

static bool do_binary(struct evaluation *run, uint8_t code) {
    if (!((code >= 0x1a && code <= 0x1e && code != 0x1b && code != 0x1d) || code == 0x21 || code == 0x22 ||
          (code >= 0x24 && code <= 0x27) || (code >= 0x29 && code <= 0x2e)))
        return false;
    uint64_t right = pop(run), left = pop(run);
    bool shifts = right < 64;
    switch (code) {
    case 0x1a:
        push(run, left & right);
        break;
    case 0x1c:
        push(run, left - right);
        break;
    case 0x1e:
        push(run, left * right);
        break;
    case 0x21:
        push(run, left | right);
        break;
    case 0x22:
        push(run, left + right);
        break;
    case 0x24:
        push(run, shifts ? left << right : 0);
        break;
    case 0x25:
        push(run, shifts ? left >> right : 0);
        break;
    case 0x26:
        push(run, (uint64_t)((int64_t)left >> (shifts ? right : 63)));
        break;
    case 0x27:
        push(run, left ^ right);
        break;
    case 0x29:
        push(run, left == right);
        break;
    case 0x2a:
        push(run, (int64_t)left >= (int64_t)right);
        break;
    case 0x2b:
        push(run, (int64_t)left > (int64_t)right);
        break;
    case 0x2c:
        push(run, (int64_t)left <= (int64_t)right);
        break;
    case 0x2d:
        push(run, (int64_t)left < (int64_t)right);
        break;
    default:
        push(run, left != right);
        break;
    }
    return true;
}

static bool do_constant(struct evaluation *run, uint8_t code) {
    switch (code) {
    case 0x08:
        push(run, operand(run, 1));
        return true;
    case 0x09:
        push(run, (uint64_t)(int64_t)(int8_t)operand(run, 1));
        return true;
    case 0x0a:
        push(run, operand(run, 2));
        return true;
    case 0x0b:
        push(run, (uint64_t)(int64_t)(int16_t)operand(run, 2));
        return true;
    case 0x0c:
        push(run, operand(run, 4));
        return true;
    case 0x0d:
        push(run, (uint64_t)(int64_t)(int32_t)operand(run, 4));
        return true;
    case 0x0e:
    case 0x0f:
        push(run, operand(run, 8));
        return true;
    case 0x10:
        push(run, operand_leb(run, false));
        return true;
    case 0x11:
        push(run, operand_leb(run, true));
        return true;
    default:
        return false;
    }
}

static void do_other(struct evaluation *run, uint8_t code) {
    uint64_t top;
    switch (code) {
    case 0x06:
        dereference(run);
        break;
    case 0x12:
        push_copy(run, 0);
        break;
    case 0x13:
        pop(run);
        break;
    case 0x14:
        push_copy(run, 1);
        break;
    case 0x15:
        push_copy(run, operand(run, 1));
        break;
    case 0x16: // swap
        top = pop(run);
        push_copy(run, 0);
        if (run->depth >= 2)
            run->stack[run->depth - 2] = top;
        break;
    case 0x1f:
        push(run, 0 - pop(run));
        break;
    case 0x20:
        push(run, ~pop(run));
        break;
    case 0x23:
        push(run, pop(run) + operand_leb(run, false));
        break;
    case 0x28:
        jump(run, pop(run) != 0);
        break;
    case 0x2f:
        jump(run, true);
        break;
    case 0x96:
        break; // nop
    default:
        run->bad = true;
    }
}

// The value of DWARF expression `rule`, with `first` on its stack if there is one.
static bool evaluate(const struct cfi_section *section, const struct cfi_rule *rule,
                     const struct cfi_frame *frame, const uint64_t *first, uint64_t *value) {
    const uint8_t *begin = section->start + rule->value;
    struct evaluation run = {.frame = frame, .at = begin, .begin = begin, .end = begin + rule->length};
    if (first)
        push(&run, *first);
    for (int steps = 0; run.at < run.end && !run.bad; steps++) {
        uint8_t code = (uint8_t)operand(&run, 1);
        if (steps >= EXPRESSION_STEPS)
            run.bad = true;
        else if (code >= 0x30 && code <= 0x4f)
            push(&run, code - 0x30u);
        else if (code >= 0x70 && code <= 0x8f)
            push_register(&run, code - 0x70u, operand_leb(&run, true));
        else if (!do_constant(&run, code) && !do_binary(&run, code))
            do_other(&run, code);
    }
    *value = pop(&run);
    return !run.bad;
}

bool cfi_cfa(const struct cfi_section *section, const struct cfi_row *row, const struct cfi_frame *frame,
             uint64_t *cfa) {
    if (row->cfa.how == CFI_IS_EXPRESSION)
        return evaluate(section, &row->cfa, frame, NULL, cfa);
    if (row->cfa.how != CFI_IS_OFFSET || !(frame->known >> row->cfa_register & 1))
        return false;
    *cfa = frame->registers[row->cfa_register] + (uint64_t)(int64_t)row->cfa.value;
    return true;
}

static bool recover(const struct cfi_section *section, const struct cfi_rule *rule, uint32_t reg,
                    const struct cfi_frame *frame, uint64_t cfa, uint64_t *value) {
    uint64_t address = cfa + (uint64_t)(int64_t)rule->value;
    switch (rule->how) {
    case CFI_SAME:
        *value = frame->registers[reg];
        return frame->known >> reg & 1;
    case CFI_AT_OFFSET:
        return cfi_read(frame, address, value);
    case CFI_IS_OFFSET:
        *value = address;
        return true;
    case CFI_IN_REGISTER:
        if (rule->value < 0 || rule->value >= CFI_REGISTERS)
            return false;
        *value = frame->registers[rule->value];
        return frame->known >> rule->value & 1;
    case CFI_AT_EXPRESSION:
        return evaluate(section, rule, frame, &cfa, &address) && cfi_read(frame, address, value);
    case CFI_IS_EXPRESSION:
        return evaluate(section, rule, frame, &cfa, value);
    default:
        return false;
    }
}

void cfi_apply(const struct cfi_section *section, const struct cfi_row *row, const struct cfi_frame *frame,
               uint64_t cfa, struct cfi_frame *caller) {
    memcpy(caller->registers, frame->registers, sizeof caller->registers);
    caller->known = frame->known;
    // Most registers are as they were.
    for (uint32_t reg = 0; reg < CFI_REGISTERS; reg++) {
        const struct cfi_rule *rule = &row->registers[reg];
        const uint64_t bit = UINT64_C(1) << reg;
        uint64_t value = 0;
        if (rule->how == CFI_SAME)
            continue;
        caller->known =
            recover(section, rule, reg, frame, cfa, &value) ? caller->known | bit : caller->known & ~bit;
        caller->registers[reg] = value;
    }
    // The caller's stack pointer is the CFA unless a rule defines it.
    if (row->registers[CFI_STACK_POINTER].how == CFI_SAME) {
        caller->registers[CFI_STACK_POINTER] = cfa;
        caller->known |= UINT64_C(1) << CFI_STACK_POINTER;
    }
}
