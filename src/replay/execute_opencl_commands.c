// SPDX-License-Identifier: Apache-2.0
// The commands of a recording on a device, and the results they bring.
#if __has_include(<CL/cl.h>)

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/status.h"
#include "replay/compare.h"
#include "replay/execute_opencl.h"

enum { WAITS_MOST = 1 << 16 };

static const char unknown_buffer[] = "its buffer is not in the recording";

// What a command is enqueued with.
struct command {
    const struct recording_record *record;
    cl_command_queue queue;
    cl_event *waits;
    cl_uint wait_count;
    cl_event *event; // where the driver puts one; NULL: nobody wants it
    cl_event made;
    bool blocking;
    cl_int status;
};

// ---- transfers

static bool add_transfer(struct run *run, const struct transfer *transfer) {
    void *transfers = run->transfers;
    if (!array_reserve(&transfers, &run->transfer_capacity, run->transfer_count + 1, sizeof *transfer))
        return false;
    run->transfers = transfers;
    run->transfers[run->transfer_count++] = *transfer;
    return true;
}

static void end_transfer(struct run *run, struct transfer *transfer) {
    if (transfer->brings) {
        transfer->result.bytes = transfer->bytes;
        transfer->result.size = transfer->size;
        run->client->result(run->client->context, &transfer->result);
    }
    if (transfer->done)
        run->cl->clReleaseEvent(transfer->done);
    if (transfer->queue)
        run->cl->clReleaseCommandQueue(transfer->queue);
    if (!transfer->keep)
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

// ---- results and what they depend on

static void bring_nothing(struct run *run, const struct live *buffer, const char *why) {
    const struct execute_result result = {.record = run->at,
                                          .why = why,
                                          .buffer = buffer ? buffer->id : 0,
                                          .writer = buffer ? buffer->writer : 0};
    run->client->result(run->client->context, &result);
}

static struct execute_result result_of(struct run *run, struct live *buffer) {
    const struct live *root = live_root(run, buffer);
    return (struct execute_result){
        .record = run->at, .buffer = root->id, .writer = root->writer, .element = root->element};
}

static const char *why_of(struct run *run, struct live *buffer) {
    if (!buffer)
        return unknown_buffer;
    const struct live *root = live_root(run, buffer);
    if (buffer->why || root->why)
        return buffer->why ? buffer->why : root->why;
    return !buffer->handle.buffer || buffer->released ? "its buffer was released before" : NULL;
}

static void written(struct run *run, struct live *buffer, tsmith_element element, const char *why) {
    if (!buffer)
        return;
    struct live *root = live_root(run, buffer);
    root->writer = run->at + 1;
    if (element)
        root->element = element;
    if (why)
        root->why = why;
}

// All of it gets a content that is known: whatever it depended on before is over.
static void overwritten(struct run *run, struct live *buffer, uint64_t offset, uint64_t size, cl_int status) {
    struct live *root = buffer ? live_root(run, buffer) : NULL;
    if (root && root == buffer && status == CL_SUCCESS && offset == 0 && size == root->size &&
        root->handle.buffer)
        root->why = NULL;
}

void execute_refused(struct run *run, const struct recording_record *record) {
    const uint8_t *ids;
    const size_t count = recording_list(record, RECORDING_KEY_WRITES, &ids);
    const char *why = recording_text(run->recording, record, RECORDING_KEY_TEXT);
    for (size_t i = 0; i < count; i++) {
        uint64_t id;
        memcpy(&id, ids + 8 * i, sizeof id);
        written(run, live_buffer(run, id), TSMITH_ELEMENT_U8, why ? why : "a call that cannot be replayed");
    }
}

// ---- kernels

static const char *set_argument(struct run *run, const struct live *kernel, cl_uint index,
                                struct live_argument *argument) {
    struct live *target = argument->target ? &run->lives[argument->target] : NULL;
    size_t size = argument->size;
    const void *value = argument->data;
    switch (argument->form) {
    case RECORDING_ARGUMENT_OBJECT:
        if (!target || (target->type != RECORDING_BUFFER && target->type != RECORDING_SUB_BUFFER &&
                        target->type != RECORDING_SAMPLER))
            return "an argument of the kernel is no buffer (images and pipes are not replayed yet)";
        if (!target->handle.any)
            return target->why ? target->why : "an argument of the kernel could not be made";
        if (target->released)
            return "an argument of the kernel was released before";
        size = sizeof target->handle.any;
        value = &target->handle.any;
        break;
    case RECORDING_ARGUMENT_NULL:
        size = sizeof(cl_mem);
        value = NULL;
        break;
    case RECORDING_ARGUMENT_LOCAL:
        value = NULL;
        break;
    case RECORDING_ARGUMENT_VALUE:
        break;
    default:
        return "an argument of the kernel cannot be replayed (shared virtual memory)";
    }
    if (run->cl->clSetKernelArg(kernel->handle.kernel, index, size, value) != CL_SUCCESS)
        return "the kernel does not take an argument as it was recorded";
    argument->changed = false;
    return NULL;
}

// Whether what the kernel computes can be compared: its arguments are there and hold what they held.
static const char *prepare_kernel(struct run *run, struct live *kernel) {
    const char *why = kernel->why;
    for (size_t i = 0; i < kernel->argument_count && !why; i++) {
        struct live_argument *argument = &kernel->arguments[i];
        if (argument->form && argument->changed)
            why = set_argument(run, kernel, (cl_uint)i, argument);
    }
    for (size_t i = 0; i < kernel->argument_count && !why; i++) {
        struct live_argument *argument = &kernel->arguments[i];
        struct live *target = argument->target ? &run->lives[argument->target] : NULL;
        if (argument->form == RECORDING_ARGUMENT_OBJECT && target &&
            (target->type == RECORDING_BUFFER || target->type == RECORDING_SUB_BUFFER))
            why = why_of(run, target);
    }
    return why;
}

static size_t get_sizes(const struct recording_record *record, enum recording_key key,
                        size_t out[RECORDING_DIMENSIONS]) {
    uint64_t values[RECORDING_DIMENSIONS];
    size_t count;
    if (!recording_get_list(record, key, values, RECORDING_DIMENSIONS, &count))
        return 0;
    for (size_t i = 0; i < count; i++)
        out[i] = values[i];
    return count;
}

static void run_kernel(struct run *run, struct command *command) {
    size_t offset[RECORDING_DIMENSIONS], global[RECORDING_DIMENSIONS], local[RECORDING_DIMENSIONS];
    struct live *kernel =
        live_find_type(run, recording_value(command->record, RECORDING_KEY_KERNEL), RECORDING_KERNEL);
    if (!kernel) {
        run_note(run, "record %zu launches a kernel that is not in the recording", run->at);
        return;
    }
    const size_t dimensions = get_sizes(command->record, RECORDING_KEY_GLOBAL, global);
    const size_t offsets = get_sizes(command->record, RECORDING_KEY_GLOBAL_OFFSET, offset);
    const size_t locals = get_sizes(command->record, RECORDING_KEY_LOCAL, local);
    const char *why = prepare_kernel(run, kernel);
    if (!dimensions || (offsets && offsets != dimensions) || (locals && locals != dimensions))
        why = "its launch is damaged in the recording";
    bool empty = false; // a launch of no work-items is allowed, and some drivers end the process over it
    for (size_t i = 0; i < dimensions; i++)
        empty |= global[i] == 0 || (locals && local[i] == 0);
    if (empty && !why) {
        command->status = run->cl->clEnqueueMarkerWithWaitList(command->queue, command->wait_count,
                                                               command->waits, command->event);
        return;
    }
    if (kernel->handle.kernel && dimensions && !kernel->why && !why) {
        command->status = run->cl->clEnqueueNDRangeKernel(
            command->queue, kernel->handle.kernel, (cl_uint)dimensions, offsets ? offset : NULL, global,
            locals ? local : NULL, command->wait_count, command->waits, command->event);
        if (command->status != CL_SUCCESS) {
            run_note(run, "a kernel could not be launched as it was recorded (OpenCL error %d)",
                     command->status);
            why = "a kernel that writes it could not be launched on this device";
        }
    }
    for (size_t i = 0; i < kernel->argument_count; i++) {
        const struct live_argument *argument = &kernel->arguments[i];
        struct live *target = argument->target ? &run->lives[argument->target] : NULL;
        if (argument->form == RECORDING_ARGUMENT_OBJECT && !argument->constant && target &&
            (target->type == RECORDING_BUFFER || target->type == RECORDING_SUB_BUFFER))
            written(run, target, argument->element, why);
    }
}

// ---- transfers of the program

static struct live *get_buffer(struct run *run, const struct command *command, enum recording_key key) {
    return live_buffer(run, recording_value(command->record, key));
}

// After it was enqueued with an event of its own: waits for it when the program did.
static tsmith_status follow(struct run *run, struct command *command, struct transfer *transfer) {
    if (command->status != CL_SUCCESS) {
        if (!transfer->keep)
            free(transfer->bytes);
        run_note(run, "a transfer could not be enqueued as it was recorded (OpenCL error %d)",
                 command->status);
        return TSMITH_OK;
    }
    if (!add_transfer(run, transfer))
        return run_no_memory(run);
    run->cl->clFlush(command->queue);
    if (command->blocking && !run_wait(run, transfer->done))
        return run->error->status;
    return command->blocking ? transfers_reap(run, false) : TSMITH_OK;
}

// A transfer keeps its own event; one that others wait for is had by a marker, which is complete when it is.
static void share_event(struct run *run, struct command *command, cl_event done) {
    if (command->event && command->status == CL_SUCCESS)
        run->cl->clEnqueueMarkerWithWaitList(command->queue, 1, &done, command->event);
}

// Whether a box has so many bytes.
static bool is_box_of(const size_t region[RECORDING_DIMENSIONS], uint64_t bytes) {
    size_t product;
    return !__builtin_mul_overflow(region[0], region[1], &product) &&
           !__builtin_mul_overflow(product, region[2], &product) && product == bytes;
}

static tsmith_status run_write(struct run *run, struct command *command, bool box) {
    struct live *buffer = get_buffer(run, command, RECORDING_KEY_TARGET);
    struct transfer transfer = {0};
    size_t origin[RECORDING_DIMENSIONS] = {0}, region[RECORDING_DIMENSIONS] = {0},
           pitch[RECORDING_DIMENSIONS] = {0};
    static const size_t none[RECORDING_DIMENSIONS] = {0, 0, 0};
    transfer.bytes = recording_payload(run->recording, command->record, &transfer.size);
    if (!buffer || !buffer->handle.buffer || buffer->released || !transfer.bytes) {
        written(run, buffer, TSMITH_ELEMENT_U8, "what was written into it is missing from the recording");
        free(transfer.bytes);
        return TSMITH_OK;
    }
    if (!box) {
        command->status = run->cl->clEnqueueWriteBuffer(
            command->queue, buffer->handle.buffer, CL_FALSE,
            recording_value(command->record, RECORDING_KEY_OFFSET), transfer.size, transfer.bytes,
            command->wait_count, command->waits, &transfer.done);
        overwritten(run, buffer, recording_value(command->record, RECORDING_KEY_OFFSET), transfer.size,
                    command->status);
    } else if (get_sizes(command->record, RECORDING_KEY_TARGET_ORIGIN, origin) == 3 &&
               get_sizes(command->record, RECORDING_KEY_REGION, region) == 3 &&
               get_sizes(command->record, RECORDING_KEY_TARGET_PITCH, pitch) == 2 &&
               is_box_of(region, transfer.size)) {
        command->status = run->cl->clEnqueueWriteBufferRect(
            command->queue, buffer->handle.buffer, CL_FALSE, origin, none, region, pitch[0], pitch[1], 0, 0,
            transfer.bytes, command->wait_count, command->waits, &transfer.done);
    } else {
        command->status = CL_INVALID_VALUE;
    }
    written(run, buffer, TSMITH_ELEMENT_U8,
            command->status ? "what was written into it could not be written again" : NULL);
    share_event(run, command, transfer.done);
    return follow(run, command, &transfer);
}

static tsmith_status run_read(struct run *run, struct command *command, bool box) {
    struct live *buffer = get_buffer(run, command, RECORDING_KEY_SOURCE);
    const uint64_t size = recording_value(command->record, RECORDING_KEY_SIZE);
    size_t origin[RECORDING_DIMENSIONS] = {0}, region[RECORDING_DIMENSIONS] = {0},
           pitch[RECORDING_DIMENSIONS] = {0};
    static const size_t none[RECORDING_DIMENSIONS] = {0, 0, 0};
    struct transfer transfer = {.size = size,
                                .brings = (run->serial || recording_has_payload(command->record)) && size};
    const char *why = why_of(run, buffer);
    if (!buffer || !buffer->handle.buffer || buffer->released || size > live_root(run, buffer)->size) {
        if (transfer.brings)
            bring_nothing(run, buffer, why ? why : "it reads beyond its buffer");
        return TSMITH_OK;
    }
    if (transfer.brings && why)
        bring_nothing(run, buffer, why);
    transfer.brings = transfer.brings && !why;
    transfer.result = result_of(run, buffer);
    transfer.bytes = malloc(size ? size : 1);
    if (!transfer.bytes)
        return run_no_memory(run);
    if (!box)
        command->status =
            run->cl->clEnqueueReadBuffer(command->queue, buffer->handle.buffer, CL_FALSE,
                                         recording_value(command->record, RECORDING_KEY_OFFSET), size,
                                         transfer.bytes, command->wait_count, command->waits, &transfer.done);
    else if (get_sizes(command->record, RECORDING_KEY_SOURCE_ORIGIN, origin) == 3 &&
             get_sizes(command->record, RECORDING_KEY_REGION, region) == 3 &&
             get_sizes(command->record, RECORDING_KEY_SOURCE_PITCH, pitch) == 2 && is_box_of(region, size))
        command->status = run->cl->clEnqueueReadBufferRect(
            command->queue, buffer->handle.buffer, CL_FALSE, origin, none, region, pitch[0], pitch[1], 0, 0,
            transfer.bytes, command->wait_count, command->waits, &transfer.done);
    else
        command->status = CL_INVALID_VALUE;
    if (command->status != CL_SUCCESS && transfer.brings)
        bring_nothing(run, buffer, "it could not be read again");
    share_event(run, command, transfer.done);
    return follow(run, command, &transfer);
}

static void run_copy(struct run *run, struct command *command, bool box) {
    struct live *from = get_buffer(run, command, RECORDING_KEY_SOURCE);
    struct live *to = get_buffer(run, command, RECORDING_KEY_TARGET);
    size_t source[RECORDING_DIMENSIONS] = {0}, target[RECORDING_DIMENSIONS] = {0},
           region[RECORDING_DIMENSIONS], source_pitch[RECORDING_DIMENSIONS],
           target_pitch[RECORDING_DIMENSIONS];
    const char *why = why_of(run, from);
    if (!why && (!to || !to->handle.buffer || to->released))
        why = unknown_buffer;
    const size_t origins = get_sizes(command->record, RECORDING_KEY_SOURCE_ORIGIN, source) +
                           get_sizes(command->record, RECORDING_KEY_TARGET_ORIGIN, target);
    if (!why && !box && origins == 2)
        command->status =
            run->cl->clEnqueueCopyBuffer(command->queue, from->handle.buffer, to->handle.buffer, source[0],
                                         target[0], recording_value(command->record, RECORDING_KEY_SIZE),
                                         command->wait_count, command->waits, command->event);
    else if (!why && box && origins == 6 && get_sizes(command->record, RECORDING_KEY_REGION, region) == 3 &&
             get_sizes(command->record, RECORDING_KEY_SOURCE_PITCH, source_pitch) == 2 &&
             get_sizes(command->record, RECORDING_KEY_TARGET_PITCH, target_pitch) == 2)
        command->status = run->cl->clEnqueueCopyBufferRect(
            command->queue, from->handle.buffer, to->handle.buffer, source, target, region, source_pitch[0],
            source_pitch[1], target_pitch[0], target_pitch[1], command->wait_count, command->waits,
            command->event);
    else
        command->status = CL_INVALID_VALUE;
    if (!why && command->status != CL_SUCCESS)
        why = "a copy into it could not be made again";
    if (!why && !box)
        overwritten(run, to, target[0], recording_value(command->record, RECORDING_KEY_SIZE),
                    command->status);
    written(run, to, from ? live_root(run, from)->element : TSMITH_ELEMENT_U8, why);
}

static void run_fill(struct run *run, struct command *command) {
    struct live *buffer = get_buffer(run, command, RECORDING_KEY_TARGET);
    const uint8_t *pattern;
    size_t length;
    if (!buffer || !buffer->handle.buffer || buffer->released ||
        !recording_get_bytes(command->record, RECORDING_KEY_DATA, &pattern, &length))
        command->status = CL_INVALID_VALUE;
    else
        command->status = run->cl->clEnqueueFillBuffer(command->queue, buffer->handle.buffer, pattern, length,
                                                       recording_value(command->record, RECORDING_KEY_OFFSET),
                                                       recording_value(command->record, RECORDING_KEY_SIZE),
                                                       command->wait_count, command->waits, command->event);
    overwritten(run, buffer, recording_value(command->record, RECORDING_KEY_OFFSET),
                recording_value(command->record, RECORDING_KEY_SIZE), command->status);
    written(run, buffer, TSMITH_ELEMENT_U8, command->status ? "it could not be filled again" : NULL);
}

// ---- maps

static tsmith_status run_map(struct run *run, struct command *command) {
    const uint64_t id = recording_value(command->record, RECORDING_KEY_MAPPING);
    const cl_map_flags flags = recording_value(command->record, RECORDING_KEY_FLAGS);
    const uint64_t size = recording_value(command->record, RECORDING_KEY_SIZE);
    struct live *mapping = live_add(run, id, RECORDING_COMMAND);
    struct live *buffer =
        get_buffer(run, command, RECORDING_KEY_SOURCE); // after the addition: it may move them
    const bool brings = recording_has_payload(command->record) && size;
    const char *why = why_of(run, buffer);
    cl_event done = NULL;
    if (!mapping || !buffer || !buffer->handle.buffer || buffer->released) {
        if (brings)
            bring_nothing(run, buffer, why ? why : "its map is damaged in the recording");
        return TSMITH_OK;
    }
    void *at = run->cl->clEnqueueMapBuffer(command->queue, buffer->handle.buffer, CL_FALSE, flags,
                                           recording_value(command->record, RECORDING_KEY_OFFSET), size,
                                           command->wait_count, command->waits, &done, &command->status);
    if (command->status != CL_SUCCESS) {
        if (brings)
            bring_nothing(run, buffer, "it could not be mapped again");
        return TSMITH_OK;
    }
    share_event(run, command, done);
    mapping->mapped = at;
    mapping->size = size;
    mapping->handle.event = done;
    run->cl->clFlush(command->queue);
    if (command->blocking && !run_wait(run, done))
        return run->error->status;
    if (brings && why) {
        bring_nothing(run, buffer, why);
    } else if (brings) {
        struct execute_result result = result_of(run, buffer);
        result.bytes = at;
        result.size = size;
        run->client->result(run->client->context, &result);
    }
    return TSMITH_OK;
}

// What the host wrote into the map, into it again; false when the recording does not say.
static bool write_map(struct run *run, const struct live *mapping, const struct recording_record *record) {
    const uint8_t *ranges;
    const size_t count = recording_list(record, RECORDING_KEY_RANGES, &ranges);
    size_t size, used = 0;
    uint8_t *bytes = recording_payload(run->recording, record, &size);
    bool good = bytes != NULL;
    for (size_t i = 0; good && i + 1 < count; i += 2) {
        uint64_t range[2];
        memcpy(range, ranges + 8 * i, sizeof range);
        good = range[0] <= mapping->size && range[1] <= mapping->size - range[0] && range[1] <= size - used;
        if (good)
            memcpy((uint8_t *)mapping->mapped + range[0], bytes + used, range[1]);
        used += good ? range[1] : 0;
    }
    free(bytes);
    return good;
}

static tsmith_status run_unmap(struct run *run, struct command *command) {
    struct live *mapping =
        live_find_type(run, recording_value(command->record, RECORDING_KEY_MAPPING), RECORDING_COMMAND);
    struct live *buffer = get_buffer(run, command, RECORDING_KEY_TARGET);
    const uint8_t *ranges;
    const bool writes = recording_list(command->record, RECORDING_KEY_RANGES, &ranges) > 0;
    if (!mapping || !mapping->mapped || !buffer || !buffer->handle.buffer) {
        written(run, buffer, TSMITH_ELEMENT_U8, writes ? "what was written into a map of it is lost" : NULL);
        return TSMITH_OK;
    }
    if (writes && !run_wait(run, mapping->handle.event))
        return run->error->status;
    if (writes)
        written(run, buffer, TSMITH_ELEMENT_U8,
                write_map(run, mapping, command->record) ? NULL
                                                         : "what was written into a map of it is lost");
    command->status = run->cl->clEnqueueUnmapMemObject(command->queue, buffer->handle.buffer, mapping->mapped,
                                                       command->wait_count, command->waits, command->event);
    mapping->mapped = NULL;
    return TSMITH_OK;
}

// ---- one command

// Events of commands that could not be replayed are not waited for.
static bool get_waits(struct run *run, struct command *command) {
    const uint8_t *ids;
    const size_t count = recording_list(command->record, RECORDING_KEY_WAITS, &ids);
    if (!count || count > WAITS_MOST)
        return count == 0;
    command->waits = malloc(count * sizeof *command->waits);
    for (size_t i = 0; command->waits && i < count; i++) {
        uint64_t id;
        memcpy(&id, ids + 8 * i, sizeof id);
        const struct live *live = live_find(run, id);
        if (live && (live->type == RECORDING_COMMAND || live->type == RECORDING_USER_EVENT) &&
            live->handle.event)
            command->waits[command->wait_count++] = live->handle.event;
    }
    if (command->wait_count)
        return true;
    free(command->waits);
    command->waits = NULL;
    return true;
}

// In a serial replay. Events of another context cannot be waited for by a queue, but by us.
static bool wait_for_last(struct run *run, struct command *command, size_t context) {
    run->error->status = TSMITH_OK;
    if (!run->last)
        return true;
    // What the host wrote into a map is written before the unmap, by us: nothing may be running that was to come first.
    const bool unmaps = recording_value(command->record, RECORDING_KEY_COMMAND) == RECORDING_COMMAND_UNMAP;
    if (run->last_context != context || unmaps)
        return run_wait(run, run->last);
    command->waits = malloc(sizeof *command->waits);
    if (command->waits)
        command->waits[command->wait_count++] = run->last;
    return command->waits != NULL;
}

static tsmith_status dispatch(struct run *run, struct command *command) {
    switch (recording_value(command->record, RECORDING_KEY_COMMAND)) {
    case RECORDING_COMMAND_KERNEL:
        run_kernel(run, command);
        return TSMITH_OK;
    case RECORDING_COMMAND_READ:
        return run_read(run, command, false);
    case RECORDING_COMMAND_READ_RECT:
        return run_read(run, command, true);
    case RECORDING_COMMAND_WRITE:
        return run_write(run, command, false);
    case RECORDING_COMMAND_WRITE_RECT:
        return run_write(run, command, true);
    case RECORDING_COMMAND_COPY:
        run_copy(run, command, false);
        return TSMITH_OK;
    case RECORDING_COMMAND_COPY_RECT:
        run_copy(run, command, true);
        return TSMITH_OK;
    case RECORDING_COMMAND_FILL:
        run_fill(run, command);
        return TSMITH_OK;
    case RECORDING_COMMAND_MAP:
        return run_map(run, command);
    case RECORDING_COMMAND_UNMAP:
        return run_unmap(run, command);
    case RECORDING_COMMAND_BARRIER:
        command->status = run->cl->clEnqueueBarrierWithWaitList(command->queue, command->wait_count,
                                                                command->waits, command->event);
        return TSMITH_OK;
    case RECORDING_COMMAND_MARKER:
    case RECORDING_COMMAND_MIGRATE: // where memory lies is the replay's own affair
        command->status = run->cl->clEnqueueMarkerWithWaitList(command->queue, command->wait_count,
                                                               command->waits, command->event);
        return TSMITH_OK;
    default:
        run_note(run, "record %zu is a command of a newer version and was left out", run->at);
        return TSMITH_OK;
    }
}

tsmith_status execute_command(struct run *run, const struct recording_record *record) {
    const struct live *queue =
        live_find_type(run, recording_value(record, RECORDING_KEY_QUEUE), RECORDING_QUEUE);
    const uint64_t event = recording_value(record, RECORDING_KEY_EVENT);
    struct command command = {.record = record,
                              .blocking = recording_value(record, RECORDING_KEY_BLOCKING) != 0};
    if (!queue || !queue->handle.queue) {
        run_note(run, "record %zu is a command of a queue that is not there", run->at);
        execute_refused(run, record);
        return TSMITH_OK;
    }
    const size_t context = queue->parent; // what is enqueued may move the queue
    command.queue = queue->handle.queue;
    if (run->serial)
        command.blocking = recording_value(record, RECORDING_KEY_COMMAND) == RECORDING_COMMAND_MAP;
    if (run->serial ||
        (event && chunk_table_find(&run->awaited, (struct chunk_hash){event * 0x9e3779b97f4a7c15u, event})))
        command.event = &command.made;
    if (!(run->serial ? wait_for_last(run, &command, context) : get_waits(run, &command)))
        return run->error->status < 0 ? run->error->status : run_no_memory(run);
    tsmith_status status = dispatch(run, &command);
    free(command.waits);
    if (!command.made)
        return status;
    if (run->serial) {
        if (run->last)
            run->cl->clReleaseEvent(run->last);
        run->last = command.made;
        run->last_context = context;
        return status;
    }
    struct live *live = live_add(run, event, RECORDING_COMMAND);
    if (live)
        live->handle.event = command.made;
    else
        run->cl->clReleaseEvent(command.made);
    return status;
}

// ---- how a buffer looked

// Through a queue of its own, after a marker in each of the others: as it was recorded.
static cl_int enqueue_copy(struct run *run, const struct live *buffer, struct transfer *transfer) {
    const struct live *context = &run->lives[buffer->parent];
    cl_int status;
    cl_uint count = 0;
    cl_event *markers = malloc(run->live_count * sizeof *markers);
    transfer->queue =
        run->cl->clCreateCommandQueue(context->handle.context, run->execution->device, 0, &status);
    for (size_t i = 1; markers && status == CL_SUCCESS && i < run->live_count; i++) {
        const struct live *queue = &run->lives[i];
        if (queue->type != RECORDING_QUEUE || queue->parent != buffer->parent || !queue->handle.queue)
            continue;
        if (run->cl->clEnqueueMarkerWithWaitList(queue->handle.queue, 0, NULL, &markers[count]) == CL_SUCCESS)
            count++;
        run->cl->clFlush(queue->handle.queue);
    }
    if (markers && status == CL_SUCCESS)
        status =
            run->cl->clEnqueueReadBuffer(transfer->queue, buffer->handle.buffer, CL_FALSE, 0, transfer->size,
                                         transfer->bytes, count, count ? markers : NULL, &transfer->done);
    if (markers && status == CL_SUCCESS)
        run->cl->clFlush(transfer->queue);
    for (cl_uint i = 0; i < count; i++)
        run->cl->clReleaseEvent(markers[i]);
    free(markers);
    return markers ? status : CL_OUT_OF_HOST_MEMORY;
}

tsmith_status execute_verify(struct run *run, const struct recording_record *record) {
    struct live *buffer =
        live_find_type(run, recording_value(record, RECORDING_KEY_OBJECT), RECORDING_BUFFER);
    const uint64_t verify = recording_value(record, RECORDING_KEY_VERIFY);
    const uint64_t state =
        chunk_table_find(&run->states, (struct chunk_hash){verify * 0x9e3779b97f4a7c15u, verify});
    const struct recording_record *recorded = state ? &run->process->records[state - 1] : NULL;
    const char *why = why_of(run, buffer);
    if (!why && !recorded)
        why = "the recording ends before its copy arrived";
    if (!why && !recording_has_payload(recorded)) {
        why = recording_text(run->recording, recorded, RECORDING_KEY_TEXT);
        why = why ? why : "there is no copy of it";
    }
    if (why || !buffer->parent) {
        bring_nothing(run, buffer, why ? why : unknown_buffer);
        return TSMITH_OK;
    }
    struct transfer transfer = {.size = buffer->size, .brings = true, .result = result_of(run, buffer)};
    transfer.bytes = malloc(transfer.size);
    if (!transfer.bytes)
        return run_no_memory(run);
    if (enqueue_copy(run, buffer, &transfer) != CL_SUCCESS) {
        free(transfer.bytes);
        if (transfer.queue)
            run->cl->clReleaseCommandQueue(transfer.queue);
        bring_nothing(run, buffer, "it could not be copied on this device");
        return TSMITH_OK;
    }
    return add_transfer(run, &transfer) ? transfers_reap(run, false) : run_no_memory(run);
}

#else
typedef int execute_without_opencl;
#endif
