// SPDX-License-Identifier: Apache-2.0
// Profiling the calling process: a session directory of its own, the agents named in its own environment before the
// API's loader reads it, and a switch (`armed`) that the agents look at with every call.
#include "tracesmith/profiler.h"

#include <stdlib.h>
#include <time.h>

#include "api/own_process.h"
#include "base/sized.h"
#include "base/status.h"
#include "collect/collector.h"
#include "collect/session_directory.h"

struct tsmith_profiler {
    struct session_directory directory;
    struct collector *collector;
    tsmith_source *source;
    bool recording;
    struct own_environment environment; // what was set
};

// ---- the source

// What is recorded is taken by one process: in a forked child the rings are those of the parent.
static tsmith_status refuse_child(tsmith_error *error) {
    return status_set(error, TSMITH_ERROR_STATE,
                      "the profiler belongs to the process that created it, not to a forked child");
}

static tsmith_status events_next(void *self, const tsmith_batch **out, tsmith_error *error) {
    tsmith_profiler *profiler = self;
    if (session_directory_is_of_parent(&profiler->directory))
        return refuse_child(error);
    collector_set_settling(profiler->collector, !profiler->recording);
    tsmith_status status = collector_next(profiler->collector, out, error);
    if (status == TSMITH_AGAIN) {
        // A caller that polls without a pause must not keep a processor busy.
        const struct timespec moment = {.tv_nsec = 1000000};
        nanosleep(&moment, NULL);
    }
    return status;
}

static const tsmith_dictionary *events_dictionary(void *self) {
    tsmith_profiler *profiler = self;
    return collector_dictionary(profiler->collector);
}

static const tsmith_source_ops events_ops = {.next = events_next, .dictionary = events_dictionary};

// ---- life

static void finish(tsmith_profiler *profiler) {
    tsmith_source_destroy(profiler->source);
    collector_destroy(profiler->collector);
    if (profiler->directory.control)
        session_directory_remove(&profiler->directory);
    own_process_forget(&profiler->environment);
    free(profiler);
    own_process_release();
}

tsmith_status tsmith_profiler_create(const tsmith_capture_options *options, tsmith_profiler **out,
                                     tsmith_error *error) {
    tsmith_capture_options chosen = {0};
    *out = NULL;
    tsmith_status status = sized_take(tsmith_capture_options, options, &chosen, error);
    if (status != TSMITH_OK)
        return status;
    if (chosen.overflow == TSMITH_OVERFLOW_BLOCK)
        return status_set(
            error, TSMITH_ERROR_INVALID_ARGUMENT,
            "a profiler cannot use the overflow policy block: the thread that waits for room may be "
            "the one that reads the events");
    if (!own_process_take())
        return status_set(error, TSMITH_ERROR_STATE, "this process already has a profiler");
    tsmith_profiler *profiler = calloc(1, sizeof *profiler);
    if (!profiler) {
        own_process_release();
        return status_set(error, TSMITH_ERROR_NO_MEMORY, "out of memory while creating a profiler");
    }
    status = own_process_check(error);
    if (!status)
        status = session_directory_create(&profiler->directory, &chosen, error);
    if (status)
        goto fail;
    session_directory_arm(&profiler->directory, false);
    status = own_process_set(&chosen, profiler->directory.path, false, &profiler->environment, error);
    if (!status)
        status = collector_create(&profiler->directory, COLLECT_SESSION, &profiler->collector, error);
    if (!status && (status = tsmith_source_create(&events_ops, profiler, &profiler->source)))
        status_set(error, status, "out of memory while creating a profiler");
    if (status)
        goto fail;
    *out = profiler;
    return TSMITH_OK;
fail:
    finish(profiler);
    return status;
}

tsmith_status tsmith_profiler_start(tsmith_profiler *profiler, tsmith_error *error) {
    if (session_directory_is_of_parent(&profiler->directory))
        return refuse_child(error);
    if (profiler->recording)
        return status_set(error, TSMITH_ERROR_STATE, "the profiler is already recording");
    profiler->recording = true;
    session_directory_arm(&profiler->directory, true);
    own_process_switch(true);
    return TSMITH_OK;
}

tsmith_status tsmith_profiler_stop(tsmith_profiler *profiler, tsmith_error *error) {
    if (session_directory_is_of_parent(&profiler->directory))
        return refuse_child(error);
    if (!profiler->recording)
        return status_set(error, TSMITH_ERROR_STATE, "the profiler is not recording");
    own_process_switch(false);
    session_directory_arm(&profiler->directory, false);
    profiler->recording = false;
    return TSMITH_OK;
}

tsmith_source *tsmith_profiler_events(tsmith_profiler *profiler) {
    return profiler->source;
}

void tsmith_profiler_destroy(tsmith_profiler *profiler) {
    // A forked child has a copy; everything in it belongs to the parent.
    if (!profiler || session_directory_is_of_parent(&profiler->directory))
        return;
    session_directory_end(&profiler->directory);
    finish(profiler);
}
