// SPDX-License-Identifier: Apache-2.0
// Kernels, markers, barriers. Rules: recorder.h.
#include "recorder.h"

static void note_launch(const struct access *access, cl_uint dimensions, const size_t *offset,
                        const size_t *global, const size_t *local, const cl_event *event) {
    struct object *kernel = access->kernel;
    struct recording_writer *writer = command_open(RECORDING_COMMAND_KERNEL, access);
    if (kernel)
        kernel_changes(kernel);
    recording_put(writer, RECORDING_KEY_KERNEL, kernel ? kernel->id : 0);
    put_sizes(writer, RECORDING_KEY_GLOBAL_OFFSET, offset, dimensions);
    put_sizes(writer, RECORDING_KEY_GLOBAL, global, dimensions);
    put_sizes(writer, RECORDING_KEY_LOCAL, local, dimensions);
    command_close(event);
}

cl_int record_clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions,
                                     const size_t *offset, const size_t *global, const size_t *local,
                                     cl_uint count, const cl_event *waits, cl_event *event) {
    struct access access;
    access_begin(&access, queue, kernel, count, waits);
    access_arguments(&access);
    const cl_int status = recorder.next.clEnqueueNDRangeKernel(queue, kernel, dimensions, offset, global,
                                                               local, access.count, access.waits, event);
    if (access_end(&access, status, event)) {
        note_launch(&access, dimensions, offset, global, local, event);
        access_after(&access);
    }
    return status;
}

cl_int record_clEnqueueTask(cl_command_queue queue, cl_kernel kernel, cl_uint count, const cl_event *waits,
                            cl_event *event) {
    static const size_t one = 1;
    struct access access;
    access_begin(&access, queue, kernel, count, waits);
    access_arguments(&access);
    const cl_int status = recorder.next.clEnqueueTask(queue, kernel, access.count, access.waits, event);
    if (access_end(&access, status, event)) {
        note_launch(&access, 1, NULL, &one, &one, event);
        access_after(&access);
    }
    return status;
}

cl_int note_plain(enum recording_command command, cl_int status, cl_command_queue queue, cl_uint count,
                  const cl_event *waits, const cl_event *event) {
    struct access access;
    access_begin(&access, queue, NULL, count, waits);
    if (access_end(&access, status, event)) {
        command_open(command, &access);
        command_close(event);
    }
    return status;
}

cl_int record_clEnqueueMarker(cl_command_queue queue, cl_event *event) {
    return note_plain(RECORDING_COMMAND_MARKER, recorder.next.clEnqueueMarker(queue, event), queue, 0, NULL,
                      event);
}

cl_int record_clEnqueueMarkerWithWaitList(cl_command_queue queue, cl_uint count, const cl_event *waits,
                                          cl_event *event) {
    return note_plain(RECORDING_COMMAND_MARKER,
                      recorder.next.clEnqueueMarkerWithWaitList(queue, count, waits, event), queue, count,
                      waits, event);
}

cl_int record_clEnqueueBarrier(cl_command_queue queue) {
    return note_plain(RECORDING_COMMAND_BARRIER, recorder.next.clEnqueueBarrier(queue), queue, 0, NULL, NULL);
}

cl_int record_clEnqueueBarrierWithWaitList(cl_command_queue queue, cl_uint count, const cl_event *waits,
                                           cl_event *event) {
    return note_plain(RECORDING_COMMAND_BARRIER,
                      recorder.next.clEnqueueBarrierWithWaitList(queue, count, waits, event), queue, count,
                      waits, event);
}

// A barrier that waits for these.
cl_int record_clEnqueueWaitForEvents(cl_command_queue queue, cl_uint count, const cl_event *waits) {
    return note_plain(RECORDING_COMMAND_BARRIER, recorder.next.clEnqueueWaitForEvents(queue, count, waits),
                      queue, count, waits, NULL);
}
