// SPDX-License-Identifier: Apache-2.0
// Reads, writes, copies and fills: a wrapper describes its command, and the common part is done here, also for
// images. What a write takes is hashed after the driver has found the call good (a wrong one may refer to unmapped
// memory) and before the program can know that it is complete: until then its memory is as it was. What a blocking
// read gave is hashed afterwards: replay compares it there and then. Rules: recorder.h.
#include "recorder.h"

enum shape { BYTES, BOX, IMAGE };

static enum shape shape_of(const struct transfer *transfer) {
    switch (transfer->command) {
    case RECORDING_COMMAND_READ:
    case RECORDING_COMMAND_WRITE:
    case RECORDING_COMMAND_COPY:
    case RECORDING_COMMAND_FILL:
        return BYTES;
    case RECORDING_COMMAND_READ_RECT:
    case RECORDING_COMMAND_WRITE_RECT:
    case RECORDING_COMMAND_COPY_RECT:
        return BOX;
    default:
        return IMAGE;
    }
}

// Reads and writes: their other side is memory of the program.
static bool has_host(const struct transfer *transfer) {
    return !transfer->pattern && !(transfer->source && transfer->target);
}

// Whether it overwrites all that its target holds.
static unsigned how_it_writes(const struct transfer *transfer, const struct access *access) {
    const enum shape shape = shape_of(transfer);
    if (shape == BYTES)
        return access_writes(access, transfer->target,
                             transfer->offset ? *transfer->offset : *transfer->in_target.origin,
                             transfer->size);
    const struct image *image = shape == IMAGE ? image_of(transfer->target) : NULL;
    return image && image_is_whole(image, transfer->region) ? ACCESS_WRITES | ACCESS_WHOLE : ACCESS_WRITES;
}

void transfer_access(const struct transfer *transfer, struct access *access) {
    access_blocks(access, transfer->blocking);
    if (transfer->source)
        access_memory(access, transfer->source, ACCESS_READS);
    if (transfer->target)
        access_memory(access, transfer->target, how_it_writes(transfer, access));
}

static struct rows box_rows(const size_t *region, const struct place *place) {
    const size_t row = place->row ? place->row : region[0];
    return (struct rows){region[0], region[1], region[2], row, place->slice ? place->slice : row * region[1]};
}

// On the host's side only the transferred part is kept, one row after the other. False if that is impossible.
static bool take_host(const struct transfer *transfer, struct payload *payload, struct rows *taken,
                      const uint8_t **begin) {
    const struct place *in = &transfer->in_host;
    const enum shape shape = shape_of(transfer);
    const uint8_t *from = transfer->host;
    struct rows rows = {transfer->size, 1, 1, transfer->size, transfer->size};
    if (shape == BOX) {
        rows = box_rows(transfer->region, in);
        from += in->origin[0] + in->origin[1] * rows.row + in->origin[2] * rows.slice;
    }
    if (shape == IMAGE) {
        const struct image *image = image_of(transfer->source ? transfer->source : transfer->target);
        if (!image)
            return false;
        rows = image_rows(image, transfer->region, in->row, in->slice);
    }
    payload->size = rows_bytes(&rows);
    *taken = rows;
    *begin = from;
    if (transfer->target)
        return rows_take(&rows, from, payload);
    if (transfer->blocking)
        rows_take(&rows, from, payload); // without memory for it there is nothing to compare with
    return true;
}

static void put_place(struct recording_writer *writer, const struct transfer *transfer,
                      const struct place *place, enum recording_key origin, enum recording_key pitch) {
    const enum shape shape = shape_of(transfer);
    put_sizes(writer, origin, place->origin, shape == BYTES ? 1 : RECORDING_DIMENSIONS);
    if (shape == BOX && place->origin) {
        const struct rows rows = box_rows(transfer->region, place);
        put_sizes(writer, pitch, (const size_t[]){rows.row, rows.slice}, 2);
    }
}

static void put_transfer(struct recording_writer *writer, const struct transfer *transfer,
                         struct payload *payload) {
    const bool bytes = shape_of(transfer) == BYTES;
    if (transfer->source)
        put_memory(writer, RECORDING_KEY_SOURCE, transfer->source);
    if (transfer->target)
        put_memory(writer, RECORDING_KEY_TARGET, transfer->target);
    put_place(writer, transfer, &transfer->in_source, RECORDING_KEY_SOURCE_ORIGIN,
              RECORDING_KEY_SOURCE_PITCH);
    put_place(writer, transfer, &transfer->in_target, RECORDING_KEY_TARGET_ORIGIN,
              RECORDING_KEY_TARGET_PITCH);
    put_sizes(writer, RECORDING_KEY_REGION, transfer->region, RECORDING_DIMENSIONS);
    if (transfer->offset)
        recording_put(writer, RECORDING_KEY_OFFSET, *transfer->offset);
    if (has_host(transfer)) {
        recording_put(writer, RECORDING_KEY_BLOCKING, transfer->blocking);
        if (bytes) // two that share memory of the program must not run at once
            recording_put(writer, RECORDING_KEY_HOST, (uint64_t)(uintptr_t)transfer->host);
        payload_put(writer, payload);
    } else if (bytes) {
        recording_put(writer, RECORDING_KEY_SIZE, transfer->size);
    }
    if (transfer->pattern)
        recording_put_bytes(writer, RECORDING_KEY_DATA, transfer->pattern, transfer->pattern_size);
}

void transfer_record(const struct transfer *transfer, struct access *access, const cl_event *event) {
    struct payload payload = {0};
    struct rows rows = {0};
    const uint8_t *from = NULL;
    if (!has_host(transfer) || take_host(transfer, &payload, &rows, &from)) {
        struct recording_writer *writer = command_open(transfer->command, access);
        const uint64_t number =
            transfer->target && from && !transfer->blocking ? inflight_add(&rows, from, &payload) : 0;
        if (number)
            recording_put(writer, RECORDING_KEY_TRANSFER, number);
        put_transfer(writer, transfer, &payload);
        command_close(event);
        access_after(access);
    } else if (transfer->target) {
        refuse(shape_of(transfer) == IMAGE ? "clEnqueueWriteImage" : "clEnqueueWriteBufferRect",
               "out of memory while recording the written data", &transfer->target, 1, event);
    }
}

// ---- the calls for buffers

TRANSFER(clEnqueueWriteBuffer, .command = RECORDING_COMMAND_WRITE, .blocking = blocking, .target = buffer,
         .offset = &offset, .size = size, .host = from)

TRANSFER(clEnqueueReadBuffer, .command = RECORDING_COMMAND_READ, .blocking = blocking, .source = buffer,
         .offset = &offset, .size = size, .host = to)

TRANSFER(clEnqueueCopyBuffer, .command = RECORDING_COMMAND_COPY, .source = source,
         .in_source.origin = &source_offset, .target = destination, .in_target.origin = &destination_offset,
         .size = size)

TRANSFER(clEnqueueFillBuffer, .command = RECORDING_COMMAND_FILL, .target = buffer, .offset = &offset,
         .size = size, .pattern = pattern, .pattern_size = pattern_size)

TRANSFER(clEnqueueWriteBufferRect, .command = RECORDING_COMMAND_WRITE_RECT, .blocking = blocking,
         .target = buffer, .in_target = {buffer_origin, buffer_row, buffer_slice}, .region = region,
         .host = from, .in_host = {host_origin, host_row, host_slice})

TRANSFER(clEnqueueReadBufferRect, .command = RECORDING_COMMAND_READ_RECT, .blocking = blocking,
         .source = buffer, .in_source = {buffer_origin, buffer_row, buffer_slice}, .region = region,
         .host = to, .in_host = {host_origin, host_row, host_slice})

TRANSFER(clEnqueueCopyBufferRect, .command = RECORDING_COMMAND_COPY_RECT, .source = source,
         .in_source = {source_origin, source_row, source_slice}, .target = destination,
         .in_target = {destination_origin, destination_row, destination_slice}, .region = region)
