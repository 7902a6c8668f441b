// SPDX-License-Identifier: Apache-2.0
// Tiles as bytes, and the names that they refer to. docs/studio.md has the layout.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/studio/picture.h"

enum { NAMES_MOST = 1000 };

static void add_u32(struct text *text, uint32_t value) {
    const unsigned char bytes[4] = {(unsigned char)value, (unsigned char)(value >> 8),
                                    (unsigned char)(value >> 16), (unsigned char)(value >> 24)};
    text_add(text, (const char *)bytes, sizeof bytes);
}

static void add_u16(struct text *text, unsigned value) {
    const unsigned char bytes[2] = {(unsigned char)value, (unsigned char)(value >> 8)};
    text_add(text, (const char *)bytes, sizeof bytes);
}

static void add_f32(struct text *text, float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    add_u32(text, bits);
}

static void add_f64(struct text *text, double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    add_u32(text, (uint32_t)bits);
    add_u32(text, (uint32_t)(bits >> 32));
}

static void add_bucket(struct text *text, const tsmith_bucket *bucket) {
    add_u32(text, bucket->name);
    add_u32(text, bucket->events);
    add_u16(text, bucket->busy);
    add_u16(text, bucket->kind | (unsigned)bucket->flags << 8);
}

static void add_slice(struct text *text, const tsmith_slice *slice) {
    add_f64(text, (double)slice->start);
    add_f64(text, slice->duration < 0 ? __builtin_nan("") : (double)slice->duration);
    add_u32(text, slice->name);
    add_u16(text, slice->kind | (unsigned)slice->lane << 8);
    add_u16(text, slice->flags);
}

static void add_values(struct text *text, const tsmith_value_bucket *values) {
    add_f32(text, values->events ? values->least : __builtin_nanf(""));
    add_f32(text, values->events ? values->most : __builtin_nanf(""));
}

static void add_tile(struct text *text, const tsmith_tile *tile) {
    add_u32(text, (uint32_t)tile->form);
    add_u32(text, tile->count);
    add_u32(text, tile->level);
    add_u32(text, tile->preliminary != 0);
    for (uint32_t i = 0; i < tile->count; i++) {
        if (tile->form == TSMITH_FORM_BUCKETS)
            add_bucket(text, &tile->of.buckets[i]);
        else if (tile->form == TSMITH_FORM_SLICES)
            add_slice(text, &tile->of.slices[i]);
        else
            add_values(text, &tile->of.values[i]);
    }
}

bool picture_number(const char *text, uint64_t most, uint64_t *out) {
    char *end;
    if (!text || *text < '0' || *text > '9')
        return false;
    errno = 0;
    *out = strtoull(text, &end, 10);
    return !errno && !*end && *out <= most;
}

// Splits "TRACK/LEVEL/INDEX" of this length.
static bool parse_tile(const char *rest, size_t length, uint64_t parts[3]) {
    char room[64];
    if (length >= sizeof room)
        return false;
    memcpy(room, rest, length);
    room[length] = '\0';
    char *at = room;
    for (int i = 0; i < 3; i++) {
        char *slash = strchr(at, '/');
        if ((i < 2) != (slash != NULL))
            return false;
        if (slash)
            *slash = '\0';
        if (!picture_number(at, i < 2 ? UINT32_MAX : UINT64_MAX, &parts[i]))
            return false;
        at = slash ? slash + 1 : at;
    }
    return true;
}

tsmith_status picture_tile(tsmith_tiles *tiles, const char *rest, struct text *out, tsmith_error *error) {
    uint64_t parts[3];
    tsmith_tile tile = {.size = sizeof tile};
    if (!parse_tile(rest, strlen(rest), parts)) {
        *error = (tsmith_error){.status = TSMITH_ERROR_INVALID_ARGUMENT,
                                .offset = UINT64_MAX,
                                .record = UINT64_MAX,
                                .message = "The path of a tile is tile/TRACK/LEVEL/INDEX"};
        return error->status;
    }
    const tsmith_status status =
        tsmith_tiles_read(tiles, (uint32_t)parts[0], (uint32_t)parts[1], parts[2], &tile, error);
    if (status == TSMITH_OK)
        add_tile(out, &tile);
    return status;
}

// ---- several

enum { PLACE_SIZE = 20 }; // bytes before each tile

static void add_placed(tsmith_tiles *tiles, const uint64_t parts[3], struct text *out) {
    tsmith_tile tile = {.size = sizeof tile};
    if (tsmith_tiles_read(tiles, (uint32_t)parts[0], (uint32_t)parts[1], parts[2], &tile, NULL) != TSMITH_OK)
        return;
    struct text bytes = {0};
    add_tile(&bytes, &tile);
    add_u32(out, (uint32_t)parts[0]);
    add_u32(out, (uint32_t)parts[1]);
    add_u32(out, (uint32_t)parts[2]);
    add_u32(out, (uint32_t)(parts[2] >> 32));
    add_u32(out, (uint32_t)bytes.length);
    text_add(out, bytes.bytes, bytes.length);
    out->failed |= bytes.failed;
    text_finish(&bytes);
}

void picture_tiles(tsmith_tiles *tiles, const char *list, struct text *out) {
    for (size_t count = 0; list && *list && count < PICTURE_TILES_MOST; count++) {
        uint64_t parts[3];
        const size_t length = strcspn(list, ",");
        if (parse_tile(list, length, parts))
            add_placed(tiles, parts, out);
        list += length + (list[length] == ',');
    }
}

void picture_first_tiles(tsmith_tiles *tiles, uint64_t width, size_t most, struct text *out) {
    size_t count;
    const tsmith_tile_track *tracks = tsmith_tiles_tracks(tiles, &count);
    const uint64_t whole = (uint64_t)tsmith_tiles_end(tiles) - (uint64_t)tsmith_tiles_origin(tiles);
    uint64_t level = 0; // as the page chooses it: the first whose buckets are a pixel or more
    while (level < TSMITH_TILE_LEVELS - 1 && (double)((uint64_t)1 << level) * (double)width < (double)whole)
        level++;
    const uint64_t length = (uint64_t)TSMITH_TILE_BUCKETS << level;
    for (size_t i = 0; i < count; i++) {
        const uint64_t first = tracks[i].first > 0 ? (uint64_t)tracks[i].first : 0;
        const uint64_t last = tracks[i].last < 0                 ? 0
                              : (uint64_t)tracks[i].last < whole ? (uint64_t)tracks[i].last
                                                                 : whole;
        for (uint64_t index = first / length; index <= last / length; index++) {
            const size_t before = out->length;
            add_placed(tiles, (const uint64_t[]){tracks[i].track, level, index}, out);
            if (out->failed || out->length > most) { // those before it are whole
                out->length = before;
                return;
            }
        }
    }
}

void picture_names(const tsmith_dictionary *dictionary, const char *ids, struct text *out) {
    size_t count = 0;
    text_add_char(out, '{');
    for (char *end; ids && *ids >= '0' && *ids <= '9' && count < NAMES_MOST;
         ids = *end == ',' ? end + 1 : end) {
        const unsigned long id = strtoul(ids, &end, 10);
        const tsmith_string name = tsmith_dictionary_string(dictionary, id <= UINT32_MAX ? (uint32_t)id : 0);
        text_add_format(out, "%s\"%lu\":", count++ ? "," : "", id);
        text_add_json(out, name);
    }
    text_add_cstr(out, "}\n");
}
