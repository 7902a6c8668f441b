// SPDX-License-Identifier: Apache-2.0
// Finds the mount namespaces by the processes in /proc, and looks into them through /proc/PID/root. sessions.c calls it.
#include "cli/container_sessions.h"

#include <dirent.h>
#include <stdio.h>
#include <sys/stat.h>

#include "cli/present/text.h"

struct visitor {
    void (*each)(void *context, const char *directory, const tsmith_capture_left *left);
    void *context;
};

static void look_in(const char *root, const struct visitor *visitor) {
    struct text path = {0};
    DIR *directory = opendir(root);
    for (struct dirent *entry; directory && (entry = readdir(directory));) {
        tsmith_error error;
        tsmith_capture_left left = {.size = sizeof left};
        if (entry->d_name[0] == '.')
            continue;
        text_clear(&path);
        text_add_format(&path, "%s/%s", root, entry->d_name);
        if (tsmith_capture_is_session(text_cstr(&path)) &&
            tsmith_capture_look(text_cstr(&path), &left, &error) >= 0)
            visitor->each(visitor->context, text_cstr(&path), &left);
    }
    if (directory)
        closedir(directory);
    text_finish(&path);
}

static uint64_t mounts_of(const char *process) {
    char path[300];
    struct stat status;
    snprintf(path, sizeof path, "/proc/%s/ns/mnt", process);
    return stat(path, &status) == 0 ? (uint64_t)status.st_ino : 0;
}

static bool is_link(const char *path) {
    struct stat status;
    return lstat(path, &status) != 0 || !S_ISDIR(status.st_mode);
}

// What a process with other mounts has where `attach` puts sessions for it.
static void look_in_root(const char *process, const struct visitor *visitor) {
    static const char *const folders[] = {"/dev/shm", "/tmp", "/var/tmp", "/run"};
    char path[300];
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        snprintf(path, sizeof path, "/proc/%s/root%s", process, folders[i]);
        if (!is_link(path))
            look_in(path, visitor);
    }
}

void container_sessions_each(void (*each)(void *context, const char *directory,
                                          const tsmith_capture_left *left),
                             void *context) {
    enum { MOST = 256 };
    const struct visitor visitor = {each, context};
    uint64_t seen[MOST];
    size_t count = 0;
    DIR *proc = opendir("/proc");
    seen[count++] = mounts_of("self");
    for (struct dirent *entry; proc && count < MOST && (entry = readdir(proc));) {
        const uint64_t mounts =
            entry->d_name[0] >= '1' && entry->d_name[0] <= '9' ? mounts_of(entry->d_name) : 0;
        size_t i = 0;
        while (i < count && seen[i] != mounts)
            i++;
        if (!mounts || i < count)
            continue;
        seen[count++] = mounts;
        look_in_root(entry->d_name, &visitor);
    }
    if (proc)
        closedir(proc);
}
