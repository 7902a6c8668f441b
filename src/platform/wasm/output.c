// SPDX-License-Identifier: Apache-2.0
// wasi-libc's printf brings its standard streams along. There is nothing to write to: these take the place of the functions that it
// would import from a host.
#include <errno.h>
#include <stdint.h>

// As wasi-libc names them.
int32_t __imported_wasi_snapshot_preview1_fd_write(int32_t fd, int32_t parts, int32_t count, int32_t written);
int32_t __imported_wasi_snapshot_preview1_fd_seek(int32_t fd, int64_t offset, int32_t whence, int32_t out);
int32_t __imported_wasi_snapshot_preview1_fd_close(int32_t fd);

int32_t __imported_wasi_snapshot_preview1_fd_write(int32_t fd, int32_t parts, int32_t count,
                                                   int32_t written) {
    (void)fd;
    (void)parts;
    (void)count;
    (void)written;
    return EBADF;
}

int32_t __imported_wasi_snapshot_preview1_fd_seek(int32_t fd, int64_t offset, int32_t whence, int32_t out) {
    (void)fd;
    (void)offset;
    (void)whence;
    (void)out;
    return EBADF;
}

int32_t __imported_wasi_snapshot_preview1_fd_close(int32_t fd) {
    (void)fd;
    return EBADF;
}
