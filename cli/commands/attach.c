// SPDX-License-Identifier: Apache-2.0
// `tracesmith attach`: records a program that runs already. The ladder: it is armed; else its Python loads the agents; else one of its
// threads does (tsmith_capture_attach).
#include <inttypes.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/opened_trace.h"
#include "cli/options/command.h"
#include "cli/options/quantity.h"
#include "cli/output_name.h"
#include "cli/present/terminal.h"
#include "cli/sessions.h"
#include "record_on_demand.h"
#include "tracesmith/export.h"
#include "tracesmith/stacks.h"

static const int64_t UNTIL_STOPPED = INT64_C(86400) * 365 * 1000000000; // ns

struct attachment {
    uint64_t pid;
    int64_t duration; // ns; 0: until it is ended
    const char *path; // `name`, once it is known
    char name[OUTPUT_NAME_SIZE];
    bool json;
    tsmith_capture_options options;
    const char *apis[8];
    const struct option *api_option;
    tsmith_capture *capture;
    int64_t begun;
    tsmith_attach_report report;
    bool recorded_already;
};

static volatile sig_atomic_t interrupted;

static void interrupt(int signal_number) {
    (void)signal_number;
    interrupted = 1;
}

static int64_t monotonic_now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

// ---- options

static void add_api(void *context, size_t index) {
    struct attachment *attachment = context;
    tsmith_capture_options *options = &attachment->options;
    if (options->api_count < sizeof attachment->apis / sizeof *attachment->apis)
        attachment->apis[options->api_count++] = attachment->api_option->word(index);
}

static bool read_options(const struct invocation *invocation, struct attachment *out) {
    const char *duration = invocation_value(invocation, "duration"),
               *buffer = invocation_value(invocation, "buffer"),
               *overflow = invocation_value(invocation, "overflow"),
               *api = invocation_value(invocation, "api"),
               *patience = invocation_value(invocation, "patience");
    uint64_t bytes = 0;
    *out = (struct attachment){.path = invocation_value(invocation, "output"),
                               .json = invocation_flag(invocation, "json"),
                               .options = {.size = sizeof out->options}};
    if (!out->path)
        out->path = "trace.sbt";
    if (!quantity_count(invocation->operands[0], &out->pid) || !out->pid || out->pid > INT32_MAX) {
        complain("'%s' is not a process id", invocation->operands[0]);
        return false;
    }
    if (duration && (!quantity_time(duration, &out->duration) || out->duration <= 0)) {
        complain("--duration: '%s' is not a time such as 5s", duration);
        return false;
    }
    if (patience &&
        (!quantity_time(patience, &out->options.attach_patience) || out->options.attach_patience <= 0)) {
        complain("--patience: '%s' is not a time such as 5s", patience);
        return false;
    }
    if (buffer && (!quantity_size(buffer, &bytes) || bytes == 0 || bytes > SIZE_MAX)) {
        complain("--buffer: '%s' is not a size such as 512K, 4M or 1G", buffer);
        return false;
    }
    out->options.buffer_bytes = (size_t)bytes;
    out->options.stacks = invocation_flag(invocation, "stacks");
    if (overflow)
        tsmith_overflow_find(overflow, &out->options.overflow);
    out->api_option = command_option(invocation->command, "api");
    if (api && !option_each_word(out->api_option, api, add_api, out))
        return false;
    if (out->options.api_count)
        out->options.apis = out->apis;
    if (!output_name(out->path, (uint32_t)out->pid, out->name))
        return false;
    out->path = out->name;
    return trace_may_replace(out->path);
}

// ---- recording

static void look_for_recorder(void *context, const char *directory, const tsmith_capture_left *left) {
    struct attachment *attachment = context;
    if (left->collected && left->user == (uint32_t)geteuid() &&
        sessions_has_process(directory, attachment->pid))
        attachment->recorded_already = true;
}

static int stop_when_over(void *context) {
    const struct attachment *attachment = context;
    if (interrupted || (attachment->duration && monotonic_now() - attachment->begun >= attachment->duration))
        tsmith_capture_stop(attachment->capture);
    return 1;
}

static tsmith_status pump(struct attachment *attachment, tsmith_sink *sink, tsmith_error *error) {
    const tsmith_symbolize_options live = {sizeof live, 1};
    tsmith_source *named = NULL;
    tsmith_status status =
        tsmith_symbolized_source_create(tsmith_capture_source(attachment->capture), &live, NULL, &named);
    if (!status)
        status = tsmith_pump(named, sink, stop_when_over, attachment, error);
    tsmith_source_destroy(named);
    return status;
}

static tsmith_status record(struct attachment *attachment, tsmith_error *error) {
    const struct sigaction action = {.sa_handler = interrupt};
    const tsmith_sbt_write_options write = {.size = sizeof write};
    tsmith_sink *sink = NULL;
    attachment->options.attach_pid = (uint32_t)attachment->pid;
    tsmith_status status = tsmith_capture_create(&attachment->options, &attachment->capture, error);
    attachment->report.size = sizeof attachment->report;
    if (!status)
        status =
            tsmith_capture_attach(attachment->capture, (uint32_t)attachment->pid, &attachment->report, error);
    // The file comes after: a program that cannot be attached to costs no earlier trace.
    if (!status)
        status = tsmith_sbt_writer_open(attachment->path, &write, &sink, error);
    if (!status) {
        sigaction(SIGINT, &action, NULL);
        sigaction(SIGTERM, &action, NULL);
        sigaction(SIGHUP, &action, NULL);
        attachment->begun = monotonic_now();
        complain("recording process %" PRIu64, attachment->pid);
        status = pump(attachment, sink, error);
    }
    tsmith_sink_destroy(sink);
    tsmith_capture_destroy(attachment->capture);
    return status;
}

// ---- afterwards

static void write_json(const struct attachment *attachment, const struct trace *trace) {
    const tsmith_attach_report *report = &attachment->report;
    struct text line = {0};
    text_add_cstr(&line, "{\"trace\":");
    text_add_json_cstr(&line, attachment->path);
    text_add_format(&line,
                    ",\"pid\":%" PRIu64 ",\"how\":\"%s\",\"thread\":%" PRIu32 ",\"threads_tried\":%" PRIu32
                    ",\"stopped_ns\":%" PRId64 ",\"longest_stop_ns\":%" PRId64 ",\"ready_ns\":%" PRId64
                    ",\"events\":%" PRIu64 ",\"kernels\":%" PRIu64 ",\"lost\":%" PRIu64 ",\"not_recorded\":",
                    attachment->pid, report->way, report->thread, report->threads_tried, report->stopped_ns,
                    report->longest_stop_ns, report->ready_ns, trace->summary.events,
                    trace->summary.kinds[TSMITH_KIND_KERNEL], trace_lost(trace));
    text_add_json_cstr(&line, report->text);
    text_add_cstr(&line, ",\"not_remote\":");
    text_add_json_cstr(&line, report->not_remote);
    text_add_cstr(&line, "}\n");
    if (write(STDERR_FILENO, text_cstr(&line), line.length) < 0)
        (void)0; // no output is left to report it to
    text_finish(&line);
}

static void write_text(const struct attachment *attachment, const struct trace *trace) {
    struct text line = {0};
    if (attachment->report.text[0])
        complain("%s", attachment->report.text);
    if (attachment->report.not_remote[0])
        complain("a thread was borrowed: %s", attachment->report.not_remote);
    text_add_cstr(&line, attachment->path);
    text_add_cstr(&line, ": ");
    text_add_counted(&line, trace->summary.events, "event, ", "events, ");
    text_add_counted(&line, trace->summary.kinds[TSMITH_KIND_KERNEL], "kernel, ", "kernels, ");
    text_add_bytes(&line, (double)trace->summary.bytes);
    if (attachment->report.stopped_ns)
        text_add_format(&line, "; a thread of the program stood still for %.2f ms",
                        (double)attachment->report.stopped_ns / 1e6);
    else
        text_add_cstr(&line, "; no thread of the program was stopped");
    if (trace_lost(trace)) {
        text_add_cstr(&line, "; ");
        text_add_counted(&line, trace_lost(trace), "event is", "events are");
        text_add_cstr(&line, " missing or without times ('tracesmith info' says why)");
    }
    complain("%s", text_cstr(&line));
    text_finish(&line);
}

static int summarize(const struct attachment *attachment) {
    struct trace trace = {0};
    const int code = trace_open(attachment->path, &trace);
    if (code == EXIT_DONE && attachment->json)
        write_json(attachment, &trace);
    else if (code == EXIT_DONE)
        write_text(attachment, &trace);
    trace_close(&trace);
    return code;
}

int command_attach(const struct invocation *invocation) {
    static struct attachment attachment;
    tsmith_error error = {0};
    int code;
    if (!read_options(invocation, &attachment))
        return EXIT_USAGE;
    if (attachment.options.stacks && armed_has(attachment.pid)) {
        complain("process %" PRIu64 " is armed: whether it records call stacks was "
                 "decided when it was started ('tracesmith "
                 "profile --armed --stacks')",
                 attachment.pid);
        return EXIT_USAGE;
    }
    if (armed_record(attachment.pid, attachment.duration ? attachment.duration : UNTIL_STOPPED,
                     attachment.path, &code))
        return code;
    sessions_each(look_for_recorder, &attachment);
    if (attachment.recorded_already) {
        complain("process %" PRIu64 " is being recorded already", attachment.pid);
        return EXIT_LACKING;
    }
    const tsmith_status status = record(&attachment, &error);
    if (status) {
        complain("%s", error.message[0] ? error.message : tsmith_status_text(status));
        return EXIT_LACKING;
    }
    return summarize(&attachment);
}
