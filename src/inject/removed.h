// SPDX-License-Identifier: Apache-2.0
// Libraries of ours that a process has loaded from a session that is over: their files were removed with it.
#ifndef INJECT_REMOVED_H
#define INJECT_REMOVED_H

#include <stdint.h>

struct inject_target;

// Where the first of that file name is; 0: there is none.
uint64_t removed_at(const struct inject_target *target, const char *file_name);
// The address of a function that it exports, if it is the same library as the file `own`; 0: it is not.
uint64_t removed_find(const struct inject_target *target, const char *file_name, const char *own,
                      const char *function);

#endif
