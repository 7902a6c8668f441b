// SPDX-License-Identifier: Apache-2.0
// `tracesmith benchmark`: what recording costs on this machine, and whether it records everything. The launch
// loop (launch_loop/) is run bare and recorded in turns; the medians are compared. How many launches there
// were is the loop's own count, checked on the device.
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
#include <sys/wait.h>
#include <unistd.h>

#include "command.h"
#include "progress.h"
#include "quantity.h"
#include "record.h"
#include "terminal.h"
#include "trace.h"

#ifndef TRACESMITH_HELPER_DIR
#define TRACESMITH_HELPER_DIR "../libexec/tracesmith" // from where the command is
#endif

enum { RUNS = 5, LAUNCHES_DEFAULT = 10000, REPORT_SIZE = 1024 };
static const uint64_t LAUNCHES_MOST = 100000000;

extern char **environ;

// What the loop says of one run.
struct loop_report {
    uint64_t launches; // one more than asked for: the first one, outside of the figures
    double wall_ns;    // of the loop
    char device[256];
};

// What the trace says of it.
struct trace_report {
    uint64_t launches, completions; // of the loop's kernel
    uint64_t events, bytes, lost;
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
    double bare[RUNS], traced[RUNS]; // ns per launch
    struct loop_report loop;
    struct trace_report worst; // the run that recorded least
};

// ---- one run

static bool find_program(struct benchmark *benchmark) {
    char self[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    if (length > 0) {
        self[length] = '\0';
        int needed = snprintf(benchmark->program, sizeof benchmark->program, "%s/%s/tracesmith-launch-loop",
                              dirname(self), TRACESMITH_HELPER_DIR);
        if (needed > 0 && (size_t)needed < sizeof benchmark->program && access(benchmark->program, X_OK) == 0)
            return true;
    }
    complain("the launch loop is not there: %s", length > 0 ? benchmark->program : "tracesmith-launch-loop");
    complain(
        "it is built and installed with TraceSmith where OpenCL is (Debian: apt install ocl-icd-opencl-dev)");
    return false;
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
    const char *device = find_member(json, "device");
    if (!launches || !wall || !device || *device != '"')
        return false;
    out->launches = strtoull(launches, NULL, 10);
    out->wall_ns = strtod(wall, NULL);
    snprintf(out->device, sizeof out->device, "%.*s", (int)strcspn(device + 1, "\""), device + 1);
    return true;
}

static int complain_of_loop(int wait_status) {
    if (WIFEXITED(wait_status) && WEXITSTATUS(wait_status) == EXIT_LACKING) {
        complain("there is no OpenCL device; a CPU can be one (Debian: apt install pocl-opencl-icd)");
        return EXIT_LACKING;
    }
    if (WIFSIGNALED(wait_status))
        complain("the launch loop was ended by signal %d", WTERMSIG(wait_status));
    else
        complain("the launch loop failed with exit code %d", WEXITSTATUS(wait_status));
    return EXIT_NO;
}

static int finish_run(struct benchmark *benchmark, int wait_status, double *per_launch) {
    if (!WIFEXITED(wait_status) || WEXITSTATUS(wait_status) != 0)
        return complain_of_loop(wait_status);
    if (!read_report(benchmark->fd, &benchmark->loop)) {
        complain("the launch loop gave no report");
        return EXIT_NO;
    }
    *per_launch = benchmark->loop.wall_ns / (double)benchmark->launches;
    return EXIT_DONE;
}

// Every run writes its report from the start of the file.
static void forget_report(const struct benchmark *benchmark) {
    if (ftruncate(benchmark->fd, 0) != 0 || lseek(benchmark->fd, 0, SEEK_SET) != 0)
        complain("cannot reset the report: %s", strerror(errno));
}

static int run_bare(struct benchmark *benchmark, char *const *argv, double *per_launch) {
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
    return finish_run(benchmark, wait_status, per_launch);
}

// ---- what was recorded

static bool is_string(const struct trace *trace, uint64_t id, const char *name) {
    tsmith_string string = trace_string(trace, (uint32_t)id);
    return string.length == strlen(name) && memcmp(string.bytes, name, string.length) == 0;
}

static void count_batch(const struct trace *trace, const tsmith_batch *batch, struct trace_report *out) {
    uint64_t kind, name, duration;
    for (uint32_t row = 0; row < tsmith_batch_count(batch); row++) {
        if (!tsmith_batch_get(batch, TSMITH_FIELD_KIND, row, &kind) ||
            !tsmith_batch_get(batch, TSMITH_FIELD_NAME, row, &name))
            continue;
        if (kind == TSMITH_KIND_API && is_string(trace, name, "clEnqueueNDRangeKernel"))
            out->launches++;
        else if (kind == TSMITH_KIND_KERNEL && is_string(trace, name, "tick"))
            out->completions += tsmith_batch_get(batch, TSMITH_FIELD_DURATION, row, &duration) != 0;
    }
}

static int count_recorded(const char *path, struct trace_report *out) {
    static const uint32_t fields[] = {TSMITH_FIELD_KIND, TSMITH_FIELD_NAME, TSMITH_FIELD_DURATION};
    const tsmith_scan scan = {.size = sizeof scan,
                              .fields = fields,
                              .field_count = sizeof fields / sizeof fields[0],
                              .kinds = 1u << TSMITH_KIND_API | 1u << TSMITH_KIND_KERNEL};
    struct trace trace;
    tsmith_source *source = NULL;
    tsmith_error error;
    const tsmith_batch *batch;
    *out = (struct trace_report){0};
    int code = trace_open(path, &trace);
    if (code != EXIT_DONE)
        return code;
    tsmith_status status = tsmith_sbt_scan(trace.file, &scan, &source, &error);
    while (status == TSMITH_OK) {
        status = tsmith_source_next(source, &batch, &error);
        if (status == TSMITH_OK)
            count_batch(&trace, batch, out);
    }
    if (status < 0)
        complain("%s", error.message);
    out->events = trace.summary.events;
    out->bytes = trace.summary.bytes;
    out->lost = trace_lost(&trace);
    tsmith_source_destroy(source);
    trace_close(&trace);
    return exit_code_of_input(status);
}

static int run_traced(struct benchmark *benchmark, char *const *argv, double *per_launch) {
    struct record_result result;
    struct trace_report report;
    const struct record_request request = {.path = benchmark->path, .argv = argv};
    forget_report(benchmark);
    record_run(&request, &result);
    if (result.stage != RECORD_RUN || !result.written) {
        complain("%s", result.error.message);
        return EXIT_LACKING;
    }
    int code = finish_run(benchmark, result.wait_status, per_launch);
    if (code == EXIT_DONE)
        code = count_recorded(benchmark->path, &report);
    if (code == EXIT_DONE &&
        report.completions + report.launches < benchmark->worst.completions + benchmark->worst.launches)
        benchmark->worst = report;
    return code;
}

// ---- all runs

static int compare_doubles(const void *a, const void *b) {
    double left = *(const double *)a;
    double right = *(const double *)b;
    return (left > right) - (left < right);
}

static double median(const double *values) {
    double sorted[RUNS];
    memcpy(sorted, values, sizeof sorted);
    qsort(sorted, RUNS, sizeof *sorted, compare_doubles);
    return sorted[RUNS / 2];
}

// From the quickest run to the slowest: what the machine adds by itself.
static double spread(const double *values) {
    double least = values[0];
    double most = values[0];
    for (int run = 1; run < RUNS; run++) {
        least = values[run] < least ? values[run] : least;
        most = values[run] > most ? values[run] : most;
    }
    return most - least;
}

static int run_all(struct benchmark *benchmark) {
    char *argv[] = {benchmark->program, benchmark->count, benchmark->report_fd, NULL};
    struct progress progress = {.what = "launching"};
    double warm_up;
    int code = run_bare(benchmark, argv, &warm_up); // compiles the kernel into the driver's cache
    benchmark->worst.completions = UINT64_MAX / 2;
    for (int run = 0; code == EXIT_DONE && run < RUNS; run++) {
        progress_show(&progress, (double)run / RUNS);
        code = run_bare(benchmark, argv, &benchmark->bare[run]);
        if (code == EXIT_DONE)
            code = run_traced(benchmark, argv, &benchmark->traced[run]);
    }
    progress_clear(&progress);
    return code;
}

static bool all_recorded(const struct benchmark *benchmark) {
    const struct trace_report *worst = &benchmark->worst;
    return worst->launches == benchmark->loop.launches && worst->completions == benchmark->loop.launches;
}

static void add_json_runs(struct text *text, const char *member, const double *values) {
    text_add_format(text, ",\"%s\":[", member);
    for (int run = 0; run < RUNS; run++)
        text_add_format(text, "%s%.1f", run ? "," : "", values[run]);
    text_add_char(text, ']');
}

static void write_json(const struct benchmark *benchmark) {
    const struct trace_report *worst = &benchmark->worst;
    double bare = median(benchmark->bare);
    double traced = median(benchmark->traced);
    struct text text = {0};
    text_add_cstr(&text, "{\"device\":");
    text_add_json_cstr(&text, benchmark->loop.device);
    text_add_format(&text,
                    ",\"runs\":%d,\"launches\":%" PRIu64 ",\"launches_recorded\":%" PRIu64
                    ",\"completions_recorded\":%" PRIu64 ",\"lost\":%" PRIu64 ",\"complete\":%s",
                    RUNS, benchmark->loop.launches, worst->launches, worst->completions, worst->lost,
                    all_recorded(benchmark) ? "true" : "false");
    text_add_format(&text, ",\"wall_ns_per_launch\":{\"bare\":%.1f,\"recorded\":%.1f,\"added\":%.1f", bare,
                    traced, traced - bare);
    add_json_runs(&text, "bare_runs", benchmark->bare);
    add_json_runs(&text, "recorded_runs", benchmark->traced);
    text_add_format(&text, "},\"events\":%" PRIu64 ",\"bytes\":%" PRIu64 ",\"bytes_per_event\":%.3f}\n",
                    worst->events, worst->bytes,
                    worst->events ? (double)worst->bytes / (double)worst->events : 0);
    output_text(&text);
    text_finish(&text);
}

static void write_text(const struct benchmark *benchmark) {
    const struct trace_report *worst = &benchmark->worst;
    double bare = median(benchmark->bare);
    double traced = median(benchmark->traced);
    struct text text = {0};
    text_add_cstr(&text, "device     ");
    text_add_safe(&text, text_string(benchmark->loop.device), 0);
    text_add_cstr(&text, "\nlaunches   ");
    text_add_count(&text, benchmark->loop.launches);
    text_add_format(&text, " in each of %d runs, bare and recorded in turns\nrecorded   ", RUNS);
    text_add_count(&text, worst->launches);
    text_add_cstr(&text, " launches, ");
    text_add_count(&text, worst->completions);
    text_add_cstr(&text, " completions, ");
    if (worst->lost)
        text_add_count(&text, worst->lost);
    text_add_cstr(&text, worst->lost ? " events lost\n" : "nothing lost\n");
    text_add_format(&text, "bare       %.0f ns per launch, the runs differ by %.0f ns\n", bare,
                    spread(benchmark->bare));
    text_add_format(&text, "recorded   %.0f ns per launch, the runs differ by %.0f ns\n", traced,
                    spread(benchmark->traced));
    text_add_format(&text, "added      %+.0f ns per launch (of medians)%s\n", traced - bare,
                    fabs(traced - bare) < spread(benchmark->bare) ? ", within the noise of this machine"
                                                                  : "");
    text_add_cstr(&text, "trace      ");
    text_add_count(&text, worst->events);
    text_add_cstr(&text, " events, ");
    text_add_bytes(&text, (double)worst->bytes);
    text_add_format(&text, ", %.2f bytes per event\n",
                    worst->events ? (double)worst->bytes / (double)worst->events : 0);
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
    struct benchmark benchmark = {
        .fd = -1, .launches = LAUNCHES_DEFAULT, .output = invocation_value(invocation, "output")};
    const char *launches = invocation_value(invocation, "launches");
    if (launches && (!quantity_count(launches, &benchmark.launches) || !benchmark.launches ||
                     benchmark.launches > LAUNCHES_MOST)) {
        complain("--launches: '%s' is no number from 1 to %" PRIu64, launches, LAUNCHES_MOST);
        return EXIT_USAGE;
    }
    int code = EXIT_LACKING;
    if (find_program(&benchmark) && prepare(&benchmark))
        code = run_all(&benchmark);
    clean_up(&benchmark);
    if (code != EXIT_DONE)
        return code;
    (invocation_flag(invocation, "json") ? write_json : write_text)(&benchmark);
    if (all_recorded(&benchmark))
        return EXIT_DONE;
    complain("launches are missing from the trace");
    return EXIT_NO;
}
