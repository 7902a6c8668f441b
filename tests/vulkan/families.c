// SPDX-License-Identifier: Apache-2.0
// families SHADER MODE FRAMES: each frame computes on one queue, copies on a queue of another family, and computes again on the first;
// a buffer and an image change their family, the image its layout with it. Prints a hash of the results. For test_frames.sh, with
// queues_layer.c. A submission waits for the one before:
//     binary     by semaphores, with values, which mean nothing for these
//     timeline   by values of a semaphore that is signaled before
//     early      by values, and the copies are submitted before what signals for them: only with as many queues in the driver, or if
//                a layer holds them back
//     host       by values, the first of which the host signals after everything is submitted
//     mixed      as binary, but the first waits for a value that the host signals after everything is submitted
//     push       as binary; the descriptors are pushed while commands are recorded
//     template   the same by an update template
//     refused    as host; prints what calls return after that, instead of a hash
//     waiting    the same, while other threads wait for the other queue and for results of a query: prints what their calls return
//     carried    as host, with a submission without commands between the host and the first; and the end is asked for before it is
//                waited for
//     event      by values; of the second frame by one that is signaled on the other queue by what was submitted in the first, after the
//                host has signaled for that, and the end is only asked for, by an event
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "setup.h"

enum { ITEMS = 4096, BYTES = ITEMS * 4, SIDE = 16, PIXELS = SIDE * SIDE * 4 };

static VkQueue queues[2]; // one of each family
static VkCommandPool pools[2];
static VkDeviceMemory memory, image_memory;
static VkBuffer data, out;
static uint8_t *at; // both buffers
static VkImage image;
static VkDescriptorSetLayout set_layout;
static VkDescriptorPool set_pool;
static VkDescriptorSet set;
static VkShaderModule module;
static VkPipelineLayout layout;
static VkPipeline pipeline;
static VkSemaphore timeline, signals[2];
static VkFence fence;
static VkEvent event;                      // null: none is set
static PFN_vkCmdPushDescriptorSetKHR push; // NULL: the set is bound
static PFN_vkCmdPushDescriptorSetWithTemplateKHR push_template;
static VkDescriptorUpdateTemplate template; // null: it is pushed without one

static void open_device(bool pushes) {
    static const char *const extension = VK_KHR_PUSH_DESCRIPTOR_EXTENSION_NAME;
    const float priority = 1;
    const VkDeviceQueueCreateInfo families[2] = {
        {.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO, .queueCount = 1, .pQueuePriorities = &priority},
        {.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
         .queueFamilyIndex = 1,
         .queueCount = 1,
         .pQueuePriorities = &priority}};
    const VkPhysicalDeviceVulkan12Features features = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES, .timelineSemaphore = VK_TRUE};
    const VkDeviceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
                                     .pNext = &features,
                                     .enabledExtensionCount = pushes,
                                     .ppEnabledExtensionNames = &extension,
                                     .queueCreateInfoCount = 2,
                                     .pQueueCreateInfos = families};
    uint32_t family_count = 0;
    open_instance();
    vkGetPhysicalDeviceQueueFamilyProperties(physical, &family_count, NULL);
    if (family_count < 2)
        exit(3);
    CHECK(vkCreateDevice(physical, &info, NULL, &device));
    if (pushes) {
        push = (PFN_vkCmdPushDescriptorSetKHR)vkGetDeviceProcAddr(device, "vkCmdPushDescriptorSetKHR");
        push_template = (PFN_vkCmdPushDescriptorSetWithTemplateKHR)vkGetDeviceProcAddr(
            device, "vkCmdPushDescriptorSetWithTemplateKHR");
    }
    for (uint32_t i = 0; i < 2; i++) {
        const VkCommandPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                              .flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT,
                                              .queueFamilyIndex = i};
        vkGetDeviceQueue(device, i, 0, &queues[i]);
        CHECK(vkCreateCommandPool(device, &pool, NULL, &pools[i]));
    }
}

static void make_buffers(void) {
    VkBufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                               .size = BYTES,
                               .usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT |
                                        VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT};
    VkMemoryRequirements needs;
    CHECK(vkCreateBuffer(device, &info, NULL, &data));
    info.size = BYTES + PIXELS;
    info.usage = VK_BUFFER_USAGE_TRANSFER_DST_BIT;
    CHECK(vkCreateBuffer(device, &info, NULL, &out));
    vkGetBufferMemoryRequirements(device, data, &needs);
    needs.size = 2 * BYTES + PIXELS;
    memory = allocate(&needs, VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT);
    CHECK(vkBindBufferMemory(device, data, memory, 0));
    vkGetBufferMemoryRequirements(device, out, &needs);
    CHECK(vkBindBufferMemory(device, out, memory, BYTES));
    CHECK(vkMapMemory(device, memory, 0, VK_WHOLE_SIZE, 0, (void **)&at));
    memset(at, 0, 2 * BYTES + PIXELS);
}

static void make_image(void) {
    const VkImageCreateInfo info = {.sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO,
                                    .imageType = VK_IMAGE_TYPE_2D,
                                    .format = VK_FORMAT_R8G8B8A8_UINT,
                                    .extent = {SIDE, SIDE, 1},
                                    .mipLevels = 1,
                                    .arrayLayers = 1,
                                    .samples = VK_SAMPLE_COUNT_1_BIT,
                                    .usage =
                                        VK_IMAGE_USAGE_TRANSFER_SRC_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT};
    image = make_bound_image(&info, &image_memory);
}

static void make_set(void) {
    const VkDescriptorSetLayoutBinding binding = {.descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                                                  .descriptorCount = 1,
                                                  .stageFlags = VK_SHADER_STAGE_COMPUTE_BIT};
    const VkDescriptorSetLayoutCreateInfo bindings = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO,
        .flags = push ? VK_DESCRIPTOR_SET_LAYOUT_CREATE_PUSH_DESCRIPTOR_BIT_KHR : 0,
        .bindingCount = 1,
        .pBindings = &binding};
    const VkDescriptorPoolSize size = {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1};
    const VkDescriptorPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO,
                                             .maxSets = 1,
                                             .poolSizeCount = 1,
                                             .pPoolSizes = &size};
    CHECK(vkCreateDescriptorSetLayout(device, &bindings, NULL, &set_layout));
    if (push)
        return;
    CHECK(vkCreateDescriptorPool(device, &pool, NULL, &set_pool));
    const VkDescriptorSetAllocateInfo sets = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
                                              .descriptorPool = set_pool,
                                              .descriptorSetCount = 1,
                                              .pSetLayouts = &set_layout};
    CHECK(vkAllocateDescriptorSets(device, &sets, &set));
    const VkDescriptorBufferInfo buffer = {data, 0, VK_WHOLE_SIZE};
    const VkWriteDescriptorSet write = {.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                                        .dstSet = set,
                                        .descriptorCount = 1,
                                        .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                                        .pBufferInfo = &buffer};
    vkUpdateDescriptorSets(device, 1, &write, 0, NULL);
}

static void make_pipeline(const char *path) {
    const VkPipelineLayoutCreateInfo sets = {.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
                                             .setLayoutCount = 1,
                                             .pSetLayouts = &set_layout};
    CHECK(vkCreatePipelineLayout(device, &sets, NULL, &layout));
    module = read_module(path);
    const VkComputePipelineCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
        .stage = {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                  .stage = VK_SHADER_STAGE_COMPUTE_BIT,
                  .module = module,
                  .pName = "main"},
        .layout = layout};
    CHECK(vkCreateComputePipelines(device, VK_NULL_HANDLE, 1, &info, NULL, &pipeline));
}

// The descriptor lies behind another word of what the template reads.
struct templated {
    uint64_t before;
    VkDescriptorBufferInfo info;
};

static void make_template(void) {
    const VkDescriptorUpdateTemplateEntry entry = {.descriptorCount = 1,
                                                   .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                                                   .offset = offsetof(struct templated, info),
                                                   .stride = sizeof(struct templated)};
    const VkDescriptorUpdateTemplateCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_UPDATE_TEMPLATE_CREATE_INFO,
        .descriptorUpdateEntryCount = 1,
        .pDescriptorUpdateEntries = &entry,
        .templateType = VK_DESCRIPTOR_UPDATE_TEMPLATE_TYPE_PUSH_DESCRIPTORS_KHR,
        .pipelineBindPoint = VK_PIPELINE_BIND_POINT_COMPUTE,
        .pipelineLayout = layout};
    CHECK(vkCreateDescriptorUpdateTemplate(device, &info, NULL, &template));
}

static void make_signals(bool events) {
    const VkSemaphoreTypeCreateInfo type = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO,
                                            .semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE};
    const VkSemaphoreCreateInfo values = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO, .pNext = &type},
                                binary = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO};
    const VkFenceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
    CHECK(vkCreateSemaphore(device, &values, NULL, &timeline));
    for (int i = 0; i < 2; i++)
        CHECK(vkCreateSemaphore(device, &binary, NULL, &signals[i]));
    CHECK(vkCreateFence(device, &info, NULL, &fence));
    const VkEventCreateInfo event_info = {.sType = VK_STRUCTURE_TYPE_EVENT_CREATE_INFO};
    if (events)
        CHECK(vkCreateEvent(device, &event_info, NULL, &event));
}

static void end(void) {
    vkDestroyFence(device, fence, NULL);
    vkDestroyEvent(device, event, NULL);
    vkDestroySemaphore(device, timeline, NULL);
    for (int i = 0; i < 2; i++) {
        vkDestroySemaphore(device, signals[i], NULL);
        vkDestroyCommandPool(device, pools[i], NULL);
    }
    vkDestroyDescriptorUpdateTemplate(device, template, NULL);
    vkDestroyPipeline(device, pipeline, NULL);
    vkDestroyShaderModule(device, module, NULL);
    vkDestroyPipelineLayout(device, layout, NULL);
    vkDestroyDescriptorPool(device, set_pool, NULL);
    vkDestroyDescriptorSetLayout(device, set_layout, NULL);
    vkDestroyImage(device, image, NULL);
    vkDestroyBuffer(device, data, NULL);
    vkDestroyBuffer(device, out, NULL);
    vkFreeMemory(device, memory, NULL);
    vkFreeMemory(device, image_memory, NULL);
    close_instance();
}

// ---- commands

static const VkAccessFlags all = VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT;

// A barrier of `data`; between families it is in both, of which the second acquires.
static void pass_data(VkCommandBuffer buffer, uint32_t from, uint32_t to) {
    const VkBufferMemoryBarrier barrier = {.sType = VK_STRUCTURE_TYPE_BUFFER_MEMORY_BARRIER,
                                           .srcAccessMask = all,
                                           .dstAccessMask = all,
                                           .srcQueueFamilyIndex = from,
                                           .dstQueueFamilyIndex = to,
                                           .buffer = data,
                                           .size = VK_WHOLE_SIZE};
    vkCmdPipelineBarrier(buffer, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, 0, 0,
                         NULL, 1, &barrier, 0, NULL);
}

static const VkImageSubresourceRange whole = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1};

static void pass_image(VkCommandBuffer buffer, VkImageLayout old, VkImageLayout new, uint32_t from,
                       uint32_t to) {
    const VkImageMemoryBarrier barrier = {.sType = VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER,
                                          .srcAccessMask = all,
                                          .dstAccessMask = all,
                                          .oldLayout = old,
                                          .newLayout = new,
                                          .srcQueueFamilyIndex = from,
                                          .dstQueueFamilyIndex = to,
                                          .image = image,
                                          .subresourceRange = whole};
    vkCmdPipelineBarrier(buffer, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, 0, 0,
                         NULL, 0, NULL, 1, &barrier);
}

static VkCommandBuffer begin(uint32_t family) {
    VkCommandBuffer buffer;
    const VkCommandBufferAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                              .commandPool = pools[family],
                                              .commandBufferCount = 1};
    const VkCommandBufferBeginInfo once = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
                                           .flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT};
    CHECK(vkAllocateCommandBuffers(device, &info, &buffer));
    CHECK(vkBeginCommandBuffer(buffer, &once));
    return buffer;
}

static void dispatch(VkCommandBuffer buffer) {
    vkCmdBindPipeline(buffer, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
    const VkDescriptorBufferInfo whole_data = {data, 0, VK_WHOLE_SIZE};
    const VkWriteDescriptorSet write = {.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                                        .descriptorCount = 1,
                                        .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                                        .pBufferInfo = &whole_data};
    const struct templated data_of = {.info = whole_data};
    if (template)
        push_template(buffer, template, layout, 0, &data_of);
    else if (push)
        push(buffer, VK_PIPELINE_BIND_POINT_COMPUTE, layout, 0, 1, &write);
    else
        vkCmdBindDescriptorSets(buffer, VK_PIPELINE_BIND_POINT_COMPUTE, layout, 0, 1, &set, 0, NULL);
    vkCmdDispatch(buffer, ITEMS / 64, 1, 1);
}

enum { FIRST = 0, OTHER = 1, NONE = -1 };
static const VkImageLayout written = VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL,
                           copied = VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL;

static VkCommandBuffer compute(uint32_t frame) {
    VkCommandBuffer buffer = begin(FIRST);
    const VkClearColorValue color = {.uint32 = {frame, 2, 3, 4}};
    vkCmdFillBuffer(buffer, data, 0, VK_WHOLE_SIZE, frame);
    pass_data(buffer, VK_QUEUE_FAMILY_IGNORED, VK_QUEUE_FAMILY_IGNORED);
    dispatch(buffer);
    pass_image(buffer, VK_IMAGE_LAYOUT_UNDEFINED, written, VK_QUEUE_FAMILY_IGNORED, VK_QUEUE_FAMILY_IGNORED);
    vkCmdClearColorImage(buffer, image, written, &color, 1, &whole);
    pass_data(buffer, FIRST, OTHER);
    pass_image(buffer, written, copied, FIRST, OTHER);
    CHECK(vkEndCommandBuffer(buffer));
    return buffer;
}

static VkCommandBuffer copy(void) {
    VkCommandBuffer buffer = begin(OTHER);
    const VkBufferCopy region = {.size = BYTES};
    const VkBufferImageCopy pixels = {.bufferOffset = BYTES,
                                      .imageSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1},
                                      .imageExtent = {SIDE, SIDE, 1}};
    pass_data(buffer, FIRST, OTHER);
    pass_image(buffer, written, copied, FIRST, OTHER);
    vkCmdCopyBuffer(buffer, data, out, 1, &region);
    vkCmdCopyImageToBuffer(buffer, image, copied, out, 1, &pixels);
    pass_data(buffer, OTHER, FIRST);
    CHECK(vkEndCommandBuffer(buffer));
    return buffer;
}

static VkCommandBuffer compute_again(void) {
    VkCommandBuffer buffer = begin(FIRST);
    pass_data(buffer, OTHER, FIRST);
    dispatch(buffer);
    if (event)
        vkCmdSetEvent(buffer, event, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT);
    CHECK(vkEndCommandBuffer(buffer));
    return buffer;
}

// ---- submissions

// Waits for a value, if there is one, and signals the next, or `other`.
static void submit_value_to(uint32_t family, VkCommandBuffer buffer, uint64_t wait, uint64_t signal,
                            VkSemaphore other) {
    const VkPipelineStageFlags stage = VK_PIPELINE_STAGE_ALL_COMMANDS_BIT;
    const VkTimelineSemaphoreSubmitInfo values = {.sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO,
                                                  .waitSemaphoreValueCount = wait != 0,
                                                  .pWaitSemaphoreValues = &wait,
                                                  .signalSemaphoreValueCount = 1,
                                                  .pSignalSemaphoreValues = &signal};
    const VkSubmitInfo info = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                               .pNext = &values,
                               .waitSemaphoreCount = wait != 0,
                               .pWaitSemaphores = &timeline,
                               .pWaitDstStageMask = &stage,
                               .commandBufferCount = buffer != VK_NULL_HANDLE,
                               .pCommandBuffers = &buffer,
                               .signalSemaphoreCount = 1,
                               .pSignalSemaphores = other ? &other : &timeline};
    CHECK(vkQueueSubmit(queues[family], 1, &info, VK_NULL_HANDLE));
}

static void submit_value(uint32_t family, VkCommandBuffer buffer, uint64_t wait, uint64_t signal) {
    submit_value_to(family, buffer, wait, signal, VK_NULL_HANDLE);
}

static void submit_binary(uint32_t family, VkCommandBuffer buffer, int wait, int signal, VkFence done) {
    const VkPipelineStageFlags stage = VK_PIPELINE_STAGE_ALL_COMMANDS_BIT;
    const uint64_t ignored = 77;
    const VkTimelineSemaphoreSubmitInfo values = {.sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO,
                                                  .waitSemaphoreValueCount = wait != NONE,
                                                  .pWaitSemaphoreValues = &ignored,
                                                  .signalSemaphoreValueCount = signal != NONE,
                                                  .pSignalSemaphoreValues = &ignored};
    const VkSubmitInfo info = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                               .pNext = &values,
                               .waitSemaphoreCount = wait != NONE,
                               .pWaitSemaphores = wait == NONE ? NULL : &signals[wait],
                               .pWaitDstStageMask = &stage,
                               .commandBufferCount = 1,
                               .pCommandBuffers = &buffer,
                               .signalSemaphoreCount = signal != NONE,
                               .pSignalSemaphores = signal == NONE ? NULL : &signals[signal]};
    CHECK(vkQueueSubmit(queues[family], 1, &info, done));
}

static void frame_binary(VkCommandBuffer buffers[3]) {
    submit_binary(FIRST, buffers[0], NONE, 0, VK_NULL_HANDLE);
    submit_binary(OTHER, buffers[1], 0, 1, VK_NULL_HANDLE);
    submit_binary(FIRST, buffers[2], 1, NONE, fence);
    CHECK(vkWaitForFences(device, 1, &fence, VK_TRUE, UINT64_MAX));
    CHECK(vkResetFences(device, 1, &fence));
}

static void signal_value(uint64_t value) {
    const VkSemaphoreSignalInfo signal = {
        .sType = VK_STRUCTURE_TYPE_SEMAPHORE_SIGNAL_INFO, .semaphore = timeline, .value = value};
    CHECK(vkSignalSemaphore(device, &signal));
}

static void frame_mixed(VkCommandBuffer buffers[3], uint64_t value) {
    submit_value_to(FIRST, buffers[0], value, 0, signals[0]);
    submit_binary(OTHER, buffers[1], 0, 1, VK_NULL_HANDLE);
    submit_binary(FIRST, buffers[2], 1, NONE, fence);
    signal_value(value);
    CHECK(vkWaitForFences(device, 1, &fence, VK_TRUE, UINT64_MAX));
    CHECK(vkResetFences(device, 1, &fence));
}

// What the driver says of a submission after its call has returned is said by the calls that could wait for it.
static void print_answers(VkCommandBuffer buffer) {
    const uint64_t value = 13;
    uint64_t now;
    const VkSubmitInfo info = {
        .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .commandBufferCount = 1, .pCommandBuffers = &buffer};
    const VkSemaphoreWaitInfo wait = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO,
                                      .semaphoreCount = 1,
                                      .pSemaphores = &timeline,
                                      .pValues = &value};
    printf("%d", vkWaitSemaphores(device, &wait, UINT64_MAX));
    printf(" %d", vkWaitForFences(device, 1, &fence, VK_TRUE, UINT64_MAX));
    printf(" %d", vkGetFenceStatus(device, fence));
    printf(" %d", vkGetSemaphoreCounterValue(device, timeline, &now));
    printf(" %d", vkQueueSubmit(queues[FIRST], 1, &info, fence));
    printf(" %d", vkQueueWaitIdle(queues[FIRST]));
    printf(" %d\n", vkDeviceWaitIdle(device));
}

static void frame_refused(VkCommandBuffer buffers[3]) {
    submit_value(FIRST, buffers[0], 11, 12);
    submit_value(OTHER, buffers[1], 12, 13);
    signal_value(11);
    print_answers(buffers[2]);
}

struct waiter {
    pthread_t thread;
    atomic_int id;    // of the kernel; 0: it does not wait yet
    VkQueryPool pool; // null: it waits for the queue
    VkResult result;
};

static void *wait_in_driver(void *context) {
    struct waiter *waiter = context;
    uint64_t value;
    waiter->id = (int)syscall(SYS_gettid);
    waiter->result =
        waiter->pool ? vkGetQueryPoolResults(device, waiter->pool, 0, 1, sizeof value, &value, sizeof value,
                                             VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WAIT_BIT)
                     : vkQueueWaitIdle(queues[OTHER]);
    return NULL;
}

// Until the thread sleeps.
static void wait_for(const struct waiter *waiter) {
    char path[64], state = 0;
    while (state != 'S') {
        sched_yield();
        snprintf(path, sizeof path, "/proc/self/task/%d/stat", waiter->id);
        FILE *file = waiter->id ? fopen(path, "r") : NULL;
        if (file && fscanf(file, "%*d %*[^)]) %c", &state) != 1)
            state = 0;
        if (file)
            fclose(file);
    }
}

static void frame_waiting(VkCommandBuffer buffers[3]) {
    const VkQueryPoolCreateInfo info = {.sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO,
                                        .queryType = VK_QUERY_TYPE_TIMESTAMP,
                                        .queryCount = 1};
    struct waiter waiters[2] = {{.id = 0}, {.id = 0}};
    CHECK(vkCreateQueryPool(device, &info, NULL, &waiters[1].pool));
    for (int i = 0; i < 2; i++) {
        if (pthread_create(&waiters[i].thread, NULL, wait_in_driver, &waiters[i]) != 0)
            exit(3);
        wait_for(&waiters[i]);
    }
    submit_value(FIRST, buffers[0], 11, 12);
    signal_value(11);
    for (int i = 0; i < 2; i++) {
        pthread_join(waiters[i].thread, NULL);
        printf("%d\n", waiters[i].result);
    }
}

static void frame_values(VkCommandBuffer buffers[3], uint64_t from, const char *mode) {
    const bool carried = strcmp(mode, "carried") == 0, asked = event && from == 20,
               host = carried || asked || strcmp(mode, "host") == 0;
    const uint64_t last = from + 5;
    if (event)
        CHECK(vkResetEvent(device, event));
    if (carried)
        submit_value(OTHER, VK_NULL_HANDLE, from + 1, from + 2);
    if (strcmp(mode, "early") == 0) {
        submit_value(OTHER, buffers[1], from + 3, from + 4);
        submit_value(FIRST, buffers[0], 0, from + 3);
    } else {
        submit_value(FIRST, buffers[0], carried || asked ? from + 2 : host ? from + 1 : 0, from + 3);
        submit_value(OTHER, buffers[1], from + 3, from + 4);
    }
    submit_value(FIRST, buffers[2], from + 4, last);
    if (event && from == 10)
        submit_value(OTHER, VK_NULL_HANDLE, from + 11, from + 12);
    if (host)
        signal_value(from + 1);
    while (asked && vkGetEventStatus(device, event) != VK_EVENT_SET)
        ;
    for (uint64_t now = 0; carried && now < last;)
        CHECK(vkGetSemaphoreCounterValue(device, timeline, &now));
    const VkSemaphoreWaitInfo wait = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO,
                                      .semaphoreCount = 1,
                                      .pSemaphores = &timeline,
                                      .pValues = &last};
    CHECK(vkWaitSemaphores(device, &wait, UINT64_MAX));
}

static uint64_t hash(void) {
    uint64_t value = hash_start;
    for (size_t i = 0; i < 2 * BYTES + PIXELS; i++)
        value = hash_more(value, at[i]);
    return value;
}

int main(int argc, char **argv) {
    if (argc != 4)
        return 2;
    const bool templates = strcmp(argv[2], "template") == 0;
    open_device(templates || strcmp(argv[2], "push") == 0);
    make_buffers();
    make_image();
    make_set();
    make_pipeline(argv[1]);
    if (templates)
        make_template();
    make_signals(strcmp(argv[2], "event") == 0);
    for (uint32_t frame = 1; frame <= (uint32_t)atoi(argv[3]); frame++) {
        VkCommandBuffer buffers[3] = {compute(frame), copy(), compute_again()};
        if (strcmp(argv[2], "binary") == 0 || push)
            frame_binary(buffers);
        else if (strcmp(argv[2], "mixed") == 0)
            frame_mixed(buffers, frame);
        else if (strcmp(argv[2], "refused") == 0)
            frame_refused(buffers);
        else if (strcmp(argv[2], "waiting") == 0)
            frame_waiting(buffers);
        else
            frame_values(buffers, 10 * (uint64_t)frame, argv[2]);
    }
    if (strcmp(argv[2], "refused") == 0 || strcmp(argv[2], "waiting") == 0)
        return 0;
    CHECK(vkDeviceWaitIdle(device));
    printf("%016llx\n", (unsigned long long)hash());
    end();
    return 0;
}
