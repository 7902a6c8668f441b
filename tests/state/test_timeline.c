// SPDX-License-Identifier: Apache-2.0
// Timelines against their definitions, nanosecond by nanosecond on random traces, and against known answers.
#include "support/random_trace.h"

#include <stdlib.h>
#include <string.h>

#include "tracesmith/timeline.h"

static tsmith_timeline *read_trace(const struct made_trace *trace, uint32_t batch_rows, uint64_t seed,
                                   const tsmith_timeline_options *options) {
    tsmith_source *source = made_source(trace, batch_rows, (struct random){seed});
    tsmith_timeline *timeline = NULL;
    assert_int_equal(tsmith_timeline_read(source, options, &timeline, NULL), TSMITH_OK);
    tsmith_source_destroy(source);
    return timeline;
}

static bool runs(const struct made_event *event) {
    return event->kind == TSMITH_KIND_KERNEL || event->kind == TSMITH_KIND_MEMCPY ||
           event->kind == TSMITH_KIND_COLLECTIVE;
}

// How many commands of a track (or of a device's tracks) run in [at, at + 1).
static uint32_t depth_at(const struct made_trace *trace, uint32_t track, uint32_t device, int64_t at,
                         uint8_t kind) {
    uint32_t depth = 0;
    for (size_t i = 0; i < trace->count; i++) {
        const struct made_event *event = &trace->events[i];
        bool here = track ? event->track == track
                          : tsmith_dictionary_track(trace->dictionary, event->track)->device == device;
        depth += here && runs(event) && (!kind || event->kind == kind) && event->start <= at &&
                 at < event->start + event->duration;
    }
    return depth;
}

static void check_row(const struct made_trace *trace, const tsmith_timeline *timeline,
                      const tsmith_row *row) {
    tsmith_interval window = tsmith_timeline_window(timeline), *busy;
    int64_t *concurrency, expected_busy = 0, expected_total = 0, copies = 0;
    uint32_t deepest = 0, gaps = 0;
    size_t depths, busy_count;
    assert_int_equal(tsmith_timeline_concurrency(timeline, row, &concurrency, &depths), TSMITH_OK);
    int64_t *expected = calloc(trace->count + 1, sizeof *expected);
    assert_non_null(expected);
    bool ran = false, was_running = false;
    for (int64_t at = window.from; at < window.to; at++) {
        uint32_t depth = depth_at(trace, row->track, row->dictionary_device, at, 0);
        expected[depth]++;
        expected_busy += depth > 0;
        expected_total += depth;
        copies += depth_at(trace, row->track, row->dictionary_device, at, TSMITH_KIND_MEMCPY) > 0;
        deepest = depth > deepest ? depth : deepest;
        gaps += depth && ran && !was_running;
        ran |= depth > 0;
        was_running = depth > 0;
    }
    assert_int_equal(row->busy, expected_busy);
    assert_int_equal(row->total, expected_total);
    assert_int_equal(row->depth_max, deepest);
    assert_int_equal(row->works >> TSMITH_WORK_COPY & 1, copies > 0);
    assert_int_equal(row->gap_count, gaps);
    assert_int_equal(depths, deepest + 1);
    assert_memory_equal(concurrency, expected, depths * sizeof *expected);
    assert_int_equal(tsmith_timeline_busy(timeline, row, 1u << TSMITH_WORK_COPY, &busy, &busy_count),
                     TSMITH_OK);
    for (size_t i = 0; i < busy_count; i++) {
        copies -= busy[i].to - busy[i].from;
        assert_true(i == 0 || busy[i - 1].to < busy[i].from);
    }
    assert_int_equal(copies, 0);
    tsmith_free(busy);
    free(expected);
    tsmith_free(concurrency);
}

// The only call of the command's process with its number.
static const struct made_event *call_of(const struct made_trace *trace, const struct made_event *command) {
    for (size_t i = 0; i < trace->count; i++)
        if (trace->events[i].kind == TSMITH_KIND_API && trace->events[i].correlation == command->correlation)
            return &trace->events[i];
    return NULL;
}

static void check_commands(const struct made_trace *trace, const tsmith_timeline *timeline) {
    size_t count, call_count, row_count, seen = 0;
    const tsmith_command *commands = tsmith_timeline_commands(timeline, &count);
    const tsmith_call *calls = tsmith_timeline_calls(timeline, &call_count);
    const tsmith_row *rows = tsmith_timeline_rows(timeline, &row_count);
    for (size_t i = 0; i < trace->count; i++) {
        const struct made_event *event = &trace->events[i];
        if (event->kind == TSMITH_KIND_API)
            continue;
        size_t at = 0;
        while (at < count && commands[at].correlation != event->correlation)
            at++;
        assert_true(at < count);
        seen++;
        const tsmith_command *command = &commands[at];
        const struct made_event *call = call_of(trace, event);
        assert_int_equal(rows[command->row].track, event->track);
        assert_int_equal(command->start, event->start);
        assert_int_equal(command->end, event->start + event->duration);
        assert_int_equal(command->call == TSMITH_INDEX_NONE, call == NULL);
        if (call)
            assert_int_equal(calls[command->call].start, call->start);
        uint32_t there = 0; // commands waited for that are of the same process
        for (uint32_t k = 0; k < event->wait_count; k++) {
            for (size_t m = 0; m < count; m++)
                there += commands[m].correlation == event->waits[k] &&
                         rows[commands[m].row].process == rows[command->row].process;
        }
        size_t wait_count;
        const uint32_t *waits = tsmith_command_waits(timeline, command, &wait_count);
        assert_int_equal(wait_count, there);
        for (size_t k = 0; k < wait_count; k++)
            assert_int_not_equal(commands[waits[k]].correlation, command->correlation);
        assert_int_equal(tsmith_command_bytes(timeline, command), event->bytes);
    }
    assert_int_equal(seen, count);
}

static void random_traces_fit_their_definitions(void **state) {
    (void)state;
    struct random random = {7};
    for (int round = 0; round < 60; round++) {
        struct made_trace trace;
        random_trace(&trace, &random, 1 + random_below(&random, 60));
        tsmith_timeline_options options = {
            .size = sizeof options, .has_window = round % 3 == 0, .from = 20, .to = 120};
        tsmith_timeline *timeline = read_trace(&trace, 1 + (uint32_t)random_below(&random, 9), 3, &options);
        size_t count;
        const tsmith_row *rows = tsmith_timeline_rows(timeline, &count);
        for (size_t i = 0; i < count; i++)
            check_row(&trace, timeline, &rows[i]);
        rows = tsmith_timeline_devices(timeline, &count);
        for (size_t i = 0; i < count; i++)
            check_row(&trace, timeline, &rows[i]);
        check_commands(&trace, timeline);
        tsmith_timeline_destroy(timeline);
        made_trace_finish(&trace);
    }
}

static void the_order_of_batches_does_not_matter(void **state) {
    (void)state;
    struct random random = {11};
    struct made_trace trace;
    random_trace(&trace, &random, 300);
    tsmith_timeline *one = read_trace(&trace, 1000, 1, NULL), *other = read_trace(&trace, 3, 99, NULL);
    size_t count, other_count;
    const tsmith_command *commands = tsmith_timeline_commands(one, &count);
    const tsmith_command *others = tsmith_timeline_commands(other, &other_count);
    assert_int_equal(count, other_count);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(commands[i].correlation, others[i].correlation);
        assert_int_equal(commands[i].call, others[i].call);
        assert_int_equal(commands[i].row, others[i].row);
    }
    const tsmith_row *rows = tsmith_timeline_rows(one, &count),
                     *other_rows = tsmith_timeline_rows(other, &other_count);
    assert_int_equal(count, other_count);
    assert_memory_equal(rows, other_rows, count * sizeof *rows);
    tsmith_timeline_destroy(one);
    tsmith_timeline_destroy(other);
    made_trace_finish(&trace);
}

// Kineto's form: the streams are processes of their own.
static void a_number_that_only_one_process_has_pairs(void **state) {
    (void)state;
    struct made_trace trace;
    made_trace_init(&trace);
    uint32_t host = made_process(&trace, 4711), other = made_process(&trace, 4712),
             gpu = made_process(&trace, 0);
    uint32_t device = made_device(&trace, "GPU 0");
    uint32_t thread = made_track(&trace, TSMITH_TRACK_THREAD, host, 0, 0, "python");
    uint32_t other_thread = made_track(&trace, TSMITH_TRACK_THREAD, other, 0, 0, "other");
    uint32_t stream = made_track(&trace, TSMITH_TRACK_QUEUE, gpu, device, 0, "stream 7");
    made_launch(&trace, thread, stream, 5, 100, 10, 120, 50);
    made_launch(&trace, thread, stream, 6, 130, 10, 180, 50);
    made_event(&trace, TSMITH_KIND_API, other_thread, 10, 10)->correlation = 6; // now 6 is ambiguous
    tsmith_timeline *timeline = read_trace(&trace, 10, 1, NULL);
    size_t count, rows;
    const tsmith_command *commands = tsmith_timeline_commands(timeline, &count);
    assert_int_equal(count, 2);
    assert_int_not_equal(commands[0].call, TSMITH_INDEX_NONE);
    assert_int_equal(tsmith_timeline_rows(timeline, &rows)->process, host);
    // The first pairing determined the queue's process, so 6 is that process's.
    assert_int_not_equal(commands[1].call, TSMITH_INDEX_NONE);
    assert_int_equal(tsmith_timeline_calls(timeline, &count)[commands[1].call].start, 130);
    tsmith_timeline_destroy(timeline);
    made_trace_finish(&trace);
}

static void a_wait_and_its_call_are_one(void **state) {
    (void)state;
    struct made_trace trace;
    made_trace_init(&trace);
    uint32_t process = made_process(&trace, 1), device = made_device(&trace, "d");
    uint32_t thread = made_track(&trace, TSMITH_TRACK_THREAD, process, 0, 0, "main");
    uint32_t queue = made_track(&trace, TSMITH_TRACK_QUEUE, process, device, 0, "queue");
    made_launch(&trace, thread, queue, 1, 0, 5, 20, 30);
    made_event(&trace, TSMITH_KIND_API, thread, 10, 42)->name = "clFinish";
    struct made_event *sync = made_event(&trace, TSMITH_KIND_SYNC, thread, 10, 42);
    sync->operation = TSMITH_OPERATION_FINISH;
    sync->queue_track = queue;
    tsmith_timeline *timeline = read_trace(&trace, 2, 5, NULL);
    size_t count;
    const tsmith_call *calls = tsmith_timeline_calls(timeline, &count);
    assert_int_equal(count, 2);
    assert_int_equal(calls[0].role, TSMITH_CALL_LAUNCH);
    assert_int_equal(calls[0].command_count, 1);
    assert_int_equal(calls[1].role, TSMITH_CALL_SYNC_QUEUE);
    assert_int_equal(calls[1].row, 0);
    tsmith_timeline_destroy(timeline);
    made_trace_finish(&trace);
}

// CUPTI's record of a wait is inside its call and has its number: one wait. For a call that only polls, it is none.
static void a_record_within_a_call_is_no_second_wait(void **state) {
    (void)state;
    struct made_trace trace;
    made_trace_init(&trace);
    uint32_t process = made_process(&trace, 1), device = made_device(&trace, "d");
    uint32_t thread = made_track(&trace, TSMITH_TRACK_THREAD, process, 0, 0, "main");
    uint32_t queue = made_track(&trace, TSMITH_TRACK_QUEUE, process, device, 0, "queue");
    static const struct {
        const char *call;
        uint8_t operation, role;
    } waits[] = {{"cudaStreamSynchronize", TSMITH_OPERATION_FINISH, TSMITH_CALL_SYNC_QUEUE},
                 {"cudaEventQuery", TSMITH_OPERATION_WAIT, TSMITH_CALL_OTHER},
                 {"cudaDeviceSynchronize", TSMITH_OPERATION_DEVICE_SYNC, TSMITH_CALL_SYNC_DEVICE}};
    for (unsigned i = 0; i < 3; i++) {
        struct made_event *call = made_event(&trace, TSMITH_KIND_API, thread, 100 * i, 50);
        call->name = waits[i].call;
        call->correlation = i + 1;
        made_event(&trace, TSMITH_KIND_API, thread, 100 * i + 1, 48)->name =
            "cuSomething"; // that the call makes
        struct made_event *sync = made_event(&trace, TSMITH_KIND_SYNC, thread, 100 * i + 2, 40);
        sync->operation = waits[i].operation;
        sync->correlation = i + 1;
        sync->queue_track = queue;
    }
    // Another number, in no wait: a wait of its own.
    struct made_event *other = made_event(&trace, TSMITH_KIND_SYNC, thread, 260, 5);
    other->operation = TSMITH_OPERATION_WAIT;
    other->correlation = 9;
    tsmith_timeline *timeline = read_trace(&trace, 2, 5, NULL);
    size_t count;
    const tsmith_call *calls = tsmith_timeline_calls(timeline, &count);
    assert_int_equal(count, 7);
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(calls[2 * i].start, 100 * i);
        assert_int_equal(calls[2 * i].end, 100 * i + 50);
        assert_int_equal(calls[2 * i].role, waits[i].role);
        assert_int_equal(calls[2 * i + 1].start, 100 * i + 1);
    }
    assert_int_equal(calls[6].start, 260);
    assert_int_equal(calls[6].role, TSMITH_CALL_SYNC_EVENT);
    tsmith_timeline_destroy(timeline);
    made_trace_finish(&trace);
}

// cudaStreamSynchronize makes cuStreamSynchronize, and CUPTI's record is inside that one: one wait, of the outer call.
static void a_wait_within_a_wait_is_the_same_one(void **state) {
    (void)state;
    struct made_trace trace;
    made_trace_init(&trace);
    uint32_t process = made_process(&trace, 1), device = made_device(&trace, "d");
    uint32_t thread = made_track(&trace, TSMITH_TRACK_THREAD, process, 0, 0, "main");
    uint32_t other = made_track(&trace, TSMITH_TRACK_THREAD, process, 0, 0, "other");
    uint32_t queue = made_track(&trace, TSMITH_TRACK_QUEUE, process, device, 0, "queue");
    made_launch(&trace, thread, queue, 9, 0, 5, 8, 30);
    made_event(&trace, TSMITH_KIND_API, thread, 10, 100)->name = "cudaStreamSynchronize";
    struct made_event *inner = made_event(&trace, TSMITH_KIND_API, thread, 12, 90);
    inner->name = "cuStreamSynchronize";
    inner->correlation = 5;
    struct made_event *sync = made_event(&trace, TSMITH_KIND_SYNC, thread, 14, 80);
    sync->operation = TSMITH_OPERATION_FINISH;
    sync->correlation = 5;
    sync->queue_track = queue;
    made_event(&trace, TSMITH_KIND_API, thread, 120, 10)->name = "cudaStreamSynchronize"; // after it
    made_event(&trace, TSMITH_KIND_API, other, 20, 10)->name = "cudaDeviceSynchronize";   // of another thread
    tsmith_timeline *timeline = read_trace(&trace, 2, 5, NULL);
    size_t count;
    const tsmith_call *calls = tsmith_timeline_calls(timeline, &count);
    assert_int_equal(count, 4);
    assert_int_equal(calls[1].role, TSMITH_CALL_SYNC_QUEUE);
    assert_int_equal(calls[1].end, 110);
    assert_int_equal(calls[1].row, 0); // what the record within it names
    assert_int_equal(calls[2].role, TSMITH_CALL_SYNC_QUEUE);
    assert_int_equal(calls[2].start, 120);
    assert_int_equal(calls[3].role, TSMITH_CALL_SYNC_DEVICE);
    tsmith_timeline_destroy(timeline);
    made_trace_finish(&trace);
}

// Times that cannot be true must not make one that is: nothing overflows, busy stays within the window.
static void hostile_times_stay_within_the_window(void **state) {
    (void)state;
    struct made_trace trace;
    made_trace_init(&trace);
    uint32_t queue = made_track(&trace, TSMITH_TRACK_QUEUE, 0, 0, 0, "queue");
    for (int i = 0; i < 20; i++) {
        made_event(&trace, TSMITH_KIND_KERNEL, queue, INT64_MIN + i, INT64_MAX);
        made_event(&trace, TSMITH_KIND_KERNEL, queue, INT64_MAX - i, INT64_MAX);
        made_event(&trace, TSMITH_KIND_KERNEL, queue, i, INT64_MAX);
    }
    tsmith_timeline *timeline = read_trace(&trace, 7, 5, NULL);
    size_t count;
    tsmith_interval window = tsmith_timeline_window(timeline);
    const tsmith_row *rows = tsmith_timeline_rows(timeline, &count);
    assert_int_equal(count, 1);
    assert_true(rows[0].busy > 0 && rows[0].busy <= window.to - window.from);
    assert_true(rows[0].total >= rows[0].busy);
    tsmith_timeline_destroy(timeline);
    made_trace_finish(&trace);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_traces_fit_their_definitions),
        cmocka_unit_test(the_order_of_batches_does_not_matter),
        cmocka_unit_test(a_number_that_only_one_process_has_pairs),
        cmocka_unit_test(a_wait_and_its_call_are_one),
        cmocka_unit_test(a_record_within_a_call_is_no_second_wait),
        cmocka_unit_test(a_wait_within_a_wait_is_the_same_one),
        cmocka_unit_test(hostile_times_stay_within_the_window),
    };
    return cmocka_run_group_tests_name("timeline", tests, NULL, NULL);
}
