// SPDX-License-Identifier: Apache-2.0
// A layer that writes down what a driver is asked to do: each command, flush, wait, each new context, and each queue that is made or given
// back, as a line of $CALLS_LAYER_LOG, with the number of its queue (0: none). Put below ours it shows what ours adds.
#include "layer.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { QUEUES = 256 };

static FILE *file;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
    cl_command_queue queue;
    unsigned number;
} queues[QUEUES];
static unsigned made;

// The newest of its handle.
static unsigned number_of(cl_command_queue queue) {
    unsigned number = 0;
    for (unsigned i = 0; i < made && i < QUEUES; i++)
        if (queues[i].queue == queue)
            number = queues[i].number;
    return number;
}

static void say(const char *function, cl_command_queue queue, const char *more) {
    pthread_mutex_lock(&lock);
    if (file)
        fprintf(file, "%s queue %u%s\n", function, number_of(queue), more);
    pthread_mutex_unlock(&lock);
}

static void add(cl_command_queue queue) {
    pthread_mutex_lock(&lock);
    if (queue && made < QUEUES) {
        queues[made].queue = queue;
        queues[made].number = made + 1;
        made++;
    }
    pthread_mutex_unlock(&lock);
}

#define TELL(queue, more) say(__func__ + sizeof "log_" - 1, queue, more)
#define WAITS cl_uint count, const cl_event *waits, cl_event *event

static cl_context log_clCreateContext(const cl_context_properties *properties, cl_uint count,
                                      const cl_device_id *devices,
                                      void(CL_CALLBACK *notify)(const char *, const void *, size_t, void *),
                                      void *user, cl_int *error) {
    TELL(NULL, "");
    return next->clCreateContext(properties, count, devices, notify, user, error);
}

static cl_command_queue log_clCreateCommandQueue(cl_context context, cl_device_id device,
                                                 cl_command_queue_properties properties, cl_int *error) {
    cl_command_queue queue = next->clCreateCommandQueue(context, device, properties, error);
    add(queue);
    TELL(queue, "");
    return queue;
}

static cl_command_queue log_clCreateCommandQueueWithProperties(cl_context context, cl_device_id device,
                                                               const cl_queue_properties *properties,
                                                               cl_int *error) {
    cl_command_queue queue = next->clCreateCommandQueueWithProperties(context, device, properties, error);
    add(queue);
    TELL(queue, "");
    return queue;
}

static cl_int log_clReleaseCommandQueue(cl_command_queue queue) {
    TELL(queue, "");
    return next->clReleaseCommandQueue(queue);
}

static cl_int log_clFlush(cl_command_queue queue) {
    TELL(queue, "");
    return next->clFlush(queue);
}

static cl_int log_clFinish(cl_command_queue queue) {
    TELL(queue, "");
    return next->clFinish(queue);
}

static cl_int log_clWaitForEvents(cl_uint count, const cl_event *events) {
    TELL(NULL, "");
    return next->clWaitForEvents(count, events);
}

static cl_int log_clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions,
                                         const size_t *offset, const size_t *global, const size_t *local,
                                         WAITS) {
    TELL(queue, count ? " after events" : "");
    return next->clEnqueueNDRangeKernel(queue, kernel, dimensions, offset, global, local, count, waits,
                                        event);
}

static cl_int log_clEnqueueReadBuffer(cl_command_queue queue, cl_mem buffer, cl_bool blocking, size_t offset,
                                      size_t size, void *to, WAITS) {
    TELL(queue, blocking ? " blocking" : "");
    return next->clEnqueueReadBuffer(queue, buffer, blocking, offset, size, to, count, waits, event);
}

static cl_int log_clEnqueueWriteBuffer(cl_command_queue queue, cl_mem buffer, cl_bool blocking, size_t offset,
                                       size_t size, const void *from, WAITS) {
    TELL(queue, blocking ? " blocking" : "");
    return next->clEnqueueWriteBuffer(queue, buffer, blocking, offset, size, from, count, waits, event);
}

static cl_int log_clEnqueueCopyBuffer(cl_command_queue queue, cl_mem from, cl_mem to, size_t from_offset,
                                      size_t to_offset, size_t size, WAITS) {
    TELL(queue, "");
    return next->clEnqueueCopyBuffer(queue, from, to, from_offset, to_offset, size, count, waits, event);
}

static cl_int log_clEnqueueFillBuffer(cl_command_queue queue, cl_mem buffer, const void *pattern,
                                      size_t pattern_size, size_t offset, size_t size, WAITS) {
    TELL(queue, "");
    return next->clEnqueueFillBuffer(queue, buffer, pattern, pattern_size, offset, size, count, waits, event);
}

static void *log_clEnqueueMapBuffer(cl_command_queue queue, cl_mem buffer, cl_bool blocking,
                                    cl_map_flags flags, size_t offset, size_t size, WAITS, cl_int *error) {
    TELL(queue, blocking ? " blocking" : "");
    return next->clEnqueueMapBuffer(queue, buffer, blocking, flags, offset, size, count, waits, event, error);
}

static cl_int log_clEnqueueUnmapMemObject(cl_command_queue queue, cl_mem memory, void *mapped, WAITS) {
    TELL(queue, "");
    return next->clEnqueueUnmapMemObject(queue, memory, mapped, count, waits, event);
}

static cl_int log_clEnqueueMigrateMemObjects(cl_command_queue queue, cl_uint memory_count,
                                             const cl_mem *memory, cl_mem_migration_flags flags, WAITS) {
    TELL(queue, "");
    return next->clEnqueueMigrateMemObjects(queue, memory_count, memory, flags, count, waits, event);
}

static cl_int log_clEnqueueMarker(cl_command_queue queue, cl_event *event) {
    TELL(queue, "");
    return next->clEnqueueMarker(queue, event);
}

static cl_int log_clEnqueueMarkerWithWaitList(cl_command_queue queue, WAITS) {
    TELL(queue, "");
    return next->clEnqueueMarkerWithWaitList(queue, count, waits, event);
}

static cl_int log_clEnqueueBarrier(cl_command_queue queue) {
    TELL(queue, "");
    return next->clEnqueueBarrier(queue);
}

static cl_int log_clEnqueueBarrierWithWaitList(cl_command_queue queue, WAITS) {
    TELL(queue, "");
    return next->clEnqueueBarrierWithWaitList(queue, count, waits, event);
}

static cl_int log_clEnqueueTask(cl_command_queue queue, cl_kernel kernel, WAITS) {
    TELL(queue, "");
    return next->clEnqueueTask(queue, kernel, count, waits, event);
}

static void layer_begin(void) {
    const char *path = getenv("CALLS_LAYER_LOG");
    file = path ? fopen(path, "w") : NULL;
    if (file)
        setvbuf(file, NULL, _IOLBF, 0); // programs crash
#define SET(name) layer.name = log_##name;
    SET(clCreateContext)
    SET(clCreateCommandQueue)
    SET(clCreateCommandQueueWithProperties)
    SET(clReleaseCommandQueue)
    SET(clFlush)
    SET(clFinish)
    SET(clWaitForEvents)
    SET(clEnqueueNDRangeKernel)
    SET(clEnqueueReadBuffer)
    SET(clEnqueueWriteBuffer)
    SET(clEnqueueCopyBuffer)
    SET(clEnqueueFillBuffer)
    SET(clEnqueueMapBuffer)
    SET(clEnqueueUnmapMemObject)
    SET(clEnqueueMigrateMemObjects)
    SET(clEnqueueMarker)
    SET(clEnqueueMarkerWithWaitList)
    SET(clEnqueueBarrier)
    SET(clEnqueueBarrierWithWaitList)
    SET(clEnqueueTask)
#undef SET
}

__attribute__((destructor)) static void end(void) {
    if (file)
        fclose(file);
    file = NULL;
}
