// SPDX-License-Identifier: Apache-2.0
// What the shaders of a recording use: descriptors, inputs, specialization constants and sizes of work-groups, read from SPIR-V, so that
// pipelines and draws can be compared with it (check_state.c). Instructions are walked within their lengths. Whether they are sound
// besides that is not checked.
#include "recording/vulkan/headers.h"
#ifdef RECORDING_HAS_VULKAN

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/sorted.h"
#include "replay/vulkan/check.h"

enum { HEADER = 5, MAGIC = 0x07230203, PLACES_PER_WORD = 64 };

// Of SPIR-V's specification.
enum {
    OP_MEMORY_MODEL = 14,
    OP_ENTRY_POINT = 15,
    OP_EXECUTION_MODE = 16,
    OP_CAPABILITY = 17,
    OP_TYPE_BOOL = 20,
    OP_TYPE_INT = 21,
    OP_TYPE_FLOAT = 22,
    OP_TYPE_VECTOR = 23,
    OP_TYPE_MATRIX = 24,
    OP_TYPE_IMAGE = 25,
    OP_TYPE_SAMPLER = 26,
    OP_TYPE_SAMPLED_IMAGE = 27,
    OP_TYPE_ARRAY = 28,
    OP_TYPE_RUNTIME_ARRAY = 29,
    OP_TYPE_STRUCT = 30,
    OP_TYPE_POINTER = 32,
    OP_CONSTANT = 43,
    OP_SPEC_TRUE = 48,
    OP_SPEC_FALSE = 49,
    OP_SPEC_CONSTANT = 50,
    OP_FUNCTION = 54,
    OP_FUNCTION_END = 56,
    OP_FUNCTION_CALL = 57,
    OP_VARIABLE = 59,
    OP_IMAGE_TEXEL_POINTER = 60,
    OP_LOAD = 61,
    OP_STORE = 62,
    OP_COPY_MEMORY = 63,
    OP_ACCESS_CHAIN = 65,
    OP_PTR_ACCESS_CHAIN = 67,
    OP_ARRAY_LENGTH = 68,
    OP_IN_BOUNDS_PTR_ACCESS_CHAIN = 70,
    OP_DECORATE = 71,
    OP_MEMBER_DECORATE = 72,
    OP_GROUP_DECORATE = 74,
    OP_GROUP_MEMBER_DECORATE = 75,
    OP_COPY_OBJECT = 83,
    OP_SELECT = 169,
    OP_ATOMIC_LOAD = 227,
    OP_ATOMIC_STORE = 228,
    OP_ATOMIC_XOR = 242
};
enum {
    ADDRESSES = 5347, // PhysicalStorageBufferAddresses
    CLASS_ADDRESSED = 5349,
    MODEL_LOGICAL = 0,
    SPEC_ID = 1,
    BUFFER_BLOCK = 3,
    BUILT_IN = 11,
    PATCH = 15,
    LOCATION = 30,
    BINDING = 33,
    SET = 34,
    LOCAL_SIZE = 17,
    CLASS_CONSTANT = 0,
    CLASS_INPUT = 1,
    CLASS_UNIFORM = 2,
    CLASS_OUTPUT = 3,
    CLASS_PUSH = 9,
    CLASS_STORAGE = 12,
    DIM_BUFFER = 5,
    DIM_SUBPASS = 6
};

// A decoration of an id, or of a member of a struct.
struct mark {
    uint32_t id, decoration, value;
    uint32_t member; // its number + 1; 0: of the id itself
};

struct vulkan_shader {
    uint32_t *words;
    size_t count;
    uint32_t bound;
    uint32_t *places; // by id: where it is defined; 0: nowhere
    struct mark *marks;
    size_t mark_count, mark_capacity;
};

// ---- reading a module once

static uint32_t length_of(const struct vulkan_shader *shader, size_t at) {
    return shader->words[at] >> 16;
}

static uint32_t op_of(const struct vulkan_shader *shader, size_t at) {
    return shader->words[at] & 0xffff;
}

// A word of the instruction; 0 beyond its end.
static uint32_t word(const struct vulkan_shader *shader, size_t at, uint32_t index) {
    return index < length_of(shader, at) ? shader->words[at + index] : 0;
}

// Which word is the id that the instruction defines; 0: none that is looked for.
static uint32_t result_of(uint32_t op) {
    switch (op) {
    case OP_TYPE_BOOL:
    case OP_TYPE_INT:
    case OP_TYPE_FLOAT:
    case OP_TYPE_VECTOR:
    case OP_TYPE_MATRIX:
    case OP_TYPE_IMAGE:
    case OP_TYPE_SAMPLER:
    case OP_TYPE_SAMPLED_IMAGE:
    case OP_TYPE_ARRAY:
    case OP_TYPE_RUNTIME_ARRAY:
    case OP_TYPE_STRUCT:
    case OP_TYPE_POINTER:
        return 1;
    case OP_CONSTANT:
    case OP_SPEC_TRUE:
    case OP_SPEC_FALSE:
    case OP_SPEC_CONSTANT:
    case OP_FUNCTION:
    case OP_VARIABLE:
        return 2;
    default:
        return 0;
    }
}

static int by_mark(const void *left, const void *right) {
    const struct mark *a = left, *b = right;
    if (a->id != b->id)
        return a->id < b->id ? -1 : 1;
    if (a->member != b->member)
        return a->member < b->member ? -1 : 1;
    return a->decoration < b->decoration ? -1 : a->decoration > b->decoration;
}

static bool add_mark(struct vulkan_shader *shader, struct mark mark) {
    if (!ARRAY_RESERVE(shader->marks, shader->mark_capacity, shader->mark_count + 1))
        return false;
    shader->marks[shader->mark_count++] = mark;
    return true;
}

// A recorded address is another one here, or anything. Drivers do not ask for the capability.
static bool uses_addresses(const struct vulkan_shader *shader, size_t at) {
    switch (op_of(shader, at)) {
    case OP_CAPABILITY:
        return word(shader, at, 1) == ADDRESSES;
    case OP_MEMORY_MODEL:
        return word(shader, at, 1) != MODEL_LOGICAL;
    case OP_TYPE_POINTER:
        return word(shader, at, 2) == CLASS_ADDRESSED;
    default:
        return false;
    }
}

static bool read_one(struct vulkan_shader *shader, size_t at) {
    const uint32_t op = op_of(shader, at), result = result_of(op);
    if (result) {
        const uint32_t id = word(shader, at, result);
        if (!id || id >= shader->bound || shader->places[id])
            return false;
        shader->places[id] = (uint32_t)at;
    }
    if (uses_addresses(shader, at))
        return false;
    if (op == OP_DECORATE)
        return add_mark(shader, (struct mark){.id = word(shader, at, 1),
                                              .decoration = word(shader, at, 2),
                                              .value = word(shader, at, 3)});
    if (op == OP_MEMBER_DECORATE && word(shader, at, 2) < UINT32_MAX)
        return add_mark(shader, (struct mark){.id = word(shader, at, 1),
                                              .member = word(shader, at, 2) + 1,
                                              .decoration = word(shader, at, 3),
                                              .value = word(shader, at, 4)});
    return true;
}

// The first mark of an id that is not sorted before it.
static size_t first_mark(const struct vulkan_shader *shader, size_t count, uint32_t id) {
    return SORTED_FIND(i, 0, count, shader->marks[i].id < id);
}

// Decorations of a group are those of each of its targets. A few words can ask for a great many: more than there are words is not sound.
static bool read_groups(struct vulkan_shader *shader) {
    const size_t count = shader->mark_count;
    for (size_t at = HEADER; at < shader->count; at += length_of(shader, at)) {
        const uint32_t op = op_of(shader, at), step = op == OP_GROUP_MEMBER_DECORATE ? 2 : 1;
        if (op != OP_GROUP_DECORATE && op != OP_GROUP_MEMBER_DECORATE)
            continue;
        const uint32_t group = word(shader, at, 1);
        const size_t first = first_mark(shader, count, group);
        for (uint32_t i = 2; i + step <= length_of(shader, at); i += step)
            for (size_t j = first; j < count && shader->marks[j].id == group; j++) {
                struct mark mark = shader->marks[j];
                mark.id = word(shader, at, i);
                mark.member =
                    step == 2 && word(shader, at, i + 1) < UINT32_MAX ? word(shader, at, i + 1) + 1 : 0;
                if (shader->mark_count - count >= shader->count || !add_mark(shader, mark))
                    return false;
            }
    }
    return true;
}

static void sort_marks(struct vulkan_shader *shader) {
    if (shader->mark_count)
        qsort(shader->marks, shader->mark_count, sizeof *shader->marks, by_mark);
}

struct vulkan_shader *vulkan_shader_of(const uint32_t *words, size_t count) {
    struct vulkan_shader *shader = calloc(1, sizeof *shader);
    if (!shader || count <= HEADER || count > UINT32_MAX || words[0] != MAGIC ||
        words[3] > count * PLACES_PER_WORD) {
        free(shader);
        return NULL;
    }
    *shader = (struct vulkan_shader){.count = count, .bound = words[3]};
    shader->words = malloc(count * sizeof *words);
    shader->places = calloc((size_t)shader->bound + 1, sizeof *shader->places);
    bool good = shader->words && shader->places;
    if (good)
        memcpy(shader->words, words, count * sizeof *words);
    for (size_t at = HEADER, length; good && at < count; at += length) {
        length = length_of(shader, at);
        good = length && length <= count - at && read_one(shader, at);
    }
    sort_marks(shader);
    if (!good || !read_groups(shader)) {
        vulkan_shader_end(shader);
        return NULL;
    }
    sort_marks(shader);
    return shader;
}

void vulkan_shader_end(struct vulkan_shader *shader) {
    if (!shader)
        return;
    free(shader->words);
    free(shader->places);
    free(shader->marks);
    free(shader);
}

bool vulkan_shader_capability(const struct vulkan_shader *shader, size_t *at, uint32_t *capability) {
    for (*at = *at ? *at : HEADER; *at < shader->count;) {
        const size_t here = *at;
        *at += length_of(shader, here);
        *capability = word(shader, here, 1);
        if (op_of(shader, here) == OP_CAPABILITY)
            return true;
    }
    return false;
}

// ---- what is known of ids

// Where the id is defined, if by this instruction; 0: it is not.
static size_t find(const struct vulkan_shader *shader, uint32_t id, uint32_t op) {
    const size_t at = id < shader->bound ? shader->places[id] : 0;
    return at && op_of(shader, at) == op ? at : 0;
}

// `member`: of a struct, its number + 1, or 0.
static bool find_member(const struct vulkan_shader *shader, uint32_t id, uint32_t member, uint32_t decoration,
                        uint32_t *value) {
    const struct mark key = {.id = id, .member = member, .decoration = decoration};
    const struct mark *found =
        shader->mark_count ? bsearch(&key, shader->marks, shader->mark_count, sizeof *shader->marks, by_mark)
                           : NULL;
    *value = found ? found->value : 0;
    return found != NULL;
}

static bool find_mark(const struct vulkan_shader *shader, uint32_t id, uint32_t decoration, uint32_t *value) {
    return find_member(shader, id, 0, decoration, value);
}

#define TYPE(NAME) ((uint32_t)1 << VK_DESCRIPTOR_TYPE_##NAME)

static uint32_t image_types(const struct vulkan_shader *shader, size_t at) {
    const uint32_t dim = word(shader, at, 3), sampled = word(shader, at, 7);
    if (dim == DIM_BUFFER)
        return sampled == 2 ? TYPE(STORAGE_TEXEL_BUFFER) : TYPE(UNIFORM_TEXEL_BUFFER);
    if (dim == DIM_SUBPASS)
        return TYPE(INPUT_ATTACHMENT);
    return sampled == 2 ? TYPE(STORAGE_IMAGE) : TYPE(SAMPLED_IMAGE) | TYPE(COMBINED_IMAGE_SAMPLER);
}

// The types of descriptors that a variable of this type and class may be of, as bits; 0: none is known.
static uint32_t types_of(const struct vulkan_shader *shader, uint32_t type, uint32_t class) {
    const size_t at = type < shader->bound ? shader->places[type] : 0;
    uint32_t value;
    switch (at ? op_of(shader, at) : 0) {
    case OP_TYPE_SAMPLER:
        return TYPE(SAMPLER) | TYPE(COMBINED_IMAGE_SAMPLER);
    case OP_TYPE_IMAGE:
        return image_types(shader, at);
    case OP_TYPE_SAMPLED_IMAGE: {
        const size_t image = find(shader, word(shader, at, 2), OP_TYPE_IMAGE);
        return image && word(shader, image, 3) == DIM_BUFFER ? TYPE(UNIFORM_TEXEL_BUFFER)
                                                             : TYPE(COMBINED_IMAGE_SAMPLER);
    }
    case OP_TYPE_STRUCT:
        if (class == CLASS_STORAGE || find_mark(shader, type, BUFFER_BLOCK, &value))
            return TYPE(STORAGE_BUFFER) | TYPE(STORAGE_BUFFER_DYNAMIC);
        return class == CLASS_UNIFORM ? TYPE(UNIFORM_BUFFER) | TYPE(UNIFORM_BUFFER_DYNAMIC) : 0;
    default:
        return 0;
    }
}

// The descriptors of a variable. False: it is not one of descriptors.
static bool slot_of(const struct vulkan_shader *shader, size_t variable, struct vulkan_slot *slot) {
    const uint32_t id = word(shader, variable, 2), class = word(shader, variable, 3);
    const size_t pointer = find(shader, word(shader, variable, 1), OP_TYPE_POINTER);
    uint32_t type = pointer ? word(shader, pointer, 3) : 0;
    *slot = (struct vulkan_slot){.count = 1};
    if ((class != CLASS_CONSTANT && class != CLASS_UNIFORM && class != CLASS_STORAGE) ||
        !find_mark(shader, id, BINDING, &slot->binding))
        return false;
    (void)find_mark(shader, id, SET, &slot->set);
    for (int depth = 0; depth < 8; depth++) {
        const size_t array = find(shader, type, OP_TYPE_ARRAY),
                     at = array ? array : find(shader, type, OP_TYPE_RUNTIME_ARRAY);
        const size_t length = array ? find(shader, word(shader, array, 3), OP_CONSTANT) : 0;
        if (!at)
            break;
        const uint64_t count = (uint64_t)slot->count * (length ? word(shader, length, 3) : 0);
        slot->count = count > UINT32_MAX ? UINT32_MAX : (uint32_t)count; // one that is specialized: unknown
        type = word(shader, at, 2);
    }
    slot->types = types_of(shader, type, class);
    return true;
}

// ---- what an entry point uses

struct walk {
    const struct vulkan_shader *shader;
    struct vulkan_stage *stage;
    uint8_t *seen; // by id: functions and variables
    uint32_t *functions;
    size_t function_count, function_capacity;
    bool failed;
};

static bool is_new(struct walk *walk, uint32_t id) {
    if (id >= walk->shader->bound || walk->seen[id])
        return false;
    walk->seen[id] = 1;
    return true;
}

static void use_variable(struct walk *walk, uint32_t id) {
    const size_t at = find(walk->shader, id, OP_VARIABLE);
    struct vulkan_stage *stage = walk->stage;
    struct vulkan_slot slot;
    if (!at || !is_new(walk, id))
        return;
    stage->pushes |= word(walk->shader, at, 3) == CLASS_PUSH;
    if (!slot_of(walk->shader, at, &slot))
        return;
    if (ARRAY_RESERVE(stage->slots, stage->capacity, stage->count + 1))
        stage->slots[stage->count++] = slot;
    else
        walk->failed = true;
}

static void use_function(struct walk *walk, uint32_t id) {
    if (!find(walk->shader, id, OP_FUNCTION) || !is_new(walk, id))
        return;
    if (ARRAY_RESERVE(walk->functions, walk->function_capacity, walk->function_count + 1))
        walk->functions[walk->function_count++] = id;
    else
        walk->failed = true;
}

// The variables that an instruction names, at the places where it takes pointers.
static void use_operands(struct walk *walk, size_t at) {
    const struct vulkan_shader *shader = walk->shader;
    const uint32_t op = op_of(shader, at);
    switch (op) {
    case OP_FUNCTION_CALL:
        use_function(walk, word(shader, at, 3));
        for (uint32_t i = 4; i < length_of(shader, at); i++)
            use_variable(walk, word(shader, at, i));
        break;
    case OP_STORE:
    case OP_ATOMIC_STORE:
        use_variable(walk, word(shader, at, 1));
        break;
    case OP_COPY_MEMORY:
        use_variable(walk, word(shader, at, 1));
        use_variable(walk, word(shader, at, 2));
        break;
    case OP_SELECT:
        use_variable(walk, word(shader, at, 4));
        use_variable(walk, word(shader, at, 5));
        break;
    default:
        if (op == OP_IMAGE_TEXEL_POINTER || op == OP_LOAD ||
            (op >= OP_ACCESS_CHAIN && op <= OP_ARRAY_LENGTH) || op == OP_IN_BOUNDS_PTR_ACCESS_CHAIN ||
            op == OP_COPY_OBJECT || (op >= OP_ATOMIC_LOAD && op <= OP_ATOMIC_XOR))
            use_variable(walk, word(shader, at, 3));
    }
}

// Each instruction once at most, also if functions have no end.
static void walk_functions(struct walk *walk) {
    const struct vulkan_shader *shader = walk->shader;
    for (size_t i = 0; i < walk->function_count && !walk->failed; i++) {
        const size_t from = shader->places[walk->functions[i]];
        for (size_t at = from; at < shader->count && op_of(shader, at) != OP_FUNCTION_END &&
                               (at == from || op_of(shader, at) != OP_FUNCTION);
             at += length_of(shader, at))
            use_operands(walk, at);
    }
}

// The words after the name of an entry point; 0: it has another name, or none that ends.
static uint32_t after_name(const struct vulkan_shader *shader, size_t at, const char *name) {
    const size_t room = length_of(shader, at) > 3 ? (length_of(shader, at) - 3) * sizeof(uint32_t) : 0,
                 length = strlen(name) + 1;
    if (length > room || memcmp(&shader->words[at + 3], name, length) != 0)
        return 0;
    return 3 + (uint32_t)((length + 3) / 4);
}

static size_t find_entry(const struct vulkan_shader *shader, uint32_t model, const char *name) {
    for (size_t at = HEADER; at < shader->count; at += length_of(shader, at))
        if (op_of(shader, at) == OP_ENTRY_POINT && word(shader, at, 1) == model &&
            after_name(shader, at, name))
            return at;
    return 0;
}

// ---- locations

enum { LOCATIONS = 64 }; // of those from here on nothing is known

// How many locations a value of this type takes; LOCATIONS: as many, more, or it is not known.
static uint32_t locations_of(const struct vulkan_shader *shader, uint32_t type, uint32_t depth) {
    const size_t at = type < shader->bound ? shader->places[type] : 0;
    const uint32_t op = at ? op_of(shader, at) : 0;
    uint64_t count = LOCATIONS;
    size_t of;
    if (op == OP_TYPE_INT || op == OP_TYPE_FLOAT || op == OP_TYPE_BOOL)
        return 1;
    if (!at || depth > 8)
        return LOCATIONS;
    if (op == OP_TYPE_VECTOR) { // of three or four numbers of 64 bits: two
        of = find(shader, word(shader, at, 2), OP_TYPE_FLOAT);
        of = of ? of : find(shader, word(shader, at, 2), OP_TYPE_INT);
        return of && word(shader, of, 2) == 64 && word(shader, at, 3) > 2 ? 2 : 1;
    }
    if (op == OP_TYPE_MATRIX) {
        count = (uint64_t)locations_of(shader, word(shader, at, 2), depth + 1) * word(shader, at, 3);
    } else if (op == OP_TYPE_ARRAY) {
        of = find(shader, word(shader, at, 3), OP_CONSTANT);
        count = (uint64_t)locations_of(shader, word(shader, at, 2), depth + 1) *
                (of ? word(shader, of, 3) : LOCATIONS);
    } else if (op == OP_TYPE_STRUCT) {
        count = 0;
        for (uint32_t i = 2; i < length_of(shader, at) && count < LOCATIONS; i++)
            count += locations_of(shader, word(shader, at, i), depth + 1);
    }
    // No value takes none. If it did, structs of many empty structs would be walked without end.
    return count && count < LOCATIONS ? (uint32_t)count : LOCATIONS;
}

static uint64_t location_bits(uint32_t first, uint32_t count) {
    const uint64_t bits = count < LOCATIONS ? ((uint64_t)1 << count) - 1 : UINT64_MAX;
    return first < LOCATIONS ? bits << first : 0;
}

// Of a block: a member has a location of its own, or the one behind the member before it.
static uint64_t block_locations(const struct vulkan_shader *shader, size_t at, bool placed, uint32_t next) {
    const uint32_t id = word(shader, at, 1);
    uint64_t all = 0;
    for (uint32_t i = 2; i < length_of(shader, at); i++) {
        uint32_t value, count = locations_of(shader, word(shader, at, i), 0);
        if (find_member(shader, id, i - 1, BUILT_IN, &value))
            continue;
        if (find_member(shader, id, i - 1, LOCATION, &value)) {
            next = value;
            placed = true;
        }
        all |= placed ? location_bits(next, count) : 0;
        next = next < LOCATIONS ? next + count : next;
    }
    return all;
}

// The locations of a variable, as bits. `arrayed`: it is one for each vertex of a primitive.
static uint64_t variable_locations(const struct vulkan_shader *shader, size_t variable, bool arrayed) {
    const uint32_t id = word(shader, variable, 2);
    const size_t pointer = find(shader, word(shader, variable, 1), OP_TYPE_POINTER);
    uint32_t type = pointer ? word(shader, pointer, 3) : 0, location, value;
    const bool placed = find_mark(shader, id, LOCATION, &location);
    if (find_mark(shader, id, PATCH, &value) || find_mark(shader, id, BUILT_IN, &value))
        return 0;
    const size_t array = arrayed ? find(shader, type, OP_TYPE_ARRAY) : 0;
    type = array ? word(shader, array, 2) : type;
    const size_t block = find(shader, type, OP_TYPE_STRUCT);
    if (block)
        return block_locations(shader, block, placed, location);
    return placed ? location_bits(location, locations_of(shader, type, 0)) : 0;
}

static void find_locations(struct walk *walk, size_t entry, uint32_t from, VkShaderStageFlagBits stage) {
    const struct vulkan_shader *shader = walk->shader;
    const bool control = stage == VK_SHADER_STAGE_TESSELLATION_CONTROL_BIT,
               many = control || stage == VK_SHADER_STAGE_TESSELLATION_EVALUATION_BIT ||
                      stage == VK_SHADER_STAGE_GEOMETRY_BIT;
    for (uint32_t i = from; i < length_of(shader, entry); i++) {
        const size_t at = find(shader, word(shader, entry, i), OP_VARIABLE);
        if (at && word(shader, at, 3) == CLASS_INPUT)
            walk->stage->locations |= variable_locations(shader, at, many);
        else if (at && word(shader, at, 3) == CLASS_OUTPUT)
            walk->stage->outputs |= variable_locations(shader, at, control);
    }
}

// A subgroup size of the stage's own; NULL: it has none.
static const VkPipelineShaderStageRequiredSubgroupSizeCreateInfo *
size_of(const VkPipelineShaderStageCreateInfo *info) {
    return info->pNext; // the only one that is recorded
}

// What VkPipelineShaderStageRequiredSubgroupSizeCreateInfo asks of the device. That of the work-group: check_group.
static const char *check_size(const VkPipelineShaderStageCreateInfo *info,
                              const struct vulkan_device *device) {
    const VkPhysicalDeviceSubgroupSizeControlProperties *allowed = &device->subgroups;
    const uint32_t size = size_of(info) ? size_of(info)->requiredSubgroupSize : 0;
    if (!size_of(info))
        return NULL;
    if (!allowed->maxSubgroupSize || !(allowed->requiredSubgroupSizeStages & (VkShaderStageFlags)info->stage))
        return "the device has no subgroup size control for this stage";
    if (size & (size - 1) || size < allowed->minSubgroupSize || size > allowed->maxSubgroupSize ||
        info->flags & VK_PIPELINE_SHADER_STAGE_CREATE_ALLOW_VARYING_SUBGROUP_SIZE_BIT)
        return "the device does not have the subgroup size of a shader";
    return NULL;
}

static const char *check_group(const struct vulkan_shader *shader, uint32_t function,
                               const VkPipelineShaderStageCreateInfo *info,
                               const struct vulkan_device *device) {
    const VkPhysicalDeviceLimits *limits = &device->limits;
    const uint64_t most = size_of(info) ? (uint64_t)size_of(info)->requiredSubgroupSize *
                                              device->subgroups.maxComputeWorkgroupSubgroups
                                        : UINT64_MAX;
    for (size_t at = HEADER; at < shader->count; at += length_of(shader, at)) {
        uint64_t all = 1;
        if (op_of(shader, at) != OP_EXECUTION_MODE || word(shader, at, 1) != function ||
            word(shader, at, 2) != LOCAL_SIZE)
            continue;
        for (uint32_t i = 0; i < 3; i++) {
            const uint32_t size = word(shader, at, 3 + i);
            if (!size || size > limits->maxComputeWorkGroupSize[i])
                return "the shader's work-group is larger than the device allows, or empty";
            all *= size;
        }
        if (size_of(info) && info->flags & VK_PIPELINE_SHADER_STAGE_CREATE_REQUIRE_FULL_SUBGROUPS_BIT &&
            word(shader, at, 3) % size_of(info)->requiredSubgroupSize)
            return "the shader's work-group has no full subgroups";
        if (all > limits->maxComputeWorkGroupInvocations || all > most)
            return "the shader's work-group is larger than the device allows";
    }
    return NULL;
}

// The bytes of the constant that has this number; 0: there is none, so the value is not used.
static uint64_t constant_bytes(const struct vulkan_shader *shader, uint32_t number) {
    for (size_t i = 0; i < shader->mark_count; i++) {
        const struct mark *mark = &shader->marks[i];
        if (mark->member || mark->decoration != SPEC_ID || mark->value != number)
            continue;
        if (find(shader, mark->id, OP_SPEC_TRUE) || find(shader, mark->id, OP_SPEC_FALSE))
            return sizeof(VkBool32);
        const size_t at = find(shader, mark->id, OP_SPEC_CONSTANT);
        const uint32_t type = at ? word(shader, at, 1) : 0;
        size_t of = find(shader, type, OP_TYPE_INT);
        of = of ? of : find(shader, type, OP_TYPE_FLOAT);
        return of ? word(shader, of, 2) / 8 : 0;
    }
    return 0;
}

static const char *check_constants(const struct vulkan_shader *shader, const VkSpecializationInfo *info) {
    enum { MOST = 1024 };
    if (info && info->mapEntryCount > MOST)
        return "more than 1024 specialization constants";
    for (uint32_t i = 0; info && i < info->mapEntryCount; i++) {
        const uint64_t bytes = constant_bytes(shader, info->pMapEntries[i].constantID);
        if (bytes && bytes != info->pMapEntries[i].size)
            return "a specialization constant does not have the size of its type";
    }
    return NULL;
}

static uint32_t model_of(VkShaderStageFlagBits stage) {
    uint32_t model = 0; // the stages have the order of SPIR-V's execution models
    while (model < 5 && (uint32_t)stage >> model != 1)
        model++;
    return model;
}

const char *vulkan_shader_stage(const struct vulkan_shader *shader,
                                const VkPipelineShaderStageCreateInfo *info,
                                const struct vulkan_device *device, struct vulkan_stage *out) {
    const size_t entry = shader && info->pName ? find_entry(shader, model_of(info->stage), info->pName) : 0;
    struct walk walk = {.shader = shader, .stage = out};
    *out = (struct vulkan_stage){0};
    if (!entry)
        return "the shader has no entry point of this name and stage";
    const char *why = check_size(info, device);
    why = why ? why : check_group(shader, word(shader, entry, 2), info, device);
    why = why ? why : check_constants(shader, info->pSpecializationInfo);
    walk.seen = why ? NULL : calloc((size_t)shader->bound + 1, 1);
    if (!walk.seen)
        return why ? why : "out of memory";
    find_locations(&walk, entry, after_name(shader, entry, info->pName), info->stage);
    use_function(&walk, word(shader, entry, 2));
    walk_functions(&walk);
    free(walk.seen);
    free(walk.functions);
    return walk.failed ? "out of memory" : NULL;
}

#endif
