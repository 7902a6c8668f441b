// SPDX-License-Identifier: Apache-2.0
// Calls that are passed on and cannot be replayed: recorded with their reason. Memory that they may have written is
// copied when a recorded command reads it next, so that a replay continues from there. Rules: recorder.h.
#include <stdlib.h>

#include "recorder.h"

void refuse(const char *function, const char *why, const cl_mem *written, cl_uint count,
            const cl_event *event) {
    struct recording_writer *writer = record_open(RECORDING_REFUSED);
    recording_put_text(writer, RECORDING_KEY_NAME, function);
    recording_put_text(writer, RECORDING_KEY_TEXT, why);
    uint64_t *ids = count ? malloc(count * sizeof *ids) : NULL;
    for (cl_uint i = 0; ids && i < count; i++) {
        struct object *memory = object_find_memory(written[i]);
        buffer_tell(memory);
        ids[i] = memory ? memory->id : 0;
    }
    if (ids)
        recording_put_list(writer, RECORDING_KEY_WRITES, ids, count);
    free(ids);
    command_close(event);
}

static const char interop[] = "memory of another API is not recorded";

cl_mem record_clCreatePipe(cl_context context, cl_mem_flags flags, cl_uint packet, cl_uint packets,
                           const cl_pipe_properties *properties, cl_int *status) {
    cl_mem pipe = recorder.next.clCreatePipe(context, flags, packet, packets, properties, status);
    if (recorder_on() && pipe) {
        pthread_mutex_lock(&recorder.lock);
        object_add(pipe, OBJECT_OPAQUE);
        pthread_mutex_unlock(&recorder.lock);
        refuse("clCreatePipe", "pipes are not recorded", &pipe, 1, NULL);
    }
    return pipe;
}

// A command that is passed on: before, what recorded commands computed is copied; afterwards nothing of it is known.
struct pass {
    struct access access;
    bool wanted;
};

static void pass_begin(struct pass *pass, cl_command_queue queue, const cl_mem *memory, cl_uint objects,
                       cl_uint count, const cl_event *waits) {
    access_begin(&pass->access, queue, NULL, count, waits);
    pass->wanted = pass->access.recorded;
    pass->access.recorded = false;
    for (cl_uint i = 0; memory && i < objects; i++)
        access_memory(&pass->access, memory[i], ACCESS_WRITES);
}

static cl_int pass_end(struct pass *pass, cl_int status, const char *function, const char *why,
                       const cl_mem *memory, cl_uint objects, const cl_event *event) {
    const bool good = pass->access.on && status == CL_SUCCESS;
    access_end(&pass->access, status, event);
    if (good)
        access_unknown(pass->access.queue, memory, memory ? objects : 0);
    if (good && pass->wanted)
        refuse(function, why, NULL, 0, event);
    return status;
}

// The wrapper of a command that is passed on as it is, with the parameters of its row in opencl_calls/calls.h.
#define PASS(name, why) OPENCL_DEFINE(PASS_WRAPPER, name, why)
#define PASS_WRAPPER(name, result_type, parameters, arguments, why)                                          \
    result_type record_##name parameters {                                                                   \
        struct pass pass;                                                                                    \
        pass_begin(&pass, queue, memory, memory_count, count, waits);                                        \
        count = pass.access.count;                                                                           \
        waits = pass.access.waits;                                                                           \
        const cl_int status = recorder.next.name arguments;                                                  \
        return pass_end(&pass, status, #name, why, memory, memory_count, event);                             \
    }

PASS(clEnqueueNativeKernel, "a function of the program ran as a kernel")
PASS(clEnqueueAcquireGLObjects, interop)
PASS(clEnqueueReleaseGLObjects, interop)

cl_int record_clEnqueueMigrateMemObjects(cl_command_queue queue, cl_uint objects, const cl_mem *memory,
                                         cl_mem_migration_flags flags, cl_uint count, const cl_event *waits,
                                         cl_event *event) {
    struct pass pass;
    const bool gives_up = flags & CL_MIGRATE_MEM_OBJECT_CONTENT_UNDEFINED;
    pass_begin(&pass, queue, gives_up ? memory : NULL, objects, count, waits);
    const cl_int status = recorder.next.clEnqueueMigrateMemObjects(
        queue, objects, memory, flags, pass.access.count, pass.access.waits, event);
    if (gives_up)
        return pass_end(&pass, status, "clEnqueueMigrateMemObjects", "the contents were discarded", memory,
                        objects, event);
    pass.access.recorded = pass.wanted;
    if (access_end(&pass.access, status, event)) {
        command_open(RECORDING_COMMAND_MIGRATE, &pass.access);
        command_close(event);
    }
    return status;
}
