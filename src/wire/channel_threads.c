// SPDX-License-Identifier: Apache-2.0
// The tracks of a process's threads, by thread id.
#include "base/table.h"
#include "wire/channel_private.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "wire/memory.h"

// All under the lock.

static uint32_t add_thread_track(struct channel *channel, uint32_t tid, const char *name, size_t length) {
    tsmith_track track = {
        .kind = TSMITH_TRACK_THREAD, .name = channel_table_string(channel, name, length), .tid = tid};
    return channel_table_add(channel, LAYOUT_ENTRY_TRACK, &track, sizeof track);
}

// The place of a thread id, or the empty one where it belongs; NULL without places.
static struct channel_thread *find_thread(const struct channel_threads *threads, uint32_t tid) {
    if (!threads->places)
        return NULL;
    return TABLE_SLOT(threads->items, threads->places, tid * UINT32_C(2654435761), slot,
                      !slot->tid || slot->tid == tid);
}

static bool grow_threads(struct channel_threads *threads) {
    struct channel_threads grown = {.places = threads->places ? 2 * threads->places : 64,
                                    .count = threads->count};
    if (2 * (threads->count + 1) <= threads->places)
        return true;
    grown.items = memory_take(grown.places * sizeof *grown.items);
    if (!grown.items)
        return false;
    TABLE_MOVE(threads->items, threads->places, grown.items, grown.places, slot, slot->tid,
               slot->tid * UINT32_C(2654435761));
    if (threads->items)
        munmap(threads->items, threads->places * sizeof *threads->items);
    *threads = grown;
    return true;
}

static void remember_thread(struct channel_process *process, uint32_t tid, uint32_t track, bool taken) {
    if (!track || !grow_threads(&process->threads_known))
        return;
    struct channel_thread *place = find_thread(&process->threads_known, tid);
    process->threads_known.count += place->tid == 0;
    *place = (struct channel_thread){.tid = tid, .track = track, .taken = taken};
}

uint32_t channel_make_thread_track(struct channel *channel) {
    char name[17] = {0};
    const uint32_t tid = (uint32_t)syscall(SYS_gettid);
    const struct channel_thread *known = find_thread(&channel->process->threads_known, tid);
    uint32_t track = known && known->tid && !known->taken ? known->track : 0;
    if (!track) {
        prctl(PR_GET_NAME, name, 0, 0, 0);
        track = add_thread_track(channel, tid, name, strnlen(name, sizeof name));
    }
    remember_thread(channel->process, tid, track, true);
    return track;
}

static uint32_t thread_track(struct channel *channel, uint32_t tid) {
    char path[64], name[64];
    const struct channel_thread *known = find_thread(&channel->process->threads_known, tid);
    if (known && known->tid)
        return known->track;
    snprintf(path, sizeof path, "/proc/self/task/%u/comm", tid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t length = fd >= 0 ? read(fd, name, sizeof name) : -1;
    if (fd >= 0)
        close(fd);
    length -= length > 0 && name[length - 1] == '\n';
    const uint32_t track = add_thread_track(channel, tid, name, length > 0 ? (size_t)length : 0);
    remember_thread(channel->process, tid, track, false);
    return track;
}

uint32_t channel_thread(struct channel *channel, uint32_t tid) {
    int saved = errno;
    uint32_t track = channel_lock(channel) ? thread_track(channel, tid) : 0;
    channel_unlock(channel);
    errno = saved;
    return track;
}
