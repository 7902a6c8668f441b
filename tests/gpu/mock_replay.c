// SPDX-License-Identifier: Apache-2.0
// What replay_probe asks of a driver, over the mock of libcuda, which has the rest: memory at fixed addresses is the
// host's, and a checkpoint does nothing. MOCK_REPLAY=wrong: every answer is that of a driver that cannot do it.
#define _GNU_SOURCE
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { GRANULARITY = 2 << 20, REFUSED = 801 };

static int wrong(void) {
    return getenv("MOCK_REPLAY") != NULL;
}

int cuFuncGetParamInfo(void *function, size_t index, size_t *offset, size_t *size) {
    static const size_t offsets[] = {0, 8, 16, 24, 48}, sizes[] = {8, 8, 4, 24, 1};
    (void)function;
    if (index >= sizeof sizes / sizeof *sizes)
        return 1;
    *offset = offsets[index];
    *size = wrong() ? 4 : sizes[index];
    return 0;
}

int cuMemGetAllocationGranularity(size_t *size, const void *properties, int option) {
    (void)properties, (void)option;
    *size = GRANULARITY;
    return 0;
}

// As the driver does: the address is a wish.
int cuMemAddressReserve(uint64_t *at, size_t size, size_t alignment, uint64_t wanted, uint64_t flags) {
    (void)alignment, (void)flags;
    void *got =
        mmap(wrong() ? NULL : (void *)(uintptr_t)wanted, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    *at = (uint64_t)(uintptr_t)got;
    return got == MAP_FAILED;
}

int cuMemCreate(uint64_t *handle, size_t size, const void *properties, uint64_t flags) {
    (void)size, (void)properties, (void)flags;
    *handle = 1;
    return 0;
}

int cuMemMap(uint64_t at, size_t size, size_t offset, uint64_t handle, uint64_t flags) {
    (void)at, (void)size, (void)offset, (void)handle, (void)flags;
    return 0;
}

int cuMemSetAccess(uint64_t at, size_t size, const void *access, size_t count) {
    (void)access, (void)count;
    return mprotect((void *)(uintptr_t)at, size, PROT_READ | PROT_WRITE) != 0;
}

int cuMemcpyHtoD_v2(uint64_t to, const void *from, size_t bytes) {
    memcpy((void *)(uintptr_t)to, from, bytes);
    return 0;
}

int cuCheckpointProcessLock(int pid, void *how) {
    (void)pid, (void)how;
    return 0;
}
int cuCheckpointProcessCheckpoint(int pid, void *how) {
    (void)pid, (void)how;
    return 0;
}
int cuCheckpointProcessRestore(int pid, void *how) {
    (void)pid, (void)how;
    return wrong() ? REFUSED : 0;
}
int cuCheckpointProcessUnlock(int pid, void *how) {
    (void)pid, (void)how;
    return 0;
}
