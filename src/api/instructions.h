// SPDX-License-Identifier: Apache-2.0
// The inside of tsmith_instructions, for the file that runs (instructions.c) and the one that makes a trace of it
// (instructions_trace.c). Texts are the arena's.
#ifndef API_INSTRUCTIONS_H
#define API_INSTRUCTIONS_H

#include "base/arena.h"
#include "replay/oclgrind/oclgrind.h"
#include "tracesmith/instructions.h"

struct instruction_count {
    uint32_t launch, instruction;
    struct oclgrind_counts counts;
};

struct instruction_step {
    uint32_t launch;
    uint32_t number; // in its launch
    struct oclgrind_step step;
};

struct tsmith_instructions {
    struct arena arena;
    tsmith_replay *replay; // NULL: taken
    const char *device;
    tsmith_instruction *items; // by index; the counts are of all launches
    size_t count, capacity;
    tsmith_instruction *lines;
    size_t line_count;
    tsmith_instructions_launch *launches;
    size_t launch_count, launch_capacity;
    struct instruction_count *counts; // by launch and instruction
    size_t counted, count_capacity;
    struct instruction_step *steps;
    size_t step_count, step_capacity, steps_most;
    tsmith_instructions_finding *findings;
    size_t finding_count, finding_capacity;
    char *kernel;
    bool checks_all; // findings in any kernel are wanted, not only in that one
    uint64_t item[3];
    bool failed; // memory
};

#endif
