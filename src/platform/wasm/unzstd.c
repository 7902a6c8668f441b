// SPDX-License-Identifier: Apache-2.0
// Decompression without libzstd, which Debian does not have for WebAssembly. The reader of SBT calls it.
#include "platform/unzstd.h"

#include <stdlib.h>

bool unzstd(void **state, const void *bytes, size_t size, void *out, size_t plain) {
    return unzstd_own(state, bytes, size, out, plain);
}

void unzstd_finish(void *state) {
    free(state);
}
