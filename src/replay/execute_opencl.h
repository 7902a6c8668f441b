// SPDX-License-Identifier: Apache-2.0
// What the files that execute a recording on OpenCL share.
//
// Every object of the recording is a `live` one, found by its number. An object that could not be made, and a buffer whose
// content depends on what cannot be replayed, has a `why`: it spreads to all that is computed from it, and results of it
// are not compared. Nothing here blocks in the driver: waits are polled, so that a replay that hangs is given up.
#ifndef REPLAY_EXECUTE_OPENCL_H
#define REPLAY_EXECUTE_OPENCL_H

#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_1_APIS
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#define CL_USE_DEPRECATED_OPENCL_2_0_APIS
#include <CL/cl.h>

#include "replay/execute.h"

#define EXECUTE_CALLS(X)                                                                                     \
    X(clGetPlatformIDs)                                                                                      \
    X(clGetDeviceIDs)                                                                                        \
    X(clGetDeviceInfo)                                                                                       \
    X(clCreateContext)                                                                                       \
    X(clReleaseContext)                                                                                      \
    X(clCreateCommandQueue)                                                                                  \
    X(clReleaseCommandQueue)                                                                                 \
    X(clCreateBuffer)                                                                                        \
    X(clCreateSubBuffer)                                                                                     \
    X(clReleaseMemObject)                                                                                    \
    X(clCreateSampler)                                                                                       \
    X(clReleaseSampler)                                                                                      \
    X(clCreateProgramWithSource)                                                                             \
    X(clCreateProgramWithBinary)                                                                             \
    X(clBuildProgram)                                                                                        \
    X(clGetProgramBuildInfo)                                                                                 \
    X(clReleaseProgram)                                                                                      \
    X(clCreateKernel)                                                                                        \
    X(clReleaseKernel)                                                                                       \
    X(clGetKernelInfo)                                                                                       \
    X(clGetKernelArgInfo)                                                                                    \
    X(clSetKernelArg)                                                                                        \
    X(clEnqueueNDRangeKernel)                                                                                \
    X(clEnqueueReadBuffer)                                                                                   \
    X(clEnqueueWriteBuffer)                                                                                  \
    X(clEnqueueCopyBuffer)                                                                                   \
    X(clEnqueueFillBuffer)                                                                                   \
    X(clEnqueueReadBufferRect)                                                                               \
    X(clEnqueueWriteBufferRect)                                                                              \
    X(clEnqueueCopyBufferRect)                                                                               \
    X(clEnqueueMapBuffer)                                                                                    \
    X(clEnqueueUnmapMemObject)                                                                               \
    X(clEnqueueMarkerWithWaitList)                                                                           \
    X(clEnqueueBarrierWithWaitList)                                                                          \
    X(clCreateUserEvent)                                                                                     \
    X(clSetUserEventStatus)                                                                                  \
    X(clGetEventInfo)                                                                                        \
    X(clReleaseEvent)                                                                                        \
    X(clFlush)

struct execute_calls {
#define CALL_POINTER(name) __typeof__(name) *name;
    EXECUTE_CALLS(CALL_POINTER)
#undef CALL_POINTER
};

struct execution {
    struct execute_calls cl;
    cl_platform_id platform;
    cl_device_id device;
    char name[256];
};

struct live_argument {
    enum recording_argument_form form; // 0: not set
    size_t size, target;               // index into lives; 0: none
    const uint8_t *data;
    bool constant, changed;
    bool declared_constant; // of this program, as built for the replay
    size_t record;          // that set it
    tsmith_element element;
};

struct live {
    uint32_t type; // a RECORDING_ type
    union {
        void *any;
        cl_context context;
        cl_command_queue queue;
        cl_mem buffer;
        cl_program program;
        cl_kernel kernel;
        cl_sampler sampler;
        cl_event event;
    } handle;
    const char *why; // it is not, or does not hold, what was recorded
    uint64_t id;
    size_t
        parent; // of a queue: its context; of a sub-buffer: its buffer; of a kernel: its program. Index into lives
    uint64_t size;
    size_t record; // that made it
    size_t writer; // record + 1
    tsmith_element element;
    struct live_argument *arguments; // of a kernel
    size_t argument_count, argument_capacity;
    void *mapped; // of a mapping
    bool released;
};

// A transfer that is on its way: its memory, and the result it brings.
struct transfer {
    cl_event done;
    uint8_t *bytes;
    size_t size;
    bool keep;   // `bytes` is the driver's
    bool brings; // `result` is to be handed over
    struct execute_result result;
    cl_command_queue queue; // to be released, or NULL
};

struct run {
    struct execution *execution;
    const struct execute_calls *cl;
    struct tsmith_recording *recording;
    const struct recorded_process *process;
    const tsmith_replay_options *options;
    const struct execute_client *client;
    tsmith_error *error;
    size_t at; // the record being executed
    struct chunk_table by_id;
    struct live *lives; // [0] is unused
    size_t live_count, live_capacity;
    struct chunk_table awaited; // ids of events that somebody waits for
    struct chunk_table states;  // of VERIFY ids: record + 1 of the STATE
    struct transfer *transfers;
    size_t transfer_count, transfer_capacity;
    int64_t patience;
    // In another order than the recorded one (execute_opencl_order.c): every command waits for the one before it and for
    // nothing else, and everything that is read is a result.
    bool serial;
    cl_event last;
    size_t last_context;
};

// ---- execute_opencl.c

struct live *live_find(struct run *run, uint64_t id); // NULL when there is none
struct live *live_find_type(struct run *run, uint64_t id, uint32_t type);
struct live *live_buffer(struct run *run, uint64_t id); // a buffer or a sub-buffer
struct live *live_add(struct run *run, uint64_t id, uint32_t type);
struct live *live_root(struct run *run, struct live *buffer);
tsmith_status run_begin(struct run *run); // looks at all records; what comes next is the walk
tsmith_status run_end(struct run *run, tsmith_status status);
void run_note(struct run *run, const char *format, ...) TSMITH_PRINTF(2, 3);
// Polls. False after setting the error.
bool run_wait(struct run *run, cl_event event);
bool run_finish(struct run *run, cl_command_queue queue);
tsmith_status run_no_memory(struct run *run);

// ---- execute_opencl_objects.c

tsmith_status execute_object(struct run *run, const struct recording_record *record);
// Of this kernel, whatever kernel the record names.
tsmith_status execute_argument(struct run *run, uint64_t id, const struct recording_record *record);

// ---- execute_opencl_commands.c

tsmith_status execute_command(struct run *run, const struct recording_record *record);
tsmith_status execute_verify(struct run *run, const struct recording_record *record);
void execute_refused(struct run *run, const struct recording_record *record);
tsmith_status transfers_reap(struct run *run, bool all);
void transfers_drop(struct run *run);

#endif
