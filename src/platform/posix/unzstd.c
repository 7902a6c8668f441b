// SPDX-License-Identifier: Apache-2.0
// Decompression by libzstd. The reader of SBT calls it.
#include "platform/unzstd.h"

#include <zstd.h>

bool unzstd(void **state, const void *bytes, size_t size, void *out, size_t plain) {
    if (!*state)
        *state = ZSTD_createDCtx();
    return *state && ZSTD_decompressDCtx(*state, out, plain, bytes, size) == plain;
}

void unzstd_finish(void *state) {
    ZSTD_freeDCtx(state);
}
