// SPDX-License-Identifier: Apache-2.0

#include "pipeline.h"

#include "reference.h"

#include <CL/cl.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TILE_WIDTH = 32, TILE_HEIGHT = 8, HISTOGRAM_GROUPS = 32 };

const char *const kernel_names[KERNELS] = {"blur_rows",           "blur_columns",    "sobel_edges",
                                           "luminance_histogram", "choose_exposure", "tone_map"};

static void check(cl_int status, const char *call) {
    if (status == CL_SUCCESS)
        return;
    fprintf(stderr, "image_pipeline: %s failed with OpenCL error %d\n", call, status);
    exit(1);
}

// ---- opening ----

static bool find_devices(struct pipeline *pipeline, unsigned wanted) {
    cl_platform_id platforms[16];
    cl_device_id devices[DEVICES_MAX];
    cl_uint platform_count = 0;
    if (clGetPlatformIDs(16, platforms, &platform_count) != CL_SUCCESS)
        return false;
    for (cl_uint i = 0; i < platform_count && i < 16; i++) {
        cl_uint found = 0;
        if (clGetDeviceIDs(platforms[i], CL_DEVICE_TYPE_ALL, DEVICES_MAX, devices, &found) != CL_SUCCESS ||
            found == 0)
            continue;
        pipeline->platform = platforms[i];
        check(clGetPlatformInfo(platforms[i], CL_PLATFORM_NAME, sizeof pipeline->platform_name,
                                pipeline->platform_name, NULL),
              "clGetPlatformInfo");
        pipeline->lane_count = found < wanted ? found : wanted;
        if (pipeline->lane_count > DEVICES_MAX)
            pipeline->lane_count = DEVICES_MAX;
        for (unsigned j = 0; j < pipeline->lane_count; j++) {
            struct lane *lane = &pipeline->lanes[j];
            lane->device = devices[j];
            check(clGetDeviceInfo(devices[j], CL_DEVICE_NAME, sizeof lane->name, lane->name, NULL),
                  "clGetDeviceInfo");
        }
        return true;
    }
    return false;
}

static void build_program(struct pipeline *pipeline) {
    const char *source = kernels_source;
    char options[128];
    cl_int status = CL_SUCCESS;
    snprintf(options, sizeof options, "-cl-std=CL1.2 -DHISTOGRAM_BINS=%d -DCURVE_STEPS=%d", HISTOGRAM_BINS,
             CURVE_STEPS);
    pipeline->program = clCreateProgramWithSource(pipeline->context, 1, &source, NULL, &status);
    check(status, "clCreateProgramWithSource");
    status = clBuildProgram(pipeline->program, 0, NULL, options, NULL, NULL);
    if (status != CL_SUCCESS) {
        char log[8192] = "";
        clGetProgramBuildInfo(pipeline->program, pipeline->lanes[0].device, CL_PROGRAM_BUILD_LOG, sizeof log,
                              log, NULL);
        fprintf(stderr, "%s\n", log);
    }
    check(status, "clBuildProgram");
}

static cl_mem make_buffer(struct pipeline *pipeline, size_t bytes) {
    cl_int status = CL_SUCCESS;
    cl_mem buffer = clCreateBuffer(pipeline->context, CL_MEM_READ_WRITE, bytes, NULL, &status);
    check(status, "clCreateBuffer");
    return buffer;
}

static cl_command_queue make_queue(struct pipeline *pipeline, cl_device_id device,
                                   cl_command_queue_properties properties) {
    cl_int status = CL_SUCCESS;
    cl_command_queue queue = clCreateCommandQueue(pipeline->context, device, properties, &status);
    check(status, "clCreateCommandQueue");
    return queue;
}

static void *host_memory(size_t bytes) {
    void *memory = calloc(1, bytes);
    if (!memory) {
        fprintf(
            stderr,
            "image_pipeline: out of memory while allocating a frame of %zu bytes; choose a smaller --size\n",
            bytes);
        exit(1);
    }
    return memory;
}

static void set_argument(cl_kernel kernel, cl_uint index, size_t bytes, const void *value) {
    check(clSetKernelArg(kernel, index, bytes, value), "clSetKernelArg");
}

// Gives a kernel its buffers, then the width and height every filter ends with.
static void set_buffers(struct slot *slot, enum kernel_index which, const cl_mem *buffers, cl_uint count,
                        struct size size) {
    const cl_int width = (cl_int)size.width;
    const cl_int height = (cl_int)size.height;
    for (cl_uint i = 0; i < count; i++)
        set_argument(slot->kernels[which], i, sizeof buffers[i], &buffers[i]);
    set_argument(slot->kernels[which], count, sizeof width, &width);
    set_argument(slot->kernels[which], count + 1, sizeof height, &height);
}

static void set_arguments(struct slot *slot, struct size size) {
    const cl_uint pixels = (cl_uint)size_pixels(size);
    cl_kernel histogram = slot->kernels[LUMINANCE_HISTOGRAM];
    cl_kernel exposure = slot->kernels[CHOOSE_EXPOSURE];
    set_buffers(slot, BLUR_ROWS, (cl_mem[]){slot->raw, slot->rows}, 2, size);
    set_buffers(slot, BLUR_COLUMNS, (cl_mem[]){slot->rows, slot->blurred}, 2, size);
    set_buffers(slot, SOBEL_EDGES, (cl_mem[]){slot->blurred, slot->edges}, 2, size);
    set_buffers(
        slot, TONE_MAP,
        (cl_mem[]){slot->raw, slot->blurred, slot->edges, slot->exposure, slot->lane->curve, slot->picture},
        6, size);
    set_argument(histogram, 0, sizeof slot->raw, &slot->raw);
    set_argument(histogram, 1, sizeof slot->bins, &slot->bins);
    set_argument(histogram, 2, sizeof pixels, &pixels);
    set_argument(histogram, 3, HISTOGRAM_BINS * sizeof(cl_uint), NULL); // local memory: a size and no value
    set_argument(exposure, 0, sizeof slot->bins, &slot->bins);
    set_argument(exposure, 1, sizeof slot->exposure, &slot->exposure);
    set_argument(exposure, 2, sizeof pixels, &pixels);
}

static void open_slot(struct pipeline *pipeline, struct lane *lane, struct slot *slot) {
    const size_t pixels = size_pixels(pipeline->size);
    slot->lane = lane;
    slot->raw = make_buffer(pipeline, pixels * sizeof(struct raw_pixel));
    slot->rows = make_buffer(pipeline, pixels * sizeof(struct raw_pixel));
    slot->blurred = make_buffer(pipeline, pixels * sizeof(struct raw_pixel));
    slot->edges = make_buffer(pipeline, pixels * sizeof(cl_ushort));
    slot->bins = make_buffer(pipeline, sizeof slot->host_bins);
    slot->exposure = make_buffer(pipeline, sizeof(cl_uint));
    slot->picture = make_buffer(pipeline, pixels * sizeof(struct screen_pixel));
    slot->host_raw = host_memory(pixels * sizeof *slot->host_raw);
    slot->host_picture = host_memory(pixels * sizeof *slot->host_picture);
    for (int i = 0; i < KERNELS; i++) {
        cl_int status = CL_SUCCESS;
        slot->kernels[i] = clCreateKernel(pipeline->program, kernel_names[i], &status);
        check(status, "clCreateKernel");
    }
    set_arguments(slot, pipeline->size);
}

static void open_lane(struct pipeline *pipeline, struct lane *lane) {
    uint8_t curve[CURVE_STEPS];
    lane->upload = make_queue(pipeline, lane->device, 0);
    lane->filter = make_queue(pipeline, lane->device, 0);
    lane->finish = make_queue(pipeline, lane->device, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
    lane->curve = make_buffer(pipeline, sizeof curve);
    reference_curve(curve);
    check(clEnqueueWriteBuffer(lane->upload, lane->curve, CL_TRUE, 0, sizeof curve, curve, 0, NULL, NULL),
          "clEnqueueWriteBuffer");
    pipeline->counts.writes++;
    pipeline->counts.bytes_written += sizeof curve;
    for (int i = 0; i < SLOTS_PER_DEVICE; i++)
        open_slot(pipeline, lane, &lane->slots[i]);
}

bool pipeline_open(struct pipeline *pipeline, struct size size, unsigned devices) {
    cl_device_id ids[DEVICES_MAX];
    cl_int status = CL_SUCCESS;
    memset(pipeline, 0, sizeof *pipeline);
    pipeline->size = size;
    if (!find_devices(pipeline, devices))
        return false;
    for (unsigned i = 0; i < pipeline->lane_count; i++)
        ids[i] = pipeline->lanes[i].device;
    pipeline->context = clCreateContext(NULL, pipeline->lane_count, ids, NULL, NULL, &status);
    check(status, "clCreateContext");
    build_program(pipeline);
    for (unsigned i = 0; i < pipeline->lane_count; i++)
        open_lane(pipeline, &pipeline->lanes[i]);
    return true;
}

// ---- a frame ----

// The place for the event of the slot's next command. All are released when the frame is done.
static cl_event *new_event(struct slot *slot) {
    return &slot->events[slot->event_count++];
}

static void launch(struct pipeline *pipeline, struct slot *slot, cl_command_queue queue,
                   enum kernel_index which, cl_uint wait_count, const cl_event *waits, cl_event *event) {
    const size_t tile[2] = {TILE_WIDTH, TILE_HEIGHT};
    const size_t image[2] = {(pipeline->size.width + TILE_WIDTH - 1) / TILE_WIDTH * TILE_WIDTH,
                             (pipeline->size.height + TILE_HEIGHT - 1) / TILE_HEIGHT * TILE_HEIGHT};
    const size_t group = HISTOGRAM_GROUP;
    const size_t groups = (size_t)HISTOGRAM_GROUPS * HISTOGRAM_GROUP;
    const size_t one = 1;
    cl_uint dimensions = 2;
    const size_t *global = image;
    const size_t *local = tile;
    if (which == LUMINANCE_HISTOGRAM) {
        dimensions = 1;
        global = &groups;
        local = &group;
    } else if (which == CHOOSE_EXPOSURE) {
        dimensions = 1;
        global = &one;
        local = &one;
    }
    check(clEnqueueNDRangeKernel(queue, slot->kernels[which], dimensions, NULL, global, local, wait_count,
                                 waits, event),
          kernel_names[which]);
    pipeline->counts.launches[which]++;
}

static void write_raw(struct pipeline *pipeline, struct slot *slot, cl_event *event) {
    const size_t bytes = size_pixels(pipeline->size) * sizeof *slot->host_raw;
    check(clEnqueueWriteBuffer(slot->lane->upload, slot->raw, CL_FALSE, 0, bytes, slot->host_raw, 0, NULL,
                               event),
          "clEnqueueWriteBuffer");
    pipeline->counts.writes++;
    pipeline->counts.bytes_written += bytes;
}

static void clear_bins(struct pipeline *pipeline, struct slot *slot, cl_event *event) {
    const cl_uint zero = 0;
    check(clEnqueueFillBuffer(slot->lane->finish, slot->bins, &zero, sizeof zero, 0, sizeof slot->host_bins,
                              0, NULL, event),
          "clEnqueueFillBuffer");
    pipeline->counts.fills++;
    pipeline->counts.bytes_filled += sizeof slot->host_bins;
}

static void read_back(struct pipeline *pipeline, struct slot *slot, cl_mem buffer, size_t bytes, void *host,
                      const cl_event *after, cl_event *event) {
    check(clEnqueueReadBuffer(slot->lane->finish, buffer, CL_FALSE, 0, bytes, host, 1, after, event),
          "clEnqueueReadBuffer");
    pipeline->counts.reads++;
    pipeline->counts.bytes_read += bytes;
}

struct slot *pipeline_slot(struct pipeline *pipeline, unsigned number) {
    struct lane *lane = &pipeline->lanes[number % pipeline->lane_count];
    return &lane->slots[number / pipeline->lane_count % SLOTS_PER_DEVICE];
}

void pipeline_enqueue(struct pipeline *pipeline, struct slot *slot, unsigned number) {
    struct lane *lane = slot->lane;
    cl_event *uploaded = new_event(slot);
    cl_event *filtered = new_event(slot);
    cl_event *cleared = new_event(slot);
    cl_event *counted = new_event(slot);
    cl_event *exposed = new_event(slot);
    cl_event *mapped = new_event(slot);
    cl_event *bins_read = new_event(slot);
    cl_event *picture_read = new_event(slot);
    slot->frame = number;
    lane->frames++;

    write_raw(pipeline, slot, uploaded);
    check(clFlush(lane->upload), "clFlush");

    launch(pipeline, slot, lane->filter, BLUR_ROWS, 1, uploaded, NULL);
    launch(pipeline, slot, lane->filter, BLUR_COLUMNS, 0, NULL, NULL);
    launch(pipeline, slot, lane->filter, SOBEL_EDGES, 0, NULL, filtered);
    check(clFlush(lane->filter), "clFlush");

    clear_bins(pipeline, slot, cleared);
    launch(pipeline, slot, lane->finish, LUMINANCE_HISTOGRAM, 2, (cl_event[]){*uploaded, *cleared}, counted);
    read_back(pipeline, slot, slot->bins, sizeof slot->host_bins, slot->host_bins, counted, bins_read);
    launch(pipeline, slot, lane->finish, CHOOSE_EXPOSURE, 1, counted, exposed);
    launch(pipeline, slot, lane->finish, TONE_MAP, 2, (cl_event[]){*filtered, *exposed}, mapped);
    read_back(pipeline, slot, slot->picture, size_pixels(pipeline->size) * sizeof *slot->host_picture,
              slot->host_picture, mapped, picture_read);
    check(clFlush(lane->finish), "clFlush");
}

bool pipeline_wait(struct slot *slot) {
    if (slot->event_count == 0)
        return false;
    // The last two are the downloads, and everything else comes before one of them.
    check(clWaitForEvents(2, &slot->events[slot->event_count - 2]), "clWaitForEvents");
    for (unsigned i = 0; i < slot->event_count; i++)
        check(clReleaseEvent(slot->events[i]), "clReleaseEvent");
    slot->event_count = 0;
    return true;
}

// ---- closing ----

static void close_slot(struct slot *slot) {
    const cl_mem buffers[] = {slot->raw,  slot->rows,     slot->blurred, slot->edges,
                              slot->bins, slot->exposure, slot->picture};
    for (size_t i = 0; i < sizeof buffers / sizeof buffers[0]; i++)
        check(clReleaseMemObject(buffers[i]), "clReleaseMemObject");
    for (int i = 0; i < KERNELS; i++)
        check(clReleaseKernel(slot->kernels[i]), "clReleaseKernel");
    free(slot->host_raw);
    free(slot->host_picture);
}

void pipeline_close(struct pipeline *pipeline) {
    for (unsigned i = 0; i < pipeline->lane_count; i++) {
        struct lane *lane = &pipeline->lanes[i];
        const cl_command_queue queues[] = {lane->upload, lane->filter, lane->finish};
        for (int j = 0; j < SLOTS_PER_DEVICE; j++)
            close_slot(&lane->slots[j]);
        check(clReleaseMemObject(lane->curve), "clReleaseMemObject");
        for (int j = 0; j < 3; j++)
            check(clReleaseCommandQueue(queues[j]), "clReleaseCommandQueue");
    }
    check(clReleaseProgram(pipeline->program), "clReleaseProgram");
    check(clReleaseContext(pipeline->context), "clReleaseContext");
}
