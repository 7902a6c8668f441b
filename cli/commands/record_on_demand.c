// SPDX-License-Identifier: Apache-2.0
// `tracesmith record`: asks armed programs for recordings, and waits for the files.
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cli/opened_trace.h"
#include "cli/options/command.h"
#include "cli/options/quantity.h"
#include "cli/output_name.h"
#include "cli/present/terminal.h"
#include "cli/sessions.h"
#include "record_on_demand.h"
#include "tracesmith/on_demand.h"

enum { PROGRAMS_MOST = 64 };
static const int64_t SECOND = 1000000000;

struct program {
    struct text directory, output;
    uint32_t collector;
    bool begun, over;
    struct stat before; // of the output; st_ino 0: there was none
};

struct recording {
    struct program programs[PROGRAMS_MOST];
    size_t count;
    uint64_t pid; // 0: any
    tsmith_on_demand_request request;
    int code;
    bool ending; // after Ctrl-C
};

static volatile sig_atomic_t interrupted;

static void interrupt(int signal_number) {
    (void)signal_number;
    interrupted = 1;
}

// ---- options

static int64_t now_realtime(void) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * SECOND + now.tv_nsec;
}

static bool read_at(const char *text, int64_t *out) {
    int64_t time;
    if (!text)
        return true;
    if (!quantity_time(text + (*text != '\0'), &time) || time < 0 || !strchr("@+/", *text) ||
        (*text == '/' && time == 0)) {
        complain("--at: '%s' is neither @SECONDS, +TIME nor /TIME", text);
        return false;
    }
    const int64_t now = now_realtime();
    *out = *text == '@' ? time : *text == '+' ? now + time : now - now % time + time;
    return true;
}

static bool read_options(const struct invocation *invocation, struct recording *out) {
    const char *duration = invocation_value(invocation, "duration"),
               *pid = invocation_value(invocation, "pid"), *steps = invocation_value(invocation, "steps");
    out->request = (tsmith_on_demand_request){.size = sizeof out->request,
                                              .step = invocation_value(invocation, "step"),
                                              .api = invocation_value(invocation, "platform")};
    if (duration && (!quantity_time(duration, &out->request.duration) || out->request.duration <= 0)) {
        complain("--duration: '%s' is not a time such as 5s", duration);
        return false;
    }
    if (pid && (!quantity_count(pid, &out->pid) || !out->pid)) {
        complain("--pid: '%s' is not a process id", pid);
        return false;
    }
    if (steps && (!quantity_count(steps, &out->request.steps) || !out->request.steps)) {
        complain("--steps: '%s' is not a number above 0", steps);
        return false;
    }
    if (out->request.step && !steps) {
        complain("--step needs --steps");
        return false;
    }
    return read_at(invocation_value(invocation, "at"), &out->request.at);
}

// ---- programs

static void add_if_matching(void *context, const char *directory, const tsmith_capture_left *left) {
    struct recording *recording = context;
    if (!left->collected || left->user != (uint32_t)geteuid() || recording->count == PROGRAMS_MOST ||
        !tsmith_on_demand_is_armed(directory))
        return;
    if (recording->pid && left->collector_pid != recording->pid &&
        !sessions_has_process(directory, recording->pid))
        return;
    struct program *program = &recording->programs[recording->count++];
    program->collector = left->collector_pid;
    text_add_cstr(&program->directory, directory);
}

// "trace.sbt"; of several programs "trace.4711.sbt", unless the pattern distinguishes them.
static bool name_output(const struct recording *recording, struct program *program, const char *pattern) {
    char folder[PATH_MAX], path[OUTPUT_NAME_SIZE];
    if (!output_name(pattern, program->collector, path))
        return false;
    const bool distinct = strstr(pattern, "%r") || strstr(pattern, "%p");
    const size_t length = strlen(path);
    const size_t cut = length > 4 && strcmp(path + length - 4, ".sbt") == 0 ? length - 4 : length;
    if (path[0] != '/') {
        if (!getcwd(folder, sizeof folder)) {
            complain("the working directory has no name");
            return false;
        }
        text_add_format(&program->output, "%s/", folder);
    }
    if (recording->count == 1 || distinct)
        text_add_cstr(&program->output, path);
    else
        text_add_format(&program->output, "%.*s.%" PRIu32 "%s", (int)cut, path, program->collector,
                        path + cut);
    return trace_may_replace(text_cstr(&program->output));
}

static void request_recording(struct recording *recording, struct program *program) {
    tsmith_error error;
    recording->request.output = text_cstr(&program->output);
    if (stat(text_cstr(&program->output), &program->before))
        program->before = (struct stat){.st_ino = 0};
    if (tsmith_on_demand_ask(text_cstr(&program->directory), &recording->request, &error) >= 0)
        return;
    complain("%s", error.message);
    recording->code = EXIT_LACKING;
    program->over = true;
}

// ---- waiting

static int say_written(const char *path) {
    struct trace trace = {0};
    struct text line = {0};
    const int code = trace_open(path, &trace);
    if (code == EXIT_DONE) {
        text_add_cstr(&line, path);
        text_add_cstr(&line, ": ");
        text_add_counted(&line, trace.summary.events, "event, ", "events, ");
        text_add_counted(&line, trace.summary.kinds[TSMITH_KIND_KERNEL], "kernel, ", "kernels, ");
        text_add_bytes(&line, (double)trace.summary.bytes);
        complain("%s", text_cstr(&line));
    }
    text_finish(&line);
    trace_close(&trace);
    return code;
}

static void finish(struct recording *recording, struct program *program, bool good, const char *note) {
    program->over = true;
    if (note[0])
        complain("%s", note);
    const int code = good ? say_written(text_cstr(&program->output)) : EXIT_LACKING;
    recording->code = code == EXIT_DONE ? recording->code : code;
}

// The program has ended; its recording may have been completed first.
static void conclude_gone(struct recording *recording, struct program *program) {
    struct stat now;
    const bool made = stat(text_cstr(&program->output), &now) == 0 &&
                      (now.st_ino != program->before.st_ino || now.st_dev != program->before.st_dev);
    finish(recording, program, made, made ? "" : "the program ended before it was recorded");
}

static void check_program(struct recording *recording, struct program *program) {
    tsmith_on_demand_state state;
    tsmith_error error;
    char note[512] = "";
    if (tsmith_on_demand_look_at(text_cstr(&program->directory), &state, note, &error) < 0) {
        conclude_gone(recording, program);
        return;
    }
    if (state == TSMITH_ON_DEMAND_RECORDING && !program->begun) {
        program->begun = true;
        complain("recording the program of process %" PRIu32, program->collector);
    }
    if (recording->ending)
        tsmith_on_demand_end(text_cstr(&program->directory));
    if (state == TSMITH_ON_DEMAND_DONE || state == TSMITH_ON_DEMAND_FAILED)
        finish(recording, program, state == TSMITH_ON_DEMAND_DONE, note);
    else if (recording->ending && state == TSMITH_ON_DEMAND_IDLE)
        finish(recording, program, false, "Ctrl-C ended it before it began");
}

static void wait_for_all(struct recording *recording) {
    const struct timespec moment = {.tv_nsec = 20000000};
    for (bool waiting = true; waiting;) {
        waiting = false;
        recording->ending = interrupted;
        for (size_t i = 0; i < recording->count; i++)
            if (!recording->programs[i].over) {
                check_program(recording, &recording->programs[i]);
                waiting |= !recording->programs[i].over;
            }
        if (waiting)
            nanosleep(&moment, NULL);
    }
}

static int run(struct recording *recording, const char *path) {
    const struct sigaction action = {.sa_handler = interrupt};
    for (size_t i = 0; i < recording->count; i++)
        if (!name_output(recording, &recording->programs[i], path ? path : "trace.sbt"))
            return EXIT_USAGE;
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    for (size_t i = 0; i < recording->count; i++)
        request_recording(recording, &recording->programs[i]);
    wait_for_all(recording);
    for (size_t i = 0; i < recording->count; i++) {
        text_finish(&recording->programs[i].directory);
        text_finish(&recording->programs[i].output);
    }
    return recording->code;
}

bool armed_has(uint64_t pid) {
    static struct recording found;
    found.pid = pid;
    sessions_each(add_if_matching, &found);
    return found.count != 0;
}

bool armed_record(uint64_t pid, int64_t duration, const char *path, int *code) {
    static struct recording recording;
    recording.pid = pid;
    recording.request = (tsmith_on_demand_request){.size = sizeof recording.request, .duration = duration};
    sessions_each(add_if_matching, &recording);
    if (!recording.count)
        return false;
    *code = run(&recording, path);
    return true;
}

int command_record(const struct invocation *invocation) {
    static struct recording recording;
    if (!read_options(invocation, &recording))
        return EXIT_USAGE;
    sessions_each(add_if_matching, &recording);
    if (!recording.count) {
        if (recording.pid)
            complain("process %" PRIu64
                     " belongs to no armed program; 'tracesmith attach' can record others, within limits",
                     recording.pid);
        else
            complain("no armed program of this user is running: start one with 'tracesmith profile --armed'");
        return EXIT_LACKING;
    }
    return run(&recording, invocation_value(invocation, "output"));
}
