// SPDX-License-Identifier: Apache-2.0
// `tracesmith benchmark`: what recording costs on this machine, and whether it records everything. The launch
// loop (launch_loop/) is run bare, recorded, and recorded with call stacks in turns; the medians are compared, and the least
// times, which other programs disturb less. How many launches there were is the loop's own count, checked on the device;
// where each was called from, it has noted itself.
#include <errno.h>
#include <inttypes.h>
#include <libgen.h>
#include <limits.h>
#include <math.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "benchmark_trace.h"
#include "cli/helper_program.h"
#include "cli/launch_loop/report.h"
#include "cli/options/command.h"
#include "cli/options/quantity.h"
#include "cli/present/progress.h"
#include "cli/present/terminal.h"
#include "record.h"

enum { RUNS_DEFAULT = 5, RUNS_MOST = 1000, LAUNCHES_DEFAULT = 10000, REPORT_SIZE = 1024 };
static const uint64_t LAUNCHES_MOST = 100000000;

extern char **environ;

// The loop's report of one run.
struct loop_report {
    uint64_t launches; // one more than asked for: the first one, outside of the figures
    double wall_ns;    // of the loop
    double cpu_ns;     // of its thread
    char device[256];
};

// A launch in each of the runs of one kind, in ns.
struct series {
    double wall[RUNS_MOST], cpu[RUNS_MOST];
};

struct benchmark {
    char program[PATH_MAX];
    char count[24];
    char report_fd[12];
    int fd; // the loop writes its report here
    uint64_t launches;
    const char *output; // of the user; NULL: a temporary file
    char directory[PATH_MAX];
    char path[PATH_MAX + 16];
    int runs;
    struct series bare, traced, stacked;
    struct loop_report loop;
    struct trace_report worst, worst_stacked; // the runs that recorded least
};

// ---- one run

static bool find_program(struct benchmark *benchmark) {
    return helper_find("tracesmith-launch-loop", benchmark->program, sizeof benchmark->program,
                       "OpenCL is (Debian: apt install ocl-icd-opencl-dev)");
}

static const char *find_member(const char *json, const char *key) {
    char quoted[32];
    snprintf(quoted, sizeof quoted, "\"%s\":", key);
    const char *at = strstr(json, quoted);
    return at ? at + strlen(quoted) : NULL;
}

// The loop is ours and writes one flat object; anything else is a failure.
static bool read_report(int fd, struct loop_report *out) {
    char json[REPORT_SIZE];
    ssize_t length = pread(fd, json, sizeof json - 1, 0);
    if (length <= 0)
        return false;
    json[length] = '\0';
    const char *launches = find_member(json, "launches");
    const char *wall = find_member(json, "wall_ns");
    const char *cpu = find_member(json, "cpu_ns");
    const char *device = find_member(json, "device");
    if (!launches || !wall || !cpu || !device || *device != '"')
        return false;
    out->launches = strtoull(launches, NULL, 10);
    out->wall_ns = strtod(wall, NULL);
    out->cpu_ns = strtod(cpu, NULL);
    snprintf(out->device, sizeof out->device, "%.*s", (int)strcspn(device + 1, "\""), device + 1);
    return true;
}

static int complain_of_loop(int wait_status) {
    if (WIFEXITED(wait_status) && WEXITSTATUS(wait_status) == EXIT_LACKING) {
        complain("no OpenCL device was found; PoCL makes the CPU one (Debian: apt install pocl-opencl-icd)");
        return EXIT_LACKING;
    }
    if (WIFSIGNALED(wait_status))
        complain("the launch loop was ended by signal %d", WTERMSIG(wait_status));
    else
        complain("the launch loop failed with exit code %d", WEXITSTATUS(wait_status));
    return EXIT_NO;
}

static int finish_run(struct benchmark *benchmark, int wait_status, struct series *series, int run) {
    if (!WIFEXITED(wait_status) || WEXITSTATUS(wait_status) != 0)
        return complain_of_loop(wait_status);
    if (!read_report(benchmark->fd, &benchmark->loop)) {
        complain("the launch loop wrote no report");
        return EXIT_NO;
    }
    series->wall[run] = benchmark->loop.wall_ns / (double)benchmark->launches;
    series->cpu[run] = benchmark->loop.cpu_ns / (double)benchmark->launches;
    return EXIT_DONE;
}

// Every run writes its report from the start of the file.
static void forget_report(const struct benchmark *benchmark) {
    if (ftruncate(benchmark->fd, 0) != 0 || lseek(benchmark->fd, 0, SEEK_SET) != 0)
        complain("cannot reset the report: %s", strerror(errno));
}

static int run_bare(struct benchmark *benchmark, char *const *argv, int run) {
    pid_t pid;
    int wait_status;
    forget_report(benchmark);
    int failure = posix_spawn(&pid, argv[0], NULL, NULL, argv, environ);
    if (failure) {
        complain("%s: %s", argv[0], strerror(failure));
        return EXIT_LACKING;
    }
    while (waitpid(pid, &wait_status, 0) < 0)
        if (errno != EINTR)
            return EXIT_LACKING;
    return finish_run(benchmark, wait_status, &benchmark->bare, run);
}

// ---- recorded runs

// The call sites that the loop reports for its launches: after its report.
static struct loop_paths map_paths(const struct benchmark *benchmark) {
    struct stat status;
    struct loop_paths paths = {0};
    if (fstat(benchmark->fd, &status) || status.st_size <= LOOP_REPORT_BYTES)
        return paths;
    size_t bytes = (size_t)status.st_size - LOOP_REPORT_BYTES;
    void *at = mmap(NULL, bytes, PROT_READ, MAP_PRIVATE, benchmark->fd, LOOP_REPORT_BYTES);
    if (at != MAP_FAILED)
        paths = (struct loop_paths){at, bytes / sizeof(uint64_t)};
    return paths;
}

static void unmap_paths(const struct loop_paths *paths) {
    if (paths->count)
        munmap((void *)(uintptr_t)paths->paths, paths->count * sizeof(uint64_t));
}

static uint64_t count_events(const struct trace_report *report) {
    return report->launches + report->completions + report->right;
}

static int run_traced(struct benchmark *benchmark, char *const *argv, bool stacks, int run) {
    struct trace_report *worst = stacks ? &benchmark->worst_stacked : &benchmark->worst;
    struct record_result result;
    struct trace_report report;
    const tsmith_capture_options options = {.size = sizeof options, .stacks = stacks};
    const struct record_request request = {.path = benchmark->path, .argv = argv, .options = &options};
    forget_report(benchmark);
    record_run(&request, &result);
    if (result.stage != RECORD_RUN || !result.written) {
        complain("%s", result.error.message);
        return EXIT_LACKING;
    }
    int code =
        finish_run(benchmark, result.wait_status, stacks ? &benchmark->stacked : &benchmark->traced, run);
    if (code != EXIT_DONE)
        return code;
    struct loop_paths paths = map_paths(benchmark);
    code = benchmark_read_trace(benchmark->path, &paths, &report);
    unmap_paths(&paths);
    if (code == EXIT_DONE && count_events(&report) < count_events(worst))
        *worst = report;
    return code;
}

// ---- all runs

static int compare_doubles(const void *a, const void *b) {
    double left = *(const double *)a;
    double right = *(const double *)b;
    return (left > right) - (left < right);
}

static double median(const struct benchmark *benchmark, const double *values) {
    double sorted[RUNS_MOST];
    memcpy(sorted, values, (size_t)benchmark->runs * sizeof *sorted);
    qsort(sorted, (size_t)benchmark->runs, sizeof *sorted, compare_doubles);
    return sorted[benchmark->runs / 2];
}

static double least_of_runs(const struct benchmark *benchmark, const double *values) {
    double found = values[0];
    for (int run = 1; run < benchmark->runs; run++)
        found = values[run] < found ? values[run] : found;
    return found;
}

// From the quickest run to the slowest: what the machine adds by itself.
static double spread_of_runs(const struct benchmark *benchmark, const double *values) {
    double most = values[0];
    for (int run = 1; run < benchmark->runs; run++)
        most = values[run] > most ? values[run] : most;
    return most - least_of_runs(benchmark, values);
}

static int run_all(struct benchmark *benchmark) {
    char *argv[] = {benchmark->program, benchmark->count, benchmark->report_fd, NULL};
    struct progress progress = {.what = "launching"};
    int code = run_bare(benchmark, argv, 0); // compiles the kernel into the driver's cache; run again below
    benchmark->worst.completions = benchmark->worst_stacked.completions = UINT64_MAX / 2;
    for (int run = 0; code == EXIT_DONE && run < benchmark->runs; run++) {
        progress_show(&progress, (double)run / benchmark->runs);
        code = run_bare(benchmark, argv, run);
        if (code == EXIT_DONE)
            code = run_traced(benchmark, argv, false, run);
        if (code == EXIT_DONE)
            code = run_traced(benchmark, argv, true, run);
    }
    progress_clear(&progress);
    return code;
}

static bool all_recorded(const struct benchmark *benchmark, const struct trace_report *report) {
    return report->launches == benchmark->loop.launches && report->completions == benchmark->loop.launches;
}

// The number of launches for which the loop reported the call path.
static uint64_t reported_paths(const struct benchmark *benchmark) {
    return benchmark->launches < LOOP_REPORT_PATHS ? benchmark->launches : LOOP_REPORT_PATHS;
}

static bool is_whole(const struct benchmark *benchmark) {
    return all_recorded(benchmark, &benchmark->worst) && all_recorded(benchmark, &benchmark->worst_stacked) &&
           benchmark->worst_stacked.right == reported_paths(benchmark);
}

static void add_json_runs(struct text *text, const struct benchmark *benchmark, const char *member,
                          const double *values) {
    text_add_format(text, ",\"%s\":[", member);
    for (int run = 0; run < benchmark->runs; run++)
        text_add_format(text, "%s%.1f", run ? "," : "", values[run]);
    text_add_char(text, ']');
}

static void add_json_stacks(struct text *text, const struct benchmark *benchmark) {
    const struct trace_report *report = &benchmark->worst_stacked;
    text_add_format(text,
                    ",\"stacks\":{\"launches_recorded\":%" PRIu64 ",\"completions_recorded\":%" PRIu64
                    ",\"stacks\":%" PRIu64 ",\"different\":%" PRIu64 ",\"frames\":%" PRIu64
                    ",\"checked\":%" PRIu64 ",\"right\":%" PRIu64 ",\"added_ns_per_launch\":%.1f",
                    report->launches, report->completions, report->stacks, report->different, report->frames,
                    reported_paths(benchmark), report->right,
                    median(benchmark, benchmark->stacked.wall) - median(benchmark, benchmark->traced.wall));
    add_json_runs(text, benchmark, "runs", benchmark->stacked.wall);
    add_json_runs(text, benchmark, "cpu_runs", benchmark->stacked.cpu);
    text_add_format(text, ",\"events\":%" PRIu64 ",\"bytes\":%" PRIu64 "}", report->events, report->bytes);
}

static void write_json(const struct benchmark *benchmark) {
    const struct trace_report *worst = &benchmark->worst;
    double bare = median(benchmark, benchmark->bare.wall);
    double traced = median(benchmark, benchmark->traced.wall);
    struct text text = {0};
    text_add_cstr(&text, "{\"device\":");
    text_add_json_cstr(&text, benchmark->loop.device);
    text_add_format(&text,
                    ",\"runs\":%d,\"launches\":%" PRIu64 ",\"launches_recorded\":%" PRIu64
                    ",\"completions_recorded\":%" PRIu64 ",\"lost\":%" PRIu64 ",\"complete\":%s",
                    benchmark->runs, benchmark->loop.launches, worst->launches, worst->completions,
                    worst->lost, is_whole(benchmark) ? "true" : "false");
    text_add_format(&text, ",\"wall_ns_per_launch\":{\"bare\":%.1f,\"recorded\":%.1f,\"added\":%.1f", bare,
                    traced, traced - bare);
    add_json_runs(&text, benchmark, "bare_runs", benchmark->bare.wall);
    add_json_runs(&text, benchmark, "recorded_runs", benchmark->traced.wall);
    text_add_cstr(&text, "},\"cpu_ns_per_launch\":{\"of\":\"the thread that launches\"");
    add_json_runs(&text, benchmark, "bare_runs", benchmark->bare.cpu);
    add_json_runs(&text, benchmark, "recorded_runs", benchmark->traced.cpu);
    text_add_format(&text, "},\"events\":%" PRIu64 ",\"bytes\":%" PRIu64 ",\"bytes_per_event\":%.3f",
                    worst->events, worst->bytes,
                    worst->events ? (double)worst->bytes / (double)worst->events : 0);
    add_json_stacks(&text, benchmark);
    text_add_cstr(&text, "}\n");
    output_text(&text);
    text_finish(&text);
}

// ---- the table: a column for each kind of run

enum { LABEL_WIDTH = 20, COLUMN_WIDTH = 16 };

static void begin_row(struct text *text, const char *label) {
    size_t from = text->length;
    text_add_cstr(text, label);
    text_pad_right(text, text->length - from, LABEL_WIDTH);
}

static void add_cell(struct text *text, bool is_there, uint64_t count) {
    size_t from = text->length;
    if (is_there)
        text_add_count(text, count);
    text_pad_left(text, from, COLUMN_WIDTH);
}

static void add_counts(struct text *text, const char *label, uint64_t bare, uint64_t recorded,
                       uint64_t stacked) {
    begin_row(text, label);
    add_cell(text, bare != 0, bare);
    add_cell(text, recorded != 0, recorded);
    add_cell(text, true, stacked);
    text_add_char(text, '\n');
}

// NAN: nothing.
static void add_figures(struct text *text, const char *label, int decimals, double bare, double recorded,
                        double stacked) {
    const double values[] = {bare, recorded, stacked};
    begin_row(text, label);
    for (int i = 0; i < 3; i++) {
        size_t from = text->length;
        if (!isnan(values[i]))
            text_add_format(text, "%.*f", decimals, values[i]);
        text_pad_left(text, from, COLUMN_WIDTH);
    }
    text_add_char(text, '\n');
}

static double bytes_per_event(const struct trace_report *report) {
    return report->events ? (double)report->bytes / (double)report->events : 0;
}

// What of each kind's runs, and what each adds to the one before.
static void add_times(struct text *text, const struct benchmark *benchmark, const char *label,
                      double (*of)(const struct benchmark *, const double *), bool cpu) {
    const struct series *series[] = {&benchmark->bare, &benchmark->traced, &benchmark->stacked};
    double ns[3];
    for (int i = 0; i < 3; i++)
        ns[i] = of(benchmark, cpu ? series[i]->cpu : series[i]->wall);
    add_figures(text, label, 0, ns[0], ns[1], ns[2]);
    add_figures(text, "    added", 0, NAN, ns[1] - ns[0], ns[2] - ns[1]);
}

static void add_table(struct text *text, const struct benchmark *benchmark) {
    const struct trace_report *plain = &benchmark->worst, *stacked = &benchmark->worst_stacked;
    const double launches = (double)benchmark->launches;
    text_add_format(text, "\n%*s%*s%*s\n", LABEL_WIDTH + COLUMN_WIDTH, "bare", COLUMN_WIDTH, "recorded",
                    COLUMN_WIDTH, "with stacks");
    add_counts(text, "launches", benchmark->loop.launches, plain->launches, stacked->launches);
    add_counts(text, "completions", 0, plain->completions, stacked->completions);
    add_counts(text, "call stacks", 0, 0, stacked->stacks);
    add_counts(text, "  distinct", 0, 0, stacked->different);
    add_counts(text, "  frames", 0, 0, stacked->frames);
    add_counts(text, "events lost", 0, 0, plain->lost + stacked->lost);
    add_figures(text, "total time, ms", 1, median(benchmark, benchmark->bare.wall) * launches / 1e6,
                median(benchmark, benchmark->traced.wall) * launches / 1e6,
                median(benchmark, benchmark->stacked.wall) * launches / 1e6);
    add_times(text, benchmark, "a launch, ns", median, false);
    if (benchmark->runs > 1)
        add_figures(text, "  runs differ by", 0, spread_of_runs(benchmark, benchmark->bare.wall),
                    spread_of_runs(benchmark, benchmark->traced.wall),
                    spread_of_runs(benchmark, benchmark->stacked.wall));
    add_times(text, benchmark, "  minimum", least_of_runs, false);
    add_times(text, benchmark, "  minimum, thread CPU", least_of_runs, true);
    add_figures(text, "bytes per event", 2, NAN, bytes_per_event(plain), bytes_per_event(stacked));
    add_figures(text, "correct stacks, %", 2, NAN, NAN,
                reported_paths(benchmark) ? 100.0 * (double)stacked->right / (double)reported_paths(benchmark)
                                          : 0);
}

static void write_text(const struct benchmark *benchmark) {
    struct text text = {0};
    text_add_cstr(&text, "device     ");
    text_add_safe(&text, text_string(benchmark->loop.device), 0);
    text_add_cstr(&text, "\nlaunches   ");
    text_add_count(&text, benchmark->loop.launches);
    text_add_format(
        &text,
        " in each of %d %s, in alternation. Times are medians. Counts are those of the\n"
        "           run that recorded least. \"added\" is relative to the column before. \"thread CPU\" is\n"
        "           the processor time of the launching thread.\n",
        benchmark->runs, plural((uint64_t)benchmark->runs, "run", "runs"));
    add_table(&text, benchmark);
    output_text(&text);
    text_finish(&text);
}

// Makes the file the traces go to (replaced by every run) and the descriptor the reports come from.
static bool prepare(struct benchmark *benchmark) {
    const char *temporary = getenv("TMPDIR");
    benchmark->fd = memfd_create("tracesmith-report", 0);
    snprintf(benchmark->report_fd, sizeof benchmark->report_fd, "%d", benchmark->fd);
    snprintf(benchmark->count, sizeof benchmark->count, "%" PRIu64, benchmark->launches);
    if (benchmark->output) {
        snprintf(benchmark->path, sizeof benchmark->path, "%s", benchmark->output);
    } else {
        snprintf(benchmark->directory, sizeof benchmark->directory, "%s/tracesmith-benchmark-XXXXXX",
                 temporary && *temporary ? temporary : "/tmp");
        if (!mkdtemp(benchmark->directory))
            benchmark->directory[0] = '\0';
        snprintf(benchmark->path, sizeof benchmark->path, "%s/trace.sbt", benchmark->directory);
    }
    if (benchmark->fd >= 0 && (benchmark->output || benchmark->directory[0]))
        return true;
    complain("cannot make temporary files: %s", strerror(errno));
    return false;
}

static void clean_up(struct benchmark *benchmark) {
    if (benchmark->directory[0]) {
        unlink(benchmark->path);
        rmdir(benchmark->directory);
    }
    if (benchmark->fd >= 0)
        close(benchmark->fd);
}

int command_benchmark(const struct invocation *invocation) {
    static struct benchmark benchmark;
    benchmark = (struct benchmark){
        .fd = -1, .launches = LAUNCHES_DEFAULT, .output = invocation_value(invocation, "output")};
    const char *launches = invocation_value(invocation, "launches"),
               *runs = invocation_value(invocation, "runs");
    uint64_t run_count = RUNS_DEFAULT;
    if (launches && (!quantity_count(launches, &benchmark.launches) || !benchmark.launches ||
                     benchmark.launches > LAUNCHES_MOST)) {
        complain("--launches: '%s' is not a number from 1 to %" PRIu64, launches, LAUNCHES_MOST);
        return EXIT_USAGE;
    }
    if (runs && (!quantity_count(runs, &run_count) || !run_count || run_count > RUNS_MOST)) {
        complain("--runs: '%s' is not a number from 1 to %d", runs, RUNS_MOST);
        return EXIT_USAGE;
    }
    benchmark.runs = (int)run_count;
    int code = EXIT_LACKING;
    if (find_program(&benchmark) && prepare(&benchmark))
        code = run_all(&benchmark);
    clean_up(&benchmark);
    if (code != EXIT_DONE)
        return code;
    (invocation_flag(invocation, "json") ? write_json : write_text)(&benchmark);
    if (is_whole(&benchmark))
        return EXIT_DONE;
    complain("launches or call stacks are missing from the trace, or wrong");
    return EXIT_NO;
}
