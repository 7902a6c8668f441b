// SPDX-License-Identifier: Apache-2.0
// Splits the names that profilers give to Python functions into file, line and function. The Chrome and Perfetto
// importers call it.
#include "event/python_name.h"

#include <string.h>

// The first "(NUMBER): " that has a file before it and a function after it.
bool python_name_place(tsmith_string name, size_t *file_length, uint32_t *line) {
    const char *end = name.bytes + name.length;
    for (const char *at = name.bytes; (at = memchr(at, '(', (size_t)(end - at))); at++) {
        const char *digit = at + 1;
        uint64_t number = 0;
        for (; digit < end && *digit >= '0' && *digit <= '9' && number <= UINT32_MAX; digit++)
            number = number * 10 + (uint64_t)(*digit - '0');
        if (digit == at + 1 || number > UINT32_MAX || at == name.bytes || end - digit < 4 ||
            memcmp(digit, "): ", 3) != 0)
            continue;
        *file_length = (size_t)(at - name.bytes);
        *line = (uint32_t)number;
        return true;
    }
    return false;
}
