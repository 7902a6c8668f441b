// SPDX-License-Identifier: Apache-2.0
// What of NVTX a test program needs where NVIDIA's headers are not installed: the same names, the same binary interface
// toward an injected library, written from its description. Where the headers are, tests/nvtx/ runs the same programs
// with them.
#ifndef NVTX_MINI_H
#define NVTX_MINI_H

#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#define NVTX_VERSION 3
#define NVTX_EVENT_ATTRIB_STRUCT_SIZE ((uint16_t)sizeof(nvtxEventAttributes_t))
enum {
    NVTX_COLOR_ARGB = 1,
    NVTX_MESSAGE_TYPE_ASCII = 1,
    NVTX_MESSAGE_TYPE_UNICODE,
    NVTX_MESSAGE_TYPE_REGISTERED
};
enum {
    NVTX_PAYLOAD_TYPE_UNSIGNED_INT64 = 1,
    NVTX_PAYLOAD_TYPE_INT64,
    NVTX_PAYLOAD_TYPE_DOUBLE,
    NVTX_PAYLOAD_TYPE_UNSIGNED_INT32,
    NVTX_PAYLOAD_TYPE_INT32,
    NVTX_PAYLOAD_TYPE_FLOAT
};
typedef struct nvtxDomain *nvtxDomainHandle_t;
typedef struct nvtxString *nvtxStringHandle_t;
typedef uint64_t nvtxRangeId_t;
typedef struct nvtxEventAttributes {
    uint16_t version, size;
    uint32_t category;
    int32_t colorType;
    uint32_t color;
    int32_t payloadType, reserved0;
    union {
        uint64_t ullValue;
        int64_t llValue;
        double dValue;
        uint32_t uiValue;
        int32_t iValue;
        float fValue;
    } payload;
    int32_t messageType;
    union {
        const char *ascii;
        const wchar_t *unicode;
        nvtxStringHandle_t registered;
    } message;
} nvtxEventAttributes_t;

typedef void mini_function(void);
enum { MINI_MODULES = 7, MINI_PLACES = 17 };
static mini_function *mini_functions[MINI_MODULES][MINI_PLACES];
static mini_function **mini_places[MINI_MODULES][MINI_PLACES + 1];

static inline int mini_module(int module, mini_function ****table, unsigned *size) {
    if (module < 1 || module >= MINI_MODULES)
        return 0;
    for (int i = 1; i < MINI_PLACES; i++)
        mini_places[module][i] = &mini_functions[module][i];
    *table = mini_places[module];
    *size = MINI_PLACES;
    return 1;
}

struct mini_callbacks {
    size_t size;
    int (*module)(int module, mini_function ****table, unsigned *size);
};
static const struct mini_callbacks mini_callbacks = {sizeof mini_callbacks, mini_module};

static inline const void *mini_table(uint32_t table) {
    return table == 1 ? &mini_callbacks : NULL;
}

// Once, and every thread waits for it: a call that came while the library is being opened must not be dropped.
static inline void mini_initialize(void) {
    const char *path = getenv("NVTX_INJECTION64_PATH");
    void *library = path ? dlopen(path, RTLD_LAZY) : NULL;
    int (*initialize)(const void *(*)(uint32_t)) = NULL;
    if (library)
        *(void **)&initialize = dlsym(library, "InitializeInjectionNvtx2");
    if (initialize)
        initialize(mini_table);
}

static inline mini_function *mini_find(int module, int number) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, mini_initialize);
    return mini_functions[module][number];
}

#define MINI(module, number, type, name, arguments, values, none)                                            \
    static inline type name arguments {                                                                      \
        type(*to) arguments;                                                                                 \
        mini_function *found = mini_find(module, number);                                                    \
        memcpy(&to, &found, sizeof to);                                                                      \
        return to ? to values : none;                                                                        \
    }
#define MINI_VOID(module, number, name, arguments, values)                                                   \
    static inline void name arguments {                                                                      \
        void(*to) arguments;                                                                                 \
        mini_function *found = mini_find(module, number);                                                    \
        memcpy(&to, &found, sizeof to);                                                                      \
        if (to)                                                                                              \
            to values;                                                                                       \
    }
#define MINI_EVENT const nvtxEventAttributes_t *event
#define MINI_DOMAIN nvtxDomainHandle_t domain
MINI_VOID(1, 2, nvtxMarkA, (const char *text), (text))
MINI(1, 5, nvtxRangeId_t, nvtxRangeStartA, (const char *text), (text), 0)
MINI_VOID(1, 7, nvtxRangeEnd, (nvtxRangeId_t id), (id))
MINI(1, 8, int, nvtxRangePushEx, (MINI_EVENT), (event), -2)
MINI(1, 9, int, nvtxRangePushA, (const char *text), (text), -2)
MINI(1, 10, int, nvtxRangePushW, (const wchar_t *text), (text), -2)
MINI(1, 11, int, nvtxRangePop, (void), (), -2)
MINI_VOID(1, 12, nvtxNameCategoryA, (uint32_t category, const char *text), (category, text))
MINI_VOID(1, 14, nvtxNameOsThreadA, (uint32_t tid, const char *text), (tid, text))
MINI_VOID(5, 1, nvtxDomainMarkEx, (MINI_DOMAIN, MINI_EVENT), (domain, event))
MINI(5, 2, nvtxRangeId_t, nvtxDomainRangeStartEx, (MINI_DOMAIN, MINI_EVENT), (domain, event), 0)
MINI_VOID(5, 3, nvtxDomainRangeEnd, (MINI_DOMAIN, nvtxRangeId_t id), (domain, id))
MINI(5, 4, int, nvtxDomainRangePushEx, (MINI_DOMAIN, MINI_EVENT), (domain, event), -2)
MINI(5, 5, int, nvtxDomainRangePop, (MINI_DOMAIN), (domain), -2)
MINI_VOID(5, 8, nvtxDomainNameCategoryA, (MINI_DOMAIN, uint32_t category, const char *text),
          (domain, category, text))
MINI(5, 10, nvtxStringHandle_t, nvtxDomainRegisterStringA, (MINI_DOMAIN, const char *text), (domain, text),
     NULL)
MINI(5, 12, nvtxDomainHandle_t, nvtxDomainCreateA, (const char *text), (text), NULL)
MINI_VOID(5, 14, nvtxDomainDestroy, (MINI_DOMAIN), (domain))

#endif
