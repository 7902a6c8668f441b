// SPDX-License-Identifier: Apache-2.0
// Whether the state fits a draw or a dispatch (check.c): what pipelines need, what sets hold, and what a command buffer has bound. Drivers
// read what is bound without asking whether it is there.
#include "recording/vulkan/headers.h"
#ifdef RECORDING_HAS_VULKAN

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/table.h"
#include "recording/vulkan/words.h"
#include "replay/vulkan/check.h"

// ---- descriptor sets

static uint64_t number_of(struct vulkan_run *run, uint64_t handle, enum vulkan_kind kind) {
    const struct vulkan_live *live = handle ? vulkan_find_handle(run, handle, kind) : NULL;
    return live ? live->number : 0;
}
#define NUMBER(handle, KIND) number_of(run, (uint64_t)(uintptr_t)(handle), VULKAN_##KIND)

static struct vulkan_named named_of(struct vulkan_run *run, const VkWriteDescriptorSet *write, uint32_t i) {
    struct vulkan_named named = {0};
    if (write->pImageInfo) {
        named.number = NUMBER(write->pImageInfo[i].imageView, IMAGE_VIEW);
        named.sampler = NUMBER(write->pImageInfo[i].sampler, SAMPLER);
        named.layout = write->pImageInfo[i].imageLayout;
    } else if (write->pBufferInfo) {
        const VkDescriptorBufferInfo *info = &write->pBufferInfo[i];
        const uint64_t whole = bytes_of(run, info->buffer);
        named.number = NUMBER(info->buffer, BUFFER);
        if (info->buffer && info->range != VK_WHOLE_SIZE)
            named.left = whole - info->offset - info->range; // not negative: it was checked
    } else if (write->pTexelBufferView) {
        named.number = NUMBER(write->pTexelBufferView[i], BUFFER_VIEW);
    }
    return named;
}

// Few of a set's descriptors may be written, with high numbers: only these take memory.
static struct vulkan_named *add_named(struct vulkan_live *set, uint64_t place) {
    if (!TABLE_ROOM(set->named, set->named_capacity, set->named_count, 8, slot, slot->place != 0,
                    slot->place))
        return NULL;
    struct vulkan_named *found = TABLE_SLOT(set->named, set->named_capacity, place + 1, slot,
                                            !slot->place || slot->place == place + 1);
    set->named_count += !found->place;
    return found;
}

// NULL: it was not written.
static const struct vulkan_named *find_named(const struct vulkan_live *set, uint64_t place) {
    if (!set->named_capacity)
        return NULL;
    const struct vulkan_named *found = TABLE_SLOT(set->named, set->named_capacity, place + 1, slot,
                                                  !slot->place || slot->place == place + 1);
    return found->place ? found : NULL;
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
        const uint64_t place = binding ? (uint64_t)binding->first + element : 0;
        struct vulkan_named *named = binding ? add_named(set, place) : NULL;
        if (!named)
            return check_fails(run, "out of memory");
        *named = named_of(run, write, i);
        named->place = place + 1;
    }
    return true;
}

void vulkan_forget_writes(struct vulkan_live *set) {
    free(set->named);
    set->named = NULL;
    set->named_count = set->named_capacity = 0;
}

// The first element of a binding that was written; the number of its elements: none was.
static uint64_t first_written(const struct vulkan_live *set, const struct vulkan_binding *binding) {
    uint64_t first = binding->count;
    if (binding->count < set->named_capacity) {
        first = 0;
        while (first < binding->count && !find_named(set, binding->first + first))
            first++;
        return first;
    }
    for (size_t i = 0; i < set->named_capacity; i++) {
        const uint64_t place = set->named[i].place;
        if (place > binding->first && place - binding->first - 1 < first)
            first = place - binding->first - 1;
    }
    return first;
}

bool vulkan_copy_writes(struct vulkan_run *run, struct vulkan_live *to, const struct vulkan_live *from) {
    const struct vulkan_live *layout = vulkan_find(run, to->made_of, VULKAN_SET_LAYOUT);
    const struct vulkan_binding *binding = layout ? check_used_binding(layout, 0) : NULL;
    for (; binding; binding = check_used_binding(layout, (uint64_t)binding->binding + 1))
        for (uint32_t i = 0; i < binding->count; i++) {
            const struct vulkan_named *named = find_named(from, (uint64_t)binding->first + i);
            struct vulkan_named *copied = named ? add_named(to, named->place - 1) : NULL;
            const VkCopyDescriptorSet copy = {.sType = VK_STRUCTURE_TYPE_COPY_DESCRIPTOR_SET,
                                              .srcSet = (VkDescriptorSet)(uintptr_t)from->handle,
                                              .srcBinding = binding->binding,
                                              .srcArrayElement = i,
                                              .dstSet = (VkDescriptorSet)(uintptr_t)to->handle,
                                              .dstBinding = binding->binding,
                                              .dstArrayElement = i,
                                              .descriptorCount = 1};
            if (named && !copied)
                return false;
            if (!named)
                continue;
            *copied = *named;
            to->device->UpdateDescriptorSets(to->device->handle, 0, NULL, 1, &copy);
        }
    return true;
}

// ---- arrays of which some elements were not written

static int by_place(const void *left, const void *right) {
    const uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return a < b ? -1 : a > b;
}

// The places of what was written, in their order. free() by the caller.
static uint64_t *places_of(const struct vulkan_live *set) {
    uint64_t *places = calloc(set->named_count + 1, sizeof *places);
    size_t count = 0;
    for (size_t i = 0; places && i < set->named_capacity; i++)
        if (set->named[i].place)
            places[count++] = set->named[i].place - 1;
    if (count)
        qsort(places, count, sizeof *places, by_place);
    return places;
}

// Elements from one to another get what `source` has: the first of them, then each time as many as have it.
static void fill_gap(const struct vulkan_live *set, const struct vulkan_binding *binding, uint32_t source,
                     uint32_t from, uint32_t to) {
    VkCopyDescriptorSet copies[33];
    uint32_t count = 0;
    for (uint32_t done = 0, more; from + done < to; done += more) {
        more = done ? done : 1;
        if (more > to - from - done)
            more = to - from - done;
        copies[count++] = (VkCopyDescriptorSet){.sType = VK_STRUCTURE_TYPE_COPY_DESCRIPTOR_SET,
                                                .srcSet = (VkDescriptorSet)(uintptr_t)set->handle,
                                                .srcBinding = binding->binding,
                                                .srcArrayElement = done ? from : source,
                                                .dstSet = (VkDescriptorSet)(uintptr_t)set->handle,
                                                .dstBinding = binding->binding,
                                                .dstArrayElement = from + done,
                                                .descriptorCount = more};
    }
    set->device->UpdateDescriptorSets(set->device->handle, 0, NULL, count, copies);
}

// A few bytes of a recording ask for as many elements as a layout has, each time: all of them are counted.
static bool fill_binding(struct vulkan_run *run, const struct vulkan_live *set,
                         const struct vulkan_binding *binding, const uint64_t *places, size_t count) {
    static const uint64_t most = (uint64_t)1 << 28;
    uint32_t next = 0;
    run->filled += binding->count - count;
    REQUIRE(run->filled <= most, "more elements of arrays of descriptors are not written than are supported");
    for (size_t i = 0; i <= count; i++) {
        const uint32_t until = i < count ? (uint32_t)(places[i] - binding->first) : binding->count;
        if (until > next)
            fill_gap(set, binding, (uint32_t)(places[0] - binding->first), next, until);
        next = until + 1;
    }
    return true;
}

bool vulkan_fill_arrays(struct vulkan_run *run, struct vulkan_live *set) {
    const struct vulkan_live *layout = vulkan_find(run, set->made_of, VULKAN_SET_LAYOUT);
    uint64_t *places = layout ? places_of(set) : NULL;
    bool good = !layout || places || check_fails(run, "out of memory");
    size_t done = 0;
    for (uint32_t i = 0; places && good && i < layout->binding_count; i++) {
        const struct vulkan_binding *binding = &layout->bindings[i];
        size_t count = 0;
        while (done + count < set->named_count && places[done + count] - binding->first < binding->count)
            count++;
        if (count && count < binding->count)
            good = fill_binding(run, set, binding, places + done, count);
        done += count;
    }
    free(places);
    return good;
}

static bool is_there(struct vulkan_run *run, uint64_t number, enum vulkan_kind kind) {
    const struct vulkan_live *live = vulkan_find(run, number, kind);
    return live && live->handle;
}

// A view whose buffer or image is gone must not be used.
static bool is_valid(struct vulkan_run *run, const struct vulkan_named *named, uint32_t type) {
    if (named->sampler && !is_there(run, named->sampler, VULKAN_SAMPLER))
        return false;
    switch (type) {
    case VK_DESCRIPTOR_TYPE_SAMPLER:
        return true; // it may be immutable
    default:
        break;
    }
    if (!named->number)
        return run->device->extras.robustness.nullDescriptor;
    switch (type) {
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

// Many draws use the same large array. One element at least is written: the others have what it has (vulkan_fill_arrays).
static bool binding_is_valid(struct vulkan_run *run, struct vulkan_live *set,
                             const struct vulkan_live *layout, const struct vulkan_binding *binding) {
    const size_t at = (size_t)(binding - layout->bindings);
    if (!set->valid_at)
        set->valid_at = calloc(layout->binding_count + (size_t)1, sizeof *set->valid_at);
    if ((binding->type == VK_DESCRIPTOR_TYPE_SAMPLER && binding->has_samplers) ||
        (set->valid_at && set->valid_at[at] == run->changes))
        return true;
    const bool few = binding->count < set->named_capacity;
    bool written = false;
    for (size_t i = 0; i < (few ? binding->count : set->named_capacity); i++) {
        const struct vulkan_named *named = few ? find_named(set, binding->first + i) : &set->named[i];
        if (!named || named->place <= binding->first || named->place - binding->first > binding->count)
            continue;
        written = true;
        if (!is_valid(run, named, binding->type))
            return false;
    }
    if (!written)
        return false;
    if (set->valid_at)
        set->valid_at[at] = run->changes;
    return true;
}

static const struct vulkan_binding *find_binding(const struct vulkan_live *layout, uint32_t number) {
    const struct vulkan_binding *found = layout ? check_used_binding(layout, number) : NULL;
    return found && found->binding == number ? found : NULL;
}

// ---- what pipelines need

const struct vulkan_live *vulkan_set_layout(struct vulkan_run *run, const struct vulkan_live *layout,
                                            uint32_t set) {
    return layout && layout->numbers && set < layout->set_count
               ? vulkan_find(run, layout->numbers[set], VULKAN_SET_LAYOUT)
               : NULL;
}

static bool slot_fits(struct vulkan_run *run, const struct vulkan_live *layout,
                      const struct vulkan_slot *slot, uint32_t stage) {
    const struct vulkan_binding *binding =
        find_binding(vulkan_set_layout(run, layout, slot->set), slot->binding);
    REQUIRE(binding, "a shader uses a descriptor that its pipeline layout does not have");
    REQUIRE(slot->types >> binding->type & 1,
            "a shader uses a descriptor as another type than its layout has");
    REQUIRE(binding->stages & stage, "a shader uses a descriptor that its layout does not give to its stage");
    REQUIRE(slot->count <= binding->count, "a shader uses more descriptors than its layout has");
    return true;
}

static int by_slot(const void *left, const void *right) {
    const struct vulkan_slot *a = left, *b = right;
    if (a->set != b->set)
        return a->set < b->set ? -1 : 1;
    return a->binding < b->binding ? -1 : a->binding > b->binding;
}

// Many variables may be of one binding, which each draw looks at.
static void keep_one_each(struct vulkan_needs *needs) {
    size_t kept = 0;
    if (needs->slot_count)
        qsort(needs->slots, needs->slot_count, sizeof *needs->slots, by_slot);
    for (size_t i = 0; i < needs->slot_count; i++)
        if (!kept || by_slot(&needs->slots[kept - 1], &needs->slots[i]) != 0)
            needs->slots[kept++] = needs->slots[i];
    needs->slot_count = kept;
}

static bool has_range(const struct vulkan_live *layout, uint32_t stage) {
    for (uint32_t i = 0; layout && i < layout->range_count; i++)
        if (layout->ranges[i].stageFlags & stage)
            return true;
    return false;
}

static bool know_stage(struct vulkan_run *run, struct vulkan_needs *needs,
                       const VkPipelineShaderStageCreateInfo *info, struct vulkan_stage *out) {
    const struct vulkan_live *module =
        vulkan_find_handle(run, (uint64_t)(uintptr_t)info->module, VULKAN_MODULE);
    const struct vulkan_live *layout = vulkan_find(run, needs->layout, VULKAN_LAYOUT);
    struct vulkan_stage stage = {0};
    REQUIRE(module && module->shader, "a shader module is not sound");
    const char *why = vulkan_shader_stage(module->shader, info, run->device, &stage);
    bool good = !why && ARRAY_RESERVE(needs->slots, needs->slot_capacity, needs->slot_count + stage.count);
    for (size_t i = 0; good && i < stage.count; i++) {
        good = slot_fits(run, layout, &stage.slots[i], (uint32_t)info->stage);
        needs->slots[needs->slot_count++] = stage.slots[i];
    }
    keep_one_each(needs);
    if (good && stage.pushes && !has_range(layout, (uint32_t)info->stage))
        good = check_fails(run, "a shader reads push constants that its pipeline layout does not have");
    free(stage.slots);
    stage.slots = NULL;
    *out = stage;
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
    struct vulkan_stage stage;
    struct vulkan_needs *needs = make_needs(run, live, VK_PIPELINE_BIND_POINT_COMPUTE, info->layout);
    return needs ? know_stage(run, needs, &info->stage, &stage) : check_fails(run, "out of memory");
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
    if (info->pMultisampleState && !check_is_dynamic(info, VK_DYNAMIC_STATE_RASTERIZATION_SAMPLES_EXT))
        needs->part.samples = (uint32_t)info->pMultisampleState->rasterizationSamples;
}

static uint32_t low_bits(uint32_t count) {
    return count < 32 ? ((uint32_t)1 << count) - 1 : UINT32_MAX;
}

static void know_viewports(struct vulkan_needs *needs, const VkGraphicsPipelineCreateInfo *info) {
    const VkPipelineViewportStateCreateInfo *views = info->pViewportState;
    if (!views)
        return;
    if (check_is_dynamic(info, VK_DYNAMIC_STATE_VIEWPORT))
        needs->viewports = low_bits(views->viewportCount);
    if (check_is_dynamic(info, VK_DYNAMIC_STATE_SCISSOR))
        needs->scissors = low_bits(views->scissorCount);
    needs->viewport_count = check_is_dynamic(info, VK_DYNAMIC_STATE_VIEWPORT_WITH_COUNT);
    needs->scissor_count = check_is_dynamic(info, VK_DYNAMIC_STATE_SCISSOR_WITH_COUNT);
}

// The bindings of the attributes that the vertex shader has inputs for.
static bool know_vertices(struct vulkan_run *run, struct vulkan_needs *needs,
                          const VkGraphicsPipelineCreateInfo *info, uint64_t locations) {
    const VkPipelineVertexInputStateCreateInfo *all = info->pVertexInputState;
    uint64_t left = locations;
    if (check_is_dynamic(info, VK_DYNAMIC_STATE_VERTEX_INPUT_EXT)) {
        needs->locations = locations;
        return true;
    }
    for (uint32_t i = 0; i < all->vertexAttributeDescriptionCount; i++) {
        const VkVertexInputAttributeDescription *at = &all->pVertexAttributeDescriptions[i];
        if (at->location < 64)
            left &= ~((uint64_t)1 << at->location);
        if (at->location < 64 && at->binding < 64 && locations >> at->location & 1)
            needs->vertices |= (uint64_t)1 << at->binding;
    }
    REQUIRE(!left, "the vertex shader reads an attribute that its pipeline does not have");
    return true;
}

// In the order in which one passes its outputs on to the next. Without rasterizing no fragments are shaded.
static bool know_stages(struct vulkan_run *run, struct vulkan_needs *needs,
                        const VkGraphicsPipelineCreateInfo *info) {
    static const VkShaderStageFlagBits order[] = {VK_SHADER_STAGE_VERTEX_BIT,
                                                  VK_SHADER_STAGE_TESSELLATION_CONTROL_BIT,
                                                  VK_SHADER_STAGE_TESSELLATION_EVALUATION_BIT,
                                                  VK_SHADER_STAGE_GEOMETRY_BIT, VK_SHADER_STAGE_FRAGMENT_BIT};
    uint64_t outputs = 0;
    for (size_t i = 0; i < sizeof order / sizeof *order; i++)
        for (uint32_t j = 0; j < info->stageCount; j++) {
            struct vulkan_stage stage;
            if (info->pStages[j].stage != order[i])
                continue;
            if (!know_stage(run, needs, &info->pStages[j], &stage) ||
                (order[i] == VK_SHADER_STAGE_VERTEX_BIT && !know_vertices(run, needs, info, stage.locations)))
                return false;
            REQUIRE(order[i] == VK_SHADER_STAGE_VERTEX_BIT || !(stage.locations & ~outputs),
                    "a shader has an input that the stage before it has no output for");
            outputs = stage.outputs;
        }
    return true;
}

bool vulkan_know_VkGraphicsPipelineCreateInfo(struct vulkan_run *run, struct vulkan_live *live,
                                              const VkGraphicsPipelineCreateInfo *info) {
    struct vulkan_needs *needs = make_needs(run, live, VK_PIPELINE_BIND_POINT_GRAPHICS, info->layout);
    if (!needs)
        return check_fails(run, "out of memory");
    if (!know_stages(run, needs, info))
        return false;
    know_part(run, needs, info);
    know_viewports(needs, info);
    needs->strides = check_is_dynamic(info, VK_DYNAMIC_STATE_VERTEX_INPUT_BINDING_STRIDE);
    check_know_dynamic(needs, info);
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
    for (uint32_t i = 0; i < at->n && offset < at->k; i++) {
        const struct vulkan_live *set = vulkan_find_handle(run, (uint64_t)(uintptr_t)at->s[i], VULKAN_SET),
                                 *layout = set ? vulkan_find(run, set->made_of, VULKAN_SET_LAYOUT) : NULL;
        for (uint32_t which = 0; layout && which < layout->binding_count; which++) {
            const struct vulkan_binding *binding = &layout->bindings[which];
            const bool uniform = binding->type == VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER_DYNAMIC;
            if (!uniform && binding->type != VK_DESCRIPTOR_TYPE_STORAGE_BUFFER_DYNAMIC)
                continue;
            const uint64_t unit =
                uniform ? limits->minUniformBufferOffsetAlignment : limits->minStorageBufferOffsetAlignment;
            const uint64_t from = first_written(set, binding);
            const struct vulkan_named *filled =
                from < binding->count ? find_named(set, binding->first + from) : NULL;
            for (size_t j = 0; j < binding->count && offset < at->k; j++, offset++) {
                const struct vulkan_named *named = find_named(set, binding->first + j);
                named = named ? named : filled;
                REQUIRE(!unit || at->o[offset] % unit == 0, "a dynamic offset is not aligned");
                REQUIRE(!named || at->o[offset] <= named->left,
                        "a dynamic offset is beyond the end of its buffer");
            }
        }
    }
    return true;
}

static void bind_set(struct vulkan_run *run, const struct call_CmdBindDescriptorSets *at, uint32_t place,
                     const struct vulkan_live *set, const struct vulkan_live *layout) {
    run->bound.sets[at->p][place] = set->number;
    run->bound.set_layouts[at->p][place] = layout->number;
}

static bool bind_sets(struct vulkan_run *run, const struct call_CmdBindDescriptorSets *at) {
    const struct vulkan_live *layout = vulkan_find_handle(run, (uint64_t)(uintptr_t)at->l, VULKAN_LAYOUT);
    for (uint32_t i = 0; i < at->n; i++) {
        const struct vulkan_live *set = vulkan_find_handle(run, (uint64_t)(uintptr_t)at->s[i], VULKAN_SET),
                                 *made_of = set ? vulkan_find(run, set->made_of, VULKAN_SET_LAYOUT) : NULL;
        REQUIRE(check_same_layout(made_of, vulkan_set_layout(run, layout, at->f + i)),
                "a descriptor set does not have the layout that the pipeline layout has at its place");
        if (at->f + i < VULKAN_SETS_MOST)
            bind_set(run, at, at->f + i, set, layout);
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

// Of arrays those that no shader uses may have any layout, and those of a subpass have the subpass's.
static bool layout_fits(struct vulkan_run *run, const struct vulkan_live *set,
                        const struct vulkan_binding *binding) {
    const struct vulkan_named *named = binding->count == 1 ? find_named(set, binding->first) : NULL;
    return !named ||
           (binding->type != VK_DESCRIPTOR_TYPE_SAMPLED_IMAGE &&
            binding->type != VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER &&
            binding->type != VK_DESCRIPTOR_TYPE_STORAGE_IMAGE) ||
           check_view_layout(run, named->number, named->layout);
}

static bool is_without(const struct vulkan_live *layout) {
    return !layout || !layout->descriptor_count;
}

// A driver counts the descriptors of the sets before: by the layout that a set is bound with, and by the pipeline's.
static bool sets_before_fit(struct vulkan_run *run, const struct vulkan_needs *needs,
                            const struct vulkan_live *layout, uint32_t set) {
    const struct vulkan_live *bound =
        vulkan_find(run, run->bound.set_layouts[needs->point][set], VULKAN_LAYOUT);
    for (uint32_t i = 0; bound != layout && i < set; i++) {
        const struct vulkan_live *one = vulkan_set_layout(run, bound, i),
                                 *other = vulkan_set_layout(run, layout, i);
        REQUIRE((is_without(one) && is_without(other)) || check_same_layout(one, other),
                "a descriptor set is bound with a pipeline layout that has other sets before it than the "
                "pipeline's");
    }
    return true;
}

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
        REQUIRE(check_same_layout(made_of, vulkan_set_layout(run, layout, slot->set)),
                "a bound descriptor set does not have the layout that the pipeline has at its place");
        if ((!i || needs->slots[i - 1].set != slot->set) && !sets_before_fit(run, needs, layout, slot->set))
            return false;
        const struct vulkan_binding *binding = find_binding(made_of, slot->binding);
        REQUIRE(binding && binding_is_valid(run, set, made_of, binding),
                "a shader uses a descriptor that was not written, or names something that is gone");
        if (!layout_fits(run, set, binding))
            return false;
        for (uint32_t j = 0; check_may_write(binding) && j < binding->count && !run->wrote_any; j++) {
            const struct vulkan_named *named = find_named(set, binding->first + j);
            check_writes_descriptor(run, binding, named ? named->number : 0);
        }
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
    REQUIRE(!needs->strides || !(needs->vertices & ~bound->strides),
            "the vertex shader reads a vertex buffer whose stride is not set");
    REQUIRE(!(needs->viewports & ~bound->viewports) && !(needs->scissors & ~bound->scissors) &&
                (!needs->viewport_count || bound->viewport_count) &&
                (!needs->scissor_count || bound->scissor_count),
            "viewports or scissors of the pipeline are not set");
    return check_dynamic_state(run, needs) && sets_fit(run, needs);
}

static bool indexed_fits(struct vulkan_run *run, uint64_t first, uint64_t count) {
    const uint64_t size = check_index_bytes(run->bound.index_type);
    REQUIRE(run->bound.has_index, "no index buffer is bound");
    REQUIRE(is_inside(first, count, run->bound.index_bytes / size),
            "a draw reads indexes beyond the end of the index buffer");
    return draw_fits(run);
}

bool check_state(struct vulkan_run *run, enum vulkan_command number, const void *call) {
    struct vulkan_bound *bound = &run->bound;
    check_set_dynamic(bound, number, call);
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
    case VULKAN_CmdBindVertexBuffers2: {
        const struct call_CmdBindVertexBuffers2 *at = call;
        bound->vertices |= bits_from(at->f, at->n);
        bound->strides |= at->s ? bits_from(at->f, at->n) : 0;
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
    case VULKAN_CmdDrawIndexedIndirectCount:
        return indexed_fits(run, 0, 0);
    case VULKAN_CmdDraw:
    case VULKAN_CmdDrawIndirect:
    case VULKAN_CmdDrawIndirectCount:
        return draw_fits(run);
    default:
        return true;
    }
}

#endif
