// SPDX-License-Identifier: Apache-2.0
// Graphs against the definition of each kind of edge on random traces, and against traces whose edges are known.
#include "support/random_trace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tracesmith/graph.h"

struct built {
    tsmith_timeline *timeline;
    tsmith_graph *graph;
    const tsmith_command *commands;
    const tsmith_call *calls;
    const tsmith_row *rows;
    size_t command_count, call_count, row_count;
};

static struct built build(const struct made_trace *trace) {
    struct built built = {0};
    tsmith_source *source = made_source(trace, 50, (struct random){5});
    assert_int_equal(tsmith_timeline_read(source, NULL, &built.timeline, NULL), TSMITH_OK);
    tsmith_source_destroy(source);
    assert_int_equal(tsmith_graph_create(built.timeline, trace->dictionary, &built.graph, NULL), TSMITH_OK);
    built.commands = tsmith_timeline_commands(built.timeline, &built.command_count);
    built.calls = tsmith_timeline_calls(built.timeline, &built.call_count);
    built.rows = tsmith_timeline_rows(built.timeline, &built.row_count);
    assert_int_equal(tsmith_graph_node_count(built.graph), built.command_count + built.call_count);
    return built;
}

static void destroy(struct built *built) {
    tsmith_graph_destroy(built->graph);
    tsmith_timeline_destroy(built->timeline);
}

static int64_t time_of(const struct built *built, uint32_t node, bool end) {
    if (node < built->command_count)
        return end ? built->commands[node].end : built->commands[node].start;
    const tsmith_call *call = &built->calls[node - built->command_count];
    return end ? call->end : call->start;
}

static bool has_edge(const struct built *built, tsmith_edge_kind kind, uint32_t from, uint32_t to) {
    uint32_t count;
    const tsmith_edge *edges = tsmith_graph_predecessors(built->graph, to, &count);
    for (uint32_t i = 0; i < count; i++)
        if (edges[i].kind == (uint32_t)kind && edges[i].from == from)
            return true;
    return false;
}

static uint32_t node_of(const struct built *built, uint64_t correlation, bool call) {
    for (uint32_t i = 0; i < built->command_count && !call; i++)
        if (built->commands[i].correlation == correlation)
            return i;
    for (uint32_t i = 0; i < built->call_count && call; i++)
        if (built->calls[i].correlation == correlation)
            return (uint32_t)built->command_count + i;
    fail_msg("no node has the number %llu", (unsigned long long)correlation);
    return 0;
}

static void check_direction(const struct built *built) {
    static const bool FROM_END[] = {
#define FROM(NAME, number, name, from_end, to_end, doc) from_end,
        TSMITH_EDGE_TABLE(FROM)
#undef FROM
    };
    static const bool TO_END[] = {
#define TO(NAME, number, name, from_end, to_end, doc) to_end,
        TSMITH_EDGE_TABLE(TO)
#undef TO
    };
    uint64_t found[TSMITH_EDGE_LIMIT] = {0};
    for (uint32_t node = 0; node < built->command_count + built->call_count; node++) {
        uint32_t count;
        const tsmith_edge *edges = tsmith_graph_predecessors(built->graph, node, &count);
        for (uint32_t i = 0; i < count; i++) {
            assert_true(time_of(built, edges[i].from, FROM_END[edges[i].kind]) <=
                        time_of(built, node, TO_END[edges[i].kind]));
            found[edges[i].kind]++;
        }
    }
    for (int kind = 0; kind < TSMITH_EDGE_LIMIT; kind++)
        assert_int_equal(found[kind], tsmith_graph_edge_count(built->graph, (tsmith_edge_kind)kind));
}

// Among the commands of an in-order queue that began before this one, the latest end that is not after its start.
static void check_stream_order(const struct built *built, uint32_t at) {
    const tsmith_command *command = &built->commands[at];
    const tsmith_row *row = &built->rows[command->row];
    int64_t latest = INT64_MIN, found = INT64_MIN;
    for (uint32_t i = row->first_command; i < at && row->in_order; i++)
        if (built->commands[i].end <= command->start && built->commands[i].end > latest)
            latest = built->commands[i].end;
    uint32_t count;
    const tsmith_edge *edges = tsmith_graph_predecessors(built->graph, at, &count);
    for (uint32_t i = 0; i < count; i++)
        if (edges[i].kind == TSMITH_EDGE_STREAM_ORDER || edges[i].kind == TSMITH_EDGE_GRAPH_NODE) {
            assert_true(edges[i].from >= row->first_command && edges[i].from < at);
            found = time_of(built, edges[i].from, true);
        }
    assert_int_equal(found, latest);
}

static void random_graphs_fit_their_definitions(void **state) {
    (void)state;
    struct random random = {21};
    for (int round = 0; round < 80; round++) {
        struct made_trace trace;
        random_trace(&trace, &random, 1 + random_below(&random, 80));
        struct built built = build(&trace);
        check_direction(&built);
        uint64_t launches = 0, late = 0, waits = 0, late_waits = 0;
        for (uint32_t i = 0; i < built.command_count; i++) {
            const tsmith_command *command = &built.commands[i];
            check_stream_order(&built, i);
            if (command->call != TSMITH_INDEX_NONE) {
                bool launched = built.calls[command->call].start <= command->start;
                assert_int_equal(
                    has_edge(&built, TSMITH_EDGE_LAUNCH, (uint32_t)built.command_count + command->call, i),
                    launched);
                launches += launched;
                late += !launched;
            }
            size_t wait_count;
            const uint32_t *wait_list = tsmith_command_waits(built.timeline, command, &wait_count);
            for (size_t k = 0; k < wait_count; k++) {
                uint32_t from = wait_list[k];
                bool possible = built.commands[from].end <= command->start;
                assert_int_equal(has_edge(&built, TSMITH_EDGE_EVENT_WAIT, from, i), possible);
                waits += possible;
                late_waits += !possible;
            }
        }
        assert_int_equal(tsmith_graph_edge_count(built.graph, TSMITH_EDGE_LAUNCH), launches);
        assert_int_equal(tsmith_graph_contradicted(built.graph, TSMITH_EDGE_LAUNCH), late);
        assert_int_equal(tsmith_graph_edge_count(built.graph, TSMITH_EDGE_EVENT_WAIT), waits);
        assert_int_equal(tsmith_graph_contradicted(built.graph, TSMITH_EDGE_EVENT_WAIT), late_waits);
        destroy(&built);
        made_trace_finish(&trace);
    }
}

struct place {
    struct made_trace trace;
    uint32_t thread, queue, other;
};

static struct place begin(uint16_t flags) {
    struct place place;
    made_trace_init(&place.trace);
    uint32_t process = made_process(&place.trace, 1), device = made_device(&place.trace, "device");
    place.thread = made_track(&place.trace, TSMITH_TRACK_THREAD, process, 0, 0, "main");
    place.queue = made_track(&place.trace, TSMITH_TRACK_QUEUE, process, device, flags, "queue");
    place.other = made_track(&place.trace, TSMITH_TRACK_QUEUE, process, device, flags, "other");
    return place;
}

static void calls_are_in_program_order_and_nest(void **state) {
    (void)state;
    struct place place = begin(0);
    static const int64_t CALLS[][2] = {{0, 10}, {2, 3}, {6, 2}, {20, 5}, {25, 5}, {27, 10}};
    for (uint64_t i = 0; i < 6; i++)
        made_event(&place.trace, TSMITH_KIND_API, place.thread, CALLS[i][0], CALLS[i][1])->correlation =
            i + 1;
    struct built built = build(&place.trace);
    uint32_t n[7] = {0};
    for (uint64_t i = 1; i < 7; i++)
        n[i] = node_of(&built, i, true);
    assert_true(has_edge(&built, TSMITH_EDGE_CALLED, n[1], n[2]));        // 2..5 inside 0..10
    assert_true(has_edge(&built, TSMITH_EDGE_PROGRAM_ORDER, n[2], n[3])); // 6..8 after it
    assert_true(has_edge(&built, TSMITH_EDGE_RETURNED, n[3], n[1]));
    assert_true(has_edge(&built, TSMITH_EDGE_PROGRAM_ORDER, n[1], n[4]));
    assert_true(has_edge(&built, TSMITH_EDGE_PROGRAM_ORDER, n[4], n[5])); // they touch
    assert_true(has_edge(&built, TSMITH_EDGE_CALLED, n[5], n[6]));        // 27..37 overlaps 25..30
    assert_int_equal(tsmith_graph_edge_count(built.graph, TSMITH_EDGE_RETURNED), 1);
    destroy(&built);
    made_trace_finish(&place.trace);
}

static struct made_event *sync(struct place *place, tsmith_operation operation, int64_t start,
                               int64_t duration, uint64_t correlation) {
    struct made_event *event = made_event(&place->trace, TSMITH_KIND_SYNC, place->thread, start, duration);
    event->operation = (uint8_t)operation;
    event->correlation = correlation;
    return event;
}

static void a_wait_returns_after_what_it_waited_for(void **state) {
    (void)state;
    struct place place = begin(0);
    made_launch(&place.trace, place.thread, place.queue, 1, 0, 2, 10, 40);
    made_launch(&place.trace, place.thread, place.other, 2, 4, 2, 10, 70);
    sync(&place, TSMITH_OPERATION_FINISH, 8, 44, 100)->queue_track = place.queue;
    sync(&place, TSMITH_OPERATION_DEVICE_SYNC, 60, 25, 101);
    made_launch(&place.trace, place.thread, place.queue, 3, 90, 2, 95, 10);
    struct made_event *wait = sync(&place, TSMITH_OPERATION_WAIT, 94, 15, 102);
    wait->waits[wait->wait_count++] = 3;
    made_launch(&place.trace, place.thread, place.queue, 4, 112, 20, 115, 10);
    place.trace.events[place.trace.count - 2].blocking = true;
    struct built built = build(&place.trace);
    assert_true(
        has_edge(&built, TSMITH_EDGE_SYNC_RETURN, node_of(&built, 1, false), node_of(&built, 100, true)));
    assert_true(
        has_edge(&built, TSMITH_EDGE_SYNC_RETURN, node_of(&built, 2, false), node_of(&built, 101, true)));
    assert_true(
        has_edge(&built, TSMITH_EDGE_SYNC_RETURN, node_of(&built, 3, false), node_of(&built, 102, true)));
    assert_true(
        has_edge(&built, TSMITH_EDGE_SYNC_RETURN, node_of(&built, 4, false), node_of(&built, 4, true)));
    assert_int_equal(tsmith_graph_edge_count(built.graph, TSMITH_EDGE_SYNC_RETURN), 4);
    assert_true(
        has_edge(&built, TSMITH_EDGE_STREAM_ORDER, node_of(&built, 1, false), node_of(&built, 3, false)));
    destroy(&built);
    made_trace_finish(&place.trace);
}

static void a_barrier_orders_an_out_of_order_queue(void **state) {
    (void)state;
    struct place place = begin(TSMITH_TRACK_OUT_OF_ORDER);
    made_launch(&place.trace, place.thread, place.queue, 1, 0, 1, 10, 30);
    made_launch(&place.trace, place.thread, place.queue, 2, 2, 1, 10, 50);
    struct made_event *barrier = made_event(&place.trace, TSMITH_KIND_SYNC, place.queue, 60, 0);
    barrier->operation = TSMITH_OPERATION_BARRIER;
    barrier->correlation = 3;
    barrier->queued = 4;
    made_launch(&place.trace, place.thread, place.queue, 4, 6, 1, 65, 10);
    struct built built = build(&place.trace);
    uint32_t node = node_of(&built, 3, false);
    assert_true(has_edge(&built, TSMITH_EDGE_BARRIER, node_of(&built, 2, false), node)); // ends last
    assert_true(has_edge(&built, TSMITH_EDGE_BARRIER, node, node_of(&built, 4, false)));
    assert_int_equal(tsmith_graph_edge_count(built.graph, TSMITH_EDGE_BARRIER), 2);
    assert_int_equal(tsmith_graph_edge_count(built.graph, TSMITH_EDGE_STREAM_ORDER), 0);
    destroy(&built);
    made_trace_finish(&place.trace);
}

// Two queues take turns on a device: `launched_early` times a command was in its queue before the other's ended.
static uint64_t resource_edges(int launched_early, bool at_once) {
    struct place place = begin(0);
    for (int i = 0; i < 6; i++) {
        bool early = i > 0 && i <= launched_early;
        made_launch(&place.trace, place.thread, i % 2 ? place.other : place.queue, (uint64_t)i + 1,
                    i * 100 - (early ? 50 : 0), 1, i * 100, 80);
    }
    if (at_once)
        made_launch(&place.trace, place.thread, place.other, 50, 900, 1, 1000, 80);
    if (at_once)
        made_launch(&place.trace, place.thread, place.queue, 51, 902, 1, 1010, 80);
    struct built built = build(&place.trace);
    uint64_t edges = tsmith_graph_edge_count(built.graph, TSMITH_EDGE_RESOURCE);
    destroy(&built);
    made_trace_finish(&place.trace);
    return edges;
}

static void a_resource_needs_evidence(void **state) {
    (void)state;
    assert_int_equal(resource_edges(0, false), 0);
    assert_int_equal(resource_edges(1, false), 0);
    assert_int_equal(resource_edges(3, false), 3);
    assert_int_equal(resource_edges(3, true), 0);
}

// The same with a CUDA default stream (its number is 7 in what CUPTI reports).
static uint64_t default_edges(int launched_early, bool at_once) {
    struct made_trace trace;
    made_trace_init(&trace);
    tsmith_device gpu = {.type = tsmith_dictionary_intern_cstr(trace.dictionary, "gpu")};
    uint32_t process = made_process(&trace, 1), device = tsmith_dictionary_add_device(trace.dictionary, &gpu);
    uint32_t thread = made_track(&trace, TSMITH_TRACK_THREAD, process, 0, 0, "main");
    tsmith_track stream = {.kind = TSMITH_TRACK_QUEUE, .process = process, .device = device, .queue = 7};
    uint32_t seven = tsmith_dictionary_add_track(trace.dictionary, &stream);
    stream.queue = 13;
    uint32_t other = tsmith_dictionary_add_track(trace.dictionary, &stream);
    for (int i = 0; i < 6; i++)
        made_launch(&trace, thread, i % 2 ? other : seven, (uint64_t)i + 1,
                    i * 100 - (i > 0 && i <= launched_early ? 50 : 0), 1, i * 100, 80);
    if (at_once)
        made_launch(&trace, thread, other, 60, 540, 1, 560, 80);
    struct built built = build(&trace);
    uint64_t edges = tsmith_graph_edge_count(built.graph, TSMITH_EDGE_DEFAULT_STREAM);
    assert_int_equal(tsmith_graph_edge_count(built.graph, TSMITH_EDGE_RESOURCE), 0);
    destroy(&built);
    made_trace_finish(&trace);
    return edges;
}

static void the_default_stream_needs_evidence(void **state) {
    (void)state;
    assert_int_equal(default_edges(1, false), 0);
    assert_int_equal(default_edges(4, false), 4);
    // Seven ran 400..480 and runs nothing after 500; 13 ran 500..580 and 560..640: never concurrently with seven.
    assert_int_equal(default_edges(4, true), 4);
}

static void collectives_end_after_their_last_participant_began(void **state) {
    (void)state;
    struct made_trace trace;
    made_trace_init(&trace);
    uint32_t queues[3];
    for (int i = 0; i < 3; i++)
        queues[i] = made_track(&trace, TSMITH_TRACK_QUEUE, 0, made_device(&trace, "GPU"), 0, "stream");
    for (int i = 0; i < 3; i++) {
        struct made_event *first =
            made_event(&trace, TSMITH_KIND_KERNEL, queues[i], 100 + 10 * i, 100 - 10 * i);
        first->name = "ncclDevKernel_AllReduce";
        first->correlation = (uint64_t)i + 1;
        struct made_event *second = made_event(&trace, TSMITH_KIND_KERNEL, queues[i], 300 + 100 * i, 50);
        second->name = "ncclDevKernel_AllReduce"; // these do not overlap: not one collective
    }
    struct built built = build(&trace);
    uint32_t last = node_of(&built, 3, false);
    assert_true(has_edge(&built, TSMITH_EDGE_COLLECTIVE, last, node_of(&built, 1, false)));
    assert_true(has_edge(&built, TSMITH_EDGE_COLLECTIVE, last, node_of(&built, 2, false)));
    assert_int_equal(tsmith_graph_edge_count(built.graph, TSMITH_EDGE_COLLECTIVE), 2);
    destroy(&built);
    made_trace_finish(&trace);
}

static tsmith_status write_to(void *context, const void *bytes, size_t size) {
    return fwrite(bytes, 1, size, context) == size ? TSMITH_OK : TSMITH_ERROR_IO;
}

static void a_drawing_has_the_nodes_of_its_window(void **state) {
    (void)state;
    struct place place = begin(0);
    for (int i = 0; i < 10; i++)
        made_launch(&place.trace, place.thread, place.queue, (uint64_t)i + 1, i * 100, 5, i * 100 + 10, 50);
    place.trace.events[1].name = "a \"quoted\\\" name\nover two lines";
    struct built built = build(&place.trace);
    char *text;
    size_t length;
    FILE *out = open_memstream(&text, &length);
    assert_int_equal(
        tsmith_graph_write_dot(built.graph, place.trace.dictionary, (tsmith_interval){0, 199}, 0, out, NULL),
        TSMITH_OK);
    (void)fclose(out);
    char *given;
    size_t given_length;
    FILE *memory = open_memstream(&given, &given_length);
    const tsmith_output output = {write_to, memory};
    assert_int_equal(tsmith_graph_write_dot_to(built.graph, place.trace.dictionary, (tsmith_interval){0, 199},
                                               0, &output, NULL),
                     TSMITH_OK);
    (void)fclose(memory);
    assert_string_equal(given, text);
    free(given);
    size_t shapes = 0, arrows = 0;
    for (const char *at = text; (at = strstr(at, "[shape=")); at++)
        shapes++;
    for (const char *at = text; (at = strstr(at, " -> ")); at++)
        arrows++;
    assert_int_equal(shapes, 4); // two calls, two kernels
    assert_int_equal(arrows, 4); // two launches, program order, stream order
    assert_non_null(strstr(text, "a \\\"quoted\\\\\\\" name?over two lines"));
    free(text);
    destroy(&built);
    made_trace_finish(&place.trace);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_graphs_fit_their_definitions),
        cmocka_unit_test(calls_are_in_program_order_and_nest),
        cmocka_unit_test(a_wait_returns_after_what_it_waited_for),
        cmocka_unit_test(a_barrier_orders_an_out_of_order_queue),
        cmocka_unit_test(a_resource_needs_evidence),
        cmocka_unit_test(the_default_stream_needs_evidence),
        cmocka_unit_test(collectives_end_after_their_last_participant_began),
        cmocka_unit_test(a_drawing_has_the_nodes_of_its_window),
    };
    return cmocka_run_group_tests_name("graph", tests, NULL, NULL);
}
