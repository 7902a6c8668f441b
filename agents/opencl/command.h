// SPDX-License-Identifier: Apache-2.0
// One call of the API, as its wrapper sees it, and what is written of it. Rules: agent.h.
//
// The wrapper of an enqueue is one ENQUEUE, below. A call that enqueues nothing uses struct call alone.
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
    cl_event *event; // what the driver is to fill: the program's place, or `own`
    cl_event own;
    enum blocking blocking;
    enum device_class class;
    tsmith_operation operation;
    bool first_launch;
    uint64_t entered; // overhead.h; 0: it is not measured
    uint32_t name;
    uint32_t body_words;
    uint64_t body[BODY_MAX];
};

// False: this call is not to be recorded. `event` is the program's, may be NULL.
bool command_begin(struct command *command, enum call_id function, cl_command_queue queue,
                   enum blocking blocking, cl_event *event);

// Right after the driver returned.
static inline void command_returned(struct command *command) {
    command->call.end = agent_tick();
}

// What the command was; one of these between command_returned and command_end. Without one: a marker.
void command_kernel(struct command *command, tsmith_operation operation, cl_kernel kernel, cl_uint dimensions,
                    const size_t *offset, const size_t *global, const size_t *local);
void command_copy(struct command *command, tsmith_operation operation, tsmith_direction direction,
                  uint64_t bytes, cl_mem source, cl_mem destination);
// The flags of a command that command_copy has described.
void command_flags(struct command *command, uint64_t flags);
void command_map(struct command *command, tsmith_operation operation, cl_map_flags flags, uint64_t bytes,
                 cl_mem memory);
void command_fill(struct command *command, tsmith_operation operation, uint64_t bytes, cl_mem destination);
void command_plain(struct command *command, enum device_class class, tsmith_operation operation);

// The same for a function that gives no event: the command is recorded without times.
cl_int command_end_eventless(struct command *command, cl_int result, cl_uint wait_count,
                             const cl_event *waits);

// Writes the API event, hands the command over to pending.c, and after a blocking call the SYNC event.
// Returns `result`.
cl_int command_end(struct command *command, cl_int result, cl_uint wait_count, const cl_event *waits);

// The whole body of an enqueue's wrapper, whose own parameters are named queue, count, waits and event: `what`
// describes `command` (a call of one of the functions above); then come the arguments for the driver without the
// event, which is its last. Functions of another form do the same by hand: the launch with its probe, the maps, which
// return a pointer, and the calls of OpenCL 1.0, which have no wait list or no event.
#define ENQUEUE(name, blocking, what, ...)                                                                   \
    struct command command;                                                                                  \
    if (!command_begin(&command, CALL_##name, queue, blocking, event))                                       \
        return opencl_next.name(__VA_ARGS__, event); /* not recorded */                                      \
    const cl_int result = opencl_next.name(__VA_ARGS__, command.event);                                      \
    command_returned(&command);                                                                              \
    what;                                                                                                    \
    return command_end(&command, result, count, waits)

// The program waited, for all of a queue or for these commands; `call` has its start and end.
void sync_record(const struct call *call, tsmith_operation operation, uint32_t wait_count,
                 const cl_event *waits);

#endif
