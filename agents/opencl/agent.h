// SPDX-License-Identifier: Apache-2.0
// The OpenCL agent: a layer between a program that knows nothing of us and its OpenCL driver.
//
// Rules inside the profiled process, for every file of this folder
//   1. Nothing the program can see changes: no result, error code, output parameter, object, property,
//      reference count, event state or order of callbacks. What we add (profiling on queues, events on
//      commands, references on events) is hidden again where the program can ask for it (query.c).
//      The driver is sent no command, flush or wait that the program did not send, and the program's in its order. What
//      remains for a driver to notice, all of it:
//        - a queue has CL_QUEUE_PROFILING_ENABLE; one that is refused is asked for again as the program wants it;
//        - a command has an event where the program wanted none, and a build or link the notification of ours around the
//          program's own, where it has one: neither makes a call blocking or unblocking;
//        - an event is retained until its command is complete and its times are read, so it may end after the program's own
//          release, and its queue and context with it: given back before the calls that could show it (query.c);
//        - questions: the state and the times of an event, the names of devices, kernels and platforms, the sizes of
//          images. None waits, by OpenCL's own definition of them, and tests/opencl/test_nothing_added.sh finds on three
//          drivers that the commands they get are the same, and test_drivers.sh that the results are.
//   2. The event path (an enqueue, a wait, a release of an event) takes no lock, allocates nothing, makes no
//      system call, prints nothing. Creating objects may: their drivers do far more.
//   3. Nothing here ends the process, raises or handles a signal. What cannot be recorded is counted
//      (channel_lose), and the call goes on as if we were not there.
//   4. The driver is only called where the program has just called it, or from the control thread
//      (pending.c), never from a destructor: by then it may be gone.
//   5. A call that arrives while the agent itself is inside the driver (a callback that runs in our release)
//      is passed on unrecorded: agent_thread.busy.
//   6. After fork the child owns nothing of the parent's: commands in flight are forgotten, never touched.
//
// How a command goes (files): the wrapper (transfer.c, launch.c, ...) calls the driver between two ticks,
// giving it an event of ours where the program wants none -> command.c writes the API event into the thread's
// ring and what is known of the command into the thread's pending list -> pending.c asks the driver for its
// times once it is complete, looks whether they can be (times.c), and writes the device event.
#ifndef OPENCL_AGENT_H
#define OPENCL_AGENT_H

#include "agentkit/agent.h"
#include "opencl_calls/calls.h"

#define OPENCL_API "opencl"

// One number per function of the API that is intercepted.
enum call_id {
    CALL_NONE,
#define CALL_ENUM(name) CALL_##name,
    OPENCL_CALLS(CALL_ENUM) OPENCL_FETCHED_CALLS(CALL_ENUM)
#undef CALL_ENUM
        CALL_LIMIT
};

// The driver, or the layer below us. Written before any call can come; read only afterwards.
extern cl_icd_dispatch opencl_next;

// What a thread has of its own.
struct opencl_thread {
    uint32_t commands; // overhead.h
    bool asks;         // the driver, on the agent's own account (layer.c)
};
extern __thread struct opencl_thread opencl_thread __attribute__((tls_model("initial-exec")));

// The string ids of function and operation names, interned at their first use.
extern const char *const agent_call_names[CALL_LIMIT];
extern _Atomic uint32_t agent_call_ids[CALL_LIMIT];
static inline uint32_t agent_call_name(enum call_id call) {
    return channel_string_once(agent.channel, &agent_call_ids[call], agent_call_names[call]);
}
uint32_t agent_operation_name(tsmith_operation operation);

// "gpu", "accelerator", "cpu" or "".
const char *agent_device_type(cl_device_type type);

// The wrappers, of the driver's own types.
#define CALL_DECLARE(name) __typeof__(*(OPENCL_POINTER(name))0) layer_##name;
OPENCL_CALLS(CALL_DECLARE)
#undef CALL_DECLARE

#endif
