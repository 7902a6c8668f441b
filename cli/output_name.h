// SPDX-License-Identifier: Apache-2.0
// Names of the files that commands record into: patterns with the rank, the host and the process, and files that are another
// rank's.
#ifndef CLI_OUTPUT_NAME_H
#define CLI_OUTPUT_NAME_H

#include <stdbool.h>
#include <stdint.h>

#include "tracesmith/sbt.h"

enum { OUTPUT_NAME_SIZE = 4096 };

// The name for --output: tsmith_output_expand. False after a complaint.
bool output_name(const char *pattern, uint32_t pid, char out[OUTPUT_NAME_SIZE]);
// For a writer: refuses to replace the trace of another rank, which ranks without %r would do one after the other.
tsmith_status output_may_replace(void *context, const char *path, tsmith_error *error);
// After a file was refused: what ranks do about it, if a launcher started this process.
void output_explain_refused(tsmith_status status);

#endif
