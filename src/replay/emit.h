// SPDX-License-Identifier: Apache-2.0
// Writing a part of a recorded process as a program, for the API that it uses.
#ifndef REPLAY_EMIT_H
#define REPLAY_EMIT_H

#include "replay/execute.h"
#include "tracesmith/replay.h"

struct emit_request {
    const uint8_t *left_out; // by record: commands and comparisons that are not wanted; NULL: none
    const struct execute_feed *feeds;
    size_t feed_count;
    uint64_t ulps; // tolerance
    double absolute;
    const char *origin; // text for README: how the part was chosen; NULL: all of it
    tsmith_emit_take *take;
    void *context;
};

tsmith_status emit_opencl(struct tsmith_recording *recording, const struct recorded_process *process,
                          const struct emit_request *request, tsmith_emit_summary *out, tsmith_error *error);

#endif
