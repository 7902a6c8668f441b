// SPDX-License-Identifier: Apache-2.0
// SQLite reading from a descriptor and from nothing else.
//
// A file system of our own for SQLite: the database is the descriptor, it never changes, and there is no other
// file. So nothing is created, locked or opened next to the user's file, and the content of a database cannot
// reach any other file.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "import/sqlite_file.h"

struct handle {
    sqlite3_file base;
    int fd;               // not owned
    sqlite3_int64 stated; // bytes that the file should have
};

static int handle_close(sqlite3_file *file) {
    (void)file;
    return SQLITE_OK;
}

static int handle_read(sqlite3_file *file, void *into, int amount, sqlite3_int64 offset) {
    char *at = into;
    const size_t whole = (size_t)amount;
    while (amount > 0) {
        ssize_t got = pread(((struct handle *)file)->fd, at, (size_t)amount, offset);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return SQLITE_IOERR_READ;
        if (got == 0) {
            memset(into, 0, whole); // half a page is none
            return SQLITE_IOERR_SHORT_READ;
        }
        at += got;
        amount -= (int)got;
        offset += got;
    }
    return SQLITE_OK;
}

static int handle_write(sqlite3_file *file, const void *from, int amount, sqlite3_int64 offset) {
    (void)file, (void)from, (void)amount, (void)offset;
    return SQLITE_READONLY;
}

static int handle_truncate(sqlite3_file *file, sqlite3_int64 size) {
    (void)file, (void)size;
    return SQLITE_READONLY;
}

static int handle_flags(sqlite3_file *file, int flags) {
    (void)file, (void)flags;
    return SQLITE_OK;
}

// SQLite refuses a file that is shorter than its header states; here the existing part is read. Missing bytes read as
// zeros, which are not a page of a table.
static int handle_size(sqlite3_file *file, sqlite3_int64 *size) {
    const struct handle *handle = (struct handle *)file;
    struct stat status;
    if (fstat(handle->fd, &status) != 0)
        return SQLITE_IOERR_FSTAT;
    *size = status.st_size > handle->stated ? status.st_size : handle->stated;
    return SQLITE_OK;
}

static int handle_is_reserved(sqlite3_file *file, int *out) {
    (void)file;
    *out = 0;
    return SQLITE_OK;
}

static int handle_control(sqlite3_file *file, int operation, void *argument) {
    (void)file, (void)operation, (void)argument;
    return SQLITE_NOTFOUND;
}

static int handle_sector_size(sqlite3_file *file) {
    (void)file;
    return 4096;
}

static int handle_characteristics(sqlite3_file *file) {
    (void)file;
    return SQLITE_IOCAP_IMMUTABLE;
}

static int vfs_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags, int *out_flags) {
    static const sqlite3_io_methods methods = {
        .iVersion = 1,
        .xClose = handle_close,
        .xRead = handle_read,
        .xWrite = handle_write,
        .xTruncate = handle_truncate,
        .xSync = handle_flags,
        .xFileSize = handle_size,
        .xLock = handle_flags,
        .xUnlock = handle_flags,
        .xCheckReservedLock = handle_is_reserved,
        .xFileControl = handle_control,
        .xSectorSize = handle_sector_size,
        .xDeviceCharacteristics = handle_characteristics,
    };
    (void)vfs;
    file->pMethods = NULL;
    if (!name || !(flags & SQLITE_OPEN_MAIN_DB))
        return SQLITE_CANTOPEN;
    struct handle *handle = (struct handle *)file;
    handle->fd = (int)strtol(name, NULL, 10);
    handle->stated = (sqlite3_int64)sqlite_file_stated(handle->fd);
    file->pMethods = &methods;
    if (out_flags)
        *out_flags = SQLITE_OPEN_READONLY;
    return SQLITE_OK;
}

static int vfs_delete(sqlite3_vfs *vfs, const char *name, int sync) {
    (void)vfs, (void)name, (void)sync;
    return SQLITE_READONLY;
}

static int vfs_access(sqlite3_vfs *vfs, const char *name, int flags, int *out) {
    (void)vfs, (void)name, (void)flags;
    *out = 0;
    return SQLITE_OK;
}

static int vfs_full_name(sqlite3_vfs *vfs, const char *name, int size, char *out) {
    (void)vfs;
    return snprintf(out, (size_t)size, "%s", name) < size ? SQLITE_OK : SQLITE_CANTOPEN;
}

static int vfs_randomness(sqlite3_vfs *vfs, int size, char *out) {
    (void)vfs;
    memset(out, 0, (size_t)size);
    return size;
}

static int vfs_sleep(sqlite3_vfs *vfs, int microseconds) {
    (void)vfs;
    return microseconds;
}

static int vfs_time(sqlite3_vfs *vfs, double *out) {
    (void)vfs;
    *out = 0;
    return SQLITE_OK;
}

uint64_t sqlite_file_stated(int fd) {
    unsigned char head[32];
    if (pread(fd, head, sizeof head, 0) != (ssize_t)sizeof head)
        return 0;
    uint64_t page = (uint64_t)head[16] << 8 | head[17],
             pages = (uint64_t)head[28] << 24 | (uint64_t)head[29] << 16 | (uint64_t)head[30] << 8 | head[31];
    return pages * (page == 1 ? 65536 : page);
}

int sqlite_file_open(int fd, sqlite3 **out) {
    static sqlite3_vfs vfs = {
        .iVersion = 1,
        .szOsFile = sizeof(struct handle),
        .mxPathname = 64,
        .zName = "tracesmith-descriptor",
        .xOpen = vfs_open,
        .xDelete = vfs_delete,
        .xAccess = vfs_access,
        .xFullPathname = vfs_full_name,
        .xRandomness = vfs_randomness,
        .xSleep = vfs_sleep,
        .xCurrentTime = vfs_time,
    };
    char name[16];
    (void)snprintf(name, sizeof name, "%d", fd);
    *out = NULL;
    int result = sqlite3_initialize();
    if (result == SQLITE_OK)
        result = sqlite3_vfs_register(&vfs, 0);
    if (result == SQLITE_OK)
        result = sqlite3_open_v2(
            name, out, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_PRIVATECACHE, vfs.zName);
    return result;
}
