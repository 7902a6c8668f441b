// SPDX-License-Identifier: Apache-2.0
// A forked child of a program whose records are added up, killed after a period: what it had added up to the end of that period is in the trace,
// what it had added since is counted as lost, and its parent's sums are whole.
#define RECORD_HOOKED 1
#include "support/seen_sums.h"

#include <signal.h>
#include <sys/wait.h>

#include "agentkit/sums.h"
#include "base/thread_sanitizer.h"
#include "wire/environment.h"

enum { BEFORE = 500, AFTER = 300, WRITTEN = 1000, UNWRITTEN = 321 };
static const int64_t PERIOD = 100000000; // ns

static uint32_t queue;

static void begin(void) {
    letters_begin();
    queue = letters_queue();
}

static const struct agent_spec spec = {.api = "test", .begin = begin, .sums = AGENT_SUMS_OF_RECORDS};

static void record_until_killed(int ready) {
    letters_write(queue, 'w', WRITTEN);
    seen_sums_wait();
    letters_write(queue, 'u', UNWRITTEN);
    if (write(ready, "", 1) == 1)
        pause();
    _exit(1);
}

static void killed_child(void **unused) {
    (void)unused;
    int ready[2], status;
    char byte;
    struct session_directory directory = seen_sums_session(PERIOD);
    assert_int_equal(setenv(CHANNEL_ENVIRONMENT, directory.path, 1), 0);
    assert_true(agent_attach(&spec));
    letters_write(queue, 'p', BEFORE); // some of it is in the table when the child is made
    assert_int_equal(pipe(ready), 0);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        record_until_killed(ready[1]);
    close(ready[1]);
    assert_int_equal(read(ready[0], &byte, 1), 1);
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
    close(ready[0]);
    letters_write(queue, 'p', AFTER);
    agent_leave();
    const struct seen_sums seen = seen_sums_read(&directory);
    assert_int_equal(seen.sums['p'], BEFORE + AFTER);
    assert_int_equal(seen.sums['w'], WRITTEN);
    // A second period may have ended before the kill, or just then: its row is written first, then counted as written.
    const uint64_t lost = seen.lost[TSMITH_REASON_SUM_UNWRITTEN];
    if (seen.sums['u'] == 0)
        assert_int_equal(lost, UNWRITTEN);
    else
        assert_true(seen.sums['u'] == UNWRITTEN && (lost == 0 || lost == UNWRITTEN));
    assert_int_equal(seen.events['p'] + seen.events['w'] + seen.events['u'], 0);
}

int main(void) {
#if defined(WITH_THREAD_SANITIZER) || defined(__SANITIZE_THREAD__)
    printf("skipped: ThreadSanitizer has no threads in a child of a program with threads\n");
    return 77;
#endif
    const struct CMUnitTest tests[] = {cmocka_unit_test(killed_child)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
