// SPDX-License-Identifier: Apache-2.0
// The files that a WebAssembly module reads: its host (studio/src/reader/module.ts) has them, or asks a server for parts of them. The
// reader of SBT calls it.
#include "platform/file.h"

#include <errno.h>
#include <string.h>

#include "base/status.h"

// Functions of the host. Sizes and offsets are doubles, which JavaScript has exactly up to 2^53.
#define HOST(name) __attribute__((import_module("host"), import_name(name)))
// The number of a file, from 0; negative: there is none of that name, or it cannot be read.
HOST("open") int32_t host_open(const char *name, size_t length);
HOST("size") double host_size(int32_t file);
// Copies up to `size` bytes at `offset` to `out`: how many there were, or -1.
HOST("read") int32_t host_read(int32_t file, double offset, void *out, size_t size);

static tsmith_status take_size(int fd, const char *name, uint64_t *size, tsmith_error *error) {
    const double length = host_size(fd);
    if (!(length >= 0 && length <= 0x1p53))
        return status_set(error, TSMITH_ERROR_IO, "%s cannot be examined", name);
    *size = (uint64_t)length;
    return TSMITH_OK;
}

tsmith_status file_open(const char *path, size_t probe, bool (*accept)(const uint8_t *bytes, size_t size),
                        int *out, uint64_t *size, tsmith_error *error) {
    (void)probe; // there are no pipes
    (void)accept;
    const int32_t file = host_open(path, strlen(path));
    if (file < 0)
        return status_set(error, TSMITH_ERROR_NOT_FOUND, "%s cannot be opened", path);
    *out = file;
    return take_size(file, path, size, error);
}

tsmith_status file_share(int fd, const char *name, int *out, uint64_t *size, tsmith_error *error) {
    *out = fd;
    return take_size(fd, name, size, error);
}

int64_t file_read(int fd, uint64_t offset, void *out, size_t size) {
    const int32_t got = size > INT32_MAX ? -1 : host_read(fd, (double)offset, out, size);
    if (got < 0)
        errno = EIO;
    return got;
}

void file_close(int fd) {
    (void)fd;
}

uint64_t file_after_hole(int fd, uint64_t offset, uint64_t size) {
    (void)fd;
    (void)size;
    return offset; // a server does not tell
}
