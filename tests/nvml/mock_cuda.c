// SPDX-License-Identifier: Apache-2.0
// A mock of libcuda.so.1, as far as devices are asked for: gives the second of NVML's two simulated GPUs, as with
// CUDA_VISIBLE_DEVICES=1; with CUDA_MOCK=none there is none.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "library.h"

int cuInit(unsigned flags) {
    const char *how = getenv("CUDA_MOCK");
    return flags || (how && strcmp(how, "none") == 0) ? 100 : 0;
}
int cuDriverGetVersion(int *version) {
    *version = 13010;
    return 0;
}
int cuDeviceGetCount(int *count) {
    *count = 1;
    return 0;
}
int cuDeviceGet(int *device, int number) {
    *device = number;
    return number != 0;
}
int cuDeviceGetName(char *text, int size, int device) {
    return device || snprintf(text, (size_t)size, "Simulated GPU 1") < 0;
}
int cuDeviceTotalMem_v2(size_t *bytes, int device) {
    *bytes = 79000000000;
    return device;
}
int cuDeviceGetAttribute(int *value, int which, int device) {
    *value = which == CUDA_MULTIPROCESSORS    ? 132
             : which == CUDA_CLOCK_KHZ        ? 1980000
             : which == CUDA_CAPABILITY_MAJOR ? 9
                                              : 0;
    return device;
}
int cuDeviceGetPCIBusId(char *text, int size, int device) {
    return device || snprintf(text, (size_t)size, "0000:65:00.0") < 0;
}
