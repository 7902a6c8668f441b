// SPDX-License-Identifier: Apache-2.0
// A process with an open session forks while the session's thread takes what other threads emit: every child can allocate,
// and ends. With an allocator that is not safe at fork (AddressSanitizer's before LLVM 17) a child would wait forever.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
// cmocka wants the four above first
#include <cmocka.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tracesmith/session.h"

enum { FORKS = 300, SESSIONS = 50, SIZES = 40 };

static char folder[] = "/tmp/tracesmith-test-XXXXXX";
static char path[256];
static tsmith_session *session;
static _Atomic bool enough;

// The collector allocates for a name that it has not seen.
static void emit_new_name(unsigned number) {
    char name[32];
    snprintf(name, sizeof name, "name %u", number);
    tsmith_mark(session, tsmith_session_name(session, name));
}

static void *emit(void *unused) {
    (void)unused;
    for (unsigned i = 0; !atomic_load(&enough); i++) {
        tsmith_mark(session, 1);
        if (i % 1024 == 0)
            emit_new_name(i / 1024 % 1000);
    }
    return NULL;
}

static int allocate_in_child(void) {
    void *volatile held[SIZES];
    for (size_t i = 0; i < SIZES; i++)
        if (!(held[i] = malloc((size_t)16 << (i % 14))))
            return 1;
    for (size_t i = 0; i < SIZES; i++)
        free(held[i]);
    return 0;
}

static void fork_once(void) {
    int status;
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        _exit(allocate_in_child());
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void children_can_allocate(void **unused) {
    (void)unused;
    const tsmith_session_options options = {.size = sizeof options,
                                            .path = path,
                                            .buffer_bytes = 64 * 1024,
                                            .overflow = TSMITH_OVERFLOW_DROP_NEWEST};
    pthread_t thread;
    assert_int_equal(tsmith_session_start(&options, &session, NULL), TSMITH_OK);
    assert_int_equal(pthread_create(&thread, NULL, emit, NULL), 0);
    for (unsigned i = 0; i < FORKS; i++) {
        emit_new_name(i + 1000);
        fork_once();
    }
    atomic_store(&enough, true);
    pthread_join(thread, NULL);
    tsmith_session_statistics statistics = {.size = sizeof statistics};
    assert_int_equal(tsmith_session_stop(session, &statistics, NULL), TSMITH_OK);
    assert_int_equal(statistics.emitted, statistics.kept + statistics.dropped);
}

// The session's thread may just begin, or end.
static void children_of_short_sessions_can_allocate(void **unused) {
    (void)unused;
    for (int i = 0; i < SESSIONS; i++) {
        const tsmith_session_options options = {
            .size = sizeof options, .path = path, .buffer_bytes = 64 * 1024};
        assert_int_equal(tsmith_session_start(&options, &session, NULL), TSMITH_OK);
        fork_once();
        assert_int_equal(tsmith_session_stop(session, NULL, NULL), TSMITH_OK);
    }
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
    const struct CMUnitTest tests[] = {cmocka_unit_test(children_can_allocate),
                                       cmocka_unit_test(children_of_short_sessions_can_allocate)};
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
