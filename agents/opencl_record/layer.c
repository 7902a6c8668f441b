// SPDX-License-Identifier: Apache-2.0
// The layer's entry points. Rules: recorder.h. Without a session, or without its wish for a recording, the table handed
// out is empty and the loader calls the driver directly.
#include "recorder.h"

#include <CL/cl_layer.h>

#include <stdlib.h>
#include <string.h>

#include "capture/channel.h"

#define LAYER_EXPORT __attribute__((visibility("default")))
#define LAYER_NAME "TraceSmith recorder"

static cl_icd_dispatch layer;
static atomic_bool initialised;

static void fill(void) {
#define CALL_FILL(name)                                                                                      \
    if (recorder.next.name)                                                                                  \
        layer.name = record_##name;
    RECORDED_CALLS(CALL_FILL)
#undef CALL_FILL
}

static cl_int init(cl_uint count, const cl_icd_dispatch *target, cl_uint *count_out,
                   const cl_icd_dispatch **out) {
    const size_t known = sizeof layer / sizeof(void *);
    if (!target || !count_out || !out)
        return CL_INVALID_VALUE;
    const bool again = atomic_exchange(&initialised, true);
    memcpy(&recorder.next, target, (count < known ? count : known) * sizeof(void *));
    const char *directory = secure_getenv(CHANNEL_ENVIRONMENT), *range = secure_getenv(CHANNEL_RECORDING);
    if (!again && directory && *directory && range && *range && file_begin(directory))
        fill();
    *count_out = (cl_uint)known;
    *out = &layer;
    return CL_SUCCESS;
}

static cl_int give(const void *from, size_t bytes, size_t size, void *value, size_t *size_ret) {
    if (value && size < bytes)
        return CL_INVALID_VALUE;
    if (value)
        memcpy(value, from, bytes);
    if (size_ret)
        *size_ret = bytes;
    return CL_SUCCESS;
}

LAYER_EXPORT cl_int clGetLayerInfo(cl_layer_info what, size_t size, void *value, size_t *size_ret) {
    const cl_layer_api_version version = CL_LAYER_API_VERSION_100;
    if (what == CL_LAYER_API_VERSION)
        return give(&version, sizeof version, size, value, size_ret);
    if (what == CL_LAYER_NAME)
        return give(LAYER_NAME, sizeof LAYER_NAME, size, value, size_ret);
    return CL_INVALID_VALUE;
}

LAYER_EXPORT cl_int clInitLayer(cl_uint count, const cl_icd_dispatch *target, cl_uint *count_out,
                                const cl_icd_dispatch **out) {
    return init(count, target, count_out, out);
}

// The Khronos loader's; no property is known that would concern us.
LAYER_EXPORT cl_int clInitLayerWithProperties(cl_uint count, const cl_icd_dispatch *target,
                                              cl_uint *count_out, const cl_icd_dispatch **out,
                                              const intptr_t *properties);
LAYER_EXPORT cl_int clInitLayerWithProperties(cl_uint count, const cl_icd_dispatch *target,
                                              cl_uint *count_out, const cl_icd_dispatch **out,
                                              const intptr_t *properties) {
    (void)properties;
    return init(count, target, count_out, out);
}

LAYER_EXPORT cl_int clDeinitLayer(void);
LAYER_EXPORT cl_int clDeinitLayer(void) {
    return CL_SUCCESS;
}
