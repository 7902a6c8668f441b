// SPDX-License-Identifier: Apache-2.0
// A report as text, JSON and CSV: the only place that knows how a cell looks.
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/report.h"
#include "base/json.h"

enum { MAX_ROWS = 20, WIDTH = 100, CELL = 48, TEXT_MIN = 16 };

static const char *suffix(tsmith_cell_type type) {
    static const char *const SUFFIXES[] = {
#define CELL_SUFFIX(NAME, number, text, doc) [number] = text,
        TSMITH_CELL_TABLE(CELL_SUFFIX)
#undef CELL_SUFFIX
    };
    return SUFFIXES[type];
}

static tsmith_status done(FILE *out, tsmith_error *error) {
    if (fflush(out) || ferror(out))
        return status_set_errno(error, "The report could not be written");
    return TSMITH_OK;
}

// ---- numbers for machines

static void write_number(FILE *out, const tsmith_cell *cell, tsmith_cell_type type) {
    if (type == TSMITH_CELL_SHARE || type == TSMITH_CELL_RATE || type == TSMITH_CELL_NUMBER)
        fprintf(out, "%.9g", isfinite(cell->value.number) ? cell->value.number : 0.0);
    else
        fprintf(out, "%" PRId64, cell->value.integer);
}

// ---- JSON

// Bytes that are no UTF-8 become \udc80 .. \udcff, as in the exports.
static void write_json_text(FILE *out, const char *text) {
    size_t left = strlen(text);
    fputc('"', out);
    while (left) {
        unsigned char c = (unsigned char)*text;
        unsigned length = json_utf8_length(text, left);
        if (!length)
            fprintf(out, "\\udc%02x", c);
        else if (c == '"' || c == '\\')
            fprintf(out, "\\%c", c);
        else if (c < 0x20)
            fprintf(out, "\\u%04x", c);
        else
            (void)fwrite(text, 1, length, out);
        length = length ? length : 1;
        text += length;
        left -= length;
    }
    fputc('"', out);
}

static void write_json_row(const tsmith_report_table *table, size_t row, FILE *out) {
    fputs("{", out);
    for (size_t i = 0; i < table->column_count; i++) {
        const tsmith_report_column *column = &table->columns[i];
        const tsmith_cell *cell = &table->cells[row * table->column_count + i];
        fprintf(out, "%s\"%s%s\": ", i ? ", " : "", column->name, suffix(column->type));
        if (!cell->known)
            fputs("null", out);
        else if (column->type == TSMITH_CELL_TEXT)
            write_json_text(out, cell->value.text);
        else
            write_number(out, cell, column->type);
    }
    fputs("}", out);
}

tsmith_status tsmith_report_write_json(const tsmith_report *report, FILE *out, tsmith_error *error) {
    int64_t window = report->window.to - report->window.from;
    fprintf(out, "{\"report\": \"%s\", \"question\": ", report->name);
    write_json_text(out, report->question);
    fputs(",\n \"finding\": ", out);
    write_json_text(out, report->finding);
    fprintf(out,
            ",\n \"window\": {\"from_ns\": %" PRId64 ", \"to_ns\": %" PRId64 "}, \"covered\": %.9g, "
            "\"missing_ns\": %" PRId64 ", \"lost_events\": %" PRIu64 ",\n \"notes\": [",
            report->window.from, report->window.to,
            window ? (double)(window - report->missing) / (double)window : 1.0, report->missing,
            report->lost);
    for (size_t i = 0; i < report->note_count; i++) {
        fputs(i ? ", " : "", out);
        write_json_text(out, report->notes[i]);
    }
    fputs("],\n \"tables\": {", out);
    for (size_t i = 0; i < report->table_count; i++) {
        const tsmith_report_table *table = &report->tables[i];
        fprintf(out, "%s\n  \"%s\": [", i ? "," : "", table->name);
        for (size_t row = 0; row < table->row_count; row++) {
            fputs(row ? ",\n   " : "\n   ", out);
            write_json_row(table, row, out);
        }
        fputs("]", out);
    }
    fputs("}}\n", out);
    return done(out, error);
}

// ---- CSV

static void write_csv_text(FILE *out, const char *text) {
    if (!strpbrk(text, ",\"\r\n")) {
        fputs(text, out);
        return;
    }
    fputc('"', out);
    for (; *text; text++) {
        if (*text == '"')
            fputc('"', out);
        fputc(*text, out);
    }
    fputc('"', out);
}

tsmith_status tsmith_report_write_csv(const tsmith_report *report, FILE *out, tsmith_error *error) {
    for (size_t t = 0; t < report->table_count; t++) {
        const tsmith_report_table *table = &report->tables[t];
        fputs("report,table", out);
        for (size_t i = 0; i < table->column_count; i++)
            fprintf(out, ",%s%s", table->columns[i].name, suffix(table->columns[i].type));
        fputs("\r\n", out);
        for (size_t i = 0; i < table->row_count * table->column_count; i++) {
            const tsmith_cell *cell = &table->cells[i];
            tsmith_cell_type type = table->columns[i % table->column_count].type;
            if (i % table->column_count == 0)
                fprintf(out, "%s,%s", report->name, table->name);
            fputc(',', out);
            if (cell->known && type == TSMITH_CELL_TEXT)
                write_csv_text(out, cell->value.text);
            else if (cell->known)
                write_number(out, cell, type);
            if (i % table->column_count == table->column_count - 1)
                fputs("\r\n", out);
        }
    }
    return done(out, error);
}

// ---- text

// A number as people read it; at most CELL characters.
static void format_number(char text[CELL], const tsmith_cell *cell, tsmith_cell_type type, int decimals) {
    char part[REPORT_TEXT];
    switch (type) {
    case TSMITH_CELL_DURATION:
    case TSMITH_CELL_TIME:
        (void)snprintf(text, CELL, "%s", report_duration(part, cell->value.integer));
        break;
    case TSMITH_CELL_SHARE:
        (void)snprintf(text, CELL, "%.1f %%", 100 * cell->value.number);
        break;
    case TSMITH_CELL_BYTES:
        (void)snprintf(text, CELL, "%s", report_bytes(part, (double)cell->value.integer));
        break;
    case TSMITH_CELL_RATE:
        (void)snprintf(text, CELL, "%.2f GB/s", cell->value.number / 1e9);
        break;
    case TSMITH_CELL_NUMBER:
        (void)snprintf(text, CELL, "%.*f", decimals, cell->value.number);
        break;
    default:
        (void)snprintf(text, CELL, "%" PRId64, cell->value.integer);
    }
}

// Characters of a text, each of the width 1; what a terminal must not see becomes '?'.
static size_t text_width(const char *text) {
    size_t width = 0;
    for (size_t left = strlen(text); left; width++) {
        unsigned length = json_utf8_length(text, left);
        length = length ? length : 1;
        text += length;
        left -= length;
    }
    return width;
}

// At most `keep` characters of the `left` bytes of a text.
static void put_characters(FILE *out, const char *text, size_t left, size_t keep) {
    for (size_t i = 0; i < keep && left; i++) {
        unsigned length = json_utf8_length(text, left);
        unsigned char c = (unsigned char)*text;
        if (!length || c < 0x20 || c == 0x7f || (c == 0xc2 && (unsigned char)text[1] < 0xa0))
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
static void write_text_cell(FILE *out, const char *text, size_t width) {
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
    for (size_t i = total; i < width; i++)
        fputc(' ', out);
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
static void share(const tsmith_report_table *table, size_t left, size_t texts, size_t *widths) {
    size_t each = 0, before;
    do {
        size_t wide = 0, taken = 0;
        before = each;
        for (size_t i = 0; i < table->column_count; i++) {
            bool is_wide = table->columns[i].type == TSMITH_CELL_TEXT && widths[i] > before;
            wide += is_wide;
            taken += is_wide || table->columns[i].type != TSMITH_CELL_TEXT ? 0 : widths[i];
        }
        each = before == 0 ? left / texts : wide && left > taken ? (left - taken) / wide : before;
    } while (each > before);
    each = before < TEXT_MIN ? TEXT_MIN : before;
    for (size_t i = 0; i < table->column_count; i++)
        if (table->columns[i].type == TSMITH_CELL_TEXT && widths[i] > each)
            widths[i] = each;
}

// How wide each column must be, and with how many decimals.
static void measure(const tsmith_report_table *table, size_t rows, size_t line, size_t *widths,
                    int *decimals) {
    size_t numbers = 1, texts = 0; // a line begins with a space
    for (size_t i = 0; i < table->column_count; i++) {
        tsmith_cell_type type = table->columns[i].type;
        widths[i] = strlen(table->columns[i].name);
        decimals[i] = decimals_of(table, rows, i);
        for (size_t row = 0; row < rows; row++) {
            const tsmith_cell *cell = &table->cells[row * table->column_count + i];
            char text[CELL] = "-";
            if (cell->known && type != TSMITH_CELL_TEXT)
                format_number(text, cell, type, decimals[i]);
            size_t width =
                cell->known && type == TSMITH_CELL_TEXT ? text_width(cell->value.text) : strlen(text);
            widths[i] = width > widths[i] ? width : widths[i];
        }
        numbers += type == TSMITH_CELL_TEXT ? 2 : widths[i] + 2;
        texts += type == TSMITH_CELL_TEXT;
    }
    if (texts)
        share(table, line > numbers ? line - numbers : 0, texts, widths);
}

static void write_table(const tsmith_report_table *table, size_t max_rows, size_t line, FILE *out) {
    size_t rows = table->row_count < max_rows ? table->row_count : max_rows;
    size_t *widths = calloc(table->column_count, sizeof *widths);
    int *decimals = calloc(table->column_count, sizeof *decimals);
    if (!table->row_count || !widths || !decimals) {
        free(decimals);
        free(widths);
        return;
    }
    measure(table, rows, line, widths, decimals);
    fprintf(out, "\n  %s: %s\n ", table->name, table->doc);
    for (size_t i = 0; i < table->column_count; i++)
        fprintf(out, " %*s ", table->columns[i].type == TSMITH_CELL_TEXT ? -(int)widths[i] : (int)widths[i],
                table->columns[i].name);
    fputs("\n", out);
    for (size_t i = 0; i < rows * table->column_count; i++) {
        size_t column = i % table->column_count;
        tsmith_cell_type type = table->columns[column].type;
        const tsmith_cell *cell = &table->cells[i];
        char text[CELL] = "-";
        fputs(column ? " " : "  ", out);
        if (cell->known && type == TSMITH_CELL_TEXT) {
            write_text_cell(out, cell->value.text, widths[column]);
        } else {
            if (cell->known)
                format_number(text, cell, type, decimals[column]);
            fprintf(out, "%*s", type == TSMITH_CELL_TEXT ? -(int)widths[column] : (int)widths[column], text);
        }
        fputs(column + 1 == table->column_count ? "\n" : " ", out);
    }
    if (rows < table->row_count)
        fprintf(out, "  ... and %zu more\n", table->row_count - rows);
    free(decimals);
    free(widths);
}

tsmith_status tsmith_report_write_text(const tsmith_report *report, size_t max_rows, size_t width, FILE *out,
                                       tsmith_error *error) {
    int64_t window = report->window.to - report->window.from;
    char length[REPORT_TEXT], missing[REPORT_TEXT];
    fprintf(out, "%s: %s\n  ", report->name, report->question);
    for (const char *line = report->finding, *end; line; line = end ? end + 1 : NULL) {
        end = strchr(line, '\n');
        put_characters(out, line, end ? (size_t)(end - line) : strlen(line), SIZE_MAX);
        fputs(end ? "\n  " : "", out);
    }
    fprintf(out, "\n  Covers %.1f %% of %s", report_percent(window - report->missing, window ? window : 1),
            report_duration(length, window));
    if (report->missing || report->lost)
        fprintf(out, "; %s are incomplete, %" PRIu64 " events were lost",
                report_duration(missing, report->missing), report->lost);
    fputs(".\n", out);
    for (size_t i = 0; i < report->note_count; i++) {
        fputs("  Note: ", out);
        write_text_cell(out, report->notes[i], text_width(report->notes[i]));
        fputs("\n", out);
    }
    for (size_t i = 0; i < report->table_count; i++)
        write_table(&report->tables[i], max_rows ? max_rows : MAX_ROWS, width ? width : WIDTH, out);
    fputs("\n", out);
    return done(out, error);
}
