// SPDX-License-Identifier: Apache-2.0
// A session in programs that fork and that emit in signal handlers: the parent's file is complete whatever a child
// does, a handler that interrupts an emission of its own thread neither hangs nor damages a record, and the program's
// own counts equal those of the session and its file.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
// cmocka wants the four above first
#include <cmocka.h>

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

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

static tsmith_sbt_summary summarize(void) {
    tsmith_sbt *trace;
    tsmith_error error;
    tsmith_sbt_summary summary = {.size = sizeof summary};
    assert_int_equal(tsmith_sbt_open(path, &trace, &error), TSMITH_OK);
    assert_int_equal(tsmith_sbt_summarize(trace, &summary, &error), TSMITH_OK);
    assert_true(summary.complete);
    tsmith_sbt_close(trace);
    return summary;
}

// ---- fork

enum { THREADS = 8, CHILDREN = 5, OWN_MARKS = 1000 };

struct emitters {
    tsmith_session *session;
    uint32_t name;
    atomic_bool stop;
    _Atomic uint64_t emitted;
};

static void *emit_until_told(void *self) {
    struct emitters *emitters = self;
    uint64_t emitted = 0;
    while (!atomic_load(&emitters->stop)) {
        tsmith_mark(emitters->session, emitters->name);
        if (++emitted % 4096 == 0)
            sched_yield();
    }
    atomic_fetch_add(&emitters->emitted, emitted);
    return NULL;
}

// In a child: 0 when the stop was refused and the session can still be used without harm.
static int stop_in_child(struct emitters *emitters) {
    tsmith_session_statistics statistics = {.size = sizeof statistics};
    tsmith_error error;
    tsmith_status status = tsmith_session_stop(emitters->session, &statistics, &error);
    if (status != TSMITH_ERROR_STATE || statistics.emitted != 0)
        return 1;
    tsmith_session_statistics_get(emitters->session, &statistics);
    return statistics.emitted != 0;
}

static void stop_in_forked_child(void **unused) {
    (void)unused;
    pthread_t threads[THREADS];
    struct emitters emitters = {.session = start(1u << 20, TSMITH_OVERFLOW_DROP_NEWEST)};
    tsmith_session_statistics statistics = {.size = sizeof statistics};
    tsmith_error error;
    emitters.name = tsmith_session_name(emitters.session, "mark");
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, emit_until_told, &emitters), 0);
    for (int i = 0; i < CHILDREN; i++) {
        int ended;
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0)
            _exit(stop_in_child(&emitters));
        assert_int_equal(waitpid(child, &ended, 0), child);
        assert_true(WIFEXITED(ended));
        assert_int_equal(WEXITSTATUS(ended), 0);
    }
    for (int i = 0; i < OWN_MARKS; i++)
        tsmith_mark(emitters.session, emitters.name);
    atomic_store(&emitters.stop, true);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(tsmith_session_stop(emitters.session, &statistics, &error), TSMITH_OK);
    assert_int_equal(statistics.emitted, atomic_load(&emitters.emitted) + OWN_MARKS);
    assert_int_equal(statistics.emitted, statistics.kept + statistics.dropped);
    const tsmith_sbt_summary summary = summarize();
    assert_int_equal(summary.kinds[TSMITH_KIND_MARKER], statistics.kept);
}

// What a child emits is in the parent's file, also after the child has called stop.
static void child_emits_and_stops(void **unused) {
    (void)unused;
    enum { MARKS = 100 };
    struct emitters emitters = {.session = start(0, TSMITH_OVERFLOW_DROP_NEWEST)};
    tsmith_session_statistics statistics = {.size = sizeof statistics};
    tsmith_error error;
    int ended;
    emitters.name = tsmith_session_name(emitters.session, "mark");
    tsmith_mark(emitters.session, emitters.name);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        for (int i = 0; i < MARKS; i++)
            tsmith_mark(emitters.session, emitters.name);
        _exit(stop_in_child(&emitters));
    }
    assert_int_equal(waitpid(child, &ended, 0), child);
    assert_true(WIFEXITED(ended) && WEXITSTATUS(ended) == 0);
    tsmith_mark(emitters.session, emitters.name);
    assert_int_equal(tsmith_session_stop(emitters.session, &statistics, &error), TSMITH_OK);
    assert_int_equal(summarize().kinds[TSMITH_KIND_MARKER], MARKS + 2);
}

// ---- signals

static struct {
    tsmith_session *session;
    uint32_t name;
    _Atomic uint64_t handled;
    atomic_bool has_emitted;
} interrupted;

static void emit_in_handler(int signal_number) {
    (void)signal_number;
    tsmith_mark(interrupted.session, interrupted.name);
    atomic_fetch_add_explicit(&interrupted.handled, 1, memory_order_relaxed);
}

// The first emission of a thread allocates and must not be made in a handler (tracesmith/session.h).
static void *emit_and_be_interrupted(void *self) {
    struct emitters *emitters = self;
    tsmith_mark(emitters->session, emitters->name);
    atomic_fetch_add(&emitters->emitted, 1);
    atomic_store(&interrupted.has_emitted, true);
    return emit_until_told(self);
}

static void emit_in_signal_handlers(tsmith_overflow overflow) {
    enum { SIGNALS = 4000 };
    struct emitters emitters = {.session = start(64 * 1024, overflow)};
    struct sigaction action = {.sa_handler = emit_in_handler}, before;
    tsmith_session_statistics statistics = {.size = sizeof statistics};
    tsmith_error error;
    pthread_t thread;
    emitters.name = tsmith_session_name(emitters.session, "mark");
    interrupted.session = emitters.session;
    interrupted.name = emitters.name;
    atomic_store(&interrupted.handled, 0);
    atomic_store(&interrupted.has_emitted, false);
    assert_int_equal(sigaction(SIGUSR1, &action, &before), 0);
    assert_int_equal(pthread_create(&thread, NULL, emit_and_be_interrupted, &emitters), 0);
    while (!atomic_load(&interrupted.has_emitted))
        sched_yield();
    for (uint64_t sent = 0; sent < SIGNALS;) {
        // One at a time: signals that are pending together become one.
        uint64_t handled = atomic_load(&interrupted.handled);
        if (handled == sent) {
            assert_int_equal(pthread_kill(thread, SIGUSR1), 0);
            sent++;
        } else {
            sched_yield();
        }
    }
    while (atomic_load(&interrupted.handled) < SIGNALS)
        sched_yield();
    atomic_store(&emitters.stop, true);
    pthread_join(thread, NULL);
    sigaction(SIGUSR1, &before, NULL);
    assert_int_equal(tsmith_session_stop(emitters.session, &statistics, &error), TSMITH_OK);
    assert_int_equal(statistics.emitted, atomic_load(&emitters.emitted) + SIGNALS);
    assert_int_equal(statistics.emitted, statistics.kept + statistics.dropped);
    const tsmith_sbt_summary summary = summarize();
    uint64_t lost = 0;
    for (int i = 0; i < TSMITH_REASON_LIMIT; i++)
        lost += summary.lost[i];
    print_message("%s: %llu emitted, %llu dropped, %llu of them in a handler that interrupted an emission\n",
                  tsmith_overflow_name(overflow), (unsigned long long)statistics.emitted,
                  (unsigned long long)statistics.dropped,
                  (unsigned long long)summary.lost[TSMITH_REASON_INTERRUPTED]);
    assert_int_equal(summary.lost[TSMITH_REASON_CORRUPT], 0);
    assert_int_equal(lost, statistics.dropped);
    assert_int_equal(summary.kinds[TSMITH_KIND_MARKER], statistics.kept);
}

static void signals_drop_newest(void **unused) {
    (void)unused;
    emit_in_signal_handlers(TSMITH_OVERFLOW_DROP_NEWEST);
}

static void signals_drop_oldest(void **unused) {
    (void)unused;
    emit_in_signal_handlers(TSMITH_OVERFLOW_DROP_OLDEST);
}

static void signals_block(void **unused) {
    (void)unused;
    emit_in_signal_handlers(TSMITH_OVERFLOW_BLOCK);
}

static int make_folder(void **unused) {
    (void)unused;
    if (!mkdtemp(folder))
        return 1;
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
        cmocka_unit_test(stop_in_forked_child), cmocka_unit_test(child_emits_and_stops),
        cmocka_unit_test(signals_drop_newest),  cmocka_unit_test(signals_drop_oldest),
        cmocka_unit_test(signals_block),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
