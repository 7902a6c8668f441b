// SPDX-License-Identifier: Apache-2.0
// Running a program and recording it into a file: what `profile` and `benchmark` have in common.
#ifndef CLI_RECORD_H
#define CLI_RECORD_H

#include <stdbool.h>
#include <stdint.h>

#include "metrics.h"
#include "otlp.h"
#include "tracesmith/capture.h"
#include "tracesmith/flight.h"
#include "tracesmith/on_demand.h"

struct record_request {
    const char *path; // of the trace
    const tsmith_capture_options *options;
    char *const *argv; // NULL-terminated
    // Called with the capture before the program is started, to join other sources with it; NULL: nothing is.
    tsmith_status (*join)(void *context, tsmith_capture *capture, tsmith_error *error);
    void *join_context;
    struct metrics *metrics; // answers scrapers; NULL: none
    struct otlp *otlp;       // sends to a collector; NULL: none
    bool armed;              // record on demand only: there is no file of the whole
    tsmith_flight *flight;   // takes the events, instead of the file; NULL: none. SIGUSR2 triggers it
};

enum record_stage { RECORD_FILE, RECORD_SESSION, RECORD_START, RECORD_RUN };

struct record_result {
    enum record_stage stage; // how far it came
    int wait_status;         // of the program, as waitpid gives it; meaningful at RECORD_RUN
    bool written;            // the trace is whole
    uint64_t delivered;      // events that the recording had for the file
    uint64_t unwritten; // of those, not in it: the batch that could not be written, and all that came later
    uint32_t left_running; // processes of the program that had not ended when the recording did
    uint32_t unrecorded;   // processes that could not be recorded
    char note[512];        // what was asked for and could not be done
    bool used_api;         // an agent saw its API in use
    bool session_removed;  // by another process, while the program ran
    char session[4096];    // where it was, then
    uint64_t on_demand, on_demand_failed; // recordings, with `armed`
    tsmith_status status;                 // why the program did not run, or the trace is not whole
    tsmith_error error;
};

// Runs and records. Prints no errors: `out` has the result.
void record_run(const struct record_request *request, struct record_result *out);

// The exit code a shell would have for the program.
int record_exit_code(const struct record_result *result);

#endif
