// SPDX-License-Identifier: Apache-2.0
//
// The pipeline on OpenCL devices. Frame n goes to device n modulo the number of devices, and on each
// device to one of two slots in turn, so that one frame is uploaded while the other is computed:
//
//   upload queue   (in order)      write raw ──┐ (uploaded)
//   filter queue   (in order)                  ├─> blur_rows -> blur_columns -> sobel_edges ─┐ (filtered)
//   finish queue   (out of order)  fill bins ──┴─> luminance_histogram -> choose_exposure ───┴─> tone_map
//                                                            └─> read bins                       └─> read
//                                                            picture
//
// Within a queue that is in order nothing more is needed; everything else is tied together by events.
//
// A failed OpenCL call is printed with its name and ends the program with exit code 1: for an example
// that is the clearest thing to do.

#ifndef IMAGE_PIPELINE_PIPELINE_H
#define IMAGE_PIPELINE_PIPELINE_H

#include "kernels.h"
#include "scene.h"

#ifndef CL_TARGET_OPENCL_VERSION
#define CL_TARGET_OPENCL_VERSION 120
#endif
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS // clCreateCommandQueue: the one that every version has
#include <CL/cl.h>

#include <stdbool.h>

enum { DEVICES_MAX = 8, SLOTS_PER_DEVICE = 2, EVENTS_PER_FRAME = 8 };

enum kernel_index {
    BLUR_ROWS,
    BLUR_COLUMNS,
    SOBEL_EDGES,
    LUMINANCE_HISTOGRAM,
    CHOOSE_EXPOSURE,
    TONE_MAP,
    KERNELS,
};

extern const char *const kernel_names[KERNELS];

// The memory of one frame in flight, on the device and here.
struct slot {
    struct lane *lane;
    cl_mem raw, rows, blurred, edges, bins, exposure, picture;
    cl_kernel kernels[KERNELS]; // with their arguments set, once
    struct raw_pixel *host_raw;
    struct screen_pixel *host_picture;
    cl_uint host_bins[HISTOGRAM_BINS];
    cl_event events[EVENTS_PER_FRAME];
    unsigned event_count; // 0: no frame in flight
    unsigned frame;
};

// One device and its queues.
struct lane {
    cl_device_id device;
    char name[128];
    cl_command_queue upload, filter, finish;
    cl_mem curve;
    struct slot slots[SLOTS_PER_DEVICE];
    unsigned frames;
};

// What the program itself knows it has enqueued.
struct counts {
    unsigned launches[KERNELS];
    unsigned writes, reads, fills;
    uint64_t bytes_written, bytes_read, bytes_filled;
};

struct pipeline {
    struct size size;
    cl_platform_id platform;
    char platform_name[128];
    cl_context context;
    cl_program program;
    struct lane lanes[DEVICES_MAX];
    unsigned lane_count;
    struct counts counts;
};

// Uses at most `devices` devices of the first platform that has any. False where there is none.
bool pipeline_open(struct pipeline *pipeline, struct size size, unsigned devices);
void pipeline_close(struct pipeline *pipeline);

// The slot that frame `number` goes to. It may still hold an earlier frame: pipeline_wait() for that.
struct slot *pipeline_slot(struct pipeline *pipeline, unsigned number);

// Enqueues frame `number`, whose pixels are in slot->host_raw. Does not wait for anything.
void pipeline_enqueue(struct pipeline *pipeline, struct slot *slot, unsigned number);

// Waits until the picture of the slot's frame is in slot->host_picture. False when there was no frame.
bool pipeline_wait(struct slot *slot);

#endif
