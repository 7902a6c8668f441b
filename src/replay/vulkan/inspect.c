// SPDX-License-Identifier: Apache-2.0
// What is in captured frames of Vulkan, without a device: their resources and commands. `view --frame` and `replay --save-results` ask.
#include "tracesmith/replay.h"

#include "base/status.h"

#if __has_include(<vulkan/vulkan_core.h>)

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
    void *context;
    struct chunk_table released; // numbers, by the record that they end at + 1
    struct chunk_table contents; // numbers: record + 1 of the STATE, of one frame
    struct chunk_table states;   // VERIFY numbers: record + 1 of the STATE
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
    VkBufferImageCopy copies[VULKAN_LEVELS_MOST];
    resource->usage = info->usage;
    resource->width = info->extent.width;
    resource->height = info->extent.height;
    resource->depth = info->extent.depth;
    resource->levels = info->mipLevels;
    resource->layers = info->arrayLayers;
    resource->format = (uint32_t)info->format;
    resource->format_name = vulkan_format_name((uint32_t)info->format);
    resource->samples = (uint32_t)info->samples;
    vulkan_image_copies(info->format, info->extent, info->mipLevels, info->arrayLayers, BYTES_MOST, copies,
                        &resource->bytes);
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

// ---- commands

struct line {
    char text[256];
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
    static void show_##function(struct words *words, struct line *line) {                                    \
        const char *comma = "";                                                                              \
        struct call_##function call = {.end = 0};                                                            \
        words_call_##function(words, &call);                                                                 \
        add(line, "vk" #function "(");                                                                       \
        if (!words->failed) {                                                                                \
            CALL_##function(SHOW_V, SHOW_F, SHOW_H, SHOW_H, SHOW_M, SHOW_A, SHOW_P, SHOW_B)                  \
        }                                                                                                    \
        add(line, ")");                                                                                      \
        (void)comma;                                                                                         \
    }
VULKAN_FRAME_COMMANDS(DEFINE)

static void show_command(uint64_t number, struct words *words, struct line *line) {
    switch (number) {
#define CASE(function, number)                                                                               \
    case number:                                                                                             \
        show_##function(words, line);                                                                        \
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
    while (words.at < words.end && !words.failed) {
        struct line line = {.length = 0};
        show_command(words_value(&words, 0), &words, &line);
        if (!words.failed)
            inspection->call(
                inspection->context,
                &(tsmith_recorded_call){.pid = inspection->process->pid,
                                        .correlation = recording_value(submission, RECORDING_KEY_CORRELATION),
                                        .submission = before,
                                        .buffer = buffer,
                                        .text = line.text});
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

// A frame's first submission that is asked for gives its resources.
static bool walk(struct inspection *inspection) {
    size_t frame = 0, first = 0;
    uint64_t submissions = 0;
    bool given = false, good = true;
    for (size_t i = 0; i < inspection->process->count && good; i++) {
        const struct recording_record *record = &inspection->process->records[i];
        if (record->type == RECORDING_VULKAN_COMMANDS)
            good = keep_commands(inspection, i);
        if (record->type == RECORDING_VULKAN_FRAME) {
            frame = i + 1;
            first = 0;
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
    chunk_table_finish(&inspection->commands);
    free(inspection->last);
    return good;
}

tsmith_status tsmith_recording_frame(tsmith_recording *recording, uint64_t pid, const uint64_t *correlations,
                                     size_t count, tsmith_recorded_resource_take *resource,
                                     tsmith_recorded_call_take *call, void *context, tsmith_error *error) {
    for (size_t i = 0; i < recording->process_count; i++) {
        struct inspection inspection = {.recording = recording,
                                        .process = &recording->processes[i],
                                        .correlations = correlations,
                                        .count = count,
                                        .resource = resource,
                                        .call = call,
                                        .context = context};
        if (inspection.process->vulkan && (!correlations || inspection.process->pid == pid) &&
            !inspect_process(&inspection))
            return status_set(error, TSMITH_ERROR_NO_MEMORY, "out of memory while reading a captured frame");
    }
    return TSMITH_OK;
}

#else // built without the Vulkan headers

tsmith_status tsmith_recording_frame(tsmith_recording *recording, uint64_t pid, const uint64_t *correlations,
                                     size_t count, tsmith_recorded_resource_take *resource,
                                     tsmith_recorded_call_take *call, void *context, tsmith_error *error) {
    (void)recording, (void)pid, (void)correlations, (void)count, (void)resource, (void)call, (void)context;
    (void)error;
    return TSMITH_OK;
}

#endif
