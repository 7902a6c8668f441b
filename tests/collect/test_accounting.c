// SPDX-License-Identifier: Apache-2.0
// emitted = kept + dropped, exactly, and every event that is kept arrives once, in order, whole: against a brute-force
// reference, over random interleavings of one emitter, threads that come and go, and the collector, for every policy.
#include "support/numbered.h"

#include <pthread.h>
#include <sched.h>
#include <sys/wait.h>

struct state {
    struct session_directory directory;
    struct collector *collector;
    struct channel *channel;
    uint16_t shape;
    uint64_t emitted, recorded;
    uint64_t number[NUMBERED_EMITTERS];
    struct numbered_seen seen;
    uint64_t random;
};

static uint64_t next_random(struct state *state) {
    state->random ^= state->random << 13;
    state->random ^= state->random >> 7;
    state->random ^= state->random << 17;
    return state->random;
}

static void start_with(struct state *state, const tsmith_capture_options *options, uint64_t seed) {
    tsmith_error error;
    memset(state, 0, sizeof *state);
    state->random = seed * 0x9e3779b97f4a7c15u + 1;
    assert_int_equal(session_directory_create(&state->directory, options, &error), TSMITH_OK);
    assert_int_equal(collector_create(&state->directory, COLLECT_SESSION, &state->collector, &error),
                     TSMITH_OK);
    assert_int_equal(channel_open(state->directory.path, "test", &state->channel), TSMITH_OK);
    state->shape = numbered_shape(state->channel);
    assert_int_not_equal(state->shape, 0);
}

static void start(struct state *state, size_t buffer, tsmith_overflow overflow, uint64_t seed) {
    const tsmith_capture_options options = {
        .size = sizeof options, .buffer_bytes = buffer, .overflow = overflow};
    start_with(state, &options, seed);
}

static void start_waiting(struct state *state, double timeout, uint64_t seed) {
    const tsmith_capture_options options = {.size = sizeof options,
                                            .buffer_bytes = 64 * 1024,
                                            .overflow = TSMITH_OVERFLOW_BLOCK,
                                            .block_timeout = timeout};
    start_with(state, &options, seed);
}

static void collect(struct state *state, uint64_t batches) {
    const tsmith_batch *batch;
    tsmith_error error;
    while (batches-- > 0 && collector_next(state->collector, &batch, &error) == TSMITH_OK)
        numbered_see(&state->seen, batch);
}

static void emit(struct state *state, uint64_t emitter, uint64_t count) {
    while (count-- > 0) {
        uint32_t padding = next_random(state) % 8 ? 0 : (uint32_t)(next_random(state) % 200);
        state->emitted++;
        state->recorded +=
            numbered_emit(state->channel, state->shape, emitter, ++state->number[emitter], padding);
    }
}

static void finish(struct state *state) {
    const tsmith_batch *batch;
    tsmith_error error;
    tsmith_status status;
    channel_close(state->channel);
    collector_set_settling(state->collector, false);
    collector_set_closing(state->collector, true);
    while ((status = collector_next(state->collector, &batch, &error)) == TSMITH_OK)
        numbered_see(&state->seen, batch);
    assert_int_equal(status, TSMITH_END);
}

static void check(struct state *state, tsmith_overflow overflow) {
    const struct numbered_seen *seen = &state->seen;
    struct collect_totals totals = collector_totals(state->collector);
    assert_false(seen->wrong);
    assert_false(seen->twice);
    assert_false(seen->out_of_order);
    // Three counts of the same thing: the program's, the collector's, the trace's.
    assert_int_equal(totals.asked, state->emitted);
    assert_int_equal(totals.kept + totals.dropped, state->emitted);
    assert_int_equal(numbered_total(seen), totals.kept);
    assert_int_equal(totals.delivered, totals.kept);
    assert_int_equal(numbered_lost(seen), totals.dropped);
    if (overflow == TSMITH_OVERFLOW_DROP_NEWEST) {
        assert_int_equal(totals.kept, state->recorded);
        assert_int_equal(seen->lost[TSMITH_REASON_OVERWRITTEN], 0);
    } else {
        // Why records before a sub-buffer were dropped stands in it: when it is overwritten, so is that.
        assert_true(totals.kept <= state->recorded);
        assert_true(state->emitted - state->recorded >=
                    numbered_lost(seen) - seen->lost[TSMITH_REASON_OVERWRITTEN]);
    }
    collector_destroy(state->collector);
    channel_detach(state->channel);
    session_directory_remove(&state->directory);
}

static void one_emitter(tsmith_overflow overflow) {
    uint64_t dropped_somewhere = 0;
    for (uint64_t seed = 1; seed <= 60; seed++) {
        struct state state;
        start(&state, seed % 3 ? 32 * 1024 : 512 * 1024, overflow, seed);
        for (int step = 0; step < 40; step++) {
            emit(&state, 1, next_random(&state) % (step % 10 == 9 ? 20000 : 300));
            collect(&state, next_random(&state) % 4);
        }
        finish(&state);
        dropped_somewhere += numbered_lost(&state.seen);
        check(&state, overflow);
    }
    // The test would prove nothing if rings had never been full.
    assert_true(dropped_somewhere > 0);
}

// While little is recorded the collector may leave it where it is, until a round was long ago; not when rings fill,
// nor when another process attaches.
static void rests_while_there_is_room(void **unused) {
    (void)unused;
    enum { BUFFER = 4 << 20, FILLS = 20000 }; // records, of more than half of the buffer
    struct channel *joined[LAYOUT_LEDGERS - 1], *another;
    struct state state;
    start(&state, BUFFER, TSMITH_OVERFLOW_DROP_NEWEST, 5);
    assert_false(collector_can_rest(state.collector)); // there is a channel
    do
        collect(&state, UINT64_MAX);
    while (!collector_can_rest(state.collector)); // again only where the machine was away for long
    do {
        collect(&state, UINT64_MAX);
        emit(&state, 1, 10);
    } while (!collector_can_rest(state.collector));
    emit(&state, 1, FILLS);
    assert_int_equal(state.recorded, state.emitted);
    assert_false(collector_can_rest(state.collector));
    do
        collect(&state, UINT64_MAX);
    while (!collector_can_rest(state.collector));
    // APIs that join a channel are no reason to look; a channel is.
    for (uint32_t i = 0; i < LAYOUT_LEDGERS - 1; i++)
        assert_int_equal(channel_open(state.directory.path, "joined", &joined[i]), TSMITH_OK);
    assert_true(collector_can_rest(state.collector));
    assert_int_equal(channel_open(state.directory.path, "another", &another), TSMITH_OK);
    assert_false(collector_can_rest(state.collector));
    channel_close(another);
    for (uint32_t i = 0; i < LAYOUT_LEDGERS - 1; i++)
        channel_close(joined[i]);
    finish(&state);
    channel_detach(another);
    for (uint32_t i = 0; i < LAYOUT_LEDGERS - 1; i++)
        channel_detach(joined[i]);
    check(&state, TSMITH_OVERFLOW_DROP_NEWEST);
}

static void newest(void **unused) {
    (void)unused;
    one_emitter(TSMITH_OVERFLOW_DROP_NEWEST);
}

static void oldest(void **unused) {
    (void)unused;
    one_emitter(TSMITH_OVERFLOW_DROP_OLDEST);
}

// Drop-oldest keeps what came last: the newest event of all is there, and what is missing is one stretch before.
static void oldest_keeps_the_end(void **unused) {
    (void)unused;
    struct state state;
    start(&state, 64 * 1024, TSMITH_OVERFLOW_DROP_OLDEST, 7);
    emit(&state, 1, 20000);
    finish(&state);
    assert_int_equal(state.seen.last[1], 20000);
    assert_true(state.seen.lost[TSMITH_REASON_OVERWRITTEN] > 0);
    assert_int_equal(state.seen.loss_rows, 1);
    check(&state, TSMITH_OVERFLOW_DROP_OLDEST);
}

static void newest_keeps_the_beginning(void **unused) {
    (void)unused;
    struct state state;
    start(&state, 64 * 1024, TSMITH_OVERFLOW_DROP_NEWEST, 7);
    emit(&state, 1, 20000);
    finish(&state);
    assert_int_equal(state.seen.last[1], state.seen.count[1]); // 1 .. n, nothing missing before n
    assert_int_equal(state.seen.loss_rows, 1);
    check(&state, TSMITH_OVERFLOW_DROP_NEWEST);
}

struct visit {
    struct state *state;
    uint64_t emitter, count;
};

static void *visit_main(void *self) {
    struct visit *visit = self;
    emit(visit->state, visit->emitter, visit->count);
    return NULL;
}

// Threads one after the other: each leaves its ring to the next, and no event changes its emitter or its order.
static void threads_come_and_go(void **unused) {
    (void)unused;
    for (int policy = 0; policy < 2; policy++) {
        struct state state;
        start(&state, 64 * 1024, policy ? TSMITH_OVERFLOW_DROP_OLDEST : TSMITH_OVERFLOW_DROP_NEWEST, 11);
        for (int i = 0; i < 300; i++) {
            struct visit visit = {&state, 1 + next_random(&state) % 60, next_random(&state) % 60};
            pthread_t thread;
            assert_int_equal(pthread_create(&thread, NULL, visit_main, &visit), 0);
            pthread_join(thread, NULL);
            collect(&state, next_random(&state) % 3);
        }
        finish(&state);
        struct collect_totals totals = collector_totals(state.collector);
        assert_int_equal(totals.rings, 1);
        check(&state, policy ? TSMITH_OVERFLOW_DROP_OLDEST : TSMITH_OVERFLOW_DROP_NEWEST);
    }
}

struct racer {
    struct state *state;
    uint64_t emitter;
    uint64_t recorded;
    _Atomic bool done;
};

enum { RACER_EVENTS = 300000 };

static void *race(void *self) {
    struct racer *racer = self;
    for (uint64_t number = 1; number <= RACER_EVENTS; number++)
        racer->recorded +=
            numbered_emit(racer->state->channel, racer->state->shape, racer->emitter, number, 0);
    atomic_store(&racer->done, true);
    return NULL;
}

// Emitters and the collector at the same time, the collector now and then away: rings are full, taken back, looked at
// while they change hands. No event is counted twice, read twice or out of order, and none is unaccounted for.
static void emitters_beside_the_collector(void **unused) {
    (void)unused;
    enum { RACERS = 2 };
    for (int policy = 0; policy <= 2; policy++) {
        struct state state;
        pthread_t threads[RACERS];
        struct racer racers[RACERS] = {0};
        start(&state, 256 * 1024, (tsmith_overflow)policy, 17);
        for (uint64_t i = 0; i < RACERS; i++) {
            racers[i].state = &state;
            racers[i].emitter = i + 1;
            assert_int_equal(pthread_create(&threads[i], NULL, race, &racers[i]), 0);
        }
        while (!atomic_load(&racers[0].done) || !atomic_load(&racers[1].done)) {
            // Settling, every round looks at what is not handed over yet: as often as can be, right into the changes.
            collector_set_settling(state.collector, next_random(&state) % 4 != 0);
            collect(&state, next_random(&state) % 20);
            if (next_random(&state) % 8 == 0)
                sched_yield();
        }
        for (int i = 0; i < RACERS; i++) {
            pthread_join(threads[i], NULL);
            state.emitted += RACER_EVENTS;
            state.recorded += racers[i].recorded;
        }
        finish(&state);
        if (policy == TSMITH_OVERFLOW_BLOCK)
            assert_int_equal(collector_totals(state.collector).dropped, 0);
        check(&state, policy == TSMITH_OVERFLOW_DROP_OLDEST ? TSMITH_OVERFLOW_DROP_OLDEST
                                                            : TSMITH_OVERFLOW_DROP_NEWEST);
    }
}

// A record longer than a sub-buffer is refused and counted; the ring continues.
static void too_long(void **unused) {
    (void)unused;
    struct state state;
    start(&state, 64 * 1024, TSMITH_OVERFLOW_DROP_NEWEST, 3);
    emit(&state, 1, 10);
    assert_false(numbered_emit(state.channel, state.shape, 1, ++state.number[1], 3 * RECORD_MAX_WORDS));
    state.emitted++;
    emit(&state, 1, 10);
    finish(&state);
    assert_int_equal(state.seen.lost[TSMITH_REASON_TABLE_FULL], 1);
    check(&state, TSMITH_OVERFLOW_DROP_NEWEST);
}

// Block waits for a collector, and not for one that is dead: the program continues, and unrecorded events are counted.
static void nobody_to_wait_for(void **unused) {
    (void)unused;
    struct state state;
    start(&state, 64 * 1024, TSMITH_OVERFLOW_BLOCK, 9);
    pid_t dead = fork();
    if (dead == 0)
        _exit(0);
    assert_int_equal(waitpid(dead, NULL, 0), dead);
    atomic_store(&state.directory.control->collector_pid, (uint32_t)dead);
    CONTROL_FILE_WRITE(&state.directory.file, collector_pid);
    atomic_store(&state.directory.control->heartbeat, clock_trace_now() - 1000000000);
    CONTROL_FILE_WRITE(&state.directory.file, heartbeat);
    emit(&state, 1, 20000);
    assert_true(state.recorded < state.emitted);
    finish(&state);
    assert_true(state.seen.lost[TSMITH_REASON_RING_FULL] > 0);
    check(&state, TSMITH_OVERFLOW_DROP_NEWEST); // it has come to the same
}

// A collector that lives and is silent for longer than the timeout loses events, for a reason of its own.
static void silent_for_too_long(void **unused) {
    (void)unused;
    struct state state;
    start_waiting(&state, 0.5, 21);
    atomic_store(&state.directory.control->heartbeat, clock_trace_now() - 600000000);
    CONTROL_FILE_WRITE(&state.directory.file, heartbeat);
    emit(&state, 1, 20000);
    assert_true(state.recorded < state.emitted);
    finish(&state);
    assert_int_equal(state.seen.lost[TSMITH_REASON_BLOCK_TIMEOUT], state.emitted - state.recorded);
    assert_int_equal(state.seen.lost[TSMITH_REASON_RING_FULL], 0);
    check(&state, TSMITH_OVERFLOW_DROP_NEWEST);
}

// Without a timeout the program waits for a collector that lives, however old its last heartbeat is.
static void waits_without_timeout(void **unused) {
    (void)unused;
    struct state state;
    const tsmith_batch *batch;
    tsmith_error error;
    pthread_t thread;
    struct visit visit = {&state, 1, 20000};
    start_waiting(&state, -1, 22);
    atomic_store(&state.directory.control->heartbeat, clock_trace_now() - INT64_C(3600000000000));
    CONTROL_FILE_WRITE(&state.directory.file, heartbeat);
    assert_int_equal(pthread_create(&thread, NULL, visit_main, &visit), 0);
    while (control_file_waiters(&state.directory.file) == 0)
        sched_yield();
    while (pthread_tryjoin_np(thread, NULL) != 0)
        if (collector_next(state.collector, &batch, &error) == TSMITH_OK)
            numbered_see(&state.seen, batch);
    finish(&state);
    assert_int_equal(state.recorded, state.emitted);
    assert_int_equal(numbered_lost(&state.seen), 0);
    check(&state, TSMITH_OVERFLOW_DROP_NEWEST);
}

// A collector that hands out batches lives, however long its consumer takes over each of a round.
static void every_batch_is_a_sign_of_life(void **unused) {
    (void)unused;
    struct state state;
    const tsmith_batch *batch;
    tsmith_error error;
    pthread_t thread;
    struct visit visit = {&state, 2, 10};
    start(&state, 64 * 1024, TSMITH_OVERFLOW_BLOCK, 13);
    emit(&state, 1, 10);
    assert_int_equal(pthread_create(&thread, NULL, visit_main, &visit), 0);
    pthread_join(thread, NULL);
    collector_set_settling(state.collector, true); // all that there is, in one round: a batch of each thread
    for (int i = 0; i < 2; i++) {
        atomic_store(&state.directory.control->heartbeat, 0);
        CONTROL_FILE_WRITE(&state.directory.file, heartbeat);
        assert_int_equal(collector_next(state.collector, &batch, &error), TSMITH_OK);
        assert_true(atomic_load(&state.directory.control->heartbeat) > 0);
        numbered_see(&state.seen, batch);
    }
    finish(&state);
    check(&state, TSMITH_OVERFLOW_DROP_NEWEST);
}

// Nothing is freed before the consumer has come back: what a collector holds is in the directory, too.
static void undelivered_is_still_there(void **unused) {
    (void)unused;
    struct state state;
    struct numbered_seen again = {0};
    const tsmith_batch *batch;
    tsmith_error error;
    tsmith_source *source;
    start(&state, 4 * 1024 * 1024, TSMITH_OVERFLOW_DROP_NEWEST, 5);
    for (uint64_t i = 0; i < 40000; i++) {
        state.emitted++;
        state.recorded += numbered_emit(state.channel, state.shape, 1, ++state.number[1], 0);
    }
    // Read into batches, none of them delivered.
    for (int i = 0; i < 5; i++)
        if (collector_next(state.collector, &batch, &error) == TSMITH_OK)
            break;
    atomic_store(&state.directory.control->collector_pid, 0); // as if it had died
    CONTROL_FILE_WRITE(&state.directory.file, collector_pid);
    assert_int_equal(tsmith_capture_recover(state.directory.path, &source, &error), TSMITH_OK);
    assert_int_equal(numbered_drain(source, &again), TSMITH_END);
    tsmith_source_destroy(source);
    assert_int_equal(again.count[1], 40000);
    assert_int_equal(again.last[1], 40000);
    assert_false(again.wrong || again.twice || again.out_of_order);
    collector_destroy(state.collector);
    channel_close(state.channel);
    channel_detach(state.channel);
    session_directory_remove(&state.directory);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rests_while_there_is_room),
        cmocka_unit_test(newest),
        cmocka_unit_test(oldest),
        cmocka_unit_test(oldest_keeps_the_end),
        cmocka_unit_test(newest_keeps_the_beginning),
        cmocka_unit_test(threads_come_and_go),
        cmocka_unit_test(emitters_beside_the_collector),
        cmocka_unit_test(too_long),
        cmocka_unit_test(nobody_to_wait_for),
        cmocka_unit_test(silent_for_too_long),
        cmocka_unit_test(waits_without_timeout),
        cmocka_unit_test(every_batch_is_a_sign_of_life),
        cmocka_unit_test(undelivered_is_still_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
