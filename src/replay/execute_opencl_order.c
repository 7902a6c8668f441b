// SPDX-License-Identifier: Apache-2.0
// Running the commands of a recording in another order: first all objects, then one command after the other, each with the
// arguments it was launched with. Nothing is released before the end, for what is last in the recording may come first.
#include "replay/execute.h"

#include "base/status.h"
#include "replay/plan.h"

#if __has_include(<CL/cl.h>)

#include <stdlib.h>

#include "replay/execute_opencl.h"

static tsmith_status make_objects(struct run *run) {
    tsmith_status status = TSMITH_OK;
    for (run->at = 0; run->at < run->process->count && status == TSMITH_OK; run->at++) {
        const struct recording_record *record = &run->process->records[run->at];
        switch (record->type) {
        case RECORDING_REFUSED:
            execute_refused(run, record);
            break;
        case RECORDING_CONTENT:
            status = execute_content(run, record);
            break;
        case RECORDING_PROCESS:
        case RECORDING_DEVICE:
        case RECORDING_ARGUMENT:
        case RECORDING_COMMAND:
        case RECORDING_USER_EVENT:
        case RECORDING_USER_STATUS:
        case RECORDING_WAIT:
        case RECORDING_VERIFY:
        case RECORDING_STATE:
        case RECORDING_RELEASE:
        case RECORDING_END:
            break;
        default:
            status = execute_object(run, record);
        }
    }
    return status;
}

static tsmith_status set_arguments(struct run *run, const struct plan *plan, const struct plan_node *node) {
    tsmith_status status = TSMITH_OK;
    for (size_t i = 0; i < node->argument_count && status == TSMITH_OK; i++) {
        const uint32_t record = plan->arguments[node->arguments - 1 + i];
        const struct live *kernel =
            live_find_type(run, recording_value(&run->process->records[node->record], RECORDING_KEY_KERNEL),
                           RECORDING_KERNEL);
        if (!record || !kernel)
            continue;
        if (i < kernel->argument_count && kernel->arguments[i].form &&
            kernel->arguments[i].record == record - 1)
            continue;
        run->at = record - 1;
        status = execute_argument(run, kernel->id, &run->process->records[record - 1]);
    }
    return status;
}

// A queue that is in the context.
static cl_command_queue find_queue(struct run *run, size_t context) {
    for (size_t i = 1; i < run->live_count; i++)
        if (run->lives[i].type == RECORDING_QUEUE && run->lives[i].parent == context &&
            run->lives[i].handle.queue)
            return run->lives[i].handle.queue;
    return NULL;
}

static tsmith_status bring_buffer(struct run *run, const struct live *buffer, size_t record) {
    cl_command_queue queue = find_queue(run, buffer->parent);
    struct execute_result result = {.record = record,
                                    .size = buffer->size,
                                    .why = buffer->why,
                                    .buffer = buffer->id,
                                    .writer = buffer->writer,
                                    .element = buffer->element};
    cl_event done = NULL;
    uint8_t *bytes = queue && !buffer->why && buffer->handle.buffer ? malloc(buffer->size) : NULL;
    const bool asked =
        bytes && run->cl->clEnqueueReadBuffer(queue, buffer->handle.buffer, CL_FALSE, 0, buffer->size, bytes,
                                              0, NULL, &done) == CL_SUCCESS;
    if (asked)
        run->cl->clFlush(queue);
    if (asked && !run_wait(run, done))
        return run->error->status; // its memory may still be written to
    result.bytes = asked ? bytes : NULL;
    result.why = asked ? NULL : buffer->why ? buffer->why : "it could not be read";
    run->client->result(run->client->context, &result);
    if (done)
        run->cl->clReleaseEvent(done);
    free(bytes);
    return TSMITH_OK;
}

// What a command has written.
static tsmith_status bring_written(struct run *run, const struct plan *plan, const struct plan_node *node) {
    tsmith_status status = run->last && !run_wait(run, run->last) ? run->error->status : TSMITH_OK;
    for (uint32_t i = 0; i < node->access_count && status == TSMITH_OK; i++) {
        const struct plan_access *access = &plan->accesses[node->access_first + i];
        const struct plan_memory *memory = &plan->memories[access->memory];
        const struct live *live =
            memory->kind == PLAN_BUFFER ? live_find_type(run, memory->id, RECORDING_BUFFER) : NULL;
        if (live && (access->flags & PLAN_WRITES))
            status = bring_buffer(run, live, node->record);
    }
    return status;
}

static tsmith_status run_all(struct run *run, const struct plan *plan, const uint32_t *nodes, size_t count) {
    tsmith_status status = make_objects(run);
    for (size_t i = 0; i < count && status == TSMITH_OK; i++) {
        const struct plan_node *node = &plan->nodes[nodes[i]];
        if (node->kind != PLAN_COMMAND)
            continue;
        if (node->arguments)
            status = set_arguments(run, plan, node);
        run->at = node->record;
        if (status == TSMITH_OK)
            status = execute_command(run, &run->process->records[node->record]);
        if (status == TSMITH_OK && run->client->wishes && run->client->wishes->each)
            status = bring_written(run, plan, node);
    }
    for (size_t i = 1; i < run->live_count && status == TSMITH_OK; i++)
        if (run->lives[i].type == RECORDING_QUEUE && run->lives[i].handle.queue)
            run->cl->clFlush(run->lives[i].handle.queue);
    if (status == TSMITH_OK && run->last && !run_wait(run, run->last))
        status = run->error->status;
    if (status == TSMITH_OK)
        status = transfers_reap(run, true);
    for (size_t i = 1; i < run->live_count && status == TSMITH_OK; i++)
        if (run->lives[i].type == RECORDING_BUFFER)
            status = bring_buffer(run, &run->lives[i], run->lives[i].record);
    return status;
}

tsmith_status execute_opencl_order(struct execution *execution, const struct plan *plan,
                                   const uint32_t *nodes, size_t count, const tsmith_replay_options *options,
                                   const struct execute_client *client, tsmith_error *error) {
    tsmith_error unasked;
    struct run run = {.execution = execution,
                      .cl = &execution->cl,
                      .recording = plan->recording,
                      .process = plan->process,
                      .options = options,
                      .client = client,
                      .serial = true,
                      .error = error ? error : &unasked};
    tsmith_status status = run_begin(&run);
    if (status == TSMITH_OK)
        status = run_all(&run, plan, nodes, count);
    if (run.last)
        run.cl->clReleaseEvent(run.last);
    return run_end(&run, status);
}

#else

tsmith_status execute_opencl_order(struct execution *execution, const struct plan *plan,
                                   const uint32_t *nodes, size_t count, const tsmith_replay_options *options,
                                   const struct execute_client *client, tsmith_error *error) {
    (void)execution;
    (void)plan;
    (void)nodes;
    (void)count;
    (void)options;
    (void)client;
    return status_set(error, TSMITH_ERROR_MISSING, "this TraceSmith cannot replay");
}

#endif
