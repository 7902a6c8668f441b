// SPDX-License-Identifier: Apache-2.0
// Device memory, shaders and pipelines. Rules: agent.h.
#include <stdio.h>

#include "agentkit/texts.h"
#include "record.h"

// ---- memory

static void memory_allocated(struct object *memory, const VkMemoryAllocateInfo *info,
                             const struct agent_call *call) {
    memory->memory = (struct memory_facts){.bytes = info->allocationSize,
                                           .number = memory->handle.number,
                                           .operation = TSMITH_OPERATION_BUFFER,
                                           .more = info->memoryTypeIndex < VK_MAX_MEMORY_TYPES
                                                       ? memory->device->heap_of_type[info->memoryTypeIndex]
                                                       : 0};
    call_record_alloc(call, &memory->memory);
}
CREATE_WRAPPER(AllocateMemory, VkMemoryAllocateInfo, VkDeviceMemory, OBJECT_MEMORY, memory_allocated)

void layer_FreeMemory(VkDevice handle, VkDeviceMemory key, const VkAllocationCallbacks *allocator) {
    struct object *memory = object_find(OBJECT_MEMORY, HANDLE(key));
    const struct memory_facts freed = memory ? memory->memory : (struct memory_facts){0};
    if (memory)
        object_remove(memory);
    CALLED_VOID(FreeMemory, handle, key, allocator);
    if (memory)
        call_record_free(&call, &freed);
}

VkResult layer_CreateBuffer(VkDevice handle, const VkBufferCreateInfo *info,
                            const VkAllocationCallbacks *allocator, VkBuffer *out) {
    CALLED(CreateBuffer, handle, info, allocator, out);
    if (result == VK_SUCCESS)
        size_add(*out, info->size);
    return result;
}

void layer_DestroyBuffer(VkDevice handle, VkBuffer key, const VkAllocationCallbacks *allocator) {
    size_remove(key);
    CALLED_VOID(DestroyBuffer, handle, key, allocator);
}

// ---- shaders

enum { // SPIR-V
    SPIRV_HEADER = 5,
    SPIRV_EXECUTION_MODE = 16,
    SPIRV_LOCAL_SIZE = 17,
    SPIRV_DECORATE = 71,
    SPIRV_BUILT_IN = 11,
    SPIRV_WORKGROUP_SIZE = 25,
    SPIRV_SPEC_COMPOSITE = 51,
};

// The local size that the module gives as numbers: with specialization constants it is another, and not known.
static void find_local_size(const uint32_t *words, size_t count, uint32_t local[3]) {
    uint32_t size_id = 0; // of the constant that is the local size
    for (size_t at = SPIRV_HEADER; at < count;) {
        const uint32_t length = words[at] >> 16, operation = words[at] & 0xffff;
        if (!length || length > count - at)
            return;
        if (operation == SPIRV_EXECUTION_MODE && length == 6 && words[at + 2] == SPIRV_LOCAL_SIZE)
            for (int i = 0; i < 3; i++)
                local[i] = words[at + 3 + (uint32_t)i];
        if (operation == SPIRV_DECORATE && length == 4 && words[at + 2] == SPIRV_BUILT_IN &&
            words[at + 3] == SPIRV_WORKGROUP_SIZE)
            size_id = words[at + 1];
        if (operation == SPIRV_SPEC_COMPOSITE && length > 2 && words[at + 2] == size_id)
            local[0] = local[1] = local[2] = 0;
        at += length;
    }
}

static void module_created(struct object *module, const VkShaderModuleCreateInfo *info,
                           const struct agent_call *call) {
    (void)call;
    uint32_t hash = 2166136261u; // FNV-1a, by words
    for (size_t i = 0; i < info->codeSize / 4; i++)
        hash = (hash ^ info->pCode[i]) * 16777619u;
    module->module.hash = hash;
    find_local_size(info->pCode, info->codeSize / 4, module->module.local);
}
CREATE_WRAPPER(CreateShaderModule, VkShaderModuleCreateInfo, VkShaderModule, OBJECT_MODULE, module_created)

// ---- pipelines

// "main [3f2a9c10]": the entry point, nearly always the same, and a hash of the code.
static uint32_t pipeline_name(const VkPipelineShaderStageCreateInfo *stage, const struct object *module) {
    char text[128];
    if (module)
        snprintf(text, sizeof text, "%.100s [%08x]", stage->pName, module->module.hash);
    else
        snprintf(text, sizeof text, "%.100s", stage->pName);
    return texts_id(text);
}

static void pipeline_add(struct device *device, VkPipeline handle,
                         const VkPipelineShaderStageCreateInfo *stage) {
    const struct object *module = object_find(OBJECT_MODULE, HANDLE(stage->module));
    struct object *pipeline = handle ? object_add(OBJECT_PIPELINE, HANDLE(handle), device) : NULL;
    if (!pipeline)
        return;
    pipeline->pipeline.name = pipeline_name(stage, module);
    for (int i = 0; module && i < 3; i++)
        pipeline->pipeline.local[i] = module->module.local[i];
}

VkResult layer_CreateComputePipelines(VkDevice handle, VkPipelineCache cache, uint32_t count,
                                      const VkComputePipelineCreateInfo *infos,
                                      const VkAllocationCallbacks *allocator, VkPipeline *out) {
    CALLED(CreateComputePipelines, handle, cache, count, infos, allocator, out);
    for (uint32_t i = 0; result >= VK_SUCCESS && i < count; i++)
        pipeline_add(device_of(handle), out[i], &infos[i].stage);
    const struct object *first =
        result >= VK_SUCCESS && count ? object_find(OBJECT_PIPELINE, HANDLE(out[0])) : NULL;
    if (call.end)
        call_record_compile(&call, count == 1 && first ? first->pipeline.name : 0, NULL, result);
    return result;
}

VkResult layer_CreateGraphicsPipelines(VkDevice handle, VkPipelineCache cache, uint32_t count,
                                       const VkGraphicsPipelineCreateInfo *infos,
                                       const VkAllocationCallbacks *allocator, VkPipeline *out) {
    CALLED(CreateGraphicsPipelines, handle, cache, count, infos, allocator, out);
    if (call.end)
        call_record_compile(&call, 0, NULL, result);
    return result;
}

// The program's own name of a pipeline is the name of its dispatches.
VkResult layer_SetDebugUtilsObjectNameEXT(VkDevice handle, const VkDebugUtilsObjectNameInfoEXT *info) {
    struct object *pipeline =
        info->objectType == VK_OBJECT_TYPE_PIPELINE ? object_find(OBJECT_PIPELINE, info->objectHandle) : NULL;
    if (pipeline && info->pObjectName && info->pObjectName[0])
        pipeline->pipeline.name = texts_id(info->pObjectName);
    return device_of(handle)->next.SetDebugUtilsObjectNameEXT(handle, info);
}
