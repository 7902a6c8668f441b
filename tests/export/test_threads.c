// SPDX-License-Identifier: Apache-2.0
// Exports that compress in several threads write the same bytes as one thread, call the caller's function from its own thread, return
// its failure, and end cleanly when they are given up, when the process was forked, when its thread is canceled, and where no further
// thread can be started.
#include "support/test.h"

#include <dlfcn.h>
#include <errno.h>
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

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#endif

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

// The threads are not in the child: the sink fails there, and the parent's output stays. With a sanitizer the child does not free the sink,
// because a lock of the sanitizer may be held.
static void test_fork(void **state) {
    (void)state;
    if (tsmith_processors() < 2)
        skip();
    for (unsigned i = 0; i < FORMATS; i++) {
        struct made made;
        struct written written;
        char name[] = "/tmp/tracesmith-export-XXXXXX";
        int ended;
        begin(&made, formats[i], &written, SIZE_MAX);
        tsmith_sink_destroy(made.sink);
        assert_non_null(mkdtemp(name));
        char path[sizeof name + 4];
        (void)snprintf(path, sizeof path, "%s/out", name);
        assert_int_equal(tsmith_export_open(formats[i], path, NULL, &made.sink, NULL), TSMITH_OK);
        for (unsigned k = 0; k < 3; k++)
            assert_int_equal(write_one(&made, k, NULL), TSMITH_OK);
        const pid_t child = fork();
        assert_true(child >= 0);
        if (!child) {
            const tsmith_status status = tsmith_sink_finish(made.sink, made.dictionary, NULL);
#ifndef SANITIZED
            tsmith_sink_destroy(made.sink);
#endif
            _exit(status == TSMITH_ERROR_STATE ? 0 : 1);
        }
        assert_int_equal(waitpid(child, &ended, 0), child);
        assert_true(WIFEXITED(ended) && WEXITSTATUS(ended) == 0);
        assert_int_equal(tsmith_sink_finish(made.sink, made.dictionary, NULL), TSMITH_OK);
        assert_int_equal(access(path, R_OK), 0);
        end(&made);
        assert_int_equal(unlink(path) | rmdir(name), 0);
        free(written.bytes);
    }
}

struct canceled {
    struct made made;
    struct written written;
    const char *format;
    bool is_done;
};

static void *write_canceled(void *of) {
    struct canceled *canceled = of;
    canceled->written.thread = pthread_self();
    assert_int_equal(pthread_cancel(pthread_self()), 0);
    for (unsigned k = 0; k < FEW_BATCHES; k++)
        assert_int_equal(write_one(&canceled->made, k, NULL), TSMITH_OK);
    assert_int_equal(tsmith_sink_finish(canceled->made.sink, canceled->made.dictionary, NULL), TSMITH_OK);
    canceled->is_done = true;
    pthread_testcancel();
    return NULL;
}

// The caller's function waits for nothing here, so that only the export itself could end the thread, and keep its lock.
static void test_canceled(void **state) {
    (void)state;
#ifdef SANITIZED
    skip(); // the sanitizer's own functions may end the thread
#endif
    for (unsigned i = 0; i < FORMATS; i++) {
        struct canceled canceled = {.format = formats[i]};
        pthread_t thread;
        void *result;
        begin(&canceled.made, formats[i], &canceled.written, SIZE_MAX);
        assert_int_equal(pthread_create(&thread, NULL, write_canceled, &canceled), 0);
        assert_int_equal(pthread_join(thread, &result), 0);
        assert_ptr_equal(result, PTHREAD_CANCELED);
        assert_true(canceled.is_done);
        end(&canceled.made);
        free(canceled.written.bytes);
    }
}

#ifdef SANITIZED
static void test_refused(void **state) {
    (void)state;
    skip(); // the sanitizer has a pthread_create of its own
}
#else
static int allowed = -1; // further threads; below 0: any number
static unsigned refused;

// For the library too.
int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *), void *of) {
    int (*create)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    *(void **)&create = dlsym(RTLD_NEXT, "pthread_create");
    if (allowed == 0) {
        refused++;
        return EAGAIN;
    }
    allowed -= allowed > 0;
    return create(thread, attributes, run, of);
}

static void test_refused(void **state) {
    (void)state;
    if (tsmith_processors() < 2)
        skip();
    for (unsigned i = 0; i < FORMATS; i++) {
        struct written all, few;
        write_all(formats[i], &all);
        for (int threads = 0; threads < 2; threads++) {
            refused = 0;
            allowed = threads;
            write_all(formats[i], &few);
            allowed = -1;
            assert_true(refused <= 1 && (threads || refused)); // it is not tried again
            assert_int_equal(few.size, all.size);
            assert_memory_equal(few.bytes, all.bytes, all.size);
            free(few.bytes);
        }
        free(all.bytes);
    }
}
#endif

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_same_bytes), cmocka_unit_test(test_failure),
                                       cmocka_unit_test(test_given_up),   cmocka_unit_test(test_fork),
                                       cmocka_unit_test(test_canceled),   cmocka_unit_test(test_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
