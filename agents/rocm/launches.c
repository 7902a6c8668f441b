// SPDX-License-Identifier: Apache-2.0
// Notes that callbacks leave at a launch, for the records that come later: of dispatches and of calls (agentkit/launch_table.h), by the
// SDK's numbers. The value of a note is 1 + the number of the stream, or 0. On the program's threads. Rules: agent.h.
#include "agent.h"
#include "agentkit/stacks.h"

enum { STREAMS_MAX = 16 };

static struct launch_table dispatches, calls;

// The streams of the calls that the thread is in. The SDK reports them before the call has its number, and whether recording is on
// or not: each begin has its end.
static __thread struct {
    uint32_t depth;
    uint32_t streams[STREAMS_MAX];
} here __attribute__((tls_model("initial-exec")));

bool launches_init(void) {
    return launch_table_init(&dispatches) && launch_table_init(&calls);
}

uint64_t launches_open(void) {
    return launch_table_open(&dispatches);
}

// ---- at the launch

static uint32_t stream_here(void) {
    return here.depth ? here.streams[(here.depth < STREAMS_MAX ? here.depth : STREAMS_MAX) - 1] : 0;
}

void launches_call(const struct sdk_callback_record *record, uint32_t stack) {
    const uint64_t correlation = sdk_callback_correlation(record);
    const uint32_t stream = stream_here();
    struct launch_note note;
    if (!correlation || (!stack && !stream))
        return;
    (void)launch_table_find(&calls, correlation, &note); // a copy within a call has the call's number
    note = (struct launch_note){.value = stream ? stream : note.value,
                                .stack = stack ? stack : note.stack,
                                .time = note.time ? note.time : clock_trace_now()};
    launch_table_note(&calls, correlation, &note);
}

void launches_stream(const struct sdk_callback_record *record) {
    const void *stream = sdk_callback_payload(record);
    if (sdk_callback_operation(record) != SDK_STREAM_SET || !stream)
        return;
    if (sdk_callback_phase(record) == SDK_PHASE_EXIT)
        here.depth -= here.depth > 0;
    else if (here.depth++ < STREAMS_MAX)
        here.streams[here.depth - 1] =
            SDK_HAS(stream, stream, stream) ? 1 + (uint32_t)sdk_stream_stream(stream) : 0;
}

void launches_dispatch(const struct sdk_callback_record *record) {
    const void *launch = sdk_callback_payload(record);
    struct launch_note call;
    if (sdk_callback_operation(record) != SDK_DISPATCH_ENQUEUE ||
        sdk_callback_phase(record) != SDK_PHASE_ENTER || !launch || !SDK_HAS(launch, launch, dispatch) ||
        !agent_recording() || !agent_on())
        return;
    (void)launch_table_find(&calls, sdk_callback_correlation(record), &call);
    const uint32_t stream = stream_here() ? stream_here() : call.value;
    launch_table_note(&dispatches, sdk_launch_dispatch(launch),
                      &(struct launch_note){stream | LAUNCH_OPEN, call.stack, clock_trace_now()});
}

// ---- at the record

bool launches_end(uint64_t dispatch, struct launch_note *out) {
    return launch_table_find(&dispatches, dispatch, out) && launch_table_close(&dispatches, dispatch);
}

void launches_of_call(uint64_t correlation, struct launch_note *out) {
    (void)launch_table_find(&calls, correlation, out);
}
