// SPDX-License-Identifier: Apache-2.0
// The files around a trace: what can go wrong when writing, what a crash leaves, pipes, replacing, and recovery.
#include "sbt/make.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

enum { ROWS = 1000 };

// Batch number `number`: ROWS events, numbered by CORRELATION, that pack badly.
static void fill(tsmith_batch *batch, uint32_t number) {
    struct random random = {number};
    tsmith_batch_reset(batch, number % 2 + 1);
    for (uint32_t row = 0; row < ROWS; row++) {
        uint64_t event = (uint64_t)number * ROWS + row;
        tsmith_batch_append(batch, TSMITH_KIND_KERNEL, (int64_t)event * 1000);
        tsmith_batch_set(batch, TSMITH_FIELD_CORRELATION, event);
        tsmith_batch_set(batch, TSMITH_FIELD_NAME, 1);
        tsmith_batch_set(batch, TSMITH_FIELD_OBJECT, random_next(&random));
    }
    assert_int_equal(tsmith_batch_finish(batch), TSMITH_OK);
}

static tsmith_status write_some(tsmith_sink *sink, const struct made *made, uint32_t batches,
                                tsmith_error *error) {
    tsmith_batch *batch;
    tsmith_status status = TSMITH_OK;
    assert_int_equal(tsmith_batch_create(&batch), TSMITH_OK);
    for (uint32_t i = 0; status == TSMITH_OK && i < batches; i++) {
        fill(batch, i);
        status = tsmith_sink_write(sink, made->dictionary, batch, error);
    }
    tsmith_batch_destroy(batch);
    return status;
}

static void write_trace(const char *path, const struct made *made, uint32_t batches) {
    tsmith_sink *sink;
    tsmith_error error;
    assert_int_equal(tsmith_sbt_writer_open(path, NULL, &sink, &error), TSMITH_OK);
    assert_int_equal(write_some(sink, made, batches, &error), TSMITH_OK);
    assert_int_equal(tsmith_sink_finish(sink, made->dictionary, &error), TSMITH_OK);
    tsmith_sink_destroy(sink);
}

// Events 0, 1, 2 ... in order; how many there are. LOSS events are counted apart.
static uint64_t read_numbers(const char *path, tsmith_status expected_end, uint64_t *losses) {
    tsmith_sbt *trace;
    tsmith_source *source;
    tsmith_error error = {.message = ""};
    const tsmith_batch *batch;
    tsmith_status status;
    uint64_t next = 0;
    assert_int_equal(tsmith_sbt_open(path, &trace, &error), TSMITH_OK);
    assert_int_equal(tsmith_sbt_scan(trace, NULL, &source, &error), TSMITH_OK);
    while ((status = tsmith_source_next(source, &batch, &error)) == TSMITH_OK) {
        for (uint32_t row = 0; row < tsmith_batch_count(batch); row++) {
            uint64_t number, kind;
            assert_true(tsmith_batch_get(batch, TSMITH_FIELD_KIND, row, &kind));
            if (kind == TSMITH_KIND_LOSS && losses) {
                ++*losses;
                continue;
            }
            assert_true(tsmith_batch_get(batch, TSMITH_FIELD_CORRELATION, row, &number));
            assert_int_equal(number, next++);
        }
    }
    assert_int_equal(status, expected_end);
    tsmith_source_destroy(source);
    tsmith_sbt_close(trace);
    return next;
}

static struct made begin(void) {
    struct made made;
    made_begin(&made);
    make_names(&made, 2);
    return made;
}

// ---- writing goes wrong

static void a_full_disk_is_said_and_leaves_what_was_written(void **state) {
    (void)state;
    struct made made = begin();
    tsmith_sink *sink;
    tsmith_error error;
    // /dev/full takes nothing, not even the header.
    assert_int_equal(tsmith_sbt_writer_open("/dev/full", NULL, &sink, &error), TSMITH_ERROR_NO_SPACE);
    assert_non_null(strstr(error.message, "/dev/full"));
    assert_null(sink);
    // A limit on file sizes is met in the middle of a frame, as a full disk is.
    struct rlimit old, small;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    small = (struct rlimit){.rlim_cur = 100000, .rlim_max = old.rlim_max};
    void (*before)(int) = signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(tsmith_sbt_writer_open(made.path, NULL, &sink, &error), TSMITH_OK);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    tsmith_status status = write_some(sink, &made, 1000, &error);
    tsmith_error again;
    tsmith_status finished = tsmith_sink_finish(sink, made.dictionary, &again);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    signal(SIGXFSZ, before);
    assert_int_equal(status, TSMITH_ERROR_NO_SPACE);
    assert_non_null(strstr(error.message, made.path));
    assert_non_null(strstr(error.message, "readable"));
    assert_int_equal(error.system_errno, EFBIG);
    assert_int_equal(finished, TSMITH_ERROR_NO_SPACE); // it stays reported
    assert_string_equal(again.message, error.message);
    tsmith_sink_destroy(sink);
    uint64_t left = read_numbers(made.path, TSMITH_TRUNCATED, NULL);
    char count[32];
    snprintf(count, sizeof count, "(%llu events)", (unsigned long long)left);
    assert_true(left > 0 && left % ROWS == 0);
    assert_non_null(strstr(error.message, count));
    made_end(&made);
}

static void a_place_that_cannot_be_written_is_said(void **state) {
    (void)state;
    struct made made = begin();
    tsmith_sink *sink;
    tsmith_error error;
    char path[320];
    snprintf(path, sizeof path, "%s/none/a.sbt", made.folder);
    assert_int_equal(tsmith_sbt_writer_open(path, NULL, &sink, &error), TSMITH_ERROR_NOT_FOUND);
    assert_non_null(strstr(error.message, path));
    assert_non_null(strstr(error.message, "folder"));
    assert_int_equal(tsmith_sbt_writer_open(made.folder, NULL, &sink, &error), TSMITH_ERROR_INVALID_ARGUMENT);
    assert_non_null(strstr(error.message, "directory"));
    // No user, not even root, creates files there.
    assert_true(tsmith_sbt_writer_open("/proc/self/a.sbt", NULL, &sink, &error) < 0);
    assert_non_null(strstr(error.message, "/proc/self/a.sbt"));
    if (geteuid() != 0) {
        assert_int_equal(chmod(made.folder, 0500), 0);
        assert_int_equal(tsmith_sbt_writer_open(made.path, NULL, &sink, &error), TSMITH_ERROR_PERMISSION);
        assert_non_null(strstr(error.message, "a folder to which you may write"));
        assert_int_equal(chmod(made.folder, 0700), 0);
    }
    write_trace(made.path, &made, 1);
    made_end(&made);
}

static void batches_that_break_the_rules_are_refused_and_harm_nothing(void **state) {
    (void)state;
    struct made made = begin();
    tsmith_sink *sink;
    tsmith_error error;
    tsmith_batch *batch;
    assert_int_equal(tsmith_batch_create(&batch), TSMITH_OK);
    assert_int_equal(tsmith_sbt_writer_open(made.path, NULL, &sink, &error), TSMITH_OK);
    tsmith_batch_reset(batch, 1);
    tsmith_batch_append(batch, TSMITH_KIND_KERNEL, 10);
    tsmith_batch_append(batch, TSMITH_KIND_KERNEL, 5);
    assert_int_equal(tsmith_sink_write(sink, made.dictionary, batch, &error), TSMITH_ERROR_INVALID_ARGUMENT);
    assert_non_null(strstr(error.message, "sorted by time"));
    tsmith_batch_reset(batch, 1); // nothing in it: nothing happens
    assert_int_equal(tsmith_sink_write(sink, made.dictionary, batch, &error), TSMITH_OK);
    assert_int_equal(write_some(sink, &made, 3, &error), TSMITH_OK);
    assert_int_equal(tsmith_sink_finish(sink, made.dictionary, &error), TSMITH_OK);
    assert_int_equal(tsmith_sink_finish(sink, made.dictionary, &error), TSMITH_ERROR_STATE);
    assert_int_equal(tsmith_sink_write(sink, made.dictionary, batch, &error), TSMITH_ERROR_STATE);
    tsmith_sink_destroy(sink);
    tsmith_batch_destroy(batch);
    assert_int_equal(read_numbers(made.path, TSMITH_END, NULL), 3 * ROWS);
    made_end(&made);
}

static void a_killed_writer_loses_nothing_it_was_given(void **state) {
    (void)state;
    for (uint32_t batches = 0; batches < 6; batches++) {
        struct made made = begin();
        int done[2];
        assert_int_equal(pipe(done), 0);
        pid_t child = fork();
        if (child == 0) {
            tsmith_sink *sink;
            tsmith_error error;
            if (tsmith_sbt_writer_open(made.path, NULL, &sink, &error) != TSMITH_OK ||
                write_some(sink, &made, batches, &error) != TSMITH_OK || write(done[1], "!", 1) != 1)
                _exit(1);
            for (;;)
                pause();
        }
        char byte;
        close(done[1]);
        assert_int_equal(read(done[0], &byte, 1), 1);
        kill(child, SIGKILL);
        assert_int_equal(waitpid(child, NULL, 0), child);
        close(done[0]);
        assert_int_equal(read_numbers(made.path, TSMITH_TRUNCATED, NULL), batches * ROWS);
        made_end(&made);
    }
}

// ---- replacing

static void a_trace_is_private_and_replaces_the_old_one_at_once(void **state) {
    (void)state;
    struct made made = begin();
    struct stat there;
    tsmith_sink *sink;
    tsmith_error error;
    write_trace(made.path, &made, 2);
    assert_int_equal(stat(made.path, &there), 0);
    assert_int_equal(there.st_mode & 07777, 0600);
    tsmith_sbt_write_options exclusive = {.size = sizeof exclusive, .exclusive = 1};
    assert_true(tsmith_sbt_writer_open(made.path, &exclusive, &sink, &error) < 0);
    assert_int_equal(error.system_errno, EEXIST);
    // A reader of the old one continues undisturbed while the new one is written.
    tsmith_sbt *old;
    tsmith_sbt_summary summary = {.size = sizeof summary};
    assert_int_equal(tsmith_sbt_open(made.path, &old, &error), TSMITH_OK);
    assert_int_equal(tsmith_sbt_writer_open(made.path, NULL, &sink, &error), TSMITH_OK);
    assert_int_equal(read_numbers(made.path, TSMITH_TRUNCATED, NULL), 0);
    assert_int_equal(write_some(sink, &made, 3, &error), TSMITH_OK);
    assert_int_equal(read_numbers(made.path, TSMITH_TRUNCATED, NULL), 3 * ROWS); // while it grows
    assert_int_equal(tsmith_sbt_verify(old, &error), TSMITH_OK);
    assert_int_equal(tsmith_sbt_summarize(old, &summary, &error), TSMITH_OK);
    assert_true(summary.complete);
    assert_int_equal(summary.events, 2 * ROWS);
    tsmith_sbt_close(old);
    assert_int_equal(tsmith_sink_finish(sink, made.dictionary, &error), TSMITH_OK);
    tsmith_sink_destroy(sink);
    assert_int_equal(read_numbers(made.path, TSMITH_END, NULL), 3 * ROWS);
    // A link stays a link.
    char link[320];
    snprintf(link, sizeof link, "%s/link.sbt", made.folder);
    assert_int_equal(symlink(made.path, link), 0);
    write_trace(link, &made, 1);
    assert_int_equal(lstat(link, &there), 0);
    assert_true(S_ISLNK(there.st_mode));
    assert_int_equal(read_numbers(made.path, TSMITH_END, NULL), ROWS);
    unlink(link);
    made_end(&made);
}

// ---- pipes

static void *write_into_pipe(void *argument) {
    int fd = *(int *)argument;
    struct made made = begin();
    tsmith_sink *sink;
    tsmith_error error;
    tsmith_sbt_write_options options = {.size = sizeof options, .no_index = 1};
    assert_int_equal(tsmith_sbt_writer_open_fd(fd, &options, &sink, &error), TSMITH_OK);
    assert_int_equal(write_some(sink, &made, 20, &error), TSMITH_OK);
    assert_int_equal(tsmith_sink_finish(sink, made.dictionary, &error), TSMITH_OK);
    tsmith_sink_destroy(sink);
    close(fd);
    made_end(&made);
    return NULL;
}

static void a_trace_goes_through_a_pipe(void **state) {
    (void)state;
    int ends[2];
    char path[64];
    pthread_t writer;
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(pthread_create(&writer, NULL, write_into_pipe, &ends[1]), 0);
    snprintf(path, sizeof path, "/proc/self/fd/%d", ends[0]);
    assert_int_equal(read_numbers(path, TSMITH_END, NULL), 20 * ROWS);
    assert_int_equal(pthread_join(writer, NULL), 0);
    close(ends[0]);
}

static void a_pipe_with_something_else_is_refused_before_it_ends(void **state) {
    (void)state;
    int ends[2];
    char path[64];
    tsmith_sbt *trace;
    tsmith_error error;
    uint8_t junk[200];
    memset(junk, 'y', sizeof junk);
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write(ends[1], junk, sizeof junk), sizeof junk); // and the writing end stays open
    snprintf(path, sizeof path, "/proc/self/fd/%d", ends[0]);
    assert_int_equal(tsmith_sbt_open(path, &trace, &error), TSMITH_ERROR_FORMAT);
    close(ends[0]);
    close(ends[1]);
}

// ---- recovery

static void recovery_keeps_what_is_readable_and_says_what_is_not(void **state) {
    (void)state;
    struct made made = begin();
    struct stat there;
    char repaired[320];
    tsmith_sbt_recovery recovery = {.size = sizeof recovery};
    tsmith_error error;
    uint64_t losses = 0;
    snprintf(repaired, sizeof repaired, "%s/repaired.sbt", made.folder);
    write_trace(made.path, &made, 10);
    // Undamaged: a copy, and nothing lost.
    assert_int_equal(tsmith_sbt_recover(made.path, repaired, &recovery, &error), TSMITH_OK);
    assert_int_equal(recovery.events_kept, 10 * ROWS);
    assert_int_equal(recovery.frames_lost, 0);
    assert_int_equal(read_numbers(repaired, TSMITH_END, &losses), 10 * ROWS);
    assert_int_equal(losses, 0);
    // Cut in the middle of a frame.
    assert_int_equal(stat(made.path, &there), 0);
    assert_int_equal(truncate(made.path, there.st_size / 2), 0);
    uint64_t left = read_numbers(made.path, TSMITH_TRUNCATED, NULL);
    assert_int_equal(tsmith_sbt_recover(made.path, repaired, &recovery, &error), TSMITH_OK);
    assert_int_equal(recovery.events_kept, left);
    assert_int_equal(recovery.frames_lost, 1);
    assert_true(recovery.bytes_skipped > 0 && recovery.bytes_skipped < (uint64_t)there.st_size / 2);
    assert_int_equal(read_numbers(repaired, TSMITH_END, &losses), left);
    assert_int_equal(losses, 1);
    tsmith_sbt *trace;
    tsmith_sbt_summary summary = {.size = sizeof summary};
    assert_int_equal(tsmith_sbt_open(repaired, &trace, &error), TSMITH_OK);
    assert_int_equal(tsmith_sbt_summarize(trace, &summary, &error), TSMITH_OK);
    assert_true(summary.complete);
    assert_int_equal(summary.events, left + 1);
    assert_int_equal(summary.lost[TSMITH_REASON_CORRUPT], ROWS); // the torn frame's header was whole
    tsmith_aggregate *totals;
    size_t count;
    assert_int_equal(tsmith_sbt_aggregates(trace, &totals, &count, &error), TSMITH_OK);
    assert_int_equal(count, 2);
    tsmith_free(totals);
    tsmith_sbt_close(trace);
    // Into itself: no.
    assert_int_equal(tsmith_sbt_recover(made.path, made.path, &recovery, &error),
                     TSMITH_ERROR_INVALID_ARGUMENT);
    assert_int_equal(read_numbers(made.path, TSMITH_TRUNCATED, NULL), left);
    unlink(repaired);
    made_end(&made);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_full_disk_is_said_and_leaves_what_was_written),
        cmocka_unit_test(a_place_that_cannot_be_written_is_said),
        cmocka_unit_test(batches_that_break_the_rules_are_refused_and_harm_nothing),
        cmocka_unit_test(a_killed_writer_loses_nothing_it_was_given),
        cmocka_unit_test(a_trace_is_private_and_replaces_the_old_one_at_once),
        cmocka_unit_test(a_trace_goes_through_a_pipe),
        cmocka_unit_test(a_pipe_with_something_else_is_refused_before_it_ends),
        cmocka_unit_test(recovery_keeps_what_is_readable_and_says_what_is_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
