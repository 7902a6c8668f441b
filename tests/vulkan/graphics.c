// SPDX-License-Identifier: Apache-2.0
// A program of Vulkan's graphics that knows nothing of TraceSmith, links no loader, and counts its own calls. For test_graphics.sh
// and bench/bench_vulkan.sh.
//
//     graphics FOLDER LOG MODE [N [KIND]]
//
// FOLDER has its shaders. It prints a hash of the picture that it has drawn. To LOG it writes its calls ("call NAME COUNT"), the
// commands that were executed ("executed KIND COUNT"), and its own timestamps around passes ("pass BEGIN END", ns). Modes:
//     render N      one command buffer with a render pass, executed N times with a wait for its fence each time
//     dynamic N     dynamic rendering, recorded N times, waits for a timeline semaphore; vkQueueSubmit2, barriers 2
//     nested N      the draws are in secondary command buffers, two to a pass
//     images N      clears, blits, image copies, a copy to a buffer: each N times in one command buffer
//     threads N     4 threads share one queue, N executions each, with command pools of their own
//     instances N   N instances one after the other, with two devices each that render once
//     fork N        before it opens Vulkan it forks: both processes render N times; the parent forks again with the device open
//     destroyed N   destroys the device with N executions in flight
//     cost N KIND   N frames of 500x500, two in flight, and the ns of a frame. KIND: none, stamps (timestamps around the pass),
//                   top (both of them at the top of the pipe), copy (stamps and a copy of their results by the device),
//                   inside (the second one within the pass, at the top of the pipe)
#define VK_NO_PROTOTYPES
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <vulkan/vulkan.h>

enum { SIZE = 256, COST_SIZE = 500, BYTES = SIZE * SIZE * 4, MOST = 4096, CODE = 1 << 14 };

// clang-format off
#define INSTANCE_FUNCTIONS(X) \
    X(DestroyInstance) X(EnumeratePhysicalDevices) X(GetPhysicalDeviceProperties) \
    X(GetPhysicalDeviceMemoryProperties) X(CreateDevice)
#define DEVICE_FUNCTIONS(X) \
    X(DestroyDevice) X(GetDeviceQueue) X(AllocateMemory) X(FreeMemory) X(MapMemory) X(CreateBuffer) \
    X(DestroyBuffer) X(GetBufferMemoryRequirements) X(BindBufferMemory) X(CreateImage) X(DestroyImage) \
    X(GetImageMemoryRequirements) X(BindImageMemory) X(CreateImageView) X(DestroyImageView) \
    X(CreateRenderPass) X(DestroyRenderPass) X(CreateFramebuffer) X(DestroyFramebuffer) \
    X(CreateShaderModule) X(DestroyShaderModule) X(CreatePipelineLayout) X(DestroyPipelineLayout) \
    X(CreateGraphicsPipelines) X(DestroyPipeline) X(CreateQueryPool) X(DestroyQueryPool) \
    X(GetQueryPoolResults) X(CreateCommandPool) X(DestroyCommandPool) X(AllocateCommandBuffers) \
    X(BeginCommandBuffer) X(EndCommandBuffer) X(CreateFence) X(DestroyFence) X(WaitForFences) \
    X(ResetFences) X(CreateSemaphore) X(DestroySemaphore) X(WaitSemaphores) X(QueueSubmit) \
    X(QueueSubmit2) X(QueueWaitIdle) X(DeviceWaitIdle) X(CmdResetQueryPool) X(CmdWriteTimestamp) \
    X(CmdCopyQueryPoolResults) X(CmdBeginRenderPass) X(CmdEndRenderPass) X(CmdBeginRendering) \
    X(CmdEndRendering) X(CmdBindPipeline) X(CmdPushConstants) X(CmdDraw) X(CmdExecuteCommands) \
    X(CmdPipelineBarrier) X(CmdPipelineBarrier2) X(CmdClearColorImage) X(CmdBlitImage) X(CmdCopyImage) \
    X(CmdCopyImageToBuffer)
// clang-format on

enum function {
#define ID(name) ID_##name,
    INSTANCE_FUNCTIONS(ID) DEVICE_FUNCTIONS(ID) FUNCTIONS
};
static struct {
#define POINTER(name) PFN_vk##name name;
    INSTANCE_FUNCTIONS(POINTER)
    DEVICE_FUNCTIONS(POINTER)
} vk;
static const char *const names[] = {
#define NAME(name) "vk" #name,
    INSTANCE_FUNCTIONS(NAME) DEVICE_FUNCTIONS(NAME)};
static _Atomic uint64_t counts[FUNCTIONS];
#define VK(name) (atomic_fetch_add(&counts[ID_##name], 1), vk.name)

#define CHECK(call)                                                                                          \
    do {                                                                                                     \
        const VkResult result = (call);                                                                      \
        if (result != VK_SUCCESS) {                                                                          \
            fprintf(stderr, "%s: %d\n", #call, result);                                                      \
            exit(1);                                                                                         \
        }                                                                                                    \
    } while (0)

struct image {
    VkImage image;
    VkImageView view;
    VkDeviceMemory memory;
};

struct gpu {
    VkDevice device;
    VkQueue queue;
    uint32_t size; // of the picture, in pixels on each side
    struct image target, other;
    VkRenderPass pass;
    VkFramebuffer frame;
    VkPipelineLayout layout;
    VkPipeline pipeline, dynamic;
    VkBuffer out;
    VkDeviceMemory out_memory;
    const uint32_t *pixels;
    VkCommandPool pool;
    VkQueryPool stamps;
    double period;
};

static PFN_vkGetInstanceProcAddr get;
static VkInstance instance;
static VkPhysicalDevice physical;
static uint32_t vertex[CODE], fragment[CODE];
static size_t vertex_bytes, fragment_bytes;
static uint32_t rounds = 60; // of the fragment shader
static FILE *log_file;
static pthread_mutex_t log_mutex = PTHREAD_MUTEX_INITIALIZER, queue_mutex = PTHREAD_MUTEX_INITIALIZER;
enum { PASSES, DRAWS, CLEARS, COPIES, EXECUTED };
static _Atomic uint64_t executed[EXECUTED];

// ---- opening

static size_t read_code(const char *folder, const char *name, uint32_t *out) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s.spv", folder, name);
    FILE *file = fopen(path, "rb");
    const size_t bytes = file ? fread(out, 1, CODE * sizeof *out, file) : 0;
    if (!bytes)
        exit(2);
    fclose(file);
    return bytes;
}

// The loader is opened as late as can be, and gives all functions, those of devices too, for the instance.
static void open_vulkan(void) {
    static void *loader;
    if (!loader && !(loader = dlopen("libvulkan.so.1", RTLD_NOW | RTLD_LOCAL)))
        exit(3);
    get = (PFN_vkGetInstanceProcAddr)dlsym(loader, "vkGetInstanceProcAddr");
    const VkApplicationInfo application = {.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
                                           .apiVersion = VK_API_VERSION_1_3};
    const VkInstanceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
                                       .pApplicationInfo = &application};
    uint32_t devices = 1;
    CHECK(((PFN_vkCreateInstance)get(NULL, "vkCreateInstance"))(&info, NULL, &instance));
#define GET(name) vk.name = (PFN_vk##name)get(instance, "vk" #name);
    INSTANCE_FUNCTIONS(GET)
    DEVICE_FUNCTIONS(GET)
    if (VK(EnumeratePhysicalDevices)(instance, &devices, &physical) < VK_SUCCESS || !devices)
        exit(4);
}

static VkDeviceMemory allocate_memory(const struct gpu *gpu, const VkMemoryRequirements *needs,
                                      VkMemoryPropertyFlags wanted) {
    VkPhysicalDeviceMemoryProperties memory;
    VkDeviceMemory out;
    VkMemoryAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
                                 .allocationSize = needs->size};
    VK(GetPhysicalDeviceMemoryProperties)(physical, &memory);
    while (!(needs->memoryTypeBits >> info.memoryTypeIndex & 1) ||
           (memory.memoryTypes[info.memoryTypeIndex].propertyFlags & wanted) != wanted)
        info.memoryTypeIndex++;
    CHECK(VK(AllocateMemory)(gpu->device, &info, NULL, &out));
    return out;
}

static void make_image(const struct gpu *gpu, struct image *out) {
    const VkImageCreateInfo info = {.sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO,
                                    .imageType = VK_IMAGE_TYPE_2D,
                                    .format = VK_FORMAT_R8G8B8A8_UNORM,
                                    .extent = {gpu->size, gpu->size, 1},
                                    .mipLevels = 1,
                                    .arrayLayers = 1,
                                    .samples = VK_SAMPLE_COUNT_1_BIT,
                                    .usage = VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT |
                                             VK_IMAGE_USAGE_TRANSFER_SRC_BIT |
                                             VK_IMAGE_USAGE_TRANSFER_DST_BIT};
    VkMemoryRequirements needs;
    CHECK(VK(CreateImage)(gpu->device, &info, NULL, &out->image));
    VK(GetImageMemoryRequirements)(gpu->device, out->image, &needs);
    out->memory = allocate_memory(gpu, &needs, 0);
    CHECK(VK(BindImageMemory)(gpu->device, out->image, out->memory, 0));
    const VkImageViewCreateInfo view = {
        .sType = VK_STRUCTURE_TYPE_IMAGE_VIEW_CREATE_INFO,
        .image = out->image,
        .viewType = VK_IMAGE_VIEW_TYPE_2D,
        .format = VK_FORMAT_R8G8B8A8_UNORM,
        .subresourceRange = {.aspectMask = VK_IMAGE_ASPECT_COLOR_BIT, .levelCount = 1, .layerCount = 1}};
    CHECK(VK(CreateImageView)(gpu->device, &view, NULL, &out->view));
}

static void free_image(const struct gpu *gpu, const struct image *image) {
    VK(DestroyImageView)(gpu->device, image->view, NULL);
    VK(DestroyImage)(gpu->device, image->image, NULL);
    VK(FreeMemory)(gpu->device, image->memory, NULL);
}

static void make_pass(struct gpu *gpu) {
    const VkAttachmentDescription color = {.format = VK_FORMAT_R8G8B8A8_UNORM,
                                           .samples = VK_SAMPLE_COUNT_1_BIT,
                                           .loadOp = VK_ATTACHMENT_LOAD_OP_CLEAR,
                                           .storeOp = VK_ATTACHMENT_STORE_OP_STORE,
                                           .finalLayout = VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL};
    const VkAttachmentReference reference = {0, VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL};
    const VkSubpassDescription subpass = {.pipelineBindPoint = VK_PIPELINE_BIND_POINT_GRAPHICS,
                                          .colorAttachmentCount = 1,
                                          .pColorAttachments = &reference};
    const VkSubpassDependency both[2] = {
        {.srcSubpass = VK_SUBPASS_EXTERNAL,
         .srcStageMask = VK_PIPELINE_STAGE_ALL_COMMANDS_BIT,
         .dstStageMask = VK_PIPELINE_STAGE_COLOR_ATTACHMENT_OUTPUT_BIT,
         .srcAccessMask = VK_ACCESS_MEMORY_WRITE_BIT | VK_ACCESS_MEMORY_READ_BIT,
         .dstAccessMask = VK_ACCESS_COLOR_ATTACHMENT_WRITE_BIT},
        {.dstSubpass = VK_SUBPASS_EXTERNAL,
         .srcStageMask = VK_PIPELINE_STAGE_COLOR_ATTACHMENT_OUTPUT_BIT,
         .dstStageMask = VK_PIPELINE_STAGE_TRANSFER_BIT,
         .srcAccessMask = VK_ACCESS_COLOR_ATTACHMENT_WRITE_BIT,
         .dstAccessMask = VK_ACCESS_TRANSFER_READ_BIT}};
    const VkRenderPassCreateInfo pass = {.sType = VK_STRUCTURE_TYPE_RENDER_PASS_CREATE_INFO,
                                         .attachmentCount = 1,
                                         .pAttachments = &color,
                                         .subpassCount = 1,
                                         .pSubpasses = &subpass,
                                         .dependencyCount = 2,
                                         .pDependencies = both};
    CHECK(VK(CreateRenderPass)(gpu->device, &pass, NULL, &gpu->pass));
    const VkFramebufferCreateInfo frame = {.sType = VK_STRUCTURE_TYPE_FRAMEBUFFER_CREATE_INFO,
                                           .renderPass = gpu->pass,
                                           .attachmentCount = 1,
                                           .pAttachments = &gpu->target.view,
                                           .width = gpu->size,
                                           .height = gpu->size,
                                           .layers = 1};
    CHECK(VK(CreateFramebuffer)(gpu->device, &frame, NULL, &gpu->frame));
}

static VkShaderModule make_module(const struct gpu *gpu, const uint32_t *code, size_t bytes) {
    VkShaderModule module;
    const VkShaderModuleCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO, .codeSize = bytes, .pCode = code};
    CHECK(VK(CreateShaderModule)(gpu->device, &info, NULL, &module));
    return module;
}

// For a render pass, or for dynamic rendering if `pass` is null.
static VkPipeline make_pipeline(const struct gpu *gpu, const VkPipelineShaderStageCreateInfo *stages,
                                VkRenderPass pass) {
    const VkFormat format = VK_FORMAT_R8G8B8A8_UNORM;
    const VkPipelineRenderingCreateInfo rendering = {.sType =
                                                         VK_STRUCTURE_TYPE_PIPELINE_RENDERING_CREATE_INFO,
                                                     .colorAttachmentCount = 1,
                                                     .pColorAttachmentFormats = &format};
    const VkPipelineVertexInputStateCreateInfo input = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_VERTEX_INPUT_STATE_CREATE_INFO};
    const VkPipelineInputAssemblyStateCreateInfo assembly = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_INPUT_ASSEMBLY_STATE_CREATE_INFO,
        .topology = VK_PRIMITIVE_TOPOLOGY_TRIANGLE_LIST};
    const VkViewport port = {0, 0, (float)gpu->size, (float)gpu->size, 0, 1};
    const VkRect2D scissor = {{0, 0}, {gpu->size, gpu->size}};
    const VkPipelineViewportStateCreateInfo view = {.sType =
                                                        VK_STRUCTURE_TYPE_PIPELINE_VIEWPORT_STATE_CREATE_INFO,
                                                    .viewportCount = 1,
                                                    .pViewports = &port,
                                                    .scissorCount = 1,
                                                    .pScissors = &scissor};
    const VkPipelineRasterizationStateCreateInfo raster = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_RASTERIZATION_STATE_CREATE_INFO, .lineWidth = 1};
    const VkPipelineMultisampleStateCreateInfo samples = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_MULTISAMPLE_STATE_CREATE_INFO,
        .rasterizationSamples = VK_SAMPLE_COUNT_1_BIT};
    const VkPipelineColorBlendAttachmentState all = {.colorWriteMask = 15};
    const VkPipelineColorBlendStateCreateInfo blend = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_COLOR_BLEND_STATE_CREATE_INFO,
        .attachmentCount = 1,
        .pAttachments = &all};
    const VkGraphicsPipelineCreateInfo info = {.sType = VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_CREATE_INFO,
                                               .pNext = pass ? NULL : &rendering,
                                               .stageCount = 2,
                                               .pStages = stages,
                                               .pVertexInputState = &input,
                                               .pInputAssemblyState = &assembly,
                                               .pViewportState = &view,
                                               .pRasterizationState = &raster,
                                               .pMultisampleState = &samples,
                                               .pColorBlendState = &blend,
                                               .layout = gpu->layout,
                                               .renderPass = pass};
    VkPipeline pipeline;
    CHECK(VK(CreateGraphicsPipelines)(gpu->device, VK_NULL_HANDLE, 1, &info, NULL, &pipeline));
    return pipeline;
}

static void make_pipelines(struct gpu *gpu) {
    const VkPushConstantRange range = {VK_SHADER_STAGE_FRAGMENT_BIT, 0, sizeof rounds};
    const VkPipelineLayoutCreateInfo layout = {.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
                                               .pushConstantRangeCount = 1,
                                               .pPushConstantRanges = &range};
    CHECK(VK(CreatePipelineLayout)(gpu->device, &layout, NULL, &gpu->layout));
    const VkPipelineShaderStageCreateInfo stages[2] = {
        {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
         .stage = VK_SHADER_STAGE_VERTEX_BIT,
         .module = make_module(gpu, vertex, vertex_bytes),
         .pName = "main"},
        {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
         .stage = VK_SHADER_STAGE_FRAGMENT_BIT,
         .module = make_module(gpu, fragment, fragment_bytes),
         .pName = "main"}};
    gpu->pipeline = make_pipeline(gpu, stages, gpu->pass);
    gpu->dynamic = make_pipeline(gpu, stages, VK_NULL_HANDLE);
    for (int i = 0; i < 2; i++)
        VK(DestroyShaderModule)(gpu->device, stages[i].module, NULL);
}

static void make_out(struct gpu *gpu) {
    const VkBufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                                     .size = (VkDeviceSize)gpu->size * gpu->size * 4,
                                     .usage = VK_BUFFER_USAGE_TRANSFER_DST_BIT};
    VkMemoryRequirements needs;
    CHECK(VK(CreateBuffer)(gpu->device, &info, NULL, &gpu->out));
    VK(GetBufferMemoryRequirements)(gpu->device, gpu->out, &needs);
    gpu->out_memory = allocate_memory(
        gpu, &needs, VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT);
    CHECK(VK(BindBufferMemory)(gpu->device, gpu->out, gpu->out_memory, 0));
    CHECK(VK(MapMemory)(gpu->device, gpu->out_memory, 0, VK_WHOLE_SIZE, 0, (void **)(uintptr_t)&gpu->pixels));
}

static VkCommandPool make_pool(const struct gpu *gpu) {
    VkCommandPool pool;
    const VkCommandPoolCreateInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                          .flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT};
    CHECK(VK(CreateCommandPool)(gpu->device, &info, NULL, &pool));
    return pool;
}

static void gpu_open(struct gpu *gpu, uint32_t size) {
    const float priority = 1;
    const VkDeviceQueueCreateInfo queue = {
        .sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO, .queueCount = 1, .pQueuePriorities = &priority};
    VkPhysicalDeviceVulkan13Features features13 = {.sType =
                                                       VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES,
                                                   .synchronization2 = VK_TRUE,
                                                   .dynamicRendering = VK_TRUE};
    const VkPhysicalDeviceVulkan12Features features = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES,
        .pNext = &features13,
        .timelineSemaphore = VK_TRUE};
    const VkDeviceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
                                     .pNext = &features,
                                     .queueCreateInfoCount = 1,
                                     .pQueueCreateInfos = &queue};
    VkPhysicalDeviceProperties properties;
    VK(GetPhysicalDeviceProperties)(physical, &properties);
    *gpu = (struct gpu){.size = size, .period = (double)properties.limits.timestampPeriod};
    CHECK(VK(CreateDevice)(physical, &info, NULL, &gpu->device));
    VK(GetDeviceQueue)(gpu->device, 0, 0, &gpu->queue);
    make_image(gpu, &gpu->target);
    make_image(gpu, &gpu->other);
    make_pass(gpu);
    make_pipelines(gpu);
    make_out(gpu);
    gpu->pool = make_pool(gpu);
    const VkQueryPoolCreateInfo stamps = {.sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO,
                                          .queryType = VK_QUERY_TYPE_TIMESTAMP,
                                          .queryCount = 2 * MOST};
    CHECK(VK(CreateQueryPool)(gpu->device, &stamps, NULL, &gpu->stamps));
}

static void gpu_close(const struct gpu *gpu) {
    VK(DestroyQueryPool)(gpu->device, gpu->stamps, NULL);
    VK(DestroyCommandPool)(gpu->device, gpu->pool, NULL);
    VK(DestroyBuffer)(gpu->device, gpu->out, NULL);
    VK(FreeMemory)(gpu->device, gpu->out_memory, NULL);
    VK(DestroyPipeline)(gpu->device, gpu->pipeline, NULL);
    VK(DestroyPipeline)(gpu->device, gpu->dynamic, NULL);
    VK(DestroyPipelineLayout)(gpu->device, gpu->layout, NULL);
    VK(DestroyFramebuffer)(gpu->device, gpu->frame, NULL);
    VK(DestroyRenderPass)(gpu->device, gpu->pass, NULL);
    free_image(gpu, &gpu->other);
    free_image(gpu, &gpu->target);
    VK(DestroyDevice)(gpu->device, NULL);
}

// ---- recording

static VkCommandBuffer allocate(const struct gpu *gpu, VkCommandPool pool, VkCommandBufferLevel level) {
    VkCommandBuffer buffer;
    const VkCommandBufferAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                              .commandPool = pool,
                                              .level = level,
                                              .commandBufferCount = 1};
    CHECK(VK(AllocateCommandBuffers)(gpu->device, &info, &buffer));
    return buffer;
}

static void begin(VkCommandBuffer buffer) {
    const VkCommandBufferBeginInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
    CHECK(VK(BeginCommandBuffer)(buffer, &info));
}

static void stamp(const struct gpu *gpu, VkCommandBuffer buffer, uint32_t number,
                  VkPipelineStageFlagBits stage) {
    VK(CmdWriteTimestamp)(buffer, stage, gpu->stamps, number);
}

static void draw(const struct gpu *gpu, VkCommandBuffer buffer, VkPipeline pipeline) {
    VK(CmdBindPipeline)(buffer, VK_PIPELINE_BIND_POINT_GRAPHICS, pipeline);
    VK(CmdPushConstants)(buffer, gpu->layout, VK_SHADER_STAGE_FRAGMENT_BIT, 0, sizeof rounds, &rounds);
    VK(CmdDraw)(buffer, 3, 1, 0, 0);
}

static void begin_pass(const struct gpu *gpu, VkCommandBuffer buffer, VkSubpassContents contents) {
    const VkClearValue clear = {.color = {.float32 = {0, 0, 0, 1}}};
    const VkRenderPassBeginInfo info = {.sType = VK_STRUCTURE_TYPE_RENDER_PASS_BEGIN_INFO,
                                        .renderPass = gpu->pass,
                                        .framebuffer = gpu->frame,
                                        .renderArea = {{0, 0}, {gpu->size, gpu->size}},
                                        .clearValueCount = 1,
                                        .pClearValues = &clear};
    VK(CmdBeginRenderPass)(buffer, &info, contents);
}

static void move(VkCommandBuffer buffer, VkImage image, VkImageLayout from, VkImageLayout to) {
    const VkImageMemoryBarrier barrier = {
        .sType = VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER,
        .srcAccessMask = VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT,
        .dstAccessMask = VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT,
        .oldLayout = from,
        .newLayout = to,
        .srcQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
        .dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
        .image = image,
        .subresourceRange = {.aspectMask = VK_IMAGE_ASPECT_COLOR_BIT, .levelCount = 1, .layerCount = 1}};
    VK(CmdPipelineBarrier)
    (buffer, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, 0, 0, NULL, 0, NULL, 1,
     &barrier);
}

static const VkImageSubresourceLayers color_layers = {.aspectMask = VK_IMAGE_ASPECT_COLOR_BIT,
                                                      .layerCount = 1};

static void copy_out(const struct gpu *gpu, VkCommandBuffer buffer) {
    const VkBufferImageCopy region = {.imageSubresource = color_layers,
                                      .imageExtent = {gpu->size, gpu->size, 1}};
    VK(CmdCopyImageToBuffer)
    (buffer, gpu->target.image, VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL, gpu->out, 1, &region);
}

// The pass with the program's own timestamps around it, the last in the target, which is then copied to host memory.
static void record_pass(const struct gpu *gpu, VkCommandBuffer buffer, uint32_t number) {
    VK(CmdResetQueryPool)(buffer, gpu->stamps, number, 2);
    stamp(gpu, buffer, number, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT);
    begin_pass(gpu, buffer, VK_SUBPASS_CONTENTS_INLINE);
    draw(gpu, buffer, gpu->pipeline);
    draw(gpu, buffer, gpu->pipeline);
    VK(CmdEndRenderPass)(buffer);
    stamp(gpu, buffer, number + 1, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT);
    copy_out(gpu, buffer);
}

// Commands that an execution executes.
static void executes(uint64_t passes, uint64_t draws, uint64_t clears, uint64_t copies) {
    executed[PASSES] += passes;
    executed[DRAWS] += draws;
    executed[CLEARS] += clears;
    executed[COPIES] += copies;
}

static void say_stamps(const struct gpu *gpu, uint32_t number) {
    uint64_t at[2];
    CHECK(VK(GetQueryPoolResults)(gpu->device, gpu->stamps, number, 2, sizeof at, at, sizeof at[0],
                                  VK_QUERY_RESULT_64_BIT));
    pthread_mutex_lock(&log_mutex);
    fprintf(log_file, "pass %.0f %.0f\n", (double)at[0] * gpu->period, (double)at[1] * gpu->period);
    pthread_mutex_unlock(&log_mutex);
}

static VkFence make_fence(const struct gpu *gpu, VkFenceCreateFlags flags) {
    VkFence fence;
    const VkFenceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO, .flags = flags};
    CHECK(VK(CreateFence)(gpu->device, &info, NULL, &fence));
    return fence;
}

// Threads share the queue, which the program must guard.
static void submit(const struct gpu *gpu, VkCommandBuffer buffer, VkFence fence) {
    const VkSubmitInfo info = {
        .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .commandBufferCount = 1, .pCommandBuffers = &buffer};
    pthread_mutex_lock(&queue_mutex);
    CHECK(VK(QueueSubmit)(gpu->queue, 1, &info, fence));
    pthread_mutex_unlock(&queue_mutex);
}

static void wait_for(const struct gpu *gpu, VkFence fence) {
    CHECK(VK(WaitForFences)(gpu->device, 1, &fence, VK_TRUE, UINT64_MAX));
    CHECK(VK(ResetFences)(gpu->device, 1, &fence));
}

// ---- modes

static void render(const struct gpu *gpu, VkCommandPool pool, uint32_t count, uint32_t number) {
    VkFence fence = make_fence(gpu, 0);
    VkCommandBuffer buffer = allocate(gpu, pool, VK_COMMAND_BUFFER_LEVEL_PRIMARY);
    begin(buffer);
    record_pass(gpu, buffer, number);
    CHECK(VK(EndCommandBuffer)(buffer));
    for (uint32_t i = 0; i < count; i++) {
        executes(1, 2, 0, 1);
        submit(gpu, buffer, fence);
        wait_for(gpu, fence);
        say_stamps(gpu, number);
    }
    VK(DestroyFence)(gpu->device, fence, NULL);
}

static void record_dynamic(const struct gpu *gpu, VkCommandBuffer buffer) {
    const VkRenderingAttachmentInfo color = {.sType = VK_STRUCTURE_TYPE_RENDERING_ATTACHMENT_INFO,
                                             .imageView = gpu->target.view,
                                             .imageLayout = VK_IMAGE_LAYOUT_GENERAL,
                                             .loadOp = VK_ATTACHMENT_LOAD_OP_CLEAR,
                                             .storeOp = VK_ATTACHMENT_STORE_OP_STORE};
    const VkRenderingInfo info = {.sType = VK_STRUCTURE_TYPE_RENDERING_INFO,
                                  .renderArea = {{0, 0}, {gpu->size, gpu->size}},
                                  .layerCount = 1,
                                  .colorAttachmentCount = 1,
                                  .pColorAttachments = &color};
    const VkMemoryBarrier2 all = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER_2,
                                  .srcStageMask = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT,
                                  .srcAccessMask = VK_ACCESS_2_MEMORY_WRITE_BIT,
                                  .dstStageMask = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT,
                                  .dstAccessMask =
                                      VK_ACCESS_2_MEMORY_READ_BIT | VK_ACCESS_2_MEMORY_WRITE_BIT};
    const VkDependencyInfo dependency = {
        .sType = VK_STRUCTURE_TYPE_DEPENDENCY_INFO, .memoryBarrierCount = 1, .pMemoryBarriers = &all};
    begin(buffer);
    move(buffer, gpu->target.image, VK_IMAGE_LAYOUT_UNDEFINED, VK_IMAGE_LAYOUT_GENERAL);
    VK(CmdResetQueryPool)(buffer, gpu->stamps, 0, 2);
    stamp(gpu, buffer, 0, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT);
    VK(CmdBeginRendering)(buffer, &info);
    draw(gpu, buffer, gpu->dynamic);
    VK(CmdEndRendering)(buffer);
    stamp(gpu, buffer, 1, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT);
    VK(CmdPipelineBarrier2)(buffer, &dependency);
    move(buffer, gpu->target.image, VK_IMAGE_LAYOUT_GENERAL, VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL);
    copy_out(gpu, buffer);
    CHECK(VK(EndCommandBuffer)(buffer));
}

static void dynamic(const struct gpu *gpu, uint32_t count) {
    const VkSemaphoreTypeCreateInfo type = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO,
                                            .semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE};
    const VkSemaphoreCreateInfo info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO, .pNext = &type};
    VkSemaphore semaphore;
    CHECK(VK(CreateSemaphore)(gpu->device, &info, NULL, &semaphore));
    VkCommandBuffer buffer = allocate(gpu, gpu->pool, VK_COMMAND_BUFFER_LEVEL_PRIMARY);
    for (uint64_t i = 1; i <= count; i++) {
        record_dynamic(gpu, buffer);
        const VkCommandBufferSubmitInfo buffers = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_SUBMIT_INFO,
                                                   .commandBuffer = buffer};
        const VkSemaphoreSubmitInfo after = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_SUBMIT_INFO,
                                             .semaphore = semaphore,
                                             .value = i,
                                             .stageMask = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT};
        const VkSubmitInfo2 submission = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO_2,
                                          .commandBufferInfoCount = 1,
                                          .pCommandBufferInfos = &buffers,
                                          .signalSemaphoreInfoCount = 1,
                                          .pSignalSemaphoreInfos = &after};
        executes(1, 1, 0, 1);
        CHECK(VK(QueueSubmit2)(gpu->queue, 1, &submission, VK_NULL_HANDLE));
        const VkSemaphoreWaitInfo waited = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO,
                                            .semaphoreCount = 1,
                                            .pSemaphores = &semaphore,
                                            .pValues = &i};
        CHECK(VK(WaitSemaphores)(gpu->device, &waited, UINT64_MAX));
        say_stamps(gpu, 0);
    }
    VK(DestroySemaphore)(gpu->device, semaphore, NULL);
}

static void nested(const struct gpu *gpu, uint32_t count) {
    const VkCommandBufferInheritanceInfo inheritance = {.sType =
                                                            VK_STRUCTURE_TYPE_COMMAND_BUFFER_INHERITANCE_INFO,
                                                        .renderPass = gpu->pass,
                                                        .framebuffer = gpu->frame};
    const VkCommandBufferBeginInfo inside = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
                                             .flags = VK_COMMAND_BUFFER_USAGE_RENDER_PASS_CONTINUE_BIT,
                                             .pInheritanceInfo = &inheritance};
    VkCommandBuffer outer = allocate(gpu, gpu->pool, VK_COMMAND_BUFFER_LEVEL_PRIMARY), inner[2];
    for (int i = 0; i < 2; i++) {
        inner[i] = allocate(gpu, gpu->pool, VK_COMMAND_BUFFER_LEVEL_SECONDARY);
        CHECK(VK(BeginCommandBuffer)(inner[i], &inside));
        for (int j = 0; j <= i; j++)
            draw(gpu, inner[i], gpu->pipeline);
        CHECK(VK(EndCommandBuffer)(inner[i]));
    }
    begin(outer);
    VK(CmdResetQueryPool)(outer, gpu->stamps, 0, 2);
    stamp(gpu, outer, 0, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT);
    begin_pass(gpu, outer, VK_SUBPASS_CONTENTS_SECONDARY_COMMAND_BUFFERS);
    VK(CmdExecuteCommands)(outer, 2, inner);
    VK(CmdEndRenderPass)(outer);
    stamp(gpu, outer, 1, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT);
    copy_out(gpu, outer);
    CHECK(VK(EndCommandBuffer)(outer));
    for (uint32_t i = 0; i < count; i++) {
        executes(1, 3, 0, 1);
        submit(gpu, outer, VK_NULL_HANDLE);
        CHECK(VK(DeviceWaitIdle)(gpu->device));
        say_stamps(gpu, 0);
    }
}

static void images(const struct gpu *gpu, uint32_t count) {
    const int32_t side = (int32_t)gpu->size;
    const VkClearColorValue red = {.float32 = {1, 0, 0, 1}};
    const VkImageSubresourceRange range = {
        .aspectMask = VK_IMAGE_ASPECT_COLOR_BIT, .levelCount = 1, .layerCount = 1};
    const VkImageBlit blit = {.srcSubresource = color_layers,
                              .srcOffsets = {{0, 0, 0}, {side, side, 1}},
                              .dstSubresource = color_layers,
                              .dstOffsets = {{0, 0, 0}, {side / 2, side / 2, 1}}};
    const VkImageCopy copy = {.srcSubresource = color_layers,
                              .dstSubresource = color_layers,
                              .extent = {gpu->size / 4, gpu->size / 4, 1}};
    VkCommandBuffer buffer = allocate(gpu, gpu->pool, VK_COMMAND_BUFFER_LEVEL_PRIMARY);
    begin(buffer);
    for (uint32_t i = 0; i < count; i++) {
        record_pass(gpu, buffer, 2 * i);
        move(buffer, gpu->other.image, VK_IMAGE_LAYOUT_UNDEFINED, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL);
        VK(CmdClearColorImage)
        (buffer, gpu->other.image, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL, &red, 1, &range);
        move(buffer, gpu->other.image, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL, VK_IMAGE_LAYOUT_GENERAL);
        VK(CmdBlitImage)
        (buffer, gpu->target.image, VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL, gpu->other.image,
         VK_IMAGE_LAYOUT_GENERAL, 1, &blit, VK_FILTER_NEAREST);
        move(buffer, gpu->target.image, VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL, VK_IMAGE_LAYOUT_GENERAL);
        move(buffer, gpu->other.image, VK_IMAGE_LAYOUT_GENERAL, VK_IMAGE_LAYOUT_GENERAL);
        VK(CmdCopyImage)
        (buffer, gpu->other.image, VK_IMAGE_LAYOUT_GENERAL, gpu->target.image, VK_IMAGE_LAYOUT_GENERAL, 1,
         &copy);
        move(buffer, gpu->target.image, VK_IMAGE_LAYOUT_GENERAL, VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL);
        copy_out(gpu, buffer);
        executes(1, 2, 1, 4);
    }
    CHECK(VK(EndCommandBuffer)(buffer));
    submit(gpu, buffer, VK_NULL_HANDLE);
    CHECK(VK(QueueWaitIdle)(gpu->queue));
    for (uint32_t i = 0; i < count; i++)
        say_stamps(gpu, 2 * i);
}

static uint32_t thread_count;
static struct gpu shared;
static void *thread(void *number) {
    VkCommandPool pool = make_pool(&shared);
    render(&shared, pool, thread_count, 2 * (uint32_t)(uintptr_t)number);
    VK(DestroyCommandPool)(shared.device, pool, NULL);
    return NULL;
}

// They draw the same picture to the same target, one pass after the other.
static void threads(const struct gpu *gpu, uint32_t count) {
    pthread_t ids[4];
    shared = *gpu;
    thread_count = count;
    for (uintptr_t i = 0; i < 4; i++)
        pthread_create(&ids[i], NULL, thread, (void *)i);
    for (int i = 0; i < 4; i++)
        pthread_join(ids[i], NULL);
}

static void destroyed(const struct gpu *gpu, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        VkCommandBuffer buffer = allocate(gpu, gpu->pool, VK_COMMAND_BUFFER_LEVEL_PRIMARY);
        begin(buffer);
        record_pass(gpu, buffer, 2 * i);
        CHECK(VK(EndCommandBuffer)(buffer));
        submit(gpu, buffer, VK_NULL_HANDLE);
        executes(1, 2, 0, 1);
    }
}

static double now(void) {
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return (double)at.tv_sec * 1e9 + (double)at.tv_nsec;
}

static VkCommandBuffer record_cost(const struct gpu *gpu, uint32_t number, const char *kind) {
    const bool top = strcmp(kind, "top") == 0, stamps = strcmp(kind, "none") != 0,
               inside = strcmp(kind, "inside") == 0;
    VkCommandBuffer buffer = allocate(gpu, gpu->pool, VK_COMMAND_BUFFER_LEVEL_PRIMARY);
    begin(buffer);
    if (stamps) {
        VK(CmdResetQueryPool)(buffer, gpu->stamps, number, 2);
        stamp(gpu, buffer, number, VK_PIPELINE_STAGE_TOP_OF_PIPE_BIT);
    }
    begin_pass(gpu, buffer, VK_SUBPASS_CONTENTS_INLINE);
    draw(gpu, buffer, gpu->pipeline);
    if (inside)
        stamp(gpu, buffer, number + 1, VK_PIPELINE_STAGE_TOP_OF_PIPE_BIT);
    VK(CmdEndRenderPass)(buffer);
    if (stamps && !inside)
        stamp(gpu, buffer, number + 1,
              top ? VK_PIPELINE_STAGE_TOP_OF_PIPE_BIT : VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT);
    if (strcmp(kind, "copy") == 0)
        VK(CmdCopyQueryPoolResults)
    (buffer, gpu->stamps, number, 2, gpu->out, 0, 8, VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WAIT_BIT);
    CHECK(VK(EndCommandBuffer)(buffer));
    return buffer;
}

static void cost(const struct gpu *gpu, uint32_t count, const char *kind) {
    enum { FLIGHT = 2, WARM = 50 };
    VkFence fences[FLIGHT];
    VkCommandBuffer buffers[FLIGHT];
    double begun = now();
    for (uint32_t i = 0; i < FLIGHT; i++) {
        fences[i] = make_fence(gpu, VK_FENCE_CREATE_SIGNALED_BIT);
        buffers[i] = record_cost(gpu, 2 * i, kind);
    }
    for (uint32_t i = 0; i < count + WARM; i++) {
        if (i == WARM)
            begun = now();
        wait_for(gpu, fences[i % FLIGHT]);
        submit(gpu, buffers[i % FLIGHT], fences[i % FLIGHT]);
    }
    CHECK(VK(QueueWaitIdle)(gpu->queue));
    fprintf(log_file, "frame %.0f\n", (now() - begun) / count);
    for (uint32_t i = 0; i < FLIGHT; i++)
        VK(DestroyFence)(gpu->device, fences[i], NULL);
}

// ---- running

static uint64_t hash_of(const struct gpu *gpu) {
    uint64_t hash = 14695981039346656037u;
    for (uint32_t i = 0; i < gpu->size * gpu->size; i++)
        hash = (hash ^ gpu->pixels[i]) * 1099511628211u;
    return hash;
}

static void run(const char *mode, uint32_t count, const char *kind) {
    struct gpu gpu;
    const bool is_cost = strcmp(mode, "cost") == 0, is_instances = strcmp(mode, "instances") == 0;
    if (is_cost)
        rounds = 1;
    gpu_open(&gpu, is_cost ? COST_SIZE : SIZE);
    strcmp(mode, "dynamic") == 0     ? dynamic(&gpu, count)
    : strcmp(mode, "nested") == 0    ? nested(&gpu, count)
    : strcmp(mode, "images") == 0    ? images(&gpu, count)
    : strcmp(mode, "threads") == 0   ? threads(&gpu, count)
    : strcmp(mode, "destroyed") == 0 ? destroyed(&gpu, count)
    : is_cost                        ? cost(&gpu, count, kind)
                                     : render(&gpu, gpu.pool, is_instances ? 1 : count, 0);
    if (strcmp(mode, "destroyed") ==
        0) { // which no valid program does: nothing is freed, and the work may still run
        VK(DestroyDevice)(gpu.device, NULL);
        return;
    }
    if (!is_cost)
        printf("%016llx\n", (unsigned long long)hash_of(&gpu));
    if (strcmp(mode, "fork") == 0) {
        fflush(stdout);
        const pid_t child = fork();
        if (child == 0)
            _Exit(0);
        waitpid(child, NULL, 0);
    }
    gpu_close(&gpu);
}

int main(int argc, char **argv) {
    const char *mode = argc > 3 ? argv[3] : "";
    const uint32_t count = argc > 4 ? (uint32_t)atoi(argv[4]) : 1;
    if (argc < 4 || (count > MOST && strcmp(mode, "cost") != 0))
        return 2;
    vertex_bytes = read_code(argv[1], "graphics.vert", vertex);
    fragment_bytes = read_code(argv[1], "graphics.frag", fragment);
    log_file = fopen(argv[2], "w");
    if (!log_file)
        return 5;
    const pid_t child = strcmp(mode, "fork") == 0 ? fork() : -1;
    for (uint32_t i = 0; i < (strcmp(mode, "instances") == 0 ? count : 1); i++) {
        open_vulkan();
        run(mode, count, argc > 5 ? argv[5] : "none");
        if (strcmp(mode, "instances") == 0)
            run(mode, count, "none");
        VK(DestroyInstance)(instance, NULL);
    }
    if (child > 0)
        waitpid(child, NULL, 0);
    for (int i = 0; i < FUNCTIONS; i++)
        if (counts[i])
            fprintf(log_file, "call %s %llu\n", names[i], (unsigned long long)counts[i]);
    fprintf(log_file, "executed pass %llu\nexecuted draw %llu\nexecuted clear %llu\nexecuted copy %llu\n",
            (unsigned long long)executed[PASSES], (unsigned long long)executed[DRAWS],
            (unsigned long long)executed[CLEARS], (unsigned long long)executed[COPIES]);
    fclose(log_file);
    return 0;
}
