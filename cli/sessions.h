// SPDX-License-Identifier: Apache-2.0
// The recordings on this machine: found by their session directories. `recover`, `top`, `trigger` and `record` use it.
#ifndef CLI_SESSIONS_H
#define CLI_SESSIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/present/text.h"
#include "tracesmith/capture.h"

// Calls `each` for every session directory in shared memory and in the folders of temporary files, of any user, running or left
// behind.
void sessions_each(void (*each)(void *context, const char *directory, const tsmith_capture_left *left),
                   void *context);
// Whether a process records into a session, or was started to: it has a channel there, or its environment names it. False for a process that ended, or
// that this user may not look at.
bool sessions_has_process(const char *directory, uint64_t pid);
// The running recording that a word means: a session directory, or the id of a recorded process or of the `tracesmith` that
// records. NULL: the only one of this user. Also one of `attach` in a container. The exit code, after a complaint if it is not
// EXIT_DONE.
int sessions_find(const char *word, struct text *directory);

#endif
