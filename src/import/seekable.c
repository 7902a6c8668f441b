// SPDX-License-Identifier: Apache-2.0
// Gives random access to a trace file, decompressing or copying it first where needed. The SQLite, XPlane and XRay
// importers call it.
#include "import/seekable.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"

#define UNPACKED_MAX ((uint64_t)64 << 30)

static tsmith_status copy_pipe(int to, const struct import_place *place, tsmith_error *error) {
    char bytes[1 << 14];
    ssize_t got = 1;
    bool whole = file_write(to, place->first, place->first_size);
    while (whole && got) {
        struct pollfd waiting = {.fd = place->fd, .events = POLLIN};
        got = read(place->fd, bytes, sizeof bytes);
        if (got < 0 && errno == EAGAIN)
            (void)poll(&waiting, 1, -1);
        else if (got < 0 && errno != EINTR)
            return status_set_errno(error, "%s: cannot be read", place->name);
        whole = got <= 0 || file_write(to, bytes, (size_t)got);
    }
    if (whole)
        return TSMITH_OK;
    return status_set_errno(error, "%s: cannot be copied (set TMPDIR to another directory)", place->name);
}

tsmith_status seekable_open(struct seekable *file, const struct import_place *place, tsmith_error *error) {
    struct stat stat;
    tsmith_status status = TSMITH_OK;
    *file = (struct seekable){.fd = place->fd, .owned = place->owned};
    if (place->first_size) {
        int copy = file_temporary();
        status = copy < 0 ? status_set_errno(error,
                                             "%s: no temporary file for it (set TMPDIR to another directory)",
                                             place->name)
                          : copy_pipe(copy, place, error);
        seekable_close(file);
        *file = (struct seekable){.fd = copy, .owned = true};
    }
    if (status == TSMITH_OK && fstat(file->fd, &stat) != 0)
        status = status_set_errno(error, "%s: cannot be read", place->name);
    if (status == TSMITH_OK)
        file->size = (uint64_t)stat.st_size;
    else
        seekable_close(file);
    return status;
}

// Into a file without a name, as far as the input goes.
static tsmith_status unpack(struct seekable *file, struct input *input, const char *name,
                            tsmith_error *error) {
    tsmith_status status = TSMITH_OK;
    *file = (struct seekable){.fd = file_temporary(), .owned = true};
    if (file->fd < 0)
        return status_set_errno(error, "%s: no temporary file for it (set TMPDIR to another directory)",
                                name);
    while (status == TSMITH_OK) {
        size_t there = input->end - input->begin;
        if (!file_write(file->fd, input->window + input->begin, there))
            return status_set_errno(error, "%s: cannot be decompressed (set TMPDIR to another directory)",
                                    name);
        input->begin = input->end;
        file->size += there;
        if (file->size > UNPACKED_MAX)
            return status_set(error, TSMITH_ERROR_LIMIT,
                              "%s: unpacks to more than %llu GiB: decompress it first", name,
                              (unsigned long long)UNPACKED_MAX >> 30);
        status = input_more(input, error);
    }
    file->problem = input->cut ? input->problem : NULL;
    return status == TSMITH_END ? TSMITH_OK : status;
}

tsmith_status seekable_take(struct seekable *file, struct input *input, const char *name,
                            tsmith_error *error) {
    struct stat stat;
    tsmith_status status = TSMITH_OK;
    *file = (struct seekable){.fd = input_take_file(input, &file->owned)};
    if (file->fd < 0)
        status = unpack(file, input, name, error);
    else if (fstat(file->fd, &stat) == 0)
        file->size = (uint64_t)stat.st_size;
    else
        status = status_set_errno(error, "%s: cannot be read", name);
    input_close(input);
    if (status != TSMITH_OK)
        seekable_close(file);
    return status;
}

void seekable_close(struct seekable *file) {
    if (file->owned && file->fd >= 0)
        (void)close(file->fd);
    *file = (struct seekable){.fd = -1};
}

size_t seekable_peek(const struct import_place *place, void *into, size_t size) {
    if (place->first_size) {
        size_t there = place->first_size < size ? place->first_size : size;
        memcpy(into, place->first, there);
        return there;
    }
    ssize_t got = pread(place->fd, into, size, 0);
    return got < 0 ? 0 : (size_t)got;
}

int64_t seekable_read(const struct seekable *file, uint64_t offset, void *into, size_t size) {
    size_t there = 0;
    while (there < size) {
        ssize_t got = pread(file->fd, (char *)into + there, size - there, (off_t)(offset + there));
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return -1;
        if (got == 0)
            break;
        there += (size_t)got;
    }
    return (int64_t)there;
}
