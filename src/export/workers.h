// SPDX-License-Identifier: Apache-2.0
// Further threads for the work of an export that can be divided: compression. Used by the exports to Arrow IPC and Parquet.
//
// The thread that calls the sink reads, fills blocks and writes, and no other thread does: the functions of the caller run in its own
// thread. While it waits for a piece it works on others. Where the process may use one processor, or no thread can be started, it does
// all pieces itself, as it begins them; what they compute must not depend on it.
#ifndef EXPORT_WORKERS_H
#define EXPORT_WORKERS_H

#include <pthread.h>
#include <stdbool.h>
#include <sys/types.h>

#include "tracesmith/status.h"

enum { WORKERS_MOST = 4 }; // with the thread that calls the sink

enum workers_state { WORKERS_ENDED, WORKERS_WAITING, WORKERS_RUNNING };

// Zero-initialized except for the first two, it has ended. It stays where it is until it has.
struct workers_piece {
    void (*run)(void *of, unsigned thread); // the calling thread is 0, others are below WORKERS_MOST
    void *of;
    struct workers_piece *next;
    enum workers_state state;
};

struct workers_thread {
    struct workers *workers;
    pthread_t thread;
    unsigned number;
};

struct workers {
    unsigned most, started; // further threads
    pid_t process;          // that started them
    struct workers_thread threads[WORKERS_MOST - 1];
    pthread_mutex_t mutex; // of what follows, and of the state of pieces
    pthread_cond_t begun, ended;
    struct workers_piece *first, *last; // that wait
    bool stop;
};

// Starts no thread yet.
void workers_open(struct workers *workers);
// Threads that work, with the calling one; at least 1.
static inline unsigned workers_count(const struct workers *workers) {
    return workers->most + 1;
}

// STATE in a child process, where the threads are not: no other function but workers_close is called there.
tsmith_status workers_check(const struct workers *workers, tsmith_error *error);

// Queues a piece, and starts a thread if there may be another one.
void workers_begin(struct workers *workers, struct workers_piece *piece);
// Returns when the piece has ended. A thread that is canceled meanwhile ends later: it would keep the lock.
void workers_end(struct workers *workers, struct workers_piece *piece);
bool workers_has_ended(struct workers *workers, const struct workers_piece *piece);

// Pieces that wait are dropped; returns when none runs. False in a child process: what pieces used is left as it was when the process was
// forked, which may be in the middle of a change, and must not be freed.
bool workers_close(struct workers *workers);

#endif
