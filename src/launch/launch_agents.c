// SPDX-License-Identifier: Apache-2.0
// Finds the agents' libraries and the API loaders on this machine. The code that starts programs and loads agents calls
// it.
#include "launch/launch_agents.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/status.h"
#include "launch/launch.h"

#if defined(__x86_64__)
#define TRACESMITH_MULTIARCH "x86_64-linux-gnu"
#elif defined(__aarch64__)
#define TRACESMITH_MULTIARCH "aarch64-linux-gnu"
#else
#define TRACESMITH_MULTIARCH "."
#endif

// Copies a path; false when it does not fit.
static bool copy(char *out, size_t size, const char *text, size_t length) {
    if (length >= size)
        return false;
    memcpy(out, text, length);
    out[length] = '\0';
    return true;
}

tsmith_status launch_agent_directory(const char *wanted, char *out, size_t size, tsmith_error *error) {
    const char *set = wanted ? wanted : getenv("TRACESMITH_AGENT_DIR");
    char resolved[4096];
    if (set && set[0]) {
        // Absolute: the program may run anywhere.
        if (!realpath(set, resolved))
            return status_set_errno(error, "cannot use the agent directory %s", set);
        return copy(out, size, resolved, strlen(resolved))
                   ? TSMITH_OK
                   : status_set(error, TSMITH_ERROR_INVALID_ARGUMENT,
                                "the agent directory's name is too long");
    }
    Dl_info info;
    char candidate[4096 + 32];
    if (dladdr((void *)(size_t)launch_agent_directory, &info) && info.dli_fname &&
        realpath(info.dli_fname, resolved)) {
        char *slash = strrchr(resolved, '/');
        if (slash)
            *slash = '\0';
        // Next to the library; or, where the library is linked into a program of a build tree, next to its lib folder.
        const char *const places[] = {"/tracesmith", "/../lib/tracesmith", "/../../lib/tracesmith"};
        for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
            snprintf(candidate, sizeof candidate, "%s%s", resolved, places[i]);
            if (access(candidate, X_OK) == 0 && realpath(candidate, resolved) &&
                copy(out, size, resolved, strlen(resolved)))
                return TSMITH_OK;
        }
    }
    return status_set(
        error, TSMITH_ERROR_MISSING,
        "the agents were not found in the library's directory (set TRACESMITH_AGENT_DIR to where they "
        "are)" LAUNCH_HOW_BUILT);
}

bool launch_agent_path(const char *directory, const char *api, char *out, size_t size) {
    int length = snprintf(out, size, "%s/libtracesmith-%s.so", directory, api);
    return length > 0 && (size_t)length < size && access(out, R_OK) == 0;
}

bool launch_library_path(void *library, char *out, size_t size) {
    struct link_map *map = NULL;
    return dlinfo(library, RTLD_DI_LINKMAP, &map) == 0 && map &&
           copy(out, size, map->l_name, strlen(map->l_name));
}

static bool in_list(const char *list, const char *name, char *out, size_t size) {
    while (list && *list) {
        size_t length = strcspn(list, ":;");
        int written = snprintf(out, size, "%.*s/%s", (int)length, list, name);
        if (length > 0 && written > 0 && (size_t)written < size && access(out, R_OK) == 0)
            return true;
        list += length;
        list += *list != '\0';
    }
    return false;
}

bool launch_find_library(const char *name, char *out, size_t size) {
    static const char usual[] =
        "/usr/local/lib:/usr/local/lib/" TRACESMITH_MULTIARCH ":/lib/" TRACESMITH_MULTIARCH
        ":/usr/lib/" TRACESMITH_MULTIARCH ":/lib64:/usr/lib64:/lib:/usr/lib";
    if (in_list(getenv("LD_LIBRARY_PATH"), name, out, size) || in_list(usual, name, out, size))
        return true;
    out[0] = '\0';
    return false;
}

bool launch_find_library_in(const char *name, const char *folders, char *out, size_t size) {
    return launch_find_library(name, out, size) || in_list(folders, name, out, size);
}
