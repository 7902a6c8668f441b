// SPDX-License-Identifier: Apache-2.0
// What could be won: while the analyses make their reports they put down here what they found to cost wall time, and
// `advice`, which is made last, ranks it. One entry per problem: the largest, with the evidence of all who know some.
#ifndef ANALYZE_ADVICE_H
#define ANALYZE_ADVICE_H

#include <stdint.h>

#include "base/status.h"
#include "tracesmith/dictionary.h"
#include "tracesmith/timeline.h"

// X(NAME, "name", "see", "what to do", "what bounds the saving")
#define ADVICE_TABLE(X)                                                                                      \
    X(STARTUP, "startup", "idle",                                                                            \
      "start the device's work earlier: what comes before it is loading, compiling and preparing",           \
      "the time before the device's first command")                                                          \
    X(HOST_BOUND, "host_bound", "idle, operators",                                                           \
      "submit work earlier: see what the host does in the gaps and move it to another thread, or capture "   \
      "repeated launches in a graph (tracesmith simulate --graph 1us predicts the saving)",                  \
      "the time the device had no work and the host did something other than wait, compile or launch")       \
    X(SYNC, "sync", "idle, sync",                                                                            \
      "do not wait on the host, or wait later: results that are not needed at once can be fetched by "       \
      "asynchronous copies and events",                                                                      \
      "the time the device had no work and the host was in a wait")                                          \
    X(LAUNCH, "launch", "launches, idle",                                                                    \
      "launch less often: fuse small kernels, or capture the sequence in a graph (tracesmith simulate "      \
      "--graph 1us predicts the saving)",                                                                    \
      "the time the device was idle because of launching calls and launch latency")                          \
    X(SLOW_CALL, "slow_call", "idle, launches",                                                              \
      "let this call load or set up before the part that must be fast; it is one call, not many small "      \
      "launches",                                                                                            \
      "the time the device was idle because of launching calls and launch latency")                          \
    X(COMPILE, "compile", "idle",                                                                            \
      "compile earlier: keep binaries, or warm up before the part that must be fast",                        \
      "the time the device was idle while something was compiled")                                           \
    X(CROSS_STREAM, "cross_stream_wait", "idle, streams",                                                    \
      "loosen the order between queues: record events earlier, or put dependent commands into one queue",    \
      "the time the device was idle because work waited for other queues")                                   \
    X(COMMUNICATION, "communication", "overlap, breakdown",                                                  \
      "hide communication behind computation: begin it earlier, in its own queue, in larger pieces",         \
      "the time the device communicated and did not compute")                                                \
    X(COPY, "copy", "overlap, bandwidth",                                                                    \
      "hide copies behind computation: use asynchronous calls and a separate queue",                         \
      "the time the device copied and did not compute")                                                      \
    X(KERNEL, "kernel", "kernels, critical_path", "make this kernel faster, or launch it less often",        \
      "its part of the critical path")

enum advice_problem {
#define ADVICE_ENUM(NAME, name, see, fix, bound) ADVICE_##NAME,
    ADVICE_TABLE(ADVICE_ENUM)
#undef ADVICE_ENUM
        ADVICE_LIMIT
};

enum { ADVICE_EVIDENCE = 1280 };

struct advice_item {
    int64_t saves;         // ns of wall time at most
    tsmith_interval where; // an example; empty when there is none
    tsmith_string example; // bytes of the dictionary
    char evidence[ADVICE_EVIDENCE];
};

struct advice {
    struct advice_item items[ADVICE_LIMIT];
    int64_t unknown; // ns for which a device is idle for a cause that is not in the trace
};

// Puts a saving down; of several, the largest stays.
void advice_add(struct advice *advice, enum advice_problem problem, int64_t saves, tsmith_interval where,
                tsmith_string example);
// Adds a sentence of evidence.
void advice_evidence(struct advice *advice, enum advice_problem problem, const char *format, ...)
    TSMITH_PRINTF(3, 4);

#endif
