// SPDX-License-Identifier: Apache-2.0
#ifndef BASE_FILE_H
#define BASE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Backs a range of a file with space, so that touching it in a mapping never fails. False (errno set) if there is no
// space. Beyond the process's file size limit errno is EFBIG: the kernel would end the process with SIGXFSZ.
bool file_reserve(int fd, uint64_t offset, uint64_t bytes);

// Maps a range that is backed with space, shared, readable and writable, with all pages present, so that an access takes no page
// fault. NULL (errno set): it cannot be mapped.
void *file_map(int fd, uint64_t offset, uint64_t bytes);

// An unlinked file in TMPDIR (or /tmp), mode 0600, open for reading and writing; -1 with errno set.
int file_temporary(void);

// Opens a regular file for reading; -1 with errno set. What else has that path is not opened, as opening a device can have effects.
int file_open_regular(const char *path);
// The same of a file that was opened with O_PATH, which it closes.
int file_read_regular(int path_only);

// Another descriptor of a file that is open for reading, with a position of its own, at the start; -1 with errno set.
int file_reopen(int fd);

// Whether both paths exist and name the same file.
bool file_is_same(const char *left, const char *right);

// Writes all bytes; false with errno set.
bool file_write(int fd, const void *bytes, size_t size);

#endif
