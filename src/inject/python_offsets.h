// SPDX-License-Identifier: Apache-2.0
// The table that CPython has at the beginning of its _PyRuntime for debuggers (PEP 768): where in its structures a script is named that
// the interpreter is to run. remote_python.c calls it. The table is the program's, and may be anything.
#ifndef INJECT_PYTHON_OFFSETS_H
#define INJECT_PYTHON_OFFSETS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PYTHON_OFFSETS_BYTES = 760, PYTHON_PATH_MOST = 4096, PYTHON_WHY_BYTES = 160 };

// All are offsets in bytes, and lie within the sizes of their structures.
struct python_offsets {
    uint64_t interpreters; // in _PyRuntime: the first interpreter
    // in an interpreter
    uint64_t id, next, main_thread;
    uint64_t enabled; // int: 1 if requests are allowed
    // in the state of a thread
    uint64_t interpreter;
    uint64_t eval_breaker; // word
    uint64_t pending;      // int: 1 while there is a request
    uint64_t path, path_bytes;
};

// `bytes` of a section of `section` bytes. False, with the reason in `why`: it is no table, or of a version that has no requests or is
// not known, or its offsets are not possible.
bool python_offsets_read(const void *bytes, size_t size, uint64_t section, struct python_offsets *out,
                         char why[PYTHON_WHY_BYTES]);

#endif
