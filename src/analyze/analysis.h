// SPDX-License-Identifier: Apache-2.0
// What an analysis is: one row of a table. It may take the batches as they come (write), and gives its report at the
// end from what it kept and from the timeline, graph and states if it asked for them; those are built once for all.
#ifndef ANALYZE_ANALYSIS_H
#define ANALYZE_ANALYSIS_H

#include "analyze/advice.h"
#include "analyze/gap_ranges.h"
#include "analyze/ranges.h"
#include "analyze/report.h"
#include "state/graph.h"
#include "state/states.h"
#include "state/sweep.h"
#include "state/timeline.h"
#include "tracesmith/frames.h"

enum analysis_needs { NEEDS_NOTHING, NEEDS_TIMELINE, NEEDS_GRAPH, NEEDS_STATES, NEEDS_ADVICE };

struct analysis_context {
    const tsmith_dictionary *dictionary;
    tsmith_interval window;
    const char *scope;       // what a sentence is about: "trace", or "window" where a part was asked for
    const char *const *skip; // functions that are no places
    size_t skip_count;
    bool hide_interpreter;
    double peak_flops, peak_bytes;   // per second, of every device, as the user states; 0: not stated
    const tsmith_timeline *timeline; // what was asked for
    const struct ranges *ranges;
    const struct gap_ranges *gap_ranges;
    const tsmith_frames *frames; // finished, for those that read them
    const tsmith_graph *graph;
    const tsmith_states *states;
    int64_t busiest;       // ns that the device was busy which was so most
    struct advice *advice; // to add to; whole when one that needs it is made
};

struct analysis_kind {
    const char *name;
    const char *question;
    enum analysis_needs needs;
    bool ranges;       // reads those of the host, only with NEEDS_TIMELINE; or gap_ranges
    bool frames;       // reads them
    size_t state_size; // of its own memory, zeroed at first
    // Events that begin outside of the window (NULL: there is none) are none of its business.
    tsmith_status (*write)(void *state, const tsmith_dictionary *dictionary, const tsmith_batch *batch,
                           const tsmith_interval *window);
    tsmith_status (*finish)(void *state, const struct analysis_context *context, struct report *report);
    void (*release)(void *state);
    // Takes a total instead of events (NULL: it cannot). False when memory is exhausted.
    bool (*add_total)(void *state, const tsmith_kernel_total *total);
    bool advises; // adds to the advice
    // Its answer takes sums of events (TSMITH_KIND_SUM) too, or needs no kernels and transfers.
    bool reads_sums;
};

#define ANALYSES(X)                                                                                          \
    X(advice)                                                                                                \
    X(breakdown)                                                                                             \
    X(idle)                                                                                                  \
    X(kernels)                                                                                               \
    X(operators)                                                                                             \
    X(ranges)                                                                                                \
    X(sequences)                                                                                             \
    X(critical_path)                                                                                         \
    X(launches)                                                                                              \
    X(callsites)                                                                                             \
    X(graphs)                                                                                                \
    X(stalls)                                                                                                \
    X(queue_length)                                                                                          \
    X(sync)                                                                                                  \
    X(streams)                                                                                               \
    X(overlap)                                                                                               \
    X(bandwidth)                                                                                             \
    X(roofline)                                                                                              \
    X(memory)                                                                                                \
    X(frames)                                                                                                \
    X(sums)

#define ANALYSIS_DECLARE(name) extern const struct analysis_kind analysis_##name;
ANALYSES(ANALYSIS_DECLARE)
#undef ANALYSIS_DECLARE

// Whether the trace has calls of the host; without them nothing is known of waits and launches.
bool analysis_has_calls(const tsmith_analysis *analysis);
// How many kernels and transfers are in sums (--aggregate).
uint64_t analysis_summed(const tsmith_analysis *analysis);
// What every report calls a device, queue or thread.
void analysis_device_text(struct report *report, struct report_table *table,
                          const struct analysis_context *context, const tsmith_row *device);
void analysis_track_text(struct report *report, struct report_table *table,
                         const struct analysis_context *context, uint32_t track);
tsmith_string analysis_command_name(const struct analysis_context *context, const tsmith_command *command);
// Name and category of a range's key: two cells.
void analysis_range_text(struct report *report, struct report_table *table,
                         const struct analysis_context *context, uint32_t key);
tsmith_string analysis_text(const char *text);
// How many bytes of a name a sentence shows.
int analysis_shown(tsmith_string name);
// The arguments of "%.*s%s": a part of a name, and a mark if it was cut.
#define ANALYSIS_SHOWN(name)                                                                                 \
    analysis_shown(name), (name).bytes, (size_t)analysis_shown(name) < (name).length ? "~" : ""
// The same of a name that must not be missing from a sentence: "(unnamed)" where the trace has none.
tsmith_string analysis_named(tsmith_string name);
#define ANALYSIS_NAMED(name) ANALYSIS_SHOWN(analysis_named(name))
// Whether a device is busy at least half as long as the busiest: its idle time delays the whole.
bool analysis_matters(const struct analysis_context *context, const tsmith_row *device);

#endif
