// SPDX-License-Identifier: Apache-2.0
// A channel: what one process records in one session. It holds the process's own table of strings, tracks,
// devices and shapes (an append-only shared file, never lost to a full ring) and one ring per thread that
// emits. Several APIs can share it: each has a ledger of its own (what it lost, what it has in flight, whether it is
// over), all else is the process's, so the records of a thread stay in the order in which it wrote them.
//
// Used inside other people's programs: nothing here aborts, exits, prints, or raises a signal; what cannot be
// recorded is counted. Registering (channel_*) takes a lock and may make system calls: do it when objects are
// created, not per event. Emitting (ring_*) does neither.
//
// fork: the child gets a channel of its own, with the same ids, when it first uses it.
#ifndef WIRE_CHANNEL_H
#define WIRE_CHANNEL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tracesmith/dictionary.h"
#include "tracesmith/status.h"
#include "wire/record.h"
#include "wire/ring.h"

#define CHANNEL_ENVIRONMENT "TRACESMITH_SESSION" // the session directory, inherited by children
#define CHANNEL_RECORDING "TRACESMITH_CAPTURE"   // set when commands and data are to be recorded: which
#define CHANNEL_MAX_OVERHEAD                                                                                 \
    "TRACESMITH_MAX_OVERHEAD"                 // millionths of a thread's time that recording may take
#define CHANNEL_RECORDING_PREFIX "recording-" // the files of a session that hold them: one for each process

struct channel;

// Attaches the calling process to a session, under the name of an API ("opencl", "session"). The API joins the channel that
// the process has in this session already, whichever library made it (meeting.h), as long as it is not closed and has room
// for one more. Otherwise the process gets a channel, its first or one more. Each call gives a part of its own, with an own
// ledger; shapes, fields and lists of channel_begun that are registered with it are its own. Fails quietly (a status, nothing
// else) when the directory is no live session. The channel lives until channel_close, or for the life of the process.
tsmith_status channel_open(const char *session_directory, const char *api, struct channel **out);
// The same in another session, for an API that has given up `before` by channel_park: all ids that it registered there mean the
// same in the new channel.
tsmith_status channel_open_again(struct channel *before, const char *session_directory, const char *api,
                                 struct channel **out);
// The API does not work in forked children, so it never uses the channel there. Other APIs in it do.
void channel_not_in_children(struct channel *channel);
// The process is ending or the API is over: marks the end of its records; the last one hands over the content of the
// rings. Threads that emit all the same do no harm.
void channel_close(struct channel *channel);
// After channel_close and the last drain, in a process that lives on: the last API gives back all memory, some of it when
// threads have left. The channel may still be emitted to, registered with and closed, which does nothing; for this it reads as it
// was or as zeros, for the life of the process (wire/lasting.h).
void channel_detach(struct channel *channel);
// channel_detach of a channel that channel_open_again may continue: what was registered in it is kept in memory.
void channel_park(struct channel *channel);
// Where this process itself has the rings file of that device and inode mapped; NULL when it has not.
struct ring_pool *channel_local_pool(uint64_t device, uint64_t inode);

// The session's trigger (layout.h), mapped for the life of the process; NULL when the directory is no live session.
const _Atomic uint32_t *channel_trigger(const char *session_directory);
// Whether recording may be on later, if it is not now: false once the session is over.
bool channel_live(const struct channel *channel);
// Whether ticks of this session are the TSC (for clock_tick).
bool channel_tick_is_tsc(const struct channel *channel);
// How many ns of the trace clock a tick is, times 2^32, as it was measured when the session began; 0: it is not known.
uint64_t channel_tick_scale(const struct channel *channel);
// How often, in ns, agents are to write sums of events instead of events; 0: they write events.
int64_t channel_aggregate(const struct channel *channel);

// Registering. Ids are local to the channel, dense from 1; 0 means the table is full (counted as a loss) and
// reads as "unknown". Strings are interned. Entries take local ids of strings, devices and tracks.
uint32_t channel_string(struct channel *channel, const char *bytes, size_t length);
uint32_t channel_string_cstr(struct channel *channel, const char *text);
// For a text that never changes: its id is kept in `id`, 0 before the first call. Cheap enough for each event.
static inline uint32_t channel_string_once(struct channel *channel, _Atomic uint32_t *id, const char *text) {
    uint32_t known = atomic_load_explicit(id, memory_order_relaxed);
    if (!known) {
        known = channel_string_cstr(channel, text);
        atomic_store_explicit(id, known, memory_order_relaxed);
    }
    return known;
}
// The name of a function as its compiler mangled it: in the trace it is written as in its source.
uint32_t channel_function(struct channel *channel, const char *name);
uint32_t channel_device(struct channel *channel, const tsmith_device *device);
struct channel_device { // in the table
    tsmith_device device;
    uint32_t more_of; // id of the device of this channel that this entry extends, 0: none
    uint32_t reserved;
};
// The same for a device with a device identity, "GPU-8a1f...": in every process the identity means the same device. The
// first description is kept; later ones only add fields that it lacks. NULL or "": no identity.
uint32_t channel_device_identified(struct channel *channel, const tsmith_device *device,
                                   const char *identity);
// The same of a device that was made before anything was known of it.
uint32_t channel_device_described(struct channel *channel, uint32_t before, const tsmith_device *device,
                                  const char *identity);
uint32_t channel_track(struct channel *channel, const tsmith_track *track); // process is filled in
// A thread is named late. The collector may have written it already, and then keeps the first name in the file.
void channel_name_track(struct channel *channel, uint32_t track, uint32_t name);
// The track of a thread of this process by its id, whether it has a ring or not: for events that a thread records of
// another. A ring that the thread makes later is on the same track.
uint32_t channel_thread(struct channel *channel, uint32_t tid);
// A fact about the whole trace (tsmith_attribute); of several with one key the last holds.
void channel_attribute(struct channel *channel, const char *key, const char *value);
uint16_t channel_field(struct channel *channel, const char *name, tsmith_type type, const char *unit);
uint16_t channel_shape(struct channel *channel, const struct record_shape *shape);
// What was registered under an id; false: it is not known, or cannot be looked up at this moment.
bool channel_find_track(struct channel *channel, uint32_t id, tsmith_track *out);
bool channel_find_shape(struct channel *channel, uint16_t id, struct record_shape *out);

// The first of `count` correlation ids in a row that no other call of this process gets; never 0.
uint64_t channel_correlations(struct channel *channel, uint64_t count);

// What the event path compares: a thread's ring is good as long as the channel still has the id it had when
// the ring was made. A fork or a close changes the id.
struct channel_gate {
    _Atomic uint64_t id; // first in struct channel
    const _Atomic uint32_t *armed;
    struct layout_ledger *_Atomic ledger; // the API's; NULL: over
};
struct channel_here {
    uint64_t id;
    struct ring *ring;
    struct ring_owner *owners; // all rings of this thread
    uint32_t backoff;          // calls to let go after a ring could not be made
    uint32_t inside;           // calls under way on this thread that hold a lock of a channel
};
// Where the process's libraries have it: at this many bytes from the thread's pointer, in the library that was first. Written
// before a channel is given out.
extern ptrdiff_t channel_here_at __attribute__((visibility("hidden")));
struct ring *channel_ring_slow(struct channel *channel);

static inline char *thread_pointer(void) {
#if defined __x86_64__ // __builtin_thread_pointer is missing in older compilers
    char *at;
    __asm__("mov %%fs:0, %0" : "=r"(at));
    return at;
#else
    return __builtin_thread_pointer();
#endif
}

static inline struct channel_here *channel_here(void) {
    return (struct channel_here *)(void *)(thread_pointer() + channel_here_at);
}

// The same to look at, by as many instructions as a thread-local variable of the library takes.
#if defined __x86_64__ && defined __SEG_FS && !defined __SANITIZE_ADDRESS__ && !defined __SANITIZE_THREAD__
typedef const struct channel_here __seg_fs *channel_here_near;
#define CHANNEL_HERE_NEAR() ((channel_here_near)channel_here_at)
#else
typedef const struct channel_here *channel_here_near;
#define CHANNEL_HERE_NEAR() channel_here()
#endif

// Whether recording is on at the moment: the test of an idle agent.
static inline bool channel_armed(const struct channel *channel) {
    const struct channel_gate *gate = (const struct channel_gate *)(const void *)channel;
    return atomic_load_explicit(gate->armed, memory_order_relaxed) != 0;
}

// The calling thread's ring, made at its first call (system calls then; later calls are a thread-local load).
// NULL when there is none to be had; that call is counted as one lost event.
static inline struct ring *channel_ring(struct channel *channel) {
    const struct channel_gate *gate = (const struct channel_gate *)(const void *)channel;
    const channel_here_near here = CHANNEL_HERE_NEAR();
    if (__builtin_expect(here->id == atomic_load_explicit(&gate->id, memory_order_relaxed), 1))
        return here->ring;
    return channel_ring_slow(channel);
}
// The track of the calling thread, 0 when it has no ring.
static inline uint32_t channel_thread_track(struct channel *channel) {
    struct ring *ring = channel_ring(channel);
    return ring ? ring->owner->thread_track : 0;
}

// The calling thread, one of an agent's own, is about to wait, or continues. A thread that waits is writing nothing:
// a process that is killed meanwhile loses nothing of it.
void channel_rest(struct channel *channel, bool resting);

// What was begun and what of it has been recorded, kept where it outlives the process: of a process that dies, the
// difference is NO_COMPLETION losses. `list` numbers, from 0, whose they are: one thread at a time begins events of a
// list, and one ends them.
static inline void channel_flight_add(_Atomic uint64_t *counter, uint32_t list, uint64_t count) {
    if (__builtin_expect(list < LAYOUT_FLIGHTS - 1, 1))
        atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + count,
                              memory_order_relaxed);
    else
        atomic_fetch_add_explicit(counter, count, memory_order_relaxed);
}
static inline struct layout_flight *channel_flight(struct channel *channel, uint32_t list) {
    const struct channel_gate *gate = (const struct channel_gate *)(const void *)channel;
    struct layout_ledger *ledger = atomic_load_explicit(&gate->ledger, memory_order_relaxed);
    return &ledger->flights[list < LAYOUT_FLIGHTS ? list : LAYOUT_FLIGHTS - 1];
}
static inline void channel_begun(struct channel *channel, uint32_t list, uint64_t count) {
    channel_flight_add(&channel_flight(channel, list)->begun, list, count);
}
static inline void channel_ended(struct channel *channel, uint32_t list, uint64_t count) {
    channel_flight_add(&channel_flight(channel, list)->ended, list, count);
}

// The same of what was added to a sum (agentkit/sums.h), and of what was in sums that are written: of a process that dies, the
// difference is SUM_UNWRITTEN losses.
static inline void channel_summed(struct channel *channel, uint32_t list, uint64_t count) {
    channel_flight_add(&channel_flight(channel, list)->summed, list, count);
}
static inline void channel_summed_written(struct channel *channel, uint32_t list, uint64_t count) {
    channel_flight_add(&channel_flight(channel, list)->summed_written, list, count);
}

// Counts events that never reached a ring: a LOSS event of this reason comes into the trace.
void channel_lose(struct channel *channel, tsmith_reason reason, uint64_t count);
// The same where it may be so of each event: the caller knows the tick. As channel_begun, only while the API has not left the channel.
static inline void channel_lose_at(struct channel *channel, uint64_t tick, tsmith_reason reason,
                                   uint64_t count) {
    const struct channel_gate *gate = (const struct channel_gate *)(const void *)channel;
    struct layout_ledger *ledger = atomic_load_explicit(&gate->ledger, memory_order_relaxed);
    if (!ledger || !atomic_load_explicit(&ledger->lost_first, memory_order_relaxed)) {
        channel_lose(channel, reason, count);
        return;
    }
    atomic_store_explicit(&ledger->lost_last, tick, memory_order_relaxed);
    atomic_fetch_add_explicit(&ledger->lost[reason], count, memory_order_relaxed);
    atomic_fetch_add_explicit(&ledger->lost_reported, 1, memory_order_release);
}

#endif
