// SPDX-License-Identifier: Apache-2.0
// Opening a trace: the same events from every format and source, damage is remembered, and nothing is left
// behind.
#include "tracesmith/trace.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/test.h"
#include "tracesmith/import.h"

enum { EVENTS = 20000, CHUNK = 7 };

static char folder[64], json_path[128], sbt_path[128];
static char *json;
static size_t json_size;

static void write_file(const char *path, const char *bytes, size_t size) {
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, size), (ssize_t)size);
    assert_int_equal(close(fd), 0);
}

// Events of which the n-th begins at n us and lasts n ns.
static void make_json(void) {
    FILE *out = open_memstream(&json, &json_size);
    assert_non_null(out);
    fputs("{\"traceEvents\":[", out);
    for (int i = 1; i <= EVENTS; i++)
        fprintf(out, "%s\n{\"ph\":\"X\",\"name\":\"n%d\",\"pid\":1,\"tid\":%d,\"ts\":%d,\"dur\":%d.%03d}",
                i > 1 ? "," : "", i % 17, i % 3, i, i / 1000, i % 1000);
    fputs("]}", out);
    assert_int_equal(fclose(out), 0);
}

struct sum {
    uint64_t count;
    int64_t starts, durations; // added up
};

static struct sum add_up(tsmith_source *source, tsmith_status *ended) {
    const tsmith_batch *batch;
    struct sum sum = {0};
    tsmith_status status;
    while ((status = tsmith_source_next(source, &batch, NULL)) == TSMITH_OK) {
        for (uint32_t row = 0; row < tsmith_batch_count(batch); row++) {
            uint64_t start, duration;
            if (!tsmith_batch_get(batch, TSMITH_FIELD_DURATION, row, &duration) ||
                !tsmith_batch_get(batch, TSMITH_FIELD_START, row, &start))
                continue;
            sum.count++;
            sum.starts += (int64_t)start;
            sum.durations += (int64_t)duration;
        }
    }
    *ended = status;
    return sum;
}

static void assert_all(struct sum sum) {
    assert_int_equal(sum.count, EVENTS);
    assert_int_equal(sum.durations, (int64_t)EVENTS * (EVENTS + 1) / 2);
    assert_int_equal(sum.starts, (int64_t)EVENTS * (EVENTS + 1) / 2 * 1000);
}

static struct sum read_trace(tsmith_trace *trace) {
    tsmith_source *source;
    tsmith_status ended;
    assert_int_equal(tsmith_sbt_scan(tsmith_trace_sbt(trace), NULL, &source, NULL), TSMITH_OK);
    struct sum sum = add_up(source, &ended);
    assert_int_equal(ended, TSMITH_END);
    tsmith_source_destroy(source);
    return sum;
}

static void assert_opens(const char *path, const char *format, uint64_t bytes) {
    tsmith_trace *trace;
    tsmith_error error;
    if (tsmith_trace_open(path, NULL, &trace, &error) != TSMITH_OK)
        fail_msg("%s: %s", path, error.message);
    assert_all(read_trace(trace));
    assert_string_equal(tsmith_trace_format(trace), format);
    assert_int_equal(tsmith_trace_bytes(trace), bytes);
    assert_int_equal(tsmith_trace_ended(trace, &error), TSMITH_OK);
    tsmith_trace_close(trace);
}

static void assert_streams(const char *path, const char *format) {
    const char *name = NULL;
    const tsmith_trace_options options = {.size = sizeof options, .format = &name};
    tsmith_source *source;
    tsmith_status ended;
    assert_int_equal(tsmith_trace_stream(path, &options, &source, NULL), TSMITH_OK);
    assert_string_equal(name, format);
    assert_all(add_up(source, &ended));
    assert_int_equal(ended, TSMITH_END);
    tsmith_source_destroy(source);
}

static uint64_t size_of(const char *path) {
    struct stat status;
    assert_int_equal(stat(path, &status), 0);
    return (uint64_t)status.st_size;
}

static void files(void **state) {
    (void)state;
    assert_opens(json_path, "chrome-json", json_size);
    assert_opens(sbt_path, "sbt", size_of(sbt_path));
    assert_streams(json_path, "chrome-json");
    assert_streams(sbt_path, "sbt");
}

// ---- pipes

struct writer {
    const char *from;
    int to;
    size_t chunk; // bytes written at a time
};

static void *write_pipe(void *argument) {
    const struct writer *writer = argument;
    char bytes[4096];
    int fd = open(writer->from, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    for (ssize_t got, at = 0; (got = read(fd, bytes, at < 1000 ? writer->chunk : sizeof bytes)) > 0;
         at += got)
        if (write(writer->to, bytes, (size_t)got) != got)
            break;
    close(fd);
    close(writer->to);
    return NULL;
}

// As /dev/fd/N, as a shell's <(...) names it.
static void from_pipe(const char *from, size_t chunk, void (*check)(const char *path, const char *format),
                      const char *format) {
    int ends[2];
    pthread_t thread;
    char path[32];
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    struct writer writer = {from, ends[1], chunk};
    (void)snprintf(path, sizeof path, "/dev/fd/%d", ends[0]);
    assert_int_equal(pthread_create(&thread, NULL, write_pipe, &writer), 0);
    check(path, format);
    close(ends[0]);
    assert_int_equal(pthread_join(thread, NULL), 0);
}

static void assert_opens_pipe(const char *path, const char *format) {
    assert_opens(path, format, 0);
}

static void pipes(void **state) {
    (void)state;
    for (size_t chunk = 1; chunk <= 64; chunk += CHUNK) {
        from_pipe(json_path, chunk, assert_opens_pipe, "chrome-json");
        from_pipe(sbt_path, chunk, assert_opens_pipe, "sbt");
        from_pipe(json_path, chunk, assert_streams, "chrome-json");
        from_pipe(sbt_path, chunk, assert_streams, "sbt");
    }
}

// ---- options

struct seen {
    uint64_t calls, done, total;
};

static void see(void *context, uint64_t done, uint64_t total) {
    struct seen *seen = context;
    assert_true(done >= seen->done && done <= total);
    *seen = (struct seen){seen->calls + 1, done, total};
}

static void progress(void **state) {
    (void)state;
    struct seen seen = {0};
    tsmith_trace *trace;
    tsmith_source *source;
    tsmith_status ended;
    tsmith_trace_options options = {.size = sizeof options, .progress = see, .progress_context = &seen};
    assert_int_equal(tsmith_trace_open(json_path, &options, &trace, NULL), TSMITH_OK);
    assert_true(seen.calls > 0 && seen.done == json_size && seen.total == json_size);
    tsmith_trace_close(trace);
    seen = (struct seen){0};
    assert_int_equal(tsmith_trace_stream(json_path, &options, &source, NULL), TSMITH_OK);
    (void)add_up(source, &ended);
    assert_true(seen.calls > 0 && seen.done == json_size);
    tsmith_source_destroy(source);
    // For an older caller, whose options end before it: it is not read.
    seen = (struct seen){0};
    options.size = offsetof(tsmith_trace_options, progress);
    assert_int_equal(tsmith_trace_open(json_path, &options, &trace, NULL), TSMITH_OK);
    assert_int_equal(seen.calls, 0);
    tsmith_trace_close(trace);
}

static void a_scan_is_a_hint(void **state) {
    (void)state;
    const tsmith_scan scan = {.size = sizeof scan, .kinds = TSMITH_KIND_BIT(TSMITH_KIND_LOSS)};
    const tsmith_trace_options options = {.size = sizeof options, .scan = &scan};
    tsmith_source *source;
    tsmith_status ended;
    assert_int_equal(tsmith_trace_stream(sbt_path, &options, &source, NULL), TSMITH_OK);
    assert_int_equal(add_up(source, &ended).count, 0);
    tsmith_source_destroy(source);
    assert_int_equal(tsmith_trace_stream(json_path, &options, &source, NULL), TSMITH_OK);
    assert_all(add_up(source, &ended));
    tsmith_source_destroy(source);
}

// ---- what is wrong

static void cut_off(void **state) {
    (void)state;
    char path[160];
    tsmith_trace *trace;
    tsmith_source *source;
    tsmith_status ended;
    tsmith_error error;
    (void)snprintf(path, sizeof path, "%s/cut", folder);
    write_file(path, json, json_size / 2);
    assert_int_equal(tsmith_trace_open(path, NULL, &trace, &error), TSMITH_OK);
    assert_int_equal(tsmith_trace_ended(trace, &error), TSMITH_TRUNCATED);
    assert_non_null(strstr(error.message, path));
    uint64_t count = read_trace(trace).count;
    assert_true(count > EVENTS / 3 && count < EVENTS * 2 / 3);
    tsmith_trace_close(trace);
    assert_int_equal(tsmith_trace_stream(path, NULL, &source, &error), TSMITH_OK);
    assert_int_equal(add_up(source, &ended).count, count);
    assert_int_equal(ended, TSMITH_TRUNCATED);
    tsmith_source_destroy(source);
    // An .sbt that is cut off is opened unchanged, and reports it itself.
    tsmith_sbt_summary summary = {.size = sizeof summary};
    char bytes[1 << 16];
    int fd = open(sbt_path, O_RDONLY | O_CLOEXEC);
    ssize_t size = read(fd, bytes, sizeof bytes);
    close(fd);
    assert_true(size > 1000);
    write_file(path, bytes, (size_t)size * 3 / 4);
    assert_int_equal(tsmith_trace_open(path, NULL, &trace, &error), TSMITH_OK);
    assert_string_equal(tsmith_trace_format(trace), "sbt");
    assert_int_equal(tsmith_sbt_summarize(tsmith_trace_sbt(trace), &summary, NULL), TSMITH_OK);
    assert_false(summary.complete);
    tsmith_trace_close(trace);
}

static void refused(void **state) {
    (void)state;
    static const struct {
        const char *bytes;
        size_t size;
    } inputs[] = {
        {"", 0}, {"{", 1}, {"garbage", 7}, {"\x89SBT", 4}, {"SQLite format 3", 15}, {"\x1f\x8b\x08", 3}};
    char path[160];
    tsmith_trace *trace;
    tsmith_error error;
    (void)snprintf(path, sizeof path, "%s/bad", folder);
    for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++) {
        write_file(path, inputs[i].bytes, inputs[i].size);
        tsmith_status status = tsmith_trace_open(path, NULL, &trace, &error);
        if (status != TSMITH_ERROR_FORMAT && status != TSMITH_ERROR_CORRUPT)
            fail_msg("input %zu: %s", i, tsmith_status_name(status));
        assert_null(trace);
        assert_int_equal(error.status, status);
        assert_non_null(strstr(error.message, path));
    }
    assert_int_equal(tsmith_trace_open(folder, NULL, &trace, &error), TSMITH_ERROR_FORMAT);
    assert_int_equal(tsmith_trace_open("/dev/null", NULL, &trace, &error), TSMITH_ERROR_FORMAT);
    (void)snprintf(path, sizeof path, "%s/missing", folder);
    assert_int_equal(tsmith_trace_open(path, NULL, &trace, &error), TSMITH_ERROR_NOT_FOUND);
}

static void no_room(void **state) {
    (void)state;
    tsmith_trace *trace;
    tsmith_error error;
    char nowhere[160];
    (void)snprintf(nowhere, sizeof nowhere, "%s/nowhere", folder);
    assert_int_equal(setenv("TMPDIR", nowhere, 1), 0);
    assert_true(tsmith_trace_open(json_path, NULL, &trace, &error) < 0);
    assert_non_null(strstr(error.message, "TMPDIR"));
    // What is SBT already, or needs one pass, does without.
    assert_opens(sbt_path, "sbt", size_of(sbt_path));
    assert_streams(json_path, "chrome-json");
    assert_int_equal(setenv("TMPDIR", folder, 1), 0);
}

static void nothing_is_left(void **state) {
    (void)state;
    size_t files_there = 0;
    DIR *directory = opendir(folder);
    assert_non_null(directory);
    for (struct dirent *entry; (entry = readdir(directory));)
        files_there += entry->d_name[0] != '.';
    closedir(directory);
    assert_int_equal(files_there, 4); // those of this test
}

static int set_up(void **state) {
    (void)state;
    tsmith_source *source;
    tsmith_sink *sink;
    (void)snprintf(folder, sizeof folder, "/tmp/test_trace-XXXXXX");
    assert_non_null(mkdtemp(folder));
    (void)snprintf(json_path, sizeof json_path, "%s/t.json", folder);
    (void)snprintf(sbt_path, sizeof sbt_path, "%s/t.sbt", folder);
    make_json();
    write_file(json_path, json, json_size);
    assert_int_equal(tsmith_import_open(json_path, NULL, &source, NULL), TSMITH_OK);
    assert_int_equal(tsmith_sbt_writer_open(sbt_path, NULL, &sink, NULL), TSMITH_OK);
    assert_int_equal(tsmith_pump(source, sink, NULL, NULL, NULL), TSMITH_OK);
    tsmith_sink_destroy(sink);
    tsmith_source_destroy(source);
    return setenv("TMPDIR", folder, 1);
}

static int tear_down(void **state) {
    (void)state;
    static const char *const names[] = {"t.json", "t.sbt", "cut", "bad"};
    char path[160];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        (void)snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        (void)unlink(path);
    }
    free(json);
    return rmdir(folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files),   cmocka_unit_test(pipes),           cmocka_unit_test(progress),
        cmocka_unit_test(cut_off), cmocka_unit_test(refused),         cmocka_unit_test(a_scan_is_a_hint),
        cmocka_unit_test(no_room), cmocka_unit_test(nothing_is_left),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
