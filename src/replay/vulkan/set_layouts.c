// SPDX-License-Identifier: Apache-2.0
// Descriptor set layouts of a recording: their bindings in the order of their numbers, and which layouts are alike. A command names a
// layout in a few bytes, so what it asks of one takes no walk over all bindings. objects.c calls it, and the checks (check*.c).
#include "recording/vulkan/headers.h"
#ifdef RECORDING_HAS_VULKAN

#include <stdlib.h>

#include "base/array.h"
#include "base/sorted.h"
#include "replay/vulkan/check.h"

static int by_number(const void *left, const void *right) {
    const struct vulkan_binding *a = left, *b = right;
    return a->binding < b->binding ? -1 : a->binding > b->binding;
}

static uint64_t add_to_hash(uint64_t hash, uint64_t value) {
    return (hash ^ value) * 1099511628211u;
}

static uint64_t hash_of(const struct vulkan_live *layout) {
    uint64_t hash = 14695981039346656037u;
    for (uint32_t i = 0; i < layout->binding_count; i++) {
        const struct vulkan_binding *at = &layout->bindings[i];
        hash = add_to_hash(add_to_hash(hash, (uint64_t)at->binding << 32 | at->type),
                           (uint64_t)at->count << 32 | at->stages);
        hash = add_to_hash(hash, at->has_samplers);
    }
    return hash;
}

static bool is_equal(const struct vulkan_live *left, const struct vulkan_bindings *right) {
    if (left->binding_count != right->count)
        return false;
    for (uint32_t i = 0; i < left->binding_count; i++) {
        const struct vulkan_binding *one = &left->bindings[i], *other = &right->all[i];
        if (one->binding != other->binding || one->type != other->type || one->count != other->count ||
            one->stages != other->stages || one->has_samplers != other->has_samplers)
            return false;
    }
    return true;
}

// Layouts that are equal have the same bindings, which stay until the end of the replay. Out of memory: nothing is made of it.
static void share_bindings(struct vulkan_run *run, struct vulkan_live *layout, struct vulkan_binding *own) {
    uint64_t *index = table_add(&run->layouts, hash_of(layout), NULL);
    if (index && *index && is_equal(layout, &run->bindings[*index - 1])) {
        free(own);
        layout->bindings = run->bindings[*index - 1].all;
    } else if (index && ARRAY_RESERVE(run->bindings, run->bindings_capacity, run->bindings_count + 1)) {
        run->bindings[run->bindings_count++] = (struct vulkan_bindings){own, layout->binding_count};
        *index = run->bindings_count;
    } else {
        free(own);
        layout->bindings = NULL;
        layout->binding_count = 0;
    }
}

// Bindings without descriptors are none.
void vulkan_know_set_layout(struct vulkan_run *run, struct vulkan_live *layout,
                            const VkDescriptorSetLayoutCreateInfo *info) {
    struct vulkan_binding *bindings = calloc(info->bindingCount + (size_t)1, sizeof *bindings);
    if (!bindings)
        return;
    for (uint32_t i = 0; i < info->bindingCount; i++) {
        const VkDescriptorSetLayoutBinding *at = &info->pBindings[i];
        if (!at->descriptorCount)
            continue;
        bindings[layout->binding_count++] =
            (struct vulkan_binding){.binding = at->binding,
                                    .type = (uint32_t)at->descriptorType,
                                    .count = at->descriptorCount,
                                    .stages = at->stageFlags,
                                    .has_samplers = at->pImmutableSamplers != NULL};
        layout->descriptors[at->descriptorType] += at->descriptorCount; // types and sums were checked
    }
    qsort(bindings, layout->binding_count, sizeof *bindings, by_number);
    for (uint32_t i = 0; i < layout->binding_count; i++) {
        bindings[i].first = layout->descriptor_count;
        layout->descriptor_count += bindings[i].count;
    }
    layout->bindings = bindings;
    share_bindings(run, layout, bindings);
    check_count_stages(layout);
}

void vulkan_bindings_end(struct vulkan_run *run) {
    for (size_t i = 0; i < run->bindings_count; i++)
        free(run->bindings[i].all);
    free(run->bindings);
    table_finish(&run->layouts);
}

const struct vulkan_binding *check_used_binding(const struct vulkan_live *layout, uint64_t from) {
    const uint32_t at = SORTED_FIND(i, 0, layout->binding_count, layout->bindings[i].binding < from);
    return at < layout->binding_count ? &layout->bindings[at] : NULL;
}

bool check_same_layout(const struct vulkan_live *left, const struct vulkan_live *right) {
    return left && right && left->handle && right->handle && left->bindings &&
           left->bindings == right->bindings;
}

#endif
