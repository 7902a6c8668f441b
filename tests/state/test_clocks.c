// SPDX-License-Identifier: Apache-2.0
// Device clocks that are off by a known amount: a trace is made with the true times, then its device's times are
// moved. The placed times must be the true ones within what launching and returning take, and every true relation
// between host and device must be in the graph.
#include "state/clocks.h"

#include <stdlib.h>

#include "state/graph.h"
#include "support/made_trace.h"

enum { LAUNCHES = 1000, EACH = 20, LAUNCHING = 5000, RETURNS = 3000 };

struct clocked {
    struct made_trace trace;
    uint32_t thread, queue;
    int64_t true_start[LAUNCHES], true_end[LAUNCHES];
    struct random random;
};

struct skew {
    int64_t offset;        // what has to be added to the device's times
    double drift;          // and per ns
    uint32_t bad_launches; // of 1000: that start long before their call
    uint32_t bad_waits;    // of 100: that return long before what they waited for
    bool without_waits, without_calls;
};

static int64_t offset_at(const struct skew *skew, int64_t time) {
    return skew->offset + (int64_t)(skew->drift * (double)time);
}

// Kernels of 20 to 60 us in one queue; after each 20th a wait.
static void make(struct clocked *made, const struct skew *skew) {
    made_trace_init(&made->trace);
    made->random = (struct random){17};
    uint32_t process = made_process(&made->trace, 1), device = made_device(&made->trace, "device");
    made->thread = made_track(&made->trace, TSMITH_TRACK_THREAD, process, 0, 0, "main");
    made->queue = made_track(&made->trace, TSMITH_TRACK_QUEUE, process, device, 0, "queue");
    int64_t host = 1000000, busy = 0;
    for (uint32_t i = 0; i < LAUNCHES; i++) {
        const int64_t called = host;
        host += 3000 + (int64_t)random_below(&made->random, 3000);
        int64_t start = called + LAUNCHING + (int64_t)random_below(&made->random, 4000);
        start = start > busy + 500 ? start : busy + 500;
        busy = start + 20000 + (int64_t)random_below(&made->random, 40000);
        made->true_start[i] = start;
        made->true_end[i] = busy;
        const bool bad = random_below(&made->random, 1000) < skew->bad_launches;
        struct made_event *kernel =
            made_event(&made->trace, TSMITH_KIND_KERNEL, made->queue,
                       start - offset_at(skew, start) - (bad ? 3000000 : 0), busy - start);
        kernel->correlation = i + 1;
        if (!skew->without_calls)
            made_event(&made->trace, TSMITH_KIND_API, made->thread, called, 2500)->correlation = i + 1;
        if (i % EACH != EACH - 1 || skew->without_waits)
            continue;
        const bool early = random_below(&made->random, 100) < skew->bad_waits;
        const int64_t waited = host, returned = busy + RETURNS + (int64_t)random_below(&made->random, 4000);
        struct made_event *wait = made_event(&made->trace, TSMITH_KIND_SYNC, made->thread, waited,
                                             returned - waited - (early ? 300000 : 0));
        wait->operation = TSMITH_OPERATION_FINISH;
        wait->queue_track = made->queue;
        host = returned + 1000;
    }
}

struct placed {
    tsmith_timeline *timeline;
    tsmith_graph *graph;
    tsmith_device_clock clock;
};

static struct placed place(const struct clocked *made) {
    struct placed placed = {0};
    size_t count;
    tsmith_source *source = made_source(&made->trace, 64, (struct random){3});
    assert_int_equal(tsmith_timeline_read(source, NULL, &placed.timeline, NULL), TSMITH_OK);
    tsmith_source_destroy(source);
    assert_int_equal(tsmith_graph_create(placed.timeline, made->trace.dictionary, &placed.graph, NULL),
                     TSMITH_OK);
    const tsmith_device_clock *clocks = tsmith_graph_clocks(placed.graph, &count);
    assert_int_equal(count, 1);
    placed.clock = clocks[0];
    return placed;
}

static void destroy(struct placed *placed, struct clocked *made) {
    tsmith_graph_destroy(placed->graph);
    tsmith_timeline_destroy(placed->timeline);
    made_trace_finish(&made->trace);
    free(made);
}

// How far from the truth the placed times are at most, except for commands with wrong times.
static int64_t worst_error(const struct clocked *made, const struct placed *placed) {
    size_t count;
    int64_t worst = 0;
    const tsmith_command *commands = tsmith_timeline_commands(placed->timeline, &count);
    for (uint32_t i = 0; i < count; i++) {
        const uint64_t number = commands[i].correlation - 1;
        int64_t off = graph_command_time(placed->graph, i, false) - made->true_start[number];
        off = off < 0 ? -off : off;
        worst = off > worst && off < 1000000 ? off : worst;
    }
    return worst;
}

static void check(const struct skew *skew, uint64_t left_out_most, int64_t error_most) {
    struct clocked *made = calloc(1, sizeof *made);
    assert_non_null(made);
    make(made, skew);
    struct placed placed = place(made);
    const uint64_t waits = LAUNCHES / EACH;
    assert_int_equal(placed.clock.state, TSMITH_CLOCK_PLACED);
    assert_int_equal(placed.clock.launches, LAUNCHES);
    assert_int_equal(placed.clock.waits, waits);
    assert_true(placed.clock.left_out <= left_out_most);
    assert_true(placed.clock.low <= placed.clock.offset && placed.clock.offset <= placed.clock.high);
    if (skew->drift == 0) {
        assert_true(placed.clock.drift == 0);
        assert_true(placed.clock.low <= skew->offset && skew->offset <= placed.clock.high);
    }
    assert_true(worst_error(made, &placed) <= error_most);
    assert_true(tsmith_graph_edge_count(placed.graph, TSMITH_EDGE_SYNC_RETURN) + left_out_most >= waits);
    assert_true(tsmith_graph_contradicted(placed.graph, TSMITH_EDGE_SYNC_RETURN) <= left_out_most);
    assert_true(tsmith_graph_edge_count(placed.graph, TSMITH_EDGE_LAUNCH) + left_out_most >= LAUNCHES);
    destroy(&placed, made);
}

static void an_offset_of_either_sign_is_found(void **state) {
    (void)state;
    static const int64_t OFFSETS[] = {-2000000000, -1000000, -40000, -9000, 9000, 40000, 1000000, 2000000000};
    for (size_t i = 0; i < sizeof OFFSETS / sizeof *OFFSETS; i++)
        check(&(struct skew){.offset = OFFSETS[i]}, 0, LAUNCHING + RETURNS);
}

static void a_drift_is_found_where_no_offset_fits(void **state) {
    (void)state;
    check(&(struct skew){.offset = -20000, .drift = 1e-3 * 0.8}, 0, LAUNCHING + RETURNS + 2000);
    check(&(struct skew){.offset = 5000, .drift = -1e-3 * 0.8}, 0, LAUNCHING + RETURNS + 2000);
}

static void a_few_impossible_times_do_not_move_the_clock(void **state) {
    (void)state;
    check(&(struct skew){.offset = -40000, .bad_launches = 5}, 20, LAUNCHING + RETURNS);
    check(&(struct skew){.offset = 40000, .bad_launches = 5}, 20, LAUNCHING + RETURNS);
    check(&(struct skew){.offset = -40000, .bad_waits = 4}, 4, LAUNCHING + RETURNS);
    check(&(struct skew){.offset = 40000, .bad_waits = 4}, 4, LAUNCHING + RETURNS);
    check(&(struct skew){.offset = -20000, .drift = 1e-3 * 0.8, .bad_waits = 4}, 8,
          LAUNCHING + RETURNS + 4000);
}

static void times_that_can_be_are_left_alone(void **state) {
    (void)state;
    static const struct skew SKEWS[] = {{.offset = 0},
                                        {.offset = -1000},
                                        {.offset = 2000},
                                        {.offset = -1000000, .without_calls = true, .without_waits = true}};
    for (size_t i = 0; i < sizeof SKEWS / sizeof *SKEWS; i++) {
        struct clocked *made = calloc(1, sizeof *made);
        assert_non_null(made);
        make(made, &SKEWS[i]);
        struct placed placed = place(made);
        assert_int_equal(placed.clock.state, TSMITH_CLOCK_AS_RECORDED);
        assert_int_equal(placed.clock.offset, 0);
        assert_false(placed.graph->placed);
        destroy(&placed, made);
    }
}

static void bounds_of_one_kind_move_it_no_further_than_they_must(void **state) {
    (void)state;
    struct clocked *made = calloc(1, sizeof *made);
    assert_non_null(made);
    make(made, &(struct skew){.offset = 40000, .without_waits = true});
    struct placed placed = place(made);
    assert_int_equal(placed.clock.state, TSMITH_CLOCK_PLACED);
    assert_int_equal(placed.clock.high, TSMITH_TIME_UNKNOWN);
    assert_int_equal(placed.clock.offset, placed.clock.low);
    assert_true(placed.clock.offset <= 40000 && placed.clock.offset >= 40000 - 2 * LAUNCHING);
    destroy(&placed, made);
}

// Bounds at random: nothing fits, so nothing is moved.
static void bounds_that_contradict_each_other_move_nothing(void **state) {
    (void)state;
    enum { BOUNDS = 400 };
    struct random random = {5};
    struct clock_bound lower[BOUNDS], upper[BOUNDS];
    for (int i = 0; i < BOUNDS; i++) {
        lower[i] = (struct clock_bound){i * 1000000, (int64_t)random_below(&random, 2000000) - 1000000};
        upper[i] = (struct clock_bound){i * 1000000, (int64_t)random_below(&random, 2000000) - 1000000};
    }
    tsmith_device_clock clock = {.launches = BOUNDS, .waits = BOUNDS};
    assert_true(clocks_fit(&clock, lower, BOUNDS, upper, BOUNDS));
    assert_int_equal(clock.state, TSMITH_CLOCK_CONTRADICTED);
    assert_int_equal(clock.offset, 0);
    assert_true(clock.drift == 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_offset_of_either_sign_is_found),
        cmocka_unit_test(a_drift_is_found_where_no_offset_fits),
        cmocka_unit_test(a_few_impossible_times_do_not_move_the_clock),
        cmocka_unit_test(times_that_can_be_are_left_alone),
        cmocka_unit_test(bounds_of_one_kind_move_it_no_further_than_they_must),
        cmocka_unit_test(bounds_that_contradict_each_other_move_nothing),
    };
    return cmocka_run_group_tests_name("clocks of devices", tests, NULL, NULL);
}
