// SPDX-License-Identifier: Apache-2.0
// The driver of the imaginary GPU: a thread per queue that sleeps for as long as a kernel takes.
#include "toy_gpu.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>

enum { ROOM = 64 };

struct command {
    uint64_t number, queued;
    const char *kernel;
    unsigned microseconds;
};

struct toy_queue {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct command commands[ROOM];
    uint64_t launched, ended;
    bool closing;
};

static const toy_tool *tool;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static uint64_t started;
static _Atomic uint64_t numbers;

static uint64_t gpu_clock(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec - started;
}

static void load_tool(void) {
    started = gpu_clock();
    const char *path = secure_getenv("TOY_GPU_TOOL");
    void *library = path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
    toy_tool_start_function *start = NULL;
    if (library)
        *(void **)&start = dlsym(library, "toy_tool_start");
    if (start)
        tool = start();
}

static void enter(const char *function, toy_queue *queue, uint64_t command) {
    if (tool && tool->enter)
        tool->enter(function, queue, command);
}

static int leave(const char *function, toy_queue *queue, uint64_t command, int result) {
    if (tool && tool->leave)
        tool->leave(function, queue, command, result);
    return result;
}

static void *run(void *argument) {
    toy_queue *queue = argument;
    pthread_mutex_lock(&queue->lock);
    for (;;) {
        while (queue->ended == queue->launched && !queue->closing)
            pthread_cond_wait(&queue->changed, &queue->lock);
        if (queue->ended == queue->launched)
            break;
        const struct command command = queue->commands[queue->ended % ROOM];
        pthread_mutex_unlock(&queue->lock);
        const uint64_t start = gpu_clock();
        nanosleep(&(struct timespec){.tv_nsec = (long)command.microseconds * 1000}, NULL);
        const uint64_t end = gpu_clock();
        if (tool && tool->done)
            tool->done(queue, command.number, command.kernel, command.queued, start, end);
        pthread_mutex_lock(&queue->lock);
        queue->ended++;
        pthread_cond_broadcast(&queue->changed);
    }
    pthread_mutex_unlock(&queue->lock);
    return NULL;
}

toy_queue *toy_queue_create(void) {
    pthread_once(&once, load_tool);
    toy_queue *queue = calloc(1, sizeof *queue);
    if (!queue)
        return NULL;
    pthread_mutex_init(&queue->lock, NULL);
    pthread_cond_init(&queue->changed, NULL);
    enter("toy_queue_create", queue, 0);
    const int failed = pthread_create(&queue->thread, NULL, run, queue);
    leave("toy_queue_create", queue, 0, failed ? -1 : 0);
    if (failed) {
        free(queue);
        return NULL;
    }
    return queue;
}

int toy_launch(toy_queue *queue, const char *kernel, unsigned microseconds) {
    const uint64_t number = atomic_fetch_add(&numbers, 1) + 1;
    int result = -1;
    enter("toy_launch", queue, number);
    pthread_mutex_lock(&queue->lock);
    if (queue->launched - queue->ended < ROOM) {
        queue->commands[queue->launched++ % ROOM] = (struct command){
            .number = number, .queued = gpu_clock(), .kernel = kernel, .microseconds = microseconds};
        pthread_cond_broadcast(&queue->changed);
        result = 0;
    }
    pthread_mutex_unlock(&queue->lock);
    return leave("toy_launch", queue, number, result);
}

int toy_finish(toy_queue *queue) {
    enter("toy_finish", queue, 0);
    pthread_mutex_lock(&queue->lock);
    while (queue->ended != queue->launched)
        pthread_cond_wait(&queue->changed, &queue->lock);
    pthread_mutex_unlock(&queue->lock);
    return leave("toy_finish", queue, 0, 0);
}

void toy_queue_destroy(toy_queue *queue) {
    if (!queue)
        return;
    pthread_mutex_lock(&queue->lock);
    queue->closing = true;
    pthread_cond_broadcast(&queue->changed);
    pthread_mutex_unlock(&queue->lock);
    pthread_join(queue->thread, NULL);
    free(queue);
}
