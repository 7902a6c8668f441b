// SPDX-License-Identifier: Apache-2.0

#include "scene.h"

#include <stdlib.h>
#include <string.h>

enum { LAMPS = 12, TRIP_FRAMES = 240 };

struct scene {
    struct size size;
    struct raw_pixel *still; // sky, houses and street without the lamps
};

// A small hash in place of a random number generator: the same everywhere, and no state to keep.
static unsigned scramble(unsigned value) {
    value ^= value >> 16;
    value *= 0x7feb352du;
    value ^= value >> 15;
    value *= 0x846ca68bu;
    return value ^ value >> 16;
}

static uint16_t saturate(unsigned light) {
    return (uint16_t)(light > 65535 ? 65535 : light);
}

static void add_light(struct raw_pixel *pixel, unsigned red, unsigned green, unsigned blue) {
    pixel->red = saturate(pixel->red + red);
    pixel->green = saturate(pixel->green + green);
    pixel->blue = saturate(pixel->blue + blue);
}

static void draw_sky(const struct scene *scene) {
    const struct size size = scene->size;
    for (unsigned y = 0; y < size.height; y++)
        for (unsigned x = 0; x < size.width; x++) {
            struct raw_pixel *pixel = &scene->still[(size_t)y * size.width + x];
            const unsigned dusk = y * 1000 / size.height;
            *pixel = (struct raw_pixel){saturate(120 + 3 * dusk), saturate(160 + 2 * dusk),
                                        saturate(500 + 2 * dusk), 65535};
            if (scramble(x + 65537 * y) % 1500 == 0)
                add_light(pixel, 9000, 9000, 11000);
        }
}

// One house with its lit and dark windows. `block` is the width of a house.
static void draw_house(const struct scene *scene, unsigned house, unsigned block) {
    const struct size size = scene->size;
    const unsigned street = size.height * 3 / 4;
    const unsigned top = street / 5 + scramble(house) % (street * 3 / 5 + 1);
    const unsigned window = block / 6 > 1 ? block / 6 : 2;
    for (unsigned y = top; y < street; y++)
        for (unsigned x = house * block; x < (house + 1) * block && x < size.width; x++) {
            struct raw_pixel *pixel = &scene->still[(size_t)y * size.width + x];
            const unsigned column = (x - house * block) / window;
            const unsigned row = (y - top) / window;
            const unsigned choice = scramble(house * 7919 + row * 131 + column);
            *pixel = (struct raw_pixel){180, 170, 220, 65535};
            if (column % 2 == 1 && row % 2 == 1 && choice % 3 == 0)
                add_light(pixel, 14000 + choice % 9000, 9000 + choice % 5000, 3500);
        }
}

// A wet street: what is above the kerb, upside down and darker.
static void draw_street(const struct scene *scene) {
    const struct size size = scene->size;
    const unsigned street = size.height * 3 / 4;
    for (unsigned y = street; y < size.height; y++) {
        const unsigned mirrored = street - 1 - (y - street);
        for (unsigned x = 0; x < size.width; x++) {
            const struct raw_pixel *above = &scene->still[(size_t)mirrored * size.width + x];
            struct raw_pixel *pixel = &scene->still[(size_t)y * size.width + x];
            const unsigned grain = 150 + scramble(x * 31 + y * 17) % 120;
            *pixel =
                (struct raw_pixel){saturate(above->red / 4u + grain), saturate(above->green / 4u + grain),
                                   saturate(above->blue / 4u + grain), 65535};
        }
    }
}

struct scene *scene_create(struct size size) {
    struct scene *scene = malloc(sizeof *scene);
    const unsigned block = size.width / 14 > 3 ? size.width / 14 : 4;
    if (!scene)
        return NULL;
    scene->size = size;
    scene->still = malloc(size_pixels(size) * sizeof *scene->still);
    if (!scene->still) {
        free(scene);
        return NULL;
    }
    draw_sky(scene);
    for (unsigned house = 0; house * block < size.width; house++)
        if (scramble(house + 99) % 5 != 0) // here and there a gap between the houses
            draw_house(scene, house, block);
    draw_street(scene);
    return scene;
}

void scene_destroy(struct scene *scene) {
    if (!scene)
        return;
    free(scene->still);
    free(scene);
}

// A disc of light around (cx, cy), brightest in the middle.
static void draw_lamp(const struct scene *scene, struct raw_pixel *pixels, int cx, int cy, unsigned lamp) {
    const int width = (int)scene->size.width;
    const int height = (int)scene->size.height;
    const int radius = width / 40 + 3;
    const unsigned tint = scramble(lamp) % 3;
    for (int y = cy - radius; y <= cy + radius; y++)
        for (int x = cx - radius; x <= cx + radius; x++) {
            const int far = (x - cx) * (x - cx) + (y - cy) * (y - cy);
            if (x < 0 || y < 0 || x >= width || y >= height || far >= radius * radius)
                continue;
            const unsigned nearness = (unsigned)(radius * radius - far) * 256u / (unsigned)(radius * radius);
            const unsigned light = nearness * nearness * nearness / 256;
            add_light(&pixels[(size_t)y * (size_t)width + (size_t)x], light,
                      tint == 0 ? light / 2 : light * 3 / 4, tint == 1 ? light : light / 4);
        }
}

void scene_draw(const struct scene *scene, unsigned number, struct raw_pixel *pixels) {
    const struct size size = scene->size;
    memcpy(pixels, scene->still, size_pixels(size) * sizeof *pixels);
    for (unsigned lamp = 0; lamp < LAMPS; lamp++) {
        // Every second lamp drives to the left.
        const unsigned along = (scramble(lamp + 7) % TRIP_FRAMES + number * (1 + lamp % 3)) % TRIP_FRAMES;
        const unsigned x = along * size.width / TRIP_FRAMES;
        const unsigned lane = size.height * 3 / 4 + (lamp * size.height / LAMPS / 5);
        draw_lamp(scene, pixels, (int)(lamp % 2 ? size.width - 1 - x : x), (int)lane, lamp);
    }
}
