// SPDX-License-Identifier: Apache-2.0
// What base asks the operating system. Statuses and files call it.
#include "base/system.h"

#include <string.h>
#include <sys/resource.h>

const char *system_error_text(int code, char *room, size_t size) {
    return strerror_r(code, room, size);
}

uint64_t system_file_limit(void) {
    struct rlimit limit;
    return getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY ? limit.rlim_cur
                                                                                   : UINT64_MAX;
}
