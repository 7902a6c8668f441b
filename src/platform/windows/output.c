// SPDX-License-Identifier: Apache-2.0
// Output on Windows, to a descriptor or to a function of the caller, temporary files, and files that are opened once more. Exporters,
// reports and importers call it.
#include <errno.h>
#include <io.h>
#include <stdio.h>
#include <stdlib.h>
// This one last.
#include <windows.h>

#include "base/destination.h"
#include "base/file.h"
#include "base/status.h"

bool file_write(int fd, const void *bytes, size_t size) {
    for (const char *at = bytes; size;) {
        const int done = _write(fd, at, size > INT32_MAX ? INT32_MAX : (unsigned)size);
        if (done <= 0) { // 0: the console takes a first byte of 26 for the end of what is written
            errno = done < 0 ? errno : ENOSPC;
            return false;
        }
        at += done;
        size -= (size_t)done;
    }
    return true;
}

static int take_handle(HANDLE file, int flags) {
    const int fd = file == INVALID_HANDLE_VALUE ? -1 : _open_osfhandle((intptr_t)file, flags | _O_NOINHERIT);
    if (fd < 0) {
        if (file != INVALID_HANDLE_VALUE)
            (void)CloseHandle(file);
        errno = EIO;
    }
    return fd;
}

// Deleted when it is closed, and until then no other program can open it.
int file_temporary(void) {
    char folder[MAX_PATH + 1], name[MAX_PATH + 1];
    const char *given = getenv("TMPDIR");
    const bool has_folder = given && *given
                                ? (size_t)snprintf(folder, sizeof folder, "%s", given) < sizeof folder
                                : GetTempPathA(sizeof folder, folder) - 1 < sizeof folder - 1;
    if (!has_folder || !GetTempFileNameA(folder, "tsm", 0, name)) {
        errno = ENOENT;
        return -1;
    }
    return take_handle(CreateFileA(name, GENERIC_READ | GENERIC_WRITE, 0, NULL, OPEN_EXISTING,
                                   FILE_ATTRIBUTE_TEMPORARY | FILE_FLAG_DELETE_ON_CLOSE, NULL),
                       _O_RDWR | _O_BINARY);
}

int file_reopen(int fd) {
    return take_handle(ReOpenFile((HANDLE)_get_osfhandle(fd), GENERIC_READ,
                                  FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, 0),
                       _O_RDONLY | _O_BINARY);
}

// A function's status, with those that are no failure made one.
static tsmith_status call(const tsmith_output *output, const void *bytes, size_t size) {
    const tsmith_status status = size ? output->write(output->context, bytes, size) : TSMITH_OK;
    return status > TSMITH_OK ? TSMITH_ERROR_IO : status;
}

tsmith_status destination_write(const struct destination *to, const char *name, const void *bytes,
                                size_t size, tsmith_error *error) {
    if (!to->output.write)
        return file_write(to->fd, bytes, size) ? TSMITH_OK
                                               : status_set_errno(error, "%s: cannot be written", name);
    const tsmith_status status = call(&to->output, bytes, size);
    return status == TSMITH_OK
               ? TSMITH_OK
               : status_set(error, status, "%s: cannot be written: %s", name, tsmith_status_text(status));
}

tsmith_status destination_check(const tsmith_output *output, tsmith_error *error) {
    return output && output->write
               ? TSMITH_OK
               : status_set(error, TSMITH_ERROR_INVALID_ARGUMENT, "the output has no write function");
}

static tsmith_status pass_on(FILE *from, const tsmith_output *output, tsmith_error *error) {
    char bytes[1 << 14];
    tsmith_status status = TSMITH_OK;
    rewind(from);
    for (size_t got = 1; status == TSMITH_OK && got;) {
        got = fread(bytes, 1, sizeof bytes, from);
        status = call(output, bytes, got);
    }
    if (status != TSMITH_OK)
        return status_set(error, status, "The output could not be written: %s", tsmith_status_text(status));
    return ferror(from) ? status_set_errno(error, "The output could not be written") : TSMITH_OK;
}

// Windows has no FILE over a function: what is printed goes through a temporary file.
tsmith_status destination_print(const tsmith_output *output,
                                tsmith_status (*print)(const void *what, FILE *out, tsmith_error *error),
                                const void *what, tsmith_error *error) {
    tsmith_status status = destination_check(output, error);
    if (status != TSMITH_OK)
        return status;
    const int fd = file_temporary();
    FILE *out = fd < 0 ? NULL : _fdopen(fd, "w+b");
    if (!out) {
        status = status_set_errno(error, "The output could not be opened");
        if (fd >= 0)
            (void)_close(fd);
        return status;
    }
    status = print(what, out, error);
    if (status == TSMITH_OK)
        status = pass_on(out, output, error);
    (void)fclose(out);
    return status;
}
