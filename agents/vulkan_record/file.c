// SPDX-License-Identifier: Apache-2.0
// The recording of this process: a file of its own in the session directory. Rules: recorder.h; all with the lock held.
//
// Records are gathered and appended once for each submission, with a descriptor that is open only meanwhile: the program may close any
// descriptor, or count on their numbers.
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/file.h"
#include "recorder.h"
#include "wire/channel.h"

enum { FLUSH_BYTES = 8 << 20, REFUSALS_MOST = 64 };

static char path[4096];
static pid_t owner;
static struct recording_writer current, chunk;
static uint8_t *pending;
static size_t pending_length, pending_capacity;
static struct chunk_table chunks;
static struct refusal {
    const char *function;
    char why[96];
} refusals[REFUSALS_MOST];
static size_t refusal_count;

void file_flush(void) {
    const int errno_before = errno;
    const int fd = pending_length && recorder.on && getpid() == owner
                       ? open(path, O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW)
                       : -1;
    if (pending_length && (fd < 0 || !file_write(fd, pending, pending_length)))
        recorder.on = false; // there is no room, or this is a forked child
    if (fd >= 0)
        close(fd);
    pending_length = 0;
    errno = errno_before;
}

static void append(struct recording_writer *writer) {
    if (!recording_end(writer) ||
        !ARRAY_RESERVE(pending, pending_capacity, pending_length + writer->length)) {
        recorder.on = false; // a recording with a hole would be replayed wrongly
        return;
    }
    memcpy(pending + pending_length, writer->bytes, writer->length);
    pending_length += writer->length;
    if (pending_length > FLUSH_BYTES)
        file_flush();
}

struct recording_writer *record_open(enum recording_type type) {
    recording_begin(&current, type);
    return &current;
}

void record_close(void) {
    if (recorder.on)
        append(&current);
}

void record_made(struct recording_writer *writer) {
    if (recorder.on)
        append(writer);
}

static bool keep_chunk(struct chunk_hash hash, const uint8_t *bytes, size_t length) {
    if (chunk_hash_is_zeros(hash) || recorder.hashes_only || chunk_table_find(&chunks, hash))
        return true;
    if (!chunk_table_add(&chunks, hash, 1))
        return false;
    recording_begin(&chunk, RECORDING_CHUNK);
    recording_put_bytes(&chunk, RECORDING_KEY_HASH, &hash, RECORDING_HASH);
    recording_put_bytes(&chunk, RECORDING_KEY_DATA, bytes, length);
    append(&chunk);
    return recorder.on;
}

struct chunk_hash record_payload(struct recording_writer *writer, const uint8_t *bytes, size_t size) {
    const size_t count = size / RECORDING_CHUNK_BYTES + (size % RECORDING_CHUNK_BYTES != 0);
    struct chunk_hash *hashes = calloc(count + 1, sizeof *hashes), whole = {0, 0};
    writer->failed |= !hashes;
    for (size_t i = 0; hashes && i < count; i++) {
        const size_t at = i * RECORDING_CHUNK_BYTES, left = size - at;
        const size_t length = left < RECORDING_CHUNK_BYTES ? left : RECORDING_CHUNK_BYTES;
        hashes[i] = chunk_hash_of(bytes + at, length);
        writer->failed |= !keep_chunk(hashes[i], bytes + at, length);
    }
    recording_put(writer, RECORDING_KEY_SIZE, size);
    recording_put_bytes(writer, RECORDING_KEY_CHUNKS, hashes, hashes ? count * sizeof *hashes : 0);
    if (hashes)
        whole = chunk_hash_of(hashes, count * sizeof *hashes);
    free(hashes);
    return whole;
}

void refuse(struct device *device, const char *function, const char *why) {
    device->gave_up = true;
    for (size_t i = 0; i < refusal_count; i++)
        if (strcmp(refusals[i].function, function) == 0 && strcmp(refusals[i].why, why) == 0)
            return;
    if (refusal_count < REFUSALS_MOST) {
        refusals[refusal_count].function = function;
        snprintf(refusals[refusal_count++].why, sizeof refusals->why, "%s", why);
    }
    struct recording_writer *writer = record_open(RECORDING_REFUSED);
    recording_put_text(writer, RECORDING_KEY_NAME, function);
    recording_put_text(writer, RECORDING_KEY_TEXT, why);
    record_close();
    file_flush();
}

bool file_begin(const char *directory) {
    const int length =
        snprintf(path, sizeof path, "%s/" CHANNEL_RECORDING_PREFIX "%ld.vulkan", directory, (long)getpid());
    int fd = -1;
    // The same process after exec has a file of its own.
    for (int again = 1; length > 0 && (size_t)length < sizeof path - 8 && again < 100; again++) {
        fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
        if (fd >= 0 || errno != EEXIST)
            break;
        snprintf(path + length, sizeof path - (size_t)length, ".%d", again);
    }
    if (fd < 0)
        return false;
    close(fd);
    owner = getpid();
    recorder.on = true;
    struct recording_writer *writer = record_open(RECORDING_PROCESS);
    recording_put(writer, RECORDING_KEY_PID, (uint64_t)getpid());
    recording_put(writer, RECORDING_KEY_FLAGS,
                  RECORDING_OF_VULKAN | (recorder.hashes_only ? RECORDING_HASHES_ONLY : 0));
    record_close();
    file_flush();
    return recorder.on;
}
