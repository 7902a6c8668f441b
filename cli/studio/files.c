// SPDX-License-Identifier: Apache-2.0
// Opens the traces of the command line and fills their tiles, in parallel to the requests. main.c starts it.
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "cli/studio/live.h"
#include "tracesmith/stacks.h"

enum { BATCHES_AT_ONCE = 4 }; // between two chances for a request

static const long STEP = 250000000,
                  NAP = 50000000; // ns: between looks at a file that grows, and at whether the server ends

static void note_progress(void *context, uint64_t done, uint64_t total) {
    struct file *file = context;
    atomic_store_explicit(&file->done, done, memory_order_relaxed);
    atomic_store_explicit(&file->total, total, memory_order_relaxed);
}

tsmith_trace_options files_options(const struct server *server, struct file *progress) {
    return (tsmith_trace_options){.size = sizeof(tsmith_trace_options),
                                  .progress = progress ? note_progress : NULL,
                                  .progress_context = progress,
                                  .cache = server->cache};
}

static tsmith_status out_of_memory(tsmith_error *error) {
    *error = (tsmith_error){.status = TSMITH_ERROR_NO_MEMORY,
                            .offset = UINT64_MAX,
                            .record = UINT64_MAX,
                            .message = "out of memory"};
    return error->status;
}

static tsmith_status open_file(const struct server *server, struct file *file, tsmith_error *error) {
    const tsmith_trace_options options = files_options(server, file);
    tsmith_status status = tsmith_trace_open(file->path, &options, &file->trace, error);
    if (status < 0)
        return status;
    file->sbt = tsmith_trace_sbt(file->trace);
    status = tsmith_sbt_dictionary(file->sbt, &file->dictionary, error);
    if (status >= 0 && server->follows && !live_begin(file))
        status = out_of_memory(error);
    // The names that it would add to the dictionary have the numbers of those that a growing file will have.
    const bool is_growing = file->live && file->live->state == LIVE_RECORDING;
    if (status >= 0 && !is_growing && tsmith_dictionary_stack_count(file->dictionary) > 1)
        (void)tsmith_trace_symbolize(file->trace, NULL, NULL); // what has no name is module and offset
    return status < 0 ? status : tsmith_tiles_create(file->sbt, &file->tiles, error);
}

void file_enter(struct file *file) {
    atomic_fetch_add(&file->entering, 1);
    pthread_mutex_lock(&file->lock);
    atomic_fetch_sub(&file->entering, 1);
}

void file_leave(struct file *file) {
    pthread_cond_signal(&file->left);
    pthread_mutex_unlock(&file->lock);
}

// The lock when no request waits for it: a mutex alone would go to the filling thread again and again.
static void enter_last(struct file *file) {
    pthread_mutex_lock(&file->lock);
    while (atomic_load(&file->entering))
        pthread_cond_wait(&file->left, &file->lock);
}

// From what was kept when the trace was looked at before, else from its events.
static void fill_tiles(struct server *server, struct file *file) {
    enter_last(file);
    tsmith_status status = tsmith_trace_load_tiles(file->trace, file->tiles, NULL);
    pthread_mutex_unlock(&file->lock);
    const bool is_loaded = status == TSMITH_OK;
    if (!is_loaded)
        status = TSMITH_AGAIN;
    while (status == TSMITH_AGAIN && !atomic_load(&server->is_ending)) {
        enter_last(file);
        status = tsmith_tiles_fill(file->tiles, BATCHES_AT_ONCE, NULL);
        pthread_mutex_unlock(&file->lock);
    }
    atomic_store(&file->is_loaded, is_loaded);
    atomic_store(&file->is_filled, status != TSMITH_AGAIN);
    if (is_loaded || status != TSMITH_OK)
        return;
    enter_last(file);
    (void)tsmith_trace_keep_tiles(file->trace, file->tiles, NULL);
    pthread_mutex_unlock(&file->lock);
}

// ---- files that grow

// Puts a trace that was opened anew into the place of one.
static void exchange(struct file *file, struct file *opened) {
    pthread_mutex_lock(&file->query_lock);
    enter_last(file);
    tsmith_query_close(file->query);
    tsmith_trace_close(file->query_trace);
    live_reopened(file);
    tsmith_tiles_destroy(file->tiles);
    tsmith_trace_close(file->trace);
    file->query = NULL;
    file->query_trace = NULL;
    file->trace = opened->trace;
    file->sbt = opened->sbt;
    file->dictionary = opened->dictionary;
    file->tiles = opened->tiles;
    atomic_store(&file->is_filled, false);
    pthread_mutex_unlock(&file->lock);
    pthread_mutex_unlock(&file->query_lock);
}

// A file that does not grow any more is opened as any other, so that the page shows of it what it would show later.
static void finish(struct server *server, struct file *file) {
    const struct server plain = {.cache = server->cache};
    struct file opened = {.path = file->path};
    tsmith_error error;
    if (open_file(&plain, &opened, &error) >= 0) {
        exchange(file, &opened);
        fill_tiles(server, file);
        return;
    }
    tsmith_trace_close(opened.trace);
    enter_last(file); // it cannot be opened any more: what was read of it stays
    live_reopened(file);
    pthread_mutex_unlock(&file->lock);
}

// False: nothing more is to be expected of it.
static bool follow_one(struct server *server, struct file *file) {
    bool more = true;
    enum live_state state = LIVE_RECORDING;
    if (!live_is_wanted(file))
        return true;
    while (more && !atomic_load(&server->is_ending)) {
        enter_last(file);
        live_step(file, &more);
        state = file->live->state;
        pthread_mutex_unlock(&file->lock);
    }
    if (state == LIVE_ENDED || state == LIVE_STOPPED || state == LIVE_TRUNCATED)
        finish(server, file);
    return state == LIVE_RECORDING;
}

static int64_t now_ns(void) {
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

// At least as long as the work before it took: however fast a trace grows, half of a processor is enough.
static void sleep_step(const struct server *server, int64_t worked) {
    const int64_t wanted = worked > STEP ? worked : STEP;
    for (int64_t slept = 0; slept < wanted && !atomic_load(&server->is_ending); slept += NAP)
        (void)nanosleep(&(struct timespec){.tv_nsec = NAP}, NULL);
}

static void follow_all(struct server *server) {
    bool is_any = true;
    while (is_any && !atomic_load(&server->is_ending)) {
        const int64_t began = now_ns();
        is_any = false;
        for (size_t i = 0; i < server->file_count; i++) {
            struct file *file = &server->files[i];
            if (atomic_load(&file->state) == FILE_READY && file->live && file->live->state == LIVE_RECORDING)
                is_any |= follow_one(server, file);
        }
        if (is_any)
            sleep_step(server, now_ns() - began);
    }
}

static void *open_files(void *context) {
    struct server *server = context;
    for (size_t i = 0; i < server->file_count && !atomic_load(&server->is_ending); i++) {
        struct file *file = &server->files[i];
        tsmith_error error;
        const bool good = open_file(server, file, &error) >= 0;
        if (!good)
            file->error = strdup(error.message);
        atomic_store(&file->state, good ? FILE_READY : FILE_FAILED);
    }
    for (size_t i = 0; i < server->file_count; i++)
        if (atomic_load(&server->files[i].state) == FILE_READY && !server->files[i].live)
            fill_tiles(server, &server->files[i]);
    follow_all(server);
    return NULL;
}

bool files_begin(struct server *server) {
    for (size_t i = 0; i < server->file_count; i++) {
        pthread_mutex_init(&server->files[i].lock, NULL);
        pthread_cond_init(&server->files[i].left, NULL);
        pthread_mutex_init(&server->files[i].query_lock, NULL);
    }
    server->has_opener = pthread_create(&server->opener, NULL, open_files, server) == 0;
    return server->has_opener;
}

void files_wait(struct server *server) {
    if (server->has_opener)
        (void)pthread_join(server->opener, NULL);
    server->has_opener = false;
}

void files_end(struct server *server) {
    atomic_store(&server->is_ending, true);
    files_wait(server);
    for (size_t i = 0; i < server->file_count; i++) {
        struct file *file = &server->files[i];
        live_end(file);
        tsmith_query_close(file->query);
        tsmith_trace_close(file->query_trace);
        tsmith_tiles_destroy(file->tiles);
        tsmith_trace_close(file->trace);
        free(file->error);
        pthread_cond_destroy(&file->left);
        pthread_mutex_destroy(&file->lock);
        pthread_mutex_destroy(&file->query_lock);
    }
}
