// SPDX-License-Identifier: Apache-2.0
// What makes a library an OpenCL layer, for both existing loaders: compiled into each of our layers, which defines
// its name, table and start function.
//
// ocl-icd calls clGetLayerInfo and clInitLayer once, before the program's first call goes on, and nothing at the end.
// The Khronos loader prefers clInitLayerWithProperties and calls clDeinitLayer when it unloads its layers. A loader
// without layers is served by ../preload/preload.c, which calls clInitLayer itself.
#include "opencl_calls/calls.h"

#include <CL/cl_layer.h>

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define LAYER_EXPORT __attribute__((visibility("default")))

static atomic_bool initialized;

// ocl-icd 2.3 cuts the list of layers into pieces in place, in the program's environment: children of the program
// would find the first layer only. Each of our layers joins the pieces up to its own again, if it is among them: not
// where preload.c calls us, and never past what can be a piece.
static void mend_environment(void) {
    enum { LAYERS_MOST = 64 };
    char *cuts[LAYERS_MOST], *piece = getenv("OPENCL_LAYERS");
    Dl_info own;
    if (!piece || !dladdr(entry_name, &own) || !own.dli_fname || !*own.dli_fname)
        return;
    for (int i = 0; i < LAYERS_MOST && *piece && (i == 0 || !strchr(piece, '=')); i++) {
        if (strstr(piece, own.dli_fname)) {
            while (i-- > 0)
                *cuts[i] = ':';
            return;
        }
        cuts[i] = piece + strlen(piece);
        piece = cuts[i] + 1;
    }
}

static cl_int init(cl_uint count, const cl_icd_dispatch *target, cl_uint *count_out,
                   const cl_icd_dispatch **out) {
    const size_t known = sizeof entry_table / sizeof(void *);
    if (!target || !count_out || !out)
        return CL_INVALID_VALUE;
    const bool again = atomic_exchange(&initialized, true);
    entry_begin(target, (count < known ? count : known) * sizeof(void *), again);
    if (!again)
        mend_environment();
    *count_out = (cl_uint)known;
    *out = &entry_table;
    return CL_SUCCESS;
}

static cl_int copy_info(const void *from, size_t bytes, size_t size, void *value, size_t *size_ret) {
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
        return copy_info(&version, sizeof version, size, value, size_ret);
    if (what == CL_LAYER_NAME)
        return copy_info(entry_name, strlen(entry_name) + 1, size, value, size_ret);
    const cl_uint in_use = atomic_load(&initialized);
    if (what == LAYER_INFO_IN_USE)
        return copy_info(&in_use, sizeof in_use, size, value, size_ret);
    return CL_INVALID_VALUE;
}

LAYER_EXPORT cl_int clInitLayer(cl_uint count, const cl_icd_dispatch *target, cl_uint *count_out,
                                const cl_icd_dispatch **out) {
    return init(count, target, count_out, out);
}

// The Khronos loader's; `properties` is a list that ends with 0, and none is known that would concern us.
LAYER_EXPORT cl_int clInitLayerWithProperties(cl_uint count, const cl_icd_dispatch *target,
                                              cl_uint *count_out, const cl_icd_dispatch **out,
                                              const intptr_t *properties);
LAYER_EXPORT cl_int clInitLayerWithProperties(cl_uint count, const cl_icd_dispatch *target,
                                              cl_uint *count_out, const cl_icd_dispatch **out,
                                              const intptr_t *properties) {
    (void)properties;
    return init(count, target, count_out, out);
}

// The loader is about to forget its layers, at the end of the process: exit handlers have been here.
LAYER_EXPORT cl_int clDeinitLayer(void);
LAYER_EXPORT cl_int clDeinitLayer(void) {
    return CL_SUCCESS;
}
