// SPDX-License-Identifier: Apache-2.0
// The mock of libcuda: events, primary contexts, green contexts and managed memory.
//
// A primary context is at the same address each time it is made, and its streams are at addresses that earlier ones had;
// their ids are new. A green context belongs to the primary context of its device.
#include "cuda_mock.h"

#include <stdatomic.h>
#include <stdlib.h>

enum { DEVICES = 8 };

struct event {
    uint32_t id;
    uint64_t done;
};

static struct context primaries[DEVICES];
static struct stream *free_streams;
static _Atomic uint32_t events;

struct stream *mock_new_stream(struct context *context, uint32_t id) {
    mock_lock();
    struct stream *stream = free_streams;
    if (stream)
        free_streams = stream->next;
    else
        stream = calloc(1, sizeof *stream);
    if (stream) {
        *stream = (struct stream){.id = id, .context = context, .next = context->streams};
        context->streams = stream;
    }
    mock_unlock();
    return stream;
}

static struct stream *of(struct stream *stream) {
    return stream ? stream : mock_current() ? &mock_current()->null : NULL;
}

// When all streams of a context are done.
static uint64_t busy(const struct context *context) {
    uint64_t until = atomic_load(&context->null.busy_until);
    for (const struct stream *stream = context->streams; stream; stream = stream->next)
        if (atomic_load(&stream->busy_until) > until)
            until = atomic_load(&stream->busy_until);
    return until;
}

static void wait_until(struct stream *stream, uint64_t until) {
    if (atomic_load(&stream->busy_until) < until)
        atomic_store(&stream->busy_until, until);
}

// ---- events

int cuEventCreate(struct event **out, unsigned flags);
int cuEventCreate(struct event **out, unsigned flags) {
    (void)flags;
    BEGIN(cuEventCreate);
    *out = calloc(1, sizeof **out);
    if (*out)
        (*out)->id = atomic_fetch_add(&events, 1) + 1;
    return mock_end(&call, *out ? OK : NO_MEMORY);
}

static int record(struct call *call, struct event *event, uint32_t context, uint32_t stream, uint64_t until) {
    const uint64_t now = mock_time();
    event->done = until > now ? until : now;
    if (call->hooks)
        call->hooks->reached(call->correlation, context, stream, event->id, mock_time_of_cupti(event->done));
    return OK;
}

int cuEventRecord(struct event *event, struct stream *stream);
int cuEventRecord(struct event *event, struct stream *stream) {
    BEGIN(cuEventRecord);
    const struct stream *at = of(stream);
    return mock_end(&call, record(&call, event, at->context->id, at->id, atomic_load(&at->busy_until)));
}

int cuEventSynchronize(struct event *event);
int cuEventSynchronize(struct event *event) {
    BEGIN(cuEventSynchronize);
    return mock_end(&call, mock_wait(&call, 1, &mock_current()->null, event->done, event->id));
}

// The host does not wait here.
static int stream_waits(struct call *call, struct stream *stream, const struct context *context,
                        const struct event *event) {
    const uint64_t now = mock_time_of_cupti(mock_time());
    if (stream)
        wait_until(stream, event->done);
    if (call->hooks)
        call->hooks->waited(2, now, now, call->correlation, context->id, stream ? stream->id : CUPTI_NONE,
                            event->id);
    return OK;
}

int cuStreamWaitEvent(struct stream *stream, const struct event *event, unsigned flags);
int cuStreamWaitEvent(struct stream *stream, const struct event *event, unsigned flags) {
    (void)flags;
    BEGIN(cuStreamWaitEvent);
    return mock_end(&call, stream_waits(&call, of(stream), of(stream)->context, event));
}

// For a context: the work of all its streams so far, or from now on.
static int context_waits(struct call *call, struct context *context, const struct event *event) {
    wait_until(&context->null, event->done);
    for (struct stream *stream = context->streams; stream; stream = stream->next)
        wait_until(stream, event->done);
    return stream_waits(call, NULL, context, event);
}

int cuCtxRecordEvent(struct context *context, struct event *event);
int cuCtxRecordEvent(struct context *context, struct event *event) {
    BEGIN(cuCtxRecordEvent);
    return mock_end(&call, record(&call, event, context->id, context->null.id, busy(context)));
}

int cuCtxWaitEvent(struct context *context, struct event *event);
int cuCtxWaitEvent(struct context *context, struct event *event) {
    BEGIN(cuCtxWaitEvent);
    return mock_end(&call, context_waits(&call, context, event));
}

// ---- primary contexts

static struct context *primary(const struct call *call, int device) {
    struct context *context = &primaries[device];
    if (!context->id)
        mock_context_made(call, context, (uint32_t)device);
    return context;
}

int cuDevicePrimaryCtxRetain(struct context **out, int device);
int cuDevicePrimaryCtxRetain(struct context **out, int device) {
    BEGIN(cuDevicePrimaryCtxRetain);
    if (device < 0 || device >= DEVICES)
        return mock_end(&call, NO_DEVICE);
    *out = primary(&call, device);
    return mock_end(&call, OK);
}

int cuDevicePrimaryCtxReset_v2(int device);
int cuDevicePrimaryCtxReset_v2(int device) {
    BEGIN(cuDevicePrimaryCtxReset_v2);
    struct context *context = &primaries[device];
    if (!context->id)
        return mock_end(&call, OK);
    if (call.hooks) {
        call.hooks->resource(CUPTI_RESOURCE_CONTEXT_DESTROY, context, NULL, NULL);
        call.hooks->reset();
    }
    mock_lock();
    for (struct stream *stream = context->streams, *next; stream; stream = next) {
        next = stream->next;
        stream->next = free_streams;
        free_streams = stream;
    }
    mock_unlock();
    *context = (struct context){0};
    if (mock_current() == context)
        mock_set_current(NULL);
    return mock_end(&call, OK);
}

// ---- green contexts

// `processors` represents the description of its resources.
int cuGreenCtxCreate(struct context **out, uintptr_t processors, int device, unsigned flags);
int cuGreenCtxCreate(struct context **out, uintptr_t processors, int device, unsigned flags) {
    (void)flags;
    BEGIN(cuGreenCtxCreate);
    struct context *parent = primary(&call, device);
    struct context *context = calloc(1, sizeof *context);
    if (!context)
        return mock_end(&call, NO_MEMORY);
    context->parent = parent->id;
    context->processors = (uint32_t)processors;
    mock_context_made(&call, context, (uint32_t)device);
    *out = context;
    return mock_end(&call, OK);
}

int cuCtxFromGreenCtx(struct context **out, struct context *green);
int cuCtxFromGreenCtx(struct context **out, struct context *green) {
    BEGIN(cuCtxFromGreenCtx);
    *out = green;
    return mock_end(&call, OK);
}

int cuStreamCreate(struct stream **out, unsigned flags);
int cuGreenCtxStreamCreate(struct stream **out, struct context *green, unsigned flags, int priority);
int cuGreenCtxStreamCreate(struct stream **out, struct context *green, unsigned flags, int priority) {
    (void)priority;
    BEGIN(cuGreenCtxStreamCreate);
    struct context *before = mock_current();
    mock_set_current(green);
    const int result = cuStreamCreate(out, flags);
    mock_set_current(before);
    return mock_end(&call, result);
}

int cuGreenCtxRecordEvent(struct context *green, struct event *event);
int cuGreenCtxRecordEvent(struct context *green, struct event *event) {
    BEGIN(cuGreenCtxRecordEvent);
    return mock_end(&call, record(&call, event, green->id, green->null.id, busy(green)));
}

int cuGreenCtxWaitEvent(struct context *green, struct event *event);
int cuGreenCtxWaitEvent(struct context *green, struct event *event) {
    BEGIN(cuGreenCtxWaitEvent);
    return mock_end(&call, context_waits(&call, green, event));
}

int cuGreenCtxDestroy(struct context *green);
int cuGreenCtxDestroy(struct context *green) {
    BEGIN(cuGreenCtxDestroy);
    if (call.hooks)
        call.hooks->resource(CUPTI_RESOURCE_CONTEXT_DESTROY, green, NULL, NULL);
    return mock_end(&call, OK); // kept: records refer to it
}

// ---- managed memory: it moves to the device when it is allocated

int cuMemAllocManaged(uint64_t *address, size_t bytes, unsigned flags);
int cuMemAllocManaged(uint64_t *address, size_t bytes, unsigned flags) {
    (void)flags;
    BEGIN(cuMemAllocManaged);
    const struct context *context = mock_current();
    size_t *memory = malloc(bytes + 16);
    if (!memory || !context)
        return mock_end(&call, NO_MEMORY);
    *memory = bytes; // as cuMemFree_v2 has it
    *address = (uint64_t)(uintptr_t)memory + 16;
    if (call.hooks)
        call.hooks->migrated(context->device, *address, bytes);
    return mock_end(&call, OK);
}
