// SPDX-License-Identifier: Apache-2.0
// The options of agents, a table for each agent that has any. The launcher checks what a caller gives by it and lists it in
// src/launch/agent_table.c; an agent reads its options with agent_option (agentkit/agent.h). Help, completions and
// docs/commands.md are generated from it.
#ifndef WIRE_AGENT_OPTIONS_H
#define WIRE_AGENT_OPTIONS_H

enum agent_value {
    AGENT_VALUE_NONE,
    AGENT_VALUE_NUMBER, // from `least` to `most`; may be left out
    AGENT_VALUE_NAMES   // from `least` to `most` names of letters, digits, '_' and '.', separated by '+'
};

// X(NAME, "key", value, "what the value is called" or NULL, least, most, "doc")
#define CUDA_OPTION_TABLE(X)                                                                                 \
    X(GRAPHS, "graphs", NONE, NULL, 0, 0,                                                                    \
      "record a graph launch as one event instead of one per node; lower overhead")                          \
    X(EVENTS, "events", NONE, NULL, 0, 0, "record when the device reached each CUDA event (CUDA 12.8)")      \
    X(MANAGED, "managed", NONE, NULL, 0, 0,                                                                  \
      "record migrations of unified memory from the start, not from the first managed allocation on")        \
    X(FAULTS, "faults", NONE, NULL, 0, 0, "record page faults of unified memory; slows unified memory down") \
    X(LATENCY, "latency", NONE, NULL, 0, 0,                                                                  \
      "record when each kernel was queued and submitted; slows launches down")                               \
    X(SWITCHES, "switches", NONE, NULL, 0, 0,                                                                \
      "record when the device switched between contexts (CUDA 13.1)")                                        \
    X(RANGE, "range", NONE, NULL, 0, 0, "record only between cudaProfilerStart and cudaProfilerStop")        \
    X(PC_SAMPLES, "pc-samples", NUMBER, "N", 5, 31,                                                          \
      "sample program counters and stall reasons every 2^N cycles; default chosen by CUPTI")                 \
    X(METRICS, "metrics", NUMBER, "US", 10, 1000000,                                                         \
      "sample the activity of SMs, tensor cores, memory and links every US microseconds; default 100")       \
    X(METRIC_NAMES, "metric-names", NAMES, "NAMES", 1, 16,                                                   \
      "sample the metrics in NAMES, separated by +, instead of the default metrics")

#define OPENCL_OPTION_TABLE(X)                                                                               \
    X(RELEASED, "released", NONE, NULL, 0, 0,                                                                \
      "record where memory objects are released, and passed to a call or a kernel after that")               \
    X(PRELOAD, "preload", NONE, NULL, 0, 0,                                                                  \
      "preload a library that takes the calls of programs that bring a loader of their own (LightGBM)")

#define ROCM_OPTION_TABLE(X)                                                                                 \
    X(HSA, "hsa", NONE, NULL, 0, 0, "record calls of the HSA runtime too; slows launches down")              \
    X(EVENTS, "events", NONE, NULL, 0, 0,                                                                    \
      "record when the device reached each HIP event, and which queue waited for it; slows launches down")   \
    X(GRAPHS, "graphs", NONE, NULL, 0, 0,                                                                    \
      "record an event for each graph launch, with its number of kernels; slows launches down")              \
    X(MIGRATIONS, "migrations", NONE, NULL, 0, 0,                                                            \
      "record migrations of pages; rocprofiler-sdk subscribes to events of the kernel's driver for it")      \
    X(STREAMS, "streams", NONE, NULL, 0, 0,                                                                  \
      "record streams in ROCm 7.0 too; its rocprofiler-sdk then ends programs that use hipStreamPerThread")

#define LEVEL_ZERO_OPTION_TABLE(X)                                                                           \
    X(PROGRAM_EVENTS, "program-events", NONE, NULL, 0, 0,                                                    \
      "change no argument of a call: times only of commands whose events the program made with timestamps")

#define VULKAN_OPTION_TABLE(X)                                                                               \
    X(PROGRAM_ONLY, "program-only", NONE, NULL, 0, 0,                                                        \
      "write no timestamps and change no argument of a call: commands have no times")                        \
    X(QUERIES, "queries", NUMBER, "N", 64, 100000000,                                                        \
      "write at most N timestamps into the command buffers of a process at a time; default 1048576")         \
    X(HOST_READS, "host-reads", NONE, NULL, 0, 0,                                                            \
      "read times from the host on lavapipe too, where that waits for the device")                           \
    X(INFERRED_CLOCK, "inferred-clock", NONE, NULL, 0, 0,                                                    \
      "infer the device's clock from submissions, as on drivers without calibrated timestamps")

#endif
