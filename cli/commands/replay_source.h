// SPDX-License-Identifier: Apache-2.0
// Of `replay`: sources of kernels that are taken from files, or written to them.
#ifndef CLI_REPLAY_SOURCE_H
#define CLI_REPLAY_SOURCE_H

#include <stdbool.h>

#include "tracesmith/replay.h"

// --source KERNEL=FILE. False after a complaint; the caller frees both, then too.
bool replay_read_source(const char *word, char **kernel, char **source);
// --save-source KERNEL=FILE, of the recording in the trace at `path`. Returns an exit code.
int replay_save_source(tsmith_recording *recording, const char *word, const char *path);

#endif
