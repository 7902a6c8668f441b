// SPDX-License-Identifier: Apache-2.0
// What base asks the operating system, of Windows.
#include "base/system.h"

#include <string.h>

#include "tracesmith/processors.h"

const char *system_error_text(int code, char *room, size_t size) {
    return strerror_s(room, size, code) == 0 ? room : "unknown error";
}

uint64_t system_file_limit(void) {
    return UINT64_MAX;
}

unsigned tsmith_processors(void) {
    return 1; // no thread is started (missing.h)
}
