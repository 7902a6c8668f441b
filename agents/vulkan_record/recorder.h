// SPDX-License-Identifier: Apache-2.0
// Captures frames of Vulkan: a second layer below the agent of Vulkan, loaded only with `profile --capture`.
//
// Rules: agentkit/agent.h, but for what a capture is for. docs/vulkan.md lists what it sends the driver and what it changes:
//   - buffers and images are made with the usages TRANSFER_SRC and TRANSFER_DST in addition, so that their content can be copied;
//   - each submission of a captured frame is completed before the next: the call waits, and copies content before and after it.
// Nothing else is sent while no frame is captured. What cannot be captured is written by name (refuse), and the frame is given up.
//
// All that is known of the program's objects is under one lock. It is held while a submission of a captured frame runs.
//
// Files: layer.c (instances and devices), objects.c (the table of objects), create.c and pipelines.c (their wrappers), commands.c (command
// buffers), newer.c (newer forms of both), templates.c (of descriptors), effects.c (what commands do to images), descriptors.c, memory.c, submit.c, semaphores.c, held.c (submissions that wait), content.c
// (copies), frames.c (which frames), keys.c (key presses), file.c (the recording), waits.c (waits, presents and other calls that use a queue).
#ifndef VULKAN_RECORD_RECORDER_H
#define VULKAN_RECORD_RECORDER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <vulkan/vk_layer.h>
#include <vulkan/vulkan_core.h>

#include "next.h"
#include "recording/chunk.h"
#include "recording/record.h"
#include "recording/vulkan/calls.h"
#include "recording/vulkan/words.h"
#include "vulkan_loader/loader.h" // device_of

enum { QUEUES_MOST = 32 };

// A queue of the program. Vulkan allows one thread at a time to use it. The program's submissions have the recorder's lock; its other calls
// have this one, because the recorder may use the queue while the program submits to another.
struct queue {
    VkQueue handle;
    uint32_t family;
    pthread_mutex_t lock;
    bool busy; // something that was not captured may still run
    // Own objects for copies.
    VkCommandPool pool;
    VkCommandBuffer commands;
    VkFence fence;
    bool stuck; // the fence was given to the driver, and is not known to be signaled
};

struct device {
    struct next next;
    PFN_vkGetDeviceProcAddr get;
    VkDevice handle;
    uint64_t number;
    bool written; // to the recording
    char name[VK_MAX_PHYSICAL_DEVICE_NAME_SIZE];
    uint32_t vendor, driver, version;
    uint64_t features; // that the program enabled, as bits in the order of VkPhysicalDeviceFeatures
    VkPhysicalDeviceMemoryProperties memory;
    char missing[96];   // why its frames are not captured; "": they are
    bool has_addresses; // the program has asked for the address of a buffer
    bool numbers_draws; // a shader may read the number of its draw
    uint64_t frame;     // the last one of which it wrote the state
    bool gave_up;       // that frame cannot be captured
    struct queue queues[QUEUES_MOST];
    uint32_t queue_count;
    bool has_families; // its queues are of several
    struct held *held; // submissions that are held back (held.h)
    atomic_bool lost;  // one of them was refused by the driver
    VkBuffer staging;  // for copies
    VkDeviceMemory staging_memory;
    VkDeviceSize staging_bytes;
    uint8_t *staging_at;
    struct device *more;
};

enum { KIND_MEMORY = VULKAN_KIND_LIMIT, KIND_POOL, KIND_SETS, KIND_SWAPCHAIN, KIND_LIMIT };

struct use {
    struct object *object;
    bool written;
};

// What a command buffer does to an image: the layout that it expects first (UNDEFINED: any, the content is discarded) and leaves.
// Depth and stencil of an image that has both are two planes, which may have different layouts; other images have one.
enum { PLANES_MOST = 2 };
struct effect {
    struct object *image;
    uint32_t plane; // 1: the stencil
    VkImageLayout from, to;
    bool whole;
    bool defines;  // every texel is written
    bool fresh;    // that, before a command used what was there
    bool touched;  // a command that names the image itself used what was there, before that
    bool discards; // what was there before is not kept
};

struct object {
    struct object *in_bucket, *before, *after; // in the order in which they were made
    uint32_t kind;
    uint64_t handle, number;
    struct device *device;
    const char *function; // that made it
    bool alive;
    uint32_t references; // by other objects: what they are made of is kept
    bool recorded;       // it is in the recording
    uint32_t
        parts; // of a pipeline that others are linked of (pipelines.c), which is not recorded; 0: another object
    struct words words; // what it was made of; of command buffers and sets what is in them
    struct use *uses;
    size_t use_count, use_capacity;
    bool changed; // since it was recorded: command buffers and sets
    bool secondary;
    struct object *
        parent; // of a set: its layout; of a command buffer or a set: its pool; of a swapchain's image: the swapchain
    // Memory, buffers and images
    VkDeviceSize size, offset;
    struct object *memory; // that it is bound to
    bool host;             // the program may write it without a command
    uint32_t owner;        // the queue family that used it last + 1; 0: none did
    bool in_transfer; // a queue family has released it, and no other has acquired it: it cannot be copied
    bool owed;        // it was written before that, and is compared when it is acquired
    bool has_hash;
    struct chunk_hash hash; // of the content that was recorded last
    // Images
    VkExtent3D extent;
    VkFormat format;
    uint32_t levels, layers, samples;
    VkImageUsageFlags usage;
    struct plane {
        VkImageLayout layout;
        bool mixed; // parts have different layouts
    } planes[PLANES_MOST];
    uint32_t plane_count;
    bool shared;       // memory: others may write to it at any time
    bool mutable;      // a swapchain: views of its images may have other formats
    bool aliases;      // it keeps its content where it shares memory
    VkDeviceSize span; // of its memory, if it aliases
    uint64_t used;     // the last captured frame that uses it
    bool known;        // its content is in the recording, or was made by the frame
    // Images made of others: of a view. Of a framebuffer and a pass: what commands.c needs of their creation.
    VkImageSubresourceRange range;
    VkImageLayout *initial, *final; // of a pass's attachments
    bool *clears;                   // the pass writes every texel, by a clear or a resolve
    bool *drops;                    // before the pass draws its texels are undefined
    bool *forgets;                  // after the pass its texels are undefined
    struct subpass {
        bool colors, depths; // it draws into attachments of colors; of depths or stencils
    } * subpasses;
    uint32_t subpass_count;
    bool defined; // every texel was written, or its content is in the recording
    uint32_t attachment_count;
    uint32_t family; // of a command pool
    // Command buffers
    struct effect *effects;
    size_t effect_count, effect_capacity;
    size_t used_before; // uses of the commands before the last one
    struct transfer {
        struct object *resource;
        bool acquires; // else it releases
    } * transfers;
    size_t transfer_count, transfer_capacity;
    bool works; // it has a command that is an event in the trace
    bool in_pass;
    // Sets: what was written, by binding and element
    struct write *writes;
    size_t write_count, write_capacity;
};

// One descriptor of a set.
struct write {
    uint32_t binding, element, count;
    struct words words;
    struct use *uses;
    size_t use_count, use_capacity;
};

extern struct recorder {
    pthread_mutex_t lock;
    bool on;
    bool hashes_only;
    uint64_t numbers;
    struct object *first, *last;
} recorder;

static inline void recorder_lock(void) {
    pthread_mutex_lock(&recorder.lock);
}
static inline void recorder_unlock(void) {
    pthread_mutex_unlock(&recorder.lock);
}

// ---- objects.c, with the lock held

struct object *object_find(uint32_t kind, uint64_t handle);
// NULL: out of memory, and capturing ends.
struct object *object_add(struct device *device, uint32_t kind, uint64_t handle, const char *function);
void object_end(struct object *object); // the program destroyed it; NULL is fine
// Those that are wanted, as object_end.
void objects_end(bool (*wanted)(const struct object *object, const void *context), const void *context);
// A caller that describes what an object is made of: begins, calls words_... with `words`, and ends.
struct describing {
    struct words words;
    struct use *uses;
    size_t use_count, use_capacity;
};
void describe_begin(struct describing *describing);
// What was described before, and more: of a command buffer.
void describe_more(struct describing *describing, const struct object *object);
// Gives what was described to the object. Without an object it is forgotten.
void describe_end(struct describing *describing, struct object *object);
bool uses_add(struct use **uses, size_t *count, size_t *capacity, struct object *object, bool written);
void uses_drop(struct use **uses, size_t *count, size_t *capacity);
void objects_write(struct device *device); // those alive that are not in the recording yet

// ---- descriptors.c
void set_forget(struct object *set);
void set_note(const VkWriteDescriptorSet *write);
void set_write(struct object *set);
bool set_is_known(const struct object *set);

// ---- commands.c and effects.c
void commands_reset(struct object *commands);
void effect_add(struct object *commands, struct object *image, uint32_t plane, VkImageLayout from,
                VkImageLayout to, bool whole);
void transfer_add(struct object *commands, struct object *resource, bool acquires);
void effects_of(struct object *commands, uint32_t number, const void *call);
bool effect_is_viewed(const struct object *commands, const struct object *image);
void effects_apply(const struct object *commands);

#define DECLARE(function, number)                                                                            \
    void commands_put_##function(struct object *commands, const struct call_##function *given);
VULKAN_FRAME_COMMANDS(DECLARE)
#undef DECLARE

// ---- create.c
// Objects that have a wrapper know more of themselves than their words.
void image_describe(struct object *image, const VkImageCreateInfo *info);
void pass_describe(struct object *pass, const VkRenderPassCreateInfo *info);
void module_describe(struct object *module, const VkShaderModuleCreateInfo *info);

// ---- frames.c
bool frames_begin(const char *words, const char *directory);
bool frames_any(void); // whether the range is one that captures frames of Vulkan
void frames_waited(void);
void frames_presented(void);
// The number of the frame if the submission belongs to one that is captured, else 0. `works`: it has an event in the trace.
uint64_t frames_submitted(bool works);

// ---- keys.c
void keys_begin(uint32_t key);         // 1 to 12: F1 to F12
void keys_add_window(uint32_t window); // of X11
bool keys_pressed(
    void); // in a window that has the focus, since it was called last; a key that is held counts once

// ---- semaphores.c
bool semaphore_has_values(const struct device *device, VkSemaphore semaphore); // a timeline semaphore

// ---- content.c
// Waits until the queue has done what it was given; false: it does not within this time, in ns.
static const uint64_t content_patience = 20000000000;
bool content_wait(struct device *device, struct queue *queue, uint64_t patience);
struct content_want {
    struct object *object;
    bool verify; // the result of a command, else the content before it
};
// Copies and writes it, each on a queue of the family that owns it, which is this one if none does. False: it cannot be copied.
bool content_write(struct device *device, struct queue *queue, const struct content_want *wants,
                   size_t count);
void content_device_gone(struct device *device);
VkDeviceSize content_bytes(const struct object *object); // 0: cannot be copied
bool content_is_defined(const struct object *image);     // each plane has a layout in which it can be copied

// ---- file.c
bool file_begin(const char *directory);
struct recording_writer *record_open(enum recording_type type);
void record_close(void);
// SIZE and CHUNKS of a record that was begun elsewhere than by record_open; a hash of all.
struct chunk_hash record_payload(struct recording_writer *writer, const uint8_t *bytes, size_t size);
void record_made(struct recording_writer *writer); // that record, at its end
void file_flush(void);
void refuse(struct device *device, const char *function, const char *why); // once for each pair

#endif
