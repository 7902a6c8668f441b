// SPDX-License-Identifier: Apache-2.0
// Unwind data for code without .eh_frame: .debug_frame, which a compiler writes instead where it makes debug
// information and no unwind tables. It is not loaded with the module, so it is read from the module's file.
//
// A walk that meets such code calls unwind_debug_find, which returns UNWIND_DEBUG_WANTED if the file was not read
// yet. The next refresh of the table of modules reads it, once per module (unwind_debug_load). What was read stays:
// readers take no lock.
#ifndef UNWIND_UNWIND_DEBUG_H
#define UNWIND_UNWIND_DEBUG_H

#include <stdbool.h>
#include <stdint.h>

#include "unwind/cfi.h"

struct unwind_module;

enum unwind_debug_found {
    UNWIND_DEBUG_NONE,
    UNWIND_DEBUG_WANTED, // the file will be looked at
    UNWIND_DEBUG_ROW,
};

// The row for `pc`, in code of `module`. Async-signal-safe: no lock, no allocation, no system call.
enum unwind_debug_found unwind_debug_find(const struct unwind_module *module, uint64_t pc,
                                          struct cfi_section *section, struct cfi_row *row);

// Whether a file is to be looked at.
bool unwind_debug_is_wanted(void);
// Looks at the file that is wanted, if one is. Takes the dynamic linker's lock, and reads the file when it has let it go. One
// thread at a time. True: there are rows that were not there before.
bool unwind_debug_load(void);

#endif
