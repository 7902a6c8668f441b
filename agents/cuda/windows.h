// SPDX-License-Identifier: Apache-2.0
// When recording was on: a program that profiles itself (tracesmith/profiler.h) switches it. CUPTI stays switched on
// all the time, since switching kinds off and on loses records and can hang; records outside are left out here.
#ifndef CUDA_WINDOWS_H
#define CUDA_WINDOWS_H

#include "agent.h"
#include "reader.h"

// Recording is on, or off, from now on.
void windows_init(bool on);
void windows_switch(bool on);
extern atomic_bool windows_closed __attribute__((visibility("hidden")));
static inline bool windows_open(void) {
    return !atomic_load_explicit(&windows_closed, memory_order_relaxed);
}

extern atomic_bool windows_any __attribute__((visibility("hidden")));
bool windows_contain(struct reader *reader, const void *record);

// Whether a record is wanted: launched, or else begun, while recording was on.
static inline bool windows_want(struct reader *reader, const void *record) {
    return !atomic_load_explicit(&windows_any, memory_order_relaxed) || windows_contain(reader, record);
}

#endif
