// SPDX-License-Identifier: Apache-2.0
// Reads, writes, copies and fills. What a write takes is hashed after the driver has found the call good (a wrong one may
// name memory that is not there) and before the program can know that it is complete: until then its memory is as it was. What a blocking read gave is hashed afterwards: replay compares it there and then.
// Rules: recorder.h.
#include <stdlib.h>

#include "recorder.h"

// Two transfers that share memory of the program must not run at once.
static void put_host(struct recording_writer *writer, const void *at) {
    recording_put(writer, RECORDING_KEY_HOST, (uint64_t)(uintptr_t)at);
}

cl_int record_clEnqueueWriteBuffer(cl_command_queue queue, cl_mem buffer, cl_bool blocking, size_t offset,
                                   size_t size, const void *from, cl_uint count, const cl_event *waits,
                                   cl_event *event) {
    struct touch touch;
    struct payload payload = {0};
    touch_begin(&touch, queue, NULL, count, waits);
    touch.blocking = blocking;
    touch_memory(&touch, buffer, touch_writes(&touch, buffer, offset, size));
    const cl_int status = recorder.next.clEnqueueWriteBuffer(queue, buffer, blocking, offset, size, from,
                                                             touch.count, touch.waits, event);
    if (touch_end(&touch, status, event)) {
        payload_take(&payload, from, size);
        struct recording_writer *writer = command_open(RECORDING_COMMAND_WRITE, queue, count, waits);
        put_memory(writer, RECORDING_KEY_TARGET, buffer);
        recording_put(writer, RECORDING_KEY_OFFSET, offset);
        recording_put(writer, RECORDING_KEY_BLOCKING, blocking);
        put_host(writer, from);
        payload_put(writer, &payload);
        command_close(event);
        touch_after(&touch);
    }
    return status;
}

cl_int record_clEnqueueReadBuffer(cl_command_queue queue, cl_mem buffer, cl_bool blocking, size_t offset,
                                  size_t size, void *to, cl_uint count, const cl_event *waits,
                                  cl_event *event) {
    struct touch touch;
    touch_begin(&touch, queue, NULL, count, waits);
    touch.blocking = blocking;
    touch_memory(&touch, buffer, TOUCH_READS);
    const cl_int status = recorder.next.clEnqueueReadBuffer(queue, buffer, blocking, offset, size, to,
                                                            touch.count, touch.waits, event);
    if (touch_end(&touch, status, event)) {
        struct payload payload = {.size = size};
        if (blocking)
            payload_take(&payload, to, size);
        struct recording_writer *writer = command_open(RECORDING_COMMAND_READ, queue, count, waits);
        put_memory(writer, RECORDING_KEY_SOURCE, buffer);
        recording_put(writer, RECORDING_KEY_OFFSET, offset);
        recording_put(writer, RECORDING_KEY_BLOCKING, blocking);
        put_host(writer, to);
        payload_put(writer, &payload);
        command_close(event);
    }
    return status;
}

cl_int record_clEnqueueCopyBuffer(cl_command_queue queue, cl_mem from, cl_mem to, size_t from_offset,
                                  size_t to_offset, size_t size, cl_uint count, const cl_event *waits,
                                  cl_event *event) {
    struct touch touch;
    touch_begin(&touch, queue, NULL, count, waits);
    touch_memory(&touch, from, TOUCH_READS);
    touch_memory(&touch, to, touch_writes(&touch, to, to_offset, size));
    const cl_int status = recorder.next.clEnqueueCopyBuffer(queue, from, to, from_offset, to_offset, size,
                                                            touch.count, touch.waits, event);
    if (touch_end(&touch, status, event)) {
        struct recording_writer *writer = command_open(RECORDING_COMMAND_COPY, queue, count, waits);
        put_memory(writer, RECORDING_KEY_SOURCE, from);
        put_memory(writer, RECORDING_KEY_TARGET, to);
        put_sizes(writer, RECORDING_KEY_SOURCE_ORIGIN, &from_offset, 1);
        put_sizes(writer, RECORDING_KEY_TARGET_ORIGIN, &to_offset, 1);
        recording_put(writer, RECORDING_KEY_SIZE, size);
        command_close(event);
        touch_after(&touch);
    }
    return status;
}

cl_int record_clEnqueueFillBuffer(cl_command_queue queue, cl_mem buffer, const void *pattern, size_t length,
                                  size_t offset, size_t size, cl_uint count, const cl_event *waits,
                                  cl_event *event) {
    struct touch touch;
    touch_begin(&touch, queue, NULL, count, waits);
    touch_memory(&touch, buffer, touch_writes(&touch, buffer, offset, size));
    const cl_int status = recorder.next.clEnqueueFillBuffer(queue, buffer, pattern, length, offset, size,
                                                            touch.count, touch.waits, event);
    if (touch_end(&touch, status, event)) {
        struct recording_writer *writer = command_open(RECORDING_COMMAND_FILL, queue, count, waits);
        put_memory(writer, RECORDING_KEY_TARGET, buffer);
        recording_put(writer, RECORDING_KEY_OFFSET, offset);
        recording_put(writer, RECORDING_KEY_SIZE, size);
        recording_put_bytes(writer, RECORDING_KEY_DATA, pattern, length);
        command_close(event);
        touch_after(&touch);
    }
    return status;
}

// ---- boxes: of the host's side only what lies within is kept, one row after the other

struct box {
    const size_t *origin, *region;
    size_t row, slice;
};

static size_t row_of(const struct box *box) {
    return box->row ? box->row : box->region[0];
}

static size_t slice_of(const struct box *box) {
    return box->slice ? box->slice : row_of(box) * box->region[1];
}

static bool take_box(struct payload *payload, const struct box *box, const void *host) {
    const struct rows rows = {box->region[0], box->region[1], box->region[2], row_of(box), slice_of(box)};
    uint8_t *packed = rows_pack(&rows, (const uint8_t *)host + box->origin[0] + box->origin[1] * rows.row +
                                           box->origin[2] * rows.slice);
    if (packed)
        payload_take(payload, packed, rows.width * rows.height * rows.depth);
    free(packed);
    return packed != NULL;
}

static void put_box(struct recording_writer *writer, enum recording_key origin, enum recording_key pitch,
                    const struct box *box) {
    const size_t pitches[] = {row_of(box), slice_of(box)};
    put_sizes(writer, origin, box->origin, RECORDING_DIMENSIONS);
    put_sizes(writer, pitch, pitches, 2);
}

cl_int record_clEnqueueWriteBufferRect(cl_command_queue queue, cl_mem buffer, cl_bool blocking,
                                       const size_t *to_origin, const size_t *host_origin,
                                       const size_t *region, size_t to_row, size_t to_slice, size_t host_row,
                                       size_t host_slice, const void *from, cl_uint count,
                                       const cl_event *waits, cl_event *event) {
    const struct box host = {host_origin, region, host_row, host_slice},
                     to = {to_origin, region, to_row, to_slice};
    struct touch touch;
    struct payload payload = {0};
    touch_begin(&touch, queue, NULL, count, waits);
    touch.blocking = blocking;
    touch_memory(&touch, buffer, TOUCH_WRITES);
    const cl_int status = recorder.next.clEnqueueWriteBufferRect(
        queue, buffer, blocking, to_origin, host_origin, region, to_row, to_slice, host_row, host_slice, from,
        touch.count, touch.waits, event);
    if (!touch_end(&touch, status, event))
        return status;
    if (take_box(&payload, &host, from)) {
        struct recording_writer *writer = command_open(RECORDING_COMMAND_WRITE_RECT, queue, count, waits);
        put_memory(writer, RECORDING_KEY_TARGET, buffer);
        put_box(writer, RECORDING_KEY_TARGET_ORIGIN, RECORDING_KEY_TARGET_PITCH, &to);
        put_sizes(writer, RECORDING_KEY_REGION, region, RECORDING_DIMENSIONS);
        recording_put(writer, RECORDING_KEY_BLOCKING, blocking);
        payload_put(writer, &payload);
        command_close(event);
        touch_after(&touch);
    } else {
        refuse("clEnqueueWriteBufferRect", "there was no memory to keep what was written", &buffer, 1, event);
    }
    payload_drop(&payload);
    return status;
}

cl_int record_clEnqueueReadBufferRect(cl_command_queue queue, cl_mem buffer, cl_bool blocking,
                                      const size_t *from_origin, const size_t *host_origin,
                                      const size_t *region, size_t from_row, size_t from_slice,
                                      size_t host_row, size_t host_slice, void *to, cl_uint count,
                                      const cl_event *waits, cl_event *event) {
    const struct box host = {host_origin, region, host_row, host_slice},
                     from = {from_origin, region, from_row, from_slice};
    struct touch touch;
    touch_begin(&touch, queue, NULL, count, waits);
    touch.blocking = blocking;
    touch_memory(&touch, buffer, TOUCH_READS);
    const cl_int status = recorder.next.clEnqueueReadBufferRect(
        queue, buffer, blocking, from_origin, host_origin, region, from_row, from_slice, host_row, host_slice,
        to, touch.count, touch.waits, event);
    if (touch_end(&touch, status, event)) {
        struct payload payload = {.size = region[0] * region[1] * region[2]};
        if (blocking)
            take_box(&payload, &host, to);
        struct recording_writer *writer = command_open(RECORDING_COMMAND_READ_RECT, queue, count, waits);
        put_memory(writer, RECORDING_KEY_SOURCE, buffer);
        put_box(writer, RECORDING_KEY_SOURCE_ORIGIN, RECORDING_KEY_SOURCE_PITCH, &from);
        put_sizes(writer, RECORDING_KEY_REGION, region, RECORDING_DIMENSIONS);
        recording_put(writer, RECORDING_KEY_BLOCKING, blocking);
        payload_put(writer, &payload);
        command_close(event);
    }
    return status;
}

cl_int record_clEnqueueCopyBufferRect(cl_command_queue queue, cl_mem from, cl_mem to,
                                      const size_t *from_origin, const size_t *to_origin,
                                      const size_t *region, size_t from_row, size_t from_slice, size_t to_row,
                                      size_t to_slice, cl_uint count, const cl_event *waits,
                                      cl_event *event) {
    const struct box source = {from_origin, region, from_row, from_slice},
                     target = {to_origin, region, to_row, to_slice};
    struct touch touch;
    touch_begin(&touch, queue, NULL, count, waits);
    touch_memory(&touch, from, TOUCH_READS);
    touch_memory(&touch, to, TOUCH_WRITES);
    const cl_int status =
        recorder.next.clEnqueueCopyBufferRect(queue, from, to, from_origin, to_origin, region, from_row,
                                              from_slice, to_row, to_slice, touch.count, touch.waits, event);
    if (touch_end(&touch, status, event)) {
        struct recording_writer *writer = command_open(RECORDING_COMMAND_COPY_RECT, queue, count, waits);
        put_memory(writer, RECORDING_KEY_SOURCE, from);
        put_memory(writer, RECORDING_KEY_TARGET, to);
        put_box(writer, RECORDING_KEY_SOURCE_ORIGIN, RECORDING_KEY_SOURCE_PITCH, &source);
        put_box(writer, RECORDING_KEY_TARGET_ORIGIN, RECORDING_KEY_TARGET_PITCH, &target);
        put_sizes(writer, RECORDING_KEY_REGION, region, RECORDING_DIMENSIONS);
        command_close(event);
        touch_after(&touch);
    }
    return status;
}
