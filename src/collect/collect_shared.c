// SPDX-License-Identifier: Apache-2.0
// How the collector looks at and changes the files of the processes that record.
//
// A recorded program may truncate its files at any moment. Looking is pread into private memory: a short read is an
// answer, where a load from a mapping would be SIGBUS. Changing the state of a sub-buffer takes atomic operations on shared
// memory, as its owner changes it too; the kernel does them (FUTEX_WAKE_OP) at an address of a mapping that this process
// never touches itself: where the page is gone, the system call fails with EFAULT. The only changes are setting and
// clearing one bit (PEEK, which keeps the owner from taking the sub-buffer back) and storing the state of a full
// sub-buffer that has it, so no compare-and-exchange is needed: after setting PEEK the collector looks at what it was set
// in.
//
// A channel of this process itself has the same memory as its emitters, and atomic operations on it.
#include <errno.h>
#include <linux/futex.h>
#include <stddef.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "collect/collect_private.h"

// What was read is older than what is read from here on.
static bool read_shared(int fd, void *to, size_t offset, size_t bytes) {
    for (size_t done = 0; done < bytes;) {
        ssize_t got = pread(fd, (char *)to + offset + done, bytes - done, (off_t)(offset + done));
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        done += (size_t)got;
    }
    atomic_thread_fence(memory_order_acquire);
    return true;
}

static bool set_soundness(struct collect_channel *channel, bool sound) {
    channel->files_damaged |= !sound;
    return !channel->files_damaged;
}

bool collect_look_at_head(struct collect_channel *channel) {
    if (!channel->live || channel->files_damaged)
        return !channel->files_damaged;
    struct layout_channel now;
    bool sound = read_shared(channel->table_fd, &now, 0, sizeof now) && now.magic == LAYOUT_CHANNEL_MAGIC;
    if (sound)
        memcpy(channel->head, &now, sizeof now);
    for (uint32_t i = 1; sound && i < collect_ledger_count(channel); i++)
        sound = read_shared(channel->table_fd, channel->head, (size_t)i * LAYOUT_PAGE,
                            sizeof(struct layout_ledger));
    return set_soundness(channel, sound);
}

// The counts; they never shrink.
static bool look_at_counts(struct collect_channel *channel) {
    struct layout_rings now;
    bool sound = read_shared(channel->rings_fd, &now, 0, sizeof now) && now.magic == LAYOUT_RINGS_MAGIC &&
                 now.sub_count >= channel->rings->sub_count && now.slot_count >= channel->rings->slot_count;
    if (sound)
        memcpy(channel->rings, &now, sizeof now);
    return set_soundness(channel, sound);
}

bool collect_look_at_subs(struct collect_channel *channel) {
    if (!channel->shared || channel->files_damaged)
        return !channel->files_damaged;
    if (!look_at_counts(channel))
        return false;
    uint32_t count = channel->rings->sub_count;
    count = count < LAYOUT_SUBS ? count : LAYOUT_SUBS;
    return set_soundness(channel, read_shared(channel->rings_fd, channel->rings, LAYOUT_SUBS_AT,
                                              count * sizeof(struct layout_sub)));
}

bool collect_look_at_slots(struct collect_channel *channel) {
    if (!channel->shared || channel->files_damaged)
        return !channel->files_damaged;
    if (!look_at_counts(channel))
        return false;
    uint32_t count = channel->rings->slot_count;
    count = count < LAYOUT_SLOTS ? count : LAYOUT_SLOTS;
    return set_soundness(channel, read_shared(channel->rings_fd, channel->rings, LAYOUT_SLOTS_AT,
                                              count * sizeof(struct layout_slot)));
}

bool collect_look_at_sub(struct collect_channel *channel, uint32_t sub) {
    if (!channel->shared || channel->files_damaged)
        return !channel->files_damaged;
    return set_soundness(channel, read_shared(channel->rings_fd, channel->rings,
                                              LAYOUT_SUBS_AT + sub * sizeof(struct layout_sub),
                                              sizeof(struct layout_sub)));
}

// ---- changing

static _Atomic uint32_t *local_state(const struct collect_channel *channel, uint32_t sub) {
    return &layout_sub_at(channel->rings, sub)->state;
}

// One atomic operation on the state of a sub-buffer in the file, by the kernel: ordered like a sequentially consistent
// one. No thread waits on either word, so none is woken.
static bool change_state(struct collect_channel *channel, uint32_t sub, int operation, uint32_t operand) {
    static uint32_t unused_word;
    const size_t at = LAYOUT_SUBS_AT + sub * sizeof(struct layout_sub) + offsetof(struct layout_sub, state);
    if (channel->files_damaged || !channel->shared)
        return false;
    const long done = syscall(SYS_futex, &unused_word, FUTEX_WAKE_OP | FUTEX_PRIVATE_FLAG, 0, NULL,
                              (char *)channel->shared + at, FUTEX_OP(operation, operand, FUTEX_OP_CMP_EQ, 0));
    return set_soundness(channel, done >= 0);
}

bool collect_set_peek(struct collect_channel *channel, uint32_t sub) {
    if (!channel->local)
        return change_state(channel, sub, FUTEX_OP_OR, LAYOUT_SUB_PEEK);
    atomic_fetch_or_explicit(local_state(channel, sub), LAYOUT_SUB_PEEK, memory_order_acq_rel);
    return true;
}

bool collect_clear_peek(struct collect_channel *channel, uint32_t sub) {
    if (!channel->local)
        return change_state(channel, sub, FUTEX_OP_ANDN, LAYOUT_SUB_PEEK);
    atomic_fetch_and_explicit(local_state(channel, sub), ~(uint32_t)LAYOUT_SUB_PEEK, memory_order_release);
    return true;
}

bool collect_set_state(struct collect_channel *channel, uint32_t sub, uint32_t state) {
    if (!channel->local)
        return change_state(channel, sub, FUTEX_OP_SET, state);
    atomic_store_explicit(local_state(channel, sub), state, memory_order_release);
    return true;
}

void collect_write_before(struct collect_channel *channel, uint32_t sub) {
    const struct layout_sub *now = layout_sub_at(channel->rings, sub);
    const size_t at = LAYOUT_SUBS_AT + sub * sizeof *now;
    const size_t expected = offsetof(struct layout_sub, expected),
                 thread = offsetof(struct layout_sub, thread_before);
    if (channel->local || channel->files_damaged)
        return;
    // A file that is shorter by now must not grow again: what is in it would look whole.
    if (pwrite(channel->rings_fd, &now->expected, sizeof now->expected, (off_t)(at + expected)) < 0 ||
        pwrite(channel->rings_fd, &now->thread_before, sizeof now->thread_before, (off_t)(at + thread)) < 0)
        (void)set_soundness(channel, false);
}
