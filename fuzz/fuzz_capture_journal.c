// SPDX-License-Identifier: Apache-2.0
// A session whose records are sound and whose journal is hostile: recover leaves out the events that the journal claims are
// in the file, and never crashes, hangs, or yields a row twice. The input is the journal's entries, one after the other:
//
//     u8 flags | u8 marks | u8 words | the entry | its marks and words, as far as the input goes
//
// The name of the channel comes first, since nothing is looked up without it.
#include <dirent.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "collect/recovery.h"
#include "tracesmith/batch.h"
#include "tracesmith/capture.h"
#include "wire/channel.h"

enum { RECORDS = 3000, JOURNAL_BYTES = 1 << 16 };

static struct session_directory session;
static struct channel *channel;
static char name[256]; // of the channel

static void remove_all(void) {
    session_directory_remove(&session);
}

static uint16_t make_shape(enum record_role role, enum record_subject subject) {
    const struct record_shape shape = {.kind = role == RECORD_EVENT ? TSMITH_KIND_MARKER : TSMITH_KIND_RANGE,
                                       .role = (uint8_t)role,
                                       .subject = (uint8_t)subject,
                                       .field_count = 1,
                                       .fields = {{TSMITH_FIELD_START, RECORD_TICK, 0}}};
    return channel_shape(channel, &shape);
}

static void emit(uint16_t shape, uint32_t subject) {
    struct ring *ring = channel_ring(channel);
    uint64_t *at = ring ? ring_reserve(ring, 2) : NULL;
    if (!at)
        abort();
    at[0] = record_head(shape, 2, subject);
    at[1] = clock_tick(ring->tick_is_tsc);
    ring_commit(ring, 2);
}

static void find_name(void) {
    DIR *listing = opendir(session.path);
    if (!listing)
        abort();
    for (struct dirent *entry; (entry = readdir(listing));) {
        const char *suffix = strstr(entry->d_name, LAYOUT_CHANNEL_SUFFIX);
        if (suffix)
            snprintf(name, sizeof name, "%.*s", (int)(suffix - entry->d_name), entry->d_name);
    }
    closedir(listing);
}

static void prepare(void) {
    tsmith_error error;
    if (channel)
        return;
    const tsmith_capture_options options = {.size = sizeof options, .buffer_bytes = 1 << 18};
    if (session_directory_create(&session, &options, &error) || channel_open(session.path, "fuzz", &channel))
        abort();
    atexit(remove_all);
    const tsmith_track track = {.kind = TSMITH_TRACK_CUSTOM};
    uint32_t custom = channel_track(channel, &track);
    uint16_t event = make_shape(RECORD_EVENT, RECORD_SUBJECT_NAME);
    uint16_t other = make_shape(RECORD_EVENT, RECORD_SUBJECT_TRACK);
    uint16_t begin = make_shape(RECORD_BEGIN, RECORD_SUBJECT_NAME);
    uint16_t end = make_shape(RECORD_END, RECORD_SUBJECT_NAME);
    for (int i = 0; i < RECORDS; i += 5) {
        emit(event, 0);
        emit(begin, 0);
        emit(other, custom);
        emit(end, 0);
        emit(i % 3 ? begin : end, 0);
    }
    atomic_store(&session.control->collector_pid, 0);
    CONTROL_FILE_WRITE(&session.file, collector_pid);
    find_name();
}

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

static size_t put_entry(char *at, size_t room, const struct layout_journal_entry *entry, const void *payload,
                        size_t bytes) {
    size_t whole = (sizeof *entry + bytes + 7) & ~(size_t)7;
    if (whole > room)
        return 0;
    memcpy(at, entry, sizeof *entry);
    memcpy(at + sizeof *entry, payload, bytes);
    return whole;
}

static void write_journal(struct input *input) {
    static _Alignas(LAYOUT_PAGE) char file[LAYOUT_PAGE + 2 * JOURNAL_BYTES]; // as a mapping is
    static uint64_t payload[1024];
    struct layout_journal *head = (struct layout_journal *)(void *)file;
    memset(file, 0, sizeof file);
    head->magic = LAYOUT_JOURNAL_MAGIC;
    head->version = LAYOUT_VERSION;
    head->half_bytes = JOURNAL_BYTES;
    struct layout_journal_entry entry = {
        .type = LAYOUT_JOURNAL_CHANNEL, .words = (uint32_t)strlen(name), .process_start = 1};
    entry.bytes = (uint32_t)((sizeof entry + entry.words + 7) & ~7u);
    char *half = file + LAYOUT_PAGE;
    size_t used = put_entry(half, JOURNAL_BYTES, &entry, name, entry.words);
    while (input->left > 0) {
        uint8_t flags, marks, words;
        take(input, &flags, sizeof flags);
        take(input, &marks, sizeof marks);
        take(input, &words, sizeof words);
        take(input, &entry, sizeof entry);
        size_t bytes = marks % 8 * sizeof(struct layout_journal_mark) + words * sizeof(uint64_t);
        take(input, payload, bytes);
        // Mostly the truth, as nothing is read after an entry that does not fit.
        if (flags & 1) {
            entry.marks = marks % 8;
            entry.words = words;
            entry.channel = 0;
            entry.type = LAYOUT_JOURNAL_TRACK;
            for (uint32_t i = 0; i < entry.marks; i++)
                ((struct layout_journal_mark *)(void *)payload)[i].channel = 0;
        }
        if (flags & 3)
            entry.bytes = (uint32_t)((sizeof entry + bytes + 7) & ~(size_t)7);
        size_t whole = put_entry(half + used, JOURNAL_BYTES - used, &entry, payload, bytes);
        if (whole == 0)
            break;
        used += whole;
    }
    atomic_store(&head->committed[0], used);
    int fd = openat(session.fd, LAYOUT_JOURNAL_NAME, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0 || write(fd, file, sizeof file) != sizeof file)
        abort();
    close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct input input = {data, size};
    struct recovery_file file = {.events = 0};
    struct recovery *recovery;
    tsmith_source *source;
    const tsmith_batch *batch;
    tsmith_error error;
    tsmith_status status;
    uint64_t whole, markers = 0;
    prepare();
    take(&input, &file, sizeof file.events);
    file.uncertain = file.events & 1;
    write_journal(&input);
    if (recovery_open(session.path, &recovery, &error))
        abort();
    (void)recovery_match_file(recovery, &file, &whole);
    if (recovery_source(recovery, &source, &error))
        return 0;
    while ((status = tsmith_source_next(source, &batch, &error)) == TSMITH_OK || status == TSMITH_AGAIN)
        for (uint32_t row = 0; status == TSMITH_OK && row < tsmith_batch_count(batch); row++) {
            uint64_t kind = 0;
            (void)tsmith_batch_get(batch, TSMITH_FIELD_KIND, row, &kind);
            markers += kind == TSMITH_KIND_MARKER;
        }
    tsmith_source_destroy(source);
    // Of every five records two are markers.
    if (markers > RECORDS / 5 * 2)
        abort();
    return 0;
}
