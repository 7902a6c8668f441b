// SPDX-License-Identifier: Apache-2.0
// The calls that allocated and freed device memory: their stacks and threads.
#include <string.h>

#include "analyze/memory.h"
#include "base/array.h"

struct memory_call {
    uint64_t correlation;
    int64_t start;
    uint32_t process, stack, track;
};

static bool may_allocate(struct memory_calls *calls, const tsmith_dictionary *dictionary, uint32_t name) {
    static const char *const PARTS[] = {"lloc", "ree", "MemCreate", "Release", "Buffer", "Image", "Pipe"};
    const size_t had = calls->about_capacity;
    if (name >= had) {
        if (!ARRAY_RESERVE(calls->about, calls->about_capacity, (size_t)name + 1))
            return false;
        memset(calls->about + had, 0, calls->about_capacity - had);
    }
    if (!calls->about[name]) {
        calls->about[name] = 1;
        for (size_t i = 0; i < sizeof PARTS / sizeof *PARTS; i++)
            if (strstr(tsmith_dictionary_string(dictionary, name).bytes, PARTS[i]))
                calls->about[name] = 2;
    }
    return calls->about[name] == 2;
}

bool memory_calls_add(struct memory_calls *calls, const tsmith_dictionary *dictionary,
                      const struct memory_change *change, uint32_t process) {
    if (!may_allocate(calls, dictionary, change->name))
        return true;
    struct memory_call *call = ARRAY_PUSH(calls->items, calls->count, calls->capacity);
    if (call)
        *call =
            (struct memory_call){change->correlation, change->time, process, change->stack, change->track};
    return call;
}

static int by_correlation(const void *left, const void *right) {
    const struct memory_call *a = left, *b = right;
    if (a->process != b->process)
        return a->process < b->process ? -1 : 1;
    return a->correlation < b->correlation ? -1 : a->correlation > b->correlation;
}

static int by_start(const void *left, const void *right) {
    const struct memory_call *a = left, *b = right;
    if (a->track != b->track)
        return a->track < b->track ? -1 : 1;
    return a->start < b->start ? -1 : a->start > b->start;
}

// A change has the stack and the thread of the call with its correlation (CUDA, ROCm), or of the call that begins with it on its
// thread (OpenCL, Level Zero, Vulkan).
void memory_calls_join(struct memory_calls *calls, struct memory_change *changes, size_t count) {
    static int (*const orders[])(const void *, const void *) = {by_correlation, by_start};
    for (size_t order = 0; calls->count && order < sizeof orders / sizeof *orders; order++) {
        qsort(calls->items, calls->count, sizeof *calls->items, orders[order]);
        for (size_t i = 0; i < count; i++) {
            struct memory_change *change = &changes[i];
            const struct memory_call key = {.correlation = change->correlation,
                                            .start = change->time,
                                            .process = (uint32_t)(change->place >> 32),
                                            .track = change->track};
            if (change->stack || (order == 0 && !change->correlation))
                continue;
            const struct memory_call *call =
                bsearch(&key, calls->items, calls->count, sizeof key, orders[order]);
            change->thread = call ? call->track : change->thread;
            change->stack = call ? call->stack : 0;
        }
    }
}

void memory_calls_finish(struct memory_calls *calls) {
    free(calls->items);
    free(calls->about);
}
