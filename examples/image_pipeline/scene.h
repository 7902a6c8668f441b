// SPDX-License-Identifier: Apache-2.0
//
// The input of the pipeline: a night street with moving lamps, made by arithmetic, so that every run
// on every machine sees the same frames.

#ifndef IMAGE_PIPELINE_SCENE_H
#define IMAGE_PIPELINE_SCENE_H

#include <stddef.h>
#include <stdint.h>

struct size {
    unsigned width;
    unsigned height;
};

// A pixel as a camera gives it: linear light, 16 bits per channel. Same layout as OpenCL's ushort4.
struct raw_pixel {
    uint16_t red, green, blue, unused;
};

// A pixel as a screen takes it. Same layout as OpenCL's uchar4.
struct screen_pixel {
    uint8_t red, green, blue, alpha;
};

static inline size_t size_pixels(struct size size) {
    return (size_t)size.width * size.height;
}

// What does not move. Free with scene_destroy(); NULL when memory is short.
struct scene *scene_create(struct size size);
void scene_destroy(struct scene *scene);

// Draws frame `number` into `pixels`, size_pixels() of them.
void scene_draw(const struct scene *scene, unsigned number, struct raw_pixel *pixels);

#endif
