// SPDX-License-Identifier: Apache-2.0
// One call of the API, as its wrapper sees it, and what is written of it. Rules: agent.h.
//
// The wrapper of a function that enqueues is one ENQUEUE, below, and of one that makes an object one CREATE. A call that
// enqueues nothing uses struct call alone.
#ifndef OPENCL_COMMAND_H
#define OPENCL_COMMAND_H

#include "agent.h"
#include "agentkit/stacks.h"
#include "objects.h"
#include "overhead.h"
#include "shapes.h"

struct call {
    uint64_t start;
    uint64_t end;
    uint64_t correlation; // 0: none
    uint32_t stack;       // 0: none
    struct object *queue; // or NULL
    enum call_id function;
};

static inline struct call call_begin(enum call_id function) {
    return (struct call){.function = function, .start = agent_tick()};
}

// The same of a call that is worth its stack: one that enqueues, builds or allocates.
__attribute__((always_inline)) static inline struct call call_begin_with_stack(enum call_id function) {
    const uint32_t stack = stacks_capture();
    return (struct call){.function = function, .stack = stack, .start = agent_tick()};
}

// The API event of a call that has returned (sets call->end if it is not yet).
void call_record(struct call *call, cl_int result);

enum blocking { BLOCKING_NEVER, BLOCKING_NO, BLOCKING_YES }; // NEVER: the function has no such argument

static inline enum blocking blocking_of(cl_bool blocking) {
    return blocking ? BLOCKING_YES : BLOCKING_NO;
}

struct command {
    struct call call;
    bool program_has_event;
    bool first_launch;
    enum blocking blocking;
    enum device_class class;
    tsmith_operation operation;
    uint64_t entered; // overhead.h; 0: it is not measured
    uint32_t name;
    uint32_t body_words;
    struct entry *entry; // pending.h: where it will be in flight; NULL: there is no room
    uint64_t *body;      // that of the entry, or the thread's spare one
};

// False: this call is not to be recorded. `event` is the program's, and becomes `own` where that is NULL; both are NULL for a
// function that gives no event.
bool command_begin(struct command *command, cl_event **event, cl_event *own);

// Right after the driver returned.
void command_returned(struct command *command, enum call_id function, cl_command_queue queue,
                      enum blocking blocking, cl_uint wait_count);

// What the command was; one of these between command_returned and command_end. Without one: a marker.
void command_copy(struct command *command, tsmith_operation operation, tsmith_direction direction,
                  uint64_t bytes, cl_mem source, cl_mem destination);
// The flags of a command that command_copy has described.
void command_flags(struct command *command, uint64_t flags);
// The numbers of the objects of a command that command_copy or command_fill has described without them; 0: not known.
void command_objects(struct command *command, uint64_t source, uint64_t destination);
void command_filled(struct command *command, uint64_t destination);
void command_map(struct command *command, tsmith_operation operation, cl_map_flags flags, uint64_t bytes,
                 cl_mem memory);
void command_fill(struct command *command, tsmith_operation operation, uint64_t bytes, cl_mem destination);
void command_plain(struct command *command, enum device_class class, tsmith_operation operation);

// The same for a function that gives no event: the command is recorded without times.
cl_int command_end_eventless(struct command *command, cl_int result, cl_uint wait_count,
                             const cl_event *waits);

// Writes the API event, hands the command over to pending.c, and after a blocking call the SYNC event.
// Returns `result`.
cl_int command_end(struct command *command, const cl_event *event, cl_int result, cl_uint wait_count,
                   const cl_event *waits);

// The wrapper of a function that enqueues, with the parameters of its row in calls.h: `...` describes `command` by one of the
// functions above. Functions of another form do the same by hand: the launch with its probe, and the calls of OpenCL 1.0,
// which have no wait list or no event.
#define ENQUEUE(name, blocks, ...) OPENCL_DEFINE(ENQUEUE_WRAPPER, name, blocks, __VA_ARGS__)
#define ENQUEUE_WRAPPER(name, result_type, parameters, arguments, blocks, ...)                               \
    result_type layer_##name parameters {                                                                    \
        struct command command;                                                                              \
        cl_event own;                                                                                        \
        if (!command_begin(&command, &event, &own))                                                          \
            return opencl_next.name arguments; /* not recorded */                                            \
        const cl_int result = opencl_next.name arguments;                                                    \
        command_returned(&command, CALL_##name, queue, blocks, waits ? count : 0);                           \
        __VA_ARGS__;                                                                                         \
        return command_end(&command, event, result, count, waits);                                           \
    }

// The same of one that copies: command_copy, the operation and the direction without their prefix.
#define ENQUEUE_COPY(name, blocks, operation, direction, bytes, source, destination)                         \
    ENQUEUE(name, blocks,                                                                                    \
            command_copy(&command, TSMITH_OPERATION_##operation, TSMITH_DIRECTION_##direction, bytes,        \
                         source, destination))

// The same of a function that maps: it returns the place, and the result by a pointer.
#define ENQUEUE_MAP(name, ...) OPENCL_DEFINE(MAP_WRAPPER, name, __VA_ARGS__)
#define MAP_WRAPPER(name, result_type, parameters, arguments, ...)                                           \
    result_type layer_##name parameters {                                                                    \
        struct command command;                                                                              \
        cl_event own;                                                                                        \
        if (!command_begin(&command, &event, &own))                                                          \
            return opencl_next.name arguments; /* not recorded */                                            \
        cl_int result = CL_SUCCESS, *const wanted = error;                                                   \
        error = &result;                                                                                     \
        result_type mapped = opencl_next.name arguments;                                                     \
        command_returned(&command, CALL_##name, queue, blocking_of(blocking), waits ? count : 0);            \
        __VA_ARGS__;                                                                                         \
        command_end(&command, event, result, count, waits);                                                  \
        if (wanted)                                                                                          \
            *wanted = result;                                                                                \
        return mapped;                                                                                       \
    }

// The wrapper of a function that makes an object, which begins with call_begin or call_begin_with_stack: `...` records what
// it `made`, with `result`. The program's place for the result is written last.
#define CREATE(name, begin, ...) OPENCL_DEFINE(CREATE_WRAPPER, name, begin, __VA_ARGS__)
#define CREATE_WRAPPER(name, result_type, parameters, arguments, begin, ...)                                 \
    result_type layer_##name parameters {                                                                    \
        struct call call = begin(CALL_##name);                                                               \
        cl_int result = CL_SUCCESS, *const wanted = error;                                                   \
        error = &result;                                                                                     \
        result_type made = opencl_next.name arguments;                                                       \
        __VA_ARGS__;                                                                                         \
        if (wanted)                                                                                          \
            *wanted = result;                                                                                \
        return made;                                                                                         \
    }

// Before the first launch: launch.c's memory of what was launched. False: there is none.
bool launches_init(void);

// The program waited, for all of a queue or for these commands; `call` has its start and end.
void sync_record(const struct call *call, tsmith_operation operation, uint32_t wait_count,
                 const cl_event *waits);

#endif
