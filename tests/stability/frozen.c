// SPDX-License-Identifier: Apache-2.0
// A program as it is compiled against version 0.1 of the library: the declarations are copies of that version's and stay as they are, so
// that its structs keep their sizes when those of the library grow. It records, reads, asks SQL, analyzes and compares.
//
//     frozen layout            prints its members as tests/build/abi.txt has them
//     frozen TRACE FOLDER      uses the library; TRACE is inputs/a.sbt
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

// ---- version 0.1: do not change
// The test also compiles it with today's types (tracesmith.h included before), which shows that the functions are declared as they were.
#ifndef TRACESMITH_TRACESMITH_H

typedef int tsmith_status;
enum { TSMITH_OK = 0 };
typedef enum tsmith_diff_side { TSMITH_DIFF_BASE = 0, TSMITH_DIFF_NEW = 1 } tsmith_diff_side;
typedef struct tsmith_error {
    tsmith_status status;
    int system_errno;
    uint64_t offset, record;
    char message[512];
} tsmith_error;
typedef struct tsmith_string {
    const char *bytes;
    size_t length;
} tsmith_string;
typedef struct tsmith_session_options {
    size_t size;
    const char *path;
    size_t buffer_bytes;
    int overflow;
    const char *session_root;
    double block_timeout;
    const void *agents;
} tsmith_session_options;
typedef struct tsmith_session_statistics {
    size_t size;
    uint64_t emitted, kept, dropped, threads;
    int64_t duration;
} tsmith_session_statistics;
typedef struct tsmith_trace_options {
    size_t size;
    void (*progress)(void *context, uint64_t done, uint64_t total);
    void *progress_context;
    const void *scan;
    const char **format;
    const char *binary, *cache;
    uint64_t cache_bytes;
} tsmith_trace_options;
typedef struct tsmith_sql_value {
    int type;
    int64_t integer;
    double real;
    tsmith_string text;
} tsmith_sql_value;
typedef struct tsmith_cell {
    int known;
    union {
        int64_t integer;
        double number;
        const char *text;
    } value;
} tsmith_cell;
typedef struct tsmith_report_column {
    const char *name;
    int type;
} tsmith_report_column;
typedef struct tsmith_report_table {
    const char *name, *doc;
    const tsmith_report_column *columns;
    size_t column_count;
    const tsmith_cell *cells;
    size_t row_count;
} tsmith_report_table;
typedef struct tsmith_interval {
    int64_t from, to;
} tsmith_interval;
typedef struct tsmith_report {
    const char *name, *question, *finding;
    const char *const *notes;
    size_t note_count;
    tsmith_interval window;
    int64_t missing;
    uint64_t lost;
    const tsmith_report_table *tables;
    size_t table_count;
} tsmith_report;
typedef struct tsmith_analysis_options {
    size_t size;
    const char *const *names;
    size_t name_count;
    int has_window;
    int64_t from, to;
    const char *const *skip;
    size_t skip_count;
    int hide_interpreter;
    double peak_flops, peak_bytes;
    const char *frames;
} tsmith_analysis_options;
typedef struct tsmith_diff_options {
    size_t size;
    double confidence;
} tsmith_diff_options;
typedef struct tsmith_gate {
    size_t size;
    const char *gate;
    int passed;
    char message[256];
} tsmith_gate;
typedef struct tsmith_session tsmith_session;
typedef struct tsmith_trace tsmith_trace;
typedef struct tsmith_sbt tsmith_sbt;
typedef struct tsmith_source tsmith_source;
typedef struct tsmith_sink tsmith_sink;
typedef struct tsmith_query tsmith_query;
typedef struct tsmith_analysis tsmith_analysis;
typedef struct tsmith_diff tsmith_diff;

#endif
const char *tsmith_version(void);
tsmith_status tsmith_session_start(const tsmith_session_options *, tsmith_session **, tsmith_error *);
uint32_t tsmith_session_name(tsmith_session *, const char *);
void(tsmith_range_begin)(tsmith_session *, uint32_t);
void(tsmith_range_end)(tsmith_session *);
tsmith_status tsmith_session_stop(tsmith_session *, tsmith_session_statistics *, tsmith_error *);
tsmith_status tsmith_trace_open(const char *, const tsmith_trace_options *, tsmith_trace **, tsmith_error *);
tsmith_status tsmith_trace_stream(const char *, const tsmith_trace_options *, tsmith_source **,
                                  tsmith_error *);
void tsmith_trace_close(tsmith_trace *);
tsmith_sbt *tsmith_trace_sbt(tsmith_trace *);
void tsmith_source_destroy(tsmith_source *);
tsmith_status tsmith_pump(tsmith_source *, tsmith_sink *, int (*)(void *), void *, tsmith_error *);
tsmith_status tsmith_query_open(tsmith_sbt *, tsmith_query **, tsmith_error *);
tsmith_status tsmith_query_prepare(tsmith_query *, const char *, size_t, size_t *, tsmith_error *);
tsmith_status tsmith_query_next(tsmith_query *, tsmith_error *);
tsmith_sql_value tsmith_query_value(tsmith_query *, size_t);
void tsmith_query_close(tsmith_query *);
tsmith_status tsmith_analysis_create(const tsmith_analysis_options *, tsmith_analysis **, tsmith_error *);
tsmith_status tsmith_analysis_sink(tsmith_analysis *, tsmith_sink **);
void tsmith_sink_destroy(tsmith_sink *);
const tsmith_report *tsmith_analysis_report(const tsmith_analysis *, size_t);
void tsmith_analysis_destroy(tsmith_analysis *);
tsmith_status tsmith_diff_create(const tsmith_diff_options *, tsmith_diff **, tsmith_error *);
tsmith_status tsmith_diff_add(tsmith_diff *, tsmith_diff_side, tsmith_source *, tsmith_error *);
tsmith_status tsmith_diff_finish(tsmith_diff *, tsmith_error *);
tsmith_status tsmith_diff_gate(const tsmith_diff *, const char *, tsmith_gate *, tsmith_error *);
void tsmith_diff_destroy(tsmith_diff *);

// ---- its layout

#define MEMBER(type, member)                                                                                 \
    printf("member " #type "." #member " offset %zu size %zu\n", offsetof(type, member),                     \
           sizeof(((type *)0)->member))

static void print_layout(void) {
    MEMBER(tsmith_error, status), MEMBER(tsmith_error, system_errno), MEMBER(tsmith_error, offset);
    MEMBER(tsmith_error, record), MEMBER(tsmith_error, message);
    MEMBER(tsmith_string, bytes), MEMBER(tsmith_string, length);
    MEMBER(tsmith_session_options, path), MEMBER(tsmith_session_options, overflow),
        MEMBER(tsmith_session_options, agents);
    MEMBER(tsmith_session_statistics, kept), MEMBER(tsmith_session_statistics, duration);
    MEMBER(tsmith_trace_options, progress), MEMBER(tsmith_trace_options, format),
        MEMBER(tsmith_trace_options, cache_bytes);
    MEMBER(tsmith_sql_value, type), MEMBER(tsmith_sql_value, integer), MEMBER(tsmith_sql_value, text);
    MEMBER(tsmith_cell, known), MEMBER(tsmith_cell, value);
    MEMBER(tsmith_report_column, name), MEMBER(tsmith_report_column, type);
    MEMBER(tsmith_report_table, columns), MEMBER(tsmith_report_table, cells),
        MEMBER(tsmith_report_table, row_count);
    MEMBER(tsmith_report, name), MEMBER(tsmith_report, window), MEMBER(tsmith_report, tables),
        MEMBER(tsmith_report, table_count);
    MEMBER(tsmith_analysis_options, names), MEMBER(tsmith_analysis_options, from),
        MEMBER(tsmith_analysis_options, skip);
    MEMBER(tsmith_analysis_options, frames);
    MEMBER(tsmith_diff_options, confidence);
    MEMBER(tsmith_gate, gate), MEMBER(tsmith_gate, passed), MEMBER(tsmith_gate, message);
}

// ---- its work

static tsmith_error error;

static int failed(const char *what) {
    printf("%s: %s\n", what, error.message);
    return 1;
}

static int record(const char *path) {
    tsmith_session *session = NULL;
    const tsmith_session_options options = {.size = sizeof options, .path = path};
    tsmith_session_statistics statistics = {.size = sizeof statistics};
    if (tsmith_session_start(&options, &session, &error) != TSMITH_OK)
        return failed("start");
    const uint32_t name = tsmith_session_name(session, "step");
    for (int i = 0; i < 3; i++) {
        tsmith_range_begin(session, name);
        tsmith_range_end(session);
    }
    if (tsmith_session_stop(session, &statistics, &error) != TSMITH_OK)
        return failed("stop");
    printf("emitted %d, kept %d, dropped %d\n", (int)statistics.emitted, (int)statistics.kept,
           (int)statistics.dropped);
    return 0;
}

static int ask(const char *path, const char *sql) {
    tsmith_trace *trace = NULL;
    tsmith_query *query = NULL;
    size_t used = 0;
    const tsmith_trace_options options = {.size = sizeof options};
    if (tsmith_trace_open(path, &options, &trace, &error) != TSMITH_OK)
        return failed("open");
    int code = tsmith_query_open(tsmith_trace_sbt(trace), &query, &error) != TSMITH_OK ||
               tsmith_query_prepare(query, sql, strlen(sql), &used, &error) != TSMITH_OK;
    while (code == 0 && tsmith_query_next(query, &error) == TSMITH_OK) {
        const tsmith_sql_value name = tsmith_query_value(query, 0), count = tsmith_query_value(query, 1);
        printf("%.*s %d\n", (int)name.text.length, name.text.bytes, (int)count.integer);
    }
    if (code)
        failed("query");
    tsmith_query_close(query);
    tsmith_trace_close(trace);
    return code;
}

static int analyze(const char *path) {
    const char *const names[] = {"kernels"};
    const tsmith_analysis_options options = {.size = sizeof options, .names = names, .name_count = 1};
    const tsmith_trace_options trace = {.size = sizeof trace};
    tsmith_analysis *analysis = NULL;
    tsmith_source *source = NULL;
    tsmith_sink *sink = NULL;
    if (tsmith_analysis_create(&options, &analysis, &error) != TSMITH_OK)
        return failed("analysis");
    int code = tsmith_trace_stream(path, &trace, &source, &error) != TSMITH_OK ||
               tsmith_analysis_sink(analysis, &sink) != TSMITH_OK ||
               tsmith_pump(source, sink, NULL, NULL, &error) != TSMITH_OK;
    const tsmith_report *report = code ? NULL : tsmith_analysis_report(analysis, 0);
    const tsmith_report_table *table = report && report->table_count ? &report->tables[0] : NULL;
    for (size_t column = 0; table && column < table->column_count; column++)
        if (strcmp(table->columns[column].name, "count") == 0)
            for (size_t row = 0; row < table->row_count; row++)
                code += !table->cells[row * table->column_count + column].known;
    if (code || !table)
        failed("analyze");
    else
        printf("%s: %s with %zu rows; lost %d\n", report->name, table->name, table->row_count,
               (int)report->lost);
    tsmith_source_destroy(source);
    tsmith_sink_destroy(sink);
    tsmith_analysis_destroy(analysis);
    return code || !table;
}

static int compare(const char *path) {
    const tsmith_diff_options options = {.size = sizeof options, .confidence = 0.9};
    const tsmith_trace_options trace = {.size = sizeof trace};
    tsmith_gate gate = {.size = sizeof gate};
    tsmith_diff *diff = NULL;
    if (tsmith_diff_create(&options, &diff, &error) != TSMITH_OK)
        return failed("diff");
    int code = 0;
    for (int side = TSMITH_DIFF_BASE; code == 0 && side <= TSMITH_DIFF_NEW; side++) {
        tsmith_source *source = NULL;
        code = tsmith_trace_stream(path, &trace, &source, &error) != TSMITH_OK ||
               tsmith_diff_add(diff, side, source, &error) != TSMITH_OK;
        tsmith_source_destroy(source);
    }
    code = code || tsmith_diff_finish(diff, &error) != TSMITH_OK ||
           tsmith_diff_gate(diff, "launch_count<=+0", &gate, &error) != TSMITH_OK;
    if (code)
        failed("compare");
    else
        printf("gate %s\n", gate.passed ? "passed" : "failed");
    tsmith_diff_destroy(diff);
    return code;
}

int main(int argc, char **argv) {
    if (argc == 2 && strcmp(argv[1], "layout") == 0) {
        print_layout();
        return 0;
    }
    if (argc != 3)
        return 2;
    char path[4096];
    snprintf(path, sizeof path, "%s/own.sbt", argv[2]);
    return record(path) || ask(path, "SELECT name, count(*) FROM range GROUP BY name") ||
           ask(argv[1], "SELECT kind, count(*) FROM events GROUP BY kind ORDER BY kind") ||
           analyze(argv[1]) || compare(argv[1]);
}
