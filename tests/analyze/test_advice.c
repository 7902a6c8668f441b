// SPDX-License-Identifier: Apache-2.0
// What to fix first, on a trace of which every nanosecond is known.
#include "support/made_analysis.h"

#include <stdbool.h>
#include <string.h>

enum { THREAD = 1, WATCHDOG, QUEUE, ECHO };

// Two devices of which only the first matters. Kernel "long" 100..200; the host waits for it until 230, does something
// until 300, compiles until 350, launches "short" (360..370, runs 380..400), a collective of another queue (390..430)
// and behind it a copy from pageable memory (440..445). A watchdog asks until 495; the trace ends at 500.
static void make(struct made_trace *trace) {
    made_trace_init(trace);
    uint32_t process = made_process(trace, 77), device = made_device(trace, "first");
    uint32_t other = made_device(trace, "second");
    (void)made_track(trace, TSMITH_TRACK_THREAD, process, 0, 0, "main");
    (void)made_track(trace, TSMITH_TRACK_THREAD, process, 0, 0, "watchdog");
    (void)made_track(trace, TSMITH_TRACK_QUEUE, process, device, 0, "queue");
    (void)made_track(trace, TSMITH_TRACK_QUEUE, process, other, 0, "queue of the second");
    uint32_t collectives = made_track(trace, TSMITH_TRACK_QUEUE, process, device, 0, "collectives");
    made_event(trace, TSMITH_KIND_MARKER, THREAD, 0, -1);
    made_launch(trace, THREAD, QUEUE, 1, 80, 10, 100, 100);
    trace->events[trace->count - 1].name = "long";
    struct made_event *wait = made_event(trace, TSMITH_KIND_SYNC, THREAD, 95, 135);
    wait->operation = TSMITH_OPERATION_FINISH;
    wait->queue_track = QUEUE;
    made_event(trace, TSMITH_KIND_COMPILE, THREAD, 300, 50);
    made_launch(trace, THREAD, QUEUE, 2, 360, 10, 380, 20);
    trace->events[trace->count - 1].name = "short";
    made_launch(trace, THREAD, collectives, 3, 372, 2, 390, 40);
    trace->events[trace->count - 1].kind = TSMITH_KIND_COLLECTIVE;
    trace->events[trace->count - 1].name = "all_reduce";
    made_launch(trace, THREAD, collectives, 4, 376, 2, 440, 5);
    trace->events[trace->count - 1].kind = TSMITH_KIND_MEMCPY;
    trace->events[trace->count - 1].name = "Memcpy HtoD (Pageable -> Device)";
    made_event(trace, TSMITH_KIND_KERNEL, ECHO, 300, 5)->name = "elsewhere";
    made_event(trace, TSMITH_KIND_API, WATCHDOG, 490, 5)->name = "cudaEventQuery";
    made_event(trace, TSMITH_KIND_MARKER, THREAD, 500, -1);
}

static void savings_are_the_times_by_hand(void **state) {
    (void)state;
    static const struct {
        const char *problem, *example;
        int64_t saves, at;
    } EXPECTED[] = {
        {"startup", "long", 100, 0},
        {"kernel", "long", 100, 100}, // all of it is on the path to the last end
        {"host_bound", "short", 80, 200},
        {"compile", "", 50, -1}, // no gap is mostly of it
        {"communication", "all_reduce", 30, 400},
        {"sync", "", 30, -1},
        {"launch", "Memcpy HtoD (Pageable -> Device)", 30, 430},
        {"copy", "Memcpy HtoD (Pageable -> Device)", 5, 440},
    };
    struct made_trace trace;
    make(&trace);
    tsmith_analysis *analysis = made_analysis(&trace, "advice", 9, NULL);
    const tsmith_report *report = tsmith_analysis_report(analysis, 0);
    const tsmith_report_table *advice = &report->tables[0];
    assert_null(tsmith_analysis_report(analysis, 1)); // what it rests on was not asked for
    for (size_t i = 0; i < sizeof EXPECTED / sizeof *EXPECTED; i++) {
        size_t row = 0;
        while (row < advice->row_count &&
               strcmp(made_cell(advice, row, "problem")->value.text, EXPECTED[i].problem) != 0)
            row++;
        assert_true(row < advice->row_count);
        assert_int_equal(made_cell(advice, row, "saves")->value.integer, EXPECTED[i].saves);
        assert_int_equal(made_cell(advice, row, "at")->known, EXPECTED[i].at >= 0);
        if (EXPECTED[i].at < 0)
            continue;
        assert_int_equal(made_cell(advice, row, "at")->value.integer, EXPECTED[i].at);
        assert_string_equal(made_cell(advice, row, "example")->value.text, EXPECTED[i].example);
    }
    for (size_t row = 0; row < advice->row_count; row++) {
        assert_int_equal(made_cell(advice, row, "rank")->value.integer, row + 1);
        if (row)
            assert_true(made_cell(advice, row - 1, "saves")->value.integer >=
                        made_cell(advice, row, "saves")->value.integer);
    }
    tsmith_analysis_destroy(analysis);
    made_trace_finish(&trace);
}

// One launching call of 600 ns in a trace of 40 quick launches, and a gap in which the host frees memory: the one call is
// no reason to launch less often, and who takes the host's time is named.
static void one_slow_call_is_not_many_launches(void **state) {
    (void)state;
    struct made_trace trace;
    made_trace_init(&trace);
    const uint32_t process = made_process(&trace, 1), device = made_device(&trace, "device");
    const uint32_t thread = made_track(&trace, TSMITH_TRACK_THREAD, process, 0, 0, "main");
    const uint32_t queue = made_track(&trace, TSMITH_TRACK_QUEUE, process, device, 0, "queue");
    for (uint32_t i = 0; i < 40; i++) {
        const int64_t at = 40 * (int64_t)i + (i >= 20 ? 600 : 0) + (i >= 30 ? 500 : 0);
        made_launch(&trace, thread, queue, i + 1, i == 20 ? at - 600 : at, i == 20 ? 602 : 2, at + 3, 10);
        trace.events[trace.count - 1].name = i == 20 ? "loaded" : "k";
    }
    made_event(&trace, TSMITH_KIND_API, thread, 40 * 30 + 600 + 20, 450)->name = "cudaFree";
    tsmith_analysis *analysis = made_analysis(&trace, "advice", 9, NULL);
    const tsmith_report *report = tsmith_analysis_report(analysis, 0);
    const tsmith_report_table *advice = &report->tables[0];
    int slow = -1, host = -1;
    for (size_t row = 0; row < advice->row_count; row++) {
        assert_string_not_equal(made_cell(advice, row, "problem")->value.text, "launch");
        slow = strcmp(made_cell(advice, row, "problem")->value.text, "slow_call") == 0 ? (int)row : slow;
        host = strcmp(made_cell(advice, row, "problem")->value.text, "host_bound") == 0 ? (int)row : host;
    }
    assert_true(slow >= 0 && host >= 0);
    assert_string_equal(made_cell(advice, (size_t)slow, "example")->value.text, "loaded");
    assert_true(is_between(made_cell(advice, (size_t)slow, "length")->value.integer, 600, 630));
    assert_non_null(strstr(report->tables[1].cells[2 * host + 1].value.text,
                           "The host spends 450 ns of it in cudaFree (1 call)"));
    tsmith_analysis_destroy(analysis);
    made_trace_finish(&trace);
}

// Whether any evidence has this text.
static bool has_evidence(struct made_trace *trace, const char *text) {
    tsmith_analysis *analysis = made_analysis(trace, "advice", 9, NULL);
    const tsmith_report *report = tsmith_analysis_report(analysis, 0);
    bool found = false;
    for (size_t row = 0; row < report->tables[1].row_count; row++)
        found |= strstr(made_cell(&report->tables[1], row, "evidence")->value.text, text) != NULL;
    tsmith_analysis_destroy(analysis);
    return found;
}

// Kernels 0..100 and 300..400 of one thread, which is in no call from 10 to 290, or captures a graph 150..170. A thread of its process
// compiles 120..160 and 150..200, and then 350..380, concurrently with a kernel; one of another process compiles 210..280. From 100 to 300
// the device has no work. If the processes are not known, neither is whose threads they are.
static void compilation_on_another_thread(void **state) {
    (void)state;
    enum { ELSEWHERE, THERE, CAPTURES, UNKNOWN, CASES };
    static const char *const texts[CASES] = {NULL, "For 80 ns of it another thread of the process compiles",
                                             "For 60 ns of it another thread of the process compiles", NULL};
    for (int how = 0; how < CASES; how++) {
        struct made_trace trace;
        made_trace_init(&trace);
        const uint32_t device = made_device(&trace, "device");
        const uint32_t process = how == UNKNOWN ? 0 : made_process(&trace, 1);
        const uint32_t other = how == UNKNOWN ? 0 : made_process(&trace, 2);
        const uint32_t compiles = how == ELSEWHERE ? other : process;
        const uint32_t thread = made_track(&trace, TSMITH_TRACK_THREAD, process, 0, 0, "main");
        const uint32_t worker = made_track(&trace, TSMITH_TRACK_THREAD, compiles, 0, 0, "worker");
        const uint32_t second = made_track(&trace, TSMITH_TRACK_THREAD, compiles, 0, 0, "second");
        const uint32_t stranger = made_track(&trace, TSMITH_TRACK_THREAD, other, 0, 0, "stranger");
        const uint32_t queue = made_track(&trace, TSMITH_TRACK_QUEUE, process, device, 0, "queue");
        made_launch(&trace, thread, queue, 1, 0, 1, 1, 99);
        made_launch(&trace, thread, queue, 2, 290, 10, 300, 100);
        made_event(&trace, TSMITH_KIND_COMPILE, worker, 120, 40);
        made_event(&trace, TSMITH_KIND_COMPILE, second, 150, 50);
        made_event(&trace, TSMITH_KIND_COMPILE, worker, 350, 30);
        made_event(&trace, TSMITH_KIND_COMPILE, stranger, 210, 70);
        if (how == CAPTURES) {
            made_event(&trace, TSMITH_KIND_API, thread, 150, 1)->name = "cudaStreamBeginCapture";
            made_event(&trace, TSMITH_KIND_API, thread, 169, 1)->name = "cudaStreamEndCapture";
        }
        assert_int_equal(has_evidence(&trace, "another thread"), texts[how] != NULL);
        if (texts[how])
            assert_true(has_evidence(&trace, texts[how]));
        made_trace_finish(&trace);
    }
}

static void the_finding_has_the_first_three(void **state) {
    (void)state;
    struct made_trace trace;
    make(&trace);
    tsmith_analysis *alone = made_analysis(&trace, "advice", 9, NULL),
                    *all = made_analysis(&trace, NULL, 9, NULL);
    const tsmith_report *report = tsmith_analysis_report(all, 0);
    assert_string_equal(report->name, "advice");
    assert_string_equal(report->finding, tsmith_analysis_report(alone, 0)->finding);
    const char *line = report->finding;
    for (size_t i = 0; i < 3; i++) {
        char number[4] = {(char)('1' + i), '.', ' ', 0};
        assert_non_null(line);
        assert_memory_equal(line, number, 3);
        const char *problem = made_cell(&report->tables[0], i, "problem")->value.text;
        assert_memory_equal(line + 3, problem, strlen(problem));
        line = strchr(line, '\n');
        line = line ? line + 1 : NULL;
    }
    assert_null(line);
    tsmith_analysis_destroy(alone);
    tsmith_analysis_destroy(all);
    made_trace_finish(&trace);
}

static void nothing_is_told_of_nothing(void **state) {
    (void)state;
    struct made_trace trace;
    made_trace_init(&trace);
    uint32_t process = made_process(&trace, 1);
    made_event(&trace, TSMITH_KIND_MARKER, made_track(&trace, TSMITH_TRACK_THREAD, process, 0, 0, "main"), 5,
               -1);
    tsmith_analysis *analysis = made_analysis(&trace, "advice", 9, NULL);
    const tsmith_report *report = tsmith_analysis_report(analysis, 0);
    assert_int_equal(report->tables[0].row_count, 0);
    assert_non_null(strstr(report->finding, "No saving is known"));
    tsmith_analysis_destroy(analysis);
    made_trace_finish(&trace);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(savings_are_the_times_by_hand), cmocka_unit_test(one_slow_call_is_not_many_launches),
        cmocka_unit_test(compilation_on_another_thread), cmocka_unit_test(the_finding_has_the_first_three),
        cmocka_unit_test(nothing_is_told_of_nothing),
    };
    return cmocka_run_group_tests_name("advice", tests, NULL, NULL);
}
