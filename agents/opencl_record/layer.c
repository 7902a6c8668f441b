// SPDX-License-Identifier: Apache-2.0
// The layer's table. Rules: recorder.h. Without a session, or if no recording was requested, it is empty and the
// loader calls the driver directly.
#include "recorder.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "wire/channel.h"

const char entry_name[] = "TraceSmith recorder";
cl_icd_dispatch entry_table;

static void fill(void) {
#define CALL_FILL(name)                                                                                      \
    if (recorder.next.name)                                                                                  \
        entry_table.name = record_##name;
    RECORDED_CALLS(CALL_FILL)
#undef CALL_FILL
}

void entry_begin(const cl_icd_dispatch *target, size_t bytes, bool again) {
    const char *directory = secure_getenv(CHANNEL_ENVIRONMENT), *words = secure_getenv(CHANNEL_RECORDING);
    memcpy(&recorder.next, target, bytes);
    if (!again && directory && *directory && words && *words && range_begin(words, directory) &&
        file_begin(directory))
        fill();
}

// ---- the layer before us, which makes the events of the trace

static uint64_t (*correlation)(void);
static int (*asks)(void);

static void find_correlation(void) {
    static const char other[] = "libtracesmith-opencl.so";
    char path[4096];
    Dl_info own;
    if (!dladdr(entry_name, &own) || !own.dli_fname)
        return;
    const char *slash = strrchr(own.dli_fname, '/');
    const size_t length = slash ? (size_t)(slash - own.dli_fname) + 1 : 0;
    if (length + sizeof other > sizeof path)
        return;
    memcpy(path, own.dli_fname, length);
    memcpy(path + length, other, sizeof other);
    void *library = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
    if (!library)
        return;
    correlation = __extension__(uint64_t(*)(void)) dlsym(library, "tracesmith_opencl_correlation");
    asks = __extension__(int (*)(void)) dlsym(library, "tracesmith_opencl_asks");
}

static pthread_once_t once = PTHREAD_ONCE_INIT;

uint64_t recorder_correlation(void) {
    pthread_once(&once, find_correlation);
    return correlation ? correlation() : 0;
}

bool recorder_asked_by_agent(void) {
    pthread_once(&once, find_correlation);
    return asks && asks();
}
