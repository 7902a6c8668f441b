// SPDX-License-Identifier: Apache-2.0
// The files behind a trace, for reading. Where there is no POSIX another file than posix/file.c has these functions.
//
// Reading is by pread into memory of our own and never through a mapping: a file
// that shrinks while it is mapped kills its reader (SIGBUS), one that shrinks while it is read is merely
// short; and what was read does not count as resident. The copy costs a few per cent of decoding.
#ifndef PLATFORM_FILE_H
#define PLATFORM_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tracesmith/status.h"

// Opens for reading. A pipe is copied to an unlinked temporary file first, once its first `probe` bytes are
// there and `accept` takes them. Directories and other things are refused.
tsmith_status file_open(const char *path, size_t probe, bool (*accept)(const uint8_t *bytes, size_t size),
                        int *out, uint64_t *size, tsmith_error *error);
// A descriptor of a regular file that another process has open: a duplicate, and the size of the file.
tsmith_status file_share(int fd, const char *name, int *out, uint64_t *size, tsmith_error *error);
// Reads up to `size` bytes at `offset`: how many there were, or -1 with errno set.
int64_t file_read(int fd, uint64_t offset, void *out, size_t size);
void file_close(int fd);
// `offset`, or, where it is in a hole of the file, the next byte that is not (`size`, that of the file: there is none).
uint64_t file_after_hole(int fd, uint64_t offset, uint64_t size);

#endif
