// SPDX-License-Identifier: Apache-2.0
// Makes one trace of several: of the ranks of a distributed run, or of a recording and the trace that another profiler made of the
// same run (torch.profiler, JAX), on one clock. And several of one: a trace for each rank or process.
#ifndef TRACESMITH_MERGE_H
#define TRACESMITH_MERGE_H

#include <stddef.h>
#include <stdint.h>

#include "tracesmith/export.h"
#include "tracesmith/sbt.h"
#include "tracesmith/status.h"
#include "tracesmith/stream.h"
#include "tracesmith/trace.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tsmith_combine_result {
    size_t size;      // sizeof(tsmith_combine_result)
    uint64_t events;  // copied
    uint64_t damaged; // traces that end early or are damaged
    uint64_t
        by_wall_clock; // traces whose clock is related to that of the first part by the wall clocks of their machines
    uint64_t unrelated;      // traces whose clock is in no known relation to it
    uint64_t compared;       // traces whose clock probes, UTC or PTP relate to it, within a known error
    uint64_t contradictions; // comparisons of clocks that exclude each other, and are not used
} tsmith_combine_result;

// Writes a new trace with the events of `count` traces of any format, each given once: of the ranks of a run. Processes, tracks
// and clocks of two traces stay apart, also if they look equal; each process keeps its rank, host and ledger. Devices of one
// machine with one identity are one. Times are copied: how the clocks of the traces relate is in the table of parts
// (tsmith_part), which are sorted by rank, host and process, so that the file does not depend on the order of `paths`. Facts
// (attributes) in which traces differ get "part.N." before their name. What --capture recorded for replay is not copied.
//
// `options` as for tsmith_sbt_writer_open; `result` may be NULL. OK, or TRUNCATED when a trace ends early or is damaged (`error` says
// how many): what could be read is in the file, and its ledger has the loss. ERROR_INVALID_ARGUMENT: a trace is given twice.
// ERROR_UNSUPPORTED: a trace is itself merged. Otherwise as tsmith_trace_open. After a failure while it was written the file ends
// early. Memory: the names of all traces, and one decoded frame of up to 32 of them. Any thread.
TSMITH_API tsmith_status tsmith_traces_combine(const char *const *paths, size_t count, const char *output,
                                               const tsmith_sbt_write_options *options,
                                               tsmith_combine_result *result, tsmith_error *error);

typedef struct tsmith_split_options {
    size_t size;                           // sizeof(tsmith_split_options)
    const tsmith_sbt_write_options *write; // of every file; NULL: the defaults
    // Called after each file is complete, with its name and the number of its events. NULL: nothing is.
    void (*written)(void *context, const char *path, uint64_t events);
    void *context;
} tsmith_split_options;

typedef struct tsmith_split_result {
    size_t size;     // sizeof(tsmith_split_result)
    uint64_t files;  // that were written
    uint64_t events; // in all of them
    uint64_t
        repeated; // of those, that belong to no process and are in each file, counted for every file but the first
    uint64_t ranks;          // that the processes of the trace state
    uint64_t world;          // number of ranks of the run, as they state it; 0: unknown
    uint64_t missing;        // ranks of the run that no process of the trace has
    char missing_ranks[256]; // "0, 4-7"; ends with ", ..." if there is no room for all
} tsmith_split_result;

// Writes the events of each rank of a trace of any format into a file of its own, named by `pattern` as by tsmith_output_expand: %r is
// the rank, "norank" for processes without one; with %p each process has a file of its own (in a trace without processes, %p is 0);
// %h is the host of the processes, else the trace's, and "nohost" if neither is known. A process that states no rank has the rank of its parent, if the trace has that. Events, tracks, clocks and facts
// that belong to no process are in every file. Each file has the names, call stacks, clocks and ledger of its own events, and is what
// a recording of that rank alone would be. Processes without a rank get a file if they have an event, or if no process has a rank.
// If ranks are missing, each file has a notice. What --capture recorded for replay is not copied.
//
// `options` and `result` may be NULL. The files are written one after the other; memory: the names of the trace and of one file. OK, or
// TRUNCATED when the trace ends early or is damaged: then the ledger of every file states it. INVALID_ARGUMENT: the pattern has neither
// %r nor %p, names the trace itself, or has one name for two files; nothing was written. ERROR_UNSUPPORTED: the trace is itself merged. After a failure the file that
// was being written ends early, and the trace is as it was. Any thread.
TSMITH_API tsmith_status tsmith_trace_split(const char *path, const char *pattern,
                                            const tsmith_split_options *options, tsmith_split_result *result,
                                            tsmith_error *error);

typedef struct tsmith_merge_result {
    size_t size;       // sizeof(tsmith_merge_result)
    uint64_t added;    // events of the other trace that are in the new one
    uint64_t left_out; // events of the other trace that the recording has itself: calls and work of devices
    int64_t error;     // ns: the bound of the recording's comparisons of its clock with the wall clock
} tsmith_merge_result;

// Writes a new file with the events of `recording`, an SBT file that TraceSmith recorded, and those of `other`. Times of
// `other` are converted by the wall clock: the recording compared its own clock with it, and the other trace says when its
// time began (Kineto: baseTimeNanoseconds, or times since 1970; XPlane: profile_start_time). Processes and threads of one
// number are the same ones. Calls and work of devices are taken from `other` only if the recording has none. What
// --capture recorded for replay is not carried over.
//
// `result` may be NULL. OK, or TRUNCATED when one of the traces ends early or is damaged (`error` says which): what could be
// read of it is in the file. The file is created with mode 0600, and removed after a failure. ERROR_UNSUPPORTED: one of the traces
// does not say how its clock and the wall clock relate. ERROR_INVALID_ARGUMENT: they were not recorded at the same time, or
// `output` exists. Any thread.
TSMITH_API tsmith_status tsmith_traces_merge(const char *recording, const char *other, const char *output,
                                             tsmith_merge_result *result, tsmith_error *error);

typedef struct tsmith_join_result {
    size_t size;        // sizeof(tsmith_join_result)
    uint64_t records;   // of the other file
    uint64_t joined;    // belong to exactly one event of the trace
    uint64_t ambiguous; // could belong to several events, or several to one: not joined
    uint64_t missing;   // belong to no event of the trace
} tsmith_join_result;

// Yields the events of `trace`; an event to which a record of the file `other` belongs gets the values of the record as fields.
// `other` has records without times: CSV of Nsight Compute, whose launches are recognized by the names and sizes of kernels
// and their order, or an execution trace of PyTorch of the same run, whose operators are recognized by their numbers and names
// (docs/sources.md has the rules). A record that could belong to several events is not joined. `result` (may be NULL) is filled
// before the first event.
//
// The source is destroyed before the trace is closed. Memory: the records, and up to 136 bytes for each event that one may
// belong to. ERROR_UNSUPPORTED: `other` is a trace of another format. Otherwise as tsmith_trace_open. One thread at a time.
TSMITH_API tsmith_status tsmith_trace_join(tsmith_trace *trace, const char *other, tsmith_join_result *result,
                                           tsmith_source **out, tsmith_error *error);

#ifdef __cplusplus
}
#endif
#endif
