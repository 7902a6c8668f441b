// SPDX-License-Identifier: Apache-2.0
// An injected library that asks CUPTI for what TraceSmith asks for, and drops it: what CUPTI itself costs. With
// CUPTI_BUFFERS=FILE it keeps the first buffers as they are, as test data: "TSCUPTI1", CUPTI's version (u32), then for
// each buffer its bytes (u64), the buffer, and the names that its kernels' pointers are of: how many (u32), and of each
// the pointer (u64), its bytes (u32) and the name.
#include <cupti.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// NAME_AT: where a kernel's record has the pointer to its name, in every version since CUDA 9.
enum { BUFFER_BYTES = 1 << 20, KEPT_MOST = 1 << 20, NAME_AT = 104, NAMES_MOST = 256 };

static FILE *kept;
static size_t kept_bytes;

static void keep_names(uint8_t *buffer, size_t valid) {
    const char *names[NAMES_MOST];
    uint32_t count = 0;
    CUpti_Activity *record = NULL;
    while (cuptiActivityGetNextRecord(buffer, valid, &record) == CUPTI_SUCCESS) {
        const char *name = NULL;
        uint32_t at = 0;
        if (record->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL)
            memcpy(&name, (const uint8_t *)record + NAME_AT, sizeof name);
        while (at < count && names[at] != name)
            at++;
        if (name && at == count && count < NAMES_MOST)
            names[count++] = name;
    }
    fwrite(&count, sizeof count, 1, kept);
    for (uint32_t i = 0; i < count; i++) {
        const uint64_t pointer = (uintptr_t)names[i];
        const uint32_t length = (uint32_t)strlen(names[i]);
        fwrite(&pointer, sizeof pointer, 1, kept);
        fwrite(&length, sizeof length, 1, kept);
        fwrite(names[i], 1, length, kept);
    }
}

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
        keep_names(buffer, valid);
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
