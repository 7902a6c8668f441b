// SPDX-License-Identifier: Apache-2.0
// The wrappers of functions that get an API event and nothing else. Rules: agent.h.
#include "record.h"

#define HANDLE_OF(first, ...) first
#define PLAIN_CALL(name, parameters, arguments)                                                              \
    VkResult layer_##name parameters {                                                                       \
        const struct next *next = &device_of(HANDLE_OF arguments)->next;                                     \
        if (!agent_on())                                                                                     \
            return next->name arguments;                                                                     \
        struct agent_call call = call_begin(CALL_##name);                                                    \
        const VkResult result = next->name arguments;                                                        \
        record_call(&call, result);                                                                          \
        return result;                                                                                       \
    }
#define PLAIN_VOID_CALL(name, parameters, arguments)                                                         \
    void layer_##name parameters {                                                                           \
        const struct next *next = &device_of(HANDLE_OF arguments)->next;                                     \
        if (!agent_on()) {                                                                                   \
            next->name arguments;                                                                            \
            return;                                                                                          \
        }                                                                                                    \
        struct agent_call call = call_begin(CALL_##name);                                                    \
        next->name arguments;                                                                                \
        record_call_void(&call);                                                                             \
    }

VULKAN_PLAIN_CALLS(PLAIN_CALL)
VULKAN_PLAIN_VOID_CALLS(PLAIN_VOID_CALL)

#define REMOVE_CALL(name, type, object_kind)                                                                 \
    void layer_##name(VkDevice handle, type key, const VkAllocationCallbacks *allocator) {                   \
        struct object *object = object_find(object_kind, HANDLE(key));                                       \
        if (object)                                                                                          \
            object_remove(object);                                                                           \
        CALLED_VOID(name, handle, key, allocator);                                                           \
    }
VULKAN_REMOVE_CALLS(REMOVE_CALL)
