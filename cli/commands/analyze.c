// SPDX-License-Identifier: Apache-2.0
// `tracesmith analyze`: what to fix first, and the answers it is made of.
#include "analyze_parts.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "apart.h"
#include "cli/convert.h"
#include "cli/options/command.h"
#include "cli/options/quantity.h"
#include "cli/page.h"
#include "cli/present/out_file.h"
#include "cli/present/progress.h"
#include "cli/present/terminal.h"
#include "cli/window.h"
#include "tracesmith/frames.h"
#include "tracesmith/stacks.h"

enum { NAMES_MAX = 64 };

enum form { FORM_OVERVIEW, FORM_TABLES, FORM_JSON, FORM_CSV };

struct analyze {
    const struct invocation *invocation;
    const char *names[NAMES_MAX]; // asked for, without repetition
    size_t name_count;            // 0: all
    const char **files;
    size_t file_count;
    const char *skip[REPEATED_MAX];
    size_t skip_count;
    bool hide_interpreter;
    double peak_flops, peak_bytes; // per second; 0: not stated
    const char *frames;            // their form; NULL: as the trace states
    struct window window;
    enum form form;
    size_t rows; // of a table in text
    bool quick;
    bool ranks;   // the files are the ranks of one run
    bool partial; // write what their comparison keeps of them
    const char *to;
    FILE *out;      // NULL: standard output
    bool *answered; // an answer about a file was written
};

// ---- what is asked for

static void add_name(struct analyze *analyze, const char *name) {
    for (size_t i = 0; i < analyze->name_count; i++)
        if (strcmp(analyze->names[i], name) == 0)
            return;
    if (analyze->name_count < NAMES_MAX)
        analyze->names[analyze->name_count++] = name;
}

static void add_index(void *context, size_t index) {
    add_name(context, tsmith_analysis_name(index));
}

static const char *known_name(const char *word) {
    const char *name;
    for (size_t i = 0; (name = tsmith_analysis_name(i)); i++)
        if (strcmp(name, word) == 0)
            return name;
    return NULL;
}

// A file, unless it is the name of an analysis and no file is called that.
static bool read_operands(const struct invocation *invocation, struct analyze *analyze) {
    for (size_t i = 0; i < invocation->operand_count; i++) {
        const char *word = invocation->operands[i];
        bool is_there = strcmp(word, "-") == 0 || access(word, F_OK) == 0;
        const char *name = is_there ? NULL : known_name(word);
        const char *near =
            is_there || name || strpbrk(word, "./") ? NULL : nearest(word, tsmith_analysis_name);
        if (near) {
            complain("'%s' is neither a file nor an analysis; did you mean '%s'?", word, near);
            return false;
        }
        if (name)
            add_name(analyze, name);
        else
            analyze->files[analyze->file_count++] = word;
    }
    if (analyze->file_count)
        return true;
    complain("analyze needs a FILE; see 'tracesmith help analyze'");
    return false;
}

// Groups of analyses with one question.
static bool read_groups(const struct invocation *invocation, struct analyze *analyze) {
    static const struct {
        const char *option;
        const char *names[4];
    } groups[] = {
        {"gpu-util", {"breakdown", "idle", "streams"}},
        {"memory", {"memory", "bandwidth"}},
        {"kernels", {"kernels", "launches"}},
        {"streams", {"streams", "overlap", "queue_length"}},
        {"hotspots", {"advice", "kernels", "critical_path"}},
    };
    bool any = false;
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++) {
        if (!invocation_flag(invocation, groups[i].option))
            continue;
        any = true;
        for (size_t k = 0; k < 4 && groups[i].names[k]; k++)
            add_name(analyze, groups[i].names[k]);
    }
    return any;
}

static bool read_form(const struct invocation *invocation, struct analyze *analyze) {
    bool json = invocation_flag(invocation, "json"), csv = invocation_flag(invocation, "csv");
    const char *rows = invocation_value(invocation, "rows");
    uint64_t count = 0;
    if (json && csv) {
        complain("--json and --csv cannot be combined");
        return false;
    }
    if (csv && analyze->file_count > 1 && !analyze->ranks) {
        complain("--csv takes one trace; use --json for several");
        return false;
    }
    if (rows && (json || csv || !quantity_count(rows, &count) || count == 0)) {
        complain(json || csv ? "--rows applies to text only; JSON and CSV have all rows"
                             : "--rows: '%s' is not a number of rows",
                 rows);
        return false;
    }
    analyze->rows = (size_t)count;
    if (json || csv)
        analyze->form = json ? FORM_JSON : FORM_CSV;
    else if (rows || analyze->name_count || invocation_flag(invocation, "all"))
        analyze->form = FORM_TABLES;
    return true;
}

static bool read_quick(const struct invocation *invocation, struct analyze *analyze) {
    analyze->quick = invocation_flag(invocation, "quick");
    if (!analyze->quick)
        return true;
    add_name(analyze, "kernels");
    if (analyze->name_count == 1 && !invocation_flag(invocation, "all") && !window_has_time(&analyze->window))
        return true;
    complain("--quick prints only the kernels of the whole trace; the stored totals contain nothing else");
    return false;
}

// Whether the files are the ranks of one run: stated, or seen by a partial among them.
static void find_ranks(const struct invocation *invocation, struct analyze *analyze) {
    analyze->partial = invocation_flag(invocation, "partial");
    analyze->ranks = invocation_flag(invocation, "ranks") || analyze->partial;
    for (size_t i = 0; i < analyze->file_count && !analyze->ranks; i++)
        analyze->ranks = analyze_is_partial(analyze->files[i]);
}

// `--partial` writes one file of bytes; nothing that belongs to tables goes with it.
static bool read_partial(const struct invocation *invocation, struct analyze *analyze) {
    const char *to = invocation_value(invocation, "output");
    if (!to || analyze->form != FORM_OVERVIEW || invocation_value(invocation, "html") ||
        invocation_value(invocation, "markdown")) {
        complain(to ? "--partial writes no tables: it cannot be combined with their options"
                    : "--partial needs --output; a partial is not text");
        return false;
    }
    for (size_t i = 0; i < analyze->file_count; i++) {
        if (convert_is_same_file(analyze->files[i], to)) {
            complain("%s is also an input file; choose another file with --output", to);
            return false;
        }
    }
    return true;
}

static bool read_ranks(const struct invocation *invocation, struct analyze *analyze) {
    if (!analyze->ranks &&
        (invocation_value(invocation, "html") || invocation_value(invocation, "markdown"))) {
        complain("--html and --markdown need --ranks; for one trace, use tracesmith report");
        return false;
    }
    if (!analyze->ranks)
        return true;
    for (size_t i = 0; i < analyze->file_count; i++)
        if (!page_may_replace(invocation, analyze->files[i]))
            return false;
    if (analyze->name_count || analyze->quick || window_has_time(&analyze->window) ||
        invocation_flag(invocation, "all")) {
        complain("%s cannot be combined with analysis names or a window",
                 analyze->partial ? "--partial" : "the comparison of ranks");
        return false;
    }
    if (analyze->partial)
        return read_partial(invocation, analyze);
    if (analyze->file_count >= 2 || analyze_is_partial(analyze->files[0]))
        return true;
    complain("--ranks needs the traces of at least two ranks; 'tracesmith split FILE -o run.%%r.sbt' makes "
             "one of each rank "
             "in FILE");
    return false;
}

// Whether an analysis runs: its name was given, or none was.
static bool is_asked(const struct analyze *analyze, const char *name) {
    bool asked = analyze->name_count == 0;
    for (size_t i = 0; i < analyze->name_count; i++)
        asked |= strcmp(analyze->names[i], name) == 0;
    return asked && !analyze->ranks && !analyze->quick;
}

static bool read_skip(const struct invocation *invocation, struct analyze *analyze) {
    const char *name;
    for (size_t cursor = 0; (name = invocation_next(invocation, "skip", &cursor));)
        analyze->skip[analyze->skip_count++] = name;
    analyze->hide_interpreter = invocation_flag(invocation, "hide-interpreter");
    if (is_asked(analyze, "callsites"))
        return true;
    if (!analyze->skip_count && !analyze->hide_interpreter)
        return true;
    complain("--%s applies to callsites, which is not selected",
             analyze->skip_count ? "skip" : "hide-interpreter");
    return false;
}

// "flops=989T,bytes=3.35T"
static bool read_peak(const struct invocation *invocation, struct analyze *analyze) {
    const char *peaks = invocation_value(invocation, "peak");
    for (const char *at = peaks; at;) {
        const bool is_flops = strncmp(at, "flops=", 6) == 0;
        double *peak = is_flops ? &analyze->peak_flops : &analyze->peak_bytes;
        if ((!is_flops && strncmp(at, "bytes=", 6) != 0) || *peak > 0 || !quantity_rate(at + 6, &at, peak) ||
            (*at && *at != ',')) {
            complain("--peak: '%s' is not flops=NUMBER, bytes=NUMBER or both, separated by a comma", peaks);
            return false;
        }
        at = *at ? at + 1 : NULL;
    }
    if (!peaks || is_asked(analyze, "roofline"))
        return true;
    complain("--peak applies to roofline, which is not selected");
    return false;
}

static bool read_frames(const struct invocation *invocation, struct analyze *analyze) {
    tsmith_error error;
    analyze->frames = invocation_value(invocation, "frames");
    if (!analyze->frames)
        return true;
    if (!is_asked(analyze, "frames"))
        complain("--frames applies to frames, which is not selected");
    else if (tsmith_frames_check(analyze->frames, &error) == TSMITH_OK)
        return true;
    else
        complain("--frames: %s", error.message);
    return false;
}

static bool read_options(const struct invocation *invocation, struct analyze *analyze) {
    const char *only = invocation_value(invocation, "only");
    if (!window_read(invocation, &analyze->window) || !read_operands(invocation, analyze))
        return false;
    find_ranks(invocation, analyze);
    if (only && !option_each_word(command_option(invocation->command, "only"), only, add_index, analyze))
        return false;
    if (invocation_flag(invocation, "all") && (read_groups(invocation, analyze) || analyze->name_count)) {
        complain("--all cannot be combined with analysis names");
        return false;
    }
    read_groups(invocation, analyze);
    if (!read_quick(invocation, analyze) || !read_form(invocation, analyze))
        return false;
    if (!read_ranks(invocation, analyze) || !read_skip(invocation, analyze) ||
        !read_peak(invocation, analyze) || !read_frames(invocation, analyze))
        return false;
    analyze->to = invocation_value(invocation, "output");
    for (size_t i = 0; analyze->to && i < analyze->file_count; i++)
        if (!convert_may_replace(analyze->files[i], analyze->to))
            return false;
    return true;
}

static int list(bool json) {
    struct text text = {0};
    const char *name;
    for (size_t i = 0; (name = tsmith_analysis_name(i)); i++) {
        if (json) {
            text_add_format(&text, "%s{\"name\":\"%s\",\"question\":", i ? ",\n" : "[", name);
            text_add_json_cstr(&text, tsmith_analysis_question(i));
            text_add_char(&text, '}');
        } else {
            text_add_format(&text, "%-18s%s\n", name, tsmith_analysis_question(i));
        }
    }
    text_add_cstr(&text, json ? "]\n" : "");
    output_text(&text);
    text_finish(&text);
    return EXIT_DONE;
}

// ---- answering

static bool write_bytes(const struct analyze *analyze, const char *bytes, size_t length) {
    if (analyze->out)
        return fwrite(bytes, 1, length, analyze->out) == length;
    return output_write(bytes, length);
}

// Before each answer about a file but the first. A file that cannot be read has none.
static void put_separator(const struct analyze *analyze) {
    if (*analyze->answered && analyze->form == FORM_JSON)
        write_bytes(analyze, ",\n", 2);
    else if (*analyze->answered)
        write_bytes(analyze, "\n", 1);
    *analyze->answered = true;
}

static bool put_text(const struct analyze *analyze, struct text *text) {
    bool written = write_bytes(analyze, text_cstr(text), text->length);
    text_clear(text);
    return written;
}

static tsmith_status write_report(const struct analyze *analyze, const tsmith_report *report, FILE *out,
                                  tsmith_error *error) {
    if (analyze->form == FORM_JSON)
        return tsmith_report_write_json(report, out, error);
    if (analyze->form == FORM_CSV)
        return tsmith_report_write_csv(report, out, error);
    return tsmith_report_write_text(report, analyze->rows, terminal_width(), out, error);
}

static tsmith_status put_report(const struct analyze *analyze, const tsmith_report *report,
                                const char *before, tsmith_error *error) {
    char *bytes = NULL;
    size_t length = 0;
    FILE *memory = open_memstream(&bytes, &length);
    tsmith_status status = memory ? write_report(analyze, report, memory, error) : TSMITH_ERROR_NO_MEMORY;
    if (!memory || fclose(memory) != 0 || status != TSMITH_OK) {
        *error = (tsmith_error){.status = TSMITH_ERROR_NO_MEMORY, .message = "out of memory"};
        status = TSMITH_ERROR_NO_MEMORY;
    } else {
        struct text guarded = {0};
        write_bytes(analyze, before, strlen(before));
        if (analyze->form == FORM_CSV) {
            text_add_guarded_csv(&guarded, bytes, length);
            put_text(analyze, &guarded);
        } else {
            write_bytes(analyze, bytes, length);
        }
        text_finish(&guarded);
    }
    free(bytes);
    return status;
}

static tsmith_status put_reports(const struct analyze *analyze, const tsmith_analysis *analysis,
                                 const char *between, tsmith_error *error) {
    const tsmith_report *report;
    tsmith_status status = TSMITH_OK;
    for (size_t i = 0; status == TSMITH_OK && (report = tsmith_analysis_report(analysis, i)); i++)
        status = put_report(analyze, report, i ? between : "", error);
    return status;
}

static tsmith_status put_json(const struct analyze *analyze, struct trace *trace,
                              const tsmith_analysis *analysis, tsmith_error *error) {
    struct text text = {0};
    text_add_char(&text, '{');
    trace_add_json_head(&text, trace);
    text_add_format(&text, ",\"event_count\":%" PRIu64 ",\n", trace->summary.events);
    trace_refresh(trace);
    trace_add_json_state(&text, trace);
    text_add_cstr(&text, ",\n\"reports\":[\n");
    put_text(analyze, &text);
    tsmith_status status = put_reports(analyze, analysis, ",", error);
    text_add_cstr(&text, "]}");
    put_text(analyze, &text);
    text_finish(&text);
    return status;
}

static tsmith_status put_answer(const struct analyze *analyze, struct trace *trace,
                                const tsmith_analysis *analysis, tsmith_error *error) {
    struct text text = {0};
    tsmith_status status = TSMITH_OK;
    put_separator(analyze);
    if (analyze->form == FORM_JSON)
        return put_json(analyze, trace, analysis, error);
    if (analyze->form != FORM_CSV)
        analyze_add_head(&text, trace);
    if (analyze->form == FORM_OVERVIEW)
        analyze_add_overview(&text, analysis);
    else if (analyze->form == FORM_TABLES)
        text_add_char(&text, '\n');
    put_text(analyze, &text);
    if (analyze->form != FORM_OVERVIEW)
        status = put_reports(analyze, analysis, "", error);
    text_finish(&text);
    return status;
}

// ---- one trace

static tsmith_status add_events(const struct trace *trace, tsmith_analysis *analysis, tsmith_error *error) {
    struct progress progress = {.what = "analyzing"};
    tsmith_source *source = NULL;
    const tsmith_batch *batch;
    uint64_t events = 0;
    tsmith_status status = tsmith_sbt_scan(trace->file, NULL, &source, error);
    while (status == TSMITH_OK) {
        status = tsmith_source_next(source, &batch, error);
        if (status != TSMITH_OK)
            break;
        status = tsmith_analysis_add(analysis, tsmith_source_dictionary(source), batch, error);
        events += tsmith_batch_count(batch);
        progress_show(&progress, (double)events / (double)(trace->summary.events + 1));
    }
    progress_clear(&progress);
    tsmith_source_destroy(source);
    return status < 0 ? status : tsmith_analysis_finish(analysis, trace->dictionary, error);
}

// The totals an .sbt file keeps spare reading its events, unless damage made them incomplete.
static tsmith_status fill(const struct analyze *analyze, const struct trace *trace, tsmith_analysis *analysis,
                          tsmith_error *error) {
    tsmith_status status = TSMITH_ERROR_NOT_FOUND;
    if (analyze->quick)
        status = tsmith_analysis_read_totals(analysis, trace->file, error);
    return status == TSMITH_ERROR_NOT_FOUND ? add_events(trace, analysis, error) : status;
}

static bool place_window(const struct analyze *analyze, const struct trace *trace,
                         tsmith_analysis_options *options) {
    const tsmith_sbt_summary *summary = &trace->summary;
    if (!window_has_time(&analyze->window))
        return true;
    options->has_window = 1;
    window_place(&analyze->window, summary->first_start, &options->from, &options->to);
    options->from = options->from > summary->first_start ? options->from : summary->first_start;
    options->to = options->to < summary->last_end ? options->to : summary->last_end;
    if (options->from < options->to)
        return true;
    complain("%s: the window contains no events", trace->path);
    return false;
}

// Names of the frames of call stacks, where they are asked about and the trace has none.
static void find_names(const struct analyze *analyze, const struct trace *trace) {
    bool wanted = analyze->name_count == 0;
    for (size_t i = 0; i < analyze->name_count; i++)
        wanted = wanted || strcmp(analyze->names[i], "callsites") == 0;
    if (wanted && trace->opened && tsmith_dictionary_stack_count(trace->dictionary) > 1)
        (void)tsmith_trace_symbolize(trace->opened, NULL, NULL); // without it they are modules and offsets
}

// Whether an analysis that was asked for takes no sums.
static bool needs_events(const char *asked) {
    const char *name;
    size_t i = 0;
    while ((name = tsmith_analysis_name(i)) && strcmp(name, asked) != 0)
        i++;
    return name && !tsmith_analysis_reads_sums(i);
}

static int analyze_trace(const struct analyze *analyze, struct trace *trace) {
    tsmith_analysis_options options = {.size = sizeof options,
                                       .names = analyze->name_count ? analyze->names : NULL,
                                       .name_count = analyze->name_count,
                                       .skip = analyze->skip,
                                       .skip_count = analyze->skip_count,
                                       .hide_interpreter = analyze->hide_interpreter,
                                       .peak_flops = analyze->peak_flops,
                                       .peak_bytes = analyze->peak_bytes,
                                       .frames = analyze->frames};
    tsmith_analysis *analysis = NULL;
    tsmith_error error;
    for (size_t i = 0; i < analyze->name_count; i++)
        if (needs_events(analyze->names[i]) && trace_refuses_sums(trace, analyze->names[i]))
            return EXIT_NO;
    if (!place_window(analyze, trace, &options))
        return EXIT_USAGE;
    find_names(analyze, trace);
    tsmith_status status = tsmith_analysis_create(&options, &analysis, &error);
    if (status == TSMITH_OK)
        status = fill(analyze, trace, analysis, &error);
    if (status == TSMITH_OK)
        status = put_answer(analyze, trace, analysis, &error);
    tsmith_analysis_destroy(analysis);
    if (status != TSMITH_OK) {
        complain("%s: %s", trace->path, error.message);
        return exit_code_of_input(status);
    }
    return output_flush() ? trace_report(trace) : EXIT_DONE;
}

static int analyze_file(const struct analyze *analyze, const char *path) {
    struct trace trace;
    int code = trace_open(path, &trace);
    if (code == EXIT_DONE)
        code = analyze_trace(analyze, &trace);
    trace_close(&trace);
    return code;
}

// ---- all traces

static int put_ranks(const void *context, const tsmith_report *report) {
    const struct analyze *analyze = context;
    tsmith_error error;
    if (put_report(analyze, report, "", &error) == TSMITH_OK)
        return page_write(analyze->invocation, report, NULL);
    complain("%s", error.message);
    return EXIT_LACKING;
}

static int run_apart(const void *context, size_t index, FILE *out) {
    struct analyze analyze = *(const struct analyze *)context;
    bool answered = false;
    analyze.out = out;
    analyze.answered = &answered;
    trace_use_one_thread();
    return analyze_file(&analyze, analyze.files[index]);
}

// The answer about a file, found by a process of `apart` if there is one. Messages come after the answer, as from this process.
static int put_file(const struct analyze *analyze, struct apart *apart, size_t index) {
    struct apart_answer answer;
    if (!apart || !apart_take(apart, index, &answer))
        return analyze_file(analyze, analyze->files[index]);
    if (answer.signal) {
        complain("%s: the process that analyzed it was ended by signal %d", analyze->files[index],
                 answer.signal);
    } else if (answer.size) {
        put_separator(analyze);
        write_bytes(analyze, answer.bytes, answer.size);
    }
    apart_put_messages(&answer);
    const int code = answer.code;
    apart_answer_finish(&answer);
    return code;
}

static const char RANKS_HINT[] =
    "\nEach trace was analyzed separately. If they are the ranks of one run, compare them with\n--ranks: it "
    "reports which ranks arrive late at collectives, and which ranks wait.\n";

static int analyze_files(const struct analyze *analyze) {
    int worst = EXIT_DONE;
    const bool json = analyze->form == FORM_JSON;
    if (analyze->partial)
        return analyze_partial(analyze->files, analyze->file_count, analyze->out ? analyze->out : stdout);
    if (analyze->ranks)
        return analyze_ranks(analyze->files, analyze->file_count, put_ranks, analyze);
    trace_set_needs(analyze->names, analyze->name_count);
    struct apart *apart = apart_create(analyze->file_count, run_apart, analyze);
    if (json)
        write_bytes(analyze, "{\"traces\":[", 11);
    for (size_t i = 0; i < analyze->file_count; i++) {
        const int code = put_file(analyze, apart, i);
        worst = code > worst ? code : worst;
    }
    apart_destroy(apart);
    if (json)
        write_bytes(analyze, "]}\n", 3);
    else if (analyze->form != FORM_CSV && analyze->file_count > 1)
        write_bytes(analyze, RANKS_HINT, sizeof RANKS_HINT - 1);
    return worst;
}

static int analyze_into(struct analyze *analyze) {
    if (!analyze->to || strcmp(analyze->to, "-") == 0)
        return analyze_files(analyze);
    struct out_file file;
    int code = out_file_open(&file, analyze->to);
    if (code != EXIT_DONE)
        return code;
    analyze->out = file.file;
    code = analyze_files(analyze);
    const bool is_answer = code == EXIT_DONE || code == EXIT_NO || code == EXIT_DAMAGED;
    const int ended = is_answer ? out_file_end(&file, TSMITH_OK, NULL) : EXIT_DONE,
              closed = out_file_close(&file);
    return ended != EXIT_DONE ? ended : closed != EXIT_DONE ? closed : code;
}

int command_analyze(const struct invocation *invocation) {
    bool answered = false;
    struct analyze analyze = {.invocation = invocation, .form = FORM_OVERVIEW, .answered = &answered};
    if (invocation_flag(invocation, "list"))
        return list(invocation_flag(invocation, "json"));
    analyze.files = calloc(invocation->operand_count + 1, sizeof *analyze.files);
    if (!analyze.files) {
        complain("out of memory");
        return EXIT_LACKING;
    }
    int code = read_options(invocation, &analyze) ? analyze_into(&analyze) : EXIT_USAGE;
    free(analyze.files);
    return code;
}
