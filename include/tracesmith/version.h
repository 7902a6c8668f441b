// SPDX-License-Identifier: Apache-2.0
#ifndef TRACESMITH_VERSION_H
#define TRACESMITH_VERSION_H

#include "tracesmith/export.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TSMITH_VERSION_MAJOR 0
#define TSMITH_VERSION_MINOR 1
#define TSMITH_VERSION_PATCH 0
#define TSMITH_VERSION_STRING "0.1.0"

// The version of the library that is loaded (the macros are those of the headers compiled against). Static
// storage.
TSMITH_API const char *tsmith_version(void);

#ifdef __cplusplus
}
#endif
#endif
