// SPDX-License-Identifier: Apache-2.0
// Parses call frame information for one program counter. The unwinder and src/watch call it.
#include "unwind/cfi.h"

#include <string.h>

#include "base/bytes.h"

enum {
    REMEMBERED_MAX = 8,        // nested remember_state: compilers use one
    INSTRUCTIONS_MAX = 1 << 16 // of one function; libLLVM's longest has some thousand
};

// Reads forward; the first read beyond the end makes it bad for good, and everything read then is 0.
struct cursor {
    const uint8_t *at, *end;
    bool bad;
};

static uint64_t take_bytes(struct cursor *cursor, size_t size) {
    if (cursor->bad || (size_t)(cursor->end - cursor->at) < size) {
        cursor->bad = true;
        return 0;
    }
    const uint8_t *at = cursor->at;
    cursor->at += size;
    switch (size) {
    case 1:
        return *at;
    case 2:
        return bytes_get_u16(at);
    case 4:
        return bytes_get_u32(at);
    default:
        return bytes_get_u64(at);
    }
}

static uint64_t take_uleb(struct cursor *cursor) {
    uint64_t value = 0;
    for (unsigned shift = 0;; shift += 7) {
        uint64_t byte = take_bytes(cursor, 1);
        if (shift < 64)
            value |= (byte & 0x7f) << shift;
        if (!(byte & 0x80))
            return value;
    }
}

static int64_t take_sleb(struct cursor *cursor) {
    uint64_t value = 0;
    for (unsigned shift = 0;;) {
        uint64_t byte = take_bytes(cursor, 1);
        if (shift < 64)
            value |= (byte & 0x7f) << shift;
        shift += 7;
        if (byte & 0x80)
            continue;
        if (shift < 64 && byte & 0x40)
            value |= ~UINT64_C(0) << shift;
        return (int64_t)value;
    }
}

// A block whose length is in front of it: `cursor` is moved over it.
static struct cursor take_block(struct cursor *cursor, uint64_t size) {
    struct cursor block = {cursor->at, cursor->at, true};
    if (cursor->bad || (uint64_t)(cursor->end - cursor->at) < size) {
        cursor->bad = true;
        return block;
    }
    cursor->at += size;
    return (struct cursor){block.at, cursor->at, false};
}

// DW_EH_PE_*: the low half is the format, the high half what it counts from.
static uint64_t take_encoded(struct cursor *cursor, const struct cfi_section *section, uint8_t encoding) {
    uint64_t here = section->address + (uint64_t)(cursor->at - section->start), value;
    switch (encoding & 0x0f) {
    case 0x00:
    case 0x04:
    case 0x0c:
        value = take_bytes(cursor, 8);
        break;
    case 0x01:
        value = take_uleb(cursor);
        break;
    case 0x02:
        value = take_bytes(cursor, 2);
        break;
    case 0x03:
        value = take_bytes(cursor, 4);
        break;
    case 0x09:
        value = (uint64_t)take_sleb(cursor);
        break;
    case 0x0a:
        value = (uint64_t)(int64_t)(int16_t)take_bytes(cursor, 2);
        break;
    case 0x0b:
        value = (uint64_t)(int64_t)(int32_t)take_bytes(cursor, 4);
        break;
    default:
        cursor->bad = true;
        return 0;
    }
    switch (encoding & 0xf0) {
    case 0x00:
        return value;
    case 0x10:
        return value + here;
    case 0x30:
        return value + section->address + section->header;
    default:
        cursor->bad = true;
        return 0; // indirect, aligned, relative to text or function: no linker's choice
    }
}

// The data that a common information entry has for all functions that share it.
struct common {
    uint64_t code_align;
    int64_t data_align;
    uint64_t return_register;
    uint8_t encoding;
    bool has_augmentation, is_signal_frame;
    struct cursor program;
};

// The entry at `at`: what follows its length.
static struct cursor entry_at(const struct cfi_section *section, uint64_t at) {
    uint64_t size = (uint64_t)(section->end - section->start);
    struct cursor cursor = {section->end, section->end, true};
    if (at >= size)
        return cursor;
    cursor = (struct cursor){section->start + at, section->end, false};
    uint64_t length = take_bytes(&cursor, 4);
    if (length == 0 || length == UINT32_MAX) // the end; the 64-bit form, which is not used here
        cursor.bad = true;
    return take_block(&cursor, length);
}

static bool parse_augmentation(struct cursor *cursor, const struct cfi_section *section, const char *letters,
                               struct common *common) {
    struct cursor data = take_block(cursor, take_uleb(cursor));
    for (const char *letter = letters + 1; *letter; letter++) {
        switch (*letter) {
        case 'R':
            common->encoding = (uint8_t)take_bytes(&data, 1);
            break;
        case 'L':
            take_bytes(&data, 1);
            break;
        case 'P': {
            // Where the personality is does not matter here, only how long the pointer is.
            uint8_t encoding = (uint8_t)take_bytes(&data, 1);
            take_encoded(&data, section, encoding & 0x0f);
            break;
        }
        case 'S':
            common->is_signal_frame = true;
            break;
        case 'B':
            break; // aarch64: signed with the other key; the bits to strip are the same
        default:
            return true; // what follows is not known, but `cursor` is behind all of it
        }
    }
    return !data.bad;
}

// Addresses of .debug_frame are as the file has them, from version 4 on with their size.
static bool parse_address_size(struct cursor *cursor, uint64_t version) {
    return version < 4 || (take_bytes(cursor, 1) == 8 && take_bytes(cursor, 1) == 0);
}

static bool parse_common(const struct cfi_section *section, uint64_t at, struct common *common) {
    struct cursor cursor = entry_at(section, at);
    const bool of_debug = section->entries != NULL;
    *common = (struct common){0};
    if (take_bytes(&cursor, 4) != (of_debug ? UINT32_MAX : 0) || cursor.bad)
        return false;
    uint64_t version = take_bytes(&cursor, 1);
    const char *letters = (const char *)cursor.at;
    const uint8_t *end = cursor.bad ? NULL : memchr(cursor.at, 0, (size_t)(cursor.end - cursor.at));
    if (!end || (version != 1 && version != 3 && !(of_debug && version == 4)))
        return false;
    cursor.at = end + 1;
    if (!parse_address_size(&cursor, version))
        return false;
    common->code_align = take_uleb(&cursor);
    common->data_align = take_sleb(&cursor);
    common->return_register = version == 1 ? take_bytes(&cursor, 1) : take_uleb(&cursor);
    if (*letters == 'z') {
        common->has_augmentation = true;
        if (!parse_augmentation(&cursor, section, letters, common))
            return false;
    } else if (*letters) {
        return false;
    }
    common->program = cursor;
    return !cursor.bad && common->return_register < CFI_REGISTERS;
}

// A program of DW_CFA instructions, run until the row of `pc` is complete.
struct machine {
    const struct cfi_section *section;
    const struct common *common;
    struct cfi_row *row;
    const struct cfi_row *initial; // what DW_CFA_restore goes back to; NULL in the common program
    uint64_t location, pc;
    uint32_t remembered, instructions;
    struct cfi_row stack[REMEMBERED_MAX];
};

static void set_rule(struct machine *machine, uint64_t reg, enum cfi_how how, int64_t value) {
    // An untracked register (vector registers) is not damage.
    if (reg < CFI_REGISTERS)
        machine->row->registers[reg] = (struct cfi_rule){.how = (uint16_t)how, .value = (int32_t)value};
}

// value * factor, where that is an offset a stack frame can have; else nothing is known.
static int64_t scaled(struct cursor *cursor, int64_t value, int64_t factor) {
    int64_t product;
    if (__builtin_mul_overflow(value, factor, &product) || product > INT32_MAX || product < INT32_MIN) {
        cursor->bad = true;
        return 0;
    }
    return product;
}

static struct cfi_rule take_expression(struct machine *machine, struct cursor *cursor, enum cfi_how how) {
    struct cursor block = take_block(cursor, take_uleb(cursor));
    ptrdiff_t at = block.at - machine->section->start, length = block.end - block.at;
    if (block.bad || at > INT32_MAX || length > UINT16_MAX) {
        cursor->bad = true;
        return (struct cfi_rule){.how = CFI_UNDEFINED};
    }
    return (struct cfi_rule){.how = (uint16_t)how, .length = (uint16_t)length, .value = (int32_t)at};
}

static void restore(struct machine *machine, uint64_t reg) {
    if (reg < CFI_REGISTERS)
        machine->row->registers[reg] =
            machine->initial ? machine->initial->registers[reg] : (struct cfi_rule){.how = CFI_SAME};
}

static void set_cfa(struct machine *machine, struct cursor *cursor, uint64_t reg, int64_t offset) {
    if (reg >= CFI_REGISTERS || offset > INT32_MAX || offset < INT32_MIN)
        cursor->bad = true;
    machine->row->cfa = (struct cfi_rule){.how = CFI_IS_OFFSET, .value = (int32_t)offset};
    machine->row->cfa_register = (uint16_t)reg;
}

static void remember_row(struct machine *machine, struct cursor *cursor, bool push) {
    if (push && machine->remembered < REMEMBERED_MAX)
        machine->stack[machine->remembered++] = *machine->row;
    else if (!push && machine->remembered > 0)
        *machine->row = machine->stack[--machine->remembered];
    else
        cursor->bad = true;
}

static void advance(struct machine *machine, uint64_t delta) {
    uint64_t bytes;
    if (__builtin_mul_overflow(delta, machine->common->code_align, &bytes) ||
        __builtin_add_overflow(machine->location, bytes, &machine->location))
        machine->location = UINT64_MAX;
}

// Instructions about where the CFA is.
static bool run_cfa(struct machine *machine, struct cursor *cursor, uint8_t code) {
    int64_t align = machine->common->data_align;
    struct cfi_row *row = machine->row;
    uint64_t reg;
    switch (code) {
    case 0x0c: // DW_CFA_def_cfa
        reg = take_uleb(cursor);
        set_cfa(machine, cursor, reg, (int64_t)take_uleb(cursor));
        return true;
    case 0x0d: // DW_CFA_def_cfa_register
        set_cfa(machine, cursor, take_uleb(cursor), row->cfa.how == CFI_IS_OFFSET ? row->cfa.value : 0);
        return true;
    case 0x0e: // DW_CFA_def_cfa_offset
        set_cfa(machine, cursor, row->cfa_register, (int64_t)take_uleb(cursor));
        return true;
    case 0x0f: // DW_CFA_def_cfa_expression
        row->cfa = take_expression(machine, cursor, CFI_IS_EXPRESSION);
        return true;
    case 0x12: // DW_CFA_def_cfa_sf
        reg = take_uleb(cursor);
        set_cfa(machine, cursor, reg, scaled(cursor, take_sleb(cursor), align));
        return true;
    case 0x13: // DW_CFA_def_cfa_offset_sf
        set_cfa(machine, cursor, row->cfa_register, scaled(cursor, take_sleb(cursor), align));
        return true;
    default:
        return false;
    }
}

// Instructions about where a register is.
static bool run_register(struct machine *machine, struct cursor *cursor, uint8_t code) {
    int64_t align = machine->common->data_align;
    uint64_t reg = take_uleb(cursor);
    struct cfi_rule rule;
    switch (code) {
    case 0x05: // DW_CFA_offset_extended
        set_rule(machine, reg, CFI_AT_OFFSET, scaled(cursor, (int64_t)take_uleb(cursor), align));
        return true;
    case 0x06:
        restore(machine, reg);
        return true; // DW_CFA_restore_extended
    case 0x07:
        set_rule(machine, reg, CFI_UNDEFINED, 0);
        return true; // DW_CFA_undefined
    case 0x08:
        set_rule(machine, reg, CFI_SAME, 0);
        return true; // DW_CFA_same_value
    case 0x09:       // DW_CFA_register
        set_rule(machine, reg, CFI_IN_REGISTER, scaled(cursor, (int64_t)take_uleb(cursor), 1));
        return true;
    case 0x10: // DW_CFA_expression
    case 0x16: // DW_CFA_val_expression
        rule = take_expression(machine, cursor, code == 0x10 ? CFI_AT_EXPRESSION : CFI_IS_EXPRESSION);
        if (reg < CFI_REGISTERS)
            machine->row->registers[reg] = rule;
        return true;
    case 0x11: // DW_CFA_offset_extended_sf
        set_rule(machine, reg, CFI_AT_OFFSET, scaled(cursor, take_sleb(cursor), align));
        return true;
    case 0x14: // DW_CFA_val_offset
        set_rule(machine, reg, CFI_IS_OFFSET, scaled(cursor, (int64_t)take_uleb(cursor), align));
        return true;
    case 0x15: // DW_CFA_val_offset_sf
        set_rule(machine, reg, CFI_IS_OFFSET, scaled(cursor, take_sleb(cursor), align));
        return true;
    case 0x2f: // DW_CFA_GNU_negative_offset_extended
        set_rule(machine, reg, CFI_AT_OFFSET, -scaled(cursor, (int64_t)take_uleb(cursor), align));
        return true;
    default:
        return false;
    }
}

static void run_one(struct machine *machine, struct cursor *cursor) {
    uint8_t code = (uint8_t)take_bytes(cursor, 1), low = code & 0x3f;
    switch (code >> 6) {
    case 1:
        advance(machine, low);
        return; // DW_CFA_advance_loc
    case 2:     // DW_CFA_offset
        set_rule(machine, low, CFI_AT_OFFSET,
                 scaled(cursor, (int64_t)take_uleb(cursor), machine->common->data_align));
        return;
    case 3:
        restore(machine, low);
        return; // DW_CFA_restore
    default:
        break;
    }
    switch (code) {
    case 0x00:
        return; // DW_CFA_nop
    case 0x01:  // DW_CFA_set_loc
        machine->location = take_encoded(cursor, machine->section, machine->common->encoding);
        return;
    case 0x02:
        advance(machine, take_bytes(cursor, 1));
        return; // DW_CFA_advance_loc1
    case 0x03:
        advance(machine, take_bytes(cursor, 2));
        return;
    case 0x04:
        advance(machine, take_bytes(cursor, 4));
        return;
    case 0x0a:
        remember_row(machine, cursor, true);
        return;
    case 0x0b:
        remember_row(machine, cursor, false);
        return;
    case 0x2d:
        return; // aarch64: the return address is signed from here on, or no longer; the processor sees that itself
    case 0x2e:
        take_uleb(cursor);
        return; // DW_CFA_GNU_args_size
    default:
        if (!run_cfa(machine, cursor, code) && !run_register(machine, cursor, code))
            cursor->bad = true;
    }
}

static bool run(struct machine *machine, struct cursor program) {
    while (!program.bad && program.at < program.end && machine->location <= machine->pc) {
        if (++machine->instructions > INSTRUCTIONS_MAX)
            return false;
        struct cursor next = program;
        // The row that holds at pc is the one before the location passes it.
        run_one(machine, &next);
        program = next;
    }
    return !program.bad;
}

static bool run_programs(const struct cfi_section *section, const struct common *common,
                         struct cursor program, uint64_t begin, uint64_t pc, struct cfi_row *row) {
    struct machine machine;
    machine.section = section;
    machine.common = common;
    machine.row = row;
    machine.initial = NULL;
    machine.location = begin;
    machine.pc = pc;
    machine.remembered = machine.instructions = 0;
    memset(row, 0, sizeof *row);
    row->cfa_register = UINT16_MAX;
    row->return_register = (uint16_t)common->return_register;
    row->is_signal_frame = common->is_signal_frame;
    if (!run(&machine, common->program))
        return false;
    struct cfi_row initial = *row;
    machine.initial = &initial;
    machine.location = begin;
    return run(&machine, program) && (row->cfa.how == CFI_IS_EXPRESSION ||
                                      (row->cfa.how == CFI_IS_OFFSET && row->cfa_register < CFI_REGISTERS));
}

static bool find_in_entry(const struct cfi_section *section, uint64_t at, uint64_t pc, struct cfi_row *row) {
    struct cursor entry = entry_at(section, at);
    struct common common;
    uint64_t here = (uint64_t)(entry.at - section->start), back = take_bytes(&entry, 4);
    if (entry.bad || (!section->entries && (back == 0 || back > here)) ||
        !parse_common(section, section->entries ? back : here - back, &common))
        return false;
    uint64_t begin = take_encoded(&entry, section, common.encoding);
    uint64_t size = take_encoded(&entry, section, common.encoding & 0x0f);
    if (common.has_augmentation)
        take_block(&entry, take_uleb(&entry));
    if (entry.bad || pc < begin || pc - begin >= size)
        return false;
    return run_programs(section, &common, entry, begin, pc, row);
}

// .eh_frame_hdr: version, three encodings, .eh_frame's address, how many, and pairs (function, entry) sorted by
// function, 32 bits each, relative to the header. Linkers write no other form.
static bool find_in_header(const struct cfi_section *section, uint64_t pc, struct cfi_row *row) {
    if (section->header >= (size_t)(section->end - section->start))
        return false;
    struct cursor cursor = {section->start + section->header, section->end, false};
    uint64_t version = take_bytes(&cursor, 1);
    uint8_t frame_encoding = (uint8_t)take_bytes(&cursor, 1),
            count_encoding = (uint8_t)take_bytes(&cursor, 1);
    uint64_t table_encoding = take_bytes(&cursor, 1), base = section->address + section->header;
    if (version != 1 || count_encoding != 0x03 || table_encoding != 0x3b)
        return false;
    take_encoded(&cursor, section, frame_encoding);
    uint64_t count = take_bytes(&cursor, 4);
    const uint8_t *table = cursor.at;
    if (cursor.bad || !count || count > (uint64_t)(section->end - table) / 8)
        return false;
    int64_t wanted = (int64_t)(pc - base);
    uint64_t first = 0; // the last function that begins at or before pc
    while (count > 1) {
        uint64_t half = count / 2;
        if ((int32_t)bytes_get_u32(table + (first + half) * 8) <= wanted) {
            first += half;
            count -= half;
        } else {
            count = half;
        }
    }
    uint64_t entry = base + (uint64_t)(int64_t)(int32_t)bytes_get_u32(table + first * 8 + 4);
    return find_in_entry(section, entry - section->address, pc, row);
}

// ---- .debug_frame

// Makes entries [at, count) a heap, the last one first, where only `at` may be out of place.
static void sift_down(struct cfi_entry *entries, size_t at, size_t count) {
    for (size_t child; (child = 2 * at + 1) < count; at = child) {
        if (child + 1 < count && entries[child + 1].begin > entries[child].begin)
            child++;
        if (entries[at].begin >= entries[child].begin)
            return;
        const struct cfi_entry one = entries[at];
        entries[at] = entries[child];
        entries[child] = one;
    }
}

// A heap sort: qsort may allocate.
static void sort_entries(struct cfi_entry *entries, size_t count) {
    for (size_t i = count / 2; i-- > 0;)
        sift_down(entries, i, count);
    for (size_t end = count; end-- > 1;) {
        const struct cfi_entry last = entries[0];
        entries[0] = entries[end];
        entries[end] = last;
        sift_down(entries, 0, end);
    }
}

size_t cfi_index(const struct cfi_section *section, struct cfi_entry *entries, size_t capacity) {
    struct cursor cursor = {section->start, section->end, false};
    size_t count = 0;
    while (cursor.at < cursor.end) {
        const uint64_t offset = (uint64_t)(cursor.at - section->start), length = take_bytes(&cursor, 4);
        if (length == UINT32_MAX) // the 64-bit form
            break;
        struct cursor entry = take_block(&cursor, length);
        if (entry.bad)
            break;
        const uint64_t common = take_bytes(&entry, 4), begin = take_bytes(&entry, 8);
        if (entry.bad || common == UINT32_MAX)
            continue;
        if (count < capacity)
            entries[count] = (struct cfi_entry){begin, offset};
        count++;
    }
    sort_entries(entries, count < capacity ? count : capacity);
    return count;
}

static bool find_in_index(const struct cfi_section *section, uint64_t pc, struct cfi_row *row) {
    size_t first = 0, count = section->entry_count; // the last function that begins at or before pc
    while (count > 1) {
        const size_t half = count / 2;
        if (section->entries[first + half].begin <= pc) {
            first += half;
            count -= half;
        } else {
            count = half;
        }
    }
    return count && find_in_entry(section, section->entries[first].offset, pc, row);
}

bool cfi_find(const struct cfi_section *section, uint64_t pc, struct cfi_row *row) {
    return section->entries ? find_in_index(section, pc - section->bias, row)
                            : find_in_header(section, pc, row);
}
