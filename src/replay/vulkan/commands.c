// SPDX-License-Identifier: Apache-2.0
// Recorded commands, put into a command buffer again.
#include "recording/vulkan/headers.h"
#ifdef RECORDING_HAS_VULKAN

#include "replay/vulkan/vulkan.h"

#define ARGUMENT_V(type, name) , call.name
#define ARGUMENT_F(name) , call.name
#define ARGUMENT_H(KIND, type, name) , call.name
#define ARGUMENT_M(KIND, type, name, count) , call.name
#define ARGUMENT_A(type, name, count) , call.name
#define ARGUMENT_P(type, name) , call.name
#define ARGUMENT_B(name, count) , call.name

#define DEFINE(function, number)                                                                             \
    static bool put_##function(struct vulkan_run *run, struct words *words,                                  \
                               const struct vulkan_device *device, VkCommandBuffer c) {                      \
        struct call_##function call = {.end = 0};                                                            \
        words_call_##function(words, &call);                                                                 \
        if (words->failed) {                                                                                 \
            vulkan_give_up(run,                                                                              \
                           "record %zu: vk" #function ": it uses an object that is missing on this "         \
                           "device, or has an unknown value",                                                \
                           run->commands);                                                                   \
            return false;                                                                                    \
        }                                                                                                    \
        if (!device->function) {                                                                             \
            vulkan_give_up(run, "this device does not have vk" #function);                                   \
            return false;                                                                                    \
        }                                                                                                    \
        if (!vulkan_check_command(run, VULKAN_##function, &call)) {                                          \
            vulkan_give_up(run, "record %zu: vk" #function ": %s", run->commands,                            \
                           run->reason ? run->reason : "it has values out of the bounds of what it uses");   \
            return false;                                                                                    \
        }                                                                                                    \
        device->function(c CALL_##function(ARGUMENT_V, ARGUMENT_F, ARGUMENT_H, ARGUMENT_H, ARGUMENT_M,       \
                                           ARGUMENT_A, ARGUMENT_P, ARGUMENT_B));                             \
        return true;                                                                                         \
    }
VULKAN_FRAME_COMMANDS(DEFINE)

static bool put_command(struct vulkan_run *run, uint64_t number, struct words *words,
                        struct vulkan_device *device, VkCommandBuffer commands) {
    if (number == VULKAN_CmdPushDescriptorSetKHR)
        return vulkan_push(run, words, device);
    switch (number) {
#define CASE(function, number)                                                                               \
    case number:                                                                                             \
        return put_##function(run, words, device, commands);
        VULKAN_FRAME_COMMANDS(CASE)
#undef CASE
    default:
        if (!words->failed)
            vulkan_give_up(run, "record %zu: a command has the unknown number %llu", run->commands,
                           (unsigned long long)number);
        return false;
    }
}

bool vulkan_record(struct vulkan_run *run, struct vulkan_device *device, VkCommandBuffer commands,
                   const struct recording_record *record) {
    const uint8_t *bytes = NULL;
    size_t length = 0;
    if (!recording_get_bytes(record, RECORDING_KEY_DATA, &bytes, &length))
        return false;
    struct words words = vulkan_words(run, device, bytes, length);
    bool good = true;
    run->now = (struct vulkan_now){.place = VULKAN_OUTSIDE};
    run->bound = (struct vulkan_bound){.has_index = false};
    run->into = commands;
    run->commands = (size_t)(record - run->process->records);
    while (good && words.at < words.end)
        good = put_command(run, words_value(&words, 0), &words, device, commands);
    words_finish(&words);
    if (good && run->now.place != VULKAN_OUTSIDE)
        vulkan_give_up(run, "record %zu: a command buffer ends within a render pass", run->commands);
    return good && run->now.place == VULKAN_OUTSIDE;
}

#endif
