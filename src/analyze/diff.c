// SPDX-License-Identifier: Apache-2.0
// Takes what is compared from the reports of each run: a diff knows tables and columns, and no events.
#include "analyze/diff.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/analysis.h"
#include "base/array.h"
#include "base/sized.h"
#include "state/sweep.h"

static const char *const ANALYSES_READ[] = {"kernels",   "operators", "ranges", "idle",
                                            "breakdown", "launches",  "sync",   "memory"};

// What is compared by name: X(GROUP, report, table, first name, second names, value, count)
static const struct {
    enum diff_group group;
    const char *report, *table, *first, *second, *third, *value, *count;
} ROWS[] = {
    {DIFF_KERNELS, "kernels", "kernels", "kernel", NULL, NULL, "total", "count"},
    {DIFF_SHAPES, "kernels", "shapes", "kernel", "global", "block", "total", "count"},
    {DIFF_OPERATORS, "operators", "operators", "operator", "category", NULL, "self", "self_commands"},
    {DIFF_RANGES, "ranges", "ranges", "range", "category", NULL, "span", "count"},
    {DIFF_SITES, "memory", "sites", "site", "stack", NULL, "at_peak", "objects_at_peak"},
    {DIFF_STATES, "idle", "causes", "cause", NULL, NULL, "time", NULL},
};

// Sums of a column. X(GROUP, "name", "report", "table", "column", "doc")
#define SUM_TABLE(X)                                                                                         \
    X(TIMES, "kernel_time", "kernels", "kernels", "total", "all kernels added up")                           \
    X(TIMES, "compute_time", "breakdown", "devices", "compute", "in which a device computes")                \
    X(TIMES, "communication_time", "breakdown", "devices", "communication",                                  \
      "in which a device communicates and does not compute")                                                 \
    X(TIMES, "copy_time", "breakdown", "devices", "copy", "in which a device only copies")                   \
    X(TIMES, "idle", "breakdown", "devices", "idle", "in which nothing runs, from first to last command")    \
    X(TIMES, "launch_time", "launches", "calls", "total", "host time in launching calls")                    \
    X(TIMES, "sync_time", "sync", "waits", "total", "host time in waits")                                    \
    X(COUNTS, "kernel_count", "kernels", "kernels", "count", "kernels that ran")                             \
    X(COUNTS, "launch_count", "launches", "calls", "count", "launching calls")                               \
    X(COUNTS, "sync_count", "sync", "waits", "count", "waits")                                               \
    X(MEMORY, "peak_memory", "memory", "processes", "peak", "most bytes of device memory alive")

static const struct {
    enum diff_group group;
    const char *name, *report, *table, *column;
} SUMS[] = {
#define SUM_ROW(GROUP, name, report, table, column, doc) {DIFF_##GROUP, name, report, table, column},
    SUM_TABLE(SUM_ROW)
#undef SUM_ROW
};

static const struct {
    const char *name, *doc;
} METRICS[] = {{"total_time", "from the first start to the last end of a run"},
#define SUM_DOC(GROUP, name, report, table, column, doc) {name, doc},
               SUM_TABLE(SUM_DOC)
#undef SUM_DOC
#define GROUP_DOC(NAME, table, prefix, first, second, doc) {prefix, doc},
                   DIFF_GROUP_TABLE(GROUP_DOC)
#undef GROUP_DOC
};

// The index-th metric that has a name.
static size_t metric_at(size_t index) {
    for (size_t i = 0; i < sizeof METRICS / sizeof *METRICS; i++)
        if (*METRICS[i].name && index-- == 0)
            return i;
    return SIZE_MAX;
}

const char *tsmith_diff_metric_name(size_t index) {
    size_t at = metric_at(index);
    return at == SIZE_MAX ? NULL : METRICS[at].name;
}

const char *tsmith_diff_metric_doc(size_t index) {
    size_t at = metric_at(index);
    return at == SIZE_MAX ? NULL : METRICS[at].doc;
}

tsmith_status tsmith_diff_create(const tsmith_diff_options *options, tsmith_diff **out, tsmith_error *error) {
    tsmith_diff_options chosen;
    const tsmith_status status = sized_take(tsmith_diff_options, options, &chosen, error);
    if (status != TSMITH_OK)
        return status;
    double confidence = chosen.confidence != 0 ? chosen.confidence : 0.95;
    if (!(confidence > 0 && confidence < 1))
        return status_set(error, TSMITH_ERROR_INVALID_ARGUMENT,
                          "The confidence of the diff is not between 0 and 1.");
    tsmith_diff *diff = calloc(1, sizeof *diff);
    if (!diff || tsmith_dictionary_create(&diff->keys) != TSMITH_OK) {
        free(diff);
        return status_set(error, TSMITH_ERROR_NO_MEMORY, "out of memory while creating a diff");
    }
    diff->confidence = confidence;
    *out = diff;
    return TSMITH_OK;
}

void tsmith_diff_destroy(tsmith_diff *diff) {
    if (!diff)
        return;
    for (size_t i = 0; i < diff->count; i++) {
        free(diff->entries[i].values[0]);
        free(diff->entries[i].values[1]);
    }
    free(diff->entries);
    tsmith_dictionary_destroy(diff->keys);
    report_finish(&diff->report);
    free(diff);
}

// ---- entries

// The entry of a thing; NULL when memory is exhausted. The key is the group, the first name, 0, the second.
static struct diff_entry *find_entry(tsmith_diff *diff, enum diff_group group, const char *first,
                                     const char *second) {
    size_t length = strlen(first), more = strlen(second);
    char *key = malloc(length + more + 2);
    struct diff_entry *found = NULL;
    if (!key || !ARRAY_RESERVE(diff->entries, diff->capacity, diff->count + 1))
        goto done;
    key[0] = (char)('a' + group);
    memcpy(key + 1, first, length + 1);
    memcpy(key + length + 2, second, more);
    uint32_t id = tsmith_dictionary_intern(diff->keys, key, length + more + 2);
    if (!id)
        goto done;
    if (id > diff->count) {
        const char *kept = tsmith_dictionary_string(diff->keys, id).bytes;
        diff->entries[diff->count++] = (struct diff_entry){
            .group = group, .first = {kept + 1, length}, .second = {kept + length + 2, more}};
    }
    found = &diff->entries[id - 1];
done:
    free(key);
    return found;
}

static bool add_value(tsmith_diff *diff, enum diff_group group, const char *first, const char *second,
                      int side, double time, double count) {
    struct diff_entry *entry = find_entry(diff, group, first, second);
    size_t run = diff->runs[side];
    if (!entry)
        return false;
    if (entry->filled[side] <= run) {
        struct diff_value *values = realloc(entry->values[side], (run + 1) * sizeof *values);
        if (!values)
            return false;
        memset(values + entry->filled[side], 0, (run + 1 - entry->filled[side]) * sizeof *values);
        entry->values[side] = values;
        entry->filled[side] = run + 1;
    }
    entry->values[side][run].time += time;
    entry->values[side][run].count += count;
    return true;
}

// ---- reports

static const tsmith_report_table *find_table(const tsmith_analysis *analysis, const char *report,
                                             const char *table) {
    const tsmith_report *one;
    for (size_t i = 0; (one = tsmith_analysis_report(analysis, i)); i++)
        for (size_t k = 0; k < one->table_count; k++)
            if (strcmp(one->name, report) == 0 && strcmp(one->tables[k].name, table) == 0)
                return &one->tables[k];
    return NULL;
}

static size_t find_column(const tsmith_report_table *table, const char *name) {
    for (size_t i = 0; name && i < table->column_count; i++)
        if (strcmp(table->columns[i].name, name) == 0)
            return i;
    return SIZE_MAX;
}

static const tsmith_cell *cell_of(const tsmith_report_table *table, size_t row, size_t column) {
    const tsmith_cell *cell = column == SIZE_MAX ? NULL : &table->cells[row * table->column_count + column];
    return cell && cell->known ? cell : NULL;
}

static const char *text_of(const tsmith_report_table *table, size_t row, size_t column) {
    const tsmith_cell *cell = cell_of(table, row, column);
    return cell ? cell->value.text : "";
}

static double number_of(const tsmith_report_table *table, size_t row, size_t column) {
    const tsmith_cell *cell = cell_of(table, row, column);
    return cell ? (double)cell->value.integer : 0;
}

static bool take_rows(tsmith_diff *diff, const tsmith_analysis *analysis, int side) {
    for (size_t i = 0; i < sizeof ROWS / sizeof *ROWS; i++) {
        const tsmith_report_table *table = find_table(analysis, ROWS[i].report, ROWS[i].table);
        if (!table)
            continue;
        size_t first = find_column(table, ROWS[i].first), second = find_column(table, ROWS[i].second),
               third = find_column(table, ROWS[i].third), value = find_column(table, ROWS[i].value),
               count = find_column(table, ROWS[i].count);
        for (size_t row = 0; row < table->row_count; row++) {
            char both[160];
            const char *more = text_of(table, row, second);
            if (*text_of(table, row, third)) { // else the driver chose the block
                (void)snprintf(both, sizeof both, "%s / %s", more, text_of(table, row, third));
                more = both;
            }
            if (!add_value(diff, ROWS[i].group, text_of(table, row, first), more, side,
                           number_of(table, row, value), number_of(table, row, count)))
                return false;
        }
    }
    return true;
}

// Whether something was freed that was allocated before the trace, or allocated without a size, and no counter has
// the amount.
static bool memory_is_open(const tsmith_analysis *analysis) {
    const tsmith_report_table *table = find_table(analysis, "memory", "processes");
    const size_t unknown = table ? find_column(table, "freed_unknown") : SIZE_MAX,
                 unsized = table ? find_column(table, "unsized") : SIZE_MAX,
                 counter = table ? find_column(table, "counter") : SIZE_MAX;
    bool open = false;
    for (size_t row = 0; table && row < table->row_count; row++)
        open |= (number_of(table, row, unknown) > 0 || number_of(table, row, unsized) > 0) &&
                !cell_of(table, row, counter);
    return open;
}

static bool take_sums(tsmith_diff *diff, const tsmith_analysis *analysis, int side) {
    for (size_t i = 0; i < sizeof SUMS / sizeof *SUMS; i++) {
        const tsmith_report_table *table = find_table(analysis, SUMS[i].report, SUMS[i].table);
        size_t column = table ? find_column(table, SUMS[i].column) : SIZE_MAX;
        double sum = 0;
        struct diff_entry *entry;
        // Without calls of the host its time in calls is unknown, not 0.
        if (!analysis_has_calls(analysis) &&
            (strcmp(SUMS[i].report, "launches") == 0 || strcmp(SUMS[i].report, "sync") == 0)) {
            if (!(entry = find_entry(diff, SUMS[i].group, SUMS[i].name, "")))
                return false;
            entry->unknown = true;
            continue;
        }
        for (size_t row = 0; table && row < table->row_count; row++)
            sum += number_of(table, row, column);
        if (!add_value(diff, SUMS[i].group, SUMS[i].name, "", side, sum, 0))
            return false;
    }
    return true;
}

static bool take_run(tsmith_diff *diff, const tsmith_analysis *analysis, int side) {
    const tsmith_report *report = tsmith_analysis_report(analysis, 0);
    int64_t window = report->window.to - report->window.from;
    diff->window = sweep_add(diff->window, window);
    diff->missing = sweep_add(diff->missing, report->missing);
    diff->lost += report->lost;
    diff->memory_open[side] |= memory_is_open(analysis);
    diff->without_calls += !analysis_has_calls(analysis);
    return add_value(diff, DIFF_TIMES, "total_time", "", side, (double)window, 0) &&
           take_sums(diff, analysis, side) && take_rows(diff, analysis, side);
}

tsmith_status tsmith_diff_add(tsmith_diff *diff, tsmith_diff_side side, tsmith_source *source,
                              tsmith_error *error) {
    const tsmith_analysis_options options = {.size = sizeof options,
                                             .names = ANALYSES_READ,
                                             .name_count = sizeof ANALYSES_READ / sizeof *ANALYSES_READ};
    tsmith_analysis *analysis = NULL;
    tsmith_sink *sink = NULL;
    tsmith_status read = TSMITH_OK, status = TSMITH_OK;
    if (diff->finished || (side != TSMITH_DIFF_BASE && side != TSMITH_DIFF_NEW))
        return status_set(error, TSMITH_ERROR_STATE, "The diff is finished, or has no such side.");
    status = tsmith_analysis_create(&options, &analysis, error);
    if (status == TSMITH_OK)
        status = tsmith_analysis_sink(analysis, &sink);
    if (status == TSMITH_OK)
        status = read = tsmith_pump(source, sink, NULL, NULL, error);
    if (status >= 0 && analysis_summed(analysis))
        status = status_set(error, TSMITH_ERROR_UNSUPPORTED,
                            "The trace has sums of events (--aggregate); a comparison needs single events.");
    if (status >= 0 && !take_run(diff, analysis, (int)side))
        status = status_set(error, TSMITH_ERROR_NO_MEMORY, "out of memory while creating a diff");
    if (status >= 0) {
        diff->runs[side]++;
        diff->truncated += read == TSMITH_TRUNCATED;
    }
    tsmith_sink_destroy(sink);
    tsmith_analysis_destroy(analysis);
    return status;
}

tsmith_status tsmith_diff_finish(tsmith_diff *diff, tsmith_error *error) {
    if (diff->finished || !diff->runs[0] || !diff->runs[1])
        return status_set(error, TSMITH_ERROR_STATE,
                          "A diff needs a run on each side and can be finished only once.");
    tsmith_status status = diff_report(diff);
    if (status != TSMITH_OK)
        return status_set(error, status, "out of memory while reporting a diff");
    diff->finished = true;
    return TSMITH_OK;
}

const tsmith_report *tsmith_diff_report(const tsmith_diff *diff) {
    return diff->finished ? &diff->report.public : NULL;
}
