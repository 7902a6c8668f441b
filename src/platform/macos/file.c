// SPDX-License-Identifier: Apache-2.0
// Files on macOS, as far as reading and exporting need them. src/platform/posix/file.c opens and reads traces there.
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tracesmith/processors.h"

bool file_write(int fd, const void *bytes, size_t size) {
    const char *at = bytes;
    while (size) {
        const ssize_t written = write(fd, at, size < INT_MAX ? size : INT_MAX); // more is refused
        if (written < 0 && errno == EAGAIN) {
            struct pollfd waiting = {.fd = fd, .events = POLLOUT};
            (void)poll(&waiting, 1, -1);
        } else if (written > 0) {
            at += written;
            size -= (size_t)written;
        } else if (written == 0 || errno != EINTR) {
            return false;
        }
    }
    return true;
}

int file_temporary(void) {
    char name[PATH_MAX];
    const char *folder = getenv("TMPDIR");
    if ((size_t)snprintf(name, sizeof name, "%s/tracesmith-XXXXXX", folder && *folder ? folder : "/tmp") >=
        sizeof name) {
        errno = ENAMETOOLONG;
        return -1;
    }
    const int fd = mkostemp(name, O_CLOEXEC);
    if (fd >= 0)
        (void)unlink(name);
    return fd;
}

// By its name: what /dev/fd opens shares the position. Fails if another file has the name by now.
int file_reopen(int fd) {
    char path[PATH_MAX];
    struct stat before, after;
    const int again = fcntl(fd, F_GETPATH, path) == 0 ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (again >= 0 && fstat(fd, &before) == 0 && fstat(again, &after) == 0 && before.st_dev == after.st_dev &&
        before.st_ino == after.st_ino)
        return again;
    if (again >= 0) {
        (void)close(again);
        errno = ESTALE;
    }
    return -1;
}

unsigned tsmith_processors(void) {
    const long count = sysconf(_SC_NPROCESSORS_ONLN);
    return count > 0 ? (unsigned)count : 1;
}
