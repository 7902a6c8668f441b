// SPDX-License-Identifier: Apache-2.0
// What attach writes to a program is never written to another one that replaces it (exec), even where it has memory at that address;
// and the number by which a process knows itself.
#include "support/test.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "inject/target.h"

// In the child at the same address, until it executes another program.
static volatile uint64_t word = 1;

// It executes `cat` when it gets a byte.
static void child(int told) {
    char byte;
    if (read(told, &byte, 1) == 1)
        execlp("cat", "cat", (char *)NULL);
    _exit(3);
}

static void exec_is_seen(void **unused) {
    (void)unused;
    int told[2], executed[2], input[2], status;
    char byte = 'x';
    uint64_t value = 0;
    assert_int_equal(pipe(told) | pipe(executed) | pipe(input), 0);
    const pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        dup2(input[0], 0);
        close(input[1]);
        close(executed[0]);
        fcntl(executed[1], F_SETFD, FD_CLOEXEC);
        child(told[0]);
    }
    close(executed[1]);
    struct inject_target target = {.pid = pid};
    if (!target_hold(&target)) {
        kill(pid, SIGKILL);
        print_message("skipped: the memory of a child cannot be opened here\n");
        exit(77);
    }
    const uint64_t at = (uintptr_t)&word;
    value = 4711;
    assert_true(target_write_held(&target, at, &value, sizeof value));
    value = 0;
    assert_true(target_read_held(&target, at, &value, sizeof value) && value == 4711);
    assert_true(target_read(&target, at, &value, sizeof value) && value == 4711);
    assert_false(target_is_over(&target));
    assert_int_equal(target_own_number(&target), pid);
    assert_int_equal(write(told[1], &byte, 1), 1);
    assert_int_equal(read(executed[0], &byte, 1), 0); // it has executed
    assert_false(target_read_held(&target, at, &value, sizeof value));
    assert_false(target_write_held(&target, at, &value, sizeof value));
    assert_true(target_is_over(&target));
    target_release(&target);
    close(input[1]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_int_equal(word, 1); // the test's own
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(exec_is_seen)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
