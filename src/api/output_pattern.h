// SPDX-License-Identifier: Apache-2.0
// Names of output files whose rank and process are given, and not those of a process.
#ifndef API_OUTPUT_PATTERN_H
#define API_OUTPUT_PATTERN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tracesmith/status.h"

// What %r, %p and %h are; NULL: those of the process `pid` and of this host, as tsmith_output_expand has them.
struct output_parts {
    const char *rank, *process, *host;
};

// tsmith_output_expand with such parts; `parts` may be NULL.
tsmith_status output_expand(const char *pattern, uint32_t pid, const struct output_parts *parts, char *out,
                            size_t size, tsmith_error *error);
// Whether the pattern has this letter after a percent sign.
bool output_has(const char *pattern, char letter);

#endif
