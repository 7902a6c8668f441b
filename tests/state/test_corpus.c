// SPDX-License-Identifier: Apache-2.0
// What must hold of every trace, on real ones: TRACESMITH_CORPUS names a folder of traces.
#include "support/test.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tracesmith/import.h"
#include "tracesmith/states.h"

static void check_partition(const tsmith_segment *segments, size_t count, const tsmith_row *row,
                            tsmith_interval window) {
    int64_t totals[TSMITH_STATE_LIMIT], sum = 0, at = window.from;
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(segments[i].from, at);
        assert_true(segments[i].to > segments[i].from);
        at = segments[i].to;
    }
    assert_int_equal(at, window.to);
    tsmith_states_totals(segments, count, totals);
    for (int i = 0; i < TSMITH_STATE_LIMIT; i++)
        sum += totals[i];
    assert_int_equal(sum, window.to - window.from);
    // The sweep over sorted starts and ends, and the walk over commands, must agree.
    assert_int_equal(totals[TSMITH_STATE_RUNNING], row->busy);
}

static void check_row(const tsmith_timeline *timeline, const tsmith_row *row, tsmith_interval window) {
    int64_t *depths, sum = 0, total = 0;
    size_t count;
    assert_true(row->busy >= 0 && row->busy <= window.to - window.from);
    assert_true(row->busy <= row->total);
    assert_int_equal(tsmith_timeline_concurrency(timeline, row, &depths, &count), TSMITH_OK);
    for (size_t i = 0; i < count; i++) {
        sum += depths[i];
        total += depths[i] * (int64_t)i;
    }
    assert_int_equal(sum, window.to - window.from);
    assert_int_equal(sum - depths[0], row->busy);
    assert_int_equal(total, row->total);
    tsmith_free(depths);
}

static void check_trace(const char *path) {
    tsmith_source *source;
    tsmith_timeline *timeline;
    tsmith_graph *graph;
    tsmith_states *states;
    tsmith_error error;
    tsmith_status status = tsmith_import_open(path, NULL, &source, &error);
    if (status == TSMITH_ERROR_FORMAT)
        return; // another format
    assert_int_equal(status, TSMITH_OK);
    status = tsmith_timeline_read(source, NULL, &timeline, &error);
    if (status == TSMITH_ERROR_FORMAT) { // JSON of another kind
        tsmith_source_destroy(source);
        return;
    }
    if (status != TSMITH_OK)
        fail_msg("%s: %s", path, error.message);
    assert_int_equal(tsmith_graph_create(timeline, tsmith_source_dictionary(source), &graph, &error),
                     TSMITH_OK);
    assert_int_equal(tsmith_states_create(timeline, graph, &states, &error), TSMITH_OK);
    size_t count, rows, devices, segment_count, paired = 0;
    const tsmith_command *commands = tsmith_timeline_commands(timeline, &count);
    const tsmith_row *row = tsmith_timeline_rows(timeline, &rows);
    const tsmith_row *device = tsmith_timeline_devices(timeline, &devices);
    tsmith_interval window = tsmith_timeline_window(timeline);
    for (uint32_t i = 0; i < rows; i++) {
        check_row(timeline, &row[i], window);
        const tsmith_segment *segments = tsmith_states_row(states, i, &segment_count);
        check_partition(segments, segment_count, &row[i], window);
    }
    for (uint32_t i = 0; i < devices; i++) {
        check_row(timeline, &device[i], window);
        const tsmith_segment *segments = tsmith_states_device(states, i, &segment_count);
        check_partition(segments, segment_count, &device[i], window);
    }
    for (size_t i = 0; i < count; i++)
        paired += commands[i].call != TSMITH_INDEX_NONE;
    print_message("%s: %zu commands, %zu paired, %zu queues, %zu devices\n", strrchr(path, '/') + 1, count,
                  paired, rows, devices);
    assert_true(count > 0);
    for (int kind = 0; kind < TSMITH_EDGE_LIMIT; kind++)
        print_message("  %s %llu (contradicted %llu)\n", tsmith_edge_kind_name((tsmith_edge_kind)kind),
                      (unsigned long long)tsmith_graph_edge_count(graph, (tsmith_edge_kind)kind),
                      (unsigned long long)tsmith_graph_contradicted(graph, (tsmith_edge_kind)kind));
    tsmith_states_destroy(states);
    tsmith_graph_destroy(graph);
    tsmith_timeline_destroy(timeline);
    tsmith_source_destroy(source);
}

static void invariants_hold_on_real_traces(void **state) {
    (void)state;
    const char *corpus = getenv("TRACESMITH_CORPUS");
    DIR *folder = opendir(corpus);
    assert_non_null(folder);
    unsigned traces = 0;
    for (struct dirent *entry; (entry = readdir(folder));) {
        char *path = NULL;
        if (!strstr(entry->d_name, ".json"))
            continue;
        assert_true(asprintf(&path, "%s/%s", corpus, entry->d_name) > 0);
        check_trace(path);
        free(path);
        traces++;
    }
    closedir(folder);
    assert_true(traces > 0);
}

int main(void) {
    const char *corpus = getenv("TRACESMITH_CORPUS");
    if (!corpus || !*corpus) {
        printf("skipped: TRACESMITH_CORPUS names no folder of traces\n");
        return 77;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(invariants_hold_on_real_traces),
    };
    return cmocka_run_group_tests_name("state on the corpus", tests, NULL, NULL);
}
