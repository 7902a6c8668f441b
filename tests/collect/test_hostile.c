// SPDX-License-Identifier: Apache-2.0
// A live collector and a program that destroys its own session files: truncated, removed, overwritten with bytes that
// would become addresses, counts and offsets. The collector continues, other processes lose nothing, the loss ledger
// has what was lost under "files_damaged", and recover finds the session. A collector that crashes ends this test.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
// cmocka wants the four above first
#include <cmocka.h>

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collect/collector.h"
#include "collect/session_directory.h"
#include "support/numbered.h"
#include "tracesmith/capture.h"
#include "wire/channel.h"

enum { EVENTS = 3000 };

// A process that records, and follows commands between.
struct program {
    pid_t pid;
    int commands; // one byte each: its answer is one byte
    int answers;
};

struct state {
    struct session_directory directory;
    struct collector *collector;
    struct numbered_seen seen;
};

static char output[] = "/tmp/tracesmith-hostile-XXXXXX"; // a file, so that there is a journal

static void record(struct channel *channel, uint16_t shape, uint64_t thread, uint64_t *number) {
    for (int i = 0; i < EVENTS; i++)
        numbered_emit(channel, shape, thread, ++*number, 0);
}

static _Noreturn void program_main(const char *directory, uint64_t thread, int commands, int answers) {
    struct channel *channel;
    uint64_t number = 0;
    char command;
    if (channel_open(directory, "hostile", &channel))
        _exit(1);
    uint16_t shape = numbered_shape(channel);
    while (read(commands, &command, 1) == 1 && command == 'r') {
        record(channel, shape, thread, &number);
        if (write(answers, &command, 1) != 1)
            break;
    }
    _exit(0); // a truncated file cannot be closed properly: it is mapped
}

static struct program start_program(const struct state *state, uint64_t thread) {
    int commands[2], answers[2];
    assert_int_equal(pipe(commands), 0);
    assert_int_equal(pipe(answers), 0);
    struct program program = {.commands = commands[1], .answers = answers[0]};
    program.pid = fork();
    assert_true(program.pid >= 0);
    if (program.pid == 0) {
        close(commands[1]);
        close(answers[0]);
        program_main(state->directory.path, thread, commands[0], answers[1]);
    }
    close(commands[0]);
    close(answers[1]);
    return program;
}

static void let_record(const struct program *program) {
    char answer = 'r';
    assert_int_equal(write(program->commands, &answer, 1), 1);
    assert_int_equal(read(program->answers, &answer, 1), 1);
}

static void end_program(const struct program *program) {
    int status;
    // Not the end of the pipe: the other program has its end open, too.
    assert_int_equal(write(program->commands, "q", 1), 1);
    close(program->commands);
    close(program->answers);
    assert_int_equal(waitpid(program->pid, &status, 0), program->pid);
}

static void start(struct state *state) {
    tsmith_error error;
    const tsmith_capture_options options = {.size = sizeof options, .buffer_bytes = 1 << 20};
    memset(state, 0, sizeof *state);
    assert_int_equal(session_directory_create(&state->directory, &options, &error), TSMITH_OK);
    session_directory_set_output(&state->directory, output);
    assert_int_equal(collector_create(&state->directory, COLLECT_SESSION, &state->collector, &error),
                     TSMITH_OK);
}

// Everything there is, handed out.
static void settle(struct state *state) {
    const tsmith_batch *batch;
    tsmith_error error;
    tsmith_status status;
    collector_set_settling(state->collector, true);
    while ((status = collector_next(state->collector, &batch, &error)) == TSMITH_OK || status == TSMITH_AGAIN)
        if (status == TSMITH_OK)
            numbered_see(&state->seen, batch);
    assert_int_equal(status, TSMITH_END);
    collector_set_settling(state->collector, false);
}

static void finish(struct state *state) {
    const tsmith_batch *batch;
    tsmith_error error;
    tsmith_status status;
    session_directory_end(&state->directory);
    collector_set_closing(state->collector, true);
    while ((status = collector_next(state->collector, &batch, &error)) == TSMITH_OK || status == TSMITH_AGAIN)
        if (status == TSMITH_OK)
            numbered_see(&state->seen, batch);
    assert_int_equal(status, TSMITH_END);
}

static void end(struct state *state) {
    collector_destroy(state->collector);
    session_directory_remove(&state->directory);
}

// Calls `each` with an open file of every file of this suffix that has the pid in its name; 0: of any.
static int for_files(const struct state *state, const char *suffix, pid_t pid, void (*each)(int fd)) {
    DIR *listing = opendir(state->directory.path);
    char prefix[32];
    int count = 0;
    snprintf(prefix, sizeof prefix, "%d-", (int)pid);
    assert_non_null(listing);
    for (struct dirent *entry; (entry = readdir(listing));) {
        size_t length = strlen(entry->d_name), tail = strlen(suffix);
        if (length < tail || strcmp(entry->d_name + length - tail, suffix) != 0 ||
            (pid && strncmp(entry->d_name, prefix, strlen(prefix)) != 0))
            continue;
        int fd = openat(state->directory.fd, entry->d_name, O_RDWR | O_CLOEXEC);
        assert_true(fd >= 0);
        each(fd);
        close(fd);
        count++;
    }
    closedir(listing);
    return count;
}

static void truncate_all(int fd) {
    assert_int_equal(ftruncate(fd, 0), 0);
}

static void truncate_and_grow(int fd) {
    struct stat status;
    assert_int_equal(fstat(fd, &status), 0);
    assert_int_equal(ftruncate(fd, 0), 0);
    assert_int_equal(ftruncate(fd, status.st_size), 0);
}

static void truncate_data(int fd) {
    assert_int_equal(ftruncate(fd, LAYOUT_DATA_AT), 0);
}

static void fill(int fd, int byte) {
    char bytes[4096];
    struct stat status;
    memset(bytes, byte, sizeof bytes);
    assert_int_equal(fstat(fd, &status), 0);
    for (off_t at = 0; at < status.st_size && at < (off_t)(4u << 20); at += (off_t)sizeof bytes)
        assert_int_equal(pwrite(fd, bytes, sizeof bytes, at), sizeof bytes);
}

static void fill_with_ones(int fd) {
    fill(fd, 0xff);
}

// One program's files are destroyed while it lives; what it recorded before was delivered, what another one records,
// before and after, is whole.
static void destroy(const char *suffix, void (*how)(int fd), tsmith_reason loses) {
    struct state state;
    start(&state);
    struct program hostile = start_program(&state, 1), other = start_program(&state, 2);
    let_record(&hostile);
    let_record(&other);
    settle(&state);
    assert_int_equal(state.seen.count[1], EVENTS);
    assert_int_equal(for_files(&state, suffix, hostile.pid, how), 1);
    settle(&state);
    let_record(&other);
    settle(&state);
    end_program(&hostile);
    end_program(&other);
    finish(&state);
    assert_int_equal(state.seen.count[2], 2 * EVENTS);
    assert_false(state.seen.wrong || state.seen.twice || state.seen.out_of_order);
    assert_int_equal(state.seen.count[1], EVENTS);
    if (loses)
        assert_true(state.seen.lost[loses] > 0);
    end(&state);
}

static void rings_truncated(void **unused) {
    (void)unused;
    destroy(LAYOUT_RINGS_SUFFIX, truncate_all, TSMITH_REASON_FILES_DAMAGED);
    destroy(LAYOUT_RINGS_SUFFIX, truncate_and_grow, TSMITH_REASON_FILES_DAMAGED);
    destroy(LAYOUT_RINGS_SUFFIX, truncate_data, 0); // all that was in it had been read
}

static void channel_truncated(void **unused) {
    (void)unused;
    destroy(LAYOUT_CHANNEL_SUFFIX, truncate_all, TSMITH_REASON_FILES_DAMAGED);
    destroy(LAYOUT_CHANNEL_SUFFIX, truncate_and_grow, TSMITH_REASON_FILES_DAMAGED);
}

// A file of nothing, and a table that claims to fill it.
static void claim_a_gibibyte(int fd) {
    const uint64_t committed = UINT64_C(1) << 30;
    assert_int_equal(ftruncate(fd, (off_t)(2 * committed)), 0);
    assert_int_equal(pwrite(fd, &committed, sizeof committed, offsetof(struct layout_channel, committed)),
                     sizeof committed);
}

static void channel_of_nothing(void **unused) {
    (void)unused;
    enum { MOST = 256 << 10 }; // KiB more than before
    struct rusage before, after;
    assert_int_equal(getrusage(RUSAGE_SELF, &before), 0);
    destroy(LAYOUT_CHANNEL_SUFFIX, claim_a_gibibyte, TSMITH_REASON_CORRUPT);
    assert_int_equal(getrusage(RUSAGE_SELF, &after), 0);
    assert_true(is_between(after.ru_maxrss - before.ru_maxrss, 0, MOST));
}

static void overwritten(void **unused) {
    (void)unused;
    destroy(LAYOUT_RINGS_SUFFIX, fill_with_ones, TSMITH_REASON_FILES_DAMAGED);
    destroy(LAYOUT_CHANNEL_SUFFIX, fill_with_ones, TSMITH_REASON_FILES_DAMAGED);
}

// Sub-buffers that are full and not read yet are gone: their events are counted.
static void lost_before_it_was_read(void **unused) {
    (void)unused;
    struct state state;
    start(&state);
    struct program hostile = start_program(&state, 1);
    let_record(&hostile);
    settle(&state);
    let_record(&hostile);
    assert_int_equal(for_files(&state, LAYOUT_RINGS_SUFFIX, hostile.pid, truncate_data), 1);
    settle(&state);
    end_program(&hostile);
    finish(&state);
    assert_true(state.seen.count[1] < 2 * EVENTS);
    assert_true(state.seen.lost[TSMITH_REASON_FILES_DAMAGED] > 0);
    assert_false(state.seen.wrong || state.seen.twice || state.seen.out_of_order);
    end(&state);
}

// The collector's own files: it continues, and a recovery after its end finds the session and begins where the file ends.
static void own_files(void (*how)(int fd)) {
    struct state state;
    tsmith_error error;
    tsmith_source *source;
    struct journal_state journal;
    struct numbered_seen again = {0};
    start(&state);
    struct program program = start_program(&state, 1);
    let_record(&program);
    settle(&state);
    assert_int_equal(for_files(&state, LAYOUT_CONTROL_NAME, 0, how), 1);
    assert_int_equal(for_files(&state, LAYOUT_JOURNAL_NAME, 0, how), 1);
    settle(&state); // a round writes the control file anew
    let_record(&program);
    settle(&state);
    assert_int_equal(state.seen.count[1], 2 * EVENTS);
    assert_true(journal_read(state.directory.fd, UINT64_MAX, &journal));
    assert_false(journal.failed);
    assert_true(journal.events >= 2 * EVENTS);
    journal_state_finish(&journal);
    let_record(&program);
    end_program(&program);
    // As if it had been killed now.
    atomic_store(&state.directory.control->collector_pid, 0);
    CONTROL_FILE_WRITE(&state.directory.file, collector_pid);
    assert_true(tsmith_capture_is_session(state.directory.path));
    assert_int_equal(tsmith_capture_recover(state.directory.path, &source, &error), TSMITH_OK);
    assert_int_equal(numbered_drain(source, &again), TSMITH_END);
    tsmith_source_destroy(source);
    assert_int_equal(again.last[1], 3 * EVENTS);
    assert_false(again.wrong || again.twice || again.out_of_order);
    end(&state);
}

static void control_and_journal_truncated(void **unused) {
    (void)unused;
    own_files(truncate_all);
}

static void journal_overwritten(void **unused) {
    (void)unused;
    struct state state;
    start(&state);
    struct program program = start_program(&state, 1);
    for (int i = 0; i < 3; i++) {
        let_record(&program);
        settle(&state);
        assert_int_equal(for_files(&state, LAYOUT_JOURNAL_NAME, 0, fill_with_ones), 1);
    }
    end_program(&program);
    finish(&state);
    assert_int_equal(state.seen.count[1], 3 * EVENTS);
    assert_false(state.seen.wrong || state.seen.twice || state.seen.out_of_order);
    end(&state);
}

// The collector is gone when the control file is destroyed: its copy is found.
static void control_truncated_after_the_end(void **unused) {
    (void)unused;
    struct state state;
    tsmith_error error;
    tsmith_source *source;
    struct numbered_seen again = {0};
    start(&state);
    struct program program = start_program(&state, 1);
    let_record(&program);
    end_program(&program);
    atomic_store(&state.directory.control->collector_pid, 0);
    CONTROL_FILE_WRITE(&state.directory.file, collector_pid);
    collector_destroy(state.collector);
    assert_int_equal(for_files(&state, LAYOUT_CONTROL_NAME, 0, truncate_all), 1);
    assert_true(tsmith_capture_is_session(state.directory.path));
    assert_int_equal(tsmith_capture_recover(state.directory.path, &source, &error), TSMITH_OK);
    assert_int_equal(numbered_drain(source, &again), TSMITH_END);
    tsmith_source_destroy(source);
    assert_int_equal(again.count[1], EVENTS);
    session_directory_remove(&state.directory);
}

static int make_output(void **unused) {
    (void)unused;
    int fd = mkstemp(output);
    if (fd >= 0)
        close(fd);
    return fd < 0;
}

static int remove_output(void **unused) {
    (void)unused;
    return unlink(output);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rings_truncated),         cmocka_unit_test(channel_truncated),
        cmocka_unit_test(channel_of_nothing),      cmocka_unit_test(overwritten),
        cmocka_unit_test(lost_before_it_was_read), cmocka_unit_test(control_and_journal_truncated),
        cmocka_unit_test(journal_overwritten),     cmocka_unit_test(control_truncated_after_the_end),
    };
    return cmocka_run_group_tests(tests, make_output, remove_output);
}
