// SPDX-License-Identifier: Apache-2.0
// Maps Chrome trace categories to event kinds. The Chrome and Perfetto importers and exporters call it.
#include "event/category.h"

#include <string.h>

tsmith_kind category_kind(tsmith_string category, tsmith_kind otherwise) {
    static const struct {
        const char *category;
        tsmith_kind kind;
    } kinds[] = {
        {"kernel", TSMITH_KIND_KERNEL},
        {"Kernel", TSMITH_KIND_KERNEL},
        {"gpu_memcpy", TSMITH_KIND_MEMCPY},
        {"Memcpy", TSMITH_KIND_MEMCPY},
        {"gpu_memset", TSMITH_KIND_MEMSET},
        {"Memset", TSMITH_KIND_MEMSET},
        {"cuda_runtime", TSMITH_KIND_API},
        {"Runtime", TSMITH_KIND_API},
        {"cuda_driver", TSMITH_KIND_API},
        {"cuda_sync", TSMITH_KIND_SYNC},
        {"overhead", TSMITH_KIND_OVERHEAD},
        {"hip_runtime", TSMITH_KIND_API},
        {"xpu_runtime", TSMITH_KIND_API},
        {"xpu_driver", TSMITH_KIND_API},
        {"mtia_runtime", TSMITH_KIND_API},
        {"mtia_ccp_events", TSMITH_KIND_KERNEL},
        {"privateuse1_runtime", TSMITH_KIND_API},
        {"glow_runtime", TSMITH_KIND_API},
        {"kernel_dispatch", TSMITH_KIND_KERNEL},
        {"memory_copy", TSMITH_KIND_MEMCPY},
        {"memory_allocation", TSMITH_KIND_ALLOC},
        {"hip_api", TSMITH_KIND_API},
        {"hsa_api", TSMITH_KIND_API},
        {"rccl_api", TSMITH_KIND_API},
        {"concurrent_kernel", TSMITH_KIND_KERNEL},
    };
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strlen(kinds[i].category) == category.length &&
            memcmp(kinds[i].category, category.bytes, category.length) == 0)
            return kinds[i].kind;
    return otherwise;
}

tsmith_kind category_own_kind(tsmith_string category, tsmith_kind otherwise) {
    static const char prefix[] = "tracesmith.";
    size_t skip =
        category.length > sizeof prefix - 1 && memcmp(category.bytes, prefix, sizeof prefix - 1) == 0
            ? sizeof prefix - 1
            : 0;
    tsmith_kind kind = category.length ? tsmith_kind_find(category.bytes + skip) : TSMITH_KIND_NONE;
    return kind ? kind : category_kind(category, otherwise);
}
