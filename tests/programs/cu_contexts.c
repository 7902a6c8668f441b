// SPDX-License-Identifier: Apache-2.0
// A CUDA program of the driver API with events, primary and green contexts and managed memory; it opens libcuda
// itself. Its own counts go to standard output, as one line of words and numbers.
//
//     cu_contexts events|green|reset|managed|second|long
//
// events: each call that records or waits for an event, once. green: kernels in the primary context and in two green
// ones. reset: kernels in a primary context, which is reset and made again. managed: a managed
// allocation on the first device, then a context on a second one, with an allocation too. second: the
// contexts first. long: launches before and after a few flushes of CUPTI. Exit status 4: there is no
// CUDA here.
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef void *handle;
static void *driver;

static void need(int result, const char *what) {
    if (result == 0)
        return;
    fprintf(stderr, "cu_contexts: %s gave %d\n", what, result);
    exit(4);
}

static void *find(const char *name) {
    void *at = driver ? dlsym(driver, name) : NULL;
    if (!at) {
        fprintf(stderr, "cu_contexts: no %s\n", name);
        exit(4);
    }
    return at;
}
// CALL(name, parameters, arguments...)
#define CALL(name, parameters, ...) need(((int(*) parameters)(uintptr_t)find(name))(__VA_ARGS__), name)

static handle function;
static long launches;

static void launch(handle stream, long count) {
    for (long i = 0; i < count; i++, launches++)
        CALL("cuLaunchKernel",
             (handle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, handle, void **,
              void **),
             function, 4, 1, 1, 32, 1, 1, 0, stream, NULL, NULL);
}

static handle primary(int device) {
    handle context = NULL, module = NULL;
    CALL("cuDevicePrimaryCtxRetain", (handle *, int), &context, device);
    CALL("cuCtxSetCurrent", (handle), context);
    CALL("cuModuleLoadData", (handle *, const void *), &module, "a module");
    CALL("cuModuleGetFunction", (handle *, handle, const char *), &function, module, "work");
    return context;
}

static handle make_stream(void) {
    handle stream = NULL;
    CALL("cuStreamCreate", (handle *, unsigned), &stream, 0);
    return stream;
}

static void events(void) {
    handle context = primary(0), stream = make_stream(), other = make_stream(), event = NULL;
    CALL("cuEventCreate", (handle *, unsigned), &event, 0);
    launch(stream, 10);
    CALL("cuEventRecord", (handle, handle), event, stream);
    CALL("cuStreamWaitEvent", (handle, handle, unsigned), other, event, 0);
    launch(other, 10);
    CALL("cuEventSynchronize", (handle), event);
    CALL("cuCtxRecordEvent", (handle, handle), context, event);
    CALL("cuCtxWaitEvent", (handle, handle), context, event);
    CALL("cuCtxSynchronize", (void), );
    printf("launches %ld\n", launches);
}

static void green(void) {
    handle greens[2] = {NULL, NULL}, streams[2] = {NULL, NULL}, contexts[2] = {NULL, NULL}, event = NULL;
    primary(0);
    CALL("cuEventCreate", (handle *, unsigned), &event, 0);
    launch(NULL, 5);
    for (unsigned i = 0; i < 2; i++) {
        CALL("cuGreenCtxCreate", (handle *, uintptr_t, int, unsigned), &greens[i], 16 + 8 * i, 0, 0);
        CALL("cuCtxFromGreenCtx", (handle *, handle), &contexts[i], greens[i]);
        CALL("cuGreenCtxStreamCreate", (handle *, handle, unsigned, int), &streams[i], greens[i], 0, 0);
        launch(streams[i], 20 + 10 * (long)i);
    }
    CALL("cuGreenCtxRecordEvent", (handle, handle), greens[0], event);
    CALL("cuGreenCtxWaitEvent", (handle, handle), greens[1], event);
    launch(streams[1], 1);
    // What is launched without a stream while a green context is current is on its own default stream.
    CALL("cuCtxSetCurrent", (handle), contexts[0]);
    launch(NULL, 3);
    for (unsigned i = 0; i < 2; i++) {
        CALL("cuStreamSynchronize", (handle), streams[i]);
        CALL("cuCtxSetCurrent", (handle), contexts[i]);
        CALL("cuCtxSynchronize", (void), );
        CALL("cuGreenCtxDestroy", (handle), greens[i]);
    }
    printf("launches %ld\n", launches);
}

// Handles are the same each time.
static void reset(void) {
    handle first = NULL;
    int same = 0;
    for (int round = 0; round < 3; round++) {
        handle context = primary(0), stream = make_stream();
        same += first && first == context;
        first = context;
        launch(stream, 100 * (round + 1));
        CALL("cuStreamSynchronize", (handle), stream);
        CALL("cuDevicePrimaryCtxReset_v2", (int), 0);
    }
    printf("launches %ld same %d\n", launches, same);
}

static void managed(int contexts_first) {
    uint64_t memory[2];
    handle contexts[2] = {primary(0), contexts_first ? primary(1) : NULL};
    for (int device = 0; device < 2; device++) {
        contexts[device] = contexts[device] ? contexts[device] : primary(device);
        CALL("cuCtxSetCurrent", (handle), contexts[device]);
        launch(NULL, 2);
        CALL("cuMemAllocManaged", (uint64_t *, size_t, unsigned), &memory[device], 4096u << device, 1);
    }
    CALL("cuCtxSynchronize", (void), );
    printf("launches %ld\n", launches);
}

static void wait_for_flushes(void) {
    ((void (*)(uint64_t))(uintptr_t)find("mock_await_flushes"))(3);
}

static void long_run(void) {
    primary(0);
    launch(make_stream(), 500);
    wait_for_flushes();
    launch(make_stream(), 10000);
    wait_for_flushes();
    printf("launches %ld\n", launches);
}

int main(int count, char **words) {
    const char *what = count > 1 ? words[1] : "";
    driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
    CALL("cuInit", (unsigned), 0);
    if (strcmp(what, "events") == 0)
        events();
    else if (strcmp(what, "green") == 0)
        green();
    else if (strcmp(what, "reset") == 0)
        reset();
    else if (strcmp(what, "managed") == 0 || strcmp(what, "second") == 0)
        managed(what[0] == 's');
    else if (strcmp(what, "long") == 0)
        long_run();
    else
        return 2;
    return 0;
}
