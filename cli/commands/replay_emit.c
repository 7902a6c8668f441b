// SPDX-License-Identifier: Apache-2.0
// `replay --emit-c` and `--minimize`: finds the least part that diverges and writes the files of the program into a new directory.
#include "replay_emit.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/opened_trace.h"
#include "cli/options/quantity.h"
#include "cli/present/terminal.h"
#include "new_file.h"

enum { PATH_ROOM = 4096 + 4096 };

struct emitter {
    const char *directory;
    bool made;
};

static bool check_alone(const struct invocation *invocation, const char *option, const char *const *others) {
    for (; invocation_flag(invocation, option) && *others; others++)
        if (invocation_flag(invocation, *others)) {
            complain("--%s has no effect with --%s", *others, option);
            return false;
        }
    return true;
}

bool replay_check_emit(const struct invocation *invocation) {
    static const char *const without[] = {
        "against", "hazards", "permute",      "contents", "speed",        "timing",      "validate", "source",
        "check",   "html",    "instructions", "all",      "save-results", "save-source", "markdown", NULL};
    static const char *const for_all[] = {"times", NULL};
    static const char *const for_part[] = {"mode", "range", "kernel", "stream", "pid", NULL};
    const bool minimizes = invocation_flag(invocation, "minimize");
    return check_alone(invocation, "emit-c", without) && check_alone(invocation, "minimize", without) &&
           (minimizes || check_alone(invocation, "emit-c", for_all)) &&
           check_alone(invocation, "minimize", for_part);
}

// Every folder of the path beneath the directory.
static bool make_folders(char *path, size_t root) {
    for (char *slash = path + root + 1; (slash = strchr(slash, '/')) != NULL; slash++) {
        *slash = '\0';
        const bool made = mkdir(path, 0700) == 0 || errno == EEXIST;
        if (!made)
            complain("--emit-c: %s: %s", path, strerror(errno));
        *slash = '/';
        if (!made)
            return false;
    }
    return true;
}

static int take_file(void *context, const tsmith_emit_file *file) {
    struct emitter *emitter = context;
    char path[PATH_ROOM];
    if (!emitter->made && !new_directory("emit-c", emitter->directory))
        return 0;
    emitter->made = true;
    const int length = snprintf(path, sizeof path, "%s/%s", emitter->directory, file->name);
    if (length < 0 || (size_t)length >= sizeof path) {
        complain("--emit-c: %s: the path is too long", emitter->directory);
        return 0;
    }
    return make_folders(path, strlen(emitter->directory)) &&
           new_file_write("emit-c", path, file->bytes, file->length);
}

static void add_summary(struct text *text, const char *directory, const tsmith_emit_summary *summary) {
    text_add_safe(text, text_string(directory), 0);
    text_add_cstr(text, ": ");
    text_add_counted(text, summary->commands, "command (", "commands (");
    text_add_counted(text, summary->launches, "kernel launch), ", "kernel launches), ");
    text_add_counted(text, summary->results, "result to compare, ", "results to compare, ");
    text_add_bytes(text, (double)summary->data_bytes);
    text_add_cstr(text, " of data\n");
    if (summary->omissions)
        text_add_format(text, "not covered: %" PRIu64 " %s; README.md lists them\n", summary->omissions,
                        plural(summary->omissions, "thing", "things"));
    if (summary->other_processes)
        text_add_format(text, "%" PRIu64 " other recorded %s OpenCL commands; --pid selects one\n",
                        summary->other_processes,
                        plural(summary->other_processes, "process has", "processes have"));
    text_add_cstr(text, "next: make -C ");
    text_add_shell(text, directory);
    text_add_cstr(text, " run\n");
}

static int add_emitted(struct text *text, const struct invocation *invocation, tsmith_recording *recording,
                       const tsmith_replay_options *options, bool json) {
    struct emitter emitter = {.directory = invocation_value(invocation, "emit-c")};
    tsmith_emit_summary summary = {.size = sizeof summary};
    tsmith_error error;
    uint64_t pid = 0;
    const char *word = invocation_value(invocation, "pid");
    if (word && !quantity_count(word, &pid)) {
        complain("--pid: '%s' is not a number", word);
        return EXIT_USAGE;
    }
    const tsmith_status status =
        tsmith_replay_emit(recording, pid, options, take_file, &emitter, &summary, &error);
    if (status < 0) {
        if (status != TSMITH_ERROR_IO) // the complaint about the file is there already
            complain("--emit-c: %s", error.message);
        return status == TSMITH_ERROR_IO ? EXIT_LACKING : exit_code_of_input(status);
    }
    if (json)
        text_add_format(text,
                        ",\"emitted\":{\"pid\":%" PRIu64 ",\"commands\":%" PRIu64 ",\"launches\":%" PRIu64
                        ",\"results\":%" PRIu64 ",\"data_bytes\":%" PRIu64 ",\"omissions\":%" PRIu64
                        ",\"other_processes\":%" PRIu64 "}",
                        summary.pid, summary.commands, summary.launches, summary.results, summary.data_bytes,
                        summary.omissions, summary.other_processes);
    else
        add_summary(text, emitter.directory, &summary);
    return EXIT_DONE;
}

// ---- the least part

struct minimizer {
    struct emitter emitter; // first: a file is for it
    struct text *text;
    bool json;
    uint64_t listed;
};

enum { LISTED_MOST = 40 };

static void take_command(void *context, const tsmith_recorded_command *command) {
    struct minimizer *minimizer = context;
    struct text *text = minimizer->text;
    if (minimizer->json) {
        text_add_format(text, "%s{\"command\":%" PRIu64 ",\"what\":\"%s\",\"kernel\":",
                        minimizer->listed ? "," : "", command->command, command->what);
        if (command->kernel)
            text_add_json_cstr(text, command->kernel);
        else
            text_add_cstr(text, "null");
        text_add_format(text, ",\"queue\":%" PRIu64 "}", command->queue);
    } else if (minimizer->listed < LISTED_MOST) {
        text_add_format(text, "  command %" PRIu64 ": %s", command->command, command->what);
        if (command->kernel) {
            text_add_char(text, ' ');
            text_add_safe(text, text_string(command->kernel), 60);
        }
        text_add_format(text, " on queue %" PRIu64 "\n", command->queue);
    }
    minimizer->listed++;
}

static void add_least_part(struct text *text, const tsmith_minimized *found,
                           const struct minimizer *minimizer) {
    if (!found->diverged) {
        text_add_cstr(text, "nothing diverges on this device: there is nothing to minimize");
        text_add_cstr(text, minimizer->emitter.directory ? ", and nothing was written\n" : "\n");
        return;
    }
    if (minimizer->listed > LISTED_MOST)
        text_add_format(text, "  ... and %" PRIu64 " more\n", minimizer->listed - LISTED_MOST);
    text_add_format(text, "%" PRIu64 " of %" PRIu64 " commands remain (", found->remaining, found->commands);
    text_add_counted(text, found->launches, "kernel launch), ", "kernel launches), ");
    text_add_counted(text, found->fed, "memory has its recorded content",
                     "memories have their recorded content");
    text_add_cstr(text, "; ");
    text_add_counted(text, found->tries, "part was replayed\n", "parts were replayed\n");
    if (!minimizer->emitter.made)
        return;
    add_summary(text, minimizer->emitter.directory,
                &(tsmith_emit_summary){.commands = found->remaining,
                                       .launches = found->launches,
                                       .results = found->results,
                                       .data_bytes = found->data_bytes,
                                       .omissions = found->omissions});
}

static int add_minimized(struct text *text, const struct invocation *invocation, tsmith_recording *recording,
                         const tsmith_replay_options *options, bool json) {
    struct minimizer minimizer = {
        .emitter.directory = invocation_value(invocation, "emit-c"), .text = text, .json = json};
    const tsmith_minimize_options given = {.size = sizeof given,
                                           .replay = options,
                                           .each = take_command,
                                           .take = minimizer.emitter.directory ? take_file : NULL,
                                           .context = &minimizer};
    tsmith_minimized found = {.size = sizeof found};
    tsmith_error error;
    if (json)
        text_add_cstr(text, ",\"remaining\":[");
    const tsmith_status status = tsmith_replay_minimize(recording, &given, &found, &error);
    if (status < 0) {
        complain("--minimize: %s", error.message);
        return status == TSMITH_ERROR_IO ? EXIT_LACKING : exit_code_of_input(status);
    }
    if (json)
        text_add_format(text,
                        "],\"minimized\":{\"diverged\":%" PRIu64 ",\"pid\":%" PRIu64 ",\"commands\":%" PRIu64
                        ",\"remaining\":%" PRIu64 ",\"launches\":%" PRIu64 ",\"fed\":%" PRIu64
                        ",\"tries\":%" PRIu64 ",\"results\":%" PRIu64 "}",
                        found.diverged, found.pid, found.commands, found.remaining, found.launches, found.fed,
                        found.tries, found.results);
    else
        add_least_part(text, &found, &minimizer);
    return found.diverged ? EXIT_NO : EXIT_DONE;
}

bool replay_makes_program(const struct invocation *invocation) {
    return invocation_flag(invocation, "emit-c") || invocation_flag(invocation, "minimize");
}

int replay_add_program(struct text *text, const struct invocation *invocation, tsmith_recording *recording,
                       const tsmith_replay_options *options, bool json) {
    return invocation_flag(invocation, "minimize") ? add_minimized(text, invocation, recording, options, json)
                                                   : add_emitted(text, invocation, recording, options, json);
}
