// SPDX-License-Identifier: Apache-2.0
// Finds the source lines of sampled instructions; pc_sampling.c calls it. Rules: agent.h. The table of code objects
// only grows, and is read without a lock; that of lines is under one, which is not held while CUPTI is asked.
#include "pc_source.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "agentkit/map.h"
#include "cupti_sampling.h"
#include "library.h"
#include "wire/memory.h"

enum { CUBINS = 4096, PLACES = 24 << 10, LOG2_BUCKETS = 14, PATH_BYTES = 4096 };
static const size_t KEPT_MAX = (size_t)256 << 20;

struct cubin {
    uint64_t crc;
    const void *at;
    _Atomic size_t bytes; // 0: none; written last
};

struct place {
    uint64_t crc, offset;
    uint32_t function;
    struct pc_source source;
};

static int (*get_crc)(struct cupti_cubin_crc *);
static int (*get_source)(struct cupti_source *);
static struct cubin *cubins;
static _Atomic size_t cubin_count, kept;
static struct place *places;
static size_t used;
static struct map by_pc; // from the hash of an instruction to the number of its place, from 1
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; // of places

bool pc_source_init(void) {
    *(void **)&get_crc = dlsym(cupti.handle, "cuptiGetCubinCrc");
    *(void **)&get_source = dlsym(cupti.handle, "cuptiGetSassToSourceCorrelation");
    cubins = memory_take(CUBINS * sizeof *cubins);
    places = memory_take(PLACES * sizeof *places);
    return get_crc && get_source && cubins && places && map_init(&by_pc, LOG2_BUCKETS);
}

static const struct cubin *find_cubin(uint64_t crc) {
    const size_t count = atomic_load(&cubin_count);
    for (size_t i = 0; i < count && i < CUBINS; i++)
        if (atomic_load(&cubins[i].bytes) && cubins[i].crc == crc)
            return &cubins[i];
    return NULL;
}

void pc_source_keep(const void *cubin, size_t bytes) {
    struct cupti_cubin_crc params = {.size = sizeof params, .bytes = bytes, .cubin = cubin};
    if (bytes > KEPT_MAX || get_crc(&params) != CUPTI_OK || find_cubin(params.crc))
        return;
    if (atomic_fetch_add(&kept, bytes) + bytes > KEPT_MAX) {
        atomic_fetch_sub(&kept, bytes);
        return;
    }
    void *copy = memory_take(bytes);
    const size_t number = copy ? atomic_fetch_add(&cubin_count, 1) : CUBINS;
    if (number >= CUBINS) {
        if (copy)
            munmap(copy, bytes);
        return;
    }
    memcpy(copy, cubin, bytes);
    cubins[number].crc = params.crc;
    cubins[number].at = copy;
    atomic_store(&cubins[number].bytes, bytes);
}

static struct pc_source ask_for_source(const struct cubin *cubin, const struct cupti_pc *pc) {
    struct pc_source source = {0, 0};
    struct cupti_source params = {.size = sizeof params,
                                  .cubin = cubin->at,
                                  .function = pc->function,
                                  .bytes = cubin->bytes,
                                  .offset = pc->offset};
    char path[PATH_BYTES];
    if (get_source(&params) == CUPTI_OK && params.file && params.line) {
        const bool whole = !params.directory || !*params.directory || *params.file == '/';
        snprintf(path, sizeof path, "%s%s%s", whole ? "" : params.directory, whole ? "" : "/", params.file);
        source = (struct pc_source){channel_string_cstr(agent.channel, path), params.line};
    }
    free(params.file);
    free(params.directory);
    return source;
}

static const void *hash_of(const struct cupti_pc *pc) {
    uint64_t hash = (pc->cubin_crc ^ pc->offset) * UINT64_C(0x9e3779b97f4a7c15) + pc->function_index;
    hash = (hash ^ hash >> 29) * UINT64_C(0xbf58476d1ce4e5b9);
    return (const void *)(uintptr_t)(hash | 2); // NOLINT: no address; 0 and 1 are no keys
}

// Under the lock.
static const struct place *find_place(const struct cupti_pc *pc) {
    const uint64_t number = map_get(&by_pc, hash_of(pc));
    const struct place *place = number ? &places[number - 1] : NULL;
    return place && place->crc == pc->cubin_crc && place->offset == pc->offset &&
                   place->function == pc->function_index
               ? place
               : NULL;
}

// Under the lock: false when there is no room for it.
static bool reserve_place(const struct cupti_pc *pc) {
    return used < PLACES && !map_get(&by_pc, hash_of(pc)) && map_put(&by_pc, hash_of(pc), 0);
}

// CUPTI may take long, so each instruction is asked for once.
struct pc_source pc_source_find(const struct cupti_pc *pc) {
    pthread_mutex_lock(&lock);
    const struct place *place = find_place(pc);
    const bool asks = !place && pc->function && reserve_place(pc);
    struct pc_source source = place ? place->source : (struct pc_source){0, 0};
    pthread_mutex_unlock(&lock);
    if (!asks)
        return source;
    const struct cubin *cubin = find_cubin(pc->cubin_crc);
    if (cubin)
        source = ask_for_source(cubin, pc);
    pthread_mutex_lock(&lock);
    if (!find_place(pc) && reserve_place(pc)) {
        places[used++] = (struct place){pc->cubin_crc, pc->offset, pc->function_index, source};
        map_put(&by_pc, hash_of(pc), used);
    }
    pthread_mutex_unlock(&lock);
    return source;
}
