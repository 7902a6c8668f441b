// SPDX-License-Identifier: Apache-2.0
// Call frame information (.eh_frame, .debug_frame): how to get from the registers of a frame to those of its caller,
// for one program counter. What is read is untrusted: every read is checked against the section, the work is bounded,
// and everything that is not understood is "unknown". No allocation, no lock, no system call: fit for signal handlers.
#ifndef UNWIND_CFI_H
#define UNWIND_CFI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// DWARF's numbers of the registers that the walk itself needs. CFI_PC is where the program counter is kept; the return
// address is in it, or in a register of its own. Files of the other processor can be read on any (the tests do).
#if defined(__x86_64__) && !defined(CFI_OF_AARCH64)
enum { CFI_REGISTERS = 17, CFI_FRAME_POINTER = 6, CFI_STACK_POINTER = 7, CFI_RETURN = 16, CFI_PC = 16 };
#else
enum { CFI_REGISTERS = 33, CFI_FRAME_POINTER = 29, CFI_STACK_POINTER = 31, CFI_RETURN = 30, CFI_PC = 32 };
#endif

// A function of .debug_frame: where it begins, as the file has it, and where it is described.
struct cfi_entry {
    uint64_t begin, offset;
};

// Bytes that hold .eh_frame_hdr and .eh_frame: a loaded segment, or a copy of one. Or those of .debug_frame.
struct cfi_section {
    const uint8_t *start, *end;
    uint64_t address; // where `start` is in the process
    size_t header;    // of .eh_frame_hdr, from start
    // Of .debug_frame, sorted; NULL: it is .eh_frame.
    const struct cfi_entry *entries;
    size_t entry_count;
    uint64_t bias; // what the file's addresses were moved by
};

enum cfi_how {
    CFI_SAME, // unchanged from the frame itself; CFI has no rule for it
    CFI_UNDEFINED,
    CFI_AT_OFFSET, // saved at CFA + value
    CFI_IS_OFFSET, // is CFA + value
    CFI_IN_REGISTER,
    CFI_AT_EXPRESSION,
    CFI_IS_EXPRESSION,
};

struct cfi_rule {
    uint16_t how;
    uint16_t length; // of an expression
    int32_t value;   // an offset, a register, or where in the section the expression begins
};

// The row of the table that DWARF describes, for one program counter.
struct cfi_row {
    struct cfi_rule cfa;   // CFI_IS_OFFSET from the register below, or CFI_IS_EXPRESSION
    uint16_t cfa_register; // UINT16_MAX: none
    uint16_t return_register;
    bool is_signal_frame; // the caller was interrupted: its program counter is not behind a call
    bool go_calls_c;      // Go has left its own stack here to call C (go_table.h); then nothing else holds
    struct cfi_rule registers[CFI_REGISTERS];
};

// How many functions a .debug_frame describes; `capacity` of them at most are written to `entries`, sorted by where they begin.
size_t cfi_index(const struct cfi_section *section, struct cfi_entry *entries, size_t capacity);

// The row for `pc`. False: nothing is known of it.
bool cfi_find(const struct cfi_section *section, uint64_t pc, struct cfi_row *row);

// What a frame's rules are evaluated with. Reads that are not within [low, high) fail.
struct cfi_frame {
    uint64_t registers[CFI_REGISTERS];
    uint64_t known; // bit per register
    uint64_t low, high;
    const uint8_t *bytes; // a copy of [low, high); NULL: they are at their own addresses
};

bool cfi_read(const struct cfi_frame *frame, uint64_t address, uint64_t *value);
bool cfi_cfa(const struct cfi_section *section, const struct cfi_row *row, const struct cfi_frame *frame,
             uint64_t *cfa);
// The caller's registers into `caller`, whose bounds are left alone.
void cfi_apply(const struct cfi_section *section, const struct cfi_row *row, const struct cfi_frame *frame,
               uint64_t cfa, struct cfi_frame *caller);

#endif
