// SPDX-License-Identifier: Apache-2.0
// Files of a process that sees other files than this one (a container, a chroot), through /proc/PID/root.
#ifndef BASE_OTHER_ROOT_H
#define BASE_OTHER_ROOT_H

#include <stdbool.h>
#include <stdint.h>

// Whether the process sees other files than this one: another root or another mount namespace. False where /proc does not say so.
bool other_root_is(uint32_t pid);
// A folder by its absolute path there, as O_PATH. Follows no symbolic link: an absolute one would lead to a file of ours. -1 with errno
// set.
int other_root_folder(uint32_t pid, const char *path);
// The file of a line of /proc/PID/maps, for reading: the process's own, else the one that has this path here. -1 with errno set. It is
// untrusted, and may be another file than the mapped one: compare build ids.
int other_root_mapped(uint32_t pid, const char *path);

#endif
