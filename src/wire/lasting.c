// SPDX-License-Identifier: Apache-2.0
// Lasting objects (lasting.h), used by channels and sessions: objects are cut
// from blocks, and a block counts those that have left.
#include "wire/lasting.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

// LeakSanitizer finds pointers in memory of malloc and in registered regions.
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define WITH_LEAK_SANITIZER
#endif
#elif defined __SANITIZE_ADDRESS__
#define WITH_LEAK_SANITIZER
#endif
#ifdef WITH_LEAK_SANITIZER
void __lsan_register_root_region(const void *begin, size_t size);
void __lsan_unregister_root_region(const void *begin, size_t size);
#endif

#define BLOCK ((uintptr_t)64 * 1024) // of each page size that there is
#define HEAD ((uintptr_t)64)

struct block {
    _Atomic uint32_t left; // objects
};

static size_t stride(const struct lasting *objects) {
    return (objects->bytes + 15) & ~(size_t)15;
}

static uintptr_t capacity(const struct lasting *objects) {
    return (BLOCK - HEAD) / stride(objects);
}

// 0: out of memory.
static uintptr_t make_block(void) {
    char *mapped = mmap(NULL, 2 * BLOCK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED)
        return 0;
    char *block = mapped + (-(uintptr_t)mapped & (BLOCK - 1));
    if (block != mapped)
        munmap(mapped, (size_t)(block - mapped));
    if (block != mapped + BLOCK)
        munmap(block + BLOCK, (size_t)(mapped + BLOCK - block));
#ifdef WITH_LEAK_SANITIZER
    __lsan_register_root_region(block, BLOCK);
#endif
    return (uintptr_t)block;
}

// Of which no object was taken.
static void drop_block(uintptr_t block) {
#ifdef WITH_LEAK_SANITIZER
    __lsan_unregister_root_region((void *)block, BLOCK);
#endif
    munmap((void *)block, BLOCK);
}

void *lasting_take(struct lasting *objects) {
    uintptr_t at = atomic_load(&objects->at);
    for (;;) {
        const uintptr_t taken = at & (BLOCK - 1);
        uintptr_t block = at - taken, made = 0;
        if (!block || taken == capacity(objects)) {
            block = made = make_block();
            if (!block)
                return NULL;
        }
        const uintptr_t index = made ? 0 : taken;
        if (atomic_compare_exchange_weak(&objects->at, &at, block + index + 1))
            return (char *)block + HEAD + index * stride(objects);
        if (made)
            drop_block(made);
    }
}

void lasting_leave(const struct lasting *objects, void *object) {
    if (!object)
        return;
    struct block *block = (struct block *)((uintptr_t)object & ~(BLOCK - 1));
    // Readers may be there: the bare system call, as a race detector would take
    // libc's for a write.
    if (atomic_fetch_add(&block->left, 1) + 1 == capacity(objects))
        syscall(SYS_madvise, block, BLOCK, MADV_DONTNEED);
}
