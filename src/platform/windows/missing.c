// SPDX-License-Identifier: Apache-2.0
// What reading code takes from the C library and Windows' has not.
#include <io.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
// This one last.
#include <windows.h>

#undef opendir

void *memmem(const void *bytes, size_t size, const void *wanted, size_t length) {
    const char *at = bytes;
    for (; size >= length; at++, size--)
        if (memcmp(at, wanted, length) == 0)
            return (void *)(uintptr_t)at;
    return NULL;
}

void *memrchr(const void *bytes, int byte, size_t size) {
    const unsigned char *at = bytes;
    while (size)
        if (at[--size] == (unsigned char)byte)
            return (void *)(uintptr_t)(at + size);
    return NULL;
}

char *strcasestr(const char *text, const char *wanted) {
    const size_t length = strlen(wanted);
    for (; strlen(text) >= length; text++)
        if (_strnicmp(text, wanted, length) == 0)
            return (char *)(uintptr_t)text;
    return NULL;
}

char *strndup(const char *text, size_t most) {
    const size_t length = strnlen(text, most);
    char *copy = malloc(length + 1);
    if (copy) {
        memcpy(copy, text, length);
        copy[length] = '\0';
    }
    return copy;
}

// For terminals, which nothing here writes to.
int wcwidth(wchar_t character) {
    return character < ' ' ? -1 : 1;
}

FILE *open_memstream(char **text, size_t *size) {
    (void)text;
    (void)size;
    errno = ENOSYS;
    return NULL;
}

// ---- files

// The place of the descriptor stays.
ssize_t pread(int fd, void *into, size_t size, off_t offset) {
    const HANDLE file = (HANDLE)_get_osfhandle(fd);
    const __int64 before = _lseeki64(fd, 0, SEEK_CUR);
    OVERLAPPED place = {.Offset = (DWORD)offset, .OffsetHigh = (DWORD)((uint64_t)offset >> 32)};
    DWORD got = 0;
    const BOOL good = ReadFile(file, into, size > INT32_MAX ? INT32_MAX : (DWORD)size, &got, &place);
    const BOOL over = !good && GetLastError() == ERROR_HANDLE_EOF;
    (void)_lseeki64(fd, before, SEEK_SET);
    if (!good && !over) {
        errno = EIO;
        return -1;
    }
    return (ssize_t)got;
}

int mkostemp(char *name, int flags) {
    (void)name;
    (void)flags;
    errno = ENOSYS;
    return -1;
}

static char folder[MAX_PATH];

DIR *windows_opendir(const char *path) {
    (void)snprintf(folder, sizeof folder, "%s", path);
    return opendir(path);
}

int windows_openat(const char *name, int flags) {
    char path[2 * MAX_PATH];
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    return _open(path, flags);
}
