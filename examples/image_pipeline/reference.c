// SPDX-License-Identifier: Apache-2.0

#include "reference.h"

#include "kernels.h"

#include <stdlib.h>

struct reference {
    struct size size;
    struct raw_pixel *rows;    // blurred along the rows
    struct raw_pixel *blurred; // and along the columns
    struct screen_pixel *picture;
    uint8_t curve[CURVE_STEPS];
};

static const unsigned weights[9] = {1, 8, 28, 56, 70, 56, 28, 8, 1};

struct reference *reference_create(struct size size) {
    struct reference *reference = calloc(1, sizeof *reference);
    if (!reference)
        return NULL;
    reference->size = size;
    reference->rows = malloc(size_pixels(size) * sizeof *reference->rows);
    reference->blurred = malloc(size_pixels(size) * sizeof *reference->blurred);
    reference->picture = malloc(size_pixels(size) * sizeof *reference->picture);
    reference_curve(reference->curve);
    if (reference->rows && reference->blurred && reference->picture)
        return reference;
    reference_destroy(reference);
    return NULL;
}

void reference_destroy(struct reference *reference) {
    if (!reference)
        return;
    free(reference->rows);
    free(reference->blurred);
    free(reference->picture);
    free(reference);
}

void reference_curve(uint8_t *curve) {
    // 255 * sqrt(step / last), with the integer root found by counting: no rounding mode can change it.
    unsigned root = 0;
    for (unsigned step = 0; step < CURVE_STEPS; step++) {
        while ((root + 1) * (root + 1) * (CURVE_STEPS - 1) <= step * 255 * 255)
            root++;
        curve[step] = (uint8_t)root;
    }
}

static int clamp(int value, int low, int high) {
    return value < low ? low : value > high ? high : value;
}

static int luminance(struct raw_pixel pixel) {
    return (54 * pixel.red + 183 * pixel.green + 19 * pixel.blue) >> 8;
}

// Blurs `in` into `out` along (dx, dy), which is (1, 0) or (0, 1).
static void blur(struct size size, const struct raw_pixel *in, struct raw_pixel *out, int dx, int dy) {
    const int width = (int)size.width;
    const int height = (int)size.height;
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++) {
            unsigned red = 0, green = 0, blue = 0, unused = 0;
            for (int tap = -4; tap <= 4; tap++) {
                const int from_x = clamp(x + tap * dx, 0, width - 1);
                const int from_y = clamp(y + tap * dy, 0, height - 1);
                const struct raw_pixel *pixel = &in[from_y * width + from_x];
                const unsigned weight = weights[tap + 4];
                red += weight * pixel->red;
                green += weight * pixel->green;
                blue += weight * pixel->blue;
                unused += weight * pixel->unused;
            }
            out[y * width + x] = (struct raw_pixel){(uint16_t)(red >> 8), (uint16_t)(green >> 8),
                                                    (uint16_t)(blue >> 8), (uint16_t)(unused >> 8)};
        }
}

static unsigned edge_at(struct size size, const struct raw_pixel *in, int x, int y) {
    static const int side[3] = {1, 2, 1};
    const int width = (int)size.width;
    const int height = (int)size.height;
    int across = 0;
    int down = 0;
    for (int j = -1; j <= 1; j++)
        for (int i = -1; i <= 1; i++) {
            const int at = clamp(y + j, 0, height - 1) * width + clamp(x + i, 0, width - 1);
            across += i * side[j + 1] * luminance(in[at]);
            down += j * side[i + 1] * luminance(in[at]);
        }
    return (unsigned)clamp(abs(across) + abs(down), 0, 65535);
}

static unsigned exposure_of(struct size size, const struct raw_pixel *raw) {
    const unsigned pixels = (unsigned)size_pixels(size);
    unsigned bins[HISTOGRAM_BINS] = {0};
    unsigned below = 0;
    unsigned bin = 0;
    for (unsigned i = 0; i < pixels; i++)
        bins[luminance(raw[i]) * HISTOGRAM_BINS >> 16]++;
    for (; bin < HISTOGRAM_BINS - 1; bin++) {
        below += bins[bin];
        if (below >= pixels - pixels / 5)
            break;
    }
    return (unsigned)clamp(256 * 32 / ((int)bin + 1), 64, 4096);
}

static uint8_t develop(const struct reference *reference, unsigned light, unsigned glow, unsigned edge,
                       unsigned exposure) {
    const unsigned exposed = (light + glow / 2) * exposure >> 8;
    const unsigned limited = exposed < 524287 ? exposed : 524287;
    const unsigned shown = reference->curve[limited * (CURVE_STEPS - 1) / (limited + 32768)];
    return (uint8_t)(shown - (shown * (edge < 32767 ? edge : 32767) >> 16));
}

const struct screen_pixel *reference_compute(struct reference *reference, const struct raw_pixel *raw) {
    const struct size size = reference->size;
    const unsigned exposure = exposure_of(size, raw);
    blur(size, raw, reference->rows, 1, 0);
    blur(size, reference->rows, reference->blurred, 0, 1);
    for (unsigned y = 0; y < size.height; y++)
        for (unsigned x = 0; x < size.width; x++) {
            const size_t at = (size_t)y * size.width + x;
            const unsigned edge = edge_at(size, reference->blurred, (int)x, (int)y);
            const struct raw_pixel *light = &raw[at];
            const struct raw_pixel *glow = &reference->blurred[at];
            reference->picture[at] =
                (struct screen_pixel){develop(reference, light->red, glow->red, edge, exposure),
                                      develop(reference, light->green, glow->green, edge, exposure),
                                      develop(reference, light->blue, glow->blue, edge, exposure), 255};
        }
    return reference->picture;
}
