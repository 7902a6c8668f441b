// SPDX-License-Identifier: Apache-2.0
// Whether the state fits a draw or a dispatch (check.c): what pipelines need, what sets hold, and what a command buffer has bound. Drivers
// read what is bound without asking whether it is there.
#if __has_include(<vulkan/vulkan_core.h>)

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "recording/vulkan/words.h"
#include "replay/vulkan/check.h"

// ---- descriptor sets

bool check_same_layout(const struct vulkan_live *left, const struct vulkan_live *right) {
    if (!left || !right || !left->handle || !right->handle || left->binding_count != right->binding_count)
        return false;
    if (left == right)
        return true;
    uint64_t a = 0, b = 0;
    for (uint32_t i = 0; i <= left->binding_count; i++) {
        const struct vulkan_binding *one = check_used_binding(left, a), *other = check_used_binding(right, b);
        if (!one || !other)
            return !one && !other;
        if (one->binding != other->binding || one->type != other->type || one->count != other->count ||
            one->stages != other->stages || one->has_samplers != other->has_samplers)
            return false;
        a = (uint64_t)one->binding + 1;
        b = (uint64_t)other->binding + 1;
    }
    return true;
}

static uint64_t number_of(struct vulkan_run *run, uint64_t handle, enum vulkan_kind kind) {
    const struct vulkan_live *live = handle ? vulkan_find_handle(run, handle, kind) : NULL;
    return live ? live->number : 0;
}
#define NUMBER(handle, KIND) number_of(run, (uint64_t)(uintptr_t)(handle), VULKAN_##KIND)

static struct vulkan_named named_of(struct vulkan_run *run, const VkWriteDescriptorSet *write, uint32_t i) {
    struct vulkan_named named = {.written = true};
    if (write->pImageInfo) {
        named.number = NUMBER(write->pImageInfo[i].imageView, IMAGE_VIEW);
        named.sampler = NUMBER(write->pImageInfo[i].sampler, SAMPLER);
    } else if (write->pBufferInfo) {
        const VkDescriptorBufferInfo *info = &write->pBufferInfo[i];
        const uint64_t whole = bytes_of(run, info->buffer);
        named.number = NUMBER(info->buffer, BUFFER);
        if (info->range != VK_WHOLE_SIZE)
            named.left = whole - info->offset - info->range; // not negative: it was checked
    } else if (write->pTexelBufferView) {
        named.number = NUMBER(write->pTexelBufferView[i], BUFFER_VIEW);
    }
    return named;
}

bool vulkan_know_write(struct vulkan_run *run, struct vulkan_live *set, const VkWriteDescriptorSet *write) {
    const struct vulkan_live *layout = vulkan_find(run, set->made_of, VULKAN_SET_LAYOUT);
    const struct vulkan_binding *binding = layout ? check_used_binding(layout, write->dstBinding) : NULL;
    uint32_t element = write->dstArrayElement;
    for (uint32_t i = 0; binding && i < write->descriptorCount; i++, element++) {
        while (binding && element >= binding->count) {
            element = 0;
            binding = check_used_binding(layout, (uint64_t)binding->binding + 1);
        }
        const size_t at = binding ? (size_t)binding->first + element : 0, before = set->named_count;
        if (!binding || !ARRAY_RESERVE(set->named, set->named_capacity, at + 1))
            return check_fails(run, "out of memory");
        if (at >= before) {
            memset(set->named + before, 0, (at + 1 - before) * sizeof *set->named);
            set->named_count = at + 1;
        }
        set->named[at] = named_of(run, write, i);
    }
    return true;
}

static bool is_there(struct vulkan_run *run, uint64_t number, enum vulkan_kind kind) {
    const struct vulkan_live *live = vulkan_find(run, number, kind);
    return live && live->handle;
}

// A view whose buffer or image is gone must not be used.
static bool is_valid(struct vulkan_run *run, const struct vulkan_named *named, uint32_t type) {
    if (!named->written || (named->sampler && !is_there(run, named->sampler, VULKAN_SAMPLER)))
        return false;
    switch (type) {
    case VK_DESCRIPTOR_TYPE_SAMPLER:
        return true; // it may be immutable
    case VK_DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER:
    case VK_DESCRIPTOR_TYPE_STORAGE_TEXEL_BUFFER: {
        const struct vulkan_live *view = vulkan_find(run, named->number, VULKAN_BUFFER_VIEW);
        return view && view->handle && is_there(run, view->of, VULKAN_BUFFER);
    }
    case VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER:
    case VK_DESCRIPTOR_TYPE_STORAGE_BUFFER:
    case VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER_DYNAMIC:
    case VK_DESCRIPTOR_TYPE_STORAGE_BUFFER_DYNAMIC:
        return is_there(run, named->number, VULKAN_BUFFER);
    default: {
        const struct vulkan_live *view = vulkan_find(run, named->number, VULKAN_IMAGE_VIEW);
        return view && view->handle && is_there(run, view->of, VULKAN_IMAGE);
    }
    }
}

// Many draws use the same large array.
static bool binding_is_valid(struct vulkan_run *run, struct vulkan_live *set,
                             const struct vulkan_binding *binding) {
    if ((binding->type == VK_DESCRIPTOR_TYPE_SAMPLER && binding->has_samplers) ||
        (set->valid_at == run->changes && set->valid_binding == binding->binding))
        return true;
    for (size_t i = 0; i < binding->count; i++) {
        const size_t at = binding->first + i;
        // Of an array the elements that no shader uses need not be written.
        const bool written = at < set->named_count && set->named[at].written;
        if (written ? !is_valid(run, &set->named[at], binding->type) : binding->count == 1)
            return false;
    }
    set->valid_at = run->changes;
    set->valid_binding = binding->binding;
    return true;
}

static const struct vulkan_binding *find_binding(const struct vulkan_live *layout, uint32_t number) {
    const struct vulkan_binding *found = layout ? check_used_binding(layout, number) : NULL;
    return found && found->binding == number ? found : NULL;
}

// ---- what pipelines need

static const struct vulkan_live *set_layout_of(struct vulkan_run *run, const struct vulkan_live *layout,
                                               uint32_t set) {
    return layout && layout->numbers && set < layout->set_count
               ? vulkan_find(run, layout->numbers[set], VULKAN_SET_LAYOUT)
               : NULL;
}

static bool slot_fits(struct vulkan_run *run, const struct vulkan_live *layout,
                      const struct vulkan_slot *slot, uint32_t stage) {
    const struct vulkan_binding *binding = find_binding(set_layout_of(run, layout, slot->set), slot->binding);
    REQUIRE(binding, "a shader uses a descriptor that its pipeline layout does not have");
    REQUIRE(slot->types >> binding->type & 1,
            "a shader uses a descriptor as another type than its layout has");
    REQUIRE(binding->stages & stage, "a shader uses a descriptor that its layout does not give to its stage");
    REQUIRE(slot->count <= binding->count, "a shader uses more descriptors than its layout has");
    return true;
}

static bool has_range(const struct vulkan_live *layout, uint32_t stage) {
    for (uint32_t i = 0; layout && i < layout->range_count; i++)
        if (layout->ranges[i].stageFlags & stage)
            return true;
    return false;
}

static bool know_stage(struct vulkan_run *run, struct vulkan_needs *needs,
                       const VkPipelineShaderStageCreateInfo *info, uint64_t *locations) {
    const struct vulkan_live *module =
        vulkan_find_handle(run, (uint64_t)(uintptr_t)info->module, VULKAN_MODULE);
    const struct vulkan_live *layout = vulkan_find(run, needs->layout, VULKAN_LAYOUT);
    struct vulkan_stage stage = {0};
    REQUIRE(module && module->shader, "a shader module is not sound");
    const char *why = vulkan_shader_stage(module->shader, info, &run->device->limits, &stage);
    bool good = !why && ARRAY_RESERVE(needs->slots, needs->slot_capacity, needs->slot_count + stage.count);
    for (size_t i = 0; good && i < stage.count; i++) {
        good = slot_fits(run, layout, &stage.slots[i], (uint32_t)info->stage);
        needs->slots[needs->slot_count++] = stage.slots[i];
    }
    if (good && stage.pushes && !has_range(layout, (uint32_t)info->stage))
        good = check_fails(run, "a shader reads push constants that its pipeline layout does not have");
    free(stage.slots);
    *locations = stage.locations;
    return good || check_fails(run, why ? why : "out of memory");
}

static struct vulkan_needs *make_needs(struct vulkan_run *run, struct vulkan_live *live,
                                       VkPipelineBindPoint point, VkPipelineLayout layout) {
    live->needs = calloc(1, sizeof *live->needs);
    if (live->needs) {
        live->needs->point = point;
        live->needs->layout = NUMBER(layout, LAYOUT);
    }
    return live->needs;
}

bool vulkan_know_VkComputePipelineCreateInfo(struct vulkan_run *run, struct vulkan_live *live,
                                             const VkComputePipelineCreateInfo *info) {
    uint64_t locations;
    struct vulkan_needs *needs = make_needs(run, live, VK_PIPELINE_BIND_POINT_COMPUTE, info->layout);
    return needs ? know_stage(run, needs, &info->stage, &locations) : check_fails(run, "out of memory");
}

static void know_part(struct vulkan_run *run, struct vulkan_needs *needs,
                      const VkGraphicsPipelineCreateInfo *info) {
    const VkPipelineRenderingCreateInfo *formats = info->pNext; // nothing else is read
    const struct vulkan_live *pass = info->renderPass ? pass_of(run, info->renderPass) : NULL;
    needs->in_pass = pass != NULL;
    needs->subpass = pass ? info->subpass : 0;
    if (pass && pass->parts && info->subpass < pass->subpasses)
        needs->part = pass->parts[info->subpass];
    if (pass || !formats)
        return;
    needs->part.colors = formats->colorAttachmentCount;
    for (uint32_t i = 0; i < formats->colorAttachmentCount && i < VULKAN_COLORS_MOST; i++)
        needs->part.formats[i] = formats->pColorAttachmentFormats[i];
    needs->part.depth = formats->depthAttachmentFormat;
    needs->part.stencil = formats->stencilAttachmentFormat;
    if (info->pMultisampleState)
        needs->part.samples = (uint32_t)info->pMultisampleState->rasterizationSamples;
}

static bool is_dynamic(const VkGraphicsPipelineCreateInfo *info, VkDynamicState state) {
    for (uint32_t i = 0; info->pDynamicState && i < info->pDynamicState->dynamicStateCount; i++)
        if (info->pDynamicState->pDynamicStates[i] == state)
            return true;
    return false;
}

static uint32_t low_bits(uint32_t count) {
    return count < 32 ? ((uint32_t)1 << count) - 1 : UINT32_MAX;
}

static void know_viewports(struct vulkan_needs *needs, const VkGraphicsPipelineCreateInfo *info) {
    const VkPipelineViewportStateCreateInfo *views = info->pViewportState;
    if (!views)
        return;
    if (is_dynamic(info, VK_DYNAMIC_STATE_VIEWPORT))
        needs->viewports = low_bits(views->viewportCount);
    if (is_dynamic(info, VK_DYNAMIC_STATE_SCISSOR))
        needs->scissors = low_bits(views->scissorCount);
    needs->viewport_count = is_dynamic(info, VK_DYNAMIC_STATE_VIEWPORT_WITH_COUNT);
    needs->scissor_count = is_dynamic(info, VK_DYNAMIC_STATE_SCISSOR_WITH_COUNT);
}

// The bindings of the attributes that the vertex shader has inputs for.
static void know_vertices(struct vulkan_needs *needs, const VkGraphicsPipelineCreateInfo *info,
                          uint64_t locations) {
    const VkPipelineVertexInputStateCreateInfo *all = info->pVertexInputState;
    for (uint32_t i = 0; i < all->vertexAttributeDescriptionCount; i++) {
        const VkVertexInputAttributeDescription *at = &all->pVertexAttributeDescriptions[i];
        if (at->location < 64 && at->binding < 64 && locations >> at->location & 1)
            needs->vertices |= (uint64_t)1 << at->binding;
    }
}

bool vulkan_know_VkGraphicsPipelineCreateInfo(struct vulkan_run *run, struct vulkan_live *live,
                                              const VkGraphicsPipelineCreateInfo *info) {
    struct vulkan_needs *needs = make_needs(run, live, VK_PIPELINE_BIND_POINT_GRAPHICS, info->layout);
    if (!needs)
        return check_fails(run, "out of memory");
    for (uint32_t i = 0; i < info->stageCount; i++) {
        uint64_t locations;
        if (!know_stage(run, needs, &info->pStages[i], &locations))
            return false;
        if (info->pStages[i].stage == VK_SHADER_STAGE_VERTEX_BIT)
            know_vertices(needs, info, locations);
    }
    know_part(run, needs, info);
    know_viewports(needs, info);
    return true;
}

// ---- what is bound

static uint64_t bits_from(uint32_t first, uint32_t count) {
    const uint64_t bits = count < 64 ? ((uint64_t)1 << count) - 1 : UINT64_MAX;
    return first < 64 ? bits << first : 0;
}

// Each dynamic offset, in the order of sets, bindings and elements, leaves the descriptor's range within its buffer.
static bool offsets_fit(struct vulkan_run *run, const struct call_CmdBindDescriptorSets *at) {
    const VkPhysicalDeviceLimits *limits = &run->device->limits;
    uint32_t offset = 0;
    for (uint32_t i = 0; i < at->n; i++) {
        const struct vulkan_live *set = vulkan_find_handle(run, (uint64_t)(uintptr_t)at->s[i], VULKAN_SET),
                                 *layout = set ? vulkan_find(run, set->made_of, VULKAN_SET_LAYOUT) : NULL;
        const struct vulkan_binding *binding = layout ? check_used_binding(layout, 0) : NULL;
        for (; binding; binding = check_used_binding(layout, (uint64_t)binding->binding + 1)) {
            const bool uniform = binding->type == VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER_DYNAMIC;
            if (!uniform && binding->type != VK_DESCRIPTOR_TYPE_STORAGE_BUFFER_DYNAMIC)
                continue;
            const uint64_t unit =
                uniform ? limits->minUniformBufferOffsetAlignment : limits->minStorageBufferOffsetAlignment;
            for (size_t j = 0; j < binding->count && offset < at->k; j++, offset++) {
                const size_t named = binding->first + j;
                REQUIRE(!unit || at->o[offset] % unit == 0, "a dynamic offset is not aligned");
                REQUIRE(named >= set->named_count || at->o[offset] <= set->named[named].left,
                        "a dynamic offset is beyond the end of its buffer");
            }
        }
    }
    return true;
}

static bool bind_sets(struct vulkan_run *run, const struct call_CmdBindDescriptorSets *at) {
    const struct vulkan_live *layout = vulkan_find_handle(run, (uint64_t)(uintptr_t)at->l, VULKAN_LAYOUT);
    for (uint32_t i = 0; i < at->n; i++) {
        const struct vulkan_live *set = vulkan_find_handle(run, (uint64_t)(uintptr_t)at->s[i], VULKAN_SET),
                                 *made_of = set ? vulkan_find(run, set->made_of, VULKAN_SET_LAYOUT) : NULL;
        REQUIRE(check_same_layout(made_of, set_layout_of(run, layout, at->f + i)),
                "a descriptor set does not have the layout that the pipeline layout has at its place");
        if (at->f + i < VULKAN_SETS_MOST)
            run->bound.sets[at->p][at->f + i] = set->number;
    }
    return offsets_fit(run, at);
}

static bool bind_pipeline(struct vulkan_run *run, const struct call_CmdBindPipeline *at) {
    const struct vulkan_live *pipeline = vulkan_find_handle(run, (uint64_t)(uintptr_t)at->h, VULKAN_PIPELINE);
    REQUIRE(pipeline && pipeline->needs && pipeline->needs->point == at->p,
            "a pipeline is bound to another bind point than its own");
    run->bound.pipelines[at->p] = pipeline->number;
    return true;
}

static bool bind_index(struct vulkan_run *run, const struct call_CmdBindIndexBuffer *at) {
    run->bound.has_index = true;
    run->bound.index_type = at->t;
    run->bound.index_bytes = bytes_of(run, at->b) - at->o; // not negative: it was checked
    return true;
}

// ---- draws and dispatches

static bool sets_fit(struct vulkan_run *run, const struct vulkan_needs *needs) {
    const struct vulkan_live *layout = vulkan_find(run, needs->layout, VULKAN_LAYOUT);
    REQUIRE(layout && layout->handle, "the pipeline's layout is gone");
    for (size_t i = 0; i < needs->slot_count; i++) {
        const struct vulkan_slot *slot = &needs->slots[i];
        struct vulkan_live *set = slot->set < VULKAN_SETS_MOST
                                      ? vulkan_find(run, run->bound.sets[needs->point][slot->set], VULKAN_SET)
                                      : NULL;
        const struct vulkan_live *made_of = set ? vulkan_find(run, set->made_of, VULKAN_SET_LAYOUT) : NULL;
        REQUIRE(set && set->handle, "a shader uses a descriptor set, and none is bound");
        REQUIRE(check_same_layout(made_of, set_layout_of(run, layout, slot->set)),
                "a bound descriptor set does not have the layout that the pipeline has at its place");
        const struct vulkan_binding *binding = find_binding(made_of, slot->binding);
        REQUIRE(binding && binding_is_valid(run, set, binding),
                "a shader uses a descriptor that was not written, or names something that is gone");
    }
    return true;
}

static const struct vulkan_needs *find_needs(struct vulkan_run *run, VkPipelineBindPoint point) {
    const struct vulkan_live *live = vulkan_find(run, run->bound.pipelines[point], VULKAN_PIPELINE);
    return live && live->handle ? live->needs : NULL;
}

static bool dispatch_fits(struct vulkan_run *run) {
    const struct vulkan_needs *needs = find_needs(run, VK_PIPELINE_BIND_POINT_COMPUTE);
    REQUIRE(needs, "no compute pipeline is bound");
    return sets_fit(run, needs);
}

// Without a pass an attachment may be missing.
static bool parts_fit(const struct vulkan_needs *needs, const struct vulkan_now *now) {
    const struct vulkan_part *made = &needs->part, *used = &now->part;
    const bool exact = now->place == VULKAN_IN_PASS;
    if ((!exact && made->colors != used->colors) ||
        (made->samples && used->samples && made->samples != used->samples))
        return false;
    for (uint32_t i = 0; i < VULKAN_COLORS_MOST; i++) // of a pass those that are not there are unused
        if (made->formats[i] != used->formats[i] && (exact || used->formats[i]))
            return false;
    return (made->depth == used->depth || (!exact && !used->depth)) &&
           (made->stencil == used->stencil || (!exact && !used->stencil));
}

static bool draw_fits(struct vulkan_run *run) {
    const struct vulkan_bound *bound = &run->bound;
    const struct vulkan_needs *needs = find_needs(run, VK_PIPELINE_BIND_POINT_GRAPHICS);
    REQUIRE(needs, "no graphics pipeline is bound");
    REQUIRE(needs->in_pass == (run->now.place == VULKAN_IN_PASS) &&
                (!needs->in_pass || needs->subpass == run->now.subpass) && parts_fit(needs, &run->now),
            "the pipeline is not made for the attachments of the current pass");
    REQUIRE(!(needs->vertices & ~bound->vertices),
            "the vertex shader reads a vertex buffer that is not bound");
    REQUIRE(!(needs->viewports & ~bound->viewports) && !(needs->scissors & ~bound->scissors) &&
                (!needs->viewport_count || bound->viewport_count) &&
                (!needs->scissor_count || bound->scissor_count),
            "viewports or scissors of the pipeline are not set");
    return sets_fit(run, needs);
}

static bool indexed_fits(struct vulkan_run *run, uint64_t first, uint64_t count) {
    const uint64_t size = run->bound.index_type == VK_INDEX_TYPE_UINT16 ? 2 : 4;
    REQUIRE(run->bound.has_index, "no index buffer is bound");
    REQUIRE(is_inside(first, count, run->bound.index_bytes / size),
            "a draw reads indexes beyond the end of the index buffer");
    return draw_fits(run);
}

bool check_state(struct vulkan_run *run, enum vulkan_command number, const void *call) {
    struct vulkan_bound *bound = &run->bound;
    switch (number) {
    case VULKAN_CmdBindPipeline:
        return bind_pipeline(run, call);
    case VULKAN_CmdBindDescriptorSets:
        return bind_sets(run, call);
    case VULKAN_CmdBindIndexBuffer:
        return bind_index(run, call);
    case VULKAN_CmdBindVertexBuffers: {
        const struct call_CmdBindVertexBuffers *at = call;
        bound->vertices |= bits_from(at->f, at->n);
        return true;
    }
    case VULKAN_CmdSetViewport: {
        const struct call_CmdSetViewport *at = call;
        bound->viewports |= (uint32_t)bits_from(at->f, at->n);
        return true;
    }
    case VULKAN_CmdSetScissor: {
        const struct call_CmdSetScissor *at = call;
        bound->scissors |= (uint32_t)bits_from(at->f, at->n);
        return true;
    }
    case VULKAN_CmdSetViewportWithCount:
        return bound->viewport_count = true;
    case VULKAN_CmdSetScissorWithCount:
        return bound->scissor_count = true;
    case VULKAN_CmdDispatch:
    case VULKAN_CmdDispatchBase:
    case VULKAN_CmdDispatchIndirect:
        return dispatch_fits(run);
    case VULKAN_CmdDrawIndexed: {
        const struct call_CmdDrawIndexed *at = call;
        return indexed_fits(run, at->fi, at->n);
    }
    case VULKAN_CmdDrawIndexedIndirect:
        return indexed_fits(run, 0, 0);
    case VULKAN_CmdDraw:
    case VULKAN_CmdDrawIndirect:
        return draw_fits(run);
    default:
        return true;
    }
}

#endif
