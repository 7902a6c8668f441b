// SPDX-License-Identifier: Apache-2.0
// What indirect draws and dispatches read from their buffers (check.c): the numbers that are there before the submission, against the limits
// of the device and the index buffer that is bound. Of a buffer that an earlier command of the same submission may have written, they
// are not known before it runs.
#if __has_include(<vulkan/vulkan_core.h>)

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "replay/vulkan/check.h"

enum { ELEMENTS = 256 }; // of a larger array of descriptors any buffer may be written

static void write_buffer(struct vulkan_run *run, uint64_t number) {
    if (number && !table_add(&run->written, number, NULL))
        run->wrote_any = true; // out of memory
}

static void write_handle(struct vulkan_run *run, VkBuffer handle) {
    const struct vulkan_live *buffer = vulkan_find_handle(run, (uint64_t)(uintptr_t)handle, VULKAN_BUFFER);
    write_buffer(run, buffer ? buffer->number : 0);
}

void check_writes_descriptor(struct vulkan_run *run, const struct vulkan_binding *binding, uint64_t number) {
    if (binding->count > ELEMENTS) {
        run->wrote_any = true;
    } else if (binding->type == VK_DESCRIPTOR_TYPE_STORAGE_TEXEL_BUFFER) {
        const struct vulkan_live *view = vulkan_find(run, number, VULKAN_BUFFER_VIEW);
        write_buffer(run, view ? view->of : 0);
    } else {
        write_buffer(run, number);
    }
}

bool check_may_write(const struct vulkan_binding *binding) {
    return binding->type == VK_DESCRIPTOR_TYPE_STORAGE_BUFFER ||
           binding->type == VK_DESCRIPTOR_TYPE_STORAGE_BUFFER_DYNAMIC ||
           binding->type == VK_DESCRIPTOR_TYPE_STORAGE_TEXEL_BUFFER;
}

static bool add_indirect(struct vulkan_run *run, VkBuffer handle, struct vulkan_indirect indirect) {
    const struct vulkan_live *buffer = vulkan_find_handle(run, (uint64_t)(uintptr_t)handle, VULKAN_BUFFER);
    if (!buffer || !indirect.count || run->wrote_any || table_find(&run->written, buffer->number))
        return true;
    indirect.buffer = buffer->number;
    indirect.record = run->commands;
    indirect.indexes = run->bound.index_bytes / (run->bound.index_type == VK_INDEX_TYPE_UINT16 ? 2 : 4);
    REQUIRE(ARRAY_RESERVE(run->indirects, run->indirect_capacity, run->indirect_count + 1), "out of memory");
    run->indirects[run->indirect_count++] = indirect;
    return true;
}

bool check_indirect(struct vulkan_run *run, enum vulkan_command number, const void *call) {
    switch (number) {
    case VULKAN_CmdCopyBuffer:
        write_handle(run, ((const struct call_CmdCopyBuffer *)call)->d);
        return true;
    case VULKAN_CmdUpdateBuffer:
        write_handle(run, ((const struct call_CmdUpdateBuffer *)call)->d);
        return true;
    case VULKAN_CmdFillBuffer:
        write_handle(run, ((const struct call_CmdFillBuffer *)call)->d);
        return true;
    case VULKAN_CmdCopyImageToBuffer:
        write_handle(run, ((const struct call_CmdCopyImageToBuffer *)call)->d);
        return true;
    case VULKAN_CmdDispatchIndirect: {
        const struct call_CmdDispatchIndirect *at = call;
        return add_indirect(run, at->b,
                            (struct vulkan_indirect){.command = number, .offset = at->o, .count = 1});
    }
    case VULKAN_CmdDrawIndirect: {
        const struct call_CmdDrawIndirect *at = call;
        return add_indirect(
            run, at->b,
            (struct vulkan_indirect){.command = number, .offset = at->o, .count = at->n, .stride = at->s});
    }
    case VULKAN_CmdDrawIndexedIndirect: {
        const struct call_CmdDrawIndexedIndirect *at = call;
        return add_indirect(
            run, at->b,
            (struct vulkan_indirect){.command = number, .offset = at->o, .count = at->n, .stride = at->s});
    }
    default:
        return true;
    }
}

// ---- before the submission

void vulkan_indirect_forget(struct vulkan_run *run) {
    run->indirect_count = 0;
    run->wrote_any = false;
    table_finish(&run->written);
}

// Why the words of one draw or dispatch are refused; NULL: they are not.
static const char *judge_numbers(const struct vulkan_device *device, const struct vulkan_indirect *indirect,
                                 const uint32_t *words) {
    const bool indexed = indirect->command == VULKAN_CmdDrawIndexedIndirect;
    if (indirect->command == VULKAN_CmdDispatchIndirect) {
        for (int i = 0; i < 3; i++)
            if (words[i] > device->limits.maxComputeWorkGroupCount[i])
                return "an indirect dispatch has more work-groups than the device allows";
        return NULL;
    }
    if (indexed && !is_inside(words[2], words[0], indirect->indexes))
        return "an indirect draw reads indexes beyond the end of the index buffer";
    if (words[indexed ? 4 : 3] && !device->features.drawIndirectFirstInstance)
        return "an indirect draw begins with an instance that is not the first, which the device does not "
               "have";
    return NULL;
}

tsmith_status vulkan_indirect_check(struct vulkan_run *run) {
    tsmith_status status = TSMITH_OK;
    for (size_t i = 0; i < run->indirect_count && status == TSMITH_OK && !run->why[0]; i++) {
        const struct vulkan_indirect *indirect = &run->indirects[i];
        const size_t size =
            indirect->command == VULKAN_CmdDispatchIndirect ? sizeof(VkDispatchIndirectCommand)
            : indirect->command == VULKAN_CmdDrawIndirect   ? sizeof(VkDrawIndirectCommand)
                                                            : sizeof(VkDrawIndexedIndirectCommand);
        const uint64_t length = (uint64_t)(indirect->count - 1) * indirect->stride + size;
        const struct vulkan_live *buffer = vulkan_find(run, indirect->buffer, VULKAN_BUFFER);
        const uint8_t *bytes = NULL;
        status = buffer ? vulkan_read(run, buffer, indirect->offset, length, &bytes) : TSMITH_OK;
        for (uint32_t j = 0; bytes && j < indirect->count && !run->why[0]; j++) {
            uint32_t words[5];
            memcpy(words, bytes + (uint64_t)j * indirect->stride, size);
            const char *why = judge_numbers(buffer->device, indirect, words);
            if (why)
                vulkan_give_up(run, "record %zu: %s", indirect->record, why);
        }
    }
    return status;
}

#endif
