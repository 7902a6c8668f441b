// SPDX-License-Identifier: Apache-2.0
// Adds up, by name, the API calls that a host thread made while a device was idle. idle.c and gap_ranges.c call it.
#include "analyze/host_calls.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/sorted.h"

bool host_calls_init(struct host_calls *calls, const tsmith_timeline *timeline) {
    size_t count = 0;
    *calls = (struct host_calls){.outermost = malloc((timeline->call_count + 1) * sizeof *calls->outermost),
                                 .first = calloc(timeline->thread_count + 1, sizeof *calls->first)};
    if (!calls->outermost || !calls->first)
        return false;
    for (size_t i = 0; i < timeline->thread_count; i++) {
        const tsmith_thread *thread = &timeline->threads[i];
        int64_t end = INT64_MIN;
        calls->first[i] = count;
        for (uint32_t k = thread->first_call; k < thread->first_call + thread->call_count; k++) {
            if (timeline->calls[k].start < end)
                continue;
            calls->outermost[count++] = k;
            end = timeline->calls[k].end;
        }
    }
    calls->first[timeline->thread_count] = count;
    return true;
}

void host_calls_finish(struct host_calls *calls) {
    free(calls->outermost);
    free(calls->first);
    free(calls->times);
    tally_finish(&calls->names);
    *calls = (struct host_calls){0};
}

void host_calls_clear(struct host_calls *calls) {
    for (size_t i = 0; i < calls->names.count; i++)
        calls->times[i].calls = 0, calls->times[i].time = 0;
}

// `index` is the call's index: a call may be in several gaps.
static bool add(struct host_calls *calls, uint32_t name, uint32_t index, int64_t time) {
    const size_t known = calls->names.count;
    const uint32_t number = tally_number(&calls->names, name);
    if (number == UINT32_MAX || !ARRAY_RESERVE(calls->times, calls->capacity, calls->names.count))
        return false;
    if (number == known)
        calls->times[number] = (struct host_call_time){.name = name};
    struct host_call_time *it = &calls->times[number];
    it->calls += it->calls == 0 || it->last != index;
    it->last = index;
    it->time += time;
    return true;
}

bool host_calls_add(struct host_calls *calls, const tsmith_timeline *timeline, uint32_t roles,
                    uint32_t thread, int64_t from, int64_t to) {
    const size_t end = calls->first[thread + 1];
    size_t at = SORTED_FIND(i, calls->first[thread], end, timeline->calls[calls->outermost[i]].end <= from);
    for (; at < end && timeline->calls[calls->outermost[at]].start < to; at++) {
        const tsmith_call *call = &timeline->calls[calls->outermost[at]];
        const int64_t begin = call->start > from ? call->start : from, stop = call->end < to ? call->end : to;
        if (roles >> call->role & 1 && !call->blocking &&
            !add(calls, call->name, calls->outermost[at], stop - begin))
            return false;
    }
    return true;
}

struct host_call_time host_calls_take(struct host_calls *calls) {
    struct host_call_time *most = NULL;
    for (size_t i = 0; i < calls->names.count; i++)
        if (calls->times[i].time > (most ? most->time : 0))
            most = &calls->times[i];
    if (!most)
        return (struct host_call_time){0};
    const struct host_call_time taken = *most;
    most->time = 0;
    return taken;
}
