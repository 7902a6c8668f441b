// SPDX-License-Identifier: Apache-2.0
// Any bytes as a recording, replayed on a driver that executes nothing real (opencl_double.h): for any sizes,
// numbers, counts and names in the recording, the driver gets only live handles, and pointers to as many bytes as it
// will touch. The last byte says whether the records are put right, and how they are replayed.
#include <dlfcn.h>

#include "replay/opencl/execute.h"
#include "tracesmith/plan.h"

#include "made_recording.h"
#include "opencl_double.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

// The linker turns the library's dlopen and dlsym here (fuzz/CMakeLists.txt).
void *__real_dlopen(const char *name, int flags);
void *__wrap_dlopen(const char *name, int flags);
void *__real_dlsym(void *library, const char *name);
void *__wrap_dlsym(void *library, const char *name);

void *__wrap_dlopen(const char *name, int flags) {
    return name && strcmp(name, "libOpenCL.so.1") == 0 ? (void *)&opencl_double : __real_dlopen(name, flags);
}

void *__wrap_dlsym(void *library, const char *name) {
    return library == (void *)&opencl_double ? double_find(name) : __real_dlsym(library, name);
}

// What still runs when a replay is given up is left alone, with its memory.
const char *__asan_default_options(void);
const char *__asan_default_options(void) {
    return "detect_leaks=0";
}

enum {
    DEFERRED = 2, // the driver runs a command only when its state is queried
    TIMED = 4,    // with the times of commands; and each result after its command, of two devices
    ORDERS = 8,   // in other orders, and each finding confirmed
    FAILS = 0xf0  // the driver fails once
};

static int take_file(void *context, const tsmith_emit_file *file) {
    (void)context;
    for (const char *at = file->name; *at; at++)
        if (!strchr("/_.+-@", *at) && !((*at | 32) >= 'a' && (*at | 32) <= 'z') &&
            !(*at >= '0' && *at <= '9'))
            abort();
    if (file->name[0] == '/' || file->name[0] == '.' || strstr(file->name, "/.") ||
        (file->length && !file->bytes))
        abort();
    return 1;
}

static void emit(tsmith_recording *recording) {
    tsmith_emit_summary summary = {.size = sizeof summary};
    tsmith_error error;
    (void)tsmith_replay_emit(recording, 0, NULL, take_file, NULL, &summary, &error);
}

static void use(tsmith_recording *recording, uint8_t how) {
    enum { FAIL_STEP = 3, ORDERS_MOST = 4 };
    tsmith_replay_options options = {.size = sizeof options, .times = 1, .patience_ns = 1};
    tsmith_error error;
    tsmith_replay *replay = NULL;
    emit(recording);
    opencl_double.deferred = (how & DEFERRED) != 0;
    opencl_double.fail_at = (unsigned)(how & FAILS) / 16 * FAIL_STEP;
    options.timing = (how & TIMED) != 0;
    if ((how & TIMED) && (how & ORDERS)) {
        options.timing = 0;
        options.against = "1";
        options.each = 1;
    }
    const tsmith_status status = (how & ORDERS) && !(how & TIMED)
                                     ? TSMITH_OK
                                     : tsmith_replay_run(recording, &options, &replay, &error);
    for (size_t i = 0; replay && i < tsmith_replay_result_count(replay); i++) {
        const tsmith_replay_result *result = tsmith_replay_result_get(replay, i);
        if (!tsmith_verdict_name(result->verdict) || !result->what ||
            (result->verdict == TSMITH_VERDICT_UNCOMPARABLE && !result->reason))
            abort();
    }
    const bool whole = replay && status == TSMITH_OK;
    tsmith_replay_destroy(replay);
    if ((how & ORDERS) && !(how & TIMED)) {
        const tsmith_permute_options permute = {
            .size = sizeof permute, .orders = ORDERS_MOST, .seed = how, .replay = &options};
        tsmith_permutation *permutation = NULL;
        tsmith_plan *plan;
        uint64_t replays;
        if (tsmith_plan_create(recording, &plan, &error) == TSMITH_OK) {
            (void)tsmith_plan_permute(plan, &permute, &permutation, &error);
            tsmith_permutation_destroy(permutation);
            (void)double_finish();
            (void)tsmith_plan_try_hazards(plan, &options, &replays, &error);
            tsmith_plan_destroy(plan);
        }
    }
    if (double_finish() && whole)
        abort(); // a replay that ended well leaves nothing of its own
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size)
        made_recording(data, size - 1, !(data[size - 1] & 1), data[size - 1], use);
    return 0;
}
