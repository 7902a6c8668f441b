// SPDX-License-Identifier: Apache-2.0
// The functions of Level Zero that are recorded, and what the agent does when they are entered and left.
#ifndef LEVEL_ZERO_CALLS_H
#define LEVEL_ZERO_CALLS_H

// CALL(Name without ze, index of the signal event among the arguments or 0, enter or NULL, leave or NULL)
#define LEVEL_ZERO_CALLS(CALL)                                                                               \
    CALL(CommandListAppendLaunchKernel, 3, append_enter, launch_leave)                                       \
    CALL(CommandListAppendLaunchCooperativeKernel, 3, append_enter, launch_leave)                            \
    CALL(CommandListAppendLaunchKernelIndirect, 3, append_enter, indirect_leave)                             \
    CALL(CommandListAppendLaunchMultipleKernelsIndirect, 0, NULL, multiple_leave)                            \
    CALL(CommandListAppendMemoryCopy, 4, append_enter, copy_leave)                                           \
    CALL(CommandListAppendMemoryCopyRegion, 9, append_enter, region_leave)                                   \
    CALL(CommandListAppendMemoryCopyFromContext, 5, append_enter, context_copy_leave)                        \
    CALL(CommandListAppendMemoryFill, 5, append_enter, fill_leave)                                           \
    CALL(CommandListAppendImageCopy, 3, append_enter, image_leave)                                           \
    CALL(CommandListAppendImageCopyRegion, 5, append_enter, image_leave)                                     \
    CALL(CommandListAppendImageCopyToMemory, 4, append_enter, image_read_leave)                              \
    CALL(CommandListAppendImageCopyFromMemory, 4, append_enter, image_write_leave)                           \
    CALL(CommandListAppendBarrier, 0, list_enter, NULL)                                                      \
    CALL(CommandListAppendMemoryRangesBarrier, 0, list_enter, NULL)                                          \
    CALL(CommandListAppendSignalEvent, 0, signal_enter, NULL)                                                \
    CALL(CommandListAppendWaitOnEvents, 0, list_enter, NULL)                                                 \
    CALL(CommandListAppendEventReset, 0, device_reset_enter, NULL)                                           \
    CALL(CommandListCreate, 0, NULL, list_create_leave)                                                      \
    CALL(CommandListCreateImmediate, 0, NULL, immediate_create_leave)                                        \
    CALL(CommandListClose, 0, NULL, NULL)                                                                    \
    CALL(CommandListReset, 0, list_reset_enter, NULL)                                                        \
    CALL(CommandListDestroy, 0, list_destroy_enter, NULL)                                                    \
    CALL(CommandListHostSynchronize, 0, list_enter, list_wait_leave)                                         \
    CALL(CommandQueueCreate, 0, NULL, queue_create_leave)                                                    \
    CALL(CommandQueueDestroy, 0, queue_destroy_enter, NULL)                                                  \
    CALL(CommandQueueExecuteCommandLists, 0, execute_enter, execute_leave)                                   \
    CALL(CommandQueueSynchronize, 0, queue_wait_enter, queue_wait_leave)                                     \
    CALL(FenceCreate, 0, NULL, fence_create_leave)                                                           \
    CALL(FenceDestroy, 0, forget_enter, NULL)                                                                \
    CALL(FenceHostSynchronize, 0, NULL, fence_wait_leave)                                                    \
    CALL(EventPoolCreate, 0, pool_create_enter, pool_create_leave)                                           \
    CALL(EventPoolDestroy, 0, forget_enter, NULL)                                                            \
    CALL(EventCreate, 0, NULL, event_create_leave)                                                           \
    CALL(EventDestroy, 0, event_destroy_enter, NULL)                                                         \
    CALL(EventHostReset, 0, event_reset_enter, NULL)                                                         \
    CALL(EventHostSignal, 0, event_signal_enter, NULL)                                                       \
    CALL(EventHostSynchronize, 0, NULL, event_wait_leave)                                                    \
    CALL(ModuleCreate, 0, NULL, module_create_leave)                                                         \
    CALL(ModuleDestroy, 0, NULL, NULL)                                                                       \
    CALL(KernelCreate, 0, NULL, kernel_create_leave)                                                         \
    CALL(KernelDestroy, 0, forget_enter, NULL)                                                               \
    CALL(KernelSetGroupSize, 0, NULL, group_size_leave)                                                      \
    CALL(MemAllocDevice, 0, NULL, alloc_device_leave)                                                        \
    CALL(MemAllocHost, 0, NULL, alloc_host_leave)                                                            \
    CALL(MemAllocShared, 0, NULL, alloc_shared_leave)                                                        \
    CALL(MemFree, 0, free_enter, free_leave)                                                                 \
    CALL(ContextDestroy, 0, context_destroy_enter, NULL)

enum call_id {
#define CALL_ID(name, signal, enter, leave) CALL_##name,
    LEVEL_ZERO_CALLS(CALL_ID)
#undef CALL_ID
        CALL_LIMIT
};

#endif
