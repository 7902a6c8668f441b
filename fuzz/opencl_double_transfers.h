// SPDX-License-Identifier: Apache-2.0
// The transfers of the double: between the host and objects, between objects, fills and maps. Part of opencl_double_calls.h.
#ifndef FUZZ_OPENCL_DOUBLE_TRANSFERS_H
#define FUZZ_OPENCL_DOUBLE_TRANSFERS_H

// ---- transfers

static cl_int double_transfer(cl_command_queue queue, struct double_object *memory, size_t offset,
                              uint8_t *host, bool write, const size_t region[3], const size_t device[2],
                              const size_t other[2], cl_uint count, const cl_event *waits, cl_event *event) {
    struct double_move move = {.to = write ? memory->bytes + offset : host,
                               .from = write ? host : memory->bytes + offset};
    memcpy(move.region, region, sizeof move.region);
    move.to_row = write ? device[0] : other[0];
    move.to_slice = write ? device[1] : other[1];
    move.from_row = write ? other[0] : device[0];
    move.from_slice = write ? other[1] : device[1];
    return double_enqueue(queue, count, waits, &move, &memory, 1, event);
}

static cl_int double_plain(cl_command_queue queue, cl_mem handle, size_t offset, size_t size, void *host,
                           bool write, cl_uint count, const cl_event *waits, cl_event *event) {
    struct double_object *memory = double_use(handle, DOUBLE_MEMORY);
    const size_t region[3] = {size, 1, 1}, pitch[2] = {size, size};
    if (memory->element || !size || offset > memory->size || size > memory->size - offset || !host)
        return CL_INVALID_VALUE;
    return double_transfer(queue, memory, offset, host, write, region, pitch, pitch, count, waits, event);
}

static cl_int d_clEnqueueReadBuffer(cl_command_queue queue, cl_mem memory, cl_bool blocking, size_t offset,
                                    size_t size, void *host, cl_uint count, const cl_event *waits,
                                    cl_event *event) {
    (void)blocking;
    return double_plain(queue, memory, offset, size, host, false, count, waits, event);
}

static cl_int d_clEnqueueWriteBuffer(cl_command_queue queue, cl_mem memory, cl_bool blocking, size_t offset,
                                     size_t size, const void *host, cl_uint count, const cl_event *waits,
                                     cl_event *event) {
    (void)blocking;
    return double_plain(queue, memory, offset, size, (void *)(uintptr_t)host, true, count, waits, event);
}

static cl_int double_rect(cl_command_queue queue, cl_mem handle, const size_t *origin,
                          const size_t *host_origin, const size_t *region, size_t row, size_t slice,
                          size_t host_row, size_t host_slice, void *host, bool write, cl_uint count,
                          const cl_event *waits, cl_event *event) {
    struct double_object *memory = double_use(handle, DOUBLE_MEMORY);
    size_t offset;
    if (memory->element || host_origin[0] || host_origin[1] || host_origin[2] || !host ||
        !double_pitches(region, &row, &slice) || !double_pitches(region, &host_row, &host_slice) ||
        !double_box(memory, origin, region, 1, row, slice, &offset))
        return CL_INVALID_VALUE;
    const size_t device[2] = {row, slice}, other[2] = {host_row, host_slice};
    return double_transfer(queue, memory, offset, host, write, region, device, other, count, waits, event);
}

static cl_int d_clEnqueueReadBufferRect(cl_command_queue queue, cl_mem memory, cl_bool blocking,
                                        const size_t *origin, const size_t *host_origin, const size_t *region,
                                        size_t row, size_t slice, size_t host_row, size_t host_slice,
                                        void *host, cl_uint count, const cl_event *waits, cl_event *event) {
    (void)blocking;
    return double_rect(queue, memory, origin, host_origin, region, row, slice, host_row, host_slice, host,
                       false, count, waits, event);
}

static cl_int d_clEnqueueWriteBufferRect(cl_command_queue queue, cl_mem memory, cl_bool blocking,
                                         const size_t *origin, const size_t *host_origin,
                                         const size_t *region, size_t row, size_t slice, size_t host_row,
                                         size_t host_slice, const void *host, cl_uint count,
                                         const cl_event *waits, cl_event *event) {
    (void)blocking;
    return double_rect(queue, memory, origin, host_origin, region, row, slice, host_row, host_slice,
                       (void *)(uintptr_t)host, true, count, waits, event);
}

static bool double_in_image(const struct double_object *image, const size_t *origin, const size_t *region,
                            size_t *offset) {
    for (size_t i = 0; i < 3; i++)
        if (origin[i] > image->extent[i] || region[i] > image->extent[i] - origin[i])
            return false;
    return image->element &&
           double_box(image, origin, region, image->element, image->row, image->slice, offset);
}

static cl_int double_image(cl_command_queue queue, cl_mem handle, const size_t *origin, const size_t *region,
                           void *host, bool write, cl_uint count, const cl_event *waits, cl_event *event) {
    struct double_object *image = double_use(handle, DOUBLE_MEMORY);
    size_t offset;
    if (!double_in_image(image, origin, region, &offset) || !host)
        return CL_INVALID_VALUE;
    const size_t bytes[3] = {region[0] * image->element, region[1], region[2]};
    const size_t device[2] = {image->row, image->slice}, other[2] = {bytes[0], bytes[0] * bytes[1]};
    return double_transfer(queue, image, offset, host, write, bytes, device, other, count, waits, event);
}

static cl_int d_clEnqueueReadImage(cl_command_queue queue, cl_mem image, cl_bool blocking,
                                   const size_t *origin, const size_t *region, size_t row, size_t slice,
                                   void *host, cl_uint count, const cl_event *waits, cl_event *event) {
    (void)blocking;
    (void)row;
    (void)slice;
    return double_image(queue, image, origin, region, host, false, count, waits, event);
}

static cl_int d_clEnqueueWriteImage(cl_command_queue queue, cl_mem image, cl_bool blocking,
                                    const size_t *origin, const size_t *region, size_t row, size_t slice,
                                    const void *host, cl_uint count, const cl_event *waits, cl_event *event) {
    (void)blocking;
    (void)row;
    (void)slice;
    return double_image(queue, image, origin, region, (void *)(uintptr_t)host, true, count, waits, event);
}

// Between two memories of which each part is within.
static cl_int double_copy(cl_command_queue queue, struct double_object *from, struct double_object *to,
                          size_t from_offset, size_t to_offset, const size_t region[3],
                          const size_t from_pitch[2], const size_t to_pitch[2], cl_uint count,
                          const cl_event *waits, cl_event *event) {
    struct double_object *uses[2] = {from, to};
    struct double_move move = {.to = to->bytes + to_offset, .from = from->bytes + from_offset};
    memcpy(move.region, region, sizeof move.region);
    move.to_row = to_pitch[0];
    move.to_slice = to_pitch[1];
    move.from_row = from_pitch[0];
    move.from_slice = from_pitch[1];
    return double_enqueue(queue, count, waits, &move, uses, 2, event);
}

static cl_int d_clEnqueueCopyBuffer(cl_command_queue queue, cl_mem source, cl_mem target, size_t from,
                                    size_t to, size_t size, cl_uint count, const cl_event *waits,
                                    cl_event *event) {
    struct double_object *a = double_use(source, DOUBLE_MEMORY), *b = double_use(target, DOUBLE_MEMORY);
    const size_t region[3] = {size, 1, 1}, pitch[2] = {size, size};
    if (a->element || b->element || !size || from > a->size || size > a->size - from || to > b->size ||
        size > b->size - to)
        return CL_INVALID_VALUE;
    return double_copy(queue, a, b, from, to, region, pitch, pitch, count, waits, event);
}

static cl_int d_clEnqueueCopyBufferRect(cl_command_queue queue, cl_mem source, cl_mem target,
                                        const size_t *from, const size_t *to, const size_t *region,
                                        size_t from_row, size_t from_slice, size_t to_row, size_t to_slice,
                                        cl_uint count, const cl_event *waits, cl_event *event) {
    struct double_object *a = double_use(source, DOUBLE_MEMORY), *b = double_use(target, DOUBLE_MEMORY);
    size_t from_offset, to_offset;
    if (a->element || b->element || !double_pitches(region, &from_row, &from_slice) ||
        !double_pitches(region, &to_row, &to_slice) ||
        !double_box(a, from, region, 1, from_row, from_slice, &from_offset) ||
        !double_box(b, to, region, 1, to_row, to_slice, &to_offset))
        return CL_INVALID_VALUE;
    const size_t from_pitch[2] = {from_row, from_slice}, to_pitch[2] = {to_row, to_slice};
    return double_copy(queue, a, b, from_offset, to_offset, region, from_pitch, to_pitch, count, waits,
                       event);
}

static cl_int d_clEnqueueCopyImage(cl_command_queue queue, cl_mem source, cl_mem target, const size_t *from,
                                   const size_t *to, const size_t *region, cl_uint count,
                                   const cl_event *waits, cl_event *event) {
    struct double_object *a = double_use(source, DOUBLE_MEMORY), *b = double_use(target, DOUBLE_MEMORY);
    size_t from_offset, to_offset;
    if (a->element != b->element || !double_in_image(a, from, region, &from_offset) ||
        !double_in_image(b, to, region, &to_offset))
        return CL_IMAGE_FORMAT_MISMATCH;
    const size_t bytes[3] = {region[0] * a->element, region[1], region[2]};
    const size_t from_pitch[2] = {a->row, a->slice}, to_pitch[2] = {b->row, b->slice};
    return double_copy(queue, a, b, from_offset, to_offset, bytes, from_pitch, to_pitch, count, waits, event);
}

static cl_int double_image_and_buffer(cl_command_queue queue, cl_mem image_handle, cl_mem buffer_handle,
                                      const size_t *origin, const size_t *region, size_t offset,
                                      bool to_buffer, cl_uint count, const cl_event *waits, cl_event *event) {
    struct double_object *image = double_use(image_handle, DOUBLE_MEMORY),
                         *buffer = double_use(buffer_handle, DOUBLE_MEMORY);
    size_t in_image;
    if (buffer->element || !double_in_image(image, origin, region, &in_image))
        return CL_INVALID_VALUE;
    const size_t bytes[3] = {region[0] * image->element, region[1], region[2]},
                 size = bytes[0] * bytes[1] * bytes[2];
    if (offset > buffer->size || size > buffer->size - offset)
        return CL_INVALID_VALUE;
    const size_t packed[2] = {bytes[0], bytes[0] * bytes[1]}, pitch[2] = {image->row, image->slice};
    return to_buffer ? double_copy(queue, image, buffer, in_image, offset, bytes, pitch, packed, count, waits,
                                   event)
                     : double_copy(queue, buffer, image, offset, in_image, bytes, packed, pitch, count, waits,
                                   event);
}

static cl_int d_clEnqueueCopyImageToBuffer(cl_command_queue queue, cl_mem image, cl_mem buffer,
                                           const size_t *origin, const size_t *region, size_t offset,
                                           cl_uint count, const cl_event *waits, cl_event *event) {
    return double_image_and_buffer(queue, image, buffer, origin, region, offset, true, count, waits, event);
}

static cl_int d_clEnqueueCopyBufferToImage(cl_command_queue queue, cl_mem buffer, cl_mem image, size_t offset,
                                           const size_t *origin, const size_t *region, cl_uint count,
                                           const cl_event *waits, cl_event *event) {
    return double_image_and_buffer(queue, image, buffer, origin, region, offset, false, count, waits, event);
}

static cl_int double_fill(cl_command_queue queue, struct double_object *memory, uint8_t *at,
                          const size_t region[3], const size_t pitch[2], const void *pattern, size_t length,
                          cl_uint count, const cl_event *waits, cl_event *event) {
    struct double_move move = {.to = at, .to_row = pitch[0], .to_slice = pitch[1], .pattern_bytes = length};
    memcpy(move.region, region, sizeof move.region);
    memcpy(move.pattern, pattern, length);
    return double_enqueue(queue, count, waits, &move, &memory, 1, event);
}

static bool double_is_pattern(const void *pattern, size_t length, size_t size) {
    return pattern && length && length <= DOUBLE_PATTERN && (length & (length - 1)) == 0 && size &&
           size % length == 0;
}

static cl_int d_clEnqueueFillBuffer(cl_command_queue queue, cl_mem handle, const void *pattern, size_t length,
                                    size_t offset, size_t size, cl_uint count, const cl_event *waits,
                                    cl_event *event) {
    struct double_object *memory = double_use(handle, DOUBLE_MEMORY);
    const size_t region[3] = {size, 1, 1}, pitch[2] = {size, size};
    if (memory->element || !double_is_pattern(pattern, length, size) || offset > memory->size ||
        size > memory->size - offset || offset % length)
        return CL_INVALID_VALUE;
    return double_fill(queue, memory, memory->bytes + offset, region, pitch, pattern, length, count, waits,
                       event);
}

static cl_int d_clEnqueueFillImage(cl_command_queue queue, cl_mem handle, const void *color,
                                   const size_t *origin, const size_t *region, cl_uint count,
                                   const cl_event *waits, cl_event *event) {
    enum { COLOR = 16 }; // all of it is the driver's to read
    struct double_object *image = double_use(handle, DOUBLE_MEMORY);
    size_t offset;
    double_read(color, COLOR);
    if (!double_in_image(image, origin, region, &offset))
        return CL_INVALID_VALUE;
    const size_t bytes[3] = {region[0] * image->element, region[1], region[2]},
                 pitch[2] = {image->row, image->slice};
    return double_fill(queue, image, image->bytes + offset, bytes, pitch, color, COLOR, count, waits, event);
}

// ---- maps

static void *double_map(cl_command_queue queue, struct double_object *memory, size_t offset, cl_uint count,
                        const cl_event *waits, cl_event *event, cl_int *status) {
    *status = double_enqueue(queue, count, waits, NULL, &memory, 1, event);
    memory->maps += *status == CL_SUCCESS;
    return *status == CL_SUCCESS ? memory->bytes + offset : NULL;
}

static void *d_clEnqueueMapBuffer(cl_command_queue queue, cl_mem handle, cl_bool blocking, cl_map_flags flags,
                                  size_t offset, size_t size, cl_uint count, const cl_event *waits,
                                  cl_event *event, cl_int *status) {
    struct double_object *memory = double_use(handle, DOUBLE_MEMORY);
    (void)blocking;
    (void)flags;
    if (!memory->element && size && offset <= memory->size && size <= memory->size - offset)
        return double_map(queue, memory, offset, count, waits, event, status);
    *status = CL_INVALID_VALUE;
    return NULL;
}

static void *d_clEnqueueMapImage(cl_command_queue queue, cl_mem handle, cl_bool blocking, cl_map_flags flags,
                                 const size_t *origin, const size_t *region, size_t *row, size_t *slice,
                                 cl_uint count, const cl_event *waits, cl_event *event, cl_int *status) {
    struct double_object *image = double_use(handle, DOUBLE_MEMORY);
    size_t offset;
    (void)blocking;
    (void)flags;
    if (!double_in_image(image, origin, region, &offset)) {
        *status = CL_INVALID_VALUE;
        return NULL;
    }
    *row = image->row;
    *slice = image->type == CL_MEM_OBJECT_IMAGE1D_ARRAY ? image->row : image->slice;
    return double_map(queue, image, offset, count, waits, event, status);
}

static cl_int d_clEnqueueUnmapMemObject(cl_command_queue queue, cl_mem handle, void *pointer, cl_uint count,
                                        const cl_event *waits, cl_event *event) {
    struct double_object *memory = double_use(handle, DOUBLE_MEMORY);
    if (!memory->maps || (uint8_t *)pointer < memory->bytes ||
        (uint8_t *)pointer >= memory->bytes + memory->size)
        abort();
    memory->maps--;
    return double_enqueue(queue, count, waits, NULL, &memory, 1, event);
}

// ---- shared memory

static cl_int d_clEnqueueSVMMemcpy(cl_command_queue queue, cl_bool blocking, void *to, const void *from,
                                   size_t size, cl_uint count, const cl_event *waits, cl_event *event) {
    struct double_move move = {.to = to, .from = from, .region = {size, 1, 1}};
    (void)blocking;
    return !size || !to || !from ? CL_INVALID_VALUE
                                 : double_enqueue(queue, count, waits, &move, NULL, 0, event);
}

static cl_int d_clEnqueueSVMMemFill(cl_command_queue queue, void *at, const void *pattern, size_t length,
                                    size_t size, cl_uint count, const cl_event *waits, cl_event *event) {
    struct double_object *shared = double_shared(at);
    const size_t region[3] = {size, 1, 1}, pitch[2] = {size, size};
    return double_is_pattern(pattern, length, size)
               ? double_fill(queue, shared, at, region, pitch, pattern, length, count, waits, event)
               : CL_INVALID_VALUE;
}

static cl_int d_clEnqueueSVMMap(cl_command_queue queue, cl_bool blocking, cl_map_flags flags, void *at,
                                size_t size, cl_uint count, const cl_event *waits, cl_event *event) {
    struct double_object *shared = double_shared(at);
    (void)blocking;
    (void)flags;
    if (!size || size > shared->size - (size_t)((uint8_t *)at - shared->bytes))
        return CL_INVALID_VALUE;
    return double_enqueue(queue, count, waits, NULL, &shared, 1, event);
}

static cl_int d_clEnqueueSVMUnmap(cl_command_queue queue, void *at, cl_uint count, const cl_event *waits,
                                  cl_event *event) {
    struct double_object *shared = double_shared(at);
    return double_enqueue(queue, count, waits, NULL, &shared, 1, event);
}

#endif
