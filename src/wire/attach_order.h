// SPDX-License-Identifier: Apache-2.0
// The interface between `tracesmith attach` and the library that it loads into a running program (agents/attach/starter.c).
//
// The session directory has a file ATTACH_ORDER_NAME, mapped by both:
//
//     WAITING --library--> TAKEN --agents are in place--> READY --they are out again--> LEFT
//        |                   |\--no agent can do anything here--> FAILED
//        |                   \--command, when it took too long--> CANCELED: the library makes its agents leave
//        \--command, when it took too long--> CANCELED: the library does nothing
#ifndef WIRE_ATTACH_ORDER_H
#define WIRE_ATTACH_ORDER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ATTACH_ORDER_NAME "attach.order"
#define ATTACH_ORDER_MAGIC 0x3152445248435441ull // "ATCHRDR1"

// The library. It is loaded by a link in the session directory, by a path with one slash more before the link's name than the
// errno that the borrowed thread gets back.
#define ATTACH_LIBRARY "libtracesmith-attach.so"
#define ATTACH_LINK "attach.so"
// void tracesmith_attach_enter(const char *session_directory, int errno_before): for a library that is loaded already. Starts a
// thread and returns.
#define ATTACH_ENTER_SYMBOL "tracesmith_attach_enter"

enum attach_state {
    ATTACH_WAITING = 1,
    ATTACH_TAKEN,
    ATTACH_READY,
    ATTACH_FAILED,
    ATTACH_LEFT,
    ATTACH_CANCELED
};

struct attach_order {
    uint64_t magic;
    uint32_t bytes; // of this structure
    _Atomic uint32_t state;
    char agents[256]; // names of agents' libraries, separated by commas: "opencl"
    char agent_directory[4096];
    char options[4096]; // of agents (wire/environment.h)
    char text[512]; // by the library: why it failed, or what is not recorded; "" if there is nothing to say
};

// What an agent exports that can begin in a program that runs already. `begin` returns false with the reason in `text`; where it
// returns true, `text` may have what is not recorded. `leave` makes all calls of the program go to its driver again. `park`
// follows when the collector is gone or has everything: gives back memory. Called by one thread, in this order, any number of times.
#define AGENT_LATE_SYMBOL "tracesmith_agent_late"
struct agent_late {
    bool (*begin)(const char *session_directory, const char *options, char *text, size_t size);
    void (*look)(void); // every few ms between both; NULL: none
    void (*leave)(void);
    void (*park)(void);
};

#endif
