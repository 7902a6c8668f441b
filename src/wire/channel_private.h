// SPDX-License-Identifier: Apache-2.0
// What channel.c and channel_table.c share.
#ifndef WIRE_CHANNEL_PRIVATE_H
#define WIRE_CHANNEL_PRIVATE_H

#include <pthread.h>
#include <stdio.h>

#include "wire/channel.h"
#include "wire/layout.h"
#include "wire/meeting.h"
#include "wire/ring_pool.h"

#define PATH_BYTES 4096
#define CHANNEL_CLOSED_ID UINT64_MAX // what no thread's ring was made for: nor 0, a thread's that has none
#define CHANNEL_FORKED_ID (UINT64_MAX - 1)
#define CHANNEL_NONE_ID (UINT64_MAX - 2) // of a thread that is changing its ring: of no channel

enum channel_state {
    CHANNEL_DEAD = 0,
    CHANNEL_OPEN,
    CHANNEL_FORKED,
    CHANNEL_REVIVING,
    CHANNEL_TORN, // FORKED while it was REVIVING: DEAD, as soon as that can be published
    CHANNEL_CLOSED
};

struct channel_interned {
    uint32_t id; // 0: the place is empty
    uint32_t hash;
    uint64_t offset; // of the string's entry
};

struct channel_thread {
    uint32_t tid; // 0: the place is empty
    uint32_t track;
    bool taken; // by a ring of that thread: a ring of a later thread of the same id is of another
};

// The tracks of threads by thread id: open addressing, a power of two places.
struct channel_threads {
    struct channel_thread *items;
    size_t places, count;
};

// What all libraries of the process share that have the same build of this code.
struct channel_room {
    struct meeting meeting;    // first
    pthread_mutex_t open_lock; // one channel is opened at a time: the next may join it
    pthread_mutex_t registry_lock;
    struct channel_process *registry;
    struct channel_process *retired; // detached; freed when no thread is in it
    _Atomic int64_t users; // calls that use the process of a channel without being in the registry's lock
    pthread_key_t thread_key;
    ptrdiff_t here_at; // channel_here_at of all of them
    _Atomic uint64_t last_id;
};

// What all APIs of the process share: the files, the strings, the rings.
struct channel_process {
    _Atomic uint64_t id;            // of the gates of its open channels
    struct layout_control *control; // its first page
    struct layout_channel *head;    // mapped, the places of all ledgers with it: LAYOUT_ENTRIES_AT bytes
    _Atomic uint64_t correlation;
    pthread_mutex_t lock; // all below
    enum channel_state state;
    bool detached;
    uint32_t threads; // rings that threads hold
    struct ring_pool pool;
    char *entries; // mapped, `entries_bytes` long
    uint64_t entries_bytes;
    uint64_t entries_used;
    struct channel_interned *interned; // open addressing, a power of two places
    size_t interned_places;
    uint32_t counts[16]; // entries by type
    struct channel_threads threads_known;
    struct channel *channels; // of its APIs, the first one last
    struct channel
        *spares; // of an earlier session, to be used again: a thread may still have their addresses
    // Of the stacks of all its libraries (agentkit/stacks_private.h).
    _Atomic uint32_t stack_users;
    _Atomic uint64_t stack_epoch;
    _Atomic uint64_t stack_bytes; // of the file's segments
    struct channel_process *next;
    char api[LAYOUT_API_BYTES]; // the first: names the files
    char *directory;            // heap
    // Of a channel that is to be continued in another session (channel_open_again): its entries, once it is detached.
    bool keeps;
    char *kept;
    uint64_t kept_bytes;
    // Of all processes that continue one another: in them an id means the same.
    uint64_t line;
    char path[PATH_BYTES];
    char rings_path[PATH_BYTES];
};

// One API's part in it. Lasting: a thread may be about to look at its gate.
struct channel {
    struct channel_gate gate;
    struct channel_process *_Atomic process; // NULL: over, for good
    bool closed, detached;                   // under the process's lock
    bool not_in_children;
    uint64_t line;        // of its process
    struct channel *next; // of the same process
};

static_assert(offsetof(struct channel, gate) == 0, "channel_ring looks at the gate first");
static_assert(offsetof(struct channel_room, meeting) == 0, "a room is found by its entry");

// Locks, and gives a forked child its own files first. False when nothing is recorded any more; unlock in any
// case. Also false, without the lock, in a signal handler that interrupted a call of its own thread which has a lock: the
// thread would wait for itself.
bool channel_lock(struct channel *channel);
void channel_unlock(struct channel *channel);
// Between these two the process that a channel names, if it names one, is not freed. May be called in a signal handler.
void channel_enter(void);
void channel_leave(void);

// The control page of a session, NULL: there is none. `place`: a page that is to be replaced by it, NULL: any. It stays as it is where
// the result is NULL.
struct layout_control *channel_map_control(const char *directory, struct layout_control *place);
// Makes the two files under an unused name. Sets head, pool and the paths. No API has joined. False: there is no room.
bool channel_make_files(struct channel_process *process);
// A process that may open no more files can still make a folder, whose name records who is missing from the trace.
void channel_leave_word(const char *session_directory);
// Name, command line and host.
void channel_describe(struct channel *channel);
// Two versions of TraceSmith cannot share a channel: the reader of the trace should know.
void channel_note_other_builds(struct channel *channel, const char *api);

// The table, under the lock. Creating it copies the entries of the table there was (a parent's).
bool channel_table_create(struct channel_process *process);
void channel_table_detach(struct channel_process *process);
// Begins with the entries that the other table kept. False: there is no memory. The other one gives them back afterwards.
bool channel_table_inherit(struct channel_process *process, const struct channel_process *from);
void channel_table_forget(struct channel_process *process);
// Of entries that are another process's or another session's: they are the only valid data of the table.
void channel_table_rebuild(struct channel_process *process);
// Backs the page of one more ledger by space.
bool channel_table_reserve_ledger(struct channel_process *process, uint32_t ledger);
uint32_t channel_table_string(struct channel *channel, const char *bytes, size_t length);
uint32_t channel_table_add(struct channel *channel, uint32_t type, const void *payload, size_t bytes);

// The track of a ring that the calling thread makes, under the lock.
uint32_t channel_make_thread_track(struct channel *channel);

#endif
