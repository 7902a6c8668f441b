// SPDX-License-Identifier: Apache-2.0
// Commands of newer Vulkan and of extensions on a driver that executes nothing (fuzz/vulkan_double.h, simulated): vertex buffers with sizes
// and strides, draws whose number is in a buffer, descriptors that are pushed. As they are they are replayed, with one value that is not
// allowed they are refused. And what a few bytes of a hostile recording may cost: sets and their layouts, searched for and filled, against
// brute force.
#include "recording/vulkan/headers.h"
#include "support/test.h"

#ifdef RECORDING_HAS_VULKAN

#include "replay/vulkan/check.h"
#include "replay/vulkan_scene.h"

// ---- vertex buffers

static void add_dynamic(VkDynamicState state) {
    scene.dynamic[scene.dynamic_count++] = state;
}

static void test_vertices(void **state) {
    static const char bounds[] = "vkCmdBindVertexBuffers2: it has values out of the bounds",
                      stride[] = "a vertex buffer whose stride is not set";
    (void)state;
    ACCEPTED(PUT_IN(CmdBindVertexBuffers2));
    ACCEPTED((PUT_IN(CmdBindVertexBuffers2), LEFT_OUT(CmdBindVertexBuffers)));
    ACCEPTED((PUT_IN(CmdBindVertexBuffers2), scene.bound2.z = scene.bound2.s = NULL));
    ACCEPTED((PUT_IN(CmdBindVertexBuffers2), scene.size = VK_WHOLE_SIZE));
    REFUSED((PUT_IN(CmdBindVertexBuffers2), scene.size = SIZE + 1), bounds);
    REFUSED((PUT_IN(CmdBindVertexBuffers2), scene.from = 8, scene.size = UINT64_MAX - 1), bounds);
    REFUSED((PUT_IN(CmdBindVertexBuffers2), LEFT_OUT(CmdBindVertexBuffers), scene.from = SIZE + 1,
             scene.bound2.z = NULL),
            bounds);
    REFUSED((PUT_IN(CmdBindVertexBuffers2), scene.bound2.f = DOUBLE_LIMIT), bounds);
    REFUSED((PUT_IN(CmdBindVertexBuffers2), scene.stride = DOUBLE_LIMIT + 1), "the stride of vertices");
    REFUSED(
        (PUT_IN(CmdBindVertexBuffers2), scene.buffer.usage &= ~(VkFlags)VK_BUFFER_USAGE_VERTEX_BUFFER_BIT),
        "a buffer is not made for this usage");
    REFUSED(add_dynamic(VK_DYNAMIC_STATE_VERTEX_INPUT_BINDING_STRIDE), stride);
    ACCEPTED((add_dynamic(VK_DYNAMIC_STATE_VERTEX_INPUT_BINDING_STRIDE), PUT_IN(CmdBindVertexBuffers2)));
    REFUSED((add_dynamic(VK_DYNAMIC_STATE_VERTEX_INPUT_BINDING_STRIDE), PUT_IN(CmdBindVertexBuffers2),
             scene.bound2.s = NULL),
            stride);
}

// ---- draws whose number is in a buffer

// Nothing of the submission writes to the buffer.
static void keep_buffer(void) {
    LEFT_OUT(CmdCopyBuffer);
    LEFT_OUT(CmdDispatch);
    LEFT_OUT(CmdDispatchIndirect);
}

static void test_counted(void **state) {
    static const char bounds[] = "it has values out of the bounds", aligned[] = "not aligned, or too small",
                      instance[] = "begins with an instance that is not the first";
    (void)state;
    ACCEPTED(PUT_IN(CmdDrawIndirectCount));
    ACCEPTED(PUT_IN(CmdDrawIndexedIndirectCount));
    ACCEPTED((PUT_IN(CmdDrawIndirectCount), scene.counted.n = 0));
    REFUSED((PUT_IN(CmdDrawIndirectCount), scene.counted.n = SIZE / 16 + 1), bounds);
    REFUSED((PUT_IN(CmdDrawIndirectCount), scene.counted.n = UINT32_MAX), bounds);
    REFUSED((PUT_IN(CmdDrawIndirectCount), scene.counted.p = SIZE), bounds);
    REFUSED((PUT_IN(CmdDrawIndirectCount), scene.counted.p = 2), aligned);
    REFUSED((PUT_IN(CmdDrawIndirectCount), scene.counted.o = 2), aligned);
    REFUSED((PUT_IN(CmdDrawIndirectCount), scene.counted.s = 12), aligned);
    REFUSED((PUT_IN(CmdDrawIndexedIndirectCount), scene.counted_indexed.s = 16), aligned);
    REFUSED((PUT_IN(CmdDrawIndexedIndirectCount), LEFT_OUT(CmdBindIndexBuffer), LEFT_OUT(CmdDrawIndexed)),
            "no index buffer is bound");
    REFUSED((PUT_IN(CmdDrawIndirectCount), LEFT_OUT(CmdBindVertexBuffers)),
            "a vertex buffer that is not bound");
    // What the buffer has: the number, which limits the draws that are read, and the draws.
    REFUSED((PUT_IN(CmdDrawIndirectCount), keep_buffer(), vulkan_double.fill = DOUBLE_LIMIT + 1),
            "more indirect draws than the device allows");
    REFUSED((PUT_IN(CmdDrawIndirectCount), keep_buffer(), vulkan_double.fill = 2), instance);
    ACCEPTED((PUT_IN(CmdDrawIndirectCount), keep_buffer(), vulkan_double.fill = 2, scene.counted.n = 0));
    REFUSED((PUT_IN(CmdDrawIndexedIndirectCount), keep_buffer(), vulkan_double.fill = 2), instance);
    REFUSED((PUT_IN(CmdDrawIndexedIndirectCount), keep_buffer(), vulkan_double.fill = 5),
            "reads indexes beyond the end of the index buffer");
    // Of a buffer that a command before it writes to nothing is known.
    ACCEPTED((PUT_IN(CmdDrawIndirectCount), LEFT_OUT(CmdDispatchIndirect), vulkan_double.fill = 2));
}

// ---- descriptors that are pushed

static void test_pushed(void **state) {
    (void)state;
    ACCEPTED(PUT_IN(CmdPushDescriptorSetKHR));
    ACCEPTED((PUT_IN(CmdPushDescriptorSetKHR), LEFT_OUT(CmdBindDescriptorSets)));
    REFUSED((PUT_IN(CmdPushDescriptorSetKHR), scene.pushed.n = 0), "a push has no descriptors");
    REFUSED((PUT_IN(CmdPushDescriptorSetKHR), scene.pushed.t = 1),
            "a set that the pipeline layout does not have");
    REFUSED((PUT_IN(CmdPushDescriptorSetKHR), scene.pushed.l = AS(VkPipelineLayout, SET)),
            "vkCmdPushDescriptorSetKHR");
    REFUSED((PUT_IN(CmdPushDescriptorSetKHR), scene.described.offset = SIZE, scene.writes = 0),
            "vkCmdPushDescriptorSetKHR");
}

// ---- a run by hand

static struct vulkan_device device;
static struct vulkan_run run;
static char why[256];

static void take_why(void *context, const char *text) {
    (void)context;
    snprintf(why, sizeof why, "%s", text);
}

static void begin_run(void) {
    static const struct execute_client client = {.note = take_why};
    device = (struct vulkan_device){.handle = AS(VkDevice, double_make(DOUBLE_OTHER)),
                                    .limits.maxStorageBufferRange = SIZE};
    run = (struct vulkan_run){.client = &client, .device = &device, .changes = 1};
#define POINT(name, ...) device.name = double_##name;
    VULKAN_REPLAY_ALL(POINT)
}

static void end_run(void) {
    for (size_t i = run.live_count; i-- > 0;)
        vulkan_release(&run.lives[i]);
    chunk_table_finish(&run.by_number);
    table_finish(&run.by_handle);
    vulkan_bindings_end(&run);
    free(run.lives);
    device.DestroyDevice(device.handle, NULL);
    assert_false(double_finish());
}

static struct vulkan_live *add_set_layout(uint64_t number, const VkDescriptorSetLayoutBinding *bindings,
                                          uint32_t count) {
    const VkDescriptorSetLayoutCreateInfo info = {.bindingCount = count, .pBindings = bindings};
    struct vulkan_live *live = vulkan_add(&run, number, VULKAN_SET_LAYOUT, &device);
    VkDescriptorSetLayout handle;
    assert_non_null(live);
    assert_int_equal(device.CreateDescriptorSetLayout(device.handle, &info, NULL, &handle), VK_SUCCESS);
    live->handle = (uint64_t)(uintptr_t)handle;
    vulkan_know_set_layout(&run, live, &info);
    vulkan_know_handle(&run, live);
    return live;
}

static void add_made(uint64_t number, enum vulkan_kind kind, uint32_t usage) {
    struct vulkan_live *live = vulkan_add(&run, number, kind, &device);
    assert_non_null(live);
    if (kind == VULKAN_BUFFER) {
        const VkBufferCreateInfo info = {.size = SIZE, .usage = usage};
        VkBuffer handle;
        assert_int_equal(device.CreateBuffer(device.handle, &info, NULL, &handle), VK_SUCCESS);
        live->handle = (uint64_t)(uintptr_t)handle;
        live->bytes = SIZE;
        live->usage = usage;
    } else {
        const VkDescriptorSetLayout set =
            AS(VkDescriptorSetLayout, vulkan_find(&run, SET_LAYOUT, VULKAN_SET_LAYOUT)->handle);
        const VkPipelineLayoutCreateInfo info = {.setLayoutCount = 1, .pSetLayouts = &set};
        VkPipelineLayout handle;
        assert_int_equal(device.CreatePipelineLayout(device.handle, &info, NULL, &handle), VK_SUCCESS);
        live->handle = (uint64_t)(uintptr_t)handle;
        live->set_count = 1;
        live->numbers = calloc(1, sizeof *live->numbers);
        assert_non_null(live->numbers);
        live->numbers[0] = SET_LAYOUT;
    }
    vulkan_know_handle(&run, live);
}

static void push_one(uint32_t element) {
    const VkDescriptorBufferInfo described = {AS(VkBuffer, BUFFER), 0, 256};
    const VkWriteDescriptorSet write = {.dstArrayElement = element,
                                        .descriptorCount = 1,
                                        .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                                        .pBufferInfo = &described};
    struct call_CmdPushDescriptorSetKHR call = {
        .p = VK_PIPELINE_BIND_POINT_COMPUTE, .l = AS(VkPipelineLayout, LAYOUT), .n = 1, .w = &write};
    struct words written = {.translate = itself};
    words_call_CmdPushDescriptorSetKHR(&written, &call);
    struct words words = vulkan_words(&run, &device, written.bytes, written.length);
    if (!vulkan_push(&run, &words, &device))
        fail_msg("%s", why);
    words_finish(&words);
    free(written.bytes);
}

// What was pushed is gone when its submission is complete, and its memory with it.
static void test_pushed_end(void **state) {
    enum { SUBMISSIONS = 400, PUSHES = 3 };
    const VkDescriptorSetLayoutBinding binding = {.descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                                                  .descriptorCount = PUSHES,
                                                  .stageFlags = VK_SHADER_STAGE_COMPUTE_BIT};
    (void)state;
    begin_run();
    add_set_layout(SET_LAYOUT, &binding, 1);
    add_made(LAYOUT, VULKAN_LAYOUT, 0);
    add_made(BUFFER, VULKAN_BUFFER, VK_BUFFER_USAGE_STORAGE_BUFFER_BIT);
    const size_t before = run.live_count;
    run.into = device.handle ? vulkan_begin(&device) : NULL;
    for (int i = 0; i < SUBMISSIONS; i++) {
        memset(&run.bound, 0, sizeof run.bound);
        for (uint32_t j = 0; j < PUSHES; j++) {
            push_one(j);
            // What was pushed before it is there as well.
            assert_int_equal(vulkan_find(&run, run.bound.sets[1][0], VULKAN_SET)->named_count, j + 1);
        }
        assert_int_equal(run.pushed, PUSHES);
        vulkan_pushed_end(&run);
        assert_int_equal(run.live_count, before + PUSHES);
        for (size_t j = before; j < run.live_count; j++)
            assert_true(!run.lives[j].handle && !run.lives[j].pool && !run.lives[j].named);
    }
    assert_true(run.by_handle.count < SUBMISSIONS * PUSHES ||
                run.by_handle.count <= 1024 + 2 * run.live_count);
    end_run();
}

static void test_pushed_most(void **state) {
    const VkDescriptorSetLayoutBinding binding = {.descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                                                  .descriptorCount = 257,
                                                  .stageFlags = VK_SHADER_STAGE_COMPUTE_BIT};
    struct call_CmdPushDescriptorSetKHR call = {.p = VK_PIPELINE_BIND_POINT_COMPUTE,
                                                .l = AS(VkPipelineLayout, LAYOUT)};
    struct words written = {.translate = itself};
    (void)state;
    begin_run();
    add_set_layout(SET_LAYOUT, &binding, 1);
    add_made(LAYOUT, VULKAN_LAYOUT, 0);
    add_made(BUFFER, VULKAN_BUFFER, VK_BUFFER_USAGE_STORAGE_BUFFER_BIT);
    const VkDescriptorBufferInfo described = {AS(VkBuffer, BUFFER), 0, 256};
    const VkWriteDescriptorSet write = {
        .descriptorCount = 1, .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, .pBufferInfo = &described};
    call.n = 1;
    call.w = &write;
    words_call_CmdPushDescriptorSetKHR(&written, &call);
    struct words words = vulkan_words(&run, &device, written.bytes, written.length);
    assert_false(vulkan_push(&run, &words, &device));
    assert_non_null(strstr(why, "more than devices allow"));
    words_finish(&words);
    free(written.bytes);
    end_run();
}

// ---- sets with large arrays

// Each time the elements are filled with few calls, and a recording cannot ask for it without end.
static void test_filled(void **state) {
    enum { COUNT = (1 << 20) - 1, WRITTEN = 777, TIMES = 256 };
    const VkDescriptorSetLayoutBinding binding = {.descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                                                  .descriptorCount = COUNT,
                                                  .stageFlags = VK_SHADER_STAGE_COMPUTE_BIT};
    const VkWriteDescriptorSet write = {.dstArrayElement = WRITTEN, .descriptorCount = 1};
    int times = 0;
    (void)state;
    begin_run();
    add_set_layout(SET_LAYOUT, &binding, 1);
    struct vulkan_live *set = vulkan_add(&run, SET, VULKAN_SET, &device);
    assert_int_equal(vulkan_allocate(set, vulkan_find(&run, SET_LAYOUT, VULKAN_SET_LAYOUT)), VK_SUCCESS);
    assert_true(vulkan_know_write(&run, set, &write));
    vulkan_double.copies = vulkan_double.copy_calls = 0;
    assert_true(vulkan_fill_arrays(&run, set));
    assert_int_equal(vulkan_double.copies, COUNT - 1);
    assert_true(vulkan_double.copy_calls <= 2 * 21);
    while (times <= TIMES && vulkan_fill_arrays(&run, set))
        times++;
    assert_int_equal(times, TIMES - 1);
    assert_non_null(strstr(run.reason, "more elements of arrays"));
    end_run();
}

// What each element has is what the first one before or after it has that was written: only which are written is compared.
static void test_gaps(void **state) {
    enum { COUNT = 40 };
    const VkDescriptorSetLayoutBinding bindings[2] = {
        {.binding = 9, .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, .descriptorCount = COUNT},
        {.binding = 2, .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, .descriptorCount = COUNT}};
    (void)state;
    for (uint32_t seed = 1; seed < 200; seed++) {
        unsigned missing[2] = {COUNT, COUNT};
        bool written[2][COUNT] = {{false}};
        begin_run();
        add_set_layout(SET_LAYOUT, bindings, 2);
        struct vulkan_live *set = vulkan_add(&run, SET, VULKAN_SET, &device);
        assert_int_equal(vulkan_allocate(set, vulkan_find(&run, SET_LAYOUT, VULKAN_SET_LAYOUT)), VK_SUCCESS);
        uint32_t random = seed;
        for (uint32_t i = 0; i < seed % 50; i++) {
            random = random * 1664525 + 1013904223;
            const uint32_t which = random >> 30 & 1, element = (random >> 8) % COUNT;
            const VkWriteDescriptorSet write = {
                .dstBinding = which ? 9 : 2, .dstArrayElement = element, .descriptorCount = 1};
            assert_true(vulkan_know_write(&run, set, &write));
            missing[which] -= !written[which][element];
            written[which][element] = true;
        }
        vulkan_double.copies = 0;
        assert_true(vulkan_fill_arrays(&run, set));
        assert_int_equal(vulkan_double.copies,
                         (missing[0] < COUNT ? missing[0] : 0) + (missing[1] < COUNT ? missing[1] : 0));
        end_run();
    }
}

// ---- layouts of depth and stencil

enum { LEVELS = 3, LAYERS = 2 };
// By aspect: what a layout is for it. 'u'ndefined, 'a'ttachment, 'r'ead only, or any other letter.
static const struct {
    VkImageLayout layout;
    char depth, stencil;
} layouts[] = {{VK_IMAGE_LAYOUT_UNDEFINED, 'u', 'u'},
               {VK_IMAGE_LAYOUT_GENERAL, 'g', 'g'},
               {VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL, 's', 's'},
               {VK_IMAGE_LAYOUT_DEPTH_STENCIL_ATTACHMENT_OPTIMAL, 'a', 'a'},
               {VK_IMAGE_LAYOUT_DEPTH_STENCIL_READ_ONLY_OPTIMAL, 'r', 'r'},
               {VK_IMAGE_LAYOUT_DEPTH_ATTACHMENT_STENCIL_READ_ONLY_OPTIMAL, 'a', 'r'},
               {VK_IMAGE_LAYOUT_DEPTH_READ_ONLY_STENCIL_ATTACHMENT_OPTIMAL, 'r', 'a'},
               {VK_IMAGE_LAYOUT_DEPTH_ATTACHMENT_OPTIMAL, 'a', 0},
               {VK_IMAGE_LAYOUT_DEPTH_READ_ONLY_OPTIMAL, 'r', 0},
               {VK_IMAGE_LAYOUT_STENCIL_ATTACHMENT_OPTIMAL, 0, 'a'},
               {VK_IMAGE_LAYOUT_STENCIL_READ_ONLY_OPTIMAL, 0, 'r'}};
enum { LAYOUTS = sizeof layouts / sizeof *layouts };

static char letter_of(uint32_t which, int stencil) {
    return stencil ? layouts[which].stencil : layouts[which].depth;
}

// A layout that the aspects may have. The first one is UNDEFINED.
static uint32_t random_layout(struct random *random, uint32_t first, uint32_t aspects) {
    for (;;) {
        const uint32_t which = first + (uint32_t)random_below(random, LAYOUTS - first);
        if ((!(aspects & 1) || letter_of(which, 0)) && (!(aspects & 2) || letter_of(which, 1)))
            return which;
    }
}

// One barrier of a part, and whether it is right by what each aspect, level and layer has.
static bool change_part(char now[2][LEVELS][LAYERS], struct random *random) {
    static const VkImageAspectFlags of[] = {0, VK_IMAGE_ASPECT_DEPTH_BIT, VK_IMAGE_ASPECT_STENCIL_BIT,
                                            VK_IMAGE_ASPECT_DEPTH_BIT | VK_IMAGE_ASPECT_STENCIL_BIT};
    const uint32_t aspects = 1 + (uint32_t)random_below(random, 3),
                   level = (uint32_t)random_below(random, LEVELS),
                   layer = (uint32_t)random_below(random, LAYERS),
                   levels = 1 + (uint32_t)random_below(random, LEVELS - level),
                   layers = 1 + (uint32_t)random_below(random, LAYERS - layer),
                   from = random_layout(random, 0, aspects), to = random_layout(random, 1, aspects);
    const VkImageMemoryBarrier barrier = {.oldLayout = layouts[from].layout,
                                          .newLayout = layouts[to].layout,
                                          .image = AS(VkImage, run.lives[0].handle),
                                          .subresourceRange = {of[aspects], level, levels, layer, layers}};
    const struct call_CmdPipelineBarrier call = {.l = 1, .i = &barrier};
    bool right = true;
    for (int i = 0; i < 2; i++)
        for (uint32_t j = level; j < level + levels && aspects >> i & 1; j++)
            for (uint32_t k = layer; k < layer + layers; k++) {
                const char had = now[i][j][k], says = letter_of(from, i);
                right &= says == 'u' || had == 'u' || had == says;
                now[i][j][k] = letter_of(to, i);
            }
    run.reason = NULL;
    assert_int_equal(check_layouts(&run, VULKAN_CmdPipelineBarrier, &call), right);
    assert_true(right || strstr(run.reason, "another layout than it has"));
    return right;
}

static void test_planes(void **state) {
    const VkImageCreateInfo info = {.format = VK_FORMAT_D24_UNORM_S8_UINT,
                                    .imageType = VK_IMAGE_TYPE_2D,
                                    .extent = {16, 16, 1},
                                    .mipLevels = LEVELS,
                                    .arrayLayers = LAYERS,
                                    .samples = VK_SAMPLE_COUNT_1_BIT,
                                    .usage = VK_IMAGE_USAGE_DEPTH_STENCIL_ATTACHMENT_BIT};
    struct random random = {1};
    size_t right = 0;
    (void)state;
    begin_run();
    device.v12.separateDepthStencilLayouts = VK_TRUE;
    run.into = vulkan_begin(&device);
    struct vulkan_live *live = vulkan_add(&run, IMAGE, VULKAN_IMAGE, &device);
    VkImage handle;
    assert_int_equal(device.CreateImage(device.handle, &info, NULL, &handle), VK_SUCCESS);
    live->handle = (uint64_t)(uintptr_t)handle;
    live->image = info;
    vulkan_know_handle(&run, live);
    for (int i = 0; i < 3000; i++) {
        char now[2][LEVELS][LAYERS];
        memset(now, 'u', sizeof now);
        vulkan_layouts_forget(&run);
        while (change_part(now, &random))
            right++;
    }
    assert_true(right > 1000);
    free(run.laid_out);
    end_run();
}

// ---- searches, against brute force

static void test_bindings(void **state) {
    enum { COUNT = 300, NUMBERS = 1000 };
    static VkDescriptorSetLayoutBinding bindings[COUNT], other[COUNT];
    uint32_t counts[NUMBERS] = {0};
    (void)state;
    for (uint32_t i = 0; i < COUNT; i++) {
        const uint32_t number = i * 617 % NUMBERS; // each once
        counts[number] = i % 3;
        bindings[i] = (VkDescriptorSetLayoutBinding){.binding = number,
                                                     .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                                                     .descriptorCount = i % 3,
                                                     .stageFlags = VK_SHADER_STAGE_COMPUTE_BIT};
        other[COUNT - 1 - i] = bindings[i];
    }
    begin_run();
    add_set_layout(1, bindings, COUNT);
    add_set_layout(2, other, COUNT);
    other[7].descriptorCount += 5;
    add_set_layout(3, other, COUNT);
    const struct vulkan_live *first = vulkan_find(&run, 1, VULKAN_SET_LAYOUT),
                             *second = vulkan_find(&run, 2, VULKAN_SET_LAYOUT),
                             *third = vulkan_find(&run, 3, VULKAN_SET_LAYOUT);
    for (uint32_t from = 0; from <= NUMBERS; from++) {
        uint32_t expected = from;
        while (expected < NUMBERS && !counts[expected])
            expected++;
        const struct vulkan_binding *found = check_used_binding(first, from);
        assert_int_equal(found ? found->binding : NUMBERS, expected);
        assert_true(!found || found->count == counts[expected]);
    }
    assert_true(check_same_layout(first, second) && !check_same_layout(first, third));
    // The first one may go: the others are as they were, and a later one is like them.
    vulkan_release(vulkan_find(&run, 1, VULKAN_SET_LAYOUT));
    assert_false(check_same_layout(first, second));
    other[7].descriptorCount -= 5;
    add_set_layout(4, other, COUNT);
    assert_true(
        check_same_layout(vulkan_find(&run, 2, VULKAN_SET_LAYOUT), vulkan_find(&run, 4, VULKAN_SET_LAYOUT)));
    end_run();
}

// A driver may give one number to objects of two kinds or devices, and again to others when they are gone.
static void test_handles(void **state) {
    enum { COUNT = 1200, HANDLES = 20 };
    static struct vulkan_device devices[2];
    uint32_t random = 1;
    (void)state;
    run = (struct vulkan_run){.changes = 1};
    for (uint64_t number = 1; number <= COUNT; number++) {
        random = random * 1664525 + 1013904223;
        const uint64_t handle = 1 + (random >> 8) % HANDLES;
        const enum vulkan_kind kind = random >> 28 & 1 ? VULKAN_BUFFER : VULKAN_IMAGE;
        run.device = &devices[random >> 29 & 1];
        for (size_t i = 0; i < run.live_count; i++) // it takes the place of one that is gone
            if (run.lives[i].handle == handle && run.lives[i].kind == (uint32_t)kind &&
                run.lives[i].device == run.device)
                run.lives[i].handle = 0;
        struct vulkan_live *live =
            vulkan_add(&run, number, kind, (struct vulkan_device *)(uintptr_t)run.device);
        assert_non_null(live);
        live->handle = handle;
        vulkan_know_handle(&run, live);
        assert_int_equal(vulkan_find_handle(&run, handle, kind)->number, number);
        if (random >> 25 & 1)
            run.lives[random % run.live_count].handle = 0;
        for (uint64_t each = 0; each <= HANDLES; each++) {
            uint64_t expected = 0;
            for (size_t i = 0; i < run.live_count && each; i++)
                if (run.lives[i].handle == each && run.lives[i].kind == (uint32_t)kind &&
                    run.lives[i].device == run.device)
                    expected = run.lives[i].number;
            const struct vulkan_live *found = vulkan_find_handle(&run, each, kind);
            assert_int_equal(found ? found->number : 0, expected);
        }
    }
    chunk_table_finish(&run.by_number);
    table_finish(&run.by_handle);
    free(run.lives);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_vertices),    cmocka_unit_test(test_counted),
                                       cmocka_unit_test(test_pushed),      cmocka_unit_test(test_pushed_end),
                                       cmocka_unit_test(test_pushed_most), cmocka_unit_test(test_filled),
                                       cmocka_unit_test(test_planes),      cmocka_unit_test(test_gaps),
                                       cmocka_unit_test(test_bindings),    cmocka_unit_test(test_handles)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#else // built without the Vulkan headers, or with older ones

#include <stdio.h>
int main(void) {
    printf("skipped: built without the Vulkan headers (Debian: libvulkan-dev)\n");
    return 77;
}

#endif
