// SPDX-License-Identifier: Apache-2.0
// Small files that ask for enormous memory: names that decompress to gigabytes, frames with thousands of full columns,
// lists of billions. Each is read in a process of its own, whose most resident memory is then looked at.
#include "support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zstd.h>

#include "base/hash.h"
#include "sbt/bytestream.h"
#include "sbt/format.h"
#include "tracesmith/sbt.h"

enum { MOST_MEGABYTES = 1024 };

static void put_frame(struct output *file, unsigned type, uint32_t events, uint64_t sequence,
                      const struct output *payload) {
    size_t stored = frame_stored_length(payload->length), at = file->length;
    uint8_t *room = output_room(file, SBT_FRAME_HEADER_SIZE + stored);
    assert_non_null(room);
    memset(room, 0, SBT_FRAME_HEADER_SIZE + stored);
    memcpy(room + SBT_FRAME_HEADER_SIZE, payload->bytes, payload->length);
    struct frame_header header = {.type = (uint16_t)type,
                                  .flags = FRAME_CRITICAL,
                                  .version = 1,
                                  .kinds = TSMITH_KIND_BIT(TSMITH_KIND_API),
                                  .length = payload->length,
                                  .sequence = sequence,
                                  .track = 1,
                                  .events = events,
                                  .payload_crc = crc32c(0, room + SBT_FRAME_HEADER_SIZE, stored)};
    frame_header_put(room, &header);
    file->length = at + SBT_FRAME_HEADER_SIZE + stored;
}

static void begin_file(struct output *file) {
    uint8_t *head = output_room(file, SBT_FILE_HEADER_SIZE);
    assert_non_null(head);
    file_header_put(head, 0);
    file->length = SBT_FILE_HEADER_SIZE;
}

// One string of 64 MiB in each of many frames.
static void make_names(struct output *file) {
    size_t size = SBT_MAX_STRING + (size_t)4;
    uint8_t *plain = calloc(1, size);
    assert_non_null(plain);
    (void)varint_put(plain, SBT_MAX_STRING);
    struct output packed = {0};
    assert_non_null(output_room(&packed, ZSTD_compressBound(size)));
    packed.length = ZSTD_compress(packed.bytes, packed.capacity, plain, size, 1);
    for (uint32_t i = 0; i < 40; i++) {
        struct output payload = {0};
        output_varint(&payload, 1);
        output_varint(&payload, i + 1);
        output_varint(&payload, 1);
        output_varint(&payload, 0);
        output_u8(&payload, 1);
        output_varint(&payload, size);
        output_varint(&payload, packed.length);
        output_bytes(&payload, packed.bytes, packed.length);
        put_frame(file, FRAME_DICTIONARY, 0, i, &payload);
        free(payload.bytes);
    }
    free(packed.bytes);
    free(plain);
}

static void put_constant(struct output *out, uint64_t value) {
    output_u8(out, PACKING_CONSTANT);
    output_u8(out, (unsigned)varint_size(zigzag(value)));
    output_zigzag(out, value);
}

static void put_entry(struct output *out, uint32_t field, unsigned type, size_t length) {
    output_varint(out, field);
    output_u8(out, type);
    output_u8(out, VALIDITY_ALL);
    output_u8(out, TRANSFORM_PLAIN);
    output_varint(out, length);
}

// As many full columns as a frame may have, in several frames.
static void make_columns(struct output *file) {
    for (uint64_t frame = 0; frame < 4; frame++) {
        struct output payload = {0};
        output_varint(&payload, SBT_MAX_COLUMNS);
        put_entry(&payload, TSMITH_FIELD_START, TSMITH_TYPE_TIME, 3);
        put_entry(&payload, TSMITH_FIELD_KIND, TSMITH_TYPE_KIND, 3);
        for (uint32_t i = 2; i < SBT_MAX_COLUMNS; i++)
            put_entry(&payload, TSMITH_FIELD_DYNAMIC + i, i % 2 ? TSMITH_TYPE_U64 : TSMITH_TYPE_I64, 3);
        for (uint32_t i = 0; i < SBT_MAX_COLUMNS; i++)
            put_constant(&payload, i == 1 ? TSMITH_KIND_API : 0);
        put_frame(file, FRAME_EVENTS, TSMITH_BATCH_MAX, frame, &payload);
        free(payload.bytes);
    }
}

// A list of 65,535 elements per event: four billion.
static void make_lists(struct output *file) {
    struct output payload = {0}, list = {0};
    output_varint(&list, (uint64_t)TSMITH_BATCH_MAX * 65535);
    put_constant(&list, 65535);
    put_constant(&list, 1);
    output_varint(&payload, 3);
    put_entry(&payload, TSMITH_FIELD_START, TSMITH_TYPE_TIME, 3);
    put_entry(&payload, TSMITH_FIELD_KIND, TSMITH_TYPE_KIND, 3);
    put_entry(&payload, TSMITH_FIELD_WAITS, TSMITH_TYPE_LIST, list.length);
    put_constant(&payload, 0);
    put_constant(&payload, TSMITH_KIND_API);
    output_bytes(&payload, list.bytes, list.length);
    put_frame(file, FRAME_EVENTS, TSMITH_BATCH_MAX, 0, &payload);
    free(list.bytes);
    free(payload.bytes);
}

// In a process of its own. 0 when it was read to its end and something was found damaged.
static int read_file(const char *path) {
    tsmith_sbt *trace;
    tsmith_source *source;
    const tsmith_batch *batch;
    tsmith_sbt_summary summary = {.size = sizeof summary};
    tsmith_aggregate *totals;
    size_t count;
    tsmith_error error;
    if (tsmith_sbt_open(path, &trace, &error) != TSMITH_OK ||
        tsmith_sbt_scan(trace, NULL, &source, &error) != TSMITH_OK)
        return 1;
    tsmith_status status;
    while ((status = tsmith_source_next(source, &batch, &error)) == TSMITH_OK)
        ;
    if (status != TSMITH_TRUNCATED || tsmith_sbt_summarize(trace, &summary, &error) != TSMITH_OK ||
        tsmith_sbt_aggregates(trace, &totals, &count, &error) != TSMITH_OK || summary.damaged_frames == 0)
        return 2;
    tsmith_free(totals);
    tsmith_source_destroy(source);
    tsmith_sbt_close(trace);
    return 0;
}

static void assert_stays_small(void (*make)(struct output *file)) {
    char path[64];
    struct output file = {0};
    begin_file(&file);
    make(&file);
    assert_false(file.failed);
    int fd = memfd_create("bomb", MFD_CLOEXEC);
    assert_int_equal(write(fd, file.bytes, file.length), file.length);
    free(file.bytes);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    pid_t child = fork();
    if (child == 0)
        _exit(read_file(path));
    int status;
    struct rusage usage;
    assert_int_equal(wait4(child, &status, 0, &usage), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    const char *sanitizer = getenv("TRACESMITH_SANITIZE");
    if (!sanitizer || !*sanitizer)
        assert_true(usage.ru_maxrss / 1024 < MOST_MEGABYTES);
    print_message("%ld MB at most\n", usage.ru_maxrss / 1024);
    close(fd);
}

static void names_of_gigabytes(void **state) {
    (void)state;
    assert_stays_small(make_names);
}

static void thousands_of_full_columns(void **state) {
    (void)state;
    assert_stays_small(make_columns);
}

static void lists_of_billions(void **state) {
    (void)state;
    assert_stays_small(make_lists);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_of_gigabytes),
        cmocka_unit_test(thousands_of_full_columns),
        cmocka_unit_test(lists_of_billions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
