// SPDX-License-Identifier: Apache-2.0
// `replay --emit-c`: writes the files of the program into a new directory.
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

bool replay_check_emit(const struct invocation *invocation) {
    static const char *const others[] = {
        "against", "hazards",      "permute", "contents",     "speed",  "timing",
        "times",   "validate",     "source",  "save-results", "check",  "save-source",
        "html",    "instructions", "all",     "markdown",     "sandbox"};
    for (size_t i = 0; invocation_flag(invocation, "emit-c") && i < sizeof others / sizeof *others; i++)
        if (invocation_flag(invocation, others[i])) {
            complain("--%s has no effect with --emit-c", others[i]);
            return false;
        }
    return true;
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

int replay_add_emitted(struct text *text, const struct invocation *invocation, tsmith_recording *recording,
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
