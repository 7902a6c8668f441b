// SPDX-License-Identifier: Apache-2.0
// Structs and commands of Vulkan as a recording has them: the first byte chooses what the rest is read as. Whatever is read lies in memory
// of its own, and what was read whole is the same when it is written and read again.
#include "recording/vulkan/headers.h"
#ifdef RECORDING_HAS_VULKAN

#include <stdlib.h>
#include <string.h>

#include "recording/vulkan/calls.h"
#include "recording/vulkan/words.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

// Even numbers are objects that are there.
static uint64_t translate(void *context, enum vulkan_kind kind, uint64_t number, bool written) {
    (void)context, (void)kind, (void)written;
    return number % 2 ? 0 : number;
}

static void read_all(struct words *words, unsigned which) {
    unsigned at = 0;
#define READ_STRUCT(type)                                                                                    \
    if (which == at++) {                                                                                     \
        type value;                                                                                          \
        memset(&value, 0, sizeof value);                                                                     \
        words_##type(words, &value);                                                                         \
        if (!words->failed) {                                                                                \
            struct words again = {.translate = translate};                                                   \
            words_##type(&again, &value);                                                                    \
            if (!again.missing[0] && again.failed)                                                           \
                abort();                                                                                     \
            free(again.bytes);                                                                               \
        }                                                                                                    \
    }
    VULKAN_STRUCTS(READ_STRUCT)
#define READ_CALL(name, number)                                                                              \
    if (which == at++) {                                                                                     \
        struct call_##name call = {.end = 0};                                                                \
        words_call_##name(words, &call);                                                                     \
        if (!words->failed) {                                                                                \
            struct words again = {.translate = translate};                                                   \
            words_call_##name(&again, &call);                                                                \
            if (!again.missing[0] && again.failed)                                                           \
                abort();                                                                                     \
            free(again.bytes);                                                                               \
        }                                                                                                    \
    }
    VULKAN_FRAME_COMMANDS(READ_CALL)
    VULKAN_STRUCTS_EXT(READ_STRUCT)
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (!size)
        return 0;
    struct words words = {.reading = true, .at = data + 1, .end = data + size, .translate = translate};
    read_all(&words, data[0]);
    words_finish(&words);
    return 0;
}

#else

#include <stddef.h>
#include <stdint.h>
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    (void)data, (void)size;
    return 0;
}

#endif
