// SPDX-License-Identifier: Apache-2.0
// Descriptor sets: what was written to them last. Rules: recorder.h.
#include <stdlib.h>

#include "base/array.h"
#include "recorder.h"

static struct object *find(VkDescriptorSet set) {
    return object_find(VULKAN_SET, (uint64_t)(uintptr_t)set);
}

static void forget_write(struct write *write) {
    uses_drop(&write->uses, &write->use_count, &write->use_capacity);
    free(write->words.bytes);
}

void set_forget(struct object *set) {
    for (size_t i = 0; i < set->write_count; i++)
        forget_write(&set->writes[i]);
    free(set->writes);
    set->writes = NULL;
    set->write_count = set->write_capacity = 0;
}

// Whether what it names is still there. A descriptor of something that was destroyed is not used any more.
static bool is_alive(const struct write *write) {
    for (size_t i = 0; i < write->use_count; i++) {
        const struct object *object = write->uses[i].object;
        const bool made_of_living = object->kind != VULKAN_IMAGE_VIEW && object->kind != VULKAN_BUFFER_VIEW;
        if (!object->alive || (!made_of_living && object->use_count && !object->uses[0].object->alive))
            return false;
    }
    return true;
}

void set_write(struct object *set) {
    struct words count = {0};
    size_t alive = 0;
    for (size_t i = 0; i < set->write_count; i++)
        alive += is_alive(&set->writes[i]);
    words_value(&count, alive);
    for (size_t i = 0; i < set->write_count; i++)
        if (is_alive(&set->writes[i]))
            words_bytes(&count, set->writes[i].words.bytes, set->writes[i].words.length);
    struct recording_writer *writer = record_open(RECORDING_VULKAN_SET);
    recording_put(writer, RECORDING_KEY_OBJECT, set->number);
    recording_put_bytes(writer, RECORDING_KEY_DATA, count.bytes, count.length);
    writer->failed |= count.failed;
    record_close();
    free(count.bytes);
    set->changed = false;
}

// One that was written before in the same place is replaced, and is then the last.
void set_note(const VkWriteDescriptorSet *from) {
    struct object *set = find(from->dstSet);
    struct describing describing;
    VkWriteDescriptorSet copy = *from;
    if (!set || !from->descriptorCount)
        return;
    describe_begin(&describing);
    words_VkWriteDescriptorSet(&describing.words, &copy);
    if (describing.words.missing[0] || describing.words.failed ||
        !ARRAY_RESERVE(set->writes, set->write_capacity, set->write_count + 1)) {
        words_missing(&set->words, "%s",
                      describing.words.missing[0] ? describing.words.missing : "out of memory");
        describe_end(&describing, NULL);
        return;
    }
    size_t kept = 0;
    for (size_t i = 0; i < set->write_count; i++) {
        struct write *write = &set->writes[i];
        if (write->binding == from->dstBinding && write->element == from->dstArrayElement &&
            write->count == from->descriptorCount)
            forget_write(write);
        else
            set->writes[kept++] = *write;
    }
    set->writes[kept++] = (struct write){.binding = from->dstBinding,
                                         .element = from->dstArrayElement,
                                         .count = from->descriptorCount,
                                         .words = describing.words,
                                         .uses = describing.uses,
                                         .use_count = describing.use_count,
                                         .use_capacity = describing.use_capacity};
    set->write_count = kept;
    set->changed = true;
}

// ---- copies between sets

// The handle of what a write names by its number; 0: it is gone.
static uint64_t handle_of(void *context, enum vulkan_kind kind, uint64_t number, bool written) {
    const struct write *write = context;
    (void)written;
    for (size_t i = 0; i < write->use_count; i++) {
        const struct object *object = write->uses[i].object;
        if (object->kind == (uint32_t)kind && object->number == number)
            return object->alive ? object->handle : 0;
    }
    return 0;
}

static const struct write *find_write(const struct object *set, uint32_t binding, uint32_t element) {
    for (size_t i = set->write_count; i-- > 0;) {
        const struct write *write = &set->writes[i];
        if (write->binding == binding && write->element <= element && element - write->element < write->count)
            return write;
    }
    return NULL;
}

// What the place has is written to the other one. What is gone, or was never written, is not used there either.
static void copy_one(const struct write *from, uint32_t index, const VkCopyDescriptorSet *copy, uint32_t i) {
    struct words words = {.reading = true,
                          .at = from->words.bytes,
                          .end = from->words.bytes + from->words.length,
                          .translate = handle_of,
                          .context = (void *)(uintptr_t)from};
    VkWriteDescriptorSet write = {.descriptorCount = 0};
    words_VkWriteDescriptorSet(&words, &write);
    if (!words.failed && index < write.descriptorCount) {
        write.dstSet = copy->dstSet;
        write.dstBinding = copy->dstBinding;
        write.dstArrayElement = copy->dstArrayElement + i;
        write.descriptorCount = 1;
        write.pImageInfo = write.pImageInfo ? write.pImageInfo + index : NULL;
        write.pBufferInfo = write.pBufferInfo ? write.pBufferInfo + index : NULL;
        write.pTexelBufferView = write.pTexelBufferView ? write.pTexelBufferView + index : NULL;
        set_note(&write);
    }
    words_finish(&words);
}

static void note_copy(const VkCopyDescriptorSet *copy) {
    const struct object *from = find(copy->srcSet);
    struct object *to = find(copy->dstSet);
    for (uint32_t i = 0; from && to && i < copy->descriptorCount; i++) {
        const uint32_t element = copy->srcArrayElement + i;
        const struct write *write = find_write(from, copy->srcBinding, element);
        if (write)
            copy_one(write, element - write->element, copy, i);
        else
            words_missing(&to->words, "descriptors that are copied, and of which nothing is known");
    }
}

void record_UpdateDescriptorSets(VkDevice handle, uint32_t count, const VkWriteDescriptorSet *writes,
                                 uint32_t copy_count, const VkCopyDescriptorSet *copies) {
    recorder_lock();
    for (uint32_t i = 0; i < count; i++)
        set_note(&writes[i]);
    for (uint32_t i = 0; i < copy_count; i++)
        note_copy(&copies[i]);
    recorder_unlock();
    device_of(handle)->next.UpdateDescriptorSets(handle, count, writes, copy_count, copies);
}

// ---- sets and pools

VkResult record_CreateDescriptorPool(VkDevice handle, const VkDescriptorPoolCreateInfo *info,
                                     const VkAllocationCallbacks *allocator, VkDescriptorPool *out) {
    struct device *device = device_of(handle);
    const VkResult result = device->next.CreateDescriptorPool(handle, info, allocator, out);
    recorder_lock();
    if (result == VK_SUCCESS)
        object_add(device, KIND_SETS, (uint64_t)(uintptr_t)*out, "vkCreateDescriptorPool");
    recorder_unlock();
    return result;
}

void record_DestroyDescriptorPool(VkDevice handle, VkDescriptorPool pool,
                                  const VkAllocationCallbacks *allocator) {
    recorder_lock();
    object_end(object_find(KIND_SETS, (uint64_t)(uintptr_t)pool));
    recorder_unlock();
    device_of(handle)->next.DestroyDescriptorPool(handle, pool, allocator);
}

VkResult record_ResetDescriptorPool(VkDevice handle, VkDescriptorPool pool,
                                    VkDescriptorPoolResetFlags flags) {
    struct device *device = device_of(handle);
    recorder_lock();
    object_end(object_find(KIND_SETS, (uint64_t)(uintptr_t)pool));
    object_add(device, KIND_SETS, (uint64_t)(uintptr_t)pool, "vkCreateDescriptorPool");
    recorder_unlock();
    return device->next.ResetDescriptorPool(handle, pool, flags);
}

VkResult record_AllocateDescriptorSets(VkDevice handle, const VkDescriptorSetAllocateInfo *info,
                                       VkDescriptorSet *out) {
    struct device *device = device_of(handle);
    const VkResult result = device->next.AllocateDescriptorSets(handle, info, out);
    recorder_lock();
    struct object *pool = object_find(KIND_SETS, (uint64_t)(uintptr_t)info->descriptorPool);
    for (uint32_t i = 0; result == VK_SUCCESS && i < info->descriptorSetCount; i++) {
        struct object *set =
            object_add(device, VULKAN_SET, (uint64_t)(uintptr_t)out[i], "vkAllocateDescriptorSets");
        struct object *layout = object_find(VULKAN_SET_LAYOUT, (uint64_t)(uintptr_t)info->pSetLayouts[i]);
        if (!set)
            break;
        set->parent = pool;
        if (info->pNext)
            words_missing(&set->words, "a descriptor set of a variable size");
        if (!layout || !uses_add(&set->uses, &set->use_count, &set->use_capacity, layout, false))
            words_missing(&set->words, "a descriptor set of an unknown layout");
    }
    recorder_unlock();
    return result;
}

VkResult record_FreeDescriptorSets(VkDevice handle, VkDescriptorPool pool, uint32_t count,
                                   const VkDescriptorSet *sets) {
    recorder_lock();
    for (uint32_t i = 0; i < count; i++)
        object_end(find(sets[i]));
    recorder_unlock();
    return device_of(handle)->next.FreeDescriptorSets(handle, pool, count, sets);
}
