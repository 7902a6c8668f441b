// SPDX-License-Identifier: Apache-2.0
// Go's table of functions; unwind_debug.c finds it in a module and asks it for rows. The layout is that of
// runtime/symtab.go (pcHeader, _func, pcvalue) in Go 1.18 to 1.25.
#include "unwind/go_table.h"

#include <string.h>

#include "base/bytes.h"
#include "unwind/machine.h"

enum {
    MAGIC_118 = -16, // 0xfffffff0
    MAGIC_120 = -15,
    HEADER = 72,
    FUNCTION = 20, // what is read of a function: entry, name, arguments, deferreturn, pcsp
    STEPS_MAX = 1 << 16,
    WORD = sizeof(uint64_t)
};

bool go_table_open(struct go_table *table, const uint8_t *bytes, uint64_t size) {
    *table = (struct go_table){0};
    if (!MACHINE_PUSHES || size < HEADER || bytes[4] || bytes[5] || bytes[7] != WORD || !bytes[6])
        return false;
    const int32_t magic = (int32_t)bytes_get_u32(bytes);
    if (magic != MAGIC_118 && magic != MAGIC_120)
        return false;
    const struct go_table found = {.bytes = bytes,
                                   .size = size,
                                   .count = bytes_get_u64(bytes + 8),
                                   .text = bytes_get_u64(bytes + 24),
                                   .names = bytes_get_u64(bytes + 32),
                                   .positions = bytes_get_u64(bytes + 56),
                                   .functions = bytes_get_u64(bytes + 64),
                                   .quantum = bytes[6]};
    if (!found.text || !found.count || found.names >= size || found.positions >= size ||
        found.functions >= size || found.count >= (size - found.functions) / 8)
        return false;
    *table = found;
    return true;
}

static uint32_t entry_of(const struct go_table *table, uint64_t function) {
    return bytes_get_u32(table->bytes + table->functions + function * 8);
}

// What is known of the function that has the code at `offset`; NULL: there is none.
static const uint8_t *function_at(const struct go_table *table, uint64_t offset) {
    uint64_t first = 0, count = table->count;
    if (offset < entry_of(table, 0) || offset >= entry_of(table, table->count))
        return NULL;
    while (count > 1) {
        const uint64_t half = count / 2;
        if (entry_of(table, first + half) <= offset)
            first += half;
        count -= half;
    }
    const uint64_t at = table->functions + bytes_get_u32(table->bytes + table->functions + first * 8 + 4);
    return at <= table->size - FUNCTION ? table->bytes + at : NULL;
}

static bool read_number(const struct go_table *table, uint64_t *at, uint32_t *number) {
    uint32_t value = 0;
    for (uint32_t shift = 0; shift < 35 && *at < table->size; shift += 7) {
        const uint8_t byte = table->bytes[(*at)++];
        value |= shift < 32 ? (uint32_t)(byte & 0x7f) << shift : 0;
        if (!(byte & 0x80)) {
            *number = value;
            return true;
        }
    }
    return false;
}

// How far the stack pointer is below where it was at the function's entry.
static bool depth_at(const struct go_table *table, const uint8_t *function, uint64_t offset, int32_t *depth) {
    const uint32_t table_of = bytes_get_u32(function + 16);
    uint64_t at = table->positions + table_of, pc = bytes_get_u32(function);
    uint32_t value = UINT32_MAX, step, length;
    for (uint32_t i = 0; table_of && i < STEPS_MAX; i++) {
        if (!read_number(table, &at, &step) || (step == 0 && i) || !read_number(table, &at, &length))
            return false;
        value += (step >> 1) ^ (0u - (step & 1)); // zigzag
        pc += (uint64_t)length * table->quantum;
        if (offset < pc) {
            *depth = (int32_t)value;
            return *depth >= 0 && *depth % WORD == 0;
        }
    }
    return false;
}

static bool is_named(const struct go_table *table, const uint8_t *function, const char *name) {
    const uint64_t at = table->names + bytes_get_u32(function + 4), length = strlen(name);
    if (at >= table->size || table->size - at <= length || memcmp(table->bytes + at, name, length) != 0)
        return false;
    // Functions of assembly have the name of their calling convention behind their own.
    const uint8_t after = table->bytes[at + length];
    return after == '\0' ||
           (table->size - at > length + 5 && !memcmp(table->bytes + at + length, ".abi0", 5));
}

static bool is_one_of(const struct go_table *table, const uint8_t *function, const char *const *names) {
    bool found = false;
    for (; *names && !found; names++)
        found = is_named(table, function, *names);
    return found;
}

bool go_table_find(const struct go_table *table, uint64_t pc, struct cfi_row *row) {
    static const char *const outermost[] = {"runtime.goexit", "runtime.mstart", "runtime.rt0_go", NULL};
    static const char *const changes_stack[] = {"runtime.cgocallback", "runtime.systemstack", "runtime.mcall",
                                                "runtime.morestack",   "runtime.sigtramp",    NULL};
    const uint8_t *function = pc >= table->text ? function_at(table, pc - table->text) : NULL;
    int32_t depth = 0;
    if (!function || is_one_of(table, function, changes_stack))
        return false;
    memset(row, 0, sizeof *row);
    row->return_register = CFI_RETURN;
    row->registers[CFI_RETURN] = (struct cfi_rule){.how = CFI_AT_OFFSET, .value = -WORD};
    row->cfa_register = CFI_STACK_POINTER;
    row->go_calls_c = is_named(table, function, "runtime.asmcgocall");
    if (is_one_of(table, function, outermost))
        row->registers[CFI_RETURN].how = CFI_UNDEFINED;
    else if (!row->go_calls_c && !depth_at(table, function, pc - table->text, &depth))
        return false;
    row->cfa = (struct cfi_rule){.how = CFI_IS_OFFSET, .value = depth + WORD};
    // A function with a frame saves the frame pointer at its beginning.
    if (depth)
        row->registers[CFI_FRAME_POINTER] = (struct cfi_rule){.how = CFI_AT_OFFSET, .value = -2 * WORD};
    return true;
}
