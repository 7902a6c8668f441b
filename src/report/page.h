// SPDX-License-Identifier: Apache-2.0
// What the parts of a report share: the trace with its answers, and the text of HTML.
#ifndef REPORT_PAGE_H
#define REPORT_PAGE_H

#include <stdbool.h>
#include <stdio.h>

#include "tracesmith/analyze.h"
#include "tracesmith/dictionary.h"
#include "tracesmith/sbt.h"
#include "tracesmith/timeline.h"
#include "tracesmith/trace_report.h"

struct page {
    FILE *out;
    tsmith_trace *trace;
    const tsmith_dictionary *dictionary;
    const tsmith_trace_report_options *options;
    const char *title;
    size_t table_rows;
    tsmith_sbt_summary summary;
    bool truncated; // the trace ends early
    tsmith_analysis *analysis;
    const tsmith_timeline *timeline;     // of the analysis
    const tsmith_report *const *reports; // answers without a trace
    size_t report_count;
};

// ---- page.c

tsmith_status page_write_html(const void *page, FILE *out, tsmith_error *error);
// Of `reports` alone.
tsmith_status page_write_reports_html(const void *page, FILE *out, tsmith_error *error);

// ---- markdown.c

tsmith_status page_write_markdown(const void *page, FILE *out, tsmith_error *error);
tsmith_status page_write_reports_markdown(const void *page, FILE *out, tsmith_error *error);

// ---- parts.c: the trace's facts about itself

// The answer of that name; NULL: none.
const tsmith_report *page_report(const struct page *page, const char *name);
const tsmith_report_table *page_table(const tsmith_report *report, const char *name);
// A cell of a table by its column, NULL when it is not there or not known.
const tsmith_cell *page_cell(const tsmith_report_table *table, size_t row, const char *column);
// Its text; "" when it is not known.
const char *page_cell_text(const tsmith_report_table *table, size_t row, const char *column);

// One fact of the head: its name and its value.
typedef void page_fact(const struct page *page, const char *what, tsmith_string text);
void page_each_fact(const struct page *page, page_fact *take);
// One line about what is missing, of each reason and of damage. Whether there was any.
typedef void page_loss(const struct page *page, const char *line);
bool page_each_loss(const struct page *page, page_loss *take);

// ---- markup.c

// Text of the trace, for an element or an attribute in double quotes: at most `most` characters, 0: all. What is no UTF-8, and
// control characters, become U+FFFD.
void markup_text(FILE *out, tsmith_string text, size_t most);
void markup_cstr(FILE *out, const char *text);
// A name in an element of its own that keeps its direction of writing inside; a long one is cut, and whole in its title.
void markup_name(FILE *out, tsmith_string name);
// A known cell for display: "1.23 ms". A number has this many decimals.
void markup_cell(FILE *out, const tsmith_cell *cell, tsmith_cell_type type, int decimals);
void markup_table(const struct page *page, const tsmith_report_table *table);

// ---- picture.c

void picture_timeline(const struct page *page);

// ---- flame.c

void flame_of_callsites(const struct page *page);

// ---- style.c

extern const char style_sheet[], style_script[];
// Of the script: the 'sha256-...' of the page's policy. tests/report compares it.
extern const char style_script_hash[];

#endif
