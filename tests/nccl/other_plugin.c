// SPDX-License-Identifier: Apache-2.0
// Another profiler plugin, of version 6 only: counts its events, and writes the counts when the communicator
// ends into the file that OTHER_PLUGIN_COUNTS names. A parent that it gets must be a handle of its own.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "abi.h"

enum { MAGIC = 0x5eed };
struct handle {
    int magic;
    uint64_t type;
};
static struct { long started, stopped, states, parents, wrong; } counts[16];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct handle comm = {MAGIC, 0};

static int index_of(uint64_t type) {
    return __builtin_ctzll(type);
}

static int init(void **context, uint64_t id, int *mask, const char *name, int nodes, int ranks, int rank,
                nccl_log *log) {
    (void)id, (void)name, (void)nodes, (void)ranks, (void)rank, (void)log;
    *context = &comm;
    *mask = NCCL_COLL | NCCL_P2P | NCCL_COLL_API | NCCL_PROXY_OP | NCCL_KERNEL_CHANNEL;
    return 0;
}

static int start(void *context, void **handle, struct nccl_descriptor_v6 *descriptor) {
    const int at = index_of(descriptor->type);
    struct handle *made = calloc(1, sizeof *made);
    pthread_mutex_lock(&lock);
    counts[at].started++;
    if (context != &comm)
        counts[at].wrong++;
    if (descriptor->parent) {
        counts[at].parents++;
        if (((struct handle *)descriptor->parent)->magic != MAGIC)
            counts[at].wrong++;
    }
    pthread_mutex_unlock(&lock);
    if (made)
        *made = (struct handle){MAGIC, descriptor->type};
    *handle = made;
    return 0;
}

static int stop(void *handle) {
    const struct handle *ours = handle;
    pthread_mutex_lock(&lock);
    counts[ours->magic == MAGIC ? index_of(ours->type) : 15].stopped++;
    pthread_mutex_unlock(&lock);
    return 0;
}

static int state(void *handle, int number, union nccl_state_arguments *arguments) {
    const struct handle *ours = handle;
    (void)number, (void)arguments;
    pthread_mutex_lock(&lock);
    counts[ours->magic == MAGIC ? index_of(ours->type) : 15].states++;
    pthread_mutex_unlock(&lock);
    return 0;
}

static int finalize(void *context) {
    const char *path = getenv("OTHER_PLUGIN_COUNTS");
    FILE *file = path && context == &comm ? fopen(path, "w") : NULL;
    for (int i = 0; file && i < 16; i++)
        fprintf(file, "%d %ld %ld %ld %ld %ld\n", i, counts[i].started, counts[i].stopped, counts[i].states,
                counts[i].parents, counts[i].wrong);
    if (file)
        fclose(file);
    return 0;
}

extern const struct nccl_profiler_v6 ncclProfiler_v6;
const struct nccl_profiler_v6 ncclProfiler_v6 = {"other", init, start, stop, state, finalize};
