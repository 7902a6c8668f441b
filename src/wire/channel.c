// SPDX-License-Identifier: Apache-2.0
// The life of a channel in its process: open, other APIs that join, threads coming and going, fork, close.
//
// All that is not on the stack or in a mapping is in the process's room (struct channel_room), of which the libraries of
// a process that have the same build of this code use one (meeting.h). The room is the first one's, and is never
// unloaded. Each library runs its own copy of the code on it.
//
//     OPEN --fork, in the child--> FORKED --first use--> REVIVING --> OPEN (own files, same ids) or DEAD
//     OPEN --the last of its APIs closes--> CLOSED --all detached--> CLOSED, without memory in the session
//     CLOSED and parked --its entries were taken over, no thread has a ring of it--> OPEN, in another session
//
// Locks: the room's open_lock, registry_lock, then a process's lock. The event path takes none. A thread may be about to look
// at the gate of a channel that is over: channels are lasting (wire/lasting.h). A process is freed when it was detached, no
// thread has a ring of it, and no call is between channel_enter and channel_leave, by which a thread comes from a channel
// to its process. The next call of channel_detach does so.
//
// A fork takes none of them. A thread in a driver may need one while it holds the driver's own locks, and the forking
// thread waits for those in the fork handlers of the driver: if it held ours by then, both would wait forever. A forked
// child may therefore find changes of other threads half done: for each thread, a prefix of its stores, in order. Data
// that the child relies on is therefore published by one store after everything that belongs to it: a process in the
// registry, a channel in its list, an entry of the table. Everything else it makes anew, without the program's allocator.
#include "wire/channel_private.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/thread_sanitizer.h"
#include "tracesmith/capture.h"
#include "wire/lasting.h"
#include "wire/meeting.h"
#include "wire/memory.h"
#include "wire/process.h"

// Of the library whose room it is: initial-exec, so that it is at one offset from every thread's pointer, without allocation,
// and small enough for the room libc keeps for libraries that are loaded late.
static __thread struct channel_here room_here __attribute__((tls_model("initial-exec")));
static struct channel_room own_room = {.open_lock = PTHREAD_MUTEX_INITIALIZER,
                                       .registry_lock = PTHREAD_MUTEX_INITIALIZER};
static struct channel_room *room; // own_room, or that of another library
static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct lasting channels = {.bytes = sizeof(struct channel)};
ptrdiff_t channel_here_at;

static const uint32_t RING_BACKOFF = 1024; // calls

// ---- locks

// Every lock of a channel is taken through these. A signal handler that emits while its thread has one, or waits for
// one, sees `inside` and is refused: it would wait for its own thread.
static void lock(struct channel_process *process) {
    channel_here()->inside++;
    atomic_signal_fence(memory_order_seq_cst);
    pthread_mutex_lock(&process->lock);
}

static void unlock(struct channel_process *process) {
    pthread_mutex_unlock(&process->lock);
    atomic_signal_fence(memory_order_seq_cst);
    channel_here()->inside--;
}

void channel_enter(void) {
    atomic_fetch_add(&room->users, 1);
}

void channel_leave(void) {
    atomic_fetch_sub(&room->users, 1);
}

// ---- threads

// A signal handler must not find a ring with the id 0, which is that of a channel that is over.
static void forget_rings(struct channel_here *here) {
    here->ring = NULL;
    atomic_signal_fence(memory_order_seq_cst);
    here->id = 0;
    here->owners = NULL;
    here->backoff = 0;
}

// Under the channel's lock. The ring is the calling thread's.
static void ring_part(struct ring_owner *owner) {
    struct channel_process *process = owner->process;
    process->threads--;
    if (process->state == CHANNEL_OPEN) {
        ring_leave(&owner->ring);
        return;
    }
    ring_free(&owner->ring);
    if (process->detached && process->threads == 0)
        ring_pool_unmap(&process->pool);
}

static void thread_end(void *unused) {
    (void)unused;
    struct ring_owner *owner = room_here.owners;
    forget_rings(&room_here);
    room_here.inside = 0;
    while (owner) {
        struct ring_owner *next = owner->next;
        struct channel_process *process = owner->process;
        lock(process);
        ring_part(owner);
        unlock(process);
        owner = next;
    }
}

// Rings of this thread whose channel is over.
static void drop_stale_rings(void) {
    struct ring_owner **at = &channel_here()->owners;
    while (*at) {
        struct ring_owner *owner = *at;
        struct channel_process *process = owner->process;
        lock(process);
        bool stale = owner->process_id != atomic_load(&process->id);
        if (stale) {
            *at = owner->next;
            ring_part(owner);
        }
        unlock(process);
        if (!stale)
            at = &owner->next;
    }
}

// ---- fork

// What the gates of a process's open channels compare with the thread's ring. Under the process's lock, or before another
// thread can know of the process.
static void set_id(struct channel_process *process, uint64_t id) {
    atomic_store(&process->id, id);
    for (struct channel *channel = process->channels; channel; channel = channel->next)
        if (!channel->closed)
            atomic_store(&channel->gate.id, id);
}

// In the child: nothing of the parent's may be touched again, but read.
static void fork_process(struct channel_process *process) {
    bool open = false;
    pthread_mutex_init(&process->lock, NULL); // the thread that has it does not exist in this process
    for (struct channel *channel = process->channels; channel; channel = channel->next) {
        channel->closed = channel->closed || channel->not_in_children;
        atomic_store(&channel->gate.id, channel->closed ? CHANNEL_CLOSED_ID : CHANNEL_FORKED_ID);
        open = open || !channel->closed;
    }
    atomic_store(&process->id, CHANNEL_FORKED_ID);
    process->threads = 0;
    if (process->state == CHANNEL_OPEN)
        process->state = CHANNEL_FORKED;
    // Another thread of a forked child was making the files that this process would copy.
    if (process->state == CHANNEL_REVIVING)
        process->state = CHANNEL_TORN;
    if (!open && process->state != CHANNEL_CLOSED)
        process->state = CHANNEL_DEAD;
}

static void after_fork_child(void) {
    thread_sanitizer_pause();
    // A signal handler may have forked while its thread had a lock: it goes on under it, and `inside` stays.
    forget_rings(&room_here);
    // Another thread may have been changing the list. If one was in a process, here nothing is freed any more.
    own_room.retired = NULL;
    if (atomic_load(&own_room.users))
        atomic_store(&own_room.users, INT64_MAX / 2);
    pthread_mutex_init(&own_room.open_lock, NULL);
    pthread_mutex_init(&own_room.registry_lock, NULL);
    for (struct channel_process *process = own_room.registry; process; process = process->next)
        fork_process(process);
    thread_sanitizer_resume();
}

// Only the library whose room it is has its handlers for forks and threads that end. One that made a room ready, and then
// found that another was faster, leaves a handler for an empty one.
static struct channel_room *make_room(void) {
    if (pthread_key_create(&own_room.thread_key, thread_end))
        return NULL;
    own_room.here_at = (char *)&room_here - thread_pointer();
    pthread_atfork(NULL, NULL, after_fork_child);
    struct meeting *first = meeting_publish(&own_room.meeting);
    if (first != &own_room.meeting)
        pthread_key_delete(own_room.thread_key);
    return (struct channel_room *)first;
}

static void find_room_once(void) {
    struct meeting *there = meeting_find();
    room = there ? (struct channel_room *)there : make_room();
    channel_here_at = room ? room->here_at : 0;
}

// False: there is none.
static bool find_room(void) {
    // Before the lock of `once`, which the code of a library that another thread is loading may wait for.
    meeting_stay();
    pthread_once(&once, find_room_once);
    return room != NULL;
}

// Gives an API its ledger, the next one of the process. False: there is no room.
static bool join(struct channel_process *process, struct channel *channel, const char *api) {
    const uint32_t index = atomic_load_explicit(&process->head->ledgers, memory_order_relaxed);
    if (index == LAYOUT_LEDGERS || (index && !channel_table_reserve_ledger(process, index)))
        return false;
    struct layout_ledger *ledger = layout_ledger_at(process->head, index);
    memcpy(ledger->api, api, strlen(api) + 1);
    ledger->attached = clock_trace_now();
    atomic_store_explicit(&ledger->state, LAYOUT_CHANNEL_OPEN, memory_order_relaxed);
    channel->gate.ledger = ledger;
    channel->process = process;
    channel->line = process->line;
    atomic_store_explicit(&process->head->ledgers, index + 1, memory_order_release);
    return true;
}

static void publish(struct channel_process *process) {
    // The magic makes the file valid; before, the collector passes over it.
    atomic_thread_fence(memory_order_release);
    *(volatile uint64_t *)&process->head->magic = LAYOUT_CHANNEL_MAGIC;
    atomic_fetch_add_explicit(&process->control->generation, 1, memory_order_release);
    set_id(process, atomic_fetch_add(&room->last_id, 1) + 1);
    atomic_thread_fence(memory_order_release);
    process->state = CHANNEL_OPEN;
}

// A spare one of the process, if it has one: a thread that is late finds it closed, or records in the new session.
static struct channel *make_channel(struct channel_process *process, const struct layout_control *control,
                                    const char *api) {
    struct channel *channel = process->spares;
    if (strlen(api) >= LAYOUT_API_BYTES)
        return NULL;
    if (channel) {
        process->spares = channel->next;
        channel->next = NULL;
        channel->closed = channel->detached = channel->not_in_children = false;
    } else {
        channel = lasting_take(&channels);
    }
    if (channel)
        channel->gate.armed = &control->armed;
    return channel;
}

static void leave_channel(struct channel_process *process, struct channel *channel) {
    if (!channel || !process->keeps) {
        lasting_leave(&channels, channel);
        return;
    }
    channel->closed = true;
    channel->next = process->spares;
    process->spares = channel;
}

// A parked process of the line that nothing refers to any more but channels that are closed, to be used again: a process that is attached
// to again and again does not grow. Its memory is never given back, so that a thread that is late finds a process, if another one.
static struct channel_process *take_parked(uint64_t line) {
    struct channel_process *found = NULL;
    pthread_mutex_lock(&room->registry_lock);
    for (struct channel_process *process = room->registry; process && !found; process = process->next) {
        lock(process);
        if (process->line == line && process->state == CHANNEL_CLOSED && process->detached &&
            process->keeps && !process->kept && process->threads == 0 && process->control && process->head) {
            found = process;
            process->spares = process->channels;
            process->channels = NULL;
            atomic_store(&process->stack_users, 0);
            atomic_store(&process->stack_epoch, 0);
            atomic_store(&process->stack_bytes, 0);
        }
        unlock(process);
    }
    pthread_mutex_unlock(&room->registry_lock);
    return found;
}

// The last process of the line, which has what the ones before it kept. NULL: an API still uses it, or there was no memory.
static struct channel_process *find_keeper(uint64_t line) {
    struct channel_process *found = NULL;
    pthread_mutex_lock(&room->registry_lock);
    for (struct channel_process *process = room->registry; process && !found; process = process->next) {
        lock(process);
        found = process->line == line && process->kept ? process : NULL;
        unlock(process);
    }
    pthread_mutex_unlock(&room->registry_lock);
    return found;
}

// It could not be opened: as it was.
static void leave_parked(struct channel_process *process) {
    if (process->entries)
        munmap(process->entries, process->entries_bytes);
    process->entries = NULL;
    ring_pool_unmap(&process->pool);
    ring_pool_make_private(process->control, LAYOUT_PAGE);
    ring_pool_make_private(process->head, LAYOUT_ENTRIES_AT);
    free(process->directory);
    process->directory = NULL;
}

static void free_process(struct channel_process *process) {
    if (process->control)
        munmap(process->control, LAYOUT_PAGE);
    if (process->threads_known.items)
        munmap(process->threads_known.items,
               process->threads_known.places * sizeof *process->threads_known.items);
    pthread_mutex_destroy(&process->lock);
    free(process->directory);
    free(process);
}

// `line`: that of the ids that the API has already; 0: it has none.
static tsmith_status open_process(const char *session_directory, const char *api, uint64_t line,
                                  struct channel **out) {
    tsmith_status status = TSMITH_ERROR_STATE;
    struct channel *channel = NULL;
    struct channel_process *before = line ? find_keeper(line) : NULL,
                           *parked = before ? take_parked(line) : NULL,
                           *process = parked ? parked : calloc(1, sizeof *process);
    if (!process)
        return TSMITH_ERROR_NO_MEMORY;
    if (!parked)
        pthread_mutex_init(&process->lock, NULL);
    struct layout_control *control = channel_map_control(session_directory, process->control);
    if (control)
        channel = make_channel(process, control, api);
    if (!channel)
        goto fail;
    process->control = control;
    memcpy(process->api, api, strlen(api) + 1);
    process->directory = strdup(session_directory);
    if (!process->directory)
        goto fail;
    status = TSMITH_ERROR_NO_SPACE;
    process->line = line ? line : atomic_fetch_add(&room->last_id, 1) + 1;
    if (line && !(before && channel_table_inherit(process, before)))
        goto fail;
    if (!channel_make_files(process) || !join(process, channel, api))
        goto fail;
    if (before) {
        channel_table_rebuild(process);
        channel_table_forget(before);
        atomic_store(&process->correlation, atomic_load(&before->correlation));
        atomic_store(&process->stack_epoch,
                     atomic_load(&before->stack_epoch)); // the entries of modules have it
    }
    process->channels = channel;
    channel_describe(channel);
    pthread_mutex_lock(&room->registry_lock);
    process->detached = process->keeps = false;
    publish(process);
    if (!parked) {
        process->next = room->registry;
        atomic_thread_fence(memory_order_release);
        room->registry = process;
    }
    pthread_mutex_unlock(&room->registry_lock);
    channel_note_other_builds(channel, api);
    *out = channel;
    return TSMITH_OK;
fail:
    channel_leave_word(session_directory);
    leave_channel(process, channel);
    if (parked)
        leave_parked(parked);
    else
        free_process(process);
    return status;
}

// The APIs of a forked child's channel join it in the order in which they joined the parent's. False: one does not, as it is
// closed or there is no room; its ledger stays the parent's.
static bool rejoin_apis(struct channel_process *process) {
    struct channel *in_order[LAYOUT_LEDGERS];
    uint32_t count = 0;
    bool all = true;
    for (struct channel *channel = process->channels; channel && count < LAYOUT_LEDGERS;
         channel = channel->next)
        in_order[count++] = channel;
    while (count-- > 0) {
        struct channel *channel = in_order[count];
        channel->closed = channel->closed || !join(process, channel, channel->gate.ledger->api);
        all = all && !channel->closed;
    }
    return all;
}

// In a child, at its first use, under the lock: own files, with the entries that its objects already refer
// to.
static void revive_in_child(struct channel_process *process) {
    process->state = CHANNEL_REVIVING;
    ring_pool_unmap(&process->pool);
    struct layout_channel *parent = process->head;
    process->head = NULL;
    process->threads_known = (struct channel_threads){0}; // of the parent
    atomic_store(&process->stack_bytes, 0);
    channel_table_rebuild(process);
    if (atomic_load(&process->control->state) != LAYOUT_SESSION_OPEN || !channel_make_files(process)) {
        process->head = parent; // for counting; shared with the parent, whose loss it is then
        process->state = CHANNEL_DEAD;
        return;
    }
    process->head->name = parent->name;
    process->head->command_line = parent->command_line;
    process->head->host = parent->host;
    if (rejoin_apis(process))
        munmap(parent, LAYOUT_ENTRIES_AT);
    publish(process);
}

// Under the lock. False when nothing is recorded any more.
static bool make_open(struct channel_process *process) {
    if (process->state == CHANNEL_FORKED)
        revive_in_child(process);
    if (process->state == CHANNEL_TORN) {
        channel_leave_word(process->directory);
        process->state = CHANNEL_DEAD;
    }
    return process->state == CHANNEL_OPEN;
}

bool channel_lock(struct channel *channel) {
    struct channel_process *process = NULL;
    if (!channel_here()->inside) {
        channel_enter();
        process = channel->process;
        if (process)
            lock(process);
        if (process && channel->process) // still: under its lock that does not change
            return make_open(process) && !channel->closed;
        if (process)
            unlock(process);
        channel_leave();
    }
    channel_here()->inside++;
    return false;
}

void channel_unlock(struct channel *channel) {
    struct channel_process *process = channel_here()->inside == 1 ? channel->process : NULL;
    if (!process) {
        channel_here()->inside--;
        return;
    }
    unlock(process);
    channel_leave();
}

// Joins the process's channel in that session. NULL: it has none that takes one more, or ids that the API has already mean something else
// in it: then both were in sessions without each other, and the API's own line is continued next to it.
static struct channel *join_process(struct channel_process *process, const char *session_directory,
                                    const char *api, uint64_t line) {
    struct channel *channel = NULL;
    lock(process);
    const bool same = process->directory && strcmp(process->directory, session_directory) == 0 &&
                      (!line || process->line == line);
    if (same && make_open(process) && atomic_load(&process->control->state) == LAYOUT_SESSION_OPEN)
        channel = make_channel(process, process->control, api);
    if (channel && join(process, channel, api)) {
        atomic_store(&channel->gate.id, atomic_load(&process->id));
        channel->next = process->channels;
        atomic_thread_fence(memory_order_release);
        process->channels = channel;
    } else {
        leave_channel(process, channel);
        channel = NULL;
    }
    unlock(process);
    return channel;
}

static struct channel *join_any(const char *session_directory, const char *api, uint64_t line) {
    struct channel *channel = NULL;
    pthread_mutex_lock(&room->registry_lock);
    for (struct channel_process *process = room->registry; process && !channel; process = process->next)
        channel = join_process(process, session_directory, api, line);
    pthread_mutex_unlock(&room->registry_lock);
    return channel;
}

tsmith_status channel_open(const char *session_directory, const char *api, struct channel **out) {
    return channel_open_again(NULL, session_directory, api, out);
}

tsmith_status channel_open_again(struct channel *before, const char *session_directory, const char *api,
                                 struct channel **out) {
    int saved = errno;
    tsmith_status status = TSMITH_OK;
    const uint64_t line = before ? before->line : 0;
    *out = NULL;
    if (!find_room() || channel_here()->inside)
        return TSMITH_ERROR_STATE;
    pthread_mutex_lock(&room->open_lock);
    *out = join_any(session_directory, api, line);
    if (!*out)
        status = open_process(session_directory, api, line, out);
    pthread_mutex_unlock(&room->open_lock);
    errno = saved;
    return status;
}

void channel_not_in_children(struct channel *channel) {
    channel->not_in_children = true;
}

static bool any_open(const struct channel_process *process) {
    for (const struct channel *channel = process->channels; channel; channel = channel->next)
        if (!channel->closed)
            return true;
    return false;
}

// The last API is over, under the lock.
static void close_process(struct channel_process *process) {
    if (process->state == CHANNEL_OPEN) {
        // The calling thread's ring is handed over; those of others stay as they are and are read up to what
        // they have committed: their threads may be writing right now.
        if (channel_here()->id == atomic_load(&process->id) && channel_here()->ring)
            ring_finish(channel_here()->ring);
        for (struct ring_owner *idle = process->pool.idle; idle; idle = idle->next)
            ring_finish(&idle->ring);
        atomic_store(&process->id, CHANNEL_CLOSED_ID);
        atomic_store_explicit(&process->head->state, LAYOUT_CHANNEL_CLOSED, memory_order_release);
        process->state = CHANNEL_CLOSED;
    } else if (process->state == CHANNEL_FORKED) {
        process->state = CHANNEL_DEAD; // never used in this process: the files are the parent's
    }
}

static void close_in(struct channel_process *process, struct channel *channel) {
    lock(process);
    if (!channel->closed && (process->state == CHANNEL_OPEN || process->state == CHANNEL_FORKED)) {
        channel->closed = true;
        atomic_store(&channel->gate.id, CHANNEL_CLOSED_ID);
        if (process->state == CHANNEL_OPEN) // otherwise the ledger is the parent's
            atomic_store_explicit(&channel->gate.ledger->state, LAYOUT_CHANNEL_CLOSED, memory_order_release);
        if (!any_open(process))
            close_process(process);
    }
    unlock(process);
}

void channel_close(struct channel *channel) {
    if (!channel)
        return;
    channel_enter();
    struct channel_process *process = channel->process;
    if (process)
        close_in(process, channel);
    channel_leave();
}

static void free_channel(struct channel_process *process) {
    for (struct channel *channel = process->channels, *next; channel; channel = next) {
        next = channel->next;
        lasting_leave(&channels, channel);
    }
    munmap(process->head, LAYOUT_ENTRIES_AT);
    free_process(process);
}

// Frees the retired processes in which no thread is or can come to be. Under the registry's lock.
static void reclaim_channels(void) {
    struct channel_process **at = &room->retired;
    if (atomic_load(&room->users)) // which is read after all of them were taken out of their channels
        return;
    while (*at) {
        struct channel_process *process = *at;
        lock(process);
        const bool held = process->threads > 0;
        unlock(process);
        if (held) {
            at = &process->next;
            continue;
        }
        *at = process->next;
        free_channel(process);
    }
}

// Takes a detached process out of its channels, so that no more threads come to it.
static void retire_channel(struct channel_process *process) {
    struct channel_process **at = &room->registry;
    pthread_mutex_lock(&room->registry_lock);
    while (*at && *at != process)
        at = &(*at)->next;
    if (*at) {
        *at = process->next;
        lock(process);
        for (struct channel *channel = process->channels; channel; channel = channel->next) {
            channel->gate.ledger = NULL;
            channel->process = NULL;
        }
        unlock(process);
        process->next = room->retired;
        room->retired = process;
        reclaim_channels();
    }
    pthread_mutex_unlock(&room->registry_lock);
}

// Under the lock; no API uses it any more.
static void detach_process(struct channel_process *process) {
    process->detached = true;
    while (process->pool.idle) {
        struct ring_owner *idle = process->pool.idle;
        process->pool.idle = idle->next;
        ring_free(&idle->ring);
    }
    channel_table_detach(process);
    if (process->threads_known.items)
        munmap(process->threads_known.items,
               process->threads_known.places * sizeof *process->threads_known.items);
    process->threads_known = (struct channel_threads){0};
    if (process->threads == 0)
        ring_pool_unmap(&process->pool);
    else
        ring_pool_detach(&process->pool);
    // Read by late emitters: a page of zeros means closed, disarmed.
    ring_pool_make_private(process->control, LAYOUT_PAGE);
    free(process->directory);
    process->directory = NULL;
}

void channel_detach(struct channel *channel) {
    struct channel_process *process = channel->process;
    lock(process);
    channel->detached = true;
    bool last = process->state == CHANNEL_CLOSED && !process->detached;
    for (const struct channel *other = process->channels; other; other = other->next)
        last = last && other->detached;
    if (last)
        detach_process(process);
    // A channel that may be continued keeps its process: the next one takes over its entries.
    const bool over = last && !process->keeps;
    unlock(process);
    if (over)
        retire_channel(process);
}

void channel_park(struct channel *channel) {
    lock(channel->process);
    channel->process->keeps = true;
    unlock(channel->process);
    channel_detach(channel);
}

bool channel_live(const struct channel *channel) {
    return atomic_load(&channel->process->control->state) == LAYOUT_SESSION_OPEN;
}

bool channel_tick_is_tsc(const struct channel *channel) {
    return channel->process->control->tick_is_tsc != 0;
}

uint64_t channel_tick_scale(const struct channel *channel) {
    const struct layout_control *control = channel->process->control;
    return atomic_load_explicit(&control->segment_count, memory_order_acquire) ? control->segments[0].scale
                                                                               : 0;
}

int64_t channel_aggregate(const struct channel *channel) {
    return channel->process->control->aggregate;
}

uint64_t channel_correlations(struct channel *channel, uint64_t count) {
    return atomic_fetch_add_explicit(&channel->process->correlation, count, memory_order_relaxed) + 1;
}

// ---- the thread's ring

// A signal handler must not find the id of one channel with the ring of another.
static void use_ring(struct ring *ring, uint64_t id) {
    struct channel_here *here = channel_here();
    here->id = CHANNEL_NONE_ID;
    atomic_signal_fence(memory_order_seq_cst);
    here->ring = ring;
    atomic_signal_fence(memory_order_seq_cst);
    here->id = id;
}

// The thread's ring in another session than the one that it has last written to. Without a lock.
static struct ring *other_ring(const struct channel *channel) {
    const uint64_t id = atomic_load_explicit(&channel->gate.id, memory_order_relaxed);
    for (struct ring_owner *owner = channel_here()->owners; owner; owner = owner->next)
        if (owner->process_id == id) {
            use_ring(&owner->ring, id);
            return &owner->ring;
        }
    return NULL;
}

static struct ring *make_ring(struct channel *channel) {
    struct ring *ring = NULL;
    channel_here()->inside++;
    drop_stale_rings();
    channel_here()->inside--;
    if (!channel_lock(channel))
        goto done;
    struct channel_process *process = channel->process;
    uint64_t id = atomic_load(&process->id);
    for (struct ring_owner *owner = channel_here()->owners; owner && !ring; owner = owner->next)
        if (owner->process == process)
            ring = &owner->ring;
    if (!ring) {
        ring = ring_open(&process->pool, channel_make_thread_track(channel));
        if (!ring)
            goto done;
        ring->owner->channel = channel;
        ring->owner->process = process;
        ring->owner->process_id = id;
        ring->owner->next = channel_here()->owners;
        channel_here()->owners = ring->owner;
        process->threads++;
        pthread_setspecific(room->thread_key, channel); // any value: it makes thread_end run
    }
    use_ring(ring, id);
done:
    channel_unlock(channel);
    return ring;
}

struct ring *channel_ring_slow(struct channel *channel) {
    int saved = errno;
    struct ring *ring = NULL;
    tsmith_reason reason = TSMITH_REASON_NO_MEMORY;
    const uint64_t id = atomic_load_explicit(&channel->gate.id, memory_order_relaxed);
    if (id == CHANNEL_CLOSED_ID || id == 0) {
        // Late: nothing to make.
    } else if (channel_here()->inside > 0) {
        reason = TSMITH_REASON_INTERRUPTED; // in a signal handler
    } else if ((ring = other_ring(channel))) {
        return ring;
    } else if (channel_here()->backoff > 0) {
        channel_here()->backoff--;
    } else {
        ring = make_ring(channel);
        channel_here()->backoff = ring ? 0 : RING_BACKOFF;
    }
    if (!ring)
        channel_lose(channel, reason, 1);
    errno = saved;
    return ring;
}

void channel_rest(struct channel *channel, bool resting) {
    if (channel_here()->id == atomic_load_explicit(&channel->gate.id, memory_order_relaxed) &&
        channel_here()->ring)
        ring_rest(channel_here()->ring, resting);
}

struct ring_pool *channel_local_pool(uint64_t device, uint64_t inode) {
    struct ring_pool *found = NULL;
    if (!find_room())
        return NULL;
    pthread_mutex_lock(&room->registry_lock);
    for (struct channel_process *process = room->registry; process && !found; process = process->next) {
        pthread_mutex_lock(&process->lock);
        bool mapped =
            process->state == CHANNEL_OPEN || (process->state == CHANNEL_CLOSED && !process->detached);
        if (mapped && process->pool.device == device && process->pool.inode == inode)
            found = &process->pool;
        pthread_mutex_unlock(&process->lock);
    }
    pthread_mutex_unlock(&room->registry_lock);
    return found;
}
