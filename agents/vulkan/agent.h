// SPDX-License-Identifier: Apache-2.0
// The agent of Vulkan: a layer between a program and its driver. The loader finds it by its name and the folder of its manifest.
//
// Rules: agentkit/agent.h, with one exception that docs/vulkan.md describes: into the program's command buffers the agent writes
// timestamps, and resets their queries, because nothing else gives times of Vulkan's commands. In addition:
//   - Results are read only once the program knows that the execution is complete (it waited, or it is about to record, submit
//     or free the command buffer again), so that no call waits for the device, and no query is read that the device may write.
//   - What is pending of all devices is kept under one lock (pending.c), which is held while results are read, and never
//     during a call that can wait.
//   - Forked children record nothing: Vulkan does not work in them.
//
// How a command goes (files): commands.c keeps what is recorded into a command buffer, queries.c lends it queries -> submit.c
// writes the API event, and makes the buffers pending -> wait.c learns what is complete -> pending.c reads the queries, times.c
// converts them -> record.c writes the events of the device.
#ifndef VULKAN_AGENT_H
#define VULKAN_AGENT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "agentkit/agent.h"
#include "agentkit/call_record.h"
#include "agentkit/stacks.h"
#include "calls.h"
#include "objects.h"
#include "vulkan_loader/loader.h" // device_of

extern uint32_t record_call_names[CALL_LIMIT];

__attribute__((always_inline)) static inline struct agent_call call_begin(enum call_id function) {
    return (struct agent_call){.name = record_call_names[function],
                               .stack = agent_on() ? stacks_capture() : 0,
                               .start = agent_tick()};
}

// Calls the next layer's function with its API event (record.h). Declares `call` and `result`.
#define CALLED(name, handle, ...)                                                                            \
    struct agent_call call = call_begin(CALL_##name);                                                        \
    const VkResult result = device_of(handle)->next.name(handle, __VA_ARGS__);                               \
    record_call(&call, result)
#define CALLED_VOID(name, handle, ...)                                                                       \
    struct agent_call call = call_begin(CALL_##name);                                                        \
    device_of(handle)->next.name(handle, __VA_ARGS__);                                                       \
    record_call_void(&call)
// The wrapper of a function that creates an object; `created` completes what is known of it.
#define CREATE_WRAPPER(name, info_type, handle_type, kind, created)                                          \
    VkResult layer_##name(VkDevice handle, const info_type *info, const VkAllocationCallbacks *allocator,    \
                          handle_type *out) {                                                                \
        CALLED(name, handle, info, allocator, out);                                                          \
        struct object *object =                                                                              \
            result == VK_SUCCESS ? object_add(kind, HANDLE(*out), device_of(handle)) : NULL;                 \
        if (object)                                                                                          \
            created(object, info, &call);                                                                    \
        return result;                                                                                       \
    }

#endif
