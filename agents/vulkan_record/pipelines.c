// SPDX-License-Identifier: Apache-2.0
// The wrappers of functions that make pipelines. Rules: recorder.h.
//
// Of VK_EXT_graphics_pipeline_library: a library has parts of a pipeline, and pipelines are linked of libraries. A recording has neither. A
// linked pipeline is recorded as the whole pipeline that its parts make, so that a replay needs no such extension, and checks what it checks of
// each pipeline. What a library was made of is kept as words, with numbers of objects as handles; linking reads them again.
#include <stdlib.h>
#include <string.h>

#include "recorder.h"
#include "recording/vulkan/structs.h"

enum { STAGES_MOST = 8, DYNAMIC_MOST = 128 };

static const uint32_t of_vertices = VK_GRAPHICS_PIPELINE_LIBRARY_VERTEX_INPUT_INTERFACE_BIT_EXT,
                      of_shaders = VK_GRAPHICS_PIPELINE_LIBRARY_PRE_RASTERIZATION_SHADERS_BIT_EXT,
                      of_fragments = VK_GRAPHICS_PIPELINE_LIBRARY_FRAGMENT_SHADER_BIT_EXT,
                      of_output = VK_GRAPHICS_PIPELINE_LIBRARY_FRAGMENT_OUTPUT_INTERFACE_BIT_EXT,
                      all_parts = of_vertices | of_shaders | of_fragments | of_output;

// Such a pipeline was made without compiling, or not at all.
static const VkPipelineCreateFlags tries =
    VK_PIPELINE_CREATE_FAIL_ON_PIPELINE_COMPILE_REQUIRED_BIT | VK_PIPELINE_CREATE_EARLY_RETURN_ON_FAILURE_BIT;

// ---- shaders without a module: the stage has what a module would be made of

struct own_modules {
    struct object *all[STAGES_MOST];
    uint32_t count;
};

static VkShaderModule make_module(struct device *device, const VkShaderModuleCreateInfo *info,
                                  struct own_modules *own) {
    VkShaderModuleCreateInfo copy = *info;
    struct describing describing;
    // No driver has such a handle.
    const uint64_t handle = UINT64_MAX - recorder.numbers;
    copy.pNext = NULL; // of the stage's chain
    describe_begin(&describing);
    words_VkShaderModuleCreateInfo(&describing.words, &copy);
    struct object *object = object_add(device, VULKAN_MODULE, handle, "vkCreateShaderModule");
    describe_end(&describing, object);
    if (!object)
        return VK_NULL_HANDLE;
    module_describe(object, &copy);
    own->all[own->count++] = object;
    return (VkShaderModule)(uintptr_t)handle;
}

static void give_module(struct device *device, VkPipelineShaderStageCreateInfo *stage,
                        struct own_modules *own) {
    const VkShaderModuleCreateInfo *info =
        stage->module ? NULL : words_in_chain(stage->pNext, VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO);
    if (info && own->count < STAGES_MOST)
        stage->module = make_module(device, info, own);
}

// They stay as long as a pipeline is made of them.
static void end_modules(const struct own_modules *own) {
    for (uint32_t i = 0; i < own->count; i++)
        object_end(own->all[i]);
}

// ---- parts

// The part that a dynamic state belongs to. In a library that does not have this part the state means nothing. One that a replay does not know
// may belong to any: the replay refuses it.
static uint32_t part_of(VkDynamicState state) {
    switch (state) {
    case VK_DYNAMIC_STATE_VERTEX_INPUT_EXT:
    case VK_DYNAMIC_STATE_VERTEX_INPUT_BINDING_STRIDE:
    case VK_DYNAMIC_STATE_PRIMITIVE_TOPOLOGY:
    case VK_DYNAMIC_STATE_PRIMITIVE_RESTART_ENABLE:
        return of_vertices;
    case VK_DYNAMIC_STATE_VIEWPORT:
    case VK_DYNAMIC_STATE_SCISSOR:
    case VK_DYNAMIC_STATE_VIEWPORT_WITH_COUNT:
    case VK_DYNAMIC_STATE_SCISSOR_WITH_COUNT:
    case VK_DYNAMIC_STATE_LINE_WIDTH:
    case VK_DYNAMIC_STATE_DEPTH_BIAS:
    case VK_DYNAMIC_STATE_CULL_MODE:
    case VK_DYNAMIC_STATE_FRONT_FACE:
    case VK_DYNAMIC_STATE_RASTERIZER_DISCARD_ENABLE:
    case VK_DYNAMIC_STATE_DEPTH_BIAS_ENABLE:
    case VK_DYNAMIC_STATE_PATCH_CONTROL_POINTS_EXT:
    case VK_DYNAMIC_STATE_LINE_STIPPLE_EXT:
    case VK_DYNAMIC_STATE_DEPTH_CLAMP_ENABLE_EXT:
    case VK_DYNAMIC_STATE_POLYGON_MODE_EXT:
    case VK_DYNAMIC_STATE_DEPTH_CLIP_ENABLE_EXT:
    case VK_DYNAMIC_STATE_DEPTH_CLIP_NEGATIVE_ONE_TO_ONE_EXT:
    case VK_DYNAMIC_STATE_PROVOKING_VERTEX_MODE_EXT:
    case VK_DYNAMIC_STATE_LINE_RASTERIZATION_MODE_EXT:
    case VK_DYNAMIC_STATE_LINE_STIPPLE_ENABLE_EXT:
        return of_shaders;
    case VK_DYNAMIC_STATE_DEPTH_BOUNDS:
    case VK_DYNAMIC_STATE_STENCIL_COMPARE_MASK:
    case VK_DYNAMIC_STATE_STENCIL_WRITE_MASK:
    case VK_DYNAMIC_STATE_STENCIL_REFERENCE:
    case VK_DYNAMIC_STATE_DEPTH_TEST_ENABLE:
    case VK_DYNAMIC_STATE_DEPTH_WRITE_ENABLE:
    case VK_DYNAMIC_STATE_DEPTH_COMPARE_OP:
    case VK_DYNAMIC_STATE_DEPTH_BOUNDS_TEST_ENABLE:
    case VK_DYNAMIC_STATE_STENCIL_TEST_ENABLE:
    case VK_DYNAMIC_STATE_STENCIL_OP:
        return of_fragments;
    case VK_DYNAMIC_STATE_BLEND_CONSTANTS:
    case VK_DYNAMIC_STATE_LOGIC_OP_EXT:
    case VK_DYNAMIC_STATE_COLOR_WRITE_ENABLE_EXT:
    case VK_DYNAMIC_STATE_LOGIC_OP_ENABLE_EXT:
    case VK_DYNAMIC_STATE_COLOR_BLEND_ENABLE_EXT:
    case VK_DYNAMIC_STATE_COLOR_BLEND_EQUATION_EXT:
    case VK_DYNAMIC_STATE_COLOR_BLEND_ADVANCED_EXT:
    case VK_DYNAMIC_STATE_COLOR_WRITE_MASK_EXT:
    case VK_DYNAMIC_STATE_RASTERIZATION_SAMPLES_EXT:
    case VK_DYNAMIC_STATE_SAMPLE_MASK_EXT:
    case VK_DYNAMIC_STATE_ALPHA_TO_COVERAGE_ENABLE_EXT:
    case VK_DYNAMIC_STATE_ALPHA_TO_ONE_ENABLE_EXT:
        return of_output;
    default:
        return all_parts;
    }
}

// A pipeline with the memory of what changes.
struct made {
    VkGraphicsPipelineCreateInfo info;
    VkPipelineShaderStageCreateInfo stages[STAGES_MOST];
    VkPipelineRenderingCreateInfo rendering;
    VkDynamicState states[DYNAMIC_MOST];
    VkPipelineDynamicStateCreateInfo dynamic;
    bool overflows; // it has more stages or dynamic states than there are
};

static void add_stage(struct made *made, const VkPipelineShaderStageCreateInfo *stage) {
    made->info.pStages = made->stages;
    if (made->info.stageCount < STAGES_MOST)
        made->stages[made->info.stageCount++] = *stage;
    else
        made->overflows = true;
}

// Those of these parts, each once.
static void add_states(struct made *made, const VkPipelineDynamicStateCreateInfo *all, uint32_t parts) {
    for (uint32_t i = 0; all && i < all->dynamicStateCount; i++) {
        const VkDynamicState state = all->pDynamicStates[i];
        bool known = !(part_of(state) & parts);
        for (uint32_t j = 0; j < made->dynamic.dynamicStateCount && !known; j++)
            known = made->states[j] == state;
        made->overflows |= !known && made->dynamic.dynamicStateCount == DYNAMIC_MOST;
        if (!known && !made->overflows)
            made->states[made->dynamic.dynamicStateCount++] = state;
    }
    made->dynamic.sType = VK_STRUCTURE_TYPE_PIPELINE_DYNAMIC_STATE_CREATE_INFO;
    made->dynamic.pDynamicStates = made->states;
    made->info.pDynamicState = made->dynamic.dynamicStateCount ? &made->dynamic : NULL;
}

// The formats are those of the output; other parts need not have them.
static void add_rendering(struct made *made, const VkPipelineRenderingCreateInfo *rendering, uint32_t parts) {
    if (!rendering || (made->info.pNext && !(parts & of_output)))
        return;
    made->rendering = *rendering;
    made->rendering.pNext = NULL;
    made->info.pNext = &made->rendering;
    if (parts & of_output)
        return;
    made->rendering.colorAttachmentCount = 0;
    made->rendering.pColorAttachmentFormats = NULL;
    made->rendering.depthAttachmentFormat = made->rendering.stencilAttachmentFormat = VK_FORMAT_UNDEFINED;
}

// Adds what these parts of a pipeline say. Pointers to the state of others may be anything. The state of samples is that of the output: a part
// with the fragment shader has the same or none.
static void add_parts(struct made *made, const VkGraphicsPipelineCreateInfo *from, uint32_t parts) {
    static const VkPipelineCreateFlags dropped =
        VK_PIPELINE_CREATE_LIBRARY_BIT_KHR | VK_PIPELINE_CREATE_LINK_TIME_OPTIMIZATION_BIT_EXT |
        VK_PIPELINE_CREATE_RETAIN_LINK_TIME_OPTIMIZATION_INFO_BIT_EXT;
    VkGraphicsPipelineCreateInfo *info = &made->info;
    info->flags |= from->flags & ~dropped;
    for (uint32_t i = 0; parts & (of_shaders | of_fragments) && i < from->stageCount; i++)
        if (parts & (from->pStages[i].stage == VK_SHADER_STAGE_FRAGMENT_BIT ? of_fragments : of_shaders))
            add_stage(made, &from->pStages[i]);
    if (parts & of_vertices) {
        info->pVertexInputState = from->pVertexInputState;
        info->pInputAssemblyState = from->pInputAssemblyState;
    }
    if (parts & of_shaders) {
        info->pTessellationState = from->pTessellationState;
        info->pViewportState = from->pViewportState;
        info->pRasterizationState = from->pRasterizationState;
    }
    if (parts & of_fragments)
        info->pDepthStencilState = from->pDepthStencilState;
    if (parts & of_output) {
        info->pMultisampleState = from->pMultisampleState;
        info->pColorBlendState = from->pColorBlendState;
    }
    if (!info->layout)
        info->layout = from->layout;
    if (parts & of_output || (parts & ~of_vertices && !info->renderPass)) {
        info->renderPass = from->renderPass;
        info->subpass = from->subpass;
    }
    if (parts & ~of_vertices && !from->renderPass)
        add_rendering(made, words_in_chain(from->pNext, VK_STRUCTURE_TYPE_PIPELINE_RENDERING_CREATE_INFO),
                      parts);
    add_states(made, from->pDynamicState, parts);
}

// ---- linking

// What a linked pipeline is made of: its libraries, and the parts that it has itself.
struct source {
    struct words words;
    const struct use *uses;
    size_t use_count;
};
struct linking {
    struct describing describing; // of the whole
    struct source *sources;
    size_t count;
};

static uint64_t same_number(void *context, enum vulkan_kind kind, uint64_t number, bool written) {
    (void)context, (void)kind, (void)written;
    return number;
}

// The program may have destroyed the objects: they stay as long as a source is made of them.
static uint64_t number_in_sources(void *context, enum vulkan_kind kind, uint64_t number, bool written) {
    struct linking *linking = context;
    struct describing *describing = &linking->describing;
    for (size_t i = 0; i < linking->count; i++)
        for (size_t j = 0; j < linking->sources[i].use_count; j++) {
            struct object *object = linking->sources[i].uses[j].object;
            if (object->number != number || object->kind != (uint32_t)kind)
                continue;
            if (object->words.missing[0])
                words_missing(&describing->words, "%s", object->words.missing);
            return uses_add(&describing->uses, &describing->use_count, &describing->use_capacity, object,
                            written)
                       ? number
                       : 0;
        }
    return 0;
}

// Reads what was described again, and adds it.
static void add_source(struct linking *linking, struct made *made, const struct words *written,
                       const struct use *uses, size_t use_count, uint32_t parts) {
    struct source *source = &linking->sources[linking->count++];
    VkGraphicsPipelineCreateInfo info = {0};
    *source = (struct source){.words = {.reading = true,
                                        .partial = true,
                                        .at = written->bytes,
                                        .end = written->bytes ? written->bytes + written->length : NULL,
                                        .translate = same_number},
                              .uses = uses,
                              .use_count = use_count};
    words_VkGraphicsPipelineCreateInfo(&source->words, &info);
    if (written->missing[0])
        words_missing(&linking->describing.words, "%s", written->missing);
    else if (source->words.failed)
        words_missing(&linking->describing.words,
                      "a library of pipelines that has a value which is not known");
    else
        add_parts(made, &info, parts);
}

static void add_libraries(struct linking *linking, struct made *made,
                          const VkPipelineLibraryCreateInfoKHR *libraries, uint32_t *parts) {
    for (uint32_t i = 0; libraries && i < libraries->libraryCount; i++) {
        const struct object *library =
            object_find(VULKAN_PIPELINE, (uint64_t)(uintptr_t)libraries->pLibraries[i]);
        if (library && library->parts)
            add_source(linking, made, &library->words, library->uses, library->use_count, library->parts);
        else
            words_missing(&linking->describing.words, "a library of pipelines that is not known");
        *parts |= library ? library->parts : 0;
    }
}

// What the program says itself, without what its parts do not use.
static void describe_own(struct describing *own, const VkGraphicsPipelineCreateInfo *info, uint32_t parts,
                         bool is_library) {
    static const VkStructureType known[] = {VK_STRUCTURE_TYPE_PIPELINE_RENDERING_CREATE_INFO,
                                            VK_STRUCTURE_TYPE_PIPELINE_LIBRARY_CREATE_INFO_KHR,
                                            VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_LIBRARY_CREATE_INFO_EXT};
    struct made made = {.info = {.sType = VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_CREATE_INFO}};
    describe_begin(own);
    own->words.partial = true;
    words_chain_of(&own->words, "VkGraphicsPipelineCreateInfo", info->pNext, known,
                   sizeof known / sizeof *known);
    add_parts(&made, info, parts);
    if (is_library && !(parts & (of_shaders | of_fragments)))
        made.info.layout = VK_NULL_HANDLE;
    if (made.overflows)
        words_missing(&own->words, "a pipeline with more stages or dynamic states than are supported");
    words_VkGraphicsPipelineCreateInfo(&own->words, &made.info);
}

static uint32_t own_parts(const VkGraphicsPipelineCreateInfo *info,
                          const VkPipelineLibraryCreateInfoKHR *libraries) {
    const VkGraphicsPipelineLibraryCreateInfoEXT *own =
        words_in_chain(info->pNext, VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_LIBRARY_CREATE_INFO_EXT);
    if (own)
        return own->flags & all_parts;
    return info->flags & VK_PIPELINE_CREATE_LIBRARY_BIT_KHR || (libraries && libraries->libraryCount)
               ? 0
               : all_parts;
}

// The layout is the pipeline's own, if it has one; those of its libraries may be of some of its sets only.
static void link_parts(struct linking *linking, const VkGraphicsPipelineCreateInfo *info, uint32_t *parts) {
    const bool is_library = info->flags & VK_PIPELINE_CREATE_LIBRARY_BIT_KHR;
    const VkPipelineLibraryCreateInfoKHR *libraries =
        words_in_chain(info->pNext, VK_STRUCTURE_TYPE_PIPELINE_LIBRARY_CREATE_INFO_KHR);
    struct made made = {.info = {.sType = VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_CREATE_INFO}};
    struct describing own;
    describe_begin(&linking->describing);
    linking->describing.words.translate = number_in_sources;
    linking->describing.words.context = linking;
    linking->sources =
        calloc((libraries ? libraries->libraryCount : 0) + (size_t)1, sizeof *linking->sources);
    *parts = own_parts(info, libraries);
    if (!linking->sources) {
        words_missing(&linking->describing.words, "out of memory");
        return;
    }
    describe_own(&own, info, *parts, is_library);
    add_source(linking, &made, &own.words, own.uses, own.use_count, *parts);
    add_libraries(linking, &made, libraries, parts);
    if (made.overflows)
        words_missing(&linking->describing.words,
                      "a pipeline with more stages or dynamic states than are supported");
    if (is_library && !*parts)
        words_missing(&linking->describing.words, "a library of pipelines without parts");
    linking->describing.words.partial = is_library;
    words_VkGraphicsPipelineCreateInfo(&linking->describing.words, &made.info);
    for (size_t i = 0; i < linking->count; i++)
        words_finish(&linking->sources[i].words);
    uses_drop(&own.uses, &own.use_count, &own.use_capacity);
    free(own.words.bytes);
}

static bool is_of_libraries(const VkGraphicsPipelineCreateInfo *info) {
    return info->flags & VK_PIPELINE_CREATE_LIBRARY_BIT_KHR ||
           words_in_chain(info->pNext, VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_LIBRARY_CREATE_INFO_EXT) ||
           words_in_chain(info->pNext, VK_STRUCTURE_TYPE_PIPELINE_LIBRARY_CREATE_INFO_KHR);
}

// ---- the wrappers

static void add_VkComputePipelineCreateInfo(struct device *device, const VkComputePipelineCreateInfo *info,
                                            VkPipeline pipeline) {
    VkComputePipelineCreateInfo copy = *info;
    struct own_modules own = {.count = 0};
    struct describing describing;
    copy.flags &= ~tries;
    give_module(device, &copy.stage, &own);
    describe_begin(&describing);
    words_VkComputePipelineCreateInfo(&describing.words, &copy);
    describe_end(&describing, object_add(device, VULKAN_PIPELINE, (uint64_t)(uintptr_t)pipeline,
                                         "vkCreateComputePipelines"));
    end_modules(&own);
}

// Stages of a part that has no shaders may be anything.
static void give_modules(struct device *device, VkGraphicsPipelineCreateInfo *info,
                         VkPipelineShaderStageCreateInfo *stages, struct own_modules *own) {
    const bool shades =
        own_parts(info, words_in_chain(info->pNext, VK_STRUCTURE_TYPE_PIPELINE_LIBRARY_CREATE_INFO_KHR)) &
        (of_shaders | of_fragments);
    if (!shades || info->stageCount > STAGES_MOST)
        return;
    for (uint32_t i = 0; i < info->stageCount; i++) {
        stages[i] = info->pStages[i];
        give_module(device, &stages[i], own);
    }
    info->pStages = stages;
}

// Without a render pass: the formats are those of the output.
static struct subpass rendered_to(const VkGraphicsPipelineCreateInfo *info) {
    const VkPipelineRenderingCreateInfo *rendering =
        words_in_chain(info->pNext, VK_STRUCTURE_TYPE_PIPELINE_RENDERING_CREATE_INFO);
    struct subpass subpass = {.colors = false};
    for (uint32_t i = 0; rendering && i < rendering->colorAttachmentCount; i++)
        subpass.colors |= rendering->pColorAttachmentFormats[i] != VK_FORMAT_UNDEFINED;
    subpass.depths = rendering && (rendering->depthAttachmentFormat != VK_FORMAT_UNDEFINED ||
                                   rendering->stencilAttachmentFormat != VK_FORMAT_UNDEFINED);
    return subpass;
}

// State of attachments that there are not may point anywhere. A part with the fragment shader alone does not know of them.
static void forget_unattached(VkGraphicsPipelineCreateInfo *info) {
    const uint32_t parts =
        own_parts(info, words_in_chain(info->pNext, VK_STRUCTURE_TYPE_PIPELINE_LIBRARY_CREATE_INFO_KHR));
    struct subpass subpass = {.colors = true, .depths = true};
    if (info->renderPass) {
        const struct object *pass = object_find(VULKAN_PASS, (uint64_t)(uintptr_t)info->renderPass);
        if (pass && info->subpass < pass->subpass_count)
            subpass = pass->subpasses[info->subpass];
    } else if (parts & of_output) {
        subpass = rendered_to(info);
    }
    if (!subpass.colors && parts & of_output)
        info->pColorBlendState = NULL;
    if (!subpass.depths && parts & of_fragments && (parts & of_output || info->renderPass))
        info->pDepthStencilState = NULL;
}

static void add_VkGraphicsPipelineCreateInfo(struct device *device, const VkGraphicsPipelineCreateInfo *info,
                                             VkPipeline pipeline) {
    VkGraphicsPipelineCreateInfo copy = *info;
    VkPipelineShaderStageCreateInfo stages[STAGES_MOST];
    struct own_modules own = {.count = 0};
    struct linking linking = {.count = 0};
    uint32_t parts = all_parts;
    copy.flags &= ~tries;
    give_modules(device, &copy, stages, &own);
    forget_unattached(&copy);
    if (is_of_libraries(&copy)) {
        link_parts(&linking, &copy, &parts);
    } else {
        describe_begin(&linking.describing);
        words_VkGraphicsPipelineCreateInfo(&linking.describing.words, &copy);
    }
    struct object *object =
        object_add(device, VULKAN_PIPELINE, (uint64_t)(uintptr_t)pipeline, "vkCreateGraphicsPipelines");
    describe_end(&linking.describing, object);
    if (object && copy.flags & VK_PIPELINE_CREATE_LIBRARY_BIT_KHR)
        object->parts = parts;
    free(linking.sources);
    end_modules(&own);
}

#define PIPELINES(name, type)                                                                                \
    VkResult record_##name(VkDevice handle, VkPipelineCache cache, uint32_t count, const type *infos,        \
                           const VkAllocationCallbacks *allocator, VkPipeline *out) {                        \
        struct device *device = device_of(handle);                                                           \
        const VkResult result = device->next.name(handle, cache, count, infos, allocator, out);              \
        recorder_lock();                                                                                     \
        for (uint32_t i = 0; result >= VK_SUCCESS && i < count; i++)                                         \
            if (out[i])                                                                                      \
                add_##type(device, &infos[i], out[i]);                                                       \
        recorder_unlock();                                                                                   \
        return result;                                                                                       \
    }
VULKAN_PIPELINE_CALLS(PIPELINES)
