// SPDX-License-Identifier: Apache-2.0
// Small random traces for the brute-force tests: a few devices, queues of both kinds, threads of two
// processes, commands with and without calls, wait lists, and all the times there can be.
#ifndef SUPPORT_RANDOM_TRACE_H
#define SUPPORT_RANDOM_TRACE_H

#include "support/made_trace.h"

enum { RANDOM_QUEUES = 4, RANDOM_THREADS = 3, RANDOM_SPAN = 200 };

static inline void random_command(struct made_trace *trace, struct random *random, uint32_t thread,
                                  uint32_t queue, uint64_t correlation) {
    static const uint8_t KINDS[] = {TSMITH_KIND_KERNEL, TSMITH_KIND_KERNEL, TSMITH_KIND_MEMCPY,
                                    TSMITH_KIND_COLLECTIVE, TSMITH_KIND_EVENT_RECORD};
    int64_t call = (int64_t)random_below(random, RANDOM_SPAN);
    bool has_call = random_below(random, 5) != 0, has_times = random_below(random, 2) != 0;
    if (has_call) {
        struct made_event *api =
            made_event(trace, TSMITH_KIND_API, thread, call, (int64_t)random_below(random, 10));
        api->correlation = correlation;
    }
    int64_t queued = call + (int64_t)random_below(random, 4),
            submitted = queued + (int64_t)random_below(random, 20);
    int64_t start = submitted + (int64_t)random_below(random, 20);
    struct made_event *command = made_event(trace, (tsmith_kind)KINDS[random_below(random, 5)], queue, start,
                                            (int64_t)random_below(random, 25));
    command->correlation = correlation;
    command->bytes = correlation % 3 * 100;
    if (has_times) {
        command->queued = queued;
        command->submitted = submitted;
        command->completed = start + command->duration + (int64_t)random_below(random, 6);
    }
    for (; command->wait_count < MADE_WAITS && correlation > 4 && random_below(random, 4) == 0;)
        command->waits[command->wait_count++] = 1 + random_below(random, correlation - 1);
}

static inline void random_trace(struct made_trace *trace, struct random *random, size_t commands) {
    uint32_t queues[RANDOM_QUEUES], threads[RANDOM_THREADS];
    made_trace_init(trace);
    uint32_t processes[2] = {made_process(trace, 100), made_process(trace, 200)};
    uint32_t devices[2] = {made_device(trace, "first"), made_device(trace, "second")};
    for (uint32_t i = 0; i < RANDOM_THREADS; i++)
        threads[i] = made_track(trace, TSMITH_TRACK_THREAD, processes[i / 2], 0, 0, "thread");
    for (uint32_t i = 0; i < RANDOM_QUEUES; i++)
        queues[i] = made_track(trace, TSMITH_TRACK_QUEUE, processes[i / 3], devices[i / 2],
                               i % 2 ? TSMITH_TRACK_OUT_OF_ORDER : 0, "queue");
    for (uint64_t i = 0; i < commands; i++) {
        uint32_t queue = (uint32_t)random_below(random, RANDOM_QUEUES);
        uint32_t thread = queue / 3 ? 2 : (uint32_t)random_below(random, 2);
        random_command(trace, random, threads[thread], queues[queue], i + 1);
    }
}

#endif
