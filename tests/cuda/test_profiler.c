// SPDX-License-Identifier: Apache-2.0
// A program that profiles its own CUDA work: only what is launched between start and stop is in the events, all of it,
// and it is there when stop returns. On the mocks of driver and CUPTI.
#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tracesmith/batch.h"
#include "tracesmith/profiler.h"

static void *driver;

static void *find(const char *name) {
    void *at = dlsym(driver, name);
    assert_non_null(at);
    return at;
}

static void open_driver(void) {
    char path[4096];
    const char *build = getenv("TRACESMITH_BUILD_DIR");
    assert_non_null(build);
    snprintf(path, sizeof path, "%s/tests/cuda/mock/libcupti.so.13", build);
    setenv("TRACESMITH_CUPTI", path, 1);
    snprintf(path, sizeof path, "%s/tests/cuda/mock/libcuda.so.1", build);
    driver = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
    assert_non_null(driver);
}

static void launch(int count) {
    static void *context, *module, *function;
    int (*const launches)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                          void *, void **, void **) =
        (int (*)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *,
                 void **, void **))(uintptr_t)find("cuLaunchKernel");
    if (!context) {
        assert_int_equal(((int (*)(unsigned))(uintptr_t)find("cuInit"))(0), 0);
        assert_int_equal(((int (*)(void **, unsigned, int))(uintptr_t)find("cuCtxCreate_v2"))(&context, 0, 0),
                         0);
        assert_int_equal(
            ((int (*)(void **, const void *))(uintptr_t)find("cuModuleLoadData"))(&module, "code"), 0);
        assert_int_equal(((int (*)(void **, void *, const char *))(uintptr_t)find("cuModuleGetFunction"))(
                             &function, module, "work"),
                         0);
    }
    for (int i = 0; i < count; i++)
        assert_int_equal(launches(function, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL), 0);
    assert_int_equal(((int (*)(void))(uintptr_t)find("cuCtxSynchronize"))(), 0);
}

struct seen {
    uint64_t kernels;
};

static void drain(tsmith_source *events, struct seen *seen) {
    const tsmith_batch *batch;
    tsmith_error error;
    tsmith_status status;
    while ((status = tsmith_source_next(events, &batch, &error)) != TSMITH_END) {
        assert_true(status == TSMITH_OK || status == TSMITH_AGAIN);
        for (uint32_t row = 0; status == TSMITH_OK && row < tsmith_batch_count(batch); row++) {
            uint64_t kind = 0;
            tsmith_batch_get(batch, TSMITH_FIELD_KIND, row, &kind);
            seen->kernels += kind == TSMITH_KIND_KERNEL;
        }
    }
}

static void on_and_off(void **unused) {
    (void)unused;
    tsmith_profiler *profiler, *late;
    tsmith_error error;
    struct seen seen = {0};
    uint64_t wanted = 0;
    open_driver();
    assert_int_equal(tsmith_profiler_create(NULL, &profiler, &error), TSMITH_OK);
    tsmith_source *events = tsmith_profiler_events(profiler);
    launch(100); // not recording yet
    for (int round = 1; round <= 4; round++) {
        assert_int_equal(tsmith_profiler_start(profiler, &error), TSMITH_OK);
        launch(300 * round);
        wanted += 300u * (unsigned)round;
        assert_int_equal(tsmith_profiler_stop(profiler, &error), TSMITH_OK);
        launch(70);
        drain(events, &seen);
        assert_int_equal(seen.kernels, wanted);
    }
    tsmith_profiler_destroy(profiler);
    // CUDA has read its variable by now.
    assert_int_equal(tsmith_profiler_create(NULL, &late, &error), TSMITH_ERROR_STATE);
    assert_non_null(strstr(error.message, "CUDA"));
    launch(10); // the program continues
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(on_and_off)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
