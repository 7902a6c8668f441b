// SPDX-License-Identifier: Apache-2.0
// Finds the launcher that started a process. Channels describe their process with it, and src/api/launcher.c names files.
#include "wire/launcher.h"

#include <string.h>

// How a launcher's variables are called.
struct launcher {
    const char *name, *needed, *rank, *world, *local_rank, *local_world, *node, *job;
};

static const struct launcher launchers[] = {
#define LAUNCHER(name, doc, ...) {name, __VA_ARGS__},
    TSMITH_LAUNCHER_TABLE(LAUNCHER)
#undef LAUNCHER
};

static const tsmith_launch unknown = {sizeof unknown, -1, -1, -1, -1, -1, "", ""};

// A number of at most 9 digits, so that one more fits 32 bits. False if the variable is set to anything else.
static bool read_number(launcher_look *look, const void *context, const char *name, int64_t *out) {
    const char *text = *name ? look(context, name) : NULL;
    int64_t value = 0;
    *out = -1;
    if (!text)
        return true;
    const size_t digits = strspn(text, "0123456789");
    if (!digits || digits > 9 || text[digits])
        return false;
    for (size_t i = 0; i < digits; i++)
        value = 10 * value + (text[i] - '0');
    *out = value;
    return true;
}

static bool agrees(int64_t number, int64_t count) {
    return number < 0 || count < 0 || number < count;
}

static bool read_launcher(const struct launcher *launcher, launcher_look *look, const void *context,
                          tsmith_launch *out) {
    if (!look(context, launcher->needed) || !read_number(look, context, launcher->rank, &out->rank) ||
        !read_number(look, context, launcher->world, &out->world) ||
        !read_number(look, context, launcher->local_rank, &out->local_rank) ||
        !read_number(look, context, launcher->local_world, &out->local_world) ||
        !read_number(look, context, launcher->node, &out->node))
        return false;
    if (out->rank < 0 || !agrees(out->rank, out->world) || !agrees(out->local_rank, out->local_world) ||
        !agrees(out->local_rank, out->world))
        return false;
    const char *job = *launcher->job ? look(context, launcher->job) : NULL;
    const size_t length = job ? strnlen(job, sizeof out->job - 1) : 0;
    if (length)
        memcpy(out->job, job, length);
    out->job[length] = '\0';
    memcpy(out->launcher, launcher->name, strlen(launcher->name) + 1);
    return true;
}

bool launcher_read(launcher_look *look, const void *context, tsmith_launch *out) {
    for (size_t i = 0; i < sizeof launchers / sizeof launchers[0]; i++) {
        *out = unknown;
        if (read_launcher(&launchers[i], look, context, out))
            return true;
    }
    *out = unknown;
    return false;
}
