// SPDX-License-Identifier: Apache-2.0
// The reader of traces as a WebAssembly module: it answers what the page of studio asks of the server's tiles, where there is no server.
// studio/src/reader/module.ts calls the exported functions. One trace, one thread. The trace is untrusted; a trap ends this module and
// nothing else.
#include <stdlib.h>
#include <string.h>

#include "cli/studio/picture.h"

// Called by the host alone.
#define EXPORT(name, type, function, ...)                                                                    \
    type function(__VA_ARGS__) __attribute__((export_name(name)));                                           \
    type function(__VA_ARGS__)

enum { GOOD = 200, WRONG = 400, MISSING = 404, FAILED = 500 }; // as the server's answers

static struct {
    char *request;
    struct text answer;
    struct picture picture;
    tsmith_tiles *tiles;
} reader;

// Room for a request or a name of `size` bytes and a NUL behind it, which is there already; NULL: out of memory.
EXPORT("room", char *, reader_room, size_t size) {
    free(reader.request);
    reader.request = size < SIZE_MAX ? malloc(size + 1) : NULL;
    if (reader.request)
        reader.request[size] = '\0';
    return reader.request;
}

// What the last call answered; a message where it failed.
EXPORT("answer", const char *, reader_answer, void) {
    return text_cstr(&reader.answer);
}

EXPORT("length", size_t, reader_length, void) {
    return reader.answer.length;
}

static int fail(int code, const char *message) {
    text_clear(&reader.answer);
    text_add_cstr(&reader.answer, message);
    return code;
}

static int status_of(const tsmith_error *error) {
    return fail(error->status == TSMITH_ERROR_INVALID_ARGUMENT || error->status == TSMITH_ERROR_NOT_FOUND
                    ? MISSING
                    : FAILED,
                error->message);
}

// Opens the file whose name is in the room, once.
EXPORT("open", int, reader_open, void) {
    struct picture *picture = &reader.picture;
    tsmith_error error;
    text_clear(&reader.answer);
    if (!reader.request || picture->path)
        return fail(FAILED, "A reader opens one file");
    picture->path = reader.request;
    picture->format = "sbt";
    reader.request = NULL;
    if (tsmith_sbt_open(picture->path, &picture->sbt, &error) < 0 ||
        tsmith_sbt_dictionary(picture->sbt, &picture->dictionary, &error) < 0 ||
        tsmith_tiles_create(picture->sbt, &reader.tiles, &error) < 0)
        return status_of(&error);
    picture->tiles = reader.tiles;
    return GOOD;
}

// Reads up to `batches` more batches into the tiles: 1 while there are more, else 0.
EXPORT("fill", int, reader_fill, size_t batches) {
    if (!reader.tiles || reader.picture.is_filled)
        return 0;
    const tsmith_status status = tsmith_tiles_fill(reader.tiles, batches, NULL);
    reader.picture.is_filled = status != TSMITH_AGAIN;
    return status == TSMITH_AGAIN;
}

// Fills the tiles from the file whose name is in the room, if it is the detail of this trace. Otherwise `fill` does.
EXPORT("load", int, reader_load, void) {
    tsmith_error error;
    text_clear(&reader.answer);
    if (!reader.tiles || !reader.request)
        return fail(FAILED, "No trace is open");
    if (tsmith_tiles_load(reader.tiles, reader.request, &error) != TSMITH_OK)
        return status_of(&error);
    reader.picture.is_filled = reader.picture.is_loaded = true;
    return GOOD;
}

// Answers the request in the room: "overview", "tile/TRACK/LEVEL/INDEX", "tiles?at=TRACK/LEVEL/INDEX,...", "names?ids=1,2".
EXPORT("ask", int, reader_ask, void) {
    const char *request = reader.request ? reader.request : "";
    tsmith_error error;
    text_clear(&reader.answer);
    if (!reader.tiles)
        return fail(FAILED, "No trace is open");
    if (strcmp(request, "overview") == 0) {
        picture_overview(&reader.picture, &reader.answer);
    } else if (strncmp(request, "tile/", 5) == 0) {
        if (picture_tile(reader.tiles, request + 5, &reader.answer, &error) != TSMITH_OK)
            return status_of(&error);
    } else if (strncmp(request, "tiles?at=", 9) == 0) {
        picture_tiles(reader.tiles, request + 9, &reader.answer);
    } else if (strncmp(request, "names?ids=", 10) == 0) {
        picture_names(reader.picture.dictionary, request + 10, &reader.answer);
    } else {
        return fail(WRONG, "The reader does not know this request");
    }
    return reader.answer.failed ? fail(FAILED, "Out of memory") : GOOD;
}
