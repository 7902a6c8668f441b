// SPDX-License-Identifier: Apache-2.0
// A driver with thread-local objects, as one written in C++ has (a layer above the real one). exit() destroys those of its
// thread before it calls exit handlers. Writes to $EXIT_LAYER_LOG each call that comes afterwards: "destroyed NAME" if it
// comes from the thread whose objects are gone, "alive NAME" if it comes from another.
#define _GNU_SOURCE
#include "layer.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

int __cxa_thread_atexit_impl(void (*destroy)(void *), void *object, void *library);
extern void *__dso_handle;

static __thread enum { UNUSED, ALIVE, DESTROYED } objects;
static atomic_bool ending;

static void destroy(void *unused) {
    (void)unused;
    objects = DESTROYED;
    if (syscall(SYS_gettid) == getpid())
        atomic_store(&ending, true);
}

static void note(const char *name) {
    if (objects == UNUSED) {
        objects = ALIVE;
        __cxa_thread_atexit_impl(destroy, NULL, &__dso_handle);
    }
    const char *path = getenv("EXIT_LAYER_LOG");
    if (!path || !atomic_load(&ending))
        return;
    char line[128];
    const int length =
        snprintf(line, sizeof line, "%s %s\n", objects == DESTROYED ? "destroyed" : "alive", name);
    const int file = open(path, O_WRONLY | O_CREAT | O_APPEND, 0600);
    if (file < 0)
        return;
    if (write(file, line, (size_t)length) != length)
        abort();
    close(file);
}

// NOTED(result, name, (parameters), (arguments)): a function that is noted and passed on.
#define NOTED(result, name, parameters, arguments)                                                           \
    static result CL_API_CALL noted_##name parameters {                                                      \
        note(#name);                                                                                         \
        return next->name arguments;                                                                         \
    }
NOTED(cl_context, clCreateContext,
      (const cl_context_properties *properties, cl_uint count, const cl_device_id *devices,
       void(CL_CALLBACK *notify)(const char *, const void *, size_t, void *), void *data, cl_int *error),
      (properties, count, devices, notify, data, error))
NOTED(cl_int, clGetContextInfo,
      (cl_context context, cl_context_info what, size_t size, void *value, size_t *size_ret),
      (context, what, size, value, size_ret))
NOTED(cl_command_queue, clCreateCommandQueue,
      (cl_context context, cl_device_id device, cl_command_queue_properties properties, cl_int *error),
      (context, device, properties, error))
NOTED(cl_int, clReleaseCommandQueue, (cl_command_queue queue), (queue))
NOTED(cl_int, clEnqueueReadBuffer,
      (cl_command_queue queue, cl_mem buffer, cl_bool blocking, size_t offset, size_t size, void *to,
       cl_uint count, const cl_event *waits, cl_event *event),
      (queue, buffer, blocking, offset, size, to, count, waits, event))
NOTED(cl_int, clFlush, (cl_command_queue queue), (queue))
NOTED(cl_int, clWaitForEvents, (cl_uint count, const cl_event *events), (count, events))
NOTED(cl_int, clReleaseEvent, (cl_event event), (event))
NOTED(cl_int, clGetEventInfo,
      (cl_event event, cl_event_info what, size_t size, void *value, size_t *size_ret),
      (event, what, size, value, size_ret))
NOTED(cl_int, clGetEventProfilingInfo,
      (cl_event event, cl_profiling_info what, size_t size, void *value, size_t *size_ret),
      (event, what, size, value, size_ret))

static void layer_begin(void) {
#define ENTRY(name) layer.name = noted_##name
    ENTRY(clCreateContext);
    ENTRY(clGetContextInfo);
    ENTRY(clCreateCommandQueue);
    ENTRY(clReleaseCommandQueue);
    ENTRY(clEnqueueReadBuffer);
    ENTRY(clFlush);
    ENTRY(clWaitForEvents);
    ENTRY(clReleaseEvent);
    ENTRY(clGetEventInfo);
    ENTRY(clGetEventProfilingInfo);
}
