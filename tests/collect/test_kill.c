// SPDX-License-Identifier: Apache-2.0
// SIGKILL at random moments. The program: recover finds every committed record, in order and complete. The collector:
// records that it had not delivered are still in the directory, and the program never notices.
//
// The truth is the victim's own count, in memory it shares with us: `begun` before and `done` after each emission.
// usage: test_kill [RUNS] (each run kills one victim: 200, or 10,000 where TRACESMITH_SOAK is set, as ./dev soak does)
#include "support/numbered.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>

enum { THREADS = 3 };

struct truth {
    struct {
        _Alignas(64) _Atomic uint64_t begun;
        _Atomic uint64_t done;
    } of[THREADS];
    _Atomic uint32_t running;            // threads that emit
    _Atomic uint64_t delivered[THREADS]; // last number the collector's consumer has seen
};

static unsigned long runs = 200;
static uint64_t random_state = 88172645463325252u;

static uint64_t next_random(void) {
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

static struct truth *share(void) {
    void *at = mmap(NULL, sizeof(struct truth), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(at, MAP_FAILED);
    return at;
}

static void sleep_ns(uint64_t ns) {
    const struct timespec time = {.tv_nsec = (long)ns};
    nanosleep(&time, NULL);
}

struct emitter {
    struct channel *channel;
    struct truth *truth;
    uint16_t shape;
    uint64_t index;
    uint64_t limit;
};

static void *emit_main(void *self) {
    struct emitter *emitter = self;
    struct truth *truth = emitter->truth;
    atomic_fetch_add(&truth->running, 1);
    for (uint64_t number = 1; number <= emitter->limit; number++) {
        atomic_store_explicit(&truth->of[emitter->index].begun, number, memory_order_seq_cst);
        if (!numbered_emit(emitter->channel, emitter->shape, emitter->index, number, (uint32_t)number % 7))
            pause(); // the ring is full: later records would prove nothing
        atomic_store_explicit(&truth->of[emitter->index].done, number, memory_order_seq_cst);
    }
    return NULL;
}

// The victim: emits from several threads until it is killed, or has reached the limit.
static void emit_in_threads(const char *directory, struct truth *truth, uint64_t limit) {
    struct channel *channel;
    struct emitter emitters[THREADS];
    pthread_t threads[THREADS];
    if (channel_open(directory, "test", &channel))
        _exit(3);
    uint16_t shape = numbered_shape(channel);
    for (uint64_t i = 0; i < THREADS; i++) {
        emitters[i] = (struct emitter){channel, truth, shape, i, limit};
        if (pthread_create(&threads[i], NULL, emit_main, &emitters[i]))
            _exit(3);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
}

static struct numbered_seen recover(struct session_directory *directory) {
    struct numbered_seen seen = {0};
    tsmith_source *source;
    tsmith_error error;
    atomic_store(&directory->control->collector_pid, 0); // there never was one
    CONTROL_FILE_WRITE(&directory->file, collector_pid);
    assert_int_equal(tsmith_capture_recover(directory->path, &source, &error), TSMITH_OK);
    assert_int_equal(numbered_drain(source, &seen), TSMITH_END);
    tsmith_source_destroy(source);
    return seen;
}

static bool all_running(const struct truth *truth) {
    return atomic_load(&truth->running) == THREADS;
}

static void kill_one_program(void) {
    // Room for everything that can be emitted before the kill.
    struct session_directory directory = numbered_session(64u << 20, TSMITH_OVERFLOW_DROP_NEWEST);
    struct truth *truth = share();
    pid_t victim = fork();
    assert_true(victim >= 0);
    if (victim == 0)
        emit_in_threads(directory.path, truth, UINT64_MAX); // until it is killed
    while (!all_running(truth) && kill(victim, 0) == 0)
        sleep_ns(20000);
    sleep_ns(next_random() % 3000000);
    assert_int_equal(kill(victim, SIGKILL), 0);
    int status;
    assert_int_equal(waitpid(victim, &status, 0), victim);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);

    struct numbered_seen seen = recover(&directory);
    uint64_t emitting = 0;
    assert_false(seen.wrong || seen.twice || seen.out_of_order);
    for (int i = 0; i < THREADS; i++) {
        uint64_t begun = atomic_load(&truth->of[i].begun), done = atomic_load(&truth->of[i].done);
        assert_int_equal(seen.last[i], seen.count[i]); // 1 .. n without a hole
        assert_true(is_between(seen.count[i], done, begun));
        emitting += done > 0;
    }
    // The ledger states that the process died, and how many records may have been in progress.
    assert_true(seen.lost[TSMITH_REASON_PROCESS_DIED] >= emitting);
    munmap(truth, sizeof *truth);
    session_directory_remove(&directory);
}

static void program_killed(void **unused) {
    (void)unused;
    for (unsigned long i = 0; i < runs; i++)
        kill_one_program();
}

// Reads batches and publishes what it has taken, batch by batch, until it is killed.
static void consume(struct session_directory *directory, struct truth *truth) {
    struct collector *collector;
    struct numbered_seen seen = {0};
    const tsmith_batch *batch;
    tsmith_error error;
    atomic_store(&directory->control->collector_pid, (uint32_t)getpid());
    CONTROL_FILE_WRITE(&directory->file, collector_pid);
    if (collector_create(directory, COLLECT_SESSION, &collector, &error))
        _exit(3);
    for (;;) {
        tsmith_status status = collector_next(collector, &batch, &error);
        if (status < 0 || status == TSMITH_END)
            _exit(4);
        if (status != TSMITH_OK)
            continue;
        numbered_see(&seen, batch);
        for (int i = 0; i < THREADS; i++)
            atomic_store(&truth->delivered[i], seen.last[i]);
    }
}

static void kill_one_collector(void) {
    struct session_directory directory = numbered_session(64u << 20, TSMITH_OVERFLOW_DROP_NEWEST);
    struct truth *truth = share();
    const uint64_t limit = 20000;
    pid_t consumer = fork();
    assert_true(consumer >= 0);
    if (consumer == 0)
        consume(&directory, truth);
    pid_t program = fork();
    assert_true(program >= 0);
    if (program == 0) {
        emit_in_threads(directory.path, truth, limit);
        _exit(0);
    }
    while (!all_running(truth) && kill(program, 0) == 0)
        sleep_ns(20000);
    sleep_ns(next_random() % 6000000);
    assert_int_equal(kill(consumer, SIGKILL), 0);
    int status;
    assert_int_equal(waitpid(consumer, &status, 0), consumer);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(waitpid(program, &status, 0), program);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0); // it never noticed

    struct numbered_seen seen = recover(&directory);
    assert_false(seen.wrong || seen.twice || seen.out_of_order);
    for (int i = 0; i < THREADS; i++) {
        uint64_t delivered = atomic_load(&truth->delivered[i]);
        assert_int_equal(atomic_load(&truth->of[i].done), limit);
        // The last `count` ones, without a hole, and they reach back to what was delivered at least.
        if (seen.count[i] > 0)
            assert_int_equal(seen.last[i], limit);
        assert_true(limit - seen.count[i] <= delivered);
    }
    munmap(truth, sizeof *truth);
    session_directory_remove(&directory);
}

static void collector_killed(void **unused) {
    (void)unused;
    for (unsigned long i = 0; i < runs / 4 + 1; i++)
        kill_one_collector();
}

int main(int argc, char **argv) {
    if (getenv("TRACESMITH_SOAK"))
        runs = 10000;
    if (argc > 1)
        runs = strtoul(argv[1], NULL, 10);
    random_state ^= (uint64_t)clock_trace_now() * 2654435761u;
    const struct CMUnitTest tests[] = {cmocka_unit_test(program_killed), cmocka_unit_test(collector_killed)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
