// SPDX-License-Identifier: Apache-2.0
// One writer for a trace. Who writes a file holds a lock of its open file (flock): nothing is left of it when the process
// ends, however it ends. Where a file system has no locks, no writer is excluded.
#ifndef SBT_LOCK_H
#define SBT_LOCK_H

#include <stdbool.h>
#include <sys/types.h>

// Takes the lock for as long as `fd` is open. False: a live process writes the file. `*holder` is its number, 0 when that is
// not to be found out.
bool lock_take(int fd, pid_t *holder);

#endif
