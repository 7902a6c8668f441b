// SPDX-License-Identifier: Apache-2.0
// The inside of tsmith_watch: watch.c has the programs in the kernel and keeps their records in a file, rows.c makes
// events of them when the program has ended.
#ifndef WATCH_WATCH_H
#define WATCH_WATCH_H

#include <pthread.h>
#include <stdatomic.h>

#include "tracesmith/watch.h"
#include "watch/copies.h"
#include "watch/host_clock.h"
#include "watch/stacks.h"
#include "wire/agent_bpf.h"

struct watch_totals {
    uint64_t off_cpu, fences, driver, samples, hits[AGENT_BPF_PROBES_MOST];
};

struct tsmith_watch {
    const struct agent_bpf_table *table;
    struct agent_bpf *agent;
    char *names[AGENT_BPF_PROBES_MOST]; // of the probed functions
    size_t probe_count;
    char cost_of_others[128]; // in words
    struct watch_spool spool;
    struct watch_copies copies;
    uint8_t kernel_stacks[WATCH_KERNEL_STACKS / 8]; // a bit for each that is in the spool
    struct watch_end ended;
    pthread_t reader;
    atomic_bool reading, stopping;
    bool started;
    struct watch_totals totals;
};

// A source of what the spool (which stays the caller's) holds. `clock` is taken over: CLOCK_MONOTONIC. `totals` may be NULL.
tsmith_status watch_source(int spool, struct watch_totals *totals, struct host_clock *clock,
                           tsmith_source **out, tsmith_error *error);

#endif
