// SPDX-License-Identifier: Apache-2.0
// What a trace has of the launch loop of `tracesmith benchmark`.
#ifndef CLI_BENCHMARK_TRACE_H
#define CLI_BENCHMARK_TRACE_H

#include <stddef.h>
#include <stdint.h>

// The reported call sites of the loop's launches; `count` of them.
struct loop_paths {
    const uint64_t *paths;
    size_t count;
};

struct trace_report {
    uint64_t launches, completions; // of the loop's kernel
    uint64_t events, bytes, lost;
    uint64_t stacks, frames; // launches with a call stack, and how many frames these have in all
    uint64_t right;          // of the reported launches, those with that stack
    uint64_t different;      // call stacks among them
};

// An exit code; complains of what is wrong with the file.
int benchmark_read_trace(const char *path, const struct loop_paths *paths, struct trace_report *out);

#endif
