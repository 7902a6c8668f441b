// SPDX-License-Identifier: Apache-2.0
// A program's own profiler, as it uses CUPTI: in the order of calls of PyTorch's Kineto, in both of its forms. Written
// by us; a library that is linked with libcupti. It counts the records it gets, and prints one line per session.
//
//     subscribed    (until August 2026) it subscribes first, and where that is refused it profiles no device at all
//     buffers       (since then) it never subscribes
//
// KINETO_CLOCK: it registers a clock of its own. KINETO_FINALIZE: it ends with cuptiFinalize.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "mock.h"

#define CUPTI(name, ...) extern int cupti##name(__VA_ARGS__)
CUPTI(Subscribe, void **, cupti_callback *, void *);
CUPTI(Unsubscribe, void *);
CUPTI(EnableCallback, uint32_t, void *, int, uint32_t);
CUPTI(EnableDomain, uint32_t, void *, int);
CUPTI(Finalize, void);
CUPTI(GetTimestamp, uint64_t *);
CUPTI(ActivityRegisterCallbacks, cupti_buffer_wanted *, cupti_buffer_full *);
CUPTI(ActivityRegisterTimestampCallback, uint64_t (*)(void));
CUPTI(ActivityEnable, int);
CUPTI(ActivityDisable, int);
CUPTI(ActivityEnableDriverApi, uint32_t, uint8_t);
CUPTI(ActivityFlushAll, uint32_t);
CUPTI(ActivitySetAttribute, int, size_t *, void *);
CUPTI(ActivityGetNextRecord, uint8_t *, size_t, void **);
CUPTI(ActivityPushExternalCorrelationId, int, uint64_t);
CUPTI(ActivityPopExternalCorrelationId, int, uint64_t *);

enum {
    BUFFER = 4 << 20,
    BUFFERS = 32,
    FORCED = 1,
    CUSTOM0 = 3,
    KINDS = 64,
    LEFT_OUT = 4 /* cuCtxSynchronize */
};

enum { TOLERANCE = 100000 }; // ticks that a time may be off; sessions are much longer

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
    uint8_t *at;
    size_t valid;
    int ready;
} buffers[BUFFERS];
static int gone, unknown; // buffers that were refused, and that are not ours
static int allocated;     // buffers that CUPTI has
static void *subscriber;
static int subscription = -1;
static uint64_t contexts, launches, from, to;

static const int wanted_kinds[] = {CUPTI_KIND_MEMCPY,
                                   CUPTI_KIND_MEMSET,
                                   CUPTI_KIND_CONCURRENT_KERNEL,
                                   CUPTI_KIND_EXTERNAL_CORRELATION,
                                   CUPTI_KIND_SYNCHRONIZATION,
                                   CUPTI_KIND_RUNTIME,
                                   CUPTI_KIND_DRIVER,
                                   CUPTI_KIND_OVERHEAD};
enum { WANTED = sizeof wanted_kinds / sizeof *wanted_kinds };

// Another rate, and another origin.
static uint64_t ticks(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC_RAW, &time);
    return ((uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec) * 3;
}

static void ask(uint8_t **buffer, size_t *size, size_t *records) {
    *buffer = NULL;
    *size = *records = 0;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < BUFFERS && !*buffer; i++)
        if (!buffers[i].at) {
            *buffer = buffers[i].at = aligned_alloc(8, BUFFER);
            buffers[i].ready = 0;
            *size = BUFFER;
            allocated++;
        }
    gone += !*buffer;
    pthread_mutex_unlock(&lock);
}

static void take(void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid) {
    int known = 0;
    (void)context, (void)stream, (void)size;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < BUFFERS; i++)
        if (buffers[i].at == buffer && !buffers[i].ready) {
            buffers[i].valid = valid;
            buffers[i].ready = known = 1;
            allocated--;
        }
    unknown += !known;
    pthread_mutex_unlock(&lock);
}

static void called(void *context, int domain, uint32_t id, const void *data) {
    const struct cupti_callback_data *call = data;
    (void)context;
    if (domain == CUPTI_DOMAIN_RESOURCE)
        contexts += id == CUPTI_RESOURCE_CONTEXT_CREATED;
    else
        launches += call->site == 0 && strcmp(call->function, "cuLaunchKernel") == 0;
}

int kineto_init(const char *form);
int kineto_init(const char *form) {
    if (getenv("KINETO_CLOCK"))
        cuptiActivityRegisterTimestampCallback(ticks);
    if (strcmp(form, "subscribed") != 0)
        return subscription = 0;
    subscription = cuptiSubscribe(&subscriber, called, NULL);
    if (subscription == 0)
        cuptiEnableCallback(1, subscriber, CUPTI_DOMAIN_RESOURCE, CUPTI_RESOURCE_CONTEXT_CREATED);
    return subscription;
}

// Where CUPTI has requested no buffer there is nothing to be had: Kineto does not flush then.
static void flush(uint32_t flags) {
    pthread_mutex_lock(&lock);
    const int any = allocated;
    pthread_mutex_unlock(&lock);
    if (any)
        cuptiActivityFlushAll(flags);
}

void kineto_start(void);
void kineto_start(void) {
    if (subscription)
        return;
    flush(0);
    cuptiActivityRegisterCallbacks(ask, take);
    for (int i = 0; i < WANTED; i++)
        cuptiActivityEnable(wanted_kinds[i]);
    cuptiActivityEnableDriverApi(LEFT_OUT, 0);
    if (subscriber)
        cuptiEnableDomain(1, subscriber, CUPTI_DOMAIN_DRIVER);
    cuptiGetTimestamp(&from);
}

void kineto_push(uint64_t id);
void kineto_push(uint64_t id) {
    cuptiActivityPushExternalCorrelationId(CUSTOM0, id);
}
void kineto_pop(void);
void kineto_pop(void) {
    cuptiActivityPopExternalCorrelationId(CUSTOM0, NULL);
}

static struct { uint64_t kinds[KINDS], outside, threads, externals, left_out; } counts;

static void count(const void *record) {
    const union {
        const void *any;
        const struct cupti_api *call;
        const struct cupti_kernel *kernel;
        const struct cupti_external *external;
    } is = {.any = record};
    const uint32_t kind = is.call->kind;
    counts.kinds[kind % KINDS]++;
    if (kind == CUPTI_KIND_CONCURRENT_KERNEL)
        counts.outside += is.kernel->start + TOLERANCE < from || is.kernel->end > to + TOLERANCE ||
                          is.kernel->end < is.kernel->start;
    if (kind == CUPTI_KIND_DRIVER) {
        counts.outside += is.call->start + TOLERANCE < from || is.call->end > to + TOLERANCE;
        counts.threads += is.call->thread != (uint32_t)(uintptr_t)pthread_self();
        counts.left_out += is.call->cbid == LEFT_OUT;
    }
    if (kind == CUPTI_KIND_EXTERNAL_CORRELATION)
        counts.externals += is.external->external_id;
}

void kineto_stop(void);
void kineto_stop(void) {
    memset(&counts, 0, sizeof counts);
    if (subscription == 0) {
        cuptiGetTimestamp(&to);
        for (int i = 0; i < WANTED; i++)
            cuptiActivityDisable(wanted_kinds[i]);
        if (subscriber)
            cuptiEnableDomain(0, subscriber, CUPTI_DOMAIN_DRIVER);
        flush(FORCED);
        // As Kineto's activityBuffers() since CUDA 12.3, whether or not it was on.
        uint8_t per_thread = 0;
        size_t size = sizeof per_thread;
        cuptiActivitySetAttribute(CUPTI_ATTRIBUTE_THREAD_BUFFERS, &size, &per_thread);
    }
    pthread_mutex_lock(&lock);
    for (int i = 0; i < BUFFERS; i++) {
        void *record = NULL;
        while (buffers[i].ready && buffers[i].valid &&
               cuptiActivityGetNextRecord(buffers[i].at, buffers[i].valid, &record) == 0)
            count(record);
        if (buffers[i].ready) {
            free(buffers[i].at);
            buffers[i].at = NULL;
        }
    }
    pthread_mutex_unlock(&lock);
    printf("subscription %d kernels %d calls %d copies %d sets %d waits %d externals %d sum %d outside %d "
           "threads %d "
           "left_out %d seen %d refused %d unknown %d\n",
           subscription, (int)counts.kinds[CUPTI_KIND_CONCURRENT_KERNEL],
           (int)counts.kinds[CUPTI_KIND_DRIVER], (int)counts.kinds[CUPTI_KIND_MEMCPY],
           (int)counts.kinds[CUPTI_KIND_MEMSET], (int)counts.kinds[CUPTI_KIND_SYNCHRONIZATION],
           (int)counts.kinds[CUPTI_KIND_EXTERNAL_CORRELATION], (int)counts.externals, (int)counts.outside,
           (int)counts.threads, (int)counts.left_out, (int)launches, gone, unknown);
    launches = 0;
    if (getenv("KINETO_FINALIZE"))
        cuptiFinalize();
}
