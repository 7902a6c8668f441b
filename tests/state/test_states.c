// SPDX-License-Identifier: Apache-2.0
// States nanosecond by nanosecond: the definitions in tracesmith/states.h, applied to every ns of random traces, and
// lives with known answers.
#include "support/random_trace.h"

#include <stdlib.h>
#include <string.h>

#include "state/states.h"

struct built {
    tsmith_timeline *timeline;
    tsmith_graph *graph;
    tsmith_states *states;
    const tsmith_command *commands;
    const tsmith_life *lives;
    const tsmith_row *rows;
    const tsmith_hole *holes;
    tsmith_interval window;
    size_t command_count, row_count, hole_count;
};

static struct built build(const struct made_trace *trace, const tsmith_timeline_options *options) {
    struct built built = {0};
    tsmith_source *source = made_source(trace, 50, (struct random){5});
    assert_int_equal(tsmith_timeline_read(source, options, &built.timeline, NULL), TSMITH_OK);
    tsmith_source_destroy(source);
    assert_int_equal(tsmith_graph_create(built.timeline, trace->dictionary, &built.graph, NULL), TSMITH_OK);
    assert_int_equal(tsmith_states_create(built.timeline, built.graph, &built.states, NULL), TSMITH_OK);
    built.commands = tsmith_timeline_commands(built.timeline, &built.command_count);
    built.lives = tsmith_states_lives(built.states, &built.command_count);
    built.rows = tsmith_timeline_rows(built.timeline, &built.row_count);
    built.holes = tsmith_timeline_holes(built.timeline, &built.hole_count);
    built.window = tsmith_timeline_window(built.timeline);
    return built;
}

// The devices' segments are the same when the rows' are not kept.
static void check_devices_only(const struct built *built) {
    tsmith_states *alone;
    size_t devices, count, other;
    assert_int_equal(states_create(built->timeline, built->graph, true, &alone, NULL), TSMITH_OK);
    (void)tsmith_timeline_devices(built->timeline, &devices);
    for (uint32_t i = 0; i < devices; i++) {
        const tsmith_segment *a = tsmith_states_device(built->states, i, &count),
                             *b = tsmith_states_device(alone, i, &other);
        assert_int_equal(count, other);
        assert_memory_equal(a, b, count * sizeof *a);
    }
    tsmith_states_destroy(alone);
}

static void destroy(struct built *built) {
    tsmith_states_destroy(built->states);
    tsmith_graph_destroy(built->graph);
    tsmith_timeline_destroy(built->timeline);
}

static bool runs(const tsmith_command *command) {
    return command->work != TSMITH_WORK_CONTROL && command->end > command->start;
}

static bool doubtful(const struct built *built, const tsmith_row *row, int64_t at) {
    for (size_t i = 0; i < built->hole_count; i++)
        if ((!built->holes[i].process || built->holes[i].process == row->process) &&
            built->holes[i].from <= at && at < built->holes[i].to)
            return true;
    for (uint32_t i = row->first_command; i < row->first_command + row->command_count; i++) {
        int64_t next = INT64_MAX;
        for (uint32_t k = i + 1; k < row->first_command + row->command_count && next == INT64_MAX; k++)
            if (runs(&built->commands[k]))
                next = built->commands[k].start;
        if ((built->commands[i].untimed ||
             (built->commands[i].end_unknown && built->commands[i].work != TSMITH_WORK_CONTROL)) &&
            built->commands[i].start <= at && at < next)
            return true;
    }
    return false;
}

static tsmith_state waiting_state(const tsmith_life *life, int64_t at) {
    if (at < life->queued)
        return TSMITH_STATE_QUEUED;
    if (at >= life->unblocked)
        return at < life->submitted ? TSMITH_STATE_QUEUED : TSMITH_STATE_PENDING;
    return life->block == TSMITH_BLOCK_COMPILE    ? TSMITH_STATE_COMPILE
           : life->block == TSMITH_BLOCK_RESOURCE ? TSMITH_STATE_WAIT_RESOURCE
                                                  : TSMITH_STATE_WAIT_EVENT;
}

static tsmith_state state_at(const struct built *built, const tsmith_row *row, int64_t at) {
    uint32_t next = UINT32_MAX, earliest = UINT32_MAX;
    bool draining = false;
    for (uint32_t i = row->first_command; i < row->first_command + row->command_count; i++) {
        const tsmith_command *command = &built->commands[i];
        if (!runs(command))
            continue;
        if (command->start <= at && at < command->end)
            return TSMITH_STATE_RUNNING;
        draining |= command->end <= at && at < built->lives[i].completed;
        if (command->start <= at)
            continue;
        next = next == UINT32_MAX ? i : next;
        if (built->lives[i].enqueued != TSMITH_TIME_UNKNOWN &&
            (earliest == UINT32_MAX || built->lives[i].enqueued < built->lives[earliest].enqueued))
            earliest = i;
    }
    if (draining)
        return TSMITH_STATE_DRAINING;
    if (doubtful(built, row, at))
        return TSMITH_STATE_UNKNOWN;
    if (next == UINT32_MAX)
        return TSMITH_STATE_EMPTY;
    if (built->lives[next].enqueued == TSMITH_TIME_UNKNOWN)
        return TSMITH_STATE_UNKNOWN;
    if (built->lives[next].enqueued <= at)
        return waiting_state(&built->lives[next], at);
    return built->lives[earliest].enqueued <= at ? waiting_state(&built->lives[earliest], at)
                                                 : TSMITH_STATE_EMPTY;
}

// The state of a partition at a time; checks that it is one: from edge to edge, without gaps.
static const tsmith_segment *walk(const tsmith_segment *segments, size_t count, tsmith_interval window) {
    assert_true(count > 0);
    assert_int_equal(segments[0].from, window.from);
    assert_int_equal(segments[count - 1].to, window.to);
    for (size_t i = 0; i < count; i++) {
        assert_true(segments[i].from < segments[i].to);
        if (i)
            assert_int_equal(segments[i].from, segments[i - 1].to);
        if (i && segments[i].state == segments[i - 1].state)
            assert_int_not_equal(segments[i].command, segments[i - 1].command);
    }
    int64_t totals[TSMITH_STATE_LIMIT], sum = 0;
    tsmith_states_totals(segments, count, totals);
    for (int i = 0; i < TSMITH_STATE_LIMIT; i++)
        sum += totals[i];
    assert_int_equal(sum, window.to - window.from);
    return segments;
}

static void check_rows(const struct built *built) {
    size_t count, devices;
    const tsmith_row *device = tsmith_timeline_devices(built->timeline, &devices);
    for (uint32_t r = 0; r < built->row_count; r++) {
        const tsmith_segment *segments = tsmith_states_row(built->states, r, &count);
        walk(segments, count, built->window);
        for (int64_t at = built->window.from; at < built->window.to; at++) {
            segments += at >= segments->to;
            assert_int_equal(segments->state, state_at(built, &built->rows[r], at));
        }
    }
    for (uint32_t d = 0; d < devices; d++) {
        const tsmith_segment *segments = tsmith_states_device(built->states, d, &count);
        walk(segments, count, built->window);
        for (int64_t at = built->window.from; at < built->window.to; at++) {
            tsmith_state least =
                TSMITH_STATE_EMPTY; // no command here waits for the host: the order is that of the numbers
            for (uint32_t r = device[d].first_row; r < device[d].first_row + device[d].row_count; r++) {
                tsmith_state state = state_at(built, &built->rows[r], at);
                least = state < least ? state : least;
            }
            segments += at >= segments->to;
            assert_int_equal(segments->state, least);
        }
    }
}

static void check_lives(const struct built *built) {
    for (uint32_t i = 0; i < built->command_count; i++) {
        const tsmith_life *life = &built->lives[i];
        const tsmith_command *command = &built->commands[i];
        assert_true(life->completed >= command->end);
        if (life->observed != TSMITH_TIME_UNKNOWN)
            assert_true(life->observed >= command->end);
        if (life->enqueued == TSMITH_TIME_UNKNOWN) {
            assert_int_equal(command->call, TSMITH_INDEX_NONE);
            size_t timed;
            const tsmith_command_times *times = tsmith_timeline_times(built->timeline, &timed);
            assert_true(!times || times[i].queued == TSMITH_TIME_UNKNOWN);
            continue;
        }
        assert_true(life->enqueued <= life->queued && life->queued <= life->submitted);
        assert_true(life->submitted <= command->start);
        assert_true(life->queued <= life->unblocked && life->unblocked <= command->start);
        // The blocker is what ended last of everything it had to wait for, if that was after it was queued.
        int64_t last = life->queued;
        uint32_t count;
        const tsmith_edge *edges = tsmith_graph_predecessors(built->graph, i, &count);
        for (uint32_t k = 0; k < count; k++)
            if (edges[k].kind != TSMITH_EDGE_LAUNCH && edges[k].kind != TSMITH_EDGE_COLLECTIVE &&
                built->commands[edges[k].from].end > last)
                last = built->commands[edges[k].from].end;
        assert_int_equal(life->unblocked, last);
        assert_int_equal(life->block == TSMITH_BLOCK_NONE, last == life->queued);
    }
}

static void random_states_fit_their_definitions(void **state) {
    (void)state;
    struct random random = {33};
    for (int round = 0; round < 80; round++) {
        struct made_trace trace;
        random_trace(&trace, &random, 1 + random_below(&random, 50));
        if (round % 4 == 1) { // a hole, and commands without times
            uint32_t ledger =
                made_track(&trace, TSMITH_TRACK_LOSS, (uint32_t)random_below(&random, 3), 0, 0, "loss");
            made_event(&trace, TSMITH_KIND_LOSS, ledger, (int64_t)random_below(&random, 150), 30)->lost = 7;
            made_event(&trace, TSMITH_KIND_LOSS, ledger, (int64_t)random_below(&random, 150), 20)->lost = 1;
            struct made_event *untimed = made_event(&trace, TSMITH_KIND_KERNEL, trace.events[0].track,
                                                    (int64_t)random_below(&random, 100), -1);
            untimed->track = tsmith_dictionary_track_count(trace.dictionary) - 2;
            untimed->untimed = true;
        }
        tsmith_timeline_options options = {
            .size = sizeof options, .has_window = round % 3 == 0, .from = 30, .to = 140};
        struct built built = build(&trace, &options);
        check_lives(&built);
        check_rows(&built);
        check_devices_only(&built);
        destroy(&built);
        made_trace_finish(&trace);
    }
}

static int64_t total(const struct built *built, uint32_t row, tsmith_state state) {
    size_t count;
    int64_t totals[TSMITH_STATE_LIMIT];
    const tsmith_segment *segments = tsmith_states_row(built->states, row, &count);
    tsmith_states_totals(segments, count, totals);
    return totals[state];
}

static const tsmith_life *life_of(const struct built *built, uint64_t correlation) {
    for (size_t i = 0; i < built->command_count; i++)
        if (built->commands[i].correlation == correlation && built->commands[i].kind != TSMITH_KIND_COMPILE)
            return &built->lives[i];
    fail();
    return NULL;
}

// One OpenCL queue by hand: a compilation, a drained completion, a wait for another queue, the host waiting.
static void a_queue_by_hand(void **state) {
    (void)state;
    struct made_trace trace;
    made_trace_init(&trace);
    uint32_t process = made_process(&trace, 1), device = made_device(&trace, "device");
    uint32_t thread = made_track(&trace, TSMITH_TRACK_THREAD, process, 0, 0, "main");
    uint32_t queue = made_track(&trace, TSMITH_TRACK_QUEUE, process, device, 0, "queue");
    uint32_t other = made_track(&trace, TSMITH_TRACK_QUEUE, process, device, 0, "other");
    made_event(&trace, TSMITH_KIND_MARKER, thread, 0, -1);
    made_launch(&trace, thread, queue, 1, 10, 5, 100, 50); // runs 100..150
    struct made_event *command = &trace.events[trace.count - 1];
    command->queued = 12;
    command->submitted = 20;
    command->completed = 155;
    struct made_event *compile = made_event(&trace, TSMITH_KIND_COMPILE, queue, 20, 70); // 20..90
    compile->operation = TSMITH_OPERATION_FIRST_LAUNCH;
    compile->correlation = 1;
    made_launch(&trace, thread, other, 2, 160, 5, 180, 100); // runs 180..280
    made_launch(&trace, thread, queue, 3, 170, 5, 290, 10);  // waits for it
    command = &trace.events[trace.count - 1];
    command->waits[command->wait_count++] = 2;
    struct made_event *sync = made_event(&trace, TSMITH_KIND_SYNC, thread, 200, 110); // to 310
    sync->operation = TSMITH_OPERATION_FINISH;
    sync->queue_track = queue;
    made_event(&trace, TSMITH_KIND_MARKER, thread, 400, -1);
    struct built built = build(&trace, NULL);
    assert_int_equal(total(&built, 0, TSMITH_STATE_EMPTY), 10 + (170 - 155) + (400 - 300));
    assert_int_equal(total(&built, 0, TSMITH_STATE_QUEUED), (12 - 10) + (175 - 170));
    assert_int_equal(total(&built, 0, TSMITH_STATE_COMPILE), 90 - 12);
    assert_int_equal(total(&built, 0, TSMITH_STATE_PENDING), (100 - 90) + (290 - 280));
    assert_int_equal(total(&built, 0, TSMITH_STATE_RUNNING), 50 + 10);
    assert_int_equal(total(&built, 0, TSMITH_STATE_DRAINING), 5);
    assert_int_equal(total(&built, 0, TSMITH_STATE_WAIT_EVENT), 280 - 175);
    assert_int_equal(life_of(&built, 1)->observed, 310);
    assert_int_equal(life_of(&built, 3)->observed, 310);
    assert_int_equal(life_of(&built, 2)->observed, TSMITH_TIME_UNKNOWN);
    assert_int_equal(life_of(&built, 1)->block, TSMITH_BLOCK_COMPILE);
    assert_int_equal(life_of(&built, 3)->block, TSMITH_BLOCK_EVENT);
    assert_int_equal(built.commands[life_of(&built, 3)->blocker].correlation, 2);
    destroy(&built);
    made_trace_finish(&trace);
}

// A command of another thread's queue waits for a user event: until it is set the host holds the command back, and the call
// that sets it lets it go.
static void a_command_waits_for_the_host(void **state) {
    (void)state;
    struct made_trace trace;
    made_trace_init(&trace);
    uint32_t process = made_process(&trace, 1), device = made_device(&trace, "device");
    uint32_t thread = made_track(&trace, TSMITH_TRACK_THREAD, process, 0, 0, "main");
    uint32_t setter = made_track(&trace, TSMITH_TRACK_THREAD, process, 0, 0, "setter");
    uint32_t queue = made_track(&trace, TSMITH_TRACK_QUEUE, process, device, 0, "queue");
    const char *const names[] = {"clCreateUserEvent", "clSetUserEventStatus", "clSetUserEventStatus"};
    const int64_t starts[] = {0, 5000, 6000};
    for (size_t i = 0; i < 3; i++) { // the second set fails: the event is set already
        struct made_event *call = made_event(&trace, TSMITH_KIND_API, i ? setter : thread, starts[i], 10);
        call->name = names[i];
        call->correlation = 7;
    }
    made_launch(&trace, thread, queue, 8, 20, 30, 5100, 100); // runs 5100..5200
    struct made_event *command = &trace.events[trace.count - 1];
    command->queued = 40;
    command->submitted = 5080;
    command->waits[command->wait_count++] = 7;
    struct built built = build(&trace, NULL);
    assert_int_equal(life_of(&built, 8)->block, TSMITH_BLOCK_HOST);
    assert_int_equal(life_of(&built, 8)->blocker, TSMITH_INDEX_NONE);
    assert_int_equal(life_of(&built, 8)->unblocked, 5000);
    assert_int_equal(total(&built, 0, TSMITH_STATE_WAIT_HOST), 5000 - 40);
    assert_int_equal(total(&built, 0, TSMITH_STATE_QUEUED), (40 - 20) + (5080 - 5000));
    assert_int_equal(total(&built, 0, TSMITH_STATE_PENDING), 5100 - 5080);
    uint32_t count;
    const tsmith_edge *edges = tsmith_graph_predecessors(built.graph, 0, &count);
    assert_int_equal(count, 2); // its launch, and the first call that sets the event
    assert_true(edges[0].kind == TSMITH_EDGE_LAUNCH && edges[1].kind == TSMITH_EDGE_LAUNCH);
    destroy(&built);
    made_trace_finish(&trace);
}

// Waits as CUPTI reports them: records on the queue's side that name the queue and the recording call.
static void a_stream_waits_for_an_event(void **state) {
    (void)state;
    struct made_trace trace;
    made_trace_init(&trace);
    uint32_t process = made_process(&trace, 1), device = made_device(&trace, "GPU 0");
    uint32_t thread = made_track(&trace, TSMITH_TRACK_THREAD, process, 0, 0, "main");
    tsmith_track stream = {.kind = TSMITH_TRACK_QUEUE, .process = process, .device = device, .queue = 20};
    uint32_t from = tsmith_dictionary_add_track(trace.dictionary, &stream);
    stream.queue = 24;
    uint32_t to = tsmith_dictionary_add_track(trace.dictionary, &stream);
    made_launch(&trace, thread, from, 1, 0, 5, 10, 90);
    struct made_event *record = made_event(&trace, TSMITH_KIND_API, thread, 8, 2);
    record->name = "cudaEventRecord";
    record->correlation = 2;
    struct made_event *wait = made_event(&trace, TSMITH_KIND_API, thread, 12, 2);
    wait->name = "cudaStreamWaitEvent";
    wait->correlation = 3;
    made_launch(&trace, thread, to, 4, 20, 5, 110, 10);
    // The fields an importer makes of CUPTI's: the record's number and the stream it was made in.
    uint32_t number =
        tsmith_dictionary_field(trace.dictionary, "wait_on_cuda_event_record_corr_id", TSMITH_TYPE_I64, "");
    uint32_t on = tsmith_dictionary_field(trace.dictionary, "wait_on_stream", TSMITH_TYPE_I64, "");
    tsmith_timeline *timeline;
    tsmith_batch *batch;
    const tsmith_batch *next;
    assert_int_equal(tsmith_timeline_create(NULL, &timeline), TSMITH_OK);
    assert_int_equal(tsmith_batch_create(&batch), TSMITH_OK);
    tsmith_batch_reset(batch, to);
    (void)tsmith_batch_append(batch, TSMITH_KIND_SYNC, 13);
    assert_int_equal(tsmith_batch_set(batch, TSMITH_FIELD_CORRELATION, 3), TSMITH_OK);
    assert_int_equal(tsmith_batch_set_dynamic(batch, number, TSMITH_TYPE_I64, 2), TSMITH_OK);
    assert_int_equal(tsmith_batch_set_dynamic(batch, on, TSMITH_TYPE_I64, 20), TSMITH_OK);
    assert_int_equal(tsmith_batch_finish(batch), TSMITH_OK);
    assert_int_equal(tsmith_timeline_add(timeline, trace.dictionary, batch, NULL), TSMITH_OK);
    tsmith_source *source = made_source(&trace, 50, (struct random){5});
    while (tsmith_source_next(source, &next, NULL) == TSMITH_OK)
        assert_int_equal(tsmith_timeline_add(timeline, trace.dictionary, next, NULL), TSMITH_OK);
    assert_int_equal(tsmith_timeline_finish(timeline, trace.dictionary, NULL), TSMITH_OK);
    tsmith_graph *graph;
    assert_int_equal(tsmith_graph_create(timeline, trace.dictionary, &graph, NULL), TSMITH_OK);
    uint32_t count;
    const tsmith_edge *edges = tsmith_graph_predecessors(graph, 1, &count);
    assert_int_equal(tsmith_graph_edge_count(graph, TSMITH_EDGE_EVENT_WAIT), 1);
    assert_true(count == 2 && edges[1].kind == TSMITH_EDGE_EVENT_WAIT && edges[1].from == 0);
    tsmith_graph_destroy(graph);
    tsmith_timeline_destroy(timeline);
    tsmith_source_destroy(source);
    tsmith_batch_destroy(batch);
    made_trace_finish(&trace);
}

// Launched long ago and free to run for 5 ms: no launch takes that long, so what it waited for is unknown.
static void a_long_wait_without_a_reason_is_unknown(void **state) {
    (void)state;
    struct made_trace trace;
    made_trace_init(&trace);
    uint32_t process = made_process(&trace, 1), device = made_device(&trace, "device");
    uint32_t thread = made_track(&trace, TSMITH_TRACK_THREAD, process, 0, 0, "main");
    uint32_t queue = made_track(&trace, TSMITH_TRACK_QUEUE, process, device, 0, "queue");
    for (int i = 0; i < 5; i++) // median 10 us after the call returned
        made_launch(&trace, thread, queue, (uint64_t)i + 1, i * 100000, 5000, i * 100000 + 15000, 20000);
    made_launch(&trace, thread, queue, 9, 500000, 5000, 505000 + 90000, 1000); // 90 us: still launching
    made_launch(&trace, thread, queue, 10, 700000, 5000, 705000 + 5000000, 1000);
    struct built built = build(&trace, NULL);
    assert_int_equal(total(&built, 0, TSMITH_STATE_UNKNOWN), 5000000 - 10000);
    assert_int_equal(total(&built, 0, TSMITH_STATE_PENDING), 5 * 10000 + 90000 + 10000);
    destroy(&built);
    made_trace_finish(&trace);
}

static void every_state_has_a_coarse_one(void **state) {
    (void)state;
    assert_string_equal(tsmith_coarse_name(tsmith_state_coarse(TSMITH_STATE_EMPTY)), "idle");
    assert_string_equal(tsmith_coarse_name(tsmith_state_coarse(TSMITH_STATE_PENDING)), "queued");
    assert_string_equal(tsmith_coarse_name(tsmith_state_coarse(TSMITH_STATE_WAIT_EVENT)), "waiting");
    assert_string_equal(tsmith_coarse_name(tsmith_state_coarse(TSMITH_STATE_DRAINING)), "complete");
    assert_string_equal(tsmith_state_name((tsmith_state)99), "?");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_states_fit_their_definitions),
        cmocka_unit_test(a_queue_by_hand),
        cmocka_unit_test(a_command_waits_for_the_host),
        cmocka_unit_test(a_stream_waits_for_an_event),
        cmocka_unit_test(a_long_wait_without_a_reason_is_unknown),
        cmocka_unit_test(every_state_has_a_coarse_one),
    };
    return cmocka_run_group_tests_name("states", tests, NULL, NULL);
}
