// SPDX-License-Identifier: Apache-2.0
// Many sessions one after the other in one process, with threads that go on to use those that have ended: nothing of theirs
// comes into a later session's file, and the process does not grow. TRACESMITH_SOAK is the long form: 100,000 sessions.
#include "support/test.h"

#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tracesmith/sbt.h"
#include "tracesmith/session.h"

#ifdef __has_feature
#define SANITIZED (__has_feature(address_sanitizer) || __has_feature(thread_sanitizer))
#elif defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
#define SANITIZED 1
#else
#define SANITIZED 0
#endif

enum { KNOWN = 200, THREADS = 2, MARKS = 3 };

static char folder[] = "/tmp/tracesmith-test-XXXXXX";
static char path[256];
static tsmith_session *_Atomic known[KNOWN]; // most of them have ended
static _Atomic bool enough;

static void *emit_late(void *unused) {
    (void)unused;
    for (unsigned i = 0; !atomic_load(&enough); i++) {
        tsmith_session *session = atomic_load(&known[i * 7 % KNOWN]);
        const tsmith_value value = {TSMITH_FIELD_BYTES, i};
        tsmith_range_begin(session, 1);
        tsmith_range_end(session);
        tsmith_count(session, 1, i);
        tsmith_emit(session, TSMITH_KIND_RANGE, 0, 1, tsmith_session_now(session), 1, &value, 1);
        if (i % 64 == 0)
            tsmith_session_name(session, "late");
    }
    return NULL;
}

// Bytes that are allocated now: a sanitizer's allocator has its own count. What is mapped is in mappings().
#if SANITIZED
size_t __sanitizer_get_current_allocated_bytes(void); // sanitizer/allocator_interface.h, which gcc may lack

static size_t allocated(void) {
    return __sanitizer_get_current_allocated_bytes();
}
#else
static size_t allocated(void) {
    const struct mallinfo2 now = mallinfo2();
    return now.uordblks + now.hblkhd;
}
#endif

static long mappings(void) {
    long lines = 0;
    FILE *file = fopen("/proc/self/maps", "r");
    if (!file)
        fail();
    for (int c = getc(file); c != EOF; c = getc(file))
        lines += c == '\n';
    fclose(file);
    return lines;
}

// The marks of a file are those of its own session.
static void check_file(const char *name) {
    tsmith_sbt *trace;
    tsmith_source *source;
    const tsmith_batch *batch;
    const tsmith_dictionary *dictionary;
    uint64_t marks = 0;
    assert_int_equal(tsmith_sbt_open(path, &trace, NULL), TSMITH_OK);
    assert_int_equal(tsmith_sbt_dictionary(trace, &dictionary, NULL), TSMITH_OK);
    assert_int_equal(tsmith_sbt_scan(trace, NULL, &source, NULL), TSMITH_OK);
    while (tsmith_source_next(source, &batch, NULL) == TSMITH_OK)
        for (uint32_t i = 0; i < tsmith_batch_count(batch); i++) {
            uint64_t kind, id;
            assert_true(tsmith_batch_get(batch, TSMITH_FIELD_KIND, i, &kind));
            if (kind != TSMITH_KIND_MARKER)
                continue;
            assert_true(tsmith_batch_get(batch, TSMITH_FIELD_NAME, i, &id));
            assert_string_equal(tsmith_dictionary_string(dictionary, (uint32_t)id).bytes, name);
            marks++;
        }
    tsmith_source_destroy(source);
    tsmith_sbt_close(trace);
    assert_int_equal(marks, MARKS);
}

static void one_session(unsigned number) {
    const tsmith_session_options options = {.size = sizeof options,
                                            .path = path,
                                            .buffer_bytes = 64 * 1024,
                                            .overflow = TSMITH_OVERFLOW_DROP_NEWEST};
    tsmith_session_statistics statistics = {.size = sizeof statistics};
    tsmith_session *session;
    char name[32];
    assert_int_equal(tsmith_session_start(&options, &session, NULL), TSMITH_OK);
    snprintf(name, sizeof name, "session %u", number);
    const uint32_t id = tsmith_session_name(session, name);
    for (int i = 0; i < MARKS; i++)
        tsmith_mark(session, id);
    atomic_store(&known[number % KNOWN], session);
    assert_int_equal(tsmith_session_stop(session, &statistics, NULL), TSMITH_OK);
    assert_int_equal(statistics.emitted, statistics.kept + statistics.dropped);
    if (number % 16 == 0)
        check_file(name);
}

static void many(void **unused) {
    (void)unused;
    const unsigned count = getenv("TRACESMITH_SOAK") ? 100000 : SANITIZED ? 60 : 300;
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, emit_late, NULL), 0);
    for (unsigned i = 0; i < count / 3; i++)
        one_session(i);
    const size_t memory = allocated();
    const long maps = mappings();
    for (unsigned i = count / 3; i < count; i++)
        one_session(i);
    print_message("%u sessions: %zd bytes and %.3f mappings each\n", count - count / 3,
                  (ssize_t)(allocated() - memory) / (ssize_t)(count - count / 3),
                  (double)(mappings() - maps) / (count - count / 3));
    // Late threads may hold some rings at any moment.
    assert_true(is_between(mappings(), 0, maps + 32));
    assert_true(is_between(allocated(), 0, memory + (3 << 19)));
    atomic_store(&enough, true);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
}

static int make_folder(void **unused) {
    (void)unused;
    snprintf(path, sizeof path, "%s/x.sbt", mkdtemp(folder) ? folder : "");
    return 0;
}

static int remove_folder(void **unused) {
    (void)unused;
    unlink(path);
    return rmdir(folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(many)};
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
