// SPDX-License-Identifier: Apache-2.0
// For another agent of this process that asks whether a range of some name is open (profile --capture=range:NAME). It finds
// this library by its file and tracesmith_nvtx_watch by its name, before or after NVTX has loaded it. Rules: agent.h.
#include "watch.h"

#include <stddef.h>
#include <string.h>

#include "agent.h"

static const char *_Atomic watched; // kept by its reader
static _Atomic uint32_t *_Atomic counter;
static _Atomic uint32_t watched_id; // string

__attribute__((visibility("default"))) nvtx_watch tracesmith_nvtx_watch;
__attribute__((visibility("default"))) void tracesmith_nvtx_watch(const char *name, _Atomic uint32_t *open) {
    atomic_store(&watched, name);
    atomic_store_explicit(&counter, open, memory_order_release);
}

// The counter, when it is this range that is watched.
static _Atomic uint32_t *find(uint32_t name) {
    _Atomic uint32_t *open = atomic_load_explicit(&counter, memory_order_acquire);
    if (!open || !name)
        return NULL;
    uint32_t id = atomic_load_explicit(&watched_id, memory_order_relaxed);
    if (!id) {
        id = channel_string_cstr(agent.channel, atomic_load(&watched));
        atomic_store_explicit(&watched_id, id, memory_order_relaxed);
    }
    return id == name ? open : NULL;
}

void watch_begun(uint32_t name) {
    _Atomic uint32_t *open = find(name);
    if (!open)
        return;
    atomic_fetch_add_explicit(&open[1], 1, memory_order_relaxed);
    atomic_fetch_add_explicit(open, 1, memory_order_release);
}

void watch_ended(uint32_t name) {
    _Atomic uint32_t *open = find(name);
    uint32_t now = open ? atomic_load_explicit(open, memory_order_relaxed) : 0;
    while (now > 0 && !atomic_compare_exchange_weak_explicit(open, &now, now - 1, memory_order_relaxed,
                                                             memory_order_relaxed)) {
    }
}
