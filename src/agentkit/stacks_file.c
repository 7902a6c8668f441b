// SPDX-License-Identifier: Apache-2.0
// The file of stacks: a page that says what it is, then segments, each a table of its own (wire/stack_table.h). The segments
// of a library are each twice as large as the one before; libraries that share a channel share the file, and put their
// segments one after the other. A stack's number is where it lies in the file, in words, so that who reads the file needs to
// know nothing of segments. A new segment is backed by space before it is used; new stacks go into the last one. When that is
// half full the control thread is woken to make the next one; if it is late, who needs room makes it.
//
// One thread at a time grows the file. The others wait a little for it; a thread that was interrupted by a signal
// while it grew the file records no stack.
#include "agentkit/stacks_private.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "agentkit/control.h"
#include "base/file.h"
#include "wire/channel_private.h"
#include "wire/stack_table.h"

// PATIENCE, in yields: some ms, which the helper needs for a segment of many MiB while the processors are busy.
enum { SEGMENTS = 9, PATIENCE = 1 << 16 };
#define SEGMENT_FIRST (UINT64_C(1) << 20)

static struct {
    _Atomic uint64_t channel_id; // whose file this is
    struct stack_table *_Atomic segments[SEGMENTS];
    uint64_t at[SEGMENTS]; // where it begins in the file; written before the segment
    _Atomic uint32_t count;
    _Atomic uint32_t growing;
    _Atomic uint32_t full;  // no more space is to be had
    _Atomic uint32_t asked; // as many segments as there were when more was asked for
    struct channel *channel;
    bool is_used; // of a session that is over: a thread may still write into it, so that it stays mapped
} file;

// 1, 1, 2, 4 ... MiB.
static uint64_t segment_bytes(uint32_t index) {
    return index ? SEGMENT_FIRST << (index - 1) : SEGMENT_FIRST;
}

uint64_t stacks_file_of(void) {
    return atomic_load_explicit(&file.channel_id, memory_order_acquire);
}

bool stacks_file_current(const struct channel *channel) {
    return stacks_file_of() == atomic_load_explicit(&channel->gate.id, memory_order_relaxed);
}

static int open_file(const struct channel *channel, int flags) {
    char path[PATH_BYTES];
    size_t stem = strlen(channel->process->path) - strlen(LAYOUT_CHANNEL_SUFFIX);
    if (stem + sizeof LAYOUT_STACKS_SUFFIX > sizeof path)
        return -1;
    memcpy(path, channel->process->path, stem);
    memcpy(path + stem, LAYOUT_STACKS_SUFFIX, sizeof LAYOUT_STACKS_SUFFIX);
    return open(path, flags | O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0600);
}

static bool add_segment(int fd) {
    uint32_t index = atomic_load(&file.count);
    uint64_t bytes = index < SEGMENTS ? segment_bytes(index) : 0;
    if (!bytes)
        return false;
    // No other library is given the same part.
    const uint64_t at = LAYOUT_PAGE + atomic_fetch_add(&file.channel->process->stack_bytes, bytes);
    if (!file_reserve(fd, at, bytes))
        return false;
    void *memory = file_map(fd, at, bytes);
    if (!memory)
        return false;
    struct stack_table *table = stack_table_init(memory, bytes);
    file.at[index] = at;
    atomic_store_explicit(&file.segments[index], table, memory_order_release);
    atomic_store_explicit(&file.count, index + 1, memory_order_release);
    return true;
}

// The parent's segments, under the channel's lock: this process has no other threads yet. Or those of a session that is over.
static void forget_segments(bool unmap) {
    for (uint32_t i = 0; unmap && i < atomic_load(&file.count); i++)
        munmap(atomic_load(&file.segments[i]), segment_bytes(i));
    atomic_store(&file.count, 0);
    atomic_store(&file.growing, 0);
    atomic_store(&file.full, 0);
    atomic_store(&file.asked, 0);
}

void stacks_file_end(void) {
    atomic_store(&file.channel_id, 0);
}

void stacks_file_forget(bool is_used) {
    file.is_used = is_used;
    if (!is_used)
        forget_segments(true);
}

bool stacks_file_open(struct channel *channel) {
    bool done = false;
    int fd = -1, saved = errno;
    if (!channel_lock(channel)) // makes a forked child's channel
        goto done;
    uint64_t id = atomic_load(&channel->gate.id);
    done = atomic_load(&file.channel_id) == id;
    if (done)
        goto done;
    forget_segments(!file.is_used);
    file.is_used = false;
    file.channel = channel;
    fd = open_file(channel, atomic_load(&channel->process->stack_bytes) ? 0 : O_CREAT | O_EXCL);
    if (fd >= 0 && file_reserve(fd, 0, LAYOUT_PAGE) && add_segment(fd)) {
        const struct layout_stacks head = {.magic = LAYOUT_STACKS_MAGIC, .version = LAYOUT_VERSION};
        done = pwrite(fd, &head, sizeof head, 0) == (ssize_t)sizeof head;
    }
    atomic_store(&file.full, !done);
    // Without a file, too: this channel has none, and is not asked for it again.
    atomic_store_explicit(&file.channel_id, id, memory_order_release);
done:
    channel_unlock(channel);
    if (fd >= 0)
        close(fd);
    errno = saved;
    return done;
}

// More room than `count` segments had. False: there is none.
static bool grow(uint32_t count) {
    static __thread bool is_growing __attribute__((tls_model("initial-exec")));
    uint32_t unowned = 0;
    if (is_growing)
        return false;
    for (int i = 0; atomic_load_explicit(&file.count, memory_order_acquire) == count; i++) {
        if (atomic_load_explicit(&file.full, memory_order_relaxed) || i == PATIENCE)
            return false;
        if (!atomic_compare_exchange_strong(&file.growing, &unowned, 1)) {
            unowned = 0;
            sched_yield();
            continue;
        }
        is_growing = true;
        if (atomic_load(&file.count) == count) {
            int saved = errno, fd = open_file(file.channel, 0);
            if (fd < 0 || !add_segment(fd))
                atomic_store(&file.full, 1);
            if (fd >= 0)
                close(fd);
            errno = saved;
        }
        is_growing = false;
        atomic_store_explicit(&file.growing, 0, memory_order_release);
    }
    return true;
}

void stacks_file_prepare(void) {
    uint32_t count = atomic_load_explicit(&file.count, memory_order_acquire);
    if (count &&
        stack_table_is_half_full(atomic_load_explicit(&file.segments[count - 1], memory_order_acquire)))
        (void)grow(count);
}

// After something was added to the last of `count` segments.
static void ask_for_more(const struct stack_table *last, uint32_t segments) {
    if (__builtin_expect(stack_table_is_half_full(last), 0) && segments < SEGMENTS &&
        atomic_load_explicit(&file.asked, memory_order_relaxed) < segments &&
        atomic_exchange_explicit(&file.asked, segments, memory_order_relaxed) < segments)
        agent_control_wake();
}

static uint32_t number_of(uint32_t segment, uint32_t id) {
    return (uint32_t)(file.at[segment] / sizeof(uint64_t)) + id;
}

uint32_t stacks_file_add(const uint64_t *words, uint32_t count, uint32_t flags) {
    const uint64_t hash = stack_table_hash(words, count, flags);
    for (;;) {
        struct stack_table *tables[SEGMENTS];
        uint32_t segments = atomic_load_explicit(&file.count, memory_order_acquire);
        for (uint32_t i = 0; i < segments; i++) {
            tables[i] = atomic_load_explicit(&file.segments[i], memory_order_acquire);
            stack_table_prefetch(tables[i], hash);
        }
        for (uint32_t i = 0; i + 1 < segments; i++) {
            uint32_t id = stack_table_find(tables[i], hash, words, count, flags);
            if (id)
                return number_of(i, id);
        }
        uint32_t last = segments - 1,
                 id = segments ? stack_table_add(tables[last], hash, words, count, flags) : 0;
        if (id) {
            ask_for_more(tables[last], segments);
            return number_of(last, id);
        }
        if (!segments || !grow(segments))
            return 0;
    }
}
