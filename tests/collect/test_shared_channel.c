// SPDX-License-Identifier: Apache-2.0
// Several APIs in the channel of one process: one ring per thread whose records keep their order, a ledger for each API,
// and each loss counted once, whether the process ends, forks or is killed, and whether the collector is.
//
// The producers are mocks of agents: two parts of one channel. The truth is their own count, where the process is killed
// in memory that it shares with the test.
#include "support/numbered.h"

#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "collect/recovery.h"
#include "tracesmith/sbt.h"

enum { APIS = 2, THREADS = 3 };
static const char *const names[APIS] = {"mock-a", "mock-b"};

// What the mocks of one process have done.
struct truth {
    struct {
        _Alignas(64) _Atomic uint64_t begun; // emissions of a thread
        _Atomic uint64_t done;
    } of[THREADS];
    _Atomic uint32_t running;
};

struct producer {
    struct channel *channel[APIS];
    uint16_t shape[APIS];
};

static void begin_api(struct producer *producer, uint32_t api) {
    producer->shape[api] = numbered_shape(producer->channel[api]);
    assert_int_not_equal(producer->shape[api], 0);
}

static void begin_producer(struct producer *producer, const char *directory) {
    assert_int_equal(channel_open(directory, names[0], &producer->channel[0]), TSMITH_OK);
    begin_api(producer, 0);
    assert_int_equal(channel_open(directory, names[1], &producer->channel[1]), TSMITH_OK);
    begin_api(producer, 1);
    assert_int_not_equal(producer->shape[0], producer->shape[1]);
}

// The APIs take turns: numbers of one emitter go up from record to record, for all APIs that wrote them.
static bool emit_in_turn(const struct producer *producer, uint64_t emitter, uint64_t number) {
    const uint32_t api = (uint32_t)(number % APIS);
    return numbered_emit(producer->channel[api], producer->shape[api], emitter, number, (uint32_t)number % 5);
}

static uint32_t processes_of(const struct collector *collector, const char *wanted) {
    const char *name;
    uint32_t processes = 0, found = 0;
    for (size_t i = 0; collector_api(collector, i, &name, &processes); i++)
        found = strcmp(name, wanted) == 0 ? processes : found;
    return found;
}

static void see_all(struct collector *collector, struct numbered_seen *seen) {
    const tsmith_batch *batch;
    tsmith_error error;
    tsmith_status status;
    collector_set_closing(collector, true);
    while ((status = collector_next(collector, &batch, &error)) == TSMITH_OK)
        numbered_see(seen, batch);
    assert_int_equal(status, TSMITH_END);
}

static void see_some(struct collector *collector, struct numbered_seen *seen) {
    const tsmith_batch *batch;
    tsmith_error error;
    while (collector_next(collector, &batch, &error) == TSMITH_OK)
        numbered_see(seen, batch);
}

static struct collector *collect(const struct session_directory *directory) {
    struct collector *collector;
    tsmith_error error;
    assert_int_equal(collector_create(directory, COLLECT_SESSION, &collector, &error), TSMITH_OK);
    return collector;
}

static void detach(const struct producer *producer) {
    for (uint32_t api = 0; api < APIS; api++)
        channel_detach(producer->channel[api]);
}

// ---- one thread, two APIs

static void one_ring_in_order(tsmith_overflow overflow) {
    enum { RECORDS = 60000 };
    struct session_directory directory = numbered_session(64 * 1024, overflow);
    struct collector *collector = collect(&directory);
    struct numbered_seen seen = {0};
    struct producer producer;
    begin_producer(&producer, directory.path);
    for (uint64_t number = 1; number <= RECORDS; number++) {
        emit_in_turn(&producer, 1, number);
        if (number % 700 == 0)
            see_some(collector, &seen);
    }
    assert_ptr_equal(channel_ring(producer.channel[0]), channel_ring(producer.channel[1]));
    channel_close(producer.channel[0]);
    channel_close(producer.channel[1]);
    see_all(collector, &seen);
    const struct collect_totals totals = collector_totals(collector);
    assert_false(seen.wrong || seen.twice || seen.out_of_order);
    assert_int_equal(totals.rings, 1);
    assert_int_equal(totals.asked, RECORDS);
    assert_int_equal(totals.kept + totals.dropped, RECORDS);
    assert_int_equal(numbered_total(&seen), totals.kept);
    assert_int_equal(numbered_lost(&seen), totals.dropped);
    assert_true(seen.count[1] > 0);
    for (uint32_t api = 0; api < APIS; api++)
        assert_int_equal(processes_of(collector, names[api]), 1);
    collector_destroy(collector);
    detach(&producer);
    session_directory_remove(&directory);
}

static void newest(void **unused) {
    (void)unused;
    one_ring_in_order(TSMITH_OVERFLOW_DROP_NEWEST);
}

static void oldest(void **unused) {
    (void)unused;
    one_ring_in_order(TSMITH_OVERFLOW_DROP_OLDEST);
}

// ---- ledgers

// What each API loses is counted once, in any order of losing, reading and closing. An API that joins after the
// first has closed is recorded all the same.
static void each_counts_its_losses(void **unused) {
    (void)unused;
    struct session_directory directory = numbered_session(1 << 20, TSMITH_OVERFLOW_DROP_NEWEST);
    struct collector *collector = collect(&directory);
    struct numbered_seen seen = {0};
    struct producer producer;
    struct channel *late;
    begin_producer(&producer, directory.path);
    channel_lose(producer.channel[0], TSMITH_REASON_UNTRACED, 7);
    see_some(collector, &seen);
    channel_lose(producer.channel[1], TSMITH_REASON_UNTRACED, 11);
    channel_lose(producer.channel[1], TSMITH_REASON_NO_TIMING, 2);
    see_some(collector, &seen);
    channel_close(producer.channel[0]);
    channel_lose(producer.channel[0], TSMITH_REASON_UNTRACED, 100); // late, and counted
    see_some(collector, &seen);
    assert_int_equal(channel_open(directory.path, "late", &late), TSMITH_OK);
    const uint16_t shape = numbered_shape(late);
    for (uint64_t number = 1; number <= 10; number++)
        assert_true(numbered_emit(late, shape, 1, number, 0));
    channel_lose(late, TSMITH_REASON_UNTRACED, 1000);
    assert_false(numbered_emit(producer.channel[0], producer.shape[0], 2, 1, 0)); // is over
    assert_true(numbered_emit(producer.channel[1], producer.shape[1], 3, 1, 0));  // is not
    channel_close(late);
    channel_close(producer.channel[1]);
    see_all(collector, &seen);
    const struct collect_totals totals = collector_totals(collector);
    assert_false(seen.wrong);
    assert_int_equal(seen.lost[TSMITH_REASON_UNTRACED], 7 + 11 + 100 + 1000);
    assert_int_equal(seen.lost[TSMITH_REASON_NO_TIMING], 2);
    assert_int_equal(seen.lost[TSMITH_REASON_NO_MEMORY], 1); // the record of the API that was over
    assert_int_equal(numbered_total(&seen), 11);
    assert_int_equal(totals.asked, totals.kept + totals.dropped);
    assert_int_equal(processes_of(collector, "late"), 1);
    collector_destroy(collector);
    channel_detach(late);
    detach(&producer);
    session_directory_remove(&directory);
}

static void there_is_an_end_of_room(void **unused) {
    (void)unused;
    struct session_directory directory = numbered_session(1 << 20, TSMITH_OVERFLOW_DROP_NEWEST);
    struct channel *channel[LAYOUT_LEDGERS], *more, *again, *after;
    for (uint32_t i = 0; i < LAYOUT_LEDGERS; i++)
        assert_int_equal(channel_open(directory.path, (const char[]){(char)('0' + i), '\0'}, &channel[i]),
                         TSMITH_OK);
    for (uint32_t i = 1; i < LAYOUT_LEDGERS; i++)
        assert_ptr_equal(channel_ring(channel[i]), channel_ring(channel[0]));
    // One more API gets a channel of its own, and the next one joins that.
    assert_int_equal(channel_open(directory.path, "more", &more), TSMITH_OK);
    assert_int_equal(channel_open(directory.path, "again", &again), TSMITH_OK);
    assert_ptr_not_equal(channel_ring(more), channel_ring(channel[0]));
    assert_ptr_equal(channel_ring(again), channel_ring(more));
    assert_int_not_equal(channel_open(directory.path, "a name that is longer than the room for one", &after),
                         TSMITH_OK);
    assert_null(after);
    for (uint32_t i = 0; i < LAYOUT_LEDGERS; i++)
        channel_close(channel[i]);
    channel_close(more);
    channel_close(again);
    // Nothing joins a channel that is over.
    assert_int_equal(channel_open(directory.path, "after", &after), TSMITH_OK);
    assert_ptr_not_equal(channel_ring(after), channel_ring(channel[0]));
    assert_int_not_equal(channel_string_cstr(after, "text"), 0);
    channel_close(after);
    for (uint32_t i = 0; i < LAYOUT_LEDGERS; i++)
        channel_detach(channel[i]);
    channel_detach(more);
    channel_detach(again);
    channel_detach(after);
    session_directory_remove(&directory);
}

// ---- fork

// A child has a channel of its own with the APIs that are open, though it uses one of them alone.
static void children_have_their_own(void **unused) {
    (void)unused;
    struct session_directory directory = numbered_session(1 << 20, TSMITH_OVERFLOW_DROP_NEWEST);
    struct collector *collector = collect(&directory);
    struct numbered_seen seen = {0};
    struct producer producer;
    struct channel *over;
    int status;
    begin_producer(&producer, directory.path);
    assert_int_equal(channel_open(directory.path, "over", &over), TSMITH_OK);
    channel_close(over);
    emit_in_turn(&producer, 1, 1);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        for (uint64_t number = 1; number <= 20; number++)
            if (!numbered_emit(producer.channel[1], producer.shape[1], 2, number, 0))
                _exit(3);
        channel_lose(producer.channel[0], TSMITH_REASON_UNTRACED, 5);
        channel_close(producer.channel[1]);
        channel_close(producer.channel[0]);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    emit_in_turn(&producer, 1, 2);
    channel_close(producer.channel[0]);
    channel_close(producer.channel[1]);
    see_all(collector, &seen);
    const struct collect_totals totals = collector_totals(collector);
    assert_false(seen.wrong || seen.twice || seen.out_of_order);
    assert_int_equal(seen.count[1], 2);
    assert_int_equal(seen.count[2], 20);
    assert_int_equal(numbered_lost(&seen), 5);
    assert_int_equal(totals.asked, 27);
    assert_int_equal(totals.rings, 2);
    assert_int_equal(processes_of(collector, names[0]), 2);
    assert_int_equal(processes_of(collector, names[1]), 2);
    assert_int_equal(processes_of(collector, "over"), 1);
    collector_destroy(collector);
    channel_detach(over);
    detach(&producer);
    session_directory_remove(&directory);
}

// ---- death

static struct truth *share(void) {
    void *at = mmap(NULL, sizeof(struct truth), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(at, MAP_FAILED);
    return at;
}

struct emitter {
    const struct producer *producer;
    struct truth *truth;
    uint64_t index;
};

static void *emit_main(void *self) {
    const struct emitter *emitter = self;
    struct truth *truth = emitter->truth;
    atomic_fetch_add(&truth->running, 1);
    for (uint64_t number = 1;; number++) {
        atomic_store(&truth->of[emitter->index].begun, number);
        if (!emit_in_turn(emitter->producer, emitter->index, number))
            pause(); // the ring is full
        atomic_store(&truth->of[emitter->index].done, number);
    }
    return NULL;
}

enum { FLIGHTS_A = 3, FLIGHTS_B = 5, LOST_A = 7, LOST_B = 11 };

// Until it is killed. One API is over by then: it has counted what it had in flight itself.
static void victim_main(const char *directory, struct truth *truth) {
    struct producer producer;
    struct emitter emitters[THREADS];
    struct channel *over;
    pthread_t thread;
    begin_producer(&producer, directory);
    if (channel_open(directory, "over", &over))
        _exit(3);
    channel_begun(over, 0, 100);
    channel_lose(over, TSMITH_REASON_NO_COMPLETION, 100);
    channel_close(over);
    // Each API numbers its lists from 0: in one ledger the one would be taken for the other.
    channel_begun(producer.channel[0], 0, FLIGHTS_A + 4);
    channel_begun(producer.channel[1], 0, FLIGHTS_B);
    channel_ended(producer.channel[0], 0, 4);
    channel_lose(producer.channel[0], TSMITH_REASON_UNTRACED, LOST_A);
    channel_lose(producer.channel[1], TSMITH_REASON_UNTRACED, LOST_B);
    for (uint64_t i = 0; i < THREADS; i++) {
        emitters[i] = (struct emitter){&producer, truth, i};
        if (pthread_create(&thread, NULL, emit_main, &emitters[i]))
            _exit(3);
    }
    for (;;)
        pause();
}

static pid_t start_victim(const struct session_directory *directory, struct truth *truth) {
    const pid_t victim = fork();
    assert_true(victim >= 0);
    if (victim == 0)
        victim_main(directory->path, truth);
    for (bool all = false; !all && kill(victim, 0) == 0;) {
        all = true;
        for (int i = 0; i < THREADS; i++)
            all = all && atomic_load(&truth->of[i].done) > 0;
        sched_yield();
    }
    return victim;
}

static void kill_victim(pid_t victim, int *status) {
    assert_int_equal(kill(victim, SIGKILL), 0);
    assert_int_equal(waitpid(victim, status, 0), victim);
    assert_true(WIFSIGNALED(*status) && WTERMSIG(*status) == SIGKILL);
}

static void check_death(const struct truth *truth, const struct numbered_seen *seen) {
    assert_false(seen->wrong || seen->twice || seen->out_of_order);
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(seen->last[i], seen->count[i]); // 1 .. n without a hole
        assert_true(
            is_between(seen->count[i], atomic_load(&truth->of[i].done), atomic_load(&truth->of[i].begun)));
    }
    assert_int_equal(seen->lost[TSMITH_REASON_NO_COMPLETION], FLIGHTS_A + FLIGHTS_B + 100);
    assert_int_equal(seen->lost[TSMITH_REASON_UNTRACED], LOST_A + LOST_B);
    // A thread was about to write one record at most, and may have counted another: not one for each API.
    assert_true(is_between(seen->lost[TSMITH_REASON_PROCESS_DIED], THREADS, 2 * THREADS));
}

static struct numbered_seen recover(struct session_directory *directory) {
    struct numbered_seen seen = {0};
    tsmith_source *source;
    tsmith_error error;
    atomic_store(&directory->control->collector_pid, 0); // there never was one, or it is gone
    CONTROL_FILE_WRITE(&directory->file, collector_pid);
    assert_int_equal(tsmith_capture_recover(directory->path, &source, &error), TSMITH_OK);
    assert_int_equal(numbered_drain(source, &seen), TSMITH_END);
    tsmith_source_destroy(source);
    return seen;
}

static void program_killed(void **unused) {
    (void)unused;
    for (int run = 0; run < 10; run++) {
        struct session_directory directory = numbered_session(64u << 20, TSMITH_OVERFLOW_DROP_NEWEST);
        struct truth *truth = share();
        int status;
        kill_victim(start_victim(&directory, truth), &status);
        const struct numbered_seen seen = recover(&directory);
        check_death(truth, &seen);
        munmap(truth, sizeof *truth);
        session_directory_remove(&directory);
    }
}

// The same with a collector that lives.
static void program_killed_beside_collector(void **unused) {
    (void)unused;
    struct session_directory directory = numbered_session(64u << 20, TSMITH_OVERFLOW_DROP_NEWEST);
    struct collector *collector = collect(&directory);
    struct numbered_seen seen = {0};
    struct truth *truth = share();
    int status;
    const pid_t victim = start_victim(&directory, truth);
    collector_program_started(collector, (uint64_t)victim);
    see_some(collector, &seen);
    kill_victim(victim, &status);
    collector_program_ended(collector, status);
    see_all(collector, &seen);
    check_death(truth, &seen);
    const struct collect_totals totals = collector_totals(collector);
    assert_int_equal(totals.asked, totals.kept + totals.dropped);
    assert_int_equal(totals.kept, numbered_total(&seen));
    collector_destroy(collector);
    munmap(truth, sizeof *truth);
    session_directory_remove(&directory);
}

// ---- a collector that is killed

enum { ROUNDS = 4, BATCHES = 3, ROUND_RECORDS = 50 };
static char folder[] = "/tmp/tracesmith-shared-channel-XXXXXX";
static char file[64], joined[64];

// Where the collector ends: before or after it has written a batch of a round.
struct end {
    int round, batch;
    bool after;
};

// Writes what there is, round by round, and ends itself.
static void collector_main(struct session_directory *directory, const struct end *end, int from, int to) {
    struct collector *collector;
    tsmith_sink *sink;
    const tsmith_batch *batch;
    tsmith_error error;
    char token;
    atomic_store(&directory->control->collector_pid, (uint32_t)getpid());
    CONTROL_FILE_WRITE(&directory->file, collector_pid);
    if (tsmith_sbt_writer_open(file, NULL, &sink, &error))
        _exit(3);
    session_directory_set_output(directory, file);
    if (collector_create(directory, COLLECT_SESSION, &collector, &error) || write(to, "x", 1) != 1)
        _exit(3);
    session_directory_describe(directory, collector_dictionary(collector));
    collector_set_settling(collector, true);
    for (int round = 0; read(from, &token, 1) == 1; round++) {
        for (int at = 0; collector_next(collector, &batch, &error) == TSMITH_OK; at++) {
            const bool now = round == end->round && at == end->batch;
            if (now && !end->after)
                raise(SIGKILL);
            if (tsmith_sink_write(sink, collector_dictionary(collector), batch, &error))
                _exit(4);
            if (now)
                raise(SIGKILL);
        }
        if (write(to, "x", 1) != 1)
            _exit(4);
    }
    raise(SIGKILL);
}

static struct numbered_seen complete(const struct session_directory *directory) {
    tsmith_capture_completion done = {.size = sizeof done};
    struct numbered_seen seen = {0};
    tsmith_sbt *trace;
    tsmith_source *source;
    tsmith_error error;
    assert_int_equal(tsmith_capture_complete(directory->path, joined, NULL, NULL, &done, &error), TSMITH_OK);
    assert_int_equal(tsmith_sbt_open(joined, &trace, &error), TSMITH_OK);
    assert_int_equal(tsmith_sbt_scan(trace, NULL, &source, &error), TSMITH_OK);
    assert_int_equal(numbered_drain(source, &seen), TSMITH_END);
    tsmith_source_destroy(source);
    tsmith_sbt_close(trace);
    return seen;
}

static void kill_collector(const struct end *end) {
    struct session_directory directory = numbered_session(1 << 20, TSMITH_OVERFLOW_DROP_NEWEST);
    struct producer producer;
    int to_child[2], from_child[2], status;
    char token;
    assert_int_equal(pipe(to_child), 0);
    assert_int_equal(pipe(from_child), 0);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        close(to_child[1]);
        close(from_child[0]);
        collector_main(&directory, end, to_child[0], from_child[1]);
    }
    close(to_child[0]);
    close(from_child[1]);
    bool alive = read(from_child[0], &token, 1) == 1;
    begin_producer(&producer, directory.path);
    for (uint64_t number = 1; number <= (uint64_t)ROUNDS * ROUND_RECORDS; number++) {
        assert_true(emit_in_turn(&producer, 1, number));
        if (number % ROUND_RECORDS)
            continue;
        // The second API loses less than the first, and more than nothing: one count for both would hide it.
        channel_lose(producer.channel[0], TSMITH_REASON_UNTRACED, 1000);
        channel_lose(producer.channel[1], TSMITH_REASON_UNTRACED, 3);
        alive = alive && write(to_child[1], "x", 1) == 1 && read(from_child[0], &token, 1) == 1;
    }
    close(to_child[1]);
    close(from_child[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    atomic_store(&directory.control->collector_pid, 0);
    CONTROL_FILE_WRITE(&directory.file, collector_pid);
    const struct numbered_seen seen = complete(&directory);
    assert_false(seen.wrong || seen.twice || seen.out_of_order);
    assert_int_equal(seen.count[1], ROUNDS * ROUND_RECORDS);
    assert_int_equal(seen.lost[TSMITH_REASON_UNTRACED], ROUNDS * 1003);
    for (uint32_t api = 0; api < APIS; api++)
        channel_close(producer.channel[api]);
    detach(&producer);
    session_directory_remove(&directory);
    assert_int_equal(unlink(file), 0);
    assert_int_equal(unlink(joined), 0);
}

static void collector_killed(void **unused) {
    (void)unused;
    assert_non_null(mkdtemp(folder));
    snprintf(file, sizeof file, "%s/run.sbt", folder);
    snprintf(joined, sizeof joined, "%s/joined.sbt", folder);
    signal(SIGPIPE, SIG_IGN);
    for (struct end end = {0}; end.round < ROUNDS; end.round++)
        for (end.batch = 0; end.batch < BATCHES; end.batch++)
            for (int after = 0; after < 2; after++) {
                end.after = after;
                kill_collector(&end);
            }
    assert_int_equal(rmdir(folder), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(collector_killed),
                                       cmocka_unit_test(newest),
                                       cmocka_unit_test(oldest),
                                       cmocka_unit_test(each_counts_its_losses),
                                       cmocka_unit_test(there_is_an_end_of_room),
                                       cmocka_unit_test(children_have_their_own),
                                       cmocka_unit_test(program_killed),
                                       cmocka_unit_test(program_killed_beside_collector)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
