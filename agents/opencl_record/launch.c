// SPDX-License-Identifier: Apache-2.0
// Kernels, markers, barriers, migrations. Rules: recorder.h.
#include "recorder.h"

static void note_launch(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions, const size_t *offset,
                        const size_t *global, const size_t *local, cl_uint count, const cl_event *waits,
                        const cl_event *event) {
    struct recording_writer *writer = command_open(RECORDING_COMMAND_KERNEL, queue, count, waits);
    const struct object *object = object_find(kernel, OBJECT_KERNEL);
    recording_put(writer, RECORDING_KEY_KERNEL, object ? object->id : 0);
    put_sizes(writer, RECORDING_KEY_GLOBAL_OFFSET, offset, dimensions);
    put_sizes(writer, RECORDING_KEY_GLOBAL, global, dimensions);
    put_sizes(writer, RECORDING_KEY_LOCAL, local, dimensions);
    for (cl_uint i = 0; object && i < object->argument_count; i++)
        if (object->arguments[i].target && !object->arguments[i].constant)
            object_written(object->arguments[i].target);
    command_close(event);
}

cl_int record_clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions,
                                     const size_t *offset, const size_t *global, const size_t *local,
                                     cl_uint count, const cl_event *waits, cl_event *event) {
    const cl_int status = recorder.next.clEnqueueNDRangeKernel(queue, kernel, dimensions, offset, global,
                                                               local, count, waits, event);
    if (recorder_on() && status == CL_SUCCESS)
        note_launch(queue, kernel, dimensions, offset, global, local, count, waits, event);
    return status;
}

cl_int record_clEnqueueTask(cl_command_queue queue, cl_kernel kernel, cl_uint count, const cl_event *waits,
                            cl_event *event) {
    static const size_t one = 1;
    const cl_int status = recorder.next.clEnqueueTask(queue, kernel, count, waits, event);
    if (recorder_on() && status == CL_SUCCESS)
        note_launch(queue, kernel, 1, NULL, &one, &one, count, waits, event);
    return status;
}

static void note_plain(enum recording_command command, cl_command_queue queue, cl_uint count,
                       const cl_event *waits, const cl_event *event) {
    command_open(command, queue, count, waits);
    command_close(event);
}

cl_int record_clEnqueueMigrateMemObjects(cl_command_queue queue, cl_uint objects, const cl_mem *memory,
                                         cl_mem_migration_flags flags, cl_uint count, const cl_event *waits,
                                         cl_event *event) {
    const cl_int status =
        recorder.next.clEnqueueMigrateMemObjects(queue, objects, memory, flags, count, waits, event);
    if (!recorder_on() || status != CL_SUCCESS)
        return status;
    // With undefined contents a buffer holds anything: what follows is not to be compared.
    if (flags & CL_MIGRATE_MEM_OBJECT_CONTENT_UNDEFINED)
        refuse("clEnqueueMigrateMemObjects", "the contents were given up", memory, objects, NULL);
    note_plain(RECORDING_COMMAND_MIGRATE, queue, count, waits, event);
    return status;
}

cl_int record_clEnqueueMarker(cl_command_queue queue, cl_event *event) {
    const cl_int status = recorder.next.clEnqueueMarker(queue, event);
    if (recorder_on() && status == CL_SUCCESS)
        note_plain(RECORDING_COMMAND_MARKER, queue, 0, NULL, event);
    return status;
}

cl_int record_clEnqueueMarkerWithWaitList(cl_command_queue queue, cl_uint count, const cl_event *waits,
                                          cl_event *event) {
    const cl_int status = recorder.next.clEnqueueMarkerWithWaitList(queue, count, waits, event);
    if (recorder_on() && status == CL_SUCCESS)
        note_plain(RECORDING_COMMAND_MARKER, queue, count, waits, event);
    return status;
}

cl_int record_clEnqueueBarrier(cl_command_queue queue) {
    const cl_int status = recorder.next.clEnqueueBarrier(queue);
    if (recorder_on() && status == CL_SUCCESS)
        note_plain(RECORDING_COMMAND_BARRIER, queue, 0, NULL, NULL);
    return status;
}

cl_int record_clEnqueueBarrierWithWaitList(cl_command_queue queue, cl_uint count, const cl_event *waits,
                                           cl_event *event) {
    const cl_int status = recorder.next.clEnqueueBarrierWithWaitList(queue, count, waits, event);
    if (recorder_on() && status == CL_SUCCESS)
        note_plain(RECORDING_COMMAND_BARRIER, queue, count, waits, event);
    return status;
}

// A barrier that waits for these.
cl_int record_clEnqueueWaitForEvents(cl_command_queue queue, cl_uint count, const cl_event *waits) {
    const cl_int status = recorder.next.clEnqueueWaitForEvents(queue, count, waits);
    if (recorder_on() && status == CL_SUCCESS)
        note_plain(RECORDING_COMMAND_BARRIER, queue, count, waits, NULL);
    return status;
}
