// SPDX-License-Identifier: Apache-2.0
// A process's rings file: where its sub-buffers come from. Every byte is backed by space before it is
// touched, so that a full file system is an answer and not a signal. No descriptor stays open: programs close
// those they do not know.
#include "wire/ring_pool.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/file.h"

// Sub-buffers are mapped all their life; their addresses are kept in lazily backed pages.
static const size_t BASES_BYTES = LAYOUT_SUBS * sizeof(_Atomic(uint64_t *));

// Backs the page that holds element `index` of an array at `offset`, when it is the first one there.
static bool reserve_element(int fd, uint32_t offset, uint32_t element_bytes, uint32_t index) {
    uint64_t at = (uint64_t)index * element_bytes;
    return at % LAYOUT_PAGE || file_reserve(fd, offset + at, LAYOUT_PAGE);
}

bool ring_pool_open(struct ring_pool *pool, char *path, struct layout_control *control) {
    bool done = false;
    int fd = -1;
    memset(pool, 0, sizeof *pool);
    pool->control = control;
    pool->sub_bytes = control->sub_buffer_bytes;
    pool->quota = control->ring_sub_buffers;
    pool->path = path;
    fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    struct stat status;
    // The last page of the head makes the file as long as the head; those between are backed as they come to be used.
    if (fd < 0 || fstat(fd, &status) || !file_reserve(fd, LAYOUT_DATA_AT - LAYOUT_PAGE, LAYOUT_PAGE) ||
        !file_reserve(fd, 0, LAYOUT_PAGE))
        goto done;
    pool->device = status.st_dev;
    pool->inode = status.st_ino;
    void *head = mmap(NULL, LAYOUT_DATA_AT, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (head == MAP_FAILED)
        goto done;
    pool->rings = head;
    void *bases = mmap(NULL, BASES_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (bases == MAP_FAILED)
        goto done;
    pool->bases = bases;
    pool->rings->version = LAYOUT_VERSION;
    pool->rings->sub_buffer_bytes = pool->sub_bytes;
    pool->rings->magic = LAYOUT_RINGS_MAGIC;
    done = true;
done:
    if (fd >= 0)
        close(fd);
    if (!done) {
        int saved = errno;
        ring_pool_unmap(pool);
        if (fd >= 0)
            unlink(path);
        errno = saved;
    }
    return done;
}

static uint32_t mapped_subs(struct ring_pool *pool) {
    return pool->rings ? atomic_load_explicit(&pool->rings->sub_count, memory_order_relaxed) : 0;
}

void ring_pool_unmap(struct ring_pool *pool) {
    if (pool->bases) {
        uint32_t count = mapped_subs(pool);
        for (uint32_t i = 0; i < count && i < LAYOUT_SUBS; i++) {
            uint64_t *base = atomic_load_explicit(&pool->bases[i], memory_order_relaxed);
            if (base)
                munmap(base, pool->sub_bytes);
        }
        munmap((void *)(uintptr_t)pool->bases, BASES_BYTES);
    }
    if (pool->rings)
        munmap(pool->rings, LAYOUT_DATA_AT);
    pool->bases = NULL;
    pool->rings = NULL;
}

void ring_pool_make_private(void *at, size_t bytes) {
    // The bare system call: a race detector takes libc's mmap for a write to the pages, but the kernel replaces the
    // mapping as a whole, and a thread that touches it meanwhile waits for the new one.
    syscall(SYS_mmap, at, bytes, PROT_READ | PROT_WRITE,
            MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0L);
}

void ring_pool_detach(struct ring_pool *pool) {
    uint32_t count = mapped_subs(pool);
    for (uint32_t i = 0; i < count; i++) {
        uint64_t *base = atomic_load_explicit(&pool->bases[i], memory_order_relaxed);
        if (base)
            ring_pool_make_private(base, pool->sub_bytes);
    }
    ring_pool_make_private(pool->rings, LAYOUT_DATA_AT);
    // Read by ring_pool_unmap, when the last thread has left.
    atomic_store_explicit(&pool->rings->sub_count, count, memory_order_relaxed);
}

static void lock(struct ring_pool *pool) {
    while (atomic_flag_test_and_set_explicit(&pool->growing, memory_order_acquire))
        sched_yield();
}

static void unlock(struct ring_pool *pool) {
    atomic_flag_clear_explicit(&pool->growing, memory_order_release);
}

uint32_t ring_pool_slot(struct ring_pool *pool) {
    uint32_t slot = UINT32_MAX;
    int saved = errno;
    lock(pool);
    uint32_t count = atomic_load_explicit(&pool->rings->slot_count, memory_order_relaxed);
    int fd = count < LAYOUT_SLOTS ? open(pool->path, O_RDWR | O_CLOEXEC | O_NOFOLLOW) : -1;
    if (fd >= 0 && reserve_element(fd, LAYOUT_SLOTS_AT, sizeof(struct layout_slot), count)) {
        slot = count;
        atomic_store_explicit(&pool->rings->slot_count, count + 1, memory_order_release);
    }
    if (fd >= 0)
        close(fd);
    unlock(pool);
    errno = saved;
    return slot;
}

uint32_t ring_pool_grow(struct ring_pool *pool) {
    uint32_t index = UINT32_MAX;
    int saved = errno;
    lock(pool);
    uint32_t count = atomic_load_explicit(&pool->rings->sub_count, memory_order_relaxed);
    uint64_t offset = layout_data_offset(pool->sub_bytes, count);
    int fd = count < LAYOUT_SUBS ? open(pool->path, O_RDWR | O_CLOEXEC | O_NOFOLLOW) : -1;
    if (fd >= 0 && reserve_element(fd, LAYOUT_SUBS_AT, sizeof(struct layout_sub), count) &&
        file_reserve(fd, offset, pool->sub_bytes)) {
        void *base = file_map(fd, offset, pool->sub_bytes);
        if (base) {
            index = count;
            atomic_store_explicit(&pool->bases[index], base, memory_order_release);
            atomic_store_explicit(&pool->rings->sub_count, count + 1, memory_order_release);
        }
    }
    if (fd >= 0)
        close(fd);
    unlock(pool);
    errno = saved;
    return index;
}
