// SPDX-License-Identifier: Apache-2.0
// A second tool, over the runtime's own omp-tools.h: it writes what the runtime reports to the file OTHER_TOOL_LOG, one line per
// callback that ends, for test_target.sh.
#include <omp-tools.h>
#include <stdio.h>
#include <stdlib.h>

static FILE *log_file;

static void target(ompt_target_t kind, ompt_scope_endpoint_t endpoint, int device, ompt_data_t *task,
                   ompt_data_t *target_task, ompt_data_t *data, const void *code) {
    if (endpoint == ompt_scope_end)
        fprintf(log_file, "target %d %d\n", (int)kind & 7, device);
}

static void data_op(ompt_scope_endpoint_t endpoint, ompt_data_t *target_task, ompt_data_t *data,
                    ompt_id_t *id, ompt_target_data_op_t operation, void *source, int source_device,
                    void *destination, int destination_device, size_t bytes, const void *code) {
    if (endpoint == ompt_scope_end)
        fprintf(log_file, "op %d %d %zu\n", (int)operation & 15,
                (operation & 15) == ompt_target_data_alloc ||
                        (operation & 15) == ompt_target_data_transfer_to_device
                    ? destination_device
                    : source_device,
                bytes);
}

static void submit(ompt_scope_endpoint_t endpoint, ompt_data_t *data, ompt_id_t *id, unsigned int teams) {
    if (endpoint == ompt_scope_end)
        fprintf(log_file, "submit %u\n", teams);
}

static int initialize(ompt_function_lookup_t lookup, int device, ompt_data_t *data) {
    ompt_set_callback_t set = (ompt_set_callback_t)lookup("ompt_set_callback");
    log_file = fopen(getenv("OTHER_TOOL_LOG"), "w");
    set(ompt_callback_target_emi, (ompt_callback_t)target);
    set(ompt_callback_target_data_op_emi, (ompt_callback_t)data_op);
    set(ompt_callback_target_submit_emi, (ompt_callback_t)submit);
    return log_file != NULL;
}

static void finalize(ompt_data_t *data) {
    fclose(log_file);
}

ompt_start_tool_result_t *ompt_start_tool(unsigned int version, const char *runtime) {
    static ompt_start_tool_result_t result = {initialize, finalize, {0}};
    return getenv("OTHER_TOOL_LOG") ? &result : NULL;
}
