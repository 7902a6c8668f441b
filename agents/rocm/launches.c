// SPDX-License-Identifier: Apache-2.0
// Notes that callbacks leave at a launch, for the records that come later. On the program's threads. Rules: agent.h.
//
// Two tables, of dispatches and of calls, direct-mapped by the SDK's numbers, which it counts up: a place is used again only
// half a million launches later. A launch that is still open then is given up for lost. The note of a place is of its number
// while `number` is.
#include <string.h>

#include "agent.h"
#include "agentkit/stacks.h"
#include "wire/memory.h"

enum { PLACES = 1 << 19, STREAMS_MAX = 16 };

#define OPEN (UINT64_C(1) << 63)

struct place {
    _Atomic uint64_t number; // with OPEN, of a dispatch whose record has not come
    _Atomic int64_t time;
    _Atomic uint32_t stream, stack;
};

static struct place *dispatches, *calls;
static _Atomic uint64_t open;

// Grows when the SDK begins to call back. What a thread has noted of streams before is not used, because the end of its call may
// not have been reported.
static _Atomic uint32_t generation;

// The streams of the calls that the thread is in. The SDK reports them before the call has its number.
static __thread struct {
    uint32_t depth, generation;
    uint32_t streams[STREAMS_MAX];
} here __attribute__((tls_model("initial-exec")));

bool launches_init(void) {
    dispatches = memory_take(PLACES * sizeof *dispatches);
    calls = memory_take(PLACES * sizeof *calls);
    return dispatches && calls;
}

uint64_t launches_open(void) {
    return atomic_load_explicit(&open, memory_order_relaxed);
}

static bool close_place(struct place *place, uint64_t number) {
    uint64_t expected = number | OPEN;
    if (!atomic_compare_exchange_strong_explicit(&place->number, &expected, number, memory_order_acquire,
                                                 memory_order_relaxed))
        return false;
    atomic_fetch_sub_explicit(&open, 1, memory_order_relaxed);
    return true;
}

static void read_note(const struct place *place, uint64_t number, struct launch *out) {
    *out = (struct launch){.time = 0};
    if (!number || (atomic_load_explicit(&place->number, memory_order_acquire) & ~OPEN) != number)
        return;
    out->time = atomic_load_explicit(&place->time, memory_order_relaxed);
    out->stream = atomic_load_explicit(&place->stream, memory_order_relaxed);
    out->stack = atomic_load_explicit(&place->stack, memory_order_relaxed);
}

// ---- at the launch

// The calling thread's place of a call; its note is kept if the call has one already.
static struct place *call_place(uint64_t correlation) {
    struct place *place = &calls[correlation % PLACES];
    if (atomic_load_explicit(&place->number, memory_order_relaxed) == correlation)
        return place;
    atomic_store_explicit(&place->stream, 0, memory_order_relaxed);
    atomic_store_explicit(&place->stack, 0, memory_order_relaxed);
    atomic_store_explicit(&place->time, clock_trace_now(), memory_order_relaxed);
    atomic_store_explicit(&place->number, correlation, memory_order_release);
    return place;
}

void launches_began(void) {
    atomic_fetch_add_explicit(&generation, 1, memory_order_relaxed);
}

static uint32_t stream_here(void) {
    const uint32_t depth = here.depth < STREAMS_MAX ? here.depth : STREAMS_MAX;
    return depth && here.generation == atomic_load_explicit(&generation, memory_order_relaxed)
               ? here.streams[depth - 1]
               : 0;
}

void launches_call(const struct sdk_callback_record *record, uint32_t stack) {
    const uint64_t correlation = sdk_callback_correlation(record);
    const uint32_t stream = stream_here();
    if (!correlation || (!stack && !stream))
        return;
    struct place *place = call_place(correlation);
    if (stack)
        atomic_store_explicit(&place->stack, stack, memory_order_relaxed);
    if (stream)
        atomic_store_explicit(&place->stream, stream, memory_order_relaxed);
}

void launches_stream(const struct sdk_callback_record *record) {
    const uint32_t now = atomic_load_explicit(&generation, memory_order_relaxed);
    const void *stream = sdk_callback_payload(record);
    if (sdk_callback_operation(record) != SDK_STREAM_SET || !stream)
        return;
    if (here.generation != now)
        here.depth = 0;
    here.generation = now;
    if (sdk_callback_phase(record) == SDK_PHASE_EXIT)
        here.depth -= here.depth > 0;
    else if (here.depth++ < STREAMS_MAX)
        here.streams[here.depth - 1] =
            SDK_HAS(stream, stream, stream) ? 1 + (uint32_t)sdk_stream_stream(stream) : 0;
}

void launches_dispatch(const struct sdk_callback_record *record) {
    const void *launch = sdk_callback_payload(record);
    struct launch call;
    if (sdk_callback_operation(record) != SDK_DISPATCH_ENQUEUE ||
        sdk_callback_phase(record) != SDK_PHASE_ENTER || !launch || !SDK_HAS(launch, launch, dispatch) ||
        !agent_recording() || !agent_on())
        return;
    const uint64_t number = sdk_launch_dispatch(launch), correlation = sdk_callback_correlation(record);
    struct place *place = &dispatches[number % PLACES];
    const uint64_t before = atomic_load_explicit(&place->number, memory_order_relaxed);
    if ((before & OPEN) && close_place(place, before & ~OPEN)) {
        channel_ended(agent.channel, LAUNCHES_LIST, 1);
        channel_lose(agent.channel, TSMITH_REASON_NO_COMPLETION, 1);
    }
    read_note(&calls[correlation % PLACES], correlation, &call);
    const uint32_t stream = stream_here();
    atomic_store_explicit(&place->stream, stream ? stream : call.stream, memory_order_relaxed);
    atomic_store_explicit(&place->stack, call.stack, memory_order_relaxed);
    atomic_store_explicit(&place->time, clock_trace_now(), memory_order_relaxed);
    atomic_fetch_add_explicit(&open, 1, memory_order_relaxed);
    channel_begun(agent.channel, LAUNCHES_LIST, 1);
    atomic_store_explicit(&place->number, number | OPEN, memory_order_release);
}

// ---- at the record

bool launches_end(uint64_t dispatch, struct launch *out) {
    struct place *place = &dispatches[dispatch % PLACES];
    read_note(place, dispatch, out);
    return out->time && close_place(place, dispatch);
}

void launches_of_call(uint64_t correlation, struct launch *out) {
    read_note(&calls[correlation % PLACES], correlation, out);
}
