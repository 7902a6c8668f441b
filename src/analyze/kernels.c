// SPDX-License-Identifier: Apache-2.0
// Which kernels take the time: totals by name. Memory: one entry per name, and up to 64 Ki durations of each.
#include <stdlib.h>
#include <string.h>

#include "analyze/analysis.h"
#include "analyze/samples.h"
#include "base/array.h"

struct entry {
    uint32_t name;
    struct samples durations;
};

struct kernels {
    uint32_t *entry_of_name; // of kernels, by string id: index + 1
    size_t name_count;
    struct entry *entries;
    size_t count, capacity;
    uint64_t untimed;
};

static struct entry *find_entry(struct kernels *kernels, uint32_t name) {
    if (name >= kernels->name_count) {
        size_t grown = (size_t)name + name / 4 + 64;
        uint32_t *moved = realloc(kernels->entry_of_name, grown * sizeof *moved);
        if (!moved)
            return NULL;
        memset(moved + kernels->name_count, 0, (grown - kernels->name_count) * sizeof *moved);
        kernels->entry_of_name = moved;
        kernels->name_count = grown;
    }
    if (!kernels->entry_of_name[name]) {
        void *entries = kernels->entries;
        if (!array_reserve(&entries, &kernels->capacity, kernels->count + 1, sizeof *kernels->entries))
            return NULL;
        kernels->entries = entries;
        kernels->entries[kernels->count] = (struct entry){.name = name};
        kernels->entry_of_name[name] = (uint32_t)++kernels->count;
    }
    return &kernels->entries[kernels->entry_of_name[name] - 1];
}

static tsmith_status take(void *state, const tsmith_dictionary *dictionary, const tsmith_batch *batch,
                          const tsmith_interval *window) {
    struct kernels *kernels = state;
    tsmith_column kinds, starts, durations, names;
    (void)dictionary;
    if (!tsmith_batch_column(batch, TSMITH_FIELD_KIND, &kinds) ||
        !tsmith_batch_column(batch, TSMITH_FIELD_START, &starts))
        return TSMITH_OK;
    bool timed = tsmith_batch_column(batch, TSMITH_FIELD_DURATION, &durations);
    bool named = tsmith_batch_column(batch, TSMITH_FIELD_NAME, &names);
    for (uint32_t row = 0; row < kinds.count; row++) {
        int64_t start = ((const int64_t *)starts.values)[row];
        if (((const uint8_t *)kinds.values)[row] != TSMITH_KIND_KERNEL ||
            (window && (start < window->from || start >= window->to)))
            continue;
        if (!timed || !tsmith_column_has(&durations, row)) {
            kernels->untimed++;
            continue;
        }
        uint32_t name = named && tsmith_column_has(&names, row) ? ((const uint32_t *)names.values)[row] : 0;
        struct entry *entry = find_entry(kernels, name);
        if (!entry || !samples_add(&entry->durations, ((const int64_t *)durations.values)[row]))
            return TSMITH_ERROR_NO_MEMORY;
    }
    return TSMITH_OK;
}

static int by_total(const void *left, const void *right) {
    const struct entry *a = left, *b = right;
    if (a->durations.total != b->durations.total)
        return a->durations.total > b->durations.total ? -1 : 1;
    return a->name < b->name ? -1 : a->name > b->name;
}

static void add_row(struct report *report, struct report_table *table, const struct analysis_context *context,
                    struct entry *entry, int64_t total) {
    struct samples *durations = &entry->durations;
    report_text(report, table, tsmith_dictionary_string(context->dictionary, entry->name));
    report_integer(report, table, (int64_t)durations->count);
    report_integer(report, table, durations->total);
    report_share(report, table, durations->total, total);
    report_integer(report, table, durations->min);
    report_integer(report, table, samples_quantile(durations, 0.5));
    report_integer(report, table, samples_quantile(durations, 0.99));
    report_integer(report, table, durations->max);
}

static tsmith_status finish(void *state, const struct analysis_context *context, struct report *report) {
    static const tsmith_report_column COLUMNS[] = {
        {"kernel", TSMITH_CELL_TEXT},  {"count", TSMITH_CELL_COUNT},  {"total", TSMITH_CELL_DURATION},
        {"share", TSMITH_CELL_SHARE},  {"min", TSMITH_CELL_DURATION}, {"median", TSMITH_CELL_DURATION},
        {"p99", TSMITH_CELL_DURATION}, {"max", TSMITH_CELL_DURATION},
    };
    struct kernels *kernels = state;
    struct report_table *table =
        REPORT_TABLE(report, "kernels", "by name; share is of the time of all kernels added up", COLUMNS);
    int64_t total = 0;
    uint64_t count = 0;
    bool exact = true;
    for (size_t i = 0; i < kernels->count; i++) {
        total = sweep_add(total, kernels->entries[i].durations.total);
        count += kernels->entries[i].durations.count;
        exact &= samples_exact(&kernels->entries[i].durations);
    }
    if (kernels->count)
        qsort(kernels->entries, kernels->count, sizeof *kernels->entries, by_total);
    for (size_t i = 0; i < kernels->count; i++)
        add_row(report, table, context, &kernels->entries[i], total);
    if (!kernels->count) {
        report_finding(report, "No kernel with times is in the trace.");
    } else {
        char time[REPORT_TEXT];
        tsmith_string name = tsmith_dictionary_string(context->dictionary, kernels->entries[0].name);
        report_finding(report, "%zu kernels ran %llu times, %s in all; %.1f %% of it is %.*s.",
                       kernels->count, (unsigned long long)count, report_duration(time, total),
                       report_percent(kernels->entries[0].durations.total, total),
                       (int)(name.length < 80 ? name.length : 80), name.bytes);
    }
    if (kernels->untimed)
        report_note(report, "%llu kernels have no times and are left out.",
                    (unsigned long long)kernels->untimed);
    if (!exact)
        report_note(report,
                    "median and p99 of kernels that ran more than %d times are rounded down by up to 1.6 %%.",
                    SAMPLES_EXACT);
    return TSMITH_OK;
}

static void release(void *state) {
    struct kernels *kernels = state;
    for (size_t i = 0; i < kernels->count; i++)
        samples_finish(&kernels->entries[i].durations);
    free(kernels->entries);
    free(kernels->entry_of_name);
}

const struct analysis_kind analysis_kernels = {
    .name = "kernels",
    .question = "Which kernels take the time?",
    .needs = NEEDS_NOTHING,
    .state_size = sizeof(struct kernels),
    .write = take,
    .finish = finish,
    .release = release,
};
