// SPDX-License-Identifier: Apache-2.0
// The files that a trace is written to.
#ifndef SBT_FILE_H
#define SBT_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tracesmith/sbt.h"

// Creates (or, when not `exclusive`, replaces) a file for writing, mode 0600, and writes `head` into it
// before it appears under its name. What is not a regular file is opened as it is. Of `options`, `exclusive` and `may_replace`
// are used.
tsmith_status file_create(const char *path, const tsmith_sbt_write_options *options, const void *head,
                          size_t head_size, int *out, tsmith_error *error);

#endif
