// SPDX-License-Identifier: Apache-2.0
// The transfers of a recording on a device: reads, writes, copies, fills and maps of buffers, boxes, images and shared memory.
#if __has_include(<CL/cl.h>)

#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "replay/compare.h"
#include "replay/opencl/execute.h"

static struct live *get_memory(struct run *run, const struct command *command, enum recording_key key) {
    return live_memory(run, recording_value(command->record, key));
}

static bool is_there(const struct live *memory) {
    return memory && memory->handle.any && !memory->released;
}

static bool is_buffer(const struct live *memory) {
    return memory->type == RECORDING_BUFFER || memory->type == RECORDING_SUB_BUFFER;
}

// The place in a buffer, an image or shared memory, as far as the record has it.
struct place {
    struct live *memory;
    size_t offset, origin[RECORDING_DIMENSIONS], region[RECORDING_DIMENSIONS], pitch[RECORDING_DIMENSIONS];
    bool box;
};

static struct place get_place(struct run *run, const struct command *command, bool source) {
    const struct recording_record *record = command->record;
    struct place place = {.memory =
                              get_memory(run, command, source ? RECORDING_KEY_SOURCE : RECORDING_KEY_TARGET),
                          .offset = recording_value(record, RECORDING_KEY_OFFSET)};
    const size_t origins =
                     record_sizes(record, source ? RECORDING_KEY_SOURCE_ORIGIN : RECORDING_KEY_TARGET_ORIGIN,
                                  place.origin),
                 regions = record_sizes(record, RECORDING_KEY_REGION, place.region);
    record_sizes(record, source ? RECORDING_KEY_SOURCE_PITCH : RECORDING_KEY_TARGET_PITCH, place.pitch);
    place.box = origins == RECORDING_DIMENSIONS && regions == RECORDING_DIMENSIONS;
    return place;
}

// Whether a region of elements has this many bytes.
static bool is_region_of(const size_t region[RECORDING_DIMENSIONS], uint64_t element, uint64_t bytes) {
    size_t product = element;
    for (size_t i = 0; i < RECORDING_DIMENSIONS; i++)
        if (__builtin_mul_overflow(product, region[i], &product))
            return false;
    return product == bytes;
}

// ---- between the host and the device

static cl_int enqueue_image(struct run *run, struct command *command, const struct place *place, bool write,
                            struct transfer *transfer) {
    if (place->memory->type != RECORDING_IMAGE || !place->box ||
        !is_region_of(place->region, place->memory->words[RECORDING_IMAGE_ELEMENT], transfer->size))
        return CL_INVALID_VALUE;
    return write ? run->cl->clEnqueueWriteImage(command->queue, place->memory->handle.buffer, CL_FALSE,
                                                place->origin, place->region, 0, 0, transfer->bytes,
                                                command->wait_count, command->waits, &transfer->done)
                 : run->cl->clEnqueueReadImage(command->queue, place->memory->handle.buffer, CL_FALSE,
                                               place->origin, place->region, 0, 0, transfer->bytes,
                                               command->wait_count, command->waits, &transfer->done);
}

static cl_int enqueue_box(struct run *run, struct command *command, const struct place *place, bool write,
                          struct transfer *transfer) {
    static const size_t none[RECORDING_DIMENSIONS] = {0, 0, 0};
    if (!is_buffer(place->memory) || !place->box || !is_region_of(place->region, 1, transfer->size))
        return CL_INVALID_VALUE;
    return write ? run->cl->clEnqueueWriteBufferRect(command->queue, place->memory->handle.buffer, CL_FALSE,
                                                     place->origin, none, place->region, place->pitch[0],
                                                     place->pitch[1], 0, 0, transfer->bytes,
                                                     command->wait_count, command->waits, &transfer->done)
                 : run->cl->clEnqueueReadBufferRect(command->queue, place->memory->handle.buffer, CL_FALSE,
                                                    place->origin, none, place->region, place->pitch[0],
                                                    place->pitch[1], 0, 0, transfer->bytes,
                                                    command->wait_count, command->waits, &transfer->done);
}

static cl_int enqueue_plain(struct run *run, struct command *command, const struct place *place, bool write,
                            struct transfer *transfer) {
    const struct live *memory = place->memory;
    if (memory->type == RECORDING_IMAGE || place->offset > memory->size ||
        transfer->size > memory->size - place->offset)
        return CL_INVALID_VALUE;
    if (memory->type == RECORDING_SHARED) {
        uint8_t *at = (uint8_t *)memory->handle.shared + place->offset;
        return run->cl->clEnqueueSVMMemcpy(command->queue, CL_FALSE, write ? at : transfer->bytes,
                                           write ? transfer->bytes : at, transfer->size, command->wait_count,
                                           command->waits, &transfer->done);
    }
    return write ? run->cl->clEnqueueWriteBuffer(command->queue, memory->handle.buffer, CL_FALSE,
                                                 place->offset, transfer->size, transfer->bytes,
                                                 command->wait_count, command->waits, &transfer->done)
                 : run->cl->clEnqueueReadBuffer(command->queue, memory->handle.buffer, CL_FALSE,
                                                place->offset, transfer->size, transfer->bytes,
                                                command->wait_count, command->waits, &transfer->done);
}

static void enqueue(struct run *run, struct command *command, const struct place *place, bool write,
                    struct transfer *transfer) {
    switch (command->kind) {
    case RECORDING_COMMAND_READ_IMAGE:
    case RECORDING_COMMAND_WRITE_IMAGE:
        command->status = enqueue_image(run, command, place, write, transfer);
        break;
    case RECORDING_COMMAND_READ_RECT:
    case RECORDING_COMMAND_WRITE_RECT:
        command->status = enqueue_box(run, command, place, write, transfer);
        break;
    default:
        command->status = enqueue_plain(run, command, place, write, transfer);
    }
}

// After it was enqueued with an event of its own: waits for it when the program did.
static tsmith_status follow_transfer(struct run *run, struct command *command, struct transfer *transfer) {
    if (command->status != CL_SUCCESS) {
        free(transfer->bytes);
        run_note(run, "a transfer could not be enqueued as it was recorded (OpenCL error %d)",
                 command->status);
        return TSMITH_OK;
    }
    if (!transfer_add(run, transfer))
        return run_no_memory(run);
    run->cl->clFlush(command->queue);
    if (command->blocking && !run_wait(run, transfer->done))
        return run->error->status;
    return command->blocking ? transfers_reap(run, false) : TSMITH_OK;
}

// A transfer keeps its own event; one that others wait for is had by a marker, which is complete when it is.
static void share_event(struct run *run, struct command *command, cl_event done) {
    execute_option_time(run, done);
    if (command->event && command->status == CL_SUCCESS)
        run->cl->clEnqueueMarkerWithWaitList(command->queue, 1, &done, command->event);
}

tsmith_status execute_write(struct run *run, struct command *command) {
    const struct place place = get_place(run, command, false);
    struct transfer transfer = {0};
    transfer.bytes = recording_payload(run->recording, command->record, &transfer.size);
    if (!is_there(place.memory) || !transfer.bytes) {
        memory_written(run, place.memory, TSMITH_ELEMENT_U8, recording_missing(run->recording));
        free(transfer.bytes);
        return TSMITH_OK;
    }
    if (place.memory->type == RECORDING_SHARED)
        addresses_to_live(run, transfer.bytes, transfer.size, place.offset);
    enqueue(run, command, &place, true, &transfer);
    if (!place.box)
        memory_overwritten(run, place.memory, place.offset, transfer.size, command->status);
    else if (command->kind == RECORDING_COMMAND_WRITE_IMAGE)
        memory_overwritten(run, place.memory, 0, transfer.size, command->status);
    memory_written(run, place.memory, TSMITH_ELEMENT_U8,
                   command->status ? "what was written into it could not be written again" : NULL);
    if (chunk_table_find(&run->changed,
                         chunk_key_of(recording_value(command->record, RECORDING_KEY_TRANSFER))))
        memory_doubted(run, place.memory,
                       "the program changed its memory while a write of it was on its way: which of the two "
                       "the device received is unknown");
    share_event(run, command, transfer.done);
    return follow_transfer(run, command, &transfer);
}

tsmith_status execute_read(struct run *run, struct command *command) {
    const struct place place = get_place(run, command, true);
    const uint64_t size = recording_value(command->record, RECORDING_KEY_SIZE);
    struct transfer transfer = {.size = size,
                                .brings = (run->serial || recording_has_payload(command->record)) && size};
    const char *why = memory_why(run, place.memory);
    if (!is_there(place.memory) || size > live_root(run, place.memory)->size) {
        if (transfer.brings)
            result_missing(run, place.memory, why ? why : "it reads beyond its memory");
        return TSMITH_OK;
    }
    if (transfer.brings && why)
        result_missing(run, place.memory, why);
    transfer.brings = transfer.brings && !why;
    transfer.result = result_of(run, place.memory);
    transfer.translate = place.memory->type == RECORDING_SHARED;
    transfer.bytes = malloc(size ? size : 1);
    if (!transfer.bytes)
        return run_no_memory(run);
    enqueue(run, command, &place, false, &transfer);
    if (command->status != CL_SUCCESS && transfer.brings)
        result_missing(run, place.memory, "it could not be read again");
    share_event(run, command, transfer.done);
    return follow_transfer(run, command, &transfer);
}

// ---- on the device

static cl_int copy_plain(struct run *run, struct command *command, const struct place *from,
                         const struct place *to, uint64_t size) {
    const bool shared = from->memory->type == RECORDING_SHARED;
    if (shared != (to->memory->type == RECORDING_SHARED) || from->memory->type == RECORDING_IMAGE ||
        to->memory->type == RECORDING_IMAGE)
        return CL_INVALID_MEM_OBJECT;
    if (!shared)
        return run->cl->clEnqueueCopyBuffer(command->queue, from->memory->handle.buffer,
                                            to->memory->handle.buffer, from->origin[0], to->origin[0], size,
                                            command->wait_count, command->waits, command->event);
    if (from->origin[0] > from->memory->size || size > from->memory->size - from->origin[0] ||
        to->origin[0] > to->memory->size || size > to->memory->size - to->origin[0])
        return CL_INVALID_VALUE;
    return run->cl->clEnqueueSVMMemcpy(command->queue, CL_FALSE,
                                       (uint8_t *)to->memory->handle.shared + to->origin[0],
                                       (const uint8_t *)from->memory->handle.shared + from->origin[0], size,
                                       command->wait_count, command->waits, command->event);
}

static cl_int copy(struct run *run, struct command *command, const struct place *from,
                   const struct place *to) {
    const struct execute_calls *cl = run->cl;
    cl_mem source = from->memory->handle.buffer, target = to->memory->handle.buffer;
    const bool image_from = from->memory->type == RECORDING_IMAGE,
               image_to = to->memory->type == RECORDING_IMAGE, buffer_from = is_buffer(from->memory),
               buffer_to = is_buffer(to->memory);
    switch (command->kind) {
    case RECORDING_COMMAND_COPY_RECT:
        if (!from->box || !to->box || !buffer_from || !buffer_to)
            return CL_INVALID_VALUE;
        return cl->clEnqueueCopyBufferRect(command->queue, source, target, from->origin, to->origin,
                                           from->region, from->pitch[0], from->pitch[1], to->pitch[0],
                                           to->pitch[1], command->wait_count, command->waits, command->event);
    case RECORDING_COMMAND_COPY_IMAGE:
        if (!from->box || !to->box || !image_from || !image_to)
            return CL_INVALID_VALUE;
        return cl->clEnqueueCopyImage(command->queue, source, target, from->origin, to->origin, from->region,
                                      command->wait_count, command->waits, command->event);
    case RECORDING_COMMAND_IMAGE_TO_BUFFER:
        if (!from->box || !image_from || !buffer_to)
            return CL_INVALID_VALUE;
        return cl->clEnqueueCopyImageToBuffer(command->queue, source, target, from->origin, from->region,
                                              from->offset, command->wait_count, command->waits,
                                              command->event);
    case RECORDING_COMMAND_BUFFER_TO_IMAGE:
        if (!to->box || !buffer_from || !image_to)
            return CL_INVALID_VALUE;
        return cl->clEnqueueCopyBufferToImage(command->queue, source, target, to->offset, to->origin,
                                              to->region, command->wait_count, command->waits,
                                              command->event);
    default:
        return copy_plain(run, command, from, to, recording_value(command->record, RECORDING_KEY_SIZE));
    }
}

void execute_copy(struct run *run, struct command *command) {
    const struct place from = get_place(run, command, true), to = get_place(run, command, false);
    const char *why = memory_why(run, from.memory);
    if (!why && !is_there(to.memory))
        why = "its memory is not in the recording";
    if (why) {
        command->status = CL_INVALID_MEM_OBJECT;
    } else {
        command->status = copy(run, command, &from, &to);
        if (command->status != CL_SUCCESS)
            why = "a copy into it could not be made again";
        if (command->kind == RECORDING_COMMAND_COPY)
            memory_overwritten(run, to.memory, to.origin[0],
                               recording_value(command->record, RECORDING_KEY_SIZE), command->status);
    }
    memory_written(run, to.memory, from.memory ? live_root(run, from.memory)->element : TSMITH_ELEMENT_U8,
                   why);
    memory_doubted(run, to.memory, memory_doubt(run, from.memory));
}

static cl_int fill(struct run *run, struct command *command, const struct place *place,
                   const uint8_t *pattern, size_t length) {
    enum { COLOR_BYTES = 16 };
    const uint64_t size = recording_value(command->record, RECORDING_KEY_SIZE);
    uint8_t color[COLOR_BYTES] = {0};
    if (command->kind == RECORDING_COMMAND_FILL_IMAGE) {
        if (place->memory->type != RECORDING_IMAGE || !place->box || length > sizeof color)
            return CL_INVALID_VALUE;
        memcpy(color, pattern, length);
        return run->cl->clEnqueueFillImage(command->queue, place->memory->handle.buffer, color, place->origin,
                                           place->region, command->wait_count, command->waits,
                                           command->event);
    }
    if (place->memory->type == RECORDING_IMAGE)
        return CL_INVALID_MEM_OBJECT;
    if (place->memory->type != RECORDING_SHARED)
        return run->cl->clEnqueueFillBuffer(command->queue, place->memory->handle.buffer, pattern, length,
                                            place->offset, size, command->wait_count, command->waits,
                                            command->event);
    if (place->offset > place->memory->size || size > place->memory->size - place->offset)
        return CL_INVALID_VALUE;
    return run->cl->clEnqueueSVMMemFill(command->queue,
                                        (uint8_t *)place->memory->handle.shared + place->offset, pattern,
                                        length, size, command->wait_count, command->waits, command->event);
}

void execute_fill(struct run *run, struct command *command) {
    const struct place place = get_place(run, command, false);
    const uint64_t size = recording_value(command->record, RECORDING_KEY_SIZE);
    const uint8_t *pattern;
    size_t length;
    if (!is_there(place.memory) ||
        !recording_get_bytes(command->record, RECORDING_KEY_DATA, &pattern, &length))
        command->status = CL_INVALID_VALUE;
    else
        command->status = fill(run, command, &place, pattern, length);
    if (!place.box)
        memory_overwritten(run, place.memory, place.offset, size, command->status);
    memory_written(run, place.memory, TSMITH_ELEMENT_U8,
                   command->status ? "it could not be filled again" : NULL);
}

// ---- maps

static size_t bytes_of(const struct execute_rows *rows) {
    return rows->width * rows->height * rows->depth;
}

// One row after the other, out of a map or into it.
static void move_rows(const struct execute_rows *rows, uint8_t *mapped, uint8_t *packed, bool into) {
    for (size_t z = 0; z < rows->depth; z++)
        for (size_t y = 0; y < rows->height; y++) {
            uint8_t *row = mapped + z * rows->slice + y * rows->row;
            memcpy(into ? row : packed, into ? packed : row, rows->width);
            packed += rows->width;
        }
}

static void *map(struct run *run, struct command *command, const struct place *place, uint64_t size,
                 struct execute_rows *rows, cl_event *done) {
    const struct live *memory = place->memory;
    const cl_map_flags flags = recording_value(command->record, RECORDING_KEY_FLAGS);
    size_t row = 0, slice = 0;
    *rows = (struct execute_rows){size, 1, 1, size, size};
    if (memory->type == RECORDING_IMAGE) {
        const uint64_t element = memory->words[RECORDING_IMAGE_ELEMENT];
        if (!place->box || !is_region_of(place->region, element, size))
            return NULL;
        void *at = run->cl->clEnqueueMapImage(command->queue, memory->handle.buffer, CL_FALSE, flags,
                                              place->origin, place->region, &row, &slice, command->wait_count,
                                              command->waits, done, &command->status);
        *rows =
            (struct execute_rows){place->region[0] * element, place->region[1], place->region[2], row, slice};
        if (memory->words[RECORDING_IMAGE_KIND] == CL_MEM_OBJECT_IMAGE1D_ARRAY && slice)
            rows->row = slice;
        return at;
    }
    if (place->offset > memory->size || size > memory->size - place->offset)
        return NULL;
    if (memory->type != RECORDING_SHARED)
        return run->cl->clEnqueueMapBuffer(command->queue, memory->handle.buffer, CL_FALSE, flags,
                                           place->offset, size, command->wait_count, command->waits, done,
                                           &command->status);
    uint8_t *at = (uint8_t *)memory->handle.shared + place->offset;
    command->status = run->cl->clEnqueueSVMMap(command->queue, CL_FALSE, flags, at, size, command->wait_count,
                                               command->waits, done);
    return command->status == CL_SUCCESS ? at : NULL;
}

// Hands over what a map shows.
static tsmith_status bring_map(struct run *run, struct live *memory, const struct live *mapping,
                               const char *doubt) {
    const size_t size = bytes_of(&mapping->rows);
    uint8_t *packed = malloc(size ? size : 1);
    if (!packed)
        return run_no_memory(run);
    move_rows(&mapping->rows, mapping->mapped, packed, false);
    struct execute_result result = result_of(run, memory);
    result.doubt = doubt; // as it was before: what is shown is not written yet
    result_bring(run, &result, packed, size, memory->type == RECORDING_SHARED);
    free(packed);
    return TSMITH_OK;
}

tsmith_status execute_map(struct run *run, struct command *command) {
    const uint64_t id = recording_value(command->record, RECORDING_KEY_MAPPING);
    const uint64_t size = recording_value(command->record, RECORDING_KEY_SIZE);
    struct live *mapping = live_add(run, id, RECORDING_COMMAND);
    const struct place place = get_place(run, command, true); // after the addition: it may move them
    const bool brings = recording_has_payload(command->record) && size;
    const char *why = memory_why(run, place.memory);
    cl_event done = NULL;
    if (!mapping || !is_there(place.memory)) {
        if (brings)
            result_missing(run, place.memory, why ? why : "its map is damaged in the recording");
        return TSMITH_OK;
    }
    struct execute_rows rows;
    command->status = CL_INVALID_VALUE;
    void *at = map(run, command, &place, size, &rows, &done);
    if (!at || command->status != CL_SUCCESS) {
        run_note(run, "a map could not be made as it was recorded (OpenCL error %d)", command->status);
        if (brings)
            result_missing(run, place.memory, "it could not be mapped again");
        return TSMITH_OK;
    }
    share_event(run, command, done);
    const char *doubt = memory_doubt(run, place.memory);
    const bool writes = recording_value(command->record, RECORDING_KEY_FLAGS) &
                        (CL_MAP_WRITE | CL_MAP_WRITE_INVALIDATE_REGION);
    live_root(run, place.memory)->maps += writes;
    mapping->mapped = at;
    mapping->writes = writes;
    mapping->rows = rows;
    mapping->memory = live_index(run, place.memory);
    mapping->handle.event = done;
    run->cl->clFlush(command->queue);
    if (command->blocking && !run_wait(run, done))
        return run->error->status;
    if (brings && why)
        result_missing(run, place.memory, why);
    else if (brings)
        return bring_map(run, place.memory, mapping, doubt);
    return TSMITH_OK;
}

static bool apply_ranges(uint8_t *packed, size_t room, const uint8_t *ranges, size_t count,
                         const uint8_t *bytes, size_t size) {
    size_t used = 0;
    for (size_t i = 0; i + 1 < count; i += 2) {
        uint64_t range[2];
        memcpy(range, ranges + 8 * i, sizeof range);
        if (range[0] > room || range[1] > room - range[0] || range[1] > size - used)
            return false;
        memcpy(packed + range[0], bytes + used, range[1]);
        used += range[1];
    }
    return true;
}

// What the host wrote into the map, into it again; NULL, or why not.
static const char *write_map(struct run *run, const struct live *mapping,
                             const struct recording_record *record) {
    const uint8_t *ranges;
    const size_t count = recording_list(record, RECORDING_KEY_RANGES, &ranges),
                 room = bytes_of(&mapping->rows);
    const struct live *memory = &run->lives[mapping->memory];
    size_t size;
    uint8_t *bytes = recording_payload(run->recording, record, &size), *packed = malloc(room ? room : 1);
    const char *why = bytes && packed ? NULL : recording_missing(run->recording);
    if (!why) {
        move_rows(&mapping->rows, mapping->mapped, packed, false);
        if (memory->type == RECORDING_SHARED)
            addresses_to_recorded(run, packed, room, 0);
        if (!apply_ranges(packed, room, ranges, count, bytes, size))
            why = "what was written into a map of it is damaged in the recording";
        if (memory->type == RECORDING_SHARED)
            addresses_to_live(run, packed, room, 0);
    }
    if (!why)
        move_rows(&mapping->rows, mapping->mapped, packed, true);
    free(packed);
    free(bytes);
    return why;
}

tsmith_status execute_unmap(struct run *run, struct command *command) {
    struct live *mapping =
        live_find_type(run, recording_value(command->record, RECORDING_KEY_MAPPING), RECORDING_COMMAND);
    struct live *memory = get_memory(run, command, RECORDING_KEY_TARGET);
    const uint8_t *ranges;
    const bool writes = recording_list(command->record, RECORDING_KEY_RANGES, &ranges) > 0;
    if (!mapping || !mapping->mapped || !is_there(memory) || live_index(run, memory) != mapping->memory) {
        memory_written(run, memory, TSMITH_ELEMENT_U8,
                       writes ? "what was written into a map of it is lost" : NULL);
        return TSMITH_OK;
    }
    if (writes && !run_wait(run, mapping->handle.event))
        return run->error->status;
    if (writes)
        memory_written(run, memory, TSMITH_ELEMENT_U8, write_map(run, mapping, command->record));
    command->status =
        memory->type == RECORDING_SHARED
            ? run->cl->clEnqueueSVMUnmap(command->queue, mapping->mapped, command->wait_count, command->waits,
                                         command->event)
            : run->cl->clEnqueueUnmapMemObject(command->queue, memory->handle.buffer, mapping->mapped,
                                               command->wait_count, command->waits, command->event);
    mapping->mapped = NULL;
    if (mapping->writes && live_root(run, memory)->maps)
        live_root(run, memory)->maps--;
    return TSMITH_OK;
}

#else
typedef int execute_without_opencl; // a translation unit has something in it
#endif
