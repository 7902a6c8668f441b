// SPDX-License-Identifier: Apache-2.0
// The files behind a trace. Reading is by pread into memory of our own and never through a mapping: a file
// that shrinks while it is mapped kills its reader (SIGBUS), one that shrinks while it is read is merely
// short; and what was read does not count as resident. The copy costs a few per cent of decoding.
#ifndef SBT_FILE_H
#define SBT_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/file.h"
#include "tracesmith/status.h"

// Creates (or, when not `exclusive`, replaces) a file for writing, mode 0600, and writes `head` into it
// before it appears under its name. What is not a regular file is opened as it is.
tsmith_status file_create(const char *path, bool exclusive, const void *head, size_t head_size, int *out,
                          tsmith_error *error);

// Opens for reading. A pipe is copied to an unlinked temporary file first, once its first `probe` bytes are
// there and `accept` takes them. Directories and other things are refused.
tsmith_status file_open(const char *path, size_t probe, bool (*accept)(const uint8_t *bytes, size_t size),
                        int *out, uint64_t *size, tsmith_error *error);
// A descriptor of a regular file that another process has open: a duplicate, and the size of the file.
tsmith_status file_share(int fd, const char *name, int *out, uint64_t *size, tsmith_error *error);
// Reads up to `size` bytes at `offset`: how many there were, or -1 with errno set.
int64_t file_read(int fd, uint64_t offset, void *out, size_t size);

#endif
