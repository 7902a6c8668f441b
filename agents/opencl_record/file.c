// SPDX-License-Identifier: Apache-2.0
// One file per process, of whole records, written to a mapping of the file: the file of a killed process ends with
// zeros after its last complete record. Rules: recorder.h.
//
// The descriptor is one of the program's: it counts on the lowest free number, closes ranges of unknown descriptors
// (for example before it becomes a daemon), and may reuse the number. So the file has a high descriptor, its identity
// is checked before it is mapped further, and it is opened again if it was closed.
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "recorder.h"
#include "wire/channel.h"

struct recorder recorder = {.lock = PTHREAD_MUTEX_INITIALIZER, .fd = -1};
struct recorder_options recorder_options;

static char path[4096];
static struct stat identity;

static bool is_ours(int fd) {
    struct stat now;
    return fd >= 0 && fstat(fd, &now) == 0 && now.st_dev == identity.st_dev && now.st_ino == identity.st_ino;
}

static int open_file(int how) {
    enum { USUAL_LIMIT = 1024 };
    struct rlimit limit;
    const int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | how, 0600);
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

// With the lock held: whether there is a file to map.
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

// The part of the file that is written into, from `window_at`. The last bytes of it are for the reason why nothing follows.
static uint8_t *window;
static uint64_t window_at, window_bytes;
enum { REASON_BYTES = 256 };

static bool has_room(size_t length) {
    return window && length <= window_at + window_bytes - recorder.written;
}

// Its first bytes, which are no zeros, come last: a process that is killed within leaves no part of a record that looks whole.
static void write_record(const uint8_t *bytes, size_t length) {
    enum { FIRST = 4 };
    uint8_t *at = window + (recorder.written - window_at);
    memcpy(at + FIRST, bytes + FIRST, length - FIRST);
    atomic_thread_fence(memory_order_release);
    memcpy(at, bytes, FIRST);
    recorder.written += length;
}

// As much more than `least` as there is room for, up to what was written so far.
static uint8_t *map_file(uint64_t at, uint64_t least, uint64_t *bytes) {
    enum { FIRST = 64 << 10, MOST = 1 << 20 };
    const uint64_t more = recorder.written < FIRST  ? FIRST
                          : recorder.written < MOST ? recorder.written & ~(uint64_t)(FIRST - 1)
                                                    : MOST;
    *bytes = least + more;
    if (file_reserve(recorder.fd, at, *bytes))
        return file_map(recorder.fd, at, *bytes);
    *bytes = least;
    return file_reserve(recorder.fd, at, *bytes) ? file_map(recorder.fd, at, *bytes) : NULL;
}

// With the lock held: a window with room for this many more bytes.
static bool move_window(size_t length) {
    const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), at = recorder.written & ~(page - 1);
    const uint64_t least = (recorder.written + length - at + page - 1) & ~(page - 1);
    uint64_t bytes = 0;
    const int errno_before = errno;
    uint8_t *moved = have_file() ? map_file(at, least, &bytes) : NULL;
    if (moved && window)
        munmap(window, window_bytes);
    if (moved) {
        window = moved;
        window_at = at;
        window_bytes = bytes;
    }
    errno = errno_before;
    return moved != NULL;
}

// Where there is room for so little.
static void write_reason(void) {
    struct recording_writer last = {0};
    recording_begin(&last, RECORDING_REFUSED);
    recording_put_text(&last, RECORDING_KEY_NAME, RECORDING_STOPPED);
    recording_put_text(&last, RECORDING_KEY_TEXT, "the session directory has no space left");
    if (recording_end(&last) && has_room(last.length))
        write_record(last.bytes, last.length);
    free(last.bytes);
}

// Nothing follows: the file ends with what was written last, and is not to be touched where it has no more bytes.
static void close_window(void) {
    if (!window)
        return;
    munmap(window, window_bytes);
    window = NULL;
    if (have_file() && ftruncate(recorder.fd, (off_t)recorder.written))
        (void)0; // zeros follow
}

// With the lock held.
static void write_out(const uint8_t *bytes, size_t length) {
    if (has_room(length + REASON_BYTES) || move_window(length + REASON_BYTES)) {
        write_record(bytes, length);
        return;
    }
    atomic_store(&recorder.on, false);
    write_reason();
    close_window();
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

static void end_record(struct recording_writer *writer) {
    if (recording_end(writer))
        append(writer);
    else
        atomic_store(&recorder.on, false); // a recording with a hole would be replayed wrongly
}

void record_close(void) {
    end_record(&recorder.writer);
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
    end_record(&recorder.inner);
}

static char session[4096];
static atomic_bool forked; // and nothing recorded yet in this child

// A child knows nothing of the parent's objects, and writes a file of its own once it makes a context: most only exec.
static void after_fork_child(void) {
    const bool was = recorder_on() || atomic_load(&forked);
    atomic_store(&recorder.on, false);
    pthread_mutex_init(&recorder.lock, NULL);
    if (window)
        munmap(window, window_bytes); // it is the parent's to write into
    window = NULL;
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
    inflight_after_fork();
    atomic_store(&forked, was);
}

void file_after_fork(void) {
    if (atomic_load(&forked) && atomic_exchange(&forked, false))
        file_begin(session);
}

bool file_begin(const char *directory) {
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
    const bool known = recorder.fd >= 0 && fstat(recorder.fd, &identity) == 0;
    errno = errno_before;
    if (!known)
        return false;
    if (directory != session)
        snprintf(session, sizeof session, "%s", directory);
    static atomic_bool registered;
    if (!atomic_exchange(&registered, true))
        pthread_atfork(NULL, NULL, after_fork_child);
    atomic_store(&recorder.on, true);
    atomic_store(&recorder.begun, true); // this one is written at once
    struct recording_writer *writer = record_open(RECORDING_PROCESS);
    recording_put(writer, RECORDING_KEY_PID, (uint64_t)getpid());
    if (recorder_options.no_payload)
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

static void take_chunks(struct payload *payload, const void *bytes, size_t size, bool keep) {
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
    take_chunks(payload, bytes, size, !recorder_options.no_payload);
}

void payload_keep(struct payload *payload, const void *bytes, size_t size) {
    take_chunks(payload, bytes, size, true);
}

void payload_hash(struct payload *payload, const void *bytes, size_t size) {
    take_chunks(payload, bytes, size, false);
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
