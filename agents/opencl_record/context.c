// SPDX-License-Identifier: Apache-2.0
// Devices, contexts, queues, samplers. Rules: recorder.h.
#include <stdlib.h>
#include <string.h>

#include "recorder.h"

// The id of a device; what it is is written down when it is seen first. Without the lock.
static uint64_t device_id(cl_device_id device) {
    enum { TEXT = 512 };
    char name[TEXT] = "", vendor[TEXT] = "", version[TEXT] = "", driver[TEXT] = "";
    pthread_mutex_lock(&recorder.lock);
    uint64_t id = object_id(device, OBJECT_DEVICE);
    pthread_mutex_unlock(&recorder.lock);
    if (id)
        return id;
    recorder.next.clGetDeviceInfo(device, CL_DEVICE_NAME, sizeof name - 1, name, NULL);
    recorder.next.clGetDeviceInfo(device, CL_DEVICE_VENDOR, sizeof vendor - 1, vendor, NULL);
    recorder.next.clGetDeviceInfo(device, CL_DEVICE_VERSION, sizeof version - 1, version, NULL);
    recorder.next.clGetDeviceInfo(device, CL_DRIVER_VERSION, sizeof driver - 1, driver, NULL);
    struct recording_writer *writer = record_open(RECORDING_DEVICE);
    id = object_add(device, OBJECT_DEVICE)->id;
    recording_put(writer, RECORDING_KEY_OBJECT, id);
    recording_put_text(writer, RECORDING_KEY_NAME, name);
    recording_put_text(writer, RECORDING_KEY_VENDOR, vendor);
    recording_put_text(writer, RECORDING_KEY_VERSION, version);
    recording_put_text(writer, RECORDING_KEY_DRIVER, driver);
    record_close();
    return id;
}

// Registered once the driver is there, so that it runs before the driver's own exit handlers.
static void register_exit(void) {
    static atomic_bool registered;
    if (!atomic_exchange(&registered, true))
        atexit(snapshot_at_exit);
}

static void note_context(cl_context context) {
    cl_device_id devices[64];
    uint64_t ids[64];
    size_t bytes = 0;
    file_after_fork();
    if (!recorder_on() || !context)
        return;
    if (recorder.next.clGetContextInfo(context, CL_CONTEXT_DEVICES, sizeof devices, devices, &bytes))
        bytes = 0;
    const size_t count = bytes / sizeof *devices;
    for (size_t i = 0; i < count; i++)
        ids[i] = device_id(devices[i]);
    struct copy_queue *copies = count ? copy_queue_make(context, devices[0]) : NULL;
    register_exit();
    struct recording_writer *writer = record_open(RECORDING_CONTEXT);
    struct object *object = object_add(context, OBJECT_CONTEXT);
    const bool keeps = recorder_on(); // where there was no memory for it, it is no object of its own
    object->copy_queues = keeps ? copies : NULL;
    recording_put(writer, RECORDING_KEY_OBJECT, object->id);
    recording_put_list(writer, RECORDING_KEY_DEVICES, ids, count);
    record_close();
    if (!keeps)
        copy_queue_drop(copies);
}

cl_context record_clCreateContext(const cl_context_properties *properties, cl_uint count,
                                  const cl_device_id *devices,
                                  void(CL_CALLBACK *notify)(const char *, const void *, size_t, void *),
                                  void *user, cl_int *status) {
    cl_context context = recorder.next.clCreateContext(properties, count, devices, notify, user, status);
    note_context(context);
    return context;
}

cl_context record_clCreateContextFromType(const cl_context_properties *properties, cl_device_type type,
                                          void(CL_CALLBACK *notify)(const char *, const void *, size_t,
                                                                    void *),
                                          void *user, cl_int *status) {
    cl_context context = recorder.next.clCreateContextFromType(properties, type, notify, user, status);
    note_context(context);
    return context;
}

static void note_queue(cl_command_queue queue, cl_context context, cl_device_id device,
                       cl_command_queue_properties flags) {
    if (!recorder_on() || !queue)
        return;
    const uint64_t device_object = device_id(device);
    struct recording_writer *writer = record_open(RECORDING_QUEUE);
    static uint32_t queues;
    struct object *object = object_add(queue, OBJECT_QUEUE);
    object->number = ++queues;
    object->flags = flags;
    object_enter(object, object_find(context, OBJECT_CONTEXT));
    recording_put(writer, RECORDING_KEY_OBJECT, object->id);
    recording_put(writer, RECORDING_KEY_CONTEXT, object_id(context, OBJECT_CONTEXT));
    recording_put(writer, RECORDING_KEY_DEVICE, device_object);
    recording_put(writer, RECORDING_KEY_FLAGS, flags);
    record_close();
    if (flags & CL_QUEUE_ON_DEVICE)
        refuse("clCreateCommandQueueWithProperties", "a queue on the device: kernels enqueue kernels", NULL,
               0, NULL);
}

cl_command_queue record_clCreateCommandQueue(cl_context context, cl_device_id device,
                                             cl_command_queue_properties flags, cl_int *status) {
    cl_command_queue queue = recorder.next.clCreateCommandQueue(context, device, flags, status);
    note_queue(queue, context, device, flags);
    return queue;
}

cl_command_queue record_clCreateCommandQueueWithProperties(cl_context context, cl_device_id device,
                                                           const cl_queue_properties *properties,
                                                           cl_int *status) {
    cl_command_queue queue =
        recorder.next.clCreateCommandQueueWithProperties(context, device, properties, status);
    cl_command_queue_properties flags = 0;
    for (const cl_queue_properties *at = properties; queue && at && at[0]; at += 2)
        if (at[0] == CL_QUEUE_PROPERTIES)
            flags = at[1];
    note_queue(queue, context, device, flags);
    return queue;
}

#define RETAIN(name, kind, handle)                                                                           \
    cl_int record_##name(handle retained) {                                                                  \
        const cl_int status = recorder.next.name(retained);                                                  \
        if (recorder_on() && status == CL_SUCCESS)                                                           \
            object_retain(retained, kind);                                                                   \
        return status;                                                                                       \
    }

RETAIN(clRetainCommandQueue, OBJECT_QUEUE, cl_command_queue)
RETAIN(clRetainContext, OBJECT_CONTEXT, cl_context)

cl_int record_clReleaseCommandQueue(cl_command_queue queue) {
    if (recorder_on() && object_release(queue, OBJECT_QUEUE))
        snapshot_queue_goes(queue);
    copy_queues_release();
    return recorder.next.clReleaseCommandQueue(queue);
}

cl_int record_clReleaseContext(cl_context context) {
    if (recorder_on()) {
        object_release(context, OBJECT_CONTEXT);
        snapshot_reap();
    }
    copy_queues_release();
    return recorder.next.clReleaseContext(context);
}

// Before a program counts references, those of our copies go, as far as they have arrived. Those of our queues are not counted.
cl_int record_clGetContextInfo(cl_context context, cl_context_info what, size_t size, void *value,
                               size_t *size_ret) {
    if (what != CL_CONTEXT_REFERENCE_COUNT)
        return recorder.next.clGetContextInfo(context, what, size, value, size_ret);
    if (recorder_on())
        snapshot_reap();
    copy_queues_release();
    const cl_uint ours = copy_queue_references(context);
    const cl_int status = recorder.next.clGetContextInfo(context, what, size, value, size_ret);
    cl_uint count;
    if (status == CL_SUCCESS && value && ours) {
        memcpy(&count, value, sizeof count);
        count -= ours;
        memcpy(value, &count, sizeof count);
    }
    return status;
}

static void note_sampler(cl_sampler sampler, cl_context context, uint64_t normalized, uint64_t addressing,
                         uint64_t filter) {
    const uint64_t values[] = {normalized, addressing, filter};
    if (!recorder_on() || !sampler)
        return;
    struct recording_writer *writer = record_open(RECORDING_SAMPLER);
    recording_put(writer, RECORDING_KEY_OBJECT, object_add(sampler, OBJECT_SAMPLER)->id);
    recording_put(writer, RECORDING_KEY_CONTEXT, object_id(context, OBJECT_CONTEXT));
    recording_put_list(writer, RECORDING_KEY_LIST, values, 3);
    record_close();
}

cl_sampler record_clCreateSampler(cl_context context, cl_bool normalized, cl_addressing_mode addressing,
                                  cl_filter_mode filter, cl_int *status) {
    cl_sampler sampler = recorder.next.clCreateSampler(context, normalized, addressing, filter, status);
    note_sampler(sampler, context, normalized, addressing, filter);
    return sampler;
}

cl_sampler record_clCreateSamplerWithProperties(cl_context context, const cl_sampler_properties *properties,
                                                cl_int *status) {
    cl_sampler sampler = recorder.next.clCreateSamplerWithProperties(context, properties, status);
    uint64_t normalized = CL_TRUE, addressing = CL_ADDRESS_CLAMP, filter = CL_FILTER_NEAREST;
    for (const cl_sampler_properties *at = properties; sampler && at && at[0]; at += 2) {
        normalized = at[0] == CL_SAMPLER_NORMALIZED_COORDS ? at[1] : normalized;
        addressing = at[0] == CL_SAMPLER_ADDRESSING_MODE ? at[1] : addressing;
        filter = at[0] == CL_SAMPLER_FILTER_MODE ? at[1] : filter;
    }
    note_sampler(sampler, context, normalized, addressing, filter);
    return sampler;
}
