// SPDX-License-Identifier: Apache-2.0
// The memory that one command writes, before and after it: the commands run one after the other up to it. `replay --contents` calls it.
#include "base/sized.h"
#include "base/status.h"
#include "replay/execute.h"
#include "replay/plan.h"
#include "tracesmith/replay.h"

struct inspection {
    const struct plan *plan;
    uint64_t command;
    int after;
    tsmith_replay_memory_take *take;
    void *context;
};

// The size of an image in pixels, from the record that made it.
static void set_image(const struct recorded_process *process, uint64_t id, tsmith_replay_memory *memory) {
    uint64_t words[RECORDING_IMAGE_WORDS];
    size_t count;
    for (size_t i = 0; i < process->count; i++) {
        const struct recording_record *record = &process->records[i];
        if (record->type != RECORDING_IMAGE || recording_value(record, RECORDING_KEY_OBJECT) != id ||
            !recording_get_list(record, RECORDING_KEY_LIST, words, RECORDING_IMAGE_WORDS, &count) ||
            count != RECORDING_IMAGE_WORDS || !words[RECORDING_IMAGE_ELEMENT])
            continue;
        memory->width = words[RECORDING_IMAGE_WIDTH];
        memory->height = words[RECORDING_IMAGE_HEIGHT] ? words[RECORDING_IMAGE_HEIGHT] : 1;
        memory->pixel_bytes = words[RECORDING_IMAGE_ELEMENT];
        return;
    }
}

static void take_result(void *context, const struct execute_result *result) {
    const struct inspection *inspection = context;
    tsmith_replay_memory memory = {.pid = inspection->plan->process->pid,
                                   .command = inspection->command,
                                   .buffer = result->buffer,
                                   .after = inspection->after,
                                   .element = result->element,
                                   .bytes = result->bytes,
                                   .size = result->size,
                                   .reason = result->bytes ? NULL : result->why};
    if (!inspection->take)
        return; // of the commands before: what they read
    set_image(inspection->plan->process, result->buffer, &memory);
    inspection->take(inspection->context, &memory);
}

static void take_note(void *context, const char *text) {
    (void)context;
    (void)text;
}

// The node of a command; UINT32_MAX: there is none, or it never runs.
static uint32_t find_node(const struct plan *plan, uint64_t command) {
    uint64_t at = 0;
    for (size_t i = 0; i < plan->process->count; i++) {
        if (plan->process->records[i].type != RECORDING_COMMAND || at++ != command)
            continue;
        for (size_t k = 0; k < plan->order_count; k++)
            if (plan->order[k] + 1 == plan->node_of[i])
                return plan->order[k];
        break;
    }
    return UINT32_MAX;
}

static tsmith_status inspect_node(struct execution *execution, const struct plan *plan, uint32_t node,
                                  const tsmith_replay_options *options, const struct inspection *wanted,
                                  tsmith_error *error) {
    const struct execute_options run_options = {.in_place = true};
    struct inspection now = *wanted;
    const struct execute_client client = {&now, take_result, take_note, &run_options};
    struct execute_order *order;
    now.take = NULL;
    tsmith_status status = execute_order_begin(execution, plan, options, &client, &order, error);
    for (size_t i = 0; status == TSMITH_OK && i < plan->order_count && plan->order[i] != node; i++)
        status = execute_order_step(order, plan->order[i]);
    if (status == TSMITH_OK)
        status = execute_order_reach(order, node);
    for (now.after = 0; status == TSMITH_OK && now.after < 2; now.after++) {
        now.take = NULL;
        status = now.after ? execute_order_step(order, node) : TSMITH_OK;
        now.take = wanted->take;
        if (status == TSMITH_OK)
            status = execute_order_bring(order, node);
    }
    now.take = NULL;
    return execute_order_end(order, status);
}

static tsmith_status inspect_process(struct execution *execution, struct tsmith_recording *recording,
                                     const struct recorded_process *process,
                                     const tsmith_replay_options *options, struct inspection *wanted,
                                     tsmith_error *error) {
    struct plan plan;
    tsmith_status status = plan_make(&plan, recording, process, error);
    const uint32_t node = status == TSMITH_OK ? find_node(&plan, wanted->command) : UINT32_MAX;
    wanted->plan = &plan;
    if (status == TSMITH_OK)
        status = node == UINT32_MAX ? TSMITH_ERROR_NOT_FOUND
                                    : inspect_node(execution, &plan, node, options, wanted, error);
    plan_finish(&plan);
    return status;
}

tsmith_status tsmith_replay_inspect(tsmith_recording *recording, uint64_t pid, uint64_t command,
                                    const tsmith_replay_options *given, tsmith_replay_memory_take *take,
                                    void *context, tsmith_error *error) {
    tsmith_replay_options options = {0};
    struct execution *execution = NULL;
    struct inspection wanted = {.command = command, .take = take, .context = context};
    tsmith_status status = sized_take(tsmith_replay_options, given, &options, error);
    if (status == TSMITH_OK)
        status = recording_has_source_of(recording, options.source_kernel, error);
    size_t vulkan = 0, others = 0;
    for (size_t i = 0; i < recording->process_count; i++)
        if (!pid || recording->processes[i].pid == pid)
            *(recording->processes[i].vulkan ? &vulkan : &others) += 1;
    if (status == TSMITH_OK && (others || !vulkan))
        status = execute_opencl_open(options.device, &execution, error);
    if (status == TSMITH_OK)
        status = TSMITH_ERROR_NOT_FOUND;
    for (size_t i = 0; status == TSMITH_ERROR_NOT_FOUND && i < recording->process_count; i++)
        if (!recording->processes[i].vulkan && (!pid || recording->processes[i].pid == pid))
            status =
                inspect_process(execution, recording, &recording->processes[i], &options, &wanted, error);
    execute_opencl_close(execution);
    if (status == TSMITH_ERROR_NOT_FOUND && vulkan)
        return status_set(
            error, TSMITH_ERROR_UNSUPPORTED,
            "the recording has frames of Vulkan, for which replay does not have the memory of one "
            "command (--save-results writes what each submission wrote)");
    if (status == TSMITH_ERROR_NOT_FOUND)
        return status_set(error, status, "no process of the recording has a command %llu that can be run",
                          (unsigned long long)command);
    return status;
}
