// SPDX-License-Identifier: Apache-2.0
// Finding libcupti. Rules: agent.h. All of this happens once, inside the program's first call of cuInit.
//
// Two copies of libcupti in one process disturb each other, so one that is mapped already is the one to use. Else the
// order is: what TRACESMITH_CUPTI names; the one that lies beside the CUDA runtime of the program (a Python wheel, a
// toolkit); what the dynamic linker finds; the toolkits' own places, the newest first.
#include "library.h"

#include <dlfcn.h>
#include <glob.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct cupti cupti;

// ---- where

struct mapped {
    const char *prefix;
    char path[1024];
};

static int look_at(struct dl_phdr_info *info, size_t size, void *context) {
    struct mapped *mapped = context;
    (void)size;
    const char *slash = info->dlpi_name ? strrchr(info->dlpi_name, '/') : NULL;
    const char *name = slash ? slash + 1 : info->dlpi_name;
    const size_t length = name ? strlen(info->dlpi_name) : 0;
    if (!name || strncmp(name, mapped->prefix, strlen(mapped->prefix)) != 0 || length >= sizeof mapped->path)
        return 0;
    memcpy(mapped->path, info->dlpi_name, length + 1);
    return 1;
}

static bool find_mapped(const char *prefix, struct mapped *out) {
    *out = (struct mapped){.prefix = prefix};
    return dl_iterate_phdr(look_at, out) != 0;
}

// The newest of what a pattern matches: by name, which ends in the version.
static void *open_newest(const char *pattern) {
    glob_t found;
    void *library = NULL;
    if (glob(pattern, 0, NULL, &found) != 0)
        return NULL;
    for (size_t i = found.gl_pathc; i > 0 && !library; i--)
        library = dlopen(found.gl_pathv[i - 1], RTLD_NOW | RTLD_LOCAL);
    globfree(&found);
    return library;
}

// Beside the program's CUDA runtime, or where Python wheels have it from there.
static void *open_beside_runtime(void) {
    static const char *const places[] = {"libcupti.so*", "../extras/CUPTI/lib64/libcupti.so*",
                                         "../../cuda_cupti/lib/libcupti.so*"};
    struct mapped runtime;
    char pattern[1100];
    if (!find_mapped("libcudart.so", &runtime) || !strrchr(runtime.path, '/'))
        return NULL;
    *strrchr(runtime.path, '/') = '\0';
    void *library = NULL;
    for (size_t i = 0; i < sizeof places / sizeof *places && !library; i++) {
        snprintf(pattern, sizeof pattern, "%s/%s", runtime.path, places[i]);
        library = open_newest(pattern);
    }
    return library;
}

static void *open_by_name(void) {
    static const char *const names[] = {"libcupti.so.13",   "libcupti.so.12",   "libcupti.so.11.8",
                                        "libcupti.so.11.7", "libcupti.so.11.6", "libcupti.so.11.5",
                                        "libcupti.so.11.4", "libcupti.so.11.3", "libcupti.so.11.2",
                                        "libcupti.so.11.1", "libcupti.so.11.0", "libcupti.so"};
    void *library = NULL;
    for (size_t i = 0; i < sizeof names / sizeof *names && !library; i++)
        library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    return library;
}

static void *open_toolkit(void) {
    static const char *const places[] = {
        "/usr/local/cuda/extras/CUPTI/lib64/libcupti.so.[0-9]*", "/usr/local/cuda/lib64/libcupti.so.[0-9]*",
        "/usr/local/cuda-*/extras/CUPTI/lib64/libcupti.so.[0-9]*",
        "/usr/local/cuda-*/lib64/libcupti.so.[0-9]*", "/opt/cuda/extras/CUPTI/lib64/libcupti.so.[0-9]*"};
    void *library = NULL;
    for (size_t i = 0; i < sizeof places / sizeof *places && !library; i++)
        library = open_newest(places[i]);
    return library;
}

static void *open_library(void) {
    struct mapped mapped;
    const char *asked = secure_getenv("TRACESMITH_CUPTI");
    void *library = NULL;
    if (find_mapped("libcupti.so", &mapped))
        library = dlopen(mapped.path, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
    if (!library && asked && *asked)
        return dlopen(asked, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        library = open_beside_runtime();
    if (!library)
        library = open_by_name();
    return library ? library : open_toolkit();
}

// ---- what is in it

// The first function that is missing; NULL when all are there.
static const char *find_functions(void *library) {
    const char *missing = NULL;
#define CUPTI_FIND(name, ...)                                                                                \
    *(void **)&cupti.name = dlsym(library, "cupti" #name);                                                   \
    if (!cupti.name && !missing)                                                                             \
        missing = "cupti" #name;
    CUPTI_FUNCTIONS(CUPTI_FIND)
#undef CUPTI_FIND
#define CUPTI_FIND(name, ...) *(void **)&cupti.name = dlsym(library, "cupti" #name);
    CUPTI_LATER_FUNCTIONS(CUPTI_FIND)
#undef CUPTI_FIND
    return missing;
}

bool library_load(char *why, size_t size) {
    const char *asked = secure_getenv("TRACESMITH_CUPTI");
    void *library = open_library();
    struct link_map *map = NULL;
    if (!library && asked && *asked) {
        const char *error = dlerror(); // begins with the name
        snprintf(why, size,
                 "CUDA work is not recorded: TRACESMITH_CUPTI names no library: %s; set it to the path of "
                 "libcupti, or unset it to have that looked for",
                 error ? error : asked);
        return false;
    }
    if (!library) {
        snprintf(why, size,
                 "CUDA work is not recorded: libcupti was not found; install CUPTI (it comes with the CUDA "
                 "toolkit, or as the package cuda-cupti or nvidia-cuda-cupti) or set TRACESMITH_CUPTI to its "
                 "path");
        return false;
    }
    if (dlinfo(library, RTLD_DI_LINKMAP, &map) == 0 && map)
        snprintf(cupti.path, sizeof cupti.path, "%s", map->l_name);
    cupti.handle = library;
    const char *missing = find_functions(library);
    if (missing || cupti.GetVersion(&cupti.version) != CUPTI_OK || cupti.version < CUPTI_11_0) {
        snprintf(why, size,
                 "CUDA work is not recorded: %s is %s; CUPTI of CUDA 11.0 or newer is needed (set "
                 "TRACESMITH_CUPTI to its path)",
                 cupti.path, missing ? "not whole, or too old" : "too old");
        return false;
    }
    cupti.simulated = dlsym(library, "tracesmith_simulated") != NULL;
    return true;
}

const char *library_error(int result) {
    const char *text = NULL;
    return cupti.GetResultString(result, &text) == CUPTI_OK && text ? text : "an unknown error";
}
