// SPDX-License-Identifier: Apache-2.0
// Go's own table of functions (.gopclntab), which every Go program has in memory, stripped or not: the size of a
// function's frame at each of its instructions. Go writes no .eh_frame, and compresses .debug_frame. Formats of Go
// 1.18 and later, where the table has the begin of the code. Read as untrusted: every offset is checked.
#ifndef UNWIND_GO_TABLE_H
#define UNWIND_GO_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "unwind/cfi.h"

struct go_table {
    const uint8_t *bytes; // of the table, in memory; NULL: there is none
    uint64_t size;
    uint64_t text;                               // the address that functions count from
    uint64_t count, functions, names, positions; // of functions; and where in the table
    uint32_t quantum;                            // of positions in code, in bytes
};

// Reads the header of the table in `bytes`. False: it is not one, or of a format that is not known.
bool go_table_open(struct go_table *table, const uint8_t *bytes, uint64_t size);

// The row for the code at `pc`. False: nothing is known of it, or the stack cannot be followed there: where C has called
// Go (runtime.cgocallback), and where Go has changed stacks by itself.
bool go_table_find(const struct go_table *table, uint64_t pc, struct cfi_row *row);

// Go calls C on the stack of the thread (runtime.asmcgocall), with what it needs to go back at these places from the stack
// pointer, behind the return address: how far from its end Go's stack pointer was on Go's stack, and the goroutine, which
// begins with the bounds of that stack; or the old stack pointer itself, and 0. As in Go 1.5 to 1.25 on x86-64.
enum { GO_CALL_DEPTH = 40, GO_CALL_GOROUTINE = 48 };

#endif
