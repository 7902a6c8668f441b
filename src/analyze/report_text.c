// SPDX-License-Identifier: Apache-2.0
// A report as text, for people: lines fit the terminal.
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/report.h"
#include "base/json.h"

enum {
    MAX_ROWS = 20,
    WIDTH = 100,
    CELL = 48,
    TEXT_MIN = 16,
    TITLE = 512,   // of a table: its name and its description
    APART = 7,     // what a text that has a line of its own leaves of it
    LINES_MAX = 4, // of such a text
    CONTINUED = 8  // spaces before the figures that a line has no room for
};

// A number as people read it; at most CELL characters.
static void format_number(char text[CELL], const tsmith_cell *cell, tsmith_cell_type type, int decimals) {
    char part[REPORT_TEXT];
    switch (type) {
    case TSMITH_CELL_DURATION:
    case TSMITH_CELL_TIME:
        (void)snprintf(text, CELL, "%s", report_duration(part, cell->value.integer));
        break;
    case TSMITH_CELL_SHARE:
        (void)snprintf(text, CELL, "%.1f%%", 100 * cell->value.number);
        break;
    case TSMITH_CELL_BYTES:
        (void)snprintf(text, CELL, "%s", report_bytes(part, (double)cell->value.integer));
        break;
    case TSMITH_CELL_RATE:
        (void)snprintf(text, CELL, "%s", report_rate(part, cell->value.number));
        break;
    case TSMITH_CELL_FLOP_RATE:
        (void)snprintf(text, CELL, "%s", report_flop_rate(part, cell->value.number));
        break;
    case TSMITH_CELL_NUMBER:
        (void)snprintf(text, CELL, "%.*f", decimals, cell->value.number);
        break;
    default:
        (void)snprintf(text, CELL, "%" PRId64, cell->value.integer);
    }
}

// Characters of a text, each of the width 1; what a terminal must not see becomes '?'.
static size_t characters_of(const char *text, size_t left) {
    size_t width = 0;
    for (; left; width++) {
        unsigned length = json_utf8_length(text, left);
        length = length ? length : 1;
        text += length;
        left -= length;
    }
    return width;
}

static size_t text_width(const char *text) {
    return characters_of(text, strlen(text));
}

// Characters that move or hide other text: bidirectional controls, separators, joiners, tags, the byte order mark.
static bool is_hidden(const char *text, unsigned length) {
    const unsigned char *at = (const unsigned char *)text;
    const uint32_t code =
        length == 2   ? (at[0] & 0x1fu) << 6 | (at[1] & 0x3fu)
        : length == 3 ? (at[0] & 0x0fu) << 12 | (at[1] & 0x3fu) << 6 | (at[2] & 0x3fu)
        : length == 4 ? (at[0] & 0x07u) << 18 | (at[1] & 0x3fu) << 12 | (at[2] & 0x3fu) << 6 | (at[3] & 0x3fu)
                      : at[0];
    return (code >= 0x7f && code <= 0x9f) || code == 0xad || code == 0x61c || code == 0x180e ||
           (code >= 0x200b && code <= 0x200f) || (code >= 0x2028 && code <= 0x202e) ||
           (code >= 0x2060 && code <= 0x206f) || code == 0xfeff || (code >= 0xfff9 && code <= 0xfffb) ||
           (code >= 0xe0000 && code <= 0xe0fff);
}

// At most `keep` characters of the `left` bytes of a text.
static void put_characters(FILE *out, const char *text, size_t left, size_t keep) {
    for (size_t i = 0; i < keep && left; i++) {
        unsigned length = json_utf8_length(text, left);
        unsigned char c = (unsigned char)*text;
        if (!length || c < 0x20 || is_hidden(text, length))
            fputc('?', out);
        else
            (void)fwrite(text, 1, length, out);
        length = length ? length : 1;
        text += length;
        left -= length;
    }
}

// Behind the first `skip` characters.
static const char *skip_characters(const char *text, size_t skip) {
    for (size_t left = strlen(text); skip && left; skip--) {
        unsigned length = json_utf8_length(text, left);
        length = length ? length : 1;
        text += length;
        left -= length;
    }
    return text;
}

// What is too long lacks its middle: names of kernels often differ at their end.
static void write_text_cell(FILE *out, const char *text, size_t width, bool pad) {
    size_t total = text_width(text);
    if (total <= width || width < 2) {
        put_characters(out, text, strlen(text), width);
    } else {
        size_t end = (width - 1) * 2 / 5;
        put_characters(out, text, strlen(text), width - 1 - end);
        fputc('~', out);
        text = skip_characters(text, total - end);
        put_characters(out, text, strlen(text), SIZE_MAX);
    }
    for (size_t i = total; pad && i < width; i++)
        fputc(' ', out);
}

// A sentence whose lines, which begin behind `indent` spaces, end between words.
static void write_wrapped(FILE *out, const char *text, size_t length, size_t width, size_t indent) {
    size_t column = indent;
    for (const char *end = text + length; text < end;) {
        const char *space = memchr(text, ' ', (size_t)(end - text));
        size_t bytes = (size_t)((space ? space : end) - text), characters = characters_of(text, bytes);
        if (column > indent && column + 1 + characters > width) {
            fprintf(out, "\n%*s", (int)indent, "");
            column = indent;
        } else if (column > indent) {
            fputc(' ', out);
            column++;
        }
        put_characters(out, text, bytes, SIZE_MAX);
        column += characters;
        text += bytes + (space != NULL);
    }
}

// Numbers of a column have a fraction if one of them has.
static int decimals_of(const tsmith_report_table *table, size_t rows, size_t column) {
    for (size_t row = 0; row < rows && table->columns[column].type == TSMITH_CELL_NUMBER; row++) {
        const tsmith_cell *cell = &table->cells[row * table->column_count + column];
        if (cell->known && cell->value.number != trunc(cell->value.number))
            return 2;
    }
    return 0;
}

// Text columns share `left` characters: those that need less leave it to the others.
static void share_width(const tsmith_report_table *table, const bool *hidden, size_t apart, size_t left,
                        size_t texts, size_t *widths) {
    size_t each = 0, before;
    do {
        size_t wide = 0, taken = 0;
        before = each;
        for (size_t i = 0; i < table->column_count; i++) {
            if (table->columns[i].type != TSMITH_CELL_TEXT || hidden[i] || i == apart)
                continue;
            wide += widths[i] > before;
            taken += widths[i] > before ? 0 : widths[i];
        }
        each = before == 0 ? left / texts : wide && left > taken ? (left - taken) / wide : before;
    } while (each > before);
    each = before < TEXT_MIN ? TEXT_MIN : before;
    for (size_t i = 0; i < table->column_count; i++)
        if (table->columns[i].type == TSMITH_CELL_TEXT && i != apart && widths[i] > each)
            widths[i] = each;
}

struct layout {
    size_t *widths; // of each column
    int *decimals;
    bool *hidden; // nothing is known in it
    bool *breaks; // begins a line, because there is no room left on the one before
    size_t apart; // the column whose texts have a line of their own; column_count: none
};

static bool layout_make(struct layout *layout, size_t columns) {
    *layout = (struct layout){.widths = calloc(columns, sizeof *layout->widths),
                              .decimals = calloc(columns, sizeof *layout->decimals),
                              .hidden = calloc(columns, sizeof *layout->hidden),
                              .breaks = calloc(columns, sizeof *layout->breaks),
                              .apart = columns};
    return layout->widths && layout->decimals && layout->hidden && layout->breaks;
}

static void layout_finish(struct layout *layout) {
    free(layout->widths);
    free(layout->decimals);
    free(layout->hidden);
    free(layout->breaks);
}

// How wide a column must be, with how many decimals, and whether there is anything in it.
static void measure(const tsmith_report_table *table, size_t rows, size_t column, struct layout *layout) {
    tsmith_cell_type type = table->columns[column].type;
    size_t widest = strlen(table->columns[column].name);
    bool any = column == 0;
    layout->decimals[column] = decimals_of(table, rows, column);
    for (size_t row = 0; row < rows; row++) {
        const tsmith_cell *cell = &table->cells[row * table->column_count + column];
        char text[CELL] = "-";
        if (cell->known && type != TSMITH_CELL_TEXT)
            format_number(text, cell, type, layout->decimals[column]);
        size_t width = cell->known && type == TSMITH_CELL_TEXT ? text_width(cell->value.text) : strlen(text);
        widest = width > widest ? width : widest;
        any |= cell->known;
    }
    layout->widths[column] = widest;
    layout->hidden[column] = !any;
}

// The characters that numbers leave for texts on a line, how many texts there are, and which is the longest.
static size_t room_for_texts(const tsmith_report_table *table, const struct layout *layout, size_t line,
                             size_t *texts, size_t *longest) {
    size_t taken = layout->apart < table->column_count ? 2 : 1; // the line begins with spaces
    *texts = 0;
    *longest = table->column_count;
    for (size_t i = 0; i < table->column_count; i++) {
        if (layout->hidden[i] || i == layout->apart)
            continue;
        bool text = table->columns[i].type == TSMITH_CELL_TEXT;
        taken += text ? 2 : layout->widths[i] + 2;
        *texts += text;
        if (text && (*longest == table->column_count || layout->widths[i] > layout->widths[*longest]))
            *longest = i;
    }
    return line > taken ? line - taken : 0;
}

// A text that would lose too much on a line with the others gets one of its own.
static bool fit_line(const tsmith_report_table *table, size_t line, struct layout *layout) {
    size_t texts, longest, left = room_for_texts(table, layout, line, &texts, &longest);
    size_t *wanted = malloc(table->column_count * sizeof *wanted);
    if (!wanted)
        return false;
    memcpy(wanted, layout->widths, table->column_count * sizeof *wanted);
    if (texts)
        share_width(table, layout->hidden, layout->apart, left, texts, layout->widths);
    if (texts && layout->widths[longest] < wanted[longest] * 9 / 10 && table->column_count > 1) {
        memcpy(layout->widths, wanted, table->column_count * sizeof *wanted);
        layout->apart = longest;
        layout->widths[longest] = line - APART;
        left = room_for_texts(table, layout, line, &texts, &longest);
        if (texts)
            share_width(table, layout->hidden, layout->apart, left, texts, layout->widths);
    }
    free(wanted);
    return true;
}

static bool is_on_line(const struct layout *layout, size_t column) {
    return !layout->hidden[column] && column != layout->apart;
}

// Columns that do not fit begin a line of their own, in the heading as in every row.
static void break_lines(const tsmith_report_table *table, size_t line, struct layout *layout) {
    const size_t begin = layout->apart < table->column_count ? 3 : 2;
    bool first = true;
    for (size_t i = 0, used = begin; i < table->column_count; i++) {
        if (!is_on_line(layout, i))
            continue;
        const size_t apart = first ? 0 : 2;
        layout->breaks[i] = !first && used + apart + layout->widths[i] > line;
        used = (layout->breaks[i] ? CONTINUED : used + apart) + layout->widths[i];
        first = false;
    }
}

static size_t next_on_line(const struct layout *layout, size_t column, size_t end) {
    while (column < end && !is_on_line(layout, column))
        column++;
    return column;
}

// One line of a table, or several: `row`, or the names of the columns when it is SIZE_MAX.
static void write_row(const tsmith_report_table *table, const struct layout *layout, size_t row, FILE *out) {
    const size_t end = table->column_count;
    fputs(layout->apart < end ? "   " : "  ", out);
    for (size_t i = next_on_line(layout, 0, end), next; i < end; i = next) {
        const tsmith_report_column *column = &table->columns[i];
        const tsmith_cell *cell = row == SIZE_MAX ? NULL : &table->cells[row * table->column_count + i];
        char number[CELL] = "-";
        const char *text = cell ? number : column->name;
        next = next_on_line(layout, i + 1, end);
        const bool goes_on = next < end && !layout->breaks[next];
        if (cell && cell->known && column->type == TSMITH_CELL_TEXT)
            text = cell->value.text;
        else if (cell && cell->known)
            format_number(number, cell, column->type, layout->decimals[i]);
        if (column->type != TSMITH_CELL_TEXT)
            fprintf(out, "%*s", (int)layout->widths[i], text);
        else
            write_text_cell(out, text, layout->widths[i], goes_on);
        if (goes_on)
            fputs("  ", out);
        else if (next < end)
            fprintf(out, "\n%*s", CONTINUED, "");
    }
    fputc('\n', out);
}

// How many characters of a text go on a line: up to a space, if there is one in its second half.
static size_t line_of(const char *text, size_t width) {
    size_t fits = width, at = 0, total = text_width(text);
    if (total <= width)
        return total;
    for (size_t left = strlen(text); at < width; at++) {
        unsigned length = json_utf8_length(text, left);
        length = length ? length : 1;
        if (*text == ' ' && at >= width / 2)
            fits = at + 1;
        text += length;
        left -= length;
    }
    return fits;
}

// On as many lines as it needs; what needs more than LINES_MAX lacks what stands before its last one.
static void write_long(FILE *out, const char *text, size_t width, size_t indent) {
    for (int line = 1; *text; line++) {
        if (line == LINES_MAX && text_width(text) > width) {
            fputc('~', out);
            text = skip_characters(text, text_width(text) - width + 1);
        }
        size_t characters = line_of(text, width);
        const char *rest = skip_characters(text, characters);
        put_characters(out, text, (size_t)(rest - text) - (*rest && rest[-1] == ' '), characters);
        text = rest;
        if (*text)
            fprintf(out, "\n%*s", (int)indent, "");
    }
    fputc('\n', out);
}

static void write_apart(const tsmith_report_table *table, const struct layout *layout, size_t row,
                        FILE *out) {
    const tsmith_cell *cell =
        row == SIZE_MAX ? NULL : &table->cells[row * table->column_count + layout->apart];
    const char *text = !cell                              ? table->columns[layout->apart].name
                       : cell->known && *cell->value.text ? cell->value.text
                                                          : "-";
    size_t indent = layout->apart ? 6 : 2;
    fprintf(out, "%*s", (int)indent, "");
    write_long(out, text, layout->widths[layout->apart], indent);
}

// What a row is called stands before its figures, what explains it behind them.
static void write_lines(const tsmith_report_table *table, const struct layout *layout, size_t row,
                        FILE *out) {
    bool split = layout->apart < table->column_count;
    if (split && layout->apart == 0)
        write_apart(table, layout, row, out);
    write_row(table, layout, row, out);
    if (split && layout->apart > 0)
        write_apart(table, layout, row, out);
}

static void write_title(const tsmith_report_table *table, const struct layout *layout, size_t line,
                        FILE *out) {
    char title[TITLE];
    const char *before = "; not known: ";
    size_t used = (size_t)snprintf(title, sizeof title, "%s: %s", table->name, table->doc);
    for (size_t i = 0; i < table->column_count && used < sizeof title; i++) {
        if (!layout->hidden[i])
            continue;
        used += (size_t)snprintf(title + used, sizeof title - used, "%s%s", before, table->columns[i].name);
        before = ", ";
    }
    fputs("\n  ", out);
    write_wrapped(out, title, strlen(title), line, 2);
    fputc('\n', out);
}

static void write_table(const tsmith_report_table *table, size_t max_rows, size_t line, FILE *out) {
    size_t rows = table->row_count < max_rows ? table->row_count : max_rows;
    struct layout layout;
    if (!table->row_count)
        return;
    if (layout_make(&layout, table->column_count)) {
        for (size_t i = 0; i < table->column_count; i++)
            measure(table, rows, i, &layout);
        if (fit_line(table, line, &layout)) {
            break_lines(table, line, &layout);
            write_title(table, &layout, line, out);
            write_lines(table, &layout, SIZE_MAX, out);
            for (size_t row = 0; row < rows; row++)
                write_lines(table, &layout, row, out);
        }
    }
    if (rows < table->row_count)
        fprintf(out, "  ... and %zu more\n", table->row_count - rows);
    layout_finish(&layout);
}

tsmith_status tsmith_report_write_text(const tsmith_report *report, size_t max_rows, size_t width, FILE *out,
                                       tsmith_error *error) {
    int64_t window = report->window.to - report->window.from;
    char length[REPORT_TEXT], missing[REPORT_TEXT];
    fprintf(out, "%s: %s\n  ", report->name, report->question);
    width = width ? width : WIDTH;
    for (const char *line = report->finding, *end; line; line = end ? end + 1 : NULL) {
        end = strchr(line, '\n');
        write_wrapped(out, line, end ? (size_t)(end - line) : strlen(line), width, 2);
        fputs(end ? "\n  " : "", out);
    }
    fprintf(out, "\n  Covers %.1f%% of %s", report_percent(window - report->missing, window ? window : 1),
            report_duration(length, window));
    if (report->missing || report->lost)
        fprintf(out, "; %s are incomplete, %" PRIu64 " event%s missing or incomplete",
                report_duration(missing, report->missing), report->lost, report->lost == 1 ? " is" : "s are");
    fputs(".\n", out);
    for (size_t i = 0; i < report->note_count; i++) {
        fputs("  Note: ", out);
        write_wrapped(out, report->notes[i], strlen(report->notes[i]), width, 8);
        fputs("\n", out);
    }
    for (size_t i = 0; i < report->table_count; i++)
        write_table(&report->tables[i], max_rows ? max_rows : MAX_ROWS, width, out);
    fputs("\n", out);
    return report_written(out, error);
}
