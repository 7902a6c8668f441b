// SPDX-License-Identifier: Apache-2.0
// The functions of Level Zero that are recorded, and what the agent does when they are entered and left. handlers.c makes the
// callbacks of this table, and has the functions that it names.
#ifndef LEVEL_ZERO_CALLS_H
#define LEVEL_ZERO_CALLS_H

#define NOTHING ((void)0)

// CALL(Name without ze, when it is entered, when it is left). `frame` is the call; numbers are places among its arguments.
// clang-format off
#define LEVEL_ZERO_CALLS(CALL) \
    CALL(CommandListAppendLaunchKernel, kernel_append(frame, 3, 2), appended(frame)) \
    CALL(CommandListAppendLaunchCooperativeKernel, kernel_append(frame, 3, 2), appended(frame)) \
    /* The number of groups is in memory, for the device to read; so is how many kernels run: they have no events. */ \
    CALL(CommandListAppendLaunchKernelIndirect, kernel_append(frame, 3, 0), appended(frame)) \
    CALL(CommandListAppendLaunchMultipleKernelsIndirect, NOTHING, unknown_appended(frame)) \
    CALL(CommandListAppendMemoryCopy, copy_append(frame, 4, 1, 2, ARGUMENT(size_t, 3)), appended(frame)) \
    CALL(CommandListAppendMemoryCopyRegion, region_append(frame), appended(frame)) \
    CALL(CommandListAppendMemoryCopyFromContext, copy_append(frame, 5, 1, 3, ARGUMENT(size_t, 4)), appended(frame)) \
    CALL(CommandListAppendMemoryFill, fill_append(frame), appended(frame)) \
    CALL(CommandListAppendImageCopy, image_append(frame, 3, TSMITH_OPERATION_COPY_IMAGE), appended(frame)) \
    CALL(CommandListAppendImageCopyRegion, image_append(frame, 5, TSMITH_OPERATION_COPY_IMAGE), appended(frame)) \
    CALL(CommandListAppendImageCopyToMemory, image_append(frame, 4, TSMITH_OPERATION_READ_IMAGE), appended(frame)) \
    CALL(CommandListAppendImageCopyFromMemory, image_append(frame, 4, TSMITH_OPERATION_WRITE_IMAGE), appended(frame)) \
    CALL(CommandListAppendBarrier, list_of(frame), NOTHING) \
    CALL(CommandListAppendMemoryRangesBarrier, list_of(frame), NOTHING) \
    CALL(CommandListAppendSignalEvent, (list_of(frame), event_signaled(ARGUMENT(void *, 1))), NOTHING) \
    CALL(CommandListAppendWaitOnEvents, list_of(frame), NOTHING) \
    CALL(CommandListAppendEventReset, event_reset_by_device(frame), NOTHING) \
    CALL(CommandListCreate, NOTHING, list_created(frame)) \
    CALL(CommandListCreateImmediate, NOTHING, immediate_created(frame)) \
    CALL(CommandListClose, NOTHING, NOTHING) \
    CALL(CommandListReset, list_reset(frame), NOTHING) \
    CALL(CommandListDestroy, list_destroyed(frame), NOTHING) \
    CALL(CommandListHostSynchronize, list_of(frame), wait_ended(frame, TSMITH_OPERATION_FINISH)) \
    CALL(CommandQueueCreate, NOTHING, queue_created(frame)) \
    CALL(CommandQueueDestroy, queue_destroyed(frame), NOTHING) \
    CALL(CommandQueueExecuteCommandLists, execute(frame), executed(frame)) \
    CALL(CommandQueueSynchronize, queue_waits(frame), queue_waited(frame)) \
    CALL(FenceCreate, NOTHING, fence_created(frame)) \
    CALL(FenceDestroy, forget_object(OBJECT_FENCE, ARGUMENT(void *, 0)), NOTHING) \
    CALL(FenceHostSynchronize, NOTHING, fence_waited(frame)) \
    CALL(EventPoolCreate, pool_create(frame), pool_created(frame)) \
    CALL(EventPoolDestroy, forget_object(OBJECT_POOL, ARGUMENT(void *, 0)), NOTHING) \
    CALL(EventCreate, NOTHING, event_created(frame)) \
    CALL(EventDestroy, event_destroyed(ARGUMENT(void *, 0)), NOTHING) \
    CALL(EventHostReset, event_reset(ARGUMENT(void *, 0)), NOTHING) \
    CALL(EventHostSignal, event_signaled(ARGUMENT(void *, 0)), NOTHING) \
    CALL(EventHostSynchronize, NOTHING, wait_ended(frame, TSMITH_OPERATION_WAIT)) \
    CALL(ModuleCreate, NOTHING, module_created(frame)) \
    CALL(ModuleDestroy, NOTHING, NOTHING) \
    CALL(KernelCreate, NOTHING, kernel_created(frame)) \
    CALL(KernelDestroy, forget_object(OBJECT_KERNEL, ARGUMENT(void *, 0)), NOTHING) \
    CALL(KernelSetGroupSize, NOTHING, group_size_set(frame)) \
    CALL(MemAllocDevice, NOTHING, memory_allocated(frame, 5, 2, TSMITH_OPERATION_BUFFER)) \
    CALL(MemAllocHost, NOTHING, memory_allocated(frame, 4, 2, TSMITH_OPERATION_SVM)) \
    CALL(MemAllocShared, NOTHING, memory_allocated(frame, 6, 3, TSMITH_OPERATION_SVM)) \
    CALL(MemFree, memory_free(frame), memory_freed(frame)) \
    CALL(ContextDestroy, context_destroyed(ARGUMENT(void *, 0)), NOTHING)
// clang-format on

enum call_id {
#define CALL_ID(name, enter, leave) CALL_##name,
    LEVEL_ZERO_CALLS(CALL_ID)
#undef CALL_ID
        CALL_LIMIT
};

#endif
