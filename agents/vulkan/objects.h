// SPDX-License-Identifier: Apache-2.0
// What the agent knows of the program's objects, found by their handles. Rules: agent.h.
//
// Lookups take no lock. Entries are used again as the same struct, never unmapped.
#ifndef VULKAN_OBJECTS_H
#define VULKAN_OBJECTS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "agentkit/call_record.h"
#include "agentkit/device_clock.h"
#include "agentkit/handles.h"
#include "calls.h"

enum object_kind {
    OBJECT_QUEUE = 1,
    OBJECT_POOL,
    OBJECT_BUFFER, // a command buffer
    OBJECT_FENCE,
    OBJECT_SEMAPHORE,
    OBJECT_MEMORY,
    OBJECT_MODULE,
    OBJECT_PIPELINE,
    OBJECT_SWAPCHAIN,
    OBJECT_KINDS
};

enum { FAMILIES_MAX = 16, QUERIES_OF_CHUNK = 64, CHUNKS_MAX = 64, LABELS_MAX = 8, VALUES_MAX = 16 };

struct anchor {
    struct device_clock clock;
    bool inferred; // from the times of submissions and waits: the device's clock cannot be read
    int64_t low, high;
};

struct device {
    struct next next; // first
    PFN_vkGetDeviceProcAddr get;
    VkDevice handle;
    uint32_t id, number;
    bool timed; // timestamps are written at all
    bool busy;  // it is destroyed with work in flight
    // Its vkGetQueryPoolResults waits until the device is idle, whatever is asked for: the device copies the results instead, to
    // memory of this type.
    bool reading_waits;
    uint32_t host_type;
    bool ends_inside; // the second timestamp of a pass is written within it (commands.c)
    uint32_t family_count;
    VkQueueFlags family_flags[FAMILIES_MAX];
    uint64_t family_mask[FAMILIES_MAX];   // of its timestamps; 0: it has none
    uint32_t family_queues[FAMILIES_MAX]; // that the program has
    VkTimeDomainEXT domain;               // of the host, to compare clocks; DEVICE: they cannot be compared
    struct anchor anchor;
    uint32_t heap_of_type[VK_MAX_MEMORY_TYPES];
    struct device *more; // all devices
};

enum { CLASS_SECONDARY = COMMAND_CLASSES };

#define NO_QUERY UINT32_MAX

// A command of a command buffer, as the program recorded it.
struct command {
    struct command_facts facts;
    uint32_t query; // the first of two; NO_QUERY: no times
    uint32_t draws, barriers;
    struct object *secondary;      // CLASS_SECONDARY
    uint32_t secondary_generation; // to see that it is still what was recorded
};

struct buffer {
    struct object *pool, *next_of_pool;
    VkCommandBufferLevel level;
    bool can_time;     // timestamps may be written into what is being recorded
    bool simultaneous; // it may be pending more than once
    bool in_pass, suspended, resumes;
    bool inline_; // the commands of the open pass are in this buffer
    struct command *commands;
    uint32_t count, capacity;
    uint32_t pass; // index of the open pass
    uint32_t barriers, draws, subpasses;
    struct object *pipeline; // bound for compute
    VkQueryPool chunks[CHUNKS_MAX];
    struct {
        VkBuffer buffer;
        VkDeviceMemory memory;
        uint64_t (*at)[2];
    } copies[CHUNKS_MAX];          // of their results, if the device copies them
    uint32_t chunk_count, queries; // queries: used by what is recorded
    uint32_t labels[LABELS_MAX], label_count;
    struct object *primary; // of a secondary one: in which it was recorded last
    // Under the lock of pending.c:
    bool pending;
    uint64_t submission;
    uint32_t launched; // commands of the execution
    struct object *queue, *next_pending;
    struct command_launch launch;
    uint32_t wait_count; // the correlation ids that the submission waited for
    uint64_t waits[VALUES_MAX];
    VkFence fence; // of the submission; null: it had none
};

struct queue {
    uint32_t track, family;
    _Atomic uint64_t submitted;  // submissions, from 1
    _Atomic uint64_t completed;  // known to be complete
    struct object *first, *last; // pending command buffers
};

// That a submission is complete, once the semaphore has this value, or the fence is signaled.
struct signal {
    struct object *queue;
    uint64_t submission, correlation, value;
};

struct object {
    struct handle handle; // `key` is not the handle where that is no pointer
    struct device *device;
    struct buffer *buffer; // of a command buffer; stays when the object goes
    union {
        struct queue queue;
        struct {
            uint32_t family;
            bool can_time;
            struct object *first;
        } pool;
        struct signal fence;
        struct {
            struct signal signals[VALUES_MAX]; // a binary one uses the first
            uint32_t next;
            bool timeline;
        } semaphore;
        struct memory_facts memory; // `more`: its heap
        struct {
            uint32_t hash;
            uint32_t local[3];
        } module;
        struct {
            uint32_t name, local[3];
        } pipeline;
        struct {
            uint64_t presented; // tick at which the last frame ended
            VkExtent2D extent;
        } swapchain;
    };
};

bool objects_init(void);
// NULL: not known.
struct object *object_find(enum object_kind kind, uint64_t handle);
// A new one; NULL: no room, and counted. Takes a lock.
struct object *object_add(enum object_kind kind, uint64_t handle, struct device *device);
// The handle means nothing any more; the struct is used again.
void object_remove(struct object *object);
void objects_each(enum object_kind kind, const struct device *device, void (*each)(struct object *object));

// The size of a buffer of memory; 0: not known. A program may have more of them than there is room for, which is no loss.
uint64_t size_of_buffer(VkBuffer buffer);
void size_add(VkBuffer buffer, uint64_t bytes);
void size_remove(VkBuffer buffer);

#define HANDLE(handle) ((uint64_t)(uintptr_t)(handle))

#endif
