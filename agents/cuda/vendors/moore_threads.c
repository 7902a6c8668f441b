// SPDX-License-Identifier: Apache-2.0
// Moore Threads MUSA: MUPTI. Its records are those of CUPTI 11.1 by name (MUpti_ActivityKernel6, Memcpy4, MemcpyPtoP3, Memset3, API,
// Synchronization), which the users of mupti_activity.h read (MUSA 4 and 5; Moore Threads' fork of Kineto defines
// MUPTI_API_VERSION as 14). That kinds and fields have CUPTI's numbers and places is concluded from it. No device was seen.
//
// The driver reads MUSA_INJECTION64_PATH as NVIDIA's reads CUDA_INJECTION64_PATH, and calls InitializeInjection.
#include "agentkit/device.h"
#include "cupti.h"
#include "vendor.h"
#include "wire/environment.h"

static const char *const copies[VENDOR_COPY_NAMES] = DEVICE_COPY_NAMES("MUSA");

static const char *const near[] = {"libmupti.so*", NULL};
static const char *const names[] = {"libmupti.so.1", "libmupti.so", NULL};
static const char *const homes[] = {"/usr/local/musa", "/usr/local/musa-*", "/opt/musa", NULL};
static const char *const in_home[] = {"lib/libmupti.so*", "lib64/libmupti.so*", NULL};

#define BIT(name) UINT64_C(1) << CUPTI_KIND_##name

const struct vendor vendor = {
    .api = "musa",
    .platform = "MUSA",
    .interface = "MUPTI",
    .key = "mupti",
    .company = "Moore Threads",
    .prefix = "mupti",
    .library = "libmupti.so",
    .variable = "TRACESMITH_MUPTI",
    .named = "named by TRACESMITH_MUPTI",
    .install = "install MUPTI (it comes with the MUSA toolkit)",
    .next = INJECTION_MUSA_NEXT,
    .runtime = "libmusart.so",
    .near = near,
    .names = names,
    .home_variable = "MUSA_HOME",
    .homes = homes,
    .in_home = in_home,
    .driver_calls = "mu",
    .runtime_calls = "musa",
    .form = CUPTI_11_1,
    .kinds = BIT(DEVICE) | BIT(CONTEXT) | BIT(CONCURRENT_KERNEL) | BIT(MEMCPY) | BIT(MEMCPY2) | BIT(MEMSET) |
             BIT(RUNTIME) | BIT(DRIVER) | BIT(SYNCHRONIZATION) | BIT(EXTERNAL_CORRELATION),
    .partial = true,
    .copies = copies,
    .set = "[MUSA memset]",
};
