// SPDX-License-Identifier: Apache-2.0
// MetaX MACA: MCPTI. Its interface is that of CUPTI 11.8: mcptiGetVersion returns 18, the records are MCpti_ActivityKernel8 (all of
// its fields up to `name`), MCpti_ActivityAPI (40 bytes), with CUPTI's numbers of kinds (mcpti_activity.h of MACA 3.5.3, as a
// public reader of these records declares them). What follows `name`, and the other records, are concluded from it. No device was
// seen.
//
// MACA has no variable for tools, so the library is preloaded and waits for the runtime (preload/preload.h).
#include "agentkit/device.h"
#include "cupti.h"
#include "preload/preload.h"
#include "vendor.h"
#include "way_in.h"

static const char *const copies[VENDOR_COPY_NAMES] = DEVICE_COPY_NAMES("MACA");

static const char *const near[] = {"libmcpti.so*", NULL};
static const char *const names[] = {"libmcpti.so", NULL};
static const char *const homes[] = {"/opt/maca", "/opt/maca-*", NULL};
static const char *const in_home[] = {"lib/libmcpti.so*", NULL};
static const char *const launches[] = {"mcModuleLaunchKernel", NULL};

#define BIT(name) UINT64_C(1) << CUPTI_KIND_##name

const struct vendor vendor = {
    .api = "maca",
    .platform = "MACA",
    .interface = "MCPTI",
    .key = "mcpti",
    .company = "MetaX",
    .prefix = "mcpti",
    .library = "libmcpti.so",
    .variable = "TRACESMITH_MCPTI",
    .named = "named by TRACESMITH_MCPTI",
    .install = "install MCPTI (it comes with the MACA SDK)",
    .runtime = "libmcruntime.so",
    .near = near,
    .names = names,
    .home_variable = "MACA_PATH",
    .homes = homes,
    .in_home = in_home,
    .driver_calls = "mc",
    .runtime_calls = "mc",
    .launches = launches,
    .form = CUPTI_11_8,
    .kinds = BIT(DEVICE) | BIT(CONTEXT) | BIT(CONCURRENT_KERNEL) | BIT(MEMCPY) | BIT(MEMCPY2) | BIT(MEMSET) |
             BIT(RUNTIME) | BIT(DRIVER) | BIT(SYNCHRONIZATION) | BIT(EXTERNAL_CORRELATION),
    .partial = true,
    .copies = copies,
    .set = "[MACA memset]",
};

__attribute__((constructor)) static void wait_for_runtime(void) {
    preload_wait("libmcruntime.so", way_in);
}
