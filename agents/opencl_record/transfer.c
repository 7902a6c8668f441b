// SPDX-License-Identifier: Apache-2.0
// Reads, writes, copies and fills. What a write takes is hashed after the driver has found the call good (a wrong one may
// name memory that is not there) and before the program can know that it is complete: until then its memory is as it was. What a blocking read gave is hashed afterwards: replay compares it there and then.
// Rules: recorder.h.
#include <stdlib.h>
#include <string.h>

#include "recorder.h"

// Two transfers that share memory of the program must not run at once.
static void put_host(struct recording_writer *writer, const void *at) {
    recording_put(writer, RECORDING_KEY_HOST, (uint64_t)(uintptr_t)at);
}

static void put_memory(struct recording_writer *writer, enum recording_key key, cl_mem memory) {
    const struct object *object = object_find_memory(memory);
    recording_put(writer, key, object ? object->id : 0);
}

cl_int record_clEnqueueWriteBuffer(cl_command_queue queue, cl_mem buffer, cl_bool blocking, size_t offset,
                                   size_t size, const void *from, cl_uint count, const cl_event *waits,
                                   cl_event *event) {
    struct payload payload = {0};
    const cl_int status =
        recorder.next.clEnqueueWriteBuffer(queue, buffer, blocking, offset, size, from, count, waits, event);
    if (recorder_on() && status == CL_SUCCESS) {
        payload_take(&payload, from, size);
        struct recording_writer *writer = command_open(RECORDING_COMMAND_WRITE, queue, count, waits);
        put_memory(writer, RECORDING_KEY_TARGET, buffer);
        recording_put(writer, RECORDING_KEY_OFFSET, offset);
        recording_put(writer, RECORDING_KEY_BLOCKING, blocking);
        put_host(writer, from);
        payload_put(writer, &payload);
        command_close(event);
    }
    return status;
}

cl_int record_clEnqueueReadBuffer(cl_command_queue queue, cl_mem buffer, cl_bool blocking, size_t offset,
                                  size_t size, void *to, cl_uint count, const cl_event *waits,
                                  cl_event *event) {
    const cl_int status =
        recorder.next.clEnqueueReadBuffer(queue, buffer, blocking, offset, size, to, count, waits, event);
    if (recorder_on() && status == CL_SUCCESS) {
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
    const cl_int status =
        recorder.next.clEnqueueCopyBuffer(queue, from, to, from_offset, to_offset, size, count, waits, event);
    if (recorder_on() && status == CL_SUCCESS) {
        struct recording_writer *writer = command_open(RECORDING_COMMAND_COPY, queue, count, waits);
        put_memory(writer, RECORDING_KEY_SOURCE, from);
        put_memory(writer, RECORDING_KEY_TARGET, to);
        put_sizes(writer, RECORDING_KEY_SOURCE_ORIGIN, &from_offset, 1);
        put_sizes(writer, RECORDING_KEY_TARGET_ORIGIN, &to_offset, 1);
        recording_put(writer, RECORDING_KEY_SIZE, size);
        object_written(object_find_memory(to));
        command_close(event);
    }
    return status;
}

cl_int record_clEnqueueFillBuffer(cl_command_queue queue, cl_mem buffer, const void *pattern, size_t length,
                                  size_t offset, size_t size, cl_uint count, const cl_event *waits,
                                  cl_event *event) {
    const cl_int status =
        recorder.next.clEnqueueFillBuffer(queue, buffer, pattern, length, offset, size, count, waits, event);
    if (recorder_on() && status == CL_SUCCESS) {
        struct recording_writer *writer = command_open(RECORDING_COMMAND_FILL, queue, count, waits);
        put_memory(writer, RECORDING_KEY_TARGET, buffer);
        recording_put(writer, RECORDING_KEY_OFFSET, offset);
        recording_put(writer, RECORDING_KEY_SIZE, size);
        recording_put_bytes(writer, RECORDING_KEY_DATA, pattern, length);
        object_written(object_find_memory(buffer));
        command_close(event);
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
    const size_t bytes = box->region[0] * box->region[1] * box->region[2];
    uint8_t *rows = malloc(bytes ? bytes : 1), *at = rows;
    for (size_t z = 0; rows && z < box->region[2]; z++)
        for (size_t y = 0; y < box->region[1]; y++) {
            memcpy(at,
                   (const uint8_t *)host + box->origin[0] + (box->origin[1] + y) * row_of(box) +
                       (box->origin[2] + z) * slice_of(box),
                   box->region[0]);
            at += box->region[0];
        }
    if (rows)
        payload_take(payload, rows, bytes);
    free(rows);
    return rows != NULL;
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
    struct payload payload = {0};
    const cl_int status = recorder.next.clEnqueueWriteBufferRect(
        queue, buffer, blocking, to_origin, host_origin, region, to_row, to_slice, host_row, host_slice, from,
        count, waits, event);
    const bool taken = recorder_on() && status == CL_SUCCESS && take_box(&payload, &host, from);
    if (taken) {
        struct recording_writer *writer = command_open(RECORDING_COMMAND_WRITE_RECT, queue, count, waits);
        put_memory(writer, RECORDING_KEY_TARGET, buffer);
        put_box(writer, RECORDING_KEY_TARGET_ORIGIN, RECORDING_KEY_TARGET_PITCH, &to);
        put_sizes(writer, RECORDING_KEY_REGION, region, RECORDING_DIMENSIONS);
        recording_put(writer, RECORDING_KEY_BLOCKING, blocking);
        payload_put(writer, &payload);
        command_close(event);
    } else if (recorder_on() && status == CL_SUCCESS) {
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
    const cl_int status = recorder.next.clEnqueueReadBufferRect(
        queue, buffer, blocking, from_origin, host_origin, region, from_row, from_slice, host_row, host_slice,
        to, count, waits, event);
    if (recorder_on() && status == CL_SUCCESS) {
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
    const cl_int status =
        recorder.next.clEnqueueCopyBufferRect(queue, from, to, from_origin, to_origin, region, from_row,
                                              from_slice, to_row, to_slice, count, waits, event);
    if (recorder_on() && status == CL_SUCCESS) {
        struct recording_writer *writer = command_open(RECORDING_COMMAND_COPY_RECT, queue, count, waits);
        put_memory(writer, RECORDING_KEY_SOURCE, from);
        put_memory(writer, RECORDING_KEY_TARGET, to);
        put_box(writer, RECORDING_KEY_SOURCE_ORIGIN, RECORDING_KEY_SOURCE_PITCH, &source);
        put_box(writer, RECORDING_KEY_TARGET_ORIGIN, RECORDING_KEY_TARGET_PITCH, &target);
        put_sizes(writer, RECORDING_KEY_REGION, region, RECORDING_DIMENSIONS);
        object_written(object_find_memory(to));
        command_close(event);
    }
    return status;
}
