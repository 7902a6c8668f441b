// SPDX-License-Identifier: Apache-2.0
// Memory that the library allocates for its caller.
#ifndef TRACESMITH_MEMORY_H
#define TRACESMITH_MEMORY_H

#include "tracesmith/export.h"

#ifdef __cplusplus
extern "C" {
#endif

// Frees an array or text whose declaration names tsmith_free. The library may be linked with another heap than its caller
// (a static C library, another allocator, a binding of another language): a caller's own free() must not be used. NULL is
// allowed. Any thread.
TSMITH_API void tsmith_free(void *memory);

#ifdef __cplusplus
}
#endif
#endif
