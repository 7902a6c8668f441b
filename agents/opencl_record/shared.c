// SPDX-License-Identifier: Apache-2.0
// Shared virtual memory. A block is a memory object whose handle is its address; transfers of it are recorded as those of
// buffers. The host writes coarse-grained memory between map and unmap. Fine-grained memory it may write whenever no kernel
// runs: so it is copied before every command that reads it, and what a kernel computed is taken as soon as the program has
// waited for it. Rules: recorder.h.
#include <stdlib.h>

#include "base/sorted.h"
#include "recorder.h"

// The live blocks by address, to find what a pointer points into.
static struct object **blocks; // under recorder.lock
static size_t block_count, block_capacity;

void shared_after_fork(void) {
    blocks = NULL;
    block_count = block_capacity = 0;
}

// The first block that begins after an address.
static size_t place_after(const void *at) {
    return SORTED_FIND(i, 0, block_count, (uintptr_t)blocks[i]->handle <= (uintptr_t)at);
}

struct object *object_find_shared(const void *at) {
    const size_t place = at ? place_after(at) : 0;
    struct object *block = place ? blocks[place - 1] : NULL;
    return block && (uintptr_t)at - (uintptr_t)block->handle < block->size ? block : NULL;
}

static void add_block(struct object *object) {
    if (block_count == block_capacity) {
        const size_t capacity = block_capacity ? block_capacity * 2 : 16;
        struct object **room = realloc(blocks, capacity * sizeof(struct object *));
        if (!room) {
            atomic_store(&recorder.on, false);
            return;
        }
        blocks = room;
        block_capacity = capacity;
    }
    size_t place = place_after(object->handle);
    for (size_t i = block_count++; i > place; i--)
        blocks[i] = blocks[i - 1];
    blocks[place] = object;
}

static void remove_block(const struct object *object) {
    const size_t place = place_after(object->handle);
    if (!place || blocks[place - 1] != object)
        return;
    block_count--;
    for (size_t i = place - 1; i < block_count; i++)
        blocks[i] = blocks[i + 1];
}

void *record_clSVMAlloc(cl_context context, cl_svm_mem_flags flags, size_t size, cl_uint alignment) {
    void *memory = recorder.next.clSVMAlloc(context, flags, size, alignment);
    if (!recorder_on() || !memory)
        return memory;
    struct recording_writer *writer = record_open(RECORDING_SHARED);
    struct object *before = object_find(memory, OBJECT_SHARED);
    if (before)
        remove_block(before);
    struct object *object = object_add(memory, OBJECT_SHARED);
    object->context = object_name(object_find(context, OBJECT_CONTEXT));
    object->flags = flags;
    object->size = size;
    add_block(object);
    recording_put(writer, RECORDING_KEY_OBJECT, object->id);
    recording_put(writer, RECORDING_KEY_CONTEXT, object_id(context, OBJECT_CONTEXT));
    recording_put(writer, RECORDING_KEY_FLAGS, flags);
    recording_put(writer, RECORDING_KEY_SIZE, size);
    recording_put(writer, RECORDING_KEY_ADDRESS, (uint64_t)(uintptr_t)memory);
    record_close();
    if (flags & CL_MEM_SVM_ATOMICS)
        refuse("clSVMAlloc", "what the host writes into shared memory while a kernel runs is not recorded",
               NULL, 0, NULL);
    return memory;
}

// The program frees a block. What gives back is the copy that must come first; NULL when there is none to wait for.
static cl_event forget_block(const void *memory) {
    pthread_mutex_lock(&recorder.lock);
    struct object *object = object_find(memory, OBJECT_SHARED);
    cl_event hold = NULL;
    if (object)
        access_wait_for_copier(object);
    const bool live = object && object->references > 0;
    const bool take = live && object->written && !(object->flags & CL_MEM_SVM_FINE_GRAIN_BUFFER);
    if (live) {
        object->references = 0;
        object->written = false;
        remove_block(object);
    }
    pthread_mutex_unlock(&recorder.lock);
    if (!live)
        return NULL;
    if (take)
        snapshot_take(object, RECORDING_VERIFY, 0);
    struct recording_writer *writer = record_open(RECORDING_RELEASE);
    recording_put(writer, RECORDING_KEY_OBJECT, object->id);
    hold = object->hold;
    object->hold = NULL;
    object_end(object);
    record_close();
    return hold;
}

// Nothing may use the block any more, so its copy waits for nothing.
void record_clSVMFree(cl_context context, void *memory) {
    cl_event hold = recorder_on() && memory ? forget_block(memory) : NULL;
    if (hold) {
        markers_flush(NULL, NULL);
        recorder.next.clWaitForEvents(1, &hold);
        recorder.next.clReleaseEvent(hold);
        snapshot_reap();
    }
    recorder.next.clSVMFree(context, memory);
}

// ---- commands

struct object *shared_block(const void *at) {
    pthread_mutex_lock(&recorder.lock);
    struct object *block = object_find_shared(at);
    pthread_mutex_unlock(&recorder.lock);
    return block;
}

static uint64_t offset_in(const struct object *block, const void *at) {
    return (uint64_t)((uintptr_t)at - (uintptr_t)block->handle);
}

static unsigned writes(const struct object *block, const void *at, size_t size) {
    return block && at == block->handle && size == block->size ? ACCESS_WRITES | ACCESS_WHOLE : ACCESS_WRITES;
}

static void note_copy(const struct access *access, const struct object *target, const struct object *source,
                      void *to, const void *from, size_t size, const cl_event *event) {
    struct payload payload = {.size = size};
    if (!source || (!target && access->blocking))
        payload_take(&payload, target ? from : to, size);
    struct recording_writer *writer = command_open(target && source ? RECORDING_COMMAND_COPY
                                                   : target         ? RECORDING_COMMAND_WRITE
                                                                    : RECORDING_COMMAND_READ,
                                                   access);
    if (source)
        recording_put(writer, RECORDING_KEY_SOURCE, source->id);
    if (target)
        recording_put(writer, RECORDING_KEY_TARGET, target->id);
    if (source && target) {
        const size_t from_offset = offset_in(source, from), to_offset = offset_in(target, to);
        put_sizes(writer, RECORDING_KEY_SOURCE_ORIGIN, &from_offset, 1);
        put_sizes(writer, RECORDING_KEY_TARGET_ORIGIN, &to_offset, 1);
        recording_put(writer, RECORDING_KEY_SIZE, size);
    } else {
        recording_put(writer, RECORDING_KEY_OFFSET, target ? offset_in(target, to) : offset_in(source, from));
        payload_put(writer, &payload);
    }
    recording_put(writer, RECORDING_KEY_BLOCKING, access->blocking);
    command_close(event);
}

cl_int record_clEnqueueSVMMemcpy(cl_command_queue queue, cl_bool blocking, void *to, const void *from,
                                 size_t size, cl_uint count, const cl_event *waits, cl_event *event) {
    struct access access;
    access_begin(&access, queue, NULL, count, waits);
    access_blocks(&access, blocking);
    struct object *source = access.on ? shared_block(from) : NULL,
                  *target = access.on ? shared_block(to) : NULL;
    access_object(&access, source, ACCESS_READS);
    access_object(&access, target, writes(target, to, size));
    const cl_int status =
        recorder.next.clEnqueueSVMMemcpy(queue, blocking, to, from, size, access.count, access.waits, event);
    if (access_end(&access, status, event) && (source || target)) {
        note_copy(&access, target, source, to, from, size, event);
        access_after(&access);
    }
    return status;
}

cl_int record_clEnqueueSVMMemFill(cl_command_queue queue, void *to, const void *pattern, size_t length,
                                  size_t size, cl_uint count, const cl_event *waits, cl_event *event) {
    struct access access;
    access_begin(&access, queue, NULL, count, waits);
    struct object *target = access.on ? shared_block(to) : NULL;
    access_object(&access, target, writes(target, to, size));
    const cl_int status = recorder.next.clEnqueueSVMMemFill(queue, to, pattern, length, size, access.count,
                                                            access.waits, event);
    if (access_end(&access, status, event) && target) {
        struct recording_writer *writer = command_open(RECORDING_COMMAND_FILL, &access);
        recording_put(writer, RECORDING_KEY_TARGET, target->id);
        recording_put(writer, RECORDING_KEY_OFFSET, offset_in(target, to));
        recording_put(writer, RECORDING_KEY_SIZE, size);
        recording_put_bytes(writer, RECORDING_KEY_DATA, pattern, length);
        command_close(event);
        access_after(&access);
    }
    return status;
}

cl_int record_clEnqueueSVMMigrateMem(cl_command_queue queue, cl_uint blocks_moved, const void **memory,
                                     const size_t *sizes, cl_mem_migration_flags flags, cl_uint count,
                                     const cl_event *waits, cl_event *event) {
    return note_plain(
        RECORDING_COMMAND_MIGRATE,
        recorder.next.clEnqueueSVMMigrateMem(queue, blocks_moved, memory, sizes, flags, count, waits, event),
        queue, count, waits, event);
}

cl_int record_clEnqueueSVMFree(cl_command_queue queue, cl_uint freed, void *pointers[],
                               void(CL_CALLBACK *function)(cl_command_queue, cl_uint, void *[], void *),
                               void *user, cl_uint count, const cl_event *waits, cl_event *event) {
    struct access access;
    access_begin(&access, queue, NULL, count, waits);
    for (cl_uint i = 0; (access.on || access.early) && pointers && i < freed; i++) {
        cl_event hold = forget_block(pointers[i]);
        if (hold)
            markers_flush(queue, NULL);
        if (hold && !access_wait(&access, hold))
            recorder.next.clReleaseEvent(hold);
    }
    const cl_int status = recorder.next.clEnqueueSVMFree(queue, freed, pointers, function, user, access.count,
                                                         access.waits, event);
    if (access_end(&access, status, event)) {
        command_open(RECORDING_COMMAND_MARKER, &access);
        command_close(event);
    }
    return status;
}

// ---- fine-grained memory

struct waited {
    const struct object *queue;
    struct object *block;
};

static void find_waited(struct object *object, void *context) {
    struct waited *waited = context;
    const bool alone =
        object->writer_count == 1 && !object->many_writers && object->writers[0] == waited->queue;
    if (!waited->block && object->references > 0 && object->written && alone &&
        (object->flags & CL_MEM_SVM_FINE_GRAIN_BUFFER))
        waited->block = object;
}

// Blocks that only this queue wrote hold the results of its kernels until the program continues.
void shared_waited(cl_command_queue queue) {
    for (;;) {
        struct payload payload;
        pthread_mutex_lock(&recorder.lock);
        struct waited waited = {.queue = object_find(queue, OBJECT_QUEUE)};
        if (block_count)
            object_each(OBJECT_SHARED, find_waited, &waited);
        if (waited.block) {
            waited.block->written = false;
            object_name(waited.block)->copier = range_thread();
        }
        pthread_mutex_unlock(&recorder.lock);
        if (!waited.block)
            return;
        payload_take(&payload, waited.block->handle, waited.block->size);
        struct recording_writer *writer = record_open(RECORDING_VERIFY);
        const uint64_t verify = ++recorder.last_id;
        recording_put(writer, RECORDING_KEY_VERIFY, verify);
        recording_put(writer, RECORDING_KEY_OBJECT, waited.block->id);
        recording_put(writer, RECORDING_KEY_SIZE, waited.block->size);
        record_close();
        writer = record_open(RECORDING_STATE);
        recording_put(writer, RECORDING_KEY_VERIFY, verify);
        payload_put(writer, &payload);
        waited.block->copier = 0;
        object_drop(waited.block);
        record_close();
    }
}
