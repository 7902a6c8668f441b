// SPDX-License-Identifier: Apache-2.0
// Opens and reads trace files on Windows. Names are UTF-8. The reader of SBT calls it.
#include "platform/file.h"

#include <errno.h>
#include <fcntl.h>
#include <io.h>
#include <stdlib.h>
#include <sys/stat.h>
// This one last.
#include <windows.h>

#include "base/status.h"

enum { READ_MOST = 1 << 30 };

static int open_name(const char *path) {
    const int length = MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, path, -1, NULL, 0);
    wchar_t *name = length > 0 ? calloc((size_t)length, sizeof *name) : NULL;
    int fd = -1;
    if (name && MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, path, -1, name, length) == length)
        fd = _wopen(name, _O_RDONLY | _O_BINARY | _O_NOINHERIT);
    else
        errno = length > 0 ? ENOMEM : EINVAL;
    free(name);
    return fd;
}

static tsmith_status take_size(int fd, const char *name, uint64_t *size, tsmith_error *error) {
    struct _stat64 info;
    if (_fstat64(fd, &info) != 0)
        return status_set_errno(error, "%s cannot be examined", name);
    if ((info.st_mode & _S_IFMT) != _S_IFREG)
        return status_set(error, TSMITH_ERROR_FORMAT, "%s is not a regular file", name);
    *size = (uint64_t)info.st_size;
    return TSMITH_OK;
}

tsmith_status file_open(const char *path, size_t probe, bool (*accept)(const uint8_t *bytes, size_t size),
                        int *out, uint64_t *size, tsmith_error *error) {
    (void)probe; // pipes are refused
    (void)accept;
    const int fd = open_name(path);
    if (fd < 0)
        return status_set_errno(error, "%s cannot be opened", path);
    const tsmith_status status = take_size(fd, path, size, error);
    if (status == TSMITH_OK)
        *out = fd;
    else
        file_close(fd);
    return status;
}

tsmith_status file_share(int fd, const char *name, int *out, uint64_t *size, tsmith_error *error) {
    const tsmith_status status = take_size(fd, name, size, error);
    if (status != TSMITH_OK)
        return status;
    *out = _dup(fd);
    return *out < 0 ? status_set_errno(error, "%s cannot be reopened", name) : TSMITH_OK;
}

int64_t file_read(int fd, uint64_t offset, void *out, size_t size) {
    const HANDLE file = (HANDLE)_get_osfhandle(fd);
    size_t done = 0;
    while (done < size) {
        OVERLAPPED place = {.Offset = (DWORD)(offset + done), .OffsetHigh = (DWORD)((offset + done) >> 32)};
        const DWORD wanted = size - done > READ_MOST ? READ_MOST : (DWORD)(size - done);
        DWORD got = 0;
        if (!ReadFile(file, (char *)out + done, wanted, &got, &place)) {
            if (GetLastError() == ERROR_HANDLE_EOF)
                break;
            errno = EIO;
            return -1;
        }
        if (got == 0)
            break;
        done += got;
    }
    return (int64_t)done;
}

void file_close(int fd) {
    (void)_close(fd);
}

uint64_t file_after_hole(int fd, uint64_t offset, uint64_t size) {
    (void)fd;
    (void)size;
    return offset;
}
