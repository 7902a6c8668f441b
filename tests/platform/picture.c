// SPDX-License-Identifier: Apache-2.0
// Prints what studio shows of a trace: overview, names, and tiles of all tracks at some levels, before and after all events were read.
// test_elsewhere.sh builds it for other systems.  usage: picture TRACE
#include <stdio.h>

#include "cli/studio/picture.h"

static void print(const char *what, struct text *text) {
    unsigned long long sum = 14695981039346656037u; // FNV-1a: the bytes of tiles are no text
    for (size_t i = 0; i < text->length; i++)
        sum = (sum ^ (unsigned char)text->bytes[i]) * 1099511628211u;
    (void)printf("%s %u %llx\n", what, (unsigned)text->length, sum);
    text_clear(text);
}

static int show(struct picture *picture) {
    struct text text = {0};
    char request[80];
    size_t count;
    tsmith_error error;
    picture_overview(picture, &text);
    (void)fputs(text_cstr(&text), stdout);
    print("overview", &text);
    picture_names(picture->dictionary, "0,1,2,3,4,5,6,7,8,9,10,20,30,40,50", &text);
    (void)fputs(text_cstr(&text), stdout);
    print("names", &text);
    const tsmith_tile_track *tracks = tsmith_tiles_tracks(picture->tiles, &count);
    for (size_t i = 0; i < count && i < 40; i++)
        for (unsigned level = 0; level < TSMITH_TILE_LEVELS; level += 3) {
            const long long middle = tracks[i].first + (tracks[i].last - tracks[i].first) / 2;
            (void)snprintf(request, sizeof request, "%u/%u/%lld", (unsigned)tracks[i].track, level,
                           middle >> (level + 9));
            if (picture_tile(picture->tiles, request, &text, &error) != TSMITH_OK)
                text_add_cstr(&text, error.message);
            print(request, &text);
        }
    text_finish(&text);
    return 0;
}

int main(int argc, char **argv) {
    struct picture picture = {.path = "trace.sbt", .format = "sbt"};
    tsmith_tiles *tiles;
    tsmith_error error;
    if (argc != 2 || tsmith_sbt_open(argv[1], &picture.sbt, &error) < 0 ||
        tsmith_sbt_dictionary(picture.sbt, &picture.dictionary, &error) < 0 ||
        tsmith_tiles_create(picture.sbt, &tiles, &error) < 0) {
        (void)printf("%s\n", argc == 2 ? error.message : "usage: picture TRACE");
        return 1;
    }
    picture.tiles = tiles;
    (void)show(&picture);
    picture.is_filled = tsmith_tiles_fill(tiles, 0, NULL) != TSMITH_AGAIN;
    (void)show(&picture);
    tsmith_tiles_destroy(tiles);
    tsmith_sbt_close(picture.sbt);
    return 0;
}
