// SPDX-License-Identifier: Apache-2.0
// tracesmith for systems where nothing is recorded: reads traces of every format, exports them and answers questions about them.
// packaging/portable.sh builds it for Windows, and tests/platform/windows.sh for this system as well, to compare.
//
//   tracesmith formats                        the formats that it writes
//   tracesmith info FILE                      the format, and the number of events of each kind
//   tracesmith import -o OUT FILE             the same events as an SBT trace
//   tracesmith export -f FORMAT [-o OUT] FILE
//   tracesmith analyze FILE                   every answer, one JSON document after the other
//   tracesmith query FILE SQL                 the rows, separated by tabs; of an SBT trace
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#ifdef _WIN32
#include <fcntl.h>
#include <io.h>
#include <windows.h>
#endif

#include "tracesmith/analyze.h"
#include "tracesmith/export_trace.h"
#include "tracesmith/import.h"
#include "tracesmith/query.h"
#include "tracesmith/sbt.h"
#include "tracesmith/schema.h"
#include "tracesmith/view.h"

// As of the command on Linux.
enum { DONE = 0, FAILED = 1, USAGE = 2, PARTLY = 3, LEVEL_USUAL = 7 };

struct trace {
    tsmith_sbt *file; // NULL: of another format
    tsmith_source *source;
};

struct arguments {
    const char *verb, *format, *out, *path, *sql;
};

static void complain(const char *message) {
    (void)fprintf(stderr, "tracesmith: %s\n", message);
}

static void complain_of(const char *path, const char *what, const char *why) {
    (void)fprintf(stderr, "tracesmith: %s %s%s%s\n", path, what, *why ? ": " : "", why);
}

static int code_of(tsmith_status status, const tsmith_error *error) {
    if (status == TSMITH_OK)
        return DONE;
    complain(error->message[0] ? error->message : tsmith_status_text(status));
    return status < 0 ? FAILED : PARTLY;
}

// ---- reading

static tsmith_status open_trace(struct trace *trace, const char *path, tsmith_error *error) {
    *trace = (struct trace){.file = NULL};
    tsmith_status status = tsmith_sbt_open(path, &trace->file, error);
    if (status == TSMITH_ERROR_FORMAT)
        return tsmith_import_open(path, NULL, &trace->source, error);
    if (status >= 0)
        status = tsmith_sbt_scan(trace->file, NULL, &trace->source, error);
    return status;
}

static void close_trace(struct trace *trace) {
    tsmith_source_destroy(trace->source);
    tsmith_sbt_close(trace->file);
}

// All events into a sink, which is destroyed.
static int pour(struct trace *trace, tsmith_sink *sink) {
    tsmith_error error = {.status = TSMITH_OK};
    const tsmith_status status = tsmith_pump(trace->source, sink, NULL, NULL, &error);
    tsmith_sink_destroy(sink);
    return code_of(status, &error);
}

// ---- files

#ifdef _WIN32
static bool identify(const char *path, BY_HANDLE_FILE_INFORMATION *out) {
    const HANDLE file = CreateFileA(path, 0, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, NULL,
                                    OPEN_EXISTING, FILE_FLAG_BACKUP_SEMANTICS, NULL);
    const bool known = file != INVALID_HANDLE_VALUE && GetFileInformationByHandle(file, out);
    if (file != INVALID_HANDLE_VALUE)
        (void)CloseHandle(file);
    return known;
}

static bool is_same_file(const char *left, const char *right) {
    BY_HANDLE_FILE_INFORMATION a, b;
    return identify(left, &a) && identify(right, &b) && a.dwVolumeSerialNumber == b.dwVolumeSerialNumber &&
           a.nFileIndexHigh == b.nFileIndexHigh && a.nFileIndexLow == b.nFileIndexLow;
}
#else
static bool is_same_file(const char *left, const char *right) {
    struct stat a, b;
    return stat(left, &a) == 0 && stat(right, &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}
#endif

// What a failure leaves is no trace. A device keeps its name.
static void remove_incomplete(const char *path) {
    struct stat status;
    if (stat(path, &status) == 0 && S_ISREG(status.st_mode))
        (void)remove(path);
}

// ---- verbs

static int list_formats(void) {
    const char *name;
    for (unsigned i = 0; (name = tsmith_export_format_name(i)); i++)
        (void)printf("%-14s %s\n", name, tsmith_export_format_doc(i));
    return DONE;
}

static int inform(struct trace *trace) {
    unsigned long long counts[TSMITH_KIND_LIMIT] = {0};
    const tsmith_batch *batch;
    tsmith_error error = {.status = TSMITH_OK};
    tsmith_status status;
    while ((status = tsmith_source_next(trace->source, &batch, &error)) == TSMITH_OK) {
        static const uint32_t field = TSMITH_FIELD_KIND;
        tsmith_view kinds;
        tsmith_view_batch(batch, &field, 1, &kinds);
        for (uint32_t row = 0; row < tsmith_batch_count(batch); row++) {
            const uint32_t kind = tsmith_view_word(&kinds, row);
            counts[kind < TSMITH_KIND_LIMIT ? kind : 0]++;
        }
    }
    const tsmith_string format =
        tsmith_dictionary_find_attribute(tsmith_source_dictionary(trace->source), "import.format");
    (void)printf("format %.*s\n", trace->file ? 3 : (int)format.length, trace->file ? "sbt" : format.bytes);
    for (int kind = 0; kind < TSMITH_KIND_LIMIT; kind++)
        if (counts[kind])
            (void)printf("%s %llu\n", tsmith_kind_name((tsmith_kind)kind), counts[kind]);
    return code_of(status == TSMITH_END ? TSMITH_OK : status, &error);
}

static tsmith_status write_file(void *file, const void *bytes, size_t size) {
    return fwrite(bytes, 1, size, file) == size ? TSMITH_OK : TSMITH_ERROR_IO;
}

// As the format that was asked for, or without one as SBT.
static int write_trace(struct trace *trace, const struct arguments *arguments) {
    const char *format = arguments->format, *path = arguments->out;
    tsmith_sink *sink = NULL;
    tsmith_error error = {.status = TSMITH_OK};
    if (path && is_same_file(arguments->path, path)) {
        complain_of(path, "is also the input and would be overwritten; choose another name with -o", "");
        return FAILED;
    }
    FILE *file = path ? fopen(path, "wb") : stdout;
    if (!file) {
        complain_of(path, "cannot be created", strerror(errno));
        return FAILED;
    }
    const tsmith_output output = {write_file, file};
    const tsmith_sbt_write_options options = {.size = sizeof options, .compression_level = LEVEL_USUAL};
    const tsmith_status status = format ? tsmith_export_open_output(format, &output, NULL, &sink, &error)
                                        : tsmith_sbt_writer_open_output(&output, &options, &sink, &error);
    int code = status < 0 ? code_of(status, &error) : pour(trace, sink);
    if (path && fclose(file) != 0) { // main looks after standard output
        complain_of(path, "cannot be written", strerror(errno));
        code = FAILED;
    }
    if (path && code == FAILED)
        remove_incomplete(path);
    return code;
}

static int analyze(struct trace *trace) {
    tsmith_analysis *analysis = NULL;
    tsmith_sink *sink = NULL;
    tsmith_error error = {.status = TSMITH_OK};
    const tsmith_report *report;
    tsmith_status status = tsmith_analysis_create(NULL, &analysis, &error);
    if (status == TSMITH_OK)
        status = tsmith_analysis_sink(analysis, &sink);
    int code = status < 0 ? code_of(status, &error) : pour(trace, sink);
    for (size_t i = 0; code != FAILED && (report = tsmith_analysis_report(analysis, i)); i++) {
        if (tsmith_report_write_json(report, stdout, &error) < 0)
            code = code_of(error.status, &error);
        (void)putchar('\n');
    }
    tsmith_analysis_destroy(analysis);
    return code;
}

static void print_row(tsmith_query *query, size_t count) {
    for (size_t i = 0; i < count; i++) {
        const tsmith_sql_value value = tsmith_query_value(query, i);
        if (i)
            (void)putchar('\t');
        if (value.type == TSMITH_SQL_INTEGER)
            (void)printf("%lld", (long long)value.integer);
        else if (value.type == TSMITH_SQL_REAL)
            (void)printf("%.17g", value.real);
        else if (value.type != TSMITH_SQL_NULL)
            (void)fwrite(value.text.bytes, 1, value.text.length, stdout);
    }
    (void)putchar('\n');
}

static int answer_sql(struct trace *trace, const char *sql) {
    tsmith_query *query = NULL;
    tsmith_error error = {.status = TSMITH_OK};
    size_t used;
    if (!trace->file) {
        complain("SQL is answered about SBT traces; convert this one: tracesmith import -o OUT FILE");
        return USAGE;
    }
    tsmith_status status = tsmith_query_open(trace->file, &query, &error);
    if (status >= 0)
        status = tsmith_query_prepare(query, sql, strlen(sql), &used, &error);
    while (status >= 0 && status != TSMITH_END && (status = tsmith_query_next(query, &error)) == TSMITH_OK)
        print_row(query, tsmith_query_column_count(query));
    tsmith_query_close(query);
    return code_of(status == TSMITH_END ? TSMITH_OK : status, &error);
}

// ---- arguments

static int usage(void) {
    complain("usage: tracesmith formats | info FILE | import -o OUT FILE | export -f FORMAT [-o OUT] FILE | "
             "analyze FILE | query FILE SQL");
    return USAGE;
}

// False: they are not of this program.
static bool take_arguments(int argc, char **argv, struct arguments *out) {
    *out = (struct arguments){.verb = argc > 1 ? argv[1] : ""};
    for (int i = 2; i < argc; i++) {
        const bool is_option = strcmp(argv[i], "-f") == 0 || strcmp(argv[i], "-o") == 0;
        const char **value = !is_option          ? (out->path ? &out->sql : &out->path)
                             : argv[i][1] == 'f' ? &out->format
                                                 : &out->out;
        if (*value || (is_option && ++i == argc))
            return false;
        *value = argv[i];
    }
    return true;
}

static bool is_verb(const struct arguments *arguments, const char *verb) {
    return strcmp(arguments->verb, verb) == 0;
}

// An answer about a part of a file is none about all of it.
static int look_for_damage(const struct trace *trace, const char *path, int code) {
    tsmith_sbt_summary summary = {.size = sizeof summary};
    if (code != DONE || !trace->file ||
        (tsmith_sbt_summarize(trace->file, &summary, NULL) >= 0 && summary.complete))
        return code;
    complain_of(path, "ends early or is damaged; the answer covers the readable part", "");
    return PARTLY;
}

static int run(const struct arguments *arguments) {
    struct trace trace;
    tsmith_error error;
    const tsmith_status status = open_trace(&trace, arguments->path, &error);
    int code = status < 0                      ? code_of(status, &error)
               : is_verb(arguments, "info")    ? inform(&trace)
               : is_verb(arguments, "analyze") ? analyze(&trace)
               : is_verb(arguments, "query")   ? answer_sql(&trace, arguments->sql)
                                               : write_trace(&trace, arguments);
    code = look_for_damage(&trace, arguments->path, code);
    close_trace(&trace);
    return code;
}

// What was printed is not there before it is written.
static int flush_output(int code) {
    if (fflush(stdout) == 0 && !ferror(stdout))
        return code;
    complain_of("standard output", "cannot be written", strerror(errno));
    return FAILED;
}

int main(int argc, char **argv) {
    struct arguments given;
#ifdef _WIN32
    (void)_setmode(_fileno(stdout), _O_BINARY);
#endif
    const bool is_known = take_arguments(argc, argv, &given);
    if (is_known && is_verb(&given, "formats") && !given.path)
        return flush_output(list_formats());
    const bool exports = is_verb(&given, "export"), imports = is_verb(&given, "import"),
               queries = is_verb(&given, "query");
    if (!is_known || !given.path || exports != (given.format != NULL) || queries != (given.sql != NULL) ||
        (given.out ? !exports && !imports : imports) ||
        !(exports || imports || queries || is_verb(&given, "info") || is_verb(&given, "analyze")))
        return usage();
    return flush_output(run(&given));
}
