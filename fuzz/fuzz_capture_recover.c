// SPDX-License-Identifier: Apache-2.0
// A session directory out of hostile bytes: recover reads what it can and never crashes, hangs, or takes memory it was
// not given. The input is the control file's segments, the channel's head and entries, and pieces of the rings file:
//
//     u8 flags | u16 segments | u16 entry bytes | descriptors and words, as far as the input goes
//
// With bit 4 of the flags the file of stacks is there, and is the whole input behind its first page.
//
// Magic numbers and sizes are put in place, since nothing is read without them; everything else is the input's.
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tracesmith/batch.h"
#include "tracesmith/capture.h"
#include "wire/layout.h"

enum { SUB_BYTES = 16384, SUBS = 4, SLOTS = 4 };

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

static uint16_t take_u16(struct input *input) {
    uint16_t value;
    take(input, &value, sizeof value);
    return value;
}

static char directory[] = "/tmp/tracesmith-fuzz-XXXXXX";
static char control_path[64], channel_path[64], rings_path[64], stacks_path[64];

static void remove_all(void) {
    unlink(control_path);
    unlink(channel_path);
    unlink(rings_path);
    unlink(stacks_path);
    rmdir(directory);
}

static void prepare(void) {
    if (control_path[0])
        return;
    if (!mkdtemp(directory))
        abort();
    snprintf(control_path, sizeof control_path, "%s/control", directory);
    snprintf(channel_path, sizeof channel_path, "%s/1-1-x-0.channel", directory);
    snprintf(rings_path, sizeof rings_path, "%s/1-1-x-0.rings", directory);
    snprintf(stacks_path, sizeof stacks_path, "%s/1-1-x-0.stacks", directory);
    atexit(remove_all);
}

static int open_new(const char *path, off_t size) {
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    if (fd < 0 || ftruncate(fd, size))
        abort();
    return fd;
}

static void put(int fd, const void *bytes, size_t length, uint64_t offset) {
    if (pwrite(fd, bytes, length, (off_t)offset) != (ssize_t)length)
        abort();
}

static void write_control(struct input *input) {
    static struct layout_control control;
    memset(&control, 0, sizeof control);
    control.magic = LAYOUT_CONTROL_MAGIC;
    control.version = LAYOUT_VERSION;
    control.sub_buffer_bytes = SUB_BYTES;
    control.ring_sub_buffers = 2;
    control.tick_is_tsc = 1;
    uint16_t segments = take_u16(input);
    atomic_store(&control.segment_count, segments % 8 == 7 ? UINT32_MAX : segments % 8);
    take(input, control.segments, segments % 8 * sizeof control.segments[0]);
    int fd = open_new(control_path, sizeof control);
    put(fd, &control, sizeof control, 0);
    close(fd);
}

static void write_channel(struct input *input) {
    struct layout_channel head;
    static char entries[65536];
    uint16_t bytes = take_u16(input);
    take(input, &head, sizeof head);
    head.magic = LAYOUT_CHANNEL_MAGIC;
    head.version = LAYOUT_VERSION;
    take(input, entries, bytes);
    // Mostly the truth: a count that does not fit ends the reading at once.
    if (bytes % 16)
        atomic_store(&head.committed, bytes & ~7u);
    int fd = open_new(channel_path, LAYOUT_ENTRIES_AT + bytes);
    put(fd, &head, sizeof head, 0);
    // A second ledger, if the head has one.
    put(fd, entries, bytes < sizeof(struct layout_ledger) ? bytes : sizeof(struct layout_ledger),
        LAYOUT_PAGE);
    put(fd, entries, bytes, LAYOUT_ENTRIES_AT);
    close(fd);
}

static void write_rings(struct input *input, bool truncated) {
    struct layout_rings head = {
        .magic = LAYOUT_RINGS_MAGIC, .version = LAYOUT_VERSION, .sub_buffer_bytes = SUB_BYTES};
    struct layout_slot slots[SLOTS];
    struct layout_sub subs[SUBS];
    static char words[SUB_BYTES];
    uint16_t counts = take_u16(input);
    atomic_store(&head.sub_count, counts & 128 ? UINT32_MAX : SUBS);
    atomic_store(&head.slot_count, counts & 64 ? UINT32_MAX : SLOTS);
    take(input, slots, sizeof slots);
    take(input, subs, sizeof subs);
    int fd = open_new(rings_path, LAYOUT_DATA_AT + (truncated ? 100 : SUBS * SUB_BYTES));
    put(fd, &head, sizeof head, 0);
    put(fd, slots, sizeof slots, LAYOUT_SLOTS_AT);
    put(fd, subs, sizeof subs, LAYOUT_SUBS_AT);
    for (uint32_t i = 0; i < SUBS && !truncated && input->left > 0; i++) {
        size_t bytes = input->left / (SUBS - i) < SUB_BYTES ? input->left / (SUBS - i) : SUB_BYTES;
        take(input, words, bytes);
        put(fd, words, bytes, layout_data_offset(SUB_BYTES, i));
    }
    close(fd);
}

static void write_stacks(const uint8_t *data, size_t size) {
    const struct layout_stacks head = {.magic = LAYOUT_STACKS_MAGIC, .version = LAYOUT_VERSION};
    int fd = open_new(stacks_path, LAYOUT_PAGE);
    put(fd, &head, sizeof head, 0);
    put(fd, data, size, LAYOUT_PAGE);
    close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct input input = {data, size};
    uint8_t flags;
    tsmith_source *source;
    const tsmith_batch *batch;
    tsmith_error error;
    tsmith_status status;
    prepare();
    take(&input, &flags, sizeof flags);
    write_control(&input);
    write_channel(&input);
    write_rings(&input, (flags & 15) == 15);
    unlink(stacks_path);
    if (flags & 16)
        write_stacks(data, size);
    if (tsmith_capture_recover(directory, &source, &error))
        return 0;
    uint64_t rows = 0;
    while ((status = tsmith_source_next(source, &batch, &error)) == TSMITH_OK || status == TSMITH_AGAIN)
        if (status == TSMITH_OK)
            for (uint32_t i = 0; i < tsmith_batch_column_count(batch); i++)
                rows += tsmith_batch_column_at(batch, i).count;
    // Every row of a column came from a word or two of the input, or is in the ledger.
    if (rows > 64u * (SUBS * SUB_BYTES / 8 + 4096))
        abort();
    tsmith_source_destroy(source);
    return 0;
}
