// SPDX-License-Identifier: Apache-2.0
// The rule for structs that begin with their size, asked of every function that takes one: an old program's struct is
// shorter, a newer program's is longer, and an option that this library does not know is never ignored.
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/sized.h"
#include "support/made_trace.h"
#include "tracesmith/trace_report.h"
#include "tracesmith/tracesmith.h"

enum { MORE = 24, ROOM = 1024 };

static char folder[] = "/tmp/tracesmith-sizes-XXXXXX";
static char json_path[64], sbt_path[64];
static int null_fd;
static struct made_trace made;
static tsmith_timeline *timeline;
static tsmith_graph *graph;
static tsmith_simulation *simulation;

// ---- what takes options: each makes something of them, and gives it back

static tsmith_status take_analysis(const void *options, tsmith_error *error) {
    tsmith_analysis *out = NULL;
    const tsmith_status status = tsmith_analysis_create(options, &out, error);
    tsmith_analysis_destroy(out);
    return status;
}

static tsmith_status take_arrow(const void *options, tsmith_error *error) {
    struct ArrowArrayStream out;
    tsmith_source *source = made_source(&made, 16, (struct random){1});
    const tsmith_status status = tsmith_arrow_source(source, options, &out, error);
    if (status == TSMITH_OK)
        out.release(&out);
    else
        tsmith_source_destroy(source);
    return status;
}

static tsmith_status take_capture(const void *options, tsmith_error *error) {
    tsmith_capture *out = NULL;
    const tsmith_status status = tsmith_capture_create(options, &out, error);
    tsmith_capture_destroy(out);
    return status;
}

static tsmith_status take_diff(const void *options, tsmith_error *error) {
    tsmith_diff *out = NULL;
    const tsmith_status status = tsmith_diff_create(options, &out, error);
    tsmith_diff_destroy(out);
    return status;
}

static tsmith_status take_export(const void *options, tsmith_error *error) {
    tsmith_sink *out = NULL;
    const tsmith_status status = tsmith_export_open_fd("csv", null_fd, options, &out, error);
    tsmith_sink_destroy(out);
    return status;
}

static tsmith_status take_flight(const void *options, tsmith_error *error) {
    tsmith_flight *out = NULL;
    const tsmith_status status = tsmith_flight_create(options, &out, error);
    tsmith_flight_destroy(out);
    return status;
}

static tsmith_status take_import(const void *options, tsmith_error *error) {
    tsmith_source *out = NULL;
    const tsmith_status status = tsmith_import_open(json_path, options, &out, error);
    tsmith_source_destroy(out);
    return status;
}

static tsmith_status take_on_demand(const void *options, tsmith_error *error) {
    return tsmith_on_demand_ask("/nowhere", options, error);
}

static tsmith_status take_instructions(const void *options, tsmith_error *error) {
    tsmith_instructions *out = NULL;
    return tsmith_instructions_run(NULL, options, &out, error);
}

static tsmith_status take_permute(const void *options, tsmith_error *error) {
    tsmith_permutation *out = NULL;
    return tsmith_plan_permute(NULL, options, &out, error);
}

static tsmith_status take_replay(const void *options, tsmith_error *error) {
    tsmith_replay *out = NULL;
    return tsmith_replay_run(NULL, options, &out, error);
}

static tsmith_status take_minimize(const void *options, tsmith_error *error) {
    tsmith_minimized out = {.size = sizeof out};
    return tsmith_replay_minimize(NULL, options, &out, error);
}

static tsmith_status take_write(const void *options, tsmith_error *error) {
    tsmith_sink *out = NULL;
    const tsmith_status status = tsmith_sbt_writer_open_fd(null_fd, options, &out, error);
    tsmith_sink_destroy(out);
    return status;
}

static tsmith_status take_scan(const void *options, tsmith_error *error) {
    tsmith_sbt *trace = NULL;
    tsmith_source *out = NULL;
    assert_int_equal(tsmith_sbt_open(sbt_path, &trace, NULL), TSMITH_OK);
    const tsmith_status status = tsmith_sbt_scan(trace, options, &out, error);
    tsmith_source_destroy(out);
    tsmith_sbt_close(trace);
    return status;
}

// A session needs the path of its file.
static tsmith_status take_session(const void *options, tsmith_error *error) {
    union {
        char bytes[ROOM];
        tsmith_session_options options;
    } copy = {{0}};
    char path[sizeof folder + 16];
    tsmith_session *out = NULL;
    size_t size;
    memcpy(&size, options, sizeof size);
    memcpy(copy.bytes, options, size > sizeof copy.options ? size : sizeof copy.options);
    (void)snprintf(path, sizeof path, "%s/session.sbt", folder);
    if (size >= offsetof(tsmith_session_options, path) + sizeof copy.options.path)
        copy.options.path = path;
    const tsmith_status status = tsmith_session_start(&copy.options, &out, error);
    if (out)
        assert_int_equal(tsmith_session_stop(out, NULL, NULL), TSMITH_OK);
    return status;
}

static tsmith_status take_change(const void *options, tsmith_error *error) {
    return tsmith_simulation_change(simulation, options, NULL, error);
}

static tsmith_status take_simulation(const void *options, tsmith_error *error) {
    tsmith_simulated out = {.size = sizeof out};
    return tsmith_simulation_run(simulation, options, &out, error);
}

static tsmith_status take_symbolize(const void *options, tsmith_error *error) {
    tsmith_dictionary *dictionary;
    assert_int_equal(tsmith_dictionary_create(&dictionary), TSMITH_OK);
    const tsmith_status status = tsmith_dictionary_symbolize(dictionary, options, NULL, error);
    tsmith_dictionary_destroy(dictionary);
    return status;
}

static tsmith_status take_timeline(const void *options, tsmith_error *error) {
    tsmith_source *source = made_source(&made, 16, (struct random){1});
    tsmith_timeline *out = NULL;
    const tsmith_status status = tsmith_timeline_read(source, options, &out, error);
    tsmith_timeline_destroy(out);
    tsmith_source_destroy(source);
    return status;
}

static tsmith_status put_nowhere(void *context, const void *bytes, size_t size) {
    (void)context;
    (void)bytes;
    (void)size;
    return TSMITH_OK;
}

static tsmith_status take_report(const void *options, tsmith_error *error) {
    const tsmith_output output = {put_nowhere, NULL};
    tsmith_trace *trace = NULL;
    tsmith_status status = tsmith_trace_open(sbt_path, NULL, &trace, error);
    if (status == TSMITH_OK)
        status = tsmith_trace_report_write(trace, options, &output, error);
    tsmith_trace_close(trace);
    return status;
}

static tsmith_status take_trace(const void *options, tsmith_error *error) {
    tsmith_trace *out = NULL;
    const tsmith_status status = tsmith_trace_open(sbt_path, options, &out, error);
    tsmith_trace_close(out);
    return status;
}

static tsmith_status take_watch(const void *options, tsmith_error *error) {
    tsmith_watch *out = NULL;
    const tsmith_status status = tsmith_watch_create(options, &out, error);
    tsmith_watch_destroy(out);
    return status;
}

static tsmith_status take_host_sampler(const void *options, tsmith_error *error) {
    tsmith_host_sampler *out = NULL;
    const tsmith_status status = tsmith_host_sampler_create(options, &out, error);
    tsmith_host_sampler_destroy(out);
    return status;
}

static tsmith_status take_xray(const void *options, tsmith_error *error) {
    tsmith_xray *out = NULL;
    const tsmith_status status = tsmith_xray_create(options, &out, error);
    tsmith_xray_destroy(out);
    return status;
}

// There is no such trace: only what is refused before it is opened can be asked.
static tsmith_status take_split(const void *options, tsmith_error *error) {
    return tsmith_trace_split("/nonexistent/trace.sbt", "x.%r.sbt", options, NULL, error);
}

// Every public struct of options, and how its function answers here: RUNS when it needs nothing that a machine may lack,
// MAY when the machine decides, REFUSES when it needs a device: then only what is refused before can be asked.
enum answer { RUNS, MAY, REFUSES };
static const struct options_struct {
    const char *type;
    size_t size;
    tsmith_status (*take)(const void *options, tsmith_error *error);
    enum answer answer;
} OPTIONS[] = {
#define OPTIONS_STRUCT(type, name, answer)                                                                   \
    { #type, sizeof(type), take_##name, answer }
    OPTIONS_STRUCT(tsmith_analysis_options, analysis, RUNS),
    OPTIONS_STRUCT(tsmith_capture_options, capture, RUNS),
    OPTIONS_STRUCT(tsmith_change, change, RUNS),
    OPTIONS_STRUCT(tsmith_diff_options, diff, RUNS),
    OPTIONS_STRUCT(tsmith_export_options, export, RUNS),
    OPTIONS_STRUCT(tsmith_flight_options, flight, RUNS),
    OPTIONS_STRUCT(tsmith_host_sampler_options, host_sampler, RUNS),
    OPTIONS_STRUCT(tsmith_on_demand_request, on_demand, REFUSES),
    OPTIONS_STRUCT(tsmith_arrow_options, arrow, RUNS),
    OPTIONS_STRUCT(tsmith_import_options, import, RUNS),
    OPTIONS_STRUCT(tsmith_instructions_options, instructions, REFUSES),
    OPTIONS_STRUCT(tsmith_minimize_options, minimize, REFUSES),
    OPTIONS_STRUCT(tsmith_permute_options, permute, REFUSES),
    OPTIONS_STRUCT(tsmith_replay_options, replay, REFUSES),
    OPTIONS_STRUCT(tsmith_sbt_write_options, write, RUNS),
    OPTIONS_STRUCT(tsmith_scan, scan, RUNS),
    OPTIONS_STRUCT(tsmith_session_options, session, MAY),
    OPTIONS_STRUCT(tsmith_simulation_options, simulation, RUNS),
    OPTIONS_STRUCT(tsmith_split_options, split, MAY),
    OPTIONS_STRUCT(tsmith_symbolize_options, symbolize, RUNS),
    OPTIONS_STRUCT(tsmith_timeline_options, timeline, RUNS),
    OPTIONS_STRUCT(tsmith_trace_options, trace, RUNS),
    OPTIONS_STRUCT(tsmith_watch_options, watch, MAY),
    OPTIONS_STRUCT(tsmith_trace_report_options, report, RUNS),
    OPTIONS_STRUCT(tsmith_xray_options, xray, RUNS),
};
enum { OPTIONS_COUNT = sizeof OPTIONS / sizeof OPTIONS[0] };

// Results, which the library fills up to the caller's size.
static const char *const RESULTS[] = {
    "tsmith_agent_option_description",
    "tsmith_bounds",
    "tsmith_attach_report",
    "tsmith_capture_completion",
    "tsmith_capture_left",
    "tsmith_combine_result",
    "tsmith_dependency",
    "tsmith_emit_file",
    "tsmith_emit_summary",
    "tsmith_flight_summary",
    "tsmith_gate",
    "tsmith_hazard",
    "tsmith_host_sampler_totals",
    "tsmith_instruction",
    "tsmith_instructions_finding",
    "tsmith_instructions_launch",
    "tsmith_join_result",
    "tsmith_launch",
    "tsmith_live_totals",
    "tsmith_merge_result",
    "tsmith_minimized",
    "tsmith_needs",
    "tsmith_permutation_summary",
    "tsmith_plan_summary",
    "tsmith_recorded_source",
    "tsmith_recording_refusal",
    "tsmith_recording_summary",
    "tsmith_replay_culprit",
    "tsmith_replay_extent",
    "tsmith_replay_mapping",
    "tsmith_replay_time",
    "tsmith_sbt_event_frame",
    "tsmith_sbt_recovery",
    "tsmith_sbt_summary",
    "tsmith_session_statistics",
    "tsmith_simulated",
    "tsmith_split_result",
    "tsmith_symbolize_counts",
    "tsmith_tile",
    "tsmith_topology_node",
    "tsmith_topology_nvlink",
    "tsmith_topology_path",
    "tsmith_watch_totals",
};

// ---- tests

// A struct of `size` bytes in a page's worth of its own heap memory: reading past it is seen by a sanitizer.
static tsmith_status take(const struct options_struct *options, size_t size, int last, tsmith_error *error) {
    char *given = calloc(1, size < sizeof size ? sizeof size : size);
    assert_non_null(given);
    memcpy(given, &size, sizeof size);
    if (last)
        given[size - 1] = (char)last;
    *error = (tsmith_error){0};
    const tsmith_status status = options->take(given, error);
    free(given);
    return status;
}

static void accepts(const struct options_struct *options, size_t size) {
    tsmith_error error;
    if (options->answer == REFUSES)
        return;
    const tsmith_status status = take(options, size, 0, &error);
    if (options->answer == RUNS ? status != TSMITH_OK : strstr(error.message, options->type) != NULL)
        fail_msg("%s of %zu bytes: %s: %s", options->type, size, tsmith_status_name(status), error.message);
}

static void shorter_exact_and_longer_are_accepted(void **state) {
    (void)state;
    for (size_t i = 0; i < OPTIONS_COUNT; i++) {
        accepts(&OPTIONS[i], OPTIONS[i].size);
        accepts(&OPTIONS[i], OPTIONS[i].size + MORE);
        if (OPTIONS[i].take != take_session) // it copies what it is given
            accepts(&OPTIONS[i], sizeof(size_t));
    }
}

static void an_unknown_option_is_refused(void **state) {
    (void)state;
    for (size_t i = 0; i < OPTIONS_COUNT; i++)
        for (size_t more = 1; more <= MORE; more += MORE - 1) {
            const struct options_struct *options = &OPTIONS[i];
            const size_t at = options->size + more - 1;
            tsmith_error error;
            char byte[32];
            (void)snprintf(byte, sizeof byte, "byte %zu of ", at);
            if (take(options, options->size + more, 1, &error) != TSMITH_ERROR_INVALID_ARGUMENT ||
                !strstr(error.message, options->type) || !strstr(error.message, byte) || error.offset != at)
                fail_msg("%s with an unknown byte %zu: %s", options->type, at, error.message);
        }
}

static void a_size_that_was_forgotten_is_refused(void **state) {
    (void)state;
    for (size_t i = 0; i < OPTIONS_COUNT; i++) {
        tsmith_error error;
        if (OPTIONS[i].take == take_session)
            continue;
        assert_int_equal(take(&OPTIONS[i], 0, 0, &error), TSMITH_ERROR_INVALID_ARGUMENT);
        assert_non_null(strstr(error.message, OPTIONS[i].type));
    }
}

struct result {
    size_t size;
    uint64_t first, second;
};

static void a_result_is_filled_up_to_its_size(void **state) {
    const struct result from = {999, 1, 2};
    (void)state;
    for (size_t size = 0; size <= sizeof from + MORE; size++) {
        unsigned char *out = malloc(ROOM);
        struct result got = {0};
        const bool holds = size >= sizeof size;
        const size_t filled = size < sizeof from ? size : sizeof from;
        assert_non_null(out);
        memset(out, 0xee, ROOM);
        memcpy(out, &size, sizeof size);
        sized_give_bytes(&from, out, sizeof from);
        memcpy(&got, out, filled);
        assert_int_equal(memcmp(out, holds ? &filled : &size, sizeof size), 0);
        if (holds)
            assert_int_equal(
                memcmp(out + sizeof size, (const char *)&from + sizeof size, filled - sizeof size), 0);
        for (size_t i = holds ? filled : sizeof size; i < ROOM; i++)
            assert_int_equal(out[i], holds && i < size ? 0 : 0xee);
        free(out);
    }
}

static void a_result_of_the_api_keeps_the_rule(void **state) {
    struct {
        tsmith_symbolize_counts counts;
        uint64_t newer, guard;
    } out = {{.size = sizeof out.counts + sizeof out.newer}, 7, 7};
    tsmith_dictionary *dictionary;
    (void)state;
    assert_int_equal(tsmith_dictionary_create(&dictionary), TSMITH_OK);
    assert_int_equal(tsmith_dictionary_symbolize(dictionary, NULL, &out.counts, NULL), TSMITH_OK);
    assert_int_equal(out.counts.size, sizeof out.counts);
    assert_int_equal(out.newer, 0);
    assert_int_equal(out.guard, 7);
    tsmith_dictionary_destroy(dictionary);
}

// ---- results of the API, each filled for a program that is older or newer than the library

static tsmith_status fill_launch(void *out) {
    (void)tsmith_launch_find(0, out);
    return TSMITH_OK;
}

static tsmith_status fill_simulated(void *out) {
    return tsmith_simulation_run(simulation, NULL, out, NULL);
}

static tsmith_status fill_bounds(void *out) {
    return tsmith_simulation_bounds(simulation, NULL, out, NULL);
}

static tsmith_status fill_statistics(void *out) {
    tsmith_session_statistics_get(NULL, out);
    return TSMITH_OK;
}

static tsmith_status fill_summary(void *out) {
    tsmith_sbt *trace = NULL;
    assert_int_equal(tsmith_sbt_open(sbt_path, &trace, NULL), TSMITH_OK);
    const tsmith_status status = tsmith_sbt_summarize(trace, out, NULL);
    tsmith_sbt_close(trace);
    return status;
}

static tsmith_status fill_recovery(void *out) {
    char path[sizeof folder + 16];
    (void)snprintf(path, sizeof path, "%s/new.sbt", folder);
    const tsmith_status status = tsmith_sbt_recover(sbt_path, path, out, NULL);
    (void)unlink(path);
    return status;
}

static const struct result_struct {
    const char *type;
    size_t size;
    tsmith_status (*fill)(void *out);
} FILLED[] = {
    {"tsmith_bounds", sizeof(tsmith_bounds), fill_bounds},
    {"tsmith_launch", sizeof(tsmith_launch), fill_launch},
    {"tsmith_sbt_recovery", sizeof(tsmith_sbt_recovery), fill_recovery},
    {"tsmith_sbt_summary", sizeof(tsmith_sbt_summary), fill_summary},
    {"tsmith_session_statistics", sizeof(tsmith_session_statistics), fill_statistics},
    {"tsmith_simulated", sizeof(tsmith_simulated), fill_simulated},
};

static void check_filled(const struct result_struct *result, size_t size) {
    union {
        unsigned char bytes[4 * ROOM];
        size_t size;
    } *out = malloc(sizeof *out), *whole = calloc(1, sizeof *whole);
    const size_t filled = size < result->size ? size : result->size;
    assert_true(out && whole && size <= sizeof *out);
    memset(out, 0xee, sizeof *out);
    out->size = size;
    whole->size = result->size;
    assert_int_equal(result->fill(out), TSMITH_OK);
    assert_int_equal(result->fill(whole), TSMITH_OK);
    assert_int_equal(out->size, filled);
    if (memcmp(out->bytes + sizeof size, whole->bytes + sizeof size, filled - sizeof size) != 0)
        fail_msg("%s of %zu bytes has other values than the whole", result->type, size);
    for (size_t i = filled; i < sizeof *out; i++)
        if (out->bytes[i] != (i < size ? 0 : 0xee))
            fail_msg("%s of %zu bytes: byte %zu is %#x", result->type, size, i, out->bytes[i]);
    free(out);
    free(whole);
}

static void results_are_filled_for_older_and_newer_programs(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof FILLED / sizeof FILLED[0]; i++) {
        check_filled(&FILLED[i], FILLED[i].size);
        check_filled(&FILLED[i], FILLED[i].size + MORE);
        check_filled(&FILLED[i], 2 * sizeof(uint64_t));
        check_filled(&FILLED[i], sizeof(size_t));
    }
}

static bool is_listed(const char *type) {
    for (size_t i = 0; i < OPTIONS_COUNT; i++)
        if (strcmp(OPTIONS[i].type, type) == 0)
            return true;
    for (size_t i = 0; i < sizeof RESULTS / sizeof RESULTS[0]; i++)
        if (strcmp(RESULTS[i], type) == 0)
            return true;
    return false;
}

// The headers themselves show which structs exist: one whose first member is its size is in a list above.
static void the_lists_have_every_struct(void **state) {
    const char *root = getenv("TRACESMITH_SOURCE_DIR");
    char command[512], line[512], type[128] = "";
    size_t found = 0;
    bool first = false;
    (void)state;
    if (!root)
        skip();
    char pattern[512];
    (void)snprintf(pattern, sizeof pattern, "%s/include/tracesmith/tracesmith.h", root);
    FILE *all = fopen(pattern, "re");
    assert_non_null(all);
    while (fgets(command, sizeof command, all)) {
        char header[128];
        if (sscanf(command, "#include \"%100[a-z/_.]\"", header) != 1)
            continue;
        (void)snprintf(pattern, sizeof pattern, "%s/include/%s", root, header);
        FILE *file = fopen(pattern, "re");
        assert_non_null(file);
        while (fgets(line, sizeof line, file)) {
            if (first && strstr(line, " size_t size;")) {
                found++;
                if (!is_listed(type))
                    fail_msg("%s of %s is in no list of this test", type, header);
            }
            first = sscanf(line, "typedef struct %100[a-z0-9_] {", type) == 1;
        }
        assert_int_equal(fclose(file), 0);
    }
    assert_int_equal(fclose(all), 0);
    assert_int_equal(found, OPTIONS_COUNT + sizeof RESULTS / sizeof RESULTS[0]);
}

// ---- what the functions above need

static int make(void **state) {
    static const char json[] =
        "{\"traceEvents\":[{\"ph\":\"X\",\"name\":\"n\",\"pid\":1,\"tid\":1,\"ts\":1,\"dur\":1}]}";
    tsmith_sink *sink;
    (void)state;
    assert_non_null(mkdtemp(folder));
    (void)snprintf(json_path, sizeof json_path, "%s/a.json", folder);
    (void)snprintf(sbt_path, sizeof sbt_path, "%s/a.sbt", folder);
    null_fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
    FILE *file = fopen(json_path, "we");
    assert_non_null(file);
    assert_true(fputs(json, file) >= 0 && fclose(file) == 0 && null_fd >= 0);
    made_trace_init(&made);
    const uint32_t process = made_process(&made, 1), device = made_device(&made, "device");
    const uint32_t thread = made_track(&made, TSMITH_TRACK_THREAD, process, 0, 0, "thread");
    const uint32_t queue = made_track(&made, TSMITH_TRACK_QUEUE, process, device, 0, "queue");
    made_launch(&made, thread, queue, 1, 100, 10, 200, 50);
    tsmith_source *source = made_source(&made, 16, (struct random){1});
    assert_int_equal(tsmith_sbt_writer_open(sbt_path, NULL, &sink, NULL), TSMITH_OK);
    assert_int_equal(tsmith_pump(source, sink, NULL, NULL, NULL), TSMITH_OK);
    tsmith_sink_destroy(sink);
    tsmith_source_destroy(source);
    source = made_source(&made, 16, (struct random){1});
    assert_int_equal(tsmith_timeline_read(source, NULL, &timeline, NULL), TSMITH_OK);
    tsmith_source_destroy(source);
    assert_int_equal(tsmith_graph_create(timeline, made.dictionary, &graph, NULL), TSMITH_OK);
    assert_int_equal(tsmith_simulation_create(timeline, graph, made.dictionary, &simulation, NULL),
                     TSMITH_OK);
    return 0;
}

static int unmake(void **state) {
    char path[sizeof folder + 16];
    (void)state;
    tsmith_simulation_destroy(simulation);
    tsmith_graph_destroy(graph);
    tsmith_timeline_destroy(timeline);
    made_trace_finish(&made);
    (void)snprintf(path, sizeof path, "%s/session.sbt", folder);
    (void)unlink(path);
    return close(null_fd) || unlink(json_path) || unlink(sbt_path) || rmdir(folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shorter_exact_and_longer_are_accepted),
        cmocka_unit_test(an_unknown_option_is_refused),
        cmocka_unit_test(a_size_that_was_forgotten_is_refused),
        cmocka_unit_test(a_result_is_filled_up_to_its_size),
        cmocka_unit_test(a_result_of_the_api_keeps_the_rule),
        cmocka_unit_test(results_are_filled_for_older_and_newer_programs),
        cmocka_unit_test(the_lists_have_every_struct),
    };
    return cmocka_run_group_tests(tests, make, unmake);
}
