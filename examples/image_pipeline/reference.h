// SPDX-License-Identifier: Apache-2.0
//
// The same pipeline in plain C, for checking the device's work.

#ifndef IMAGE_PIPELINE_REFERENCE_H
#define IMAGE_PIPELINE_REFERENCE_H

#include "scene.h"

#include <stdbool.h>

// Working memory for one frame. Free with reference_destroy(); NULL when memory is short.
struct reference *reference_create(struct size size);
void reference_destroy(struct reference *reference);

// Computes the picture of `raw`; what it returns is valid until the next call or reference_destroy().
const struct screen_pixel *reference_compute(struct reference *reference, const struct raw_pixel *raw);

// The gamma curve that host and device share: CURVE_STEPS entries.
void reference_curve(uint8_t *curve);

#endif
