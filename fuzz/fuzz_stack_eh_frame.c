// SPDX-License-Identifier: Apache-2.0
// Call frame information of any bytes: no read outside them, no hang, and the resulting rules can be applied to a
// frame without a read outside its stack. Input: the program counter and the header's place, 4 bytes each, then the
// segment; the same bytes are read as .debug_frame, too.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "unwind/cfi.h"

enum { HEAD = 8, STACK_WORDS = 64 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int right) {
    if (!right)
        abort();
}

static void apply(const struct cfi_section *section, const struct cfi_row *row) {
    // The heap's guard bytes are around it: one word too far is seen.
    uint64_t *stack = calloc(STACK_WORDS, sizeof *stack), cfa = 0;
    struct cfi_frame frame = {0}, caller = {0};
    require(stack != NULL);
    frame.low = (uint64_t)(uintptr_t)stack;
    frame.high = frame.low + STACK_WORDS * sizeof *stack;
    for (int i = 0; i < STACK_WORDS; i++)
        stack[i] = frame.low + (uint64_t)i * 5;
    for (int reg = 0; reg < CFI_REGISTERS; reg++)
        frame.registers[reg] = frame.low + (uint64_t)reg * 8;
    frame.known = (UINT64_C(1) << CFI_REGISTERS) - 2;
    if (cfi_cfa(section, row, &frame, &cfa))
        cfi_apply(section, row, &frame, cfa, &caller);
    require(caller.known >> CFI_REGISTERS == 0);
    free(stack);
}

static void find_all(const struct cfi_section *section, uint64_t pc) {
    struct cfi_row row;
    for (uint64_t i = 0; i < 16; i++)
        if (cfi_find(section, pc + i * i, &row))
            apply(section, &row);
}

static void read_as_debug_frame(struct cfi_section section, uint64_t pc) {
    const size_t count = cfi_index(&section, NULL, 0);
    struct cfi_entry *entries = malloc((count + 1) * sizeof *entries);
    require(entries != NULL && count <= (size_t)(section.end - section.start) / 16);
    require(cfi_index(&section, entries, count) == count);
    for (size_t i = 1; i < count; i++)
        require(entries[i - 1].begin <= entries[i].begin);
    section.entries = entries;
    section.entry_count = count;
    find_all(&section, pc);
    for (size_t i = 0; i < count && i < 16; i++)
        find_all(&section, entries[i].begin);
    free(entries);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size <= HEAD)
        return 0;
    uint8_t *copy = malloc(size - HEAD);
    require(copy != NULL);
    memcpy(copy, data + HEAD, size - HEAD);
    // As if it had been linked at 0: addresses in the bytes are then the same in every run.
    struct cfi_section section = {
        .start = copy, .end = copy + (size - HEAD), .address = 0, .header = bytes_get_u32(data + 4)};
    uint64_t pc = (uint64_t)(int64_t)(int32_t)bytes_get_u32(data); // code may be before the segment
    find_all(&section, pc);
    read_as_debug_frame(section, pc);
    free(copy);
    return 0;
}
