// SPDX-License-Identifier: Apache-2.0
// The boundary between the library (C) and its plugin for Oclgrind (C++, libtracesmith-oclgrind.so): Oclgrind loads the
// plugin into the process that replays, and the plugin hands over what the interpreter did.
//
// Only C types cross it. All calls come from the one thread that Oclgrind interprets in while the plugin is there; pointers
// that are handed over are good for the call.
#ifndef REPLAY_OCLGRIND_OCLGRIND_H
#define REPLAY_OCLGRIND_OCLGRIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
    OCLGRIND_INTERFACE = 1,
    OCLGRIND_SPACES = 4
}; // private, global, constant, local: Oclgrind's own numbers

// A place in a kernel's code; the index is given in the order in which they are first run.
struct oclgrind_instruction {
    const char *function, *opcode, *text; // "add", and the whole of it
    const char *file, *source;            // "": not known. `source` is the line
    uint32_t line, column;                // 0: not known
};

struct oclgrind_counts {
    uint64_t executed;
    uint64_t loads[OCLGRIND_SPACES], load_bytes[OCLGRIND_SPACES];
    uint64_t stores[OCLGRIND_SPACES], store_bytes[OCLGRIND_SPACES];
    uint64_t atomics, branches, taken; // conditional branches, and how many found their condition true
};

struct oclgrind_launch {
    const char *kernel;
    uint32_t dimensions;
    uint64_t global[3], local[3], offset[3];
};

enum oclgrind_access { OCLGRIND_NONE, OCLGRIND_LOAD, OCLGRIND_STORE, OCLGRIND_ATOMIC };

// An instruction that the chosen work-item ran.
struct oclgrind_step {
    uint32_t instruction;
    uint8_t access, space; // enum oclgrind_access, of its first access
    uint64_t address, bytes;
    bool branch, taken; // a conditional branch; its condition held
};

struct oclgrind_client {
    uint32_t interface; // OCLGRIND_INTERFACE
    void *context;
    const char *kernel; // whose launches are counted; NULL: none's
    bool stream;
    uint64_t item[3]; // global id
    void (*launch_begin)(void *context, const struct oclgrind_launch *launch);
    void (*instruction)(void *context, uint32_t index, const struct oclgrind_instruction *instruction);
    void (*step)(void *context, const struct oclgrind_step *step);
    void (*counts)(void *context, uint32_t index, const struct oclgrind_counts *counts); // of this launch
    // `group`: what work-groups moved as a whole (async copies), which is no instruction's.
    void (*launch_end)(void *context, const struct oclgrind_counts *group);
    void (*message)(void *context,
                    const char *text); // what Oclgrind found wrong, while `kernel` ran or between
};

// What the plugin exports under this name. The client stays the caller's, and in use until NULL is given. 0: the interface
// is another one.
#define OCLGRIND_ATTACH "tracesmith_oclgrind_attach"
typedef int oclgrind_attach(const struct oclgrind_client *client);
int tracesmith_oclgrind_attach(const struct oclgrind_client *client);

#ifdef __cplusplus
}
#endif
#endif
