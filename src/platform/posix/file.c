// SPDX-License-Identifier: Apache-2.0
// Opens and reads trace files where there is POSIX. The reader of SBT calls it.
#include "platform/file.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/status.h"

enum { FIRST_BYTES_MS = 10000, SILENCE_MS = 60000 };

// The next bytes of a pipe; 0 at its end, -1 with errno set (ETIMEDOUT when nothing came).
static ssize_t read_pipe(int fd, void *out, size_t size, int patience_ms, bool *had_writer) {
    for (;;) {
        struct pollfd waiting = {.fd = fd, .events = POLLIN};
        int ready = poll(&waiting, 1, patience_ms);
        if (ready < 0 && errno == EINTR)
            continue;
        if (ready == 0)
            errno = ETIMEDOUT;
        if (ready <= 0)
            return -1;
        ssize_t got = read(fd, out, size);
        if (got < 0 && (errno == EINTR || errno == EAGAIN))
            continue;
        *had_writer = true;
        return got;
    }
}

static tsmith_status copy_pipe(const char *path, int from, int to, size_t probe,
                               bool (*accept)(const uint8_t *bytes, size_t size), uint64_t *size,
                               tsmith_error *error) {
    uint8_t bytes[1 << 16];
    size_t held = 0;
    bool accepted = false, had_writer = false;
    *size = 0;
    for (;;) {
        ssize_t got = read_pipe(from, bytes + held, sizeof bytes - held,
                                had_writer ? SILENCE_MS : FIRST_BYTES_MS, &had_writer);
        if (got < 0)
            return status_set_errno(error, "%s: the pipe delivered no further data", path);
        held += (size_t)got;
        if (!accepted && held < probe && got > 0)
            continue;
        if (!accepted && !accept(bytes, held))
            return status_set_at(error, TSMITH_ERROR_FORMAT, 0, UINT64_MAX,
                                 "%s: the pipe does not deliver an SBT trace", path);
        accepted = true;
        if (!file_write(to, bytes, held))
            return status_set_errno(error, "%s: no space for a temporary copy of this pipe", path);
        *size += held;
        held = 0;
        if (got == 0)
            return TSMITH_OK;
    }
}

static tsmith_status open_pipe(const char *path, int pipe_fd, size_t probe,
                               bool (*accept)(const uint8_t *bytes, size_t size), int *out, uint64_t *size,
                               tsmith_error *error) {
    int copy = file_temporary();
    if (copy < 0)
        return status_set_errno(error, "%s: no temporary file for the contents of this pipe", path);
    tsmith_status status = copy_pipe(path, pipe_fd, copy, probe, accept, size, error);
    if (status == TSMITH_OK)
        *out = copy;
    else
        close(copy);
    return status;
}

tsmith_status file_open(const char *path, size_t probe, bool (*accept)(const uint8_t *bytes, size_t size),
                        int *out, uint64_t *size, tsmith_error *error) {
    // Without O_NONBLOCK a pipe without a writer would block here.
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return status_set_errno(error, "%s cannot be opened", path);
    struct stat stat;
    tsmith_status status = TSMITH_OK;
    if (fstat(fd, &stat) != 0) {
        status = status_set_errno(error, "%s cannot be examined", path);
    } else if (S_ISREG(stat.st_mode)) {
        *out = fd;
        *size = (uint64_t)stat.st_size;
        return TSMITH_OK;
    } else if (S_ISFIFO(stat.st_mode) || S_ISSOCK(stat.st_mode)) {
        status = open_pipe(path, fd, probe, accept, out, size, error);
    } else {
        status = status_set(error, TSMITH_ERROR_FORMAT, "%s is %s, not a trace", path,
                            S_ISDIR(stat.st_mode) ? "a folder" : "a device");
    }
    close(fd);
    return status;
}

tsmith_status file_share(int fd, const char *name, int *out, uint64_t *size, tsmith_error *error) {
    struct stat stat;
    if (fstat(fd, &stat) != 0)
        return status_set_errno(error, "%s cannot be examined", name);
    if (!S_ISREG(stat.st_mode))
        return status_set(error, TSMITH_ERROR_INVALID_ARGUMENT, "%s is not a regular file", name);
    *out = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    if (*out < 0)
        return status_set_errno(error, "%s cannot be reopened", name);
    *size = (uint64_t)stat.st_size;
    return TSMITH_OK;
}

int64_t file_read(int fd, uint64_t offset, void *out, size_t size) {
    size_t got = 0;
    while (got < size) {
        ssize_t now = pread(fd, (char *)out + got, size - got, (off_t)(offset + got));
        if (now < 0 && errno == EINTR)
            continue;
        if (now < 0)
            return -1;
        if (now == 0)
            break;
        got += (size_t)now;
    }
    return (int64_t)got;
}

void file_close(int fd) {
    (void)close(fd);
}

uint64_t file_after_hole(int fd, uint64_t offset, uint64_t size) {
    const off_t data = lseek(fd, (off_t)offset, SEEK_DATA);
    if (data < 0)
        return errno == ENXIO ? size
                              : offset; // nothing but a hole up to the end; or holes are not known here
    return (uint64_t)data;
}
