// SPDX-License-Identifier: Apache-2.0
// One file per process, of whole records: each is one write call, so what a process left behind that was killed ends with
// at most one torn record. Rules: recorder.h.
//
// The descriptor is one of the program's: it counts on the lowest free number, closes ranges of what it does not know (before
// it becomes a daemon, say), and what it opens next may get the number that was ours. So the file lies high, is known by its
// identity before every write, and is opened again where it was closed.
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "capture/channel.h"
#include "recorder.h"

struct recorder recorder = {.lock = PTHREAD_MUTEX_INITIALIZER, .fd = -1};
struct recorder_wishes wishes;

static char path[4096];
static struct stat identity;

static bool is_ours(int fd) {
    struct stat now;
    return fd >= 0 && fstat(fd, &now) == 0 && now.st_dev == identity.st_dev && now.st_ino == identity.st_ino;
}

static int open_file(int how) {
    enum { USUAL_LIMIT = 1024 };
    struct rlimit limit;
    const int fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW | how, 0600);
    if (fd < 0)
        return -1;
    const rlim_t room =
        getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < USUAL_LIMIT ? limit.rlim_cur : USUAL_LIMIT;
    const int high = fcntl(fd, F_DUPFD_CLOEXEC, (int)(room - room / 8));
    if (high < 0)
        return fd;
    close(fd);
    return high;
}

// With the lock held: whether there is a file to write into.
static bool have_file(void) {
    if (is_ours(recorder.fd))
        return true;
    recorder.fd = open_file(0);
    if (recorder.fd >= 0 && !is_ours(recorder.fd)) {
        close(recorder.fd);
        recorder.fd = -1;
    }
    return recorder.fd >= 0;
}

// Why nothing follows, where there is room for so little.
static void write_reason(void) {
    struct recording_writer last = {0};
    recording_begin(&last, RECORDING_REFUSED);
    recording_put_text(&last, RECORDING_KEY_NAME, RECORDING_STOPPED);
    recording_put_text(&last, RECORDING_KEY_TEXT,
                       "there was no room in the session directory to record any further");
    if (recording_end(&last) && last.length <= recorder.limit - recorder.written &&
        file_write(recorder.fd, last.bytes, last.length))
        recorder.written += last.length;
    else if (ftruncate(recorder.fd, (off_t)recorder.written))
        (void)0; // readers cope with a torn record
    free(last.bytes);
}

// With the lock held. A process that writes beyond its limit would be sent a signal.
static void write_out(const uint8_t *bytes, size_t length) {
    if (length > recorder.limit - recorder.written || !have_file() ||
        !file_write(recorder.fd, bytes, length)) {
        atomic_store(&recorder.on, false);
        if (is_ours(recorder.fd) && ftruncate(recorder.fd, (off_t)recorder.written) == 0)
            write_reason();
        return;
    }
    recorder.written += length;
}

// Objects that come before the first command: a process that is killed until then had nothing to be replayed.
static uint8_t held[64 << 10];
static size_t held_length;

static void write_held(void) {
    if (held_length)
        write_out(held, held_length);
    held_length = 0;
}

void file_write_held(void) {
    write_held();
    atomic_store(&recorder.begun, true);
}

static void append(const struct recording_writer *writer) {
    if (!recorder_on() && !recorder.last_word)
        return;
    recorder.last_word = false;
    if (writer->length > sizeof held - held_length)
        write_held();
    if (recorder_begun() || writer->length > sizeof held) {
        write_out(writer->bytes, writer->length);
        return;
    }
    memcpy(held + held_length, writer->bytes, writer->length);
    held_length += writer->length;
}

struct recording_writer *record_open(enum recording_type type) {
    pthread_mutex_lock(&recorder.lock);
    recording_begin(&recorder.writer, type);
    return &recorder.writer;
}

void record_close(void) {
    if (recording_end(&recorder.writer))
        append(&recorder.writer);
    else
        atomic_store(&recorder.on, false); // a recording with a hole would be replayed wrongly
    pthread_mutex_unlock(&recorder.lock);
}

void record_cancel(void) {
    pthread_mutex_unlock(&recorder.lock);
}

struct recording_writer *record_open_inner(enum recording_type type) {
    recording_begin(&recorder.inner, type);
    return &recorder.inner;
}

void record_close_inner(void) {
    if (recording_end(&recorder.inner))
        append(&recorder.inner);
    else
        atomic_store(&recorder.on, false);
}

static char session[4096];
static atomic_bool forked; // and nothing recorded yet in this child

// A child knows nothing of the parent's objects, and writes a file of its own once it makes a context: most only exec.
static void after_fork_child(void) {
    const bool was = recorder_on() || atomic_load(&forked);
    atomic_store(&recorder.on, false);
    pthread_mutex_init(&recorder.lock, NULL);
    if (is_ours(recorder.fd))
        close(recorder.fd);
    recorder.fd = -1;
    recorder.written = held_length = 0;
    recorder.chunks =
        (struct chunk_table){0}; // what it had is left alone: another thread may have been in it
    recorder.writer = recorder.inner = (struct recording_writer){0};
    objects_after_fork();
    snapshot_after_fork();
    mappings_after_fork();
    shared_after_fork();
    atomic_store(&forked, was);
}

void file_after_fork(void) {
    if (atomic_load(&forked) && atomic_exchange(&forked, false))
        file_begin(session);
}

bool file_begin(const char *directory) {
    struct rlimit limit;
    const int errno_before = errno;
    int length = snprintf(path, sizeof path, "%s/" CHANNEL_RECORDING_PREFIX "%ld", directory, (long)getpid());
    if (length < 0 || (size_t)length >= sizeof path)
        return false;
    // The same process after exec has a file of its own.
    for (int again = 1; again < 100 && recorder.fd < 0; again++) {
        recorder.fd = open_file(O_CREAT | O_EXCL);
        if (recorder.fd >= 0 || errno != EEXIST)
            break;
        snprintf(path + length, sizeof path - (size_t)length, ".%d", again);
    }
    errno = errno_before;
    if (recorder.fd < 0 || fstat(recorder.fd, &identity))
        return false;
    if (directory != session)
        snprintf(session, sizeof session, "%s", directory);
    recorder.limit = getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY
                         ? (uint64_t)limit.rlim_cur
                         : UINT64_MAX;
    static atomic_bool registered;
    if (!atomic_exchange(&registered, true))
        pthread_atfork(NULL, NULL, after_fork_child);
    atomic_store(&recorder.on, true);
    atomic_store(&recorder.begun, true); // this one is written at once
    struct recording_writer *writer = record_open(RECORDING_PROCESS);
    recording_put(writer, RECORDING_KEY_PID, (uint64_t)getpid());
    if (wishes.no_payload)
        recording_put(writer, RECORDING_KEY_FLAGS, RECORDING_HASHES_ONLY);
    record_close();
    atomic_store(&recorder.begun, range_whole());
    return recorder_on();
}

// ---- payload

static bool keep_chunk(struct chunk_hash hash, const uint8_t *bytes, size_t length) {
    pthread_mutex_lock(&recorder.lock);
    bool known = chunk_hash_is_zeros(hash) || chunk_table_find(&recorder.chunks, hash);
    if (!known) {
        struct recording_writer *writer = record_open_inner(RECORDING_CHUNK);
        recording_put_bytes(writer, RECORDING_KEY_HASH, &hash, RECORDING_HASH);
        recording_put_bytes(writer, RECORDING_KEY_DATA, bytes, length);
        known = chunk_table_add(&recorder.chunks, hash, 1);
        if (known)
            record_close_inner();
    }
    pthread_mutex_unlock(&recorder.lock);
    return known;
}

static void take(struct payload *payload, const void *bytes, size_t size, bool keep) {
    const uint8_t *at = bytes;
    size_t count = size / RECORDING_CHUNK_BYTES + (size % RECORDING_CHUNK_BYTES != 0);
    *payload = (struct payload){.size = size};
    payload->hashes = count ? malloc(count * sizeof *payload->hashes) : NULL;
    payload->failed = count && !payload->hashes;
    for (size_t left = size; left && !payload->failed; payload->count++) {
        const size_t length = left < RECORDING_CHUNK_BYTES ? left : RECORDING_CHUNK_BYTES;
        const struct chunk_hash hash = chunk_hash_of(at, length);
        payload->failed = keep && !keep_chunk(hash, at, length);
        payload->hashes[payload->count] = hash;
        at += length;
        left -= length;
    }
}

void payload_take(struct payload *payload, const void *bytes, size_t size) {
    take(payload, bytes, size, !wishes.no_payload);
}

void payload_keep(struct payload *payload, const void *bytes, size_t size) {
    take(payload, bytes, size, true);
}

void payload_hash(struct payload *payload, const void *bytes, size_t size) {
    take(payload, bytes, size, false);
}

void payload_drop(struct payload *payload) {
    free(payload->hashes);
    *payload = (struct payload){0};
}

void payload_put(struct recording_writer *writer, struct payload *payload) {
    writer->failed |= payload->failed;
    recording_put(writer, RECORDING_KEY_SIZE, payload->size);
    recording_put_bytes(writer, RECORDING_KEY_CHUNKS, payload->hashes,
                        payload->count * sizeof *payload->hashes);
    payload_drop(payload);
}
