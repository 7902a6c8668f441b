// SPDX-License-Identifier: Apache-2.0
// Images. Data of the host is kept as adjacent rows, without its pitches. An image in a buffer has no memory of its
// own. Rules: recorder.h.
#include <stdlib.h>

#include "recorder.h"

static size_t at_least_one(size_t value) {
    return value ? value : 1;
}

void image_region(const struct image *image, size_t region[RECORDING_DIMENSIONS]) {
    const cl_image_desc *desc = &image->desc;
    region[0] = at_least_one(desc->image_width);
    region[1] = region[2] = 1;
    switch (desc->image_type) {
    case CL_MEM_OBJECT_IMAGE1D_ARRAY:
        region[1] = at_least_one(desc->image_array_size);
        break;
    case CL_MEM_OBJECT_IMAGE2D:
        region[1] = at_least_one(desc->image_height);
        break;
    case CL_MEM_OBJECT_IMAGE2D_ARRAY:
        region[1] = at_least_one(desc->image_height);
        region[2] = at_least_one(desc->image_array_size);
        break;
    case CL_MEM_OBJECT_IMAGE3D:
        region[1] = at_least_one(desc->image_height);
        region[2] = at_least_one(desc->image_depth);
        break;
    default:
        break;
    }
}

size_t image_bytes(const struct image *image) {
    size_t region[RECORDING_DIMENSIONS];
    image_region(image, region);
    return region[0] * region[1] * region[2] * image->element;
}

// The host's rows of a region. In an array of rows the slices are the rows.
struct rows image_rows(const struct image *image, const size_t *region, size_t row, size_t slice) {
    struct rows rows = {region[0] * image->element, region[1], region[2], row, slice};
    if (image->desc.image_type == CL_MEM_OBJECT_IMAGE1D_ARRAY && slice)
        rows.row = slice;
    rows.row = rows.row ? rows.row : rows.width;
    rows.slice = slice ? slice : rows.row * rows.height;
    return rows;
}

static void image_put(struct recording_writer *writer, const struct image *image) {
    const cl_image_desc *desc = &image->desc;
    const uint64_t words[RECORDING_IMAGE_WORDS] = {
        [RECORDING_IMAGE_ORDER] = image->format.image_channel_order,
        [RECORDING_IMAGE_TYPE] = image->format.image_channel_data_type,
        [RECORDING_IMAGE_KIND] = desc->image_type,
        [RECORDING_IMAGE_WIDTH] = desc->image_width,
        [RECORDING_IMAGE_HEIGHT] = desc->image_height,
        [RECORDING_IMAGE_DEPTH] = desc->image_depth,
        [RECORDING_IMAGE_LAYERS] = desc->image_array_size,
        [RECORDING_IMAGE_ELEMENT] = image->element,
        [RECORDING_IMAGE_ROW] = desc->buffer ? desc->image_row_pitch : 0};
    recording_put_list(writer, RECORDING_KEY_LIST, words, RECORDING_IMAGE_WORDS);
}

static void note_image(cl_mem memory, cl_context context, cl_mem_flags flags, const cl_image_format *format,
                       const cl_image_desc *desc, const void *host) {
    struct payload payload = {0};
    struct image *image = calloc(1, sizeof *image);
    if (!image) {
        atomic_store(&recorder.on, false);
        return;
    }
    image->format = *format;
    image->desc = *desc;
    if (recorder.next.clGetImageInfo(memory, CL_IMAGE_ELEMENT_SIZE, sizeof image->element, &image->element,
                                     NULL))
        image->element = 0;
    size_t region[RECORDING_DIMENSIONS];
    image_region(image, region);
    const bool given = host && !desc->buffer && (flags & (CL_MEM_USE_HOST_PTR | CL_MEM_COPY_HOST_PTR));
    const struct rows rows = image_rows(image, region, desc->image_row_pitch, desc->image_slice_pitch);
    const bool known = given && range_whole() && rows_take(&rows, host, &payload);
    struct recording_writer *writer = record_open(RECORDING_IMAGE);
    struct object *object = object_add(memory, OBJECT_IMAGE);
    object->image = image;
    object_enter(object, object_find(context, OBJECT_CONTEXT));
    object->parent = desc->buffer ? object_name(object_find_memory(desc->buffer)) : NULL;
    if (object->parent)
        object->parent->references++;
    buffer_tell(object->parent);
    object->flags = flags;
    object->size = image_bytes(image);
    object->known = known;
    recording_put(writer, RECORDING_KEY_OBJECT, object->id);
    recording_put(writer, RECORDING_KEY_CONTEXT, object_id(context, OBJECT_CONTEXT));
    recording_put(writer, RECORDING_KEY_FLAGS, flags);
    if (object->parent)
        recording_put(writer, RECORDING_KEY_PARENT, object->parent->id);
    image_put(writer, image);
    if (known)
        payload_put(writer, &payload);
    else
        recording_put(writer, RECORDING_KEY_SIZE, object->size);
    record_close();
    payload_drop(&payload);
    if (desc->num_mip_levels || desc->num_samples)
        refuse("clCreateImage", "images of several levels or samples are not recorded", &memory, 1, NULL);
}

cl_mem record_clCreateImage(cl_context context, cl_mem_flags flags, const cl_image_format *format,
                            const cl_image_desc *desc, void *host, cl_int *status) {
    cl_mem image = recorder.next.clCreateImage(context, flags, format, desc, host, status);
    if (recorder_on() && image)
        note_image(image, context, flags, format, desc, host);
    return image;
}

cl_mem record_clCreateImageWithProperties(cl_context context, const cl_mem_properties *properties,
                                          cl_mem_flags flags, const cl_image_format *format,
                                          const cl_image_desc *desc, void *host, cl_int *status) {
    cl_mem image =
        recorder.next.clCreateImageWithProperties(context, properties, flags, format, desc, host, status);
    if (!recorder_on() || !image)
        return image;
    note_image(image, context, flags, format, desc, host);
    if (properties && properties[0])
        refuse("clCreateImageWithProperties", "memory of another API may be behind the image", &image, 1,
               NULL);
    return image;
}

cl_mem record_clCreateImage2D(cl_context context, cl_mem_flags flags, const cl_image_format *format,
                              size_t width, size_t height, size_t pitch, void *host, cl_int *status) {
    cl_mem image = recorder.next.clCreateImage2D(context, flags, format, width, height, pitch, host, status);
    const cl_image_desc desc = {.image_type = CL_MEM_OBJECT_IMAGE2D,
                                .image_width = width,
                                .image_height = height,
                                .image_row_pitch = pitch};
    if (recorder_on() && image)
        note_image(image, context, flags, format, &desc, host);
    return image;
}

cl_mem record_clCreateImage3D(cl_context context, cl_mem_flags flags, const cl_image_format *format,
                              size_t width, size_t height, size_t depth, size_t row, size_t slice, void *host,
                              cl_int *status) {
    cl_mem image =
        recorder.next.clCreateImage3D(context, flags, format, width, height, depth, row, slice, host, status);
    const cl_image_desc desc = {.image_type = CL_MEM_OBJECT_IMAGE3D,
                                .image_width = width,
                                .image_height = height,
                                .image_depth = depth,
                                .image_row_pitch = row,
                                .image_slice_pitch = slice};
    if (recorder_on() && image)
        note_image(image, context, flags, format, &desc, host);
    return image;
}

// ---- commands

const struct image *image_of(cl_mem memory) {
    pthread_mutex_lock(&recorder.lock);
    const struct object *object = object_find(memory, OBJECT_IMAGE);
    pthread_mutex_unlock(&recorder.lock);
    return object ? object->image : NULL;
}

bool image_is_whole(const struct image *image, const size_t *region) {
    size_t all[RECORDING_DIMENSIONS];
    if (!region || image->desc.buffer)
        return false;
    image_region(image, all);
    return region[0] == all[0] && region[1] == all[1] && region[2] == all[2];
}

TRANSFER(clEnqueueReadImage, .command = RECORDING_COMMAND_READ_IMAGE, .blocking = blocking, .source = image,
         .in_source.origin = origin, .region = region, .host = to, .in_host = {NULL, row, slice})

TRANSFER(clEnqueueWriteImage, .command = RECORDING_COMMAND_WRITE_IMAGE, .blocking = blocking, .target = image,
         .in_target.origin = origin, .region = region, .host = from, .in_host = {NULL, row, slice})

TRANSFER(clEnqueueCopyImage, .command = RECORDING_COMMAND_COPY_IMAGE, .source = source,
         .in_source.origin = source_origin, .target = destination, .in_target.origin = destination_origin,
         .region = region)

TRANSFER(clEnqueueCopyImageToBuffer, .command = RECORDING_COMMAND_IMAGE_TO_BUFFER, .source = source,
         .in_source.origin = origin, .region = region, .target = destination, .offset = &offset)

TRANSFER(clEnqueueCopyBufferToImage, .command = RECORDING_COMMAND_BUFFER_TO_IMAGE, .source = source,
         .offset = &offset, .target = destination, .in_target.origin = origin, .region = region)

static size_t color_bytes(cl_mem memory) {
    const struct image *image = image_of(memory);
    return image && image->format.image_channel_order == CL_DEPTH ? sizeof(cl_float) : 4 * sizeof(cl_float);
}

TRANSFER(clEnqueueFillImage, .command = RECORDING_COMMAND_FILL_IMAGE, .target = image,
         .in_target.origin = origin, .region = region, .pattern = color, .pattern_size = color_bytes(image))
