// SPDX-License-Identifier: Apache-2.0
// Another injected library: notes its calls in the file OTHER_TOOL_LOG, with handles of its
// own.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "abi.h"

static FILE *notes;
static int handles;

struct handle {
    int number;
    char text[64];
};

static void *new_handle(const char *what, const char *text) {
    struct handle *handle = calloc(1, sizeof *handle);
    if (!handle)
        return NULL;
    handle->number = ++handles;
    snprintf(handle->text, sizeof handle->text, "%s", text);
    fprintf(notes, "%s %d %s\n", what, handle->number, text);
    return handle;
}

static const char *said(const struct nvtx_attributes *attributes) {
    return attributes->message_type == NVTX_MESSAGE_REGISTERED
               ? ((const struct handle *)attributes->message.registered)->text
           : attributes->message_type == NVTX_MESSAGE_ASCII ? attributes->message.ascii
                                                            : "?";
}

static const char *of(const void *domain) {
    return domain ? ((const struct handle *)domain)->text : "default";
}

static int pushed;
static int push(const char *text) {
    fprintf(notes, "push %s\n", text);
    return 100 + pushed++;
}
static int push_wide(const wchar_t *text) {
    fprintf(notes, "push %zu characters\n", wcslen(text));
    return 100 + pushed++;
}
static int push_ex(void *domain, const struct nvtx_attributes *attributes) {
    fprintf(notes, "%s push %s\n", of(domain), said(attributes));
    return 100 + pushed++;
}
static int pop(void) {
    fprintf(notes, "pop\n");
    return 100 + --pushed;
}
static int pop_domain(void *domain) {
    fprintf(notes, "%s pop\n", of(domain));
    return 100 + --pushed;
}
static uint64_t start(const char *text) {
    fprintf(notes, "start %s\n", text);
    return 7000 + (uint64_t)++handles;
}
static uint64_t start_ex(void *domain, const struct nvtx_attributes *attributes) {
    fprintf(notes, "%s start %s\n", of(domain), said(attributes));
    return 7000 + (uint64_t)++handles;
}
static void end(uint64_t number) {
    fprintf(notes, "end %d\n", (int)number);
}
static void end_domain(void *domain, uint64_t number) {
    fprintf(notes, "%s end %d\n", of(domain), (int)number);
}
static void mark(const char *text) {
    fprintf(notes, "mark %s\n", text);
}
static void *domain(const char *text) {
    return new_handle("domain", text);
}
static void *string(void *in, const char *text) {
    fprintf(notes, "%s ", of(in));
    return new_handle("string", text);
}
static void name_category(void *in, uint32_t category, const char *text) {
    fprintf(notes, "%s category %u %s\n", of(in), category, text);
}

static void put(const struct nvtx_callbacks *callbacks, int module, unsigned number,
                nvtx_function *function) {
    nvtx_function ***table = NULL;
    unsigned size = 0;
    if (callbacks->module(module, &table, &size) && number < size)
        *table[number] = function;
}

int InitializeInjectionNvtx2(nvtx_get_table *get);
int InitializeInjectionNvtx2(nvtx_get_table *get) {
    const char *path = getenv("OTHER_TOOL_LOG");
    const struct nvtx_callbacks *callbacks = get(NVTX_TABLE_CALLBACKS);
    if (!notes)
        notes = fopen(path ? path : "/dev/null", "w");
    if (!notes || !callbacks)
        return 0;
    put(callbacks, NVTX_MODULE_CORE, 2, (nvtx_function *)mark);
    put(callbacks, NVTX_MODULE_CORE, 5, (nvtx_function *)start);
    put(callbacks, NVTX_MODULE_CORE, 7, (nvtx_function *)end);
    put(callbacks, NVTX_MODULE_CORE, 9, (nvtx_function *)push);
    put(callbacks, NVTX_MODULE_CORE, 10, (nvtx_function *)push_wide);
    put(callbacks, NVTX_MODULE_CORE, 11, (nvtx_function *)pop);
    put(callbacks, NVTX_MODULE_CORE2, 2, (nvtx_function *)start_ex);
    put(callbacks, NVTX_MODULE_CORE2, 3, (nvtx_function *)end_domain);
    put(callbacks, NVTX_MODULE_CORE2, 4, (nvtx_function *)push_ex);
    put(callbacks, NVTX_MODULE_CORE2, 5, (nvtx_function *)pop_domain);
    put(callbacks, NVTX_MODULE_CORE2, 8, (nvtx_function *)name_category);
    put(callbacks, NVTX_MODULE_CORE2, 10, (nvtx_function *)string);
    put(callbacks, NVTX_MODULE_CORE2, 12, (nvtx_function *)domain);
    return 1;
}
