// SPDX-License-Identifier: Apache-2.0
// Events that describe one wait of the host: timeline_finish calls these to count each wait once.
//
// A trace of CUDA has up to two events for a wait: the call (cudaStreamSynchronize) and CUPTI's record of the wait in it. They
// have the same correlation number. The record is on the thread's track (TraceSmith's own traces), or on that of a queue or a
// device (Kineto, nsys; struct sync_note). A record alone is no proof of a wait: CUPTI also writes it for cudaEventQuery.
#include "state/timeline.h"

uint8_t timeline_wait_role(uint8_t operation) {
    switch (operation) {
    case TSMITH_OPERATION_FINISH:
        return TSMITH_CALL_SYNC_QUEUE;
    case TSMITH_OPERATION_DEVICE_SYNC:
        return TSMITH_CALL_SYNC_DEVICE;
    case TSMITH_OPERATION_WAIT:
    case TSMITH_OPERATION_BLOCKING_CALL:
        return TSMITH_CALL_SYNC_EVENT;
    default:
        return TSMITH_CALL_OTHER;
    }
}

static bool same_moment(const tsmith_call *call, const tsmith_call *sync) {
    return call->start == sync->start && call->end == sync->end;
}

// A call keeps its name and its times. One that only asked for an event (cudaEventQuery) does not become a wait.
static void merge(tsmith_call *call, const tsmith_call *sync) {
    if (sync->role && (call->role || same_moment(call, sync)))
        call->role = sync->role;
    call->operation = sync->operation;
    call->row = sync->row != TSMITH_INDEX_NONE ? sync->row : call->row;
    call->blocking |= sync->operation == TSMITH_OPERATION_BLOCKING_CALL;
    call->details = sync->details ? sync->details : call->details; // these are waits: no record is known yet
    call->correlation = call->correlation ? call->correlation : sync->correlation;
}

// The call in which a wait was, among the calls before it: on its thread, around it, and either of the same moment
// (OpenCL: one event for the call, one for the wait) or with the same number (CUDA: CUPTI's record is inside the
// call). Only calls made by this call can come between.
static tsmith_call *find_around(tsmith_call *calls, size_t kept, const tsmith_call *sync) {
    enum { NESTED = 16 };
    if (sync->kind != TSMITH_KIND_SYNC)
        return NULL;
    for (size_t back = 1; back <= kept && back <= NESTED; back++) {
        tsmith_call *call = &calls[kept - back];
        if (call->thread != sync->thread)
            return NULL;
        if (call->kind != TSMITH_KIND_API || call->end < sync->end)
            continue;
        if ((back == 1 && same_moment(call, sync)) ||
            (sync->correlation && call->correlation == sync->correlation))
            return call;
    }
    return NULL;
}

static bool is_wait(const tsmith_call *call) {
    return call->role == TSMITH_CALL_SYNC_QUEUE || call->role == TSMITH_CALL_SYNC_DEVICE ||
           call->role == TSMITH_CALL_SYNC_EVENT;
}

// Leaves out a wait that another wait makes (cuStreamSynchronize in cudaStreamSynchronize): the outer call is the wait, for
// what the inner one names.
static size_t merge_nested(tsmith_call *calls, size_t count) {
    tsmith_call *outer = NULL;
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        const tsmith_call *call = &calls[i];
        if (outer && is_wait(call) && outer->thread == call->thread && outer->end >= call->end) {
            outer->row = outer->row != TSMITH_INDEX_NONE ? outer->row : call->row;
            outer->details = outer->details ? outer->details : call->details;
            continue;
        }
        calls[kept] = *call;
        if (is_wait(call))
            outer = &calls[kept];
        kept++;
    }
    return kept;
}

void timeline_merge_waits(tsmith_timeline *timeline) {
    tsmith_call *calls = timeline->calls;
    size_t kept = 0;
    for (size_t i = 0; i < timeline->call_count; i++) {
        tsmith_call *call = find_around(calls, kept, &calls[i]);
        if (call)
            merge(call, &calls[i]);
        else
            calls[kept++] = calls[i];
    }
    timeline->call_count = kept = merge_nested(calls, kept);
    for (size_t i = 0; i < kept; i++) {
        tsmith_thread *thread = &timeline->threads[calls[i].thread];
        if (!thread->call_count++)
            thread->first_call = (uint32_t)i;
    }
}
