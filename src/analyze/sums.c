// SPDX-License-Identifier: Apache-2.0
// What a recording with --aggregate added up: totals by kind and name, and over time. Sums are no events: what is not in their rows
// (when, in which order, how long the median took) is not known. Memory: an entry per kind and name, and one per period.
#include <stdlib.h>
#include <string.h>

#include "analyze/analysis.h"
#include "analyze/tally.h"
#include "base/array.h"
#include "tracesmith/view.h"

static const int64_t SECOND = 1000000000; // the period of a trace that does not state its own

struct total {
    uint32_t name;
    uint8_t kind, operation, direction;
    uint64_t count, timed, delayed, bytes;
    int64_t time, shortest, longest, delay;
};

struct period {
    int64_t number, start;
    uint64_t kernels, transfers;
    int64_t kernel_time, transfer_time;
};

struct sums {
    struct tally total_numbers, period_numbers;
    struct total *totals;
    size_t total_capacity;
    struct period *periods;
    size_t period_capacity;
    int64_t length; // of a period; 0: not known yet
};

enum {
    KIND,
    START,
    NAME,
    SUMMED,
    COUNT,
    TOTAL,
    SHORTEST,
    LONGEST,
    DELAY_TOTAL,
    OPERATION,
    DIRECTION,
    BYTES,
    FIELDS
};
static const uint32_t fields[FIELDS] = {
    TSMITH_FIELD_KIND,        TSMITH_FIELD_START,     TSMITH_FIELD_NAME,      TSMITH_FIELD_SUMMED,
    TSMITH_FIELD_COUNT,       TSMITH_FIELD_TOTAL,     TSMITH_FIELD_SHORTEST,  TSMITH_FIELD_LONGEST,
    TSMITH_FIELD_DELAY_TOTAL, TSMITH_FIELD_OPERATION, TSMITH_FIELD_DIRECTION, TSMITH_FIELD_BYTES};

// ---- rows

static struct total *find_total(struct sums *sums, const tsmith_view *views, uint32_t row) {
    const uint8_t kind = tsmith_view_word(&views[SUMMED], row),
                  operation = tsmith_view_word(&views[OPERATION], row),
                  direction = tsmith_view_word(&views[DIRECTION], row);
    const uint32_t name = tsmith_view_id(&views[NAME], row);
    const size_t before = sums->total_numbers.count;
    const uint32_t number = tally_number(&sums->total_numbers, (uint64_t)name << 24 | (uint64_t)kind << 16 |
                                                                   (uint64_t)operation << 8 | direction);
    if (number == UINT32_MAX || !ARRAY_RESERVE(sums->totals, sums->total_capacity, sums->total_numbers.count))
        return NULL;
    if (number == before)
        sums->totals[number] = (struct total){.name = name,
                                              .kind = kind,
                                              .operation = operation,
                                              .direction = direction,
                                              .shortest = INT64_MAX};
    return &sums->totals[number];
}

static int64_t get_time(const tsmith_view *view, uint32_t row) {
    const int64_t time = tsmith_view_i64_or(view, row, 0);
    return time > 0 ? time : 0;
}

static bool add_total(struct sums *sums, const tsmith_view *views, uint32_t row) {
    struct total *total = find_total(sums, views, row);
    const uint64_t count = tsmith_view_u64_or(&views[COUNT], row, 0);
    if (!total)
        return false;
    total->count += count;
    total->bytes += tsmith_view_u64_or(&views[BYTES], row, 0);
    if (tsmith_view_has(&views[TOTAL], row)) {
        const int64_t shortest = get_time(&views[SHORTEST], row), longest = get_time(&views[LONGEST], row);
        total->timed += count;
        total->time = sweep_add(total->time, get_time(&views[TOTAL], row));
        total->shortest = shortest < total->shortest ? shortest : total->shortest;
        total->longest = longest > total->longest ? longest : total->longest;
    }
    if (tsmith_view_has(&views[DELAY_TOTAL], row)) {
        total->delayed += count;
        total->delay = sweep_add(total->delay, get_time(&views[DELAY_TOTAL], row));
    }
    return true;
}

static bool is_transfer(uint8_t kind) {
    return kind == TSMITH_KIND_MEMCPY || kind == TSMITH_KIND_MEMSET;
}

static bool add_period(struct sums *sums, const tsmith_view *views, uint32_t row, int64_t start) {
    const uint8_t kind = tsmith_view_word(&views[SUMMED], row);
    const int64_t number = start / sums->length - (start % sums->length < 0);
    const size_t before = sums->period_numbers.count;
    if (kind != TSMITH_KIND_KERNEL && !is_transfer(kind))
        return true;
    const uint32_t place = tally_number(&sums->period_numbers, (uint64_t)number);
    if (place == UINT32_MAX ||
        !ARRAY_RESERVE(sums->periods, sums->period_capacity, sums->period_numbers.count))
        return false;
    struct period *period = &sums->periods[place];
    if (place == before)
        *period = (struct period){.number = number, .start = start};
    const uint64_t count = tsmith_view_u64_or(&views[COUNT], row, 0);
    const int64_t time = get_time(&views[TOTAL], row);
    period->start = start < period->start ? start : period->start;
    if (kind == TSMITH_KIND_KERNEL) {
        period->kernels += count;
        period->kernel_time = sweep_add(period->kernel_time, time);
    } else {
        period->transfers += count;
        period->transfer_time = sweep_add(period->transfer_time, time);
    }
    return true;
}

static int64_t period_of(const tsmith_dictionary *dictionary) {
    const tsmith_string text = tsmith_dictionary_find_attribute(dictionary, "aggregate.period_ns");
    int64_t period = 0;
    for (size_t i = 0; i < text.length && i < 18 && text.bytes[i] >= '0' && text.bytes[i] <= '9'; i++)
        period = period * 10 + (text.bytes[i] - '0');
    return period > 0 ? period : SECOND;
}

static tsmith_status take_batch(void *state, const tsmith_dictionary *dictionary, const tsmith_batch *batch,
                                const tsmith_interval *window) {
    struct sums *sums = state;
    const uint32_t count = tsmith_batch_count(batch);
    tsmith_view views[FIELDS];
    tsmith_view_batch(batch, fields, FIELDS, views);
    const uint8_t *kinds = tsmith_view_every(&views[KIND]);
    const int64_t *starts = tsmith_view_every(&views[START]);
    if (!kinds || !starts || !memchr(kinds, TSMITH_KIND_SUM, count))
        return TSMITH_OK;
    sums->length = sums->length ? sums->length : period_of(dictionary);
    for (uint32_t row = 0; row < count; row++) {
        if (kinds[row] != TSMITH_KIND_SUM ||
            (window && (starts[row] < window->from || starts[row] >= window->to)))
            continue;
        if (!add_total(sums, views, row) || !add_period(sums, views, row, starts[row]))
            return TSMITH_ERROR_NO_MEMORY;
    }
    return TSMITH_OK;
}

// ---- the report

// Kernels first, then other work, then the host's part.
static int rank_of(uint8_t kind) {
    return kind == TSMITH_KIND_KERNEL ? 0 : is_transfer(kind) ? 1 : kind == TSMITH_KIND_API ? 3 : 2;
}

static int by_time(const void *left, const void *right) {
    const struct total *a = left, *b = right;
    if (rank_of(a->kind) != rank_of(b->kind))
        return rank_of(a->kind) - rank_of(b->kind);
    if (a->time != b->time)
        return a->time > b->time ? -1 : 1;
    if (a->name != b->name)
        return a->name < b->name ? -1 : 1;
    if (a->kind != b->kind)
        return a->kind - b->kind;
    return a->operation != b->operation ? a->operation - b->operation : a->direction - b->direction;
}

static void put_time(struct report *report, struct report_table *table, bool known, int64_t time) {
    if (known)
        report_integer(report, table, time);
    else
        report_unknown(report, table);
}

static void write_total(struct report *report, struct report_table *table,
                        const struct analysis_context *context, const struct total *total) {
    const char *kind = tsmith_kind_name((tsmith_kind)total->kind);
    const char *direction = tsmith_direction_name((tsmith_direction)total->direction);
    const bool timed = total->timed > 0, delayed = total->delayed > 0;
    report_text(report, table, analysis_text(kind ? kind : ""));
    report_text(report, table, tsmith_dictionary_string(context->dictionary, total->name));
    report_text(report, table, analysis_text(direction ? direction : ""));
    report_integer(report, table, (int64_t)total->count);
    put_time(report, table, timed, total->time);
    put_time(report, table, timed, timed ? total->time / (int64_t)total->timed : 0);
    put_time(report, table, timed, total->shortest);
    put_time(report, table, timed, total->longest);
    put_time(report, table, delayed, delayed ? total->delay / (int64_t)total->delayed : 0);
    put_time(report, table, total->bytes > 0, (int64_t)total->bytes);
}

static int by_number(const void *left, const void *right) {
    const struct period *a = left, *b = right;
    return (a->number > b->number) - (a->number < b->number);
}

static void write_periods(struct sums *sums, const struct analysis_context *context, struct report *report) {
    static const tsmith_report_column COLUMNS[] = {{"start", TSMITH_CELL_TIME},
                                                   {"kernels", TSMITH_CELL_COUNT},
                                                   {"kernel_time", TSMITH_CELL_DURATION},
                                                   {"transfers", TSMITH_CELL_COUNT},
                                                   {"transfer_time", TSMITH_CELL_DURATION}};
    struct report_table *table = REPORT_TABLE(
        report, "periods", "the work that was found complete in each period, of all processes and devices",
        COLUMNS);
    const size_t count = sums->period_numbers.count;
    if (count)
        qsort(sums->periods, count, sizeof *sums->periods, by_number);
    for (size_t i = 0; i < count; i++) {
        const struct period *period = &sums->periods[i];
        report_integer(report, table, tsmith_time_subtract(period->start, context->window.from));
        report_integer(report, table, (int64_t)period->kernels);
        report_integer(report, table, period->kernel_time);
        report_integer(report, table, (int64_t)period->transfers);
        report_integer(report, table, period->transfer_time);
    }
}

static void write_finding(const struct sums *sums, size_t count, const struct analysis_context *context,
                          struct report *report) {
    char time[REPORT_TEXT];
    uint64_t kernels = 0, others = 0;
    int64_t kernel_time = 0;
    for (size_t i = 0; i < count; i++) {
        const bool is_kernel = sums->totals[i].kind == TSMITH_KIND_KERNEL;
        kernels += is_kernel ? sums->totals[i].count : 0;
        kernel_time = sweep_add(kernel_time, is_kernel ? sums->totals[i].time : 0);
        others += is_kernel ? 0 : sums->totals[i].count;
    }
    if (!count)
        report_finding(report,
                       "No sum of events is in the %s: `tracesmith profile --aggregate` records them.",
                       context->scope);
    else if (!kernels)
        report_finding(report, "%llu event%s added up, and no kernel.", (unsigned long long)others,
                       others == 1 ? " was" : "s were");
    else
        report_finding(report, "%llu kernel%s added up, %s in all; %.1f%% of it is %.*s%s.",
                       (unsigned long long)kernels, kernels == 1 ? " was" : "s were",
                       report_duration(time, kernel_time),
                       kernel_time ? report_percent(sums->totals[0].time, kernel_time) : 100,
                       ANALYSIS_NAMED(tsmith_dictionary_string(context->dictionary, sums->totals[0].name)));
}

static tsmith_status finish(void *state, const struct analysis_context *context, struct report *report) {
    static const tsmith_report_column COLUMNS[] = {
        {"kind", TSMITH_CELL_TEXT},           {"name", TSMITH_CELL_TEXT},
        {"direction", TSMITH_CELL_TEXT},      {"count", TSMITH_CELL_COUNT},
        {"total", TSMITH_CELL_DURATION},      {"mean", TSMITH_CELL_DURATION},
        {"shortest", TSMITH_CELL_DURATION},   {"longest", TSMITH_CELL_DURATION},
        {"mean_delay", TSMITH_CELL_DURATION}, {"moved", TSMITH_CELL_BYTES}};
    struct sums *sums = state;
    const size_t count = sums->total_numbers.count;
    struct report_table *table = REPORT_TABLE(
        report, "sums", "by kind, name and direction; mean_delay is from queued to start", COLUMNS);
    if (count)
        qsort(sums->totals, count, sizeof *sums->totals, by_time);
    for (size_t i = 0; i < count; i++)
        write_total(report, table, context, &sums->totals[i]);
    write_periods(sums, context, report);
    write_finding(sums, count, context, report);
    return TSMITH_OK;
}

static void release(void *state) {
    struct sums *sums = state;
    tally_finish(&sums->total_numbers);
    tally_finish(&sums->period_numbers);
    free(sums->totals);
    free(sums->periods);
}

const struct analysis_kind analysis_sums = {
    .name = "sums",
    .question = "What was added up in the program (--aggregate)?",
    .needs = NEEDS_NOTHING,
    .state_size = sizeof(struct sums),
    .write = take_batch,
    .finish = finish,
    .release = release,
    .reads_sums = true,
};
