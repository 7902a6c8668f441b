// SPDX-License-Identifier: Apache-2.0
// Live processes are found by the session in their environment: for one session, and for all of them at once.
#include "support/test.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collect/session_processes.h"

enum { CHILDREN = 4 };

// Starts `cat`, which waits for the end of its input, with `session` in its environment behind a variable of `filler` bytes.
static pid_t start(const char *session, size_t filler, int input[2], int output[2]) {
    char variable[256], *long_variable = calloc(1, filler + 3);
    assert_non_null(long_variable);
    memset(long_variable, 'x', filler + 2);
    long_variable[1] = '=';
    snprintf(variable, sizeof variable, "TRACESMITH_SESSION=%s", session);
    char *environment[] = {long_variable, variable, NULL};
    const pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        dup2(input[0], 0);
        dup2(output[1], 1);
        close(input[1]);
        execle("/bin/cat", "cat", (char *)NULL, environment);
        _exit(127);
    }
    free(long_variable);
    return pid;
}

static void counts_processes_of_each_session(void **state) {
    char names[3][64];
    const int of[CHILDREN] = {0, 1, 0, 0};
    int input[CHILDREN][2], output[CHILDREN][2];
    pid_t pids[CHILDREN];
    char byte = 'x';
    uint32_t unclear;
    struct session_processes processes = {0};
    (void)state;
    for (int i = 0; i < 3; i++)
        snprintf(names[i], sizeof names[i], "/test/%d/%.*s", (int)getpid(), i + 1, "aaa");
    for (int i = 0; i < CHILDREN; i++) {
        assert_int_equal(pipe(input[i]), 0);
        assert_int_equal(pipe(output[i]), 0);
        pids[i] = start(names[of[i]], i == 2 ? 100000 : 10, input[i], output[i]);
        // Once it answers, it has replaced its program, and has its environment.
        assert_int_equal(write(input[i][1], &byte, 1), 1);
        assert_int_equal(read(output[i][0], &byte, 1), 1);
    }
    assert_true(session_processes_read(&processes));
    assert_int_equal(session_processes_of(&processes, names[0]), 3);
    assert_int_equal(session_processes_of(&processes, names[1]), 1);
    assert_int_equal(session_processes_of(&processes, names[2]), 0);
    session_processes_finish(&processes);
    assert_int_equal(session_processes_alive(names[0], &unclear), 3);
    assert_int_equal(session_processes_alive(names[1], &unclear), 1);
    assert_int_equal(session_processes_alive(names[2], &unclear), 0);
    for (int i = 0; i < CHILDREN; i++) {
        kill(pids[i], SIGKILL);
        assert_int_equal(waitpid(pids[i], NULL, 0), pids[i]);
        for (int end = 0; end < 2; end++) {
            close(input[i][end]);
            close(output[i][end]);
        }
    }
    assert_int_equal(session_processes_alive(names[0], &unclear), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_processes_of_each_session),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
