// SPDX-License-Identifier: Apache-2.0
// `tracesmith recover`: a whole trace from a damaged file, or from the session directory of a recording that
// was killed. Without an operand: which of those were left behind.
#include <dirent.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "command.h"
#include "progress.h"
#include "terminal.h"
#include "trace.h"
#include "tracesmith/capture.h"
#include "tracesmith/sbt.h"

static const char default_path[] = "recovered.sbt";

struct recovery {
    const char *from;
    const char *to;
    bool json;
    tsmith_sbt_recovery figures; // of a file
    bool is_session;
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
        if (!recovery->is_session)
            text_add_format(
                &line, ",\"frames_kept\":%" PRIu64 ",\"frames_lost\":%" PRIu64 ",\"bytes_skipped\":%" PRIu64,
                recovery->figures.frames_kept, recovery->figures.frames_lost,
                recovery->figures.bytes_skipped);
        text_add_cstr(&line, "}\n");
    } else {
        text_add_safe(&line, text_string(recovery->to), 0);
        text_add_cstr(&line, ": ");
        text_add_count(&line, trace.summary.events);
        text_add_cstr(&line, " events recovered");
        if (!recovery->is_session && (recovery->figures.frames_lost || recovery->figures.bytes_skipped)) {
            text_add_format(&line, ", %" PRIu64 " frames lost, ", recovery->figures.frames_lost);
            text_add_count(&line, recovery->figures.bytes_skipped);
            text_add_cstr(&line, " bytes unreadable");
        }
        text_add_char(&line, '\n');
    }
    output_text(&line);
    code = trace_report(&trace);
    text_finish(&line);
    trace_close(&trace);
    return code;
}

// What failed while writing is the machine's doing, what failed while reading the input's.
static int exit_code_of(tsmith_status status) {
    return status == TSMITH_ERROR_PERMISSION ? EXIT_LACKING : exit_code_of_input(status);
}

static int show_progress(void *context) {
    progress_show(context, -1);
    return 1;
}

static int recover_session(struct recovery *recovery) {
    tsmith_source *source = NULL;
    tsmith_sink *sink = NULL;
    tsmith_error error;
    struct progress progress = {.what = "recovering"};
    recovery->is_session = true;
    tsmith_status status = tsmith_capture_recover(recovery->from, &source, &error);
    if (status >= 0)
        status = tsmith_sbt_writer_open(recovery->to, NULL, &sink, &error);
    if (status >= 0)
        status = tsmith_pump(source, sink, show_progress, &progress, &error);
    progress_clear(&progress);
    tsmith_sink_destroy(sink);
    tsmith_source_destroy(source);
    if (status < 0) {
        complain("%s", error.message);
        return exit_code_of(status);
    }
    int code = write_answer(recovery);
    complain("%s is kept and takes memory: 'rm -r %s' once you have what you need", recovery->from,
             recovery->from);
    complain("what the recording had written before it was killed is in its own file");
    return code;
}

static int recover_file(struct recovery *recovery) {
    tsmith_error error;
    struct stat from, to;
    if (stat(recovery->from, &from) == 0 && stat(recovery->to, &to) == 0 && from.st_dev == to.st_dev &&
        from.st_ino == to.st_ino) {
        complain("%s would be overwritten while it is read: choose another file with --output",
                 recovery->from);
        return EXIT_USAGE;
    }
    if (!trace_may_replace(recovery->to))
        return EXIT_USAGE;
    tsmith_status status = tsmith_sbt_recover(recovery->from, recovery->to, &recovery->figures, &error);
    if (status >= 0)
        return write_answer(recovery);
    complain("%s", error.message);
    return exit_code_of(status);
}

// ---- what was left behind

struct left_behind {
    struct text lines;
    size_t count;
    bool json;
};

static void add_session(struct left_behind *found, const char *directory) {
    if (found->json) {
        text_add_cstr(&found->lines, found->count ? ",\n" : "\n");
        text_add_json_cstr(&found->lines, directory);
    } else {
        text_add_cstr(&found->lines, "  ");
        text_add_safe(&found->lines, text_string(directory), 0);
        text_add_char(&found->lines, '\n');
    }
    found->count++;
}

static void look_in(const char *root, struct left_behind *found) {
    struct text path = {0};
    DIR *directory = root ? opendir(root) : NULL;
    for (struct dirent *entry; directory && (entry = readdir(directory));) {
        if (entry->d_name[0] == '.')
            continue;
        text_clear(&path);
        text_add_format(&path, "%s/%s", root, entry->d_name);
        if (tsmith_capture_is_session(text_cstr(&path)))
            add_session(found, text_cstr(&path));
    }
    if (directory)
        closedir(directory);
    text_finish(&path);
}

static int list_sessions(bool json) {
    struct left_behind found = {.json = json};
    const char *temporary = getenv("TMPDIR");
    look_in("/dev/shm", &found);
    if (temporary && strcmp(temporary, "/tmp") != 0 && strcmp(temporary, "/dev/shm") != 0)
        look_in(temporary, &found);
    look_in("/tmp", &found);
    if (json)
        output_cstr("{\"sessions\":[");
    else
        output_cstr(found.count
                        ? "Recordings that are running or were left behind; 'tracesmith recover DIRECTORY -o "
                          "FILE' makes one a trace:\n"
                        : "No recording was left behind on this machine.\n");
    output_text(&found.lines);
    if (json)
        output_cstr("]}\n");
    text_finish(&found.lines);
    return EXIT_DONE;
}

int command_recover(const struct invocation *invocation) {
    const char *to = invocation_value(invocation, "output");
    struct recovery recovery = {.from = invocation->operands[0],
                                .to = to ? to : default_path,
                                .json = invocation_flag(invocation, "json")};
    struct stat status;
    if (!recovery.from)
        return list_sessions(recovery.json);
    if (stat(recovery.from, &status) == 0 && S_ISDIR(status.st_mode)) {
        if (tsmith_capture_is_session(recovery.from))
            return trace_may_replace(recovery.to) ? recover_session(&recovery) : EXIT_USAGE;
        complain("%s is a directory, and no recording", recovery.from);
        return EXIT_DAMAGED;
    }
    return recover_file(&recovery);
}
