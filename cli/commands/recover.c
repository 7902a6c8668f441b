// SPDX-License-Identifier: Apache-2.0
// `tracesmith recover`: a whole trace from a damaged file, or from the session directory of a recording that
// was killed. Without an operand: which of those were left behind.
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cli/container_sessions.h"
#include "cli/opened_trace.h"
#include "cli/options/command.h"
#include "cli/present/progress.h"
#include "cli/present/terminal.h"
#include "cli/sessions.h"
#include "tracesmith/capture.h"
#include "tracesmith/sbt.h"

static const char default_path[] = "recovered.sbt";

struct recovery {
    const char *from;
    const char *to;
    bool json;
    bool remove;
    tsmith_sbt_recovery figures; // of a file
    bool is_session;
    uint64_t from_file, from_rings; // events, of a session
};

static int write_answer(const struct recovery *recovery) {
    struct trace trace;
    struct text line = {0};
    int code = trace_open(recovery->to, &trace);
    if (code != EXIT_DONE)
        return code;
    if (recovery->json) {
        text_add_cstr(&line, "{\"from\":");
        text_add_json_cstr(&line, recovery->from);
        text_add_char(&line, ',');
        trace_add_json_head(&line, &trace);
        text_add_char(&line, ',');
        trace_add_json_state(&line, &trace);
        text_add_format(&line, ",\"events\":%" PRIu64 ",\"bytes\":%" PRIu64, trace.summary.events,
                        trace.summary.bytes);
        if (recovery->is_session)
            text_add_format(&line, ",\"events_of_file\":%" PRIu64 ",\"events_of_session\":%" PRIu64,
                            recovery->from_file, recovery->from_rings);
        else
            text_add_format(
                &line, ",\"frames_kept\":%" PRIu64 ",\"frames_lost\":%" PRIu64 ",\"bytes_skipped\":%" PRIu64,
                recovery->figures.frames_kept, recovery->figures.frames_lost,
                recovery->figures.bytes_skipped);
        text_add_cstr(&line, "}\n");
    } else {
        text_add_safe(&line, text_string(recovery->to), 0);
        text_add_cstr(&line, ": ");
        text_add_counted(&line, trace.summary.events, "event recovered", "events recovered");
        if (recovery->is_session && recovery->from_file) {
            text_add_cstr(&line, ", ");
            text_add_count(&line, recovery->from_file);
            text_add_cstr(&line, " of them from the file of the recording");
        }
        if (!recovery->is_session && (recovery->figures.frames_lost || recovery->figures.bytes_skipped)) {
            text_add_cstr(&line, ", ");
            text_add_counted(&line, recovery->figures.frames_lost, "frame lost, ", "frames lost, ");
            text_add_counted(&line, recovery->figures.bytes_skipped, "byte", "bytes");
            text_add_cstr(&line, " unreadable");
        }
        text_add_char(&line, '\n');
    }
    output_text(&line);
    code = trace_report(&trace);
    text_finish(&line);
    trace_close(&trace);
    return code;
}

static int show_progress(void *context) {
    progress_show(context, -1);
    return 1;
}

// run.sbt -> run.recovered.sbt, next to it. An existing file is not changed unless it is named.
static const char *default_path_beside(const char *output, struct text *into) {
    static const char suffix[] = ".sbt";
    size_t length = strlen(output), cut = sizeof suffix - 1;
    if (length == 0)
        return default_path;
    bool named = length > cut && strcmp(output + length - cut, suffix) == 0;
    text_add(into, output, named ? length - cut : length);
    text_add_cstr(into, ".recovered.sbt");
    return text_cstr(into);
}

// The directory is still there, or is removed.
static int tidy_up(const struct recovery *recovery, int code) {
    tsmith_error error;
    if (!recovery->remove) {
        complain_command(
            "the recording is kept and takes memory; once you have what you need: tracesmith recover ",
            recovery->from, " --remove");
        return code;
    }
    if (code != EXIT_DONE) {
        complain("%s is kept, because not everything could be recovered", recovery->from);
        return code;
    }
    if (tsmith_capture_remove(recovery->from, &error) >= 0)
        return code;
    complain("%s", error.message);
    return EXIT_LACKING;
}

static int recover_session(struct recovery *recovery, tsmith_capture_left *left) {
    struct text path = {0};
    tsmith_error error;
    struct progress progress = {.what = "recovering"};
    tsmith_capture_completion done = {.size = sizeof done};
    recovery->is_session = true;
    left->size = sizeof *left;
    tsmith_status status = tsmith_capture_look(recovery->from, left, &error);
    if (status >= 0 && !recovery->to && left->user != (uint32_t)geteuid()) {
        complain("the recording in %s belongs to user %" PRIu32
                 ", who also chose where its trace is: name the file to write with --output",
                 recovery->from, left->user);
        return EXIT_USAGE;
    }
    if (status >= 0 && !recovery->to)
        recovery->to = default_path_beside(left->output, &path);
    if (status >= 0 && !trace_may_replace(recovery->to)) {
        text_finish(&path);
        return EXIT_USAGE;
    }
    if (status >= 0)
        status =
            tsmith_capture_complete(recovery->from, recovery->to, show_progress, &progress, &done, &error);
    progress_clear(&progress);
    int code;
    if (status < 0) {
        complain("%s", error.message);
        code = done.output_failed ? EXIT_LACKING : exit_code_of_input(status);
    } else {
        recovery->from_file = done.file_events;
        recovery->from_rings = done.ring_events;
        code = write_answer(recovery);
        if (done.note[0])
            complain("%s", done.note);
        if (status == TSMITH_TRUNCATED)
            complain("%s", error.message);
        if (code == EXIT_DONE &&
            (status == TSMITH_TRUNCATED || done.file_missing || done.may_repeat || done.recording_left))
            code = EXIT_DAMAGED;
        code = tidy_up(recovery, code);
    }
    text_finish(&path);
    return code;
}

// What cannot be read is the input's fault; when it can, it is the machine's that nothing was written.
static int exit_code_of_recovery(const char *from, tsmith_status status) {
    tsmith_sbt *trace;
    tsmith_error error;
    int code = exit_code_of_input(status);
    if (code != EXIT_DAMAGED || status == TSMITH_ERROR_CORRUPT || status == TSMITH_ERROR_UNSUPPORTED ||
        tsmith_sbt_open(from, &trace, &error) < 0)
        return code;
    tsmith_sbt_close(trace);
    return EXIT_LACKING;
}

static int recover_file(struct recovery *recovery) {
    tsmith_error error;
    struct stat from, to;
    if (stat(recovery->from, &from) == 0 && stat(recovery->to, &to) == 0 && from.st_dev == to.st_dev &&
        from.st_ino == to.st_ino) {
        complain("%s is also the input and would be overwritten; choose another file with --output",
                 recovery->from);
        return EXIT_USAGE;
    }
    if (!trace_may_replace(recovery->to))
        return EXIT_USAGE;
    recovery->figures.size = sizeof recovery->figures;
    tsmith_status status = tsmith_sbt_recover(recovery->from, recovery->to, &recovery->figures, &error);
    if (status >= 0)
        return write_answer(recovery);
    complain("%s", error.message);
    return exit_code_of_recovery(recovery->from, status);
}

// ---- what was left behind

struct left_behind {
    struct text lines;
    size_t count;
    bool json;
};

enum {
    DIRECTORY_COLUMNS = 28,
    STATE_COLUMNS = 15,
    PID_COLUMNS = 9,
    AGE_COLUMNS = 10,
    SIZE_COLUMNS = 11,
    COMMAND_LEAST = 20
};

static const char *state_of(const tsmith_capture_left *left) {
    return left->collected ? "recording" : left->processes ? "program runs" : "left behind";
}

// -1: a recording that died before it began has no time.
static int64_t age_of(const tsmith_capture_left *left) {
    struct timespec now;
    if (left->started_realtime <= 0)
        return -1;
    clock_gettime(CLOCK_REALTIME, &now);
    int64_t age = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec - left->started_realtime;
    return age > 0 ? age : 0;
}

static void add_json_session(struct text *line, const char *directory, const tsmith_capture_left *left) {
    text_add_cstr(line, "{\"directory\":");
    text_add_json_cstr(line, directory);
    text_add_cstr(line, ",\"command\":");
    text_add_json_cstr(line, left->command);
    text_add_cstr(line, ",\"output\":");
    text_add_json_cstr(line, left->output);
    text_add_format(line, ",\"pid\":%" PRIu32 ",\"recording\":%s,\"processes\":%" PRIu32, left->collector_pid,
                    left->collected ? "true" : "false", left->processes);
    if (age_of(left) >= 0)
        text_add_format(line, ",\"started_realtime_ns\":%" PRId64 ",\"age_ns\":%" PRId64,
                        left->started_realtime, age_of(left));
    text_add_format(line, ",\"bytes\":%" PRIu64 "}", left->bytes);
}

static void add_cell(struct text *line, struct text *cell, size_t width) {
    text_add(line, cell->bytes, cell->length);
    size_t columns = text_columns(cell->bytes, cell->length);
    text_add_repeat(line, ' ', columns < width ? width - columns : 1);
    text_clear(cell);
}

static void add_row(struct text *line, const char *directory, const tsmith_capture_left *left) {
    struct text cell = {0};
    text_add_safe(&cell, text_string(directory), 0);
    add_cell(line, &cell, DIRECTORY_COLUMNS);
    text_add_cstr(&cell, state_of(left));
    add_cell(line, &cell, STATE_COLUMNS);
    text_add_u64(&cell, left->collector_pid);
    add_cell(line, &cell, PID_COLUMNS);
    if (age_of(left) >= 0)
        text_add_duration(&cell, age_of(left));
    else
        text_add_cstr(&cell, "unknown");
    add_cell(line, &cell, AGE_COLUMNS);
    text_add_bytes(&cell, (double)left->bytes);
    add_cell(line, &cell, SIZE_COLUMNS);
    // On a terminal a long command line is cut.
    const size_t taken = DIRECTORY_COLUMNS + STATE_COLUMNS + PID_COLUMNS + AGE_COLUMNS + SIZE_COLUMNS,
                 rest = terminal_width() > taken + COMMAND_LEAST ? terminal_width() - taken : COMMAND_LEAST;
    text_add_safe(line, text_string(left->command[0] ? left->command : "?"), terminal_is_output() ? rest : 0);
    text_finish(&cell);
}

static void add_session(void *context, const char *directory, const tsmith_capture_left *left) {
    struct left_behind *found = context;
    if (found->json) {
        text_add_cstr(&found->lines, found->count ? ",\n" : "\n");
        add_json_session(&found->lines, directory, left);
    } else {
        add_row(&found->lines, directory, left);
        text_add_char(&found->lines, '\n');
    }
    found->count++;
}

static int list_sessions(bool json) {
    struct left_behind found = {.json = json};
    sessions_each(add_session, &found);
    container_sessions_each(add_session, &found);
    if (json)
        output_cstr("{\"sessions\":[");
    else if (found.count)
        output_printf("%-*s%-*s%-*s%-*s%-*s%s\n", DIRECTORY_COLUMNS, "directory", STATE_COLUMNS, "state",
                      PID_COLUMNS, "pid", AGE_COLUMNS, "age", SIZE_COLUMNS, "size", "command");
    else
        output_cstr("No unfinished recording was found on this machine.\n");
    output_text(&found.lines);
    if (json)
        output_cstr("]}\n");
    else if (found.count)
        output_cstr("'tracesmith recover DIRECTORY' writes the complete trace of an unfinished recording.\n");
    text_finish(&found.lines);
    return EXIT_DONE;
}

int command_recover(const struct invocation *invocation) {
    struct recovery recovery = {.from = invocation->operands[0],
                                .to = invocation_value(invocation, "output"),
                                .json = invocation_flag(invocation, "json"),
                                .remove = invocation_flag(invocation, "remove")};
    tsmith_capture_left left;
    struct stat status;
    bool is_directory = recovery.from && stat(recovery.from, &status) == 0 && S_ISDIR(status.st_mode);
    if (recovery.remove && !is_directory) {
        complain("--remove needs the directory of a recording");
        return EXIT_USAGE;
    }
    if (!recovery.from)
        return list_sessions(recovery.json);
    if (is_directory && tsmith_capture_is_session(recovery.from))
        return recover_session(&recovery, &left);
    if (is_directory) {
        complain("%s is not a session directory", recovery.from);
        return EXIT_DAMAGED;
    }
    if (strcmp(recovery.from, "-") == 0) {
        complain("recover cannot read standard input; write the trace to a file first");
        return EXIT_USAGE;
    }
    if (!recovery.to)
        recovery.to = default_path;
    return recover_file(&recovery);
}
