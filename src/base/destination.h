// SPDX-License-Identifier: Apache-2.0
// Where output goes: a descriptor, or a function of the caller's (tracesmith/output.h). The writers of traces and exports
// write to it; the writers of reports print into a FILE, for which destination_print opens one over the function.
#ifndef BASE_DESTINATION_H
#define BASE_DESTINATION_H

#include <stddef.h>
#include <stdio.h>

#include "tracesmith/output.h"

struct destination {
    int fd; // used when output.write is NULL
    tsmith_output output;
};

// Writes all of it. On failure the status is the function's, or what errno of the descriptor means (as from status_set_errno),
// and the message is "`name`: cannot be written: ...".
tsmith_status destination_write(const struct destination *to, const char *name, const void *bytes,
                                size_t size, tsmith_error *error);

// INVALID_ARGUMENT where there is no function.
tsmith_status destination_check(const tsmith_output *output, tsmith_error *error);

// Calls `print` with a FILE whose bytes go to the function. The first failure of the function is returned in place of what
// `print` made of it.
tsmith_status destination_print(const tsmith_output *output,
                                tsmith_status (*print)(const void *what, FILE *out, tsmith_error *error),
                                const void *what, tsmith_error *error);

#endif
