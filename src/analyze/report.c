// SPDX-License-Identifier: Apache-2.0
// Fills a report with tables, findings and notes. Every analysis calls it.
#include "analyze/report.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

void report_finish(struct report *report) {
    for (size_t i = 0; i < REPORT_TABLES; i++)
        free(report->tables[i].cells);
    arena_finish(&report->arena);
}

struct report_table *report_begin_table(struct report *report, const char *name, const char *doc,
                                        const tsmith_report_column *columns, size_t column_count) {
    struct report_table *table = &report->tables[report->public.table_count];
    if (report->public.table_count + 1 < REPORT_TABLES)
        report->public.table_count++;
    *table =
        (struct report_table){.name = name, .doc = doc, .columns = columns, .column_count = column_count};
    return table;
}

static tsmith_cell *next_cell(struct report *report, struct report_table *table) {
    static tsmith_cell nowhere;
    if (!ARRAY_RESERVE(table->cells, table->cell_capacity, table->cell_count + 1)) {
        report->failed = true;
        return &nowhere;
    }
    table->cells[table->cell_count] = (tsmith_cell){.known = 1};
    return &table->cells[table->cell_count++];
}

void report_text(struct report *report, struct report_table *table, tsmith_string text) {
    char *copy = arena_copy(&report->arena, text.bytes, text.length);
    report->failed |= !copy;
    next_cell(report, table)->value.text = copy;
}

void report_integer(struct report *report, struct report_table *table, int64_t value) {
    next_cell(report, table)->value.integer = value;
}

void report_number(struct report *report, struct report_table *table, double value) {
    tsmith_cell *cell = next_cell(report, table);
    cell->value.number = value;
    cell->known = isfinite(value);
}

void report_unknown(struct report *report, struct report_table *table) {
    *next_cell(report, table) = (tsmith_cell){.known = 0};
}

void report_share(struct report *report, struct report_table *table, int64_t part, int64_t whole) {
    if (whole)
        report_number(report, table, (double)part / (double)whole);
    else
        report_unknown(report, table);
}

static const char *format_text(struct report *report, const char *format, va_list arguments) {
    char text[4608]; // the longest finding: three problems with their evidence
    if (vsnprintf(text, sizeof text, format, arguments) >= (int)sizeof text)
        text[sizeof text - 2] = '~'; // it is cut
    const char *copy = arena_copy(&report->arena, text, strlen(text));
    report->failed |= !copy;
    return copy ? copy : "";
}

void report_finding(struct report *report, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    report->public.finding = format_text(report, format, arguments);
    va_end(arguments);
}

void report_note(struct report *report, const char *format, ...) {
    if (report->public.note_count >= REPORT_NOTES - 1) { // the last one counts those without room
        char *left = arena_take(&report->arena, REPORT_TEXT, 1);
        report->failed |= !left;
        if (left)
            (void)snprintf(left, REPORT_TEXT, "More notes, left out: %zu.", ++report->notes_left);
        report->notes[REPORT_NOTES - 1] = left ? left : "";
        report->public.note_count = REPORT_NOTES;
        return;
    }
    va_list arguments;
    va_start(arguments, format);
    report->notes[report->public.note_count++] = format_text(report, format, arguments);
    va_end(arguments);
}

bool report_end(struct report *report) {
    for (size_t i = 0; i < report->public.table_count; i++) {
        const struct report_table *table = &report->tables[i];
        report->public_tables[i] =
            (tsmith_report_table){.name = table->name,
                                  .doc = table->doc,
                                  .columns = table->columns,
                                  .column_count = table->column_count,
                                  .cells = table->cells,
                                  .row_count = table->cell_count / table->column_count};
    }
    report->public.tables = report->public_tables;
    report->public.notes = report->notes;
    if (!report->public.finding)
        report->public.finding = "";
    return !report->failed;
}

const char *report_duration(char out[REPORT_TEXT], int64_t ns) {
    static const struct {
        double scale;
        const char *unit;
    } UNITS[] = {{1e9, "s"}, {1e6, "ms"}, {1e3, "us"}};
    double value = (double)ns, size = value < 0 ? -value : value;
    for (size_t i = 0; i < sizeof UNITS / sizeof *UNITS; i++) {
        if (size < UNITS[i].scale)
            continue;
        value /= UNITS[i].scale;
        size /= UNITS[i].scale;
        (void)snprintf(out, REPORT_TEXT, "%.*f %s",
                       size < 9.995   ? 2
                       : size < 99.95 ? 1
                                      : 0,
                       value, UNITS[i].unit);
        return out;
    }
    (void)snprintf(out, REPORT_TEXT, "%lld ns", (long long)ns);
    return out;
}

const char *report_bytes(char out[REPORT_TEXT], double bytes) {
    static const char *const UNITS[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
    size_t unit = 0;
    for (; fabs(bytes) >= 1024 && unit + 1 < sizeof UNITS / sizeof *UNITS; unit++)
        bytes /= 1024;
    (void)snprintf(out, REPORT_TEXT, unit == 0 ? "%.0f %s" : "%.2f %s", bytes, UNITS[unit]);
    return out;
}

const char *report_rate(char out[REPORT_TEXT], double bytes_per_s) {
    static const char *const UNITS[] = {"B/s", "KiB/s", "MiB/s", "GiB/s", "TiB/s"};
    size_t unit = 0;
    for (; bytes_per_s >= 1024 && unit + 1 < sizeof UNITS / sizeof *UNITS; unit++)
        bytes_per_s /= 1024;
    (void)snprintf(out, REPORT_TEXT, unit == 0 ? "%.0f %s" : "%.2f %s", bytes_per_s, UNITS[unit]);
    return out;
}

const char *report_flop_rate(char out[REPORT_TEXT], double flop_per_s) {
    static const char *const UNITS[] = {"FLOP/s", "kFLOP/s", "MFLOP/s", "GFLOP/s", "TFLOP/s", "PFLOP/s"};
    size_t unit = 0;
    for (; flop_per_s >= 1000 && unit + 1 < sizeof UNITS / sizeof *UNITS; unit++)
        flop_per_s /= 1000;
    (void)snprintf(out, REPORT_TEXT, unit == 0 ? "%.0f %s" : "%.2f %s", flop_per_s, UNITS[unit]);
    return out;
}

double report_percent(int64_t part, int64_t whole) {
    return whole ? 100.0 * (double)part / (double)whole : 0;
}
