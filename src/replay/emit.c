// SPDX-License-Identifier: Apache-2.0
// A recording, or a part of it, as a program of its own: which process, and which commands. What the program is made of
// depends on the API (src/replay/opencl/emit.h).
#include "replay/emit.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/sized.h"
#include "base/status.h"
#include "replay/select.h"

static bool has_commands(const struct recorded_process *process) {
    for (size_t i = 0; i < process->count; i++)
        if (process->records[i].type == RECORDING_COMMAND)
            return true;
    return false;
}

static tsmith_status select_part(struct tsmith_recording *recording, const struct recorded_process *process,
                                 const tsmith_replay_options *options, uint8_t **left_out, uint64_t *asked,
                                 tsmith_error *error) {
    struct plan plan;
    tsmith_status status = plan_make(&plan, recording, process, error);
    if (status == TSMITH_OK)
        status = plan_check(&plan, error);
    if (status == TSMITH_OK)
        status = select_records(&plan, options, left_out, asked, error);
    plan_finish(&plan);
    return status;
}

tsmith_status tsmith_replay_emit(tsmith_recording *recording, uint64_t pid,
                                 const tsmith_replay_options *given, tsmith_emit_take *take, void *context,
                                 tsmith_emit_summary *out, tsmith_error *error) {
    tsmith_replay_options options = {0};
    tsmith_emit_summary summary = {0};
    char origin[160] = "all commands of the process";
    tsmith_status status = sized_take(tsmith_replay_options, given, &options, error);
    bool found = false, vulkan = false;
    uint64_t others = 0;
    for (size_t i = 0; status == TSMITH_OK && i < recording->process_count; i++) {
        const struct recorded_process *process = &recording->processes[i];
        struct emit_request request = {.ulps = options.ulps,
                                       .absolute = options.absolute,
                                       .take = take,
                                       .context = context,
                                       .origin = origin};
        uint8_t *left_out = NULL;
        uint64_t asked = 1;
        if (!has_commands(process) || (pid && process->pid != pid))
            continue;
        if (process->vulkan) { // another one may be written
            vulkan = true;
            continue;
        }
        if (select_is_asked(&options))
            status = select_part(recording, process, &options, &left_out, &asked, error);
        if (status == TSMITH_OK && asked && found)
            others++;
        if (status == TSMITH_OK && asked && !found) {
            found = true;
            request.left_out = left_out;
            if (left_out)
                snprintf(origin, sizeof origin,
                         "a part: %" PRIu64 " commands were asked for, the others are needed by them", asked);
            status = emit_opencl(recording, process, &request, &summary, error);
        }
        free(left_out);
    }
    if (status == TSMITH_OK && !found && vulkan)
        status = status_set(error, TSMITH_ERROR_UNSUPPORTED,
                            "the recording has frames of Vulkan, which cannot be written as a C program");
    else if (status == TSMITH_OK && !found)
        status = status_set(error, TSMITH_ERROR_NOT_FOUND, "no recorded command matches the selection");
    summary.other_processes = others;
    sized_give(tsmith_emit_summary, &summary, out);
    return status;
}
