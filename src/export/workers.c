// SPDX-License-Identifier: Apache-2.0
// Threads that work on pieces of an export. Used by arrow_ipc.c and parquet.c.
#include "export/workers.h"

#include <unistd.h>

#include "base/quiet_thread.h"
#include "base/status.h"
#include "tracesmith/processors.h"

void workers_open(struct workers *workers) {
    const unsigned processors = tsmith_processors();
    *workers = (struct workers){.most = (processors < WORKERS_MOST ? processors : WORKERS_MOST) - 1};
    (void)pthread_mutex_init(&workers->mutex, NULL);
    (void)pthread_cond_init(&workers->begun, NULL);
    (void)pthread_cond_init(&workers->ended, NULL);
}

static bool are_here(const struct workers *workers) {
    return !workers->started || workers->process == getpid();
}

tsmith_status workers_check(const struct workers *workers, tsmith_error *error) {
    return are_here(workers)
               ? TSMITH_OK
               : status_set(error, TSMITH_ERROR_STATE,
                            "the export was begun by another process, which this one was forked from");
}

// Runs the first piece that waits. The mutex is locked before and after.
static void run_first(struct workers *workers, unsigned thread) {
    struct workers_piece *piece = workers->first;
    workers->first = piece->next;
    piece->state = WORKERS_RUNNING;
    (void)pthread_mutex_unlock(&workers->mutex);
    piece->run(piece->of, thread);
    (void)pthread_mutex_lock(&workers->mutex);
    piece->state = WORKERS_ENDED;
}

static void *work(void *of) {
    const struct workers_thread *thread = of;
    struct workers *workers = thread->workers;
    (void)pthread_mutex_lock(&workers->mutex);
    while (!workers->stop)
        if (workers->first) {
            run_first(workers, thread->number);
            (void)pthread_cond_signal(&workers->ended);
        } else {
            (void)pthread_cond_wait(&workers->begun, &workers->mutex);
        }
    (void)pthread_mutex_unlock(&workers->mutex);
    return NULL;
}

static void start_one(struct workers *workers) {
    if (workers->started == workers->most)
        return;
    struct workers_thread *next = &workers->threads[workers->started];
    workers->process = getpid();
    next->workers = workers;
    next->number = workers->started + 1;
    if (quiet_thread_start(&next->thread, work, next) == 0)
        workers->started++;
    else
        workers->most = workers->started; // it is not tried again
}

void workers_begin(struct workers *workers, struct workers_piece *piece) {
    start_one(workers);
    if (!workers->started) {
        piece->run(piece->of, 0);
        return;
    }
    (void)pthread_mutex_lock(&workers->mutex);
    piece->state = WORKERS_WAITING;
    piece->next = NULL;
    if (workers->first)
        workers->last->next = piece;
    else
        workers->first = piece;
    workers->last = piece;
    (void)pthread_cond_signal(&workers->begun);
    (void)pthread_mutex_unlock(&workers->mutex);
}

void workers_end(struct workers *workers, struct workers_piece *piece) {
    int before;
    (void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
    (void)pthread_mutex_lock(&workers->mutex);
    while (piece->state != WORKERS_ENDED)
        if (workers->first)
            run_first(workers, 0);
        else
            (void)pthread_cond_wait(&workers->ended, &workers->mutex);
    (void)pthread_mutex_unlock(&workers->mutex);
    (void)pthread_setcancelstate(before, NULL);
}

bool workers_has_ended(struct workers *workers, const struct workers_piece *piece) {
    (void)pthread_mutex_lock(&workers->mutex);
    const bool has_ended = piece->state == WORKERS_ENDED;
    (void)pthread_mutex_unlock(&workers->mutex);
    return has_ended;
}

bool workers_close(struct workers *workers) {
    if (!are_here(workers))
        return false;
    if (!workers->started)
        return true;
    (void)pthread_mutex_lock(&workers->mutex);
    workers->stop = true;
    (void)pthread_cond_broadcast(&workers->begun);
    (void)pthread_mutex_unlock(&workers->mutex);
    for (unsigned i = 0; i < workers->started; i++)
        (void)pthread_join(workers->threads[i].thread, NULL);
    workers->started = 0;
    return true;
}
