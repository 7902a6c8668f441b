// SPDX-License-Identifier: Apache-2.0
// Computes the memory limit for answers and refuses those that would exceed it. The timeline calls it.
#include "state/memory_limit.h"
#include "base/plural.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char VARIABLE[] = "TRACESMITH_MEMORY_LIMIT";

// "3GiB", "3G", "3g", "512 MiB", "800000000"; 0: none of these.
static uint64_t size_of(const char *text) {
    static const char UNITS[] = "kmgt";
    char *end = NULL;
    unsigned long long number = isdigit((unsigned char)*text) ? strtoull(text, &end, 10) : 0;
    if (!number)
        return 0;
    while (*end == ' ')
        end++;
    const char *unit = *end ? strchr(UNITS, tolower((unsigned char)*end)) : NULL;
    unsigned shift = unit ? 10 * (unsigned)(unit - UNITS + 1) : 0;
    end += unit ? 1 : 0;
    if (*end && strcmp(end, "iB") != 0 && strcmp(end, "B") != 0)
        return 0;
    return number > UINT64_MAX >> shift ? UINT64_MAX : (uint64_t)number << shift;
}

uint64_t memory_limit(void) {
    const char *text = getenv(VARIABLE);
    uint64_t size = text ? size_of(text) : 0;
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    if (size)
        return size;
    return pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page / 2 : UINT64_MAX;
}

tsmith_status memory_limit_refuse(size_t commands, size_t more, size_t calls, tsmith_error *error) {
    enum { MIB = 1 << 20 };
    uint64_t needed = (uint64_t)commands * (MEMORY_PER_COMMAND + more) + (uint64_t)calls * MEMORY_PER_CALL;
    unsigned long long needed_mib = needed / MIB + 1, limit_mib = memory_limit() / MIB;
    const char *text = getenv(VARIABLE), *whose = "half of this machine's memory";
    if (text)
        whose = size_of(text) ? "TRACESMITH_MEMORY_LIMIT"
                              : "half of this machine's memory; TRACESMITH_MEMORY_LIMIT is not a size";
    return status_set(
        error, TSMITH_ERROR_NO_MEMORY,
        "%zu %s and %zu %s need up to %llu MiB of memory; the limit is %llu MiB (%s). Allow it with "
        "the environment variable %s=%lluMiB.",
        commands, plural(commands, "command", "commands"), calls, plural(calls, "call", "calls"), needed_mib,
        limit_mib, whose, VARIABLE, needed_mib);
}
