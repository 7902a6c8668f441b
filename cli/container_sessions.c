// SPDX-License-Identifier: Apache-2.0
// Finds other roots by the processes in /proc, and looks into them through /proc/PID/root. sessions.c calls it.
#include "cli/container_sessions.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "cli/present/terminal.h"
#include "cli/present/text.h"

enum { SEEN_MOST = 4096 };

// A root (of a mount namespace) or a folder. Containers often share folders with this machine or with each other.
struct place {
    uint64_t mounts, device, inode; // `mounts` 0: a folder
};

struct search {
    void (*each)(void *context, const char *directory, const tsmith_capture_left *left);
    void *context;
    struct place *seen;
    size_t count;
    bool cut;
};

// Whether it was not seen before.
static bool is_new(struct search *search, uint64_t mounts, const struct stat *status) {
    const struct place place = {mounts, status->st_dev, status->st_ino};
    for (size_t i = 0; i < search->count; i++) {
        const struct place *seen = &search->seen[i];
        if (seen->mounts == place.mounts && seen->device == place.device && seen->inode == place.inode)
            return false;
    }
    if (search->count == SEEN_MOST) {
        search->cut = true;
        return false;
    }
    search->seen[search->count++] = place;
    return true;
}

// A link is not followed: it can lead to a folder of ours.
static bool is_folder(const char *path, struct stat *status) {
    return lstat(path, status) == 0 && S_ISDIR(status->st_mode);
}

static void look_in(const char *root, const struct search *search) {
    struct text path = {0};
    struct stat status;
    DIR *directory = opendir(root);
    for (struct dirent *entry; directory && (entry = readdir(directory));) {
        tsmith_error error;
        tsmith_capture_left left = {.size = sizeof left};
        if (entry->d_name[0] == '.')
            continue;
        text_clear(&path);
        text_add_format(&path, "%s/%s", root, entry->d_name);
        if (is_folder(text_cstr(&path), &status) && tsmith_capture_is_session(text_cstr(&path)) &&
            tsmith_capture_look(text_cstr(&path), &left, &error) >= 0)
            search->each(search->context, text_cstr(&path), &left);
    }
    if (directory)
        closedir(directory);
    text_finish(&path);
}

static bool root_is_new(struct search *search, const char *process) {
    char path[300];
    struct stat mounts, root;
    snprintf(path, sizeof path, "/proc/%s/ns/mnt", process);
    if (stat(path, &mounts) != 0)
        return false;
    snprintf(path, sizeof path, "/proc/%s/root", process);
    return stat(path, &root) == 0 && is_new(search, mounts.st_ino, &root);
}

// What a process with another root has where `attach` puts sessions for it.
static void look_in_root(const char *process, struct search *search) {
    static const char *const folders[] = {"/dev/shm", "/tmp", "/var/tmp", "/run"};
    char path[300];
    struct stat status;
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        snprintf(path, sizeof path, "/proc/%s/root%s", process, folders[i]);
        if (is_folder(path, &status) && is_new(search, 0, &status))
            look_in(path, search);
    }
}

// What sessions_each has looked into.
static void note_own(struct search *search) {
    const char *const folders[] = {"/dev/shm", getenv("TMPDIR"), "/tmp"};
    struct stat status;
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
        if (folders[i] && stat(folders[i], &status) == 0)
            (void)is_new(search, 0, &status);
    (void)root_is_new(search, "self");
}

void container_sessions_each(void (*each)(void *context, const char *directory,
                                          const tsmith_capture_left *left),
                             void *context) {
    struct search search = {.each = each, .context = context, .seen = calloc(SEEN_MOST, sizeof *search.seen)};
    DIR *proc = search.seen ? opendir("/proc") : NULL;
    if (proc)
        note_own(&search);
    for (struct dirent *entry; proc && (entry = readdir(proc));)
        if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9' && root_is_new(&search, entry->d_name))
            look_in_root(entry->d_name, &search);
    if (search.cut)
        complain("recordings in containers were looked for in %d places; there are more", SEEN_MOST);
    if (proc)
        closedir(proc);
    free(search.seen);
}
