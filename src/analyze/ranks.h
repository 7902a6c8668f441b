// SPDX-License-Identifier: Apache-2.0
// The inside of ranks: what is kept of each trace (ranks.c), and what is made of all of them (ranks_report.c, ranks_align.c).
#ifndef ANALYZE_RANKS_H
#define ANALYZE_RANKS_H

#include "analyze/report.h"
#include "tracesmith/ranks.h"

struct rank_collective {
    int64_t start, end;
    uint32_t key, number; // string of the ranks' dictionary; the how-manieth of this key
};

struct rank_step {
    int64_t start, end;
    uint32_t name; // string of the ranks' dictionary
};

struct rank {
    char *label;
    int64_t number; // -1: not in the trace
    struct rank_collective *collectives;
    size_t collective_count, collective_capacity;
    struct rank_step *steps;
    size_t step_count, step_capacity;
    int64_t compute; // ns of its other kernels, added up
    int64_t begin;   // first start of its trace
    // Its clock minus that of the first rank: median of the ends of common collectives, and how far one is off it at most.
    bool is_aligned;
    int64_t offset, bound;
};

struct tsmith_ranks {
    tsmith_dictionary *keys; // of collectives: name, 0, group; of steps: name
    struct rank *items;
    size_t count, capacity;
    struct report report;
    int64_t window, missing;
    uint64_t lost;
    size_t truncated;
    int64_t world; // ranks of the run, by the traces; below 0: not in the traces, or contradictory
    bool ordered;  // numbered by the order of adding
    bool finished;
};

tsmith_status ranks_report(tsmith_ranks *ranks);

// One collective or step of one rank, in a list of those of all.
struct member {
    uint32_t key, number;
    uint32_t rank; // index
    int64_t start, end;
};

// ---- ranks_align.c; members are sorted by key, number and rank

// Sets is_aligned, offset and bound of all ranks. False when memory is exhausted.
bool ranks_align(tsmith_ranks *ranks, const struct member *members, size_t count);
// The tables `lateness` (each collective on each rank) and `occurrences` (those with the most skew). False when memory is exhausted.
bool ranks_write_lateness(tsmith_ranks *ranks, const struct member *members, size_t count);

#endif
