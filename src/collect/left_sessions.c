// SPDX-License-Identifier: Apache-2.0
// The session directories of this machine: looking at one or at all of them, and removing one. The command line calls it.
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/plural.h"
#include "base/sized.h"
#include "base/status.h"
#include "collect/session_directory.h"
#include "collect/session_processes.h"
#include "tracesmith/capture.h"

// ---- looking at one

static bool has_magic(const char *directory, const char *name) {
    char path[4096];
    uint64_t magic = 0;
    struct stat status;
    if ((size_t)snprintf(path, sizeof path, "%s/%s", directory, name) >= sizeof path)
        return false;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0)
        return false;
    bool is = fstat(fd, &status) == 0 && S_ISREG(status.st_mode) &&
              read(fd, &magic, sizeof magic) == sizeof magic && magic == LAYOUT_CONTROL_MAGIC;
    close(fd);
    return is;
}

int tsmith_capture_is_session(const char *directory) {
    return has_magic(directory, LAYOUT_CONTROL_NAME) || has_magic(directory, LAYOUT_CONTROL_KEPT_NAME);
}

// `processes`: NULL: those of this session are searched for.
static tsmith_status look_into(const char *directory, const struct session_processes *processes,
                               tsmith_capture_left *found, tsmith_error *error) {
    struct session_directory session;
    uint32_t unclear;
    tsmith_status status = session_directory_look(&session, directory, error);
    if (status)
        return status;
    const struct layout_control *control = session.control;
    memcpy(found->output, control->output, sizeof found->output);
    memcpy(found->command, control->command, sizeof found->command);
    found->user = session.user;
    found->collector_pid = atomic_load(&control->collector_pid);
    found->started_realtime = control->started_realtime;
    found->bytes = session_directory_bytes(&session);
    found->collected = session_directory_collected(&session);
    found->processes = processes ? session_processes_of(processes, session.path)
                                 : session_processes_alive(session.path, &unclear);
    session_directory_close(&session);
    return TSMITH_OK;
}

tsmith_status tsmith_capture_look(const char *directory, tsmith_capture_left *out, tsmith_error *error) {
    tsmith_capture_left found = {0};
    tsmith_status status = look_into(directory, NULL, &found, error);
    if (status)
        return status;
    sized_give(tsmith_capture_left, &found, out);
    return TSMITH_OK;
}

// ---- looking at all of them

struct search {
    void (*each)(void *context, const char *directory, const tsmith_capture_left *left);
    void *context;
    struct session_processes processes;
};

static void look_in(const char *root, const struct search *search) {
    DIR *folder = opendir(root);
    for (struct dirent *entry; folder && (entry = readdir(folder));) {
        char path[4096];
        tsmith_error error;
        tsmith_capture_left left = {.size = sizeof left};
        if (strncmp(entry->d_name, SESSION_DIRECTORY_PREFIX, sizeof SESSION_DIRECTORY_PREFIX - 1) != 0 ||
            (size_t)snprintf(path, sizeof path, "%s/%s", root, entry->d_name) >= sizeof path)
            continue;
        // Of another version, or damaged: nothing is known about it.
        if (tsmith_capture_is_session(path) &&
            look_into(path, &search->processes, &left, &error) == TSMITH_OK)
            search->each(search->context, path, &left);
    }
    if (folder)
        closedir(folder);
}

tsmith_status tsmith_capture_look_all(void (*each)(void *context, const char *directory,
                                                   const tsmith_capture_left *left),
                                      void *context, tsmith_error *error) {
    struct search search = {.each = each, .context = context};
    const char *temporary = getenv("TMPDIR");
    tsmith_status status = TSMITH_OK;
    if (session_processes_read(&search.processes)) {
        look_in("/dev/shm", &search);
        if (temporary && strcmp(temporary, "/tmp") != 0 && strcmp(temporary, "/dev/shm") != 0)
            look_in(temporary, &search);
        look_in("/tmp", &search);
    } else {
        status =
            status_set(error, TSMITH_ERROR_NO_MEMORY, "out of memory while reading the processes in /proc");
    }
    session_processes_finish(&search.processes);
    return status;
}

// ---- removing one

tsmith_status tsmith_capture_remove(const char *directory, tsmith_error *error) {
    struct session_directory session;
    uint32_t unclear;
    tsmith_status status = session_directory_open(&session, directory, error);
    if (status)
        return status;
    uint32_t processes = session_processes_alive(session.path, &unclear);
    if (processes > 0) {
        session_directory_close(&session);
        return status_set(error, TSMITH_ERROR_BUSY, "%u %s into %s; end %s first", processes,
                          plural(processes, "process still records", "processes still record"), directory,
                          plural(processes, "it", "them"));
    }
    session_directory_remove(&session);
    if (access(directory, F_OK) == 0)
        return status_set_errno(error, "%s could not be removed", directory);
    return TSMITH_OK;
}
