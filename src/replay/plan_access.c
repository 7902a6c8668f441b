// SPDX-License-Identifier: Apache-2.0
// What memory a command uses. Sizes come from a file: nothing is added up before it is known to fit.
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "replay/plan.h"

enum {
    READ_ONLY = 1 << 2, // CL_MEM_READ_ONLY, of a kernel
    WRITE_ONLY = 1 << 1,
    MAP_READ = 1 << 0, // CL_MAP_*
    MAP_WRITE = 1 << 1,
    MAP_WRITE_INVALIDATE = 1 << 2,
    ROWS_MOST = 4096,      // of a box that are kept one by one
    MAPPING_TYPE = 0x10000 // plan_object.type of a mapping: no record is one
};

static struct plan_node *last_node(struct plan_builder *builder) {
    return &builder->plan->nodes[builder->plan->node_count - 1];
}

void plan_add_access(struct plan_builder *builder, uint32_t memory, uint64_t from, uint64_t to,
                     uint32_t flags) {
    struct plan *plan = builder->plan;
    if (builder->failed || memory >= plan->memory_count || !(flags & (PLAN_READS | PLAN_WRITES)))
        return;
    struct plan_memory *used = &plan->memories[memory];
    to = to < used->size ? to : used->size;
    if (from >= to)
        return;
    if (!ARRAY_RESERVE(plan->accesses, plan->access_capacity, plan->access_count + 1)) {
        builder->failed = true;
        return;
    }
    plan->accesses[plan->access_count++] = (struct plan_access){from, to, memory, flags};
    last_node(builder)->access_count++;
    used->last = (uint32_t)plan->node_count;
}

static uint64_t add_up(uint64_t a, uint64_t b) {
    uint64_t sum;
    return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

static uint64_t multiply(uint64_t a, uint64_t b) {
    uint64_t product;
    return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

const struct plan_object *plan_find_memory(struct plan_builder *builder, uint64_t id) {
    const struct plan_object *object = plan_find(builder, id);
    return object && (object->type == RECORDING_BUFFER || object->type == RECORDING_SUB_BUFFER ||
                      object->type == RECORDING_IMAGE || object->type == RECORDING_SHARED)
               ? object
               : NULL;
}

static const struct plan_object *find_memory(struct plan_builder *builder,
                                             const struct recording_record *record, enum recording_key key) {
    return plan_find_memory(builder, recording_value(record, key));
}

// A part of a buffer, or of a part of one.
static void add_part(struct plan_builder *builder, const struct plan_object *buffer, uint64_t offset,
                     uint64_t size, uint32_t flags) {
    if (buffer && offset < buffer->size)
        plan_add_access(builder, buffer->index, buffer->offset + offset,
                        buffer->offset + (size < buffer->size - offset ? offset + size : buffer->size),
                        flags);
}

struct box {
    uint64_t origin[3], region[3], pitch[2]; // bytes, rows, slices
};

static void add_rows(struct plan_builder *builder, const struct plan_object *memory, const struct box *box,
                     uint32_t flags) {
    const uint64_t *origin = box->origin, *region = box->region, *pitch = box->pitch;
    if (!region[0] || !region[1] || !region[2])
        return;
    const uint64_t first =
        add_up(add_up(origin[0], multiply(origin[1], pitch[0])), multiply(origin[2], pitch[1]));
    const uint64_t slices = multiply(region[2] - 1, pitch[1]), rows = multiply(region[1] - 1, pitch[0]);
    const bool solid_rows = region[1] == 1 || pitch[0] == region[0];
    const bool solid = solid_rows && (region[2] == 1 || pitch[1] == multiply(region[0], region[1]));
    if (solid || multiply(region[1], region[2]) > ROWS_MOST) {
        add_part(builder, memory, first, add_up(add_up(slices, rows), region[0]),
                 flags | (solid ? 0 : PLAN_ASSUMED));
        return;
    }
    for (uint64_t z = 0; z < region[2]; z++)
        for (uint64_t y = 0; y < region[1]; y++)
            add_part(builder, memory, add_up(first, add_up(multiply(z, pitch[1]), multiply(y, pitch[0]))),
                     region[0], flags);
}

static bool get_three(const struct recording_record *record, enum recording_key key, uint64_t out[3]) {
    size_t count;
    return recording_get_list(record, key, out, 3, &count) && count == 3;
}

static void add_box(struct plan_builder *builder, const struct recording_record *record,
                    const struct plan_object *buffer, bool source, uint32_t flags) {
    struct box box;
    size_t pitches;
    if (buffer &&
        get_three(record, source ? RECORDING_KEY_SOURCE_ORIGIN : RECORDING_KEY_TARGET_ORIGIN, box.origin) &&
        get_three(record, RECORDING_KEY_REGION, box.region) &&
        recording_get_list(record, source ? RECORDING_KEY_SOURCE_PITCH : RECORDING_KEY_TARGET_PITCH,
                           box.pitch, 2, &pitches) &&
        pitches == 2)
        add_rows(builder, buffer, &box, flags);
}

// The layout of an image in a buffer is not known: all of it may be accessed.
static void add_image(struct plan_builder *builder, const struct recording_record *record,
                      const struct plan_object *image, bool source, uint32_t flags) {
    struct box box;
    if (image && !image->pixel)
        add_part(builder, image, 0, image->size, flags | PLAN_ASSUMED);
    if (!image || !image->pixel ||
        !get_three(record, source ? RECORDING_KEY_SOURCE_ORIGIN : RECORDING_KEY_TARGET_ORIGIN, box.origin) ||
        !get_three(record, RECORDING_KEY_REGION, box.region))
        return;
    box.origin[0] = multiply(box.origin[0], image->pixel);
    box.region[0] = multiply(box.region[0], image->pixel);
    box.pitch[0] = image->row;
    box.pitch[1] = multiply(image->row, image->height);
    add_rows(builder, image, &box, flags);
}

// The buffer that an image is copied to or from.
static void add_pixels(struct plan_builder *builder, const struct recording_record *record,
                       const struct plan_object *buffer, const struct plan_object *image, uint32_t flags) {
    uint64_t region[3];
    if (image && get_three(record, RECORDING_KEY_REGION, region))
        add_part(builder, buffer, recording_value(record, RECORDING_KEY_OFFSET),
                 image->pixel ? multiply(multiply(region[0], region[1]), multiply(region[2], image->pixel))
                              : UINT64_MAX,
                 flags | (image->pixel ? 0 : PLAN_ASSUMED));
}

// ---- the program's memory

// A transfer uses it while it is on its way.
static void add_host(struct plan_builder *builder, const struct recording_record *record, uint32_t flags) {
    const uint64_t from = recording_value(record, RECORDING_KEY_HOST),
                   size = recording_value(record, RECORDING_KEY_SIZE);
    if (!from || !size || from > UINT64_MAX - size)
        return;
    if (!builder->memory)
        builder->memory = plan_add_memory(builder, PLAN_HOST_MEMORY, 0, UINT64_MAX) + 1;
    plan_add_access(builder, builder->memory - 1, from, from + size, flags);
    if (flags != PLAN_WRITES || recording_value(record, RECORDING_KEY_BLOCKING))
        return;
    if (!ARRAY_RESERVE(builder->reads, builder->read_capacity, builder->read_count + 1)) {
        builder->failed = true;
        return;
    }
    builder->reads[builder->read_count].from = from;
    builder->reads[builder->read_count++].to = from + size;
}

// ---- maps

bool plan_get_mapping(struct plan_builder *builder, uint64_t id, const struct plan_object **mapping) {
    *mapping = plan_find(builder, id);
    return *mapping && (*mapping)->type == MAPPING_TYPE;
}

// The map brings its memory; the host uses it from then on, and the unmap takes what the host wrote.
static void add_map(struct plan_builder *builder, const struct recording_record *record) {
    const struct plan_object *buffer = find_memory(builder, record, RECORDING_KEY_SOURCE);
    const uint64_t id = recording_value(record, RECORDING_KEY_MAPPING),
                   size = recording_value(record, RECORDING_KEY_SIZE),
                   offset = recording_value(record, RECORDING_KEY_OFFSET),
                   flags = recording_value(record, RECORDING_KEY_FLAGS);
    if (!buffer || !id || plan_find(builder, id) || offset > buffer->size || size > buffer->size - offset)
        return;
    const bool writes = flags & (MAP_WRITE | MAP_WRITE_INVALIDATE);
    struct plan_object made = {.type = MAPPING_TYPE,
                               .offset = buffer->offset + offset,
                               .size = size,
                               .flags = PLAN_READS | (writes ? PLAN_WRITES : 0)};
    const uint32_t memory = buffer->index;
    made.index = plan_add_memory(builder, PLAN_MAPPING, builder->plan->memories[memory].id, size);
    plan_add_access(builder, memory, made.offset, made.offset + size, (uint32_t)made.flags | PLAN_PARTLY);
    plan_add_access(builder, made.index, 0, size, PLAN_WRITES);
    plan_add_object(builder, id, made);
}

static void add_unmap(struct plan_builder *builder, const struct recording_record *record) {
    const struct plan_object *mapping;
    const struct plan_object *buffer = find_memory(builder, record, RECORDING_KEY_TARGET);
    if (!plan_get_mapping(builder, recording_value(record, RECORDING_KEY_MAPPING), &mapping) || !buffer)
        return;
    if (mapping->flags & PLAN_WRITES)
        plan_add_access(builder, buffer->index, mapping->offset, mapping->offset + mapping->size,
                        PLAN_WRITES | PLAN_PARTLY);
    plan_add_access(builder, mapping->index, 0, mapping->size, PLAN_READS);
}

// ---- kernels

static bool starts_nothing(const struct recording_record *record) {
    uint64_t global[RECORDING_DIMENSIONS];
    size_t count;
    bool empty = false;
    if (recording_get_list(record, RECORDING_KEY_GLOBAL, global, RECORDING_DIMENSIONS, &count))
        for (size_t i = 0; i < count; i++)
            empty |= global[i] == 0;
    return empty;
}

// The value of an argument that is a number; false where there is none, or it is negative.
static bool get_value(const struct plan_builder *builder, const struct plan_kernel *kernel, size_t index,
                      uint64_t *out) {
    const uint8_t *bytes;
    size_t length;
    *out = 0;
    if (index >= kernel->count || !kernel->arguments[index])
        return false;
    const struct recording_record *argument = &builder->plan->process->records[kernel->arguments[index] - 1];
    if (recording_value(argument, RECORDING_KEY_FORM) != RECORDING_ARGUMENT_VALUE ||
        !recording_get_bytes(argument, RECORDING_KEY_DATA, &bytes, &length) || (length != 4 && length != 8))
        return false;
    memcpy(out, bytes, length);
    return *out >> (length * 8 - 1) == 0;
}

static void add_elements(struct plan_builder *builder, const struct plan_object *buffer,
                         const struct plan_use *use, const struct recording_record *launch, uint32_t flags,
                         uint64_t plus) {
    uint64_t global[RECORDING_DIMENSIONS] = {0}, offset[RECORDING_DIMENSIONS] = {0};
    size_t count;
    add_part(builder, buffer, multiply(use->first, use->element),
             multiply(use->end - use->first, use->element), flags);
    if (use->of_item &&
        recording_get_list(launch, RECORDING_KEY_GLOBAL, global, RECORDING_DIMENSIONS, &count) &&
        recording_get_list(launch, RECORDING_KEY_GLOBAL_OFFSET, offset, RECORDING_DIMENSIONS, &count))
        add_part(builder, buffer, multiply(add_up(offset[0], plus), use->element),
                 multiply(global[0], use->element), flags);
}

static void add_argument(struct plan_builder *builder, const struct plan_kernel *kernel,
                         const struct recording_record *argument, const struct plan_use *use,
                         const struct recording_record *launch) {
    const struct plan_object *buffer = find_memory(builder, argument, RECORDING_KEY_TARGET);
    const uint64_t form = recording_value(argument, RECORDING_KEY_FORM);
    if ((form != RECORDING_ARGUMENT_OBJECT && form != RECORDING_ARGUMENT_SHARED) || !buffer)
        return;
    uint32_t uses = use ? use->how : PLAN_READS | PLAN_WRITES;
    if ((recording_value(argument, RECORDING_KEY_FLAGS) & RECORDING_ARGUMENT_CONSTANT) ||
        (buffer->flags & READ_ONLY))
        uses &= (uint32_t)~PLAN_WRITES;
    if (buffer->flags & WRITE_ONLY)
        uses &= (uint32_t)~PLAN_READS;
    uint64_t plus = 0;
    const bool known = use && (!use->plus || get_value(builder, kernel, use->plus - 1u, &plus));
    uses |= use && use->atomic ? PLAN_ATOMIC : 0;
    if (known && use->element && buffer->type != RECORDING_IMAGE && form == RECORDING_ARGUMENT_OBJECT)
        add_elements(builder, buffer, use, launch, uses | PLAN_PARTLY, plus);
    else // which bytes of it a kernel uses is unknown
        add_part(builder, buffer, 0, buffer->size, uses | PLAN_ASSUMED);
}

static void add_kernel(struct plan_builder *builder, const struct recording_record *record) {
    const struct plan_object *object = plan_find(builder, recording_value(record, RECORDING_KEY_KERNEL));
    if (!object || object->type != RECORDING_KERNEL || starts_nothing(record))
        return;
    const struct plan_kernel *kernel = &builder->kernels[object->index];
    for (size_t i = 0; i < kernel->count; i++)
        if (kernel->arguments[i])
            add_argument(builder, kernel, &builder->plan->process->records[kernel->arguments[i] - 1],
                         i < kernel->use_count ? &kernel->uses[i] : NULL, record);
    const uint8_t *ids;
    const struct recording_record *uses =
        kernel->shared ? &builder->plan->process->records[kernel->shared - 1] : NULL;
    const size_t shared = uses ? recording_list(uses, RECORDING_KEY_LIST, &ids) : 0;
    for (size_t i = 0; i < shared; i++) {
        uint64_t id;
        memcpy(&id, ids + 8 * i, sizeof id);
        const struct plan_object *memory = plan_find_memory(builder, id);
        if (memory)
            add_part(builder, memory, 0, memory->size, PLAN_READS | PLAN_WRITES | PLAN_ASSUMED);
    }
}

static void add_image_command(struct plan_builder *builder, const struct recording_record *record,
                              const struct plan_object *source, const struct plan_object *target) {
    switch (recording_value(record, RECORDING_KEY_COMMAND)) {
    case RECORDING_COMMAND_READ_IMAGE:
        add_image(builder, record, source, true, PLAN_READS);
        break;
    case RECORDING_COMMAND_WRITE_IMAGE:
    case RECORDING_COMMAND_FILL_IMAGE:
        add_image(builder, record, target, false, PLAN_WRITES);
        break;
    case RECORDING_COMMAND_COPY_IMAGE:
        add_image(builder, record, source, true, PLAN_READS);
        add_image(builder, record, target, false, PLAN_WRITES);
        break;
    case RECORDING_COMMAND_IMAGE_TO_BUFFER:
        add_image(builder, record, source, true, PLAN_READS);
        add_pixels(builder, record, target, source, PLAN_WRITES);
        break;
    case RECORDING_COMMAND_BUFFER_TO_IMAGE:
        add_pixels(builder, record, source, target, PLAN_READS);
        add_image(builder, record, target, false, PLAN_WRITES);
        break;
    default:
        break;
    }
}

// ---- any command

void plan_add_accesses(struct plan_builder *builder, const struct recording_record *record) {
    const struct plan_object *source = find_memory(builder, record, RECORDING_KEY_SOURCE),
                             *target = find_memory(builder, record, RECORDING_KEY_TARGET);
    const uint64_t size = recording_value(record, RECORDING_KEY_SIZE),
                   offset = recording_value(record, RECORDING_KEY_OFFSET);
    uint64_t from, to;
    size_t count;
    switch (recording_value(record, RECORDING_KEY_COMMAND)) {
    case RECORDING_COMMAND_KERNEL:
        add_kernel(builder, record);
        break;
    case RECORDING_COMMAND_READ:
        add_part(builder, source, offset, size, PLAN_READS);
        add_host(builder, record, PLAN_WRITES);
        break;
    case RECORDING_COMMAND_WRITE:
        add_part(builder, target, offset, size, PLAN_WRITES);
        add_host(builder, record, PLAN_READS);
        break;
    case RECORDING_COMMAND_COPY:
        if (recording_get_list(record, RECORDING_KEY_SOURCE_ORIGIN, &from, 1, &count) && count == 1)
            add_part(builder, source, from, size, PLAN_READS);
        if (recording_get_list(record, RECORDING_KEY_TARGET_ORIGIN, &to, 1, &count) && count == 1)
            add_part(builder, target, to, size, PLAN_WRITES);
        break;
    case RECORDING_COMMAND_FILL:
        add_part(builder, target, offset, size, PLAN_WRITES);
        break;
    case RECORDING_COMMAND_READ_RECT:
        add_box(builder, record, source, true, PLAN_READS);
        break;
    case RECORDING_COMMAND_WRITE_RECT:
        add_box(builder, record, target, false, PLAN_WRITES);
        break;
    case RECORDING_COMMAND_COPY_RECT:
        add_box(builder, record, source, true, PLAN_READS);
        add_box(builder, record, target, false, PLAN_WRITES);
        break;
    case RECORDING_COMMAND_READ_IMAGE:
    case RECORDING_COMMAND_WRITE_IMAGE:
    case RECORDING_COMMAND_FILL_IMAGE:
    case RECORDING_COMMAND_COPY_IMAGE:
    case RECORDING_COMMAND_IMAGE_TO_BUFFER:
    case RECORDING_COMMAND_BUFFER_TO_IMAGE:
        add_image_command(builder, record, source, target);
        break;
    case RECORDING_COMMAND_MAP:
        add_map(builder, record);
        break;
    case RECORDING_COMMAND_UNMAP:
        add_unmap(builder, record);
        break;
    case RECORDING_COMMAND_MIGRATE:
    case RECORDING_COMMAND_MARKER:
    case RECORDING_COMMAND_BARRIER:
        break;
    default:
        builder->plan->unknown++;
    }
}
