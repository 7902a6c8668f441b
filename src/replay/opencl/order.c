// SPDX-License-Identifier: Apache-2.0
// Running the commands of a recording in another order: first all objects, then one command after the other, each with the
// arguments it was launched with. Nothing is released before the end, for what is last in the recording may come first.
#include "replay/execute.h"

#include "base/status.h"
#include "replay/plan.h"

#if __has_include(<CL/cl.h>)

#include <stdlib.h>

#include "replay/opencl/execute.h"

// Buffers and images are made with a content, shared memory is not.
static tsmith_status clear_shared(struct run *run, const struct recording_record *record) {
    struct live *shared =
        live_find_type(run, recording_value(record, RECORDING_KEY_OBJECT), RECORDING_SHARED);
    return shared && shared->handle.shared ? memory_clear(run, shared) : TSMITH_OK;
}

// What memory got of what cannot be replayed.
static tsmith_status execute_foreign(struct run *run, const struct recording_record *record) {
    if (record->type == RECORDING_CONTENT)
        return execute_content(run, record);
    if (record->type == RECORDING_REFUSED)
        execute_refused(run, record);
    return TSMITH_OK;
}

static tsmith_status make_objects(struct run *run) {
    tsmith_status status = TSMITH_OK;
    for (run->at = 0; run->at < run->process->count && status == TSMITH_OK; run->at++) {
        const struct recording_record *record = &run->process->records[run->at];
        switch (record->type) {
        case RECORDING_REFUSED:
        case RECORDING_CONTENT:
            status = run->in_place ? TSMITH_OK : execute_foreign(run, record);
            break;
        case RECORDING_PROCESS:
        case RECORDING_ARGUMENT:
        case RECORDING_COMMAND:
        case RECORDING_USER_EVENT:
        case RECORDING_USER_STATUS:
        case RECORDING_WAIT:
        case RECORDING_VERIFY:
        case RECORDING_STATE:
        case RECORDING_RELEASE:
        case RECORDING_END:
        case RECORDING_CHANGED:
            break;
        default:
            status = execute_object(run, record);
            if (status == TSMITH_OK && record->type == RECORDING_SHARED)
                status = clear_shared(run, record);
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

// A memory of its own: no part of another.
static bool is_root(const struct live *live) {
    return live_is_memory(live) && live->type != RECORDING_SUB_BUFFER && !live->within;
}

struct execute_order {
    struct run run;
    const struct plan *plan;
    size_t foreign; // the record up to which it is in place
    tsmith_error error;
};

tsmith_status execute_order_begin(struct execution *execution, const struct plan *plan,
                                  const tsmith_replay_options *options, const struct execute_client *client,
                                  struct execute_order **out, tsmith_error *error) {
    struct execute_order *order = calloc(1, sizeof *order);
    *out = order;
    if (!order)
        return status_set(error, TSMITH_ERROR_NO_MEMORY, "out of memory while preparing the replay");
    order->plan = plan;
    order->run = (struct run){.execution = execution,
                              .cl = &execution->cl,
                              .recording = plan->recording,
                              .process = plan->process,
                              .options = options,
                              .client = client,
                              .serial = true,
                              .in_place = client->options && client->options->in_place,
                              .error = error ? error : &order->error};
    const tsmith_status status = run_begin(&order->run);
    return status == TSMITH_OK ? make_objects(&order->run) : status;
}

tsmith_status execute_order_reach(struct execute_order *order, uint32_t number) {
    const struct plan_node *node = &order->plan->nodes[number];
    struct run *run = &order->run;
    tsmith_status status = TSMITH_OK;
    for (; run->in_place && order->foreign < node->record && status == TSMITH_OK; order->foreign++) {
        run->at = order->foreign;
        status = execute_foreign(run, &run->process->records[run->at]);
    }
    return status;
}

tsmith_status execute_order_step(struct execute_order *order, uint32_t number) {
    const struct plan_node *node = &order->plan->nodes[number];
    struct run *run = &order->run;
    if (node->kind != PLAN_COMMAND)
        return TSMITH_OK;
    tsmith_status status = execute_order_reach(order, number);
    if (node->arguments && status == TSMITH_OK)
        status = set_arguments(run, order->plan, node);
    run->at = node->record;
    return status == TSMITH_OK ? execute_command(run, &run->process->records[node->record]) : status;
}

// Whether an access of the node before this one is to the same memory, and writes too.
static bool is_second_write(const struct plan *plan, const struct plan_node *node, uint32_t access) {
    const struct plan_access *all = &plan->accesses[node->access_first];
    for (uint32_t i = 0; i < access; i++)
        if (all[i].memory == all[access].memory && (all[i].flags & PLAN_WRITES))
            return true;
    return false;
}

tsmith_status execute_order_bring(struct execute_order *order, uint32_t number) {
    const struct plan_node *node = &order->plan->nodes[number];
    struct run *run = &order->run;
    tsmith_status status = run->last && !run_wait(run, run->last) ? run->error->status : TSMITH_OK;
    for (uint32_t i = 0; i < node->access_count && status == TSMITH_OK; i++) {
        const struct plan_access *access = &order->plan->accesses[node->access_first + i];
        const struct plan_memory *memory = &order->plan->memories[access->memory];
        struct live *live = memory->kind == PLAN_BUFFER ? live_memory(run, memory->id) : NULL;
        if (live && is_root(live) && (access->flags & PLAN_WRITES) && !is_second_write(order->plan, node, i))
            status = memory_bring(run, live, find_queue(run, live->parent), node->record);
    }
    return status;
}

// All that was enqueued is over, and what was read is handed over.
static tsmith_status finish_commands(struct run *run) {
    run_flush(run);
    if (run->last && !run_wait(run, run->last))
        return run->error->status;
    return transfers_reap(run, true);
}

tsmith_status execute_order_conclude(struct execute_order *order) {
    struct run *run = &order->run;
    tsmith_status status = finish_commands(run);
    for (size_t i = 1; i < run->live_count && status == TSMITH_OK; i++)
        if (is_root(&run->lives[i]))
            status = memory_bring(run, &run->lives[i], find_queue(run, run->lives[i].parent),
                                  run->lives[i].record);
    return status;
}

tsmith_status execute_order_end(struct execute_order *order, tsmith_status status) {
    if (!order)
        return status;
    if (order->run.last)
        order->run.cl->clReleaseEvent(order->run.last);
    status = run_end(&order->run, status);
    free(order);
    return status;
}

tsmith_status execute_opencl_order(struct execution *execution, const struct plan *plan,
                                   const uint32_t *nodes, size_t count, const tsmith_replay_options *options,
                                   const struct execute_client *client, tsmith_error *error) {
    struct execute_order *order;
    tsmith_status status = execute_order_begin(execution, plan, options, client, &order, error);
    for (size_t i = 0; i < count && status == TSMITH_OK; i++) {
        status = execute_order_step(order, nodes[i]);
        if (status == TSMITH_OK && client->options && client->options->each)
            status = execute_order_bring(order, nodes[i]);
    }
    if (status == TSMITH_OK)
        status = execute_order_conclude(order);
    return execute_order_end(order, status);
}

#else // built without the OpenCL headers

static tsmith_status refuse_replay(tsmith_error *error) {
    return status_set(error, TSMITH_ERROR_MISSING,
                      "this TraceSmith was built without the OpenCL headers: it cannot replay");
}

tsmith_status execute_opencl_order(struct execution *execution, const struct plan *plan,
                                   const uint32_t *nodes, size_t count, const tsmith_replay_options *options,
                                   const struct execute_client *client, tsmith_error *error) {
    (void)execution;
    (void)plan;
    (void)nodes;
    (void)count;
    (void)options;
    (void)client;
    return refuse_replay(error);
}

tsmith_status execute_order_begin(struct execution *execution, const struct plan *plan,
                                  const tsmith_replay_options *options, const struct execute_client *client,
                                  struct execute_order **out, tsmith_error *error) {
    (void)execution;
    (void)plan;
    (void)options;
    (void)client;
    *out = NULL;
    return refuse_replay(error);
}

tsmith_status execute_order_step(struct execute_order *order, uint32_t node) {
    (void)order;
    (void)node;
    return TSMITH_ERROR_MISSING;
}

tsmith_status execute_order_reach(struct execute_order *order, uint32_t node) {
    (void)order;
    (void)node;
    return TSMITH_ERROR_MISSING;
}

tsmith_status execute_order_bring(struct execute_order *order, uint32_t node) {
    (void)order;
    (void)node;
    return TSMITH_ERROR_MISSING;
}

tsmith_status execute_order_conclude(struct execute_order *order) {
    (void)order;
    return TSMITH_ERROR_MISSING;
}

tsmith_status execute_order_end(struct execute_order *order, tsmith_status status) {
    (void)order;
    return status;
}

#endif
