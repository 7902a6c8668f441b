// SPDX-License-Identifier: Apache-2.0
// Files that a command makes in addition to its answer. Nothing is overwritten. No other user can read them, because they
// are made of recorded programs. Complaints begin with the option's name.
#ifndef CLI_NEW_FILE_H
#define CLI_NEW_FILE_H

#include <stdbool.h>
#include <stddef.h>

// False after a complaint.
bool new_file_write(const char *option, const char *path, const void *bytes, size_t size);
// Makes a directory; one that is there already must be empty. False after a complaint.
bool new_directory(const char *option, const char *path);

#endif
