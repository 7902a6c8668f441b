// SPDX-License-Identifier: Apache-2.0
// The traces of a rank, read by `tracesmith analyze --partial` in child processes.
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/present/terminal.h"
#include "mpi_program.h"

extern char **environ;

enum { BATCH = 256 }; // files of one child: a command line has room for them

// ---- files

void files_finish(struct files *files) {
    for (size_t i = 0; i < files->count; i++)
        free(files->paths[i]);
    free(files->paths);
    *files = (struct files){0};
}

static bool add_path(struct files *files, const char *path) {
    if (files->count == files->capacity) {
        const size_t capacity = files->capacity ? files->capacity * 2 : 64;
        char **moved = realloc(files->paths, capacity * sizeof *moved);
        if (!moved)
            return false;
        files->paths = moved;
        files->capacity = capacity;
    }
    files->paths[files->count] = strdup(path);
    return files->paths[files->count++] != NULL;
}

static int by_path(const void *left, const void *right) {
    return strcmp(*(char *const *)left, *(char *const *)right);
}

bool files_list(const char *folder, struct files *files) {
    struct dirent *entry;
    char path[PATH_MAX];
    struct stat status;
    const size_t length = strlen(folder);
    const char *slash = length && folder[length - 1] == '/' ? "" : "/";
    DIR *directory = opendir(folder);
    bool done = directory != NULL;
    *files = (struct files){0};
    while (done && (entry = readdir(directory))) {
        if (entry->d_name[0] == '.' || strchr(entry->d_name, '\n') ||
            (size_t)snprintf(path, sizeof path, "%s%s%s", folder, slash, entry->d_name) >= sizeof path ||
            stat(path, &status) != 0 || !S_ISREG(status.st_mode))
            continue;
        done = add_path(files, path);
    }
    if (!done)
        complain("%s cannot be read: %s", folder, strerror(errno));
    if (directory)
        (void)closedir(directory);
    if (files->count)
        qsort(files->paths, files->count, sizeof *files->paths, by_path);
    return done;
}

// FNV-1a
static uint64_t add_to_hash(uint64_t hash, const void *bytes, size_t size) {
    const unsigned char *at = bytes;
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ at[i]) * 0x100000001b3;
    return hash;
}

uint64_t files_digest(const struct files *files) {
    uint64_t hash = 0xcbf29ce484222325;
    struct stat status;
    for (size_t i = 0; i < files->count; i++) {
        if (stat(files->paths[i], &status) != 0)
            memset(&status, 0, sizeof status);
        hash = add_to_hash(hash, files->paths[i], strlen(files->paths[i]) + 1);
        hash = add_to_hash(hash, &status.st_size, sizeof status.st_size);
        hash = add_to_hash(hash, &status.st_mtim, sizeof status.st_mtim);
    }
    return hash;
}

void files_keep(struct files *files, size_t first, size_t size) {
    size_t kept = 0;
    for (size_t i = 0; i < files->count; i++) {
        if (i % size == first)
            files->paths[kept++] = files->paths[i];
        else
            free(files->paths[i]);
    }
    files->count = kept;
}

// ---- children

static void complain_memory(void) {
    complain("out of memory");
}

// Starts `tracesmith` with the words, its output in `out`, and a pipe that it holds open until it ends.
static bool start(struct map *map, char *const *words, int out) {
    posix_spawn_file_actions_t actions;
    int ends[2];
    pid_t child = 0;
    if (pipe2(ends, O_CLOEXEC) != 0)
        return false;
    int held = fcntl(ends[1], F_DUPFD, 10); // open in the child
    (void)close(ends[1]);
    bool done = held >= 0 && posix_spawn_file_actions_init(&actions) == 0;
    if (done) {
        done = posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO) == 0 &&
               posix_spawn(&child, map->command, &actions, NULL, words, environ) == 0;
        (void)posix_spawn_file_actions_destroy(&actions);
    }
    if (held >= 0)
        (void)close(held);
    if (!done) {
        (void)close(ends[0]);
        return false;
    }
    map->child = child;
    map->end_fd = ends[0];
    return true;
}

static void miss(struct map *map, size_t file, const char *reason) {
    tsmith_error error;
    if (tsmith_ranks_add_missing(map->ranks, map->files->paths[file], reason, &error) != TSMITH_OK)
        complain("%s", error.message);
    map->code = EXIT_DAMAGED;
}

static void miss_batch(struct map *map, const char *reason) {
    for (size_t i = 0; i < map->batch; i++)
        miss(map, map->next + i, reason);
    map->next += map->batch;
}

bool map_next(struct map *map) {
    char *words[BATCH + 6] = {"tracesmith", "analyze", "--partial", "--output", "-"};
    while (map->next < map->files->count) {
        if (map->next >= map->alone_until)
            map->alone = false;
        const size_t left = map->files->count - map->next;
        map->batch = map->alone ? 1 : left < BATCH ? left : BATCH;
        for (size_t i = 0; i < map->batch; i++)
            words[5 + i] = map->files->paths[map->next + i];
        words[5 + map->batch] = NULL;
        map->bytes_fd = memfd_create("partial", MFD_CLOEXEC);
        if (map->bytes_fd >= 0 && start(map, words, map->bytes_fd))
            return true;
        if (map->bytes_fd >= 0)
            (void)close(map->bytes_fd);
        miss_batch(map, "the process that was to read it could not be started");
    }
    return false;
}

static void take_partial(struct map *map) {
    struct stat status;
    tsmith_error error;
    void *bytes = NULL;
    const bool read =
        fstat(map->bytes_fd, &status) == 0 && status.st_size > 0 &&
        (bytes = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, map->bytes_fd, 0)) != MAP_FAILED;
    if (!read) {
        miss_batch(map, "the process that read it left no partial");
        return;
    }
    if (tsmith_ranks_add_partial(map->ranks, "partial", bytes, (size_t)status.st_size, &error) == TSMITH_OK)
        map->next += map->batch;
    else
        miss_batch(map, error.message);
    (void)munmap(bytes, (size_t)status.st_size);
}

void map_take(struct map *map) {
    int status = 0;
    while (waitpid(map->child, &status, 0) < 0 && errno == EINTR) {
    }
    const int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    char reason[80];
    if (code == EXIT_DONE || code == EXIT_DAMAGED) {
        map->code = code > map->code ? code : map->code;
        take_partial(map);
    } else if (map->batch > 1) { // one of them may be the cause
        map->alone = true;
        map->alone_until = map->next + map->batch;
    } else {
        if (code < 0)
            (void)snprintf(reason, sizeof reason, "the process that read it was killed by signal %d",
                           WTERMSIG(status));
        else
            (void)snprintf(reason, sizeof reason, "the process that read it ended with exit code %d", code);
        miss_batch(map, reason);
    }
    (void)close(map->bytes_fd);
    (void)close(map->end_fd);
    map->child = 0;
    map->bytes_fd = map->end_fd = -1;
}

// ---- the answer

static bool write_all(int fd, const char *bytes, size_t size) {
    while (size) {
        const ssize_t written = write(fd, bytes, size);
        if (written <= 0 && errno != EINTR)
            return false;
        bytes += written > 0 ? written : 0;
        size -= written > 0 ? (size_t)written : 0;
    }
    return true;
}

int map_answer(const char *command, const void *partial, size_t size, char *const *options, size_t count) {
    char path[32];
    pid_t child;
    int status = 0;
    const int fd = memfd_create("partial", 0); // open in the child
    char **words = calloc(count + 5, sizeof *words);
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (fd < 0 || !words || !write_all(fd, partial, size)) {
        complain_memory();
        free(words);
        return EXIT_LACKING;
    }
    words[0] = "tracesmith";
    words[1] = "analyze";
    words[2] = "--ranks";
    words[3] = path;
    if (count)
        memcpy(words + 4, options, count * sizeof *words);
    const bool started = posix_spawn(&child, command, NULL, NULL, words, environ) == 0;
    while (started && waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    free(words);
    (void)close(fd);
    if (started && WIFEXITED(status))
        return WEXITSTATUS(status);
    complain("%s %s", command, started ? "was killed while it wrote the answer" : "cannot be started");
    return EXIT_LACKING;
}
