// SPDX-License-Identifier: Apache-2.0
// Starts a program with the environment that loads the agents. The capture and the API for the profiler call it.
#include "launch/launch.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/array.h"
#include "base/status.h"
#include "launch/agent_table.h"
#include "launch/launch_agents.h"
#include "launch/uses_mpi.h"
#include "recording/range.h"
#include "wire/channel.h"
#include "wire/environment.h"

extern char **environ;

// ---- the environment

struct list {
    char **items;
    size_t capacity, count;
};

// Takes `text`, NULL when memory ran out while it was made.
static bool add(struct list *list, char *text) {
    bool room = text && ARRAY_RESERVE(list->items, list->capacity, list->count + 2);
    if (!room) {
        free(text);
        return false;
    }
    list->items[list->count++] = text;
    list->items[list->count] = NULL;
    return true;
}

static size_t find(const struct list *list, const char *name) {
    size_t length = strlen(name), at = 0;
    while (at < list->count &&
           (strncmp(list->items[at], name, length) != 0 || list->items[at][length] != '='))
        at++;
    return at;
}

static char *join(const char *a, const char *b, const char *c, const char *d) {
    size_t bytes = strlen(a) + strlen(b) + strlen(c) + strlen(d) + 1;
    char *text = malloc(bytes);
    if (text)
        snprintf(text, bytes, "%s%s%s%s", a, b, c, d);
    return text;
}

// Whether a list has this entry.
static bool has_entry(const char *all, const char *entry, char separator) {
    const char separators[2] = {separator, '\0'};
    const size_t length = strcspn(entry, separators);
    for (const char *at = all; *at; at += strspn(at, separators)) {
        const size_t here = strcspn(at, separators);
        if (here == length && memcmp(at, entry, length) == 0)
            return true;
        at += here;
    }
    return false;
}

// Sets `name`, or appends to the value it has, a list, if that does not have it: what the user asked to be loaded comes first.
static bool set(struct list *list, const char *name, const char *value, char separator) {
    size_t at = find(list, name);
    const char *old = at < list->count ? list->items[at] + strlen(name) + 1 : "";
    bool append = separator && old[0];
    const char between[2] = {append && old[strlen(old) - 1] != separator ? separator : '\0', '\0'};
    if (append && has_entry(old, value, separator))
        return true;
    char *text = append ? join(list->items[at], between, value, "") : join(name, "=", value, "");
    if (at == list->count)
        return add(list, text);
    if (!text)
        return false;
    free(list->items[at]);
    list->items[at] = text;
    return true;
}

// Keeps the value of `name`, if it has one that is not ours already, as the value of `next`.
static bool keep_previous(struct list *list, const char *name, const char *next, const char *ours) {
    size_t at = find(list, name);
    const char *old = at < list->count ? list->items[at] + strlen(name) + 1 : "";
    if (!old[0] || strcmp(old, ours) == 0)
        return true;
    char *copy = strdup(old); // the list may move
    bool kept = copy && set(list, next, copy, '\0');
    free(copy);
    return kept;
}

// "NAME=VALUE"; what is none is left out.
static bool put_variable(struct list *list, const char *entry) {
    const char *equals = strchr(entry, '=');
    if (!equals || equals == entry)
        return true;
    char *name = strndup(entry, (size_t)(equals - entry));
    const bool room = name && set(list, name, equals + 1, '\0');
    free(name);
    return room;
}

// Whether the loader that programs will find reads the variable: it has the name in it. A loader that is not there is
// taken for one that does: the program may bring its own.
static bool loader_reads(const char *loader, const char *variable) {
    bool reads = true;
    char path[4096] = "";
    struct stat status;
    if (!loader)
        return true;
    void *library = dlopen(loader, RTLD_LAZY | RTLD_LOCAL | RTLD_NOLOAD);
    if (!library)
        launch_find_library(loader, path, sizeof path);
    else
        launch_library_path(library, path, sizeof path);
    if (library)
        dlclose(library);
    int fd = path[0] ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (fd < 0)
        return true;
    if (fstat(fd, &status) == 0 && status.st_size > 0) {
        void *at = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (at != MAP_FAILED) {
            reads = memmem(at, (size_t)status.st_size, variable, strlen(variable)) != NULL;
            munmap(at, (size_t)status.st_size);
        }
    }
    close(fd);
    return reads;
}

static tsmith_status check_agent(const char *api, const char *directory, tsmith_error *error) {
    const struct agent_row *row;
    char path[4096];
    const tsmith_status status = agent_row_find(api, &row, error);
    return status || launch_agent_path(directory, api, path, sizeof path)
               ? status
               : status_set(error, TSMITH_ERROR_MISSING,
                            "the agent for %s was not found in %s" LAUNCH_HOW_BUILT, api, directory);
}

static tsmith_status check_apis(const tsmith_capture_options *options, const char *directory,
                                tsmith_error *error) {
    tsmith_status status = TSMITH_OK;
    for (size_t i = 0; !status && options->apis && i < options->api_count; i++)
        status = check_agent(options->apis[i], directory, error);
    for (size_t i = 0; !status && options->agent_options && i < options->agent_option_count; i++)
        status = check_agent(options->agent_options[i].api, directory, error);
    return status;
}

// The layer that records commands and data, nearer to the driver than the one that records times: what it does itself is
// not in the trace.
static bool inject_recorder(struct list *list, const struct agent_row *agent, const char *directory) {
    char path[4096], name[64];
    snprintf(name, sizeof name, "%s-record", agent->api);
    return !launch_agent_path(directory, name, path, sizeof path) || // not every API has one
           set(list, agent->variable, path, agent->separator);
}

// As one word of the variable.
static char *range_word(const char *text) {
    char *word = strdup(text);
    for (char *space = word; space && (space = strchr(space, ' ')) != NULL;)
        *space = RECORDING_RANGE_SPACE;
    return word;
}

static tsmith_status check_recording(const tsmith_capture_options *options, const char *directory,
                                     tsmith_error *error) {
#define RANGE(name, argument, doc) name argument ", "
    static const char ranges[] = TSMITH_CAPTURE_RANGE_TABLE(RANGE);
#undef RANGE
    const struct agent_row *opencl;
    struct recording_range range;
    char path[4096];
    if (!options->recording)
        return TSMITH_OK;
    char *word = range_word(options->recording);
    const bool good = word && recording_range_parse(word, &range);
    free(word);
    if (!good)
        return status_set(error, TSMITH_ERROR_INVALID_ARGUMENT,
                          "'%s' is not a capture range; available: %.*s", options->recording,
                          (int)sizeof ranges - 3, ranges);
    const bool framed = recording_range_of_frames(&range);
    // Vulkan is captured by frames.
    const bool vulkan = agent_is_selected(options, "vulkan") &&
                        (framed || range.form == RECORDING_RANGE_ALL) &&
                        launch_agent_path(directory, "vulkan-record", path, sizeof path);
    if (!agent_is_selected(options, "opencl") && !vulkan)
        return status_set(error, TSMITH_ERROR_MISSING,
                          "commands and data can be captured only for OpenCL, and frames for Vulkan, which "
                          "are not selected");
    // Also where Vulkan could be captured: what OpenCL does would be missing without a word.
    if (agent_is_selected(options, "opencl") &&
        !launch_agent_path(directory, "opencl-record", path, sizeof path))
        return status_set(error, TSMITH_ERROR_MISSING,
                          "the recorder of OpenCL's commands and data is not in %s" LAUNCH_HOW_BUILT "%s",
                          directory, vulkan ? " (without OpenCL: --api vulkan)" : "");
    if (range.form == RECORDING_RANGE_KEY &&
        (!vulkan || (options->frames && strcmp(options->frames, "present") != 0)))
        return status_set(error, TSMITH_ERROR_INVALID_ARGUMENT,
                          "the range '%s' captures frames of Vulkan, from present to present%s",
                          options->recording, vulkan ? "" : ", whose recorder is not there or not selected");
    const bool by_ranges = options->frames && strncmp(options->frames, "range:", 6) == 0;
    if (framed && options->frames &&
        ((strcmp(options->frames, "present") == 0 && !vulkan) ||
         (by_ranges && (range.form == RECORDING_RANGE_FRAMES_AFTER || strpbrk(options->frames, "*?")))))
        return status_set(
            error, TSMITH_ERROR_INVALID_ARGUMENT,
            "frames of the form '%s' cannot be captured in the range '%s'; available: wait, and but for "
            "frames-after range:NAME without * and ?",
            options->frames, options->recording);
    if ((range.form == RECORDING_RANGE_USER || (framed && by_ranges)) &&
        (!agent_is_selected(options, "nvtx") || !launch_agent_path(directory, "nvtx", path, sizeof path)))
        return status_set(error, TSMITH_ERROR_MISSING,
                          "capture ranges of a program need NVTX, and its agent is not selected or not in %s",
                          directory);
    const tsmith_status status = agent_row_find("opencl", &opencl, error);
    if (status == TSMITH_OK && agent_is_selected(options, "opencl") &&
        !loader_reads(opencl->loader, opencl->variable))
        return status_set(
            error, TSMITH_ERROR_MISSING,
            "commands and data are recorded by a layer, and the OpenCL loader does not support layers: "
            "install ocl-icd 2.3 or the Khronos loader%s",
            vulkan ? " (without OpenCL: --api vulkan)" : "");
    return status;
}

// The name of the ranges that are frames, as one word; "" if frames end with waits. NULL: out of memory.
static char *frames_word(const tsmith_capture_options *options) {
    const bool ranges = options->frames && strncmp(options->frames, "range:", 6) == 0;
    char *name = range_word(ranges ? options->frames + 6 : "");
    const bool presents = options->frames && strcmp(options->frames, "present") == 0;
    char *word = name ? join(ranges ? " frames=" : presents ? " presents" : "", name, "", "") : NULL;
    free(name);
    return word;
}

static bool set_recording(struct list *list, const tsmith_capture_options *options) {
    char *word = range_word(options->recording), *frames = frames_word(options);
    char *words = !word || !frames ? NULL
                                   : join(word, options->recording_hashes_only ? " no-payload" : "",
                                          options->recording_every_command ? " hashes" : "", frames);
    const bool done = words && set(list, CHANNEL_RECORDING, words, '\0');
    free(word);
    free(frames);
    free(words);
    return done;
}

// In millionths: a number that no locale writes differently.
static bool set_max_overhead(struct list *list, double percent) {
    char text[32];
    snprintf(text, sizeof text, "%.0f", percent * 1e4 < 1 ? 1 : percent * 1e4);
    return set(list, CHANNEL_MAX_OVERHEAD, text, '\0');
}

// Those of a recording in which this process runs itself are not the program's.
static bool set_agent_options(struct list *list, const char *options) {
    return (!options[0] && find(list, AGENT_OPTIONS) == list->count) ||
           set(list, AGENT_OPTIONS, options, '\0');
}

// Whether what the agent needs is there. Its two names are in one folder.
static bool is_met(const struct agent_needs *needs) {
    char path[4096], other[4096];
    if (!needs)
        return true;
    if (!launch_find_library_in(needs->library, needs->folders, path, sizeof path))
        return false;
    if (!needs->also)
        return true;
    const char *slash = strrchr(path, '/');
    const int length = snprintf(other, sizeof other, "%.*s/%s", (int)(slash - path), path, needs->also);
    return length > 0 && (size_t)length < sizeof other && access(other, R_OK) == 0;
}

const char *launch_missing(const tsmith_capture_options *options) {
    const struct agent_row *agent;
    char path[4096];
    for (size_t i = 0; (agent = agent_row_at(i)); i++) {
        if (!agent->needs || !agent_is_selected(options, agent->api) || is_met(agent->needs))
            continue;
        // Of all APIs by default: only where it could be used.
        if (options->api_count ||
            launch_find_library_in(agent->needs->runtime, agent->needs->folders, path, sizeof path))
            return agent->needs->advice;
    }
    return NULL;
}

// A layer that its loader finds by its name, in folders.
static bool inject_layer(struct list *list, const struct agent_row *agent, const char *layer,
                         const char *name, const char *directory) {
    char folder[4096];
    const size_t at = find(list, agent->folders);
    const bool alone = at < list->count && list->items[at][strlen(agent->folders) + 1];
    const int length = snprintf(folder, sizeof folder, "%s/%s", directory, name);
    return length > 0 && (size_t)length < sizeof folder &&
           set(list, alone ? agent->folders : agent->more_folders, folder, ':') &&
           set(list, agent->variable, layer, agent->separator);
}

// The one that records commands and data comes after it, nearer to the driver.
static bool inject_layers(struct list *list, const struct agent_row *agent, bool recording,
                          const char *directory) {
    char name[64], path[4096];
    if (!inject_layer(list, agent, agent->layer, agent->api, directory))
        return false;
    snprintf(name, sizeof name, "%s-record", agent->api);
    if (!recording || !agent->recorder || !launch_agent_path(directory, name, path, sizeof path))
        return true;
    snprintf(name, sizeof name, "%s_record", agent->api);
    return inject_layer(list, agent, agent->recorder, name, directory);
}

static bool inject_preloads(struct list *list, const struct agent_row *agent) {
    char path[4096];
    return !launch_find_library_in(agent->preloads, agent->needs->folders, path, sizeof path) ||
           set(list, agent->variable, path, agent->separator);
}

static bool set_also(struct list *list, const struct agent_row *agent) {
    for (size_t i = 0; i < sizeof agent->also / sizeof *agent->also && agent->also[i].variable; i++)
        if (find(list, agent->also[i].variable) == list->count &&
            !set(list, agent->also[i].variable, agent->also[i].value, '\0'))
            return false;
    return true;
}

// Whether the user said that the program brings a loader of its own, which reads no variable.
static bool is_preloaded(const tsmith_capture_options *options, const char *api) {
    for (size_t i = 0; options->agent_options && i < options->agent_option_count; i++)
        if (strcmp(options->agent_options[i].api, api) == 0 &&
            strcmp(options->agent_options[i].key, "preload") == 0)
            return true;
    return false;
}

static bool inject(struct list *list, const tsmith_capture_options *options, const char *directory,
                   size_t *injected) {
    char path[4096], preload[4096], name[64];
    const struct agent_row *agent;
    for (size_t i = 0; (agent = agent_row_at(i)); i++) {
        if (!agent_is_selected(options, agent->api) ||
            !launch_agent_path(directory, agent->api, path, sizeof path - 1))
            continue;
        (*injected)++;
        if (!is_met(agent->needs))
            continue; // launch_missing reports it
        if (agent->layer) {
            if (!inject_layers(list, agent, options->recording != NULL, directory))
                return false;
            continue;
        }
        // A loader that knows nothing of layers is given the calls by a library before it.
        snprintf(name, sizeof name, "%s-preload", agent->api);
        const bool can_preload = launch_agent_path(directory, name, preload, sizeof preload);
        const bool layer = !can_preload || loader_reads(agent->loader, agent->variable);
        if (agent->next && !keep_previous(list, agent->variable, agent->next, path))
            return false;
        // Loaders put each layer before the one named before it.
        if (options->recording && !inject_recorder(list, agent, directory))
            return false;
        if (agent->preloads && !inject_preloads(list, agent))
            return false;
        if (agent->is_closed)
            path[strlen(path) + 1] = '\0', path[strlen(path)] = agent->separator;
        if (layer && can_preload && is_preloaded(options, agent->api) &&
            !set(list, "LD_PRELOAD", preload, ':'))
            return false;
        if (!set(list, layer ? agent->variable : "LD_PRELOAD", layer ? path : preload,
                 layer ? agent->separator : ':'))
            return false;
        if (!set_also(list, agent))
            return false;
    }
    return true;
}

tsmith_status launch_environment(const tsmith_capture_options *options, const char *session_directory,
                                 char ***out, tsmith_error *error) {
    struct list list = {0};
    char directory[4096], agent_options[AGENT_OPTIONS_BYTES];
    size_t injected = 0;
    *out = NULL;
    tsmith_status status =
        launch_agent_directory(options->agent_directory, directory, sizeof directory, error);
    if (!status)
        status = check_apis(options, directory, error);
    if (!status)
        status = check_recording(options, directory, error);
    if (!status)
        status = agent_options_write(options, agent_options, sizeof agent_options, error);
    if (status)
        return status;
    bool room = true;
    for (char **entry = environ; room && *entry; entry++)
        room = add(&list, strdup(*entry));
    for (const char *const *entry = options->environment; room && entry && *entry; entry++)
        room = put_variable(&list, *entry);
    room = room && set(&list, CHANNEL_ENVIRONMENT, session_directory, '\0') &&
           (!options->recording || set_recording(&list, options)) &&
           (!(options->max_overhead > 0) || set_max_overhead(&list, options->max_overhead)) &&
           set_agent_options(&list, agent_options) && inject(&list, options, directory, &injected);
    if (!room)
        status = status_set(error, TSMITH_ERROR_NO_MEMORY,
                            "out of memory while preparing the environment of the program");
    else if (injected == 0)
        status = status_set(
            error, TSMITH_ERROR_MISSING,
            "no agent is installed in %s (set TRACESMITH_AGENT_DIR to the directory of the agents)",
            directory);
    if (status)
        launch_free_environment(list.items);
    else
        *out = list.items;
    return status;
}

// What `options` points to need not be there any more: an agent that was named is in the environment.
tsmith_status launch_add_used(const tsmith_capture_options *options, const char *agent_directory,
                              char *const *argv, char ***environment, const char **notice,
                              tsmith_error *error) {
    struct list list = {.items = *environment};
    char path[4096];
    *notice = NULL;
    if (!launch_agent_path(agent_directory, "mpi", path, sizeof path))
        return TSMITH_OK;
    while (list.items[list.count])
        list.count++;
    const size_t at = find(&list, "LD_PRELOAD");
    const bool is_there = at < list.count && has_entry(strchr(list.items[at], '=') + 1, path, ':');
    if (options->api_count && !is_there)
        return TSMITH_OK; // others were named
    const enum launch_mpi use = launch_uses_mpi(argv, *environment);
    if (use == LAUNCH_MPI_STATIC)
        *notice =
            "the program has MPI linked into its own file: its MPI calls cannot be recorded; link it with "
            "the shared library of MPI";
    if (use != LAUNCH_MPI_USED || is_there)
        return TSMITH_OK;
    const bool room = set(&list, "LD_PRELOAD", path, ':');
    *environment = list.items;
    return room ? TSMITH_OK
                : status_set(error, TSMITH_ERROR_NO_MEMORY,
                             "out of memory while preparing the environment of the program");
}

void launch_free_environment(char **environment) {
    for (char **entry = environment; entry && *entry; entry++)
        free(*entry);
    free(environment);
}

// ---- the program

void launch_save_signals(struct launch_signals *signals) {
    memset(signals, 0, sizeof *signals);
    sigprocmask(SIG_SETMASK, NULL, &signals->mask);
    for (int number = 1; number < NSIG; number++) {
        struct sigaction action;
        signals->ignored[number] = sigaction(number, NULL, &action) == 0 && action.sa_handler == SIG_IGN;
    }
}

// In the child: only async-signal-safe calls.
static void run_program(char *const *argv, char **environment, const struct launch_signals *signals,
                        int report) {
    for (int number = 1; number < NSIG; number++) {
        struct sigaction action;
        if (sigaction(number, NULL, &action))
            continue;
        memset(&action, 0, sizeof action);
        action.sa_handler = signals->ignored[number] ? SIG_IGN : SIG_DFL;
        sigaction(number, &action, NULL);
    }
    sigprocmask(SIG_SETMASK, &signals->mask, NULL);
    execvpe(argv[0], argv, environment);
    int failure = errno;
    ssize_t written = write(report, &failure, sizeof failure);
    (void)written; // the parent sees a short report as well
    _exit(127);
}

tsmith_status launch_start(char *const *argv, char **environment, const struct launch_signals *signals,
                           pid_t *out, tsmith_error *error) {
    int report[2], failure = 0;
    sigset_t all, before;
    if (pipe2(report, O_CLOEXEC))
        return status_set_errno(error, "cannot start %s", argv[0]);
    // No handler of the caller may run in the child.
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pid_t pid = fork();
    if (pid == 0)
        run_program(argv, environment, signals, report[1]);
    int fork_errno = errno;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    close(report[1]);
    ssize_t got = 0;
    while (pid > 0 && (got = read(report[0], &failure, sizeof failure)) < 0 && errno == EINTR)
        ;
    close(report[0]);
    if (pid < 0) {
        errno = fork_errno;
        return status_set_errno(error, "cannot start %s", argv[0]);
    }
    if (got == (ssize_t)sizeof failure) {
        while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
            ;
        errno = failure;
        return status_set_errno(error, "cannot run %s", argv[0]);
    }
    *out = pid;
    return TSMITH_OK;
}
