// SPDX-License-Identifier: Apache-2.0
// Recording the calling process itself: whether its APIs can still be recorded, the environment that their loaders and its
// children read, and the switch of agents that are loaded already.
#include "api/own_process.h"

#include <dirent.h>
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "collect/session_directory.h"
#include "launch/launch.h"
#include "wire/agent.h"
#include "wire/channel.h"

static pthread_mutex_t one_lock = PTHREAD_MUTEX_INITIALIZER;
static bool one; // this process is already being recorded

bool own_process_take(void) {
    pthread_mutex_lock(&one_lock);
    bool taken = !one;
    one = true;
    pthread_mutex_unlock(&one_lock);
    return taken;
}

void own_process_release(void) {
    pthread_mutex_lock(&one_lock);
    one = false;
    pthread_mutex_unlock(&one_lock);
}

// ---- is it too late?

// Whether a library of this name is loaded into the process.
struct loaded {
    const char *name;
    char path[4096];
    bool found;
};

static int look_at_library(struct dl_phdr_info *info, size_t size, void *context) {
    struct loaded *loaded = context;
    (void)size;
    const char *slash = info->dlpi_name ? strrchr(info->dlpi_name, '/') : NULL;
    loaded->found |= slash && strcmp(slash + 1, loaded->name) == 0;
    if (loaded->found)
        snprintf(loaded->path, sizeof loaded->path, "%s", info->dlpi_name);
    return loaded->found;
}

static bool find_loaded(const char *name, struct loaded *out) {
    *out = (struct loaded){.name = name};
    dl_iterate_phdr(look_at_library, out);
    return out->found;
}

static bool is_loaded(const char *name) {
    struct loaded loaded;
    return find_loaded(name, &loaded);
}

// The driver that a file of the loader's registry names: loaded means that the loader has started, and has read its
// variables.
static bool driver_loaded(const char *registry, const char *file, char *driver, size_t size) {
    char path[4096];
    if ((size_t)snprintf(path, sizeof path, "%s/%s", registry, file) >= sizeof path)
        return false;
    FILE *text = fopen(path, "re");
    bool read = text && fgets(driver, (int)size, text);
    if (text)
        fclose(text);
    if (!read)
        return false;
    driver[strcspn(driver, "\r\n")] = '\0';
    const char *slash = strrchr(driver, '/');
    return is_loaded(slash ? slash + 1 : driver);
}

// CUDA reads its variable when it is initialized. Until then any other call returns CUDA_ERROR_NOT_INITIALIZED.
static tsmith_status check_cuda(tsmith_error *error) {
    enum { NOT_INITIALIZED = 3 };
    struct loaded loaded;
    if (find_loaded("libtracesmith-cuda.so", &loaded))
        return status_set(error, TSMITH_ERROR_STATE,
                          "this process is already being profiled (the CUDA agent is loaded)");
    void *driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL | RTLD_NOLOAD);
    int (*current)(void **) = NULL;
    void *context = NULL;
    if (driver)
        *(void **)&current = dlsym(driver, "cuCtxGetCurrent");
    const bool late = current && current(&context) != NOT_INITIALIZED;
    if (driver)
        dlclose(driver);
    return !late ? TSMITH_OK
                 : status_set(
                       error, TSMITH_ERROR_STATE,
                       "too late to profile CUDA: cuInit was called already; create the profiler before the "
                       "first CUDA call");
}

tsmith_status own_process_check(tsmith_error *error) {
    const char *vendors = getenv("OCL_ICD_VENDORS");
    const char *registry = vendors && vendors[0] ? vendors : "/etc/OpenCL/vendors";
    char driver[1024];
    if (is_loaded("libtracesmith-opencl.so"))
        return status_set(error, TSMITH_ERROR_STATE,
                          "this process is already being profiled (the OpenCL agent is loaded)");
    tsmith_status status = check_cuda(error);
    if (status)
        return status;
    DIR *directory = opendir(registry);
    for (struct dirent *entry = directory ? readdir(directory) : NULL; entry && !status;
         entry = readdir(directory))
        if (driver_loaded(registry, entry->d_name, driver, sizeof driver))
            status =
                status_set(error, TSMITH_ERROR_STATE,
                           "too late to profile OpenCL: its loader has started (%s is loaded); create the "
                           "profiler before the first OpenCL call",
                           driver);
    if (directory)
        closedir(directory);
    return status;
}

// ---- the environment

const char *own_process_recorded(void) {
    const char *path = secure_getenv(CHANNEL_ENVIRONMENT);
    struct session_directory directory;
    if (!path || session_directory_look(&directory, path, NULL) != TSMITH_OK)
        return NULL;
    const bool live = session_directory_collected(&directory);
    session_directory_close(&directory);
    return live ? path : NULL;
}

static bool is_different(const char *old, const char *value) {
    return !old || strcmp(old, value) != 0;
}

// Remembers what a variable was, so that it can be put back.
static bool remember_variable(struct own_environment *environment, char *entry, const char *old) {
    struct own_variable *more =
        realloc(environment->changed, (environment->count + 1) * sizeof *environment->changed);
    if (!more)
        return false;
    environment->changed = more;
    more[environment->count] = (struct own_variable){entry, old ? strdup(old) : NULL};
    if (old && !more[environment->count].before)
        return false;
    environment->count++;
    return true;
}

static tsmith_status set_variable(struct own_environment *environment, char *entry, char *equals,
                                  bool preload, tsmith_error *error) {
    tsmith_status status = TSMITH_OK;
    *equals = '\0';
    const char *old = getenv(entry);
    if (is_different(old, equals + 1)) {
        // A library that is to be loaded before all others comes too late in a running process.
        if (strcmp(entry, "LD_PRELOAD") == 0 && !preload)
            status = status_set(error, TSMITH_ERROR_UNSUPPORTED,
                                "%s: only a program started by `tracesmith profile` can be profiled",
                                strstr(equals + 1, "libtracesmith-opencl")
                                    ? "the OpenCL loader of this machine does not support layers"
                                    : "the agents of MACA and CANN are loaded before a program begins");
        else if (!remember_variable(environment, entry, old))
            status = status_set(error, TSMITH_ERROR_NO_MEMORY, "out of memory while preparing agents");
        else if (setenv(entry, equals + 1, 1))
            status = status_set_errno(error, "cannot set %s", entry);
    }
    *equals = '=';
    return status;
}

tsmith_status own_process_set(const tsmith_capture_options *options, const char *directory, bool preload,
                              struct own_environment *environment, tsmith_error *error) {
    *environment = (struct own_environment){0};
    tsmith_status status = launch_environment(options, directory, &environment->all, error);
    for (char **entry = environment->all; !status && *entry; entry++) {
        char *equals = strchr(*entry, '=');
        if (equals)
            status = set_variable(environment, *entry, equals, preload, error);
    }
    return status;
}

void own_process_restore(struct own_environment *environment) {
    for (size_t i = 0; i < environment->count; i++) {
        const struct own_variable *variable = &environment->changed[i];
        char *equals = strchr(variable->entry, '=');
        *equals = '\0';
        const char *now = getenv(variable->entry);
        if (now && strcmp(now, equals + 1) == 0) { // else the program has changed it since
            if (variable->before)
                setenv(variable->entry, variable->before, 1);
            else
                unsetenv(variable->entry);
        }
        *equals = '=';
    }
    own_process_forget(environment);
}

void own_process_forget(struct own_environment *environment) {
    for (size_t i = 0; i < environment->count; i++)
        free(environment->changed[i].before);
    free(environment->changed);
    launch_free_environment(environment->all);
    *environment = (struct own_environment){0};
}

// ---- the switch

static void switch_agent(const char *path, bool on) {
    void *agent = dlopen(path, RTLD_LAZY | RTLD_LOCAL | RTLD_NOLOAD);
    agent_switched_function *switched = NULL;
    if (agent)
        *(void **)&switched = dlsym(agent, AGENT_SWITCHED_SYMBOL);
    if (switched)
        switched(on);
    if (agent)
        dlclose(agent);
}

// Agents that are loaded, and want to know.
void own_process_switch(bool on) {
    struct loaded loaded;
    const char *api;
    char name[64];
    for (size_t i = 0; (api = tsmith_agent_name(i)); i++) {
        snprintf(name, sizeof name, "libtracesmith-%s.so", api);
        if (find_loaded(name, &loaded))
            switch_agent(loaded.path, on);
    }
}
