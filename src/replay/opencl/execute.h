// SPDX-License-Identifier: Apache-2.0
// What the files that execute a recording on OpenCL share.
//
// Every object of the recording is a `live` one, found by its number. An object that could not be made, and a buffer whose
// content depends on what cannot be replayed, has a `why`: it spreads to all that is computed from it, and results of it
// are not compared. Nothing here blocks in the driver: waits are polled, so that a replay that hangs is given up.
#ifndef REPLAY_OPENCL_EXECUTE_H
#define REPLAY_OPENCL_EXECUTE_H

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
    X(clRetainEvent)                                                                                         \
    X(clGetEventProfilingInfo)                                                                               \
    X(clReleaseEvent)                                                                                        \
    X(clFlush)                                                                                               \
    X(clCreateImage)                                                                                         \
    X(clGetImageInfo)                                                                                        \
    X(clEnqueueReadImage)                                                                                    \
    X(clEnqueueWriteImage)                                                                                   \
    X(clEnqueueCopyImage)                                                                                    \
    X(clEnqueueFillImage)                                                                                    \
    X(clEnqueueCopyImageToBuffer)                                                                            \
    X(clEnqueueCopyBufferToImage)                                                                            \
    X(clEnqueueMapImage)                                                                                     \
    X(clCompileProgram)                                                                                      \
    X(clLinkProgram)
// What an older loader has not: a pointer may be NULL.
#define EXECUTE_LATER_CALLS(X)                                                                               \
    X(clSVMAlloc)                                                                                            \
    X(clSVMFree)                                                                                             \
    X(clSetKernelArgSVMPointer)                                                                              \
    X(clSetKernelExecInfo)                                                                                   \
    X(clEnqueueSVMMemcpy)                                                                                    \
    X(clEnqueueSVMMemFill)                                                                                   \
    X(clEnqueueSVMMap)                                                                                       \
    X(clEnqueueSVMUnmap)                                                                                     \
    X(clCreateProgramWithIL)

enum { EXECUTE_DEVICES_MOST = 64 }; // of a platform, of a context

struct execute_calls {
#define CALL_POINTER(name) __typeof__(name) *name;
    EXECUTE_CALLS(CALL_POINTER)
    EXECUTE_LATER_CALLS(CALL_POINTER)
#undef CALL_POINTER
};

// One of the available devices, in the order of their numbers.
struct execute_device {
    cl_platform_id platform;
    cl_device_id id;
    char name[256], driver[256];
    bool used; // a recorded device is replayed on it
};

struct execution {
    struct execute_calls cl;
    struct execute_device *devices;
    size_t device_count, device_capacity;
    size_t *wanted; // indices of those asked for, in this order
    size_t wanted_count, wanted_capacity;
    struct execute_mapping *mappings;
    size_t mapping_count, mapping_capacity;
    char *names; // of those used
    bool source_failed;
};

struct live_argument {
    enum recording_argument_form form; // 0: not set
    size_t size, target;               // index into lives; 0: none
    uint64_t offset;                   // of shared memory
    const uint8_t *data;
    bool constant, changed;
    bool declared_constant; // of this program, as built for the replay
    enum live_declared { DECLARED_UNKNOWN, DECLARED_MEMORY, DECLARED_SAMPLER } declared; // likewise
    size_t record;                                                                       // that set it
    tsmith_element element;
};

// A box of rows in the host's memory, in bytes.
struct execute_rows {
    size_t width, height, depth, row, slice;
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
        void *shared;
    } handle;
    const char *why;   // it is not, or does not hold, what was recorded
    const char *doubt; // of memory: the host may have changed something that its content comes from
    const char *held;  // of memory: the host can reach it at any time, and so this doubt never ends
    size_t maps;       // of memory: that may be written through and have not ended
    uint64_t id;
    size_t
        parent; // of a queue, of memory, of a program: its context; of a kernel: its program. Index into lives
    size_t within; // of a part of a buffer, of an image in one: that. Index into lives
    uint64_t size;
    size_t record; // that made it
    size_t writer; // record + 1
    tsmith_element element;
    struct live_argument *arguments; // of a kernel
    size_t argument_count, argument_capacity;
    size_t *
        uses; // of a kernel: shared memory it gets at by pointers, indices into lives; of a context: its devices,
              // indices into those of the execution
    size_t use_count;
    uint64_t words[RECORDING_IMAGE_WORDS]; // of an image
    uint64_t address;                      // of shared memory, in the recorded program
    bool brought;                          // what it held first
    bool many_users;                       // of memory: more queues than `users` has
    uint8_t user_count;
    size_t users[4];          // queues with commands that use it. Indices into lives
    cl_event hold;            // a copy into it or out of it, which who uses it next waits for
    void *mapped;             // of a mapping
    struct execute_rows rows; // of a mapping: its layout there
    size_t memory;            // of a mapping. Index into lives
    bool writes;              // a mapping: the host may write through it
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
    void *shared;           // to be freed, or NULL
    cl_context context;     // that it is of
    bool translate;         // what arrives has addresses of this process in it
};

// What a command is enqueued with.
struct command {
    const struct recording_record *record;
    enum recording_command kind;
    cl_command_queue queue;
    cl_event *waits;
    cl_uint wait_count;
    cl_event *event; // where the driver puts one; NULL: not requested
    cl_event made;
    bool blocking;
    cl_int status;
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
    struct chunk_table awaited; // ids of events that a thread waits for
    struct chunk_table states;  // of VERIFY ids: record + 1 of the STATE
    struct chunk_table changed; // ids of transfers whose memory the host changed while they were on their way
    struct mapped {             // recorded devices
        uint64_t id;
        size_t device;
    } * mapped;
    size_t mapped_count;
    size_t shared_count; // objects of that type
    struct transfer *transfers;
    size_t transfer_count, transfer_capacity;
    int64_t patience;
    // In another order than the recorded one (order.c): every command waits for the one before it and for
    // nothing else, and everything that is read is a result.
    bool serial, in_place;
    cl_event last;
    size_t last_context;
    char *included_root; // where files that sources include are; NULL: none
    // execute_options.c
    size_t fed; // of the client's feeds
    int64_t pace_from, pace_start;
    struct timed {
        size_t record;
        cl_event event;
    } * timed;
    size_t timed_count, timed_capacity;
};

// ---- execute.c

struct live *live_find(struct run *run, uint64_t id); // NULL when there is none
struct live *live_find_type(struct run *run, uint64_t id, uint32_t type);
struct live *live_memory(struct run *run, uint64_t id); // a buffer, a part of one, an image, or shared memory
bool live_is_memory(const struct live *live);
cl_event live_event(struct run *run, uint64_t id); // that something may wait for; NULL when there is none
struct live *live_add(struct run *run, uint64_t id, uint32_t type);
struct live *live_root(struct run *run, struct live *buffer);
tsmith_status run_begin(struct run *run); // looks at all records; what comes next is the walk
tsmith_status run_end(struct run *run, tsmith_status status);
void run_note(struct run *run, const char *format, ...) TSMITH_PRINTF(2, 3);
void run_flush(struct run *run); // all queues
// Polls. False after setting the error.
bool run_wait(struct run *run, cl_event event);
bool run_finish(struct run *run, cl_command_queue queue);
tsmith_status run_no_memory(struct run *run);

// ---- devices.c: which recorded device is which

bool devices_map(struct run *run); // false: no memory
// For a recorded device; the first requested one if it is not in the recording.
size_t devices_find(const struct run *run, uint64_t id);
// The context's first device, the devices of all, and the largest memory that any of them can have.
cl_device_id context_device(const struct run *run, const struct live *context);
size_t context_devices(const struct run *run, const struct live *context, cl_device_id *out, size_t room);
uint64_t context_memory_most(const struct run *run, const struct live *context);

// ---- execute_options.c: what the client asks for besides (execute.h)

bool execute_option_leaves_out(const struct run *run); // the record that is being executed
tsmith_status
execute_option_feed(struct run *run); // what memory gets before the record that is executed next
bool execute_option_time_all(const struct run *run);
void execute_option_pace(struct run *run);
void execute_option_time(struct run *run,
                         cl_event event); // of the command that is being executed; it is retained
tsmith_status execute_option_end(struct run *run, tsmith_status status);

// ---- objects.c

tsmith_status execute_object(struct run *run, const struct recording_record *record);
// Of this kernel, independent of the kernel in the record.
tsmith_status execute_argument(struct run *run, uint64_t id, const struct recording_record *record);
struct live *object_context(struct run *run,
                            const struct recording_record *record); // NULL: none that could be made
size_t live_index(const struct run *run, const struct live *live);

// ---- program.c

void execute_program(struct run *run, struct live *live, const struct recording_record *record);
void execute_link(struct run *run, struct live *live, const struct recording_record *record);
void execute_build(struct run *run, const struct recording_record *record); // or compile

// ---- memory.c: memory objects, what they hold, and results

// How the values of an image are compared, by the type of its channels (CL_FLOAT, ...).
tsmith_element opencl_channel_element(uint64_t type);
void execute_image(struct run *run, struct live *live, const struct recording_record *record);
void execute_shared(struct run *run, struct live *live, const struct recording_record *record);
void memory_release(struct run *run, struct live *live);
void image_region(const struct live *image, size_t region[RECORDING_DIMENSIONS]);
// NULL when it is there and holds what was recorded, or can be compared with it.
const char *memory_why(struct run *run, struct live *memory);
void memory_written(struct run *run, struct live *memory, tsmith_element element, const char *why);
// Why what it holds may be something else than in the recording though everything was replayed: the host may have written it,
// or what it was computed from, in a way that is not recorded. Spreads as `why` does, but results are compared all the same:
// only a difference is doubtful. NULL: there is no such reason.
const char *memory_doubt(struct run *run, struct live *memory);
void memory_doubted(struct run *run, struct live *memory, const char *doubt); // NULL is fine
// This part got known content: a complete overwrite ends all earlier dependencies.
void memory_overwritten(struct run *run, struct live *memory, uint64_t offset, uint64_t size, cl_int status);
// A command of this queue is about to use it: the command waits for a copy that is on its way. False: no memory.
bool memory_used(struct run *run, struct command *command, size_t queue, struct live *memory);
struct execute_result result_of(struct run *run, struct live *memory);
void result_bring(struct run *run, struct execute_result *result, uint8_t *bytes, size_t size,
                  bool translate);
void result_missing(struct run *run, const struct live *memory, const char *why);
bool transfer_add(struct run *run, const struct transfer *transfer);
tsmith_status transfers_reap(struct run *run, bool all);
void transfers_drop(struct run *run);
// Fills it with zeros, and hands over all that it holds as a result of this record: by themselves, after all that was
// waited for. `queue` is one of its context.
tsmith_status memory_clear(struct run *run, struct live *memory);
tsmith_status memory_bring(struct run *run, struct live *memory, cl_command_queue queue, size_t record);
tsmith_status execute_verify(struct run *run, const struct recording_record *record);
tsmith_status execute_content(struct run *run, const struct recording_record *record);
// Brings the bytes that a record has into all of a memory: after what uses it, before what is enqueued later.
tsmith_status memory_feed(struct run *run, struct live *memory, const struct recording_record *content);
void execute_refused(struct run *run, const struct recording_record *record);

// ---- included.c: files that sources include

void included_execute(struct run *run, const struct recording_record *record);
// The options of a build (or compilation), with its folders where the files are now. The caller frees them; NULL: no memory.
char *included_options(struct run *run, const struct recording_record *build, const char *options);
void included_drop(struct run *run);

// ---- address.c: shared memory has other addresses in every process

void addresses_to_live(struct run *run, uint8_t *bytes, size_t size, uint64_t offset);
void addresses_to_recorded(struct run *run, uint8_t *bytes, size_t size, uint64_t offset);

// ---- transfers.c

tsmith_status execute_read(struct run *run, struct command *command);
tsmith_status execute_write(struct run *run, struct command *command);
void execute_copy(struct run *run, struct command *command);
void execute_fill(struct run *run, struct command *command);
tsmith_status execute_map(struct run *run, struct command *command);
tsmith_status execute_unmap(struct run *run, struct command *command);

// ---- commands.c

tsmith_status execute_command(struct run *run, const struct recording_record *record);
size_t record_sizes(const struct recording_record *record, enum recording_key key,
                    size_t out[RECORDING_DIMENSIONS]);

#endif
