// SPDX-License-Identifier: Apache-2.0
// The commands that are asked for, and those they get content from, and so on backwards. A buffer is compared where all that
// it holds comes of commands that run, or was there from the beginning, and one of those asked for wrote it.
#include "replay/select.h"

#include <stdlib.h>
#include <string.h>

#include "base/status.h"

bool select_is_asked(const tsmith_replay_options *options) {
    return options->command_count || options->only_kernel || options->only_queue || options->calls;
}

struct names {
    struct chunk_table kernels;  // asked for by their names
    struct chunk_table memories; // index + 1
};

static bool find_names(const struct plan *plan, const tsmith_replay_options *options, struct names *names) {
    for (size_t i = 0; i < plan->process->count && options->only_kernel; i++) {
        const struct recording_record *record = &plan->process->records[i];
        const char *name = record->type == RECORDING_KERNEL
                               ? recording_text(plan->recording, record, RECORDING_KEY_NAME)
                               : NULL;
        if (name && tsmith_name_matches(options->only_kernel, name) &&
            !chunk_table_add(&names->kernels, chunk_key_of(recording_value(record, RECORDING_KEY_OBJECT)), 1))
            return false;
    }
    for (size_t i = 0; i < plan->memory_count; i++)
        if (plan->memories[i].kind == PLAN_BUFFER &&
            !chunk_table_add(&names->memories, chunk_key_of(plan->memories[i].id), i + 1))
            return false;
    return true;
}

static int by_number(const void *left, const void *right) {
    const uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return a < b ? -1 : a > b;
}

static bool is_of_calls(const struct recording_record *record, const struct recorded_process *process,
                        const tsmith_replay_options *options) {
    const uint64_t number = recording_value(record, RECORDING_KEY_CORRELATION);
    return process->pid == options->calls_pid && number &&
           bsearch(&number, options->calls, options->call_count, sizeof number, by_number);
}

static bool is_asked(const struct plan *plan, const struct recording_record *record, uint64_t command,
                     const tsmith_replay_options *options, const struct names *names) {
    const uint64_t kernel = recording_value(record, RECORDING_KEY_KERNEL);
    return (!options->command_count || (command >= options->first_command &&
                                        command - options->first_command < options->command_count)) &&
           (!options->calls || is_of_calls(record, plan->process, options)) &&
           (!options->only_queue || recording_value(record, RECORDING_KEY_QUEUE) == options->only_queue) &&
           (!options->only_kernel || (kernel && chunk_table_find(&names->kernels, chunk_key_of(kernel))));
}

enum { LEFT, NEEDED, ASKED };

// From the last to the first, so that what a needed node needs is still to come.
static void add_needs(const struct plan *plan, uint8_t *wanted) {
    for (size_t i = plan->order_count; i-- > 0;) {
        const uint32_t node = plan->order[i];
        const size_t end = plan->need_first[plan->node_count + 1 + node];
        for (size_t j = plan->need_first[node]; wanted[node] && j < end; j++)
            if (plan->needs[j].content && !wanted[plan->needs[j].node])
                wanted[plan->needs[j].node] = NEEDED;
    }
}

// What is known of a memory on the way through the recording.
struct state {
    bool foreign; // holds something of a command that is left out
    bool asked;   // a command that is asked for has written it since it was compared
};

static void take_writes(const struct plan *plan, uint32_t node, uint8_t wanted, struct state *states) {
    const struct plan_node *at = &plan->nodes[node];
    for (uint32_t i = 0; i < at->access_count; i++) {
        const struct plan_access *access = &plan->accesses[at->access_first + i];
        struct state *state = &states[access->memory];
        if (!(access->flags & PLAN_WRITES))
            continue;
        const bool all = access->from == 0 && access->to == plan->memories[access->memory].size &&
                         !(access->flags & (PLAN_ASSUMED | PLAN_PARTLY));
        state->foreign = !wanted || (state->foreign && !all);
        state->asked |= wanted == ASKED;
    }
}

static bool only_orders(uint64_t command) {
    return command == RECORDING_COMMAND_BARRIER || command == RECORDING_COMMAND_MARKER ||
           command == RECORDING_COMMAND_MIGRATE;
}

static void leave_out(const struct plan *plan, const struct names *names, const uint8_t *wanted,
                      struct state *states, uint8_t *left_out) {
    for (size_t i = 0; i < plan->process->count; i++) {
        const struct recording_record *record = &plan->process->records[i];
        const uint32_t node = plan->node_of[i];
        if (record->type == RECORDING_COMMAND && node) {
            left_out[i] = !wanted[node - 1] && !only_orders(plan_command(plan, node - 1));
            take_writes(plan, node - 1, wanted[node - 1], states);
        } else if (record->type == RECORDING_VERIFY) {
            const uint64_t id = recording_value(record, RECORDING_KEY_OBJECT),
                           memory = chunk_table_find(&names->memories, chunk_key_of(id));
            left_out[i] = !memory || states[memory - 1].foreign || !states[memory - 1].asked;
            if (memory)
                states[memory - 1].asked = false;
        }
    }
}

tsmith_status select_records(const struct plan *plan, const tsmith_replay_options *options,
                             uint8_t **left_out, uint64_t *count, tsmith_error *error) {
    uint8_t *wanted = calloc(plan->node_count + 1, 1);
    struct state *states = calloc(plan->memory_count + 1, sizeof *states);
    struct names names = {0};
    uint64_t command = 0;
    *count = 0;
    *left_out = calloc(plan->process->count + 1, 1);
    const bool done = wanted && states && *left_out && find_names(plan, options, &names);
    for (size_t i = 0; i < plan->process->count && done; i++) {
        const uint32_t node = plan->node_of[i];
        if (node && is_asked(plan, &plan->process->records[i], command, options, &names)) {
            wanted[node - 1] = ASKED;
            ++*count;
        }
        command += plan->process->records[i].type == RECORDING_COMMAND;
    }
    if (done) {
        add_needs(plan, wanted);
        leave_out(plan, &names, wanted, states, *left_out);
    }
    chunk_table_finish(&names.kernels);
    chunk_table_finish(&names.memories);
    free(wanted);
    free(states);
    return done ? TSMITH_OK
                : status_set(error, TSMITH_ERROR_NO_MEMORY,
                             "out of memory while selecting the commands to replay");
}

tsmith_status select_vulkan_records(const struct recorded_process *process,
                                    const tsmith_replay_options *options, uint8_t **left_out, uint64_t *count,
                                    tsmith_error *error) {
    uint64_t command = 0;
    bool asked = false;
    *count = 0;
    *left_out = calloc(process->count + 1, 1);
    if (!*left_out)
        return status_set(error, TSMITH_ERROR_NO_MEMORY,
                          "out of memory while selecting the commands to replay");
    for (size_t i = 0; i < process->count; i++) {
        const struct recording_record *record = &process->records[i];
        if (record->type == RECORDING_COMMAND) {
            asked =
                (!options->command_count || (command >= options->first_command &&
                                             command - options->first_command < options->command_count)) &&
                (!options->calls || is_of_calls(record, process, options)) &&
                (!options->only_queue ||
                 recording_value(record, RECORDING_KEY_QUEUE) == options->only_queue) &&
                !options->only_kernel;
            command++;
            *count += asked;
        }
        (*left_out)[i] = (record->type == RECORDING_COMMAND || record->type == RECORDING_VERIFY) && !asked;
    }
    return TSMITH_OK;
}
