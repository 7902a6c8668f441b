// SPDX-License-Identifier: Apache-2.0
// Samples of a recorded program's threads: which code they ran, at a fixed rate of their processor time, and when they did
// not run. By perf_event_open: no code runs in the program, and no signal is sent to it. Linux on x86-64 and aarch64; users
// without rights can sample where kernel.perf_event_paranoid is at most 2 (docs/stacks.md).
//
//     tsmith_host_sampler_create -> tsmith_capture_create -> tsmith_host_sampler_join -> start, pump ... -> destroy
//
// One thread, from creation to tsmith_capture_start: what this thread starts is sampled.
#ifndef TRACESMITH_HOST_SAMPLER_H
#define TRACESMITH_HOST_SAMPLER_H

#include <stddef.h>
#include <stdint.h>

#include "tracesmith/capture.h"
#include "tracesmith/export.h"
#include "tracesmith/status.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { TSMITH_SAMPLE_RATE_DEFAULT = 999, TSMITH_SAMPLE_RATE_MOST = 20000 };

typedef struct tsmith_host_sampler tsmith_host_sampler;

typedef struct tsmith_host_sampler_options {
    size_t size;    // sizeof(tsmith_host_sampler_options)
    uint32_t rate;  // samples per second of processor time, at most TSMITH_SAMPLE_RATE_MOST; 0: the default
    int no_off_cpu; // samples only: another source has the times in which threads did not run
    size_t
        buffer_bytes; // per processor, a power of two from 16 KiB on; 0: up to 2 MiB, as the system permits
} tsmith_host_sampler_options;

// INVALID_ARGUMENT for options that are not possible. A system that refuses samples is no failure: the trace's loss ledger
// then has the reason, as tsmith_host_sampler_refusal.
TSMITH_API tsmith_status tsmith_host_sampler_create(const tsmith_host_sampler_options *options,
                                                    tsmith_host_sampler **out, tsmith_error *error);
// Why the system permits no samples, and what to do; "": it does. The sampler owns the text.
TSMITH_API const char *tsmith_host_sampler_refusal(const tsmith_host_sampler *sampler);
// What the calling thread starts from now on is sampled, with all that it starts in turn; the events come into the trace when
// the program has ended. The sampler must outlive the capture.
TSMITH_API tsmith_status tsmith_host_sampler_join(tsmith_host_sampler *sampler, tsmith_capture *capture,
                                                  tsmith_error *error);

typedef struct tsmith_host_sampler_totals {
    size_t size;        // sizeof(tsmith_host_sampler_totals), the caller's
    uint64_t samples;   // in the trace
    uint64_t off_cpu;   // times in which a thread did not run
    uint64_t lost;      // records that did not fit into the kernel's buffers
    uint64_t period_ns; // of processor time, that a sample stands for
    uint64_t cpu_ns;    // processor time of the sampled threads, by the kernel's count
    int without_kernel; // time in system calls was not sampled, because the system does not permit it
} tsmith_host_sampler_totals;
// After END.
TSMITH_API void tsmith_host_sampler_total(const tsmith_host_sampler *sampler,
                                          tsmith_host_sampler_totals *out);

TSMITH_API void tsmith_host_sampler_destroy(tsmith_host_sampler *sampler);

#ifdef __cplusplus
}
#endif
#endif
