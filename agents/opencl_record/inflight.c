// SPDX-License-Identifier: Apache-2.0
// Writes that do not block, until the program can know that they are complete: the device may read the program's memory at
// any time until then. When the program waits for anything, the memory of each is hashed once more before the wait: if it
// is not as it was, the program changed it too early, and the device's data is unknown (CHANGED). After the wait all of
// them are forgotten: it is not always known which of them were complete, and the memory of a complete one may be changed.
//
// The memory may be freed by then, if the program knows of the completion by other means: it is read by
// process_vm_readv, which fails where a load would end the process. Rules: recorder.h.
#include <stdlib.h>
#include <sys/uio.h>
#include <unistd.h>

#include "recorder.h"

enum { INFLIGHT_MOST = 1024 };

struct inflight {
    uint64_t id;
    const uint8_t *from;
    struct rows rows;
    struct chunk_hash hash;
};

static struct inflight inflight[INFLIGHT_MOST]; // under recorder.lock
static size_t inflight_count;
static atomic_bool any_inflight;

void inflight_after_fork(void) {
    inflight_count = 0;
    atomic_store(&any_inflight, false);
}

static struct chunk_hash hash_of(const struct payload *payload) {
    return chunk_hash_of(payload->hashes, payload->count * sizeof *payload->hashes);
}

// With the lock held, after the record of the write has begun. Gives its number, or 0 where it is not kept.
uint64_t inflight_add(const struct rows *rows, const void *from, const struct payload *payload) {
    if (inflight_count == INFLIGHT_MOST || payload->failed || !payload->count)
        return 0;
    inflight[inflight_count] = (struct inflight){++recorder.last_id, from, *rows, hash_of(payload)};
    atomic_store(&any_inflight, true);
    return inflight[inflight_count++].id;
}

// From the first byte to the last, with the gaps between rows.
static size_t extent(const struct rows *rows) {
    return (rows->depth - 1) * rows->slice + (rows->height - 1) * rows->row + rows->width;
}

static bool has_changed(const struct inflight *write) {
    const size_t size = extent(&write->rows);
    uint8_t *copy = malloc(size ? size : 1);
    const struct iovec local = {copy, size}, remote = {(void *)(uintptr_t)write->from, size};
    struct payload payload = {0};
    bool changed = false;
    if (copy && process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == (ssize_t)size) {
        uint8_t *packed = rows_pack(&write->rows, copy);
        if (packed)
            payload_hash(&payload, packed, rows_bytes(&write->rows));
        changed = packed && !payload.failed && !chunk_hash_equal(hash_of(&payload), write->hash);
        payload_drop(&payload);
        free(packed);
    }
    free(copy);
    return changed;
}

static void write_changed(const struct inflight *write) {
    struct recording_writer *writer = record_open(RECORDING_CHANGED);
    recording_put(writer, RECORDING_KEY_TRANSFER, write->id);
    recording_put(writer, RECORDING_KEY_HOST, (uint64_t)(uintptr_t)write->from);
    recording_put(writer, RECORDING_KEY_SIZE, extent(&write->rows));
    put_thread(writer);
    record_close();
}

static void remove_one(uint64_t id) {
    pthread_mutex_lock(&recorder.lock);
    for (size_t i = 0; i < inflight_count; i++)
        if (inflight[i].id == id) {
            inflight[i] = inflight[--inflight_count];
            break;
        }
    pthread_mutex_unlock(&recorder.lock);
}

uint64_t inflight_check(void) {
    if (!atomic_load_explicit(&any_inflight, memory_order_relaxed))
        return 0;
    pthread_mutex_lock(&recorder.lock);
    const size_t count = inflight_count;
    const uint64_t last = recorder.last_id;
    struct inflight *writes = malloc((count + 1) * sizeof *writes);
    for (size_t i = 0; writes && i < count; i++)
        writes[i] = inflight[i];
    pthread_mutex_unlock(&recorder.lock);
    for (size_t i = 0; writes && i < count; i++)
        if (has_changed(&writes[i])) {
            write_changed(&writes[i]);
            remove_one(writes[i].id);
        }
    free(writes);
    return last;
}

// Those up to this number: other threads may have added some since.
void inflight_forget(uint64_t last) {
    size_t kept = 0;
    if (!last || !atomic_load_explicit(&any_inflight, memory_order_relaxed))
        return;
    pthread_mutex_lock(&recorder.lock);
    for (size_t i = 0; i < inflight_count; i++)
        if (inflight[i].id > last)
            inflight[kept++] = inflight[i];
    inflight_count = kept;
    atomic_store(&any_inflight, kept != 0);
    pthread_mutex_unlock(&recorder.lock);
}
