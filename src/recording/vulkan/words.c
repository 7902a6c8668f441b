// SPDX-License-Identifier: Apache-2.0
// Words, bytes and arrays, written and read. The structs of Vulkan are made of them (structs.c).
#include "recording/vulkan/words.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

enum { MOST_BYTES = 48 << 20, MOST_TAKEN = 256 << 20 }; // a record has 64 MiB at most

const char *vulkan_kind_name(uint32_t kind) {
    static const char *const names[] = {"object",
#define NAME(NAME, type, name) name,
                                        VULKAN_KIND_TABLE(NAME)
#undef NAME
    };
    return kind < VULKAN_KIND_LIMIT ? names[kind] : names[0];
}

void words_finish(struct words *words) {
    for (size_t i = 0; i < words->taken_count; i++)
        free(words->taken[i]);
    free(words->taken);
    words->taken = NULL;
    words->taken_count = words->taken_capacity = words->taken_bytes = 0;
}

void words_missing(struct words *words, const char *format, ...) {
    if (words->missing[0])
        return;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(words->missing, sizeof words->missing, format, arguments);
    va_end(arguments);
}

static void *take_memory(struct words *words, uint64_t bytes) {
    if (bytes > MOST_TAKEN - words->taken_bytes ||
        !ARRAY_RESERVE(words->taken, words->taken_capacity, words->taken_count + 1)) {
        words->failed = true;
        return NULL;
    }
    void *memory = calloc(1, bytes ? bytes : 1);
    if (!memory) {
        words->failed = true;
        return NULL;
    }
    words->taken[words->taken_count++] = memory;
    words->taken_bytes += bytes;
    return memory;
}

static void put_bytes(struct words *words, const void *bytes, size_t length) {
    if (words->failed || length > MOST_BYTES - words->length ||
        !ARRAY_RESERVE(words->bytes, words->capacity, words->length + length)) {
        words->failed = true;
        return;
    }
    if (length)
        memcpy(words->bytes + words->length, bytes, length);
    words->length += length;
}

uint64_t words_value(struct words *words, uint64_t value) {
    uint8_t bytes[10];
    size_t used = 0;
    if (!words->reading) {
        uint64_t rest = value;
        for (; rest >= 128; rest >>= 7)
            bytes[used++] = (uint8_t)(rest | 128);
        bytes[used++] = (uint8_t)rest;
        put_bytes(words, bytes, used);
        return value;
    }
    uint64_t out = 0;
    for (unsigned shift = 0; !words->failed; shift += 7) {
        if (words->at == words->end || shift > 63) {
            words->failed = true;
            return 0;
        }
        out |= (uint64_t)(*words->at & 127) << shift;
        if (!(*words->at++ & 128))
            return out;
    }
    return 0;
}

uint64_t words_handle(struct words *words, enum vulkan_kind kind, uint64_t handle, bool written,
                      bool optional) {
    if (!words->reading) {
        const uint64_t number = handle ? words->translate(words->context, kind, handle, written) : 0;
        if (!handle && !optional)
            words_missing(words, "no %s where one has to be", vulkan_kind_name(kind));
        if (handle && !number)
            words_missing(words, "a %s that is not known", vulkan_kind_name(kind));
        words_value(words, number);
        return handle;
    }
    const uint64_t number = words_value(words, 0);
    const uint64_t found =
        number && !words->failed ? words->translate(words->context, kind, number, written) : 0;
    words->failed |= !found && (number || !optional);
    return found;
}

const void *words_bytes(struct words *words, const void *bytes, uint64_t count) {
    if (!words->reading) {
        put_bytes(words, bytes, count);
        return bytes;
    }
    if (words->failed || count > (uint64_t)(words->end - words->at)) {
        words->failed = true;
        return NULL;
    }
    uint8_t *memory = take_memory(words, count);
    if (memory && count)
        memcpy(memory, words->at, count);
    words->at += count;
    return memory;
}

// Every element takes a byte or more, so that the memory is limited by the bytes that are left.
void *words_items(struct words *words, const void *items, uint64_t count, size_t element, bool optional) {
    const bool there = words_value(words, items && count);
    if (!words->reading)
        return there ? (void *)(uintptr_t)items : NULL;
    if (!there && count && !optional)
        words->failed = true;
    if (!there || words->failed || count > (uint64_t)(words->end - words->at)) {
        words->failed |= there;
        return NULL;
    }
    return take_memory(words, count * element);
}

const char *words_text(struct words *words, const char *text) {
    const uint64_t length = words_value(words, text ? strlen(text) : 0);
    if (!words->reading) {
        put_bytes(words, text, length);
        return text;
    }
    if (words->failed || length > (uint64_t)(words->end - words->at)) {
        words->failed = true;
        return NULL;
    }
    char *memory = take_memory(words, length + 1);
    if (memory)
        memcpy(memory, words->at, length);
    words->at += length;
    return memory;
}
