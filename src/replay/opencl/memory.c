// SPDX-License-Identifier: Apache-2.0
// Memory objects of a recording: making them, what they hold and depend on, and the results that are read out of them.
#if __has_include(<CL/cl.h>)

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/status.h"
#include "replay/compare.h"
#include "replay/opencl/execute.h"

static const char unknown_memory[] = "its memory is not in the recording";

// ---- images

static uint64_t at_least_one(uint64_t value) {
    return value ? value : 1;
}

void image_region(const struct live *image, size_t region[RECORDING_DIMENSIONS]) {
    const uint64_t *words = image->words, kind = words[RECORDING_IMAGE_KIND];
    const bool layers = kind == CL_MEM_OBJECT_IMAGE2D_ARRAY, volume = kind == CL_MEM_OBJECT_IMAGE3D;
    region[0] = at_least_one(words[RECORDING_IMAGE_WIDTH]);
    region[1] = kind == CL_MEM_OBJECT_IMAGE1D_ARRAY ? at_least_one(words[RECORDING_IMAGE_LAYERS]) : 1;
    if (layers || volume || kind == CL_MEM_OBJECT_IMAGE2D)
        region[1] = at_least_one(words[RECORDING_IMAGE_HEIGHT]);
    region[2] = layers   ? at_least_one(words[RECORDING_IMAGE_LAYERS])
                : volume ? at_least_one(words[RECORDING_IMAGE_DEPTH])
                         : 1;
}

// Bytes of a pixel, in any format of OpenCL at most (RGBA of 32 bits each).
enum { PIXEL_MOST = 16 };

static bool is_size_of(const struct live *image, uint64_t size) {
    size_t region[RECORDING_DIMENSIONS], product = image->words[RECORDING_IMAGE_ELEMENT];
    if (product > PIXEL_MOST || image->words[RECORDING_IMAGE_ORDER] > UINT32_MAX ||
        image->words[RECORDING_IMAGE_TYPE] > UINT32_MAX || image->words[RECORDING_IMAGE_KIND] > UINT32_MAX)
        return false;
    image_region(image, region);
    for (size_t i = 0; i < RECORDING_DIMENSIONS; i++)
        if (__builtin_mul_overflow(product, region[i], &product))
            return false;
    return product && product == size;
}

tsmith_element opencl_channel_element(uint64_t type) {
    switch (type) {
    case CL_FLOAT:
        return TSMITH_ELEMENT_F32;
    case CL_HALF_FLOAT:
        return TSMITH_ELEMENT_F16;
    case CL_UNSIGNED_INT32:
        return TSMITH_ELEMENT_U32;
    case CL_SIGNED_INT32:
        return TSMITH_ELEMENT_I32;
    case CL_UNSIGNED_INT16:
    case CL_UNORM_INT16:
        return TSMITH_ELEMENT_U16;
    case CL_SIGNED_INT16:
    case CL_SNORM_INT16:
        return TSMITH_ELEMENT_I16;
    case CL_SIGNED_INT8:
    case CL_SNORM_INT8:
        return TSMITH_ELEMENT_I8;
    default:
        return TSMITH_ELEMENT_U8;
    }
}

// The initial content of a new image: from the recording, or zeros. The driver reads as many bytes as the format has, and
// the recording may state it wrongly: there is room for the largest pixels. In memory that the caller frees; NULL: none.
static uint8_t *first_content(struct run *run, struct live *live, const struct recording_record *record) {
    size_t size = 0;
    uint8_t *bytes = NULL;
    if (recording_has_payload(record)) {
        bytes = recording_payload(run->recording, record, &size);
        if (!bytes || size != live->size)
            live->why = recording_missing(run->recording);
    }
    if (live->why) {
        free(bytes);
        bytes = NULL;
    }
    uint8_t *all = NULL;
    size_t room;
    if (!__builtin_mul_overflow(live->size / live->words[RECORDING_IMAGE_ELEMENT], (size_t)PIXEL_MOST, &room))
        all = calloc(1, room);
    if (all && bytes)
        memcpy(all, bytes, live->size);
    free(bytes);
    return all;
}

void execute_image(struct run *run, struct live *live, const struct recording_record *record) {
    const struct live *context = object_context(run, record);
    const cl_mem_flags flags = recording_value(record, RECORDING_KEY_FLAGS) &
                               (CL_MEM_READ_WRITE | CL_MEM_READ_ONLY | CL_MEM_WRITE_ONLY);
    const uint64_t within = recording_value(record, RECORDING_KEY_PARENT);
    const struct live *parent = within ? live_memory(run, within) : NULL;
    size_t count, element = 0;
    cl_int status = CL_INVALID_CONTEXT;
    live->size = recording_value(record, RECORDING_KEY_SIZE);
    live->parent = live_index(run, context);
    live->within = live_index(run, parent);
    if (recording_value(record, RECORDING_KEY_FLAGS) & CL_MEM_USE_HOST_PTR)
        live->held =
            "it is in host memory of the program (CL_MEM_USE_HOST_PTR), which may have written it without "
            "mapping it";
    if (!recording_get_list(record, RECORDING_KEY_LIST, live->words, RECORDING_IMAGE_WORDS, &count) ||
        count != RECORDING_IMAGE_WORDS || !context || !is_size_of(live, live->size) ||
        (within &&
         (!parent || !parent->handle.buffer || parent->released || parent->type == RECORDING_SHARED))) {
        live->why = within ? "the memory it lies in could not be made" : "it is damaged in the recording";
        return;
    }
    if (live->size > context_memory_most(run, context)) {
        live->why = "it is too large for this device";
        return;
    }
    const uint64_t *words = live->words;
    const cl_image_format format = {(cl_channel_order)words[RECORDING_IMAGE_ORDER],
                                    (cl_channel_type)words[RECORDING_IMAGE_TYPE]};
    cl_image_desc desc = {.image_type = (cl_mem_object_type)words[RECORDING_IMAGE_KIND],
                          .image_width = words[RECORDING_IMAGE_WIDTH],
                          .image_height = words[RECORDING_IMAGE_HEIGHT],
                          .image_depth = words[RECORDING_IMAGE_DEPTH],
                          .image_array_size = words[RECORDING_IMAGE_LAYERS],
                          .image_row_pitch = parent ? words[RECORDING_IMAGE_ROW] : 0};
    desc.buffer = parent ? parent->handle.buffer : NULL;
    uint8_t *bytes = parent ? NULL : first_content(run, live, record);
    if (parent || bytes)
        live->handle.buffer =
            run->cl->clCreateImage(context->handle.context, flags | (bytes ? CL_MEM_COPY_HOST_PTR : 0),
                                   &format, &desc, bytes, &status);
    free(bytes);
    live->element = opencl_channel_element(words[RECORDING_IMAGE_TYPE]);
    if (status != CL_SUCCESS)
        live->why = "this device does not support this image, or has no memory for it";
    else if (run->cl->clGetImageInfo(live->handle.buffer, CL_IMAGE_ELEMENT_SIZE, sizeof element, &element,
                                     NULL) ||
             element != words[RECORDING_IMAGE_ELEMENT])
        live->why = "the pixels of an image have another size on this device";
}

// ---- shared memory

void execute_shared(struct run *run, struct live *live, const struct recording_record *record) {
    const struct live *context = object_context(run, record);
    const cl_svm_mem_flags flags =
        recording_value(record, RECORDING_KEY_FLAGS) &
        (CL_MEM_READ_WRITE | CL_MEM_READ_ONLY | CL_MEM_WRITE_ONLY | CL_MEM_SVM_FINE_GRAIN_BUFFER);
    live->size = recording_value(record, RECORDING_KEY_SIZE);
    live->address = recording_value(record, RECORDING_KEY_ADDRESS);
    live->parent = live_index(run, context);
    if (context && live->size && live->size <= context_memory_most(run, context) && run->cl->clSVMAlloc &&
        run->cl->clSVMFree && run->cl->clSetKernelArgSVMPointer && run->cl->clSetKernelExecInfo &&
        run->cl->clEnqueueSVMMemcpy && run->cl->clEnqueueSVMMemFill && run->cl->clEnqueueSVMMap &&
        run->cl->clEnqueueSVMUnmap)
        live->handle.shared = run->cl->clSVMAlloc(context->handle.context, flags, live->size, 0);
    live->held =
        (flags & CL_MEM_SVM_FINE_GRAIN_BUFFER)
            ? "it is fine-grained shared memory: the program may have written it while a kernel used it"
            : "it is shared memory: the program may have written it without mapping it";
    if (live->handle.shared)
        run->shared_count++;
    else
        live->why = "this device has no such shared virtual memory, or no room for it";
}

// ---- results and what they depend on

void result_missing(struct run *run, const struct live *memory, const char *why) {
    const struct execute_result result = {.record = run->at,
                                          .why = why,
                                          .buffer = memory ? memory->id : 0,
                                          .writer = memory ? memory->writer : 0};
    run->client->result(run->client->context, &result);
}

struct execute_result result_of(struct run *run, struct live *memory) {
    const struct live *root = live_root(run, memory);
    return (struct execute_result){.record = run->at,
                                   .doubt = memory_doubt(run, memory),
                                   .buffer = root->id,
                                   .writer = root->writer,
                                   .element = root->element};
}

void result_bring(struct run *run, struct execute_result *result, uint8_t *bytes, size_t size,
                  bool translate) {
    if (translate)
        addresses_to_recorded(run, bytes, size, 0);
    result->bytes = bytes;
    result->size = size;
    run->client->result(run->client->context, result);
}

const char *memory_why(struct run *run, struct live *memory) {
    if (!memory)
        return unknown_memory;
    const struct live *root = live_root(run, memory);
    if (memory->why || root->why)
        return memory->why ? memory->why : root->why;
    return !memory->handle.any || memory->released ? "its memory was released before" : NULL;
}

static const char mapped[] =
    "the program had it mapped for writing: what it wrote there before an unmap is not recorded";

const char *memory_doubt(struct run *run, struct live *memory) {
    const struct live *root = memory ? live_root(run, memory) : NULL;
    return !root ? NULL : root->doubt ? root->doubt : root->maps ? mapped : root->held;
}

void memory_doubted(struct run *run, struct live *memory, const char *doubt) {
    struct live *root = memory ? live_root(run, memory) : NULL;
    if (root && doubt && !root->doubt)
        root->doubt = doubt;
}

void memory_written(struct run *run, struct live *memory, tsmith_element element, const char *why) {
    if (!memory)
        return;
    struct live *root = live_root(run, memory);
    root->writer = run->at + 1;
    if (element && root->type != RECORDING_IMAGE)
        root->element = element;
    if (why)
        root->why = why;
}

void memory_overwritten(struct run *run, struct live *memory, uint64_t offset, uint64_t size, cl_int status) {
    struct live *root = memory ? live_root(run, memory) : NULL;
    if (root && root == memory && status == CL_SUCCESS && offset == 0 && size == root->size &&
        root->handle.any)
        root->why = root->doubt = NULL;
}

static bool is_user(const struct live *memory, size_t queue) {
    bool user = memory->many_users;
    for (size_t i = 0; i < memory->user_count; i++)
        user |= memory->users[i] == queue;
    return user;
}

bool memory_used(struct run *run, struct command *command, size_t queue, struct live *memory) {
    enum { MOST = sizeof memory->users / sizeof *memory->users };
    cl_int status = CL_COMPLETE;
    memory = live_root(run, memory);
    if (!is_user(memory, queue) && memory->user_count < MOST)
        memory->users[memory->user_count++] = queue;
    else if (!is_user(memory, queue))
        memory->many_users = true;
    if (!memory->hold)
        return true;
    run->cl->clGetEventInfo(memory->hold, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, NULL);
    if (status <= CL_COMPLETE) {
        run->cl->clReleaseEvent(memory->hold);
        memory->hold = NULL;
        return true;
    }
    cl_event *waits = realloc(command->waits, (command->wait_count + 1u) * sizeof *waits);
    if (!waits)
        return false;
    waits[command->wait_count++] = memory->hold;
    command->waits = waits;
    return true;
}

static void hold_until(struct run *run, struct live *memory, cl_event done) {
    if (memory->hold)
        run->cl->clReleaseEvent(memory->hold);
    memory->hold = run->cl->clRetainEvent(done) == CL_SUCCESS ? done : NULL;
}

void execute_refused(struct run *run, const struct recording_record *record) {
    const uint8_t *ids;
    const size_t count = recording_list(record, RECORDING_KEY_WRITES, &ids);
    const char *why = recording_text(run->recording, record, RECORDING_KEY_TEXT);
    for (size_t i = 0; i < count; i++) {
        uint64_t id;
        memcpy(&id, ids + 8 * i, sizeof id);
        memory_written(run, live_memory(run, id), TSMITH_ELEMENT_U8,
                       why ? why : "a call that cannot be replayed");
    }
}

// ---- transfers

bool transfer_add(struct run *run, const struct transfer *transfer) {
    if (!ARRAY_RESERVE(run->transfers, run->transfer_capacity, run->transfer_count + 1))
        return false;
    run->transfers[run->transfer_count++] = *transfer;
    return true;
}

static void end_transfer(struct run *run, struct transfer *transfer) {
    if (transfer->brings)
        result_bring(run, &transfer->result, transfer->bytes, transfer->size, transfer->translate);
    if (transfer->shared)
        run->cl->clSVMFree(transfer->context, transfer->shared);
    if (transfer->done)
        run->cl->clReleaseEvent(transfer->done);
    if (transfer->queue)
        run->cl->clReleaseCommandQueue(transfer->queue);
    free(transfer->bytes);
}

tsmith_status transfers_reap(struct run *run, bool all) {
    size_t kept = 0;
    tsmith_status status = TSMITH_OK;
    for (size_t i = 0; i < run->transfer_count; i++) {
        struct transfer *transfer = &run->transfers[i];
        cl_int state = CL_COMPLETE;
        if (all && status == TSMITH_OK && !run_wait(run, transfer->done))
            status = run->error->status;
        else if (!all)
            run->cl->clGetEventInfo(transfer->done, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state, &state,
                                    NULL);
        if (status == TSMITH_OK && state == CL_COMPLETE)
            end_transfer(run, transfer);
        else
            run->transfers[kept++] = *transfer;
    }
    run->transfer_count = kept;
    return status;
}

void transfers_drop(struct run *run) {
    free(run->transfers);
    run->transfers = NULL;
}

// ---- outside the queues of the recording: a queue of its own, after a marker in each of those that use the memory

struct side_queue {
    cl_command_queue queue;
    cl_event *markers;
    cl_uint count;
};

static bool is_queue_of(const struct live *live, size_t context) {
    return live->type == RECORDING_QUEUE && live->parent == context && live->handle.queue;
}

static bool side_queue_begin(struct run *run, const struct live *memory, struct side_queue *side) {
    const size_t context = memory->parent;
    cl_int status;
    *side = (struct side_queue){.markers = calloc(run->live_count + 1, sizeof *side->markers)};
    if (!side->markers)
        return false;
    // Nor does one copy overtake another.
    if (memory->hold && run->cl->clRetainEvent(memory->hold) == CL_SUCCESS)
        side->markers[side->count++] = memory->hold;
    side->queue = run->cl->clCreateCommandQueue(run->lives[context].handle.context,
                                                context_device(run, &run->lives[context]), 0, &status);
    for (size_t i = 1; side->queue && i < run->live_count; i++) {
        if (!is_queue_of(&run->lives[i], context) || !(run->serial || is_user(memory, i)))
            continue;
        cl_command_queue queue = run->lives[i].handle.queue;
        if (run->cl->clEnqueueMarkerWithWaitList(queue, 0, NULL, &side->markers[side->count]) == CL_SUCCESS)
            side->count++;
        run->cl->clFlush(queue);
    }
    return side->queue != NULL;
}

static const cl_event *markers_of(const struct side_queue *side) {
    return side->count ? side->markers : NULL;
}

static void side_queue_end(struct run *run, struct side_queue *side) {
    for (cl_uint i = 0; i < side->count; i++)
        run->cl->clReleaseEvent(side->markers[i]);
    free(side->markers);
}

static cl_int copy_all(struct run *run, const struct live *memory, const struct side_queue *side, bool write,
                       struct transfer *transfer) {
    static const size_t origin[RECORDING_DIMENSIONS] = {0, 0, 0};
    const struct execute_calls *cl = run->cl;
    size_t region[RECORDING_DIMENSIONS];
    if (memory->type == RECORDING_SHARED)
        return cl->clEnqueueSVMMemcpy(side->queue, CL_FALSE, write ? memory->handle.shared : transfer->bytes,
                                      write ? transfer->bytes : memory->handle.shared, transfer->size,
                                      side->count, markers_of(side), &transfer->done);
    if (memory->type == RECORDING_IMAGE) {
        image_region(memory, region);
        return write ? cl->clEnqueueWriteImage(side->queue, memory->handle.buffer, CL_FALSE, origin, region,
                                               0, 0, transfer->bytes, side->count, markers_of(side),
                                               &transfer->done)
                     : cl->clEnqueueReadImage(side->queue, memory->handle.buffer, CL_FALSE, origin, region, 0,
                                              0, transfer->bytes, side->count, markers_of(side),
                                              &transfer->done);
    }
    return write ? cl->clEnqueueWriteBuffer(side->queue, memory->handle.buffer, CL_FALSE, 0, transfer->size,
                                            transfer->bytes, side->count, markers_of(side), &transfer->done)
                 : cl->clEnqueueReadBuffer(side->queue, memory->handle.buffer, CL_FALSE, 0, transfer->size,
                                           transfer->bytes, side->count, markers_of(side), &transfer->done);
}

tsmith_status memory_bring(struct run *run, struct live *memory, cl_command_queue queue, size_t record) {
    struct execute_result result = {.record = record,
                                    .size = memory->size,
                                    .why = memory_why(run, memory),
                                    .buffer = memory->id,
                                    .writer = memory->writer,
                                    .element = memory->element};
    struct side_queue side = {.queue = queue};
    struct transfer transfer = {.size = memory->size};
    if (queue && !result.why)
        transfer.bytes = malloc(memory->size ? memory->size : 1);
    const bool asked =
        transfer.bytes && copy_all(run, memory, &side, false, &transfer) == CL_SUCCESS && transfer.done;
    if (asked)
        run->cl->clFlush(queue);
    if (asked && !run_wait(run, transfer.done))
        return run->error->status; // its memory may still be written to
    if (!asked) {
        result.why = result.why ? result.why : "it could not be read";
        run->client->result(run->client->context, &result);
    } else {
        result_bring(run, &result, transfer.bytes, transfer.size, memory->type == RECORDING_SHARED);
        run->cl->clReleaseEvent(transfer.done);
    }
    free(transfer.bytes);
    return TSMITH_OK;
}

// Takes the transfer's memory over. False when it could not be enqueued.
static bool enqueue_all(struct run *run, const struct live *memory, bool write, struct transfer *transfer) {
    struct side_queue side;
    bool done = side_queue_begin(run, memory, &side) &&
                copy_all(run, memory, &side, write, transfer) == CL_SUCCESS && transfer->done;
    transfer->queue = side.queue;
    if (done)
        run->cl->clFlush(side.queue);
    side_queue_end(run, &side);
    if (done)
        return true;
    free(transfer->bytes);
    if (transfer->queue)
        run->cl->clReleaseCommandQueue(transfer->queue);
    return false;
}

// Memory that was never written may be read in another order: as zeros, in every replay.
tsmith_status memory_clear(struct run *run, struct live *memory) {
    struct transfer transfer = {.bytes = calloc(1, memory->size ? memory->size : 1), .size = memory->size};
    if (!transfer.bytes)
        return run_no_memory(run);
    if (!enqueue_all(run, memory, true, &transfer)) {
        memory->why = "it could not be filled with zeros on this device";
        return TSMITH_OK;
    }
    if (!transfer_add(run, &transfer))
        return run_no_memory(run);
    return run_wait(run, transfer.done) ? TSMITH_OK : run->error->status;
}

// The STATE of a VERIFY or a CONTENT; NULL, with the reason.
static const struct recording_record *state_of(struct run *run, const struct recording_record *record,
                                               const char **why) {
    const uint64_t verify = recording_value(record, RECORDING_KEY_VERIFY);
    const uint64_t state =
        chunk_table_find(&run->states, (struct chunk_hash){verify * 0x9e3779b97f4a7c15u, verify});
    const struct recording_record *recorded = state ? &run->process->records[state - 1] : NULL;
    if (!recorded) {
        *why = "the recording ends before its copy arrived";
        return NULL;
    }
    if (recording_has_payload(recorded))
        return recorded;
    *why = recording_text(run->recording, recorded, RECORDING_KEY_TEXT);
    *why = *why ? *why : "there is no copy of it";
    return NULL;
}

tsmith_status execute_verify(struct run *run, const struct recording_record *record) {
    struct live *memory = live_memory(run, recording_value(record, RECORDING_KEY_OBJECT));
    const char *why = memory_why(run, memory);
    if (!why)
        state_of(run, record, &why);
    if (why || !memory->parent) {
        result_missing(run, memory, why ? why : unknown_memory);
        return TSMITH_OK;
    }
    struct transfer transfer = {.size = memory->size,
                                .brings = true,
                                .result = result_of(run, memory),
                                .translate = memory->type == RECORDING_SHARED};
    transfer.bytes = malloc(transfer.size);
    if (!transfer.bytes)
        return run_no_memory(run);
    if (!enqueue_all(run, memory, false, &transfer)) {
        result_missing(run, memory, "it could not be copied on this device");
        return TSMITH_OK;
    }
    hold_until(run, memory, transfer.done);
    return transfer_add(run, &transfer) ? transfers_reap(run, false) : run_no_memory(run);
}

// `state` NULL: there is none, for the reason `why`.
static tsmith_status bring_state(struct run *run, struct live *memory, const struct recording_record *state,
                                 const char *why) {
    struct transfer transfer = {0};
    if (state && (transfer.bytes = recording_payload(run->recording, state, &transfer.size)) == NULL)
        why = recording_missing(run->recording);
    else if (state && transfer.size != memory->size)
        why = "its content is damaged in the recording";
    memory->why = why;
    memory->doubt = NULL; // what it holds is what was found in it
    if (why) {
        free(transfer.bytes);
        return TSMITH_OK;
    }
    if (memory->type == RECORDING_SHARED)
        addresses_to_live(run, transfer.bytes, transfer.size, 0);
    if (!enqueue_all(run, memory, true, &transfer)) {
        memory->why = "its content could not be written on this device";
        return TSMITH_OK;
    }
    hold_until(run, memory, transfer.done);
    if (run->serial && !run_wait(run, transfer.done))
        return run->error->status;
    return transfer_add(run, &transfer) ? TSMITH_OK : run_no_memory(run);
}

static bool can_be_brought(const struct live *memory) {
    return memory && memory->handle.any && !memory->released && memory->parent;
}

tsmith_status memory_feed(struct run *run, struct live *memory, const struct recording_record *content) {
    return can_be_brought(memory) ? bring_state(run, memory, content, NULL) : TSMITH_OK;
}

// What it held when a recorded command came to it first: brought there before anything that is enqueued later.
tsmith_status execute_content(struct run *run, const struct recording_record *record) {
    struct live *memory = live_memory(run, recording_value(record, RECORDING_KEY_OBJECT));
    const char *why = NULL;
    if (!can_be_brought(memory))
        return TSMITH_OK; // it has a reason already
    // In another order there is no place for what came in between.
    if (run->serial && !run->in_place && memory->brought) {
        memory->why = "its later content was written by something that was not recorded";
        return TSMITH_OK;
    }
    memory->brought = true;
    const struct recording_record *state = state_of(run, record, &why);
    return bring_state(run, memory, state, why);
}

// ---- the end

// Shared memory is freed when all that was enqueued is over.
static void release_shared(struct run *run, struct live *live) {
    struct side_queue side;
    struct transfer transfer = {.shared = live->handle.shared,
                                .context = run->lives[live->parent].handle.context};
    const bool begun = side_queue_begin(run, live, &side);
    transfer.queue = side.queue;
    if (begun && run->cl->clEnqueueMarkerWithWaitList(side.queue, side.count, markers_of(&side),
                                                      &transfer.done) == CL_SUCCESS)
        run->cl->clFlush(side.queue);
    side_queue_end(run, &side);
    live->released = transfer.done && transfer_add(run, &transfer);
    if (!live->released && transfer.done)
        run->cl->clReleaseEvent(transfer.done);
    if (!live->released && transfer.queue)
        run->cl->clReleaseCommandQueue(transfer.queue);
}

// Numbers of memory go on to be used by kernels it is an argument of: only the memory goes.
void memory_release(struct run *run, struct live *live) {
    if (!live || live->released || !live->handle.any)
        return;
    if (live->type == RECORDING_SHARED) {
        release_shared(run, live);
        return;
    }
    live->released = true;
    run->cl->clReleaseMemObject(live->handle.buffer);
}

#else
typedef int execute_without_opencl; // a translation unit has something in it
#endif
