// SPDX-License-Identifier: Apache-2.0
// The rank of a process by its environment, and names of output files with it. Commands and sessions call it.
#include "tracesmith/launcher.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/output_pattern.h"
#include "base/array.h"
#include "base/sized.h"
#include "base/status.h"
#include "wire/launcher.h"

// The environment with which a process began: "NAME=VALUE", each with a null byte after it.
struct block {
    char *bytes;
    size_t length;
};

static const char *look_here(const void *context, const char *name) {
    (void)context;
    return getenv(name);
}

static const char *look_in_block(const void *context, const char *name) {
    const struct block *block = context;
    const size_t length = strlen(name);
    for (size_t at = 0; at < block->length; at += strlen(block->bytes + at) + 1)
        if (strncmp(block->bytes + at, name, length) == 0 && block->bytes[at + length] == '=')
            return block->bytes + at + length + 1;
    return NULL;
}

// Empty if it cannot be read. Ends with a null byte that does not count.
static struct block read_block(uint32_t pid) {
    enum { STEP = 1 << 16, MOST = 1 << 24 };
    struct block block = {0};
    size_t capacity = 0;
    char path[64];
    snprintf(path, sizeof path, "/proc/%u/environ", pid);
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    for (ssize_t got = fd < 0 ? 0 : 1; got > 0 && block.length < MOST;) {
        if (!ARRAY_RESERVE(block.bytes, capacity, block.length + STEP + 1))
            break;
        got = read(fd, block.bytes + block.length, STEP);
        block.length += got > 0 ? (size_t)got : 0;
    }
    if (fd >= 0)
        close(fd);
    if (block.bytes)
        block.bytes[block.length] = '\0';
    return block;
}

int tsmith_launch_find(uint32_t pid, tsmith_launch *out) {
    tsmith_launch launch;
    bool known;
    if (pid == 0 || pid == (uint32_t)getpid()) {
        known = launcher_read(look_here, NULL, &launch);
    } else {
        const struct block block = read_block(pid);
        known = launcher_read(look_in_block, &block, &launch);
        free(block.bytes);
    }
    sized_give(tsmith_launch, &launch, out);
    return known;
}

static tsmith_status rank_unknown(const char *pattern, uint32_t pid, tsmith_error *error) {
    if (pid)
        return status_set(
            error, TSMITH_ERROR_INVALID_ARGUMENT,
            "%s: the rank (%%r) of process %u is not known: its environment has no variable of a "
            "launcher (torchrun, mpirun, srun). Use %%p, the process id, or another name",
            pattern, pid);
    return status_set(
        error, TSMITH_ERROR_INVALID_ARGUMENT,
        "%s: the rank (%%r) is not known here: no launcher (torchrun, mpirun, srun) has set it in "
        "the environment. Let the launcher start tracesmith: 'mpirun -n 4 tracesmith profile -o "
        "run.%%r.sbt -- ./program', 'torchrun --no-python ... tracesmith profile -o run.%%r.sbt "
        "-- python train.py'",
        pattern);
}

// The text of a letter; NULL if there is none.
static const char *text_of(char letter, uint32_t pid, const struct output_parts *parts, char room[256]) {
    tsmith_launch launch = {.size = sizeof launch};
    switch (letter) {
    case '%':
        return "%";
    case 'p':
        if (parts && parts->process)
            return parts->process;
        snprintf(room, 256, "%u", pid ? pid : (uint32_t)getpid());
        return room;
    case 'h':
        if (parts && parts->host)
            return parts->host;
        room[255] = '\0';
        return gethostname(room, 255) == 0 && *room && !strchr(room, '/') ? room : NULL;
    case 'r':
        if (parts && parts->rank)
            return parts->rank;
        if (!tsmith_launch_find(pid, &launch))
            return NULL;
        snprintf(room, 256, "%lld", (long long)launch.rank);
        return room;
    default:
        return NULL;
    }
}

tsmith_status output_expand(const char *pattern, uint32_t pid, const struct output_parts *parts, char *out,
                            size_t size, tsmith_error *error) {
    char room[256];
    size_t length = 0;
    for (const char *at = pattern; *at; at++) {
        const char *text = room;
        if (*at == '%')
            text = text_of(*++at, pid, parts, room);
        else
            memcpy(room, (const char[2]){*at, '\0'}, 2);
        if (!text && *at == 'r')
            return rank_unknown(pattern, pid, error);
        if (!text && *at == 'h')
            return status_set(error, TSMITH_ERROR_INVALID_ARGUMENT, "%s: the host (%%h) has no name",
                              pattern);
        if (!text)
            return status_set(
                error, TSMITH_ERROR_INVALID_ARGUMENT,
                "%s: the name of the output has '%%%.1s'; known are %%r (rank), %%h (host name), "
                "%%p (process id) and %%%% (a percent sign)",
                pattern, at);
        const size_t bytes = strlen(text);
        if (bytes >= size - length)
            return status_set(error, TSMITH_ERROR_INVALID_ARGUMENT, "the name of the output is too long: %s",
                              pattern);
        memcpy(out + length, text, bytes);
        length += bytes;
    }
    out[length] = '\0';
    return TSMITH_OK;
}

tsmith_status tsmith_output_expand(const char *pattern, uint32_t pid, char *out, size_t size,
                                   tsmith_error *error) {
    return output_expand(pattern, pid, NULL, out, size, error);
}

bool output_has(const char *pattern, char letter) {
    for (const char *at = strchr(pattern, '%'); at && at[1]; at = strchr(at + 2, '%'))
        if (at[1] == letter)
            return true;
    return false;
}

int tsmith_output_splits(const char *pattern) {
    tsmith_launch launch = {.size = sizeof launch};
    return output_has(pattern, 'p') || (output_has(pattern, 'r') && !tsmith_launch_find(0, &launch));
}

tsmith_status tsmith_output_whole(const char *pattern, char *out, size_t size, tsmith_error *error) {
    tsmith_launch launch = {.size = sizeof launch};
    char process[32];
    struct output_parts parts = {.rank = tsmith_launch_find(0, &launch) ? NULL : "all", .process = process};
    const char *slash = strrchr(pattern, '/');
    char *folder = slash ? strndup(pattern, (size_t)(slash - pattern)) : NULL;
    const bool in_folder = folder && (output_has(folder, 'p') || (parts.rank && output_has(folder, 'r')));
    free(folder);
    if (in_folder)
        return status_set(
            error, TSMITH_ERROR_INVALID_ARGUMENT,
            "%s: %%r and %%p must be in the name of the file, not of its folder, if one recording "
            "is written to a file per rank or process",
            pattern);
    snprintf(process, sizeof process, "all%u", (unsigned)getpid());
    return output_expand(pattern, 0, &parts, out, size, error);
}
