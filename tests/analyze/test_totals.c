// SPDX-License-Identifier: Apache-2.0
// The answer `kernels` from the totals of a file against the one from its events.
#include "support/random_trace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tracesmith/analyze.h"
#include "tracesmith/sbt.h"

static char path[] = "/tmp/tracesmith-totals-XXXXXX";

static tsmith_analysis *create(const char *name) {
    tsmith_analysis_options options = {.size = sizeof options, .names = &name, .name_count = 1};
    tsmith_analysis *analysis;
    assert_int_equal(tsmith_analysis_create(&options, &analysis, NULL), TSMITH_OK);
    return analysis;
}

static void carry(const struct made_trace *trace, tsmith_sink *sink) {
    tsmith_source *source = made_source(trace, 9, (struct random){4});
    assert_int_equal(tsmith_pump(source, sink, NULL, NULL, NULL), TSMITH_OK);
    tsmith_sink_destroy(sink);
    tsmith_source_destroy(source);
}

static tsmith_sbt *write_and_open(const struct made_trace *trace) {
    tsmith_sink *sink;
    tsmith_sbt *file;
    assert_int_equal(tsmith_sbt_writer_open(path, NULL, &sink, NULL), TSMITH_OK);
    carry(trace, sink);
    assert_int_equal(tsmith_sbt_open(path, &file, NULL), TSMITH_OK);
    return file;
}

static bool is_quantile(const char *column) {
    return strcmp(column, "median") == 0 || strcmp(column, "p99") == 0;
}

static void compare(const tsmith_report_table *events, const tsmith_report_table *totals) {
    assert_int_equal(events->row_count, totals->row_count);
    for (size_t i = 0; i < events->row_count * events->column_count; i++) {
        const tsmith_report_column *column = &events->columns[i % events->column_count];
        const tsmith_cell *a = &events->cells[i], *b = &totals->cells[i];
        if (is_quantile(column->name)) {
            assert_true(a->known);
            assert_false(b->known);
        } else if (column->type == TSMITH_CELL_TEXT) {
            assert_string_equal(a->value.text, b->value.text);
        } else {
            assert_int_equal(a->known, b->known);
            assert_memory_equal(&a->value, &b->value, sizeof a->value);
        }
    }
}

static void totals_say_what_events_say(void **state) {
    (void)state;
    static const char *const NAMES[] = {"a", "b", "c"};
    struct random random = {91};
    for (int round = 0; round < 20; round++) {
        struct made_trace trace;
        tsmith_sink *sink;
        random_trace(&trace, &random, 200);
        for (size_t i = 0; i < trace.count; i++)
            trace.events[i].name = NAMES[random_below(&random, 3)];
        uint32_t ledger = made_track(&trace, TSMITH_TRACK_LOSS, 1, 0, 0, "loss ledger");
        made_event(&trace, TSMITH_KIND_LOSS, ledger, 50, 30)->lost = 17;
        tsmith_analysis *events = create("kernels"), *totals = create("kernels");
        assert_int_equal(tsmith_analysis_sink(events, &sink), TSMITH_OK);
        carry(&trace, sink);
        tsmith_sbt *file = write_and_open(&trace);
        assert_int_equal(tsmith_analysis_read_totals(totals, file, NULL), TSMITH_OK);
        const tsmith_report *a = tsmith_analysis_report(events, 0), *b = tsmith_analysis_report(totals, 0);
        compare(&a->tables[0], &b->tables[0]);
        assert_string_equal(a->finding, b->finding);
        assert_int_equal(b->lost, 17);
        assert_int_equal(b->missing, a->missing);
        assert_int_equal(b->window.to, a->window.to);
        assert_int_equal(b->note_count, 1); // states that it is from totals
        tsmith_analysis_destroy(events);
        tsmith_analysis_destroy(totals);
        tsmith_sbt_close(file);
        made_trace_finish(&trace);
    }
}

static void only_kernels_of_the_whole_trace_can_use_them(void **state) {
    (void)state;
    struct made_trace trace;
    struct random random = {92};
    random_trace(&trace, &random, 20);
    tsmith_sbt *file = write_and_open(&trace);
    tsmith_analysis *idle = create("idle"), *advice = create("advice"), *windowed;
    const char *name = "kernels";
    tsmith_analysis_options options = {
        .size = sizeof options, .names = &name, .name_count = 1, .has_window = 1, .from = 0, .to = 10};
    assert_int_equal(tsmith_analysis_create(&options, &windowed, NULL), TSMITH_OK);
    assert_int_equal(tsmith_analysis_read_totals(idle, file, NULL), TSMITH_ERROR_STATE);
    assert_int_equal(tsmith_analysis_read_totals(advice, file, NULL), TSMITH_ERROR_STATE);
    assert_int_equal(tsmith_analysis_read_totals(windowed, file, NULL), TSMITH_ERROR_STATE);
    tsmith_analysis_destroy(idle);
    tsmith_analysis_destroy(advice);
    tsmith_analysis_destroy(windowed);
    tsmith_sbt_close(file);
    made_trace_finish(&trace);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(totals_say_what_events_say),
        cmocka_unit_test(only_kernels_of_the_whole_trace_can_use_them),
    };
    int fd = mkstemp(path);
    if (fd < 0)
        return 1;
    (void)close(fd);
    int result = cmocka_run_group_tests_name("totals", tests, NULL, NULL);
    (void)unlink(path);
    return result;
}
