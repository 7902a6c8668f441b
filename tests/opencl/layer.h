// SPDX-License-Identifier: Apache-2.0
// What every OpenCL layer of the tests has: the table of functions below it, its own, and the loader's way in. A file
// that includes this defines layer_begin.
#ifndef OPENCL_LAYER_H
#define OPENCL_LAYER_H

#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl_layer.h>
#include <string.h>

static cl_icd_dispatch layer; // what it leaves NULL is passed on by the loader
static const cl_icd_dispatch *next;

// Puts its functions into `layer`. `next` is set.
static void layer_begin(void);

cl_int clGetLayerInfo(cl_layer_info what, size_t size, void *value, size_t *size_ret) {
    const cl_layer_api_version version = CL_LAYER_API_VERSION_100;
    if (what != CL_LAYER_API_VERSION || (value && size < sizeof version))
        return CL_INVALID_VALUE;
    if (value)
        memcpy(value, &version, sizeof version);
    if (size_ret)
        *size_ret = sizeof version;
    return CL_SUCCESS;
}

cl_int clInitLayer(cl_uint entries, const cl_icd_dispatch *target, cl_uint *count,
                   const cl_icd_dispatch **out) {
    (void)entries;
    next = target;
    layer_begin();
    *count = sizeof layer / sizeof(void *);
    *out = &layer;
    return CL_SUCCESS;
}

#endif
