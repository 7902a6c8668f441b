// SPDX-License-Identifier: Apache-2.0
// Finds recordings on this machine by their session directories. `recover` and `top` call it.
#include "cli/sessions.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/container_sessions.h"
#include "cli/present/terminal.h"

void sessions_each(void (*each)(void *context, const char *directory, const tsmith_capture_left *left),
                   void *context) {
    tsmith_error error;
    if (tsmith_capture_look_all(each, context, &error))
        complain("%s", error.message);
}

// Whether the process was started with the session in its environment.
static bool was_started_with(const char *directory, uint64_t pid) {
    struct text wanted = {0};
    char path[64], *line = NULL;
    size_t room = 0;
    bool found = false;
    snprintf(path, sizeof path, "/proc/%" PRIu64 "/environ", pid);
    FILE *environment = fopen(path, "re");
    text_add_format(&wanted, "TRACESMITH_SESSION=%s", directory);
    while (environment && !found && getdelim(&line, &room, '\0', environment) > 0)
        found = strcmp(line, text_cstr(&wanted)) == 0;
    free(line);
    if (environment)
        fclose(environment);
    text_finish(&wanted);
    return found;
}

// The number that the process has itself (in a container another one than here), and when it began, in ticks since boot.
static bool read_process(uint64_t pid, uint64_t *own, uint64_t *start) {
    static const char key[] = "NSpid:";
    enum { STATE = 3, START = 22 }; // fields of stat
    char path[64], line[1024];
    snprintf(path, sizeof path, "/proc/%" PRIu64 "/status", pid);
    FILE *file = fopen(path, "re");
    *own = pid;
    while (file && fgets(line, sizeof line, file)) {
        const char *last = strncmp(line, key, sizeof key - 1) == 0 ? strrchr(line, '\t') : NULL;
        if (last)
            *own = strtoull(last, NULL, 10);
    }
    if (file)
        fclose(file);
    snprintf(path, sizeof path, "/proc/%" PRIu64 "/stat", pid);
    file = fopen(path, "re");
    // The name, in parentheses, may have blanks.
    const char *at = file && fgets(line, sizeof line, file) ? strrchr(line, ')') : NULL;
    if (file)
        fclose(file);
    at = at && at[1] ? at + 2 : NULL;
    for (int field = STATE; at && field < START; field++) {
        at = strchr(at, ' ');
        at = at ? at + 1 : NULL;
    }
    *start = at ? strtoull(at, NULL, 10) : 0;
    return *start != 0;
}

// Whether the process has a channel in the session: one that was attached to has no session in its environment.
static bool has_channel(const char *directory, uint64_t pid) {
    uint64_t own, start;
    char beginning[64];
    bool found = false;
    DIR *folder = read_process(pid, &own, &start) ? opendir(directory) : NULL;
    if (!folder)
        return false;
    snprintf(beginning, sizeof beginning, "%" PRIu64 "-%" PRIu64 "-", own, start);
    for (const struct dirent *entry; !found && (entry = readdir(folder)) != NULL;)
        found = strncmp(entry->d_name, beginning, strlen(beginning)) == 0;
    closedir(folder);
    return found;
}

bool sessions_has_process(const char *directory, uint64_t pid) {
    return was_started_with(directory, pid) || has_channel(directory, pid);
}

// ---- one of them

// The user whose rights the process has; its folder in /proc can belong to root although the process does not.
static bool is_of_user(uint64_t pid, uint32_t user) {
    static const char key[] = "Uid:";
    char path[64], line[256];
    bool same = false;
    snprintf(path, sizeof path, "/proc/%" PRIu64 "/status", pid);
    FILE *status = fopen(path, "re");
    while (status && fgets(line, sizeof line, status)) {
        char *effective = line;
        if (strncmp(line, key, sizeof key - 1) != 0)
            continue;
        (void)strtoul(line + sizeof key - 1, &effective, 10);
        same = strtoul(effective, NULL, 10) == user;
        break;
    }
    if (status)
        fclose(status);
    return same;
}

// The owner of a directory writes there what he likes, also the id of another user's process.
static bool has_process(const char *directory, const tsmith_capture_left *left, uint64_t pid) {
    return (left->collector_pid == pid || sessions_has_process(directory, pid)) &&
           is_of_user(pid, left->user);
}

struct search {
    uint64_t pid; // 0: any
    struct text *directory;
    uint32_t found;
};

static void add_if_matching(void *context, const char *directory, const tsmith_capture_left *left) {
    struct search *search = context;
    if (!left->collected)
        return;
    if (search->pid ? !has_process(directory, left, search->pid) : left->user != (uint32_t)geteuid())
        return;
    search->found++;
    text_clear(search->directory);
    text_add_cstr(search->directory, directory);
}

static void find_everywhere(struct search *search) {
    sessions_each(add_if_matching, search);
    // A directory in a container is not asked when a process of this machine's is found.
    if (!search->pid || !search->found)
        container_sessions_each(add_if_matching, search);
}

static int find_by_process(const char *word, struct text *directory) {
    struct search search = {.directory = directory};
    char *end = NULL;
    search.pid = strtoull(word, &end, 10);
    if (*end || end == word || !search.pid || word[0] == '-') {
        complain("'%s' is neither a session directory nor a process id", word);
        return EXIT_USAGE;
    }
    find_everywhere(&search);
    if (search.found)
        return EXIT_DONE;
    complain("process %s is not part of a running recording", word);
    return EXIT_LACKING;
}

int sessions_find(const char *word, struct text *directory) {
    struct search search = {.directory = directory};
    struct stat status;
    if (word && stat(word, &status) == 0 && S_ISDIR(status.st_mode)) {
        if (!tsmith_capture_is_session(word)) {
            complain("%s is not a session directory", word);
            return EXIT_DAMAGED;
        }
        text_add_cstr(directory, word);
        return EXIT_DONE;
    }
    if (word)
        return find_by_process(word, directory);
    find_everywhere(&search);
    if (search.found == 1)
        return EXIT_DONE;
    if (search.found)
        complain("%" PRIu32 " recordings are running: name one by a process id or its directory "
                 "('tracesmith recover' lists them)",
                 search.found);
    else
        complain("no recording of this user is running: start one with 'tracesmith profile'");
    return search.found ? EXIT_USAGE : EXIT_LACKING;
}
