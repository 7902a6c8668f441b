// SPDX-License-Identifier: Apache-2.0
// Rules: agent.h. The table of code objects only grows, and is read without a lock; that of lines is under one, which is
// not held while CUPTI is asked.
#include "pc_source.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "cupti_sampling.h"
#include "library.h"

enum { CUBINS = 4096, PLACES = 1 << 15, PATH_BYTES = 4096 };
static const size_t KEPT_MAX = (size_t)256 << 20;

struct cubin {
    uint64_t crc;
    const void *at;
    _Atomic size_t bytes; // 0: none; written last
};

struct place {
    uint64_t crc, offset;
    uint32_t function;
    bool used;
    struct pc_source source;
};

static int (*get_crc)(struct cupti_cubin_crc *);
static int (*get_source)(struct cupti_source *);
static struct cubin *cubins;
static _Atomic size_t cubin_count, kept;
static struct place *places;
static size_t used;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; // of places

static void *map(size_t bytes) {
    void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return at == MAP_FAILED ? NULL : at;
}

bool pc_source_init(void) {
    *(void **)&get_crc = dlsym(cupti.handle, "cuptiGetCubinCrc");
    *(void **)&get_source = dlsym(cupti.handle, "cuptiGetSassToSourceCorrelation");
    cubins = map(CUBINS * sizeof *cubins);
    places = map(PLACES * sizeof *places);
    return get_crc && get_source && cubins && places;
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
    void *copy = map(bytes);
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

static struct pc_source ask(const struct cubin *cubin, const struct cupti_pc *pc) {
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

// Where it is or belongs; NULL when the table is so full that it would be slow to search.
static struct place *find_place(const struct cupti_pc *pc) {
    uint64_t hash = (pc->cubin_crc ^ pc->offset) * UINT64_C(0x9e3779b97f4a7c15) + pc->function_index;
    hash = (hash ^ hash >> 29) * UINT64_C(0xbf58476d1ce4e5b9);
    for (size_t at = hash >> 32 & (PLACES - 1);; at = (at + 1) & (PLACES - 1)) {
        struct place *place = &places[at];
        if (!place->used)
            return used < PLACES / 4 * 3 ? place : NULL;
        if (place->crc == pc->cubin_crc && place->offset == pc->offset &&
            place->function == pc->function_index)
            return place;
    }
}

// CUPTI may take long, so each instruction is asked for once.
struct pc_source pc_source_find(const struct cupti_pc *pc) {
    struct pc_source source = {0, 0};
    pthread_mutex_lock(&lock);
    struct place *place = find_place(pc);
    const bool known = place && place->used;
    if (known)
        source = place->source;
    pthread_mutex_unlock(&lock);
    const struct cubin *cubin = known || !place || !pc->function ? NULL : find_cubin(pc->cubin_crc);
    if (known || !place)
        return source;
    if (cubin)
        source = ask(cubin, pc);
    pthread_mutex_lock(&lock);
    place = find_place(pc);
    if (place && !place->used) {
        *place = (struct place){pc->cubin_crc, pc->offset, pc->function_index, true, source};
        used++;
    }
    pthread_mutex_unlock(&lock);
    return source;
}
