// SPDX-License-Identifier: Apache-2.0
// Programs, their builds, kernels. Rules: agent.h.
//
// A build is a COMPILE event on the thread that asked for it, from the call to its return. One that the
// program asks to be notified of may go on after the return: its event ends, and is written, where the
// notification comes.

#include "command.h"
#include "object_event.h"
#include "released.h"

// ---- programs

static void program_created(struct call *call, cl_context context, cl_program program, cl_int result) {
    struct object *object = NULL;
    if (program && result == CL_SUCCESS)
        object = object_add(OBJECT_PROGRAM, program, object_find(OBJECT_CONTEXT, context));
    object_record(call, TSMITH_OPERATION_CREATE_PROGRAM, result, object);
}

#define CREATE_PROGRAM(name) CREATE(name, call_begin, program_created(&call, context, made, result))
CREATE_PROGRAM(clCreateProgramWithSource)
CREATE_PROGRAM(clCreateProgramWithBinary)
CREATE_PROGRAM(clCreateProgramWithBuiltInKernels)
CREATE_PROGRAM(clCreateProgramWithIL)

OBJECT_RETAIN(clRetainProgram, OBJECT_PROGRAM, cl_program)

cl_int layer_clReleaseProgram(cl_program program) {
    struct call call = call_begin(CALL_clReleaseProgram);
    struct object *object = object_find(OBJECT_PROGRAM, program);
    const bool last = object && object_release(object);
    const cl_int result = opencl_next.clReleaseProgram(program);
    if (last)
        object_end(&call, TSMITH_OPERATION_DESTROY_PROGRAM, object);
    return result;
}

// ---- builds

typedef void(CL_CALLBACK *notify_function)(cl_program program, void *user_data);

// A build whose end is notified. The call's return and the notification come in any order, from any thread; the second
// of them writes the event, with the result where the call was over last, and gives the slot back:
//     RUNNING --notified--> NOTIFIED --the call returns--> free
//             --the call returns--> RETURNED --notified--> free
// A call that fails may never be notified of: it writes its event itself (FAILED), and the slot is kept for a driver
// that does it all the same. When all slots are in use the program's own function goes to the driver as it is, and the
// event ends with the call.
enum build_state { BUILD_RUNNING, BUILD_NOTIFIED, BUILD_RETURNED, BUILD_FAILED };
struct build {
    atomic_bool taken;
    _Atomic uint32_t state;
    notify_function notify;
    void *user_data;
    struct call call; // its end is that of the build
    tsmith_operation operation;
    uint32_t options;
};
static struct build builds[64];

static struct build *build_take(notify_function notify, void *user_data, const struct call *call,
                                tsmith_operation operation, uint32_t options) {
    for (size_t i = 0; i < sizeof builds / sizeof *builds; i++) {
        if (atomic_exchange(&builds[i].taken, true))
            continue;
        atomic_store(&builds[i].state, BUILD_RUNNING);
        builds[i].notify = notify;
        builds[i].user_data = user_data;
        builds[i].call = *call;
        builds[i].operation = operation;
        builds[i].options = options;
        return &builds[i];
    }
    return NULL;
}

// `result` may be NULL: not known.
static void compile_write(const struct call *call, tsmith_operation operation, cl_program program,
                          const cl_int *result, uint32_t options) {
    struct ring *ring = agent_on() ? channel_ring(agent.channel) : NULL;
    const uint32_t words = 1u + RECORD_PART_WORDS(compile_words) + (result != NULL);
    uint64_t *at = record_begin(ring, shapes.compile[result != NULL], words, agent_call_name(call->function));
    if (!at)
        return;
    RECORD_PUT(at, compile_words, .start = call->start, .end = call->end, .operation = operation,
               .object = object_number(object_find(OBJECT_PROGRAM, program)), .options = options);
    if (result)
        RECORD_PUT(at, result_words, (uint64_t)(int64_t)*result);
    ring_commit(ring, words);
}

static void CL_CALLBACK build_notified(cl_program program, void *slot) {
    struct build *build = slot;
    const notify_function notify = build->notify;
    void *user_data = build->user_data;
    const uint64_t now = agent_tick();
    if (atomic_load(&build->state) != BUILD_FAILED) {
        build->call.end = now;
        if (atomic_exchange(&build->state, BUILD_NOTIFIED) == BUILD_RETURNED) {
            compile_write(&build->call, build->operation, program, NULL, build->options);
            atomic_store(&build->taken, false);
        }
    }
    notify(program, user_data);
}

// The call has returned; `build` may be NULL.
static void build_returned(struct build *build, const struct call *call, tsmith_operation operation,
                           cl_program program, cl_int result, uint32_t options) {
    const enum build_state then = result == CL_SUCCESS ? BUILD_RETURNED : BUILD_FAILED;
    if (!build) {
        compile_write(call, operation, program, &result, options);
        return;
    }
    uint32_t before = BUILD_RUNNING;
    if (!atomic_compare_exchange_strong(&build->state, &before, then)) {
        compile_write(&build->call, operation, program, &result, options);
        atomic_store(&build->taken, false);
    } else if (then == BUILD_FAILED) {
        compile_write(call, operation, program, &result, options);
    }
}

static uint32_t options_string(const char *options) {
    return options && *options ? channel_string_cstr(agent.channel, options) : 0;
}

cl_int layer_clBuildProgram(cl_program program, cl_uint count, const cl_device_id *devices,
                            const char *options, notify_function notify, void *user_data) {
    if (!agent_on())
        return opencl_next.clBuildProgram(program, count, devices, options, notify, user_data);
    struct call call = call_begin_with_stack(CALL_clBuildProgram);
    const uint32_t text = options_string(options);
    struct build *build = notify ? build_take(notify, user_data, &call, TSMITH_OPERATION_BUILD, text) : NULL;
    const cl_int result = opencl_next.clBuildProgram(
        program, count, devices, options, build ? build_notified : notify, build ? build : user_data);
    call_record(&call, result);
    build_returned(build, &call, TSMITH_OPERATION_BUILD, program, result, text);
    return result;
}

cl_int layer_clCompileProgram(cl_program program, cl_uint count, const cl_device_id *devices,
                              const char *options, cl_uint header_count, const cl_program *headers,
                              const char **names, notify_function notify, void *user_data) {
    if (!agent_on())
        return opencl_next.clCompileProgram(program, count, devices, options, header_count, headers, names,
                                            notify, user_data);
    struct call call = call_begin_with_stack(CALL_clCompileProgram);
    const uint32_t text = options_string(options);
    struct build *build =
        notify ? build_take(notify, user_data, &call, TSMITH_OPERATION_COMPILE, text) : NULL;
    const cl_int result =
        opencl_next.clCompileProgram(program, count, devices, options, header_count, headers, names,
                                     build ? build_notified : notify, build ? build : user_data);
    call_record(&call, result);
    build_returned(build, &call, TSMITH_OPERATION_COMPILE, program, result, text);
    return result;
}

cl_program layer_clLinkProgram(cl_context context, cl_uint count, const cl_device_id *devices,
                               const char *options, cl_uint program_count, const cl_program *programs,
                               notify_function notify, void *user_data, cl_int *error) {
    struct call call = call_begin_with_stack(CALL_clLinkProgram);
    const uint32_t text = agent_on() ? options_string(options) : 0;
    struct build *build =
        notify && agent_on() ? build_take(notify, user_data, &call, TSMITH_OPERATION_LINK, text) : NULL;
    cl_int result = CL_SUCCESS;
    cl_program program =
        opencl_next.clLinkProgram(context, count, devices, options, program_count, programs,
                                  build ? build_notified : notify, build ? build : user_data, &result);
    // A link that fails can still give a program object, for its log.
    struct object *object =
        program ? object_add(OBJECT_PROGRAM, program, object_find(OBJECT_CONTEXT, context)) : NULL;
    object_record(&call, TSMITH_OPERATION_CREATE_PROGRAM, result, object);
    build_returned(build, &call, TSMITH_OPERATION_LINK, program, result, text);
    if (error)
        *error = result;
    return program;
}

// ---- kernels

// `name` NULL: it is asked for, and what does not fit is cut. `program` NULL: it is asked for.
static struct object *kernel_add(cl_kernel kernel, cl_program program, const char *name) {
    char asked[4096];
    size_t size = 0;
    if (!name && opencl_next.clGetKernelInfo(kernel, CL_KERNEL_FUNCTION_NAME, sizeof asked, asked, &size) !=
                     CL_SUCCESS)
        asked[0] = '\0';
    if (!program)
        opencl_next.clGetKernelInfo(kernel, CL_KERNEL_PROGRAM, sizeof program, &program, NULL);
    struct object *object = object_add(OBJECT_KERNEL, kernel, object_find(OBJECT_PROGRAM, program));
    if (object)
        object->kernel.name = channel_string_cstr(agent.channel, name ? name : asked);
    return object;
}

struct object *kernel_adopt(cl_kernel kernel) {
    return kernel_add(kernel, NULL, NULL);
}

static void kernel_created(struct call *call, cl_kernel kernel, cl_int result, cl_program program,
                           const char *name) {
    if (agent_on())
        call_record(call, result);
    if (kernel && result == CL_SUCCESS)
        kernel_add(kernel, program, name);
}

CREATE(clCreateKernel, call_begin, kernel_created(&call, made, result, program, name))
CREATE(clCloneKernel, call_begin, kernel_created(&call, made, result, NULL, NULL))

cl_int layer_clCreateKernelsInProgram(cl_program program, cl_uint room, cl_kernel *kernels, cl_uint *count) {
    struct call call = call_begin(CALL_clCreateKernelsInProgram);
    cl_uint made = 0;
    const cl_int result = opencl_next.clCreateKernelsInProgram(program, room, kernels, &made);
    if (agent_on())
        call_record(&call, result);
    for (cl_uint i = 0; result == CL_SUCCESS && kernels && i < made; i++)
        kernel_add(kernels[i], program, NULL);
    if (count && result == CL_SUCCESS)
        *count = made;
    return result;
}

OBJECT_RETAIN(clRetainKernel, OBJECT_KERNEL, cl_kernel)

cl_int layer_clReleaseKernel(cl_kernel kernel) {
    struct object *object = object_find(OBJECT_KERNEL, kernel);
    const bool last = object && object_release(object);
    const cl_int result = opencl_next.clReleaseKernel(kernel);
    if (last && released_on)
        released_kernel_gone(object);
    if (last)
        object_recycle(object);
    return result;
}
