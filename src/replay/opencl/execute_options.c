// SPDX-License-Identifier: Apache-2.0
// A replay that leaves commands out, keeps the pace of the host, or measures how long commands take.
#include "replay/execute.h"

#if __has_include(<CL/cl.h>)

#include <stdlib.h>
#include <time.h>

#include "base/array.h"
#include "base/clock.h"
#include "replay/opencl/execute.h"

bool execute_option_leaves_out(const struct run *run) {
    const struct execute_options *run_options = run->client->options;
    return run_options && run_options->left_out && run_options->left_out[run->at];
}

tsmith_status execute_option_feed(struct run *run) {
    const struct execute_options *run_options = run->client->options;
    tsmith_status status = TSMITH_OK;
    while (run_options && run->fed < run_options->feed_count &&
           run_options->feeds[run->fed].before <= run->at && status == TSMITH_OK) {
        const struct execute_feed *feed = &run_options->feeds[run->fed++];
        struct live *memory = live_memory(run, feed->memory);
        if (memory)
            status = memory_feed(run, memory, &run->process->records[feed->content]);
    }
    return status;
}

bool execute_option_time_all(const struct run *run) {
    return run->client->options && run->client->options->timed;
}

void execute_option_pace(struct run *run) {
    const struct execute_options *run_options = run->client->options;
    const int64_t called = run_options && run_options->pace ? run_options->pace[run->at].called : 0,
                  now = clock_trace_now();
    if (!called)
        return;
    if (!run->pace_from) {
        run->pace_from = called;
        run->pace_start = now;
    }
    const double due =
        (double)(called - run->pace_from) / run_options->speed - (double)(now - run->pace_start);
    const int64_t pause = due < (double)run->patience ? (int64_t)due : run->patience;
    if (pause <= 0)
        return;
    static const int64_t SECOND = 1000000000;
    const struct timespec nap = {.tv_sec = pause / SECOND, .tv_nsec = (long)(pause % SECOND)};
    nanosleep(&nap, NULL);
}

void execute_option_time(struct run *run, cl_event event) {
    if (!event || !execute_option_time_all(run) || execute_option_leaves_out(run) ||
        !ARRAY_RESERVE(run->timed, run->timed_capacity, run->timed_count + 1))
        return;
    if (run->cl->clRetainEvent(event) == CL_SUCCESS)
        run->timed[run->timed_count++] = (struct timed){run->at, event};
}

tsmith_status execute_option_end(struct run *run, tsmith_status status) {
    for (size_t i = 0; i < run->timed_count; i++) {
        const struct timed *timed = &run->timed[i];
        cl_ulong start = 0, end = 0;
        run->at = timed->record;
        if (status == TSMITH_OK && !run_wait(run, timed->event))
            status = run->error->status;
        if (status == TSMITH_OK &&
            run->cl->clGetEventProfilingInfo(timed->event, CL_PROFILING_COMMAND_START, sizeof start, &start,
                                             NULL) == CL_SUCCESS &&
            run->cl->clGetEventProfilingInfo(timed->event, CL_PROFILING_COMMAND_END, sizeof end, &end,
                                             NULL) == CL_SUCCESS &&
            end >= start && end - start < INT64_MAX)
            run->client->options->timed(run->client->context, timed->record, (int64_t)(end - start));
        run->cl->clReleaseEvent(timed->event);
    }
    free(run->timed);
    return status;
}

#else
typedef int execute_without_opencl;
#endif
