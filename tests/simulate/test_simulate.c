// SPDX-License-Identifier: Apache-2.0
// The simulation against small traces whose answer can be worked out by hand, and against itself on random ones.
#include "support/random_trace.h"

#include <stdlib.h>
#include <string.h>

#include "tracesmith/simulate.h"

struct built {
    struct made_trace trace;
    tsmith_timeline *timeline;
    tsmith_graph *graph;
    tsmith_simulation *simulation;
};

static void build(struct built *built) {
    tsmith_source *source = made_source(&built->trace, 50, (struct random){5});
    assert_int_equal(tsmith_timeline_read(source, NULL, &built->timeline, NULL), TSMITH_OK);
    tsmith_source_destroy(source);
    assert_int_equal(tsmith_graph_create(built->timeline, built->trace.dictionary, &built->graph, NULL),
                     TSMITH_OK);
    assert_int_equal(tsmith_simulation_create(built->timeline, built->graph, built->trace.dictionary,
                                              &built->simulation, NULL),
                     TSMITH_OK);
}

static void destroy(struct built *built) {
    tsmith_simulation_destroy(built->simulation);
    tsmith_graph_destroy(built->graph);
    tsmith_timeline_destroy(built->timeline);
    made_trace_finish(&built->trace);
}

static uint64_t change(struct built *built, tsmith_change_kind kind, const char *const *names,
                       size_t name_count, double factor, int64_t time) {
    uint64_t affected;
    const tsmith_change asked = {.size = sizeof asked,
                                 .kind = kind,
                                 .names = names,
                                 .name_count = name_count,
                                 .factor = factor,
                                 .time = time};
    assert_int_equal(tsmith_simulation_change(built->simulation, &asked, &affected, NULL), TSMITH_OK);
    return affected;
}

static tsmith_simulated run(struct built *built, const tsmith_simulation_options *options) {
    tsmith_simulated out = {.size = sizeof out};
    int64_t sum = 0;
    assert_int_equal(tsmith_simulation_run(built->simulation, options, &out, NULL), TSMITH_OK);
    for (size_t i = 0; i < out.part_count; i++)
        sum += out.parts[i].time;
    assert_int_equal(sum, out.makespan);
    return out;
}

static int64_t makespan(struct built *built) {
    return run(built, NULL).makespan;
}

// One thread, one queue: every 1000 ns a launch of 100 ns, whose kernel ("a" or "b" in turn) starts 200 ns after the
// call began; kernels take 2000 ns, so they queue up, 10 ns apart. In the end the host waits, and returns 50 ns after
// the last.
static void init_backlog(struct built *built, uint32_t launches) {
    struct made_trace *trace = &built->trace;
    made_trace_init(trace);
    const uint32_t process = made_process(trace, 1), device = made_device(trace, "device");
    const uint32_t thread = made_track(trace, TSMITH_TRACK_THREAD, process, 0, 0, "thread");
    const uint32_t queue = made_track(trace, TSMITH_TRACK_QUEUE, process, device, 0, "queue");
    int64_t free = 0, end = 0;
    for (uint32_t i = 0; i < launches; i++) {
        const int64_t call = 1000 * (int64_t)i, start = call + 200 > free ? call + 200 : free;
        made_launch(trace, thread, queue, i + 1, call, 100, start, 2000);
        trace->events[trace->count - 1].name = i % 2 ? "b" : "a";
        end = start + 2000;
        free = end + 10;
    }
    struct made_event *wait = made_event(trace, TSMITH_KIND_SYNC, thread, 1000 * (int64_t)launches,
                                         end + 50 - 1000 * (int64_t)launches);
    wait->operation = TSMITH_OPERATION_FINISH;
    wait->queue_track = queue;
    build(built);
}

static void the_unmodified_trace_takes_as_long_as_it_took(void **state) {
    (void)state;
    struct built built = {0};
    init_backlog(&built, 20);
    const tsmith_simulation_model *model = tsmith_simulation_get_model(built.simulation);
    assert_int_equal(model->recorded, 200 + 20 * 2000 + 19 * 10 + 50);
    assert_int_equal(model->simulated, model->recorded);
    assert_true(model->error == 0 && model->median_start_error == 0);
    assert_int_equal(model->unexplained_count, 0);
    assert_int_equal(makespan(&built), model->recorded);
    destroy(&built);
}

static void faster_kernels_until_the_host_decides(void **state) {
    (void)state;
    struct built built = {0};
    const char *const a[] = {"a"}, *const none[] = {"c*"};
    init_backlog(&built, 20);
    assert_int_equal(change(&built, TSMITH_CHANGE_SCALE_KERNEL, none, 1, 0.5, 0), 0);
    assert_int_equal(change(&built, TSMITH_CHANGE_SCALE_KERNEL, a, 1, 0.5, 0), 10);
    assert_int_equal(makespan(&built), 200 + 10 * 1000 + 10 * 2000 + 19 * 10 + 50);
    // Now each is done before the next is launched, and all before the host begins to wait.
    assert_int_equal(change(&built, TSMITH_CHANGE_SCALE_KERNEL, NULL, 0, 0.25, 0), 20);
    assert_int_equal(makespan(&built), 20 * 1000);
    tsmith_simulation_reset(built.simulation);
    assert_int_equal(makespan(&built), tsmith_simulation_get_model(built.simulation)->simulated);
    destroy(&built);
}

static void slower_hosts(void **state) {
    (void)state;
    struct built built = {0};
    init_backlog(&built, 20);
    // Calls come every 100 + 2.5 * 900 ns, later than the device is done with the one before; the last kernel starts
    // 200 ns after its call.
    assert_int_equal(change(&built, TSMITH_CHANGE_SCALE_HOST, NULL, 0, 2.5, 0), 20);
    assert_int_equal(makespan(&built), 20 * 2350);
    assert_int_equal(change(&built, TSMITH_CHANGE_SCALE_KERNEL, NULL, 0, 1.1, 0), 20);
    assert_int_equal(makespan(&built), 19 * 2350 + 200 + 2200 + 50);
    tsmith_simulation_reset(built.simulation);
    assert_int_equal(change(&built, TSMITH_CHANGE_SCALE_CALL, NULL, 0, 30, 0), 21);
    assert_int_equal(makespan(&built), 20 * 3900);
    destroy(&built);
}

static void without_the_wait_the_device_decides(void **state) {
    (void)state;
    struct built built = {0};
    init_backlog(&built, 20);
    assert_int_equal(change(&built, TSMITH_CHANGE_DROP_SYNC, NULL, 0, 1, 0), 1);
    assert_int_equal(makespan(&built), 200 + 20 * 2000 + 19 * 10);
    destroy(&built);
}

static void fused_kernels_have_no_gap(void **state) {
    (void)state;
    struct built built = {0};
    const char *const names[] = {"a", "b"}, *const absent[] = {"b", "b"};
    init_backlog(&built, 20);
    assert_int_equal(change(&built, TSMITH_CHANGE_FUSE, absent, 2, 1, 0), 0);
    assert_int_equal(change(&built, TSMITH_CHANGE_FUSE, names, 2, 1, 0), 10);
    assert_int_equal(makespan(&built), 200 + 20 * 2000 + 9 * 10 + 50);
    destroy(&built);
}

static void a_captured_graph_needs_no_host(void **state) {
    (void)state;
    struct built built = {0};
    init_backlog(&built, 20);
    assert_int_equal(change(&built, TSMITH_CHANGE_GRAPH, NULL, 0, 1, 5), 20);
    assert_int_equal(change(&built, TSMITH_CHANGE_SCALE_KERNEL, NULL, 0, 0, 0), 20);
    // 20 launches of 5 ns, and what the host did before it began to wait.
    assert_int_equal(makespan(&built), 20 * 5 + 900);
    assert_int_equal(change(&built, TSMITH_CHANGE_SCALE_HOST, NULL, 0, 0, 0), 20);
    // The first kernel 200 ns after its call began, then the gaps between 20.
    assert_int_equal(makespan(&built), 200 + 19 * 10 + 50);
    destroy(&built);
}

static int64_t spread(struct built *built, uint32_t streams, uint32_t behind, double share) {
    tsmith_need needs[20];
    double shares[20];
    uint64_t affected;
    tsmith_change asked = {.size = sizeof asked, .kind = TSMITH_CHANGE_STREAMS, .streams = streams};
    for (uint32_t i = 0; i < 20; i++)
        shares[i] = share;
    for (uint32_t i = behind; i < 20; i++)
        needs[asked.need_count++] = (tsmith_need){i, i - behind};
    asked.needs = needs;
    asked.shares = shares;
    tsmith_simulation_reset(built->simulation);
    assert_int_equal(tsmith_simulation_change(built->simulation, &asked, &affected, NULL), TSMITH_OK);
    assert_int_equal(affected, share < 0 ? 0 : 20);
    return makespan(built);
}

static void commands_wait_for_what_they_need(void **state) {
    (void)state;
    struct built built = {0};
    const int64_t one_queue = 200 + 20 * 2000 + 19 * 10 + 50;
    init_backlog(&built, 20);
    assert_int_equal(spread(&built, 1, 2, 0.5), one_queue);
    // Two concurrent chains; the second begins 1000 ns later.
    assert_int_equal(spread(&built, 2, 2, 0.5), 1000 + 200 + 10 * 2000 + 9 * 10 + 50);
    assert_int_equal(spread(&built, 7, 2, 0.5), 1000 + 200 + 10 * 2000 + 9 * 10 + 50);
    // Each needs the one before it, or is not known to need nothing: no queue helps.
    assert_int_equal(spread(&built, 2, 1, 0.5), one_queue);
    assert_int_equal(spread(&built, 4, 2, -1), one_queue);
    // Each takes the whole device: only the gaps are filled.
    const int64_t whole = spread(&built, 2, 2, 1);
    assert_true(whole >= 200 + 20 * 2000 + 50 && whole < one_queue);
    // Nothing needs anything: the host decides, then the last kernel.
    assert_int_equal(spread(&built, 20, 20, 0.01), 19 * 1000 + 200 + 2000 + 50);
    const tsmith_change none = {.size = sizeof none, .kind = TSMITH_CHANGE_STREAMS};
    assert_int_equal(tsmith_simulation_change(built.simulation, &none, NULL, NULL),
                     TSMITH_ERROR_INVALID_ARGUMENT);
    tsmith_simulation_reset(built.simulation);
    assert_int_equal(makespan(&built), one_queue);
    destroy(&built);
}

// A thread that begins 70,000 ns later than the first one, and whose launch decides the end: why it began then, nothing in
// the trace says.
static void the_time_before_a_thread_is_unexplained(void **state) {
    (void)state;
    struct built built = {0};
    struct made_trace *trace = &built.trace;
    made_trace_init(trace);
    const uint32_t process = made_process(trace, 1), device = made_device(trace, "device");
    for (uint32_t i = 0; i < 2; i++) {
        const uint32_t thread = made_track(trace, TSMITH_TRACK_THREAD, process, 0, 0, "thread");
        const uint32_t queue = made_track(trace, TSMITH_TRACK_QUEUE, process, device, 0, "queue");
        made_launch(trace, thread, queue, i + 1, 70000 * (int64_t)i, 100, 70000 * (int64_t)i + 200, 2000);
    }
    build(&built);
    const tsmith_simulated out = run(&built, NULL);
    assert_int_equal(out.makespan, 70000 + 200 + 2000);
    assert_int_equal(out.unexplained, 70000);
    assert_int_equal(out.least, 200 + 2000);
    assert_int_equal(tsmith_simulation_get_model(built.simulation)->unexplained, 70000);
    destroy(&built);
}

// ---- policies

// A device that runs one kernel at a time, and three queues; kernels of queue q take 100 * (q + 1) ns. All are launched
// at the same time by threads of their own. Recorded: one after the other, by queue.
enum { POLICY_QUEUES = 3, EACH = 4 };

static void init_exclusive(struct built *built) {
    struct made_trace *trace = &built->trace;
    made_trace_init(trace);
    const uint32_t process = made_process(trace, 1), device = made_device(trace, "device");
    int64_t start = 100;
    for (uint32_t q = 0; q < POLICY_QUEUES; q++) {
        static const char *const NAMES[] = {"q0", "q1", "q2"};
        const uint32_t thread = made_track(trace, TSMITH_TRACK_THREAD, process, 0, 0, NAMES[q]);
        const uint32_t queue = made_track(trace, TSMITH_TRACK_QUEUE, process, device, 0, NAMES[q]);
        for (uint32_t i = 0; i < EACH; i++, start += 100 * (q + 1)) {
            made_launch(trace, thread, queue, q * EACH + i + 1, i, 1, start, 100 * (q + 1));
            trace->events[trace->count - 1].name = NAMES[q];
        }
    }
    build(built);
}

// The queues in the order in which they had the device.
static void check_order(struct built *built, tsmith_policy policy, const int32_t *priorities,
                        const uint32_t expected[POLICY_QUEUES * EACH]) {
    const tsmith_simulation_options options = {
        .size = sizeof options, .policy = policy, .priorities = priorities};
    const tsmith_simulated out = run(built, &options);
    size_t count;
    const tsmith_command *commands = tsmith_timeline_commands(built->timeline, &count);
    assert_int_equal(count, POLICY_QUEUES * EACH);
    assert_int_equal(out.makespan, 100 + EACH * (100 + 200 + 300));
    assert_int_equal(out.device_busy, EACH * (100 + 200 + 300));
    int64_t at = 100;
    for (size_t k = 0; k < count; k++) {
        size_t i = 0;
        while (i < count && tsmith_simulation_command(built->simulation, (uint32_t)i).from != at)
            i++;
        assert_true(i < count); // a command starts when the one before ended
        assert_int_equal(commands[i].row, expected[k]);
        at = tsmith_simulation_command(built->simulation, (uint32_t)i).to;
    }
}

static void policies_are_told_apart(void **state) {
    (void)state;
    struct built built = {0};
    init_exclusive(&built);
    assert_int_equal(tsmith_simulation_get_model(built.simulation)->exclusive, 1);
    check_order(&built, TSMITH_POLICY_ORIGINAL, NULL, (uint32_t[]){0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2});
    check_order(&built, TSMITH_POLICY_ROUND_ROBIN, NULL, (uint32_t[]){0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2});
    check_order(&built, TSMITH_POLICY_PRIORITY, (int32_t[]){-1, 0, 7},
                (uint32_t[]){2, 2, 2, 2, 1, 1, 1, 1, 0, 0, 0, 0});
    check_order(&built, TSMITH_POLICY_PRIORITY, (int32_t[]){0, 5, 0},
                (uint32_t[]){1, 1, 1, 1, 0, 0, 0, 0, 2, 2, 2, 2});
    destroy(&built);
}

// ---- random traces

static void spread_at_random(struct built *built, struct random *random) {
    size_t commands;
    tsmith_need needs[200];
    tsmith_change asked = {.size = sizeof asked,
                           .kind = TSMITH_CHANGE_STREAMS,
                           .streams = 1 + (uint32_t)random_below(random, 4),
                           .needs = needs};
    tsmith_timeline_commands(built->timeline, &commands);
    double *shares = calloc(commands + 1, sizeof *shares);
    assert_non_null(shares);
    for (uint32_t i = 0; i < commands; i++) {
        shares[i] = (double)random_below(random, 5) / 3 - 0.3;
        for (uint64_t k = random_below(random, 3); k && asked.need_count < 200; k--)
            needs[asked.need_count++] = (tsmith_need){i, (uint32_t)random_below(random, commands + 2)};
    }
    asked.shares = shares;
    tsmith_simulation_reset(built->simulation);
    assert_int_equal(tsmith_simulation_change(built->simulation, &asked, NULL, NULL), TSMITH_OK);
    const int64_t first = makespan(built);
    assert_int_equal(first, makespan(built));
    free(shares);
}

static void random_traces_add_up(void **state) {
    (void)state;
    struct random random = {77};
    for (int i = 0; i < 300; i++) {
        struct built built = {0};
        random_trace(&built.trace, &random, 1 + random_below(&random, 40));
        tsmith_source *source = made_source(&built.trace, 50, (struct random){5});
        assert_int_equal(tsmith_timeline_read(source, NULL, &built.timeline, NULL), TSMITH_OK);
        tsmith_source_destroy(source);
        assert_int_equal(tsmith_graph_create(built.timeline, built.trace.dictionary, &built.graph, NULL),
                         TSMITH_OK);
        if (tsmith_simulation_create(built.timeline, built.graph, built.trace.dictionary, &built.simulation,
                                     NULL) == TSMITH_OK) {
            for (int policy = 0; policy < TSMITH_POLICY_LIMIT; policy++) {
                const tsmith_simulation_options options = {.size = sizeof options,
                                                           .policy = (tsmith_policy)policy};
                const int64_t first = run(&built, &options).makespan, second = run(&built, &options).makespan;
                assert_int_equal(first, second);
            }
            for (int kind = 0; kind < TSMITH_CHANGE_STREAMS; kind++) {
                static const char *const ANY[] = {"*", "*"};
                change(&built, (tsmith_change_kind)kind, ANY, 2, 0.5, 10);
                run(&built, NULL);
            }
            spread_at_random(&built, &random);
        }
        destroy(&built);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_unmodified_trace_takes_as_long_as_it_took),
        cmocka_unit_test(faster_kernels_until_the_host_decides),
        cmocka_unit_test(slower_hosts),
        cmocka_unit_test(without_the_wait_the_device_decides),
        cmocka_unit_test(fused_kernels_have_no_gap),
        cmocka_unit_test(a_captured_graph_needs_no_host),
        cmocka_unit_test(commands_wait_for_what_they_need),
        cmocka_unit_test(the_time_before_a_thread_is_unexplained),
        cmocka_unit_test(policies_are_told_apart),
        cmocka_unit_test(random_traces_add_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
