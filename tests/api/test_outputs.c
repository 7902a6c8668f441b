// SPDX-License-Identifier: Apache-2.0
// Output into a function: the same bytes as into a file, its status is what the caller gets, and it is not called again
// after it failed.
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/made_trace.h"
#include "support/test.h"
#include "tracesmith/tracesmith.h"

struct taken {
    char *bytes;
    size_t length;
    size_t most; // fails past this many bytes
    tsmith_status failure;
    bool failed, called_after_failure, called_for_nothing;
};

static tsmith_status take(void *context, const void *bytes, size_t size) {
    struct taken *taken = context;
    taken->called_after_failure |= taken->failed;
    taken->called_for_nothing |= size == 0;
    taken->failed |= taken->failure != TSMITH_OK && taken->length + size > taken->most;
    if (taken->failed)
        return taken->failure;
    taken->bytes = realloc(taken->bytes, taken->length + size + 1);
    assert_non_null(taken->bytes);
    memcpy(taken->bytes + taken->length, bytes, size);
    taken->length += size;
    return TSMITH_OK;
}

static tsmith_output output_of(struct taken *taken) {
    return (tsmith_output){take, taken};
}

static void make(struct made_trace *made, int launches) {
    made_trace_init(made);
    const uint32_t process = made_process(made, 1), device = made_device(made, "device");
    const uint32_t thread = made_track(made, TSMITH_TRACK_THREAD, process, 0, 0, "thread");
    const uint32_t queue = made_track(made, TSMITH_TRACK_QUEUE, process, device, 0, "queue");
    for (int i = 0; i < launches; i++)
        made_launch(made, thread, queue, (uint64_t)i + 1, 100 * i, 10, 100 * i + 20, 50);
}

static tsmith_status pump_into(const struct made_trace *made, tsmith_sink *sink, tsmith_error *error) {
    tsmith_source *source = made_source(made, 16, (struct random){1});
    const tsmith_status status = tsmith_pump(source, sink, NULL, NULL, error);
    tsmith_source_destroy(source);
    tsmith_sink_destroy(sink);
    return status;
}

static void assert_same(FILE *file, struct taken *taken) {
    char *bytes = malloc(taken->length + 2);
    assert_non_null(bytes);
    assert_int_equal(fflush(file), 0);
    assert_int_equal(pread(fileno(file), bytes, taken->length + 1, 0), (ssize_t)taken->length);
    if (taken->length) // a format may write nothing for these events
        assert_memory_equal(bytes, taken->bytes, taken->length);
    assert_false(taken->called_for_nothing);
    free(bytes);
    free(taken->bytes);
    assert_int_equal(fclose(file), 0);
}

static void every_export_format_is_the_same(void **state) {
    struct made_trace made;
    (void)state;
    make(&made, 100);
    for (int gzip = 0; gzip < 2; gzip++)
        for (unsigned i = 0; tsmith_export_format_name(i); i++) {
            const char *format = tsmith_export_format_name(i);
            const tsmith_export_options options = {.size = sizeof options, .gzip = gzip};
            struct taken taken = {0};
            const tsmith_output output = output_of(&taken);
            tsmith_sink *sink;
            tsmith_status status = tsmith_export_open_output(format, &output, &options, &sink, NULL);
            if (strcmp(format, "otf2") == 0) {
                assert_true(status == TSMITH_ERROR_INVALID_ARGUMENT || status == TSMITH_ERROR_MISSING);
                continue;
            }
            assert_int_equal(status, TSMITH_OK);
            assert_int_equal(pump_into(&made, sink, NULL), TSMITH_OK);
            FILE *file = tmpfile();
            assert_non_null(file);
            assert_int_equal(tsmith_export_open_fd(format, fileno(file), &options, &sink, NULL), TSMITH_OK);
            assert_int_equal(pump_into(&made, sink, NULL), TSMITH_OK);
            assert_same(file, &taken);
        }
    made_trace_finish(&made);
}

static void an_sbt_file_is_the_same(void **state) {
    struct made_trace made;
    struct taken taken = {0};
    const tsmith_output output = output_of(&taken);
    tsmith_sink *sink;
    (void)state;
    make(&made, 1000);
    assert_int_equal(tsmith_sbt_writer_open_output(&output, NULL, &sink, NULL), TSMITH_OK);
    assert_true(taken.length > 0);
    assert_int_equal(pump_into(&made, sink, NULL), TSMITH_OK);
    FILE *file = tmpfile();
    assert_non_null(file);
    assert_int_equal(tsmith_sbt_writer_open_fd(fileno(file), NULL, &sink, NULL), TSMITH_OK);
    assert_int_equal(pump_into(&made, sink, NULL), TSMITH_OK);
    assert_same(file, &taken);
    made_trace_finish(&made);
}

// A status above 0 is no failure anywhere else, and must not look like success or like the end here.
static const struct {
    tsmith_status given, expected;
} FAILURES[] = {{TSMITH_ERROR_BUSY, TSMITH_ERROR_BUSY},
                {TSMITH_ERROR_NO_SPACE, TSMITH_ERROR_NO_SPACE},
                {TSMITH_END, TSMITH_ERROR_IO}};

static void a_failure_of_a_trace_reaches_the_caller(void **state) {
    struct made_trace made;
    (void)state;
    make(&made, 20000); // more than is held back
    for (size_t i = 0; i < sizeof FAILURES / sizeof *FAILURES; i++)
        for (int sbt = 0; sbt < 2; sbt++) {
            struct taken taken = {.most = 8192, .failure = FAILURES[i].given};
            const tsmith_output output = output_of(&taken);
            tsmith_error error;
            tsmith_sink *sink;
            assert_int_equal(sbt ? tsmith_sbt_writer_open_output(&output, NULL, &sink, &error)
                                 : tsmith_export_open_output("csv", &output, NULL, &sink, &error),
                             TSMITH_OK);
            assert_int_equal(pump_into(&made, sink, &error), FAILURES[i].expected);
            assert_int_equal(error.status, FAILURES[i].expected);
            assert_non_null(strstr(error.message, tsmith_status_text(FAILURES[i].expected)));
            assert_true(taken.failed);
            assert_false(taken.called_after_failure);
            free(taken.bytes);
        }
    made_trace_finish(&made);
}

// What the function took before it failed is a trace that ends early.
static void what_was_taken_is_readable(void **state) {
    struct made_trace made;
    struct taken taken = {.most = 16384, .failure = TSMITH_ERROR_NO_SPACE};
    const tsmith_output output = output_of(&taken);
    tsmith_sbt_summary summary = {.size = sizeof summary};
    tsmith_sink *sink;
    tsmith_sbt *trace;
    (void)state;
    make(&made, 20000);
    assert_int_equal(tsmith_sbt_writer_open_output(&output, NULL, &sink, NULL), TSMITH_OK);
    assert_int_equal(pump_into(&made, sink, NULL), TSMITH_ERROR_NO_SPACE);
    FILE *file = tmpfile();
    assert_non_null(file);
    assert_int_equal(fwrite(taken.bytes, 1, taken.length, file), taken.length);
    assert_int_equal(fflush(file), 0);
    assert_int_equal(tsmith_sbt_open_fd(fileno(file), "taken", &trace, NULL), TSMITH_OK);
    assert_int_equal(tsmith_sbt_summarize(trace, &summary, NULL), TSMITH_OK);
    assert_false(summary.complete);
    assert_int_equal(summary.damaged_frames, 0);
    assert_true(summary.events > 0);
    tsmith_sbt_close(trace);
    assert_int_equal(fclose(file), 0);
    free(taken.bytes);
    made_trace_finish(&made);
}

static void an_output_needs_a_function(void **state) {
    const tsmith_output none = {NULL, NULL};
    const tsmith_report report = {.name = ""};
    tsmith_sink *sink;
    (void)state;
    assert_int_equal(tsmith_sbt_writer_open_output(&none, NULL, &sink, NULL), TSMITH_ERROR_INVALID_ARGUMENT);
    assert_int_equal(tsmith_sbt_writer_open_output(NULL, NULL, &sink, NULL), TSMITH_ERROR_INVALID_ARGUMENT);
    assert_int_equal(tsmith_export_open_output("csv", &none, NULL, &sink, NULL),
                     TSMITH_ERROR_INVALID_ARGUMENT);
    assert_int_equal(tsmith_report_write_json_to(&report, &none, NULL), TSMITH_ERROR_INVALID_ARGUMENT);
}

// ---- what is printed

static tsmith_status print(const tsmith_report *report, int form, FILE *file, const tsmith_output *output,
                           tsmith_error *error) {
    switch (form) {
    case 0:
        return file ? tsmith_report_write_text(report, 0, 0, file, error)
                    : tsmith_report_write_text_to(report, 0, 0, output, error);
    case 1:
        return file ? tsmith_report_write_json(report, file, error)
                    : tsmith_report_write_json_to(report, output, error);
    default:
        return file ? tsmith_report_write_csv(report, file, error)
                    : tsmith_report_write_csv_to(report, output, error);
    }
}

static void check_printed(const tsmith_report *report, int form) {
    struct taken taken = {0};
    tsmith_output output = output_of(&taken);
    FILE *file = tmpfile();
    assert_non_null(file);
    assert_int_equal(print(report, form, file, NULL, NULL), TSMITH_OK);
    assert_int_equal(print(report, form, NULL, &output, NULL), TSMITH_OK);
    assert_true(taken.length > 0 || (form == 2 && report->table_count == 0)); // CSV has the tables only
    const bool empty = taken.length == 0;
    assert_same(file, &taken);
    for (size_t i = 0; !empty && i < sizeof FAILURES / sizeof *FAILURES; i++) {
        struct taken full = {.failure = FAILURES[i].given};
        tsmith_error error;
        output = output_of(&full);
        assert_int_equal(print(report, form, NULL, &output, &error), FAILURES[i].expected);
        assert_int_equal(error.status, FAILURES[i].expected);
        assert_false(full.called_after_failure);
    }
}

static void every_report_is_the_same(void **state) {
    struct made_trace made;
    tsmith_analysis *analysis;
    tsmith_sink *sink;
    (void)state;
    make(&made, 100);
    assert_int_equal(tsmith_analysis_create(NULL, &analysis, NULL), TSMITH_OK);
    assert_int_equal(tsmith_analysis_sink(analysis, &sink), TSMITH_OK);
    assert_int_equal(pump_into(&made, sink, NULL), TSMITH_OK);
    size_t reports = 0;
    for (const tsmith_report *report; (report = tsmith_analysis_report(analysis, reports)); reports++)
        for (int form = 0; form < 3; form++)
            check_printed(report, form);
    assert_true(reports > 10);
    tsmith_analysis_destroy(analysis);
    made_trace_finish(&made);
}

static void gates_are_the_same(void **state) {
    const tsmith_gate gates[2] = {{.size = sizeof *gates, .gate = "idle<1%", .passed = 1},
                                  {.size = sizeof *gates, .gate = "launch_count<=3", .passed = 0}};
    struct taken taken = {0}, full = {.failure = TSMITH_ERROR_LIMIT};
    const tsmith_output output = output_of(&taken), fails = output_of(&full);
    FILE *file = tmpfile();
    (void)state;
    assert_non_null(file);
    assert_int_equal(tsmith_gates_write_junit(gates, 2, file, NULL), TSMITH_OK);
    assert_int_equal(tsmith_gates_write_junit_to(gates, 2, &output, NULL), TSMITH_OK);
    assert_same(file, &taken);
    assert_int_equal(tsmith_gates_write_junit_to(gates, 2, &fails, NULL), TSMITH_ERROR_LIMIT);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_export_format_is_the_same),
        cmocka_unit_test(an_sbt_file_is_the_same),
        cmocka_unit_test(a_failure_of_a_trace_reaches_the_caller),
        cmocka_unit_test(what_was_taken_is_readable),
        cmocka_unit_test(an_output_needs_a_function),
        cmocka_unit_test(every_report_is_the_same),
        cmocka_unit_test(gates_are_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
