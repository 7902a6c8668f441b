// SPDX-License-Identifier: Apache-2.0
// The plan for those who ask from outside.
#include <stdlib.h>
#include <string.h>

#include "base/names.h"
#include "base/sized.h"
#include "base/status.h"
#include "replay/plan.h"

NAMES_DEFINE(tsmith_hazard_trial_name, tsmith_hazard_trial, TSMITH_HAZARD_TRIAL_TABLE, NAMES_NAME, NULL)
NAMES_DEFINE(tsmith_hazard_kind_name, tsmith_hazard_kind, TSMITH_HAZARD_TABLE, NAMES_NAME, NULL)

tsmith_status tsmith_plan_create(tsmith_recording *recording, tsmith_plan **out, tsmith_error *error) {
    *out = NULL;
    tsmith_plan *plan = calloc(1, sizeof *plan);
    if (plan)
        plan->processes = calloc(recording->process_count + 1, sizeof *plan->processes);
    tsmith_status status = plan && plan->processes ? TSMITH_OK
                                                   : status_set(error, TSMITH_ERROR_NO_MEMORY,
                                                                "out of memory while creating a plan");
    for (size_t i = 0; status == TSMITH_OK && i < recording->process_count; i++) {
        if (recording->processes[i].vulkan) {
            status = status_set(error, TSMITH_ERROR_UNSUPPORTED,
                                "the recording has frames of Vulkan: the order of commands is examined for "
                                "OpenCL only");
            break;
        }
        plan->count = i + 1;
        status = plan_make(&plan->processes[i], recording, &recording->processes[i], error);
        if (status == TSMITH_OK)
            status = plan_check(&plan->processes[i], error);
    }
    if (status == TSMITH_OK)
        *out = plan;
    else
        tsmith_plan_destroy(plan);
    return status;
}

void tsmith_plan_destroy(tsmith_plan *plan) {
    if (!plan)
        return;
    for (size_t i = 0; i < plan->count; i++)
        plan_finish(&plan->processes[i]);
    free(plan->processes);
    free(plan);
}

void tsmith_plan_summarize(const tsmith_plan *plan, tsmith_plan_summary *out) {
    tsmith_plan_summary sum = {0};
    for (size_t i = 0; i < plan->count; i++) {
        const struct plan *process = &plan->processes[i];
        sum.commands += process->node_count;
        sum.edges += process->edge_count;
        sum.never += process->node_count - process->order_count;
        sum.unknown += process->unknown;
        sum.unchecked += process->unchecked;
        sum.callbacks |= process->callbacks;
        sum.uses += process->access_count;
        for (size_t j = 0; j < process->node_count; j++)
            sum.device_commands += process->nodes[j].kind == PLAN_COMMAND;
    }
    sized_give(tsmith_plan_summary, &sum, out);
}

// ---- findings

void plan_describe(const struct plan *plan, uint32_t node, tsmith_plan_command *out) {
    const struct plan_node *at = &plan->nodes[node];
    const struct recording_record *record = plan_record(plan, node);
    *out = (tsmith_plan_command){.what = "host"};
    for (uint32_t i = 0; i < at->record; i++)
        out->command += plan->process->records[i].type == RECORDING_COMMAND;
    if (at->kind != PLAN_COMMAND)
        return;
    out->what = recording_command_name(recording_value(record, RECORDING_KEY_COMMAND));
    out->queue = recording_value(record, RECORDING_KEY_QUEUE);
    out->correlation = recording_value(record, RECORDING_KEY_CORRELATION);
    const uint64_t kernel = recording_value(record, RECORDING_KEY_KERNEL);
    for (uint32_t i = at->record; kernel && i-- > 0;) {
        const struct recording_record *made = &plan->process->records[i];
        if (made->type == RECORDING_KERNEL && recording_value(made, RECORDING_KEY_OBJECT) == kernel) {
            out->kernel = recording_text(plan->recording, made, RECORDING_KEY_NAME);
            return;
        }
    }
}

int tsmith_plan_hazard_get(const tsmith_plan *plan, size_t index, tsmith_hazard *filled) {
    static const char *const memories[] = {
        [PLAN_BUFFER] = "buffer", [PLAN_HOST_MEMORY] = "host memory", [PLAN_MAPPING] = "mapping"};
    size_t process = 0;
    for (; process < plan->count && index >= plan->processes[process].hazard_count; process++)
        index -= plan->processes[process].hazard_count;
    if (process == plan->count)
        return 0;
    const struct plan *of = &plan->processes[process];
    const struct plan_hazard *hazard = &of->hazards[index];
    tsmith_hazard out = {.kind = hazard->kind,
                         .pid = of->process->pid,
                         .memory = memories[of->memories[hazard->memory].kind],
                         .buffer = of->memories[hazard->memory].id,
                         .from = hazard->from,
                         .to = hazard->to,
                         .count = hazard->count,
                         .assumed = plan_command(of, hazard->first) == RECORDING_COMMAND_KERNEL ||
                                    plan_command(of, hazard->second) == RECORDING_COMMAND_KERNEL,
                         .trial = hazard->trial,
                         .possible = hazard->possible};
    plan_describe(of, hazard->first, &out.first);
    plan_describe(of, hazard->second, &out.second);
    sized_give(tsmith_hazard, &out, filled);
    return 1;
}
