// SPDX-License-Identifier: Apache-2.0
// Numbers are parts of the drivers' interfaces to programs, and stay. Those of one DRM driver (0x40 to 0x9f) have
// another meaning in another driver, and are shown as numbers.
#include "watch/driver_names.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

struct request {
    uint32_t number;
    const char *name;
};

static const struct request drm[] = {
    {0x00, "DRM_IOCTL_VERSION"},
    {0x01, "DRM_IOCTL_GET_UNIQUE"},
    {0x02, "DRM_IOCTL_GET_MAGIC"},
    {0x09, "DRM_IOCTL_GEM_CLOSE"},
    {0x0a, "DRM_IOCTL_GEM_FLINK"},
    {0x0b, "DRM_IOCTL_GEM_OPEN"},
    {0x0c, "DRM_IOCTL_GET_CAP"},
    {0x0d, "DRM_IOCTL_SET_CLIENT_CAP"},
    {0x11, "DRM_IOCTL_AUTH_MAGIC"},
    {0x1e, "DRM_IOCTL_SET_MASTER"},
    {0x1f, "DRM_IOCTL_DROP_MASTER"},
    {0x2d, "DRM_IOCTL_PRIME_HANDLE_TO_FD"},
    {0x2e, "DRM_IOCTL_PRIME_FD_TO_HANDLE"},
    {0x3a, "DRM_IOCTL_WAIT_VBLANK"},
    {0xa0, "DRM_IOCTL_MODE_GETRESOURCES"},
    {0xb0, "DRM_IOCTL_MODE_PAGE_FLIP"},
    {0xb2, "DRM_IOCTL_MODE_CREATE_DUMB"},
    {0xb3, "DRM_IOCTL_MODE_MAP_DUMB"},
    {0xb4, "DRM_IOCTL_MODE_DESTROY_DUMB"},
    {0xbc, "DRM_IOCTL_MODE_ATOMIC"},
    {0xbf, "DRM_IOCTL_SYNCOBJ_CREATE"},
    {0xc0, "DRM_IOCTL_SYNCOBJ_DESTROY"},
    {0xc1, "DRM_IOCTL_SYNCOBJ_HANDLE_TO_FD"},
    {0xc2, "DRM_IOCTL_SYNCOBJ_FD_TO_HANDLE"},
    {0xc3, "DRM_IOCTL_SYNCOBJ_WAIT"},
    {0xc4, "DRM_IOCTL_SYNCOBJ_RESET"},
    {0xc5, "DRM_IOCTL_SYNCOBJ_SIGNAL"},
    {0xca, "DRM_IOCTL_SYNCOBJ_TIMELINE_WAIT"},
    {0xcb, "DRM_IOCTL_SYNCOBJ_QUERY"},
    {0xcc, "DRM_IOCTL_SYNCOBJ_TRANSFER"},
    {0xcd, "DRM_IOCTL_SYNCOBJ_TIMELINE_SIGNAL"},
};

static const struct request kfd[] = {
    {0x01, "AMDKFD_IOC_GET_VERSION"},
    {0x02, "AMDKFD_IOC_CREATE_QUEUE"},
    {0x03, "AMDKFD_IOC_DESTROY_QUEUE"},
    {0x04, "AMDKFD_IOC_SET_MEMORY_POLICY"},
    {0x05, "AMDKFD_IOC_GET_CLOCK_COUNTERS"},
    {0x06, "AMDKFD_IOC_GET_PROCESS_APERTURES"},
    {0x07, "AMDKFD_IOC_UPDATE_QUEUE"},
    {0x08, "AMDKFD_IOC_CREATE_EVENT"},
    {0x09, "AMDKFD_IOC_DESTROY_EVENT"},
    {0x0a, "AMDKFD_IOC_SET_EVENT"},
    {0x0b, "AMDKFD_IOC_RESET_EVENT"},
    {0x0c, "AMDKFD_IOC_WAIT_EVENTS"},
    {0x11, "AMDKFD_IOC_SET_SCRATCH_BACKING_VA"},
    {0x12, "AMDKFD_IOC_GET_TILE_CONFIG"},
    {0x13, "AMDKFD_IOC_SET_TRAP_HANDLER"},
    {0x14, "AMDKFD_IOC_GET_PROCESS_APERTURES_NEW"},
    {0x15, "AMDKFD_IOC_ACQUIRE_VM"},
    {0x16, "AMDKFD_IOC_ALLOC_MEMORY_OF_GPU"},
    {0x17, "AMDKFD_IOC_FREE_MEMORY_OF_GPU"},
    {0x18, "AMDKFD_IOC_MAP_MEMORY_TO_GPU"},
    {0x19, "AMDKFD_IOC_UNMAP_MEMORY_FROM_GPU"},
    {0x1a, "AMDKFD_IOC_SET_CU_MASK"},
    {0x1b, "AMDKFD_IOC_GET_QUEUE_WAVE_STATE"},
    {0x1c, "AMDKFD_IOC_GET_DMABUF_INFO"},
    {0x1d, "AMDKFD_IOC_IMPORT_DMABUF"},
    {0x1e, "AMDKFD_IOC_ALLOC_QUEUE_GWS"},
    {0x1f, "AMDKFD_IOC_SMI_EVENTS"},
};

static const struct request nvidia[] = {
    {0x27, "NV_ESC_RM_ALLOC_MEMORY"},
    {0x28, "NV_ESC_RM_ALLOC_OBJECT"},
    {0x29, "NV_ESC_RM_FREE"},
    {0x2a, "NV_ESC_RM_CONTROL"},
    {0x2b, "NV_ESC_RM_ALLOC"},
    {0x34, "NV_ESC_RM_DUP_OBJECT"},
    {0x35, "NV_ESC_RM_SHARE"},
    {0x41, "NV_ESC_RM_IDLE_CHANNELS"},
    {0x4a, "NV_ESC_RM_VID_HEAP_CONTROL"},
    {0x4d, "NV_ESC_RM_ACCESS_REGISTRY"},
    {0x4e, "NV_ESC_RM_MAP_MEMORY"},
    {0x4f, "NV_ESC_RM_UNMAP_MEMORY"},
    {0x52, "NV_ESC_RM_GET_EVENT_DATA"},
    {0x54, "NV_ESC_RM_ALLOC_CONTEXT_DMA2"},
    {0x57, "NV_ESC_RM_MAP_MEMORY_DMA"},
    {0x58, "NV_ESC_RM_UNMAP_MEMORY_DMA"},
    {0x59, "NV_ESC_RM_BIND_CONTEXT_DMA"},
    {0x5c, "NV_ESC_RM_EXPORT_OBJECT_TO_FD"},
    {0x5d, "NV_ESC_RM_IMPORT_OBJECT_FROM_FD"},
    {0x5e, "NV_ESC_RM_UPDATE_DEVICE_MAPPING_INFO"},
    {200, "NV_ESC_CARD_INFO"},
    {201, "NV_ESC_REGISTER_FD"},
    {206, "NV_ESC_ALLOC_OS_EVENT"},
    {207, "NV_ESC_FREE_OS_EVENT"},
    {209, "NV_ESC_STATUS_CODE"},
    {210, "NV_ESC_CHECK_VERSION_STR"},
    {211, "NV_ESC_IOCTL_XFER_CMD"},
    {212, "NV_ESC_ATTACH_GPUS_TO_FD"},
    {213, "NV_ESC_QUERY_DEVICE_INTR"},
    {214, "NV_ESC_SYS_PARAMS"},
    {217, "NV_ESC_EXPORT_TO_DMABUF_FD"},
    {218, "NV_ESC_WAIT_OPEN_COMPLETE"},
};

// Bare numbers, without a size.
static const struct request uvm[] = {
    {0x30000001, "UVM_INITIALIZE"},
    {0x30000002, "UVM_DEINITIALIZE"},
    {23, "UVM_CREATE_RANGE_GROUP"},
    {24, "UVM_DESTROY_RANGE_GROUP"},
    {25, "UVM_REGISTER_GPU_VASPACE"},
    {26, "UVM_UNREGISTER_GPU_VASPACE"},
    {27, "UVM_REGISTER_CHANNEL"},
    {28, "UVM_UNREGISTER_CHANNEL"},
    {29, "UVM_ENABLE_PEER_ACCESS"},
    {30, "UVM_DISABLE_PEER_ACCESS"},
    {31, "UVM_SET_RANGE_GROUP"},
    {33, "UVM_MAP_EXTERNAL_ALLOCATION"},
    {34, "UVM_FREE"},
    {37, "UVM_REGISTER_GPU"},
    {38, "UVM_UNREGISTER_GPU"},
    {39, "UVM_PAGEABLE_MEM_ACCESS"},
    {42, "UVM_SET_PREFERRED_LOCATION"},
    {43, "UVM_UNSET_PREFERRED_LOCATION"},
    {44, "UVM_ENABLE_READ_DUPLICATION"},
    {45, "UVM_DISABLE_READ_DUPLICATION"},
    {46, "UVM_SET_ACCESSED_BY"},
    {47, "UVM_UNSET_ACCESSED_BY"},
    {51, "UVM_MIGRATE"},
    {53, "UVM_MIGRATE_RANGE_GROUP"},
    {65, "UVM_MAP_DYNAMIC_PARALLELISM_REGION"},
    {66, "UVM_UNMAP_EXTERNAL"},
    {68, "UVM_ALLOC_SEMAPHORE_POOL"},
    {72, "UVM_VALIDATE_VA_RANGE"},
    {73, "UVM_CREATE_EXTERNAL_RANGE"},
};

static const char *find(const struct request *requests, size_t count, uint32_t number) {
    for (size_t i = 0; i < count; i++)
        if (requests[i].number == number)
            return requests[i].name;
    return NULL;
}
#define FIND(table, number) find(table, sizeof(table) / sizeof(table)[0], number)

static bool begins_with(const char *text, const char *with) {
    return strncmp(text, with, strlen(with)) == 0;
}

static bool is_bare(const char *node) {
    return begins_with(node, "nvidia-uvm");
}

// The parts of a number, as the kernel's _IOC has them.
static uint32_t kind_of(uint32_t request) {
    return request >> 8 & 0xff;
}

static const char *request_name(const char *node, uint32_t request) {
    const uint32_t kind = kind_of(request), number = request & 0xff;
    if (is_bare(node))
        return FIND(uvm, request);
    if (begins_with(node, "nvidia") && kind == 'F')
        return FIND(nvidia, number);
    if (strcmp(node, "kfd") == 0 && kind == 'K')
        return FIND(kfd, number);
    if ((begins_with(node, "card") || begins_with(node, "render") || begins_with(node, "accel")) &&
        kind == 'd')
        return FIND(drm, number);
    return NULL;
}

void driver_ioctl_name(const char *node, uint32_t request, char *text, size_t size) {
    const char *name = request_name(node, request);
    const uint32_t kind = kind_of(request), number = request & 0xff;
    if (name)
        snprintf(text, size, "%s", name);
    else if (is_bare(node))
        snprintf(text, size, "ioctl %u", request);
    else if (kind == 'd' && number >= 0x40 && number < 0xa0)
        snprintf(text, size, "DRM driver command 0x%02x", number - 0x40);
    else if (kind > ' ' && kind < 0x7f)
        snprintf(text, size, "ioctl '%c' 0x%02x", (char)kind, number);
    else
        snprintf(text, size, "ioctl 0x%08x", request);
}

uint32_t driver_ioctl_bytes(const char *node, uint32_t request) {
    return is_bare(node) ? 0 : request >> 16 & 0x3fff;
}
