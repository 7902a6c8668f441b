// SPDX-License-Identifier: Apache-2.0
// The replay of captured frames on a Vulkan device: what its files share.
//
// Everything comes from a file: numbers of objects are looked up, lengths and enumerations are checked (recording/vulkan), and regions and
// references (check.c). Shaders and more are not (docs/vulkan.md): replay only what you would run, or use the sandbox.
#ifndef REPLAY_VULKAN_VULKAN_H
#define REPLAY_VULKAN_VULKAN_H

#include <vulkan/vulkan_core.h>

#include "recording/vulkan/calls.h"
#include "recording/vulkan/words.h"
#include "replay/execute.h"

// Functions of devices that the replay calls besides those of the lists.
#define VULKAN_REPLAY_CALLS(X)                                                                               \
    X(DestroyDevice)                                                                                         \
    X(GetDeviceQueue)                                                                                        \
    X(QueueSubmit)                                                                                           \
    X(DeviceWaitIdle)                                                                                        \
    X(CreateFence)                                                                                           \
    X(DestroyFence)                                                                                          \
    X(ResetFences)                                                                                           \
    X(WaitForFences)                                                                                         \
    X(CreateCommandPool)                                                                                     \
    X(DestroyCommandPool)                                                                                    \
    X(AllocateCommandBuffers)                                                                                \
    X(FreeCommandBuffers)                                                                                    \
    X(BeginCommandBuffer)                                                                                    \
    X(EndCommandBuffer)                                                                                      \
    X(AllocateMemory)                                                                                        \
    X(FreeMemory)                                                                                            \
    X(MapMemory)                                                                                             \
    X(GetBufferMemoryRequirements)                                                                           \
    X(GetImageMemoryRequirements)                                                                            \
    X(BindBufferMemory)                                                                                      \
    X(BindImageMemory)                                                                                       \
    X(CreateDescriptorPool)                                                                                  \
    X(DestroyDescriptorPool)                                                                                 \
    X(AllocateDescriptorSets)                                                                                \
    X(UpdateDescriptorSets)

// Functions that drivers older than Vulkan 1.3 may not have.
#define VULKAN_REPLAY_ALL(X)                                                                                 \
    VULKAN_FRAME_COMMANDS(X)                                                                                 \
    VULKAN_CREATE_CALLS(X) VULKAN_DESTROY_CALLS(X) VULKAN_PIPELINE_CALLS(X) VULKAN_REPLAY_CALLS(X)

#define VULKAN_REPLAY_INSTANCE(X)                                                                            \
    X(DestroyInstance)                                                                                       \
    X(EnumeratePhysicalDevices)                                                                              \
    X(GetPhysicalDeviceProperties)                                                                           \
    X(GetPhysicalDeviceMemoryProperties)                                                                     \
    X(GetPhysicalDeviceQueueFamilyProperties)                                                                \
    X(GetPhysicalDeviceFeatures)                                                                             \
    X(GetPhysicalDeviceFeatures2)                                                                            \
    X(CreateDevice)                                                                                          \
    X(GetDeviceProcAddr)

enum { VULKAN_DEVICES_MOST = 64 };

struct vulkan_execution {
    VkInstance instance;
    PFN_vkGetInstanceProcAddr get;
#define POINTER(name, ...) PFN_vk##name name;
    VULKAN_REPLAY_INSTANCE(POINTER)
    VkPhysicalDevice devices[VULKAN_DEVICES_MOST];
    uint32_t device_count, version;
    int32_t wanted; // that the user asked for; -1: by name
    char name[VK_MAX_PHYSICAL_DEVICE_NAME_SIZE + 64];
};

// A logical device, of a recorded one.
struct vulkan_device {
    VkDevice handle;
    VkQueue queue;
    VkPhysicalDeviceMemoryProperties memory;
    VkPhysicalDeviceLimits limits;
    VkCommandPool pool;
    VkFence fence;
    VkBuffer staging;
    VkDeviceMemory staging_memory;
    VkDeviceSize staging_bytes;
    uint8_t *staging_at;
    VULKAN_REPLAY_ALL(POINTER)
#undef POINTER
};

struct vulkan_live {
    uint64_t number;
    uint32_t kind; // enum vulkan_kind; VULKAN_NONE: a device
    uint64_t handle;
    struct vulkan_device *device;
    size_t record;            // of a command buffer: that has its commands
    VkDeviceMemory memory;    // of buffers and images
    VkDescriptorPool pool;    // of a set
    uint64_t bytes;           // of a buffer
    VkImageCreateInfo image;  // of a view: its image's, with the view's format, layers and levels
    uint32_t descriptors[11]; // of a set layout, by type
    struct vulkan_binding {
        uint32_t binding, type, count, stages;
        bool has_samplers; // immutable ones
    } * bindings;          // of a set layout
    uint32_t binding_count;
    uint64_t made_of;                // of a set: its layout's number
    uint32_t attachments, subpasses; // of a pass; attachments also of a framebuffer
    VkExtent2D extent;               // of a framebuffer, and of a view's first level
    uint32_t layers;                 // of a framebuffer
    uint32_t set_count;              // of a pipeline layout
    uint32_t clear_values;           // that a pass reads
    struct vulkan_surface {
        VkFormat format;
        uint32_t samples;
    } * surfaces; // the attachments of a pass, and of the pass that a framebuffer was made for
    struct vulkan_part {
        uint32_t colors, samples; // 0 samples: it uses no attachment
        bool uses_colors, uses_depth;
    } * parts; // the subpasses of a pass
};

enum vulkan_place { VULKAN_OUTSIDE, VULKAN_IN_PASS, VULKAN_IN_RENDERING };

struct vulkan_run {
    struct vulkan_execution *execution;
    struct tsmith_recording *recording;
    const struct recorded_process *process;
    const tsmith_replay_options *options;
    const struct execute_client *client;
    tsmith_error *error;
    size_t at;                          // record
    const struct vulkan_device *device; // of what is read: its objects are of no other
    struct vulkan_live *lives;
    size_t live_count, live_capacity;
    size_t last_found;                    // in lives, by handle
    struct chunk_table by_number, states; // live + 1; of VERIFY numbers: record + 1 of the STATE
    struct vulkan_now {
        enum vulkan_place place;
        uint64_t pass; // its number
        uint32_t subpass, colors, layers;
        VkRect2D area;
    } now;              // where the commands that are put into a command buffer are
    bool skips;         // this frame: none of its submissions is asked for
    char why[200];      // this frame has no results; "": it has
    size_t submissions; // record + 1 of the last one
    uint8_t *left_out;  // by record, of frames
};

// ---- device.c
tsmith_status vulkan_device_make(struct vulkan_run *run, const struct recording_record *record,
                                 struct vulkan_device **out);
void vulkan_device_end(struct vulkan_device *device); // NULL is fine
VkDeviceMemory vulkan_memory(const struct vulkan_device *device, const VkMemoryRequirements *needs,
                             VkMemoryPropertyFlags wanted); // null: there is none
// Runs a command buffer to its end. OK, or what the replay fails with.
tsmith_status vulkan_submit(struct vulkan_run *run, struct vulkan_device *device,
                            const VkCommandBuffer *commands, uint32_t count);
VkCommandBuffer vulkan_begin(struct vulkan_device *device); // null: none

// ---- objects.c
struct vulkan_live *vulkan_find(struct vulkan_run *run, uint64_t number, enum vulkan_kind kind);
// By its handle on the device of what is read.
const struct vulkan_live *vulkan_find_handle(struct vulkan_run *run, uint64_t handle, enum vulkan_kind kind);
struct vulkan_live *vulkan_add(struct vulkan_run *run, uint64_t number, uint32_t kind,
                               struct vulkan_device *device);
tsmith_status vulkan_object(struct vulkan_run *run, const struct recording_record *record);
tsmith_status vulkan_set(struct vulkan_run *run, const struct recording_record *record);
void vulkan_release(struct vulkan_live *live);
// A frame that cannot be replayed, and why; also a note.
void vulkan_give_up(struct vulkan_run *run, const char *format, ...) __attribute__((format(printf, 2, 3)));
struct words vulkan_words(struct vulkan_run *run, const struct vulkan_device *device, const uint8_t *bytes,
                          size_t length);

// ---- check.c, check_objects.c: values that drivers trust, against the objects and the device. False: out of bounds.
bool vulkan_check_command(struct vulkan_run *run, enum vulkan_command number, const void *call);
bool vulkan_check_write(struct vulkan_run *run, const struct vulkan_live *set,
                        const VkWriteDescriptorSet *write);
bool vulkan_check_VkBufferCreateInfo(struct vulkan_run *run, const VkBufferCreateInfo *info);
bool vulkan_check_VkBufferViewCreateInfo(struct vulkan_run *run, const VkBufferViewCreateInfo *info);
bool vulkan_check_VkImageCreateInfo(struct vulkan_run *run, const VkImageCreateInfo *info);
bool vulkan_check_VkImageViewCreateInfo(struct vulkan_run *run, const VkImageViewCreateInfo *info);
bool vulkan_check_VkRenderPassCreateInfo(struct vulkan_run *run, const VkRenderPassCreateInfo *info);
bool vulkan_check_VkFramebufferCreateInfo(struct vulkan_run *run, const VkFramebufferCreateInfo *info);
bool vulkan_check_VkDescriptorSetLayoutCreateInfo(struct vulkan_run *run,
                                                  const VkDescriptorSetLayoutCreateInfo *info);
bool vulkan_check_VkPipelineLayoutCreateInfo(struct vulkan_run *run, const VkPipelineLayoutCreateInfo *info);
bool vulkan_check_VkComputePipelineCreateInfo(struct vulkan_run *run,
                                              const VkComputePipelineCreateInfo *info);
bool vulkan_check_VkGraphicsPipelineCreateInfo(struct vulkan_run *run,
                                               const VkGraphicsPipelineCreateInfo *info);

// ---- commands.c
// Puts recorded commands into a command buffer. False: they are not sound, or something they need is missing.
bool vulkan_record(struct vulkan_run *run, struct vulkan_device *device, VkCommandBuffer commands,
                   const struct recording_record *record);

// ---- content.c
tsmith_status vulkan_content(struct vulkan_run *run, const struct recording_record *record);
tsmith_status vulkan_verify(struct vulkan_run *run, const struct recording_record *record);

#endif
