// SPDX-License-Identifier: Apache-2.0
// Arrays and schemas, and their release. Used by everything of this room.
#include "arrow/array.h"

#include <stdlib.h>
#include <string.h>

struct array_memory {
    struct arrow_parts parts;
    struct ArrowArray dictionary;
    struct ArrowArray **children; // of `child_count`, then the structs themselves
};

static void free_memory(struct array_memory *memory, const struct arrow_parts *parts) {
    for (size_t i = 0; i < ARROW_OWNED_MOST; i++)
        free(parts->owned[i]);
    tsmith_batch_release(parts->batch);
    utf8_text_release(parts->text);
    if (memory)
        free(memory->children);
    free(memory);
}

// What a consumer moved out of this array has no release here.
static void release_array(struct ArrowArray *array) {
    struct array_memory *memory = array->private_data;
    for (int64_t i = 0; i < array->n_children; i++)
        if (array->children[i]->release)
            array->children[i]->release(array->children[i]);
    if (array->dictionary && array->dictionary->release)
        array->dictionary->release(array->dictionary);
    const struct arrow_parts parts = memory->parts;
    free_memory(memory, &parts);
    array->release = NULL;
}

bool arrow_array_make(struct ArrowArray *out, const struct arrow_parts *parts) {
    *out = (struct ArrowArray){.release = NULL};
    struct array_memory *memory = calloc(1, sizeof *memory);
    const size_t count = (size_t)parts->child_count;
    if (memory && count) {
        memory->children = calloc(count, sizeof(struct ArrowArray *) + sizeof(struct ArrowArray));
        struct ArrowArray *children = (struct ArrowArray *)(void *)(memory->children + count);
        for (size_t i = 0; memory->children && i < count; i++)
            memory->children[i] = &children[i];
    }
    if (!memory || (count && !memory->children)) {
        free_memory(memory, parts);
        return false;
    }
    memory->parts = *parts;
    *out = (struct ArrowArray){.length = parts->length,
                               .null_count = parts->null_count,
                               .n_buffers = parts->buffer_count,
                               .n_children = parts->child_count,
                               .buffers = memory->parts.buffers,
                               .children = memory->children,
                               .dictionary = parts->dictionary ? &memory->dictionary : NULL,
                               .release = release_array,
                               .private_data = memory};
    return true;
}

bool arrow_array_of_text(struct ArrowArray *out, struct utf8_text *text) {
    return arrow_array_make(
        out, &(struct arrow_parts){.length = (int64_t)text->strings.count,
                                   .buffers = {NULL, text->strings.offsets, text->strings.bytes},
                                   .buffer_count = 3,
                                   .text = utf8_text_hold(text)});
}

// ---- schemas

struct schema_memory {
    char *format, *name, *metadata;
    struct ArrowSchema dictionary;
    struct ArrowSchema **children;
};

static void free_schema(struct schema_memory *memory) {
    if (!memory)
        return;
    free(memory->format);
    free(memory->name);
    free(memory->metadata);
    free(memory->children);
    free(memory);
}

static void release_schema(struct ArrowSchema *schema) {
    for (int64_t i = 0; i < schema->n_children; i++)
        if (schema->children[i]->release)
            schema->children[i]->release(schema->children[i]);
    if (schema->dictionary && schema->dictionary->release)
        schema->dictionary->release(schema->dictionary);
    free_schema(schema->private_data);
    schema->release = NULL;
}

static char *put_counted(char *at, const char *text) {
    const int32_t length = (int32_t)strlen(text);
    memcpy(at, &length, sizeof length);
    memcpy(at + sizeof length, text, (size_t)length);
    return at + sizeof length + length;
}

// The number of pairs, then each key and value with its length before it, all as 32-bit integers of the machine. NULL, and
// *good, where there are none.
static char *make_metadata(const char *unit, const char *doc, bool *good) {
    const char *const pairs[][2] = {{"unit", unit}, {"doc", doc}};
    int32_t count = 0;
    size_t length = sizeof count;
    char *texts[2] = {NULL, NULL}, *out = NULL;
    *good = true;
    for (size_t i = 0; i < 2; i++) {
        if (!pairs[i][1] || !*pairs[i][1])
            continue;
        texts[i] = utf8_copy(pairs[i][1]);
        *good &= texts[i] != NULL;
        length += 2 * sizeof count + strlen(pairs[i][0]) + (texts[i] ? strlen(texts[i]) : 0);
        count++;
    }
    if (*good && count) {
        char *at = out = malloc(length);
        *good = out != NULL;
        if (out) {
            memcpy(at, &count, sizeof count);
            at += sizeof count;
        }
        for (size_t i = 0; out && i < 2; i++)
            if (texts[i])
                at = put_counted(put_counted(at, pairs[i][0]), texts[i]);
    }
    free(texts[0]);
    free(texts[1]);
    return out;
}

bool arrow_schema_make(struct ArrowSchema *out, const char *format, const char *name, bool nullable,
                       int64_t child_count, bool dictionary, const char *unit, const char *doc) {
    *out = (struct ArrowSchema){.release = NULL};
    struct schema_memory *memory = calloc(1, sizeof *memory);
    const size_t count = (size_t)child_count;
    bool good = memory != NULL;
    if (memory) {
        memory->metadata = make_metadata(unit, doc, &good);
        memory->format = strdup(format);
        memory->name = utf8_copy(name);
        memory->children = calloc(count + 1, sizeof(struct ArrowSchema *) + sizeof(struct ArrowSchema));
    }
    if (!good || !memory->format || !memory->name || !memory->children) {
        free_schema(memory);
        return false;
    }
    struct ArrowSchema *children = (struct ArrowSchema *)(void *)(memory->children + count);
    for (size_t i = 0; i < count; i++)
        memory->children[i] = &children[i];
    *out = (struct ArrowSchema){.format = memory->format,
                                .name = memory->name,
                                .metadata = memory->metadata,
                                .flags = nullable ? ARROW_FLAG_NULLABLE : 0,
                                .n_children = child_count,
                                .children = count ? memory->children : NULL,
                                .dictionary = dictionary ? &memory->dictionary : NULL,
                                .release = release_schema,
                                .private_data = memory};
    return true;
}
