// SPDX-License-Identifier: Apache-2.0
// A report as GitHub's Markdown. trace_report.c calls it. What comes from the trace is escaped: it can neither be markup nor a
// mention, a link or a cell of its own.
#include <inttypes.h>
#include <string.h>

#include "analyze/report.h"
#include "base/json.h"
#include "report/page.h"

enum { TEXT_MOST = 300 };

static void put_text(FILE *out, tsmith_string text) {
    const char *at = text.bytes, *end = text.bytes + text.length;
    for (size_t count = 0; at < end && count < TEXT_MOST; count++) {
        const unsigned length = json_utf8_length(at, (size_t)(end - at));
        if (!length || (unsigned char)*at < 0x20)
            (void)fputs(" ", out);
        else if (length == 1 && strchr("&<>@#:", *at))
            (void)fprintf(out, "&#%d;", *at); // an entity is no markup, mention or link
        else if (length == 1 && strchr("\\`*_{}[]()!|~$", *at))
            (void)fprintf(out, "\\%c", *at);
        else
            (void)fwrite(at, 1, length, out);
        at += length ? length : 1;
    }
    if (at < end)
        (void)fputs("…", out);
}

static void put_cstr(FILE *out, const char *text) {
    put_text(out, (tsmith_string){text, strlen(text)});
}

static void put_fact(const struct page *page, const char *what, tsmith_string text) {
    (void)fprintf(page->out, "| %s | ", what);
    put_text(page->out, text);
    (void)fputs(" |\n", page->out);
}

static void put_loss(const struct page *page, const char *line) {
    (void)fputs("- **Missing:** ", page->out);
    put_cstr(page->out, line);
    (void)fputc('\n', page->out);
}

static void put_advice(const struct page *page) {
    enum { FIRST = 3 };
    const tsmith_report *report = page_report(page, "advice");
    const tsmith_report_table *table = page_table(report, "advice"),
                              *evidence = page_table(report, "evidence"),
                              *fixes = page_table(report, "fixes");
    FILE *out = page->out;
    (void)fputs("\n### What to fix first\n\n", out);
    for (size_t row = 0; table && row < table->row_count && row < FIRST; row++) {
        char time[REPORT_TEXT];
        const tsmith_cell *saves = page_cell(table, row, "saves"), *share = page_cell(table, row, "share");
        (void)fprintf(out, "%zu. **", row + 1);
        put_cstr(out, page_cell_text(table, row, "problem"));
        (void)fputs("**", out);
        if (saves && share)
            (void)fprintf(out, ", up to %s (%.1f%%)", report_duration(time, saves->value.integer),
                          100 * share->value.number);
        (void)fputs(": ", out);
        put_cstr(out, page_cell_text(evidence, row, "evidence"));
        (void)fputs(" *Fix:* ", out);
        put_cstr(out, page_cell_text(fixes, row, "fix"));
        (void)fputc('\n', out);
    }
    if (report && (!table || !table->row_count)) {
        put_cstr(out, report->finding);
        (void)fputc('\n', out);
    }
}

static void put_kernels(const struct page *page) {
    const tsmith_report_table *table = page_table(page_report(page, "kernels"), "kernels");
    const size_t rows = table && table->row_count < page->table_rows ? table->row_count : page->table_rows;
    FILE *out = page->out;
    if (!table || !table->row_count)
        return;
    (void)fputs("\n### Kernels\n\n| kernel | count | total | share |\n|---|---:|---:|---:|\n", out);
    for (size_t row = 0; row < rows; row++) {
        char time[REPORT_TEXT];
        const tsmith_cell *count = page_cell(table, row, "count"), *total = page_cell(table, row, "total"),
                          *share = page_cell(table, row, "share");
        (void)fputs("| ", out);
        put_cstr(out, page_cell_text(table, row, "kernel"));
        if (count)
            (void)fprintf(out, " | %" PRId64, count->value.integer);
        else
            (void)fputs(" | -", out);
        (void)fprintf(out, " | %s", total ? report_duration(time, total->value.integer) : "-");
        if (share)
            (void)fprintf(out, " | %.1f%% |\n", 100 * share->value.number);
        else
            (void)fputs(" | - |\n", out);
    }
    if (rows < table->row_count)
        (void)fprintf(out, "\n%zu of %zu kernels are shown.\n", rows, table->row_count);
}

tsmith_status page_write_markdown(const void *what, FILE *out, tsmith_error *error) {
    struct page page = *(const struct page *)what;
    const tsmith_report *report;
    page.out = out;
    (void)fputs("## TraceSmith: ", out);
    put_cstr(out, page.title);
    (void)fputs("\n\n| | |\n|---|---|\n", out);
    page_each_fact(&page, put_fact);
    (void)fputc('\n', out);
    if (!page_each_loss(&page, put_loss))
        (void)fputs("Nothing is known to be missing.\n", out);
    put_advice(&page);
    put_kernels(&page);
    (void)fputs(
        "\n<details><summary>What the analyses found</summary>\n\n| analysis | finding |\n|---|---|\n", out);
    for (size_t i = 0; (report = tsmith_analysis_report(page.analysis, i)); i++) {
        if (strcmp(report->name, "advice") == 0)
            continue;
        (void)fprintf(out, "| `%s` | ", report->name);
        put_cstr(out, report->finding);
        (void)fputs(" |\n", out);
    }
    (void)fputs("\n</details>\n", out);
    return report_written(out, error);
}

// ---- answers without a trace

static void put_cell(FILE *out, const tsmith_cell *cell, tsmith_cell_type type) {
    char text[REPORT_TEXT];
    if (!cell->known)
        (void)fputc('-', out);
    else if (type == TSMITH_CELL_TEXT)
        put_cstr(out, cell->value.text);
    else if (type == TSMITH_CELL_DURATION || type == TSMITH_CELL_TIME)
        (void)fputs(report_duration(text, cell->value.integer), out);
    else if (type == TSMITH_CELL_BYTES)
        (void)fputs(report_bytes(text, (double)cell->value.integer), out);
    else if (type == TSMITH_CELL_RATE)
        (void)fputs(report_rate(text, cell->value.number), out);
    else if (type == TSMITH_CELL_FLOP_RATE)
        (void)fputs(report_flop_rate(text, cell->value.number), out);
    else if (type == TSMITH_CELL_SHARE)
        (void)fprintf(out, "%.1f%%", 100 * cell->value.number);
    else if (type == TSMITH_CELL_NUMBER)
        (void)fprintf(out, "%g", cell->value.number);
    else
        (void)fprintf(out, "%" PRId64, cell->value.integer);
}

static void put_table(const struct page *page, const tsmith_report_table *table) {
    FILE *out = page->out;
    const size_t rows = table->row_count < page->table_rows ? table->row_count : page->table_rows;
    (void)fprintf(out, "\n`%s`: ", table->name);
    put_cstr(out, table->doc);
    (void)fputs("\n\n|", out);
    for (size_t i = 0; i < table->column_count; i++) {
        (void)fputc(' ', out);
        put_cstr(out, table->columns[i].name);
        (void)fputs(" |", out);
    }
    (void)fputs("\n|", out);
    for (size_t i = 0; i < table->column_count; i++)
        (void)fputs(table->columns[i].type == TSMITH_CELL_TEXT ? "---|" : "---:|", out);
    (void)fputc('\n', out);
    for (size_t row = 0; row < rows; row++) {
        (void)fputc('|', out);
        for (size_t i = 0; i < table->column_count; i++) {
            (void)fputc(' ', out);
            put_cell(out, &table->cells[row * table->column_count + i], table->columns[i].type);
            (void)fputs(" |", out);
        }
        (void)fputc('\n', out);
    }
    if (rows < table->row_count)
        (void)fprintf(out, "\n%zu of %zu rows are shown.\n", rows, table->row_count);
}

tsmith_status page_write_reports_markdown(const void *what, FILE *out, tsmith_error *error) {
    struct page page = *(const struct page *)what;
    page.out = out;
    (void)fputs("## TraceSmith: ", out);
    put_cstr(out, page.title);
    (void)fputc('\n', out);
    for (size_t i = 0; i < page.report_count; i++) {
        const tsmith_report *report = page.reports[i];
        (void)fputs("\n**", out);
        put_cstr(out, report->finding);
        (void)fputs("**\n", out);
        for (size_t k = 0; k < report->note_count; k++) {
            (void)fputs("\n> Note: ", out);
            put_cstr(out, report->notes[k]);
            (void)fputc('\n', out);
        }
        for (size_t k = 0; k < report->table_count; k++)
            if (report->tables[k].row_count)
                put_table(&page, &report->tables[k]);
    }
    return report_written(out, error);
}
