// SPDX-License-Identifier: Apache-2.0
// The triggers of a flight recorder: parsed from their words, and asked of every batch. src/api/flight.c calls it.
#ifndef API_FLIGHT_TRIGGERS_H
#define API_FLIGHT_TRIGGERS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "collect/live_busy.h"
#include "tracesmith/batch.h"
#include "tracesmith/dictionary.h"
#include "tracesmith/status.h"

enum flight_trigger_kind {
    FLIGHT_SIGNAL,
    FLIGHT_RANGE,
    FLIGHT_CALL,
    FLIGHT_GAP,
    FLIGHT_ERROR,
    FLIGHT_LOSS,
    FLIGHT_EXIT,
    FLIGHT_CRASH,
    FLIGHT_FILE,
    FLIGHT_FRAME
};

enum { FLIGHT_BUCKETS = 64 * 32, FLIGHT_SAMPLES_LEAST = 100, FLIGHT_DEVICES = 16 };

// Durations seen so far, in classes that are 3 % wide.
struct flight_durations {
    uint64_t count;
    uint32_t buckets[FLIGHT_BUCKETS];
};

struct flight_trigger {
    enum flight_trigger_kind kind;
    char text[256];  // as it was given
    char *name;      // of a range, call or file
    uint32_t string; // its id in the dictionary; 0: not met yet
    uint32_t strings_seen;
    int64_t limit;                            // ns; of a range with a quantile: 0
    double quantile;                          // 0: none
    double factor;                            // of the quantile
    bool any_code;                            // of an error
    int64_t code;                             // of an error
    uint64_t every, frames;                   // of a frame: write each so many; seen so far
    struct flight_durations *durations;       // with a quantile
    tsmith_kind last_kind;                    // of the call that was asked about last
    int64_t last_start, last_duration;        // of the same
    int64_t modified;                         // of a file; 0: it was not there
    struct live_busy devices[FLIGHT_DEVICES]; // of a gap: by id
    int64_t gaps_seen[FLIGHT_DEVICES];        // until then
};

struct flight_triggers {
    struct flight_trigger *items;
    size_t count;
};

// Called for every trigger: when, on the trace clock, and why.
typedef void flight_fire(void *context, int64_t at, const char *why);

tsmith_status flight_triggers_parse(struct flight_triggers *triggers, const char *const *words, size_t count,
                                    tsmith_error *error);
void flight_triggers_finish(struct flight_triggers *triggers);
void flight_triggers_batch(struct flight_triggers *triggers, const tsmith_dictionary *dictionary,
                           const tsmith_batch *batch, flight_fire *fire, void *context);
// Files, and gaps before `delivered`: the time before which all events were delivered.
void flight_triggers_look(struct flight_triggers *triggers, int64_t now, int64_t delivered, flight_fire *fire,
                          void *context);
void flight_triggers_ended(struct flight_triggers *triggers, int64_t now, int wait_status, flight_fire *fire,
                           void *context);
bool flight_triggers_have(const struct flight_triggers *triggers, enum flight_trigger_kind kind);

#endif
