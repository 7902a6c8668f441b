// SPDX-License-Identifier: Apache-2.0

#ifndef IMAGE_PIPELINE_KERNELS_H
#define IMAGE_PIPELINE_KERNELS_H

// What host and device must agree on. The source is compiled with these as -D options.
enum {
    HISTOGRAM_BINS = 256,
    CURVE_STEPS = 4096,
    HISTOGRAM_GROUP = 256, // work-items in a group of luminance_histogram
};

// The kernels of the pipeline, in OpenCL C 1.2. All arithmetic is on integers, so that every device
// gives the same picture as the host, to the last bit.
extern const char kernels_source[];

#endif
