// SPDX-License-Identifier: Apache-2.0
// A session as its user sees it: what was emitted is in the file, value by value; the counts are exact; nothing that a
// program may do with threads, forks, full disks and late emissions hurts it.
#include "support/test.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "tracesmith/sbt.h"
#include "tracesmith/session.h"

static char folder[] = "/tmp/tracesmith-test-XXXXXX";
static char path[256];

static tsmith_session *start(size_t buffer, tsmith_overflow overflow) {
    tsmith_session *session;
    tsmith_error error;
    const tsmith_session_options options = {
        .size = sizeof options, .path = path, .buffer_bytes = buffer, .overflow = overflow};
    if (tsmith_session_start(&options, &session, &error)) {
        print_message("%s\n", error.message);
        fail();
    }
    return session;
}

static tsmith_session_statistics stop_session(tsmith_session *session) {
    tsmith_session_statistics statistics = {.size = sizeof statistics};
    tsmith_error error;
    tsmith_status status = tsmith_session_stop(session, &statistics, &error);
    if (status)
        print_message("%s\n", error.message);
    assert_int_equal(status, TSMITH_OK);
    assert_int_equal(statistics.emitted, statistics.kept + statistics.dropped);
    return statistics;
}

// ---- reading the file back

struct file {
    tsmith_sbt *trace;
    const tsmith_dictionary *dictionary;
    tsmith_sbt_summary summary;
};

static struct file open_file(void) {
    struct file file;
    tsmith_error error;
    assert_int_equal(tsmith_sbt_open(path, &file.trace, &error), TSMITH_OK);
    assert_int_equal(tsmith_sbt_dictionary(file.trace, &file.dictionary, &error), TSMITH_OK);
    file.summary.size = sizeof file.summary;
    assert_int_equal(tsmith_sbt_summarize(file.trace, &file.summary, &error), TSMITH_OK);
    assert_true(file.summary.complete);
    return file;
}

struct row {
    uint64_t kind, start, duration, name, value;
    bool has_duration;
    const tsmith_batch *batch;
    uint32_t index;
};

// Calls `each` for every event.
static void for_each_event(const struct file *file,
                           void (*each)(const struct file *, const struct row *, void *), void *context) {
    tsmith_source *source;
    const tsmith_batch *batch;
    tsmith_error error;
    assert_int_equal(tsmith_sbt_scan(file->trace, NULL, &source, &error), TSMITH_OK);
    while (tsmith_source_next(source, &batch, &error) == TSMITH_OK)
        for (uint32_t i = 0; i < tsmith_batch_count(batch); i++) {
            struct row row = {.batch = batch, .index = i};
            tsmith_batch_get(batch, TSMITH_FIELD_KIND, i, &row.kind);
            tsmith_batch_get(batch, TSMITH_FIELD_START, i, &row.start);
            tsmith_batch_get(batch, TSMITH_FIELD_NAME, i, &row.name);
            tsmith_batch_get(batch, TSMITH_FIELD_VALUE, i, &row.value);
            row.has_duration = tsmith_batch_get(batch, TSMITH_FIELD_DURATION, i, &row.duration) != 0;
            each(file, &row, context);
        }
    tsmith_source_destroy(source);
}

static const char *name_of(const struct file *file, const struct row *row) {
    return tsmith_dictionary_string(file->dictionary, (uint32_t)row->name).bytes;
}

// ---- values

static void null_session(void **unused) {
    (void)unused;
    tsmith_session_statistics statistics = {.size = sizeof statistics};
    tsmith_range_begin(NULL, 1);
    tsmith_range_end(NULL);
    tsmith_mark(NULL, 1);
    tsmith_count(NULL, 1, 1.0);
    tsmith_emit(NULL, TSMITH_KIND_KERNEL, 0, 0, 0, 0, NULL, 0);
    assert_int_equal(tsmith_session_name(NULL, "x"), 0);
    assert_int_equal(tsmith_session_track(NULL, "x"), 0);
    assert_int_equal(tsmith_session_field(NULL, "x", TSMITH_TYPE_U64, ""), 0);
    tsmith_session_statistics_get(NULL, &statistics);
    assert_int_equal(statistics.emitted, 0);
    assert_int_equal(tsmith_session_stop(NULL, &statistics, NULL), TSMITH_OK);
}

struct nesting {
    int64_t before, after;
    struct row outer, inner, mark;
    int outers, inners, marks, counters;
    double sum;
};

static void see_nesting(const struct file *file, const struct row *row, void *context) {
    struct nesting *nesting = context;
    if (row->kind == TSMITH_KIND_PROCESS)
        return;
    const char *name = name_of(file, row);
    assert_true(is_between(row->start, nesting->before, nesting->after));
    if (row->kind == TSMITH_KIND_RANGE && strcmp(name, "outer") == 0) {
        nesting->outer = *row;
        nesting->outers++;
    } else if (row->kind == TSMITH_KIND_RANGE && strcmp(name, "inner") == 0) {
        nesting->inner = *row;
        nesting->inners++;
    } else if (row->kind == TSMITH_KIND_MARKER && strcmp(name, "point") == 0) {
        nesting->mark = *row;
        nesting->marks++;
        assert_false(row->has_duration);
    } else if (row->kind == TSMITH_KIND_COUNTER && strcmp(name, "load") == 0) {
        double value;
        memcpy(&value, &row->value, sizeof value);
        nesting->sum += value;
        nesting->counters++;
    } else {
        fail();
    }
}

static void ranges_marks_counters(void **unused) {
    (void)unused;
    struct nesting nesting = {.before = clock_trace_now() - 1000000};
    tsmith_session *session = start(0, TSMITH_OVERFLOW_DROP_NEWEST);
    uint32_t outer = tsmith_session_name(session, "outer"), inner = tsmith_session_name(session, "inner");
    uint32_t point = tsmith_session_name(session, "point"), load = tsmith_session_name(session, "load");
    assert_int_equal(tsmith_session_name(session, "outer"), outer);
    tsmith_range_begin(session, outer);
    tsmith_range_begin(session, inner);
    tsmith_mark(session, point);
    tsmith_range_end(session);
    tsmith_count(session, load, 0.25);
    tsmith_count(session, load, -2e10);
    tsmith_count(session, load, 2e10);
    tsmith_range_end(session);
    tsmith_session_statistics statistics = stop_session(session);
    nesting.after = clock_trace_now() + 1000000;
    assert_int_equal(statistics.emitted, 8);
    assert_int_equal(statistics.dropped, 0);
    assert_int_equal(statistics.threads, 1);
    struct file file = open_file();
    for_each_event(&file, see_nesting, &nesting);
    assert_int_equal(nesting.outers * 1000 + nesting.inners * 100 + nesting.marks * 10 + nesting.counters,
                     1113);
    assert_true(nesting.sum == 0.25);
    assert_true(nesting.outer.has_duration && nesting.inner.has_duration);
    assert_true(nesting.outer.start <= nesting.inner.start && nesting.inner.start <= nesting.mark.start);
    assert_true(nesting.mark.start <= nesting.inner.start + nesting.inner.duration);
    assert_true(nesting.inner.start + nesting.inner.duration <= nesting.outer.start + nesting.outer.duration);
    tsmith_sbt_close(file.trace);
}

struct emitted {
    uint32_t mine_u64, mine_text;
    int kernels;
};

static void see_emitted(const struct file *file, const struct row *row, void *context) {
    struct emitted *emitted = context;
    uint64_t bits = 0;
    tsmith_field_info info;
    if (row->kind != TSMITH_KIND_KERNEL)
        return;
    emitted->kernels++;
    assert_string_equal(name_of(file, row), "matmul");
    const tsmith_track *track = tsmith_dictionary_track(file->dictionary, tsmith_batch_track(row->batch));
    assert_string_equal(tsmith_dictionary_string(file->dictionary, track->name).bytes, "device 0");
    assert_int_equal(row->start, 1000000 + emitted->kernels);
    assert_int_equal(row->duration, 500);
    assert_true(tsmith_batch_get(row->batch, TSMITH_FIELD_GLOBAL_X, row->index, &bits));
    assert_int_equal(bits, 4096);
    assert_true(tsmith_batch_get(row->batch, TSMITH_FIELD_CATEGORY, row->index, &bits));
    assert_string_equal(tsmith_dictionary_string(file->dictionary, (uint32_t)bits).bytes, "math");
    assert_false(tsmith_batch_get(row->batch, TSMITH_FIELD_GLOBAL_Y, row->index, &bits));
    int own = 0;
    for (uint32_t i = 0; i < tsmith_batch_column_count(row->batch); i++) {
        tsmith_column column = tsmith_batch_column_at(row->batch, i);
        if (column.field < TSMITH_FIELD_DYNAMIC)
            continue;
        assert_true(tsmith_dictionary_describe_field(file->dictionary, column.field, &info));
        assert_true(tsmith_batch_get(row->batch, column.field, row->index, &bits));
        if (strcmp(info.name, "tile") == 0)
            assert_int_equal(bits, 77);
        else
            assert_string_equal(tsmith_dictionary_string(file->dictionary, (uint32_t)bits).bytes, "fp16");
        own++;
    }
    assert_int_equal(own, 2);
}

static void whole_events_with_metadata(void **unused) {
    (void)unused;
    struct emitted emitted = {0};
    tsmith_session *session = start(0, TSMITH_OVERFLOW_DROP_NEWEST);
    uint32_t track = tsmith_session_track(session, "device 0");
    uint32_t tile = tsmith_session_field(session, "tile", TSMITH_TYPE_U64, "");
    uint32_t precision = tsmith_session_field(session, "precision", TSMITH_TYPE_STRING, "");
    assert_int_equal(tsmith_session_field(session, "no", TSMITH_TYPE_LIST, ""), 0);
    const tsmith_value values[] = {{TSMITH_FIELD_GLOBAL_X, 4096},
                                   {TSMITH_FIELD_CATEGORY, tsmith_session_name(session, "math")},
                                   {TSMITH_FIELD_KIND, 3}, // set by the library, not by the caller
                                   {tile, 77},
                                   {precision, tsmith_session_name(session, "fp16")}};
    for (int i = 1; i <= 100; i++)
        tsmith_emit(session, TSMITH_KIND_KERNEL, track, tsmith_session_name(session, "matmul"), 1000000 + i,
                    500, values, 5);
    tsmith_emit(session, TSMITH_KIND_MARKER, 0, tsmith_session_name(session, "done"),
                tsmith_session_now(session), -1, NULL, 0);
    assert_int_equal(stop_session(session).kept, 101);
    struct file file = open_file();
    for_each_event(&file, see_emitted, &emitted);
    assert_int_equal(emitted.kernels, 100);
    assert_int_equal(file.summary.kinds[TSMITH_KIND_MARKER], 1);
    tsmith_sbt_close(file.trace);
}

static void unbalanced_ranges(void **unused) {
    (void)unused;
    tsmith_session *session = start(0, TSMITH_OVERFLOW_DROP_NEWEST);
    tsmith_range_end(session);
    tsmith_range_end(session);
    for (int i = 0; i < 5000; i++) // deeper than the collector follows
        tsmith_range_begin(session, 0);
    tsmith_session_statistics statistics = stop_session(session);
    assert_int_equal(statistics.emitted, 5002);
    struct file file = open_file();
    assert_int_equal(file.summary.lost[TSMITH_REASON_UNMATCHED], 5002);
    assert_int_equal(file.summary.kinds[TSMITH_KIND_RANGE], 5000);
    tsmith_sbt_close(file.trace);
}

// Ranges that stay open while many batches go by end where they end.
struct long_range {
    uint64_t duration, count;
};

static void see_long_range(const struct file *file, const struct row *row, void *context) {
    struct long_range *range = context;
    if (row->kind == TSMITH_KIND_RANGE && strcmp(name_of(file, row), "long") == 0) {
        range->duration = row->duration;
        range->count++;
        assert_true(row->has_duration);
    }
}

static void long_ranges(void **unused) {
    (void)unused;
    struct long_range range = {0};
    tsmith_session *session = start(32 << 20, TSMITH_OVERFLOW_BLOCK);
    uint32_t name = tsmith_session_name(session, "long"), mark = tsmith_session_name(session, "mark");
    int64_t before = tsmith_session_now(session);
    tsmith_range_begin(session, name);
    for (int i = 0; i < 300000; i++)
        tsmith_mark(session, mark);
    tsmith_range_end(session);
    int64_t after = tsmith_session_now(session);
    assert_int_equal(stop_session(session).kept, 300002);
    struct file file = open_file();
    for_each_event(&file, see_long_range, &range);
    assert_int_equal(range.count, 1);
    assert_true((int64_t)range.duration <= after - before + 1000);
    assert_int_equal(file.summary.kinds[TSMITH_KIND_MARKER], 300000);
    tsmith_sbt_close(file.trace);
}

// ---- threads

struct worker {
    tsmith_session *session;
    uint32_t name;
    uint64_t count;
    _Atomic bool *stop;
};

static void *work(void *self) {
    struct worker *worker = self;
    for (uint64_t i = 0; i < worker->count && !(worker->stop && atomic_load(worker->stop)); i++)
        tsmith_mark(worker->session, worker->name);
    return NULL;
}

static void every_policy_counts_exactly(void **unused) {
    (void)unused;
    enum { THREADS = 6, EACH = 60000 };
    for (int policy = 0; policy <= 2; policy++) {
        tsmith_session *session = start(32 * 1024, (tsmith_overflow)policy);
        struct worker worker = {session, tsmith_session_name(session, "x"), EACH, NULL};
        pthread_t threads[THREADS];
        for (int i = 0; i < THREADS; i++)
            assert_int_equal(pthread_create(&threads[i], NULL, work, &worker), 0);
        for (int i = 0; i < THREADS; i++)
            pthread_join(threads[i], NULL);
        tsmith_session_statistics statistics = stop_session(session);
        assert_int_equal(statistics.emitted, THREADS * EACH); // our own count
        if (policy == TSMITH_OVERFLOW_BLOCK)
            assert_int_equal(statistics.dropped, 0);
        struct file file = open_file();
        uint64_t lost = 0;
        for (int i = 0; i < TSMITH_REASON_LIMIT; i++)
            lost += file.summary.lost[i];
        assert_int_equal(lost, statistics.dropped);
        assert_int_equal(file.summary.kinds[TSMITH_KIND_MARKER], statistics.kept);
        tsmith_sbt_close(file.trace);
    }
}

static void thread_storm(void **unused) {
    (void)unused;
    enum { ROUNDS = 100, AT_ONCE = 20, EACH = 50 };
    tsmith_session *session = start(0, TSMITH_OVERFLOW_BLOCK);
    struct worker worker = {session, tsmith_session_name(session, "x"), EACH, NULL};
    for (int round = 0; round < ROUNDS; round++) {
        pthread_t threads[AT_ONCE];
        for (int i = 0; i < AT_ONCE; i++)
            assert_int_equal(pthread_create(&threads[i], NULL, work, &worker), 0);
        for (int i = 0; i < AT_ONCE; i++)
            pthread_join(threads[i], NULL);
    }
    tsmith_session_statistics statistics = stop_session(session);
    assert_int_equal(statistics.kept, ROUNDS * AT_ONCE * EACH);
    assert_true(is_between(statistics.threads, 1, AT_ONCE)); // rings: threads pass them on
    struct file file = open_file();
    uint32_t threads = 0;
    for (uint32_t i = 1; i < tsmith_dictionary_track_count(file.dictionary); i++)
        threads += tsmith_dictionary_track(file.dictionary, i)->kind == TSMITH_TRACK_THREAD;
    assert_int_equal(threads, ROUNDS * AT_ONCE);
    tsmith_sbt_close(file.trace);
}

static void stopped_while_others_emit(void **unused) {
    (void)unused;
    enum { THREADS = 4 };
    for (int round = 0; round < 20; round++) {
        _Atomic bool enough = false;
        tsmith_session *session = start(64 * 1024, (tsmith_overflow)(round % 3));
        struct worker worker = {session, tsmith_session_name(session, "x"), UINT64_MAX, &enough};
        pthread_t threads[THREADS];
        for (int i = 0; i < THREADS; i++)
            assert_int_equal(pthread_create(&threads[i], NULL, work, &worker), 0);
        tsmith_session_statistics live = {.size = sizeof live};
        while (live.kept < 1000)
            tsmith_session_statistics_get(session, &live);
        tsmith_session_statistics statistics =
            stop_session(session); // they go on emitting meanwhile, and afterwards
        assert_true(statistics.kept >= live.kept);
        atomic_store(&enough, true);
        for (int i = 0; i < THREADS; i++)
            pthread_join(threads[i], NULL);
        struct file file = open_file();
        assert_int_equal(file.summary.kinds[TSMITH_KIND_MARKER], statistics.kept);
        tsmith_sbt_close(file.trace);
    }
}

static void several_sessions(void **unused) {
    (void)unused;
    char other_path[300];
    tsmith_session *other;
    snprintf(other_path, sizeof other_path, "%s.other", path);
    tsmith_session *session = start(0, TSMITH_OVERFLOW_DROP_NEWEST);
    const tsmith_session_options options = {.size = sizeof options, .path = other_path};
    assert_int_equal(tsmith_session_start(&options, &other, NULL), TSMITH_OK);
    uint32_t a = tsmith_session_name(session, "a"), b = tsmith_session_name(other, "b");
    for (int i = 0; i < 1000; i++) {
        tsmith_mark(session, a);
        tsmith_mark(other, b);
        tsmith_mark(other, b);
    }
    assert_int_equal(stop_session(session).kept, 1000);
    tsmith_mark(other, b);
    assert_int_equal(stop_session(other).kept, 2001);
    unlink(other_path);
}

// ---- processes

// A child of fork is not part of its parent's file: the parent's counts are its own, independent of the child.
static void fork_while_emitting(void **unused) {
    (void)unused;
    tsmith_session *session = start(0, TSMITH_OVERFLOW_DROP_NEWEST);
    uint32_t name = tsmith_session_name(session, "x");
    for (int i = 0; i < 10; i++)
        tsmith_mark(session, name);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        for (int i = 0; i < 1000; i++)
            tsmith_mark(session, tsmith_session_name(session, "from the child"));
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    for (int i = 0; i < 10; i++)
        tsmith_mark(session, name);
    tsmith_session_statistics statistics = stop_session(session);
    struct file file = open_file();
    // Its own process in the same session: both are there, each under its own pid.
    assert_int_equal(statistics.kept, 1020);
    assert_int_equal(tsmith_dictionary_process_count(file.dictionary), 3);
    uint64_t first = tsmith_dictionary_process(file.dictionary, 1)->pid;
    uint64_t second = tsmith_dictionary_process(file.dictionary, 2)->pid;
    assert_true((first == (uint64_t)child) != (second == (uint64_t)child));
    assert_int_equal(first + second, (uint64_t)getpid() + (uint64_t)child);
    assert_int_equal(file.summary.kinds[TSMITH_KIND_MARKER], 1020);
    tsmith_sbt_close(file.trace);
}

// ---- failures

static void file_cannot_be_made(void **unused) {
    (void)unused;
    tsmith_session *session;
    tsmith_error error;
    const tsmith_session_options options = {.size = sizeof options, .path = "/nowhere/at/all.sbt"};
    assert_int_equal(tsmith_session_start(&options, &session, &error), TSMITH_ERROR_NOT_FOUND);
    assert_null(session);
    assert_non_null(strstr(error.message, "/nowhere/at/all.sbt"));
    assert_int_equal(tsmith_session_start(NULL, &session, &error), TSMITH_ERROR_INVALID_ARGUMENT);
}

// A file system of `size` of its own at a folder of ours; false without the right to mount.
static bool mount_tiny(const char *at, const char *size) {
    return unshare(CLONE_NEWNS) == 0 && mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
           mount("tmpfs", at, "tmpfs", 0, size) == 0;
}

// In a child: fills the disk, and checks the rest. The exit code is the failed check.
static void fill_disk(const char *full_path) {
    const tsmith_session_options options = {.size = sizeof options,
                                            .path = full_path,
                                            .buffer_bytes = 1 << 20,
                                            .overflow = TSMITH_OVERFLOW_BLOCK};
    tsmith_session *session;
    tsmith_session_statistics statistics = {.size = sizeof statistics};
    tsmith_error error;
    tsmith_sbt *trace;
    tsmith_sbt_summary summary = {.size = sizeof summary};
    if (tsmith_session_start(&options, &session, &error))
        _exit(2);
    uint32_t name = tsmith_session_name(session, "x");
    for (uint64_t i = 0, random = 88172645463325252u; i < 1000000; i++) {
        random ^= random << 13; // nothing that could be compressed
        random ^= random >> 7;
        random ^= random << 17;
        tsmith_count(session, name, (double)random);
    }
    tsmith_status status = tsmith_session_stop(session, &statistics, &error);
    if (status != TSMITH_ERROR_NO_SPACE) {
        fprintf(stderr, "%s: %s\n", tsmith_status_name(status), status < 0 ? error.message : "");
        _exit(3);
    }
    if (!strstr(error.message, full_path))
        _exit(4);
    if (statistics.emitted != 1000000 || statistics.emitted != statistics.kept + statistics.dropped)
        _exit(5);
    if (tsmith_sbt_open(full_path, &trace, &error) || tsmith_sbt_summarize(trace, &summary, &error))
        _exit(7);
    _exit(!summary.complete && statistics.kept > 0 && summary.kinds[TSMITH_KIND_COUNTER] >= statistics.kept
              ? 0
              : 8);
}

// The disk is full: the error states it, events written before are readable, and the counts still add up.
static void disk_full(void **unused) {
    (void)unused;
    char root[300], full_path[400];
    snprintf(root, sizeof root, "%s/disk", folder);
    snprintf(full_path, sizeof full_path, "%s/full.sbt", root);
    assert_int_equal(mkdir(root, 0700), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        if (mount_tiny(root, "size=2m,mode=0700"))
            fill_disk(full_path);
        // Without the right to mount there is one full device, and it is full from the first byte on.
        const tsmith_session_options options = {.size = sizeof options, .path = "/dev/full"};
        tsmith_session *session;
        _exit(tsmith_session_start(&options, &session, NULL) == TSMITH_ERROR_NO_SPACE ? 0 : 9);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    rmdir(root);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

// The file system of the rings is full: no SIGBUS, the program runs on, and what was not recorded is counted.
static void rings_have_no_space(void **unused) {
    (void)unused;
    char root[300];
    snprintf(root, sizeof root, "%s/tiny", folder);
    assert_int_equal(mkdir(root, 0700), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        if (!mount_tiny(root, "size=1m,mode=0700"))
            _exit(77);
        const tsmith_session_options options = {.size = sizeof options, .path = path, .session_root = root};
        tsmith_session *session;
        if (tsmith_session_start(&options, &session, NULL))
            _exit(2);
        struct worker worker = {session, tsmith_session_name(session, "x"), 100000, NULL};
        pthread_t threads[8];
        for (int i = 0; i < 8; i++)
            pthread_create(&threads[i], NULL, work, &worker);
        for (int i = 0; i < 8; i++)
            pthread_join(threads[i], NULL);
        tsmith_session_statistics statistics = {.size = sizeof statistics};
        if (tsmith_session_stop(session, &statistics, NULL))
            _exit(3);
        bool right = statistics.emitted == 800000 && statistics.kept + statistics.dropped == 800000 &&
                     statistics.kept > 0 && statistics.dropped > 0;
        _exit(right ? 0 : 4);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    rmdir(root);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == 77)
        skip(); // needs the right to mount
    assert_int_equal(WEXITSTATUS(status), 0);
    struct file file = open_file();
    assert_true(file.summary.lost[TSMITH_REASON_NO_MEMORY] > 0);
    tsmith_sbt_close(file.trace);
}

static int make_folder(void **unused) {
    (void)unused;
    if (!mkdtemp(folder))
        return -1;
    snprintf(path, sizeof path, "%s/session.sbt", folder);
    return 0;
}

static int remove_folder(void **unused) {
    (void)unused;
    unlink(path);
    return rmdir(folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(null_session),
        cmocka_unit_test(ranges_marks_counters),
        cmocka_unit_test(whole_events_with_metadata),
        cmocka_unit_test(unbalanced_ranges),
        cmocka_unit_test(long_ranges),
        cmocka_unit_test(every_policy_counts_exactly),
        cmocka_unit_test(thread_storm),
        cmocka_unit_test(stopped_while_others_emit),
        cmocka_unit_test(several_sessions),
        cmocka_unit_test(fork_while_emitting),
        cmocka_unit_test(file_cannot_be_made),
        cmocka_unit_test(disk_full),
        cmocka_unit_test(rings_have_no_space),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
