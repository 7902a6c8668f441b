// SPDX-License-Identifier: Apache-2.0
// Queues and threads that wait for each other without a record of it: planted waits are found, and only those.
#include <stdlib.h>

#include "state/critical_path.h"
#include "state/graph.h"
#include "support/made_trace.h"

enum { TIMES = 30, STEP = 2000000 };

struct place {
    struct made_trace trace;
    uint32_t process, thread, worker, queue, other;
    struct random random;
};

static struct place begin(uint32_t seed) {
    struct place place = {.random = {seed}};
    made_trace_init(&place.trace);
    place.process = made_process(&place.trace, 1);
    uint32_t device = made_device(&place.trace, "device");
    place.thread = made_track(&place.trace, TSMITH_TRACK_THREAD, place.process, 0, 0, "main");
    place.worker = made_track(&place.trace, TSMITH_TRACK_THREAD, place.process, 0, 0, "worker");
    place.queue = made_track(&place.trace, TSMITH_TRACK_QUEUE, place.process, device, 0, "queue");
    place.other = made_track(&place.trace, TSMITH_TRACK_QUEUE, place.process, device, 0, "other");
    return place;
}

struct built {
    tsmith_timeline *timeline;
    tsmith_graph *graph;
};

static struct built build(const struct place *place) {
    struct built built;
    tsmith_source *source = made_source(&place->trace, 64, (struct random){3});
    assert_int_equal(tsmith_timeline_read(source, NULL, &built.timeline, NULL), TSMITH_OK);
    tsmith_source_destroy(source);
    assert_int_equal(tsmith_graph_create(built.timeline, place->trace.dictionary, &built.graph, NULL),
                     TSMITH_OK);
    return built;
}

static void destroy(struct built *built, struct place *place) {
    tsmith_graph_destroy(built->graph);
    tsmith_timeline_destroy(built->timeline);
    made_trace_finish(&place->trace);
}

// A kernel on the other queue, and one on this that is enqueued with it. Where it `waits` it begins up to 20 us after
// the other has ended, else at some time.
static void make_queues(struct place *place, int bound_of_10) {
    for (int i = 0; i < TIMES; i++) {
        const int64_t at = (int64_t)i * STEP,
                      end = at + 200000 + (int64_t)random_below(&place->random, 800000);
        const bool waits =
            i && (int)random_below(&place->random, 10) < bound_of_10; // once the device runs both
        const int64_t start = !i      ? at + 100000
                              : waits ? end + 1000 + (int64_t)random_below(&place->random, 19000)
                                      : at + 100000 + (int64_t)random_below(&place->random, 1200000);
        made_launch(&place->trace, place->thread, place->other, (uint64_t)(2 * i + 1), at, 4000, at + 6000,
                    end - at - 6000);
        made_launch(&place->trace, place->thread, place->queue, (uint64_t)(2 * i + 2), at + 5000, 4000, start,
                    50000);
    }
}

static uint64_t queue_edges(int bound_of_10, uint32_t seed) {
    struct place place = begin(seed);
    make_queues(&place, bound_of_10);
    struct built built = build(&place);
    const uint64_t count = tsmith_graph_edge_count(built.graph, TSMITH_EDGE_QUEUE_INFERRED);
    destroy(&built, &place);
    return count;
}

static void gaps_that_end_with_another_queue(void **state) {
    (void)state;
    assert_int_equal(queue_edges(10, 1), TIMES - 1); // before the first there is no gap
    const uint64_t half = queue_edges(5, 1);
    assert_true(half >= TIMES / 4 && half <= 3 * TIMES / 4);
}

static void gaps_that_end_anywhere(void **state) {
    (void)state;
    unsigned found = 0;
    for (uint32_t seed = 1; seed <= 200; seed++)
        found += queue_edges(0, seed) != 0;
    assert_true(found <= 4); // 1 in 1,000 pairs of queues by the rule, two pairs each
}

// What waited is on the path after what it waited for; a gap that nothing explains is called that.
static void the_path_goes_through_inferred_waits(void **state) {
    (void)state;
    struct place place = begin(1);
    make_queues(&place, 10);
    struct built built = build(&place);
    struct critical_path path;
    assert_int_equal(critical_path_make(&path, built.graph, tsmith_timeline_window(built.timeline)),
                     TSMITH_OK);
    assert_true(path.inferred > 0);
    bool unexplained = false;
    for (size_t i = 0; i < path.count; i++)
        unexplained |= path.steps[i].kind == PATH_UNEXPLAINED;
    assert_false(unexplained);
    critical_path_finish(&path);
    destroy(&built, &place);
    place = begin(1);
    made_launch(&place.trace, place.thread, place.queue, 1, 0, 4000, 6000, 50000);
    made_launch(&place.trace, place.thread, place.queue, 2, 5000, 4000, 900000, 50000);
    built = build(&place);
    assert_int_equal(critical_path_make(&path, built.graph, tsmith_timeline_window(built.timeline)),
                     TSMITH_OK);
    int64_t time = 0;
    for (size_t i = 0; i < path.count; i++)
        time += path.steps[i].kind == PATH_UNEXPLAINED ? path.steps[i].to - path.steps[i].from : 0;
    assert_int_equal(time, 900000 - 56000);
    critical_path_finish(&path);
    destroy(&built, &place);
}

// ---- threads

static void call(struct place *place, uint32_t thread, int64_t from, int64_t to) {
    made_event(&place->trace, TSMITH_KIND_API, thread, from, to - from)->name = "clGetEventInfo";
}

static void a_thread_that_joins_another(void **state) {
    (void)state;
    struct place place = begin(1);
    call(&place, place.thread, 0, 10000);
    call(&place, place.worker, 50000, 60000);
    call(&place, place.worker, 70000, 16000000);
    call(&place, place.thread, 16012000, 16020000);
    struct built built = build(&place);
    assert_int_equal(tsmith_graph_edge_count(built.graph, TSMITH_EDGE_THREAD_INFERRED), 1);
    struct critical_path path;
    assert_int_equal(critical_path_make(&path, built.graph, tsmith_timeline_window(built.timeline)),
                     TSMITH_OK);
    int64_t between = 0;
    for (size_t i = 0; i < path.count; i++)
        between +=
            path.steps[i].kind == TSMITH_EDGE_PROGRAM_ORDER ? path.steps[i].to - path.steps[i].from : 0;
    assert_true(between <= 10000); // and not the 16 ms in which the thread was silent
    critical_path_finish(&path);
    destroy(&built, &place);
    // The same silence, but the other thread ended in the middle of it; and one of another process.
    for (int variant = 0; variant < 2; variant++) {
        place = begin(1);
        uint32_t stranger =
            made_track(&place.trace, TSMITH_TRACK_THREAD, made_process(&place.trace, 2), 0, 0, "other");
        call(&place, place.thread, 0, 10000);
        call(&place, variant ? stranger : place.worker, 70000, variant ? 16000000 : 8000000);
        call(&place, place.thread, 16012000, 16020000);
        built = build(&place);
        assert_int_equal(tsmith_graph_edge_count(built.graph, TSMITH_EDGE_THREAD_INFERRED), 0);
        destroy(&built, &place);
    }
}

// What hashcat does: the main thread joins a worker after seconds and frees for 2 ms before it calls again. Before that, a
// thread ended somewhere in another silence, which is no join and no reason to doubt the other.
static void a_join_of_seconds(void **state) {
    (void)state;
    struct place place = begin(1);
    uint32_t other = made_track(&place.trace, TSMITH_TRACK_THREAD, place.process, 0, 0, "other");
    call(&place, place.thread, 0, 10000);
    call(&place, other, 50000, 220000000);
    call(&place, place.thread, 322000000, 322010000);
    call(&place, place.worker, 322100000, 4370000000);
    call(&place, place.thread, 4372200000, 4372210000);
    struct built built = build(&place);
    assert_int_equal(tsmith_graph_edge_count(built.graph, TSMITH_EDGE_THREAD_INFERRED), 1);
    struct critical_path path;
    assert_int_equal(critical_path_make(&path, built.graph, tsmith_timeline_window(built.timeline)),
                     TSMITH_OK);
    int64_t worker = 0;
    for (size_t i = 0; i < path.count; i++)
        worker +=
            path.steps[i].to > 322100000 && path.steps[i].from >= 322100000 && path.steps[i].to <= 4370000000
                ? path.steps[i].to - path.steps[i].from
                : 0;
    assert_int_equal(worker, 4370000000 - 322100000);
    critical_path_finish(&path);
    destroy(&built, &place);
}

// Threads that end at any time: of 400 programs with a silence each, chance brings 4 near enough.
static void ends_at_any_time_are_no_joins(void **state) {
    (void)state;
    uint64_t joins = 0;
    for (uint32_t seed = 1; seed <= 400; seed++) {
        struct place place = begin(seed);
        const int64_t end = 20000 + (int64_t)random_below(&place.random, 500000000);
        call(&place, place.thread, 0, 10000);
        call(&place, place.worker, 15000, end);
        call(&place, place.thread, 500020000, 500030000);
        struct built built = build(&place);
        joins += tsmith_graph_edge_count(built.graph, TSMITH_EDGE_THREAD_INFERRED);
        destroy(&built, &place);
    }
    assert_true(is_between(joins, 0, 4 * 3));
}

// The main thread continues soon after the worker has ended; or both are called at any time.
static uint64_t hand_overs(bool planted, uint32_t seed) {
    struct place place = begin(seed);
    for (int i = 0; i < TIMES; i++) {
        const int64_t at = (int64_t)i * STEP, begin = at + (int64_t)random_below(&place.random, 1200000),
                      end = begin + 200000 + (int64_t)random_below(&place.random, 400000);
        const int64_t again = planted ? end + 2000 + (int64_t)random_below(&place.random, 20000)
                                      : at + (int64_t)random_below(&place.random, 1900000);
        call(&place, place.worker, begin, end);
        call(&place, place.thread, again, again + 20000);
    }
    struct built built = build(&place);
    const uint64_t count = tsmith_graph_edge_count(built.graph, TSMITH_EDGE_THREAD_INFERRED);
    destroy(&built, &place);
    return count;
}

static void threads_that_hand_over_again_and_again(void **state) {
    (void)state;
    assert_true(hand_overs(true, 1) >=
                TIMES - 4); // not before the first, nor after silences that are too short
    unsigned found = 0;
    for (uint32_t seed = 1; seed <= 200; seed++)
        found += hand_overs(false, seed) != 0;
    assert_true(found <= 12); // 1 in 100 for each end of a thread, and 1 in 1,000 for each pair
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gaps_that_end_with_another_queue),
        cmocka_unit_test(gaps_that_end_anywhere),
        cmocka_unit_test(the_path_goes_through_inferred_waits),
        cmocka_unit_test(a_thread_that_joins_another),
        cmocka_unit_test(a_join_of_seconds),
        cmocka_unit_test(ends_at_any_time_are_no_joins),
        cmocka_unit_test(threads_that_hand_over_again_and_again),
    };
    return cmocka_run_group_tests_name("inferred order", tests, NULL, NULL);
}
