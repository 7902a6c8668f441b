// SPDX-License-Identifier: Apache-2.0
// The library's own free(), for callers that have another heap.
#include "tracesmith/memory.h"

#include <stdlib.h>

void tsmith_free(void *memory) {
    free(memory);
}
