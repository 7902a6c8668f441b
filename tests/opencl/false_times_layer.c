// SPDX-License-Identifier: Apache-2.0
// A driver whose times are wrong, in the way that $FALSE_TIMES names (a layer above the real one):
//   none       as they are
//   zero       queued 0, submitted 1, start 2, end 3, as Mesa 22.3's are
//   order      it started 1 ms before it was submitted
//   beyond     it ended 5 s later than it did
//   before     every other command: all 10 s earlier
//   same       all commands have the times of the first
//   domain     a clock of its own, 1000 s behind: legitimate
//   early      the first time that a command's end is asked for it runs, and its end is 0, as Oclgrind's is then: legitimate
//   step       the 8th command asked about and all after it: an hour later, as a clock that is set
#include "layer.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

enum { EVENTS = 4096 };
static const cl_ulong MS = 1000000, SECOND = 1000000000;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
    cl_event event;
    cl_ulong end; // detects a new event at an old address
    unsigned number;
    bool asked, ran; // "early": its end was queried, and the answer was that it runs
} seen[EVENTS];
static unsigned count;
static struct { cl_ulong queued, submitted, start, end; } first;

static cl_ulong ask(cl_event event, cl_profiling_info what) {
    cl_ulong value = 0;
    next->clGetEventProfilingInfo(event, what, sizeof value, &value, NULL);
    return value;
}

static unsigned number_of(cl_event event) {
    const cl_ulong end = ask(event, CL_PROFILING_COMMAND_END);
    for (unsigned i = 0; i < count && i < EVENTS; i++)
        if (seen[i].event == event && seen[i].end == end)
            return seen[i].number;
    if (count == 0) {
        first.queued = ask(event, CL_PROFILING_COMMAND_QUEUED);
        first.submitted = ask(event, CL_PROFILING_COMMAND_SUBMIT);
        first.start = ask(event, CL_PROFILING_COMMAND_START);
        first.end = end;
    }
    if (count < EVENTS) {
        seen[count].event = event;
        seen[count].end = end;
        seen[count].number = count;
        count++;
    }
    return count - 1;
}

static cl_ulong one_of(cl_profiling_info what, cl_ulong queued, cl_ulong submitted, cl_ulong start,
                       cl_ulong end) {
    return what == CL_PROFILING_COMMAND_QUEUED   ? queued
           : what == CL_PROFILING_COMMAND_SUBMIT ? submitted
           : what == CL_PROFILING_COMMAND_START  ? start
                                                 : end;
}

static cl_ulong falsify(const char *how, cl_event event, cl_profiling_info what, cl_ulong value) {
    const unsigned number = number_of(event);
    if (strcmp(how, "zero") == 0)
        return one_of(what, 0, 1, 2, 3);
    if (strcmp(how, "order") == 0 && what == CL_PROFILING_COMMAND_START)
        return ask(event, CL_PROFILING_COMMAND_SUBMIT) - MS;
    if (strcmp(how, "beyond") == 0 && what == CL_PROFILING_COMMAND_END)
        return value + 5 * SECOND;
    if (strcmp(how, "before") == 0)
        return number % 2 ? value - 10 * SECOND : value;
    if (strcmp(how, "same") == 0)
        return one_of(what, first.queued, first.submitted, first.start, first.end);
    if (strcmp(how, "domain") == 0)
        return value + 1000 * SECOND;
    if (strcmp(how, "early") == 0 && what == CL_PROFILING_COMMAND_END && !seen[number].ran) {
        seen[number].asked = true;
        return 0;
    }
    if (strcmp(how, "step") == 0)
        return number >= 7 ? value + 3600 * SECOND : value;
    return value;
}

static cl_int times(cl_event event, cl_profiling_info what, size_t size, void *value, size_t *size_ret) {
    const char *how = getenv("FALSE_TIMES");
    const cl_int result = next->clGetEventProfilingInfo(event, what, size, value, size_ret);
    cl_ulong time;
    if (result != CL_SUCCESS || !how || !value || size < sizeof time)
        return result;
    if (what != CL_PROFILING_COMMAND_QUEUED && what != CL_PROFILING_COMMAND_SUBMIT &&
        what != CL_PROFILING_COMMAND_START && what != CL_PROFILING_COMMAND_END)
        return CL_INVALID_VALUE; // no COMPLETE
    memcpy(&time, value, sizeof time);
    pthread_mutex_lock(&lock);
    time = falsify(how, event, what, time);
    pthread_mutex_unlock(&lock);
    memcpy(value, &time, sizeof time);
    return result;
}

static cl_int info(cl_event event, cl_event_info what, size_t size, void *value, size_t *size_ret) {
    const char *how = getenv("FALSE_TIMES");
    const cl_int result = next->clGetEventInfo(event, what, size, value, size_ret), running = CL_RUNNING;
    if (result != CL_SUCCESS || !how || strcmp(how, "early") != 0 || !value || size < sizeof running ||
        what != CL_EVENT_COMMAND_EXECUTION_STATUS)
        return result;
    pthread_mutex_lock(&lock);
    for (unsigned i = 0; i < count; i++)
        if (seen[i].event == event && seen[i].asked && !seen[i].ran) {
            seen[i].ran = true;
            memcpy(value, &running, sizeof running);
        }
    pthread_mutex_unlock(&lock);
    return result;
}

static void layer_begin(void) {
    layer.clGetEventInfo = info;
    layer.clGetEventProfilingInfo = times;
}
