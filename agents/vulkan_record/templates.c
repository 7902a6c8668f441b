// SPDX-License-Identifier: Apache-2.0
// Update templates: what they write to descriptor sets, and what is pushed by them, is recorded as writes. Rules: recorder.h.
#include <stdlib.h>
#include <string.h>

#include "recorder.h"

static struct template {
    struct template *next;
    struct device *device;
    VkDescriptorUpdateTemplate handle;
    VkPipelineBindPoint point; // of one that pushes
    uint32_t count;
    VkDescriptorUpdateTemplateEntry entries[];
}
*templates; // with the recorder's lock

VkResult record_CreateDescriptorUpdateTemplate(VkDevice handle,
                                               const VkDescriptorUpdateTemplateCreateInfo *info,
                                               const VkAllocationCallbacks *allocator,
                                               VkDescriptorUpdateTemplate *out) {
    struct device *device = device_of(handle);
    const VkResult result = device->next.CreateDescriptorUpdateTemplate(handle, info, allocator, out);
    if (result != VK_SUCCESS || info->pNext)
        return result;
    const size_t bytes = info->descriptorUpdateEntryCount * sizeof(VkDescriptorUpdateTemplateEntry);
    struct template *template = calloc(1, sizeof *template + bytes);
    if (!template)
        return result; // what it updates is not known then
    template->device = device;
    template->handle = *out;
    template->point = info->pipelineBindPoint;
    template->count = info->descriptorUpdateEntryCount;
    memcpy(template->entries, info->pDescriptorUpdateEntries, bytes);
    recorder_lock();
    template->next = templates;
    templates = template;
    recorder_unlock();
    return result;
}

static struct template **find_template(const struct device *device, VkDescriptorUpdateTemplate handle) {
    struct template **at = &templates;
    while (*at && !((*at)->device == device && (*at)->handle == handle))
        at = &(*at)->next;
    return at;
}

void record_DestroyDescriptorUpdateTemplate(VkDevice handle, VkDescriptorUpdateTemplate template,
                                            const VkAllocationCallbacks *allocator) {
    struct device *device = device_of(handle);
    recorder_lock();
    struct template **at = find_template(device, template), *gone = *at;
    if (gone)
        *at = gone->next;
    recorder_unlock();
    free(gone);
    device->next.DestroyDescriptorUpdateTemplate(handle, template, allocator);
}

// What the descriptors of a type are written from: 'i'mages, 'b'uffers, 'v'iews of buffers; 0: an extension's.
static char form_of(VkDescriptorType type) {
    switch (type) {
    case VK_DESCRIPTOR_TYPE_SAMPLER:
    case VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER:
    case VK_DESCRIPTOR_TYPE_SAMPLED_IMAGE:
    case VK_DESCRIPTOR_TYPE_STORAGE_IMAGE:
    case VK_DESCRIPTOR_TYPE_INPUT_ATTACHMENT:
        return 'i';
    case VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER:
    case VK_DESCRIPTOR_TYPE_STORAGE_BUFFER:
    case VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER_DYNAMIC:
    case VK_DESCRIPTOR_TYPE_STORAGE_BUFFER_DYNAMIC:
        return 'b';
    case VK_DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER:
    case VK_DESCRIPTOR_TYPE_STORAGE_TEXEL_BUFFER:
        return 'v';
    default:
        return 0;
    }
}

// The descriptors lie apart in the program's data. *items: of the write, free() by the caller.
static bool make_write(VkWriteDescriptorSet *write, void **items,
                       const VkDescriptorUpdateTemplateEntry *entry, const void *data) {
    const char form = form_of(entry->descriptorType);
    const size_t size = form == 'i'   ? sizeof(VkDescriptorImageInfo)
                        : form == 'b' ? sizeof(VkDescriptorBufferInfo)
                                      : sizeof(VkBufferView);
    uint8_t *all = form ? calloc(entry->descriptorCount + (size_t)1, size) : NULL;
    *items = all;
    if (!all)
        return false;
    for (uint32_t i = 0; i < entry->descriptorCount; i++)
        memcpy(all + i * size, (const uint8_t *)data + entry->offset + i * entry->stride, size);
    *write = (VkWriteDescriptorSet){.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                                    .dstBinding = entry->dstBinding,
                                    .dstArrayElement = entry->dstArrayElement,
                                    .descriptorCount = entry->descriptorCount,
                                    .descriptorType = entry->descriptorType};
    if (form == 'i')
        write->pImageInfo = *items;
    else if (form == 'b')
        write->pBufferInfo = *items;
    else
        write->pTexelBufferView = *items;
    return true;
}

static bool write_entry(VkDescriptorSet set, const VkDescriptorUpdateTemplateEntry *entry, const void *data) {
    VkWriteDescriptorSet write;
    void *items;
    if (!make_write(&write, &items, entry, data))
        return false;
    write.dstSet = set;
    set_note(&write);
    free(items);
    return true;
}

void record_UpdateDescriptorSetWithTemplate(VkDevice handle, VkDescriptorSet set,
                                            VkDescriptorUpdateTemplate template, const void *data) {
    struct device *device = device_of(handle);
    recorder_lock();
    const struct template *found = *find_template(device, template);
    bool good = found != NULL;
    for (uint32_t i = 0; good && i < found->count; i++)
        good = write_entry(set, &found->entries[i], data);
    struct object *object = good ? NULL : object_find(VULKAN_SET, (uint64_t)(uintptr_t)set);
    if (object)
        words_missing(&object->words, "vkUpdateDescriptorSetWithTemplate");
    recorder_unlock();
    device->next.UpdateDescriptorSetWithTemplate(handle, set, template, data);
}

static bool push_all(struct object *commands, const struct template *template, VkPipelineLayout layout,
                     uint32_t set, const void *data) {
    const size_t count = template->count;
    VkWriteDescriptorSet *writes = calloc(count + 1, sizeof *writes);
    void **items = calloc(count + 1, sizeof *items);
    bool good = writes && items;
    for (size_t i = 0; good && i < count; i++)
        good = make_write(&writes[i], &items[i], &template->entries[i], data);
    if (good)
        commands_put_CmdPushDescriptorSetKHR(
            commands, &(struct call_CmdPushDescriptorSetKHR){
                          .p = template->point, .l = layout, .t = set, .n = template->count, .w = writes});
    for (size_t i = 0; items && i < count; i++)
        free(items[i]);
    free(items);
    free(writes);
    return good;
}

void record_CmdPushDescriptorSetWithTemplateKHR(VkCommandBuffer handle, VkDescriptorUpdateTemplate template,
                                                VkPipelineLayout layout, uint32_t set, const void *data) {
    struct device *device = device_of(handle);
    recorder_lock();
    const struct template *found = *find_template(device, template);
    struct object *commands = object_find(VULKAN_COMMANDS, (uint64_t)(uintptr_t)handle);
    if (commands && (!found || !push_all(commands, found, layout, set, data)))
        words_missing(&commands->words, "vkCmdPushDescriptorSetWithTemplateKHR");
    recorder_unlock();
    device->next.CmdPushDescriptorSetWithTemplateKHR(handle, template, layout, set, data);
}
