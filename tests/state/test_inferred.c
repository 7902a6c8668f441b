// SPDX-License-Identifier: Apache-2.0
// Waits that are inferred: planted ones are found, under any name of the call, and similar calls are
// not.
#include <stdlib.h>

#include "state/graph.h"
#include "support/made_trace.h"

struct place {
    struct made_trace trace;
    uint32_t thread, queue, other;
    struct random random;
};

static struct place begin(void) {
    struct place place = {.random = {11}};
    made_trace_init(&place.trace);
    uint32_t process = made_process(&place.trace, 1), device = made_device(&place.trace, "device");
    place.thread = made_track(&place.trace, TSMITH_TRACK_THREAD, process, 0, 0, "main");
    place.queue = made_track(&place.trace, TSMITH_TRACK_QUEUE, process, device, 0, "queue");
    place.other = made_track(&place.trace, TSMITH_TRACK_QUEUE, process, device, 0, "other");
    return place;
}

// A call, and the command that it makes, of these names.
static void launch(struct place *place, uint64_t number, int64_t call, int64_t returned, int64_t start,
                   int64_t end, const char *call_name, const char *name) {
    struct made_event *api = made_event(&place->trace, TSMITH_KIND_API, place->thread, call, returned - call);
    api->correlation = number;
    api->name = call_name;
    struct made_event *command = made_event(&place->trace, name ? TSMITH_KIND_MEMCPY : TSMITH_KIND_KERNEL,
                                            place->queue, start, end - start);
    command->correlation = number;
    command->name = name;
}

// How many inferred waits the graph has, without those for which another edge records the wait.
static uint64_t inferred(struct place *place) {
    tsmith_timeline *timeline;
    tsmith_graph *graph;
    tsmith_source *source = made_source(&place->trace, 64, (struct random){3});
    assert_int_equal(tsmith_timeline_read(source, NULL, &timeline, NULL), TSMITH_OK);
    tsmith_source_destroy(source);
    assert_int_equal(tsmith_graph_create(timeline, place->trace.dictionary, &graph, NULL), TSMITH_OK);
    const uint64_t count = tsmith_graph_edge_count(graph, TSMITH_EDGE_SYNC_INFERRED);
    assert_int_equal(tsmith_graph_contradicted(graph, TSMITH_EDGE_SYNC_INFERRED), 0);
    assert_int_equal(tsmith_graph_edge_count(graph, TSMITH_EDGE_SYNC_RETURN), 0);
    tsmith_graph_destroy(graph);
    tsmith_timeline_destroy(timeline);
    made_trace_finish(&place->trace);
    return count;
}

enum { TIMES = 20, STEP = 1000000 };

static void pageable_copies_that_were_waited_for(void **state) {
    (void)state;
    struct place place = begin();
    for (int i = 0; i < TIMES; i++) // every second one returned while the copy ran
        launch(&place, (uint64_t)i + 1, i * STEP, i * STEP + (i % 2 ? 20000 : 500000), i * STEP + 480000,
               i * STEP + 490000, "cudaMemcpyAsync", "Memcpy DtoH (Device -> Pageable)");
    assert_int_equal(inferred(&place), TIMES / 2);
    place = begin();
    for (int i = 0; i < TIMES; i++) // small and pinned: over before a slow call is
        launch(&place, (uint64_t)i + 1, i * STEP, i * STEP + 9000, i * STEP + 5000, i * STEP + 6000,
               "cudaMemcpyAsync", "Memcpy DtoH (Device -> Pinned)");
    assert_int_equal(inferred(&place), 0);
}

static void launches_that_block_under_any_name(void **state) {
    (void)state;
    struct place place = begin();
    for (int i = 0; i < TIMES; i++) {
        const int64_t run = 20000 + (int64_t)random_below(&place.random, 400000);
        launch(&place, (uint64_t)i + 1, i * STEP, i * STEP + 5000 + run + 4000, i * STEP + 5000,
               i * STEP + 5000 + run, "launchAndWait", NULL);
    }
    assert_int_equal(inferred(&place), TIMES);
    place = begin();
    for (int i = 0; i < TIMES; i++) // kernels that are shorter than their call
        launch(&place, (uint64_t)i + 1, i * STEP,
               i * STEP + 15000 + (int64_t)random_below(&place.random, 5000), i * STEP + 5000,
               i * STEP + 6000 + (int64_t)random_below(&place.random, 3000), "cudaLaunchKernel", NULL);
    assert_int_equal(inferred(&place), 0);
}

static void one_long_call_during_which_its_queue_ran(void **state) {
    (void)state;
    struct place place = begin();
    for (int i = 0; i < TIMES; i++) // one after the other in the queue, called at once
        launch(&place, (uint64_t)i + 1, i * 10000, i * 10000 + 5000, 20000 + i * 300000, 310000 + i * 300000,
               "cudaLaunchKernel", NULL);
    launch(&place, 100, TIMES * 10000, 20000 + TIMES * 300000 + 12000, 20000 + TIMES * 300000,
           20000 + TIMES * 300000 + 8000, "cudaMemcpyAsync", "Memcpy DtoH (Device -> Pinned)");
    assert_int_equal(inferred(&place), 1);
    place = begin(); // a call that loads a module, and then launches
    for (int i = 0; i < TIMES; i++)
        launch(&place, (uint64_t)i + 1, i * STEP, i * STEP + 5000, i * STEP + 6000, i * STEP + 300000,
               "cudaLaunchKernel", NULL);
    launch(&place, 100, TIMES * STEP, TIMES * STEP + 9000000, TIMES * STEP + 8990000, TIMES * STEP + 8997000,
           "cudaLaunchKernel", NULL);
    assert_int_equal(inferred(&place), 0);
}

// Calls without commands, made while a kernel runs that ends `early` before they return.
static uint64_t frees(bool by_chance) {
    struct place place = begin();
    for (int i = 0; i < TIMES; i++) {
        const int64_t at = i * STEP, end = at + 100000 + (int64_t)random_below(&place.random, 600000);
        launch(&place, (uint64_t)i + 1, at, at + 5000, at + 8000, end, "cudaLaunchKernel", NULL);
        const int64_t returned = by_chance ? at + 100000 + (int64_t)random_below(&place.random, 600000)
                                           : end + (int64_t)random_below(&place.random, 10000);
        made_event(&place.trace, TSMITH_KIND_API, place.thread, at + 10000, returned - at - 10000)->name =
            "cudaFree";
    }
    return inferred(&place);
}

static void calls_that_launch_nothing_and_wait_for_everything(void **state) {
    (void)state;
    assert_int_equal(frees(false), TIMES);
    assert_int_equal(frees(true), 0);
}

static void chance_is_told_from_rule(void **state) {
    (void)state;
    assert_false(graph_is_no_chance(0, 0));
    assert_false(graph_is_no_chance(1, 0.01));
    assert_true(graph_is_no_chance(1, 0.0001));
    assert_false(graph_is_no_chance(100, 90));
    assert_true(graph_is_no_chance(100, 50));
    assert_false(graph_is_no_chance(5, 6));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pageable_copies_that_were_waited_for),
        cmocka_unit_test(launches_that_block_under_any_name),
        cmocka_unit_test(one_long_call_during_which_its_queue_ran),
        cmocka_unit_test(calls_that_launch_nothing_and_wait_for_everything),
        cmocka_unit_test(chance_is_told_from_rule),
    };
    return cmocka_run_group_tests_name("inferred waits", tests, NULL, NULL);
}
