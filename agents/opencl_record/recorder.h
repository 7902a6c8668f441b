// SPDX-License-Identifier: Apache-2.0
// The OpenCL recorder: a second layer, put into a program only by `profile --capture`. It keeps what is needed to run
// the program's commands again: objects, commands, what the host wrote, and how buffers looked when the program let go of them.
//
// Rules inside somebody else's process, for every file of this folder
//   1. Recording costs time: hashing what is written, copying what was computed. It changes no result, no error code, no
//      output parameter and no order of the program's commands.
//   2. It may allocate, lock and write its file; never while the driver is called with `recorder.lock` held (a driver
//      may run the program's callbacks there, which call us again).
//   3. The program's queues are never drained. A buffer is read through a queue of ours, which waits for a marker in
//      each of the program's queues; nobody is blocked but the exit handler, and that for a limited time.
//   4. A marker, and references on a context and its queues while a copy is on its way, are all that is added.
//   5. What cannot be recorded is written down as such (REFUSED), with its reason. When the file cannot be written any
//      more recording ends, and what is in the file stays readable.
//   6. After fork the child records nothing. Two threads that enqueue into one queue without agreeing on an order are
//      recorded in the order in which their calls returned.
//
// Files: file.c writes records and payload; objects.c knows handles; the wrappers are in context.c, memory.c,
// program.c, launch.c, transfer.c, mapping.c, sync.c and refused.c; snapshot.c copies buffers.
#ifndef OPENCL_RECORD_RECORDER_H
#define OPENCL_RECORD_RECORDER_H

#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_0_APIS
#define CL_USE_DEPRECATED_OPENCL_1_1_APIS
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#define CL_USE_DEPRECATED_OPENCL_2_0_APIS
#define CL_USE_DEPRECATED_OPENCL_2_1_APIS
#define CL_USE_DEPRECATED_OPENCL_2_2_APIS
#include <CL/cl_icd.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "calls.h"
#include "recording/chunk.h"
#include "recording/record.h"

enum object_kind {
    OBJECT_DEVICE,
    OBJECT_CONTEXT,
    OBJECT_QUEUE,
    OBJECT_BUFFER,
    OBJECT_IMAGE, // or a pipe: known, and not to be replayed
    OBJECT_PROGRAM,
    OBJECT_KERNEL,
    OBJECT_SAMPLER,
    OBJECT_EVENT
};

// What is known of a handle. Never freed: a handle that is used again gets a new one, which hides the old.
struct object {
    const void *handle;
    enum object_kind kind;
    uint64_t id;
    struct object *next; // of the same bucket
    struct object *context, *parent;
    uint64_t flags;
    size_t size;
    long references; // the program's own, and those of sub-buffers
    bool written;    // by a command of the device
    uint32_t argument_count;
    struct argument *arguments; // of a kernel
};

struct argument {
    struct object *target;
    cl_uint space; // CL_KERNEL_ARG_ADDRESS_*, 0 when the driver does not say
    bool constant;
    char type[32]; // its name in the source, "" when it is not known
};

struct recorder {
    cl_icd_dispatch next; // the driver, or the layer below us
    atomic_bool on;
    pthread_mutex_t lock; // of all that follows, and of every object
    int fd;
    uint64_t written, limit; // bytes of the file, and what the process may write
    uint64_t last_id;
    struct recording_writer writer, chunk;
    struct chunk_table chunks;
};
extern struct recorder recorder;

static inline bool recorder_on(void) {
    return atomic_load_explicit(&recorder.on, memory_order_relaxed);
}

// ---- file.c

bool file_begin(const char *directory);
// Takes the lock and begins a record; record_close writes it and gives the lock back.
struct recording_writer *record_open(enum recording_type type);
void record_close(void);

// Payload, cut into chunks that are in the file.
struct payload {
    struct chunk_hash *hashes;
    size_t count, size;
    bool failed;
};
void payload_take(struct payload *payload, const void *bytes, size_t size);
// Puts SIZE and CHUNKS, and frees it.
void payload_put(struct recording_writer *writer, struct payload *payload);
void payload_drop(struct payload *payload);

// ---- objects.c (with the lock held, where not said otherwise)

struct object *object_find(const void *handle, enum object_kind kind);
struct object *object_find_memory(const void *handle); // a buffer, an image or a pipe
struct object *object_add(const void *handle, enum object_kind kind);
uint64_t object_id(const void *handle, enum object_kind kind); // 0 when it is not known
void object_each(enum object_kind kind, void (*each)(struct object *object, void *context), void *context);
// One of the program's references is gone; true when it was the last. Takes the lock itself.
bool object_release(const void *handle, enum object_kind kind);
void object_retain(const void *handle, enum object_kind kind);
struct object *object_root(struct object *buffer); // the buffer that a sub-buffer is a part of
void object_written(struct object *memory);        // by the device

// A command: COMMAND, QUEUE and WAITS; takes the lock as record_open does.
struct recording_writer *command_open(enum recording_command command, cl_command_queue queue, cl_uint count,
                                      const cl_event *waits);
void command_close(const cl_event *event);
void put_waits(struct recording_writer *writer, cl_uint count, const cl_event *waits);
void put_sizes(struct recording_writer *writer, enum recording_key key, const size_t *sizes, size_t count);

// ---- refused.c

// Says that something cannot be replayed; `written`, of so many, is what it may have written; `event` may be NULL.
void refuse(const char *function, const char *why, const cl_mem *written, cl_uint count,
            const cl_event *event);

// ---- snapshot.c

// What a new buffer holds that the program gave no content: whatever it is, a kernel may read it. Nothing else can be
// using it yet, so this waits for the copy. False when there is none.
bool snapshot_initial(cl_context context, cl_mem buffer, size_t size, struct payload *payload);
// Copies a buffer as it is after all that was enqueued so far.
void snapshot_take(struct object *buffer);
// Writes down those that have arrived.
void snapshot_reap(void);
void snapshot_at_exit(void);
// Before the last reference to a queue goes: what is in it is still waited for.
void snapshot_queue_goes(cl_command_queue queue);

// The wrappers, of the driver's own types.
#define CALL_DECLARE(name) __typeof__(*(cl_api_##name)0) record_##name;
RECORDED_CALLS(CALL_DECLARE)
#undef CALL_DECLARE

#endif
