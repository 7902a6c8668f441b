// SPDX-License-Identifier: Apache-2.0
// A mock of librocprofiler-register.so.0: finds out whether a tool wants the SDK, as the real one does, and ends the program, as
// the real one does, if a tool is named and the SDK is not there.
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "rocm_mock.h"

void mock_register(const char *name, struct mock_table *table) {
    const char *tools = getenv("ROCP_TOOL_LIBRARIES");
    void *tables[1] = {table};
    int (*set_api_table)(const char *, uint64_t, uint64_t, void **, uint64_t) = NULL;
    if ((!tools || !tools[0]) && !dlsym(RTLD_DEFAULT, "rocprofiler_configure"))
        return;
    void *sdk = dlopen("librocprofiler-sdk.so", RTLD_GLOBAL | RTLD_LAZY);
    if (sdk)
        *(void **)&set_api_table = dlsym(sdk, "rocprofiler_set_api_table");
    if (!set_api_table) {
        fprintf(stderr, "mock: rocprofiler_set_api_table not found\n");
        abort();
    }
    set_api_table(name, 70000, 0, tables, 1);
}
