// SPDX-License-Identifier: Apache-2.0
// Reports against their definitions, nanosecond by nanosecond on random traces, and against known answers.
#include "support/made_analysis.h"
#include "support/random_trace.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"

static const tsmith_report_table *table_of(const tsmith_report *report, const char *name) {
    for (size_t i = 0; i < report->table_count; i++)
        if (strcmp(report->tables[i].name, name) == 0)
            return &report->tables[i];
    fail_msg("no table %s", name);
    return NULL;
}

static int64_t integer(const tsmith_report_table *table, size_t row, const char *column) {
    assert_true(made_cell(table, row, column)->known);
    return made_cell(table, row, column)->value.integer;
}

static size_t row_of(const tsmith_report_table *table, const char *column, const char *text) {
    for (size_t row = 0; row < table->row_count; row++)
        if (strcmp(made_cell(table, row, column)->value.text, text) == 0)
            return row;
    fail_msg("no row %s", text);
    return 0;
}

// ---- times of devices, ns by ns

enum { COMPUTES = 1, COMMUNICATES = 2, COPIES = 4 };

// What a device does in [at, at + 1).
static unsigned doing(const struct made_trace *trace, uint32_t device, int64_t at) {
    unsigned what = 0;
    for (size_t i = 0; i < trace->count; i++) {
        const struct made_event *event = &trace->events[i];
        if (tsmith_dictionary_track(trace->dictionary, event->track)->device != device || event->start > at ||
            at >= event->start + event->duration)
            continue;
        what |= event->kind == TSMITH_KIND_KERNEL       ? COMPUTES
                : event->kind == TSMITH_KIND_COLLECTIVE ? COMMUNICATES
                : event->kind == TSMITH_KIND_MEMCPY     ? COPIES
                                                        : 0;
    }
    return what;
}

struct device_times {
    int64_t compute, communication, copy, idle, communicates, hidden;
};

static struct device_times measure(const struct made_trace *trace, uint32_t device, tsmith_interval window) {
    struct device_times times = {0};
    int64_t idle = 0;
    bool begun = false;
    for (int64_t at = window.from; at < window.to; at++) {
        unsigned what = doing(trace, device, at);
        idle = what ? 0 : idle + 1;
        begun |= what != 0;
        if (!begun)
            continue;
        times.compute += (what & COMPUTES) != 0;
        times.communication += (what & (COMPUTES | COMMUNICATES)) == COMMUNICATES;
        times.copy += what == COPIES;
        times.idle += what == 0;
        times.communicates += (what & COMMUNICATES) != 0;
        times.hidden += (what & (COMPUTES | COMMUNICATES)) == (COMPUTES | COMMUNICATES);
    }
    times.idle -= begun ? idle : 0; // after its last command
    return times;
}

static void breakdown_and_overlap_fit_their_definitions(void **state) {
    (void)state;
    struct random random = {71};
    for (int round = 0; round < 40; round++) {
        struct made_trace trace;
        tsmith_interval window = {20, 150};
        random_trace(&trace, &random, 1 + random_below(&random, 60));
        tsmith_analysis *one = made_analysis(&trace, "breakdown", 1, &window);
        tsmith_analysis *two = made_analysis(&trace, "overlap", 2, &window);
        const tsmith_report_table *breakdown = table_of(tsmith_analysis_report(one, 0), "devices");
        const tsmith_report_table *overlap = table_of(tsmith_analysis_report(two, 0), "overlap");
        for (size_t row = 0; row < breakdown->row_count; row++) {
            uint32_t device = strcmp(made_cell(breakdown, row, "device")->value.text, "first") == 0 ? 1 : 2;
            struct device_times times = measure(&trace, device, window);
            assert_int_equal(integer(breakdown, row, "compute"), times.compute);
            assert_int_equal(integer(breakdown, row, "communication"), times.communication);
            assert_int_equal(integer(breakdown, row, "copy"), times.copy);
            assert_int_equal(integer(breakdown, row, "idle"), times.idle);
            assert_int_equal(integer(breakdown, row, "span"),
                             times.compute + times.communication + times.copy + times.idle);
            assert_int_equal(integer(overlap, 2 * row, "time"), times.communicates);
            assert_int_equal(integer(overlap, 2 * row, "overlapped"), times.hidden);
        }
        tsmith_analysis_destroy(one);
        tsmith_analysis_destroy(two);
        made_trace_finish(&trace);
    }
}

static void causes_of_idleness_add_up_to_the_window(void **state) {
    (void)state;
    struct random random = {72};
    for (int round = 0; round < 60; round++) {
        struct made_trace trace;
        random_trace(&trace, &random, 1 + random_below(&random, 60));
        tsmith_analysis *analysis = made_analysis(&trace, "idle", 1, NULL);
        const tsmith_report *report = tsmith_analysis_report(analysis, 0);
        const tsmith_report_table *causes = table_of(report, "causes");
        int64_t sums[3] = {0}, computes[3] = {0}, copies[3] = {0};
        for (size_t row = 0; row < causes->row_count; row++) {
            uint32_t device = strcmp(made_cell(causes, row, "device")->value.text, "first") == 0 ? 1 : 2;
            int64_t time = integer(causes, row, "time");
            assert_true(time >= 0);
            sums[device] += time;
            computes[device] +=
                strcmp(made_cell(causes, row, "cause")->value.text, "running") == 0 ? time : 0;
            copies[device] += strcmp(made_cell(causes, row, "cause")->value.text, "copy") == 0 ? time : 0;
        }
        for (uint32_t device = 1; device < 3; device++) {
            struct device_times times = measure(&trace, device, report->window);
            if (!sums[device])
                continue;
            assert_int_equal(sums[device], report->window.to - report->window.from);
            assert_int_equal(computes[device], times.compute + times.communication);
            assert_int_equal(copies[device], times.copy);
        }
        tsmith_analysis_destroy(analysis);
        made_trace_finish(&trace);
    }
}

struct scene {
    struct made_trace trace;
    uint32_t thread, queue;
};

static struct scene begin(void) {
    struct scene scene;
    made_trace_init(&scene.trace);
    uint32_t process = made_process(&scene.trace, 77), device = made_device(&scene.trace, "device");
    scene.thread = made_track(&scene.trace, TSMITH_TRACK_THREAD, process, 0, 0, "main");
    scene.queue = made_track(&scene.trace, TSMITH_TRACK_QUEUE, process, device, 0, "queue");
    made_event(&scene.trace, TSMITH_KIND_MARKER, scene.thread, 0, -1);
    return scene;
}

// 1: 100..200. The host waits until 230, does something until 300, compiles until 350, launches 2 (360..370, runs
// 380..400) and the trace continues until 500.
static struct scene idle_scene(void) {
    struct scene scene = begin();
    made_launch(&scene.trace, scene.thread, scene.queue, 1, 80, 10, 100, 100);
    struct made_event *wait = made_event(&scene.trace, TSMITH_KIND_SYNC, scene.thread, 95, 135);
    wait->operation = TSMITH_OPERATION_FINISH;
    wait->queue_track = scene.queue;
    wait->name = "clFinish";
    made_event(&scene.trace, TSMITH_KIND_COMPILE, scene.thread, 300, 50);
    made_launch(&scene.trace, scene.thread, scene.queue, 2, 360, 10, 380, 20);
    made_event(&scene.trace, TSMITH_KIND_MARKER, scene.thread, 500, -1);
    return scene;
}

static void idleness_by_hand(void **state) {
    (void)state;
    static const struct {
        const char *cause;
        int64_t time;
    } EXPECTED[] = {{"before_first", 100}, {"running", 120},    {"sync", 30},           {"host_bound", 80},
                    {"compile", 50},       {"launch_call", 10}, {"launch_latency", 10}, {"after_last", 100}};
    struct scene scene = idle_scene();
    tsmith_analysis *analysis = made_analysis(&scene.trace, "idle", 1, NULL);
    const tsmith_report *report = tsmith_analysis_report(analysis, 0);
    const tsmith_report_table *causes = table_of(report, "causes"), *gaps = table_of(report, "longest_gaps");
    for (size_t i = 0; i < sizeof EXPECTED / sizeof *EXPECTED; i++)
        assert_int_equal(integer(causes, row_of(causes, "cause", EXPECTED[i].cause), "time"),
                         EXPECTED[i].time);
    assert_int_equal(gaps->row_count, 1);
    assert_int_equal(integer(gaps, 0, "at"), 200);
    assert_int_equal(integer(gaps, 0, "length"), 180);
    assert_string_equal(made_cell(gaps, 0, "mostly")->value.text, "host_bound");
    assert_non_null(strstr(report->finding, "host_bound"));
    tsmith_analysis_destroy(analysis);
    made_trace_finish(&scene.trace);
}

// The device has nothing to do in [200, 380); the host waits until 230, compiles from 300 to 350 and is in the launching
// call from 360 to 370: what ranges have of that is not theirs.
static void what_the_program_was_in_by_hand(void **state) {
    (void)state;
    static const struct {
        const char *range, *within;
        int64_t time;
    } EXPECTED[] = {{"step", "", 40},       // 250 .. 270, 350 .. 360, 370 .. 380
                    {"load", "step", 30},   // 270 .. 300
                    {"decode", "step", 20}, // 230 .. 250
                    {"", "", 0}};
    struct scene scene = idle_scene();
    made_event(&scene.trace, TSMITH_KIND_RANGE, scene.thread, 0, 400)->name = "step";
    made_event(&scene.trace, TSMITH_KIND_RANGE, scene.thread, 270, 60)->name = "load";
    made_event(&scene.trace, TSMITH_KIND_RANGE, scene.thread, 205, 45)->name = "decode";
    tsmith_analysis *analysis = made_analysis(&scene.trace, "idle", 1, NULL);
    const tsmith_report_table *program = table_of(tsmith_analysis_report(analysis, 0), "program");
    size_t row = row_of(program, "when", "gaps");
    for (size_t i = 0; EXPECTED[i].time; i++, row++) {
        assert_string_equal(made_cell(program, row, "when")->value.text, "gaps");
        assert_string_equal(made_cell(program, row, "range")->value.text, EXPECTED[i].range);
        assert_string_equal(made_cell(program, row, "within")->value.text, EXPECTED[i].within);
        assert_int_equal(integer(program, row, "time"), EXPECTED[i].time);
    }
    assert_int_equal(row, program->row_count);
    tsmith_analysis_destroy(analysis);
    made_trace_finish(&scene.trace);
}

static void waits_by_hand(void **state) {
    (void)state;
    struct scene scene = idle_scene();
    tsmith_analysis *analysis = made_analysis(&scene.trace, "sync", 1, NULL);
    const tsmith_report_table *waits = table_of(tsmith_analysis_report(analysis, 0), "waits");
    const tsmith_report_table *unobserved = table_of(tsmith_analysis_report(analysis, 0), "unobserved");
    assert_int_equal(waits->row_count, 1);
    assert_int_equal(integer(waits, 0, "total"), 135);
    assert_int_equal(integer(waits, 0, "device_work"), 105); // 95 .. 200
    assert_int_equal(integer(waits, 0, "return_delay"), 30);
    assert_int_equal(integer(unobserved, 0, "observed"), 1);
    assert_int_equal(integer(unobserved, 0, "never_observed"), 1);
    assert_int_equal(integer(unobserved, 0, "mean_unobserved"), 30);
    tsmith_analysis_destroy(analysis);
    made_trace_finish(&scene.trace);
}

static void launches_by_hand(void **state) {
    (void)state;
    struct scene scene = begin();
    made_launch(&scene.trace, scene.thread, scene.queue, 1, 100, 10, 130, 50); // idle: 30
    made_launch(&scene.trace, scene.thread, scene.queue, 2, 120, 20, 182, 5);  // behind 1: queued; 5 < 20
    made_launch(&scene.trace, scene.thread, scene.queue, 3, 300, 10, 350, 50); // idle: 50
    made_event(&scene.trace, TSMITH_KIND_KERNEL, scene.queue, 500, 10);        // no thread launches it
    tsmith_analysis *analysis = made_analysis(&scene.trace, "launches", 1, NULL);
    const tsmith_report *report = tsmith_analysis_report(analysis, 0);
    const tsmith_report_table *delays = table_of(report, "delays"), *calls = table_of(report, "calls");
    assert_int_equal(integer(delays, 0, "idle_launches"), 2);
    assert_int_equal(integer(delays, 0, "delay_min"), 30);
    assert_int_equal(integer(delays, 0, "delay_max"), 50);
    assert_int_equal(integer(delays, 0, "queued_launches"), 1);
    assert_int_equal(integer(delays, 0, "queued_median"), 62);
    assert_int_equal(integer(calls, 0, "count"), 3);
    assert_int_equal(integer(calls, 0, "total"), 40);
    assert_non_null(strstr(report->finding, "1 of 3 commands"));
    assert_int_equal(report->note_count, 1);
    assert_non_null(strstr(report->notes[0], "1 of 4"));
    tsmith_analysis_destroy(analysis);
    made_trace_finish(&scene.trace);
}

static void queues_are_as_long_as_defined(void **state) {
    (void)state;
    struct random random = {73};
    for (int round = 0; round < 20; round++) {
        struct scene scene = begin();
        int64_t from[40], to[40], most = 0, empty = 0, area = 0;
        for (uint64_t i = 0; i < 40; i++) {
            from[i] = (int64_t)random_below(&random, 100);
            to[i] = from[i] + (int64_t)random_below(&random, 60);
            made_launch(&scene.trace, scene.thread, scene.queue, i + 1, from[i], 1, to[i], 3);
        }
        tsmith_analysis *analysis = made_analysis(&scene.trace, "queue_length", 1, NULL);
        const tsmith_report *report = tsmith_analysis_report(analysis, 0);
        const tsmith_report_table *queues = table_of(report, "queues");
        for (int64_t at = report->window.from; at < report->window.to; at++) {
            int64_t length = 0;
            for (int i = 0; i < 40; i++)
                length += from[i] <= at && at < to[i];
            most = length > most ? length : most;
            empty += length == 0;
            area += length;
        }
        double mean = (double)area / (double)(report->window.to - report->window.from);
        assert_int_equal(integer(queues, 0, "longest"), most);
        assert_int_equal(integer(queues, 0, "empty"), empty);
        assert_int_equal(integer(queues, 0, "full"), 0);
        assert_true(fabs(made_cell(queues, 0, "mean")->value.number - mean) < 1e-9);
        tsmith_analysis_destroy(analysis);
        made_trace_finish(&scene.trace);
    }
}

static void a_full_queue_is_told(void **state) {
    (void)state;
    struct scene scene = begin();
    for (uint64_t i = 0; i < 1030; i++) // one launch per ns; they start from 2000 on, one per ns
        made_launch(&scene.trace, scene.thread, scene.queue, i + 1, (int64_t)i, 0, 2000 + (int64_t)i, 1);
    tsmith_analysis *analysis = made_analysis(&scene.trace, "queue_length", 1, NULL);
    const tsmith_report_table *queues = table_of(tsmith_analysis_report(analysis, 0), "queues");
    assert_int_equal(integer(queues, 0, "longest"), 1030);
    assert_int_equal(integer(queues, 0, "full"),
                     2006 - 1023); // 1024 are there from 1023 on, 1023 from 2006 on
    tsmith_analysis_destroy(analysis);
    made_trace_finish(&scene.trace);
}

// ---- kernels, copies, memory

static int by_value(const void *left, const void *right) {
    int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;
    return a < b ? -1 : a > b;
}

static void kernels_fit_their_definitions(void **state) {
    (void)state;
    static const char *const NAMES[] = {"gemm", "relu", "a,b \"c\"\n"};
    struct random random = {74};
    struct scene scene = begin();
    int64_t durations[3][200], total[3] = {0};
    size_t counts[3] = {0};
    for (int i = 0; i < 200; i++) {
        size_t name = random_below(&random, 3);
        int64_t start = (int64_t)random_below(&random, 5000), duration = (int64_t)random_below(&random, 300);
        made_event(&scene.trace, TSMITH_KIND_KERNEL, scene.queue, start, duration)->name = NAMES[name];
        if (start < 1000 || start >= 4000)
            continue;
        durations[name][counts[name]++] = duration;
        total[name] += duration;
    }
    tsmith_analysis *analysis = made_analysis(&scene.trace, "kernels", 1, &(tsmith_interval){1000, 4000});
    const tsmith_report_table *kernels = table_of(tsmith_analysis_report(analysis, 0), "kernels");
    assert_int_equal(kernels->row_count, 3);
    for (size_t i = 0; i < 3; i++) {
        size_t row = row_of(kernels, "kernel", NAMES[i]);
        qsort(durations[i], counts[i], sizeof(int64_t), by_value);
        assert_int_equal(integer(kernels, row, "count"), counts[i]);
        assert_int_equal(integer(kernels, row, "total"), total[i]);
        assert_int_equal(integer(kernels, row, "min"), durations[i][0]);
        assert_int_equal(integer(kernels, row, "median"), durations[i][(counts[i] + 1) / 2 - 1]);
        assert_int_equal(integer(kernels, row, "max"), durations[i][counts[i] - 1]);
        double share = (double)total[i] / (double)(total[0] + total[1] + total[2]);
        assert_true(fabs(made_cell(kernels, row, "share")->value.number - share) < 1e-12);
        if (row)
            assert_true(integer(kernels, row - 1, "total") >= integer(kernels, row, "total"));
    }
    tsmith_analysis_destroy(analysis);
    made_trace_finish(&scene.trace);
}

static void bandwidth_loses_no_byte(void **state) {
    (void)state;
    struct random random = {75};
    struct scene scene = begin();
    double bytes = 0, spread = 0;
    for (int i = 0; i < 100; i++) {
        struct made_event *copy =
            made_event(&scene.trace, TSMITH_KIND_MEMCPY, scene.queue, (int64_t)random_below(&random, 9000),
                       1 + (int64_t)random_below(&random, 2000));
        copy->bytes = 1 + random_below(&random, 1 << 20);
        copy->direction = (uint8_t)(1 + i % 2);
        bytes += (double)copy->bytes;
    }
    made_event(&scene.trace, TSMITH_KIND_MEMCPY, scene.queue, 100, 5)->name =
        "Memcpy HtoD (Pageable -> Device)";
    // What clpeak does with PoCL: 512 MiB that the host may use where they are. No byte moves.
    struct made_event *map = made_event(&scene.trace, TSMITH_KIND_MEMCPY, scene.queue, 10000, 320);
    map->bytes = UINT64_C(1) << 29;
    map->direction = TSMITH_DIRECTION_DEVICE_TO_HOST;
    map->operation = TSMITH_OPERATION_MAP;
    tsmith_analysis *analysis = made_analysis(&scene.trace, "bandwidth", 1, NULL);
    const tsmith_report *report = tsmith_analysis_report(analysis, 0);
    const tsmith_report_table *directions = table_of(report, "directions"),
                              *times = table_of(report, "over_time");
    int64_t moved = 0;
    for (size_t row = 0; row < directions->row_count; row++)
        moved += integer(directions, row, "moved");
    assert_int_equal(moved, bytes);
    assert_int_equal(integer(directions, row_of(directions, "direction", "h2d"), "copies"), 51);
    for (size_t row = 0; row < times->row_count; row++)
        spread += made_cell(times, row, "rate")->value.number;
    spread *= (double)(report->window.to - report->window.from) / (double)times->row_count / 1e9;
    assert_true(fabs(spread - bytes) < 1e-6 * bytes);
    assert_int_equal(report->note_count, 3); // a pageable copy, and it has no size; a map
    tsmith_analysis_destroy(analysis);
    made_trace_finish(&scene.trace);
}

static void memory_by_hand(void **state) {
    (void)state;
    struct scene scene = begin();
    static const struct {
        tsmith_kind kind;
        int64_t at;
        uint64_t object, bytes;
    } CHANGES[] = {{TSMITH_KIND_ALLOC, 10, 1, 100}, {TSMITH_KIND_ALLOC, 20, 2, 50},
                   {TSMITH_KIND_FREE, 30, 1, 100},  {TSMITH_KIND_FREE, 40, 1, 100},
                   {TSMITH_KIND_ALLOC, 50, 1, 30},  {TSMITH_KIND_FREE, 60, 9, 5},
                   {TSMITH_KIND_ALLOC, 70, 3, 60},  {TSMITH_KIND_FREE, 80, 2, 50}};
    for (size_t i = 0; i < sizeof CHANGES / sizeof *CHANGES; i++) {
        struct made_event *change = made_event(&scene.trace, CHANGES[i].kind, scene.thread, CHANGES[i].at, 2);
        change->object = CHANGES[i].object;
        change->bytes = CHANGES[i].bytes;
        change->operation = TSMITH_OPERATION_BUFFER;
    }
    struct made_event *part = made_event(&scene.trace, TSMITH_KIND_ALLOC, scene.thread, 75, 2);
    part->object = 4;
    part->bytes = 1000;
    part->operation = TSMITH_OPERATION_SUB_BUFFER; // owns nothing
    tsmith_analysis *analysis = made_analysis(&scene.trace, "memory", 4, NULL);
    const tsmith_report_table *processes = table_of(tsmith_analysis_report(analysis, 0), "processes");
    const tsmith_report_table *leaks = table_of(tsmith_analysis_report(analysis, 0), "never_freed");
    assert_int_equal(processes->row_count, 1);
    assert_int_equal(integer(processes, 0, "process"), 77);
    assert_int_equal(integer(processes, 0, "allocations"), 4);
    assert_int_equal(integer(processes, 0, "frees"), 4);
    assert_int_equal(integer(processes, 0, "peak"), 150);
    assert_int_equal(integer(processes, 0, "peak_at"), 20);
    assert_int_equal(integer(processes, 0, "live_at_end"), 90);
    assert_int_equal(integer(processes, 0, "freed_twice"), 1);
    assert_int_equal(integer(processes, 0, "freed_unknown"), 1);
    assert_int_equal(table_of(tsmith_analysis_report(analysis, 0), "fragmentation")->row_count, 0); // handles
    assert_int_equal(leaks->row_count, 2);
    assert_int_equal(integer(leaks, 0, "size"), 60);
    assert_int_equal(integer(leaks, 1, "size"), 30);
    tsmith_analysis_destroy(analysis);
    made_trace_finish(&scene.trace);
}

// ---- the frame

static char *write_all(const tsmith_analysis *analysis,
                       tsmith_status (*write)(const tsmith_report *, FILE *, tsmith_error *)) {
    char *text;
    size_t length;
    FILE *out = open_memstream(&text, &length);
    const tsmith_report *report;
    for (size_t i = 0; (report = tsmith_analysis_report(analysis, i)); i++)
        assert_int_equal(write(report, out, NULL), TSMITH_OK);
    (void)fclose(out);
    return text;
}

static void equal_traces_give_equal_reports(void **state) {
    (void)state;
    struct random random = {76};
    for (int round = 0; round < 10; round++) {
        struct made_trace trace;
        random_trace(&trace, &random, 200);
        for (size_t i = 0; i < trace.count; i++)
            trace.events[i].name = i % 3 ? "one \"name\"" : "bad \xff UTF-8, \x01 and \\";
        tsmith_analysis *one = made_analysis(&trace, NULL, 1, NULL),
                        *two = made_analysis(&trace, NULL, 12345, NULL);
        char *json = write_all(one, tsmith_report_write_json),
             *other = write_all(two, tsmith_report_write_json);
        assert_string_equal(json, other);
        size_t reports = 0;
        const tsmith_report *report;
        for (; (report = tsmith_analysis_report(one, reports)); reports++) {
            char *text;
            size_t length;
            FILE *out = open_memstream(&text, &length);
            assert_string_equal(report->name, tsmith_analysis_name(reports));
            assert_int_equal(tsmith_report_write_json(report, out, NULL), TSMITH_OK);
            (void)fclose(out);
            assert_true(json_is_valid(text, length));
            free(text);
        }
        assert_null(tsmith_analysis_name(reports));
        free(json);
        free(other);
        tsmith_analysis_destroy(one);
        tsmith_analysis_destroy(two);
        made_trace_finish(&trace);
    }
}

// Reads CSV as RFC 4180 has it: the number of fields of each record must be that of its header.
static void check_csv(const char *text) {
    size_t fields = 1, expected = 0, records = 0;
    bool header = true;
    for (const char *at = text; *at;) {
        if (header)
            assert_int_equal(strncmp(at, "report,table,", 13), 0);
        fields = 1;
        for (; *at && *at != '\r'; at++) {
            if (*at == ',')
                fields++;
            if (*at != '"')
                continue;
            for (at++; *at && (*at != '"' || at[1] == '"'); at++)
                at += *at == '"';
            assert_int_equal(*at, '"');
        }
        assert_int_equal(strncmp(at, "\r\n", 2), 0);
        at += 2;
        if (!header)
            assert_int_equal(fields, expected);
        expected = fields;
        header = strncmp(at, "report,table,", 13) == 0;
        records++;
    }
    assert_true(records > 10);
}

static void csv_has_as_many_fields_as_its_header(void **state) {
    (void)state;
    struct random random = {77};
    struct made_trace trace;
    random_trace(&trace, &random, 100);
    for (size_t i = 0; i < trace.count; i++)
        trace.events[i].name = i % 3 ? "one \"name\", quoted" : "two\r\nlines";
    tsmith_analysis *analysis = made_analysis(&trace, NULL, 1, NULL);
    char *csv = write_all(analysis, tsmith_report_write_csv);
    check_csv(csv);
    free(csv);
    tsmith_analysis_destroy(analysis);
    made_trace_finish(&trace);
}

static void text_fits_its_width_and_hides_controls(void **state) {
    (void)state;
    struct scene scene = begin();
    char endless[600];
    size_t used = (size_t)snprintf(endless, sizeof endless, "void a_template<");
    while (used < 500)
        used += (size_t)snprintf(endless + used, sizeof endless - used, "argument_%zu, ", used);
    (void)snprintf(endless + used, sizeof endless - used, "last>(int)");
    for (int i = 0; i < 30; i++)
        made_event(&scene.trace, TSMITH_KIND_KERNEL, scene.queue, i * 100, i % 2 ? 51 : 50)->name =
            i % 2 ? endless : "\x1b[31mred\x1b[0m";
    tsmith_analysis *analysis = made_analysis(&scene.trace, "kernels", 1, NULL);
    char *text;
    size_t length;
    FILE *out = open_memstream(&text, &length);
    assert_int_equal(tsmith_report_write_text(tsmith_analysis_report(analysis, 0), 1, 100, out, NULL),
                     TSMITH_OK);
    (void)fclose(out);
    assert_null(strchr(text, '\x1b'));
    assert_non_null(strstr(text, "... and 1 more"));
    assert_non_null(strstr(text, "Covers 100.0%"));
    bool table = false, begun = false, ended = false;
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
        assert_true(strlen(line) <= 100);
        table |= strcmp(line, "  kernel") == 0;
        begun |= table && strncmp(line, "  void a_template<", 18) == 0;
        // The end of the name is not what is cut: kernels of one template differ there.
        ended |= begun && strncmp(line, "  ~", 3) == 0 && strcmp(line + strlen(line) - 6, ">(int)") == 0;
    }
    assert_true(table && begun && ended);
    free(text);
    tsmith_analysis_destroy(analysis);
    made_trace_finish(&scene.trace);
}

static void a_hole_is_told(void **state) {
    (void)state;
    struct scene scene = begin();
    uint32_t ledger = made_track(&scene.trace, TSMITH_TRACK_LOSS, 1, 0, 0, "loss ledger");
    made_event(&scene.trace, TSMITH_KIND_LOSS, ledger, 100, 200)->lost = 11;
    made_event(&scene.trace, TSMITH_KIND_LOSS, ledger, 250, 100)->lost = 4; // overlaps: 100 .. 350
    struct made_event *stack =
        made_event(&scene.trace, TSMITH_KIND_LOSS, ledger, 400, 100); // nothing is missing
    stack->lost = 3;
    stack->reason = TSMITH_REASON_PARTIAL_STACK;
    made_event(&scene.trace, TSMITH_KIND_MARKER, scene.thread, 1000, -1);
    for (size_t i = 0; tsmith_analysis_name(i); i++) {
        tsmith_analysis *analysis = made_analysis(&scene.trace, tsmith_analysis_name(i), 1, NULL);
        const tsmith_report *report = tsmith_analysis_report(analysis, 0);
        assert_int_equal(report->missing, 250);
        assert_int_equal(report->lost, 15);
        assert_true(strlen(report->finding) > 10);
        assert_null(strstr(report->finding, "--stacks")); // without commands nothing has to be recorded again
        tsmith_analysis_destroy(analysis);
    }
    made_trace_finish(&scene.trace);
}

static void an_unknown_name_is_told_with_those_there_are(void **state) {
    (void)state;
    const char *names[] = {"kernels", "kernel"};
    tsmith_analysis_options options = {.size = sizeof options, .names = names, .name_count = 2};
    tsmith_analysis *analysis = NULL;
    tsmith_error error;
    assert_int_equal(tsmith_analysis_create(&options, &analysis, &error), TSMITH_ERROR_NOT_FOUND);
    assert_null(analysis);
    assert_non_null(strstr(error.message, "\"kernel\""));
    assert_non_null(strstr(error.message, "critical_path"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(breakdown_and_overlap_fit_their_definitions),
        cmocka_unit_test(causes_of_idleness_add_up_to_the_window),
        cmocka_unit_test(idleness_by_hand),
        cmocka_unit_test(what_the_program_was_in_by_hand),
        cmocka_unit_test(waits_by_hand),
        cmocka_unit_test(launches_by_hand),
        cmocka_unit_test(queues_are_as_long_as_defined),
        cmocka_unit_test(a_full_queue_is_told),
        cmocka_unit_test(kernels_fit_their_definitions),
        cmocka_unit_test(bandwidth_loses_no_byte),
        cmocka_unit_test(memory_by_hand),
        cmocka_unit_test(equal_traces_give_equal_reports),
        cmocka_unit_test(csv_has_as_many_fields_as_its_header),
        cmocka_unit_test(text_fits_its_width_and_hides_controls),
        cmocka_unit_test(a_hole_is_told),
        cmocka_unit_test(an_unknown_name_is_told_with_those_there_are),
    };
    return cmocka_run_group_tests_name("reports", tests, NULL, NULL);
}
