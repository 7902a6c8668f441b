// SPDX-License-Identifier: Apache-2.0
// Traces of our own as Chrome JSON: everything that readers of Kineto traces need is present, and it is JSON for
// any trace.
#include "support/test.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>

#include "base/json.h"
#include "support/made_trace.h"
#include "tracesmith/export_trace.h"
#include "tracesmith/import.h"

static char *read_all(int fd, size_t *length) {
    *length = (size_t)lseek(fd, 0, SEEK_END);
    char *text = calloc(1, *length + 1);
    assert_non_null(text);
    assert_int_equal(pread(fd, text, *length, 0), (ssize_t)*length);
    return text;
}

static char *export_source(tsmith_source *source, int gzip, size_t *length) {
    tsmith_export_options options = {.size = sizeof options, .gzip = gzip};
    tsmith_sink *sink;
    int fd = memfd_create("out", MFD_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(tsmith_export_open_fd("chrome", fd, &options, &sink, NULL), TSMITH_OK);
    assert_int_equal(tsmith_pump(source, sink, NULL, NULL, NULL), TSMITH_OK);
    tsmith_sink_destroy(sink);
    tsmith_source_destroy(source);
    char *text = read_all(fd, length);
    close(fd);
    return text;
}

static char *export_made(const struct made_trace *trace, size_t *length) {
    char *text = export_source(made_source(trace, 16, (struct random){1}), 0, length);
    assert_true(json_is_valid(text, *length));
    return text;
}

static void assert_contains(const char *text, const char *part) {
    if (!strstr(text, part))
        fail_msg("missing: %s\nin: %s", part, text);
}

static void test_launch(void **state) {
    (void)state;
    struct made_trace trace;
    made_trace_init(&trace);
    uint32_t process = made_process(&trace, 77);
    uint32_t device = made_device(&trace, "GPU");
    uint32_t thread = made_track(&trace, TSMITH_TRACK_THREAD, process, 0, 0, "main");
    uint32_t queue = made_track(&trace, TSMITH_TRACK_QUEUE, process, device, 0, "queue 1");
    made_launch(&trace, thread, queue, 5, 1000, 500, 2001, 3500);
    struct made_event *copy = made_event(&trace, TSMITH_KIND_MEMCPY, queue, 6000, 1000);
    copy->bytes = 4096;
    copy->direction = TSMITH_DIRECTION_HOST_TO_DEVICE;
    copy->name = "copy \"x\"\n\xff";
    copy->waits[0] = 5;
    copy->waits[1] = 18446744073709551615u;
    copy->wait_count = 2;
    struct made_event *loss = made_event(&trace, TSMITH_KIND_LOSS, thread, 7000, 10);
    loss->lost = 3;
    (void)made_event(&trace, TSMITH_KIND_MARKER, thread, -1, -1);
    tsmith_dictionary_set_attribute(trace.dictionary, "host", "a\"b\\c");
    size_t length;
    char *text = export_made(&trace, &length);
    assert_contains(text, "\"ts\":2.001,\"dur\":3.5");
    assert_contains(text, "\"pid\":77,");
    assert_contains(text, "\"ph\":\"s\",\"cat\":\"ac2g\"");
    assert_contains(text, "\"ph\":\"f\",\"bp\":\"e\",\"cat\":\"ac2g\"");
    assert_contains(text, "\"name\":\"copy \\\"x\\\"\\n\\udcff\"");
    assert_contains(text, "\"direction\":\"h2d\",\"bytes\":4096,\"waits\":[5,18446744073709551615]");
    assert_contains(text, "\"cat\":\"tracesmith.loss\"");
    assert_contains(text, "\"lost\":3");
    assert_contains(text, "\"ph\":\"i\"");
    assert_contains(text, "\"ts\":-0.001");
    assert_contains(text, "{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":77,");
    assert_contains(text, "\"args\":{\"name\":\"queue 1\"}");
    assert_contains(text, "\"host\":\"a\\\"b\\\\c\"");
    free(text);
    made_trace_finish(&trace);
}

// What was exported is imported again and exported again: nothing changes any more.
static void test_settles(void **state) {
    (void)state;
    struct made_trace trace;
    struct random random = {8};
    made_trace_init(&trace);
    uint32_t process = made_process(&trace, 1);
    uint32_t tracks[3];
    for (int i = 0; i < 3; i++)
        tracks[i] = made_track(&trace, i ? TSMITH_TRACK_QUEUE : TSMITH_TRACK_THREAD, process, 0, 0, "t");
    for (int64_t i = 0; i < 5000; i++)
        made_launch(&trace, tracks[0], tracks[1 + i % 2], (uint64_t)i + 1, i * 1000, 300 + (int64_t)(i % 7),
                    i * 1000 + 500 + (int64_t)random_below(&random, 400),
                    (int64_t)random_below(&random, 1000));
    size_t lengths[3];
    char *texts[3];
    texts[0] = export_made(&trace, &lengths[0]);
    for (int i = 1; i < 3; i++) {
        int fd = memfd_create("in", MFD_CLOEXEC);
        tsmith_source *source;
        assert_int_equal(write(fd, texts[i - 1], lengths[i - 1]), (ssize_t)lengths[i - 1]);
        assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
        assert_int_equal(tsmith_import_open_fd(fd, "in", NULL, &source, NULL), TSMITH_OK);
        texts[i] = export_source(source, 0, &lengths[i]);
        close(fd);
    }
    assert_int_equal(lengths[1], lengths[2]);
    for (int i = 0; i < 3; i++)
        free(texts[i]);
    made_trace_finish(&trace);
}

static void test_gzip(void **state) {
    (void)state;
    struct made_trace trace;
    made_trace_init(&trace);
    uint32_t thread = made_track(&trace, TSMITH_TRACK_THREAD, made_process(&trace, 1), 0, 0, "t");
    for (int64_t i = 0; i < 20000; i++)
        (void)made_event(&trace, TSMITH_KIND_RANGE, thread, i * 10, 5);
    size_t length, packed_length;
    char *text = export_made(&trace, &length);
    char *packed = export_source(made_source(&trace, 16, (struct random){1}), 1, &packed_length);
    assert_true(packed_length < length / 4);
    char *unpacked = malloc(length + 1);
    assert_non_null(unpacked);
    z_stream stream = {.next_in = (Bytef *)packed,
                       .avail_in = (uInt)packed_length,
                       .next_out = (Bytef *)unpacked,
                       .avail_out = (uInt)length + 1};
    assert_int_equal(inflateInit2(&stream, 15 + 16), Z_OK);
    assert_int_equal(inflate(&stream, Z_FINISH), Z_STREAM_END);
    assert_int_equal(stream.total_out, length);
    assert_memory_equal(unpacked, text, length);
    inflateEnd(&stream);
    free(unpacked);
    free(packed);
    free(text);
    made_trace_finish(&trace);
}

// A full device and an existing file give errors that name the cause.
static void test_failures(void **state) {
    (void)state;
    struct made_trace trace;
    made_trace_init(&trace);
    uint32_t thread = made_track(&trace, TSMITH_TRACK_THREAD, made_process(&trace, 1), 0, 0, "t");
    (void)made_event(&trace, TSMITH_KIND_RANGE, thread, 1, 1);
    tsmith_sink *sink;
    tsmith_error error;
    int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
    if (full >= 0) {
        tsmith_source *source = made_source(&trace, 16, (struct random){1});
        assert_int_equal(tsmith_export_open_fd("chrome", full, NULL, &sink, &error), TSMITH_OK);
        assert_int_equal(tsmith_pump(source, sink, NULL, NULL, &error), TSMITH_ERROR_NO_SPACE);
        tsmith_sink_destroy(sink);
        tsmith_source_destroy(source);
        close(full);
    }
    tsmith_export_options options = {.size = sizeof options, .exclusive = 1};
    char path[] = "/tmp/tracesmith-export-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_not_equal(tsmith_export_open("chrome", path, &options, &sink, &error), TSMITH_OK);
    assert_null(sink);
    assert_non_null(strstr(error.message, path));
    close(fd);
    unlink(path);
    made_trace_finish(&trace);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_launch),
        cmocka_unit_test(test_settles),
        cmocka_unit_test(test_gzip),
        cmocka_unit_test(test_failures),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
