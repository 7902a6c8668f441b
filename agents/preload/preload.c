// SPDX-License-Identifier: Apache-2.0
// The way in of preloaded agents. dlopen finds a library without a path by the search path of its caller, so for callers that have
// one of their own the library is found here first, by the same list.
#include "preload.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agentkit/agent.h"

typedef int main_function(int argc, char **argv, char **environment);
typedef int start_function(main_function *program, int argc, char **argv, void (*init)(void),
                           void (*fini)(void), void (*loader_fini)(void), void *stack_end);
typedef void *open_function(const char *file, int flags);

static const char *waits_for;
static void (*starts)(void);
static atomic_flag started = ATOMIC_FLAG_INIT;
static main_function *program_main;

void preload_wait(const char *runtime, void (*start)(void)) {
    starts = start;
    waits_for = runtime;
}

static int is_runtime(struct dl_phdr_info *info, size_t size, void *unused) {
    const char *slash = info->dlpi_name ? strrchr(info->dlpi_name, '/') : NULL;
    const char *name = slash ? slash + 1 : info->dlpi_name;
    (void)size, (void)unused;
    return name && strncmp(name, waits_for, strlen(waits_for)) == 0;
}

static void start_if_loaded(void) {
    if (!waits_for || !dl_iterate_phdr(is_runtime, NULL) || atomic_flag_test_and_set(&started))
        return;
    starts();
    (void)dlerror(); // of what the agent looked for: the program's own call has succeeded
}

// ---- dlopen

static bool of_system(const char *folder) {
    return strncmp(folder, "/lib", 4) == 0 || strncmp(folder, "/usr/lib", 8) == 0;
}

// The path of a file that the caller's own folders have, before those of the system.
static bool find_for(const void *caller, const char *file, char path[PATH_MAX]) {
    struct link_map *map = NULL;
    Dl_info info;
    Dl_serinfo size;
    bool found = false;
    if (!dladdr1(caller, &info, (void **)&map, RTLD_DL_LINKMAP) || !map ||
        dlinfo(map, RTLD_DI_SERINFOSIZE, &size) != 0)
        return false;
    Dl_serinfo *all = malloc(size.dls_size);
    if (!all || dlinfo(map, RTLD_DI_SERINFOSIZE, all) != 0 || dlinfo(map, RTLD_DI_SERINFO, all) != 0) {
        free(all);
        return false;
    }
    for (unsigned i = 0; i < all->dls_cnt && !found && !of_system(all->dls_serpath[i].dls_name); i++) {
        const int length = snprintf(path, PATH_MAX, "%s/%s", all->dls_serpath[i].dls_name, file);
        found = length > 0 && length < PATH_MAX && access(path, R_OK) == 0;
    }
    free(all);
    return found;
}

AGENT_EXPORT void *dlopen(const char *file, int flags) {
    const void *const caller = __builtin_return_address(0);
    char path[PATH_MAX];
    open_function *next = NULL;
    void *library = NULL;
    *(void **)&next = dlsym(RTLD_NEXT, "dlopen");
    if (file && file[0] && !strchr(file, '/')) {
        library = next(file, flags | RTLD_NOLOAD);
        if (!library && !(flags & RTLD_NOLOAD) && find_for(caller, file, path))
            library = next(path, flags);
    }
    if (!library)
        library = next(file, flags);
    if (library) // otherwise its dlerror is the program's
        start_if_loaded();
    return library;
}

// ---- before main

static int record_main(int argc, char **argv, char **environment) {
    start_if_loaded();
    return program_main(argc, argv, environment);
}

AGENT_EXPORT start_function __libc_start_main;
AGENT_EXPORT int __libc_start_main(main_function *program, int argc, char **argv, void (*init)(void),
                                   void (*fini)(void), void (*loader_fini)(void), void *stack_end) {
    start_function *next = NULL;
    *(void **)&next = dlsym(RTLD_NEXT, "__libc_start_main");
    program_main = program;
    return next(record_main, argc, argv, init, fini, loader_fini, stack_end);
}
