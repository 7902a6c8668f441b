// SPDX-License-Identifier: Apache-2.0
// The inside of ranks: what is kept of each trace (ranks.c), and what is made of all of them (ranks_report.c, ranks_align.c).
#ifndef ANALYZE_RANKS_H
#define ANALYZE_RANKS_H

#include <stdbool.h>
#include <string.h>

#include "analyze/report.h"
#include "state/host_claims.h"
#include "tracesmith/ranks.h"

struct rank_collective {
    int64_t start, end;
    uint32_t key, number; // string of the ranks' dictionary; the how-manieth of this key
};

// The keys of collectives are "name\0group", or, where the trace says which number a collective has in its group (MPI),
// "name\0group\0". The order of collectives in the trace is then of no importance.
static inline bool ranks_key_is_numbered(tsmith_string key) {
    return key.length && key.bytes[key.length - 1] == '\0' && memchr(key.bytes, '\0', key.length - 1);
}

struct rank_step {
    int64_t start, end;
    uint32_t name; // string of the ranks' dictionary
};

// One side of a message. The process waits for it from `blocks` to `end`: `blocks` is the start of the call, of a request that of the
// call that completes it.
struct rank_message {
    uint64_t comm;
    int64_t peer, tag; // peer: the rank of the other side
    int64_t posted, blocks, end;
    bool sends;
    bool is_request; // only while its trace is read
};

// A collective of NCCL or RCCL, as its profiler plugin reported it.
struct rank_transfer {
    uint64_t comm, bytes; // bytes: of this rank's buffer
    int64_t start, end;
    uint32_t name, number,
        ranks; // name: string of the ranks' dictionary; number: in the communicator, of this name
};

struct rank {
    char *label;
    char *reason;          // why there is nothing else of this rank; NULL: its trace was read
    char *job;             // the launcher's name of the run; NULL: unknown
    int64_t number, world; // its rank, and the ranks of the run; -1: not in the trace
    int64_t window, missing;
    uint64_t lost;
    bool truncated;
    bool
        is_begun; // it has the call in which MPI began, so that none of its messages are missing at the beginning
    struct rank_collective *collectives;
    size_t collective_count, collective_capacity;
    struct rank_step *steps;
    size_t step_count, step_capacity;
    struct rank_message *messages; // sorted by communicator, peer, tag, direction and time
    size_t message_count, message_capacity;
    struct rank_transfer *transfers;
    size_t transfer_count, transfer_capacity;
    char *topology;  // of its machine, as the trace has it (event/topology.h); NULL: unknown
    char *device;    // identity of the one device that it communicates with; NULL: unknown, or several
    int64_t compute; // ns of its other kernels, added up
    int64_t data;    // ns in PyTorch's ranges that wait for the next batch of data, added up
    int64_t begin;   // first start of its trace
    struct host_claims claims; // of its trace clock
    uint32_t clock;            // its number among the trace clocks of all ranks
    // Its clock minus that of the first rank. By clocks: by probes, by UTC, or because they have one clock; at the begin of the run,
    // and the largest error during it. Else the median of the ends of common collectives, and how far one is off it at most.
    bool is_aligned, by_clocks;
    int64_t offset, bound;
};

struct tsmith_ranks {
    tsmith_dictionary *keys; // of collectives: see above; of steps: name
    struct rank *items;
    size_t count, capacity; // once finished: those that were read; those that were not follow them
    size_t absent;
    struct report report;
    int64_t world; // ranks of the run, by the traces; below 0: not in the traces, or contradictory
    bool worlds_differ;
    bool ordered; // numbered in the order of their labels
    bool finished;
};

void rank_finish(struct rank *rank);
// Sorts the collectives, and numbers those whose trace has no numbers; each rank once, after it was read. False when memory is exhausted.
bool rank_number_collectives(const tsmith_ranks *ranks, struct rank *rank);
// The collectives by time, those of one time by their key; or by key and time. Quick where there are few sorted runs. `spare` has
// room for `count` as well, and the sorted ones are in the one that is returned.
struct rank_collective *ranks_sort_by_time(struct rank_collective *items, struct rank_collective *spare,
                                           size_t count);
struct rank_collective *ranks_sort_by_key(struct rank_collective *items, struct rank_collective *spare,
                                          size_t count);
// Takes over the contents of `rank`; false when memory is exhausted, and then it still belongs to the caller.
bool ranks_push(tsmith_ranks *ranks, struct rank *rank);

// Sorts the ranks, removes those that were added twice, and decides their numbers: the answer does not depend on the order
// in which they were added. False when memory is exhausted.
bool ranks_arrange(tsmith_ranks *ranks);
// The order of labels in which numbers count as numbers: rank2 is before rank10.
int ranks_compare_labels(const char *left, const char *right);

tsmith_status ranks_report(tsmith_ranks *ranks);

#endif
