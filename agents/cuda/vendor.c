// SPDX-License-Identifier: Apache-2.0
// What the table of a vendor means for names. Rules: agent.h.
#include "vendor.h"

#include <stdio.h>
#include <string.h>

#include "agent.h"
#include "cupti.h"

const char *vendor_cuda_name(int domain, const char *name, char out[128]) {
    const bool runtime = domain == CUPTI_DOMAIN_RUNTIME;
    const char *const theirs = runtime ? vendor.runtime_calls : vendor.driver_calls;
    const size_t length = strlen(theirs);
    if (strncmp(name, theirs, length) != 0)
        return name;
    snprintf(out, 128, "%s%s", runtime ? "cuda" : "cu", name + length);
    return out;
}

void vendor_attribute(const char *key, const char *text) {
    char whole[96];
    snprintf(whole, sizeof whole, "%s.%s", vendor.api, key);
    channel_attribute(agent.channel, whole, text);
}
