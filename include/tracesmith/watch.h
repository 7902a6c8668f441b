// SPDX-License-Identifier: Apache-2.0
// What the system's kernel sees of a recorded program: when its threads did not run, what for and who woke them, fences of
// GPU drivers, and calls of any function (probes). By eBPF: needs Linux 5.11 or newer with BTF, root or CAP_BPF with
// CAP_PERFMON, and a TraceSmith that was built with libbpf; docs/sources.md has all of it.
//
//     tsmith_watch_create -> tsmith_capture_create -> tsmith_watch_join -> start, pump ... -> tsmith_watch_destroy
//
// One thread at a time.
#ifndef TRACESMITH_WATCH_H
#define TRACESMITH_WATCH_H

#include <stddef.h>
#include <stdint.h>

#include "tracesmith/capture.h"
#include "tracesmith/export.h"
#include "tracesmith/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tsmith_watch tsmith_watch;

// A function of a library, of a program or of the system's kernel: every entry and return becomes an event of kind
// host_function.
typedef struct tsmith_probe {
    const char *file; // a path, or the name of a library as the loader finds it ("libOpenCL.so.1"); "kernel"
    const char *function; // "@NAME": the static probes (USDT) of this name, each pass an event of kind marker
} tsmith_probe;

typedef struct tsmith_watch_options {
    size_t size; // sizeof(tsmith_watch_options)
    int sched;   // threads that do not run
    int stacks;  // with `sched`: where a thread waits, in the kernel and the program, and who wakes it
    const tsmith_probe *probes; // at most 32
    size_t probe_count;
    const char *agent_directory; // as in tsmith_capture_options
    // Calls of GPU drivers by their device nodes (ioctl, mmap), faults in memory of theirs, fences, and jobs of the kernel's
    // GPU scheduler. `nodes`: paths of others to watch as well.
    int driver;
    const char *const *nodes;
    size_t node_count; // at most 32
} tsmith_watch_options;

// Puts the programs into the kernel; they see nothing yet. PERMISSION or MISSING with a message about what is needed;
// NOT_FOUND if a probe's file or function does not exist.
TSMITH_API tsmith_status tsmith_watch_create(const tsmith_watch_options *options, tsmith_watch **out,
                                             tsmith_error *error);
// The additional cost of a call of a probed function, measured now on a function with the same first instruction. `site`
// describes that instruction, and for a kernel function the cost for programs that are not recorded. The watch owns it.
TSMITH_API tsmith_status tsmith_watch_probe_cost(tsmith_watch *watch, size_t probe, double *ns,
                                                 const char **site, tsmith_error *error);
// From now on what this process starts is watched, with all that it starts in turn; the events come into the trace when the
// program has ended. The object must outlive the capture.
TSMITH_API tsmith_status tsmith_watch_join(tsmith_watch *watch, tsmith_capture *capture, tsmith_error *error);

typedef struct tsmith_watch_totals {
    size_t size; // sizeof(tsmith_watch_totals), the caller's
    uint64_t off_cpu, fences;
    uint64_t lost;   // records that did not fit into the kernel's buffer
    uint64_t driver; // calls and faults
} tsmith_watch_totals;
// The parts of `driver` that this kernel cannot report, as words ("fences (dma_fence)"); "": none.
TSMITH_API const char *tsmith_watch_lacks(const tsmith_watch *watch);
// After END.
TSMITH_API void tsmith_watch_total(const tsmith_watch *watch, tsmith_watch_totals *out);
TSMITH_API uint64_t tsmith_watch_probe_hits(const tsmith_watch *watch, size_t probe);

TSMITH_API void tsmith_watch_destroy(tsmith_watch *watch);

#ifdef __cplusplus
}
#endif
#endif
