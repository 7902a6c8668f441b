// SPDX-License-Identifier: Apache-2.0
// The devices of this machine, for `tracesmith devices`. Rules: none of agent.h's: this runs in a process of
// ours, where no layer is active, and calls the loader as any program does.
#include "agent.h"

#include <dlfcn.h>

#include "wire/agent.h"

#define FUNCTIONS(X)                                                                                         \
    X(clGetPlatformIDs)                                                                                      \
    X(clGetPlatformInfo)                                                                                     \
    X(clGetDeviceIDs)                                                                                        \
    X(clGetDeviceInfo)

struct loader {
#define FUNCTION_MEMBER(name) OPENCL_POINTER(name) name;
    FUNCTIONS(FUNCTION_MEMBER)
#undef FUNCTION_MEMBER
};

enum { PLATFORMS_MAX = 64, DEVICES_MAX = 256, TEXT_MAX = 1024 };

static bool loader_open(struct loader *loader) {
    // Stays loaded: drivers do not survive being unloaded.
    void *library = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return false;
#define FUNCTION_FIND(name)                                                                                  \
    if (!(loader->name = (OPENCL_POINTER(name))dlsym(library, #name)))                                       \
        return false;
    FUNCTIONS(FUNCTION_FIND)
#undef FUNCTION_FIND
    return true;
}

static void describe(const struct loader *loader, const char *platform, cl_device_id device,
                     void (*each)(void *context, const struct agent_device *device), void *context) {
    char name[TEXT_MAX] = "";
    char vendor[TEXT_MAX] = "";
    char driver[TEXT_MAX] = "";
    cl_device_type type = 0;
    cl_ulong bytes = 0;
    cl_uint units = 0;
    cl_uint clock = 0;
    loader->clGetDeviceInfo(device, CL_DEVICE_NAME, sizeof name - 1, name, NULL);
    loader->clGetDeviceInfo(device, CL_DEVICE_VENDOR, sizeof vendor - 1, vendor, NULL);
    loader->clGetDeviceInfo(device, CL_DRIVER_VERSION, sizeof driver - 1, driver, NULL);
    loader->clGetDeviceInfo(device, CL_DEVICE_TYPE, sizeof type, &type, NULL);
    loader->clGetDeviceInfo(device, CL_DEVICE_GLOBAL_MEM_SIZE, sizeof bytes, &bytes, NULL);
    loader->clGetDeviceInfo(device, CL_DEVICE_MAX_COMPUTE_UNITS, sizeof units, &units, NULL);
    loader->clGetDeviceInfo(device, CL_DEVICE_MAX_CLOCK_FREQUENCY, sizeof clock, &clock, NULL);
    const struct agent_device found = {
        .api = OPENCL_API,
        .platform = platform,
        .name = name,
        .vendor = vendor,
        .driver = driver,
        .type = agent_device_type(type),
        .memory_bytes = bytes,
        .compute_units = units,
        .clock_mhz = clock,
    };
    each(context, &found);
}

__attribute__((visibility("default"))) agent_devices_function tracesmith_agent_devices;

int tracesmith_agent_devices(void (*each)(void *context, const struct agent_device *device), void *context) {
    struct loader loader;
    cl_platform_id platforms[PLATFORMS_MAX];
    cl_uint platform_count = 0;
    int found = 0;
    if (!loader_open(&loader))
        return AGENT_DEVICES_NO_LOADER;
    if (loader.clGetPlatformIDs(PLATFORMS_MAX, platforms, &platform_count) != CL_SUCCESS)
        return 0;
    for (cl_uint i = 0; i < platform_count && i < PLATFORMS_MAX; i++) {
        char name[TEXT_MAX] = "";
        cl_device_id devices[DEVICES_MAX];
        cl_uint device_count = 0;
        loader.clGetPlatformInfo(platforms[i], CL_PLATFORM_NAME, sizeof name - 1, name, NULL);
        if (loader.clGetDeviceIDs(platforms[i], CL_DEVICE_TYPE_ALL, DEVICES_MAX, devices, &device_count) !=
            CL_SUCCESS)
            continue;
        for (cl_uint j = 0; j < device_count && j < DEVICES_MAX; j++, found++)
            describe(&loader, name, devices[j], each, context);
    }
    return found;
}
