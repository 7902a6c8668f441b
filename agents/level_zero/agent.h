// SPDX-License-Identifier: Apache-2.0
// The agent of Level Zero. It is preloaded; its zeInit starts a tracer of the loader's tracing layer, whose callbacks are the
// calls of the program. What it changes of the program's calls, and when: docs/level_zero.md.
//
// Rules: agentkit/agent.h. In addition:
//   - The driver is called with agent_thread.busy set: the callbacks of those calls do nothing.
//   - Handles of Level Zero have no reference counts. Before the program destroys or resets an object, what is in flight with it
//     is given up: object_invalidate.
#ifndef LEVEL_ZERO_AGENT_H
#define LEVEL_ZERO_AGENT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "abi.h"
#include "agentkit/agent.h"
#include "agentkit/call_record.h"
#include "agentkit/command_record.h"
#include "agentkit/pending.h"
#include "calls.h"

// The loader's functions that the agent calls.
#define LEVEL_ZERO_USED(USE)                                                                                 \
    USE(zeDriverGet, (uint32_t * count, void **out))                                                         \
    USE(zeDeviceGet, (void *driver, uint32_t *count, void **out))                                            \
    USE(zeDeviceGetProperties, (void *device, struct zero_device_properties *out))                           \
    USE(zeDeviceGetMemoryProperties,                                                                         \
        (void *device, uint32_t *count, struct zero_device_memory_properties *out))                          \
    USE(zeDeviceGetGlobalTimestamps, (void *device, uint64_t *host, uint64_t *out))                          \
    USE(zeMemGetAllocProperties,                                                                             \
        (void *context, const void *at, struct zero_memory_properties *out, void **device))                  \
    USE(zeEventPoolCreate, (void *context, const struct zero_event_pool_desc *desc, uint32_t device_count,   \
                            void **devices, void **out))                                                     \
    USE(zeEventPoolDestroy, (void *pool))                                                                    \
    USE(zeEventCreate, (void *pool, const struct zero_event_desc *desc, void **out))                         \
    USE(zeEventDestroy, (void *event))                                                                       \
    USE(zeEventHostReset, (void *event))                                                                     \
    USE(zeEventQueryKernelTimestamp, (void *event, struct zero_timestamps *out))

struct loader {
#define LEVEL_ZERO_POINTER(name, parameters) int(*name) parameters;
    LEVEL_ZERO_USED(LEVEL_ZERO_POINTER)
#undef LEVEL_ZERO_POINTER
};
extern struct loader zero;

// Finds them. False: one is missing.
bool loader_find(void *loader);

// A function and its callbacks.
struct call_row {
    const char *name;
    zero_tracer_callback *enter, *leave;
};
extern const struct call_row call_rows[CALL_LIMIT];
// Before the first callback.
void handlers_begin(void);

// The event that gives the times of a command.
struct timing {
    uint32_t own;         // number of the agent's (events.h); 0: it is the program's
    uint32_t generation;  // of `event`
    struct object *event; // the program's
    void *handle;         // NULL: there is none
};

// A call of the program, between its callbacks. On the calling thread. The callbacks are called while recording is off as well, to
// know the objects: its start is 0 then.
struct frame {
    struct agent_call call;
    void **arguments;
    uint64_t submission;
    struct object *list;
    struct timing timing; // of the command
    int result;
    bool taken; // the frame is in use
    // What few calls need is not cleared for each.
    union {
        struct command_facts facts; // of a command that is appended: gathered before the call
        struct zero_event_pool_desc pool;
        struct object *freed; // memory; NULL: not known
    };
};

// An argument of the call.
#define ARGUMENT(type, index) (*(type *)frame->arguments[index])

#endif
