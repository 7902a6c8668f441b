// SPDX-License-Identifier: Apache-2.0
// Three steps, each an argument vector and no shell: nsys profile, nsys export, import. Everything nsys writes is in a
// folder of our own (0700), which goes when the trace is written, and stays, and is named, when a later step fails: the
// program has run, and may not be run again.
#include "nsys.h"

#include <errno.h>
#include <ftw.h>
#include <glob.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/convert.h"
#include "cli/opened_trace.h"
#include "cli/present/terminal.h"
#include "cli/present/text.h"
#include "tool.h"
#include "tracesmith/sbt.h"

extern char **environ;

enum { WORDS_MAX = 256 };

// Its own options for the place of the report: TraceSmith sets those.
static const char *const reserved[] = {"-o", "--output", "--export", "-f", "--force-overwrite"};
// Options of `profile` that are for it; it knows nothing of the others.
static const char *const shared[] = {"output", "nsys", "nsys-args", NULL};

bool nsys_wanted(const struct invocation *invocation) {
    return invocation_flag(invocation, "nsys") || invocation_value(invocation, "nsys-args");
}

// ---- argument vectors

struct words {
    char *items[WORDS_MAX + 1];
    size_t count;
    struct text store; // of what was split
};

static bool add_word(struct words *words, const char *word) {
    if (words->count == WORDS_MAX) {
        complain("--nsys: the command has more than %d arguments", WORDS_MAX);
        return false;
    }
    words->items[words->count] = strdup(word);
    words->items[words->count + 1] = NULL;
    return words->items[words->count++] != NULL;
}

static void words_finish(struct words *words) {
    for (size_t i = 0; i < words->count; i++)
        free(words->items[i]);
    text_finish(&words->store);
}

static bool may_be_given(const char *word) {
    for (size_t i = 0; i < sizeof reserved / sizeof reserved[0]; i++) {
        const size_t length = strlen(reserved[i]);
        if (strncmp(word, reserved[i], length) == 0 && (word[length] == '\0' || word[length] == '=')) {
            complain("--nsys-args: %s is set by TraceSmith; choose the output file with --output",
                     reserved[i]);
            return false;
        }
    }
    return true;
}

// Words between blanks; quotes of either kind keep blanks together. Nothing else is special: no shell sees this.
static bool split(struct words *words, const char *text) {
    while (text && *text) {
        bool any = false;
        text += strspn(text, " \t\n");
        text_clear(&words->store);
        while (*text && !strchr(" \t\n", *text)) {
            const char quote = *text == '"' || *text == '\'' ? *text : '\0';
            const size_t length =
                quote ? strcspn(text + 1, quote == '"' ? "\"" : "'") : strcspn(text, " \t\n\"'");
            any = true;
            if (quote && !text[1 + length]) {
                complain("--nsys-args: missing closing quote: %s", text);
                return false;
            }
            text_add(&words->store, text + (quote ? 1 : 0), length);
            text += length + (quote ? 2 : 0);
        }
        if (any && (!may_be_given(text_cstr(&words->store)) || !add_word(words, text_cstr(&words->store))))
            return false;
    }
    return true;
}

// ---- running

static volatile sig_atomic_t running; // pid

static void hand_on(int signal_number) {
    if (running)
        kill((pid_t)running, signal_number);
}

// The wait status of a program that was run, -1 when it could not be. A signal typed at the terminal reaches it by itself;
// one that was sent to us is handed on.
int tool_run(char *const *words, int stdout_to) {
    static const int typed[] = {SIGINT, SIGQUIT}, sent[] = {SIGTERM, SIGHUP, SIGUSR1, SIGUSR2};
    struct sigaction before[6], ignore = {.sa_handler = SIG_IGN}, forward = {.sa_handler = hand_on};
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    sigset_t defaults;
    pid_t pid = 0;
    int status = -1;
    sigemptyset(&defaults);
    for (size_t i = 0; i < 2; i++) {
        sigaction(typed[i], &ignore, &before[i]);
        if (before[i].sa_handler != SIG_IGN)
            sigaddset(&defaults, typed[i]);
    }
    for (size_t i = 0; i < 4; i++)
        sigaction(sent[i], &forward, &before[2 + i]);
    posix_spawn_file_actions_init(&files);
    if (stdout_to >= 0)
        posix_spawn_file_actions_adddup2(&files, stdout_to, STDOUT_FILENO);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setsigdefault(&attributes, &defaults);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
    const int failure = posix_spawn(&pid, words[0], &files, &attributes, words, environ);
    if (failure)
        complain("%s cannot be run: %s", words[0], strerror(failure));
    running = failure ? 0 : pid;
    while (!failure && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    running = 0;
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&files);
    for (size_t i = 0; i < 6; i++)
        sigaction(i < 2 ? typed[i] : sent[i - 2], &before[i], NULL);
    return failure ? -1 : status;
}

// ---- where things are

static bool runnable(const char *path) {
    struct stat status;
    return stat(path, &status) == 0 && S_ISREG(status.st_mode) && access(path, X_OK) == 0;
}

static bool find_in_path(const char *name, struct text *out) {
    const char *path = getenv("PATH");
    for (const char *at = path ? path : ""; *at; at += *at == ':') {
        const size_t length = strcspn(at, ":");
        text_clear(out);
        text_add(out, length ? at : ".", length ? length : 1);
        text_add_cstr(out, "/");
        text_add_cstr(out, name);
        if (runnable(text_cstr(out)))
            return true;
        at += length;
    }
    return false;
}

bool tool_find(const char *program, const char *const *places, struct text *out) {
    if (find_in_path(program, out))
        return true;
    for (size_t i = 0; places[i]; i++) {
        glob_t found;
        bool there = glob(places[i], 0, NULL, &found) == 0;
        const char *last = there && found.gl_pathc ? found.gl_pathv[found.gl_pathc - 1] : NULL; // the newest
        there = last && runnable(last);
        text_clear(out);
        text_add_cstr(out, there ? last : "");
        if (last)
            globfree(&found);
        if (there)
            return true;
    }
    return false;
}

static bool find_nsys(struct text *out) {
    static const char *const places[] = {"/usr/local/cuda/bin/nsys", "/opt/nvidia/nsight-systems/*/bin/nsys",
                                         "/opt/nvidia/nsight-systems-cli/*/bin/nsys", NULL};
    return tool_find("nsys", places, out);
}

bool tool_make_folder(struct text *out) {
    const char *root = getenv("TMPDIR");
    text_add_format(out, "%s/tracesmith-tool-XXXXXX", root && *root ? root : "/tmp");
    char *path = strdup(text_cstr(out));
    const bool made = path && mkdtemp(path);
    if (!made)
        complain("cannot create a directory for the report in %s: %s (set TMPDIR to use another)",
                 root && *root ? root : "/tmp", strerror(errno));
    text_clear(out);
    text_add_cstr(out, made ? path : "");
    free(path);
    return made;
}

static int remove_entry(const char *path, const struct stat *status, int type, struct FTW *at) {
    (void)status, (void)type, (void)at;
    return remove(path);
}

void tool_remove_folder(const char *path) {
    (void)nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS); // what is in it first; no link is followed
}

// ---- the steps

static bool record(const struct invocation *invocation, const char *nsys, const char *folder, int *status) {
    struct words words = {.count = 0};
    struct text output = {0};
    text_add_format(&output, "--output=%s/report", folder);
    bool right = add_word(&words, nsys) && add_word(&words, "profile") &&
                 add_word(&words, text_cstr(&output)) && add_word(&words, "--force-overwrite=true") &&
                 split(&words, invocation_value(invocation, "nsys-args"));
    for (size_t i = 0; right && i < invocation->operand_count; i++)
        right = add_word(&words, invocation->operands[i]);
    *status = right ? tool_run(words.items, -1) : -1;
    words_finish(&words);
    text_finish(&output);
    return right && *status != -1;
}

// The report: older ones ended in .qdrep.
static bool find_report(const char *folder, struct text *out) {
    static const char *const names[] = {"report.nsys-rep", "report.qdrep"};
    for (size_t i = 0; i < 2; i++) {
        text_clear(out);
        text_add_format(out, "%s/%s", folder, names[i]);
        if (access(text_cstr(out), R_OK) == 0)
            return true;
    }
    return false;
}

static bool export_report(const char *nsys, const char *report, const char *to) {
    struct words words = {.count = 0};
    struct text output = {0};
    text_add_format(&output, "--output=%s", to);
    // Its progress messages are not output of the program.
    const bool right = add_word(&words, nsys) && add_word(&words, "export") &&
                       add_word(&words, "--type=sqlite") && add_word(&words, "--force-overwrite=true") &&
                       add_word(&words, text_cstr(&output)) && add_word(&words, report);
    const int status = right ? tool_run(words.items, STDERR_FILENO) : -1;
    words_finish(&words);
    text_finish(&output);
    return status != -1 && WIFEXITED(status) && WEXITSTATUS(status) == 0 && access(to, R_OK) == 0;
}

static tsmith_status open_sink(void *context, tsmith_sink **out, tsmith_error *error) {
    return tsmith_sbt_writer_open(text_cstr(context), NULL, out, error);
}

int tool_import(const char *from, const char *to, const char *tool) {
    struct convert convert;
    struct text name = {0};
    tsmith_source *source = NULL;
    text_add_cstr(&name, to);
    convert_init(&convert, "importing");
    convert.status = tsmith_trace_stream(from, &convert.options, &source, &convert.error);
    if (convert.status >= 0)
        convert_run(&convert, source, open_sink, &name);
    losses_complain(&convert.losses, to);
    const int code = convert_exit_code(&convert);
    if (convert.status >= 0)
        complain("%s: %llu %s from %s", to, (unsigned long long)convert.events,
                 plural(convert.events, "event", "events"), tool);
    convert_finish(&convert);
    text_finish(&name);
    return code;
}

int tool_exit_code(int status) {
    return WIFEXITED(status)     ? WEXITSTATUS(status)
           : WIFSIGNALED(status) ? 128 + WTERMSIG(status)
                                 : EXIT_LACKING;
}

// The program's exit code, which nsys gives as its own, unless it succeeded and there is no trace.
static int profile_into(const struct invocation *invocation, const char *nsys, const char *folder,
                        const char *path) {
    struct text report = {0}, database = {0};
    int status = 0, code = EXIT_LACKING;
    bool keep = false;
    text_add_format(&database, "%s/report.sqlite", folder);
    if (!record(invocation, nsys, folder, &status))
        goto done;
    code = tool_exit_code(status);
    if (!find_report(folder, &report)) {
        complain("nsys exited with status %d and wrote no report; see its output above", code);
        code = code ? code : EXIT_LACKING;
        goto done;
    }
    keep = true;
    int imported = EXIT_LACKING;
    if (!export_report(nsys, text_cstr(&report), text_cstr(&database)))
        complain("nsys could not export its report to SQLite; see its output above");
    else
        imported = tool_import(text_cstr(&database), path, "Nsight Systems");
    keep = imported != EXIT_DONE;
    code = code ? code : imported;
    if (keep)
        complain("the report is kept: %s", text_cstr(&report));
done:
    if (!keep)
        tool_remove_folder(folder);
    text_finish(&report);
    text_finish(&database);
    return code;
}

bool tool_options_fit(const struct invocation *invocation, const char *const *known, const char *advice) {
    for (const struct option *option = invocation->command->options; option->name; option++) {
        bool fits = !invocation_value(invocation, option->name);
        for (size_t i = 0; known[i]; i++)
            fits |= strcmp(option->name, known[i]) == 0;
        if (!fits) {
            complain("--%s cannot be combined with %s", option->name, advice);
            return false;
        }
    }
    return true;
}

int nsys_profile(const struct invocation *invocation, const char *path) {
    struct text nsys = {0}, folder = {0};
    struct words words = {.count = 0};
    int code = EXIT_LACKING;
    const bool right =
        tool_options_fit(invocation, shared, "--nsys; pass options to Nsight Systems with --nsys-args") &&
        split(&words, invocation_value(invocation, "nsys-args"));
    words_finish(&words);
    if (!right || !trace_may_replace(path))
        return EXIT_USAGE;
    const bool found = find_nsys(&nsys);
    if (!found)
        complain("nsys was found neither in PATH nor in its default directories: install Nsight Systems "
                 "(developer.nvidia.com/nsight-systems; from NVIDIA's repository: apt install "
                 "nsight-systems-cli), or omit --nsys to record with TraceSmith");
    if (found && tool_make_folder(&folder))
        code = profile_into(invocation, text_cstr(&nsys), text_cstr(&folder), path);
    text_finish(&nsys);
    text_finish(&folder);
    return code;
}

bool nsys_is_report(const char *path) {
    static const char *const endings[] = {".nsys-rep", ".qdrep"};
    const size_t length = strlen(path);
    for (size_t i = 0; i < 2; i++)
        if (length > strlen(endings[i]) && strcmp(path + length - strlen(endings[i]), endings[i]) == 0)
            return true;
    return false;
}

bool nsys_export(const char *report, struct text *folder, struct text *database) {
    struct text nsys = {0};
    bool done = find_nsys(&nsys);
    if (!done)
        complain("%s: is a report of Nsight Systems, and nsys was found neither in PATH nor in its default "
                 "directories; on a machine that has it, run nsys export --type sqlite %s, and import the "
                 "database that it writes",
                 report, report);
    done = done && tool_make_folder(folder);
    if (done) {
        text_add_format(database, "%s/report.sqlite", text_cstr(folder));
        complain("running %s export --type=sqlite --force-overwrite=true --output=%s %s", text_cstr(&nsys),
                 text_cstr(database), report);
        done = export_report(text_cstr(&nsys), report, text_cstr(database));
        if (!done)
            complain("nsys could not export %s to SQLite: see its output above", report);
    }
    text_finish(&nsys);
    return done;
}

void nsys_forget(struct text *folder, struct text *database) {
    if (text_cstr(folder)[0])
        tool_remove_folder(text_cstr(folder));
    text_finish(folder);
    text_finish(database);
}
