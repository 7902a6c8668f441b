// SPDX-License-Identifier: Apache-2.0
// Compares agents/level_zero/abi.h with the headers of Level Zero. Compiled, never run: test_lists.sh.
#include "agents/level_zero/abi.h"

#include <level_zero/layers/zel_tracing_api.h>
#include <level_zero/layers/zel_tracing_register_cb.h>
#include <level_zero/ze_api.h>

#define SAME(ours, theirs) _Static_assert((long long)(ours) == (long long)(theirs), #theirs)
#define SIZE(ours, theirs) SAME(sizeof(struct ours), sizeof(theirs))
#define PLACE(ours, our_member, theirs, member)                                                              \
    SAME(offsetof(struct ours, our_member), offsetof(theirs, member))

SAME(ZERO_SUCCESS, ZE_RESULT_SUCCESS);
SAME(ZERO_NOT_READY, ZE_RESULT_NOT_READY);
SAME(ZERO_UNINITIALIZED, ZE_RESULT_ERROR_UNINITIALIZED);
SAME(ZERO_DEVICE_MEMORY_PROPERTIES, ZE_STRUCTURE_TYPE_DEVICE_MEMORY_PROPERTIES);
SAME(ZERO_DEVICE_PROPERTIES_1_2, ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES_1_2);
SAME(ZERO_EVENT_POOL_DESC, ZE_STRUCTURE_TYPE_EVENT_POOL_DESC);
SAME(ZERO_EVENT_DESC, ZE_STRUCTURE_TYPE_EVENT_DESC);
SAME(ZERO_MEMORY_PROPERTIES, ZE_STRUCTURE_TYPE_MEMORY_ALLOCATION_PROPERTIES);
SAME(ZERO_POOL_HOST_VISIBLE, ZE_EVENT_POOL_FLAG_HOST_VISIBLE);
SAME(ZERO_POOL_IPC, ZE_EVENT_POOL_FLAG_IPC);
SAME(ZERO_POOL_TIMESTAMP, ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP);
SAME(ZERO_MEMORY_DEVICE, ZE_MEMORY_TYPE_DEVICE);
SAME(ZERO_DEVICE_GPU, ZE_DEVICE_TYPE_GPU);
SAME(ZERO_DEVICE_CPU, ZE_DEVICE_TYPE_CPU);
SAME(1, ZEL_STRUCTURE_TYPE_TRACER_DESC);
SAME(ZERO_PROLOGUE, ZEL_REGISTER_PROLOGUE);
SAME(ZERO_EPILOGUE, ZEL_REGISTER_EPILOGUE);

SIZE(zero_device_properties, ze_device_properties_t);
PLACE(zero_device_properties, type, ze_device_properties_t, type);
PLACE(zero_device_properties, vendor, ze_device_properties_t, vendorId);
PLACE(zero_device_properties, clock_mhz, ze_device_properties_t, coreClockRate);
PLACE(zero_device_properties, eus_per_subslice, ze_device_properties_t, numEUsPerSubslice);
PLACE(zero_device_properties, subslices_per_slice, ze_device_properties_t, numSubslicesPerSlice);
PLACE(zero_device_properties, slices, ze_device_properties_t, numSlices);
PLACE(zero_device_properties, timer_resolution, ze_device_properties_t, timerResolution);
PLACE(zero_device_properties, timestamp_bits, ze_device_properties_t, timestampValidBits);
PLACE(zero_device_properties, kernel_timestamp_bits, ze_device_properties_t, kernelTimestampValidBits);
PLACE(zero_device_properties, uuid, ze_device_properties_t, uuid);
PLACE(zero_device_properties, name, ze_device_properties_t, name);
SIZE(zero_device_memory_properties, ze_device_memory_properties_t);
PLACE(zero_device_memory_properties, bytes, ze_device_memory_properties_t, totalSize);
SIZE(zero_event_pool_desc, ze_event_pool_desc_t);
PLACE(zero_event_pool_desc, flags, ze_event_pool_desc_t, flags);
PLACE(zero_event_pool_desc, count, ze_event_pool_desc_t, count);
SIZE(zero_event_desc, ze_event_desc_t);
PLACE(zero_event_desc, index, ze_event_desc_t, index);
PLACE(zero_event_desc, signal, ze_event_desc_t, signal);
PLACE(zero_kernel_desc, name, ze_kernel_desc_t, pKernelName);
PLACE(zero_module_desc, options, ze_module_desc_t, pBuildFlags);
SIZE(zero_memory_properties, ze_memory_allocation_properties_t);
PLACE(zero_memory_properties, type, ze_memory_allocation_properties_t, type);
SIZE(zero_groups, ze_group_count_t);
SIZE(zero_region, ze_copy_region_t);
PLACE(zero_region, width, ze_copy_region_t, width);
PLACE(zero_region, depth, ze_copy_region_t, depth);
SIZE(zero_timestamps, ze_kernel_timestamp_result_t);
PLACE(zero_timestamps, global_start, ze_kernel_timestamp_result_t, global.kernelStart);
PLACE(zero_timestamps, global_end, ze_kernel_timestamp_result_t, global.kernelEnd);
PLACE(zero_timestamps, context_start, ze_kernel_timestamp_result_t, context.kernelStart);
SIZE(zero_tracer_desc, zel_tracer_desc_t);
PLACE(zero_tracer_desc, user, zel_tracer_desc_t, pUserData);

// Where the agent expects arguments (calls.h, handlers.c).
#define ARGUMENT_AT(index, params, member) SAME((index) * sizeof(void *), offsetof(params, member))
ARGUMENT_AT(3, ze_command_list_append_launch_kernel_params_t, phSignalEvent);
ARGUMENT_AT(3, ze_command_list_append_launch_cooperative_kernel_params_t, phSignalEvent);
ARGUMENT_AT(3, ze_command_list_append_launch_kernel_indirect_params_t, phSignalEvent);
ARGUMENT_AT(4, ze_command_list_append_memory_copy_params_t, phSignalEvent);
ARGUMENT_AT(9, ze_command_list_append_memory_copy_region_params_t, phSignalEvent);
ARGUMENT_AT(5, ze_command_list_append_memory_copy_from_context_params_t, phSignalEvent);
ARGUMENT_AT(5, ze_command_list_append_memory_fill_params_t, phSignalEvent);
ARGUMENT_AT(3, ze_command_list_append_image_copy_params_t, phSignalEvent);
ARGUMENT_AT(5, ze_command_list_append_image_copy_region_params_t, phSignalEvent);
ARGUMENT_AT(4, ze_command_list_append_image_copy_to_memory_params_t, phSignalEvent);
ARGUMENT_AT(4, ze_command_list_append_image_copy_from_memory_params_t, phSignalEvent);
ARGUMENT_AT(3, ze_command_list_append_memory_copy_from_context_params_t, psrcptr);
ARGUMENT_AT(4, ze_command_list_append_memory_copy_from_context_params_t, psize);
ARGUMENT_AT(2, ze_command_list_append_memory_copy_region_params_t, pdstRegion);
ARGUMENT_AT(5, ze_command_list_append_memory_copy_region_params_t, psrcptr);
ARGUMENT_AT(4, ze_command_list_append_memory_fill_params_t, psize);
ARGUMENT_AT(3, ze_command_list_create_params_t, pphCommandList);
ARGUMENT_AT(3, ze_command_list_create_immediate_params_t, pphCommandList);
ARGUMENT_AT(3, ze_command_queue_create_params_t, pphCommandQueue);
ARGUMENT_AT(3, ze_command_queue_execute_command_lists_params_t, phFence);
ARGUMENT_AT(2, ze_fence_create_params_t, pphFence);
ARGUMENT_AT(4, ze_event_pool_create_params_t, pphEventPool);
ARGUMENT_AT(2, ze_event_create_params_t, pphEvent);
ARGUMENT_AT(1, ze_command_list_append_event_reset_params_t, phEvent);
ARGUMENT_AT(1, ze_command_list_append_signal_event_params_t, phEvent);
ARGUMENT_AT(2, ze_module_create_params_t, pdesc);
ARGUMENT_AT(2, ze_kernel_create_params_t, pphKernel);
ARGUMENT_AT(5, ze_mem_alloc_device_params_t, ppptr);
ARGUMENT_AT(2, ze_mem_alloc_device_params_t, psize);
ARGUMENT_AT(4, ze_mem_alloc_host_params_t, ppptr);
ARGUMENT_AT(2, ze_mem_alloc_host_params_t, psize);
ARGUMENT_AT(6, ze_mem_alloc_shared_params_t, ppptr);
ARGUMENT_AT(3, ze_mem_alloc_shared_params_t, psize);
ARGUMENT_AT(1, ze_mem_free_params_t, pptr);
