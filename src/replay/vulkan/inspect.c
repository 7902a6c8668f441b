// SPDX-License-Identifier: Apache-2.0
// What is in captured frames of Vulkan, without a device: their resources and commands. `view --frame` and `replay --save-results` ask.
#include "tracesmith/replay.h"

#include "base/status.h"

#include "recording/vulkan/headers.h"
#ifdef RECORDING_HAS_VULKAN

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/bytes.h"
#include "recording/vulkan/calls.h"
#include "recording/vulkan/formats.h"
#include "recording/vulkan/words.h"
#include "replay/recording.h"
#include "replay/vulkan/format_names.h"

struct inspection {
    struct tsmith_recording *recording;
    const struct recorded_process *process;
    const uint64_t *correlations;
    size_t count;
    tsmith_recorded_resource_take *resource;
    tsmith_recorded_call_take *call;
    tsmith_recorded_descriptor_take *descriptor;
    void *context;
    struct chunk_table released; // numbers, by the record that they end at + 1
    struct chunk_table contents; // numbers: record + 1 of the STATE, of one frame
    struct chunk_table states;   // VERIFY numbers: record + 1 of the STATE
    struct chunk_table objects;  // numbers: record + 1 that made them
    struct chunk_table commands; // numbers of command buffers: index + 1 into `last`
    size_t *last;                // record of a command buffer's commands
    size_t last_count, last_capacity;
};

// Objects are shown as their numbers.
static uint64_t number_itself(void *context, enum vulkan_kind kind, uint64_t number, bool written) {
    (void)context, (void)kind, (void)written;
    return number;
}

static struct words words_of(const struct recording_record *record) {
    const uint8_t *bytes = NULL;
    size_t length = 0;
    recording_get_bytes(record, RECORDING_KEY_DATA, &bytes, &length);
    return (struct words){
        .reading = true, .at = bytes, .end = bytes ? bytes + length : NULL, .translate = number_itself};
}

// ---- resources

static void describe_image(const VkImageCreateInfo *info, tsmith_recorded_resource *resource) {
    enum { BYTES_MOST = INT32_MAX };
    const struct vulkan_texels texels = {info->format, info->extent, info->mipLevels, info->arrayLayers};
    VkBufferImageCopy copies[VULKAN_COPIES_MOST];
    resource->usage = info->usage;
    resource->width = info->extent.width;
    resource->height = info->extent.height;
    resource->depth = info->extent.depth;
    resource->levels = info->mipLevels;
    resource->layers = info->arrayLayers;
    resource->format = (uint32_t)info->format;
    resource->format_name = vulkan_format_name((uint32_t)info->format);
    resource->samples = (uint32_t)info->samples;
    vulkan_image_copies(&texels, BYTES_MOST, copies, &resource->bytes);
    resource->pixel_bytes = resource->bytes ? vulkan_format_bytes(info->format) : 0;
}

static void describe_view(struct words *words, uint64_t kind, tsmith_recorded_resource *resource) {
    VkImageViewCreateInfo image = {0};
    VkBufferViewCreateInfo buffer = {0};
    if (kind == VULKAN_IMAGE_VIEW)
        words_VkImageViewCreateInfo(words, &image);
    else
        words_VkBufferViewCreateInfo(words, &buffer);
    if (words->failed)
        return;
    // Handles are numbers here (number_itself).
    resource->of =
        kind == VULKAN_IMAGE_VIEW ? (uint64_t)(uintptr_t)image.image : (uint64_t)(uintptr_t)buffer.buffer;
    resource->format_name =
        vulkan_format_name((uint32_t)(kind == VULKAN_IMAGE_VIEW ? image.format : buffer.format));
}

static bool describe(const struct inspection *inspection, const struct recording_record *record,
                     tsmith_recorded_resource *resource) {
    const uint64_t kind = recording_value(record, RECORDING_KEY_INDEX);
    struct words words = words_of(record);
    VkBufferCreateInfo buffer = {0};
    VkImageCreateInfo image = {0};
    VkShaderModuleCreateInfo module = {0};
    const char *function = recording_text(inspection->recording, record, RECORDING_KEY_NAME);
    if (kind >= VULKAN_KIND_LIMIT)
        return false;
    *resource = (tsmith_recorded_resource){.pid = inspection->process->pid,
                                           .object = recording_value(record, RECORDING_KEY_OBJECT),
                                           .kind = vulkan_kind_name((uint32_t)kind),
                                           .function = function ? function : "",
                                           .memory = recording_value(record, RECORDING_KEY_PARENT),
                                           .offset = recording_value(record, RECORDING_KEY_OFFSET)};
    if (kind == VULKAN_BUFFER)
        words_VkBufferCreateInfo(&words, &buffer);
    else if (kind == VULKAN_IMAGE)
        words_VkImageCreateInfo(&words, &image);
    else if (kind == VULKAN_MODULE)
        words_VkShaderModuleCreateInfo(&words, &module);
    else if (kind == VULKAN_IMAGE_VIEW || kind == VULKAN_BUFFER_VIEW)
        describe_view(&words, kind, resource);
    if (!words.failed) {
        resource->bytes = kind == VULKAN_BUFFER ? buffer.size : module.codeSize;
        resource->usage = buffer.usage;
        if (kind == VULKAN_IMAGE)
            describe_image(&image, resource);
    }
    words_finish(&words);
    return true;
}

static void set_content(const struct inspection *inspection, tsmith_recorded_resource *resource) {
    const uint64_t state = chunk_table_find(&inspection->contents, chunk_key_of(resource->object));
    const uint8_t *hashes;
    size_t length;
    if (!state || !recording_get_bytes(&inspection->process->records[state - 1], RECORDING_KEY_CHUNKS,
                                       &hashes, &length))
        return;
    const struct chunk_hash hash = chunk_hash_of(hashes, length);
    resource->has_content = 1;
    resource->hash[0] = hash.low;
    resource->hash[1] = hash.high;
}

// Those that were made before the frame's first submission and not released before it.
static void give_resources(const struct inspection *inspection, size_t frame, size_t until) {
    tsmith_recorded_resource resource;
    for (size_t i = 0; i < until && inspection->resource; i++) {
        const struct recording_record *record = &inspection->process->records[i];
        const uint64_t released = chunk_table_find(
            &inspection->released, chunk_key_of(recording_value(record, RECORDING_KEY_OBJECT)));
        if (record->type != RECORDING_VULKAN_OBJECT || (frame && released && released <= frame) ||
            !describe(inspection, record, &resource))
            continue;
        set_content(inspection, &resource);
        inspection->resource(inspection->context, &resource);
    }
}

// ---- descriptor sets

static uint64_t image_or_buffer_of(const struct inspection *inspection, uint64_t view, uint64_t kind) {
    const uint64_t made = chunk_table_find(&inspection->objects, chunk_key_of(view));
    tsmith_recorded_resource resource = {.of = 0};
    if (!made)
        return 0;
    struct words words = words_of(&inspection->process->records[made - 1]);
    describe_view(&words, kind, &resource);
    words_finish(&words);
    return resource.of;
}

static const char *type_name(VkDescriptorType type) {
    static const char *const names[] = {"sampler",
                                        "combined image sampler",
                                        "sampled image",
                                        "storage image",
                                        "uniform texel buffer",
                                        "storage texel buffer",
                                        "uniform buffer",
                                        "storage buffer",
                                        "dynamic uniform buffer",
                                        "dynamic storage buffer",
                                        "input attachment"};
    return (size_t)type < sizeof names / sizeof *names ? names[type] : "descriptor";
}

// Handles are numbers here (number_itself).
static void give_descriptor(const struct inspection *inspection, const VkWriteDescriptorSet *write,
                            uint32_t i, tsmith_recorded_descriptor *out) {
    out->binding = write->dstBinding;
    out->element = write->dstArrayElement + i;
    out->type = type_name(write->descriptorType);
    out->resource = out->view = out->sampler = out->offset = out->bytes = 0;
    if (write->pBufferInfo) {
        out->resource = (uint64_t)(uintptr_t)write->pBufferInfo[i].buffer;
        out->offset = write->pBufferInfo[i].offset;
        out->bytes = write->pBufferInfo[i].range;
    } else if (write->pTexelBufferView) {
        out->view = (uint64_t)(uintptr_t)write->pTexelBufferView[i];
        out->resource = image_or_buffer_of(inspection, out->view, VULKAN_BUFFER_VIEW);
    } else if (write->pImageInfo) {
        out->view = (uint64_t)(uintptr_t)write->pImageInfo[i].imageView;
        out->sampler = (uint64_t)(uintptr_t)write->pImageInfo[i].sampler;
        out->resource = out->view ? image_or_buffer_of(inspection, out->view, VULKAN_IMAGE_VIEW) : 0;
    }
    inspection->descriptor(inspection->context, out);
}

static void give_set(const struct inspection *inspection, size_t record, uint64_t before) {
    const struct recording_record *from = &inspection->process->records[record];
    tsmith_recorded_descriptor out = {.pid = inspection->process->pid,
                                      .set = recording_value(from, RECORDING_KEY_OBJECT),
                                      .submission = before};
    struct words words = words_of(from);
    const uint64_t count = words_value(&words, 0);
    for (uint64_t i = 0; i < count && !words.failed; i++) {
        VkWriteDescriptorSet write = {.dstBinding = 0};
        words_VkWriteDescriptorSet(&words, &write);
        for (uint32_t j = 0; j < write.descriptorCount && !words.failed; j++)
            give_descriptor(inspection, &write, j, &out);
    }
    words_finish(&words);
}

// ---- commands

struct line {
    char text[1024];
    size_t length;
};

__attribute__((format(printf, 2, 3))) static void add(struct line *line, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    const int length =
        vsnprintf(line->text + line->length, sizeof line->text - line->length, format, arguments);
    va_end(arguments);
    if (length > 0)
        line->length += (size_t)length;
    if (line->length >= sizeof line->text)
        line->length = sizeof line->text - 1;
}

// What a command buffer has bound, as numbers.
struct bound {
    uint64_t pipelines[2], sets[2][32], vertices[32], offsets[32], index, index_at;
};

static void bind_vertices(struct bound *bound, uint32_t first, uint32_t count, const VkBuffer *buffers,
                          const VkDeviceSize *offsets) {
    for (uint32_t i = 0; i < count && first < 32 && i < 32 - first; i++) {
        bound->vertices[first + i] = (uint64_t)(uintptr_t)buffers[i];
        bound->offsets[first + i] = offsets[i];
    }
}

static void bind(struct bound *bound, uint32_t number, const void *given) {
    if (number == VULKAN_CmdBindPipeline) {
        const struct call_CmdBindPipeline *call = given;
        bound->pipelines[call->p] = (uint64_t)(uintptr_t)call->h;
    } else if (number == VULKAN_CmdBindDescriptorSets) {
        const struct call_CmdBindDescriptorSets *call = given;
        for (uint32_t i = 0; i < call->n && call->f < 32 && i < 32 - call->f; i++)
            bound->sets[call->p][call->f + i] = (uint64_t)(uintptr_t)call->s[i];
    } else if (number == VULKAN_CmdBindVertexBuffers) {
        const struct call_CmdBindVertexBuffers *call = given;
        bind_vertices(bound, call->f, call->n, call->b, call->o);
    } else if (number == VULKAN_CmdBindVertexBuffers2) {
        const struct call_CmdBindVertexBuffers2 *call = given;
        bind_vertices(bound, call->f, call->n, call->b, call->o);
    } else if (number == VULKAN_CmdBindIndexBuffer) {
        const struct call_CmdBindIndexBuffer *call = given;
        bound->index = (uint64_t)(uintptr_t)call->b;
        bound->index_at = call->o;
    }
}

// Whether the command is a draw ('w') or a dispatch ('d').
static char work_of(uint32_t number) {
#define WORK(name, class)                                                                                    \
    case VULKAN_##name:                                                                                      \
        return class;
    switch (number) {
        VULKAN_WORK_COMMANDS(WORK)
    default:
        return 0;
    }
#undef WORK
}

static const char *show_bound(const struct bound *bound, uint32_t number, struct line *line) {
    const char work = work_of(number);
    const int point = work == 'd';
    const bool indexed = number == VULKAN_CmdDrawIndexed || number == VULKAN_CmdDrawIndexedIndirect ||
                         number == VULKAN_CmdDrawIndexedIndirectCount;
    if (work != 'd' && work != 'w')
        return NULL;
    add(line, "pipeline #%" PRIu64, bound->pipelines[point]);
    for (int i = 0; i < 32; i++)
        if (bound->sets[point][i])
            add(line, ", set %d #%" PRIu64, i, bound->sets[point][i]);
    for (int i = 0; i < 32 && work == 'w'; i++)
        if (bound->vertices[i])
            add(line, ", vertex buffer %d #%" PRIu64 " at %" PRIu64, i, bound->vertices[i],
                bound->offsets[i]);
    if (indexed && bound->index)
        add(line, ", index buffer #%" PRIu64 " at %" PRIu64, bound->index, bound->index_at);
    return line->text;
}

#define SHOW_V(type, name) add(line, "%s%" PRId64, comma, (int64_t)call.name), comma = ", ";
#define SHOW_F(name) add(line, "%s%g", comma, (double)call.name), comma = ", ";
#define SHOW_H(KIND, type, name)                                                                             \
    add(line, "%s#%" PRIu64, comma, (uint64_t)(uintptr_t)call.name), comma = ", ";
#define SHOW_M(KIND, type, name, count)                                                                      \
    for (uint32_t i_ = 0; i_ < call.count; i_++)                                                             \
        add(line, "%s#%" PRIu64, comma, (uint64_t)(uintptr_t)call.name[i_]), comma = ", ";
#define SHOW_A(type, name, count)
#define SHOW_P(type, name)
#define SHOW_B(name, count)
#define DEFINE(function, number)                                                                             \
    static void show_##function(struct words *words, struct line *line, struct bound *bound) {               \
        const char *comma = "";                                                                              \
        struct call_##function call = {.end = 0};                                                            \
        words_call_##function(words, &call);                                                                 \
        add(line, "vk" #function "(");                                                                       \
        if (!words->failed) {                                                                                \
            CALL_##function(SHOW_V, SHOW_F, SHOW_H, SHOW_H, SHOW_M, SHOW_A, SHOW_P, SHOW_B)                  \
                bind(bound, VULKAN_##function, &call);                                                       \
        }                                                                                                    \
        add(line, ")");                                                                                      \
        (void)comma;                                                                                         \
    }
VULKAN_FRAME_COMMANDS(DEFINE)

static void show_command(uint64_t number, struct words *words, struct line *line, struct bound *bound) {
    switch (number) {
#define CASE(function, number)                                                                               \
    case number:                                                                                             \
        show_##function(words, line, bound);                                                                 \
        break;
        VULKAN_FRAME_COMMANDS(CASE)
#undef CASE
    default:
        words->failed = true;
    }
}

static void give_buffer(const struct inspection *inspection, const struct recording_record *submission,
                        uint64_t before, uint64_t buffer) {
    const uint64_t index = chunk_table_find(&inspection->commands, chunk_key_of(buffer));
    if (!index)
        return;
    struct words words = words_of(&inspection->process->records[inspection->last[index - 1]]);
    struct bound bound = {.index = 0};
    while (words.at < words.end && !words.failed) {
        struct line line = {.length = 0}, used = {.length = 0};
        const uint64_t number = words_value(&words, 0);
        show_command(number, &words, &line, &bound);
        if (!words.failed)
            inspection->call(
                inspection->context,
                &(tsmith_recorded_call){.pid = inspection->process->pid,
                                        .correlation = recording_value(submission, RECORDING_KEY_CORRELATION),
                                        .submission = before,
                                        .buffer = buffer,
                                        .text = line.text,
                                        .bound = show_bound(&bound, (uint32_t)number, &used)});
    }
    words_finish(&words);
}

static bool keep_commands(struct inspection *inspection, size_t record) {
    const uint64_t number = recording_value(&inspection->process->records[record], RECORDING_KEY_OBJECT);
    const uint64_t index = chunk_table_find(&inspection->commands, chunk_key_of(number));
    if (index) {
        inspection->last[index - 1] = record;
        return true;
    }
    if (!ARRAY_RESERVE(inspection->last, inspection->last_capacity, inspection->last_count + 1) ||
        !chunk_table_add(&inspection->commands, chunk_key_of(number), inspection->last_count + 1))
        return false;
    inspection->last[inspection->last_count++] = record;
    return true;
}

static int by_number(const void *left, const void *right) {
    const uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return a < b ? -1 : a > b;
}

static bool is_asked(const struct inspection *inspection, const struct recording_record *record) {
    const uint64_t number = recording_value(record, RECORDING_KEY_CORRELATION);
    return number && bsearch(&number, inspection->correlations, inspection->count, sizeof number, by_number);
}

static void give_submission(const struct inspection *inspection, const struct recording_record *record,
                            uint64_t before) {
    const uint8_t *numbers;
    const size_t count = recording_list(record, RECORDING_KEY_LIST, &numbers);
    for (size_t i = 0; i < count && inspection->call; i++)
        give_buffer(inspection, record, before, bytes_get_u64(numbers + 8 * i));
}

// ---- frames

static bool note_content(struct inspection *inspection, const struct recording_record *record) {
    const uint64_t state =
        chunk_table_find(&inspection->states, chunk_key_of(recording_value(record, RECORDING_KEY_VERIFY)));
    return !state || chunk_table_add(&inspection->contents,
                                     chunk_key_of(recording_value(record, RECORDING_KEY_OBJECT)), state);
}

static void give_sets(const struct inspection *inspection, size_t from, size_t until, uint64_t before) {
    for (size_t i = from; i < until && inspection->descriptor; i++)
        if (inspection->process->records[i].type == RECORDING_VULKAN_SET)
            give_set(inspection, i, before);
}

// A frame's first submission that is asked for gives its resources.
static bool walk(struct inspection *inspection) {
    size_t frame = 0, first = 0, sets = 0; // the latter: until which record they were given
    uint64_t submissions = 0;
    bool given = false, good = true;
    for (size_t i = 0; i < inspection->process->count && good; i++) {
        const struct recording_record *record = &inspection->process->records[i];
        if (record->type == RECORDING_VULKAN_COMMANDS)
            good = keep_commands(inspection, i);
        if (record->type == RECORDING_VULKAN_FRAME) {
            frame = i + 1;
            first = 0;
            sets = i;
            given = false;
            chunk_table_finish(&inspection->contents);
            inspection->contents = (struct chunk_table){0};
        }
        if (record->type == RECORDING_CONTENT && !first)
            good = note_content(inspection, record);
        if (record->type != RECORDING_COMMAND)
            continue;
        first = first ? first : i;
        if (is_asked(inspection, record)) {
            if (!given)
                give_resources(inspection, frame, first);
            given = true;
            give_sets(inspection, sets, i, submissions);
            sets = i;
            give_submission(inspection, record, submissions);
        }
        submissions++;
    }
    return good;
}

static bool look_ahead(struct inspection *inspection) {
    bool good = true;
    for (size_t i = 0; i < inspection->process->count && good; i++) {
        const struct recording_record *record = &inspection->process->records[i];
        if (record->type == RECORDING_RELEASE)
            good = chunk_table_add(&inspection->released,
                                   chunk_key_of(recording_value(record, RECORDING_KEY_OBJECT)), i + 1);
        if (record->type == RECORDING_VULKAN_OBJECT)
            good = chunk_table_add(&inspection->objects,
                                   chunk_key_of(recording_value(record, RECORDING_KEY_OBJECT)), i + 1);
        if (record->type == RECORDING_STATE)
            good = chunk_table_add(&inspection->states,
                                   chunk_key_of(recording_value(record, RECORDING_KEY_VERIFY)), i + 1);
    }
    return good;
}

static bool inspect_process(struct inspection *inspection) {
    bool good = look_ahead(inspection);
    if (good && inspection->correlations)
        good = walk(inspection);
    else if (good)
        give_resources(inspection, 0, inspection->process->count);
    chunk_table_finish(&inspection->released);
    chunk_table_finish(&inspection->contents);
    chunk_table_finish(&inspection->states);
    chunk_table_finish(&inspection->objects);
    chunk_table_finish(&inspection->commands);
    free(inspection->last);
    return good;
}

static tsmith_status inspect_all(const struct inspection *asked, uint64_t pid, tsmith_error *error) {
    for (size_t i = 0; i < asked->recording->process_count; i++) {
        struct inspection inspection = *asked;
        inspection.process = &asked->recording->processes[i];
        if (inspection.process->vulkan && (!asked->correlations || inspection.process->pid == pid) &&
            !inspect_process(&inspection))
            return status_set(error, TSMITH_ERROR_NO_MEMORY, "out of memory while reading a captured frame");
    }
    return TSMITH_OK;
}

tsmith_status tsmith_recording_frame(tsmith_recording *recording, uint64_t pid, const uint64_t *correlations,
                                     size_t count, tsmith_recorded_resource_take *resource,
                                     tsmith_recorded_call_take *call, void *context, tsmith_error *error) {
    const struct inspection asked = {.recording = recording,
                                     .correlations = correlations,
                                     .count = count,
                                     .resource = resource,
                                     .call = call,
                                     .context = context};
    return inspect_all(&asked, pid, error);
}

tsmith_status tsmith_recording_descriptors(tsmith_recording *recording, uint64_t pid,
                                           const uint64_t *correlations, size_t count,
                                           tsmith_recorded_descriptor_take *take, void *context,
                                           tsmith_error *error) {
    const struct inspection asked = {.recording = recording,
                                     .correlations = correlations,
                                     .count = count,
                                     .descriptor = take,
                                     .context = context};
    return inspect_all(&asked, pid, error);
}

#else // built without the Vulkan headers

tsmith_status tsmith_recording_frame(tsmith_recording *recording, uint64_t pid, const uint64_t *correlations,
                                     size_t count, tsmith_recorded_resource_take *resource,
                                     tsmith_recorded_call_take *call, void *context, tsmith_error *error) {
    (void)recording, (void)pid, (void)correlations, (void)count, (void)resource, (void)call, (void)context;
    (void)error;
    return TSMITH_OK;
}

tsmith_status tsmith_recording_descriptors(tsmith_recording *recording, uint64_t pid,
                                           const uint64_t *correlations, size_t count,
                                           tsmith_recorded_descriptor_take *take, void *context,
                                           tsmith_error *error) {
    (void)recording, (void)pid, (void)correlations, (void)count, (void)take, (void)context, (void)error;
    return TSMITH_OK;
}

#endif
