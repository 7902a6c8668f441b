// SPDX-License-Identifier: Apache-2.0
// The API of an imaginary GPU, as small as one can be: queues, launches, and a way in for tools. A queue is used by one
// thread at a time.
#ifndef TOY_GPU_H
#define TOY_GPU_H

#include <stdint.h>

typedef struct toy_queue toy_queue;

toy_queue *toy_queue_create(void);
// The kernel takes this many microseconds of the GPU. Its name is a constant. 0, or -1 if the queue is full (64 kernels).
int toy_launch(toy_queue *queue, const char *kernel, unsigned microseconds);
// Waits until all that was launched has ended.
int toy_finish(toy_queue *queue);
// After toy_finish.
void toy_queue_destroy(toy_queue *queue);

// ---- tools: the library that TOY_GPU_TOOL names is loaded before the first queue is made. It exports toy_tool_start, which
// returns the functions that are called from then on.

typedef struct toy_tool {
    // On the program's thread, around a call. `command` numbers launches from 1; 0: the call launches nothing.
    void (*enter)(const char *function, toy_queue *queue, uint64_t command);
    void (*leave)(const char *function, toy_queue *queue, uint64_t command, int result);
    // On a thread of the driver, once a kernel has ended. Times are ns of the GPU's clock, which counts from its start.
    void (*done)(toy_queue *queue, uint64_t command, const char *kernel, uint64_t queued, uint64_t start,
                 uint64_t end);
} toy_tool;
typedef const toy_tool *toy_tool_start_function(void);

#endif
