// SPDX-License-Identifier: Apache-2.0
// Any bytes as a recording of frames of Vulkan, replayed on a driver that executes nothing (vulkan_double.h): whatever the recording has,
// the driver gets live handles, pointers to what it reads, and copies, updates, fills and push constants within the objects that they are
// for, as far as vulkan_double.h judges them. The last byte says whether the records are put right, whether the device has the features of
// Vulkan 1.0, and which creation fails.
#include "recording/vulkan/headers.h"
#ifdef RECORDING_HAS_VULKAN

#include <dlfcn.h>

#include "replay/vulkan/vulkan.h"

#include "made_recording.h"
#include "vulkan_double_loader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

// The linker turns the library's dlopen and dlsym here (fuzz/CMakeLists.txt).
void *__wrap_dlopen(const char *name, int flags);
void *__real_dlsym(void *library, const char *name);
void *__wrap_dlsym(void *library, const char *name);

// No other library: a recording that is not of Vulkan finds no driver.
void *__wrap_dlopen(const char *name, int flags) {
    (void)flags;
    return name && strcmp(name, "libvulkan.so.1") == 0 ? (void *)&vulkan_double : NULL;
}

void *__wrap_dlsym(void *library, const char *name) {
    return library == (void *)&vulkan_double ? __extension__(void *) get_function
                                             : __real_dlsym(library, name);
}

static void set_features(VkBool32 on) {
    VkBool32 all[sizeof(VkPhysicalDeviceFeatures) / sizeof(VkBool32)];
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        all[i] = on != 0;
    memcpy(&vulkan_double.features, all, sizeof all);
}

static void use(tsmith_recording *recording, uint8_t how) {
    tsmith_replay_options options = {.size = sizeof options, .times = 1, .patience_ns = 1};
    tsmith_error error;
    tsmith_replay *replay = NULL;
    vulkan_double.fail_at = how / 2 % 64;
    set_features(how & 128);
    (void)tsmith_replay_run(recording, &options, &replay, &error);
    for (size_t i = 0; replay && i < tsmith_replay_result_count(replay); i++) {
        const tsmith_replay_result *result = tsmith_replay_result_get(replay, i);
        double_expect(tsmith_verdict_name(result->verdict) && result->what);
    }
    tsmith_replay_destroy(replay);
    double_expect(!double_finish()); // a replay leaves nothing of its own
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size)
        made_recording(data, size - 1, !(data[size - 1] & 1), data[size - 1], use);
    return 0;
}

#else

#include <stddef.h>
#include <stdint.h>
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    (void)data, (void)size;
    return 0;
}

#endif
