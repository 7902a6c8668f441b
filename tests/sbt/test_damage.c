// SPDX-License-Identifier: Apache-2.0
// The promises about damaged files. A file is cut at every byte and has every bit flipped; what must be left is worked
// out from a list of its frames that this test makes itself, by walking the headers of the undamaged file.
#include "sbt/make.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/bytes.h"
#include "base/hash.h"
#include "sbt/format.h"

enum { MOST_FRAMES = 64 };

struct frame {
    size_t offset, size;
    unsigned type;
    uint32_t events;
    uint32_t first_event; // number of the first of its events
};

struct image {
    uint8_t *bytes;
    size_t size;
    struct frame frames[MOST_FRAMES];
    size_t frame_count;
    uint32_t events;
};

static size_t read_file(const char *path, uint8_t **out) {
    struct stat there;
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    assert_int_equal(fstat(fileno(file), &there), 0);
    *out = malloc((size_t)there.st_size);
    assert_non_null(*out);
    assert_int_equal(fread(*out, 1, (size_t)there.st_size, file), there.st_size);
    fclose(file);
    return (size_t)there.st_size;
}

static uint64_t little(const uint8_t *at, size_t size) {
    uint64_t value = 0;
    for (size_t i = size; i-- > 0;)
        value = value << 8 | at[i];
    return value;
}

static void list_frames(struct image *image) {
    image->frame_count = 0;
    image->events = 0;
    for (size_t at = 64; at < image->size;) {
        struct frame *frame = &image->frames[image->frame_count++];
        assert_true(image->frame_count <= MOST_FRAMES);
        frame->offset = at;
        frame->type = (unsigned)little(image->bytes + at + 4, 2);
        frame->size = 64 + ((size_t)little(image->bytes + at + 16, 8) + 63) / 64 * 64;
        frame->events = (uint32_t)little(image->bytes + at + 36, 4);
        frame->first_event = image->events;
        image->events += frame->events;
        at += frame->size;
    }
}

// Events numbered by CORRELATION, `batches` batches on two tracks, names that come in between.
static void make_image(struct image *image, uint32_t batches, uint32_t rows) {
    struct made made;
    tsmith_batch *batch;
    tsmith_sink *sink;
    tsmith_error error;
    struct random random = {17};
    uint32_t number = 0;
    made_begin(&made);
    make_names(&made, 2);
    assert_int_equal(tsmith_batch_create(&batch), TSMITH_OK);
    assert_int_equal(tsmith_sbt_writer_open(made.path, NULL, &sink, &error), TSMITH_OK);
    for (uint32_t i = 0; i < batches; i++) {
        char text[32];
        snprintf(text, sizeof text, "kernel %u", i);
        uint32_t name = tsmith_dictionary_intern_cstr(made.dictionary, text);
        tsmith_batch_reset(batch, i % 2 + 1);
        for (uint32_t row = 0; row < rows; row++) {
            tsmith_batch_append(batch, TSMITH_KIND_KERNEL, (int64_t)number * 100);
            tsmith_batch_set(batch, TSMITH_FIELD_DURATION, random_below(&random, 90));
            tsmith_batch_set(batch, TSMITH_FIELD_NAME, name);
            tsmith_batch_set(batch, TSMITH_FIELD_CORRELATION, number++);
        }
        assert_int_equal(tsmith_batch_finish(batch), TSMITH_OK);
        assert_int_equal(tsmith_sink_write(sink, made.dictionary, batch, &error), TSMITH_OK);
    }
    assert_int_equal(tsmith_sink_finish(sink, made.dictionary, &error), TSMITH_OK);
    tsmith_sink_destroy(sink);
    tsmith_batch_destroy(batch);
    image->size = read_file(made.path, &image->bytes);
    list_frames(image);
    made_end(&made);
}

// ---- reading an image

// A file in memory that can be opened by its path.
struct file {
    int fd;
    char path[64];
};

static struct file put_file(const uint8_t *bytes, size_t size) {
    struct file file = {.fd = memfd_create("damaged", MFD_CLOEXEC)};
    assert_true(file.fd >= 0);
    assert_int_equal(write(file.fd, bytes, size), size);
    snprintf(file.path, sizeof file.path, "/proc/self/fd/%d", file.fd);
    return file;
}

struct seen {
    tsmith_status opened, scanned;
    bool *events; // by number: read
    tsmith_sbt_summary summary;
    tsmith_error error;
};

// Opens, reads all and sums up. Every event that comes must be the one that was written under its number.
static void look_at(const uint8_t *bytes, size_t size, uint32_t events, struct seen *seen) {
    struct file file = put_file(bytes, size);
    tsmith_sbt *trace;
    tsmith_source *source;
    const tsmith_batch *batch;
    memset(seen->events, 0, events * sizeof *seen->events);
    memset(&seen->summary, 0, sizeof seen->summary);
    seen->opened = tsmith_sbt_open(file.path, &trace, &seen->error);
    if (seen->opened != TSMITH_OK) {
        close(file.fd);
        return;
    }
    assert_int_equal(tsmith_sbt_scan(trace, NULL, &source, &seen->error), TSMITH_OK);
    while ((seen->scanned = tsmith_source_next(source, &batch, &seen->error)) == TSMITH_OK) {
        for (uint32_t row = 0; row < tsmith_batch_count(batch); row++) {
            uint64_t number, start;
            assert_true(tsmith_batch_get(batch, TSMITH_FIELD_CORRELATION, row, &number));
            assert_true(tsmith_batch_get(batch, TSMITH_FIELD_START, row, &start));
            assert_true(number < events);
            assert_int_equal(start, number * 100);
            assert_false(seen->events[number]);
            seen->events[number] = true;
        }
    }
    seen->summary.size = sizeof seen->summary;
    assert_int_equal(tsmith_sbt_summarize(trace, &seen->summary, &seen->error), TSMITH_OK);
    tsmith_source_destroy(source);
    tsmith_sbt_close(trace);
    close(file.fd);
}

static void assert_frame_seen(const struct seen *seen, const struct frame *frame, bool expected) {
    for (uint32_t i = 0; i < frame->events; i++)
        assert_int_equal(seen->events[frame->first_event + i], expected);
}

// ---- cutting

static void check_cut(const struct image *image, size_t size, struct seen *seen) {
    look_at(image->bytes, size, image->events, seen);
    if (size < 64) {
        assert_true(seen->opened == TSMITH_ERROR_FORMAT || seen->opened == TSMITH_ERROR_CORRUPT);
        return;
    }
    assert_int_equal(seen->opened, TSMITH_OK);
    uint64_t whole = 0, events = 0;
    for (size_t i = 0; i < image->frame_count; i++) {
        const struct frame *frame = &image->frames[i];
        bool there = frame->offset + frame->size <= size;
        assert_frame_seen(seen, frame, there);
        whole += there;
        events += there ? frame->events : 0;
    }
    assert_int_equal(seen->summary.frames, whole);
    assert_int_equal(seen->summary.events, events);
    assert_int_equal(seen->summary.complete, size == image->size);
    assert_int_equal(seen->scanned, size == image->size ? TSMITH_END : TSMITH_TRUNCATED);
    assert_int_equal(seen->summary.damaged_frames, 0);
}

static void a_file_cut_anywhere_gives_the_frames_before_the_cut(void **state) {
    (void)state;
    struct image image;
    make_image(&image, 4, 20);
    struct seen seen = {.events = calloc(image.events, sizeof *seen.events)};
    for (size_t size = 0; size <= image.size; size++)
        check_cut(&image, size, &seen);
    free(seen.events);
    free(image.bytes);
}

static void a_large_file_cut_at_random(void **state) {
    (void)state;
    struct image image;
    struct random random = {23};
    make_image(&image, 12, 5000);
    struct seen seen = {.events = calloc(image.events, sizeof *seen.events)};
    for (int i = 0; i < 200; i++)
        check_cut(&image, random_below(&random, image.size), &seen);
    free(seen.events);
    free(image.bytes);
}

// ---- flipping

static void check_flip(struct image *image, size_t bit, struct seen *seen) {
    image->bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
    look_at(image->bytes, image->size, image->events, seen);
    image->bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
    assert_int_equal(seen->opened, TSMITH_OK);
    for (size_t i = 0; i < image->frame_count; i++) {
        const struct frame *frame = &image->frames[i];
        bool hit = bit / 8 >= frame->offset && bit / 8 < frame->offset + frame->size;
        assert_frame_seen(seen, frame, !hit);
    }
}

static void every_flipped_bit_costs_at_most_its_frame(void **state) {
    (void)state;
    struct image image;
    make_image(&image, 3, 20);
    struct seen seen = {.events = calloc(image.events, sizeof *seen.events)};
    for (size_t bit = 0; bit < image.size * 8; bit++) {
        check_flip(&image, bit, &seen);
        // The scan read DICTIONARY and EVENTS frames; those, and what opening needs, were found out by now.
        unsigned type = 0;
        for (size_t i = 0; i < image.frame_count; i++)
            if (bit / 8 >= image.frames[i].offset && bit / 8 < image.frames[i].offset + image.frames[i].size)
                type = image.frames[i].type;
        if (type == FRAME_SCHEMA || type == FRAME_AGGREGATE)
            continue;
        assert_false(seen.summary.complete);
        assert_int_equal(seen.summary.damaged_frames, 1);
        assert_int_equal(seen.scanned, TSMITH_TRUNCATED);
    }
    free(seen.events);
    free(image.bytes);
}

static void verify_finds_every_flipped_bit(void **state) {
    (void)state;
    struct image image;
    struct random random = {5};
    make_image(&image, 3, 20);
    for (int i = 0; i < 3000; i++) {
        size_t bit = random_below(&random, image.size * 8);
        image.bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
        struct file file = put_file(image.bytes, image.size);
        tsmith_sbt *trace;
        tsmith_sbt_summary summary = {.size = sizeof summary};
        tsmith_error error;
        assert_int_equal(tsmith_sbt_open(file.path, &trace, &error), TSMITH_OK);
        assert_int_equal(tsmith_sbt_verify(trace, &error), TSMITH_OK);
        assert_int_equal(tsmith_sbt_summarize(trace, &summary, &error), TSMITH_OK);
        assert_false(summary.complete);
        assert_int_equal(summary.damaged_frames, 1);
        assert_true(summary.first_bad_offset / 64 <= bit / 8 / 64);
        tsmith_sbt_close(trace);
        close(file.fd);
        image.bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    free(image.bytes);
}

static void a_damaged_name_costs_the_name_and_no_event(void **state) {
    (void)state;
    struct image image;
    make_image(&image, 4, 10);
    size_t victim = 0;
    for (size_t i = 0; i < image.frame_count; i++)
        if (image.frames[i].type == FRAME_DICTIONARY && image.frames[i].offset > image.frames[3].offset &&
            !victim)
            victim = i;
    assert_true(victim != 0);
    image.bytes[image.frames[victim].offset + 70] ^= 1;
    struct file file = put_file(image.bytes, image.size);
    tsmith_sbt *trace;
    tsmith_source *source;
    tsmith_error error;
    const tsmith_batch *batch;
    assert_int_equal(tsmith_sbt_open(file.path, &trace, &error), TSMITH_OK);
    assert_int_equal(tsmith_sbt_scan(trace, NULL, &source, &error), TSMITH_OK);
    const tsmith_dictionary *dictionary = tsmith_source_dictionary(source);
    uint32_t unnamed = 0, named = 0, at = 0;
    while (tsmith_source_next(source, &batch, &error) == TSMITH_OK) {
        uint64_t name;
        char expected[32];
        assert_true(tsmith_batch_get(batch, TSMITH_FIELD_NAME, 0, &name));
        tsmith_string text = tsmith_dictionary_string(dictionary, (uint32_t)name);
        snprintf(expected, sizeof expected, "kernel %u", at++);
        if (text.length == 0)
            unnamed++;
        else
            named += strcmp(text.bytes, expected) == 0;
    }
    assert_int_equal(unnamed, 1);
    assert_int_equal(named, 3);
    tsmith_source_destroy(source);
    tsmith_sbt_close(trace);
    close(file.fd);
    free(image.bytes);
}

// ---- newer versions

static void seal_frame(uint8_t *frame) {
    size_t stored = ((size_t)little(frame + 16, 8) + 63) / 64 * 64;
    bytes_put_u32(frame + 56, crc32c(0, frame + 64, stored));
    bytes_put_u32(frame + 60, crc32c(0, frame, 60));
}

// The SCHEMA frame becomes one of another type. The index is then wrong, so the file is cut before it.
static struct file put_with_frame(const struct image *image, unsigned type, unsigned flags,
                                  unsigned version) {
    uint8_t *copy = malloc(image->size);
    assert_non_null(copy);
    memcpy(copy, image->bytes, image->size);
    uint8_t *frame = copy + image->frames[0].offset;
    bytes_put_u16(frame + 4, (uint16_t)type);
    bytes_put_u16(frame + 6, (uint16_t)flags);
    bytes_put_u16(frame + 10, (uint16_t)version);
    seal_frame(frame);
    size_t cut = image->size;
    for (size_t i = 0; i < image->frame_count; i++)
        if (image->frames[i].type == FRAME_INDEX)
            cut = image->frames[i].offset;
    struct file file = put_file(copy, cut);
    free(copy);
    return file;
}

static void unknown_frames_are_skipped_or_refused_by_name(void **state) {
    (void)state;
    struct image image;
    tsmith_sbt *trace;
    tsmith_sbt_summary summary = {.size = sizeof summary};
    tsmith_error error;
    make_image(&image, 2, 10);
    static const unsigned types[][2] = {{99, 1}, {16, 1}, {40000, 7}, {FRAME_AGGREGATE, 2}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        struct file file = put_with_frame(&image, types[i][0], 0, types[i][1]);
        assert_int_equal(tsmith_sbt_open(file.path, &trace, &error), TSMITH_OK);
        assert_int_equal(tsmith_sbt_summarize(trace, &summary, &error), TSMITH_OK);
        assert_int_equal(summary.unknown_frames, 1);
        assert_int_equal(summary.damaged_frames, 0);
        assert_int_equal(summary.events, 20);
        tsmith_sbt_close(trace);
        close(file.fd);
        file = put_with_frame(&image, types[i][0], FRAME_CRITICAL, types[i][1]);
        assert_int_equal(tsmith_sbt_open(file.path, &trace, &error), TSMITH_ERROR_UNSUPPORTED);
        char name[32];
        snprintf(name, sizeof name, "type %u, version %u", types[i][0], types[i][1]);
        assert_non_null(strstr(error.message, name));
        assert_int_equal(error.offset, 64);
        close(file.fd);
    }
    free(image.bytes);
}

static void a_newer_major_version_is_refused_by_name(void **state) {
    (void)state;
    struct image image;
    tsmith_sbt *trace;
    tsmith_error error;
    make_image(&image, 2, 10);
    bytes_put_u16(image.bytes + 8, 2);
    bytes_put_u16(image.bytes + 10, 7);
    bytes_put_u32(image.bytes + 60, crc32c(0, image.bytes, 60));
    struct file file = put_file(image.bytes, image.size);
    assert_int_equal(tsmith_sbt_open(file.path, &trace, &error), TSMITH_ERROR_UNSUPPORTED);
    assert_non_null(strstr(error.message, "2.7"));
    close(file.fd);
    // A newer minor one is read.
    bytes_put_u16(image.bytes + 8, 1);
    bytes_put_u32(image.bytes + 60, crc32c(0, image.bytes, 60));
    file = put_file(image.bytes, image.size);
    tsmith_sbt_summary summary = {.size = sizeof summary};
    assert_int_equal(tsmith_sbt_open(file.path, &trace, &error), TSMITH_OK);
    assert_int_equal(tsmith_sbt_summarize(trace, &summary, &error), TSMITH_OK);
    assert_int_equal(summary.version_minor, 7);
    assert_true(summary.complete);
    tsmith_sbt_close(trace);
    close(file.fd);
    free(image.bytes);
}

// One EVENTS frame with a column of a field, a type, a transform or a packing that is not known, built by hand.
static size_t put_entry(uint8_t *at, unsigned field, unsigned type, unsigned transform, unsigned length) {
    uint8_t *start = at;
    at += field < 128 ? (*at = (uint8_t)field, 1)
                      : (at[0] = (uint8_t)(field | 128), at[1] = (uint8_t)(field >> 7), 2);
    *at++ = (uint8_t)type;
    *at++ = 0;
    *at++ = (uint8_t)transform;
    *at++ = (uint8_t)length;
    return (size_t)(at - start);
}

static void unknown_columns_are_skipped(void **state) {
    (void)state;
    static const struct {
        unsigned field, type, transform, packing;
    } columns[] = {{200, TSMITH_TYPE_U64, 0, 0},  // a field of a newer schema
                   {13, TSMITH_TYPE_U32, 0, 0},   // a field whose type changed
                   {4200, 77, 0, 0},              // a type
                   {13, TSMITH_TYPE_U64, 9, 0},   // a transform
                   {13, TSMITH_TYPE_U64, 128, 0}, // a flag of the transform
                   {13, TSMITH_TYPE_U64, 0, 50}}; // a packing
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) {
        uint8_t bytes[64 + 64 + 128] = {0};
        file_header_put(bytes, 0);
        uint8_t *payload = bytes + 128, *at = payload;
        *at++ = 3;
        at += put_entry(at, TSMITH_FIELD_START, TSMITH_TYPE_TIME, 0, 3);
        at += put_entry(at, TSMITH_FIELD_KIND, TSMITH_TYPE_KIND, 0, 3);
        at += put_entry(at, columns[i].field, columns[i].type, columns[i].transform, 3);
        const uint8_t streams[] = {0, 1, 0, 0, 1, 2, (uint8_t)columns[i].packing, 1, 84};
        memcpy(at, streams, sizeof streams);
        at += sizeof streams;
        struct frame_header header = {.type = FRAME_EVENTS,
                                      .flags = FRAME_CRITICAL,
                                      .version = 1,
                                      .kinds = TSMITH_KIND_BIT(TSMITH_KIND_KERNEL),
                                      .length = (uint64_t)(at - payload),
                                      .track = 1,
                                      .events = 1,
                                      .first_start = 5,
                                      .last_end = 5,
                                      .payload_crc = crc32c(0, payload, 128)};
        assert_true(header.length <= 128);
        header.payload_crc = crc32c(0, payload, frame_stored_length(header.length));
        frame_header_put(bytes + 64, &header);
        struct file file = put_file(bytes, 128 + frame_stored_length(header.length));
        tsmith_sbt *trace;
        tsmith_source *source;
        tsmith_error error;
        const tsmith_batch *batch;
        assert_int_equal(tsmith_sbt_open(file.path, &trace, &error), TSMITH_OK);
        assert_int_equal(tsmith_sbt_scan(trace, NULL, &source, &error), TSMITH_OK);
        assert_int_equal(tsmith_source_next(source, &batch, &error), TSMITH_OK);
        assert_int_equal(tsmith_batch_column_count(batch), 2);
        uint64_t kind;
        assert_true(tsmith_batch_get(batch, TSMITH_FIELD_KIND, 0, &kind));
        assert_int_equal(kind, TSMITH_KIND_KERNEL);
        tsmith_source_destroy(source);
        tsmith_sbt_close(trace);
        close(file.fd);
    }
}

// ---- what is no trace at all

static void assert_refused(const char *path, tsmith_status expected, const char *word) {
    tsmith_sbt *trace;
    tsmith_error error = {.message = ""};
    assert_int_equal(tsmith_sbt_open(path, &trace, &error), expected);
    assert_null(trace);
    assert_non_null(strstr(error.message, word));
    assert_non_null(strstr(error.message, path));
}

static void other_things_are_refused_with_a_reason(void **state) {
    (void)state;
    struct file empty = put_file((const uint8_t *)"", 0);
    assert_refused(empty.path, TSMITH_ERROR_FORMAT, "empty");
    struct file text = put_file((const uint8_t *)"[{\"ph\":\"X\"}]", 12);
    assert_refused(text.path, TSMITH_ERROR_FORMAT, "not an SBT trace");
    assert_refused("/dev", TSMITH_ERROR_FORMAT, "folder");
    assert_refused("/dev/zero", TSMITH_ERROR_FORMAT, "device");
    assert_refused("/nowhere/at/all.sbt", TSMITH_ERROR_NOT_FOUND, "No such file");
    close(empty.fd);
    close(text.fd);
}

// Sizes and counts far beyond the file, under correct checksums.
static void huge_counts_are_not_believed(void **state) {
    (void)state;
    struct image image;
    struct random random = {77};
    make_image(&image, 2, 10);
    struct seen seen = {.events = calloc(image.events, sizeof *seen.events)};
    for (size_t i = 0; i < image.frame_count; i++) {
        struct frame *frame = &image.frames[i];
        for (int round = 0; round < 400; round++) {
            uint8_t *copy = malloc(image.size);
            assert_non_null(copy);
            memcpy(copy, image.bytes, image.size);
            size_t at = 64 + random_below(&random, frame->size - 64);
            for (int n = 0; n < 4 && at + (size_t)n < frame->size; n++)
                copy[frame->offset + at + (size_t)n] = round % 2 ? 0xff : (uint8_t)random_next(&random);
            seal_frame(copy + frame->offset);
            struct file file = put_file(copy, image.size);
            tsmith_sbt *trace;
            tsmith_error error;
            if (tsmith_sbt_open(file.path, &trace, &error) == TSMITH_OK) {
                tsmith_source *source;
                const tsmith_batch *batch;
                tsmith_sbt_summary summary = {.size = sizeof summary};
                if (tsmith_sbt_scan(trace, NULL, &source, &error) == TSMITH_OK)
                    while (tsmith_source_next(source, &batch, &error) == TSMITH_OK)
                        assert_true(tsmith_batch_count(batch) <= TSMITH_BATCH_MAX);
                assert_int_equal(tsmith_sbt_summarize(trace, &summary, &error), TSMITH_OK);
                assert_true(summary.events <= 1u << 20 || summary.complete);
                tsmith_source_destroy(source);
                tsmith_sbt_close(trace);
            }
            close(file.fd);
            free(copy);
        }
    }
    free(seen.events);
    free(image.bytes);
}

static void a_file_that_shrinks_while_it_is_read_ends_the_scan(void **state) {
    (void)state;
    struct image image;
    make_image(&image, 8, 100);
    struct file file = put_file(image.bytes, image.size);
    tsmith_sbt *trace;
    tsmith_source *source;
    tsmith_error error;
    const tsmith_batch *batch;
    assert_int_equal(tsmith_sbt_open(file.path, &trace, &error), TSMITH_OK);
    assert_int_equal(tsmith_sbt_scan(trace, NULL, &source, &error), TSMITH_OK);
    assert_int_equal(tsmith_source_next(source, &batch, &error), TSMITH_OK);
    assert_int_equal(ftruncate(file.fd, 100), 0);
    assert_int_equal(tsmith_source_next(source, &batch, &error), TSMITH_TRUNCATED);
    tsmith_source_destroy(source);
    tsmith_sbt_close(trace);
    close(file.fd);
    free(image.bytes);
}

static void a_hole_of_a_terabyte_is_not_searched(void **state) {
    (void)state;
    struct image image;
    tsmith_sbt *trace;
    tsmith_sbt_summary summary = {.size = sizeof summary};
    tsmith_error error;
    make_image(&image, 4, 10);
    size_t cut = image.frames[3].offset;
    // The first frames, a terabyte of nothing, and the rest.
    struct file file = put_file(image.bytes, cut);
    off_t far = (off_t)1 << 40;
    assert_int_equal(pwrite(file.fd, image.bytes + cut, image.size - cut, far), image.size - cut);
    assert_int_equal(tsmith_sbt_open(file.path, &trace, &error), TSMITH_OK);
    assert_int_equal(tsmith_sbt_summarize(trace, &summary, &error), TSMITH_OK);
    assert_int_equal(summary.damaged_frames, 1);
    assert_int_equal(summary.first_bad_offset, cut);
    assert_int_equal(summary.events, image.events);
    tsmith_sbt_close(trace);
    close(file.fd);
    free(image.bytes);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_cut_anywhere_gives_the_frames_before_the_cut),
        cmocka_unit_test(a_large_file_cut_at_random),
        cmocka_unit_test(every_flipped_bit_costs_at_most_its_frame),
        cmocka_unit_test(verify_finds_every_flipped_bit),
        cmocka_unit_test(a_damaged_name_costs_the_name_and_no_event),
        cmocka_unit_test(unknown_frames_are_skipped_or_refused_by_name),
        cmocka_unit_test(a_newer_major_version_is_refused_by_name),
        cmocka_unit_test(unknown_columns_are_skipped),
        cmocka_unit_test(other_things_are_refused_with_a_reason),
        cmocka_unit_test(huge_counts_are_not_believed),
        cmocka_unit_test(a_hole_of_a_terabyte_is_not_searched),
        cmocka_unit_test(a_file_that_shrinks_while_it_is_read_ends_the_scan),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
