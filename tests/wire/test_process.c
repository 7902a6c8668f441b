// SPDX-License-Identifier: Apache-2.0
// Whether a process lives: while it runs, when only its first thread has left, and when it has ended and was not waited for.
#include "support/test.h"

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "wire/process.h"

static void *stay(void *unused) {
    for (;;)
        pause();
    return unused;
}

// A child that reports its begin, and whose first thread exits on request.
static void be_child(int to, int from) {
    pthread_t thread;
    char token;
    const uint64_t start = process_start_time();
    prctl(PR_SET_PDEATHSIG, SIGKILL); // if the test fails, no process is left
    if (pthread_create(&thread, NULL, stay, NULL) || write(to, &start, sizeof start) != sizeof start ||
        read(from, &token, 1) != 1)
        _exit(1);
    pthread_exit(NULL);
}

// By the words of another file than the one that is read to judge it.
static bool is_zombie(pid_t pid) {
    char path[64], line[256] = "", state = 0;
    snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    FILE *file = fopen(path, "re");
    assert_non_null(file);
    while (!state && fgets(line, sizeof line, file))
        state = strncmp(line, "State:\t", 7) == 0 ? line[7] : 0;
    fclose(file);
    return state == 'Z';
}

// It sends no notification: waiting for a process, or polling a pidfd, reports its last thread only.
static void until_zombie(pid_t pid) {
    const struct timespec moment = {.tv_nsec = 1000000};
    while (!is_zombie(pid))
        nanosleep(&moment, NULL);
}

static void lives_with_its_last_thread(void **unused) {
    (void)unused;
    int to_child[2], from_child[2];
    assert_true(pipe(to_child) == 0 && pipe(from_child) == 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        be_child(from_child[1], to_child[0]);
    struct process_seen seen = {.pid = (uint64_t)child};
    assert_int_equal(read(from_child[0], &seen.start_time, sizeof seen.start_time), sizeof seen.start_time);
    assert_true(seen.start_time > 0 && process_is_alive(&seen));
    assert_false(process_is_exiting(&seen));
    assert_int_equal(write(to_child[1], "x", 1), 1);
    until_zombie(child);
    assert_true(process_is_alive(&seen));
    assert_false(process_is_exiting(&seen)); // one thread is, the other is not
    assert_int_equal(kill(child, SIGKILL), 0);
    siginfo_t ended;
    assert_int_equal(waitid(P_PID, (id_t)child, &ended, WEXITED | WNOWAIT), 0);
    assert_true(is_zombie(child));
    assert_false(process_is_alive(&seen));
    assert_true(process_is_exiting(&seen));
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_false(process_is_alive(&seen));
    struct process_seen another = {.pid = (uint64_t)getpid(), .start_time = process_start_time() + 1};
    assert_false(process_is_alive(&another)); // our number, another process
    close(to_child[0]), close(to_child[1]), close(from_child[0]), close(from_child[1]);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(lives_with_its_last_thread)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
