// SPDX-License-Identifier: Apache-2.0
// The answer to `analyze FILE`: what to fix first, made of the tables of the report "advice".
#include <string.h>

#include "analyze_parts.h"
#include "cli/present/terminal.h"

enum { FIRST = 3, INDENT = 4, LABEL = 7, NAME = 16, EXAMPLE = 100 };

#define BOLD "\x1b[1m"
#define PLAIN "\x1b[0m"

static const tsmith_report_table *find_table(const tsmith_report *report, const char *name) {
    for (size_t i = 0; i < report->table_count; i++)
        if (strcmp(report->tables[i].name, name) == 0)
            return &report->tables[i];
    return NULL;
}

// A cell that is there and known, or NULL.
static const tsmith_cell *find_cell(const tsmith_report *report, const char *table_name, size_t row,
                                    const char *column, tsmith_cell_type type) {
    const tsmith_report_table *table = find_table(report, table_name);
    for (size_t i = 0; table && row < table->row_count && i < table->column_count; i++) {
        const tsmith_cell *cell = &table->cells[row * table->column_count + i];
        if (strcmp(table->columns[i].name, column) == 0)
            return table->columns[i].type == type && cell->known ? cell : NULL;
    }
    return NULL;
}

static const char *find_text(const tsmith_report *report, const char *table, size_t row, const char *column) {
    const tsmith_cell *cell = find_cell(report, table, row, column, TSMITH_CELL_TEXT);
    return cell ? cell->value.text : NULL;
}

// Safe, and a number not torn from its percent sign by the end of a line.
static void add_words(struct text *words, const char *bytes) {
    struct text safe = {0};
    text_add_safe(&safe, text_string(bytes), 0);
    const char *at = text_cstr(&safe);
    for (const char *space; (space = strstr(at, " %")); at = space + 1)
        text_add(words, at, (size_t)(space - at));
    text_add_cstr(words, at);
    text_finish(&safe);
}

static void add_heading(struct text *text, const char *heading) {
    text_add_format(text, "\n%s%s%s\n", terminal_color() ? BOLD : "", heading, terminal_color() ? PLAIN : "");
}

// "    why    because ...", wrapped.
static void add_labeled(struct text *text, const char *label, struct text *words) {
    text_add_repeat(text, ' ', INDENT);
    text_add_format(text, "%-*s", LABEL, label);
    text_add_wrapped(text, (tsmith_string){text_cstr(words), words->length}, INDENT + LABEL, INDENT + LABEL,
                     terminal_width());
    text_clear(words);
}

static void add_where(struct text *text, const tsmith_report *report, size_t row, struct text *words) {
    const tsmith_cell *at = find_cell(report, "advice", row, "at", TSMITH_CELL_TIME);
    const tsmith_cell *length = find_cell(report, "advice", row, "length", TSMITH_CELL_DURATION);
    const char *example = find_text(report, "advice", row, "example");
    if (!at || !length)
        return;
    text_add_cstr(words, "at ");
    text_add_duration(words, at->value.integer);
    text_add_cstr(words, ", for ");
    text_add_duration(words, length->value.integer);
    if (example && *example) {
        text_add_cstr(words, ": ");
        const size_t room = terminal_width() - INDENT - LABEL;
        text_add_safe(words, text_string(example), room < EXAMPLE ? room : EXAMPLE);
    }
    add_labeled(text, "worst", words);
}

static void add_advice(struct text *text, const tsmith_report *report, size_t row) {
    static const struct {
        const char *label, *table, *column;
    } parts[] = {{"why", "evidence", "evidence"}, {"fix", "fixes", "fix"}, {"bound", "bounds", "bound"}};
    struct text words = {0};
    const char *problem = find_text(report, "advice", row, "problem");
    const char *see = find_text(report, "advice", row, "see");
    const tsmith_cell *saves = find_cell(report, "advice", row, "saves", TSMITH_CELL_DURATION);
    const tsmith_cell *share = find_cell(report, "advice", row, "share", TSMITH_CELL_SHARE);
    text_add_format(text, " %zu. %s%s%s", row + 1, terminal_color() ? BOLD : "", problem ? problem : "?",
                    terminal_color() ? PLAIN : "");
    if (saves) {
        text_add_cstr(text, ": up to ");
        text_add_duration(text, saves->value.integer);
    }
    if (share)
        text_add_format(text, ", %.1f%% of the time", 100 * share->value.number);
    text_add_char(text, '\n');
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        const char *part = find_text(report, parts[i].table, row, parts[i].column);
        if (i == 1)
            add_where(text, report, row, &words);
        if (!part)
            continue;
        add_words(&words, part);
        add_labeled(text, parts[i].label, &words);
    }
    if (see) {
        text_add_cstr(&words, "--only ");
        for (; *see; see++)
            if (*see != ' ')
                text_add_char(&words, *see);
        add_labeled(text, "check", &words);
    }
    text_finish(&words);
}

static void add_first(struct text *text, const tsmith_report *report) {
    const tsmith_report_table *table = find_table(report, "advice");
    size_t count = table ? table->row_count : 0;
    add_heading(text, "What to fix first");
    for (size_t row = 0; row < count && row < FIRST; row++)
        add_advice(text, report, row);
    if (!count) {
        struct text words = {0};
        text_add_cstr(text, "  ");
        add_words(&words, report->finding);
        text_add_wrapped(text, (tsmith_string){text_cstr(&words), words.length}, 2, 2, terminal_width());
        text_finish(&words);
    }
    for (size_t i = 0; i < report->note_count; i++) {
        struct text words = {0};
        add_words(&words, report->notes[i]);
        add_labeled(text, "note", &words);
        text_finish(&words);
    }
}

static void add_finding(struct text *text, const tsmith_report *report) {
    struct text words = {0};
    text_add_format(text, "  %-*s", NAME, report->name);
    add_words(&words, report->finding);
    text_add_wrapped(text, (tsmith_string){text_cstr(&words), words.length}, NAME + 2, NAME + 2,
                     terminal_width());
    text_finish(&words);
}

void analyze_add_head(struct text *text, const struct trace *trace) {
    text_add_safe(text, text_string(trace->path), 0);
    text_add_cstr(text, ": ");
    text_add_duration(text, trace_duration(trace));
    text_add_cstr(text, ", ");
    text_add_counted(text, trace->summary.events, "event", "events");
    text_add_format(text, ", %s\n", trace_format(trace));
}

void analyze_add_overview(struct text *text, const tsmith_analysis *analysis) {
    const tsmith_report *report;
    for (size_t i = 0; (report = tsmith_analysis_report(analysis, i)); i++)
        if (strcmp(report->name, "advice") == 0)
            add_first(text, report);
    add_heading(text, "What the analyses found");
    for (size_t i = 0; (report = tsmith_analysis_report(analysis, i)); i++)
        if (strcmp(report->name, "advice") != 0)
            add_finding(text, report);
    text_add_cstr(text, "\nFor the tables behind this: --only NAME, or --all.\n");
}
