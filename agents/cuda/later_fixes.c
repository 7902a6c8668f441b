// SPDX-License-Identifier: Apache-2.0
// Names what NVIDIA has mended in versions of CUPTI that are newer than the one in use, as far as it concerns what is recorded: the
// attribute cuda.cupti.fixed_later. agent.c calls it. Rules: agent.h.
//
// From NVIDIA's release notes of CUPTI. They say in which release a defect was mended, and seldom since when it was there.
#include "later_fixes.h"

#include <stdio.h>

#include "agent.h"
#include "library.h"

enum { ANY = 0, TEXT_BYTES = 1200, ALWAYS = -1 };

static const struct {
    uint32_t since, fixed; // cuptiGetVersion; ANY: unknown
    int option;            // only where it is requested
    const char *release, *what;
} fixes[] = {
    // cuptiGetVersion of 12.8 and its update is the same.
    {ANY, CUPTI_12_9, CUDA_OPTION_PC_SAMPLES, "CUDA 12.8 update 1",
     "PC samples and kernels can be recorded together"},
    {CUPTI_13_0, 130001, ALWAYS, "CUDA 13.0 update 1",
     "cudaDeviceSynchronize and cuCtxSynchronize have sync events, and a flush does not crash"},
    {CUPTI_12_2, 130001, ALWAYS, "CUDA 13.0 update 1",
     "long-running programs with CUDA graphs do not crash when CUPTI needs another device buffer"},
    {CUPTI_13_2, CUPTI_13_3, ALWAYS, "CUDA 13.3", "many calls of CUPTI do not slow it down"},
    {ANY, CUPTI_13_3, ALWAYS, "CUDA 13.3", "launches of CUDA graphs with copies or fills do not leak memory"},
    {ANY, 130401, ALWAYS, "CUDA 13.4 update 1",
     "CUPTI's processor time does not grow in long recordings, and kernels of a module that is loaded again "
     "have their own names"},
    {ANY, 130401, CUDA_OPTION_LATENCY, "CUDA 13.4 update 1",
     "the times at which kernels were queued and submitted are recorded without a deadlock"},
};

void later_fixes_tell(void) {
    char text[TEXT_BYTES] = "";
    size_t length = 0;
    for (size_t i = 0; i < sizeof fixes / sizeof *fixes; i++) {
        if (cupti.version >= fixes[i].fixed || cupti.version < fixes[i].since ||
            (fixes[i].option != ALWAYS && !cuda_option((enum cuda_option)fixes[i].option)))
            continue;
        length += (size_t)snprintf(text + length, sizeof text - length, "%sfrom %s on %s", length ? "; " : "",
                                   fixes[i].release, fixes[i].what);
        length = length < sizeof text ? length : sizeof text - 1;
    }
    if (length && !vendor.partial)
        vendor_attribute("cupti.fixed_later", text);
}
