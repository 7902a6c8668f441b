// SPDX-License-Identifier: Apache-2.0
// Which MPIs are on this machine, for `tracesmith devices`. In a process of TraceSmith, never in a profiled one. Rules: agent.h.
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "agent.h"
#include "wire/agent.h"

// The libraries by the names that programs are linked with.
static const char *const libraries[] = {"libmpi.so.40", "libmpich.so.12", "libmpi.so.12"};

AGENT_EXPORT agent_devices_function tracesmith_agent_devices;
AGENT_EXPORT int tracesmith_agent_devices(void (*each)(void *context, const struct agent_device *device),
                                          void *context) {
    static char version[8192 + 1]; // MPI_MAX_LIBRARY_VERSION_STRING of MPICH
    char all[512] = "MPI: ";
    size_t used = strlen(all);
    int found = 0, length;
    for (size_t i = 0; i < sizeof libraries / sizeof *libraries; i++) {
        int (*get)(char *text, int *length) = NULL;
        void *library = dlopen(libraries[i], RTLD_LAZY | RTLD_LOCAL);
        if (library)
            *(void **)&get = dlsym(library, "PMPI_Get_library_version");
        if (!get || get(version, &length) != 0)
            continue;
        version[strcspn(version, ",\r\n")] = '\0';
        for (char *tab = version; (tab = strchr(tab, '\t'));)
            *tab = ' ';
        used += (size_t)snprintf(all + used, sizeof all - used, "%s%.80s (%s)", found ? "; " : "", version,
                                 libraries[i]);
        found++;
    }
    if (found)
        each(context, &(struct agent_device){.api = "mpi", .library = all});
    return found ? 0 : AGENT_DEVICES_NO_LOADER;
}
