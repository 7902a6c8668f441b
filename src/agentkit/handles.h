// SPDX-License-Identifier: Apache-2.0
// What an agent knows of the program's objects, found by their handles. For agents.
//
// An agent's struct of an object begins with struct handle. Lookups take no lock; what adds or removes takes one. Entries are used
// again for objects of the same kind, never unmapped: one that is read just after its end is stale, not wrong memory. Its
// generation then differs.
#ifndef AGENTKIT_HANDLES_H
#define AGENTKIT_HANDLES_H

#include <pthread.h>

#include "agentkit/map.h"

enum { HANDLE_KINDS = 10 }; // 0 is none

struct handle {
    _Atomic uint32_t kind;       // 0: free
    _Atomic uint32_t generation; // grows when the entry is removed; never falls
    uint64_t number;             // of its kind, from 1
    void *key;
    struct handle *next_free;
};

struct handles {
    uint32_t size; // of the agent's struct
    uint32_t kept; // bytes at its beginning that stay when an entry is used again
    struct map maps[HANDLE_KINDS];
    pthread_mutex_t mutex; // of what follows
    struct handle_chunk *_Atomic chunks[HANDLE_KINDS];
    struct handle *free[HANDLE_KINDS];
    uint64_t numbers[HANDLE_KINDS];
};

// `kinds` are those from 1 to this. False: there is no memory.
bool handles_init(struct handles *handles, size_t size, size_t kept, uint32_t kinds, uint32_t log2_buckets);
void handles_after_fork_child(struct handles *handles);

// NULL: not known.
static inline void *handles_find(const struct handles *handles, uint32_t kind, const void *key) {
    return (void *)(uintptr_t)map_get(&handles->maps[kind], key);
}

// A new entry, with zeros behind what is kept, that is found from now on, in place of another of this key. NULL: no room, which
// is counted.
void *handles_add(struct handles *handles, uint32_t kind, const void *key);
// The same, where the end of the object before may not have been seen: another entry of this key is removed.
void *handles_replace(struct handles *handles, uint32_t kind, const void *key);
// It is not found any more.
void handles_hide(struct handles *handles, struct handle *entry);
// It is found again, unless its key has another entry by now.
void handles_show(struct handles *handles, struct handle *entry);
// It is not found any more, and the struct may be used again. One that was removed stays so.
void handles_remove(struct handles *handles, struct handle *entry);
void handles_each(const struct handles *handles, uint32_t kind, void (*each)(void *entry, void *context),
                  void *context);

#endif
