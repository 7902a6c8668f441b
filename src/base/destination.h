// SPDX-License-Identifier: Apache-2.0
// The destination of output: a descriptor, or a function of the caller (tracesmith/output.h). Writers of traces and exports
// write to it. Writers of reports print to a FILE; destination_print opens one over the function.
#ifndef BASE_DESTINATION_H
#define BASE_DESTINATION_H

#include <stddef.h>
#include <stdio.h>

#include "tracesmith/output.h"

struct destination {
    int fd; // used when output.write is NULL
    tsmith_output output;
};

// Writes all bytes. On failure the status is that of the function, or that of errno (status_set_errno), and the message is
// "`name`: cannot be written: ...".
tsmith_status destination_write(const struct destination *to, const char *name, const void *bytes,
                                size_t size, tsmith_error *error);

// INVALID_ARGUMENT if there is no function.
tsmith_status destination_check(const tsmith_output *output, tsmith_error *error);

// Calls `print` with a FILE whose bytes go to the function. If the function fails, its first status is
// returned in place of that of `print`.
tsmith_status destination_print(const tsmith_output *output,
                                tsmith_status (*print)(const void *what, FILE *out, tsmith_error *error),
                                const void *what, tsmith_error *error);

#endif
