// SPDX-License-Identifier: Apache-2.0
// Finds rocprofiler-sdk and its functions. The agent is not linked with it: programs bring their own. Rules: agent.h.
#include <dlfcn.h>
#include <stdio.h>

#include "sdk.h"

#define SDK_LIBRARY "librocprofiler-sdk.so.1"

struct sdk sdk;

static bool find(const char *name, void *function, bool required, char *why, size_t size) {
    *(void **)function = dlsym(sdk.library, name);
    if (*(void **)function || !required)
        return true;
    snprintf(why, size, "%s has no %s: the agent does not support its version", SDK_LIBRARY, name);
    return false;
}

bool library_load(bool open, char *why, size_t size) {
    sdk.library = dlopen(SDK_LIBRARY, RTLD_LAZY | RTLD_NOLOAD);
    if (!sdk.library && open)
        sdk.library = dlopen(SDK_LIBRARY, RTLD_LAZY | RTLD_LOCAL);
    if (!sdk.library) {
        snprintf(why, size, "%s was not found: install ROCm 7 or newer (package rocprofiler-sdk)",
                 SDK_LIBRARY);
        return false;
    }
    sdk.simulated = dlsym(sdk.library, "mock_rocprofiler_sdk") != NULL;
#define SDK_FIND(name, required, parameters)                                                                 \
    if (!find("rocprofiler_" #name, &sdk.name, required, why, size))                                         \
        return false;
    SDK_FUNCTIONS(SDK_FIND)
#undef SDK_FIND
    return true;
}
