// SPDX-License-Identifier: Apache-2.0
// Text, cells and tables as HTML. The parts of a report call it.
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "analyze/report.h"
#include "base/json.h"
#include "report/page.h"

enum { NAME_MOST = 120, TITLE_MOST = 2000 };

static void put_character(FILE *out, const char *at, unsigned length) {
    static const char replacement[] = "\xef\xbf\xbd";
    const char *entity = length != 1  ? NULL
                         : *at == '&' ? "&amp;"
                         : *at == '<' ? "&lt;"
                         : *at == '>' ? "&gt;"
                         : *at == '"' ? "&quot;"
                                      : NULL;
    if (!length || (length == 1 && ((unsigned char)*at < 0x20 || *at == 0x7f)))
        (void)fputs(replacement, out);
    else if (entity)
        (void)fputs(entity, out);
    else
        (void)fwrite(at, 1, length, out);
}

void markup_text(FILE *out, tsmith_string text, size_t most) {
    const char *at = text.bytes, *end = text.bytes + text.length;
    for (size_t count = 0; at < end; count++) {
        const unsigned length = json_utf8_length(at, (size_t)(end - at));
        if (most && count == most) {
            (void)fputs("…", out);
            return;
        }
        put_character(out, at, length);
        at += length ? length : 1;
    }
}

void markup_cstr(FILE *out, const char *text) {
    markup_text(out, (tsmith_string){text, strlen(text)}, 0);
}

void markup_name(FILE *out, tsmith_string name) {
    (void)fputs("<bdi", out);
    if (name.length > NAME_MOST) {
        (void)fputs(" title=\"", out);
        markup_text(out, name, TITLE_MOST);
        (void)fputc('"', out);
    }
    (void)fputc('>', out);
    markup_text(out, name, NAME_MOST);
    (void)fputs("</bdi>", out);
}

void markup_cell(FILE *out, const tsmith_cell *cell, tsmith_cell_type type, int decimals) {
    char text[REPORT_TEXT];
    switch (type) {
    case TSMITH_CELL_TEXT:
        markup_name(out, (tsmith_string){cell->value.text, strlen(cell->value.text)});
        break;
    case TSMITH_CELL_DURATION:
    case TSMITH_CELL_TIME:
        (void)fputs(report_duration(text, cell->value.integer), out);
        break;
    case TSMITH_CELL_SHARE:
        (void)fprintf(out, "%.1f%%", 100 * cell->value.number);
        break;
    case TSMITH_CELL_BYTES:
        (void)fputs(report_bytes(text, (double)cell->value.integer), out);
        break;
    case TSMITH_CELL_RATE:
        (void)fputs(report_rate(text, cell->value.number), out);
        break;
    case TSMITH_CELL_FLOP_RATE:
        (void)fputs(report_flop_rate(text, cell->value.number), out);
        break;
    case TSMITH_CELL_NUMBER:
        (void)fprintf(out, "%.*f", decimals, cell->value.number);
        break;
    case TSMITH_CELL_COUNT:
        (void)fprintf(out, "%" PRId64, cell->value.integer);
    }
}

// The numbers of a column have a fraction if one of them has.
static int decimals_of(const tsmith_report_table *table, size_t column) {
    for (size_t row = 0; row < table->row_count; row++) {
        const tsmith_cell *cell = &table->cells[row * table->column_count + column];
        if (cell->known && cell->value.number != trunc(cell->value.number))
            return 2;
    }
    return 0;
}

static void put_row(const struct page *page, const tsmith_report_table *table, size_t row) {
    FILE *out = page->out;
    (void)fputs("<tr>", out);
    for (size_t i = 0; i < table->column_count; i++) {
        const tsmith_cell *cell = &table->cells[row * table->column_count + i];
        const tsmith_cell_type type = table->columns[i].type;
        (void)fputs(type == TSMITH_CELL_TEXT ? "<td>" : "<td class=n>", out);
        if (cell->known)
            markup_cell(out, cell, type, type == TSMITH_CELL_NUMBER ? decimals_of(table, i) : 0);
        else
            (void)fputs("<span class=u title=\"the trace does not tell\">-</span>", out);
        (void)fputs("</td>", out);
    }
    (void)fputs("</tr>\n", out);
}

void markup_table(const struct page *page, const tsmith_report_table *table) {
    FILE *out = page->out;
    const size_t rows = table->row_count < page->table_rows ? table->row_count : page->table_rows;
    (void)fprintf(out, "<div class=w><table data-table=\"%s\"><caption><b>%s</b>: ", table->name,
                  table->name);
    markup_cstr(out, table->doc);
    (void)fputs("</caption>\n<thead><tr>", out);
    for (size_t i = 0; i < table->column_count; i++)
        (void)fprintf(out, "<th scope=col%s>%s</th>",
                      table->columns[i].type == TSMITH_CELL_TEXT ? "" : " class=n", table->columns[i].name);
    (void)fputs("</tr></thead>\n<tbody>\n", out);
    for (size_t row = 0; row < rows; row++)
        put_row(page, table, row);
    (void)fputs("</tbody></table></div>\n", out);
    if (rows < table->row_count)
        (void)fprintf(out, "<p class=m>%zu of %zu rows are shown.</p>\n", rows, table->row_count);
}
