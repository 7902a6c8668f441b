// SPDX-License-Identifier: Apache-2.0
// docs/analyses.md against the code: every analysis has a section with its question and exactly its tables and columns.
#include "support/made_trace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tracesmith/analyze.h"
#include "tracesmith/diff.h"
#include "tracesmith/ranks.h"

static char *document;

// One launched kernel with a shape and a range around its call, a collective, a step, an allocation: every table of
// every report has a reason to be there.
static tsmith_source *make(struct made_trace *trace, tsmith_batch **shaped) {
    made_trace_init(trace);
    uint32_t process = made_process(trace, 1), device = made_device(trace, "device");
    uint32_t thread = made_track(trace, TSMITH_TRACK_THREAD, process, 0, 0, "main");
    uint32_t queue = made_track(trace, TSMITH_TRACK_QUEUE, process, device, 0, "queue");
    made_event(trace, TSMITH_KIND_RANGE, thread, 0, 500)->name = "ProfilerStep#1";
    for (int i = 0; i < 3; i++)
        made_launch(trace, thread, queue, (uint64_t)i + 1, 10 * i + 1, 5, 100 * i + 100, 50);
    made_event(trace, TSMITH_KIND_COLLECTIVE, queue, 500, 50)->name = "all_reduce";
    made_event(trace, TSMITH_KIND_ALLOC, thread, 5, 2)->object = 9;
    made_event(trace, TSMITH_KIND_OFF_CPU, thread, 300, 5)->operation = TSMITH_OPERATION_SLEEPING;
    (void)made_event(trace, TSMITH_KIND_SAMPLE, thread, 310, 0);
    assert_int_equal(tsmith_batch_create(shaped), TSMITH_OK);
    tsmith_batch_reset(*shaped, queue);
    (void)tsmith_batch_append(*shaped, TSMITH_KIND_KERNEL, 700);
    assert_int_equal(tsmith_batch_set(*shaped, TSMITH_FIELD_DURATION, 10), TSMITH_OK);
    assert_int_equal(tsmith_batch_set(*shaped, TSMITH_FIELD_GLOBAL_X, 64), TSMITH_OK);
    assert_int_equal(tsmith_batch_set(*shaped, TSMITH_FIELD_LOCAL_X, 32), TSMITH_OK);
    assert_int_equal(tsmith_batch_finish(*shaped), TSMITH_OK);
    return made_source(trace, 5, (struct random){2});
}

// The section of a report, from its heading to the next; freed by the caller.
static char *section_of(const char *name) {
    char heading[80];
    (void)snprintf(heading, sizeof heading, "\n## `%s`\n", name);
    const char *at = strstr(document, heading);
    if (!at)
        fail_msg("docs/analyses.md has no section %s", name);
    at += strlen(heading);
    const char *end = strstr(at, "\n## ");
    return strndup(at, end ? (size_t)(end - at) + 1 : strlen(at));
}

static void check_report(const tsmith_report *report) {
    char *section = section_of(report->name), *row;
    size_t rows = 0;
    size_t length = strlen(report->question);
    if (section[0] != '\n' || strncmp(section + 1, report->question, length) != 0 ||
        section[length + 1] != '\n')
        fail_msg("%s: its question is not %s", report->name, report->question);
    for (size_t t = 0; t < report->table_count; t++) {
        const tsmith_report_table *table = &report->tables[t];
        char line[600];
        size_t used = (size_t)snprintf(line, sizeof line, "\n| `%s` |", table->name);
        for (size_t i = 0; i < table->column_count; i++)
            used += (size_t)snprintf(line + used, sizeof line - used, "%s `%s`", i ? "," : "",
                                     table->columns[i].name);
        (void)snprintf(line + used, sizeof line - used, " |\n");
        if (!strstr(section, line))
            fail_msg("%s has no line%s", report->name, line);
    }
    for (row = section; (row = strstr(row, "\n| `")); row++)
        rows++;
    if (rows != report->table_count)
        fail_msg("%s has %zu tables in docs/analyses.md, and %zu", report->name, rows, report->table_count);
    free(section);
}

static void every_analysis_is_described(void **state) {
    (void)state;
    struct made_trace trace;
    tsmith_batch *shaped;
    const tsmith_batch *batch;
    tsmith_source *source = make(&trace, &shaped);
    tsmith_analysis *analysis;
    const tsmith_report *report;
    assert_int_equal(tsmith_analysis_create(NULL, &analysis, NULL), TSMITH_OK);
    while (tsmith_source_next(source, &batch, NULL) == TSMITH_OK)
        assert_int_equal(tsmith_analysis_add(analysis, trace.dictionary, batch, NULL), TSMITH_OK);
    assert_int_equal(tsmith_analysis_add(analysis, trace.dictionary, shaped, NULL), TSMITH_OK);
    assert_int_equal(tsmith_analysis_finish(analysis, trace.dictionary, NULL), TSMITH_OK);
    for (size_t i = 0; (report = tsmith_analysis_report(analysis, i)); i++)
        check_report(report);
    tsmith_analysis_destroy(analysis);
    tsmith_batch_destroy(shaped);
    tsmith_source_destroy(source);
    made_trace_finish(&trace);
}

struct joined {
    tsmith_source *source;
    const tsmith_batch *last;
};

static tsmith_status joined_next(void *self, const tsmith_batch **out, tsmith_error *error) {
    struct joined *joined = self;
    tsmith_status status = tsmith_source_next(joined->source, out, error);
    if (status != TSMITH_END || !joined->last)
        return status;
    *out = joined->last;
    joined->last = NULL;
    return TSMITH_OK;
}

static const tsmith_dictionary *joined_dictionary(void *self) {
    return tsmith_source_dictionary(((struct joined *)self)->source);
}

// Hands the trace to `add` as one source.
static void with_trace(tsmith_status (*add)(void *context, tsmith_source *source), void *context) {
    static const tsmith_source_ops OPS = {joined_next, joined_dictionary, NULL};
    struct made_trace trace;
    tsmith_batch *shaped;
    struct joined joined = {make(&trace, &shaped), shaped};
    tsmith_source *source;
    joined.last = shaped;
    assert_int_equal(tsmith_source_create(&OPS, &joined, &source), TSMITH_OK);
    assert_int_equal(add(context, source), TSMITH_OK);
    tsmith_source_destroy(source);
    tsmith_source_destroy(joined.source);
    tsmith_batch_destroy(shaped);
    made_trace_finish(&trace);
}

static tsmith_status add_base(void *context, tsmith_source *source) {
    return tsmith_diff_add(context, TSMITH_DIFF_BASE, source, NULL);
}

static tsmith_status add_new(void *context, tsmith_source *source) {
    return tsmith_diff_add(context, TSMITH_DIFF_NEW, source, NULL);
}

static tsmith_status add_rank(void *context, tsmith_source *source) {
    static int count; // equal traces with equal names are one
    char label[16];
    (void)snprintf(label, sizeof label, "rank%d", count++);
    return tsmith_ranks_add(context, label, source, NULL);
}

static void ranks_and_diff_are_described(void **state) {
    (void)state;
    tsmith_diff *diff;
    tsmith_ranks *ranks;
    assert_int_equal(tsmith_diff_create(NULL, &diff, NULL), TSMITH_OK);
    with_trace(add_base, diff);
    with_trace(add_new, diff);
    assert_int_equal(tsmith_diff_finish(diff, NULL), TSMITH_OK);
    check_report(tsmith_diff_report(diff));
    tsmith_diff_destroy(diff);
    assert_int_equal(tsmith_ranks_create(&ranks, NULL), TSMITH_OK);
    with_trace(add_rank, ranks);
    with_trace(add_rank, ranks);
    assert_int_equal(tsmith_ranks_finish(ranks, NULL), TSMITH_OK);
    check_report(tsmith_ranks_report(ranks));
    tsmith_ranks_destroy(ranks);
}

static void nothing_else_is_described(void **state) {
    (void)state;
    size_t sections = 0, analyses = 0;
    for (const char *at = document; (at = strstr(at, "\n## `")); at++)
        sections++;
    while (tsmith_analysis_name(analyses))
        analyses++;
    assert_int_equal(sections, analyses + 2); // ranks and diff
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_analysis_is_described),
        cmocka_unit_test(ranks_and_diff_are_described),
        cmocka_unit_test(nothing_else_is_described),
    };
    const char *root = getenv("TRACESMITH_SOURCE_DIR");
    char *path = NULL;
    FILE *file = root && asprintf(&path, "%s/docs/analyses.md", root) > 0 ? fopen(path, "re") : NULL;
    size_t size = 0;
    free(path);
    if (!file || getdelim(&document, &size, 0, file) < 0)
        return 1;
    (void)fclose(file);
    int result = cmocka_run_group_tests_name("docs of analyses", tests, NULL, NULL);
    free(document);
    return result;
}
