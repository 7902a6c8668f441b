// SPDX-License-Identifier: Apache-2.0
// The events of one frame of a trace (`--frame N`).
#ifndef CLI_FRAME_FILTER_H
#define CLI_FRAME_FILTER_H

#include "cli/order.h"
#include "tracesmith/frames.h"

// A device command: a track and the correlation of its call.
struct frame_command {
    uint64_t correlation;
    uint32_t track;
};

struct frame_filter {
    tsmith_frames *frames;
    const tsmith_frame_interval *frame; // NULL: there is no filter
    struct frame_command *commands;     // sorted
    size_t count;
    const tsmith_dictionary *dictionary;
    tsmith_view correlations; // of the batch
    tsmith_spans spans;
    uint32_t track;
    bool on_device, has_spans, is_process;
};

// Reads the trace and finds the frame of this number; the exit code, with a complaint when it is not EXIT_DONE. `form` as for
// tsmith_frames_create. The filter is to be closed in any case.
int frame_filter_open(struct frame_filter *filter, struct trace *trace, uint64_t number, const char *form);
void frame_filter_close(struct frame_filter *filter);
// The correlation ids of the calls of a frame that launched something, ascending; free() by the caller. NULL: out of memory.
uint64_t *frame_calls(const tsmith_frames *frames, const tsmith_frame_interval *frame, size_t *count);
// Restricts a query to the frame. The filter must stay where it is as long as the query is used.
void frame_filter_apply(struct frame_filter *filter, struct order_query *query);

#endif
