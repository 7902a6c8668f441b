// SPDX-License-Identifier: Apache-2.0
// The instructions that a recorded kernel executes: the recording is run on Oclgrind, a device that interprets kernels,
// and every instruction, memory access and branch of a kernel is counted. docs/instruction-level.md defines the terms.
//
// The instructions are LLVM's, as Oclgrind's compiler generates them from the recorded source; another device has other
// instructions. Oclgrind is loaded into the calling process. Its environment variables (OCLGRIND_*) are set during the
// call, so no other thread may read or change the environment during that time. One thread at a time in a process.
#ifndef TRACESMITH_INSTRUCTIONS_H
#define TRACESMITH_INSTRUCTIONS_H

#include <stddef.h>
#include <stdint.h>

#include "tracesmith/export.h"
#include "tracesmith/replay.h"
#include "tracesmith/status.h"
#include "tracesmith/stream.h"

#ifdef __cplusplus
extern "C" {
#endif

// X(NAME, number, "name")
#define TSMITH_ADDRESS_SPACE_TABLE(X)                                                                        \
    X(PRIVATE, 0, "private")                                                                                 \
    X(GLOBAL, 1, "global")                                                                                   \
    X(CONSTANT, 2, "constant")                                                                               \
    X(LOCAL, 3, "local")

typedef enum tsmith_address_space {
#define TSMITH_ADDRESS_SPACE_ENUM(NAME, number, name) TSMITH_ADDRESS_SPACE_##NAME = number,
    TSMITH_ADDRESS_SPACE_TABLE(TSMITH_ADDRESS_SPACE_ENUM)
#undef TSMITH_ADDRESS_SPACE_ENUM
        TSMITH_ADDRESS_SPACE_LIMIT
} tsmith_address_space;
TSMITH_API const char *tsmith_address_space_name(tsmith_address_space space); // NULL for another number

// What Oclgrind can find wrong. X(NAME, number, "name", "what it means")
#define TSMITH_FINDING_TABLE(X)                                                                              \
    X(INVALID_ACCESS, 0, "invalid-access", "memory was read or written where there is none")                 \
    X(RACE, 1, "race", "two work-items met in memory, at least one of them writing, with nothing between")   \
    X(UNINITIALIZED, 2, "uninitialized", "an uninitialized value was used")                                  \
    X(DIVERGENCE, 3, "divergence", "not all work-items of a group came to the same barrier")                 \
    X(OTHER, 4, "other", "whatever else it said")

typedef enum tsmith_finding_kind {
#define TSMITH_FINDING_ENUM(NAME, number, name, doc) TSMITH_FINDING_##NAME = number,
    TSMITH_FINDING_TABLE(TSMITH_FINDING_ENUM)
#undef TSMITH_FINDING_ENUM
        TSMITH_FINDING_LIMIT
} tsmith_finding_kind;
TSMITH_API const char *tsmith_finding_name(tsmith_finding_kind kind); // NULL for another number

typedef struct tsmith_instructions_options {
    size_t size;        // sizeof(tsmith_instructions_options)
    const char *kernel; // whose launches are counted; NULL: none's (for findings alone)
    int check;          // look for races and for uninitialized values too, of all kernels (slower)
    int stream;         // keep what the work-item `item` (its global id) runs, in order, of every launch
    uint64_t item[3];
    uint64_t stream_most;                // steps kept, those after that are counted as lost; 0: 1,000,000
    const tsmith_replay_options *replay; // NULL: as it was recorded, once. `device` is not looked at
} tsmith_instructions_options;

typedef struct tsmith_instructions tsmith_instructions;

typedef struct tsmith_instructions_launch {
    size_t size; // sizeof(tsmith_instructions_launch), the caller's
    const char *kernel;
    uint32_t dimensions;
    uint64_t global[3], local[3], offset[3];
    uint64_t executed; // instructions
    uint64_t group_loaded,
        group_stored;    // bytes that work-groups copied as a whole (async copies); no instruction's
    uint64_t steps;      // of the chosen work-item, kept ones
    uint64_t steps_lost; // and those that were too many
    int64_t start, end;  // when it was interpreted, ns on the trace clock
} tsmith_instructions_launch;

// A place in the kernel, and what was counted there in all launches together.
typedef struct tsmith_instruction {
    size_t size;           // sizeof(tsmith_instruction), the caller's
    const char *function;  // of the kernel's program
    const char *opcode;    // LLVM's name: "add"
    const char *text;      // the whole instruction
    const char *file;      // "": not known
    const char *source;    // the line of it, "": not known
    uint32_t line, column; // 0: not known
    uint64_t executed;
    uint64_t loads[TSMITH_ADDRESS_SPACE_LIMIT], load_bytes[TSMITH_ADDRESS_SPACE_LIMIT];
    uint64_t stores[TSMITH_ADDRESS_SPACE_LIMIT], store_bytes[TSMITH_ADDRESS_SPACE_LIMIT];
    uint64_t atomics;
    uint64_t branches; // conditional ones
    uint64_t taken;    // of those, whose condition was true
} tsmith_instruction;

typedef struct tsmith_instructions_finding {
    size_t size; // sizeof(tsmith_instructions_finding), the caller's
    tsmith_finding_kind kind;
    const char *text; // the first message of Oclgrind, several lines
    uint64_t times;   // number of such messages for the same location
} tsmith_instructions_finding;

// Runs the recording on Oclgrind. MISSING when Oclgrind or its plugin is not there. `out` is there also when the replay came
// to no end (LIMIT), with what was counted until then.
TSMITH_API tsmith_status tsmith_instructions_run(tsmith_recording *recording,
                                                 const tsmith_instructions_options *options,
                                                 tsmith_instructions **out, tsmith_error *error);
TSMITH_API void tsmith_instructions_destroy(tsmith_instructions *instructions);

// Each false past the last index. Pointers are good until it is destroyed.
TSMITH_API int tsmith_instructions_launch_get(const tsmith_instructions *instructions, size_t index,
                                              tsmith_instructions_launch *out);
// By instruction, in the order in which they were first run.
TSMITH_API int tsmith_instructions_get(const tsmith_instructions *instructions, size_t index,
                                       tsmith_instruction *out);
// By source line, the lines of a file in their order; `opcode` and `text` are "", `column` is 0.
TSMITH_API int tsmith_instructions_line_get(const tsmith_instructions *instructions, size_t index,
                                            tsmith_instruction *out);
TSMITH_API int tsmith_instructions_finding_get(const tsmith_instructions *instructions, size_t index,
                                               tsmith_instructions_finding *out);
// The replay itself, with its verdicts and notes: the caller's from then on. NULL the second time.
TSMITH_API tsmith_replay *tsmith_instructions_take_replay(tsmith_instructions *instructions);

// All of it as a trace: the launches (kernel), what was counted in each (instruction_count) and the steps of the work-item
// (instruction; a step takes 1 ns). The source lives no longer than `instructions`; destroy it first.
TSMITH_API tsmith_status tsmith_instructions_source(const tsmith_instructions *instructions,
                                                    tsmith_source **out, tsmith_error *error);

#ifdef __cplusplus
}
#endif
#endif
