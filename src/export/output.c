// SPDX-License-Identifier: Apache-2.0
// Buffers an exporter's output and writes it to a file, optionally through gzip. Every exporter calls it.
#include "export/output.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

struct output_target {
    struct destination to;
    bool owned, gzip_open;
    char *name;
    char *temporary; // the name until the file is complete; NULL: its own
    bool created;    // under its own name, and not complete: a part of an output is deleted
    z_stream gzip;
    unsigned char *packed;
};

static void fail(struct output *output, tsmith_status status) {
    if (output->status == TSMITH_OK)
        output->status = status;
}

static void write_all(struct output *output, const void *bytes, size_t length) {
    const struct output_target *target = output->target;
    if (output->status == TSMITH_OK)
        fail(output, destination_write(&target->to, target->name, bytes, length, &output->error));
}

static void write_gzip(struct output *output, const char *bytes, size_t length, int flush) {
    struct output_target *target = output->target;
    target->gzip.next_in = (Bytef *)(uintptr_t)bytes;
    target->gzip.avail_in = (uInt)length;
    do {
        target->gzip.next_out = target->packed;
        target->gzip.avail_out = OUTPUT_SIZE;
        (void)deflate(&target->gzip, flush);
        write_all(output, target->packed, OUTPUT_SIZE - target->gzip.avail_out);
    } while (target->gzip.avail_out == 0 && output->status == TSMITH_OK);
}

static void write_bytes(struct output *output, const char *bytes, size_t length) {
    if (output->status != TSMITH_OK || length == 0)
        return;
    if (output->target->gzip_open)
        write_gzip(output, bytes, length, Z_NO_FLUSH);
    else
        write_all(output, bytes, length);
}

void output_flush(struct output *output) {
    write_bytes(output, output->buffer, output->used);
    output->used = 0;
}

void output_bytes(struct output *output, const char *bytes, size_t length) {
    if (length >= OUTPUT_SIZE) { // no copy
        output_flush(output);
        write_bytes(output, bytes, length);
        return;
    }
    while (length) {
        size_t room = OUTPUT_SIZE - output->used, part = length < room ? length : room;
        memcpy(output->buffer + output->used, bytes, part);
        output->used += part;
        bytes += part;
        length -= part;
        if (output->used == OUTPUT_SIZE)
            output_flush(output);
    }
}

// Opens a file next to `path` that replaces it when it is complete. False if it cannot: `path` is a link or no file, or its
// folder is not writable.
static bool open_temporary(struct output_target *target, const char *path) {
    struct stat status;
    const bool exists = lstat(path, &status) == 0;
    const size_t size = strlen(path) + sizeof ".XXXXXX";
    if ((exists && !S_ISREG(status.st_mode)) || !(target->temporary = malloc(size)))
        return false;
    (void)snprintf(target->temporary, size, "%s.XXXXXX", path);
    target->to.fd = mkostemp(target->temporary, O_CLOEXEC);
    if (target->to.fd < 0) {
        free(target->temporary);
        target->temporary = NULL;
        return false;
    }
    if (exists)
        (void)fchmod(target->to.fd, status.st_mode & 0777);
    return true;
}

static bool open_path(struct output_target *target, const struct export_place *place, bool exclusive) {
    if (exclusive || !open_temporary(target, place->path))
        target->to.fd =
            open(place->path, O_WRONLY | O_CREAT | O_CLOEXEC | (exclusive ? O_EXCL : O_TRUNC), 0600);
    target->created = exclusive && target->to.fd >= 0;
    return target->to.fd >= 0;
}

tsmith_status output_open(struct output *output, const struct export_place *place,
                          const tsmith_export_options *options, tsmith_error *error) {
    *output = (struct output){.status = TSMITH_OK};
    struct output_target *target = calloc(1, sizeof *target);
    output->target = target;
    output->buffer = malloc(OUTPUT_SIZE + OUTPUT_RESERVE);
    if (!target || !output->buffer)
        goto no_memory;
    const char *path = place->path;
    target->to = place->to;
    target->name = strdup(path ? path : "output");
    bool gzip = options->gzip != 0;
    if (gzip) {
        target->packed = malloc(OUTPUT_SIZE);
        target->gzip_open = target->packed && deflateInit2(&target->gzip, Z_DEFAULT_COMPRESSION, Z_DEFLATED,
                                                           15 + 16, 8, Z_DEFAULT_STRATEGY) == Z_OK;
    }
    if (!target->name || gzip != target->gzip_open)
        goto no_memory;
    if (path) {
        target->owned = open_path(target, place, options->exclusive != 0);
        if (!target->owned) {
            tsmith_status status = status_set_errno(error, "%s: cannot be created", path);
            output_close(output);
            return status;
        }
    }
    return TSMITH_OK;
no_memory:
    output_close(output);
    return status_set(error, TSMITH_ERROR_NO_MEMORY, "out of memory");
}

tsmith_status output_sink(struct output *output, const tsmith_sink_ops *ops, void *self,
                          const struct export_place *place, const tsmith_export_options *options,
                          tsmith_sink **out, tsmith_error *error) {
    tsmith_status status = output_open(output, place, options, error);
    if (status == TSMITH_OK && tsmith_sink_create(ops, self, out) == TSMITH_OK)
        return TSMITH_OK;
    if (status == TSMITH_OK)
        status = status_set(error, TSMITH_ERROR_NO_MEMORY, "out of memory");
    ops->destroy(self);
    return status;
}

tsmith_status output_finish(struct output *output, tsmith_error *error) {
    output_flush(output);
    struct output_target *target = output->target;
    if (target->gzip_open && output->status == TSMITH_OK)
        write_gzip(output, "", 0, Z_FINISH);
    if (target->owned && output->status == TSMITH_OK) {
        target->owned = false;
        if (close(target->to.fd) != 0)
            fail(output, status_set_errno(&output->error, "%s: cannot be written", target->name));
    }
    if (target->temporary && output->status == TSMITH_OK) {
        if (rename(target->temporary, target->name) != 0)
            fail(output, status_set_errno(&output->error, "%s: cannot be created", target->name));
        else
            target->temporary[0] = '\0';
    }
    target->created &= output->status != TSMITH_OK;
    if (output->status != TSMITH_OK && error)
        *error = output->error;
    return output->status;
}

void output_close(struct output *output) {
    struct output_target *target = output->target;
    if (target) {
        if (target->owned)
            (void)close(target->to.fd);
        if (target->gzip_open)
            (void)deflateEnd(&target->gzip);
        if (target->temporary && target->temporary[0])
            (void)unlink(target->temporary);
        if (target->created)
            (void)unlink(target->name);
        free(target->temporary);
        free(target->packed);
        free(target->name);
        free(target);
    }
    free(output->buffer);
    *output = (struct output){0};
}

tsmith_string output_track_name(const tsmith_dictionary *dictionary, uint32_t track,
                                char room[TSMITH_LABEL_SIZE]) {
    const tsmith_track *entry = tsmith_dictionary_track(dictionary, track);
    const tsmith_string name = tsmith_dictionary_string(dictionary, entry ? entry->name : 0);
    return name.length ? name : tsmith_track_name(dictionary, track, room);
}
