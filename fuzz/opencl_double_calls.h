// SPDX-License-Identifier: Apache-2.0
// The functions of the double (opencl_double.h), and double_find, which gives them by name.
#ifndef FUZZ_OPENCL_DOUBLE_CALLS_H
#define FUZZ_OPENCL_DOUBLE_CALLS_H

#define DOUBLE_HANDLE(type, object) ((type)(void *)(object))

static void *double_answer(cl_int *status, struct double_object *object, cl_int code) {
    if (status)
        *status = object ? CL_SUCCESS : code;
    return object;
}

static cl_int double_info(const void *value, size_t length, size_t room, void *out, size_t *size) {
    if (out && room < length)
        return CL_INVALID_VALUE;
    if (out)
        memcpy(out, value, length);
    if (size)
        *size = length;
    return CL_SUCCESS;
}

// ---- platform and devices

static int double_platform, double_device[DOUBLE_DEVICES];

static cl_int d_clGetPlatformIDs(cl_uint room, cl_platform_id *out, cl_uint *count) {
    if (out && room)
        out[0] = DOUBLE_HANDLE(cl_platform_id, &double_platform);
    if (count)
        *count = 1;
    return CL_SUCCESS;
}

static cl_int d_clGetDeviceIDs(cl_platform_id platform, cl_device_type type, cl_uint room, cl_device_id *out,
                               cl_uint *count) {
    (void)platform;
    (void)type;
    for (cl_uint i = 0; out && i < room && i < DOUBLE_DEVICES; i++)
        out[i] = DOUBLE_HANDLE(cl_device_id, &double_device[i]);
    if (count)
        *count = DOUBLE_DEVICES;
    return CL_SUCCESS;
}

static void double_use_devices(cl_uint count, const cl_device_id *devices) {
    for (cl_uint i = 0; i < count; i++)
        if ((void *)devices[i] != &double_device[0] && (void *)devices[i] != &double_device[1])
            abort();
}

static cl_int d_clGetDeviceInfo(cl_device_id device, cl_device_info what, size_t room, void *out,
                                size_t *size) {
    const cl_ulong most = DOUBLE_ALLOC_MOST;
    double_use_devices(1, &device);
    if (what == CL_DEVICE_MAX_MEM_ALLOC_SIZE)
        return double_info(&most, sizeof most, room, out, size);
    return (void *)device == &double_device[0] ? double_info("double 0", 9, room, out, size)
                                               : double_info("double 1", 9, room, out, size);
}

static cl_context d_clCreateContext(const cl_context_properties *properties, cl_uint count,
                                    const cl_device_id *devices,
                                    void(CL_CALLBACK *notify)(const char *, const void *, size_t, void *),
                                    void *data, cl_int *status) {
    (void)properties;
    (void)notify;
    (void)data;
    double_use_devices(count, devices);
    return double_answer(status, count && !double_fails() ? double_make(DOUBLE_CONTEXT) : NULL,
                         CL_INVALID_VALUE);
}

static cl_command_queue d_clCreateCommandQueue(cl_context context, cl_device_id device,
                                               cl_command_queue_properties flags, cl_int *status) {
    double_use(context, DOUBLE_CONTEXT);
    double_use_devices(1, &device);
    struct double_object *queue = double_fails() ? NULL : double_make(DOUBLE_QUEUE);
    if (queue)
        queue->any_order = (flags & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE) != 0;
    return double_answer(status, queue, CL_OUT_OF_RESOURCES);
}

#define DOUBLE_RELEASE(name, type, kind)                                                                     \
    static cl_int d_##name(type handle) {                                                                    \
        double_drop(double_use(handle, kind));                                                               \
        return CL_SUCCESS;                                                                                   \
    }
DOUBLE_RELEASE(clReleaseContext, cl_context, DOUBLE_CONTEXT)
DOUBLE_RELEASE(clReleaseCommandQueue, cl_command_queue, DOUBLE_QUEUE)
DOUBLE_RELEASE(clReleaseMemObject, cl_mem, DOUBLE_MEMORY)
DOUBLE_RELEASE(clReleaseSampler, cl_sampler, DOUBLE_SAMPLER)
DOUBLE_RELEASE(clReleaseProgram, cl_program, DOUBLE_PROGRAM)
DOUBLE_RELEASE(clReleaseKernel, cl_kernel, DOUBLE_KERNEL)
DOUBLE_RELEASE(clReleaseEvent, cl_event, DOUBLE_EVENT)

// ---- memory

static cl_mem d_clCreateBuffer(cl_context context, cl_mem_flags flags, size_t size, void *host,
                               cl_int *status) {
    double_use(context, DOUBLE_CONTEXT);
    struct double_object *memory = double_make(DOUBLE_MEMORY);
    if (double_fails() || ((flags & CL_MEM_COPY_HOST_PTR) != 0) != (host != NULL) ||
        !double_allocate(memory, size)) {
        double_drop(memory);
        return double_answer(status, NULL, CL_INVALID_BUFFER_SIZE);
    }
    memory->type = CL_MEM_OBJECT_BUFFER;
    if (host)
        memcpy(memory->bytes, host, size);
    return double_answer(status, memory, 0);
}

static struct double_object *double_part(struct double_object *parent, size_t offset, size_t size) {
    struct double_object *memory = double_make(DOUBLE_MEMORY);
    memory->parent = parent;
    parent->references++;
    memory->bytes = parent->bytes + offset;
    memory->size = size;
    memory->type = CL_MEM_OBJECT_BUFFER;
    return memory;
}

static cl_mem d_clCreateSubBuffer(cl_mem handle, cl_mem_flags flags, cl_buffer_create_type type,
                                  const void *info, cl_int *status) {
    const cl_buffer_region *region = info;
    struct double_object *parent = double_use(handle, DOUBLE_MEMORY);
    (void)flags;
    if (type != CL_BUFFER_CREATE_TYPE_REGION || parent->type != CL_MEM_OBJECT_BUFFER || parent->parent ||
        !region->size || region->origin > parent->size || region->size > parent->size - region->origin ||
        double_fails())
        return double_answer(status, NULL, CL_INVALID_VALUE);
    return double_answer(status, double_part(parent, region->origin, region->size), 0);
}

// For the supported formats: a byte per channel, or four.
static size_t double_element(const cl_image_format *format) {
    const size_t bytes =
        format->image_channel_data_type == CL_FLOAT || format->image_channel_data_type == CL_UNSIGNED_INT32
            ? 4
            : 1;
    switch (format->image_channel_order) {
    case CL_R:
        return bytes;
    case CL_RGBA:
        return 4 * bytes;
    default:
        return 0;
    }
}

static bool double_shape(struct double_object *image, const cl_image_desc *desc) {
    const size_t all[3] = {desc->image_width, desc->image_height, desc->image_depth};
    size_t dimensions = 1;
    image->type = desc->image_type;
    switch (desc->image_type) {
    case CL_MEM_OBJECT_IMAGE2D:
    case CL_MEM_OBJECT_IMAGE2D_ARRAY:
        dimensions = 2;
        break;
    case CL_MEM_OBJECT_IMAGE3D:
        dimensions = 3;
        break;
    case CL_MEM_OBJECT_IMAGE1D:
    case CL_MEM_OBJECT_IMAGE1D_ARRAY:
    case CL_MEM_OBJECT_IMAGE1D_BUFFER:
        break;
    default:
        return false;
    }
    for (size_t i = 0; i < 3; i++)
        image->extent[i] = i < dimensions ? all[i] : 1;
    if (desc->image_type == CL_MEM_OBJECT_IMAGE1D_ARRAY)
        image->extent[1] = desc->image_array_size;
    if (desc->image_type == CL_MEM_OBJECT_IMAGE2D_ARRAY)
        image->extent[2] = desc->image_array_size;
    size_t size = image->element;
    for (size_t i = 0; i < 3; i++) {
        if (!image->extent[i] || __builtin_mul_overflow(size, image->extent[i], &size) ||
            size > DOUBLE_ALLOC_MOST)
            return false;
        if (i == 0)
            image->row = size;
        if (i == 1)
            image->slice = size;
    }
    return size != 0;
}

static cl_mem d_clCreateImage(cl_context context, cl_mem_flags flags, const cl_image_format *format,
                              const cl_image_desc *desc, void *host, cl_int *status) {
    double_use(context, DOUBLE_CONTEXT);
    struct double_object *parent = desc->buffer ? double_use(desc->buffer, DOUBLE_MEMORY) : NULL;
    struct double_object *image = double_make(DOUBLE_MEMORY);
    image->element = double_element(format);
    bool good = double_shape(image, desc) && !double_fails() &&
                ((flags & CL_MEM_COPY_HOST_PTR) != 0) == (host != NULL);
    const size_t size = good ? image->slice * image->extent[2] : 0;
    if (good && parent) {
        good = parent->size >= size && !host;
        image->parent = good ? parent : NULL;
        image->bytes = good ? parent->bytes : NULL;
        image->size = size;
        parent->references += good;
    } else if (good) {
        good = double_allocate(image, size);
    }
    if (!good) {
        double_drop(image);
        return double_answer(status, NULL, CL_INVALID_IMAGE_SIZE);
    }
    if (host)
        memcpy(image->bytes, host, size);
    return double_answer(status, image, 0);
}

static cl_int d_clGetImageInfo(cl_mem handle, cl_image_info what, size_t room, void *out, size_t *size) {
    const struct double_object *image = double_use(handle, DOUBLE_MEMORY);
    if (what != CL_IMAGE_ELEMENT_SIZE)
        return CL_INVALID_VALUE;
    return double_info(&image->element, sizeof image->element, room, out, size);
}

static cl_sampler d_clCreateSampler(cl_context context, cl_bool normalized, cl_addressing_mode addressing,
                                    cl_filter_mode filter, cl_int *status) {
    double_use(context, DOUBLE_CONTEXT);
    const bool good = normalized <= 1 && addressing >= CL_ADDRESS_NONE &&
                      addressing <= CL_ADDRESS_MIRRORED_REPEAT &&
                      (filter == CL_FILTER_NEAREST || filter == CL_FILTER_LINEAR);
    return double_answer(status, good && !double_fails() ? double_make(DOUBLE_SAMPLER) : NULL,
                         CL_INVALID_VALUE);
}

static void *d_clSVMAlloc(cl_context context, cl_svm_mem_flags flags, size_t size, cl_uint alignment) {
    (void)flags;
    (void)alignment;
    double_use(context, DOUBLE_CONTEXT);
    struct double_object *shared = double_make(DOUBLE_SHARED);
    if (!double_fails() && double_allocate(shared, size))
        return shared->bytes;
    double_drop(shared);
    return NULL;
}

// The block that a pointer points into, which must be one.
static struct double_object *double_shared(const void *pointer) {
    for (struct double_object *at = opencl_double.objects; at; at = at->next)
        if (at->kind == DOUBLE_SHARED && (const uint8_t *)pointer >= at->bytes &&
            (const uint8_t *)pointer < at->bytes + at->size)
            return at;
    abort();
}

static void d_clSVMFree(cl_context context, void *pointer) {
    double_use(context, DOUBLE_CONTEXT);
    struct double_object *shared = double_shared(pointer);
    if (shared->bytes != pointer)
        abort();
    double_drop(shared);
}

// ---- programs and kernels

static cl_program d_clCreateProgramWithSource(cl_context context, cl_uint count, const char **texts,
                                              const size_t *lengths, cl_int *status) {
    double_use(context, DOUBLE_CONTEXT);
    for (cl_uint i = 0; i < count; i++)
        double_read(texts[i], lengths && lengths[i] ? lengths[i] : strlen(texts[i]));
    return double_answer(status, count && !double_fails() ? double_make(DOUBLE_PROGRAM) : NULL,
                         CL_INVALID_VALUE);
}

static cl_program d_clCreateProgramWithBinary(cl_context context, cl_uint count, const cl_device_id *devices,
                                              const size_t *lengths, const unsigned char **binaries,
                                              cl_int *statuses, cl_int *status) {
    double_use(context, DOUBLE_CONTEXT);
    double_use_devices(count, devices);
    bool good = count != 0;
    for (cl_uint i = 0; i < count; i++) {
        good &= lengths[i] != 0;
        double_read(binaries[i], lengths[i]);
        if (statuses)
            statuses[i] = CL_SUCCESS;
    }
    return double_answer(status, good && !double_fails() ? double_make(DOUBLE_PROGRAM) : NULL,
                         CL_INVALID_BINARY);
}

static cl_program d_clCreateProgramWithIL(cl_context context, const void *bytes, size_t length,
                                          cl_int *status) {
    double_use(context, DOUBLE_CONTEXT);
    double_read(bytes, length);
    return double_answer(status, length && !double_fails() ? double_make(DOUBLE_PROGRAM) : NULL,
                         CL_INVALID_VALUE);
}

typedef void(CL_CALLBACK double_notify)(cl_program, void *);

static cl_int d_clBuildProgram(cl_program program, cl_uint count, const cl_device_id *devices,
                               const char *options, double_notify *notify, void *data) {
    double_use(program, DOUBLE_PROGRAM);
    double_use_devices(count, devices);
    double_read(options, options ? strlen(options) : 0);
    (void)notify;
    (void)data;
    return double_fails() ? CL_BUILD_PROGRAM_FAILURE : CL_SUCCESS;
}

static cl_int d_clCompileProgram(cl_program program, cl_uint count, const cl_device_id *devices,
                                 const char *options, cl_uint headers, const cl_program *header,
                                 const char **names, double_notify *notify, void *data) {
    for (cl_uint i = 0; i < headers; i++) {
        double_use(header[i], DOUBLE_PROGRAM);
        double_read(names[i], strlen(names[i]) + 1);
    }
    return d_clBuildProgram(program, count, devices, options, notify, data);
}

static cl_program d_clLinkProgram(cl_context context, cl_uint count, const cl_device_id *devices,
                                  const char *options, cl_uint programs, const cl_program *program,
                                  double_notify *notify, void *data, cl_int *status) {
    (void)notify;
    (void)data;
    double_use(context, DOUBLE_CONTEXT);
    double_use_devices(count, devices);
    double_read(options, options ? strlen(options) : 0);
    for (cl_uint i = 0; i < programs; i++)
        double_use(program[i], DOUBLE_PROGRAM);
    return double_answer(status, programs && !double_fails() ? double_make(DOUBLE_PROGRAM) : NULL,
                         CL_INVALID_PROGRAM);
}

static cl_int d_clGetProgramBuildInfo(cl_program program, cl_device_id device, cl_program_build_info what,
                                      size_t room, void *out, size_t *size) {
    double_use(program, DOUBLE_PROGRAM);
    double_use_devices(1, &device);
    (void)what;
    return double_info("a log", 6, room, out, size);
}

static cl_kernel d_clCreateKernel(cl_program program, const char *name, cl_int *status) {
    double_use(program, DOUBLE_PROGRAM);
    const bool good = name[0] && !double_fails();
    double_read(name, strlen(name) + 1);
    return double_answer(status, good ? double_make(DOUBLE_KERNEL) : NULL, CL_INVALID_KERNEL_NAME);
}

static cl_int d_clGetKernelInfo(cl_kernel kernel, cl_kernel_info what, size_t room, void *out, size_t *size) {
    const cl_uint count = DOUBLE_ARGUMENTS;
    double_use(kernel, DOUBLE_KERNEL);
    return what == CL_KERNEL_NUM_ARGS ? double_info(&count, sizeof count, room, out, size) : CL_INVALID_VALUE;
}

// Every kernel is k(global float *, const global uint *, image2d_t, sampler_t, local float *, uint).
enum { DOUBLE_IMAGE = 2, DOUBLE_SAMPLER_ARGUMENT, DOUBLE_LOCAL, DOUBLE_VALUE };

static cl_int d_clGetKernelArgInfo(cl_kernel kernel, cl_uint index, cl_kernel_arg_info what, size_t room,
                                   void *out, size_t *size) {
    static const char *const types[DOUBLE_ARGUMENTS] = {"float*",    "uint*",  "image2d_t",
                                                        "sampler_t", "float*", "uint"};
    const cl_kernel_arg_type_qualifier constant = index == 1 ? CL_KERNEL_ARG_TYPE_CONST : 0;
    const cl_kernel_arg_address_qualifier address = index <= DOUBLE_IMAGE   ? CL_KERNEL_ARG_ADDRESS_GLOBAL
                                                    : index == DOUBLE_LOCAL ? CL_KERNEL_ARG_ADDRESS_LOCAL
                                                                            : CL_KERNEL_ARG_ADDRESS_PRIVATE;
    double_use(kernel, DOUBLE_KERNEL);
    if (index >= DOUBLE_ARGUMENTS)
        return CL_INVALID_ARG_INDEX;
    switch (what) {
    case CL_KERNEL_ARG_TYPE_NAME:
        return double_info(types[index], strlen(types[index]) + 1, room, out, size);
    case CL_KERNEL_ARG_TYPE_QUALIFIER:
        return double_info(&constant, sizeof constant, room, out, size);
    case CL_KERNEL_ARG_ADDRESS_QUALIFIER:
        return double_info(&address, sizeof address, room, out, size);
    default:
        return CL_INVALID_VALUE;
    }
}

// What is declared as memory is taken for a handle, as real drivers take it.
static cl_int d_clSetKernelArg(cl_kernel handle, cl_uint index, size_t size, const void *value) {
    struct double_object *kernel = double_use(handle, DOUBLE_KERNEL);
    void *object;
    if (index >= DOUBLE_ARGUMENTS)
        return CL_INVALID_ARG_INDEX;
    if (double_fails())
        return CL_OUT_OF_RESOURCES;
    if (index == DOUBLE_LOCAL)
        return value || !size ? CL_INVALID_ARG_VALUE : CL_SUCCESS;
    if (index == DOUBLE_VALUE) {
        if (size != sizeof(cl_uint) || !value)
            return CL_INVALID_ARG_SIZE;
        double_read(value, size);
        return CL_SUCCESS;
    }
    if (size != sizeof object)
        return CL_INVALID_ARG_SIZE;
    kernel->arguments[index] = NULL;
    if (!value)
        return index == DOUBLE_SAMPLER_ARGUMENT ? CL_INVALID_SAMPLER : CL_SUCCESS;
    memcpy(&object, value, sizeof object);
    if (!object)
        return CL_SUCCESS;
    kernel->arguments[index] =
        double_use(object, index == DOUBLE_SAMPLER_ARGUMENT ? DOUBLE_SAMPLER : DOUBLE_MEMORY);
    return CL_SUCCESS;
}

static cl_int d_clSetKernelArgSVMPointer(cl_kernel handle, cl_uint index, const void *pointer) {
    struct double_object *kernel = double_use(handle, DOUBLE_KERNEL);
    if (index >= DOUBLE_IMAGE)
        return CL_INVALID_ARG_INDEX;
    kernel->arguments[index] = double_shared(pointer);
    return CL_SUCCESS;
}

static cl_int d_clSetKernelExecInfo(cl_kernel kernel, cl_kernel_exec_info what, size_t size,
                                    const void *value) {
    double_use(kernel, DOUBLE_KERNEL);
    if (what != CL_KERNEL_EXEC_INFO_SVM_PTRS || !size || size % sizeof(void *))
        return CL_INVALID_VALUE;
    for (size_t i = 0; i < size / sizeof(void *); i++)
        double_shared(((void *const *)value)[i]);
    return CL_SUCCESS;
}

static cl_int d_clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel handle, cl_uint dimensions,
                                       const size_t *offset, const size_t *global, const size_t *local,
                                       cl_uint count, const cl_event *waits, cl_event *event) {
    const struct double_object *kernel = double_use(handle, DOUBLE_KERNEL);
    struct double_object *uses[DOUBLE_ARGUMENTS];
    struct double_move move = {.region = {1, 1, 1}};
    size_t used = 0;
    for (cl_uint i = 0; i < dimensions; i++)
        if (!global[i] || (local && (!local[i] || global[i] % local[i])) ||
            (offset && offset[i] > SIZE_MAX - global[i]))
            return CL_INVALID_WORK_GROUP_SIZE;
    if (!dimensions || dimensions > 3)
        return CL_INVALID_WORK_DIMENSION;
    for (size_t i = 0; i < DOUBLE_ARGUMENTS; i++)
        if (kernel->arguments[i]) // which a driver does not hold
            uses[used++] = double_use(kernel->arguments[i], kernel->arguments[i]->kind);
    if (kernel->arguments[0])
        move.to = kernel->arguments[0]->bytes;
    return double_enqueue(queue, count, waits, move.to ? &move : NULL, uses, used, event);
}

#include "opencl_double_transfers.h"

// ---- order

static cl_int d_clEnqueueMarkerWithWaitList(cl_command_queue queue, cl_uint count, const cl_event *waits,
                                            cl_event *event) {
    return double_enqueue(queue, count, waits, NULL, NULL, 0, event);
}

static cl_event d_clCreateUserEvent(cl_context context, cl_int *status) {
    double_use(context, DOUBLE_CONTEXT);
    struct double_object *event = double_fails() ? NULL : double_make(DOUBLE_EVENT);
    if (event) {
        event->user = true;
        event->status = CL_SUBMITTED;
    }
    return double_answer(status, event, CL_OUT_OF_RESOURCES);
}

static cl_int d_clSetUserEventStatus(cl_event handle, cl_int status) {
    struct double_object *event = double_use(handle, DOUBLE_EVENT);
    if (!event->user || status > CL_COMPLETE || event->status <= CL_COMPLETE)
        return CL_INVALID_OPERATION;
    event->status = status;
    while (!opencl_double.deferred && double_step())
        ;
    return CL_SUCCESS;
}

static cl_int d_clGetEventInfo(cl_event handle, cl_event_info what, size_t room, void *out, size_t *size) {
    const struct double_object *event = double_use(handle, DOUBLE_EVENT);
    const cl_int status = event->status;
    if (status > CL_COMPLETE)
        (void)double_step(); // after the answer: what was not yet, is the next time
    return what == CL_EVENT_COMMAND_EXECUTION_STATUS ? double_info(&status, sizeof status, room, out, size)
                                                     : CL_INVALID_VALUE;
}

static cl_int d_clRetainEvent(cl_event handle) {
    double_use(handle, DOUBLE_EVENT)->references++;
    return CL_SUCCESS;
}

static cl_int d_clGetEventProfilingInfo(cl_event handle, cl_profiling_info what, size_t room, void *out,
                                        size_t *size) {
    const cl_ulong time = what == CL_PROFILING_COMMAND_END ? 20 : 10;
    double_use(handle, DOUBLE_EVENT);
    return double_info(&time, sizeof time, room, out, size);
}

static cl_int d_clFlush(cl_command_queue queue) {
    double_use(queue, DOUBLE_QUEUE);
    return CL_SUCCESS;
}

// ---- by name

static void *double_find(const char *name) {
#define DOUBLE_ENTRY(call) {#call, (void *)(uintptr_t)d_##call},
#define d_clEnqueueBarrierWithWaitList d_clEnqueueMarkerWithWaitList
    static const struct {
        const char *name;
        void *call;
    } all[] = {EXECUTE_CALLS(DOUBLE_ENTRY) EXECUTE_LATER_CALLS(DOUBLE_ENTRY)};
#undef d_clEnqueueBarrierWithWaitList
#undef DOUBLE_ENTRY
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (strcmp(all[i].name, name) == 0)
            return all[i].call;
    return NULL;
}

#endif
