// SPDX-License-Identifier: Apache-2.0
// A live collector while a hostile program runs. The files of a sound recording are put into a new session; then the input
// is a list of steps: changes of the program to its own files and to the collector's, and continuations of the collector:
//
//     u8 what: 0 collect a batch | 1 write | 2 truncate | 3 put the sound bytes back | 4 hand a sub-buffer over |
//              5 collect everything
//     u8 file (0 channel, 1 counts of the rings, 2 slots, 3 sub-buffers, 4 their records, 5 control, 6 journal, 7 stacks)
//     u16 where, u8 how many bytes, the bytes (of a write); u16 (of a truncation)
//
// Then everything is drained, and what is left is recovered. Nothing crashes or hangs, and every batch can be read.
#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "collect/collector.h"
#include "collect/session_directory.h"
#include "tracesmith/batch.h"
#include "tracesmith/capture.h"
#include "wire/channel.h"

enum { RECORDS = 3000, STEPS_MOST = 200, CALLS_MOST = 100000, FILES = 8, SUBS = 8 };

struct snapshot {
    char name[300];
    char *bytes;
    size_t size;
};

static struct snapshot channel_file, rings_file;
static uint32_t sub_bytes;
static char output[] = "/tmp/tracesmith-fuzz-live-XXXXXX";

// ---- the sound recording

static void remove_output(void) {
    unlink(output);
}

static char *read_whole(int directory, const char *name, size_t *size) {
    struct stat status;
    int fd = openat(directory, name, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &status))
        abort();
    char *bytes = malloc((size_t)status.st_size);
    if (!bytes || pread(fd, bytes, (size_t)status.st_size, 0) != (ssize_t)status.st_size)
        abort();
    close(fd);
    *size = (size_t)status.st_size;
    return bytes;
}

static void take_snapshots(const struct session_directory *session) {
    DIR *listing = opendir(session->path);
    if (!listing)
        abort();
    for (struct dirent *entry; (entry = readdir(listing));) {
        struct snapshot *of = strstr(entry->d_name, LAYOUT_CHANNEL_SUFFIX) ? &channel_file
                              : strstr(entry->d_name, LAYOUT_RINGS_SUFFIX) ? &rings_file
                                                                           : NULL;
        if (!of)
            continue;
        snprintf(of->name, sizeof of->name, "%s", entry->d_name);
        of->bytes = read_whole(session->fd, entry->d_name, &of->size);
    }
    closedir(listing);
}

static void emit(struct channel *channel, uint16_t shape) {
    struct ring *ring = channel_ring(channel);
    uint64_t *at = ring ? ring_reserve(ring, 2) : NULL;
    if (!at)
        abort();
    at[0] = record_head(shape, 2, 0);
    at[1] = clock_tick(ring->tick_is_tsc);
    ring_commit(ring, 2);
}

static const tsmith_capture_options options = {.size = sizeof options, .buffer_bytes = 1 << 18};

static void prepare(void) {
    static bool prepared;
    struct session_directory session;
    struct channel *channel, *second;
    tsmith_error error;
    const struct record_shape shape = {.kind = TSMITH_KIND_MARKER,
                                       .role = RECORD_EVENT,
                                       .subject = RECORD_SUBJECT_NAME,
                                       .field_count = 1,
                                       .fields = {{TSMITH_FIELD_START, RECORD_TICK, 0}}};
    if (prepared)
        return;
    prepared = true;
    int fd = mkstemp(output);
    if (fd < 0 || session_directory_create(&session, &options, &error) ||
        channel_open(session.path, "fuzz", &channel) || channel_open(session.path, "second", &second))
        abort();
    close(fd);
    atexit(remove_output);
    sub_bytes = session.control->sub_buffer_bytes;
    uint16_t id = channel_shape(channel, &shape);
    for (int i = 0; i < RECORDS; i++)
        emit(channel, id);
    take_snapshots(&session);
    session_directory_remove(&session);
}

// ---- what the program does

struct input {
    const uint8_t *at;
    size_t left;
};

static void take(struct input *input, void *out, size_t bytes) {
    size_t got = bytes < input->left ? bytes : input->left;
    memset(out, 0, bytes);
    memcpy(out, input->at, got);
    input->at += got;
    input->left -= got;
}

static const char *file_name(unsigned file) {
    static char stacks[320];
    snprintf(stacks, sizeof stacks, "%.*s" LAYOUT_STACKS_SUFFIX,
             (int)(strlen(channel_file.name) - strlen(LAYOUT_CHANNEL_SUFFIX)), channel_file.name);
    return file == 0   ? channel_file.name
           : file < 5  ? rings_file.name
           : file == 5 ? LAYOUT_CONTROL_NAME
           : file == 6 ? LAYOUT_JOURNAL_NAME
                       : stacks;
}

static uint64_t file_base(unsigned file) {
    return file == 2 ? LAYOUT_SLOTS_AT : file == 3 ? LAYOUT_SUBS_AT : file == 4 ? LAYOUT_DATA_AT : 0;
}

static void put(int directory, const char *name, const void *bytes, size_t size, uint64_t at) {
    int fd = openat(directory, name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd >= 0 && pwrite(fd, bytes, size, (off_t)at) != (ssize_t)size)
        abort();
    if (fd >= 0)
        close(fd);
}

static void put_sound(int directory, bool rings) {
    if (!rings) {
        put(directory, channel_file.name, channel_file.bytes, channel_file.size, 0);
        return;
    }
    // The parts that are in use: between them the file has gaps.
    const size_t parts[][2] = {{0, LAYOUT_PAGE},
                               {LAYOUT_SLOTS_AT, LAYOUT_PAGE},
                               {LAYOUT_SUBS_AT, LAYOUT_PAGE},
                               {LAYOUT_DATA_AT, rings_file.size - LAYOUT_DATA_AT}};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        put(directory, rings_file.name, rings_file.bytes + parts[i][0], parts[i][1], parts[i][0]);
}

static void truncate_file(int directory, const char *name, uint64_t size) {
    int fd = openat(directory, name, O_RDWR | O_CLOEXEC);
    if (fd >= 0 && ftruncate(fd, (off_t)size))
        abort();
    if (fd >= 0)
        close(fd);
}

static void hand_over(int directory, uint16_t which, uint8_t bytes) {
    struct layout_sub sub;
    const uint64_t at = LAYOUT_SUBS_AT + which % SUBS * sizeof sub;
    memcpy(&sub, rings_file.bytes + at, sizeof sub);
    atomic_store(&sub.state, LAYOUT_SUB_FULL);
    atomic_store(&sub.sequence, (uint64_t)which / SUBS + 1);
    atomic_store(&sub.committed, (uint64_t)bytes * 64);
    put(directory, rings_file.name, &sub, sizeof sub, at);
}

// ---- the collector

static void read_batch(const tsmith_batch *batch) {
    uint64_t value;
    for (uint32_t row = 0; row < tsmith_batch_count(batch); row++)
        if (!tsmith_batch_get(batch, TSMITH_FIELD_START, row, &value))
            abort();
}

// Until there is nothing, or one batch.
static tsmith_status collect(struct collector *collector, unsigned calls) {
    const tsmith_batch *batch;
    tsmith_error error;
    tsmith_status status = TSMITH_AGAIN;
    for (unsigned i = 0; i < calls && (status == TSMITH_OK || status == TSMITH_AGAIN); i++) {
        status = collector_next(collector, &batch, &error);
        if (status == TSMITH_OK)
            read_batch(batch);
    }
    return status;
}

static void step(const struct session_directory *session, struct collector *collector, struct input *input) {
    uint8_t what, file, count, bytes[256];
    uint16_t where;
    take(input, &what, sizeof what);
    take(input, &file, sizeof file);
    take(input, &where, sizeof where);
    file %= FILES;
    switch (what % 6) {
    case 0:
        (void)collect(collector, 2);
        break;
    case 1:
        take(input, &count, sizeof count);
        take(input, bytes, count);
        put(session->fd, file_name(file), bytes, count, file_base(file) + where);
        break;
    case 2:
        truncate_file(session->fd, file_name(file), file_base(file) + where);
        break;
    case 3:
        put_sound(session->fd, file != 0);
        break;
    case 4:
        hand_over(session->fd, where, file);
        break;
    default:
        collector_set_settling(collector, true);
        (void)collect(collector, 100);
        collector_set_settling(collector, false);
    }
}

static void recover(struct session_directory *session) {
    tsmith_source *source;
    const tsmith_batch *batch;
    tsmith_error error;
    tsmith_status status;
    atomic_store(&session->control->collector_pid, 0);
    CONTROL_FILE_WRITE(&session->file, collector_pid);
    if (tsmith_capture_recover(session->path, &source, &error))
        return;
    while ((status = tsmith_source_next(source, &batch, &error)) == TSMITH_OK || status == TSMITH_AGAIN)
        if (status == TSMITH_OK)
            read_batch(batch);
    tsmith_source_destroy(source);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct input input = {data, size};
    struct session_directory session;
    struct collector *collector;
    tsmith_error error;
    prepare();
    if (session_directory_create(&session, &options, &error))
        abort();
    session_directory_set_output(&session, output);
    if (session.control->sub_buffer_bytes != sub_bytes ||
        collector_create(&session, COLLECT_SESSION, &collector, &error))
        abort();
    put_sound(session.fd, true);
    put_sound(session.fd, false);
    const uint32_t generation = 1;
    put(session.fd, LAYOUT_CONTROL_NAME, &generation, sizeof generation,
        offsetof(struct layout_control, generation));
    for (int i = 0; i < STEPS_MOST && input.left > 0; i++)
        step(&session, collector, &input);
    collector_set_closing(collector, true);
    tsmith_status status = collect(collector, CALLS_MOST);
    if (status == TSMITH_OK || status == TSMITH_AGAIN)
        abort(); // it never ends
    collector_destroy(collector);
    recover(&session);
    session_directory_remove(&session);
    return 0;
}
