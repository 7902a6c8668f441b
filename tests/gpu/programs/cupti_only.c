// SPDX-License-Identifier: Apache-2.0
// An injected library that asks CUPTI for what TraceSmith asks for, and drops it: what CUPTI itself costs. With
// CUPTI_BUFFERS=FILE it keeps the first buffers as they are, as test data: "TSCUPTI1", CUPTI's version (u32), then for
// each buffer its bytes (u64) and the buffer.
#include <cupti.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { BUFFER_BYTES = 1 << 20, KEPT_MOST = 1 << 20 };

static FILE *kept;
static size_t kept_bytes;

static void CUPTIAPI give(uint8_t **buffer, size_t *size, size_t *records) {
    *buffer = aligned_alloc(8, BUFFER_BYTES);
    *size = *buffer ? BUFFER_BYTES : 0;
    *records = 0;
}

static void CUPTIAPI take(CUcontext context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid) {
    const uint64_t bytes = valid;
    (void)context, (void)stream, (void)size;
    if (kept && valid && kept_bytes + valid <= KEPT_MOST) {
        fwrite(&bytes, sizeof bytes, 1, kept);
        fwrite(buffer, 1, valid, kept);
        fflush(kept);
        kept_bytes += valid;
    }
    free(buffer);
}

static void at_exit(void) {
    cuptiActivityFlushAll(0);
}

static void open_kept(void) {
    const char *path = getenv("CUPTI_BUFFERS");
    uint32_t version = 0;
    cuptiGetVersion(&version);
    kept = path ? fopen(path, "wb") : NULL;
    if (kept) {
        fwrite("TSCUPTI1", 8, 1, kept);
        fwrite(&version, sizeof version, 1, kept);
    }
}

int InitializeInjection(void);
__attribute__((visibility("default"))) int InitializeInjection(void) {
    static const CUpti_ActivityKind kinds[] = {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
                                               CUPTI_ACTIVITY_KIND_MEMCPY,
                                               CUPTI_ACTIVITY_KIND_MEMSET,
                                               CUPTI_ACTIVITY_KIND_RUNTIME,
                                               CUPTI_ACTIVITY_KIND_DRIVER,
                                               CUPTI_ACTIVITY_KIND_SYNCHRONIZATION};
    open_kept();
    if (cuptiActivityRegisterCallbacks(give, take) != CUPTI_SUCCESS)
        return 0;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        cuptiActivityEnable(kinds[i]);
    atexit(at_exit);
    return 1;
}
