// SPDX-License-Identifier: Apache-2.0
// The critical path against a simulation: each node's slack is exactly how much longer it can take before the last end
// of the trace moves.
#include "support/random_trace.h"

#include <stdlib.h>

#include "state/critical_path.h"

struct built {
    tsmith_timeline *timeline;
    tsmith_graph *graph;
    struct critical_path path;
};

static struct built build(const struct made_trace *trace) {
    struct built built = {0};
    tsmith_source *source = made_source(trace, 50, (struct random){5});
    assert_int_equal(tsmith_timeline_read(source, NULL, &built.timeline, NULL), TSMITH_OK);
    tsmith_source_destroy(source);
    assert_int_equal(tsmith_graph_create(built.timeline, trace->dictionary, &built.graph, NULL), TSMITH_OK);
    assert_int_equal(critical_path_make(&built.path, built.graph, tsmith_timeline_window(built.timeline)),
                     TSMITH_OK);
    return built;
}

static void destroy(struct built *built) {
    critical_path_finish(&built->path);
    tsmith_graph_destroy(built->graph);
    tsmith_timeline_destroy(built->timeline);
}

static int64_t larger(int64_t a, int64_t b) {
    return a > b ? a : b;
}

// The last end when the end of node `late` comes `extra` ns later. Times are found by going round until nothing
// changes: every point is the last of what it waits for, plus the rest that the trace itself had there.
static int64_t simulate(const tsmith_graph *graph, uint32_t late, int64_t extra) {
    uint32_t count = graph->node_count;
    int64_t *times = malloc(2 * (size_t)count * sizeof *times), end = INT64_MIN;
    assert_non_null(times);
    for (uint32_t node = 0; node < count; node++)
        for (int side = 0; side < 2; side++)
            times[2 * node + (uint32_t)side] = graph_time(graph, node, side);
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t point = 0; point < 2 * count; point++) {
            uint32_t node = point / 2, edges;
            bool side = point & 1, waits = false;
            const tsmith_edge *edge = tsmith_graph_predecessors(graph, node, &edges);
            int64_t before = INT64_MIN, after = INT64_MIN;
            for (uint32_t i = 0; i < edges; i++) {
                if (graph_to_end[edge[i].kind] != side)
                    continue;
                waits = true;
                before = larger(before, graph_time(graph, edge[i].from, graph_from_end[edge[i].kind]));
                after = larger(after, times[2 * edge[i].from + graph_from_end[edge[i].kind]]);
            }
            if (side) { // a node that does not end with a wait takes as long as it took
                int64_t work = waits ? 0 : graph_time(graph, node, true) - graph_time(graph, node, false);
                before = larger(before, graph_time(graph, node, false) + work);
                after = larger(after, times[point - 1] + work);
            }
            int64_t time = graph_time(graph, node, side) + (before == INT64_MIN ? 0 : after - before);
            time += side && node == late ? extra : 0;
            changed |= time != times[point];
            times[point] = time;
        }
    }
    for (uint32_t point = 0; point < 2 * count; point++)
        end = larger(end, times[point]);
    free(times);
    return end;
}

static void slack_is_what_a_simulation_says(void **state) {
    (void)state;
    struct random random = {55};
    uint64_t with = 0, without = 0;
    for (int round = 0; round < 25; round++) {
        struct made_trace trace;
        random_trace(&trace, &random, 1 + random_below(&random, 25));
        for (size_t i = 0; i < trace.count; i++) { // no two points at once, so that nothing leads in a circle
            trace.events[i].start = trace.events[i].start * 1000 + (int64_t)(i * 7) % 1000;
            trace.events[i].duration = trace.events[i].duration * 1000 + 1 + (int64_t)(i * 13) % 500;
            trace.events[i].queued = trace.events[i].submitted = trace.events[i].completed = 0;
        }
        struct built built = build(&trace);
        int64_t end = simulate(built.graph, UINT32_MAX, 0);
        for (uint32_t node = 0; node < built.graph->node_count; node++) {
            int64_t slack = built.path.slack[node];
            assert_true(slack >= 0);
            assert_int_equal(simulate(built.graph, node, slack), end);
            assert_true(simulate(built.graph, node, slack + 1) > end);
            with += slack > 0;
            without += slack == 0;
        }
        destroy(&built);
        made_trace_finish(&trace);
    }
    assert_true(with > 0 && without > 0);
}

static void the_steps_add_up(void **state) {
    (void)state;
    struct random random = {56};
    for (int round = 0; round < 60; round++) {
        struct made_trace trace;
        random_trace(&trace, &random, 1 + random_below(&random, 60));
        struct built built = build(&trace);
        const struct critical_path *path = &built.path;
        assert_true(path->count > 0);
        int64_t end = simulate(built.graph, UINT32_MAX, 0);
        assert_int_equal(path->steps[path->count - 1].to, end);
        for (size_t i = 1; i < path->count; i++)
            assert_int_equal(path->steps[i].from, path->steps[i - 1].to);
        for (size_t i = 0; i < path->count; i++) {
            assert_true(path->steps[i].from < path->steps[i].to);
            if (path->steps[i].kind == PATH_RUN) { // no thread works outside of itself
                assert_true(path->steps[i].from >= graph_time(built.graph, path->steps[i].node, false));
                assert_true(path->steps[i].to <= graph_time(built.graph, path->steps[i].node, true));
            }
        }
        destroy(&built);
        made_trace_finish(&trace);
    }
}

// call 0..10 -> kernel 30..130 (20 us... of latency) -> the host waits until 140 -> call 150..160 -> kernel 165..175
static void a_path_by_hand(void **state) {
    (void)state;
    struct made_trace trace;
    made_trace_init(&trace);
    uint32_t process = made_process(&trace, 1), device = made_device(&trace, "device");
    uint32_t thread = made_track(&trace, TSMITH_TRACK_THREAD, process, 0, 0, "main");
    uint32_t queue = made_track(&trace, TSMITH_TRACK_QUEUE, process, device, 0, "queue");
    uint32_t other = made_track(&trace, TSMITH_TRACK_QUEUE, process, device, 0, "other");
    made_launch(&trace, thread, queue, 1, 0, 10, 30, 100);
    struct made_event *wait = made_event(&trace, TSMITH_KIND_SYNC, thread, 12, 128);
    wait->operation = TSMITH_OPERATION_FINISH;
    wait->queue_track = queue;
    made_launch(&trace, thread, other, 2, 150, 10, 165, 10);
    struct built built = build(&trace);
    static const struct path_step EXPECTED[] = {{0, 10, 2, PATH_RUN},
                                                {10, 30, 0, TSMITH_EDGE_LAUNCH},
                                                {30, 130, 0, PATH_RUN},
                                                {130, 140, 3, TSMITH_EDGE_SYNC_RETURN},
                                                {140, 150, 4, TSMITH_EDGE_PROGRAM_ORDER},
                                                {150, 160, 4, PATH_RUN},
                                                {160, 165, 1, TSMITH_EDGE_LAUNCH},
                                                {165, 175, 1, PATH_RUN}};
    assert_int_equal(built.path.count, sizeof EXPECTED / sizeof *EXPECTED);
    for (size_t i = 0; i < built.path.count; i++) {
        assert_int_equal(built.path.steps[i].from, EXPECTED[i].from);
        assert_int_equal(built.path.steps[i].to, EXPECTED[i].to);
        assert_int_equal(built.path.steps[i].node, EXPECTED[i].node);
        assert_int_equal(built.path.steps[i].kind, EXPECTED[i].kind);
    }
    assert_int_equal(built.path.slack[0], 0);
    assert_int_equal(built.path.slack[4], 15); // the last call's own end could come later
    destroy(&built);
    made_trace_finish(&trace);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slack_is_what_a_simulation_says),
        cmocka_unit_test(the_steps_add_up),
        cmocka_unit_test(a_path_by_hand),
    };
    return cmocka_run_group_tests_name("critical path", tests, NULL, NULL);
}
