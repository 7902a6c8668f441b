// SPDX-License-Identifier: Apache-2.0
// `tracesmith profile`: runs a program, records it, and prints the result.
#include <dlfcn.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/opened_trace.h"
#include "cli/options/command.h"
#include "cli/options/quantity.h"
#include "cli/output_name.h"
#include "cli/present/terminal.h"
#include "flight.h"
#include "mctracer.h"
#include "nsys.h"
#include "record.h"
#include "sources.h"
#include "split.h"
#include "tracesmith/launcher.h"
#include "tracesmith/replay.h"
#include "xctrace.h"

enum { EXIT_CANNOT_RUN = 126, EXIT_NOT_FOUND = 127 };

static const char default_path[] = "trace.sbt";

struct apis {
    const char *names[8];
    size_t count;
    const struct option *option;
    tsmith_agent_option options[REPEATED_MAX + OPTIONS_MAX];
    size_t option_count;
    char texts[4096]; // of `options`, what is no whole word of the command line
    size_t text_bytes;
};

static void add_api(void *context, size_t index) {
    struct apis *apis = context;
    if (apis->count < sizeof apis->names / sizeof apis->names[0])
        apis->names[apis->count++] = apis->option->word(index);
}

static bool read_rate(const struct invocation *invocation, uint32_t *out) {
    const char *text = invocation_value(invocation, "gpu-counters");
    char *end = NULL;
    if (!text)
        return true;
    const unsigned long rate = strtoul(text, &end, 10);
    if (*end || end == text || rate < 1 || rate > 1000) {
        complain("--gpu-counters: '%s' is not a rate in Hz from 1 to 1000", text);
        return false;
    }
    *out = (uint32_t)rate;
    return true;
}

// ---- options of agents

// A copy of a part of a word; NULL after a complaint.
static const char *copy_part(struct apis *apis, const char *text, size_t length) {
    char *copy = apis->texts + apis->text_bytes;
    if (length >= sizeof apis->texts - apis->text_bytes) {
        complain("the options of agents are too long");
        return NULL;
    }
    memcpy(copy, text, length);
    copy[length] = '\0';
    apis->text_bytes += length + 1;
    return copy;
}

static bool add_agent_option(struct apis *apis, const char *api, const char *key, const char *value) {
    if (!api || !key || !value)
        return false;
    if (apis->option_count == sizeof apis->options / sizeof apis->options[0]) {
        complain("too many options of agents");
        return false;
    }
    apis->options[apis->option_count++] = (tsmith_agent_option){api, key, value};
    return true;
}

static void add_cuda_word(void *context, size_t index) {
    struct apis *apis = context;
    (void)add_agent_option(apis, "cuda", apis->option->word(index), "");
}

static bool read_cuda(const struct invocation *invocation, struct apis *apis) {
    const char *list = invocation_value(invocation, "cuda");
    apis->option = command_option(invocation->command, "cuda");
    return !list || option_each_word(apis->option, list, add_cuda_word, apis);
}

static bool read_pc_samples(const struct invocation *invocation, struct apis *apis) {
    const char *period = invocation_value(invocation, "pc-samples");
    return !period || add_agent_option(apis, "cuda", "pc-samples", period);
}

// US, or US:NAME+NAME...
static bool read_metrics(const struct invocation *invocation, struct apis *apis) {
    const char *text = invocation_value(invocation, "gpu-metrics");
    const char *names = text ? strchr(text, ':') : NULL;
    if (!text)
        return true;
    return add_agent_option(apis, "cuda", "metrics",
                            names ? copy_part(apis, text, (size_t)(names - text)) : text) &&
           (!names || add_agent_option(apis, "cuda", "metric-names", names + 1));
}

// API.KEY[=VALUE]: the words of the table have a point.
static bool read_named(const struct invocation *invocation, struct apis *apis) {
    const char *text;
    size_t cursor = 0;
    while ((text = invocation_next(invocation, "agent-option", &cursor)) != NULL) {
        const char *key = strchr(text, '.') + 1, *equals = strchr(text, '=');
        if (!add_agent_option(apis, copy_part(apis, text, (size_t)(key - 1 - text)),
                              copy_part(apis, key, strcspn(key, "=")), equals ? equals + 1 : ""))
            return false;
    }
    return true;
}

static bool read_agent_options(const struct invocation *invocation, struct apis *apis,
                               tsmith_capture_options *options) {
    if (!read_cuda(invocation, apis) || !read_pc_samples(invocation, apis) ||
        !read_metrics(invocation, apis) || !read_named(invocation, apis))
        return false;
    options->agent_options = apis->options;
    options->agent_option_count = apis->option_count;
    return true;
}

// ---- other options

static bool read_max_overhead(const struct invocation *invocation, double *out) {
    const char *text = invocation_value(invocation, "max-overhead");
    char *end = NULL;
    if (!text)
        return true;
    *out = strtod(text, &end);
    if (end != text && *end == '%')
        end++;
    if (end == text || *end || !(*out >= 0.0001 && *out <= 100)) {
        complain("--max-overhead: '%s' is not a percentage from 0.0001 to 100 (100 only measures)", text);
        return false;
    }
    return true;
}

static bool read_block_timeout(const struct invocation *invocation, double *out) {
    const char *text = invocation_value(invocation, "block-timeout");
    char *end = NULL;
    if (!text)
        return true;
    if (strcmp(text, "never") == 0) {
        *out = -1;
        return true;
    }
    *out = strtod(text, &end);
    if (end == text || *end || !(*out > 0 && *out <= 1e9)) {
        complain("--block-timeout: '%s' is neither a number of seconds above 0 nor 'never'", text);
        return false;
    }
    return true;
}

// ON/PERIOD.
static bool read_duty(const struct invocation *invocation, tsmith_capture_options *options) {
    const char *text = invocation_value(invocation, "duty"), *slash = text ? strchr(text, '/') : NULL;
    struct text on = {0};
    if (!text)
        return true;
    text_add(&on, text, slash ? (size_t)(slash - text) : strlen(text));
    const bool good = slash && quantity_time(text_cstr(&on), &options->duty_on) &&
                      quantity_time(slash + 1, &options->duty_period) && options->duty_on > 0 &&
                      options->duty_on < options->duty_period;
    text_finish(&on);
    if (!good)
        complain("--duty: '%s' is not a time and a longer period such as 1s/60s", text);
    else if (invocation_flag(invocation, "armed") || invocation_value(invocation, "capture") ||
             invocation_flag(invocation, "flight")) {
        complain("--duty cannot be combined with --armed, --capture or --flight");
        return false;
    }
    return good;
}

static bool read_aggregate(const struct invocation *invocation, tsmith_capture_options *options) {
    const char *text = invocation_value(invocation, "aggregate");
    if (!text)
        return true;
    if (!quantity_time(text, &options->aggregate) || options->aggregate < 10000000) {
        complain("--aggregate: '%s' is not a time of 10 ms or more, such as 10s", text);
        return false;
    }
    if (invocation_flag(invocation, "armed") || invocation_value(invocation, "capture") ||
        invocation_flag(invocation, "flight") || invocation_value(invocation, "duty")) {
        complain("--aggregate cannot be combined with --armed, --capture, --duty or --flight: they need "
                 "events, and it records sums");
        return false;
    }
    return true;
}

static bool read_ptp(const struct invocation *invocation, tsmith_capture_options *options) {
    const char *text = invocation_value(invocation, "ptp-error");
    options->ptp_clock = invocation_value(invocation, "ptp");
    if (!options->ptp_clock && !text)
        return true;
    if (!options->ptp_clock || !text) {
        complain("--ptp and --ptp-error need each other");
        return false;
    }
    if (quantity_time(text, &options->ptp_error) && options->ptp_error >= 0)
        return true;
    complain("--ptp-error: '%s' is not a time such as 250ns", text);
    return false;
}

static bool read_stack_frames(const struct invocation *invocation, tsmith_capture_options *options) {
    const char *text = invocation_value(invocation, "stack-frames");
    char *end = NULL;
    if (!text)
        return true;
    const unsigned long frames = text[0] >= '0' && text[0] <= '9' ? strtoul(text, &end, 10) : 0;
    if (!end || *end || frames < TSMITH_STACK_FRAMES_LEAST || frames > TSMITH_STACK_FRAMES_MOST) {
        complain("--stack-frames: '%s' is not a number from %d to %d", text, TSMITH_STACK_FRAMES_LEAST,
                 TSMITH_STACK_FRAMES_MOST);
        return false;
    }
    if (!options->stacks) {
        complain("--stack-frames needs --stacks");
        return false;
    }
    options->stack_frames = (uint32_t)frames;
    return true;
}

static bool read_options(const struct invocation *invocation, tsmith_capture_options *options,
                         struct apis *apis) {
    const char *buffer = invocation_value(invocation, "buffer");
    const char *overflow = invocation_value(invocation, "overflow");
    const char *api = invocation_value(invocation, "api");
    const char *wait = invocation_value(invocation, "wait");
    uint64_t bytes = 0;
    *options = (tsmith_capture_options){.size = sizeof *options};
    if (buffer && (!quantity_size(buffer, &bytes) || bytes == 0 || bytes > SIZE_MAX)) {
        complain("--buffer: '%s' is not a size such as 512K, 4M or 1G", buffer);
        return false;
    }
    if (!read_rate(invocation, &options->gpu_counter_rate) ||
        !read_max_overhead(invocation, &options->max_overhead) ||
        !read_block_timeout(invocation, &options->block_timeout) || !read_duty(invocation, options) ||
        !read_aggregate(invocation, options) || !read_ptp(invocation, options) ||
        !read_agent_options(invocation, apis, options))
        return false;
    options->buffer_bytes = (size_t)bytes;
    options->stacks = invocation_flag(invocation, "stacks");
    options->live = invocation_flag(invocation, "live");
    options->armed = invocation_flag(invocation, "armed");
    if (!read_stack_frames(invocation, options))
        return false;
    const char *range = invocation_value(invocation, "capture");
    options->recording = range && !*range ? "all" : range;
    options->recording_hashes_only = invocation_flag(invocation, "no-payload");
    options->recording_every_command = invocation_flag(invocation, "capture-hashes");
    if (!range && (options->recording_hashes_only || options->recording_every_command)) {
        complain("--no-payload and --capture-hashes need --capture");
        return false;
    }
    options->frames = invocation_value(invocation, "frames");
    if (options->frames && !*options->frames)
        options->frames = "present";
    options->clock_probe = invocation_value(invocation, "clock-probe");
    options->only_program = wait && strcmp(wait, "program") == 0;
    if (overflow)
        tsmith_overflow_find(overflow, &options->overflow);
    if (options->block_timeout != 0 && options->overflow != TSMITH_OVERFLOW_BLOCK) {
        complain("--block-timeout needs --overflow block");
        return false;
    }
    if (api) {
        apis->option = command_option(invocation->command, "api");
        if (!option_each_word(apis->option, api, add_api, apis))
            return false;
        options->apis = apis->names;
        options->api_count = apis->count;
    }
    if (options->armed &&
        (range || invocation_flag(invocation, "flight") || invocation_value(invocation, "output"))) {
        complain("--armed cannot be combined with --capture, --flight or --output; choose the file with "
                 "'tracesmith record --output'");
        return false;
    }
    tsmith_error error;
    const bool good = tsmith_capture_check(options, &error) == TSMITH_OK;
    if (!good)
        complain("%s", error.message);
    return good;
}

// ---- before anything is run

// The program is looked for first, so that a misspelled name does not replace an earlier trace. Its path is left in `found_at`.
static int check_program(const struct invocation *invocation, struct text *found_at) {
    const char *name = invocation->operands[0];
    char hint[256];
    struct stat status;
    text_add_cstr(found_at, name);
    if (strchr(name, '/')) {
        if (stat(name, &status) != 0) {
            complain("%s: %s", name, strerror(errno));
            return errno == EACCES ? EXIT_CANNOT_RUN : EXIT_NOT_FOUND;
        }
        if (S_ISDIR(status.st_mode) || access(name, X_OK) != 0) {
            complain("%s cannot be run: %s", name, strerror(S_ISDIR(status.st_mode) ? EISDIR : errno));
            return EXIT_CANNOT_RUN;
        }
        return EXIT_DONE;
    }
    const char *path = getenv("PATH");
    bool found = false;
    for (const char *at = path ? path : "/usr/local/bin:/usr/bin:/bin"; !found;) {
        size_t length = strcspn(at, ":");
        text_clear(found_at);
        text_add(found_at, length ? at : ".", length ? length : 1);
        text_add_format(found_at, "/%s", name);
        found = stat(text_cstr(found_at), &status) == 0 && S_ISREG(status.st_mode) &&
                access(text_cstr(found_at), X_OK) == 0;
        if (!at[length])
            break;
        at += length + 1;
    }
    if (!found)
        complain("%s was not found in PATH%s", name, invocation_hint(invocation, hint, sizeof hint));
    return found ? EXIT_DONE : EXIT_NOT_FOUND;
}

// ---- afterwards

struct summary {
    const char *path;
    const struct record_result *result;
    const char *range; // of --capture; NULL: not given
    const char *apis;  // of --api; NULL: not given
    bool readable;     // the file can be opened and `trace` is filled
    struct trace trace;
    const char *pattern; // of the files of its ranks or processes; NULL: there is one file
    struct split split;  // with `pattern`
    bool is_split;       // these files were written
    tsmith_error split_error;
    int exit_code;
};

// The file, or the files, as the user named them.
static const char *name_of(struct summary *summary) {
    return summary->is_split ? split_name(&summary->split, summary->pattern) : summary->path;
}

static void write_json(struct summary *summary) {
    struct text line = {0};
    const tsmith_sbt_summary *file = &summary->trace.summary;
    text_add_cstr(&line, "{\"trace\":");
    text_add_json_cstr(&line, name_of(summary));
    if (summary->is_split || summary->split.result.files) {
        text_add_char(&line, ',');
        split_add_json(&line, &summary->split);
    }
    if (summary->pattern && !summary->is_split && summary->split_error.message[0]) {
        text_add_cstr(&line, ",\"split_error\":");
        text_add_json_cstr(&line, summary->split_error.message);
    }
    text_add_format(&line, ",\"complete\":%s,\"exit_code\":%d,\"used_gpu_api\":%s",
                    summary->readable && file->complete ? "true" : "false", summary->exit_code,
                    summary->result->used_api ? "true" : "false");
    if (summary->readable)
        text_add_format(&line,
                        ",\"bytes\":%" PRIu64 ",\"events\":%" PRIu64 ",\"kernels\":%" PRIu64
                        ",\"duration_ns\":%" PRId64 ",\"lost\":%" PRIu64 ",\"lost_uncounted\":%" PRIu64,
                        file->bytes, file->events, file->kinds[TSMITH_KIND_KERNEL],
                        trace_duration(&summary->trace), trace_lost(&summary->trace),
                        trace_uncounted_losses(&summary->trace).uncounted);
    text_add_format(&line,
                    ",\"unwritten\":%" PRIu64 ",\"left_running\":%" PRIu32 ",\"unrecorded\":%" PRIu32
                    ",\"session_removed\":%s}\n",
                    summary->result->unwritten, summary->result->left_running, summary->result->unrecorded,
                    summary->result->session_removed ? "true" : "false");
    if (write(STDERR_FILENO, text_cstr(&line), line.length) < 0)
        (void)0; // no output is left to report it to
    text_finish(&line);
}

// Statements about time are based on the commands that have times.
static void complain_of_times(const struct trace *trace) {
    uint64_t timed, all;
    if (trace->summary.lost[TSMITH_REASON_NO_TIMING] && trace_timed(trace, &timed, &all) && timed < all)
        complain("times are known for %" PRIu64 " of %" PRIu64
                 " kernels and transfers: the driver gave no times, or impossible ones",
                 timed, all);
}

// What is not in the trace, in the words of the last line.
static void add_missing(struct text *line, const struct summary *summary, uint64_t lost) {
    const uint64_t stacks = trace_stacks_incomplete(&summary->trace);
    if (lost) {
        text_add_counted(line, lost, "event lost", "events lost");
        text_add_cstr(line, summary->trace.summary.lost[TSMITH_REASON_NO_TIMING] ? " or without times" : "");
        text_add_cstr(line, " (see tracesmith info)");
    } else {
        text_add_cstr(line, summary->result->session_removed ? "incomplete: the session directory was removed"
                            : summary->result->unrecorded    ? "not of every process"
                            : summary->result->written && trace_uncounted_losses(&summary->trace).uncounted
                                ? "an unknown number of events lost (see tracesmith info)"
                            : !summary->result->written ? "incomplete"
                            : stacks                    ? "no event lost"
                                                        : "nothing lost");
    }
    if (!stacks)
        return;
    text_add_cstr(line, ", ");
    text_add_counted(line, stacks, "call stack", "call stacks");
    text_add_cstr(line, " missing or incomplete (see tracesmith info)");
}

static void write_text(struct summary *summary) {
    struct text line = {0};
    const tsmith_sbt_summary *file = &summary->trace.summary;
    uint64_t lost = summary->readable ? trace_lost(&summary->trace) : 0; // by the file's own ledger
    if (summary->readable) {
        if (summary->is_split)
            split_add_text(&line, &summary->split, summary->pattern);
        else
            text_add_cstr(&line, summary->path);
        text_add_cstr(&line, summary->is_split ? ", " : ": ");
        text_add_counted(&line, file->events, "event, ", "events, ");
        const bool sums = file->kinds[TSMITH_KIND_SUM] && !file->kinds[TSMITH_KIND_KERNEL];
        text_add_counted(&line, file->kinds[sums ? TSMITH_KIND_SUM : TSMITH_KIND_KERNEL],
                         sums ? "sum, " : "kernel, ", sums ? "sums, " : "kernels, ");
        text_add_bytes(&line, (double)file->bytes);
        text_add_cstr(&line, ", ");
        add_missing(&line, summary, lost);
        complain("%s", text_cstr(&line));
        complain_of_times(&summary->trace);
        text_clear(&line);
        if (trace_add_duty(&line, &summary->trace))
            complain("%s", text_cstr(&line));
        text_clear(&line);
        if (trace_add_aggregate(&line, &summary->trace))
            complain("%s", text_cstr(&line));
    }
    if (!summary->readable && summary->result->written)
        complain("%s: recorded; the output cannot be read again, so its events are not counted",
                 summary->path);
    if (file->lost[TSMITH_REASON_RING_FULL] || file->lost[TSMITH_REASON_OVERWRITTEN])
        complain(
            "a ring buffer was full; use a larger --buffer, or --overflow block to let the program wait");
    if (summary->is_split)
        split_complain(&summary->split, summary->pattern);
    if (summary->readable && summary->result->written && summary->result->used_api &&
        (!summary->is_split || summary->split.result.files == 1))
        complain_command(file->kinds[TSMITH_KIND_SUM] ? "next: tracesmith analyze "
                                                      : "next: tracesmith view ",
                         name_of(summary), file->kinds[TSMITH_KIND_SUM] ? " sums" : " --timeline");
    text_finish(&line);
}

// The file at the path is none, or another's.
static bool is_gone(const struct record_result *result) {
    return !result->written && result->error.status == TSMITH_ERROR_NOT_FOUND;
}

// What a program would find that uses CUDA; the dynamic linker knows where NVIDIA's driver is, if anybody does.
static const char *what_of_cuda(const struct summary *summary) {
    if ((summary->apis && !strstr(summary->apis, "cuda")) || dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL))
        return "";
    return ". NVIDIA's driver (libcuda.so.1) was not found, so CUDA programs have no GPU: install it, or "
           "start the container with its GPUs (docker run --gpus all)";
}

static void say_what_went_wrong(const struct summary *summary) {
    const struct record_result *result = summary->result;
    if (WIFSIGNALED(result->wait_status))
        complain("the program was ended by signal %d (%s)", WTERMSIG(result->wait_status),
                 strsignal(WTERMSIG(result->wait_status)));
    if (result->note[0])
        complain("%s", result->note);
    if (result->left_running)
        complain("%u %s of the program still ran when the recording ended: later events are not in the trace",
                 result->left_running, plural(result->left_running, "process", "processes"));
    if (result->unrecorded)
        complain("%" PRIu32 " %s could not be recorded: no file descriptor, memory or disk space was left",
                 result->unrecorded, plural(result->unrecorded, "process", "processes"));
    if (result->session_removed)
        complain("error: the session directory %s was removed while the program ran: processes that started "
                 "after that were not recorded. The trace has the events until then, and all events of "
                 "processes that had started before",
                 result->session);
    else if (!result->unrecorded && !result->used_api)
        complain(
            "the program used none of the recorded GPU APIs (%s): the trace has no device work. A program is "
            "not seen if it brings its own library (as oclgrind does; of OpenCL, as LightGBM does, "
            "--agent-option opencl.preload may see it), or runs with another environment (env "
            "-i, sudo), as another user (su, setpriv) or with more rights (set-user-ID, file capabilities); "
            "then run tracesmith profile inside, as in 'sudo tracesmith profile ./program'%s",
            summary->apis ? summary->apis : "OpenCL, CUDA, ROCm, Vulkan, OpenMP offloading, OpenACC",
            what_of_cuda(summary));
    if (result->written)
        return;
    if (is_gone(result)) {
        complain("%s", result->error.message);
        return;
    }
    complain("the trace is incomplete: %s", result->error.message);
    if (result->unwritten)
        complain("%" PRIu64 " further %s could not be written", result->unwritten,
                 plural(result->unwritten, "event", "events"));
    complain_command("what was written before is readable; tracesmith recover ", summary->path,
                     " -o FILE completes it");
}

static void say_notices(const struct summary *summary) {
    const tsmith_dictionary *dictionary = NULL;
    struct text line = {0};
    tsmith_string notice;
    if (!summary->readable || tsmith_sbt_dictionary(summary->trace.file, &dictionary, NULL) < 0)
        return;
    for (uint32_t at = 0; trace_notice(dictionary, &at, &notice);) {
        text_clear(&line);
        text_add_safe(&line, notice, 0);
        complain("%s", text_cstr(&line));
    }
    text_finish(&line);
}

// Why there is nothing to replay: something that cannot be captured, else the range had nothing.
static void say_nothing_recorded(const struct summary *summary, const tsmith_recording *recording) {
    tsmith_recording_refusal refusal = {.size = sizeof refusal};
    struct text line = {0};
    if (!recording || !tsmith_recording_refusal_get(recording, 0, &refusal)) {
        complain("no command was in the range '%s': there is nothing to replay", summary->range);
        return;
    }
    text_add_cstr(&line, "there is nothing to replay, because a call cannot be captured: ");
    text_add_safe(&line, text_string(refusal.function), 60);
    text_add_cstr(&line, ": ");
    text_add_safe(&line, text_string(refusal.reason), 200);
    complain("%s", text_cstr(&line));
    text_finish(&line);
}

// What there is to replay.
static void say_recording(const struct summary *summary) {
    tsmith_recording *recording = NULL;
    tsmith_recording_summary there = {.size = sizeof there};
    if (!summary->readable || !summary->range)
        return;
    if (tsmith_recording_open(summary->trace.file, &recording, NULL) >= 0)
        tsmith_recording_summarize(recording, &there);
    if (!there.commands && summary->result->used_api) {
        say_nothing_recorded(summary, recording);
    } else if (there.commands) {
        struct text line = {0};
        text_add_cstr(&line, "for a replay: ");
        text_add_counted(&line, there.commands, "command, ", "commands, ");
        text_add_bytes(&line, (double)there.chunk_bytes);
        text_add_cstr(&line, " of data; next: tracesmith replay ");
        text_add_shell(&line, summary->path);
        complain("%s", text_cstr(&line));
        text_finish(&line);
    }
    if (there.unfinished)
        complain(
            "the recording of %s has no end (killed, _exit, exec, or no room to write any further): later "
            "commands and the final contents of memory are missing",
            there.unfinished == 1 && there.processes == 1 ? "the program" : "some processes");
    tsmith_recording_close(recording);
}

// Writes the files of the ranks and removes that of the whole, which stays if this cannot be done.
static void split_whole(struct summary *summary) {
    if (!summary->pattern || !summary->readable || !summary->result->written)
        return;
    summary->is_split =
        split_run(&summary->split, summary->path, summary->pattern, &summary->split_error) == TSMITH_OK;
    if (summary->is_split)
        unlink(summary->path);
    else
        summary->exit_code = summary->exit_code == EXIT_DONE ? EXIT_LACKING : summary->exit_code;
}

static void say_not_split(struct summary *summary) {
    struct text line = {0};
    if (!summary->pattern || summary->is_split)
        return;
    if (summary->split_error.message[0])
        complain("%s", summary->split_error.message);
    text_add_cstr(&line, "the recording is not split: it is one file. tracesmith split FILE -o ");
    text_add_shell(&line, summary->pattern);
    text_add_cstr(&line, " splits it");
    if (summary->split.result.files) { // also those of the readable part of a damaged recording
        text_add_cstr(&line, ". Already written: ");
        split_add_text(&line, &summary->split, summary->pattern);
    }
    complain("%s", text_cstr(&line));
    text_finish(&line);
}

// `pattern`: of the files into which the one at `path` is split; NULL: it is what was asked for.
static int conclude(const struct invocation *invocation, const char *path, const char *pattern,
                    const struct record_result *result, const char *range) {
    struct record_result found = *result;
    struct summary summary = {.path = path,
                              .pattern = pattern,
                              .result = &found,
                              .range = range,
                              .apis = invocation_value(invocation, "api"),
                              .exit_code = record_exit_code(result)};
    tsmith_error error;
    summary.trace.path = path;
    summary.trace.summary.size = sizeof summary.trace.summary;
    struct stat status;
    if (!is_gone(result) && stat(path, &status) == 0 && S_ISREG(status.st_mode) &&
        tsmith_sbt_open(path, &summary.trace.file, &error) >= 0)
        summary.readable = tsmith_sbt_summarize(summary.trace.file, &summary.trace.summary, &error) >= 0;
    if (summary.readable && tsmith_sbt_dictionary(summary.trace.file, &summary.trace.dictionary, NULL) < 0)
        summary.trace.dictionary = NULL; // without it less is said
    // Some frames of the batch that could not be written may be in the file.
    if (!found.written && summary.readable && summary.trace.summary.events <= found.delivered)
        found.unwritten = found.delivered - summary.trace.summary.events;
    if (summary.exit_code == EXIT_DONE && (!result->written || result->session_removed))
        summary.exit_code = EXIT_LACKING;
    split_whole(&summary);
    if (invocation_flag(invocation, "json")) {
        write_json(&summary);
    } else {
        say_what_went_wrong(&summary);
        say_not_split(&summary);
        say_notices(&summary);
        write_text(&summary);
        say_recording(&summary);
    }
    split_finish(&summary.split);
    trace_close(&summary.trace);
    return summary.exit_code;
}

// `profile --armed`: the files are those of `record`.
static int conclude_armed(const struct record_result *result) {
    struct text line = {0};
    text_add_counted(&line, result->on_demand, "recording on demand", "recordings on demand");
    if (result->on_demand_failed)
        text_add_format(&line, ", %" PRIu64 " failed", result->on_demand_failed);
    complain("%s", text_cstr(&line));
    text_finish(&line);
    return record_exit_code(result);
}

// Removes the file that was created for nothing, also through a link. A device or pipe was not created here: it
// stays, even if this user may remove it.
static void remove_begun(const char *path) {
    struct stat there;
    char *file = stat(path, &there) == 0 && S_ISREG(there.st_mode) ? realpath(path, NULL) : NULL;
    if (file)
        unlink(file);
    free(file);
}

// Nothing was run: why, as an exit code.
static int not_run(const struct record_request *request, const struct record_result *result) {
    complain("%s", result->error.message);
    if (result->stage == RECORD_FILE) {
        output_explain_refused(result->status);
        complain("%s was not run: choose another file with --output", request->argv[0]);
        return result->status == TSMITH_ERROR_INVALID_ARGUMENT ? EXIT_USAGE : EXIT_LACKING;
    }
    if (!request->flight && !request->armed)
        remove_begun(request->path);
    if (result->stage == RECORD_START && result->status == TSMITH_ERROR_NOT_FOUND)
        return EXIT_NOT_FOUND;
    if (result->stage == RECORD_START && result->status == TSMITH_ERROR_PERMISSION)
        return EXIT_CANNOT_RUN;
    return result->status == TSMITH_ERROR_INVALID_ARGUMENT ? EXIT_USAGE : EXIT_LACKING;
}

typedef int other_profiler_run(const struct invocation *invocation, const char *path);

// The profiler that is run in place of ours; NULL: none.
static other_profiler_run *other_profiler(const struct invocation *invocation) {
    return nsys_wanted(invocation)                   ? nsys_profile
           : invocation_flag(invocation, "mctracer") ? mctracer_profile
           : xctrace_wanted(invocation)              ? xctrace_profile
                                                     : NULL;
}

// Whether one collector records several ranks or processes into a file each. What has no such file, or data for replay, is not split.
static bool splits(const struct invocation *invocation, const tsmith_capture_options *options,
                   const char *pattern) {
    return tsmith_output_splits(pattern) && !options->armed && !options->recording &&
           !flight_wanted(invocation) && !other_profiler(invocation);
}

// The file that is recorded into. False after a complaint.
static bool name_output(const char *pattern, bool is_split, char out[OUTPUT_NAME_SIZE]) {
    tsmith_error error;
    if (!is_split)
        return output_name(pattern, 0, out);
    if (tsmith_output_whole(pattern, out, OUTPUT_NAME_SIZE, &error) == TSMITH_OK)
        return true;
    complain("--output: %s", error.message);
    return false;
}

int command_profile(const struct invocation *invocation) {
    struct apis apis = {.count = 0};
    tsmith_capture_options options;
    const char *path = invocation_value(invocation, "output");
    struct record_result result;
    char name[OUTPUT_NAME_SIZE];
    if (!read_options(invocation, &options, &apis))
        return EXIT_USAGE;
    const char *pattern = path && splits(invocation, &options, path) ? path : NULL;
    if (!name_output(path ? path : default_path, pattern, name))
        return EXIT_USAGE;
    path = name;
    struct text program = {0};
    struct sources sources = {0};
    int code = check_program(invocation, &program);
    if (code == EXIT_DONE && other_profiler(invocation)) {
        text_finish(&program);
        return other_profiler(invocation)(invocation, path);
    }
    if (code == EXIT_DONE && !flight_wanted(invocation) && !options.armed && !trace_may_replace(path))
        code = EXIT_USAGE;
    tsmith_flight *flight = NULL;
    struct metrics *metrics = NULL;
    if (code == EXIT_DONE)
        code = metrics_open(invocation, &metrics);
    struct otlp *otlp = NULL;
    if (code == EXIT_DONE)
        code = otlp_open(invocation, text_cstr(&program), &otlp);
    options.live |= metrics != NULL || otlp != NULL;
    if (code == EXIT_DONE)
        code = flight_open(invocation, path, &options, &flight);
    if (code == EXIT_DONE)
        code = sources_open(&sources, invocation, text_cstr(&program), &options);
    if (code == EXIT_DONE) {
        const struct record_request request = {.path = path,
                                               .options = &options,
                                               .argv = invocation->operands,
                                               .join = sources_join,
                                               .join_context = &sources,
                                               .flight = flight,
                                               .metrics = metrics,
                                               .otlp = otlp,
                                               .armed = options.armed != 0};
        options.output = flight || options.armed ? NULL : path;
        record_run(&request, &result);
        code = result.stage != RECORD_RUN ? not_run(&request, &result)
               : flight                   ? flight_conclude(invocation, flight, &result)
               : request.armed            ? conclude_armed(&result)
                                          : conclude(invocation, path, pattern, &result, options.recording);
        if (result.stage == RECORD_RUN)
            sources_report(&sources);
    }
    metrics_close(metrics);
    otlp_close(otlp);
    tsmith_flight_destroy(flight);
    sources_close(&sources);
    text_finish(&program);
    return code;
}
