// SPDX-License-Identifier: Apache-2.0
// Filling a report. Out of memory is remembered and asked for once, at the end (report_failed), so that an analysis
// can be written as it reads. Texts are copied; bytes of the trace that are no UTF-8 are kept as they are and
// escaped by the writers.
#ifndef ANALYZE_REPORT_H
#define ANALYZE_REPORT_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/status.h"
#include "tracesmith/analyze.h"

struct report_table {
    const char *name, *doc;
    const tsmith_report_column *columns;
    size_t column_count;
    tsmith_cell *cells;
    size_t cell_count, cell_capacity;
};

enum { REPORT_TABLES = 12, REPORT_NOTES = 24, REPORT_TEXT = 40 };

struct report {
    tsmith_report public; // filled by report_end
    struct arena arena;
    struct report_table tables[REPORT_TABLES];
    tsmith_report_table public_tables[REPORT_TABLES];
    const char *notes[REPORT_NOTES];
    size_t notes_left; // without room
    bool failed;
};

void report_finish(struct report *report);
// Begins the next table; the columns are a static array.
struct report_table *report_begin_table(struct report *report, const char *name, const char *doc,
                                        const tsmith_report_column *columns, size_t column_count);
#define REPORT_TABLE(report, name, doc, columns)                                                             \
    report_begin_table(report, name, doc, columns, sizeof(columns) / sizeof *(columns))

// The next cell of a row, in the order of the columns.
void report_text(struct report *report, struct report_table *table, tsmith_string text);
void report_integer(struct report *report, struct report_table *table, int64_t value);
void report_number(struct report *report, struct report_table *table, double value);
void report_unknown(struct report *report, struct report_table *table);
// part / whole; unknown when whole is 0.
void report_share(struct report *report, struct report_table *table, int64_t part, int64_t whole);

void report_finding(struct report *report, const char *format, ...) TSMITH_PRINTF(2, 3);
void report_note(struct report *report, const char *format, ...) TSMITH_PRINTF(2, 3);
// Makes `public` whole. False when memory was exhausted on the way.
bool report_end(struct report *report);

// Whether everything that was written to `out` got there.
tsmith_status report_written(FILE *out, tsmith_error *error);

// A duration, a number of bytes for people: "1.23 ms", "4.00 GiB". Writes into `out` and returns it.
const char *report_duration(char out[REPORT_TEXT], int64_t ns);
const char *report_bytes(char out[REPORT_TEXT], double bytes);
const char *report_rate(char out[REPORT_TEXT], double bytes_per_s);
const char *report_flop_rate(char out[REPORT_TEXT], double flop_per_s); // "1.23 TFLOP/s"
// The ending of a noun that is counted: "%llu kernel%s".
static inline const char *report_plural(uint64_t count) {
    return count == 1 ? "" : "s";
}
double report_percent(int64_t part, int64_t whole); // 0 when whole is 0

#endif
