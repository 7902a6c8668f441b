// SPDX-License-Identifier: Apache-2.0
// tracesmith for systems where nothing is recorded: reads traces of every format, exports them and answers questions about them.
// packaging/portable.sh builds it for Windows, and tests/platform/windows.sh for this system as well, to compare. The table `verbs` has what
// it can do; help is made of it, and packaging/windows.md has the same lines.
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
#include "tracesmith/version.h"
#include "tracesmith/view.h"

// As of the command on Linux.
enum { DONE = 0, FAILED = 1, USAGE = 2, PARTLY = 3, LEVEL_USUAL = 7 };

// By the trace's LOSS events.
struct losses {
    uint64_t by_reason[TSMITH_REASON_LIMIT];
    bool uncounted; // of an unknown number
    bool absent;    // its source does not have all kinds of data
};

struct trace {
    tsmith_sbt *file; // NULL: of another format
    tsmith_source *source;
    struct losses losses; // of what was read
};

struct arguments {
    const char *format, *out, *path, *sql;
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

static void add_losses(struct losses *losses, const tsmith_batch *batch) {
    static const uint32_t fields[] = {TSMITH_FIELD_KIND, TSMITH_FIELD_LOST, TSMITH_FIELD_REASON};
    enum { KIND, LOST, REASON, FIELDS };
    tsmith_view views[FIELDS];
    tsmith_view_batch(batch, fields, FIELDS, views);
    for (uint32_t row = 0; row < tsmith_batch_count(batch); row++) {
        uint64_t lost = 0;
        if (tsmith_view_word(&views[KIND], row) != TSMITH_KIND_LOSS)
            continue;
        const bool is_counted = tsmith_view_u64(&views[LOST], row, &lost);
        const uint32_t reason = (uint32_t)tsmith_view_word(&views[REASON], row);
        if (reason == TSMITH_REASON_OFF_DUTY)
            continue; // as requested
        const bool is_absent = reason == TSMITH_REASON_UNTRACED || reason == TSMITH_REASON_NOT_PERMITTED;
        losses->absent |= !is_counted && is_absent;
        losses->uncounted |= !is_counted && !is_absent;
        losses->by_reason[reason < TSMITH_REASON_LIMIT ? reason : 0] += lost;
    }
}

// The ledger of a file, whatever of it is read for the answer. Of another format it is known once its events were read.
static void read_ledger(struct trace *trace) {
    static const uint32_t fields[] = {TSMITH_FIELD_LOST, TSMITH_FIELD_REASON};
    const tsmith_scan scan = {
        .size = sizeof scan, .fields = fields, .field_count = 2, .kinds = TSMITH_KIND_BIT(TSMITH_KIND_LOSS)};
    tsmith_sbt_summary summary = {.size = sizeof summary};
    tsmith_source *source = NULL;
    const tsmith_batch *batch;
    trace->losses = (struct losses){.uncounted = false};
    if (tsmith_sbt_summarize(trace->file, &summary, NULL) < 0)
        return;
    if (summary.kinds[TSMITH_KIND_LOSS] && tsmith_sbt_scan(trace->file, &scan, &source, NULL) >= 0)
        while (tsmith_source_next(source, &batch, NULL) == TSMITH_OK)
            add_losses(&trace->losses, batch);
    tsmith_source_destroy(source);
    memcpy(trace->losses.by_reason, summary.lost, sizeof trace->losses.by_reason);
}

// A sink that passes everything on, and sees the losses.
struct noting {
    struct losses *losses;
    tsmith_sink *to;
};

static tsmith_status noting_write(void *self, const tsmith_dictionary *dictionary, const tsmith_batch *batch,
                                  tsmith_error *error) {
    const struct noting *noting = self;
    add_losses(noting->losses, batch);
    return tsmith_sink_write(noting->to, dictionary, batch, error);
}

static tsmith_status noting_finish(void *self, const tsmith_dictionary *dictionary, tsmith_error *error) {
    return tsmith_sink_finish(((const struct noting *)self)->to, dictionary, error);
}

static void noting_destroy(void *self) {
    tsmith_sink_destroy(((const struct noting *)self)->to);
}

// All events into a sink, which is destroyed.
static int pour(struct trace *trace, tsmith_sink *sink) {
    static const tsmith_sink_ops OPS = {noting_write, noting_finish, noting_destroy};
    struct noting noting = {&trace->losses, sink};
    tsmith_error error = {.status = TSMITH_OK};
    tsmith_sink *noted = NULL;
    tsmith_status status = tsmith_sink_create(&OPS, &noting, &noted);
    if (status < 0) {
        tsmith_sink_destroy(sink);
        return code_of(status, &error);
    }
    status = tsmith_pump(trace->source, noted, NULL, NULL, &error);
    tsmith_sink_destroy(noted);
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

static tsmith_status write_nowhere(void *unused, const void *bytes, size_t size) {
    (void)unused, (void)bytes, (void)size;
    return TSMITH_OK;
}

// OTF2 needs a library that not every build has, and a folder, which this program does not write.
static bool is_written(const char *format) {
    const tsmith_output nowhere = {write_nowhere, NULL};
    tsmith_sink *sink = NULL;
    tsmith_error error;
    const bool is_open = tsmith_export_open_output(format, &nowhere, NULL, &sink, &error) == TSMITH_OK;
    tsmith_sink_destroy(sink);
    return is_open;
}

static int list_formats(void) {
    const char *name;
    (void)printf("read (import, info, analyze, export):\n  %-14s %s\n", "sbt", "the format of TraceSmith");
    for (unsigned i = 0; (name = tsmith_import_format_name(i)); i++)
        (void)printf("  %-14s %s\n", name, tsmith_import_format_doc(i));
    (void)printf("written (export -f):\n");
    for (unsigned i = 0; (name = tsmith_export_format_name(i)); i++)
        if (is_written(name))
            (void)printf("  %-14s %s\n", name, tsmith_export_format_doc(i));
    return DONE;
}

// DONE: this program writes the format. Else the exit code, after the reason.
static int look_for_format(const char *format) {
    const char *name;
    unsigned i = 0;
    while ((name = tsmith_export_format_name(i)) && strcmp(name, format) != 0)
        i++;
    if (name && is_written(name))
        return DONE;
    if (name)
        (void)fprintf(stderr, "tracesmith: this build has no %s", strcmp(name, "otf2") == 0 ? "OTF2" : name);
    else
        (void)fprintf(stderr, "tracesmith: unknown output format '%s'", format);
    (void)fputs("; 'tracesmith formats' lists those that it writes\n", stderr);
    return name ? FAILED : USAGE;
}

static int inform(struct trace *trace, const struct arguments *arguments) {
    (void)arguments;
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
        add_losses(&trace->losses, batch);
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

static int analyze(struct trace *trace, const struct arguments *arguments) {
    (void)arguments;
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

static int answer_sql(struct trace *trace, const struct arguments *arguments) {
    tsmith_query *query = NULL;
    tsmith_error error = {.status = TSMITH_OK};
    size_t used;
    if (!trace->file) {
        complain("SQL is answered about SBT traces; convert this one: tracesmith import -o OUT FILE");
        return USAGE;
    }
    tsmith_status status = tsmith_query_open(trace->file, &query, &error);
    if (status >= 0)
        status = tsmith_query_prepare(query, arguments->sql, strlen(arguments->sql), &used, &error);
    while (status >= 0 && status != TSMITH_END && (status = tsmith_query_next(query, &error)) == TSMITH_OK)
        print_row(query, tsmith_query_column_count(query));
    tsmith_query_close(query);
    return code_of(status == TSMITH_END ? TSMITH_OK : status, &error);
}

// ---- what a trace has lost

// An answer about a part of a file is none about all of it.
static int look_for_damage(const struct trace *trace, const char *path, int code) {
    tsmith_sbt_summary summary = {.size = sizeof summary};
    if (code != DONE || !trace->file ||
        (tsmith_sbt_summarize(trace->file, &summary, NULL) >= 0 && summary.complete))
        return code;
    complain_of(path, "ends early or is damaged; the answer covers the readable part", "");
    return PARTLY;
}

static const char *or_unknown(const char *name) {
    return name && *name ? name : "unknown";
}

// 1,234,567
static void print_count(uint64_t count) {
    if (count >= 1000)
        print_count(count / 1000);
    (void)fprintf(stderr, count >= 1000 ? ",%03u" : "%u", (unsigned)(count % 1000));
}

// In the words of the command on Linux.
static void warn_of_losses(const struct losses *losses, const char *path) {
    uint64_t total = 0, partial = 0;
    const char *between = "";
    for (int i = 0; i < TSMITH_REASON_LIMIT; i++) {
        total += tsmith_reason_is_of_events((tsmith_reason)i) ? losses->by_reason[i] : 0;
        partial += tsmith_reason_is_partial((tsmith_reason)i) ? losses->by_reason[i] : 0;
    }
    if (losses->uncounted || losses->absent)
        (void)fprintf(stderr, "tracesmith: %s: %s; the events of kind 'loss' say more (export -f csv)\n",
                      path,
                      losses->uncounted ? "an unknown number of events was lost"
                                        : "the trace's source does not have all kinds of data");
    if (!total)
        return;
    (void)fprintf(stderr, "tracesmith: %s: ", path);
    print_count(total);
    (void)fprintf(stderr, total == 1 ? " event %s %s: " : " events %s %s: ",
                  partial ? (total == 1 ? "is" : "are") : (total == 1 ? "was" : "were"),
                  partial ? "missing or incomplete" : "not recorded");
    for (int i = 0; i < TSMITH_REASON_LIMIT; i++) {
        if (!losses->by_reason[i] || !tsmith_reason_is_of_events((tsmith_reason)i))
            continue;
        (void)fputs(between, stderr);
        print_count(losses->by_reason[i]);
        (void)fprintf(stderr, " %s (%s)", or_unknown(tsmith_reason_name((tsmith_reason)i)),
                      or_unknown(tsmith_reason_doc((tsmith_reason)i)));
        between = "; ";
    }
    (void)fputc('\n', stderr);
}

// Processes of the program of which the trace has nothing.
static void warn_of_processes(const struct trace *trace, const char *path) {
    const tsmith_dictionary *dictionary = tsmith_source_dictionary(trace->source);
    if (trace->file && tsmith_sbt_dictionary(trace->file, &dictionary, NULL) < 0)
        return;
    const tsmith_string count = tsmith_dictionary_find_attribute(dictionary, "unrecorded.processes");
    if (count.length && count.length < 20 && strspn(count.bytes, "0123456789") >= count.length)
        (void)fprintf(stderr, "tracesmith: %s: %.*s of the program's processes could not be recorded\n", path,
                      (int)count.length, count.bytes);
}

// ---- arguments

static int help(void);
static int print_version(void) {
    (void)printf("tracesmith %s\n", tsmith_version());
    return DONE;
}

static const struct verb {
    const char *name, *arguments, *doc;
    // One of them: answers about a trace, or about the program.
    int (*answer)(struct trace *trace, const struct arguments *arguments);
    int (*tell)(void);
} verbs[] = {
    {"formats", "", "the formats that it reads and writes", NULL, list_formats},
    {"info", "FILE", "the format, and the number of events of each kind", inform, NULL},
    {"import", "-o OUT FILE", "the same events as an SBT trace", write_trace, NULL},
    {"export", "-f FORMAT [-o OUT] FILE", "for other programs, such as chrome for ui.perfetto.dev",
     write_trace, NULL},
    {"analyze", "FILE", "where the time went: JSON documents, one after the other", analyze, NULL},
    {"query", "FILE SQL", "the rows, separated by tabs; FILE is an SBT trace", answer_sql, NULL},
    {"--help", "", "this list", NULL, help},
    {"--version", "", "its version", NULL, print_version},
};
enum { VERB_COUNT = sizeof verbs / sizeof *verbs, DOC_COLUMN = 44 };

static int help(void) {
    (void)fputs("tracesmith reads traces that were recorded elsewhere, of TraceSmith (SBT) and of other "
                "profilers.\n\n",
                stdout);
    for (size_t i = 0; i < VERB_COUNT; i++) {
        const int used = printf("tracesmith %s %s", verbs[i].name, verbs[i].arguments);
        (void)printf("%*s%s\n", DOC_COLUMN - used, "", verbs[i].doc);
    }
    return DONE;
}

static int usage(void) {
    (void)fputs("tracesmith: usage: tracesmith ", stderr);
    for (size_t i = 0; i < VERB_COUNT; i++)
        (void)fprintf(stderr, "%s%s%s%s", i ? " | " : "", verbs[i].name, *verbs[i].arguments ? " " : "",
                      verbs[i].arguments);
    (void)fputc('\n', stderr);
    return USAGE;
}

// Help, and the version, by the names that other programs have for them as well.
static const struct verb *find_verb(const char *name) {
    if (strcmp(name, "-h") == 0 || strcmp(name, "help") == 0)
        name = "--help";
    else if (strcmp(name, "version") == 0)
        name = "--version";
    for (size_t i = 0; i < VERB_COUNT; i++)
        if (strcmp(verbs[i].name, name) == 0)
            return &verbs[i];
    return NULL;
}

// Whether a value is given where the arguments of the verb have this word. It may be missing after a bracket.
static bool is_given_right(const struct verb *verb, const char *word, const char *value) {
    const char *at = strstr(verb->arguments, word);
    return value ? at != NULL : !at || (at > verb->arguments && at[-1] == '[');
}

// False: they are not those of the verb.
static bool take_arguments(const struct verb *verb, int argc, char **argv, struct arguments *out) {
    *out = (struct arguments){.path = NULL};
    for (int i = 2; i < argc; i++) {
        const bool is_option = strcmp(argv[i], "-f") == 0 || strcmp(argv[i], "-o") == 0;
        const char **value = !is_option          ? (out->path ? &out->sql : &out->path)
                             : argv[i][1] == 'f' ? &out->format
                                                 : &out->out;
        if (*value || (is_option && ++i == argc))
            return false;
        *value = argv[i];
    }
    return is_given_right(verb, "-f FORMAT", out->format) && is_given_right(verb, "-o OUT", out->out) &&
           is_given_right(verb, "FILE", out->path) && is_given_right(verb, "SQL", out->sql);
}

static int run(const struct verb *verb, const struct arguments *arguments) {
    struct trace trace;
    tsmith_error error;
    int code = arguments->format ? look_for_format(arguments->format) : DONE;
    if (code != DONE)
        return code;
    const tsmith_status status = open_trace(&trace, arguments->path, &error);
    code = status < 0 ? code_of(status, &error) : verb->answer(&trace, arguments);
    if (status >= 0 && code != USAGE) {
        if (trace.file)
            read_ledger(&trace);
        warn_of_processes(&trace, arguments->path);
        warn_of_losses(&trace.losses, arguments->path);
    }
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
    const struct verb *verb = argc > 1 ? find_verb(argv[1]) : NULL;
    struct arguments given;
#ifdef _WIN32
    (void)_setmode(_fileno(stdout), _O_BINARY);
#endif
    if (!verb || !take_arguments(verb, argc, argv, &given))
        return usage();
    return flush_output(verb->tell ? verb->tell() : run(verb, &given));
}
