// SPDX-License-Identifier: Apache-2.0
// A report as JSON and CSV.
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/report.h"
#include "base/json.h"

static const char *suffix_of_type(tsmith_cell_type type) {
    static const char *const SUFFIXES[] = {
#define CELL_SUFFIX(NAME, number, text, doc) [number] = text,
        TSMITH_CELL_TABLE(CELL_SUFFIX)
#undef CELL_SUFFIX
    };
    return SUFFIXES[type];
}

tsmith_status report_written(FILE *out, tsmith_error *error) {
    if (fflush(out) || ferror(out))
        return status_set_errno(error, "The report could not be written");
    return TSMITH_OK;
}

// ---- numbers for machines

static void write_number(FILE *out, const tsmith_cell *cell, tsmith_cell_type type) {
    if (type == TSMITH_CELL_SHARE || type == TSMITH_CELL_RATE || type == TSMITH_CELL_NUMBER ||
        type == TSMITH_CELL_FLOP_RATE)
        fprintf(out, "%.9g", cell->value.number);
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
        fprintf(out, "%s\"%s%s\": ", i ? ", " : "", column->name, suffix_of_type(column->type));
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
    return report_written(out, error);
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
            fprintf(out, ",%s%s", table->columns[i].name, suffix_of_type(table->columns[i].type));
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
    return report_written(out, error);
}
