// SPDX-License-Identifier: Apache-2.0
// The plan's commands for the commands of a trace: they are matched by the call that launched
// both.
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/sized.h"
#include "base/status.h"
#include "replay/plan.h"

struct finder {
    const tsmith_timeline *timeline;
    const tsmith_dictionary *dictionary;
    const tsmith_command *commands;
    size_t count;
    struct chunk_table by_call; // of process and correlation: command + 1
    uint32_t *command_of;       // by node of the plan: command + 1
    tsmith_needs *out;
    size_t capacity;
};

static struct chunk_hash key_of(uint64_t pid, uint64_t correlation) {
    return (struct chunk_hash){pid * 0x9e3779b97f4a7c15u ^ correlation * 0x9fb21c651e98df25u, correlation};
}

static uint64_t pid_of(const struct finder *finder, const tsmith_command *command) {
    size_t rows;
    const tsmith_row *row = &tsmith_timeline_rows(finder->timeline, &rows)[command->row];
    const tsmith_process *process = tsmith_dictionary_process(finder->dictionary, row->process);
    return process ? process->pid : 0;
}

static bool index_commands(struct finder *finder) {
    finder->commands = tsmith_timeline_commands(finder->timeline, &finder->count);
    for (size_t i = 0; i < finder->count; i++) {
        const tsmith_command *command = &finder->commands[i];
        const struct chunk_hash key = key_of(pid_of(finder, command), command->correlation);
        if (command->correlation && command->kind != TSMITH_KIND_COMPILE &&
            !chunk_table_find(&finder->by_call, key) && !chunk_table_add(&finder->by_call, key, i + 1))
            return false;
    }
    return true;
}

// Work-groups over compute units; all of the device where that is not known.
static double share_of(const struct finder *finder, const struct recording_record *record,
                       const tsmith_command *command) {
    uint64_t global[RECORDING_DIMENSIONS], local[RECORDING_DIMENSIONS];
    size_t dimensions, locals, rows;
    double groups = 1;
    const tsmith_row *row = &tsmith_timeline_rows(finder->timeline, &rows)[command->row];
    const tsmith_device *device = tsmith_dictionary_device(finder->dictionary, row->dictionary_device);
    if (recording_value(record, RECORDING_KEY_COMMAND) != RECORDING_COMMAND_KERNEL)
        return 0;
    if (!device || !device->compute_units ||
        !recording_get_list(record, RECORDING_KEY_GLOBAL, global, RECORDING_DIMENSIONS, &dimensions) ||
        !recording_get_list(record, RECORDING_KEY_LOCAL, local, RECORDING_DIMENSIONS, &locals))
        return 1;
    for (size_t i = 0; i < dimensions; i++) {
        if (locals && (locals != dimensions || !local[i]))
            return 1;
        // A group has one work-item at least: where its size is the driver's choice there are no more than items.
        groups *= (double)global[i] / (locals ? (double)local[i] : 1);
    }
    const double share = groups / device->compute_units;
    return share < 1 && groups >= 1 ? share : 1;
}

static void match_records(struct finder *finder, const struct plan *plan) {
    for (uint32_t node = 0; node < plan->node_count; node++) {
        const struct recording_record *record = plan_record(plan, node);
        const uint64_t correlation =
            plan->nodes[node].kind == PLAN_COMMAND ? recording_value(record, RECORDING_KEY_CORRELATION) : 0;
        const uint64_t command =
            correlation ? chunk_table_find(&finder->by_call, key_of(plan->process->pid, correlation)) : 0;
        finder->command_of[node] = (uint32_t)command;
        if (!command)
            continue;
        finder->out->shares[command - 1] = share_of(finder, record, &finder->commands[command - 1]);
        finder->out->recorded++;
    }
}

static bool add_needs(struct finder *finder, const struct plan *plan) {
    tsmith_needs *out = finder->out;
    for (uint32_t node = 0; node < plan->node_count; node++) {
        const uint32_t command = finder->command_of[node];
        const size_t from = command ? plan->need_first[node] : 0,
                     to = command ? plan->need_first[plan->node_count + 1 + node] : 0;
        for (size_t i = from; i < to; i++) {
            const uint32_t other = finder->command_of[plan->needs[i].node];
            if (!other || other == command)
                continue;
            if (!ARRAY_RESERVE(out->needs, finder->capacity, out->count + 1))
                return false;
            out->needs[out->count++] = (tsmith_need){command - 1, other - 1};
        }
    }
    return true;
}

static int by_command(const void *left, const void *right) {
    const tsmith_need *a = left, *b = right;
    if (a->command != b->command)
        return a->command < b->command ? -1 : 1;
    return a->needs < b->needs ? -1 : a->needs > b->needs;
}

tsmith_status tsmith_plan_needs(const tsmith_plan *plan, const tsmith_timeline *timeline,
                                const tsmith_dictionary *dictionary, tsmith_needs *filled,
                                tsmith_error *error) {
    tsmith_needs full = {.size = sizeof full}, *const out = &full;
    struct finder finder = {.timeline = timeline, .dictionary = dictionary, .out = out};
    bool done = index_commands(&finder);
    out->shares = malloc((finder.count + 1) * sizeof *out->shares);
    done = done && out->shares;
    for (size_t i = 0; done && i < finder.count; i++)
        out->shares[i] = -1;
    for (size_t i = 0; done && i < plan->count; i++) {
        const struct plan *process = &plan->processes[i];
        finder.command_of = calloc(process->node_count + 1, sizeof *finder.command_of);
        done = finder.command_of != NULL;
        if (done) {
            match_records(&finder, process);
            done = add_needs(&finder, process);
        }
        free(finder.command_of);
    }
    chunk_table_finish(&finder.by_call);
    if (done && out->count)
        qsort(out->needs, out->count, sizeof *out->needs, by_command);
    sized_give(tsmith_needs, out, filled);
    if (!done)
        return status_set(error, TSMITH_ERROR_NO_MEMORY,
                          "out of memory while searching the commands of the recording");
    return out->recorded ? TSMITH_OK
                         : status_set(error, TSMITH_ERROR_NOT_FOUND,
                                      "the trace has times of no recorded command: it was made without "
                                      "times, or by an older version");
}

void tsmith_needs_finish(tsmith_needs *needs) {
    free(needs->needs);
    free(needs->shares);
    needs->needs = NULL;
    needs->shares = NULL;
    needs->count = 0;
}
