// SPDX-License-Identifier: Apache-2.0
// A diff as a report: one table per group, the largest change first.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/analysis.h"
#include "analyze/diff.h"
#include "event/text.h"

struct ranked {
    const struct diff_entry *entry;
    struct diff_change change;
};

static int by_change(const void *left, const void *right) {
    const struct ranked *a = left, *b = right;
    double first = fabs(a->change.new - a->change.base), second = fabs(b->change.new - b->change.base);
    if (first != second)
        return first > second ? -1 : 1;
    int order = text_compare(a->entry->first, b->entry->first);
    return order ? order : text_compare(a->entry->second, b->entry->second);
}

// Without an interval the spread of the runs is unknown: a difference may be noise.
static const char *verdict_of(const struct diff_change *change) {
    double difference = change->new - change->base;
    if (difference == 0)
        return "same";
    if (change->interval && change->low <= 0 && change->high >= 0)
        return "unsure";
    if (change->base == 0 && change->base_count == 0)
        return "new";
    if (change->new == 0 && change->new_count == 0)
        return "gone";
    return !change->interval ? "unsure" : difference > 0 ? "more" : "less";
}

static void write_value(struct report *report, struct report_table *table, bool whole, bool known,
                        double value) {
    if (!known)
        report_unknown(report, table);
    else if (whole)
        report_integer(report, table, diff_integer(value));
    else
        report_number(report, table, value);
}

static void write_row(struct report *report, struct report_table *table, const struct ranked *one,
                      bool has_second, bool whole, bool counted) {
    const struct diff_change *change = &one->change;
    report_text(report, table, one->entry->first);
    if (has_second)
        report_text(report, table, one->entry->second);
    if (counted) {
        report_number(report, table, change->base_count);
        report_number(report, table, change->new_count);
    }
    write_value(report, table, whole, true, change->base);
    write_value(report, table, whole, true, change->new);
    write_value(report, table, whole, true, change->new - change->base);
    if (change->base != 0)
        report_number(report, table, (change->new - change->base) / change->base);
    else
        report_unknown(report, table);
    write_value(report, table, whole, change->interval, change->low);
    write_value(report, table, whole, change->interval, change->high);
    report_text(report, table, (tsmith_string){verdict_of(change), strlen(verdict_of(change))});
}

// The columns of a group are those of the widest, less what it does not have.
#define CHANGE_COLUMNS(type)                                                                                 \
    {"base", type}, {"new", type}, {"change", type}, {"share", TSMITH_CELL_SHARE}, {"low", type},            \
        {"high", type}, {                                                                                    \
        "verdict", TSMITH_CELL_TEXT                                                                          \
    }
#define COUNT_COLUMNS                                                                                        \
    {"base_count", TSMITH_CELL_NUMBER}, {                                                                    \
        "new_count", TSMITH_CELL_NUMBER                                                                      \
    }

static struct report_table *begin_table(struct report *report, enum diff_group group) {
    static const tsmith_report_column TIMES[] = {{"what", TSMITH_CELL_TEXT},
                                                 CHANGE_COLUMNS(TSMITH_CELL_DURATION)};
    static const tsmith_report_column STATES[] = {{"state", TSMITH_CELL_TEXT},
                                                  CHANGE_COLUMNS(TSMITH_CELL_DURATION)};
    static const tsmith_report_column COUNTS[] = {{"what", TSMITH_CELL_TEXT},
                                                  CHANGE_COLUMNS(TSMITH_CELL_NUMBER)};
    static const tsmith_report_column MEMORY[] = {{"what", TSMITH_CELL_TEXT},
                                                  CHANGE_COLUMNS(TSMITH_CELL_BYTES)};
    static const tsmith_report_column KERNELS[] = {
        {"kernel", TSMITH_CELL_TEXT}, COUNT_COLUMNS, CHANGE_COLUMNS(TSMITH_CELL_DURATION)};
    static const tsmith_report_column SHAPES[] = {{"kernel", TSMITH_CELL_TEXT},
                                                  {"shape", TSMITH_CELL_TEXT},
                                                  COUNT_COLUMNS,
                                                  CHANGE_COLUMNS(TSMITH_CELL_DURATION)};
    static const tsmith_report_column OPERATORS[] = {{"operator", TSMITH_CELL_TEXT},
                                                     {"category", TSMITH_CELL_TEXT},
                                                     COUNT_COLUMNS,
                                                     CHANGE_COLUMNS(TSMITH_CELL_DURATION)};
    static const tsmith_report_column RANGES[] = {{"range", TSMITH_CELL_TEXT},
                                                  {"category", TSMITH_CELL_TEXT},
                                                  COUNT_COLUMNS,
                                                  CHANGE_COLUMNS(TSMITH_CELL_DURATION)};
    static const tsmith_report_column SITES[] = {{"site", TSMITH_CELL_TEXT},
                                                 {"stack", TSMITH_CELL_TEXT},
                                                 COUNT_COLUMNS,
                                                 CHANGE_COLUMNS(TSMITH_CELL_BYTES)};
    switch (group) {
#define BEGIN(NAME, table, prefix, first, second, doc)                                                       \
    case DIFF_##NAME:                                                                                        \
        return REPORT_TABLE(report, table, doc, NAME);
        DIFF_GROUP_TABLE(BEGIN)
#undef BEGIN
    default:
        return NULL;
    }
}

// Operators that launch nothing, ranges without commands, and unknown memory are not a change.
static bool is_in_group(const struct ranked *one, enum diff_group group) {
    static const bool MAY_BE_NOTHING[DIFF_GROUPS] = {
        [DIFF_OPERATORS] = true, [DIFF_RANGES] = true, [DIFF_MEMORY] = true, [DIFF_SITES] = true};
    return one->entry->group == group && !one->entry->unknown &&
           !(MAY_BE_NOTHING[group] && one->change.base == 0 && one->change.new == 0);
}

static void write_group(tsmith_diff *diff, enum diff_group group, const struct ranked *ranked, size_t count) {
    static const bool HAS_SECOND[DIFF_GROUPS] = {
        [DIFF_SHAPES] = true, [DIFF_OPERATORS] = true, [DIFF_RANGES] = true, [DIFF_SITES] = true};
    static const bool COUNTED[DIFF_GROUPS] = {[DIFF_KERNELS] = true,
                                              [DIFF_SHAPES] = true,
                                              [DIFF_OPERATORS] = true,
                                              [DIFF_RANGES] = true,
                                              [DIFF_SITES] = true};
    struct report_table *table = NULL;
    for (size_t i = 0; i < count; i++) {
        if (!is_in_group(&ranked[i], group))
            continue;
        if (!table)
            table = begin_table(&diff->report, group);
        write_row(&diff->report, table, &ranked[i], HAS_SECOND[group], group != DIFF_COUNTS, COUNTED[group]);
    }
}

// ---- the finding

static const struct ranked *find_ranked(const struct ranked *ranked, size_t count, enum diff_group group,
                                        const char *name) {
    for (size_t i = 0; i < count; i++)
        if (ranked[i].entry->group == group && (!name || strcmp(ranked[i].entry->first.bytes, name) == 0))
            return &ranked[i];
    return NULL;
}

static void write_change(char *out, size_t size, const struct diff_change *change) {
    char base[REPORT_TEXT], new[REPORT_TEXT];
    report_duration(base, diff_integer(change->base));
    report_duration(new, diff_integer(change->new));
    if (change->base != 0)
        (void)snprintf(out, size, "%s instead of %s (%+.1f%%%s)", new, base,
                       100 * (change->new - change->base) / change->base,
                       change->interval && strcmp(verdict_of(change), "unsure") == 0 ? ", within the noise"
                                                                                     : "");
    else if (change->new != 0)
        (void)snprintf(out, size, "%s instead of nothing", new);
    else
        (void)snprintf(out, size, "nothing on either side");
}

static void write_finding(tsmith_diff *diff, const struct ranked *ranked, size_t count) {
    struct report *report = &diff->report;
    char total[128] = "", kernels[128] = "", largest[128] = "";
    const struct ranked *one = find_ranked(ranked, count, DIFF_TIMES, "total_time"),
                        *all = find_ranked(ranked, count, DIFF_TIMES, "kernel_time"),
                        *most = find_ranked(ranked, count, DIFF_KERNELS, NULL);
    write_change(total, sizeof total, &one->change);
    write_change(kernels, sizeof kernels, &all->change);
    if (!most || most->change.new == most->change.base) {
        report_finding(report, "A run takes %s, its kernels %s.", total, kernels);
        return;
    }
    write_change(largest, sizeof largest, &most->change);
    report_finding(report, "A run takes %s, its kernels %s; the kernel that differs most is %.*s%s: %s.",
                   total, kernels, ANALYSIS_NAMED(most->entry->first), largest);
}

tsmith_status diff_report(tsmith_diff *diff) {
    struct report *report = &diff->report;
    struct ranked *ranked = malloc((diff->count + 1) * sizeof *ranked);
    if (!ranked)
        return TSMITH_ERROR_NO_MEMORY;
    for (size_t i = 0; i < diff->count; i++)
        ranked[i] = (struct ranked){&diff->entries[i], diff_measure(diff, &diff->entries[i])};
    qsort(ranked, diff->count, sizeof *ranked, by_change);
    report->public.name = "diff";
    report->public.question = "What changed from one side to the other?";
    report->public.window = (tsmith_interval){0, diff->window};
    report->public.missing = diff->missing;
    report->public.lost = diff->lost;
    for (int group = 0; group < DIFF_GROUPS; group++)
        write_group(diff, (enum diff_group)group, ranked, diff->count);
    write_finding(diff, ranked, diff->count);
    if (diff->runs[0] < 2 || diff->runs[1] < 2)
        report_note(report,
                    "%zu run%s against %zu: how much runs of one program differ is unknown, so every "
                    "difference may be noise; two or more on both sides are needed to distinguish a change.",
                    diff->runs[0], diff->runs[0] == 1 ? "" : "s", diff->runs[1]);
    else
        report_note(report, "%zu runs against %zu; low and high bound the change with %.4g %% confidence.",
                    diff->runs[0], diff->runs[1], 100 * diff->confidence);
    if (diff->without_calls)
        report_note(
            report,
            "Launching calls and waits are not compared: %zu of the traces ha%s no calls of the host.",
            diff->without_calls, diff->without_calls == 1 ? "s" : "ve");
    if (diff->truncated)
        report_note(report, "%zu of the traces end early.", diff->truncated);
    free(ranked);
    return report_end(report) ? TSMITH_OK : TSMITH_ERROR_NO_MEMORY;
}
