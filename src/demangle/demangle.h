// SPDX-License-Identifier: Apache-2.0
// Names of functions as people write them: C++ (Itanium), Rust (both manglings), D, and procedures of Fortran modules as gfortran
// names them.
#ifndef DEMANGLE_DEMANGLE_H
#define DEMANGLE_DEMANGLE_H

#include <stddef.h>

enum { DEMANGLE_MAX = 16 << 10 }; // bytes of a mangled name, and of the demangled name

// Writes the demangled name and a NUL and returns its length; 0 when the name is not mangled, or damaged, or too long.
size_t demangle(const char *name, char *into, size_t size);

#endif
