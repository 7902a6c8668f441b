// SPDX-License-Identifier: Apache-2.0
// Totals of a running recording, as `tracesmith top` shows them. The collector adds up the batches that it delivers, so
// the totals cost the profiled program nothing. While there are readers, it publishes the totals in a file of the
// session directory. The last totals equal those of the trace.
//
// A reader treats the file as untrusted and checks its owner, size, checksum, counts and texts. It needs permission to
// write to the session directory, so it is the recording's user, or root.
#ifndef TRACESMITH_LIVE_H
#define TRACESMITH_LIVE_H

#include <stddef.h>
#include <stdint.h>

#include "tracesmith/batch.h"
#include "tracesmith/dictionary.h"
#include "tracesmith/export.h"
#include "tracesmith/status.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    TSMITH_LIVE_TEXT = 128, // bytes of a name, its NUL included; a longer name is cut
    TSMITH_LIVE_DEVICES = 16,
    TSMITH_LIVE_KERNELS = 48,
    TSMITH_LIVE_COPIES = 24,
    TSMITH_LIVE_WAITS = 16,
    TSMITH_LIVE_KINDS = 64,
    TSMITH_LIVE_REASONS = 64
};

// Events of one sort. Times are ns.
typedef struct tsmith_live_amount {
    uint64_t count;
    uint64_t timed; // of those, with a known duration
    int64_t sum;    // of the durations
    uint64_t bytes; // of those with a known size
} tsmith_live_amount;

typedef struct tsmith_live_kernel {
    char name[TSMITH_LIVE_TEXT]; // "": the kernel has no name
    uint64_t id;                 // of the name, within this recording
    tsmith_live_amount amount;
    int64_t least, most; // of the durations; 0 if none is known
} tsmith_live_kernel;

typedef struct tsmith_live_device {
    char name[TSMITH_LIVE_TEXT];
    uint64_t id; // in the trace
    uint64_t commands;
    int64_t busy;   // time in which at least one command ran
    int64_t work;   // the sum over its commands
    int64_t late;   // of `work`: so old when it was delivered that it may be missing in `busy`
    int64_t recent; // of `busy`: between recent_from and recent_to
} tsmith_live_device;

// Copies, fills and maps, or waits of host threads, by their operation.
typedef struct tsmith_live_operation {
    uint8_t kind, operation, direction, reserved[5];
    tsmith_live_amount amount;
} tsmith_live_operation;

// All since `since`. Times are ns; `since`, `now`, recent_from and recent_to are on the trace clock.
typedef struct tsmith_live_totals {
    size_t size;       // sizeof(tsmith_live_totals), the caller's
    uint64_t sequence; // grows with each publication
    int64_t since, now;
    int64_t recent_from,
        recent_to; // a window that lies so far back that its events were delivered; empty soon after `since`
    uint64_t events;
    uint64_t kinds[TSMITH_LIVE_KINDS];          // events by kind
    uint64_t lost[TSMITH_LIVE_REASONS];         // events by reason (tsmith_reason)
    int64_t collector_time;                     // processor time of the collector's process since `since`
    tsmith_live_amount overhead;                // what agents measured of themselves (--max-overhead)
    tsmith_live_amount kernels;                 // all of them
    uint64_t kernel_names;                      // how many different ones
    uint64_t allocations, frees;                // of device memory
    uint64_t live_bytes, peak_bytes;            // over all processes
    uint32_t from_start;                        // nothing was delivered before `since`
    uint32_t ended;                             // the recording is over: nothing is added any more
    uint32_t failed;                            // out of memory: the totals lack something
    uint32_t processes;                         // alive: the program, and others that record
    uint32_t device_count, device_kernel_count; // elements in use of the arrays
    uint32_t copy_count, wait_count;
    tsmith_live_device devices[TSMITH_LIVE_DEVICES];
    // Those with the most time in all, and those with the most time lately; by time.
    tsmith_live_kernel device_kernels[TSMITH_LIVE_KERNELS];
    tsmith_live_operation copies[TSMITH_LIVE_COPIES];
    tsmith_live_operation waits[TSMITH_LIVE_WAITS];
} tsmith_live_totals;

typedef struct tsmith_live tsmith_live;

// Opens the totals of the session in a directory, and asks its collector to publish them. NOT_FOUND: it is no session.
// PERMISSION: another user's.
TSMITH_API tsmith_status tsmith_live_open(const char *directory, tsmith_live **out, tsmith_error *error);
// The newest totals. AGAIN: none were published yet. END: the recording has ended, and `out` has its last totals, if
// out->ended is set; if not, its collector was killed before it could publish them. Repeats the request to
// publish, which the collector forgets after 15 s.
TSMITH_API tsmith_status tsmith_live_read(tsmith_live *live, tsmith_live_totals *out, tsmith_error *error);
TSMITH_API void tsmith_live_close(tsmith_live *live);

// The same totals of batches that a program has itself, such as those of a file that is still being written. One thread at a time.
typedef struct tsmith_live_sums tsmith_live_sums;

// `since`, ns on the trace clock, is handed on to the totals. ERROR_NO_MEMORY.
TSMITH_API tsmith_status tsmith_live_sums_create(int64_t since, tsmith_live_sums **out, tsmith_error *error);
// All batches have the same dictionary. When memory is exhausted, `failed` of the totals is set.
TSMITH_API void tsmith_live_sums_add(tsmith_live_sums *sums, const tsmith_dictionary *dictionary,
                                     const tsmith_batch *batch);
// The totals of all batches so far. `now`, ns on the trace clock, is the time that `recent` counts back from. Zero: sequence, ended,
// processes, collector_time, which only the collector knows.
TSMITH_API void tsmith_live_sums_give(tsmith_live_sums *sums, const tsmith_dictionary *dictionary,
                                      int64_t now, tsmith_live_totals *out);
TSMITH_API void tsmith_live_sums_destroy(tsmith_live_sums *sums);

#ifdef __cplusplus
}
#endif
#endif
