// SPDX-License-Identifier: Apache-2.0
// The whole name of a function that DWARF gives a bare one only. Functions that are local to their file (of an
// anonymous namespace, of a class within a function, closures) have no linkage name, and if they were inlined the
// linker has no symbol for them either; their enclosing entries complete the name.
#ifndef SYMBOLS_SCOPE_H
#define SYMBOLS_SCOPE_H

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"

// What was found out on the way to functions, of all units of a file; zeroed but for `budget`: entries to look at, which falls.
struct symbols_scopes {
    uint64_t budget;
    struct symbols_scope_list {
        const void *parent;
        Dwarf_Off *offsets; // of the entries in it, ascending
        size_t count;
    } * lists;
    size_t count, capacity;
};
void symbols_scopes_finish(struct symbols_scopes *scopes);

// What DWARF calls a function or a place where it was inlined: the linkage name, else the bare one. NULL: nothing.
const char *symbols_scope_given(Dwarf_Die *function);
// Whether the entry is a function whose name C++ would write with more around it.
bool symbols_scope_lacks(Dwarf_Die *function);
// `name` with its namespaces, classes and functions before it, as in "ns::(anonymous namespace)::run" and
// "ns::all(int)::{lambda}:: operator()". It is in `texts`; `name` itself if there are none, or when memory or the
// budget is at its end.
const char *symbols_scope_name(Dwarf_Die *function, const char *name, struct arena *texts,
                               struct symbols_scopes *scopes);

#endif
