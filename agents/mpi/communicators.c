// SPDX-License-Identifier: Apache-2.0
// Identities of communicators, windows and files that are the same on every rank, made without a message. Rules: agent.h.
//
// A communicator is made by a call that is collective over its parent, and MPI requires that all ranks of the parent call its
// collectives in one order. So the parent's identity, the number of the call among the parent's collectives, and the world rank of
// the first process of the result (a call that splits makes several) are the same on all its ranks, and of no other communicator.
// What is made by a call that only its own group calls has the world ranks of the group, the tag, and how many of these there were
// before. Communicators with processes of another world (MPI_Comm_spawn, MPI_Comm_connect) have no identity.
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "agent.h"
#include "agentkit/map.h"
#include "wire/memory.h"

enum { COMMS_LOG2 = 10, WINDOWS_LOG2 = 7, MESSAGES_LOG2 = 8, GROUPS_LOG2 = 8, FILES_LOG2 = 7, CHUNK = 64 };

static struct map comms, windows, files, messages, groups;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct comm *free_list;

static uint64_t mix_in(uint64_t before, uint64_t value) {
    uint64_t x = before ^ (value + UINT64_C(0x9e3779b97f4a7c15) + (before << 6) + (before >> 2));
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

// The identity of a result: never 0.
static uint64_t identity(uint64_t kind, uint64_t first, uint64_t second, uint64_t third) {
    const uint64_t id = mix_in(mix_in(mix_in(mix_in(0, kind), first), second), third);
    return id ? id : 1;
}
enum { ID_WORLD = 1, ID_SELF, ID_MADE, ID_GROUP, ID_INTER, ID_WINDOW, ID_FILE };

bool comms_init(void) {
    return map_init(&comms, COMMS_LOG2) && map_init(&windows, WINDOWS_LOG2) && map_init(&files, FILES_LOG2) &&
           map_init(&messages, MESSAGES_LOG2) && map_init(&groups, GROUPS_LOG2);
}

// ---- entries

static struct comm *new_entry(void) {
    pthread_mutex_lock(&mutex);
    if (!free_list) {
        struct comm *chunk = memory_take(CHUNK * sizeof *chunk);
        for (int i = 0; chunk && i < CHUNK; i++) {
            chunk[i].next_free = free_list;
            free_list = &chunk[i];
        }
    }
    struct comm *comm = free_list;
    if (comm)
        free_list = comm->next_free;
    pthread_mutex_unlock(&mutex);
    if (!comm) {
        channel_lose(agent.channel, TSMITH_REASON_NO_MEMORY, 1);
        return NULL;
    }
    int *const world_ranks = comm->world_ranks;
    const int capacity = comm->capacity;
    *comm = (struct comm){.leader = -1, .world_ranks = world_ranks, .capacity = capacity};
    return comm;
}

static void free_entry(struct comm *comm) {
    pthread_mutex_lock(&mutex);
    comm->next_free = free_list;
    free_list = comm;
    pthread_mutex_unlock(&mutex);
}

// A file is a pointer; other handles may be an int.
static void *key_of(const struct map *map, mpi_handle handle) {
    return (void *)(map == &files ? handle : mpi_key(handle));
}

static void put_entry(struct map *map, mpi_handle handle, struct comm *comm) {
    struct comm *before = (struct comm *)(uintptr_t)map_get(map, key_of(map, handle));
    if (!map_put(map, key_of(map, handle), (uintptr_t)comm)) {
        channel_lose(agent.channel, TSMITH_REASON_TABLE_FULL, 1);
        free_entry(comm);
        return;
    }
    if (before)
        free_entry(before); // freed by a call that we do not know
}

static struct comm *claim_entry(struct map *map, mpi_handle handle) {
    struct comm *comm = (struct comm *)(uintptr_t)map_get(map, key_of(map, handle));
    if (comm)
        map_remove(map, key_of(map, handle));
    return comm;
}

struct comm *comm_find(mpi_handle handle) {
    return (struct comm *)(uintptr_t)map_get(&comms, (void *)mpi_key(handle));
}

struct comm *win_find(mpi_handle handle) {
    return (struct comm *)(uintptr_t)map_get(&windows, (void *)mpi_key(handle));
}

struct comm *file_find(mpi_handle handle) {
    return (struct comm *)(uintptr_t)map_get(&files, (void *)handle);
}

struct comm *comm_claim(mpi_handle handle) {
    return claim_entry(&comms, handle);
}

struct comm *win_claim(mpi_handle handle) {
    return claim_entry(&windows, handle);
}

struct comm *file_claim(mpi_handle handle) {
    return claim_entry(&files, handle);
}

void comm_freed(struct comm *comm) {
    if (comm)
        free_entry(comm);
}

void comm_return(mpi_handle handle, struct comm *comm) {
    if (comm)
        put_entry(&comms, handle, comm);
}

void win_return(mpi_handle handle, struct comm *comm) {
    if (comm)
        put_entry(&windows, handle, comm);
}

void file_return(mpi_handle handle, struct comm *comm) {
    if (comm)
        put_entry(&files, handle, comm);
}

// ---- ranks

static bool room_for_ranks(struct comm *comm, int count) {
    if (comm->capacity >= count)
        return true;
    int *ranks = memory_take((size_t)count * sizeof *ranks);
    if (!ranks)
        return false;
    comm->world_ranks = ranks; // the smaller one stays: another thread may be reading it
    comm->capacity = count;
    return true;
}

// The world ranks of a group, into the entry. A process of another world is none.
static bool translate(struct comm *comm, mpi_handle group) {
    int size = 0;
    if (mpi.group_size(group, &size) != 0 || size <= 0 || !room_for_ranks(comm, size))
        return false;
    int *ranks = memory_take((size_t)size * sizeof *ranks);
    bool done = ranks != NULL;
    for (int i = 0; done && i < size; i++)
        ranks[i] = i;
    done = done && mpi.group_translate_ranks(group, size, ranks, mpi.world_group, comm->world_ranks) == 0;
    for (int i = 0; done && i < size; i++)
        if (comm->world_ranks[i] == mpi.abi->undefined)
            comm->world_ranks[i] = -1;
    if (ranks)
        munmap(ranks, (size_t)size * sizeof *ranks);
    comm->peers = done ? size : 0;
    return done;
}

static bool is_whole(const struct comm *comm) {
    for (int i = 0; i < comm->peers; i++)
        if (comm->world_ranks[i] < 0)
            return false;
    return comm->peers > 0;
}

static bool translate_group(struct comm *comm, mpi_handle handle, int (*get)(mpi_handle, mpi_handle *)) {
    mpi_handle group = 0;
    if (!mpi.world_group || get(handle, &group) != 0)
        return false;
    const bool done = translate(comm, group) && is_whole(comm);
    mpi.group_free(&group);
    return done;
}

// Asks MPI for its size and ranks. `leaders`: the first process, of both sides of an intercommunicator the smaller one first.
static bool learn(struct comm *comm, mpi_handle handle, int leaders[2]) {
    int inter = 0;
    if (mpi.comm_rank(handle, &comm->rank) != 0 || mpi.comm_size(handle, &comm->size) != 0 ||
        mpi.comm_test_inter(handle, &inter) != 0 || !translate_group(comm, handle, mpi.comm_group))
        return false;
    leaders[0] = comm->leader = comm->world_ranks[0];
    leaders[1] = -1;
    if (!inter)
        return true;
    if (!translate_group(comm, handle, mpi.comm_remote_group))
        return false;
    comm->size += comm->peers;
    leaders[1] = comm->world_ranks[0];
    if (leaders[1] < leaders[0]) {
        leaders[1] = leaders[0];
        leaders[0] = comm->leader = comm->world_ranks[0];
    }
    return true;
}

// ---- made

void comms_add_world(void) {
    struct comm *world = new_entry(), *self = new_entry();
    int leaders[2];
    if (mpi.comm_group(mpi.comm_world, &mpi.world_group) != 0)
        mpi.world_group = 0;
    if (world) {
        if (learn(world, mpi.comm_world, leaders))
            world->id = identity(ID_WORLD, 0, 0, 0);
        mpi.world_rank = world->rank;
        mpi.world_size = world->size;
        put_entry(&comms, mpi.comm_world, world);
    }
    if (self) {
        if (learn(self, mpi.comm_self, leaders))
            self->id = identity(ID_SELF, (uint64_t)leaders[0], 0, 0);
        put_entry(&comms, mpi.comm_self, self);
    }
}

void comm_made(const struct comm *parent, uint64_t sequence, const void *place) {
    const mpi_handle handle = mpi_read_handle(place, 0);
    int leaders[2];
    if (handle == mpi.comm_null)
        return;
    struct comm *comm = new_entry();
    if (!comm)
        return;
    if (learn(comm, handle, leaders) && parent && parent->id)
        comm->id = identity(ID_MADE, parent->id, sequence, (uint64_t)leaders[0]);
    put_entry(&comms, handle, comm);
}

static void copy_ranks(struct comm *comm, const struct comm *parent) {
    comm->rank = parent->rank;
    comm->size = parent->size;
    comm->leader = parent->leader;
    if (!room_for_ranks(comm, parent->peers))
        return;
    if (parent->peers)
        memcpy(comm->world_ranks, parent->world_ranks, (size_t)parent->peers * sizeof *comm->world_ranks);
    comm->peers = parent->peers;
}

void comm_duplicated(const struct comm *parent, uint64_t sequence, const void *place) {
    struct comm *comm = parent ? new_entry() : NULL;
    if (!comm)
        return;
    copy_ranks(comm, parent);
    if (parent->id)
        comm->id = identity(ID_MADE, parent->id, sequence, (uint64_t)parent->leader);
    put_entry(&comms, mpi_read_handle(place, 0), comm);
}

// How many communicators had this key before.
static uint64_t count_up(uint64_t key) {
    pthread_mutex_lock(&mutex);
    const void *at = (const void *)(uintptr_t)(key | 2); // 0 and 1 are no keys
    const uint64_t before = map_get(&groups, at);
    const bool kept = map_put(&groups, at, before + 1);
    pthread_mutex_unlock(&mutex);
    if (!kept)
        channel_lose(agent.channel, TSMITH_REASON_TABLE_FULL, 1);
    return before;
}

void comm_made_of_group(const void *place, int tag, bool is_inter) {
    const mpi_handle handle = mpi_read_handle(place, 0);
    int leaders[2];
    if (handle == mpi.comm_null)
        return;
    struct comm *comm = new_entry();
    if (!comm)
        return;
    if (learn(comm, handle, leaders)) {
        uint64_t key = mix_in(is_inter ? ID_INTER : ID_GROUP, (uint64_t)(int64_t)tag);
        if (is_inter) // its two groups differ by side
            key = mix_in(mix_in(key, (uint64_t)leaders[0]), (uint64_t)leaders[1]);
        else
            for (int i = 0; i < comm->peers; i++)
                key = mix_in(key, (uint64_t)comm->world_ranks[i]);
        comm->id = identity(is_inter ? ID_INTER : ID_GROUP, key, count_up(key), 0);
    }
    put_entry(&comms, handle, comm);
}

void win_made(const struct comm *parent, uint64_t sequence, const void *place) {
    struct comm *window = parent ? new_entry() : NULL;
    if (!window)
        return;
    copy_ranks(window, parent);
    window->is_window = true;
    if (parent->id)
        window->id = identity(ID_WINDOW, parent->id, sequence, (uint64_t)parent->leader);
    put_entry(&windows, mpi_read_handle(place, 0), window);
}

// The end of a path, which says more than its beginning. A letter of several bytes stays whole.
static void keep_name(char name[FILE_NAME], const char *path) {
    const size_t length = path ? strlen(path) : 0;
    const char *at = length < FILE_NAME ? path : path + length - FILE_NAME + 1;
    while (length >= FILE_NAME && ((unsigned char)*at & 0xc0) == 0x80)
        at++;
    memcpy(name, length ? at : "", length ? strlen(at) + 1 : 1);
}

void file_made(const struct comm *parent, uint64_t sequence, const void *place, const char *path) {
    struct comm *file = parent ? new_entry() : NULL;
    if (!file)
        return;
    copy_ranks(file, parent);
    file->is_file = true;
    keep_name(file->name, path);
    if (parent->id)
        file->id = identity(ID_FILE, parent->id, sequence, (uint64_t)parent->leader);
    put_entry(&files, file_read_handle(place), file);
}

// ---- messages that MPI_Mprobe found

void message_found(const void *place, const struct comm *comm) {
    const mpi_handle handle = mpi_read_handle(place, 0);
    if (comm && !map_put(&messages, (void *)handle, (uintptr_t)comm))
        channel_lose(agent.channel, TSMITH_REASON_TABLE_FULL, 1);
}

struct comm *message_take(mpi_handle handle) {
    struct comm *comm = (struct comm *)(uintptr_t)map_get(&messages, (void *)handle);
    if (comm)
        map_remove(&messages, (void *)handle);
    return comm;
}
