// SPDX-License-Identifier: Apache-2.0
// Simulation: runs the dependency graph of a trace again in virtual time, as recorded or with changes.
//
// A simulation takes from the trace how long every command ran, how long every host call took and the host's time
// between its calls. The latency of a launch, the distance of commands in a queue and the time of a wait's return are
// not taken one by one: they are calibrated, one figure for each kind of edge and device. The error of simulating the
// unmodified trace is therefore a measure of how well the model explains the trace. Delays that no figure explains
// (over eight times the median of their kind) are kept as recorded and counted as unexplained.
//
// Not modeled: caches, clocks that change, memory bandwidth shared by kernels beyond what the trace itself shows
// when they overlap. Host threads that wait for each other outside the GPU's API keep the recorded distance.
//
// The same trace and changes give the same answer, bit by bit. It borrows timeline, graph and dictionary. One thread
// at a time.
#ifndef TRACESMITH_SIMULATE_H
#define TRACESMITH_SIMULATE_H

#include <stddef.h>
#include <stdint.h>

#include "tracesmith/dictionary.h"
#include "tracesmith/export.h"
#include "tracesmith/graph.h"
#include "tracesmith/status.h"
#include "tracesmith/timeline.h"

#ifdef __cplusplus
extern "C" {
#endif

// The next command of a device or copy engine that runs one command at a time, if several could run.
// X(NAME, number, "name", "doc")
#define TSMITH_POLICY_TABLE(X)                                                                               \
    X(ORIGINAL, 0, "original", "the command that was first in the recording")                                \
    X(ROUND_ROBIN, 1, "round-robin", "the queues take turns")                                                \
    X(PRIORITY, 2, "priority", "the queue with the highest priority, then the first in the recording")

typedef enum tsmith_policy {
#define TSMITH_POLICY_ENUM(NAME, number, name, doc) TSMITH_POLICY_##NAME = number,
    TSMITH_POLICY_TABLE(TSMITH_POLICY_ENUM)
#undef TSMITH_POLICY_ENUM
        TSMITH_POLICY_LIMIT
} tsmith_policy;

// The changes. X(NAME, number, "name", "doc")
#define TSMITH_CHANGE_TABLE(X)                                                                               \
    X(SCALE_KERNEL, 0, "scale kernel", "kernels take `factor` times as long")                                \
    X(SCALE_COPY, 1, "scale copy", "copies and fills take `factor` times as long")                           \
    X(SCALE_CALL, 2, "scale call", "host calls take `factor` times as long, waiting excepted")               \
    X(SCALE_HOST, 3, "scale host", "the host takes `factor` times as long between its calls")                \
    X(DROP_SYNC, 4, "drop sync", "calls that wait for the device return at once")                            \
    X(FUSE, 5, "fuse",                                                                                       \
      "kernels that follow each other in a queue, named one by one in `names`, become one: no gap between "  \
      "them and one launch")                                                                                 \
    X(GRAPH, 6, "graph",                                                                                     \
      "launches that follow each other without a wait become one launch of a captured graph: `time` ns of "  \
      "host for each command, and within a queue the shortest gap that the trace knows")                     \
    X(OVERLAP_COMMUNICATION, 7, "overlap communication",                                                     \
      "communication moves to a queue of its own: what follows it in its queue does not wait for it, the "   \
      "host's next wait for that queue does. What really needs its result sooner is not known: a bound")     \
    X(STREAMS, 8, "streams",                                                                                 \
      "the commands of queues in order are spread over `streams` queues, and wait for what they really "     \
      "need: `needs`, of a recording (tsmith_plan_needs)")

typedef enum tsmith_change_kind {
#define TSMITH_CHANGE_ENUM(NAME, number, name, doc) TSMITH_CHANGE_##NAME = number,
    TSMITH_CHANGE_TABLE(TSMITH_CHANGE_ENUM)
#undef TSMITH_CHANGE_ENUM
        TSMITH_CHANGE_LIMIT
} tsmith_change_kind;

// A command cannot start before another has ended, because both use the same memory. Indices of commands of the timeline.
typedef struct tsmith_need {
    uint32_t command, needs;
} tsmith_need;

typedef struct tsmith_change {
    size_t size;             // sizeof(tsmith_change)
    tsmith_change_kind kind; //
    const char *const
        *names; // patterns of names with * and ?; NULL: all. FUSE: one for each kernel of the chain
    size_t name_count;
    double factor; // of SCALE_*: 0 or more
    int64_t time;  // of GRAPH, ns
    // of STREAMS; by command of the timeline: what part of its device it takes (0 to 1), negative when the recording does
    // not have it: it then comes after all before it, and before all after it
    uint32_t streams;
    const tsmith_need *needs; // sorted by command
    size_t need_count;
    const double *shares;
} tsmith_change;

// How well the model explains the trace from which it was made.
typedef struct tsmith_simulation_model {
    int64_t recorded;           // ns from the first moment to the last end
    int64_t simulated;          // the same, unmodified, in virtual time
    double error;               // |simulated - recorded| / recorded
    double median_start_error;  // of all commands: |start simulated - start recorded| / recorded
    int64_t unexplained;        // ns of delays kept as recorded, added up over the path that decides the end
    uint64_t unexplained_count; // such delays in the whole trace
    uint64_t anchored; // commands and threads that nothing in the trace precedes: they stay where they were
    uint64_t circular; // points that wait for each other at one time; the earlier goes first
    uint32_t
        uncalibrated;   // bits, 1 << tsmith_edge_kind: kinds that decide nothing in the trace; their lag is
                        // taken as 0, so that what is simulated with changes is a bound
    uint32_t exclusive; // devices and copy engines that run one command at a time
    uint32_t contended; // devices whose overlapping kernels slow each other down in the trace
    uint64_t inferred;  // dependencies on that path that are inferred (tsmith_edge_kind_inferred)
    int64_t rests;      // ns of that path before the last of them: they rest on it
    // The second half of the trace, predicted from the first (held out): from the launch of the command in the middle
    // to the end. `error` above only shows that the model reproduces its own input; this is the error of a prediction.
    double
        held_out_error; // |predicted - recorded| / recorded; negative where the trace does not allow it: fewer than 20
                        // commands, or less than half of the time has a counterpart in the first half
    double held_out_covered; // the share of the second half's times that have a counterpart in the first
    int64_t held_out_recorded, held_out_predicted; // ns
} tsmith_simulation_model;

// A part of the path that decides the end: work by kind and name, or gaps by kind and the name of the waiting command or call.
typedef struct tsmith_simulated_part {
    const char
        *what; // "compute", "host in a call", "launch latency"...: the names of the analysis critical_path
    uint32_t name; // string id
    uint32_t reserved;
    uint64_t count;
    int64_t time;
} tsmith_simulated_part;

typedef struct tsmith_simulated {
    size_t size;                        // sizeof(tsmith_simulated), the caller's
    int64_t makespan;                   // ns from the first moment to the last end
    int64_t device_busy;                // ns in which commands ran, added up over the devices
    uint64_t choices;                   // how often the policy had to choose
    const tsmith_simulated_part *parts; // largest first; they add up to the makespan
    size_t part_count;
    int64_t unexplained; // ns of delays on the path that nothing explains and no change can shorten
    int64_t least;       // makespan without them: the certain value is between
} tsmith_simulated;

typedef struct tsmith_simulation_options {
    size_t size; // sizeof(tsmith_simulation_options)
    tsmith_policy policy;
    const int32_t *priorities; // by row of the timeline, higher first; NULL: all 0
} tsmith_simulation_options;

// The interval of a makespan, from what the trace does not determine about the changes.
typedef struct tsmith_bounds {
    size_t size;              // sizeof(tsmith_bounds), the caller's
    tsmith_interval makespan; // ns, from least to most
    tsmith_interval open; // the same without what differs from run to run: only what the trace leaves open
    uint64_t
        unknown_launches; // calls whose cost without a wait before them the trace does not show: 0 to the recorded cost
    uint64_t
        untimed; // commands concerned whose times the trace does not have: what they gain or lose is not in the interval
} tsmith_bounds;

typedef struct tsmith_simulation tsmith_simulation;

// Calibrates, and simulates the unmodified trace. ERROR_NOT_FOUND when no command of the trace ran.
TSMITH_API tsmith_status tsmith_simulation_create(const tsmith_timeline *timeline, const tsmith_graph *graph,
                                                  const tsmith_dictionary *dictionary,
                                                  tsmith_simulation **out, tsmith_error *error);
TSMITH_API void tsmith_simulation_destroy(tsmith_simulation *simulation);
TSMITH_API const tsmith_simulation_model *tsmith_simulation_get_model(const tsmith_simulation *simulation);

// Applies a change on top of those before it. *affected (may be NULL): how many commands or calls it concerns. Scaling
// acts at once; a chain is fused only where the trace runs it.
TSMITH_API tsmith_status tsmith_simulation_change(tsmith_simulation *simulation, const tsmith_change *change,
                                                  uint64_t *affected, tsmith_error *error);
// Forgets all changes.
TSMITH_API void tsmith_simulation_reset(tsmith_simulation *simulation);
// Simulates with the changes made. `options` may be NULL. What *out points to lives until the next call.
TSMITH_API tsmith_status tsmith_simulation_run(tsmith_simulation *simulation,
                                               const tsmith_simulation_options *options,
                                               tsmith_simulated *out, tsmith_error *error);

// The interval of the last run's makespan. With changes it simulates twice more. It takes in what the trace leaves open (how
// much of a command does not scale, what a launch costs that no longer follows a wait, gaps that never decided anything,
// how commands slow each other) and, on either side, 8 % or twice the held-out error for what differs from run to run. How often
// such intervals hold is measured: docs/benchmarks.md. `options` are those of that run.
TSMITH_API tsmith_status tsmith_simulation_bounds(tsmith_simulation *simulation,
                                                  const tsmith_simulation_options *options,
                                                  tsmith_bounds *out, tsmith_error *error);

// When a command of the timeline started and ended in the last run, ns on the trace clock as the trace would have it.
TSMITH_API tsmith_interval tsmith_simulation_command(const tsmith_simulation *simulation, uint32_t command);

// Whether a name matches a pattern, as names of changes are matched: * stands for any text, ? for any byte.
TSMITH_API int tsmith_name_matches(const char *pattern, const char *name);

TSMITH_API const char *tsmith_policy_name(tsmith_policy policy);
TSMITH_API const char *tsmith_policy_doc(tsmith_policy policy);

#ifdef __cplusplus
}
#endif
#endif
