// SPDX-License-Identifier: Apache-2.0
// Functions the program fetches by name: they go past the layer's table. A command buffer is passed on like a native
// kernel: it may change any memory. For other functions that enqueue, a note that they are not recorded is written
// when the program fetches them. Rules: recorder.h.
#include <string.h>

#include "recorder.h"

// Not the extension's own type: older headers have none, and the layout of its arguments is fixed.
typedef cl_int(CL_API_CALL *enqueue_list)(cl_uint count, cl_command_queue *queues, void *list,
                                          cl_uint wait_count, const cl_event *waits, cl_event *event);
static _Atomic(enqueue_list) next_enqueue_list;

static cl_int CL_API_CALL enqueue_command_buffer(cl_uint count, cl_command_queue *queues, void *list,
                                                 cl_uint wait_count, const cl_event *waits, cl_event *event) {
    struct access access;
    access_begin(&access, count && queues ? queues[0] : NULL, NULL, wait_count, waits);
    const bool wanted = access.recorded;
    access.recorded = false;
    access_everything(&access);
    const bool on = access.on;
    const cl_int status =
        atomic_load(&next_enqueue_list)(count, queues, list, access.count, access.waits, event);
    access_end(&access, status, event);
    if (on && status == CL_SUCCESS) {
        access_everything_unknown();
        if (wanted)
            refuse("clEnqueueCommandBufferKHR", "the commands of a list are not recorded", NULL, 0, event);
    }
    return status;
}

static void *give_list(void *function) {
    enqueue_list none = NULL, real;
    memcpy(&real, &function, sizeof real);
    if (atomic_compare_exchange_strong(&next_enqueue_list, &none, real) || none == real) {
        real = enqueue_command_buffer;
        memcpy(&function, &real, sizeof function);
    } else {
        refuse("clEnqueueCommandBufferKHR", "lists of commands of a second platform are not seen", NULL, 0,
               NULL);
    }
    return function;
}

static void *give_function(const char *name, void *function) {
    static _Atomic uint32_t said; // a bit for each
    if (!function || !name || !recorder_on())
        return function;
    if (strcmp(name, "clEnqueueCommandBufferKHR") == 0)
        return give_list(function);
    const int number = entry_fetched(name);
    if (number >= 0 && !(atomic_fetch_or(&said, 1u << number) >> number & 1))
        refuse(name, "the program looked it up by name: its commands are not recorded", NULL, 0, NULL);
    return function;
}

void *record_clGetExtensionFunctionAddress(const char *name) {
    return give_function(name, recorder.next.clGetExtensionFunctionAddress(name));
}

void *record_clGetExtensionFunctionAddressForPlatform(cl_platform_id platform, const char *name) {
    return give_function(name, recorder.next.clGetExtensionFunctionAddressForPlatform(platform, name));
}
