// SPDX-License-Identifier: Apache-2.0
// An injected library that asks CUPTI for records and drops them: what CUPTI itself costs. NVIDIA's headers give its
// types; the library is opened by name, so that a machine's own libcupti can be taken.
//
//     CUPTI_LIBRARY=PATH    the libcupti to take, when the program has none
//     CUPTI_KINDS=few|ours|none  six kinds (when not set); those that TraceSmith enables; none
//     CUPTI_CALLBACKS=1     subscribe, and take the callbacks of launches and waits that TraceSmith takes
//     CUPTI_SAY=1           at exit, on stderr: the version and how many records came
//     CUPTI_CLOCK=1         on stderr: which clock CUPTI has in here (clock.c)
//     CUPTI_MODULES=PREFIX  keep the images of the first modules that are loaded, as PREFIX.N, and print each on stderr
//     CUPTI_BUFFERS=FILE    keep the first buffers as they are, as test data: "TSCUPTI1", CUPTI's version (u32), then for
//         each buffer its bytes (u64), the buffer, and the names that its kernels' pointers are of: how many (u32), and of
//         each the pointer (u64), its bytes (u32) and the name.
#include <cupti.h>

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../../../agents/cuda/kinds.h"

// NAME_AT: where a kernel's record has the pointer to its name, in every version since CUDA 9.
enum { BUFFER_BYTES = 1 << 20, KEPT_MOST = 1 << 20, NAME_AT = 104, NAMES_MOST = 256 };
enum { MODULES_MOST = 8, MODULE_BYTES_MOST = 256 << 10 };

#define FUNCTIONS(X)                                                                                         \
    X(cuptiGetVersion)                                                                                       \
    X(cuptiGetTimestamp)                                                                                     \
    X(cuptiActivityRegisterCallbacks)                                                                        \
    X(cuptiActivityEnable)                                                                                   \
    X(cuptiActivityFlushAll)                                                                                 \
    X(cuptiActivityGetNextRecord)                                                                            \
    X(cuptiSubscribe)                                                                                        \
    X(cuptiEnableCallback)                                                                                   \
    X(cuptiGetCallbackName)
static struct {
#define DECLARE(name) __typeof__(&name) name;
    FUNCTIONS(DECLARE)
#undef DECLARE
} cupti;

static FILE *kept;
static size_t kept_bytes;
static _Atomic unsigned long records, buffers, calls, modules;
static uint32_t version;

static int is_set(const char *name) {
    const char *value = getenv(name);
    return value && *value && strcmp(value, "0") != 0;
}

static void say_clock(const char *moment) {
    struct timespec real, monotonic;
    uint64_t at = 0;
    if (!is_set("CUPTI_CLOCK"))
        return;
    clock_gettime(CLOCK_REALTIME, &real);
    const int result = (int)cupti.cuptiGetTimestamp(&at);
    clock_gettime(CLOCK_MONOTONIC, &monotonic);
    fprintf(stderr, "clock %s %lld %lld 0 %d\n", moment,
            (long long)at - (real.tv_sec * 1000000000ll + real.tv_nsec),
            (long long)at - (monotonic.tv_sec * 1000000000ll + monotonic.tv_nsec), result);
}

// ---- buffers

static void keep_names(uint8_t *buffer, size_t valid) {
    const char *names[NAMES_MOST];
    uint32_t count = 0;
    CUpti_Activity *record = NULL;
    while (cupti.cuptiActivityGetNextRecord(buffer, valid, &record) == CUPTI_SUCCESS) {
        const char *name = NULL;
        uint32_t at = 0;
        if (record->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL)
            memcpy(&name, (const uint8_t *)record + NAME_AT, sizeof name);
        while (at < count && names[at] != name)
            at++;
        if (name && at == count && count < NAMES_MOST)
            names[count++] = name;
    }
    fwrite(&count, sizeof count, 1, kept);
    for (uint32_t i = 0; i < count; i++) {
        const uint64_t pointer = (uintptr_t)names[i];
        const uint32_t length = (uint32_t)strlen(names[i]);
        fwrite(&pointer, sizeof pointer, 1, kept);
        fwrite(&length, sizeof length, 1, kept);
        fwrite(names[i], 1, length, kept);
    }
}

static void CUPTIAPI give(uint8_t **buffer, size_t *size, size_t *most) {
    *buffer = aligned_alloc(8, BUFFER_BYTES);
    *size = *buffer ? BUFFER_BYTES : 0;
    *most = 0;
}

static void CUPTIAPI take(CUcontext context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid) {
    const uint64_t bytes = valid;
    CUpti_Activity *record = NULL;
    (void)context, (void)stream, (void)size;
    buffers++;
    if (kept && valid && kept_bytes + valid <= KEPT_MOST) {
        fwrite(&bytes, sizeof bytes, 1, kept);
        fwrite(buffer, 1, valid, kept);
        keep_names(buffer, valid);
        fflush(kept);
        kept_bytes += valid;
    }
    if (is_set("CUPTI_SAY"))
        while (cupti.cuptiActivityGetNextRecord(buffer, valid, &record) == CUPTI_SUCCESS)
            records++;
    free(buffer);
}

static void open_kept(void) {
    const char *path = getenv("CUPTI_BUFFERS");
    kept = path ? fopen(path, "wb") : NULL;
    if (kept) {
        fwrite("TSCUPTI1", 8, 1, kept);
        fwrite(&version, sizeof version, 1, kept);
    }
}

// ---- callbacks

static void keep_module(const CUpti_ModuleResourceData *module) {
    const char *prefix = getenv("CUPTI_MODULES");
    const unsigned long number = modules++;
    uint64_t hash = UINT64_C(1469598103934665603);
    char path[4096];
    if (!prefix || !module)
        return;
    const unsigned char *image = (const unsigned char *)module->pCubin;
    for (size_t i = 0; image && i < module->cubinSize; i++)
        hash = (hash ^ image[i]) * UINT64_C(1099511628211);
    fprintf(stderr, "module %lu %zu %s %016llx\n", number, module->cubinSize,
            image && module->cubinSize > 20 && memcmp(image, "\177ELF", 4) == 0 ? "elf" : "other",
            (unsigned long long)hash);
    if (!image || number >= MODULES_MOST || module->cubinSize > MODULE_BYTES_MOST)
        return;
    snprintf(path, sizeof path, "%s.%lu", prefix, number);
    FILE *file = fopen(path, "wb");
    if (file) {
        fwrite(image, 1, module->cubinSize, file);
        fclose(file);
    }
}

static void CUPTIAPI called(void *data, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void *about) {
    (void)data;
    if (domain != CUPTI_CB_DOMAIN_RESOURCE) {
        atomic_fetch_add_explicit(&calls, 1, memory_order_relaxed);
        return;
    }
    const CUpti_ResourceData *resource = (const CUpti_ResourceData *)about;
    if (id == CUPTI_CBID_RESOURCE_MODULE_LOADED)
        keep_module((const CUpti_ModuleResourceData *)resource->resourceDescriptor);
    else if (id == CUPTI_CBID_RESOURCE_CONTEXT_CREATED)
        say_clock("context-callback");
}

// Whether TraceSmith's agent takes the callbacks of a function, without --stacks.
static int is_ours(const char *name) {
    static const char *const taken[] = {CUDA_LAUNCH_CALLS(CUDA_CALL_NAME) CUDA_WAIT_CALLS(CUDA_CALL_NAME)};
    return CUDA_CALL_IN(name, taken);
}

static void subscribe(void) {
    enum { NAMES = 2048 };
    static CUpti_SubscriberHandle subscriber;
    const int result = (int)cupti.cuptiSubscribe(&subscriber, called, NULL);
    if (result) {
        fprintf(stderr, "cupti_only: cuptiSubscribe gave %d\n", result);
        return;
    }
    cupti.cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_CONTEXT_CREATED);
    cupti.cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_MODULE_LOADED);
    for (int domain = CUPTI_CB_DOMAIN_DRIVER_API; domain <= CUPTI_CB_DOMAIN_RUNTIME_API; domain++)
        for (uint32_t id = 1; id < NAMES && is_set("CUPTI_CALLBACKS"); id++) {
            const char *name = NULL;
            if (cupti.cuptiGetCallbackName((CUpti_CallbackDomain)domain, id, &name) == CUPTI_SUCCESS &&
                name && is_ours(name))
                cupti.cuptiEnableCallback(1, subscriber, (CUpti_CallbackDomain)domain, id);
        }
}

// ---- beginning and end

static void at_exit(void) {
    cupti.cuptiActivityFlushAll(0);
    if (is_set("CUPTI_SAY"))
        fprintf(stderr, "cupti %u records %lu buffers %lu callbacks %lu modules %lu\n", version, records,
                buffers, calls, modules);
    say_clock("injection-exit");
}

static int find_cupti(void) {
    const char *path = getenv("CUPTI_LIBRARY");
    const char *missing = NULL;
    void *library = dlopen("libcupti.so.13", RTLD_NOW | RTLD_NOLOAD);
    if (!library)
        library = dlopen(path && *path ? path : "libcupti.so.13", RTLD_NOW);
    if (!library && !path)
        library = dlopen("libcupti.so.12", RTLD_NOW);
    if (!library) {
        fprintf(stderr, "cupti_only: no libcupti: %s\n", dlerror());
        return 0;
    }
#define FIND(name)                                                                                           \
    *(void **)&cupti.name = dlsym(library, #name);                                                           \
    if (!cupti.name)                                                                                         \
        missing = #name;
    FUNCTIONS(FIND)
#undef FIND
    if (missing)
        fprintf(stderr, "cupti_only: libcupti has no %s\n", missing);
    return !missing;
}

static void enable_kind(int kind) {
    const int result = (int)cupti.cuptiActivityEnable((CUpti_ActivityKind)kind);
    if (result)
        fprintf(stderr, "cupti_only: kind %d: %d\n", kind, result);
}

static void enable(void) {
    static const CUpti_ActivityKind few[] = {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
                                             CUPTI_ACTIVITY_KIND_MEMCPY,
                                             CUPTI_ACTIVITY_KIND_MEMSET,
                                             CUPTI_ACTIVITY_KIND_RUNTIME,
                                             CUPTI_ACTIVITY_KIND_DRIVER,
                                             CUPTI_ACTIVITY_KIND_SYNCHRONIZATION};
    // What TraceSmith enables, by number: an older header has not all of the names.
    static const struct {
        uint32_t kind, since;
    } all[] = {
#define KIND(name, number, since, needed) {number, since},
        CUDA_ENABLED_KINDS(KIND)
#undef KIND
    };
    const char *wanted = getenv("CUPTI_KINDS");
    const int ours = wanted && strcmp(wanted, "ours") == 0;
    if (wanted && strcmp(wanted, "none") == 0)
        return;
    for (size_t i = 0; ours && i < sizeof all / sizeof all[0]; i++)
        if (version >= all[i].since)
            enable_kind((int)all[i].kind);
    for (size_t i = 0; !ours && i < sizeof few / sizeof few[0]; i++)
        enable_kind((int)few[i]);
}

int InitializeInjection(void);
__attribute__((visibility("default"))) int InitializeInjection(void) {
    if (!find_cupti())
        return 0;
    cupti.cuptiGetVersion(&version);
    open_kept();
    say_clock("injection");
    if (is_set("CUPTI_CALLBACKS") || is_set("CUPTI_MODULES") || is_set("CUPTI_CLOCK"))
        subscribe();
    if (cupti.cuptiActivityRegisterCallbacks(give, take) != CUPTI_SUCCESS)
        return 0;
    enable();
    atexit(at_exit);
    return 1;
}
