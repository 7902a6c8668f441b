// SPDX-License-Identifier: Apache-2.0
// Decompression of zstd, as reading code has it: by libzstd where there is one (posix/unzstd.c), by unzstd_own.c elsewhere.
#ifndef PLATFORM_UNZSTD_H
#define PLATFORM_UNZSTD_H

#include <stdbool.h>
#include <stddef.h>

// One zstd frame of `size` bytes into exactly `plain` bytes; false when it is damaged or has another length. *state is NULL at
// first and kept for the next frame: it is freed by unzstd_finish. One thread at a time.
bool unzstd(void **state, const void *bytes, size_t size, void *out, size_t plain);
void unzstd_finish(void *state);

// The same by code of our own (RFC 8878): one frame, no dictionary. A checksum of the content is not compared: frames of SBT have
// a CRC32C, and libzstd's default is to write none. The state is freed with free().
bool unzstd_own(void **state, const void *bytes, size_t size, void *out, size_t plain);

#endif
