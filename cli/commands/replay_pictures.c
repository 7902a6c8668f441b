// SPDX-License-Identifier: Apache-2.0
// Pictures of the images that a replay compares. Deflate's stored blocks need no compressor.
#include "replay_pictures.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/present/terminal.h"
#include "new_file.h"

// Numbers of Vulkan's formats.
enum { R8 = 9, RGBA = 37, BGRA = 44, ABGR = 51, FORMATS = 7, DEPTH_16 = 124, DEPTH_FLOAT = 126 };

static bool is_of(uint32_t format, uint32_t first) {
    return format >= first && format < first + FORMATS;
}

static uint32_t pixel_bytes(uint32_t format) {
    return is_of(format, R8)                                                                            ? 1
           : is_of(format, RGBA) || is_of(format, BGRA) || is_of(format, ABGR) || format == DEPTH_FLOAT ? 4
           : format == DEPTH_16                                                                         ? 2
                                                                                                        : 0;
}

static void take_resource(void *context, const tsmith_recorded_resource *resource) {
    enum { SIDE_MOST = 1 << 14, FIRST = 16 };
    struct pictures *pictures = context;
    if (!pixel_bytes(resource->format) || resource->width > SIDE_MOST || resource->height > SIDE_MOST)
        return;
    if (pictures->count == pictures->capacity) {
        const size_t capacity = pictures->capacity ? pictures->capacity * 2 : FIRST;
        struct picture_format *all = realloc(pictures->all, capacity * sizeof *all);
        pictures->failed |= !all;
        if (!all)
            return;
        pictures->all = all;
        pictures->capacity = capacity;
    }
    pictures->all[pictures->count++] = (struct picture_format){
        resource->pid, resource->object, resource->width, resource->height, resource->format};
}

void pictures_find(struct pictures *pictures, tsmith_recording *recording) {
    tsmith_error error;
    *pictures = (struct pictures){.all = NULL};
    pictures->failed =
        tsmith_recording_frame(recording, 0, NULL, 0, take_resource, NULL, pictures, &error) < 0;
}

void pictures_finish(struct pictures *pictures) {
    free(pictures->all);
    *pictures = (struct pictures){.all = NULL};
}

// ---- pixels: red, green, blue

static void pixel_of(uint32_t format, const uint8_t *at, uint8_t out[3]) {
    uint16_t depth = 0;
    float value = 0;
    if (is_of(format, BGRA)) {
        out[0] = at[2], out[1] = at[1], out[2] = at[0];
    } else if (is_of(format, RGBA) || is_of(format, ABGR)) {
        memcpy(out, at, 3);
    } else if (format == DEPTH_16) {
        memcpy(&depth, at, sizeof depth);
        memset(out, depth >> 8, 3);
    } else if (format == DEPTH_FLOAT) {
        memcpy(&value, at, sizeof value);
        memset(out, value >= 1 ? 255 : value > 0 ? (int)(value * 255) : 0, 3);
    } else {
        memset(out, at[0], 3);
    }
}

static void difference(uint8_t *left, const uint8_t *right) {
    for (int i = 0; i < 3; i++)
        left[i] = (uint8_t)(left[i] > right[i] ? left[i] - right[i] : right[i] - left[i]);
}

// ---- the file

struct file {
    uint8_t *bytes;
    size_t length;
};

static void put_bytes(struct file *file, const void *bytes, size_t length) {
    memcpy(file->bytes + file->length, bytes, length);
    file->length += length;
}

static void put_u32(struct file *file, uint32_t value) {
    const uint8_t bytes[4] = {(uint8_t)(value >> 24), (uint8_t)(value >> 16), (uint8_t)(value >> 8),
                              (uint8_t)value};
    put_bytes(file, bytes, sizeof bytes);
}

static uint32_t crc_of(const uint8_t *bytes, size_t length) {
    uint32_t table[256], crc = UINT32_MAX;
    for (uint32_t i = 0; i < 256; i++) {
        table[i] = i;
        for (int bit = 0; bit < 8; bit++)
            table[i] = table[i] >> 1 ^ (table[i] & 1 ? 0xedb88320u : 0);
    }
    for (size_t i = 0; i < length; i++)
        crc = crc >> 8 ^ table[(crc ^ bytes[i]) & 255];
    return ~crc;
}

// From its type, at `from`, on: its length before it, and its checksum.
static void end_chunk(struct file *file, size_t from) {
    struct file length = {file->bytes + from - 4, 0};
    put_u32(&length, (uint32_t)(file->length - from - 4));
    put_u32(file, crc_of(file->bytes + from, file->length - from));
}

static void put_stored(struct file *file, const uint8_t *bytes, size_t length) {
    enum { BLOCK = 65535 };
    uint32_t a = 1, b = 0;
    put_bytes(file, "\x78\x01", 2);
    for (size_t at = 0; at < length; at += BLOCK) {
        const size_t part = length - at < BLOCK ? length - at : BLOCK;
        const uint8_t head[5] = {at + part == length, (uint8_t)part, (uint8_t)(part >> 8), (uint8_t)~part,
                                 (uint8_t)(~part >> 8)};
        put_bytes(file, head, sizeof head);
        put_bytes(file, bytes + at, part);
    }
    for (size_t i = 0; i < length; i++) {
        a = (a + bytes[i]) % 65521;
        b = (b + a) % 65521;
    }
    put_u32(file, b << 16 | a);
}

static bool write_png(const char *path, const uint8_t *rows, uint32_t width, uint32_t height) {
    const size_t length = (size_t)height * (1 + 3 * (size_t)width);
    struct file file = {malloc(length + length / 65535 * 5 + 256), 0};
    if (!file.bytes) {
        complain("out of memory");
        return false;
    }
    put_bytes(&file, "\x89PNG\r\n\x1a\n\0\0\0\0IHDR", 16);
    put_u32(&file, width);
    put_u32(&file, height);
    put_bytes(&file, "\x08\x02\0\0\0", 5); // 8 bits, red green blue
    end_chunk(&file, 12);
    put_u32(&file, 0);
    const size_t data = file.length;
    put_bytes(&file, "IDAT", 4);
    put_stored(&file, rows, length);
    end_chunk(&file, data);
    put_u32(&file, 0);
    const size_t end = file.length;
    put_bytes(&file, "IEND", 4);
    end_chunk(&file, end);
    const bool written = new_file_write("save-results", path, file.bytes, file.length);
    free(file.bytes);
    return written;
}

enum side { RECORDED, REPLAYED, DIFFERENCE };

// Rows as PNG has them: each begins with its filter, none.
static void fill_rows(uint8_t *rows, const struct picture_format *format, const tsmith_replay_bytes *bytes,
                      enum side side) {
    const uint8_t *first = side == REPLAYED ? bytes->replayed : bytes->recorded, *second = bytes->replayed;
    const size_t size = pixel_bytes(format->format);
    uint8_t other[3];
    for (size_t y = 0; y < format->height; y++) {
        *rows++ = 0;
        for (size_t x = 0; x < format->width; x++, rows += 3) {
            const size_t at = (y * format->width + x) * size;
            pixel_of(format->format, first + at, rows);
            if (side != DIFFERENCE)
                continue;
            pixel_of(format->format, second + at, other);
            difference(rows, other);
        }
    }
}

bool pictures_write(const struct pictures *pictures, const char *stem, const tsmith_replay_bytes *bytes) {
    static const char *const names[] = {"recorded", "replayed", "difference"};
    const struct picture_format *format = NULL;
    char path[4096 + 32];
    for (size_t i = 0; i < pictures->count && !format; i++)
        if (pictures->all[i].pid == bytes->pid && pictures->all[i].object == bytes->buffer)
            format = &pictures->all[i];
    if (!format || !format->width || !format->height ||
        (size_t)format->width * format->height * pixel_bytes(format->format) > bytes->size)
        return true;
    uint8_t *rows = malloc((size_t)format->height * (1 + 3 * (size_t)format->width));
    bool good = rows != NULL;
    if (!rows)
        complain("out of memory");
    for (int side = RECORDED; good && side <= DIFFERENCE; side++) {
        snprintf(path, sizeof path, "%s.%s.png", stem, names[side]);
        fill_rows(rows, format, bytes, (enum side)side);
        good = write_png(path, rows, format->width, format->height);
    }
    free(rows);
    return good;
}
