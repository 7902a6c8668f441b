// SPDX-License-Identifier: Apache-2.0
// What a program that profiles itself calls of libcupti, beyond what the agent does: whole domains of callbacks, external
// correlation ids, calls that are left out, a clock of its own.
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cupti_mock.h"

enum { CALLS = 2048, DEPTH = 16, EXTERNAL_KINDS = 6, INVALID_PARAMETER = 1, QUEUE_EMPTY = 26 };

#define API(name, ...)                                                                                       \
    int cupti##name(__VA_ARGS__);                                                                            \
    int cupti##name(__VA_ARGS__)

int cuptiEnableCallback(uint32_t enable, void *handle, int domain, uint32_t id);
int cuptiGetCallbackName(int domain, uint32_t id, const char **name);
int cuptiUnsubscribe(void *handle);
int cuptiActivityDisable(int kind);
int cuptiActivityEnable(int kind);
int cuptiActivityFlushAll(uint32_t flags);

static _Atomic uint8_t left_out[2][CALLS];

// A call after CUPTI finalized itself, or was ended and has shown that, initializes it again.
void mock_late_call(const char *name) {
    if (mock_settings.finalized || mock_settings.told_end)
        fprintf(stderr, "the mock: %s was called after it was finalized\n", name);
}

int mock_no_subscriber(void) {
    mock_settings.told_end = mock_value("detached", 0) != 0;
    return CUPTI_INVALID_PARAMETER;
}

static _Atomic uint64_t flushes;

static _Atomic uint32_t slow_ones, forced_ones;

void mock_flushed(bool forced) {
    atomic_fetch_add(&flushes, 1);
    atomic_fetch_add(&forced_ones, forced);
}

// Waits for a moment, at most `most` times.
static void wait_while(const _Atomic uint32_t *value, uint32_t is, int most) {
    for (int i = 0; i < most && atomic_load(value) == is; i++)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

void mock_let_forced_pass(void) {
    const uint32_t before = atomic_load(&forced_ones);
    atomic_fetch_add(&slow_ones, 1);
    wait_while(&forced_ones, before, 500);
    nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL); // its caller goes on
    atomic_fetch_sub(&slow_ones, 1);
}

void mock_let_slow_begin(void) {
    wait_while(&slow_ones, 0, 500);
}

uint64_t mock_flushes(void) {
    return atomic_load(&flushes);
}

// A client that declared zeroed buffers gives no others.
void mock_check_zeroed(const struct buffer *buffer) {
    for (size_t i = 0; mock_settings.zeroed && buffer->at && i + 8 <= buffer->size; i += 8)
        if (*(const uint64_t *)(const void *)(buffer->at + i)) {
            fprintf(stderr, "the mock: a buffer is not zeroed\n");
            return;
        }
}

void mock_asked(const char *what, int which, uint32_t number) {
    const char *path = getenv("MOCK_ASKED");
    FILE *file = path ? fopen(path, "a") : NULL;
    if (!file)
        return;
    fprintf(file, "%s %d %u\n", what, which, number);
    fclose(file);
}

// Buffers of another client, which does not know those of others.
static uint8_t *their_own[256];

void mock_their_buffer(uint8_t **buffer, size_t *size, size_t *records) {
    *buffer = calloc(1, *size = 1 << 16);
    for (size_t i = 0; i < 256; i++)
        if (!their_own[i]) {
            their_own[i] = *buffer;
            break;
        }
    *records = 0;
}

void mock_their_records(void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid) {
    (void)context, (void)stream, (void)size, (void)valid;
    for (size_t i = 0; i < 256; i++)
        if (their_own[i] == buffer) {
            their_own[i] = NULL;
            free(buffer);
        }
}

API(EnableDomain, uint32_t enable, void *handle, int domain) {
    const char *name;
    for (uint32_t id = 1; id < CALLS; id++)
        if (cuptiGetCallbackName(domain, id, &name) == CUPTI_OK)
            cuptiEnableCallback(enable, handle, domain, id);
    return CUPTI_OK;
}

API(Finalize, void) {
    cuptiUnsubscribe(NULL);
    for (int kind = 0; kind < 64; kind++)
        cuptiActivityDisable(kind);
    return CUPTI_OK;
}

API(ActivityFlush, void *context, uint32_t stream, uint32_t flags) {
    (void)context, (void)stream;
    return cuptiActivityFlushAll(flags);
}

API(ActivitySetAttribute, int attribute, size_t *size, void *value) {
    MOCK_FIRST_ONLY
    if (attribute == CUPTI_ATTRIBUTE_ZEROED_BUFFERS && *size == 1)
        mock_settings.zeroed = *(uint8_t *)value;
    // Of "per thread" the documents say that it is to be set before callbacks are registered and kinds enabled.
    if (attribute == CUPTI_ATTRIBUTE_THREAD_BUFFERS && mock_is_enabled(CUPTI_KIND_CONCURRENT_KERNEL))
        fprintf(stderr, "the mock: buffers of threads were switched while kinds are enabled\n");
    return *size ? CUPTI_OK : INVALID_PARAMETER;
}

// Before CUDA is initialized.
API(ActivityEnableDeviceGraph, uint8_t enable) {
    MOCK_FIRST_ONLY
    mock_settings.device_graphs = enable == 1 && !mock_is_ready();
    return CUPTI_OK;
}

API(ActivityEnableRuntimeApi, uint32_t id, uint8_t enable) {
    MOCK_FIRST_ONLY
    left_out[1][id % CALLS] = !enable;
    return CUPTI_OK;
}

API(ActivityEnableDriverApi, uint32_t id, uint8_t enable) {
    MOCK_FIRST_ONLY
    left_out[0][id % CALLS] = !enable;
    return CUPTI_OK;
}

bool mock_left_out(int domain, uint32_t id) {
    return left_out[domain - 1][id % CALLS];
}

// A kind that is switched on overrides what was left out of it before.
void mock_whole(uint32_t kind) {
    for (uint32_t id = 0; (kind == CUPTI_KIND_RUNTIME || kind == CUPTI_KIND_DRIVER) && id < CALLS; id++)
        left_out[kind == CUPTI_KIND_RUNTIME][id] = 0;
}

// ---- external correlation ids: a stack per thread and kind

static __thread struct {
    uint64_t ids[DEPTH];
    uint32_t depth;
} stacks[EXTERNAL_KINDS];

API(ActivityPushExternalCorrelationId, int kind, uint64_t id) {
    if (kind < 1 || kind >= EXTERNAL_KINDS || stacks[kind].depth == DEPTH)
        return INVALID_PARAMETER;
    stacks[kind].ids[stacks[kind].depth++] = id;
    return CUPTI_OK;
}

API(ActivityPopExternalCorrelationId, int kind, uint64_t *id) {
    if (kind < 1 || kind >= EXTERNAL_KINDS)
        return INVALID_PARAMETER;
    if (!stacks[kind].depth)
        return QUEUE_EMPTY;
    stacks[kind].depth--;
    if (id)
        *id = stacks[kind].ids[stacks[kind].depth];
    return CUPTI_OK;
}

void mock_write_external(uint32_t correlation) {
    for (uint32_t kind = 1; kind < EXTERNAL_KINDS && mock_is_enabled(CUPTI_KIND_EXTERNAL_CORRELATION);
         kind++) {
        const uint32_t depth = stacks[kind].depth;
        const struct cupti_external record = {CUPTI_KIND_EXTERNAL_CORRELATION, kind,
                                              depth ? stacks[kind].ids[depth - 1] : 0, correlation, 0};
        if (depth)
            mock_write(&record, sizeof record, record.kind);
    }
}

// ---- a clock of the client's

API(ActivityRegisterTimestampCallback, uint64_t (*clock)(void)) {
    static _Atomic uint32_t count;
    if (!clock)
        return INVALID_PARAMETER;
    mock_settings.clocks = atomic_fetch_add(&count, 1) + 1;
    fprintf(stderr, "the mock: a timestamp callback was registered (%u)\n", mock_settings.clocks);
    mock_clock_of_client(clock);
    return CUPTI_OK;
}

API(ActivityEnableRuntimeApi_v2, void *handle, uint32_t id, uint8_t enable) {
    left_out[1][id % CALLS] = !enable;
    return handle ? CUPTI_OK : CUPTI_NOT_COMPATIBLE;
}

API(ActivityEnableDriverApi_v2, void *handle, uint32_t id, uint8_t enable) {
    left_out[0][id % CALLS] = !enable;
    return handle ? CUPTI_OK : CUPTI_NOT_COMPATIBLE;
}

// A call's name as the vendor has it: that of CUDA's with other words before it.
const char *mock_own_name(int domain, uint32_t id, const char *name) {
    static const char *known[2][CALLS];
    static pthread_mutex_t knowing = PTHREAD_MUTEX_INITIALIZER;
    const char *const usual = domain == CUPTI_DOMAIN_RUNTIME ? "cuda" : "cu";
    const char *const theirs = domain == CUPTI_DOMAIN_RUNTIME ? MOCK_RUNTIME_CALLS : MOCK_DRIVER_CALLS;
    if (strcmp(usual, theirs) == 0 || strncmp(name, usual, strlen(usual)) != 0)
        return name;
    pthread_mutex_lock(&knowing);
    if (!known[domain - 1][id]) {
        char *text = malloc(strlen(name) + strlen(theirs) + 1);
        strcpy(stpcpy(text, theirs), name + strlen(usual)); // NOLINT: fits
        known[domain - 1][id] = text;
    }
    const char *const text = known[domain - 1][id];
    pthread_mutex_unlock(&knowing);
    return text;
}
