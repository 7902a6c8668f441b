// SPDX-License-Identifier: Apache-2.0
// The flame graph of a report: which code launched the work, by the time of its commands. page.c calls it.
//
// It is drawn from the table "paths" of the analysis callsites: a row per stretch of a path without a branch, callers before
// callees, with its depth. Coordinates are shares of the width, so that the picture fits every screen and its text stays as large.
#include <string.h>

#include "analyze/report.h"
#include "report/page.h"

enum { DEPTH_MOST = 64, ROW = 20 };
static const double LEAST = 0.002; // of the width: what is narrower is left out

struct flame {
    const tsmith_report_table *table;
    double ends[DEPTH_MOST]; // where the last box of each depth ends
    size_t deepest;
    bool drawn; // else: only measured
};

// What a stretch is called: its innermost function that has a name and is none of the Python interpreter's; else its innermost.
static tsmith_string name_of(const char *stretch) {
    tsmith_string named = {NULL, 0}, last = named;
    for (const char *at = stretch, *end; at; at = end ? end + 3 : NULL) {
        end = strstr(at, " > ");
        last = (tsmith_string){at, end ? (size_t)(end - at) : strlen(at)};
        if (!memmem(at, last.length, "[+", 2) && strncmp(at, "_Py", 3) != 0 && strncmp(at, "Py", 2) != 0)
            named = last;
    }
    return named.bytes ? named : last;
}

static void put_box(const struct page *page, size_t depth, double left, double share, const char *name,
                    int64_t total) {
    char time[REPORT_TEXT];
    FILE *out = page->out;
    (void)fprintf(out, "<g><title>%s, %.1f%%: ", report_duration(time, total), 100 * share);
    markup_text(out, (tsmith_string){name, strlen(name)}, 1000);
    (void)fprintf(out, "</title><rect class=f%zu x=%.3f%% y=%zu width=%.3f%% height=%d />", depth % 2,
                  100 * left, depth * ROW, 100 * share, ROW - 1);
    if (share >= 0.03) {
        (void)fprintf(out, "<svg x=%.3f%% y=%zu width=%.3f%% height=%d><text x=4 y=14>", 100 * left,
                      depth * ROW, 100 * share, ROW - 1);
        markup_text(out, name_of(name), 80);
        (void)fputs("</text></svg>", out);
    }
    (void)fputs("</g>\n", out);
}

static void put_boxes(const struct page *page, struct flame *flame) {
    memset(flame->ends, 0, sizeof flame->ends);
    for (size_t row = 0; row < flame->table->row_count; row++) {
        const tsmith_cell *depth = page_cell(flame->table, row, "depth"),
                          *share = page_cell(flame->table, row, "share"),
                          *total = page_cell(flame->table, row, "total");
        if (!depth || !share || !total || depth->value.integer < 0 || depth->value.integer >= DEPTH_MOST)
            continue;
        const size_t at = (size_t)depth->value.integer;
        const double left = flame->ends[at];
        flame->ends[at] += share->value.number;
        if (at + 1 < DEPTH_MOST)
            flame->ends[at + 1] = left; // its callees begin where it does
        if (share->value.number < LEAST)
            continue;
        flame->deepest = at > flame->deepest ? at : flame->deepest;
        const char *name = page_cell_text(flame->table, row, "function");
        if (flame->drawn)
            put_box(page, at, left, share->value.number, name + strspn(name, " "), total->value.integer);
    }
}

void flame_of_callsites(const struct page *page) {
    struct flame flame = {.table = page_table(page_report(page, "callsites"), "paths")};
    FILE *out = page->out;
    if (!flame.table || !flame.table->row_count)
        return;
    put_boxes(page, &flame);
    (void)fprintf(
        out,
        "<section id=flame><h2>Which code launches the work</h2>\n"
        "<p class=m>The time of commands by the functions that launched them, callers above callees. A box "
        "is named after its innermost function; the tooltip has the whole stretch.</p>\n"
        "<svg class=fl width=\"100%%\" height=%zu role=img>\n",
        (flame.deepest + 1) * ROW);
    flame.drawn = true;
    put_boxes(page, &flame);
    (void)fputs("</svg>\n<p class=m>As a table: <code>tracesmith analyze FILE --only callsites</code>; every "
                "function: "
                "<code>tracesmith export FILE -o flame.svg</code>.</p>\n</section>\n",
                out);
}
