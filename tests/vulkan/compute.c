// SPDX-License-Identifier: Apache-2.0
// A program of Vulkan's compute that knows nothing of TraceSmith. For test_compute.sh.
//
//     compute SHADER STAMPS MODE [N]
//
// It prints a hash of what it has computed, and writes its own timestamps around the first dispatch of each execution to STAMPS,
// a line of two ns each. One execution is a fill, two dispatches of 4,096 work-items, and a copy of 16,384 bytes, with 4 barriers.
// Modes:
//     repeat N         one command buffer, recorded once, executed N times, with a wait for its fence each time
//     flight N         N command buffers, each executed once, without waiting in between
//     again N          one command buffer, recorded and executed N times, after waits for a timeline semaphore; vkQueueSubmit2
//     secondary N      the commands are in a secondary buffer
//     simultaneous N   one command buffer, which may be pending more than once, executed N times without waiting
//     threads N        4 threads with a device each, N executions each
//     pools N          N command buffers, in pools that are reset, and destroyed with their buffers
//     queues N         N command buffers on one queue and N on another; each waits for a semaphore of the one before
//     exits N          ends without waiting, and destroys nothing
//     forever          until it is killed
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <vulkan/vulkan.h>

enum { ITEMS = 4096, BYTES = ITEMS * 4, MOST = 4096 };

#define CHECK(call)                                                                                          \
    do {                                                                                                     \
        const VkResult result = (call);                                                                      \
        if (result != VK_SUCCESS) {                                                                          \
            fprintf(stderr, "%s: %d\n", #call, result);                                                      \
            exit(1);                                                                                         \
        }                                                                                                    \
    } while (0)

struct gpu {
    VkDevice device;
    VkQueue queue;
    VkDeviceMemory memory;
    VkBuffer data, copy;
    uint32_t *at; // both buffers
    VkDescriptorSetLayout set_layout;
    VkDescriptorPool set_pool;
    VkDescriptorSet set;
    VkShaderModule module;
    VkPipelineLayout layout;
    VkPipeline pipeline;
    VkCommandPool pool;
    VkQueryPool stamps;
    double period;
};

static VkInstance instance;
static VkPhysicalDevice physical;
static uint32_t queue_count = 1; // of a device
static uint32_t *code;
static size_t code_bytes;
static FILE *stamps_file;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void read_shader(const char *path) {
    FILE *file = fopen(path, "rb");
    code = malloc(1 << 16);
    code_bytes = file ? fread(code, 1, 1 << 16, file) : 0;
    if (!code_bytes)
        exit(2);
    fclose(file);
}

static void make_buffer(const struct gpu *gpu, VkBuffer *out, VkDeviceSize offset) {
    const VkBufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                                     .size = BYTES,
                                     .usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT |
                                              VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
                                              VK_BUFFER_USAGE_TRANSFER_DST_BIT};
    VkMemoryRequirements needs;
    CHECK(vkCreateBuffer(gpu->device, &info, NULL, out));
    vkGetBufferMemoryRequirements(gpu->device, *out, &needs);
    if (needs.size > BYTES)
        exit(3);
    CHECK(vkBindBufferMemory(gpu->device, *out, gpu->memory, offset));
}

static void make_memory(struct gpu *gpu) {
    VkPhysicalDeviceMemoryProperties memory;
    const VkMemoryPropertyFlags wanted =
        VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
    VkMemoryAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
                                 .allocationSize = 2 * BYTES};
    vkGetPhysicalDeviceMemoryProperties(physical, &memory);
    while ((memory.memoryTypes[info.memoryTypeIndex].propertyFlags & wanted) != wanted)
        info.memoryTypeIndex++;
    CHECK(vkAllocateMemory(gpu->device, &info, NULL, &gpu->memory));
    make_buffer(gpu, &gpu->data, 0);
    make_buffer(gpu, &gpu->copy, BYTES);
    CHECK(vkMapMemory(gpu->device, gpu->memory, 0, VK_WHOLE_SIZE, 0, (void **)&gpu->at));
    memset(gpu->at, 0, 2 * BYTES);
}

static void make_pipeline(struct gpu *gpu) {
    const VkDescriptorSetLayoutBinding binding = {.descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                                                  .descriptorCount = 1,
                                                  .stageFlags = VK_SHADER_STAGE_COMPUTE_BIT};
    const VkDescriptorSetLayoutCreateInfo set_layout = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO,
        .bindingCount = 1,
        .pBindings = &binding};
    CHECK(vkCreateDescriptorSetLayout(gpu->device, &set_layout, NULL, &gpu->set_layout));
    const VkDescriptorPoolSize size = {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1};
    const VkDescriptorPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO,
                                             .maxSets = 1,
                                             .poolSizeCount = 1,
                                             .pPoolSizes = &size};
    CHECK(vkCreateDescriptorPool(gpu->device, &pool, NULL, &gpu->set_pool));
    const VkDescriptorSetAllocateInfo sets = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
                                              .descriptorPool = gpu->set_pool,
                                              .descriptorSetCount = 1,
                                              .pSetLayouts = &gpu->set_layout};
    CHECK(vkAllocateDescriptorSets(gpu->device, &sets, &gpu->set));
    const VkDescriptorBufferInfo buffer = {gpu->data, 0, VK_WHOLE_SIZE};
    const VkWriteDescriptorSet write = {.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                                        .dstSet = gpu->set,
                                        .descriptorCount = 1,
                                        .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                                        .pBufferInfo = &buffer};
    vkUpdateDescriptorSets(gpu->device, 1, &write, 0, NULL);
    const VkPipelineLayoutCreateInfo layout = {.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
                                               .setLayoutCount = 1,
                                               .pSetLayouts = &gpu->set_layout};
    CHECK(vkCreatePipelineLayout(gpu->device, &layout, NULL, &gpu->layout));
    const VkShaderModuleCreateInfo module = {
        .sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO, .codeSize = code_bytes, .pCode = code};
    CHECK(vkCreateShaderModule(gpu->device, &module, NULL, &gpu->module));
    const VkComputePipelineCreateInfo pipeline = {
        .sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
        .stage = {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                  .stage = VK_SHADER_STAGE_COMPUTE_BIT,
                  .module = gpu->module,
                  .pName = "main"},
        .layout = gpu->layout};
    CHECK(vkCreateComputePipelines(gpu->device, VK_NULL_HANDLE, 1, &pipeline, NULL, &gpu->pipeline));
}

static void gpu_open(struct gpu *gpu) {
    const float priorities[] = {1, 1};
    const VkDeviceQueueCreateInfo queue = {.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
                                           .queueCount = queue_count,
                                           .pQueuePriorities = priorities};
    VkPhysicalDeviceVulkan13Features features13 = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES, .synchronization2 = VK_TRUE};
    const VkPhysicalDeviceVulkan12Features features = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES,
        .pNext = &features13,
        .timelineSemaphore = VK_TRUE};
    const VkDeviceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
                                     .pNext = &features,
                                     .queueCreateInfoCount = 1,
                                     .pQueueCreateInfos = &queue};
    VkPhysicalDeviceProperties properties;
    vkGetPhysicalDeviceProperties(physical, &properties);
    gpu->period = (double)properties.limits.timestampPeriod;
    CHECK(vkCreateDevice(physical, &info, NULL, &gpu->device));
    vkGetDeviceQueue(gpu->device, 0, 0, &gpu->queue);
    make_memory(gpu);
    make_pipeline(gpu);
    const VkCommandPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                          .flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT};
    CHECK(vkCreateCommandPool(gpu->device, &pool, NULL, &gpu->pool));
    const VkQueryPoolCreateInfo stamps = {.sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO,
                                          .queryType = VK_QUERY_TYPE_TIMESTAMP,
                                          .queryCount = 2 * MOST};
    CHECK(vkCreateQueryPool(gpu->device, &stamps, NULL, &gpu->stamps));
}

static void gpu_close(struct gpu *gpu) {
    vkDestroyQueryPool(gpu->device, gpu->stamps, NULL);
    vkDestroyCommandPool(gpu->device, gpu->pool, NULL);
    vkDestroyPipeline(gpu->device, gpu->pipeline, NULL);
    vkDestroyShaderModule(gpu->device, gpu->module, NULL);
    vkDestroyPipelineLayout(gpu->device, gpu->layout, NULL);
    vkDestroyDescriptorPool(gpu->device, gpu->set_pool, NULL);
    vkDestroyDescriptorSetLayout(gpu->device, gpu->set_layout, NULL);
    vkDestroyBuffer(gpu->device, gpu->data, NULL);
    vkDestroyBuffer(gpu->device, gpu->copy, NULL);
    vkFreeMemory(gpu->device, gpu->memory, NULL);
    vkDestroyDevice(gpu->device, NULL);
}

// ---- recording

static VkCommandBuffer allocate(const struct gpu *gpu, VkCommandPool pool, VkCommandBufferLevel level) {
    VkCommandBuffer buffer;
    const VkCommandBufferAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                              .commandPool = pool,
                                              .level = level,
                                              .commandBufferCount = 1};
    CHECK(vkAllocateCommandBuffers(gpu->device, &info, &buffer));
    return buffer;
}

static void begin(VkCommandBuffer buffer, VkCommandBufferUsageFlags flags) {
    const VkCommandBufferInheritanceInfo inheritance = {
        .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_INHERITANCE_INFO};
    const VkCommandBufferBeginInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
                                           .flags = flags,
                                           .pInheritanceInfo = &inheritance};
    CHECK(vkBeginCommandBuffer(buffer, &info));
}

static void barrier(VkCommandBuffer buffer) {
    const VkMemoryBarrier all = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
                                 .srcAccessMask = VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT,
                                 .dstAccessMask = VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT};
    vkCmdPipelineBarrier(buffer, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, 0, 1,
                         &all, 0, NULL, 0, NULL);
}

// The first half of `data` is kept from execution to execution, so that the result is that of all.
static void record(const struct gpu *gpu, VkCommandBuffer buffer, uint32_t stamp) {
    const VkBufferCopy region = {.size = BYTES};
    barrier(buffer);
    vkCmdFillBuffer(buffer, gpu->data, BYTES / 2, BYTES / 2, 7);
    barrier(buffer);
    vkCmdBindPipeline(buffer, VK_PIPELINE_BIND_POINT_COMPUTE, gpu->pipeline);
    vkCmdBindDescriptorSets(buffer, VK_PIPELINE_BIND_POINT_COMPUTE, gpu->layout, 0, 1, &gpu->set, 0, NULL);
    if (stamp != UINT32_MAX) {
        vkCmdResetQueryPool(buffer, gpu->stamps, stamp, 2);
        vkCmdWriteTimestamp(buffer, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, gpu->stamps, stamp);
    }
    vkCmdDispatch(buffer, ITEMS / 64, 1, 1);
    if (stamp != UINT32_MAX)
        vkCmdWriteTimestamp(buffer, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, gpu->stamps, stamp + 1);
    barrier(buffer);
    vkCmdDispatch(buffer, ITEMS / 64, 1, 1);
    barrier(buffer);
    vkCmdCopyBuffer(buffer, gpu->data, gpu->copy, 1, &region);
}

static void say_stamps(const struct gpu *gpu, uint32_t first, uint32_t executions) {
    uint64_t at[2];
    pthread_mutex_lock(&mutex);
    for (uint32_t i = 0; i < executions; i++) {
        CHECK(vkGetQueryPoolResults(gpu->device, gpu->stamps, first + 2 * i, 2, sizeof at, at, sizeof at[0],
                                    VK_QUERY_RESULT_64_BIT));
        fprintf(stamps_file, "%.0f %.0f\n", (double)at[0] * gpu->period, (double)at[1] * gpu->period);
    }
    fflush(stamps_file);
    pthread_mutex_unlock(&mutex);
}

static void submit(const struct gpu *gpu, VkCommandBuffer buffer, VkFence fence) {
    const VkSubmitInfo info = {
        .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .commandBufferCount = 1, .pCommandBuffers = &buffer};
    CHECK(vkQueueSubmit(gpu->queue, 1, &info, fence));
}

static VkFence make_fence(const struct gpu *gpu) {
    VkFence fence;
    const VkFenceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
    CHECK(vkCreateFence(gpu->device, &info, NULL, &fence));
    return fence;
}

// ---- modes

static void repeat(const struct gpu *gpu, uint32_t count) {
    VkFence fence = make_fence(gpu);
    VkCommandBuffer buffer = allocate(gpu, gpu->pool, VK_COMMAND_BUFFER_LEVEL_PRIMARY);
    begin(buffer, 0);
    record(gpu, buffer, 0);
    CHECK(vkEndCommandBuffer(buffer));
    for (uint32_t i = 0; i < count; i++) {
        submit(gpu, buffer, fence);
        CHECK(vkWaitForFences(gpu->device, 1, &fence, VK_TRUE, UINT64_MAX));
        CHECK(vkResetFences(gpu->device, 1, &fence));
        say_stamps(gpu, 0, 1);
    }
    vkDestroyFence(gpu->device, fence, NULL);
}

static void flight(const struct gpu *gpu, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        VkCommandBuffer buffer = allocate(gpu, gpu->pool, VK_COMMAND_BUFFER_LEVEL_PRIMARY);
        begin(buffer, VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT);
        record(gpu, buffer, 2 * i);
        CHECK(vkEndCommandBuffer(buffer));
        submit(gpu, buffer, VK_NULL_HANDLE);
    }
    CHECK(vkQueueWaitIdle(gpu->queue));
    say_stamps(gpu, 0, count);
}

// Everything by vkGetDeviceProcAddr.
static void again(const struct gpu *gpu, uint32_t count) {
    PFN_vkQueueSubmit2 queue_submit = (PFN_vkQueueSubmit2)vkGetDeviceProcAddr(gpu->device, "vkQueueSubmit2");
    PFN_vkWaitSemaphores wait = (PFN_vkWaitSemaphores)vkGetDeviceProcAddr(gpu->device, "vkWaitSemaphores");
    const VkSemaphoreTypeCreateInfo type = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO,
                                            .semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE};
    const VkSemaphoreCreateInfo info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO, .pNext = &type};
    VkSemaphore semaphore;
    CHECK(vkCreateSemaphore(gpu->device, &info, NULL, &semaphore));
    VkCommandBuffer buffer = allocate(gpu, gpu->pool, VK_COMMAND_BUFFER_LEVEL_PRIMARY);
    for (uint64_t i = 1; i <= count; i++) {
        begin(buffer, VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT);
        record(gpu, buffer, 0);
        CHECK(vkEndCommandBuffer(buffer));
        const VkCommandBufferSubmitInfo buffers = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_SUBMIT_INFO,
                                                   .commandBuffer = buffer};
        const VkSemaphoreSubmitInfo before = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_SUBMIT_INFO,
                                              .semaphore = semaphore,
                                              .value = i - 1,
                                              .stageMask = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT};
        VkSemaphoreSubmitInfo after = before;
        after.value = i;
        const VkSubmitInfo2 submission = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO_2,
                                          .waitSemaphoreInfoCount = 1,
                                          .pWaitSemaphoreInfos = &before,
                                          .commandBufferInfoCount = 1,
                                          .pCommandBufferInfos = &buffers,
                                          .signalSemaphoreInfoCount = 1,
                                          .pSignalSemaphoreInfos = &after};
        CHECK(queue_submit(gpu->queue, 1, &submission, VK_NULL_HANDLE));
        const VkSemaphoreWaitInfo waited = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO,
                                            .semaphoreCount = 1,
                                            .pSemaphores = &semaphore,
                                            .pValues = &i};
        CHECK(wait(gpu->device, &waited, UINT64_MAX));
        say_stamps(gpu, 0, 1);
    }
    vkDestroySemaphore(gpu->device, semaphore, NULL);
}

// Both queues in turn: each execution waits for the one before, which was on the other.
static void queues(const struct gpu *gpu, uint32_t count) {
    const VkSemaphoreCreateInfo info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO};
    const VkPipelineStageFlags stage = VK_PIPELINE_STAGE_ALL_COMMANDS_BIT;
    VkQueue both[2] = {gpu->queue};
    VkSemaphore made[2 * MOST];
    vkGetDeviceQueue(gpu->device, 0, 1, &both[1]);
    for (uint32_t i = 0; i < 2 * count; i++) {
        VkCommandBuffer buffer = allocate(gpu, gpu->pool, VK_COMMAND_BUFFER_LEVEL_PRIMARY);
        begin(buffer, VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT);
        record(gpu, buffer, 2 * i);
        CHECK(vkEndCommandBuffer(buffer));
        CHECK(vkCreateSemaphore(gpu->device, &info, NULL, &made[i]));
        const VkSubmitInfo submission = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                                         .waitSemaphoreCount = i > 0,
                                         .pWaitSemaphores = i ? &made[i - 1] : NULL,
                                         .pWaitDstStageMask = &stage,
                                         .commandBufferCount = 1,
                                         .pCommandBuffers = &buffer,
                                         .signalSemaphoreCount = 1,
                                         .pSignalSemaphores = &made[i]};
        CHECK(vkQueueSubmit(both[i % 2], 1, &submission, VK_NULL_HANDLE));
    }
    CHECK(vkQueueWaitIdle(both[0]));
    CHECK(vkQueueWaitIdle(both[1]));
    say_stamps(gpu, 0, 2 * count);
    for (uint32_t i = 0; i < 2 * count; i++)
        vkDestroySemaphore(gpu->device, made[i], NULL);
}

static void secondary(const struct gpu *gpu, uint32_t count) {
    VkCommandBuffer inner = allocate(gpu, gpu->pool, VK_COMMAND_BUFFER_LEVEL_SECONDARY);
    VkCommandBuffer outer = allocate(gpu, gpu->pool, VK_COMMAND_BUFFER_LEVEL_PRIMARY);
    for (uint32_t i = 0; i < count; i++) {
        begin(inner, 0);
        record(gpu, inner, 0);
        CHECK(vkEndCommandBuffer(inner));
        begin(outer, 0);
        vkCmdExecuteCommands(outer, 1, &inner);
        CHECK(vkEndCommandBuffer(outer));
        submit(gpu, outer, VK_NULL_HANDLE);
        CHECK(vkDeviceWaitIdle(gpu->device));
        say_stamps(gpu, 0, 1);
    }
}

static void simultaneous(const struct gpu *gpu, uint32_t count) {
    VkCommandBuffer buffer = allocate(gpu, gpu->pool, VK_COMMAND_BUFFER_LEVEL_PRIMARY);
    begin(buffer, VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT);
    record(gpu, buffer, UINT32_MAX);
    CHECK(vkEndCommandBuffer(buffer));
    for (uint32_t i = 0; i < count; i++)
        submit(gpu, buffer, VK_NULL_HANDLE);
    CHECK(vkQueueWaitIdle(gpu->queue));
}

static void pools(const struct gpu *gpu, uint32_t count) {
    const VkCommandPoolCreateInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO};
    VkFence fence = make_fence(gpu);
    for (uint32_t i = 0; i < count; i++) {
        VkCommandPool pool;
        CHECK(vkCreateCommandPool(gpu->device, &info, NULL, &pool));
        VkCommandBuffer buffer = allocate(gpu, pool, VK_COMMAND_BUFFER_LEVEL_PRIMARY);
        for (int j = 0; j < 2; j++) { // unseen until its pool is reset or destroyed
            begin(buffer, 0);
            record(gpu, buffer, UINT32_MAX);
            CHECK(vkEndCommandBuffer(buffer));
            submit(gpu, buffer, fence);
            while (vkGetFenceStatus(gpu->device, fence) == VK_NOT_READY)
                usleep(100);
            CHECK(vkResetFences(gpu->device, 1, &fence));
            if (j == 0)
                CHECK(vkResetCommandPool(gpu->device, pool, 0));
        }
        if (i % 2)
            vkFreeCommandBuffers(gpu->device, pool, 1, &buffer);
        vkDestroyCommandPool(gpu->device, pool, NULL);
    }
    vkDestroyFence(gpu->device, fence, NULL);
}

static void exits(const struct gpu *gpu, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        VkCommandBuffer buffer = allocate(gpu, gpu->pool, VK_COMMAND_BUFFER_LEVEL_PRIMARY);
        begin(buffer, 0);
        record(gpu, buffer, UINT32_MAX);
        CHECK(vkEndCommandBuffer(buffer));
        submit(gpu, buffer, VK_NULL_HANDLE);
    }
    _Exit(puts("left") < 0 || fflush(stdout));
}

static void forever(const struct gpu *gpu) {
    repeat(gpu, 8);
    printf("running\n");
    fflush(stdout);
    simultaneous(gpu, 3);
    for (uint32_t i = 0; i < 5; i++) { // five executions without a wait
        VkCommandBuffer buffer = allocate(gpu, gpu->pool, VK_COMMAND_BUFFER_LEVEL_PRIMARY);
        begin(buffer, 0);
        record(gpu, buffer, UINT32_MAX);
        CHECK(vkEndCommandBuffer(buffer));
        submit(gpu, buffer, VK_NULL_HANDLE);
    }
    printf("submitted\n");
    fflush(stdout);
    for (;;)
        pause();
}

static uint64_t hash_of(const struct gpu *gpu) {
    uint64_t hash = 14695981039346656037u;
    for (uint32_t i = 0; i < 2 * ITEMS; i++)
        hash = (hash ^ gpu->at[i]) * 1099511628211u;
    return hash;
}

static uint32_t number;
static void *thread(void *out) {
    struct gpu gpu = {.device = VK_NULL_HANDLE};
    gpu_open(&gpu);
    repeat(&gpu, number);
    *(uint64_t *)out = hash_of(&gpu);
    gpu_close(&gpu);
    return NULL;
}

static void threads(void) {
    pthread_t ids[4];
    uint64_t hashes[4];
    for (int i = 0; i < 4; i++)
        pthread_create(&ids[i], NULL, thread, &hashes[i]);
    for (int i = 0; i < 4; i++) {
        pthread_join(ids[i], NULL);
        printf("%016llx\n", (unsigned long long)hashes[i]);
    }
}

int main(int argc, char **argv) {
    const VkApplicationInfo application = {.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
                                           .apiVersion = VK_API_VERSION_1_3};
    const VkInstanceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
                                       .pApplicationInfo = &application};
    uint32_t devices = 1;
    const char *mode = argc > 3 ? argv[3] : "";
    number = argc > 4 ? (uint32_t)atoi(argv[4]) : 1;
    if (argc < 4 || number > MOST)
        return 2;
    read_shader(argv[1]);
    stamps_file = fopen(argv[2], "w");
    CHECK(vkCreateInstance(&info, NULL, &instance));
    if (vkEnumeratePhysicalDevices(instance, &devices, &physical) < VK_SUCCESS || !devices || !stamps_file)
        return 4;
    if (strcmp(mode, "threads") == 0) {
        threads();
    } else {
        struct gpu gpu = {.device = VK_NULL_HANDLE};
        queue_count = strcmp(mode, "queues") == 0 ? 2 : 1;
        gpu_open(&gpu);
        strcmp(mode, "repeat") == 0         ? repeat(&gpu, number)
        : strcmp(mode, "flight") == 0       ? flight(&gpu, number)
        : strcmp(mode, "again") == 0        ? again(&gpu, number)
        : strcmp(mode, "secondary") == 0    ? secondary(&gpu, number)
        : strcmp(mode, "simultaneous") == 0 ? simultaneous(&gpu, number)
        : strcmp(mode, "pools") == 0        ? pools(&gpu, number)
        : strcmp(mode, "queues") == 0       ? queues(&gpu, number)
        : strcmp(mode, "exits") == 0        ? exits(&gpu, number)
                                            : forever(&gpu);
        printf("%016llx\n", (unsigned long long)hash_of(&gpu));
        gpu_close(&gpu);
    }
    vkDestroyInstance(instance, NULL);
    fclose(stamps_file);
    return 0;
}
