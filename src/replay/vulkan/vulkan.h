// SPDX-License-Identifier: Apache-2.0
// The replay of captured frames on a Vulkan device: what its files share.
//
// Everything comes from a file: numbers of objects are looked up, lengths and enumerations are checked (recording/vulkan), and regions and
// references (check.c). Shaders and more are not (docs/vulkan.md): replay only what you would run, or use the sandbox.
#ifndef REPLAY_VULKAN_VULKAN_H
#define REPLAY_VULKAN_VULKAN_H

#include <vulkan/vulkan_core.h>

#include "base/table.h"
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
    X(GetPhysicalDeviceProperties2)                                                                          \
    X(GetPhysicalDeviceMemoryProperties)                                                                     \
    X(GetPhysicalDeviceQueueFamilyProperties)                                                                \
    X(GetPhysicalDeviceFeatures)                                                                             \
    X(GetPhysicalDeviceFeatures2)                                                                            \
    X(GetPhysicalDeviceFormatProperties)                                                                     \
    X(GetPhysicalDeviceImageFormatProperties)                                                                \
    X(EnumerateDeviceExtensionProperties)                                                                    \
    X(CreateDevice)                                                                                          \
    X(GetDeviceProcAddr)

enum { VULKAN_DEVICES_MOST = 64, VULKAN_COLORS_MOST = 16, VULKAN_SETS_MOST = 32 };

// Numbers of objects that a replay makes for itself; recorded ones are lower.
static const uint64_t vulkan_own_numbers = (uint64_t)1 << 63;

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

// Features of extensions that a recording may use: X(member, features, TYPE, EXTENSION).
// clang-format off
#define VULKAN_EXTRAS(X) \
    X(robustness, Robustness2FeaturesEXT, ROBUSTNESS_2_FEATURES_EXT, EXT_ROBUSTNESS_2) \
    X(clip_control, DepthClipControlFeaturesEXT, DEPTH_CLIP_CONTROL_FEATURES_EXT, EXT_DEPTH_CLIP_CONTROL) \
    X(clip_enable, DepthClipEnableFeaturesEXT, DEPTH_CLIP_ENABLE_FEATURES_EXT, EXT_DEPTH_CLIP_ENABLE) \
    X(provoking, ProvokingVertexFeaturesEXT, PROVOKING_VERTEX_FEATURES_EXT, EXT_PROVOKING_VERTEX) \
    X(lines, LineRasterizationFeaturesEXT, LINE_RASTERIZATION_FEATURES_EXT, EXT_LINE_RASTERIZATION) \
    X(divisors, VertexAttributeDivisorFeaturesEXT, VERTEX_ATTRIBUTE_DIVISOR_FEATURES_EXT, EXT_VERTEX_ATTRIBUTE_DIVISOR) \
    X(color_write, ColorWriteEnableFeaturesEXT, COLOR_WRITE_ENABLE_FEATURES_EXT, EXT_COLOR_WRITE_ENABLE) \
    X(state2, ExtendedDynamicState2FeaturesEXT, EXTENDED_DYNAMIC_STATE_2_FEATURES_EXT, EXT_EXTENDED_DYNAMIC_STATE_2) \
    X(state3, ExtendedDynamicState3FeaturesEXT, EXTENDED_DYNAMIC_STATE_3_FEATURES_EXT, EXT_EXTENDED_DYNAMIC_STATE_3) \
    X(inputs, VertexInputDynamicStateFeaturesEXT, VERTEX_INPUT_DYNAMIC_STATE_FEATURES_EXT, EXT_VERTEX_INPUT_DYNAMIC_STATE) \
    X(bytes, IndexTypeUint8FeaturesEXT, INDEX_TYPE_UINT8_FEATURES_EXT, EXT_INDEX_TYPE_UINT8) \
    X(restart, PrimitiveTopologyListRestartFeaturesEXT, PRIMITIVE_TOPOLOGY_LIST_RESTART_FEATURES_EXT, EXT_PRIMITIVE_TOPOLOGY_LIST_RESTART) \
    X(seams, NonSeamlessCubeMapFeaturesEXT, NON_SEAMLESS_CUBE_MAP_FEATURES_EXT, EXT_NON_SEAMLESS_CUBE_MAP) \
    X(atomics, ShaderAtomicFloatFeaturesEXT, SHADER_ATOMIC_FLOAT_FEATURES_EXT, EXT_SHADER_ATOMIC_FLOAT) \
    X(atomics2, ShaderAtomicFloat2FeaturesEXT, SHADER_ATOMIC_FLOAT_2_FEATURES_EXT, EXT_SHADER_ATOMIC_FLOAT_2)
// clang-format on
enum { VULKAN_EXTRAS_MOST = 16 };

struct vulkan_extras {
#define VULKAN_EXTRA(member, features, TYPE, EXTENSION) VkPhysicalDevice##features member;
    VULKAN_EXTRAS(VULKAN_EXTRA)
#undef VULKAN_EXTRA
    const char *names[VULKAN_EXTRAS_MOST]; // of the extensions that the device has
    uint32_t count;
};

// A logical device, of a recorded one.
struct vulkan_device {
    VkDevice handle;
    VkPhysicalDevice physical;
    VkQueue queue;
    VkPhysicalDeviceMemoryProperties memory;
    VkPhysicalDeviceLimits limits;
    VkPhysicalDeviceFeatures features;    // all of them are enabled
    VkPhysicalDeviceVulkan11Features v11; // enabled ones; none where the device does not have 1.2
    VkPhysicalDeviceVulkan12Features v12; // the same
    VkPhysicalDeviceVulkan13Features v13; // the same for 1.3
    struct vulkan_extras extras;          // enabled ones
    VkPhysicalDeviceSubgroupSizeControlProperties subgroups; // maxSubgroupSize 0: there is no control
    VkCommandPool pool;
    VkFence fence;
    VkDescriptorSetLayout empty; // without descriptors
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
    uint32_t usage;           // of a buffer or an image, and of what a view is of, as it was recorded
    uint64_t of;              // of a view: the number of what it is of
    VkImageCreateInfo image;  // of a view: its image's, with the view's format, layers and levels
    uint32_t descriptors[11]; // of a set layout, by type
    struct vulkan_binding {
        uint32_t binding, type, count, stages,
            first;         // the latter: descriptors of the set that are listed before
        bool has_samplers; // immutable ones
    } * bindings;          // of a set layout, in the order of their numbers (set_layouts.c)
    uint32_t binding_count, descriptor_count;
    uint64_t *stage_counts;          // of a set layout: descriptors by stage and class (check_support.c)
    uint64_t made_of;                // of a set: its layout's number
    uint32_t attachments, subpasses; // of a pass; attachments also of a framebuffer
    VkExtent2D extent;               // of a framebuffer, and of a view's first level
    uint32_t base_level, base_layer; // of a view
    VkImageAspectFlags aspects;      // of a view
    VkImageLayout *layouts;          // of an image: by aspect, level and layer (check_layouts.c)
    uint32_t layers;                 // of a framebuffer
    uint32_t set_count, range_count; // of a pipeline layout
    uint64_t *numbers;               // of a pipeline layout: its set layouts; of a framebuffer: its views
    VkPushConstantRange *ranges;     // of a pipeline layout
    uint32_t clear_values;           // that a pass reads
    struct vulkan_surface {
        VkFormat format;
        uint32_t samples, usage; // the latter: that an image of it needs
        VkImageLayout initial, final;
    } * surfaces; // the attachments of a pass, and of the pass that a framebuffer was made for
    struct vulkan_part {
        uint32_t colors, samples; // 0 samples: it uses no attachment
        bool uses_colors, uses_depth;
        VkFormat formats[VULKAN_COLORS_MOST], depth, stencil; // UNDEFINED: unused
    } * parts;                                                // the subpasses of a pass
    struct vulkan_shader *shader;                             // of a module
    struct vulkan_needs *needs;                               // of a pipeline
    struct vulkan_named {
        uint64_t place;           // of the descriptor in the set, + 1; 0: the slot is free
        uint64_t number, sampler; // of a buffer or a view; 0: none
        uint64_t left;            // bytes of a buffer that are behind the descriptor's range
        VkImageLayout layout;     // of an image
    } * named;                    // of a set: a table (base/table.h) of its descriptors that were written
    size_t named_count, named_capacity;
    uint64_t *valid_at; // of a set, by binding: the number of run->changes when it was valid
};

// What the commands of a pipeline need (check_state.c).
struct vulkan_needs {
    VkPipelineBindPoint point;
    uint64_t layout;         // its number
    bool in_pass;            // made for the subpass of a pass, else for the formats of `part`
    struct vulkan_part part; // what it draws to
    uint32_t subpass;
    bool discards;                // rasterizes nothing
    uint32_t viewports, scissors; // dynamic ones that have to be set; the numbers may be dynamic too: 0
    bool viewport_count, scissor_count;
    uint64_t vertices;  // bindings that the vertex shader reads, as bits; of 64 and more nothing is known
    uint64_t locations; // that it reads, if their bindings are dynamic
    bool strides;       // theirs are dynamic
    uint64_t dynamic,
        dynamic_if; // states to be set, as bits (check_state.c); the latter if a dynamic one enables them
    struct vulkan_slot *slots; // descriptors that the shaders use
    size_t slot_count, slot_capacity;
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
    struct chunk_table by_number, states; // live + 1; of VERIFY numbers: record + 1 of the STATE
    struct table by_handle;               // live + 1 (objects.c)
    struct table layouts;                 // of sets: by a hash of their bindings, the index of these + 1
    struct vulkan_bindings {
        struct vulkan_binding *all;
        uint32_t count;
    } * bindings;
    size_t bindings_count, bindings_capacity;
    size_t *laid_out; // lives that have layouts (check_layouts.c)
    size_t laid_out_count, laid_out_capacity;
    struct vulkan_now {
        enum vulkan_place place;
        uint64_t pass; // its number
        uint32_t subpass, colors, layers;
        VkRect2D area;
        struct vulkan_part part; // what draws go to
    } now;                       // where the commands that are put into a command buffer are
    struct vulkan_bound {
        uint64_t pipelines[2];              // by bind point; 0: none
        uint64_t sets[2][VULKAN_SETS_MOST]; // numbers
        uint64_t set_layouts[2]
                            [VULKAN_SETS_MOST]; // numbers of the pipeline layouts that they were bound with
        uint64_t vertices, strides;             // bindings with a buffer, and those with a stride, as bits
        uint64_t index_bytes;                   // from the offset on
        VkIndexType index_type;
        bool has_index;
        uint32_t viewports, scissors; // that were set, as bits
        bool viewport_count, scissor_count;
        uint64_t dynamic, enabled;   // states that were set, and those that are on, as bits
        uint64_t locations;          // of attributes that were set, as bits
        uint32_t input_bindings[64]; // theirs
        uint32_t samples, mask_samples;
        uint32_t color_writes, color_masks, blend_enables, blend_equations; // of attachments, as bits
    } bound;                                                                // what a command buffer has bound
    struct vulkan_indirect {
        enum vulkan_command command;
        uint32_t count, stride;
        uint64_t buffer, offset; // the former: its number
        uint64_t counter, at;    // the buffer with the number of draws, and where it is; 0: `count` is it
        uint64_t indexes;        // that the index buffer has
        size_t record;
    } * indirects; // of a submission, before which their buffers are read (check_indirect.c)
    size_t indirect_count, indirect_capacity;
    struct table written; // numbers of buffers that the submission may have written
    bool wrote_any;       // it may have written each
    uint64_t changes;     // releases and writes of sets, from 1
    size_t commands;      // record of those that are put
    VkCommandBuffer into; // that they are put into
    uint64_t framebuffer; // of the current pass: its number
    uint64_t pushed;      // sets of this submission that were made for descriptors that are pushed
    uint64_t filled;      // elements of arrays that were not written (vulkan_fill_arrays)
    const char *reason;   // why a value is refused; NULL: out of the bounds of what it uses
    bool skips;           // this frame: none of its submissions is asked for
    char why[200];        // this frame has no results; "": it has
    size_t submissions;   // record + 1 of the last one
    uint8_t *left_out;    // by record, of frames
};

// ---- extras.c
// Those that the physical device may have, chained before `next`: to ask it for their features.
void *vulkan_extras_find(const struct vulkan_execution *execution, VkPhysicalDevice physical,
                         struct vulkan_extras *extras, void *next);

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
// What has a handle now can be found by it.
void vulkan_know_handle(struct vulkan_run *run, const struct vulkan_live *live);
// A set of this layout in a pool of its own; not VK_SUCCESS: there is none.
VkResult vulkan_allocate(struct vulkan_live *set, const struct vulkan_live *layout);
// A frame that cannot be replayed, and why; also a note.
void vulkan_give_up(struct vulkan_run *run, const char *format, ...) __attribute__((format(printf, 2, 3)));
struct words vulkan_words(struct vulkan_run *run, const struct vulkan_device *device, const uint8_t *bytes,
                          size_t length);

// ---- check*.c: values that drivers trust, against the objects and the device. False: refused, with run->reason.
bool vulkan_check_command(struct vulkan_run *run, enum vulkan_command number, const void *call);
bool vulkan_check_write(struct vulkan_run *run, const struct vulkan_live *set,
                        const VkWriteDescriptorSet *write);
bool vulkan_check_VkSamplerCreateInfo(struct vulkan_run *run, const VkSamplerCreateInfo *info);
bool vulkan_check_VkShaderModuleCreateInfo(struct vulkan_run *run, const VkShaderModuleCreateInfo *info);
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

// ---- check_features.c
// Says which features the program enabled (bits, in the order of VkPhysicalDeviceFeatures) and the device lacks, if nothing else would.
void vulkan_note_features(struct vulkan_run *run, const struct vulkan_device *device, uint64_t enabled);

// ---- check_shader.c
// What the stages of pipelines need to know of a module. NULL: not sound, or out of memory.
struct vulkan_shader *vulkan_shader_of(const uint32_t *words, size_t count);
void vulkan_shader_end(struct vulkan_shader *shader); // NULL is fine
// Descriptors that a shader uses: of one of these types (bits by VkDescriptorType).
struct vulkan_slot {
    uint32_t set, binding, types, count; // count 0: unknown
};
struct vulkan_stage {
    struct vulkan_slot *slots; // free() by the caller
    size_t count, capacity;
    uint64_t locations; // of inputs, as bits; of 64 and more nothing is known
    uint64_t outputs;   // the same
    bool pushes;        // it reads push constants
};
// The next capability from a place on, which moves behind it: 0 is the first. False: there is none.
bool vulkan_shader_capability(const struct vulkan_shader *shader, size_t *at, uint32_t *capability);
// What a stage uses of its module. NULL, or why the stage cannot be of it.
const char *vulkan_shader_stage(const struct vulkan_shader *shader,
                                const VkPipelineShaderStageCreateInfo *info,
                                const struct vulkan_device *device, struct vulkan_stage *out);

// ---- check_state.c
// What a pipeline needs, from what it is made of, after it was checked. False: out of memory.
bool vulkan_know_VkComputePipelineCreateInfo(struct vulkan_run *run, struct vulkan_live *live,
                                             const VkComputePipelineCreateInfo *info);
bool vulkan_know_VkGraphicsPipelineCreateInfo(struct vulkan_run *run, struct vulkan_live *live,
                                              const VkGraphicsPipelineCreateInfo *info);
const struct vulkan_live *vulkan_set_layout(struct vulkan_run *run, const struct vulkan_live *layout,
                                            uint32_t set); // of a pipeline layout; NULL: it has none
// What was written to a set, after it was checked.
bool vulkan_know_write(struct vulkan_run *run, struct vulkan_live *set, const VkWriteDescriptorSet *write);
void vulkan_forget_writes(struct vulkan_live *set);
// From a set of the same layout. False: out of memory.
bool vulkan_copy_writes(struct vulkan_run *run, struct vulkan_live *to, const struct vulkan_live *from);
// Gives the elements of arrays that were not written what another one has, after the writes: a shader may use them by a number that it computes.
// False: out of memory, or too many.
bool vulkan_fill_arrays(struct vulkan_run *run, struct vulkan_live *set);

// ---- set_layouts.c
// What is known of a layout, after it was checked.
void vulkan_know_set_layout(struct vulkan_run *run, struct vulkan_live *layout,
                            const VkDescriptorSetLayoutCreateInfo *info);
void vulkan_bindings_end(struct vulkan_run *run);

// ---- check_indirect.c
void vulkan_indirect_forget(struct vulkan_run *run); // before the commands of a submission are put
// After that, before they run: gives the frame up if indirect commands would read what is not allowed.
tsmith_status vulkan_indirect_check(struct vulkan_run *run);

// ---- check_layouts.c
// Whether all of an image has these layouts, the second for its stencil if it has depth too; the content that is put into it gives it them.
bool vulkan_layouts_are(struct vulkan_run *run, struct vulkan_live *image, const VkImageLayout layouts[2]);
void vulkan_layouts_set(struct vulkan_run *run, struct vulkan_live *image, const VkImageLayout layouts[2]);
void vulkan_layouts_forget(struct vulkan_run *run); // of all images

// ---- commands.c
// Puts recorded commands into a command buffer. False: they are not sound, or something they need is missing.
bool vulkan_record(struct vulkan_run *run, struct vulkan_device *device, VkCommandBuffer commands,
                   const struct recording_record *record);

// ---- pushed.c
// Puts descriptors that are pushed into a command buffer, as a set of the replay's own. False: the frame is given up.
bool vulkan_push(struct vulkan_run *run, struct words *words, struct vulkan_device *device);
void vulkan_pushed_end(struct vulkan_run *run); // after the submission

// ---- content.c
tsmith_status vulkan_content(struct vulkan_run *run, const struct recording_record *record);
// A part of a buffer: *bytes, until the next copy; NULL: it cannot be read.
tsmith_status vulkan_read(struct vulkan_run *run, const struct vulkan_live *buffer, uint64_t offset,
                          uint64_t size, const uint8_t **bytes);
tsmith_status vulkan_verify(struct vulkan_run *run, const struct recording_record *record);

#endif
