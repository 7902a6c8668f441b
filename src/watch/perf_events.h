// SPDX-License-Identifier: Apache-2.0
// Samples of running threads by the kernel's clock (perf_event_open), in one buffer per processor.
//
// The events belong to the thread that opens them and are off there. What it starts inherits them, with all threads and
// processes in turn, and they are on from the first exec on. An inherited event can have a buffer only if it is of one
// processor: so there is one for each, and none per thread, which would need code of ours in the program.
#ifndef WATCH_PERF_EVENTS_H
#define WATCH_PERF_EVENTS_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unwind/cfi.h"
#include "watch/unwind_copy.h"

struct perf_ring {
    int fd;
    uint8_t *map; // a page of positions, then `size` bytes; NULL: not mapped
};

struct perf_events {
    struct perf_ring *rings;
    size_t count, capacity;
    size_t size; // of each buffer
    uint64_t period;
    int stopped; // ends a wait; -1: there is none
    uint8_t *record;
    bool without_kernel; // the system permits no samples of time in system calls
    bool with_lost;      // the kernel counts lost records for each event
};

struct perf_events_options {
    uint64_t period; // ns of a thread's processor time
    bool switches;   // also when threads did not run
    size_t buffer;   // bytes per processor, a power of two; 0: as many as the system permits, up to 2 MiB
};

// False, with the reason and what to do as a text.
bool perf_events_open(struct perf_events *events, const struct perf_events_options *options, char *why,
                      size_t why_size);
// The reason for errno `failure` of perf_event_open, where `paranoid` is kernel.perf_event_paranoid.
void perf_events_explain(int failure, int paranoid, char *why, size_t why_size);

// Hands over the records of all processors, one processor after the other.
typedef void perf_events_take(void *context, const struct perf_event_header *record);
void perf_events_read(struct perf_events *events, perf_events_take *take, void *context);
// ns in which the samples of one processor fill half of its buffer.
int64_t perf_events_room(const struct perf_events *events);
// Until that much is in a buffer, or this many milliseconds have passed.
void perf_events_wait(const struct perf_events *events, int milliseconds);
// No event happens from now on, and no wait goes on.
void perf_events_stop(const struct perf_events *events);
// Processor time of all threads in ns, and records that did not fit (0 if `with_lost` is false).
void perf_events_count(const struct perf_events *events, uint64_t *cpu_ns, uint64_t *lost);
void perf_events_close(struct perf_events *events);

// A sample, which stays valid as long as its record.
struct perf_sample {
    uint32_t pid, tid;
    int64_t time; // trace time
    bool in_kernel;
    bool has_registers;
    struct unwind_copy copy;
};
// False: the record is damaged.
bool perf_sample_read(const struct perf_event_header *record, struct perf_sample *sample);
// The thread and the time of any other record, which are at its end.
struct perf_origin {
    uint32_t pid, tid;
    int64_t time;
};
bool perf_origin_read(const struct perf_event_header *record, struct perf_origin *origin);

#endif
