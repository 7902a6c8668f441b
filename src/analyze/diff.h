// SPDX-License-Identifier: Apache-2.0
// The inside of a diff: the values of the reports of all runs, by group and name.
#ifndef ANALYZE_DIFF_H
#define ANALYZE_DIFF_H

#include <math.h>

#include "analyze/report.h"
#include "tracesmith/diff.h"

// X(NAME, "table", "prefix in gates", "first column", "second column", "doc")
#define DIFF_GROUP_TABLE(X)                                                                                  \
    X(TIMES, "times", "", "what", "", "times of a run")                                                      \
    X(COUNTS, "counts", "", "what", "", "numbers of a run")                                                  \
    X(MEMORY, "memory", "", "what", "", "bytes of a run")                                                    \
    X(KERNELS, "kernels", "kernel:", "kernel", "", "kernels by name, added up")                              \
    X(SHAPES, "shapes", "", "kernel", "shape", "kernels by name and shape (global size / block)")            \
    X(OPERATORS, "operators", "operator:", "operator", "category",                                           \
      "device time of what operators launched themselves")                                                   \
    X(RANGES, "ranges", "range:", "range", "category", "the program's ranges: their span on the devices")    \
    X(SITES, "sites", "", "site", "stack", "device memory by who allocated it, when most was alive")         \
    X(STATES, "states", "state:", "state", "", "what the devices did, all devices added up")

enum diff_group {
#define DIFF_ENUM(NAME, table, prefix, first, second, doc) DIFF_##NAME,
    DIFF_GROUP_TABLE(DIFF_ENUM)
#undef DIFF_ENUM
        DIFF_GROUPS
};

struct diff_value {
    double time, count; // time is ns; of COUNTS the number itself
};

struct diff_entry {
    enum diff_group group;
    tsmith_string first, second;
    struct diff_value *values[2]; // by side, then run; those past `filled` are 0
    size_t filled[2];
    bool unknown; // a run does not have it
};

// The values of one name in the runs of both sides.
struct diff_change {
    double base, new, base_count, new_count; // means
    bool interval;                           // low and high are known
    double low, high;                        // of new - base
};

struct tsmith_diff {
    double confidence;
    size_t runs[2];
    size_t truncated, without_calls; // traces
    bool memory_open
        [2]; // by side: memory was in use that neither a counter nor an allocation of the trace covers
    tsmith_dictionary *keys; // group, name and second name of an entry -> number + 1
    struct diff_entry *entries;
    size_t count, capacity;
    struct report report;
    int64_t window, missing;
    uint64_t lost;
    bool finished;
};

// The nearest integer there is.
static inline int64_t diff_integer(double value) {
    return value >= 9.2e18 ? INT64_MAX : value <= -9.2e18 ? -INT64_MAX : llround(value);
}

struct diff_change diff_measure(const tsmith_diff *diff, const struct diff_entry *entry);
// The quantile of Student's t distribution for a share above 0.5.
double diff_student(double share, double freedom);

// Writes the report of a diff whose runs are all in (diff_report.c).
tsmith_status diff_report(tsmith_diff *diff);

#endif
