// SPDX-License-Identifier: Apache-2.0
// A HIP program that profiles itself: only what is launched between start and stop is in the events, all of it, and it is there
// when stop returns. Its stream is older than the first start. Prints "wanted seen" for each round. Run by
// tests/rocm/test_profiler.sh, on the mocks of ROCm. With an argument it asks for streams of any SDK.
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "../rocm/mock/hip.h"
#include "tracesmith/batch.h"
#include "tracesmith/profiler.h"

static __typeof__(&hipModuleLaunchKernel) launch_kernel;
static __typeof__(&hipDeviceSynchronize) synchronize;
static __typeof__(&mockKernel) load;
static __typeof__(&hipStreamCreate) make_stream;
static uintptr_t kernel, stream;

static void launch(int count) {
    kernel = kernel ? kernel : load("work");
    if (!stream)
        make_stream(&stream);
    for (int i = 0; i < count; i++)
        launch_kernel(kernel, 1, 1, 1, 32, 1, 1, 0, i % 2 ? stream : 0);
    synchronize();
}

static uint64_t drain(tsmith_source *events) {
    const tsmith_batch *batch;
    tsmith_status status;
    uint64_t kernels = 0;
    while ((status = tsmith_source_next(events, &batch, NULL)) != TSMITH_END) {
        for (uint32_t row = 0; status == TSMITH_OK && row < tsmith_batch_count(batch); row++) {
            uint64_t kind = 0;
            tsmith_batch_get(batch, TSMITH_FIELD_KIND, row, &kind);
            kernels += kind == TSMITH_KIND_KERNEL;
        }
    }
    return kernels;
}

int main(int argc, char **argv) {
    static const char *const apis[] = {"rocm"};
    static const tsmith_agent_option streams = {.api = "rocm", .key = "streams"};
    const tsmith_capture_options options = {.size = sizeof options,
                                            .apis = apis,
                                            .api_count = 1,
                                            .agent_options = &streams,
                                            .agent_option_count = argc > 1};
    tsmith_profiler *profiler;
    tsmith_error error;
    uint64_t seen = 0, wanted = 0;
    (void)argv;
    void *library = dlopen("libamdhip64.so", RTLD_NOW);
    if (!library)
        return 77;
    *(void **)&launch_kernel = dlsym(library, "hipModuleLaunchKernel");
    *(void **)&synchronize = dlsym(library, "hipDeviceSynchronize");
    *(void **)&load = dlsym(library, "mockKernel");
    *(void **)&make_stream = dlsym(library, "hipStreamCreate");
    if (tsmith_profiler_create(&options, &profiler, &error)) {
        fprintf(stderr, "%s\n", error.message);
        return 1;
    }
    launch(100); // not recording yet
    for (int round = 1; round <= 4; round++) {
        if (tsmith_profiler_start(profiler, &error))
            return 2;
        launch(300 * round);
        wanted += 300u * (unsigned)round;
        if (tsmith_profiler_stop(profiler, &error))
            return 3;
        launch(70);
        seen += drain(tsmith_profiler_events(profiler));
        printf("%llu %llu\n", (unsigned long long)wanted, (unsigned long long)seen);
    }
    tsmith_profiler_destroy(profiler);
    launch(10); // the program continues
    return 0;
}
