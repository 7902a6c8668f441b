// SPDX-License-Identifier: Apache-2.0
// A GPU is named by its UUID (cl_khr_device_uuid), which CUDA and NVML give as well, and by its PCI address; any other
// device by API, platform, name and number. A software driver gives all its devices one UUID, or zeros, so a UUID counts only
// where no other device of the platform has it. A part of a device (clCreateSubDevices) has no identity of its own.
#include "identity.h"

#include <stdio.h>
#include <string.h>

#include "agentkit/device.h"
#include "base/pci.h"

enum {
    PLATFORM_DEVICES = 64,
    UUID_BYTES = DEVICE_UUID_BYTES,
    INFO_PARENT = 0x1042,        // CL_DEVICE_PARENT_DEVICE
    INFO_UUID = 0x106A,          // CL_DEVICE_UUID_KHR
    INFO_PCI = 0x410F,           // CL_DEVICE_PCI_BUS_INFO_KHR: domain, bus, device, function
    INFO_PCI_BUS_NV = 0x4008,    // CL_DEVICE_PCI_BUS_ID_NV
    INFO_PCI_SLOT_NV = 0x4009,   // CL_DEVICE_PCI_SLOT_ID_NV: device << 3 | function
    INFO_PCI_DOMAIN_NV = 0x400A, // CL_DEVICE_PCI_DOMAIN_ID_NV
    INFO_TOPOLOGY_AMD = 0x4037   // CL_DEVICE_TOPOLOGY_AMD: see struct topology
};

struct topology {
    cl_uint type; // 1: PCIe
    cl_char unused[17];
    cl_uchar bus, device, function;
};
_Static_assert(sizeof(struct topology) == 24, "the driver's size of it");

static bool get_device_info(cl_device_id device, cl_device_info what, void *out, size_t size) {
    size_t got = 0;
    return opencl_next.clGetDeviceInfo(device, what, size, out, &got) == CL_SUCCESS && got == size;
}

static bool has_extension(const char *extensions, const char *name) {
    const size_t length = strlen(name);
    for (const char *at = extensions; (at = strstr(at, name)); at += length)
        if ((at == extensions || at[-1] == ' ') && (at[length] == ' ' || at[length] == '\0'))
            return true;
    return false;
}

static bool uuid_of(cl_device_id device, uint8_t uuid[UUID_BYTES]) {
    static const uint8_t nothing[UUID_BYTES];
    return get_device_info(device, INFO_UUID, uuid, UUID_BYTES) && memcmp(uuid, nothing, UUID_BYTES) != 0;
}

static void find_pci(cl_device_id device, const char *extensions, char out[PCI_IDENTITY_SIZE]) {
    cl_uint address[4], bus, slot, domain = 0;
    struct topology topology;
    if (has_extension(extensions, "cl_khr_pci_bus_info") &&
        get_device_info(device, INFO_PCI, address, sizeof address)) {
        pci_identity(address[0], address[1], address[2], address[3], out);
    } else if (has_extension(extensions, "cl_nv_device_attribute_query") &&
               get_device_info(device, INFO_PCI_BUS_NV, &bus, sizeof bus) &&
               get_device_info(device, INFO_PCI_SLOT_NV, &slot, sizeof slot)) {
        (void)get_device_info(device, INFO_PCI_DOMAIN_NV, &domain, sizeof domain);
        pci_identity(domain, bus, slot >> 3, slot & 7, out);
    } else if (has_extension(extensions, "cl_amd_device_attribute_query") &&
               get_device_info(device, INFO_TOPOLOGY_AMD, &topology, sizeof topology) && topology.type == 1) {
        pci_identity(0, topology.bus, topology.device, topology.function, out);
    }
}

void identity_find(cl_device_id device, cl_platform_id platform, const char *platform_name,
                   struct identity *out) {
    cl_device_id devices[PLATFORM_DEVICES] = {NULL}, parent = NULL;
    cl_uint count = 0;
    cl_device_type type = 0;
    char extensions[8192] = "", name[256] = "", pci[PCI_IDENTITY_SIZE] = "";
    uint8_t uuid[UUID_BYTES], other[UUID_BYTES];
    *out = (struct identity){.number = 0};
    if (!platform || (get_device_info(device, INFO_PARENT, &parent, sizeof parent) && parent) ||
        opencl_next.clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, PLATFORM_DEVICES, devices, &count) !=
            CL_SUCCESS)
        return;
    count = count < PLATFORM_DEVICES ? count : PLATFORM_DEVICES;
    (void)get_device_info(device, CL_DEVICE_TYPE, &type, sizeof type);
    opencl_next.clGetDeviceInfo(device, CL_DEVICE_NAME, sizeof name - 1, name, NULL);
    opencl_next.clGetDeviceInfo(device, CL_DEVICE_EXTENSIONS, sizeof extensions - 1, extensions, NULL);
    bool has_uuid = (type & CL_DEVICE_TYPE_GPU) && has_extension(extensions, "cl_khr_device_uuid") &&
                    uuid_of(device, uuid);
    for (cl_uint i = 0; i < count; i++) {
        if (devices[i] == device)
            out->number = i + 1;
        else if (has_uuid && uuid_of(devices[i], other) && memcmp(uuid, other, UUID_BYTES) == 0)
            has_uuid = false;
    }
    find_pci(device, extensions, pci);
    if (has_uuid)
        device_uuid_text("GPU-", uuid, out->text, sizeof out->text);
    if (pci[0])
        snprintf(has_uuid ? out->other : out->text, sizeof out->other, "%s", pci);
    else if (!has_uuid && out->number)
        snprintf(out->text, sizeof out->text, "opencl:%s/%s/%u", platform_name, name, out->number - 1);
}
