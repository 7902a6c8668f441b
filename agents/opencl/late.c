// SPDX-License-Identifier: Apache-2.0
// The agent in a program that runs already (`tracesmith attach`; agents/attach/starter.c calls it). Rules: agent.h.
//
// Loaders take layers only when they start. But every object that a driver hands out begins with a pointer to the driver's
// table of functions, through which the loader calls it (cl_khr_icd). Its entries are replaced by the layer's wrappers,
// each by one store of a pointer, and put back when the agent leaves, unless another tool has changed them meanwhile. A thread
// that is in a wrapper then goes on: the library is never unloaded.
//
// What this cannot see: calls that do not go through the loader, times of commands in queues that were made before
// without profiling, and that later queues get none either: it could not be hidden once the agent is gone (query.c).
//
// A driver is changed only if its table is of the known form: it lies in a mapping of a library, and its functions are in libraries.
// The functions beyond its version of OpenCL may not be there: neither read nor changed. One driver is recorded; `opencl_next` has
// room for one.
#include "agent.h"

#include <dlfcn.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "agentkit/control.h"
#include "agentkit/overhead.h"
#include "agentkit/stacks.h"
#include "control.h"
#include "events.h"
#include "late.h"
#include "objects.h"
#include "pending.h"
#include "wire/attach_order.h"

enum { ENTRIES = sizeof(cl_icd_dispatch) / sizeof(void *), PLATFORMS_MOST = 16 };

static void **table; // the driver's; NULL: not changed
static size_t table_entries;
static bool table_is_read_only;

// ---- the driver's table

// How many entries the table of a platform has, by the version of OpenCL that it says it has.
static size_t entries_of(const cl_icd_dispatch *functions, cl_platform_id platform) {
    char version[128] = "";
    if (functions->clGetPlatformInfo(platform, CL_PLATFORM_VERSION, sizeof version - 1, version, NULL) !=
            CL_SUCCESS ||
        strncmp(version, "OpenCL ", 7) != 0)
        return 0;
    char *point;
    const unsigned long major = strtoul(version + 7, &point, 10),
                        minor = *point == '.' ? strtoul(point + 1, NULL, 10) : 0;
    const unsigned long number = major * 10 + (minor < 10 ? minor : 9); // "OpenCL 3.0 PoCL": 30
    const size_t bytes = number < 11   ? offsetof(cl_icd_dispatch, clSetEventCallback)
                         : number < 12 ? offsetof(cl_icd_dispatch, clCreateSubDevices)
                         : number < 20 ? offsetof(cl_icd_dispatch, clCreateCommandQueueWithProperties)
                         : number < 21 ? offsetof(cl_icd_dispatch, clCloneKernel)
                         : number < 22 ? offsetof(cl_icd_dispatch, clSetProgramReleaseCallback)
                         : number < 30 ? offsetof(cl_icd_dispatch, clCreateBufferWithProperties)
                                       : sizeof(cl_icd_dispatch);
    return bytes / sizeof(void *);
}

// What the process has mapped, read once: dladdr() waits for the loader's lock at each call, seconds where threads load libraries.
struct mapping {
    uintptr_t begin, end;
    bool readable, writable, code; // code: can be executed, and is of a file
};

struct mappings {
    struct mapping *items;
    size_t count, capacity;
};

static bool add_mapping(struct mappings *mappings, const char *line) {
    char *at;
    const uintptr_t begin = strtoull(line, &at, 16), end = *at == '-' ? strtoull(at + 1, &at, 16) : 0;
    if (end <= begin || at[0] != ' ' || strlen(at) < 5)
        return true; // not of the known form: nothing is found in it
    if (mappings->count == mappings->capacity) {
        const size_t capacity = mappings->capacity ? 2 * mappings->capacity : 256;
        struct mapping *items = realloc(mappings->items, capacity * sizeof *items);
        if (!items)
            return false;
        mappings->items = items;
        mappings->capacity = capacity;
    }
    mappings->items[mappings->count++] = (struct mapping){.begin = begin,
                                                          .end = end,
                                                          .readable = at[1] == 'r',
                                                          .writable = at[2] == 'w',
                                                          .code = at[3] == 'x' && strchr(at, '/') != NULL};
    return true;
}

static bool read_mappings(struct mappings *out) {
    char line[4352];
    FILE *maps = fopen("/proc/self/maps", "re");
    bool good = maps != NULL;
    while (good && fgets(line, sizeof line, maps))
        good = add_mapping(out, line);
    if (maps)
        fclose(maps);
    return good;
}

// The mapping that has all of the range; NULL: there is none.
static const struct mapping *find_mapping(const struct mappings *mappings, const void *from, size_t bytes) {
    for (size_t i = 0; i < mappings->count; i++)
        if ((uintptr_t)from >= mappings->items[i].begin && (uintptr_t)from + bytes <= mappings->items[i].end)
            return &mappings->items[i];
    return NULL;
}

static bool is_function(const struct mappings *mappings, const void *at) {
    const struct mapping *mapping = at ? find_mapping(mappings, at, 1) : NULL;
    return mapping && mapping->code;
}

static bool set_writable(bool on) {
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    const uintptr_t begin = (uintptr_t)table & ~(page - 1);
    const size_t bytes = (uintptr_t)(table + table_entries) - begin;
    return !table_is_read_only || mprotect((void *)begin, bytes, PROT_READ | (on ? PROT_WRITE : 0)) == 0;
}

// Replaces what is `from` by what is `to`, entry by entry. False: the table cannot be written to.
static bool exchange(void *const *from, void *const *to) {
    void *const *wrappers = (void *const *)(void *)&entry_table;
    if (!set_writable(true))
        return false;
    for (size_t i = 0; i < table_entries; i++) {
        void *expected = from[i];
        if (wrappers[i] && expected)
            __atomic_compare_exchange_n(&table[i], &expected, to[i], false, __ATOMIC_ACQ_REL,
                                        __ATOMIC_RELAXED);
    }
    (void)set_writable(false);
    return true;
}

static void put_back(void) {
    if (table)
        exchange((void *const *)(void *)&entry_table, (void *const *)(void *)&opencl_next);
    table = NULL;
}

// Whether the platform's driver can be recorded; fills `opencl_next`.
static bool take_driver(const struct mappings *mappings, cl_platform_id platform) {
    cl_icd_dispatch *functions;
    memcpy(&functions, (const void *)platform, sizeof functions);
    const struct mapping *first =
        find_mapping(mappings, functions, offsetof(cl_icd_dispatch, clSetEventCallback));
    if (!first || !first->readable || !is_function(mappings, (const void *)functions->clGetPlatformInfo) ||
        !is_function(mappings, (const void *)functions->clFinish))
        return false;
    const size_t entries = entries_of(functions, platform);
    const struct mapping *whole =
        entries ? find_mapping(mappings, functions, entries * sizeof(void *)) : NULL;
    if (!whole || !whole->readable)
        return false;
    void *const *all = (void *const *)(void *)functions;
    for (size_t i = 0; i < entries; i++)
        if (all[i] && !is_function(mappings, all[i]))
            return false;
    // Never empty between: a thread may be in a wrapper since an earlier session.
    const size_t bytes = entries * sizeof(void *);
    memcpy(&opencl_next, functions, bytes);
    memset((char *)&opencl_next + bytes, 0, sizeof opencl_next - bytes);
    table = (void **)(void *)functions;
    table_entries = entries;
    table_is_read_only = !whole->writable;
    return true;
}

// The platforms of the loader that the program has. 0: it has none, or none of its drivers is loaded.
static cl_uint find_platforms(cl_platform_id *platforms, char *text, size_t size) {
    cl_uint count = 0;
    void *loader = dlopen("libOpenCL.so.1", RTLD_LAZY | RTLD_NOLOAD);
    __typeof__(clGetPlatformIDs) *get = loader ? (__typeof__(get))dlsym(loader, "clGetPlatformIDs") : NULL;
    if (!get)
        snprintf(text, size, "the program has not loaded OpenCL (libOpenCL.so.1)");
    else if (get(PLATFORMS_MOST, platforms, &count) != CL_SUCCESS || !count)
        snprintf(text, size, "OpenCL has no platform in this program");
    if (loader)
        dlclose(loader);
    return count < PLATFORMS_MOST ? count : PLATFORMS_MOST;
}

static bool find_driver(char *text, size_t size) {
    cl_platform_id platforms[PLATFORMS_MOST];
    char name[128] = "";
    struct mappings mappings = {0};
    const cl_uint count = find_platforms(platforms, text, size);
    const bool known = count && read_mappings(&mappings);
    cl_uint i = 0;
    while (known && i < count && !take_driver(&mappings, platforms[i]))
        i++;
    free(mappings.items);
    if (known && i < count) {
        opencl_next.clGetPlatformInfo(platforms[i], CL_PLATFORM_NAME, sizeof name - 1, name, NULL);
        snprintf(text, size,
                 "OpenCL: objects that were made before have no event of their creation; commands of queues "
                 "without profiling have "
                 "no device times%s%s",
                 count > 1 ? "; only recorded platform: " : "", count > 1 ? name : "");
        return true;
    }
    if (count && !known)
        snprintf(text, size, "the mappings of the process cannot be read (/proc/self/maps)");
    else if (count)
        snprintf(text, size, "the OpenCL driver's table of functions is of a form that is not known");
    return false;
}

// ---- life

void late_after_fork_child(void) {
    put_back();
}

static void park(void) {
    stacks_end();
    agent_park();
}

static bool begin(const char *directory, const char *options, char *text, size_t size) {
    static const char refused[] = "OpenCL of this program is recorded already, or was loaded with an agent";
    // Before find_driver, which changes what wrappers of a layer call.
    if (!agent_is_free()) {
        snprintf(text, size, "%s", refused);
        return false;
    }
    if (!find_driver(text, size))
        return false;
    objects_adopt = true;
    if (!agent_attach_late(layer_spec(), directory, options)) {
        table = NULL;
        snprintf(text, size, "%s", refused);
        return false;
    }
    layer_fill();
    control_start();
    if (exchange((void *const *)(void *)&opencl_next, (void *const *)(void *)&entry_table))
        return true;
    table = NULL;
    agent_control_stop();
    agent_leave();
    park();
    snprintf(text, size, "the OpenCL driver's table of functions cannot be written to");
    return false;
}

// Until the commands in flight are complete: only then the driver's references on their events can be given back.
static void leave(void) {
    const struct timespec moment = {.tv_nsec = 2000000};
    put_back();
    atomic_store(&agent.over, true);
    agent_control_stop();
    while (pending_any()) {
        pending_reap_all(true);
        nanosleep(&moment, NULL);
    }
    agent_leave();
}

AGENT_EXPORT extern const struct agent_late tracesmith_agent_late;
const struct agent_late tracesmith_agent_late = {.begin = begin, .leave = leave, .park = park};
