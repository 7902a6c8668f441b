// SPDX-License-Identifier: Apache-2.0
// A layer below the agent that releases no memory, so that a program may use what it has released.
#include "layer.h"

static cl_int CL_API_CALL keep(cl_mem memory) {
    (void)memory;
    return CL_SUCCESS;
}

static void CL_API_CALL keep_svm(cl_context context, void *memory) {
    (void)context;
    (void)memory;
}

static void layer_begin(void) {
    layer.clReleaseMemObject = keep;
    layer.clSVMFree = keep_svm;
}
