// SPDX-License-Identifier: Apache-2.0
// A report as one HTML page. trace_report.c calls it. The page loads nothing: its policy allows its own style and the one script
// whose hash it names, and all that the script does is to zoom.
#include <inttypes.h>
#include <string.h>

#include "analyze/report.h"
#include "report/page.h"

static void put_head(const struct page *page) {
    FILE *out = page->out;
    (void)fputs("<!doctype html>\n<html lang=en>\n<head>\n<meta charset=utf-8>\n"
                "<meta name=viewport content=\"width=device-width,initial-scale=1\">\n"
                "<meta name=referrer content=no-referrer>\n"
                "<meta http-equiv=content-security-policy content=\"default-src 'none'; style-src "
                "'unsafe-inline'; script-src '",
                out);
    (void)fprintf(out, "%s'; base-uri 'none'; form-action 'none'\">\n<title>", style_script_hash);
    markup_cstr(out, page->title);
    (void)fprintf(out, " - TraceSmith</title>\n<style>%s</style>\n</head>\n<body>\n", style_sheet);
}

static void put_fact(const struct page *page, const char *what, tsmith_string text) {
    (void)fprintf(page->out, "<dt>%s</dt><dd>", what);
    markup_name(page->out, text);
    (void)fputs("</dd>\n", page->out);
}

static void put_loss(const struct page *page, const char *line) {
    (void)fputs("<li>", page->out);
    markup_cstr(page->out, line);
    (void)fputs("</li>\n", page->out);
}

static void put_begin(const struct page *page) {
    FILE *out = page->out;
    (void)fputs("<header><h1>", out);
    markup_name(out, (tsmith_string){page->title, strlen(page->title)});
    (void)fputs("</h1>\n<dl>\n", out);
    page_each_fact(page, put_fact);
    (void)fputs("</dl></header>\n<main>\n<section id=missing><h2>What is missing</h2><ul>\n", out);
    if (!page_each_loss(page, put_loss))
        (void)fputs("<li>Nothing is known to be missing.</li>\n", out);
    (void)fputs("</ul></section>\n", out);
}

static void put_notes(const struct page *page, const tsmith_report *report) {
    for (size_t i = 0; i < report->note_count; i++) {
        (void)fputs("<p class=m>Note: ", page->out);
        markup_cstr(page->out, report->notes[i]);
        (void)fputs("</p>\n", page->out);
    }
}

static void put_end(const struct page *page) {
    (void)fprintf(
        page->out,
        "</main>\n<footer>Made by TraceSmith. The same figures as text: <code>tracesmith analyze FILE "
        "--all</code>, <code>tracesmith diff</code>, <code>tracesmith "
        "replay</code>.</footer>\n<script>%s</script>\n</body>\n</html>\n",
        style_script);
}

// ---- what to fix first

static void put_problem(const struct page *page, const tsmith_report *report, size_t row) {
    static const struct {
        const char *label, *table, *column;
    } parts[] = {{"Why", "evidence", "evidence"}, {"Fix", "fixes", "fix"}, {"Bound", "bounds", "bound"}};
    const tsmith_report_table *table = page_table(report, "advice");
    const tsmith_cell *saves = page_cell(table, row, "saves"), *share = page_cell(table, row, "share"),
                      *at = page_cell(table, row, "at"), *length = page_cell(table, row, "length");
    char time[REPORT_TEXT], where[REPORT_TEXT];
    FILE *out = page->out;
    (void)fputs("<li><h3>", out);
    markup_cstr(out, page_cell_text(table, row, "problem"));
    if (saves && share)
        (void)fprintf(out, ": up to %s, %.1f%% of the time", report_duration(time, saves->value.integer),
                      100 * share->value.number);
    (void)fputs("</h3>\n", out);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        (void)fprintf(out, "<p><b>%s:</b> ", parts[i].label);
        markup_cstr(out, page_cell_text(page_table(report, parts[i].table), row, parts[i].column));
        (void)fputs("</p>\n", out);
    }
    if (at && length) {
        (void)fprintf(out, "<p><b>Worst:</b> at %s, for %s", report_duration(where, at->value.integer),
                      report_duration(time, length->value.integer));
        (void)fprintf(out, " <button data-at=%" PRId64 " data-length=%" PRId64 " hidden>show</button> ",
                      at->value.integer, length->value.integer);
        const char *example = page_cell_text(table, row, "example");
        markup_name(out, (tsmith_string){example, strlen(example)});
        (void)fputs("</p>\n", out);
    }
    (void)fputs("</li>\n", out);
}

static void put_advice(const struct page *page) {
    enum { FIRST = 3 };
    const tsmith_report *report = page_report(page, "advice");
    const tsmith_report_table *table = page_table(report, "advice");
    if (!report)
        return;
    (void)fputs("<section id=advice><h2>What to fix first</h2>\n", page->out);
    if (table && table->row_count) {
        (void)fputs("<ol>\n", page->out);
        for (size_t row = 0; row < table->row_count && row < FIRST; row++)
            put_problem(page, report, row);
        (void)fputs("</ol>\n", page->out);
    } else {
        (void)fputs("<p>", page->out);
        markup_cstr(page->out, report->finding);
        (void)fputs("</p>\n", page->out);
    }
    put_notes(page, report);
    (void)fputs("</section>\n", page->out);
}

// ---- the analyses

static void put_covered(const struct page *page, const tsmith_report *report) {
    char window[REPORT_TEXT], missing[REPORT_TEXT];
    const int64_t length = report->window.to - report->window.from;
    if (length <= 0) // not an answer about a stretch of time
        return;
    (void)fprintf(page->out,
                  "<p class=m>Covers %.1f%% of %s; %s are incomplete, %" PRIu64 " events lost.</p>\n",
                  100 - report_percent(report->missing, length), report_duration(window, length),
                  report_duration(missing, report->missing), report->lost);
}

static void put_tables(const struct page *page, const tsmith_report *report) {
    put_covered(page, report);
    put_notes(page, report);
    for (size_t i = 0; i < report->table_count; i++)
        if (report->tables[i].row_count)
            markup_table(page, &report->tables[i]);
}

static void put_analysis(const struct page *page, const tsmith_report *report) {
    FILE *out = page->out;
    (void)fprintf(out, "<details id=\"a-%s\"><summary><b>%s</b> ", report->name, report->name);
    markup_cstr(out, report->finding);
    (void)fputs("</summary>\n<p>", out);
    markup_cstr(out, report->question);
    (void)fprintf(out, " <code>tracesmith analyze FILE --only %s</code></p>\n", report->name);
    put_tables(page, report);
    (void)fputs("</details>\n", out);
}

tsmith_status page_write_reports_html(const void *what, FILE *out, tsmith_error *error) {
    struct page page = *(const struct page *)what;
    page.out = out;
    put_head(&page);
    (void)fputs("<header><h1>", out);
    markup_name(out, (tsmith_string){page.title, strlen(page.title)});
    (void)fputs("</h1></header>\n<main>\n", out);
    for (size_t i = 0; i < page.report_count; i++) {
        const tsmith_report *report = page.reports[i];
        (void)fprintf(out, "<section id=\"a-%s\"><h2>", report->name);
        markup_cstr(out, report->question);
        (void)fputs("</h2>\n<p><b>", out);
        markup_cstr(out, report->finding);
        (void)fputs("</b></p>\n", out);
        put_tables(&page, report);
        (void)fputs("</section>\n", out);
    }
    put_end(&page);
    return report_written(out, error);
}

tsmith_status page_write_html(const void *what, FILE *out, tsmith_error *error) {
    struct page page = *(const struct page *)what;
    const tsmith_report *report;
    page.out = out;
    put_head(&page);
    put_begin(&page);
    put_advice(&page);
    picture_timeline(&page);
    flame_of_callsites(&page);
    (void)fputs("<section id=analyses><h2>What the analyses found</h2>\n", out);
    for (size_t i = 0; (report = tsmith_analysis_report(page.analysis, i)); i++)
        if (strcmp(report->name, "advice") != 0)
            put_analysis(&page, report);
    (void)fputs("</section>\n", out);
    put_end(&page);
    return report_written(out, error);
}
