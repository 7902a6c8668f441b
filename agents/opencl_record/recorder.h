// SPDX-License-Identifier: Apache-2.0
// The OpenCL recorder: a second layer, put into a program only by `profile --capture`. It keeps what is needed to run
// the program's commands again: objects, commands, what the host wrote, and how buffers looked when the program let go of them.
//
// Rules inside the profiled process, for every file of this folder
//   1. Recording costs time: hashing what is written, copying what was computed. It changes no result, no error code, no
//      output parameter and no order of the program's commands.
//   2. It may allocate, lock and write its file; never while the driver is called with `recorder.lock` held (a driver
//      may run the program's callbacks there, which call us again).
//   3. What is sent to the driver that the program did not send is in this list, and nothing else. A buffer is read through a
//      queue of ours, which its context gets when it is made (copy_queue.c). Into a queue of the program's goes a marker,
//      only where commands that may still be writing the memory are in it, and no clFlush but in the two cases that markers.c names; where the program has waited for its commands,
//      its queue gets nothing. References are taken of the program's queues while a copy is on its way. A command that
//      writes what is being copied waits for the copy by its wait list. What is asked: the state of our own copies and
//      markers, what objects are when they are made (devices, images, kernels), and what our queue adds to the count of its
//      context's references.
//   4. The program's threads are blocked by a copy only where nothing of the program's is left to run that could have
//      written the memory, and in the exit handler, and that for a limited time.
//   5. What cannot be recorded is written down as such (REFUSED), with its reason. When the file cannot be written any
//      more recording ends, and what is in the file stays readable.
//   6. After fork the child begins anew, with a file of its own, when it makes a context. Two threads that enqueue into one queue without agreeing on an order are
//      recorded in the order in which their calls returned.
//
// What memory holds is kept when it is first touched: an object is `known` when what the recording says brought it to
// what it holds. Before a recorded command reads (or writes a part of) one that is not, it is copied (CONTENT); a
// command that is not recorded makes what it writes unknown again. Before it does, and when the program lets go of
// it, what recorded commands wrote is copied as well (VERIFY): that is what a replay is compared with.
//
// Files: file.c writes records and payload; objects.c knows handles; range.c which commands are recorded; access.c
// what a command does to memory; snapshot.c copies it, through the queues of copy_queue.c; markers.c says when that
// may be done. headers.c finds what sources include. The wrappers are in context.c, memory.c, program.c, argument.c,
// launch.c, transfer.c, image.c, shared.c, mapping.c, inflight.c, sync.c, extension.c and refused.c.
#ifndef OPENCL_RECORD_RECORDER_H
#define OPENCL_RECORD_RECORDER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "opencl_calls/calls.h"
#include "recording/chunk.h"
#include "recording/record.h"

enum object_kind {
    OBJECT_DEVICE,
    OBJECT_CONTEXT,
    OBJECT_QUEUE,
    OBJECT_BUFFER,
    OBJECT_IMAGE,
    OBJECT_SHARED, // a block of shared virtual memory: its handle is its address
    OBJECT_OPAQUE, // a pipe, memory of another API: known, and not to be replayed
    OBJECT_PROGRAM,
    OBJECT_KERNEL,
    OBJECT_SAMPLER,
    OBJECT_EVENT,
    OBJECT_KINDS
};

struct argument {
    struct object *target; // memory, which it names
    cl_uint space;         // CL_KERNEL_ARG_ADDRESS_*, 0 if the driver does not report it
    bool constant;
    bool changed; // since it was written down last
    bool is_set;
    bool shared;   // `value` is an address
    char type[32]; // its name in the source, "" when it is not known
    size_t size, capacity;
    uint8_t *value; // NULL: local memory, or no object
};

struct kernel {
    char *name;
    cl_uint argument_count;
    struct argument *arguments;
    struct object **uses; // shared memory it gets at by pointers, which it names
    size_t use_count;
    bool uses_changed;
};

struct image {
    cl_image_format format;
    cl_image_desc desc; // pitches and buffer as given
    size_t element;
};

// What is known of a handle. Its end, and what comes after: objects.c.
struct object {
    const void *handle;
    enum object_kind kind;
    bool ended;     // its handle is not its own any more
    bool told;      // of a buffer: it is in the recording
    uint32_t named; // number of objects that still need it after its end
    uint64_t id;
    struct object *next; // of the same bucket
    struct object *context;
    struct object *parent; // of an object inside another object's memory
    size_t origin;         // in the parent
    uint64_t flags;
    size_t size;
    long references;   // the program's own, and those of objects inside it
    bool inside;       // of memory and a queue: it is counted in its context
    uint32_t insiders; // of a context: memory and queues in it that the program has not released
    uint32_t number;   // of a queue: from 1, as they were made
    bool waiting;      // of a queue: it has recorded commands that no wait has covered
    uint64_t enqueued,
        finished; // of a queue: commands, and how many of them the program has waited for
    // For memory that is not inside another object:
    bool known;   // its content equals the recorded one
    bool written; // by a recorded command, and not copied since
    bool many_writers;
    uint32_t copier; // the thread that is asking the driver for a copy of it; 0: none is
    uint8_t writer_count;
    struct object *writers[4]; // the queues that may have written it
    cl_event hold;             // a copy is being made: who writes waits for it
    union {
        struct kernel *kernel;
        struct image *image;
        struct copy_queue *copy_queues; // of a context: a list; copy_queue.c
    };
};

struct recorder {
    cl_icd_dispatch next; // the driver, or the layer below us
    atomic_bool on;
    // A command of the range has come. Before, commands are only looked at as far as it takes to see the first: they change
    // no known loss of memory, and records wait in memory of ours (file.c).
    atomic_bool begun;
    pthread_mutex_t lock; // of all that follows, and of every object
    int fd;
    uint64_t written; // bytes of the file
    uint64_t last_id;
    bool last_word; // what is being written goes into the file though recording is over
    struct recording_writer writer, inner;
    struct chunk_table chunks;
};
extern struct recorder recorder;

static inline bool recorder_begun(void) {
    return atomic_load_explicit(&recorder.begun, memory_order_acquire);
}

static inline bool recorder_on(void) {
    return atomic_load_explicit(&recorder.on, memory_order_relaxed);
}

// The options of a capture, other than its range.
struct recorder_options {
    bool no_payload; // hashes of data only
    bool hashes;     // of what each command wrote
};
extern struct recorder_options recorder_options;

// ---- layer.c

// The number of the API event that the layer before us makes of this call; 0: there is none.
uint64_t recorder_correlation(void);
// Whether that layer asks on its own account: the program does not get to know the answer.
bool recorder_asked_by_agent(void);

// ---- file.c

bool file_begin(const char *directory);
// In a child that forked and makes a context: a file of its own.
void file_after_fork(void);
void file_write_held(void); // with the lock held: what was written so far, and from now on everything at once
// What a child forgets of its parent's.
void objects_after_fork(void);
void snapshot_after_fork(void);
void mappings_after_fork(void);
void shared_after_fork(void);
// Takes the lock and begins a record; record_close writes it and gives the lock back.
struct recording_writer *record_open(enum recording_type type);
void record_close(void);
void record_cancel(void); // gives the lock back, and writes nothing
// A record while another is being made: with the lock held, written at once.
struct recording_writer *record_open_inner(enum recording_type type);
void record_close_inner(void);

// Payload, cut into chunks that are in the file (their hashes are, when data is not wanted).
struct payload {
    struct chunk_hash *hashes;
    size_t count, size;
    bool failed;
};
void payload_take(struct payload *payload, const void *bytes, size_t size);
void payload_keep(struct payload *payload, const void *bytes, size_t size); // always with its data: a program
void payload_hash(struct payload *payload, const void *bytes, size_t size); // never
// Puts SIZE and CHUNKS, and frees it.
void payload_put(struct recording_writer *writer, struct payload *payload);
void payload_drop(struct payload *payload);

// ---- objects.c (with the lock held, unless noted)

struct object *object_find(const void *handle, enum object_kind kind);
struct object *object_find_memory(const void *handle); // what a cl_mem is
struct object *object_find_shared(const void *at);     // the block that contains an address
struct object *object_add(const void *handle, enum object_kind kind);
// Adds a reference for a kept pointer to an object, which may be NULL; returns it. And releases it.
struct object *object_name(struct object *object);
void object_drop(struct object *object);
void object_end(struct object *object); // it cannot be found any more
// Memory or a queue belongs to this context, which may be NULL, until the program's last reference to it is released.
void object_enter(struct object *object, struct object *context);
uint64_t object_id(const void *handle, enum object_kind kind); // 0 when it is not known
void object_each(enum object_kind kind, void (*each)(struct object *object, void *context), void *context);
// One of the program's references is gone; true when it was the last. Takes the lock itself.
bool object_release(const void *handle, enum object_kind kind);
void object_retain(const void *handle, enum object_kind kind);
struct object *object_root(struct object *memory); // the containing object, or itself
void object_forget_event(const cl_event *event);   // that no recorded command has; takes the lock itself

// A command: COMMAND, QUEUE and WAITS; takes the lock as record_open does.
struct access; // access.c, below
struct recording_writer *command_open(enum recording_command command, const struct access *access);
void command_close(const cl_event *event);
// The ids of so many handles of a kind.
void put_objects(struct recording_writer *writer, enum recording_key key, enum object_kind kind,
                 cl_uint count, const void *handles);
void put_sizes(struct recording_writer *writer, enum recording_key key, const size_t *sizes, size_t count);
void put_memory(struct recording_writer *writer, enum recording_key key, cl_mem memory);
void put_thread(struct recording_writer *writer);

// ---- range.c

// Whether these words (TRACESMITH_CAPTURE) are understood.
bool range_begin(const char *words, const char *session_directory);
// With the lock held: whether this command is recorded. `kernel` is NULL for other commands.
bool range_takes(const struct object *queue, const struct object *kernel);
bool range_whole(void); // everything is
// Without the lock: this command is not the first of it. `kernel` is what is launched, NULL for other commands.
bool range_waits(const void *kernel);
void range_waited(void);      // without the lock: the host has waited, which may end a frame
void range_kernel_made(void); // a handle may now refer to another kernel
uint32_t range_thread(void);  // the number of the calling thread

// ---- access.c

enum access_how { ACCESS_READS = 1, ACCESS_WRITES = 2, ACCESS_WHOLE = 4 };
// A command between the program and the driver.
struct access {
    cl_command_queue queue;
    cl_uint count, given_count;
    const cl_event *waits, *given; // what the driver is to wait for; what the program gave
    bool on;                       // the recorder is
    bool recorded;                 // this command is
    bool early;                    // nothing has been recorded yet, nor is this command
    bool passed;                   // a launch that is not, and needs nothing
    bool blocking;                 // it is complete when the call returns
    uint64_t inflight;             // of inflight_check
    uint64_t enqueued;             // into its queue, before it
    cl_event *own;                 // the list, when it is ours
    cl_uint held;                  // events at the end of it
    struct object *kernel, *whole, *written[2];
    size_t written_count;
};
// `kernel` is NULL for other commands.
void access_begin(struct access *access, cl_command_queue queue, cl_kernel kernel, cl_uint count,
                  const cl_event *waits);
void access_object(struct access *access, struct object *memory, unsigned how); // may be NULL
void access_memory(struct access *access, cl_mem memory, unsigned how);
// Whether the call returns when the command is complete; before the driver.
void access_blocks(struct access *access, bool blocking);
// ACCESS_WHOLE if this many bytes are all of a buffer's own memory.
unsigned access_writes(const struct access *access, cl_mem buffer, size_t offset, size_t size);
// One more event for the driver to wait for, whose reference is taken over. False when memory ran out.
bool access_wait(struct access *access, cl_event event);
// What the kernel may read and write by its arguments.
void access_arguments(struct access *access);
// With the lock held, which it gives away meanwhile: a thread that copies memory asks the driver for it without the lock. What
// comes after the copy, and the end of the memory, wait until the driver has it; not forever if a driver lets that thread
// wait for this one. False when it did not wait long enough.
bool access_wait_for_copier(const struct object *memory);
// After the driver; true when the command is to be written down.
bool access_end(struct access *access, cl_int status, const cl_event *event);
// After command_close: what it wrote is copied, when that is asked for of every command.
void access_after(struct access *access);
// A command that is not known wrote these: what they hold is not known either.
void access_unknown(cl_command_queue queue, const cl_mem *memory, cl_uint count);
// A command that may write any memory: before it, and after.
void access_everything(struct access *access);
void access_everything_unknown(void);

// ---- refused.c

// Records that a call cannot be replayed; `written`, `count` objects, may have been written; `event` may be NULL.
void refuse(const char *function, const char *why, const cl_mem *written, cl_uint count,
            const cl_event *event);

// ---- snapshot.c

// Copies memory as it is after all that was enqueued so far that may have written it: for CONTENT, or for a VERIFY.
void snapshot_take(struct object *memory, enum recording_type type, uint64_t flags);
// Writes down those that have arrived.
void snapshot_reap(void);
void snapshot_at_exit(void);
void snapshot_too_late(
    void); // a command comes that is not recorded, because recording is over: reports it, once
// Before the last reference to a queue goes: what is in it is still waited for.
void snapshot_queue_goes(cl_command_queue queue);

// ---- copy_queue.c

struct copy_queue;
// For a new context, which gets it; NULL when the driver gives none. Without the lock, as the next ones.
struct copy_queue *copy_queue_make(cl_context context, cl_device_id device);
// One for a copy, until copy_queue_drop; NULL when there is none.
struct copy_queue *copy_queue_take(struct object *context, cl_command_queue *queue);
void copy_queue_drop(struct copy_queue *queue); // may be NULL
// With the lock held: the program has let go of the context.
void copy_queues_leave(struct object *context);
// Before the driver gets what the program releases: gives back those of contexts that the program has let go of, and all when
// recording is over.
void copy_queues_release(void);
// How many of CL_CONTEXT_REFERENCE_COUNT are ours.
cl_uint copy_queue_references(cl_context context);
void copy_queues_after_fork(void);

// ---- markers.c

enum { MARKERS_MOST = 256 };
struct markers {
    const struct object *memory;
    cl_command_queue queues[MARKERS_MOST];
    size_t queue_count;
    cl_event events[MARKERS_MOST];
    size_t event_count;
    bool too_many;
};
// Puts one into each queue that may still be writing `memory`, and adds those of queues that are gone.
void markers_make(struct markers *markers);
void markers_drop(struct markers *markers);
// A thread waits for them: a command in `except` (or the recorder, NULL) waits for the copy of `memory` (NULL: of any).
void markers_flush(cl_command_queue except, const struct object *memory);
// The program's clFinish of this queue has returned: after a flush of ours it must have waited for our marker too.
void markers_finished(cl_command_queue queue);
void markers_queue_goes(cl_command_queue queue); // the program's last reference is about to go
void markers_reap(void);                         // forgets those that are complete
bool markers_any(void);                          // with the lock held
void markers_after_fork(void);

// ---- rows.c

// A box of a picture or a buffer, in bytes.
struct rows {
    size_t width, height, depth, row, slice;
};
size_t rows_bytes(const struct rows *rows);
// Its rows one after the other, in memory the caller frees; NULL when there is none.
uint8_t *rows_pack(const struct rows *rows, const void *from);
// The same into a payload; false, and it is as it was, when there is no memory.
bool rows_take(const struct rows *rows, const void *from, struct payload *payload);

// ---- transfer.c

struct place {
    const size_t *origin; // RECORDING_DIMENSIONS; of bytes in a row, one
    size_t row, slice;    // pitches as given: 0 is no gap
};
// A read, a write, a copy or a fill, as its wrapper describes it; unused members are left out.
struct transfer {
    enum recording_command command;
    cl_bool blocking;
    cl_mem source, target; // of a read only the first, of a write and a fill only the second
    const void *host;      // of a read and a write
    struct place in_source, in_target, in_host;
    const size_t *offset; // in the only buffer, where it has no origin
    const size_t *region;
    size_t size;         // of bytes in a row
    const void *pattern; // of a fill
    size_t pattern_size;
};
// Before the driver, for a command that is examined; and after, for one that is to be recorded.
void transfer_access(const struct transfer *transfer, struct access *access);
void transfer_record(const struct transfer *transfer, struct access *access, const cl_event *event);

// Such a wrapper, with the parameters of its row in opencl_calls/calls.h; `...` are the members of struct transfer. They are
// evaluated before the driver and after it, each time only if needed: an idle recorder does not pay for it.
#define TRANSFER(name, ...) OPENCL_DEFINE(TRANSFER_WRAPPER, name, __VA_ARGS__)
#define TRANSFER_WRAPPER(name, result_type, parameters, arguments, ...)                                      \
    result_type record_##name parameters {                                                                   \
        struct access access;                                                                                \
        access_begin(&access, queue, NULL, count, waits);                                                    \
        if (access.on)                                                                                       \
            transfer_access(&(const struct transfer){__VA_ARGS__}, &access);                                 \
        count = access.count;                                                                                \
        waits = access.waits;                                                                                \
        const cl_int status = recorder.next.name arguments;                                                  \
        if (access_end(&access, status, event))                                                              \
            transfer_record(&(const struct transfer){__VA_ARGS__}, &access, event);                          \
        return status;                                                                                       \
    }

// ---- inflight.c: writes that do not block

void inflight_after_fork(void);
// With the lock held: the number of a write that takes these rows from there; 0: it is not kept.
uint64_t inflight_add(const struct rows *rows, const void *from, const struct payload *payload);
// Before the program waits for anything: writes down which of them changed meanwhile. After it: forgets those there were.
uint64_t inflight_check(void);
void inflight_forget(uint64_t last);

// ---- headers.c

// Writes down the files that the program's source includes. The current folder, which the caller frees, where there are some,
// else NULL. Without the lock.
char *headers_keep(cl_program program, const char *options);

// ---- image.c

void image_region(const struct image *image, size_t region[RECORDING_DIMENSIONS]); // all of it
size_t image_bytes(const struct image *image);                                     // of all of it
const struct image *image_of(cl_mem memory); // NULL when it is none; takes the lock itself
bool image_is_whole(const struct image *image, const size_t *region); // it is all of its own memory
// The host's rows of a region with these pitches.
struct rows image_rows(const struct image *image, const size_t *region, size_t row, size_t slice);

// ---- memory.c

// With the lock held: writes a buffer down that is not yet; other memory, and NULL, are left alone.
void buffer_tell(struct object *memory);

// ---- launch.c

// The record of a command that touches nothing, after the driver gave `status`, which it gives back.
cl_int note_plain(enum recording_command command, cl_int status, cl_command_queue queue, cl_uint count,
                  const cl_event *waits, const cl_event *event);

// ---- shared.c

struct object *shared_block(const void *at); // as object_find_shared, but takes the lock itself

// The program has waited for all of a queue: what its kernels left in fine-grained memory is taken before the program can
// write there.
void shared_waited(cl_command_queue queue);

// ---- argument.c (with the lock held)

void kernel_changes(struct object *kernel); // writes down the arguments that were set since the last launch
void kernel_copy_arguments(struct kernel *to, const struct kernel *from);
// What its arguments name has ended: they are what has the handle now, or nothing.
void kernel_settle(struct kernel *kernel);

// What the recorder intercepts besides OPENCL_BOTH_CALLS.
#define RECORDED_CALLS(X)                                                                                    \
    OPENCL_BOTH_CALLS(X)                                                                                     \
    X(clCreateSampler)                                                                                       \
    X(clCreateSamplerWithProperties)                                                                         \
    X(clSetProgramSpecializationConstant)                                                                    \
    X(clSetKernelArg)                                                                                        \
    X(clSetKernelArgSVMPointer)                                                                              \
    X(clSetKernelExecInfo)                                                                                   \
    X(clSetEventCallback)

// The wrappers, of the driver's own types.
#define CALL_DECLARE(name) __typeof__(*(OPENCL_POINTER(name))0) record_##name;
RECORDED_CALLS(CALL_DECLARE)
#undef CALL_DECLARE

#endif
