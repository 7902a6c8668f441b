// SPDX-License-Identifier: Apache-2.0
// Programs that belong to the command and are not for users to start: they are in libexec/tracesmith.
#ifndef CLI_HELPER_PROGRAM_H
#define CLI_HELPER_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>

// The path of a helper, found from where the command is. False after a complaint, which names ./dev build and its
// requirement `needs`.
bool helper_find(const char *name, char *out, size_t size, const char *needs);
// The path of the command itself; false when it cannot be found out.
bool helper_own_path(char *out, size_t size);

#endif
