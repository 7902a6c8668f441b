// SPDX-License-Identifier: Apache-2.0
// A mock of libxptifw, XPTI's framework, as far as the agent uses it, and of what the runtime calls of it: subscribers are loaded from
// XPTI_SUBSCRIBERS if XPTI_TRACE_ENABLE is 1, and called for each stream. Of MOCK_XPTI, a list of words:
//
//     refuses    callbacks are refused
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../../agents/sycl/abi.h"

enum { POINTS = 64, SUBSCRIBERS = 8, SYCL = 3, REFUSED = 1 };

struct xpti_event {
    struct xpti_payload payload;
};
static xpti_callback *callbacks[POINTS][SUBSCRIBERS];
static __thread uint64_t queue;

int tracesmith_simulated(void);
int tracesmith_simulated(void) {
    return 1;
}

uint8_t xptiRegisterStream(const char *stream);
uint8_t xptiRegisterStream(const char *stream) {
    return strcmp(stream, "sycl") == 0 ? SYCL : 1;
}

int32_t xptiRegisterCallback(uint8_t stream, uint16_t point, xpti_callback *callback);
int32_t xptiRegisterCallback(uint8_t stream, uint16_t point, xpti_callback *callback) {
    if (getenv("MOCK_XPTI") && strstr(getenv("MOCK_XPTI"), "refuses"))
        return REFUSED;
    for (int i = 0; i < SUBSCRIBERS && stream == SYCL && point < POINTS; i++)
        if (!callbacks[point][i]) {
            callbacks[point][i] = callback;
            return XPTI_OK;
        }
    return REFUSED;
}

const struct xpti_payload *xptiQueryPayload(struct xpti_event *event);
const struct xpti_payload *xptiQueryPayload(struct xpti_event *event) {
    return &event->payload;
}

#ifndef MOCK_OLDER
int32_t xptiGetStashedTuple(char **key, uint64_t *value);
int32_t xptiGetStashedTuple(char **key, uint64_t *value) {
    static char name[] = "queue_id";
    if (!queue)
        return REFUSED;
    *key = name;
    *value = queue;
    return XPTI_OK;
}
#endif

// ---- what the mock runtime calls

void mock_start(void);
void mock_start(void) {
    static const char *const streams[] = {"xpti.framework", "sycl", "sycl.debug"};
    const char *on = getenv("XPTI_TRACE_ENABLE"), *list = getenv("XPTI_SUBSCRIBERS");
    char *copy = on && strcmp(on, "1") == 0 && list ? strdup(list) : NULL, *rest = copy;
    for (char *path = copy; path && *path; path = rest) {
        rest += strcspn(rest, ",");
        if (*rest)
            *rest++ = '\0';
        void *library = dlopen(path, RTLD_NOW);
        void (*init)(unsigned, unsigned, const char *, const char *) = NULL;
        if (library)
            *(void **)&init = dlsym(library, "xptiTraceInit");
        if (!init || !dlsym(library, "xptiTraceFinish")) {
            fprintf(stderr, "mock of XPTI: %s cannot be loaded\n", path);
            continue;
        }
        for (size_t i = 0; i < sizeof streams / sizeof *streams; i++)
            init(9, 0, "sycl 9.0", streams[i]);
    }
    free(copy);
}

void mock_notify(uint16_t point, const struct xpti_payload *payload, uint64_t instance, uint64_t of_queue,
                 const void *data);
void mock_notify(uint16_t point, const struct xpti_payload *payload, uint64_t instance, uint64_t of_queue,
                 const void *data) {
    struct xpti_event event = {.payload = *payload};
    queue = of_queue;
    for (int i = 0; i < SUBSCRIBERS && callbacks[point][i]; i++)
        callbacks[point][i](point, NULL, &event, instance, data);
    queue = 0;
}
