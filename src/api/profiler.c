// SPDX-License-Identifier: Apache-2.0
// Profiling the calling process: a session directory of its own, the agents named in its own environment before the
// API's loader reads it, and a switch (`armed`) that the agents look at with every call.
#include "tracesmith/profiler.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/sized.h"
#include "base/status.h"
#include "collect/collector.h"
#include "collect/session_directory.h"
#include "launch/launch.h"
#include "wire/agent.h"

struct tsmith_profiler {
    struct session_directory directory;
    struct collector *collector;
    tsmith_source *source;
    bool recording;
    char **environment; // what was set
};

static pthread_mutex_t one_lock = PTHREAD_MUTEX_INITIALIZER;
static bool one; // there is a profiler

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

// CUDA reads its variable when it is initialised: any other call says then that it is not (CUDA_ERROR_NOT_INITIALIZED).
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

static tsmith_status check_not_too_late(tsmith_error *error) {
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

// Sets in this process what a started program would be given.
static tsmith_status set_environment(tsmith_profiler *profiler, const tsmith_capture_options *options,
                                     tsmith_error *error) {
    tsmith_status status =
        launch_environment(options, profiler->directory.path, &profiler->environment, error);
    for (char **entry = profiler->environment; !status && *entry; entry++) {
        char *equals = strchr(*entry, '=');
        if (!equals)
            continue;
        *equals = '\0';
        const char *old = getenv(*entry);
        // A library that is to be loaded before all others comes too late in a running process.
        if (strcmp(*entry, "LD_PRELOAD") == 0 && (!old || strcmp(old, equals + 1) != 0))
            status = status_set(
                error, TSMITH_ERROR_UNSUPPORTED,
                "the OpenCL loader of this machine does not support layers: only a program started by "
                "`tracesmith profile` can be profiled");
        else if ((!old || strcmp(old, equals + 1) != 0) && setenv(*entry, equals + 1, 1))
            status = status_set_errno(error, "cannot set %s", *entry);
        *equals = '=';
    }
    return status;
}

// ---- the source

// What is recorded is taken by one process: in a forked child the rings are those of the parent.
static tsmith_status refuse_child(tsmith_error *error) {
    return status_set(error, TSMITH_ERROR_STATE,
                      "the profiler belongs to the process that created it, not to a forked child");
}

static tsmith_status events_next(void *self, const tsmith_batch **out, tsmith_error *error) {
    tsmith_profiler *profiler = self;
    if (session_directory_is_of_parent(&profiler->directory))
        return refuse_child(error);
    collector_set_settling(profiler->collector, !profiler->recording);
    tsmith_status status = collector_next(profiler->collector, out, error);
    if (status == TSMITH_AGAIN) {
        // A caller that polls without a pause must not keep a processor busy.
        const struct timespec moment = {.tv_nsec = 1000000};
        nanosleep(&moment, NULL);
    }
    return status;
}

static const tsmith_dictionary *events_dictionary(void *self) {
    tsmith_profiler *profiler = self;
    return collector_dictionary(profiler->collector);
}

static const tsmith_source_ops events_ops = {.next = events_next, .dictionary = events_dictionary};

// ---- life

static bool take_the_one(void) {
    pthread_mutex_lock(&one_lock);
    bool taken = !one;
    one = true;
    pthread_mutex_unlock(&one_lock);
    return taken;
}

static void release_the_one(void) {
    pthread_mutex_lock(&one_lock);
    one = false;
    pthread_mutex_unlock(&one_lock);
}

static void finish(tsmith_profiler *profiler) {
    tsmith_source_destroy(profiler->source);
    collector_destroy(profiler->collector);
    if (profiler->directory.control)
        session_directory_remove(&profiler->directory);
    launch_free_environment(profiler->environment);
    free(profiler);
    release_the_one();
}

tsmith_status tsmith_profiler_create(const tsmith_capture_options *options, tsmith_profiler **out,
                                     tsmith_error *error) {
    tsmith_capture_options chosen = {0};
    *out = NULL;
    tsmith_status status = sized_take(tsmith_capture_options, options, &chosen, error);
    if (status != TSMITH_OK)
        return status;
    if (chosen.overflow == TSMITH_OVERFLOW_BLOCK)
        return status_set(
            error, TSMITH_ERROR_INVALID_ARGUMENT,
            "a profiler cannot use the overflow policy block: the thread that waits for room may be "
            "the one that reads the events");
    if (!take_the_one())
        return status_set(error, TSMITH_ERROR_STATE, "this process already has a profiler");
    tsmith_profiler *profiler = calloc(1, sizeof *profiler);
    if (!profiler) {
        release_the_one();
        return status_set(error, TSMITH_ERROR_NO_MEMORY, "out of memory while creating a profiler");
    }
    status = check_not_too_late(error);
    if (!status)
        status = session_directory_create(&profiler->directory, &chosen, error);
    if (status)
        goto fail;
    session_directory_arm(&profiler->directory, false);
    status = set_environment(profiler, &chosen, error);
    if (!status)
        status = collector_create(&profiler->directory, COLLECT_SESSION, &profiler->collector, error);
    if (!status && (status = tsmith_source_create(&events_ops, profiler, &profiler->source)))
        status_set(error, status, "out of memory while creating a profiler");
    if (status)
        goto fail;
    *out = profiler;
    return TSMITH_OK;
fail:
    finish(profiler);
    return status;
}

// Agents that are loaded, and want to know.
static void tell_agents(int on) {
    struct loaded loaded;
    if (!find_loaded("libtracesmith-cuda.so", &loaded))
        return;
    void *agent = dlopen(loaded.path, RTLD_LAZY | RTLD_LOCAL | RTLD_NOLOAD);
    agent_switched_function *switched = NULL;
    if (agent)
        *(void **)&switched = dlsym(agent, AGENT_SWITCHED_SYMBOL);
    if (switched)
        switched(on);
    if (agent)
        dlclose(agent);
}

tsmith_status tsmith_profiler_start(tsmith_profiler *profiler, tsmith_error *error) {
    if (session_directory_is_of_parent(&profiler->directory))
        return refuse_child(error);
    if (profiler->recording)
        return status_set(error, TSMITH_ERROR_STATE, "the profiler is already recording");
    profiler->recording = true;
    session_directory_arm(&profiler->directory, true);
    tell_agents(1);
    return TSMITH_OK;
}

tsmith_status tsmith_profiler_stop(tsmith_profiler *profiler, tsmith_error *error) {
    if (session_directory_is_of_parent(&profiler->directory))
        return refuse_child(error);
    if (!profiler->recording)
        return status_set(error, TSMITH_ERROR_STATE, "the profiler is not recording");
    tell_agents(0);
    session_directory_arm(&profiler->directory, false);
    profiler->recording = false;
    return TSMITH_OK;
}

tsmith_source *tsmith_profiler_events(tsmith_profiler *profiler) {
    return profiler->source;
}

void tsmith_profiler_destroy(tsmith_profiler *profiler) {
    // A forked child has a copy; all that it stands for is the parent's.
    if (!profiler || session_directory_is_of_parent(&profiler->directory))
        return;
    session_directory_end(&profiler->directory);
    finish(profiler);
}
