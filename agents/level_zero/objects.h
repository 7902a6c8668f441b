// SPDX-License-Identifier: Apache-2.0
// What the agent knows of the program's objects, found by their handles. Rules: agent.h.
#ifndef LEVEL_ZERO_OBJECTS_H
#define LEVEL_ZERO_OBJECTS_H

#include "agent.h"
#include "agentkit/free_list.h"
#include "agentkit/handles.h"

enum object_kind {
    OBJECT_DEVICE = 1,
    OBJECT_CONTEXT,
    OBJECT_LIST,
    OBJECT_QUEUE,
    OBJECT_FENCE,
    OBJECT_KERNEL,
    OBJECT_POOL,
    OBJECT_EVENT,
    OBJECT_MEMORY
};

// A command of a list, as the program appended it.
struct command {
    struct command_facts facts;
    struct timing timing;
    bool is_claimed; // the program's event is not signaled by another command meanwhile
};

// When the device's clock showed what. Written under a lock, read by a sequence number.
struct anchor {
    _Atomic uint32_t sequence;
    _Atomic int64_t trace;
    _Atomic uint64_t ticks; // extended to 64 bits
    _Atomic double rate;    // ns of a tick
};

struct device {
    uint32_t id; // of the channel; 0: unknown
    bool simulated;
    double nominal; // ns of a tick; 0: unknown, and there are no times
    uint64_t mask, kernel_mask;
    struct anchor anchor;
    int64_t first_trace;
    uint64_t first_ticks;
    struct object *next; // all devices
    void *handle;
};

struct list {
    struct pending_queue pending; // first: that of an immediate list
    struct object *context, *device;
    uint32_t events; // free ones that it has taken (events.h)
    bool immediate;
    uint32_t track;           // of an immediate list
    struct command *commands; // of another
    uint32_t count, capacity;
    _Atomic uint32_t in_flight; // commands of executions that wait for their times
    bool ambiguous;             // executions overlapped: the state of its events is not known
    bool timed;                 // the execution that is being submitted
    struct object *queue;       // of the last execution
    uint64_t submission;
};

struct queue {
    struct pending_queue pending; // first
    struct object *device;
    uint32_t track;
    _Atomic uint64_t submitted, completed; // submissions, from 1
};

struct object {
    struct handle handle;    // its generation also grows when what is in flight with it is given up
    _Atomic uint32_t asking; // threads that are asking the driver for something of it
    union {
        struct device device;
        struct list list;
        struct queue queue;
        struct {
            struct free_list events; // of the agent's, that are free (events.h)
        } context;
        struct {
            struct object *queue;
            _Atomic uint64_t submission;
        } fence;
        struct {
            uint32_t name, local[3];
        } kernel;
        struct {
            bool has_times;
        } pool;
        struct {
            bool device_reset; // a command resets it: its times may be gone when they are asked for
            _Atomic bool used; // a command signals it since it was last reset
        } event;
        struct memory_facts memory;
    };
};

bool objects_init(void);
extern struct handles objects;
// NULL: not known.
static inline struct object *object_find(enum object_kind kind, const void *handle) {
    return handles_find(&objects, kind, handle);
}
// A new one; NULL: no room, and counted. Takes a lock.
static inline struct object *object_add(enum object_kind kind, const void *handle) {
    return handles_replace(&objects, kind, handle);
}
// The handle means nothing any more; the struct is used again.
static inline void object_remove(struct object *object) {
    handles_remove(&objects, &object->handle);
}

// What is in flight with the object is recorded if it is complete, and given up otherwise. The driver is not being asked for
// anything of it when this returns.
void object_invalidate(struct object *object);
// Between these two the driver may be asked for something of the object. False: it was invalidated, do not.
bool object_ask(struct object *object, uint32_t generation);
void object_asked(struct object *object);

struct object *object_context(void *handle);
struct object *object_device(void *handle);

#endif
