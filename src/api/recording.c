// SPDX-License-Identifier: Apache-2.0
// A trace with a recording in it: a file writer that, before it finishes, takes up what the recorders of the processes
// left in the session directory.
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/recording.h"
#include "base/array.h"
#include "base/status.h"
#include "recording/record.h"
#include "sbt/recording.h"
#include "tracesmith/replay.h"
#include "wire/channel.h"

struct recording_sink {
    struct sbt_writer *writer;
    char *directory; // NULL: nothing is recorded
};

// The records of one file, as frames: those with chunks and those without. Chunks of a record are in an earlier frame than
// the record. Frames of chunks are small: a damaged one costs as much data.
struct frames {
    struct sbt_writer *writer;
    uint32_t process;
    struct output pending[2];
};

static tsmith_status flush_frame(struct frames *frames, bool chunks, tsmith_error *error) {
    struct output *pending = &frames->pending[chunks];
    tsmith_status status = TSMITH_OK;
    if (pending->failed)
        status = status_set(error, TSMITH_ERROR_NO_MEMORY, "out of memory while reading the recording");
    else if (pending->length)
        status = sbt_recording_write(frames->writer, chunks ? FRAME_CHUNKS : FRAME_RECORDS, frames->process,
                                     pending->bytes, pending->length, error);
    pending->length = 0;
    return status;
}

static tsmith_status flush_frames(struct frames *frames, tsmith_error *error) {
    tsmith_status status = flush_frame(frames, true, error);
    return status == TSMITH_OK ? flush_frame(frames, false, error) : status;
}

// What of a recorder's file was read and is not carried yet. Files are read by pread: a recorded program may truncate its
// own while they are read, which ends them early and no worse.
struct left {
    int fd;
    uint64_t at; // in the file: the byte after those of `bytes`
    uint8_t *bytes;
    size_t length, capacity;
};

enum { LEFT_STEP = 1 << 20 };

// More of the file behind what is there. *ended: there is no more.
static tsmith_status read_more(struct left *left, bool *ended, tsmith_error *error) {
    if (!ARRAY_RESERVE(left->bytes, left->capacity, left->length + LEFT_STEP))
        return status_set(error, TSMITH_ERROR_NO_MEMORY, "out of memory while reading the recording");
    ssize_t got;
    do
        got = pread(left->fd, left->bytes + left->length, LEFT_STEP, (off_t)left->at);
    while (got < 0 && errno == EINTR);
    if (got < 0)
        return status_set_errno(error, "a recording cannot be read");
    *ended = got == 0;
    left->length += (size_t)got;
    left->at += (size_t)got;
    return TSMITH_OK;
}

static tsmith_status carry_record(struct frames *frames, const struct recording_record *record,
                                  const uint8_t *bytes, size_t size, tsmith_error *error) {
    const bool chunk = record->type == RECORDING_CHUNK;
    output_bytes(&frames->pending[chunk], bytes, size);
    if (frames->pending[0].length > RECORDING_FRAME_BYTES)
        return flush_frames(frames, error);
    return frames->pending[1].length > RECORDING_CHUNKS_BYTES ? flush_frame(frames, true, error) : TSMITH_OK;
}

// A record that is torn or damaged ends the file: its process was killed, or changed it.
static tsmith_status carry_records(struct frames *frames, struct left *left, tsmith_error *error) {
    struct recording_record record;
    tsmith_status status = TSMITH_OK;
    for (bool ended = false; status == TSMITH_OK && !ended;) {
        enum recording_result result = RECORDING_DONE;
        size_t offset = 0, from = 0;
        status = read_more(left, &ended, error);
        while (status == TSMITH_OK &&
               (result = recording_next(left->bytes, left->length, &offset, &record)) == RECORDING_FOUND) {
            status = carry_record(frames, &record, left->bytes + from, offset - from, error);
            from = offset;
        }
        if (status == TSMITH_OK && result == RECORDING_DAMAGED)
            break;
        left->length -= from;
        memmove(left->bytes, left->bytes + from, left->length);
    }
    return status == TSMITH_OK ? flush_frames(frames, error) : status;
}

static tsmith_status carry_file(struct sbt_writer *writer, uint32_t process, int directory, const char *name,
                                tsmith_error *error) {
    struct frames frames = {.writer = writer, .process = process};
    struct left left = {.fd = openat(directory, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)};
    struct stat status;
    const tsmith_status result = left.fd < 0 || fstat(left.fd, &status) || !S_ISREG(status.st_mode)
                                     ? status_set_errno(error, "the recording %s cannot be read", name)
                                     : carry_records(&frames, &left, error);
    if (left.fd >= 0)
        close(left.fd);
    free(left.bytes);
    free(frames.pending[0].bytes);
    free(frames.pending[1].bytes);
    return result;
}

static int is_recording(const struct dirent *entry) {
    return strncmp(entry->d_name, CHANNEL_RECORDING_PREFIX, strlen(CHANNEL_RECORDING_PREFIX)) == 0;
}

bool recording_is_left(const char *directory) {
    DIR *listing = opendir(directory);
    bool found = false;
    for (struct dirent *entry; !found && listing && (entry = readdir(listing)) != NULL;)
        found = is_recording(entry) != 0;
    if (listing)
        closedir(listing);
    return found;
}

tsmith_status recording_carry(struct sbt_writer *writer, const char *path, tsmith_error *error) {
    struct dirent **entries = NULL;
    tsmith_status status = TSMITH_OK;
    int directory = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    int count = directory < 0 ? -1 : scandirat(directory, ".", &entries, is_recording, versionsort);
    if (count < 0)
        status = status_set_errno(error, "the recordings in %s cannot be listed", path);
    for (int i = 0; i < count; i++) {
        if (status == TSMITH_OK)
            status = carry_file(writer, (uint32_t)i + 1, directory, entries[i]->d_name, error);
        free(entries[i]);
    }
    free(entries);
    if (directory >= 0)
        close(directory);
    return status;
}

static tsmith_status sink_write(void *self, const tsmith_dictionary *dictionary, const tsmith_batch *batch,
                                tsmith_error *error) {
    struct recording_sink *sink = self;
    return sbt_writer_write(sink->writer, dictionary, batch, error);
}

static tsmith_status sink_finish(void *self, const tsmith_dictionary *dictionary, tsmith_error *error) {
    struct recording_sink *sink = self;
    tsmith_error first;
    tsmith_status carried =
        sink->directory ? recording_carry(sink->writer, sink->directory, &first) : TSMITH_OK;
    // The times are finished independent of the data.
    tsmith_status status = sbt_writer_finish(sink->writer, dictionary, error);
    if (status == TSMITH_OK && carried != TSMITH_OK && error)
        *error = first;
    return status == TSMITH_OK ? carried : status;
}

static void sink_destroy(void *self) {
    struct recording_sink *sink = self;
    sbt_writer_destroy(sink->writer);
    free(sink->directory);
    free(sink);
}

static const tsmith_sink_ops sink_ops = {sink_write, sink_finish, sink_destroy};

tsmith_status tsmith_recording_writer_open(const char *path, const tsmith_sbt_write_options *options,
                                           tsmith_recording_writer *out, tsmith_error *error) {
    *out = (tsmith_recording_writer){0};
    struct recording_sink *sink = calloc(1, sizeof *sink);
    if (!sink)
        return status_set(error, TSMITH_ERROR_NO_MEMORY, "%s: out of memory while writing the trace", path);
    tsmith_status status = sbt_writer_create(path, options, &sink->writer, error);
    if (status != TSMITH_OK) {
        free(sink);
        return status;
    }
    status = tsmith_sink_create(&sink_ops, sink, &out->sink);
    if (status != TSMITH_OK) {
        sink_destroy(sink);
        return status_set(error, status, "%s: out of memory while writing the trace", path);
    }
    out->self = sink;
    return TSMITH_OK;
}

tsmith_status tsmith_recording_writer_take(tsmith_recording_writer *writer, const char *directory,
                                           tsmith_error *error) {
    struct recording_sink *sink = writer->self;
    free(sink->directory);
    sink->directory = strdup(directory);
    return sink->directory ? TSMITH_OK
                           : status_set(error, TSMITH_ERROR_NO_MEMORY,
                                        "out of memory while opening the session directory");
}
