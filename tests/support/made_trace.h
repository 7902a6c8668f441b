// SPDX-License-Identifier: Apache-2.0
// Traces made by hand or at random: events in a table, handed out as a source whose batches interleave the
// tracks and overlap in time, as those of a live program do.
#ifndef SUPPORT_MADE_TRACE_H
#define SUPPORT_MADE_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "support/test.h"
#include "tracesmith/stream.h"

enum { MADE_WAITS = 4 };

struct made_event {
    uint32_t track;
    uint8_t kind, operation, direction, reason;
    bool blocking, untimed;
    int64_t start, duration;                               // duration < 0: an instant
    int64_t queued, submitted, completed;                  // 0: none
    uint64_t correlation, bytes, object, live_bytes, lost; // 0: none
    const char *name;                                      // or NULL
    uint32_t queue_track, host_track;
    uint64_t waits[MADE_WAITS];
    uint32_t wait_count;
};

struct made_trace {
    tsmith_dictionary *dictionary;
    struct made_event *events;
    size_t count, capacity;
};

void made_trace_init(struct made_trace *trace);
void made_trace_finish(struct made_trace *trace);
uint32_t made_process(struct made_trace *trace, uint64_t pid);
uint32_t made_device(struct made_trace *trace, const char *name);
uint32_t made_track(struct made_trace *trace, tsmith_track_kind kind, uint32_t process, uint32_t device,
                    uint16_t flags, const char *name);
struct made_event *made_event(struct made_trace *trace, tsmith_kind kind, uint32_t track, int64_t start,
                              int64_t duration);
// A call on `thread` and the command it makes on `queue`.
void made_launch(struct made_trace *trace, uint32_t thread, uint32_t queue, uint64_t correlation,
                 int64_t call, int64_t call_duration, int64_t start, int64_t duration);

// A source over the events: batches of at most `batch_rows`, which batch comes next drawn from `random`. Lives no
// longer than the trace.
tsmith_source *made_source(const struct made_trace *trace, uint32_t batch_rows, struct random random);

#endif
