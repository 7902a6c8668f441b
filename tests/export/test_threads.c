// SPDX-License-Identifier: Apache-2.0
// Exports that compress in several threads write the same bytes as one thread, call the caller's function from its own thread, return
// its failure, and end cleanly when they are given up or when the process was forked.
#include "support/test.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/array.h"
#include "tracesmith/batch.h"
#include "tracesmith/dictionary.h"
#include "tracesmith/export_trace.h"
#include "tracesmith/processors.h"

// Batches that are no multiple of the blocks, blocks that are not full at the end, and a row group of Parquet that is full.
enum { BATCHES = 45, ROWS = 25001, FEW_BATCHES = 12 };

static const char *const formats[] = {"arrow", "arrow-stream", "parquet"};
enum { FORMATS = sizeof formats / sizeof *formats };

struct written {
    unsigned char *bytes;
    size_t size, capacity, most; // at most so many are taken
    pthread_t thread;
    bool elsewhere, failed, again; // called in another thread; after a failure
};

static tsmith_status take(void *context, const void *bytes, size_t size) {
    struct written *written = context;
    written->elsewhere |= !pthread_equal(pthread_self(), written->thread);
    written->again |= written->failed;
    if (written->size + size > written->most) {
        written->failed = true;
        return TSMITH_ERROR_NO_SPACE;
    }
    assert_non_null(ARRAY_RESERVE(written->bytes, written->capacity, written->size + size));
    memcpy(written->bytes + written->size, bytes, size);
    written->size += size;
    return TSMITH_OK;
}

struct made {
    tsmith_dictionary *dictionary;
    tsmith_batch *batch;
    tsmith_sink *sink;
    struct random random;
    uint32_t track;
};

static void begin(struct made *made, const char *format, struct written *written, size_t most) {
    const tsmith_output output = {take, written};
    *written = (struct written){.most = most, .thread = pthread_self()};
    *made = (struct made){.random = {7}};
    assert_int_equal(tsmith_dictionary_create(&made->dictionary), TSMITH_OK);
    assert_int_equal(tsmith_batch_create(&made->batch), TSMITH_OK);
    const uint32_t process = tsmith_dictionary_add_process(made->dictionary, &(tsmith_process){.pid = 7});
    made->track = tsmith_dictionary_add_track(
        made->dictionary, &(tsmith_track){.kind = TSMITH_TRACK_QUEUE, .process = process});
    assert_int_equal(tsmith_export_open_output(format, &output, NULL, &made->sink, NULL), TSMITH_OK);
}

// Strings come while the trace is written; some columns have values in some blocks only.
static tsmith_status write_one(struct made *made, unsigned number, tsmith_error *error) {
    uint32_t name = 0;
    tsmith_batch_reset(made->batch, made->track);
    for (unsigned i = 0; i < ROWS; i++) {
        const int64_t at = (int64_t)number * ROWS + i;
        assert_int_equal(tsmith_batch_append(made->batch, TSMITH_KIND_KERNEL, at * 1000), i);
        if (i % 1000 == 0) {
            char text[32];
            (void)snprintf(text, sizeof text, "kernel %u", (unsigned)(at / 1000 % 700));
            name = tsmith_dictionary_intern_cstr(made->dictionary, text);
        }
        tsmith_batch_set(made->batch, TSMITH_FIELD_NAME, name);
        tsmith_batch_set(made->batch, TSMITH_FIELD_DURATION, random_below(&made->random, 900));
        if (i % 7)
            tsmith_batch_set(made->batch, TSMITH_FIELD_CORRELATION, (uint64_t)at);
        if (number % 3 == 1)
            tsmith_batch_set(made->batch, TSMITH_FIELD_QUEUED, (uint64_t)at * 1000 - 5);
    }
    assert_int_equal(tsmith_batch_finish(made->batch), TSMITH_OK);
    return tsmith_sink_write(made->sink, made->dictionary, made->batch, error);
}

static void end(struct made *made) {
    tsmith_sink_destroy(made->sink);
    tsmith_batch_destroy(made->batch);
    tsmith_dictionary_destroy(made->dictionary);
}

static void write_all(const char *format, struct written *written) {
    struct made made;
    begin(&made, format, written, SIZE_MAX);
    for (unsigned i = 0; i < BATCHES; i++)
        assert_int_equal(write_one(&made, i, NULL), TSMITH_OK);
    assert_int_equal(tsmith_sink_finish(made.sink, made.dictionary, NULL), TSMITH_OK);
    end(&made);
}

static void test_same_bytes(void **state) {
    (void)state;
    cpu_set_t all, one;
    assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
    CPU_ZERO(&one);
    for (size_t i = 0; i < CPU_SETSIZE && !CPU_COUNT(&one); i++)
        if (CPU_ISSET(i, &all))
            CPU_SET(i, &one);
    for (unsigned i = 0; i < FORMATS; i++) {
        struct written alone, together;
        assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
        assert_int_equal(tsmith_processors(), 1);
        write_all(formats[i], &alone);
        assert_int_equal(sched_setaffinity(0, sizeof all, &all), 0);
        write_all(formats[i], &together);
        assert_false(together.elsewhere);
        assert_int_equal(alone.size, together.size);
        assert_memory_equal(alone.bytes, together.bytes, alone.size);
        free(alone.bytes);
        free(together.bytes);
    }
}

// Of the caller's function, wherever in the output it is.
static void test_failure(void **state) {
    (void)state;
    static const size_t limits[] = {0, 270000, 380000};
    for (unsigned i = 0; i < FORMATS; i++)
        for (size_t limit = 0; limit < sizeof limits / sizeof *limits; limit++) {
            struct made made;
            struct written written;
            tsmith_error error = {.status = TSMITH_OK};
            tsmith_status status = TSMITH_OK;
            begin(&made, formats[i], &written, limits[limit]);
            for (unsigned k = 0; k < FEW_BATCHES && status == TSMITH_OK; k++)
                status = write_one(&made, k, &error);
            if (status == TSMITH_OK)
                status = tsmith_sink_finish(made.sink, made.dictionary, &error);
            assert_int_equal(status, TSMITH_ERROR_NO_SPACE);
            assert_int_equal(error.status, TSMITH_ERROR_NO_SPACE);
            end(&made);
            assert_false(written.again);
            free(written.bytes);
        }
}

static void test_given_up(void **state) {
    (void)state;
    for (unsigned i = 0; i < FORMATS; i++) {
        struct made made;
        struct written written;
        begin(&made, formats[i], &written, SIZE_MAX);
        for (unsigned k = 0; k < 3; k++)
            assert_int_equal(write_one(&made, k, NULL), TSMITH_OK);
        end(&made);
        free(written.bytes);
    }
}

// The threads are not in the child. Its memory is not touched there: with AddressSanitizer a lock of it may be held.
static void test_fork(void **state) {
    (void)state;
    if (tsmith_processors() < 2)
        skip();
    for (unsigned i = 0; i < FORMATS; i++) {
        struct made made;
        struct written written;
        int ended;
        begin(&made, formats[i], &written, SIZE_MAX);
        for (unsigned k = 0; k < 3; k++)
            assert_int_equal(write_one(&made, k, NULL), TSMITH_OK);
        const pid_t child = fork();
        assert_true(child >= 0);
        if (!child) {
            const tsmith_status status = tsmith_sink_finish(made.sink, made.dictionary, NULL);
            _exit(status == TSMITH_ERROR_STATE ? 0 : 1);
        }
        assert_int_equal(waitpid(child, &ended, 0), child);
        assert_true(WIFEXITED(ended) && WEXITSTATUS(ended) == 0);
        assert_int_equal(tsmith_sink_finish(made.sink, made.dictionary, NULL), TSMITH_OK);
        end(&made);
        free(written.bytes);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_same_bytes), cmocka_unit_test(test_failure),
                                       cmocka_unit_test(test_given_up), cmocka_unit_test(test_fork)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
