// SPDX-License-Identifier: Apache-2.0
// A library that is linked with the loader of Level Zero and opened late: test_manners.sh.
#include <level_zero/ze_api.h>

__attribute__((visibility("default"))) int use(void) {
    ze_driver_handle_t driver;
    ze_device_handle_t device;
    ze_context_handle_t context;
    ze_command_queue_handle_t queue;
    const ze_context_desc_t context_desc = {.stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC};
    const ze_command_queue_desc_t queue_desc = {.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC};
    uint32_t count = 1;
    return zeInit(0) || zeDriverGet(&count, &driver) || zeDeviceGet(driver, &count, &device) ||
           zeContextCreate(driver, &context_desc, &context) ||
           zeCommandQueueCreate(context, device, &queue_desc, &queue) ||
           zeCommandQueueSynchronize(queue, UINT64_MAX) || zeCommandQueueDestroy(queue) ||
           zeContextDestroy(context);
}
