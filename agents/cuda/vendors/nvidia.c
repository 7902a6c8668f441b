// SPDX-License-Identifier: Apache-2.0
// NVIDIA CUDA: CUPTI. Layouts and versions: tests/cuda/layouts.tsv.
#include "agentkit/device.h"
#include "kinds.h"
#include "vendor.h"
#include "wire/environment.h"

static const char *const copies[VENDOR_COPY_NAMES] = DEVICE_COPY_NAMES("CUDA");

static const char *const near[] = {"libcupti.so*", "../extras/CUPTI/lib64/libcupti.so*",
                                   "../../../extras/CUPTI/lib64/libcupti.so*",
                                   "../../cuda_cupti/lib/libcupti.so*", NULL};
static const char *const packages[] = {"nvidia/cu[0-9]*/lib/libcupti.so*",
                                       "nvidia/cuda_cupti/lib/libcupti.so*", NULL};
static const char *const prefixes[] = {"lib/python3*/site-packages/nvidia/cu[0-9]*/lib/libcupti.so*",
                                       "lib/python3*/site-packages/nvidia/cuda_cupti/lib/libcupti.so*",
                                       "lib/python3*/dist-packages/nvidia/cu[0-9]*/lib/libcupti.so*",
                                       "lib/python3*/dist-packages/nvidia/cuda_cupti/lib/libcupti.so*",
                                       "lib/libcupti.so*",
                                       NULL};
static const char *const names[] = {"libcupti.so.13",
                                    "libcupti.so.12",
                                    "libcupti.so.11.8",
                                    "libcupti.so.11.7",
                                    "libcupti.so.11.6",
                                    "libcupti.so.11.5",
                                    "libcupti.so.11.4",
                                    "libcupti.so.11.3",
                                    "libcupti.so.11.2",
                                    "libcupti.so.11.1",
                                    "libcupti.so.11.0",
                                    "libcupti.so",
                                    NULL};
static const char *const homes[] = {"/usr/local/cuda", "/usr/local/cuda-*", "/opt/cuda", NULL};
static const char *const in_home[] = {"extras/CUPTI/lib64/libcupti.so.[0-9]*", "lib64/libcupti.so.[0-9]*",
                                      "targets/*/lib/libcupti.so.[0-9]*", NULL};

#define KIND(name, number, since, needed) | UINT64_C(1) << (number)

const struct vendor vendor = {
    .api = "cuda",
    .platform = "CUDA",
    .interface = "CUPTI",
    .key = "cupti",
    .company = "NVIDIA",
    .prefix = "cupti",
    .library = "libcupti.so",
    .variable = "TRACESMITH_CUPTI",
    .named = "named by TRACESMITH_CUPTI",
    .install = "install CUPTI (it comes with the CUDA toolkit, or as the package cuda-cupti or "
               "nvidia-cuda-cupti)",
    .next = INJECTION_CUDA_NEXT,
    .runtime = "libcudart.so",
    .near = near,
    .packages = packages,
    .prefixes = prefixes,
    .names = names,
    .home_variable = "CUDA_HOME",
    .homes = homes,
    .in_home = in_home,
    .driver = "libcuda.so.1",
    .driver_version = "cuDriverGetVersion",
    .driver_calls = "cu",
    .runtime_calls = "cuda",
    .oldest = 13,
    .kinds = 0 CUDA_ENABLED_KINDS(KIND),
    .copies = copies,
    .set = "[CUDA memset]",
};
