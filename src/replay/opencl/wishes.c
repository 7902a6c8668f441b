// SPDX-License-Identifier: Apache-2.0
// A replay that leaves commands out, keeps the pace of the host, or measures how long commands take.
#include "replay/execute.h"

#if __has_include(<CL/cl.h>)

#include <stdlib.h>
#include <time.h>

#include "base/array.h"
#include "base/clock.h"
#include "replay/opencl/execute.h"

bool wishes_leave_out(const struct run *run) {
    const struct execute_wishes *wishes = run->client->wishes;
    return wishes && wishes->left_out && wishes->left_out[run->at];
}

bool wishes_time_all(const struct run *run) {
    return run->client->wishes && run->client->wishes->timed;
}

void wishes_pace(struct run *run) {
    const struct execute_wishes *wishes = run->client->wishes;
    const int64_t called = wishes && wishes->pace ? wishes->pace[run->at].called : 0, now = clock_trace_now();
    if (!called)
        return;
    if (!run->pace_from) {
        run->pace_from = called;
        run->pace_start = now;
    }
    const double due = (double)(called - run->pace_from) / wishes->speed - (double)(now - run->pace_start);
    const int64_t pause = due < (double)run->patience ? (int64_t)due : run->patience;
    if (pause <= 0)
        return;
    static const int64_t SECOND = 1000000000;
    const struct timespec nap = {.tv_sec = pause / SECOND, .tv_nsec = (long)(pause % SECOND)};
    nanosleep(&nap, NULL);
}

void wishes_time(struct run *run, cl_event event) {
    void *timed = run->timed;
    if (!event || !wishes_time_all(run) || wishes_leave_out(run) ||
        !array_reserve(&timed, &run->timed_capacity, run->timed_count + 1, sizeof *run->timed))
        return;
    run->timed = timed;
    if (run->cl->clRetainEvent(event) == CL_SUCCESS)
        run->timed[run->timed_count++] = (struct timed){run->at, event};
}

tsmith_status wishes_end(struct run *run, tsmith_status status) {
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
            run->client->wishes->timed(run->client->context, timed->record, (int64_t)(end - start));
        run->cl->clReleaseEvent(timed->event);
    }
    free(run->timed);
    return status;
}

#else
typedef int execute_without_opencl;
#endif
