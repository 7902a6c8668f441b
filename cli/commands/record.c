// SPDX-License-Identifier: Apache-2.0
// Who owns what: the capture owns the program and the live source, the sink owns the file. The program comes
// first: once it runs, nothing that happens to the file ends it, changes its exit code or lets it wait. When
// the file cannot be written any more (a full disk) the rings go on being emptied, or a program under the
// policy `block` would never end; what came after that is counted, and what was written before stays
// readable.
#include "record.h"

#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "cli/output_name.h"
#include "cli/present/terminal.h"
#include "tracesmith/replay.h"
#include "tracesmith/stacks.h"

static const int forwarded[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};
enum { FORWARDED_COUNT = sizeof forwarded / sizeof forwarded[0] };

static tsmith_capture *volatile current; // for the handler; one recording at a time
static tsmith_flight *volatile flying;   // SIGUSR2 is for it
static volatile sig_atomic_t
    triggers; // this signal is for us: it begins and ends a recording, or records a frame; 0: none

// A signal typed at the terminal reaches the program by itself (it is in the same process group) and comes
// from the kernel; one that was sent to us is for the program. When the program has ended, and only processes it left
// behind are still recorded, a signal ends the recording.
static void hand_on(int signal_number, siginfo_t *info, void *context) {
    (void)context;
    if (current && tsmith_capture_left_running(current))
        tsmith_capture_stop(current);
    else if (flying && signal_number == SIGUSR2)
        tsmith_flight_trigger(flying);
    else if (current && triggers && signal_number == triggers)
        tsmith_capture_trigger(current);
    else if (current && info->si_code <= 0)
        tsmith_capture_signal(current, signal_number);
}

static void catch_signals(struct sigaction *before) {
    struct sigaction action = {.sa_sigaction = hand_on, .sa_flags = SA_SIGINFO | SA_RESTART};
    sigfillset(&action.sa_mask);
    for (int i = 0; i < FORWARDED_COUNT; i++) {
        sigaction(forwarded[i], NULL, &before[i]);
        // What was ignored when we were started (nohup) stays ignored, for the program too.
        if (before[i].sa_handler != SIG_IGN)
            sigaction(forwarded[i], &action, NULL);
    }
}

static void release_signals(const struct sigaction *before) {
    current = NULL;
    flying = NULL;
    for (int i = 0; i < FORWARDED_COUNT; i++)
        sigaction(forwarded[i], &before[i], NULL);
}

// Empties the source without a file, until the program has ended.
static void drain(tsmith_source *source, struct record_result *out) {
    const tsmith_batch *batch;
    tsmith_error error;
    for (;;) {
        tsmith_status status = tsmith_source_next(source, &batch, &error);
        if (status == TSMITH_OK) {
            out->unwritten += tsmith_batch_count(batch);
            out->delivered += tsmith_batch_count(batch);
        } else if (status != TSMITH_AGAIN)
            return;
    }
}

// A source that counts the events that it passes on. The pump does not report the size of a batch that could not be written.
struct counted {
    tsmith_source *from;
    struct record_result *out;
    const tsmith_capture *capture;
    tsmith_flight *flight; // NULL: none
    struct otlp *otlp;     // NULL: none
    uint64_t last;         // events of the batch handed on last
};

static tsmith_status counted_next(void *self, const tsmith_batch **batch, tsmith_error *error) {
    struct counted *counted = self;
    tsmith_status status = tsmith_source_next(counted->from, batch, error);
    if (status == TSMITH_OK) {
        counted->last = tsmith_batch_count(*batch);
        counted->out->delivered += counted->last;
        if (counted->otlp)
            otlp_take(counted->otlp, tsmith_source_dictionary(counted->from), *batch);
    }
    if (status == TSMITH_END && counted->flight)
        tsmith_flight_ended(counted->flight, tsmith_capture_wait_status(counted->capture));
    return status;
}

static const tsmith_dictionary *counted_dictionary(void *self) {
    struct counted *counted = self;
    return tsmith_source_dictionary(counted->from);
}

static const tsmith_source_ops counted_ops = {.next = counted_next, .dictionary = counted_dictionary};

struct wait {
    tsmith_capture *capture;
    tsmith_flight *flight;       // NULL: none
    tsmith_on_demand *on_demand; // NULL: none
    struct metrics *metrics;     // NULL: none
    struct otlp *otlp;           // NULL: none
    uint32_t looks;              // since the program has ended
};

// Explains why nothing seems to happen: once, after a moment in which most leftover processes end by themselves.
static int look_around(void *context) {
    enum { MOMENT = 20 }; // looks of about 50 ms
    struct wait *wait = context;
    if (wait->metrics)
        metrics_look(wait->metrics, wait->capture);
    if (wait->otlp)
        otlp_look(wait->otlp, wait->capture);
    if (wait->on_demand)
        tsmith_on_demand_look(wait->on_demand);
    if (triggers == SIGUSR2 && tsmith_flight_requested(tsmith_capture_directory(wait->capture)))
        tsmith_capture_trigger(wait->capture);
    if (wait->flight)
        tsmith_flight_look(wait->flight, tsmith_source_dictionary(tsmith_capture_source(wait->capture)),
                           tsmith_capture_directory(wait->capture));
    uint32_t running = tsmith_capture_left_running(wait->capture);
    if (running && ++wait->looks == MOMENT)
        complain("the program has ended; still recording %u %s that it started (Ctrl-C ends the recording)",
                 running, plural(running, "process", "processes"));
    return 1;
}

// What the stacks are called is written into the trace while the programs are still here.
static void pump(tsmith_capture *capture, tsmith_sink *sink, const struct record_request *request,
                 tsmith_on_demand *on_demand, struct record_result *out) {
    const tsmith_symbolize_options live = {sizeof live, 1};
    tsmith_source *source = tsmith_capture_source(capture), *named = NULL, *counting = NULL;
    struct wait wait = {.capture = capture,
                        .flight = request->flight,
                        .on_demand = on_demand,
                        .metrics = request->metrics,
                        .otlp = request->otlp};
    struct counted counted = {
        .from = source, .out = out, .capture = capture, .flight = request->flight, .otlp = request->otlp};
    out->status = tsmith_source_create(&counted_ops, &counted, &counting);
    if (out->status == TSMITH_OK)
        out->status = tsmith_symbolized_source_create(counting, &live, NULL, &named);
    if (out->status != TSMITH_OK)
        (void)snprintf(out->error.message, sizeof out->error.message, "out of memory");
    else
        out->status = tsmith_pump(named, sink, look_around, &wait, &out->error);
    out->written = out->status == TSMITH_OK;
    if (!out->written) {
        out->unwritten = counted.last;
        drain(source, out);
    }
    tsmith_source_destroy(named);
    tsmith_source_destroy(counting);
}

static bool was_used(const tsmith_capture *capture) {
    const char *name;
    uint32_t processes = 0;
    for (size_t i = 0; tsmith_capture_api_seen(capture, i, &name, &processes); i++)
        if (processes && strcmp(name, "nvml") != 0) // the sampler is no program's
            return true;
    return false;
}

// SIGUSR1 begins and ends a capture, SIGUSR2 captures a frame.
static int trigger_signal(const tsmith_capture_options *options) {
    const char *range = options && options->recording ? options->recording : "";
    return strcmp(range, "signal") == 0 ? SIGUSR1 : strcmp(range, "frame") == 0 ? SIGUSR2 : 0;
}

static tsmith_sink *sink_of(const struct record_request *request, tsmith_on_demand *on_demand,
                            tsmith_sink *file) {
    return on_demand         ? tsmith_on_demand_sink(on_demand)
           : request->flight ? tsmith_flight_sink(request->flight)
                             : file;
}

void record_run(const struct record_request *request, struct record_result *out) {
    tsmith_capture *capture = NULL;
    tsmith_on_demand *on_demand = NULL;
    tsmith_recording_writer writer = {0};
    struct sigaction before[FORWARDED_COUNT];
    const tsmith_sbt_write_options to = {.size = sizeof to, .may_replace = output_may_replace};
    *out = (struct record_result){.stage = RECORD_FILE};

    // The file is opened before the program starts: write errors are reported before anything has run.
    if (!request->flight && !request->armed)
        out->status = tsmith_recording_writer_open(request->path, &to, &writer, &out->error);
    if (out->status < 0)
        goto done;
    out->stage = RECORD_SESSION;
    out->status = tsmith_capture_create(request->options, &capture, &out->error);
    if (out->status >= 0 && request->options && request->options->recording)
        out->status = tsmith_recording_writer_take(&writer, tsmith_capture_directory(capture), &out->error);
    if (out->status >= 0 && request->armed)
        out->status = tsmith_on_demand_create(capture, &on_demand, &out->error);
    if (out->status >= 0 && request->metrics)
        metrics_begin(request->metrics, capture);
    if (out->status >= 0 && request->otlp)
        otlp_begin(request->otlp);
    if (out->status >= 0 && request->join)
        out->status = request->join(request->join_context, capture, &out->error);
    if (out->status < 0)
        goto done;
    out->stage = RECORD_START;
    triggers = trigger_signal(request->options);
    current = capture;
    flying = request->flight;
    catch_signals(before);
    out->status = tsmith_capture_start(capture, request->argv, &out->error);
    if (out->status >= 0) {
        out->stage = RECORD_RUN;
        snprintf(out->note, sizeof out->note, "%s", tsmith_capture_note(capture));
        pump(capture, sink_of(request, on_demand, writer.sink), request, on_demand, out);
        if (on_demand)
            tsmith_on_demand_count(on_demand, &out->on_demand, &out->on_demand_failed);
        out->wait_status = tsmith_capture_wait_status(capture);
        if (request->otlp)
            otlp_end(request->otlp, capture, out->wait_status);
        out->left_running = tsmith_capture_left_running(capture);
        out->unrecorded = tsmith_capture_unrecorded(capture);
        out->used_api = was_used(capture);
        out->session_removed = tsmith_capture_directory_removed(capture) != 0;
        if (out->session_removed)
            snprintf(out->session, sizeof out->session, "%s", tsmith_capture_directory(capture));
    }
    release_signals(before);
done:
    tsmith_on_demand_destroy(on_demand);
    tsmith_sink_destroy(writer.sink);
    tsmith_capture_destroy(capture);
}

int record_exit_code(const struct record_result *result) {
    if (WIFEXITED(result->wait_status))
        return WEXITSTATUS(result->wait_status);
    return WIFSIGNALED(result->wait_status) ? 128 + WTERMSIG(result->wait_status) : EXIT_LACKING;
}
