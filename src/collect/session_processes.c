// SPDX-License-Identifier: Apache-2.0
// A process that becomes a daemon leaves its parent, its group and its session, and closes its descriptors; its
// environment it keeps. It is also what makes an agent attach: without it, a process is none of ours.
#include "collect/session_processes.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/sorted.h"
#include "wire/channel.h"

static const char variable[] = CHANNEL_ENVIRONMENT "=";

struct visitor {
    // Returns whether the search goes on.
    bool (*each)(void *context, const char *session_directory);
    void *context;
    char *string; // of the environment that is read
    size_t room;
    uint32_t unclear; // processes without any environment
};

static bool has_program(const char *pid) {
    char path[64], first;
    (void)snprintf(path, sizeof path, "/proc/%.20s/exe", pid);
    return readlink(path, &first, 1) > 0; // threads of the kernel have none
}

static bool visit_process(struct visitor *visitor, const char *pid) {
    char path[64];
    bool is_empty = true, goes_on = true;
    (void)snprintf(path, sizeof path, "/proc/%.20s/environ", pid);
    FILE *environment = fopen(path, "re");
    if (!environment)
        return true; // gone, or another user's: those do not attach either
    while (getdelim(&visitor->string, &visitor->room, '\0', environment) > 0) {
        is_empty = false;
        if (strncmp(visitor->string, variable, sizeof variable - 1) != 0)
            continue;
        goes_on = visitor->each(visitor->context, visitor->string + sizeof variable - 1);
        break; // the first one is what getenv finds
    }
    visitor->unclear += is_empty && has_program(pid);
    fclose(environment);
    return goes_on;
}

static void visit_processes(struct visitor *visitor) {
    DIR *proc = opendir("/proc");
    bool goes_on = true;
    for (struct dirent *entry; goes_on && proc && (entry = readdir(proc));) {
        const bool is_process = entry->d_name[0] >= '1' && entry->d_name[0] <= '9';
        if (is_process && strtol(entry->d_name, NULL, 10) != getpid())
            goes_on = visit_process(visitor, entry->d_name);
    }
    if (proc)
        closedir(proc);
    free(visitor->string);
}

struct count {
    const char *session_directory;
    uint32_t found;
};

static bool count_process(void *context, const char *session_directory) {
    struct count *count = context;
    count->found += strcmp(session_directory, count->session_directory) == 0;
    return true;
}

uint32_t session_processes_alive(const char *session_directory, uint32_t *unclear) {
    struct count count = {.session_directory = session_directory};
    struct visitor visitor = {.each = count_process, .context = &count};
    visit_processes(&visitor);
    *unclear = visitor.unclear;
    return count.found;
}

// ---- of all sessions

struct gathering {
    struct session_processes *processes;
    bool failed;
};

static bool add_process(void *context, const char *session_directory) {
    struct gathering *gathering = context;
    struct session_processes *processes = gathering->processes;
    char *copy = strdup(session_directory);
    char **place = copy ? ARRAY_PUSH(processes->directories, processes->count, processes->capacity) : NULL;
    if (place)
        *place = copy;
    else
        free(copy);
    gathering->failed = !place;
    return place != NULL;
}

static int compare(const void *left, const void *right) {
    return strcmp(*(char *const *)left, *(char *const *)right);
}

bool session_processes_read(struct session_processes *processes) {
    struct gathering gathering = {.processes = processes};
    struct visitor visitor = {.each = add_process, .context = &gathering};
    visit_processes(&visitor);
    if (processes->count)
        qsort(processes->directories, processes->count, sizeof *processes->directories, compare);
    return !gathering.failed;
}

// The first element that is not before `session_directory`, or after the last one equal to it.
static size_t bound(const struct session_processes *processes, const char *session_directory, bool after) {
    return SORTED_FIND(i, 0, processes->count,
                       strcmp(processes->directories[i], session_directory) < (after ? 1 : 0));
}

uint32_t session_processes_of(const struct session_processes *processes, const char *session_directory) {
    return (uint32_t)(bound(processes, session_directory, true) - bound(processes, session_directory, false));
}

void session_processes_finish(struct session_processes *processes) {
    for (size_t i = 0; i < processes->count; i++)
        free(processes->directories[i]);
    free(processes->directories);
    *processes = (struct session_processes){0};
}
