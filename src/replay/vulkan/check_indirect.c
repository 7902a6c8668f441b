// SPDX-License-Identifier: Apache-2.0
// What indirect draws and dispatches read from their buffers (check.c): the numbers that are there before the submission, against the limits
// of the device and the index buffer that is bound. Of a buffer that an earlier command of the same submission may have written, they
// are not known before it runs.
#include "recording/vulkan/headers.h"
#ifdef RECORDING_HAS_VULKAN

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

static bool is_written(struct vulkan_run *run, uint64_t number) {
    return run->wrote_any || table_find(&run->written, number);
}

static uint64_t number_of(struct vulkan_run *run, VkBuffer handle) {
    const struct vulkan_live *buffer =
        handle ? vulkan_find_handle(run, (uint64_t)(uintptr_t)handle, VULKAN_BUFFER) : NULL;
    return buffer ? buffer->number : 0;
}

// `counter`: the buffer with the number of draws, or none.
static bool add_indirect(struct vulkan_run *run, VkBuffer buffer, VkBuffer counter,
                         struct vulkan_indirect indirect) {
    indirect.buffer = number_of(run, buffer);
    indirect.counter = number_of(run, counter);
    if (!indirect.buffer || !indirect.count || is_written(run, indirect.buffer) ||
        (indirect.counter && is_written(run, indirect.counter)))
        return true;
    indirect.record = run->commands;
    indirect.indexes = run->bound.index_bytes / check_index_bytes(run->bound.index_type);
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
        return add_indirect(run, at->b, VK_NULL_HANDLE,
                            (struct vulkan_indirect){.command = number, .offset = at->o, .count = 1});
    }
    case VULKAN_CmdDrawIndirect: {
        const struct call_CmdDrawIndirect *at = call;
        return add_indirect(
            run, at->b, VK_NULL_HANDLE,
            (struct vulkan_indirect){.command = number, .offset = at->o, .count = at->n, .stride = at->s});
    }
    case VULKAN_CmdDrawIndexedIndirect: {
        const struct call_CmdDrawIndexedIndirect *at = call;
        return add_indirect(
            run, at->b, VK_NULL_HANDLE,
            (struct vulkan_indirect){.command = number, .offset = at->o, .count = at->n, .stride = at->s});
    }
    case VULKAN_CmdDrawIndirectCount: {
        const struct call_CmdDrawIndirectCount *at = call;
        return add_indirect(
            run, at->b, at->d,
            (struct vulkan_indirect){
                .command = number, .offset = at->o, .count = at->n, .stride = at->s, .at = at->p});
    }
    case VULKAN_CmdDrawIndexedIndirectCount: {
        const struct call_CmdDrawIndexedIndirectCount *at = call;
        return add_indirect(
            run, at->b, at->d,
            (struct vulkan_indirect){
                .command = number, .offset = at->o, .count = at->n, .stride = at->s, .at = at->p});
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

static size_t size_of(const struct vulkan_indirect *indirect) {
    switch (indirect->command) {
    case VULKAN_CmdDispatchIndirect:
        return sizeof(VkDispatchIndirectCommand);
    case VULKAN_CmdDrawIndirect:
    case VULKAN_CmdDrawIndirectCount:
        return sizeof(VkDrawIndirectCommand);
    default:
        return sizeof(VkDrawIndexedIndirectCommand);
    }
}

// Why the words of one draw or dispatch are refused; NULL: they are not.
static const char *judge_numbers(const struct vulkan_device *device, const struct vulkan_indirect *indirect,
                                 const uint32_t *words) {
    const bool indexed = size_of(indirect) == sizeof(VkDrawIndexedIndirectCommand);
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

// How many draws there are: the lower one of the number in the buffer and of that in the command.
static tsmith_status read_count(struct vulkan_run *run, const struct vulkan_indirect *indirect,
                                uint32_t *count) {
    const struct vulkan_live *counter = vulkan_find(run, indirect->counter, VULKAN_BUFFER);
    const uint8_t *bytes = NULL;
    *count = indirect->count;
    const tsmith_status status =
        counter ? vulkan_read(run, counter, indirect->at, sizeof *count, &bytes) : TSMITH_OK;
    if (bytes)
        memcpy(count, bytes, sizeof *count);
    if (bytes && *count > counter->device->limits.maxDrawIndirectCount)
        vulkan_give_up(run, "record %zu: more indirect draws than the device allows", indirect->record);
    *count = *count < indirect->count ? *count : indirect->count;
    return status;
}

static tsmith_status check_one(struct vulkan_run *run, const struct vulkan_indirect *indirect,
                               uint64_t *read) {
    static const uint64_t most = (uint64_t)1 << 28;
    const size_t size = size_of(indirect);
    const struct vulkan_live *buffer = vulkan_find(run, indirect->buffer, VULKAN_BUFFER);
    const uint8_t *bytes = NULL;
    uint32_t count;
    tsmith_status status = read_count(run, indirect, &count);
    if (status != TSMITH_OK || run->why[0] || !count || !buffer)
        return status;
    const uint64_t length = (uint64_t)(count - 1) * indirect->stride + size;
    *read += length;
    if (*read > most) { // many commands may read the same bytes
        vulkan_give_up(run, "record %zu: more indirect draws than are supported", indirect->record);
        return TSMITH_OK;
    }
    status = vulkan_read(run, buffer, indirect->offset, length, &bytes);
    for (uint32_t i = 0; bytes && i < count && !run->why[0]; i++) {
        uint32_t words[5];
        memcpy(words, bytes + (uint64_t)i * indirect->stride, size);
        const char *why = judge_numbers(buffer->device, indirect, words);
        if (why)
            vulkan_give_up(run, "record %zu: %s", indirect->record, why);
    }
    return status;
}

tsmith_status vulkan_indirect_check(struct vulkan_run *run) {
    tsmith_status status = TSMITH_OK;
    uint64_t read = 0;
    for (size_t i = 0; i < run->indirect_count && status == TSMITH_OK && !run->why[0]; i++)
        status = check_one(run, &run->indirects[i], &read);
    return status;
}

#endif
