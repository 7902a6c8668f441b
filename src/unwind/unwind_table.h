// SPDX-License-Identifier: Apache-2.0
// Which code is loaded where, and its unwind data: one table per process.
//
// The linker has sorted every module's functions already (.eh_frame_hdr) and the loader has mapped their unwind data:
// only their positions must be known, some microseconds and 80 bytes per module, whatever its size.
// The rule of a program counter is cached by the thread that looked it up (unwind.h).
//
// Two copies of the table, and a version whose lowest bit says which is current. The one writer at a time
// (unwind_table_refresh) fills the other copy, then publishes it. A reader copies the one entry it needs and then
// checks that the version has not moved: only then no writer was active where it read. A copy that grows is mapped
// anew and the old one stays mapped, so that a late reader still finds memory there (sizes double: the sum is
// less than twice the last).
//
// The table is as old as the last refresh, which a helper thread makes now and then. A walk detects that it is too old for
// the code that it meets (unwind_table_enter): it asks the linker, once per walk and module, whether the module is still the
// one in the table, through a function of glibc 2.35 and later that takes no lock. Modules loaded with the program itself
// stay loaded, and are not checked. With an older libc code loaded since is unknown until the next refresh, and where another
// module took the place of one that was closed, frames of that can come out wrong until then (never outside the stack).
#ifndef UNWIND_UNWIND_TABLE_H
#define UNWIND_UNWIND_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "unwind/cfi.h"

// An executable segment.
struct unwind_module {
    uint64_t begin, end; // its code
    uint64_t frame_begin,
        frame_end;         // the mapped segment that has .eh_frame_hdr and .eh_frame; 0: there is none
    uint64_t frame_header; // the header, from frame_begin
    // The position of 16 bytes that identify this module (its build id), and their value; 0: it stays until the
    // process ends.
    uint64_t identity, content[2];
};

// A module as the dynamic linker reports it; valid during the visit.
struct unwind_object {
    const char *name;    // as the linker knows it: "" for the program itself
    uint64_t bias;       // what it was moved by
    uint64_t begin, end; // from its first code to its last
    const uint8_t *build_id;
    size_t build_id_bytes; // 0: it has none
};

// Who wants to know of every module, before any thread can find it in the table. `object` is called under the linker's
// lock and must neither allocate nor lock; `all_seen` after that, when something has changed.
struct unwind_visitor {
    void (*object)(void *context, const struct unwind_object *object);
    void (*all_seen)(void *context);
    void *context;
};

// Looks at what is loaded and publishes it if that has changed since the last time. Takes the dynamic linker's lock, and
// waits for another refresh: for a helper thread, or for a program's thread when it has just come from dlopen; never
// on the event path, never in a signal handler. `visitor` may be NULL. False: there was no memory, and what was published
// before still holds.
bool unwind_table_refresh(const struct unwind_visitor *visitor);

// A module that a walk has met.
struct unwind_entered {
    uint64_t begin, size; // its code; 0: nothing
    uint64_t header;      // its .eh_frame_hdr
    uint64_t identity, content[2];
    uint64_t walk; // that asked for it last
};

// The module of the table that has the code at `pc`. False: the linker knows of another one there, so the table is too
// old. Code that neither knows is taken for itself alone.
bool unwind_table_enter(uint64_t pc, struct unwind_entered *module);
// Whether it is still the one that was entered.
bool unwind_table_still(uint64_t pc, const struct unwind_entered *module);

// Changes whenever what is published does. 0: nothing has been yet.
uint64_t unwind_table_version(void);

enum unwind_found {
    UNWIND_NO_MODULE, // no code that the loader knows: generated at run time, or not code
    UNWIND_NO_ROW,    // a module's code, but nothing (or nothing valid) describes it, as far as is known
    UNWIND_ROW,
};

// What holds at `pc`: by what is loaded with the module (.eh_frame), else by its file (unwind_debug.h), which the next refresh
// looks at where it has not been looked at yet. `section` is where the expressions of `row` are. Async-signal-safe: no lock, no allocation, no
// system call.
enum unwind_found unwind_table_find(uint64_t pc, struct cfi_section *section, struct cfi_row *row);

#endif
