// SPDX-License-Identifier: Apache-2.0
// What the agent knows of the program's objects: contexts, queues, programs, kernels, memory, devices. Rules:
// agent.h.
//
// An entry is added when the driver has made the object and goes when the program has given back its last
// reference: the agent counts the program's own retains and releases, and asks the driver for nothing.
#ifndef OPENCL_OBJECTS_H
#define OPENCL_OBJECTS_H

#include "agent.h"
#include "agentkit/handles.h"
#include "agentkit/pending.h"

enum object_type {
    OBJECT_CONTEXT = 1,
    OBJECT_QUEUE,
    OBJECT_PROGRAM,
    OBJECT_KERNEL,
    OBJECT_MEMORY,
    OBJECT_DEVICE,
    OBJECT_TYPES
};

// Between which bounds the offset of a device's clock is (times.c).
struct clock_bounds {
    _Atomic int64_t low, high, at;
};

struct device {
    struct clock_bounds clock, other_clock; // as accepted, and as derived from commands that were rejected
    uint32_t id;                            // in the channel's table
    bool enqueues;                          // its kernels may enqueue others
    bool compiles_at_launch; // PoCL: a kernel is compiled for a work-group size when it is first launched
                             // with it
};

#define QUEUE_PROPERTIES_MAX 16u

struct queue {
    struct pending_queue pending; // first
    uint32_t track;
    uint32_t work_track; // of the records of its commands: the same, or that of the sums of its device
    struct object *device;
    bool hidden;         // profiling is on because of us: not to be seen by the program
    bool has_properties; // made by clCreateCommandQueueWithProperties: the program's list is below
    bool
        no_complete_time; // CL_PROFILING_COMMAND_COMPLETE is unknown to the driver, or can be no other than END
    atomic_bool busy;     // commands were enqueued since the last clFinish
    _Atomic uint64_t last_end;             // device time at which its newest command seen ended
    _Atomic uint64_t seen_start, seen_end; // what the driver said of the command looked at last
    uint32_t property_count;
    cl_queue_properties properties[QUEUE_PROPERTIES_MAX];
};

struct kernel {
    uint32_t name;
    _Atomic uint32_t arguments;   // released.h: up to which one memory objects may be set
    _Atomic uint64_t last_launch; // hash of device and work-group size of the newest launch
};

struct memory {
    struct object *whole;       // of a sub-buffer or an image over a buffer: holds a reference of it
    tsmith_operation operation; // what it is: TSMITH_OPERATION_BUFFER, ...
    uint64_t bytes;
    uint64_t owned;        // bytes that count as allocated: 0 for parts of another object
    uint64_t element_size; // of an image
    uint64_t flags;
};

struct object {
    struct handle handle;
    uint64_t parent_number; // context of a queue or program, program of a kernel, buffer of a sub-buffer
    _Atomic int32_t references;
    union {
        struct device device;
        struct queue queue;
        struct kernel kernel;
        struct memory memory;
    };
};

bool objects_init(void);
// What object_adopt adds, in the files of these objects.
struct object *queue_adopt(cl_command_queue queue);
struct object *kernel_adopt(cl_kernel kernel);
struct object *memory_adopt(cl_mem memory);
void objects_after_fork_child(void);

// Adds an object that has one reference; NULL when there is no room (counted). `parent` may be NULL.
struct object *object_add(enum object_type type, const void *key, const struct object *parent);
// The object of that type, or NULL when it is not known.
extern struct handles objects;
extern _Atomic uint32_t objects_generation; // grows when a queue or a kernel comes or goes
static inline struct object *object_find(enum object_type type, const void *key) {
    return handles_find(&objects, type, key);
}
// The same of an object that the program uses. An agent that came late does not know those that were made before: such a one is
// added, by asking the driver about it.
extern bool objects_adopt;
struct object *object_adopt(enum object_type type, const void *key);
static inline struct object *object_used(enum object_type type, const void *key) {
    struct object *object = object_find(type, key);
    return __builtin_expect(!object && objects_adopt, 0) ? object_adopt(type, key) : object;
}
// A late agent comes again: the program may have released any of them, and the driver given out their addresses again.
void objects_forget(void);
void object_retain(struct object *object);
// Takes one reference away. True when it was the last: the object is out of the table and the caller's to
// report; object_recycle then gives the entry back.
bool object_release(struct object *object);
// What was released last was not given back after all: it is known again, with one reference.
void object_keep(struct object *object);
// Whether the next release is the last.
bool object_is_last(const struct object *object);
void object_recycle(struct object *object);
// The same for a queue, which its events may keep alive, and the program ask about: its entry stays in the table until
// its address is given out again, or LINGERING_MAX others have gone after it.
void object_linger(struct object *object);
#define LINGERING_MAX 256u

static inline uint64_t object_number(const struct object *object) {
    return object ? object->handle.number : 0;
}

// The device's entry, made at its first use by asking the driver.
struct object *object_device(cl_device_id device);

// The wrapper of a clRetain*.
#define OBJECT_RETAIN(function, type, handle)                                                                \
    cl_int layer_##function(handle retained) {                                                               \
        const cl_int result = opencl_next.function(retained);                                                \
        struct object *object = object_find(type, retained);                                                 \
        if (object && result == CL_SUCCESS)                                                                  \
            object_retain(object);                                                                           \
        return result;                                                                                       \
    }

#endif
