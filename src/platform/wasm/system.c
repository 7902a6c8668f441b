// SPDX-License-Identifier: Apache-2.0
// What base asks the operating system, where there is none.
#include "base/system.h"

#include <string.h>

const char *system_error_text(int code, char *room, size_t size) {
    (void)room;
    (void)size;
    return strerror(code);
}

uint64_t system_file_limit(void) {
    return UINT64_MAX;
}
