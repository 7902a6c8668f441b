// SPDX-License-Identifier: Apache-2.0
// What to fix first: what the other analyses found, by the wall time that it could save. A saving is an upper bound
// (the time itself, were it gone altogether), of the device where it is largest among those that matter.
#include "analyze/advice.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/analysis.h"

// What could save less than a hundredth of the time is no advice.
enum { FIRST = 3, LEAST_PART = 100 };

static const struct {
    const char *name, *see, *fix, *bound;
} PROBLEMS[ADVICE_LIMIT] = {
#define ADVICE_ROW(NAME, name, see, fix, bound) {name, see, fix, bound},
    ADVICE_TABLE(ADVICE_ROW)
#undef ADVICE_ROW
};

void advice_add(struct advice *advice, enum advice_problem problem, int64_t saves, tsmith_interval where,
                tsmith_string example) {
    struct advice_item *item = &advice->items[problem];
    if (saves <= item->saves)
        return;
    item->saves = saves;
    item->where = where;
    item->example = example;
}

void advice_evidence(struct advice *advice, enum advice_problem problem, const char *format, ...) {
    char *evidence = advice->items[problem].evidence;
    size_t length = strlen(evidence);
    va_list arguments;
    if (length && length + 1 < ADVICE_EVIDENCE)
        evidence[length++] = ' ';
    va_start(arguments, format);
    if (vsnprintf(evidence + length, ADVICE_EVIDENCE - length, format, arguments) >=
        (int)(ADVICE_EVIDENCE - length))
        evidence[length ? length - 1 : 0] = 0; // half a sentence is none
    va_end(arguments);
}

static int by_saving(const void *left, const void *right) {
    const struct advice_item *a = *(const struct advice_item *const *)left,
                             *b = *(const struct advice_item *const *)right;
    if (a->saves != b->saves)
        return a->saves > b->saves ? -1 : 1;
    return a < b ? -1 : a > b;
}

static void write_row(const struct advice_item *item, const char *problem, const char *see, size_t rank,
                      const struct analysis_context *context, struct report *report,
                      struct report_table *table) {
    bool example = item->where.to > item->where.from;
    report_integer(report, table, (int64_t)rank);
    report_text(report, table, analysis_text(problem));
    report_integer(report, table, item->saves);
    report_share(report, table, item->saves, context->window.to - context->window.from);
    if (example) {
        report_integer(report, table, item->where.from - context->window.from);
        report_integer(report, table, item->where.to - item->where.from);
        report_text(report, table, item->example);
    } else {
        for (int i = 0; i < 3; i++)
            report_unknown(report, table);
    }
    report_text(report, table, analysis_text(see));
}

// A text for each rank.
static void write_texts(const struct advice *advice, const struct advice_item *const *ranked, size_t count,
                        struct report *report) {
    static const tsmith_report_column COLUMNS[][2] = {
        {{"rank", TSMITH_CELL_COUNT}, {"evidence", TSMITH_CELL_TEXT}},
        {{"rank", TSMITH_CELL_COUNT}, {"fix", TSMITH_CELL_TEXT}},
        {{"rank", TSMITH_CELL_COUNT}, {"bound", TSMITH_CELL_TEXT}}};
    struct report_table *evidence =
                            REPORT_TABLE(report, "evidence", "the evidence for each problem", COLUMNS[0]),
                        *fixes = REPORT_TABLE(report, "fixes", "what helps", COLUMNS[1]),
                        *bounds = REPORT_TABLE(report, "bounds", "what bounds the saving", COLUMNS[2]);
    for (size_t i = 0; i < count; i++) {
        size_t problem = (size_t)(ranked[i] - advice->items);
        report_integer(report, evidence, (int64_t)i + 1);
        report_text(report, evidence, analysis_text(ranked[i]->evidence));
        report_integer(report, fixes, (int64_t)i + 1);
        report_text(report, fixes, analysis_text(PROBLEMS[problem].fix));
        report_integer(report, bounds, (int64_t)i + 1);
        report_text(report, bounds, analysis_text(PROBLEMS[problem].bound));
    }
}

// "1. launch: up to 12.3 ms (34.0 %). Evidence." for each of the first.
static void write_finding(const struct advice *advice, const struct advice_item *const *ranked, size_t count,
                          size_t small, const struct analysis_context *context, struct report *report) {
    char text[FIRST * (ADVICE_EVIDENCE + 2 * REPORT_TEXT)] = "";
    size_t length = 0;
    for (size_t i = 0; i < count && i < FIRST; i++) {
        size_t problem = (size_t)(ranked[i] - advice->items);
        char time[REPORT_TEXT];
        int got = snprintf(
            text + length, sizeof text - length, "%s%zu. %s, up to %s (%.1f%%): %s", i ? "\n" : "", i + 1,
            PROBLEMS[problem].name, report_duration(time, ranked[i]->saves),
            report_percent(ranked[i]->saves, context->window.to - context->window.from), ranked[i]->evidence);
        length += got > 0 && (size_t)got < sizeof text - length ? (size_t)got : 0;
    }
    if (count)
        report_finding(report, "%s", text);
    else if (small)
        report_finding(report, "No problem is known that costs 1%% of the time or more.");
    else
        report_finding(report, "No saving is known: no command of a device takes time in the %s.",
                       context->scope);
}

static tsmith_status finish(void *state, const struct analysis_context *context, struct report *report) {
    static const tsmith_report_column COLUMNS[] = {
        {"rank", TSMITH_CELL_COUNT},   {"problem", TSMITH_CELL_TEXT}, {"saves", TSMITH_CELL_DURATION},
        {"share", TSMITH_CELL_SHARE},  {"at", TSMITH_CELL_TIME},      {"length", TSMITH_CELL_DURATION},
        {"example", TSMITH_CELL_TEXT}, {"see", TSMITH_CELL_TEXT}};
    const struct advice *advice = context->advice;
    const struct advice_item *ranked[ADVICE_LIMIT];
    const int64_t window = context->window.to - context->window.from,
                  least = window / LEAST_PART + (window % LEAST_PART > 0);
    size_t count = 0, small = 0;
    struct report_table *table =
        REPORT_TABLE(report, "advice",
                     "saves is an upper bound (see bounds), and several rows may count the same time; at, "
                     "length and example describe the worst case",
                     COLUMNS);
    (void)state;
    for (size_t i = 0; i < ADVICE_LIMIT; i++)
        if (advice->items[i].saves > 0 && advice->items[i].saves >= least)
            ranked[count++] = &advice->items[i];
        else
            small += advice->items[i].saves > 0;
    qsort(ranked, count, sizeof *ranked, by_saving);
    for (size_t i = 0; i < count; i++)
        write_row(ranked[i], PROBLEMS[ranked[i] - advice->items].name,
                  PROBLEMS[ranked[i] - advice->items].see, i + 1, context, report, table);
    write_texts(advice, ranked, count, report);
    write_finding(advice, ranked, count, small, context, report);
    if (small)
        report_note(report, "%zu problem%s could save less than 1%% of the time%s and %s left out.", small,
                    small == 1 ? "" : "s", small == 1 ? "" : " each", small == 1 ? "is" : "are");
    if (advice->unknown) {
        char time[REPORT_TEXT];
        report_note(report, "For %s a device is idle for an unknown reason; no row includes that time.",
                    report_duration(time, advice->unknown));
    }
    return TSMITH_OK;
}

const struct analysis_kind analysis_advice = {
    .name = "advice",
    .question = "What to fix first?",
    .needs = NEEDS_ADVICE,
    .finish = finish,
};
