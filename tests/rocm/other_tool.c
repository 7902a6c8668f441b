// SPDX-License-Identifier: Apache-2.0
// Another tool of rocprofiler-sdk: counts the dispatch records that it gets, and writes the count to OTHER_TOOL_LOG at the end.
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sdk.h"

static struct sdk_id context, buffer;
static unsigned long dispatches, told_priority;
static int (*flush_buffer)(struct sdk_id);

static void records(struct sdk_id where, struct sdk_id from, struct sdk_record_header **headers, size_t count,
                    void *data, uint64_t dropped) {
    (void)where, (void)from, (void)data, (void)dropped;
    for (size_t i = 0; i < count; i++)
        dispatches += headers[i]->kind == 11;
}

static int initialize(void (*finalize)(struct sdk_client), void *data) {
    int (*create_context)(struct sdk_id *), (*start_context)(struct sdk_id);
    int (*create_buffer)(struct sdk_id, size_t, size_t, int, sdk_buffer_callback *, void *, struct sdk_id *);
    int (*configure)(struct sdk_id, int, const int32_t *, size_t, struct sdk_id);
    (void)finalize, (void)data;
    *(void **)&create_context = dlsym(RTLD_DEFAULT, "rocprofiler_create_context");
    *(void **)&start_context = dlsym(RTLD_DEFAULT, "rocprofiler_start_context");
    *(void **)&create_buffer = dlsym(RTLD_DEFAULT, "rocprofiler_create_buffer");
    *(void **)&flush_buffer = dlsym(RTLD_DEFAULT, "rocprofiler_flush_buffer");
    *(void **)&configure = dlsym(RTLD_DEFAULT, "rocprofiler_configure_buffer_tracing_service");
    return create_context(&context) ||
           create_buffer(context, 65536, 32768, SDK_BUFFER_LOSSLESS, records, NULL, &buffer) ||
           configure(context, 11, NULL, 0, buffer) || start_context(context);
}

static void finalize(void *data) {
    const char *path = getenv("OTHER_TOOL_LOG");
    (void)data;
    flush_buffer(buffer);
    FILE *log = path ? fopen(path, "w") : NULL;
    if (log) {
        fprintf(log, "priority %lu dispatches %lu\n", told_priority, dispatches);
        fclose(log);
    }
}

__attribute__((visibility("default"))) sdk_configure_function rocprofiler_configure;
struct sdk_tool *rocprofiler_configure(uint32_t version, const char *runtime, uint32_t priority,
                                       struct sdk_client *client) {
    static struct sdk_tool tool = {.size = sizeof tool, .initialize = initialize, .finalize = finalize};
    (void)version, (void)runtime;
    told_priority = priority;
    client->name = "other";
    return &tool;
}
