// SPDX-License-Identifier: Apache-2.0
// What the agent uses of OpenACC's profiling interface. Source: The OpenACC Application Programming Interface 2.6, chapter 5. The names
// are our own; tests/openacc/abi.c compares values and offsets with a compiler's acc_prof.h.
#ifndef OPENACC_ABI_H
#define OPENACC_ABI_H

#include <stddef.h>
#include <stdint.h>

// acc_event_t. Each of these has its end in the next number.
enum acc_event {
    ACC_DEVICE_INIT = 1,
    ACC_ENTER_DATA = 10,
    ACC_EXIT_DATA = 12,
    ACC_UPDATE = 14,
    ACC_COMPUTE = 16,
    ACC_LAUNCH = 18,
    ACC_UPLOAD = 20,
    ACC_DOWNLOAD = 22,
    ACC_WAIT = 24,
    ACC_EVENT_LIMIT = 26
};

// acc_construct_t: X(name, number, text)
#define ACC_CONSTRUCTS(X)                                                                                    \
    X(parallel, 0, "parallel")                                                                               \
    X(kernels, 1, "kernels")                                                                                 \
    X(loop, 2, "loop")                                                                                       \
    X(data, 3, "data")                                                                                       \
    X(enter_data, 4, "enter data")                                                                           \
    X(exit_data, 5, "exit data")                                                                             \
    X(host_data, 6, "host_data")                                                                             \
    X(atomic, 7, "atomic")                                                                                   \
    X(declare, 8, "declare")                                                                                 \
    X(init, 9, "init")                                                                                       \
    X(shutdown, 10, "shutdown")                                                                              \
    X(set, 11, "set")                                                                                        \
    X(update, 12, "update")                                                                                  \
    X(routine, 13, "routine")                                                                                \
    X(wait, 14, "wait")                                                                                      \
    X(runtime_api, 15, "runtime API")                                                                        \
    X(serial, 16, "serial")
enum acc_construct {
#define ACC_NUMBER(name, number, text) ACC_CONSTRUCT_##name = number,
    ACC_CONSTRUCTS(ACC_NUMBER)
#undef ACC_NUMBER
};

// acc_prof_info. Members behind the first `valid` bytes are not there; so it is with the others.
struct acc_place {
    int event, valid, version, device_type, device, thread;
    intptr_t async, async_queue;
    const char *file, *function;
    int line, end_line, function_line, function_end_line;
};

// acc_event_info: a union of these.
struct acc_operation {
    int event, valid, construct, implicit;
    void *tool;
    union {
        struct {
            const char *variable;
            size_t bytes;
            const void *host, *device;
        } data; // upload and download
        struct {
            const char *kernel;
            size_t gangs, workers, vector;
        } launch;
    };
};

typedef void acc_callback(const struct acc_place *place, const struct acc_operation *operation,
                          const void *api);
typedef void acc_register(int event, acc_callback *callback, int how); // how 0: from now on
typedef void acc_function(void);
typedef acc_function *acc_lookup(const char *name);

#endif
