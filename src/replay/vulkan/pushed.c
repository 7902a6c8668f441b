// SPDX-License-Identifier: Apache-2.0
// Descriptors that are pushed while commands are recorded. A replay does not need the extension for them: each push is a set of its own, with
// what the one before it had and what is written now, which is bound.
#include "recording/vulkan/headers.h"
#ifdef RECORDING_HAS_VULKAN

#include "replay/vulkan/check.h"

// Each push has all descriptors of its set: more than devices allow (maxPushDescriptors), and more pushes than programs have, cost too much.
enum { DESCRIPTORS_MOST = 256, PUSHES_MOST = 1 << 16 };

// Sets of an earlier submission, which is complete, are gone: their numbers are used again.
static struct vulkan_live *add_set(struct vulkan_run *run, struct vulkan_device *device, uint64_t layout) {
    const uint64_t number = vulkan_own_numbers + ++run->pushed;
    struct vulkan_live *set = vulkan_find(run, number, VULKAN_SET);
    if (set)
        *set = (struct vulkan_live){.number = number, .kind = VULKAN_SET, .device = device};
    else
        set = vulkan_add(run, number, VULKAN_SET, device);
    const struct vulkan_live *made_of = vulkan_find(run, layout, VULKAN_SET_LAYOUT);
    if (!set || !made_of || !made_of->handle || made_of->device != device ||
        vulkan_allocate(set, made_of) != VK_SUCCESS)
        return NULL;
    vulkan_know_handle(run, set);
    return set;
}

static bool write_all(struct vulkan_run *run, struct vulkan_live *set,
                      const struct call_CmdPushDescriptorSetKHR *call) {
    const struct vulkan_live *before = vulkan_find(run, run->bound.sets[call->p][call->t], VULKAN_SET);
    if (before && before->handle && before->number > vulkan_own_numbers && before->made_of == set->made_of &&
        !vulkan_copy_writes(run, set, before))
        return check_fails(run, "out of memory");
    for (uint32_t i = 0; i < call->n; i++) {
        VkWriteDescriptorSet write = call->w[i];
        write.dstSet = (VkDescriptorSet)(uintptr_t)set->handle;
        if (!vulkan_check_write(run, set, &write) || !vulkan_know_write(run, set, &write))
            return false;
        set->device->UpdateDescriptorSets(set->device->handle, 1, &write, 0, NULL);
    }
    return vulkan_fill_arrays(run, set);
}

static bool push_descriptors(struct vulkan_run *run, struct vulkan_device *device,
                             const struct call_CmdPushDescriptorSetKHR *call) {
    const struct vulkan_live *layout = vulkan_find_handle(run, (uint64_t)(uintptr_t)call->l, VULKAN_LAYOUT);
    REQUIRE(call->n, "a push has no descriptors");
    REQUIRE(layout && layout->numbers && call->t < layout->set_count && call->t < VULKAN_SETS_MOST &&
                call->p <= VK_PIPELINE_BIND_POINT_COMPUTE,
            "descriptors are pushed to a set that the pipeline layout does not have");
    const struct vulkan_live *made_of = vulkan_set_layout(run, layout, call->t);
    REQUIRE(made_of && made_of->descriptor_count <= DESCRIPTORS_MOST,
            "descriptors are pushed to a set that has more than devices allow");
    REQUIRE(run->pushed < PUSHES_MOST, "descriptors are pushed more often than is supported");
    struct vulkan_live *set = add_set(run, device, layout->numbers[call->t]);
    REQUIRE(set, "a set for descriptors that are pushed cannot be made");
    if (!write_all(run, set, call))
        return false;
    const VkDescriptorSet handle = (VkDescriptorSet)(uintptr_t)set->handle;
    const struct call_CmdBindDescriptorSets bind = {
        .p = call->p, .l = call->l, .f = call->t, .n = 1, .s = &handle};
    if (!vulkan_check_command(run, VULKAN_CmdBindDescriptorSets, &bind))
        return false;
    device->CmdBindDescriptorSets(run->into, call->p, call->l, call->t, 1, &handle, 0, NULL);
    return true;
}

bool vulkan_push(struct vulkan_run *run, struct words *words, struct vulkan_device *device) {
    struct call_CmdPushDescriptorSetKHR call = {.end = 0};
    words_call_CmdPushDescriptorSetKHR(words, &call);
    run->reason = NULL;
    if (!words->failed && push_descriptors(run, device, &call))
        return true;
    vulkan_give_up(run, "record %zu: vkCmdPushDescriptorSetKHR: %s", run->commands,
                   run->reason ? run->reason
                               : "it names something that is missing, or has values out of bounds");
    return false;
}

void vulkan_pushed_end(struct vulkan_run *run) {
    for (; run->pushed; run->pushed--) {
        struct vulkan_live *set = vulkan_find(run, vulkan_own_numbers + run->pushed, VULKAN_SET);
        if (set)
            vulkan_release(set);
    }
}

#endif
