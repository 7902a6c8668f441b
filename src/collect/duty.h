// SPDX-License-Identifier: Apache-2.0
// Recording for a part of the time (profile --duty): the agents are switched on for the first part of every period and off for the
// rest. What is not seen is in the loss ledger, as times. src/api/capture.c calls it.
#ifndef COLLECT_DUTY_H
#define COLLECT_DUTY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collect/session_directory.h"
#include "tracesmith/dictionary.h"
#include "tracesmith/stream.h"

struct duty_gap {
    int64_t from, to; // trace times
};

// A zeroed struct does nothing.
struct duty {
    int64_t on, period; // ns; period 0: always on
    int64_t begun;      // trace time of the first look; 0: none yet
    int64_t off_since;  // 0: it is on
    bool has_ended;
    struct duty_gap *gaps; // in which it was off
    size_t count, capacity;
    uint64_t windows; // in which it was on
    bool failed;      // out of memory: gaps are missing, and recording stays on
};

// States in the trace what is requested, so that a trace of a killed recording has it.
void duty_describe(const struct duty *duty, tsmith_dictionary *dictionary);
// Switches, if it is time to.
void duty_look(struct duty *duty, const struct session_directory *directory);
// The recording ends now: closes the last gap, and states in the trace how much of it was seen (attributes duty.*).
void duty_end(struct duty *duty, tsmith_dictionary *dictionary, int64_t ended);
// A source of the gaps as losses. `duty` must live as long.
tsmith_status duty_source_create(const struct duty *duty, tsmith_source **out);
void duty_finish(struct duty *duty);

#endif
