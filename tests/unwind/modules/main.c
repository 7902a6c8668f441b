// SPDX-License-Identifier: Apache-2.0
// main PLUGIN PLUGIN: random call paths through the program, a library and a plugin that is closed and replaced by the other
// one, again and again, while a thread does the same with a third module. Every stack must be the path, and what
// backtrace() finds. Prints how many stacks were compared and how many of them were different paths.
#include <dlfcn.h>
#include <execinfo.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "path.h"
#include "unwind/unwind.h"
#include "unwind/unwind_table.h"
#include "wire/stack_table.h"

#ifndef TEST_ROUNDS
#define TEST_ROUNDS 40 // an emulator is asked for less
#endif
enum { ROUNDS = TEST_ROUNDS, PATHS = 250, FRAMES_MAX = 256, TABLE_BYTES = 16 << 20 };

extern path_function *const functions[PATH_FUNCTIONS]; // the library's

static struct unwind_thread thread;
static struct stack_table *table;
static atomic_bool is_over;
static uint32_t compared, same_place;

static void require(int right, const char *what) {
    if (!right) {
        fprintf(stderr, "%s\n", what);
        exit(1);
    }
}

__attribute__((noinline)) uint64_t path_arrive(struct path *path) {
    uint64_t frames[FRAMES_MAX], other[FRAMES_MAX];
    struct unwind_registers registers;
    PATH_NOTE(path);
    unwind_capture(&registers);
    struct unwind_result result = unwind_walk(&thread, &registers, frames, FRAMES_MAX);
    int count = backtrace((void **)other, FRAMES_MAX);
    require(result.end == UNWIND_OUTERMOST && result.exact == result.count,
            "the walk did not get to the end");
    require(result.count > path->count, "too few frames");
    for (uint32_t i = 0; i < path->count; i++)
        require(frames[1 + i] == path->noted[path->count - 1 - i], "not the path that was taken");
    if (count > (int)result.count) // the address sanitizer's backtrace() is one more frame
        memmove(other, other + 1, (size_t)(--count) * sizeof *other);
    require((int)result.count == count &&
                !memcmp(frames + 1, other + 1, (size_t)(count - 1) * sizeof *frames),
            "not what backtrace() finds");
    struct stack_view view;
    uint32_t id = stack_table_add(table, stack_table_hash(frames, result.count, 0), frames, result.count, 0);
    require(id && stack_table_get(table, TABLE_BYTES, id, &view) && view.count == result.count &&
                !memcmp(view.frames, frames, result.count * sizeof *frames),
            "the table gave another stack back");
    compared++;
    return id;
}

static uint64_t take_paths(path_function *const *plugin, uint64_t *random) {
    uint64_t sum = 0;
    for (int i = 0; i < PATHS; i++) {
        struct path path = {0};
        *random = *random * 6364136223846793005u + 1442695040888963407u;
        path.length = 1 + (uint32_t)(*random >> 40) % (PATH_MAX_DEPTH - 4);
        for (uint32_t at = 0; at < path.length; at++) {
            *random = *random * 6364136223846793005u + 1442695040888963407u;
            path.functions[at] = (*random >> 63 ? plugin : functions)[(*random >> 33) % PATH_FUNCTIONS];
        }
        sum += path_next(&path);
    }
    return sum;
}

static void *open_and_close(void *name) {
    while (!atomic_load(&is_over)) {
        void *handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);
        require(handle != NULL, "a thread's module does not load");
        unwind_table_refresh(NULL);
        dlclose(handle);
        unwind_table_refresh(NULL);
    }
    return NULL;
}

int main(int argc, char **argv) {
    pthread_t other;
    uint64_t random = 7, sum = 0;
    const void *last = NULL;
    require(argc == 4, "usage: main PLUGIN PLUGIN MODULE");
    table = stack_table_init(calloc(1, TABLE_BYTES), TABLE_BYTES);
    require(table && unwind_table_refresh(NULL) && unwind_thread_init(&thread), "cannot begin");
    require(pthread_create(&other, NULL, open_and_close, argv[3]) == 0, "no thread");
    for (int round = 0; round < ROUNDS; round++) {
        void *handle = dlopen(argv[1 + round % 2], RTLD_NOW | RTLD_LOCAL);
        require(handle != NULL, "a plugin does not load");
        unwind_table_refresh(NULL);
        path_function *const *plugin = dlsym(handle, "functions");
        same_place += plugin == last;
        last = plugin;
        sum += take_paths(plugin, &random);
        dlclose(handle);
    }
    atomic_store(&is_over, true);
    pthread_join(other, NULL);
    printf("%u stacks, the plugins in the same place %u times (%llu)\n", compared, same_place,
           (unsigned long long)sum);
    return compared != ROUNDS * PATHS;
}
