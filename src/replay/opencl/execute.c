// SPDX-License-Identifier: Apache-2.0
// Running a recorded process on OpenCL devices: the walk over the records.
#include "replay/execute.h"

#include "base/status.h"

#if __has_include(<CL/cl.h>)

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/array.h"
#include "base/clock.h"
#include "replay/opencl/execute.h"

// ---- objects by their number

static struct chunk_hash key_of(uint64_t id) {
    return (struct chunk_hash){id * 0x9e3779b97f4a7c15u, id};
}

struct live *live_find(struct run *run, uint64_t id) {
    const uint64_t index = id ? chunk_table_find(&run->by_id, key_of(id)) : 0;
    return index ? &run->lives[index] : NULL;
}

struct live *live_find_type(struct run *run, uint64_t id, uint32_t type) {
    struct live *live = live_find(run, id);
    return live && live->type == type ? live : NULL;
}

bool live_is_memory(const struct live *live) {
    return live->type == RECORDING_BUFFER || live->type == RECORDING_SUB_BUFFER ||
           live->type == RECORDING_IMAGE || live->type == RECORDING_SHARED;
}

struct live *live_memory(struct run *run, uint64_t id) {
    struct live *live = live_find(run, id);
    return live && live_is_memory(live) ? live : NULL;
}

cl_event live_event(struct run *run, uint64_t id) {
    const struct live *live = live_find(run, id);
    return live && (live->type == RECORDING_COMMAND || live->type == RECORDING_USER_EVENT)
               ? live->handle.event
               : NULL;
}

// The object that contains it, or itself.
struct live *live_root(struct run *run, struct live *memory) {
    while ((memory->type == RECORDING_SUB_BUFFER || memory->type == RECORDING_IMAGE) && memory->within)
        memory = &run->lives[memory->within];
    return memory;
}

// NULL: memory is exhausted, or the number is taken.
struct live *live_add(struct run *run, uint64_t id, uint32_t type) {
    const size_t index = run->live_count ? run->live_count : 1;
    if (!id || live_find(run, id) || !ARRAY_RESERVE(run->lives, run->live_capacity, index + 1))
        return NULL;
    if (!chunk_table_add(&run->by_id, key_of(id), index))
        return NULL;
    run->live_count = index + 1;
    run->lives[index] = (struct live){.type = type, .id = id, .record = run->at};
    return &run->lives[index];
}

void run_note(struct run *run, const char *format, ...) {
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    run->client->note(run->client->context, text);
}

tsmith_status run_no_memory(struct run *run) {
    return status_set(run->error, TSMITH_ERROR_NO_MEMORY, "out of memory while replaying");
}

// ---- waiting

// What is waited for may wait for another queue, which the program had flushed somewhere.
void run_flush(struct run *run) {
    for (size_t i = 1; i < run->live_count; i++)
        if (run->lives[i].type == RECORDING_QUEUE && run->lives[i].handle.queue)
            run->cl->clFlush(run->lives[i].handle.queue);
}

bool run_wait(struct run *run, cl_event event) {
    enum { SPINS = 200 };
    static const long FIRST_NAP = 20000, LONGEST_NAP = 1000000;
    struct timespec nap = {.tv_nsec = FIRST_NAP};
    const int64_t until = clock_trace_now() + run->patience;
    for (unsigned spin = 0;; spin++) {
        cl_int status = CL_COMPLETE;
        if (run->cl->clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, NULL) ||
            status < 0) {
            status_set(run->error, TSMITH_ERROR_IO,
                       "a command failed on the device before record %zu of the recording (OpenCL error %d)",
                       run->at, status);
            return false;
        }
        if (status == CL_COMPLETE)
            return true;
        if (spin == SPINS)
            run_flush(run);
        if (spin < SPINS)
            continue;
        if (clock_trace_now() > until) {
            status_set(run->error, TSMITH_ERROR_LIMIT,
                       "the replay did not finish: record %zu of the recording waits for an event that did "
                       "not happen",
                       run->at);
            return false;
        }
        nanosleep(&nap, NULL);
        nap.tv_nsec = nap.tv_nsec * 2 < LONGEST_NAP ? nap.tv_nsec * 2 : LONGEST_NAP;
    }
}

bool run_finish(struct run *run, cl_command_queue queue) {
    cl_event event = NULL;
    if (run->cl->clEnqueueMarkerWithWaitList(queue, 0, NULL, &event) != CL_SUCCESS)
        return true; // nothing was enqueued that could be waited for
    run->cl->clFlush(queue);
    const bool done = run_wait(run, event);
    run->cl->clReleaseEvent(event);
    return done;
}

static tsmith_status execute_wait(struct run *run, const struct recording_record *record) {
    const uint8_t *ids;
    const size_t count = recording_list(record, RECORDING_KEY_WAITS, &ids);
    const struct live *queue =
        live_find_type(run, recording_value(record, RECORDING_KEY_QUEUE), RECORDING_QUEUE);
    if (queue && queue->handle.queue && !run_finish(run, queue->handle.queue))
        return run->error ? run->error->status : TSMITH_ERROR_LIMIT;
    // Everything that is waited for must have been submitted to the device.
    if (count)
        run_flush(run);
    for (size_t i = 0; i < count; i++) {
        uint64_t id;
        memcpy(&id, ids + 8 * i, sizeof id);
        cl_event event = live_event(run, id);
        if (event && !run_wait(run, event))
            return run->error ? run->error->status : TSMITH_ERROR_LIMIT;
    }
    return transfers_reap(run, false);
}

// ---- the walk

static bool look_ahead(struct run *run) {
    for (size_t i = 0; i < run->process->count; i++) {
        const struct recording_record *record = &run->process->records[i];
        const uint8_t *ids;
        const size_t count = recording_list(record, RECORDING_KEY_WAITS, &ids);
        if (record->type == RECORDING_CHANGED &&
            !chunk_table_add(&run->changed, chunk_key_of(recording_value(record, RECORDING_KEY_TRANSFER)), 1))
            return false;
        for (size_t j = 0; j < count; j++) {
            uint64_t id;
            memcpy(&id, ids + 8 * j, sizeof id);
            if (id && !chunk_table_add(&run->awaited, key_of(id), 1))
                return false;
        }
        if (record->type == RECORDING_STATE &&
            !chunk_table_add(&run->states, key_of(recording_value(record, RECORDING_KEY_VERIFY)), i + 1))
            return false;
    }
    return true;
}

static tsmith_status execute_record(struct run *run, const struct recording_record *record) {
    switch (record->type) {
    case RECORDING_COMMAND:
        return execute_command(run, record);
    case RECORDING_VERIFY:
        return execute_option_leaves_out(run) ? TSMITH_OK : execute_verify(run, record);
    case RECORDING_CONTENT:
        return execute_content(run, record);
    case RECORDING_WAIT:
        return execute_wait(run, record);
    case RECORDING_REFUSED:
        execute_refused(run, record);
        return TSMITH_OK;
    case RECORDING_PROCESS:
    case RECORDING_STATE:
    case RECORDING_END:
    case RECORDING_CHANGED:
        return TSMITH_OK;
    default:
        return execute_object(run, record);
    }
}

static void release_handle(struct run *run, const struct live *live) {
    const struct execute_calls *cl = run->cl;
    switch (live->type) {
    case RECORDING_BUFFER:
    case RECORDING_SUB_BUFFER:
    case RECORDING_IMAGE:
        cl->clReleaseMemObject(live->handle.buffer);
        break;
    case RECORDING_SHARED:
        cl->clSVMFree(run->lives[live->parent].handle.context, live->handle.shared);
        break;
    case RECORDING_KERNEL:
        cl->clReleaseKernel(live->handle.kernel);
        break;
    case RECORDING_PROGRAM:
        cl->clReleaseProgram(live->handle.program);
        break;
    case RECORDING_SAMPLER:
        cl->clReleaseSampler(live->handle.sampler);
        break;
    case RECORDING_QUEUE:
        cl->clReleaseCommandQueue(live->handle.queue);
        break;
    case RECORDING_CONTEXT:
        cl->clReleaseContext(live->handle.context);
        break;
    case RECORDING_COMMAND:
    case RECORDING_USER_EVENT:
        cl->clReleaseEvent(live->handle.event);
        break;
    default:
        break;
    }
}

static void release_all(struct run *run) {
    for (size_t i = run->live_count; i-- > 1;) {
        struct live *live = &run->lives[i];
        if (live->hold)
            run->cl->clReleaseEvent(live->hold);
        if (live->handle.any && !live->released)
            release_handle(run, live);
    }
}

tsmith_status run_begin(struct run *run) {
    static const int64_t PATIENCE = 60000000000;
    run->patience = run->options->patience_ns > 0 ? run->options->patience_ns : PATIENCE;
    return look_ahead(run) && devices_map(run) ? TSMITH_OK : run_no_memory(run);
}

tsmith_status run_end(struct run *run, tsmith_status status) {
    if (status == TSMITH_OK)
        status = transfers_reap(run, true);
    status = execute_option_end(run, status);
    // What still runs after a failure is left alone, with its memory: there is no way to stop it.
    if (status == TSMITH_OK) {
        release_all(run);
        transfers_drop(run);
    }
    chunk_table_finish(&run->by_id);
    chunk_table_finish(&run->awaited);
    chunk_table_finish(&run->states);
    chunk_table_finish(&run->changed);
    for (size_t i = 1; i < run->live_count; i++) {
        free(run->lives[i].arguments);
        free(run->lives[i].uses);
    }
    free(run->mapped);
    free(run->lives);
    included_drop(run);
    return status;
}

tsmith_status execute_opencl_run(struct execution *execution, struct tsmith_recording *recording,
                                 const struct recorded_process *process, const tsmith_replay_options *options,
                                 const struct execute_client *client, tsmith_error *error) {
    tsmith_error unasked;
    struct run run = {.execution = execution,
                      .cl = &execution->cl,
                      .recording = recording,
                      .process = process,
                      .options = options,
                      .client = client,
                      .error = error ? error : &unasked};
    tsmith_status status = run_begin(&run);
    for (; status == TSMITH_OK && run.at < process->count; run.at++) {
        if (options->progress)
            options->progress(options->progress_context, run.at, process->count);
        status = execute_option_feed(&run);
        if (status == TSMITH_OK)
            status = execute_record(&run, &process->records[run.at]);
    }
    return run_end(&run, status);
}

#else // built without the OpenCL headers

tsmith_status execute_opencl_run(struct execution *execution, struct tsmith_recording *recording,
                                 const struct recorded_process *process, const tsmith_replay_options *options,
                                 const struct execute_client *client, tsmith_error *error) {
    (void)execution;
    (void)recording;
    (void)process;
    (void)options;
    (void)client;
    return status_set(error, TSMITH_ERROR_MISSING, "this TraceSmith cannot replay");
}

#endif
