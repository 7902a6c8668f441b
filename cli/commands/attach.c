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
#include "flight.h"
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
    tsmith_flight *flight; // takes the events, instead of the file; NULL: none. SIGUSR2 triggers it
};

static volatile sig_atomic_t interrupted;
static tsmith_flight *volatile flying; // SIGUSR2 is for it

static void interrupt(int signal_number) {
    (void)signal_number;
    interrupted = 1;
}

static void trigger(int signal_number) {
    (void)signal_number;
    if (flying)
        tsmith_flight_trigger(flying);
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
    return flight_wanted(invocation) || trace_may_replace(out->path);
}

// The flight recorder, if it is wanted. The exit code, after a complaint.
static int open_flight(const struct invocation *invocation, struct attachment *attachment) {
    const char *word;
    size_t cursor = 0;
    while ((word = invocation_next(invocation, "trigger", &cursor)) != NULL)
        if (strcmp(word, "exit") == 0 || strcmp(word, "crash") == 0) {
            complain("--trigger %s: how a process ends that another one has started is not known; "
                     "'tracesmith profile --flight' "
                     "knows it of its own program",
                     word);
            return EXIT_USAGE;
        }
    if (flight_wanted(invocation) && armed_has(attachment->pid)) {
        complain("--flight: process %" PRIu64 " is armed, and is recorded into one file; leave --flight out",
                 attachment->pid);
        return EXIT_USAGE;
    }
    return flight_open(invocation, attachment->path, &attachment->options, &attachment->flight);
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
    if (attachment->flight)
        tsmith_flight_look(attachment->flight,
                           tsmith_source_dictionary(tsmith_capture_source(attachment->capture)),
                           tsmith_capture_directory(attachment->capture));
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

static void catch_signals(const struct attachment *attachment) {
    const struct sigaction stop = {.sa_handler = interrupt},
                           write_window = {.sa_handler = trigger, .sa_flags = SA_RESTART};
    sigaction(SIGINT, &stop, NULL);
    sigaction(SIGTERM, &stop, NULL);
    sigaction(SIGHUP, &stop, NULL);
    if (!attachment->flight)
        return;
    flying = attachment->flight;
    sigaction(SIGUSR2, &write_window, NULL);
}

static tsmith_status record(struct attachment *attachment, tsmith_error *error) {
    const tsmith_sbt_write_options write = {.size = sizeof write};
    tsmith_sink *sink = NULL;
    attachment->options.attach_pid = (uint32_t)attachment->pid;
    tsmith_status status = tsmith_capture_create(&attachment->options, &attachment->capture, error);
    attachment->report.size = sizeof attachment->report;
    if (!status)
        status =
            tsmith_capture_attach(attachment->capture, (uint32_t)attachment->pid, &attachment->report, error);
    // The file comes after: a program that cannot be attached to costs no earlier trace.
    if (!status && !attachment->flight)
        status = tsmith_sbt_writer_open(attachment->path, &write, &sink, error);
    if (!status) {
        catch_signals(attachment);
        attachment->begun = monotonic_now();
        complain("recording process %" PRIu64, attachment->pid);
        status = pump(attachment, attachment->flight ? tsmith_flight_sink(attachment->flight) : sink, error);
        flying = NULL;
    }
    tsmith_sink_destroy(sink);
    tsmith_capture_destroy(attachment->capture);
    return status;
}

// ---- afterwards

static void add_way_json(struct text *line, const struct attachment *attachment) {
    const tsmith_attach_report *report = &attachment->report;
    text_add_format(line,
                    ",\"pid\":%" PRIu64 ",\"how\":\"%s\",\"thread\":%" PRIu32 ",\"threads_tried\":%" PRIu32
                    ",\"stopped_ns\":%" PRId64 ",\"longest_stop_ns\":%" PRId64 ",\"ready_ns\":%" PRId64,
                    attachment->pid, report->way, report->thread, report->threads_tried, report->stopped_ns,
                    report->longest_stop_ns, report->ready_ns);
}

static void print_json(struct text *line, const struct attachment *attachment) {
    text_add_cstr(line, ",\"not_recorded\":");
    text_add_json_cstr(line, attachment->report.text);
    text_add_cstr(line, ",\"not_remote\":");
    text_add_json_cstr(line, attachment->report.not_remote);
    text_add_cstr(line, "}\n");
    if (write(STDERR_FILENO, text_cstr(line), line->length) < 0)
        (void)0; // no output is left to report it to
}

static void write_json(const struct attachment *attachment, const struct trace *trace) {
    struct text line = {0};
    text_add_cstr(&line, "{\"trace\":");
    text_add_json_cstr(&line, attachment->path);
    add_way_json(&line, attachment);
    text_add_format(&line, ",\"events\":%" PRIu64 ",\"kernels\":%" PRIu64 ",\"lost\":%" PRIu64,
                    trace->summary.events, trace->summary.kinds[TSMITH_KIND_KERNEL], trace_lost(trace));
    print_json(&line, attachment);
    text_finish(&line);
}

static void say_not_recorded(const struct attachment *attachment) {
    if (attachment->report.text[0])
        complain("%s", attachment->report.text);
    if (attachment->report.not_remote[0])
        complain("a thread was borrowed: %s", attachment->report.not_remote);
}

static void add_stop(struct text *line, const struct attachment *attachment) {
    if (attachment->report.stopped_ns)
        text_add_format(line, "a thread of the program stood still for %.2f ms",
                        (double)attachment->report.stopped_ns / 1e6);
    else
        text_add_cstr(line, "no thread of the program was stopped");
}

static void write_text(const struct attachment *attachment, const struct trace *trace) {
    struct text line = {0};
    say_not_recorded(attachment);
    text_add_cstr(&line, attachment->path);
    text_add_cstr(&line, ": ");
    text_add_counted(&line, trace->summary.events, "event, ", "events, ");
    text_add_counted(&line, trace->summary.kinds[TSMITH_KIND_KERNEL], "kernel, ", "kernels, ");
    text_add_bytes(&line, (double)trace->summary.bytes);
    text_add_cstr(&line, "; ");
    add_stop(&line, attachment);
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

static int summarize_flight(const struct attachment *attachment) {
    tsmith_flight_summary summary = {.size = sizeof summary};
    struct text line = {0};
    tsmith_flight_summarize(attachment->flight, &summary);
    if (attachment->json) {
        text_add_cstr(&line, "{\"flight\":");
        flight_add_json(&line, &summary);
        add_way_json(&line, attachment);
        print_json(&line, attachment);
    } else {
        say_not_recorded(attachment);
        flight_say(&summary);
        add_stop(&line, attachment);
        complain("%s", text_cstr(&line));
    }
    text_finish(&line);
    return summary.failed ? EXIT_LACKING : EXIT_DONE;
}

static int record_now(struct attachment *attachment) {
    tsmith_error error = {0};
    sessions_each(look_for_recorder, attachment);
    if (attachment->recorded_already) {
        complain("process %" PRIu64 " is being recorded already", attachment->pid);
        return EXIT_LACKING;
    }
    const tsmith_status status = record(attachment, &error);
    if (status) {
        complain("%s", error.message[0] ? error.message : tsmith_status_text(status));
        return EXIT_LACKING;
    }
    return attachment->flight ? summarize_flight(attachment) : summarize(attachment);
}

int command_attach(const struct invocation *invocation) {
    static struct attachment attachment;
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
    code = open_flight(invocation, &attachment);
    if (code != EXIT_DONE)
        return code;
    if (!armed_record(attachment.pid, attachment.duration ? attachment.duration : UNTIL_STOPPED,
                      attachment.path, &code))
        code = record_now(&attachment);
    tsmith_flight_destroy(attachment.flight);
    return code;
}
