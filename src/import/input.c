// SPDX-License-Identifier: Apache-2.0
// Reads a foreign trace from a file or pipe, decompressing gzip and zstd. The importers that read from front to back
// call it.
#include "import/input.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>
#include <zstd_errors.h>

#include "import/gunzip.h"

// zstd -19 --long makes windows of 128 MiB, --long=31 of 2 GiB. A larger window than this is refused, for a file of a few
// bytes could ask for all of it.
// A window of 1 MiB costs a small file four times as many new pages, and leaves less of a core's cache.
enum { FIRST_WINDOW = 1 << 18, PACKED_SIZE = 1 << 18, ZSTD_WINDOW_LOG_MAX = 29, ZSTD_FRAME_HEADER_MOST = 18 };

enum packing { PLAIN, GZIP, ZSTD };

struct input_decoder {
    int fd;
    bool owned;
    bool from_start; // of the file
    bool file_ended;
    bool between; // zstd: at the end of a frame, where the file may end
    enum packing packing;
    const char *name;
    size_t capacity; // of the window, padding not counted
    uint64_t left;   // of a file, as it was when it was opened: a growing file is read up to this size
    unsigned char *packed;
    size_t packed_begin, packed_end;
    struct gunzip *gzip;
    ZSTD_DStream *zstd;
    uint32_t frame_bytes; // of this zstd frame's header, at most ZSTD_FRAME_HEADER_MOST
};

// What there is to read: unknown for a pipe.
static uint64_t size_left(int fd) {
    struct stat stat;
    off_t at = lseek(fd, 0, SEEK_CUR);
    if (at < 0 || fstat(fd, &stat) != 0 || !S_ISREG(stat.st_mode))
        return UINT64_MAX;
    return stat.st_size > at ? (uint64_t)(stat.st_size - at) : 0;
}

static tsmith_status read_some(struct input_decoder *decoder, void *into, size_t size, size_t *got,
                               tsmith_error *error) {
    *got = 0;
    ssize_t count;
    size = size < decoder->left ? size : (size_t)decoder->left;
    while ((count = read(decoder->fd, into, size)) < 0 && (errno == EINTR || errno == EAGAIN)) {
        struct pollfd waiting = {.fd = decoder->fd, .events = POLLIN};
        if (errno == EAGAIN) // a pipe that was set to non-blocking
            (void)poll(&waiting, 1, -1);
    }
    if (count < 0)
        return status_set_errno(error, "%s: cannot be read", decoder->name);
    *got = (size_t)count;
    decoder->left -= decoder->left == UINT64_MAX ? 0 : (uint64_t)count;
    decoder->file_ended = count == 0;
    return TSMITH_OK;
}

// Refills the buffer of compressed bytes when it is empty.
static tsmith_status read_packed(struct input_decoder *decoder, tsmith_error *error) {
    if (decoder->packed_begin < decoder->packed_end || decoder->file_ended)
        return TSMITH_OK;
    size_t got;
    tsmith_status status = read_some(decoder, decoder->packed, PACKED_SIZE, &got, error);
    decoder->packed_begin = 0;
    decoder->packed_end = got;
    return status;
}

static void cut_input(struct input *input, const char *problem) {
    input->cut = true;
    input->problem = problem;
    input->ended = true;
}

// One call of the decompressor into at most `size` bytes.
static size_t decode_gzip(struct input *input, char *into, size_t size) {
    struct input_decoder *decoder = input->decoder;
    struct gunzip_piece piece = {.in = decoder->packed + decoder->packed_begin,
                                 .in_size = decoder->packed_end - decoder->packed_begin,
                                 .out = (unsigned char *)into,
                                 .out_size = size};
    const char *problem = gunzip_decode(decoder->gzip, &piece);
    decoder->packed_begin = decoder->packed_end - piece.in_size;
    const size_t got = size - piece.out_size;
    if (problem)
        cut_input(input, problem);
    else if (got == 0 && piece.in_size == 0 && gunzip_may_end(decoder->gzip))
        input->ended = decoder->file_ended;
    return got;
}

static size_t decode_zstd(struct input *input, char *into, size_t size) {
    struct input_decoder *decoder = input->decoder;
    if (decoder->between && decoder->packed_begin == decoder->packed_end) {
        input->ended = true;
        return 0;
    }
    // The header of a frame comes byte by byte. A frame that zstd is given whole it decodes whole or not at all, and what it is
    // given with the end of a header it may take for a frame of its own: what is read of a damaged frame would depend on
    // where the buffer begins and ends.
    const bool in_header = decoder->frame_bytes < ZSTD_FRAME_HEADER_MOST;
    ZSTD_inBuffer in = {decoder->packed, decoder->packed_end, decoder->packed_begin};
    if (in_header && in.pos < in.size)
        in.size = in.pos + 1;
    ZSTD_outBuffer out = {into, size, 0};
    size_t result = ZSTD_decompressStream(decoder->zstd, &out, &in);
    decoder->packed_begin = in.pos;
    decoder->between = result == 0;
    decoder->frame_bytes = result == 0 ? 0 : decoder->frame_bytes + in_header;
    if (ZSTD_getErrorCode(result) == ZSTD_error_frameParameter_windowTooLarge)
        cut_input(input,
                  "its zstd window is larger than 512 MiB: decompress it first, with zstd -d --long=31");
    else if (ZSTD_isError(result))
        cut_input(input, ZSTD_getErrorName(result));
    return out.pos;
}

static tsmith_status read_decoded(struct input *input, char *into, size_t size, size_t *got,
                                  tsmith_error *error) {
    struct input_decoder *decoder = input->decoder;
    *got = 0;
    while (*got == 0 && !input->ended) {
        tsmith_status status = read_packed(decoder, error);
        if (status != TSMITH_OK)
            return status;
        bool nothing_left = decoder->packed_begin == decoder->packed_end;
        *got = decoder->packing == GZIP ? decode_gzip(input, into, size) : decode_zstd(input, into, size);
        if (*got == 0 && nothing_left && decoder->file_ended && !input->ended)
            cut_input(input, "the compressed data stops early");
    }
    return TSMITH_OK;
}

tsmith_status input_drain(struct input *input, bool *spaces, tsmith_error *error) {
    tsmith_status status = TSMITH_OK;
    *spaces = true;
    while (status == TSMITH_OK) {
        const char *at = input->window + input->begin, *end = input->window + input->end;
        while (at < end && strchr(" \t\r\n", *at) && *at)
            at++;
        *spaces &= at == end;
        input->begin = input->end;
        status = input_more(input, error);
    }
    return status == TSMITH_END ? TSMITH_OK : status;
}

static bool make_room(struct input *input) {
    struct input_decoder *decoder = input->decoder;
    size_t kept = input->end - input->begin;
    if (input->begin) {
        memmove(input->window, input->window + input->begin, kept);
        input->offset += input->begin;
        input->begin = 0;
        input->end = kept;
    }
    if (kept <= decoder->capacity / 2)
        return true;
    size_t grown = decoder->capacity * 2;
    char *window = grown <= INPUT_WINDOW_MAX ? realloc(input->window, grown + INPUT_PADDING) : NULL;
    if (window) {
        input->window = window;
        decoder->capacity = grown;
    }
    return input->end < decoder->capacity;
}

tsmith_status input_more(struct input *input, tsmith_error *error) {
    struct input_decoder *decoder = input->decoder;
    if (input->ended)
        return TSMITH_END;
    if (!make_room(input))
        return TSMITH_ERROR_LIMIT;
    size_t before = input->end, kept = input->end - input->begin, got = 1;
    tsmith_status status = TSMITH_OK;
    while (status == TSMITH_OK && got && !input->ended && input->end < decoder->capacity &&
           (input->end == before || input->end - before < kept)) {
        size_t room = decoder->capacity - input->end;
        if (decoder->packing == PLAIN) {
            status = read_some(decoder, input->window + input->end, room, &got, error);
            input->ended = decoder->file_ended;
        } else {
            status = read_decoded(input, input->window + input->end, room, &got, error);
        }
        input->end += got;
    }
    memset(input->window + input->end, 0, INPUT_PADDING);
    return status != TSMITH_OK ? status : input->end > before ? TSMITH_OK : TSMITH_END;
}

// What was read to see the format is compressed: it becomes the first of the packed bytes.
static tsmith_status start_decoder(struct input *input, tsmith_error *error) {
    struct input_decoder *decoder = input->decoder;
    decoder->packed = malloc(PACKED_SIZE);
    if (!decoder->packed)
        return status_set(error, TSMITH_ERROR_NO_MEMORY, "%s: out of memory", decoder->name);
    memcpy(decoder->packed, input->window, input->end);
    decoder->packed_end = input->end;
    input->end = 0;
    if (decoder->packing == GZIP) {
        decoder->gzip = gunzip_create(GUNZIP_FASTEST);
        return decoder->gzip ? TSMITH_OK
                             : status_set(error, TSMITH_ERROR_NO_MEMORY, "%s: out of memory", decoder->name);
    }
    decoder->zstd = ZSTD_createDStream();
    if (!decoder->zstd)
        return status_set(error, TSMITH_ERROR_NO_MEMORY, "%s: out of memory", decoder->name);
    (void)ZSTD_DCtx_setParameter(decoder->zstd, ZSTD_d_windowLogMax, ZSTD_WINDOW_LOG_MAX);
    return TSMITH_OK;
}

// The first bytes, at least four if there are: a pipe may hand them out one by one.
static tsmith_status read_first(struct input *input, tsmith_error *error) {
    struct input_decoder *decoder = input->decoder;
    while (input->end < 4 && !decoder->file_ended) {
        size_t got;
        tsmith_status status =
            read_some(decoder, input->window + input->end, PACKED_SIZE - input->end, &got, error);
        if (status != TSMITH_OK)
            return status;
        input->end += got;
    }
    memset(input->window + input->end, 0, INPUT_PADDING);
    input->ended = decoder->file_ended;
    if (input->end >= 2 && memcmp(input->window, "\x1f\x8b", 2) == 0)
        decoder->packing = GZIP;
    else if (input->end >= 4 && memcmp(input->window, "\x28\xb5\x2f\xfd", 4) == 0)
        decoder->packing = ZSTD;
    if (decoder->packing == PLAIN)
        return TSMITH_OK;
    input->ended = false;
    return start_decoder(input, error);
}

tsmith_status input_open(struct input *input, int fd, bool owned, const char *name, const void *first,
                         size_t first_size, tsmith_error *error) {
    *input = (struct input){0};
    tsmith_status status = TSMITH_ERROR_NO_MEMORY;
    struct input_decoder *decoder = calloc(1, sizeof *decoder);
    input->decoder = decoder;
    input->window = malloc(FIRST_WINDOW + INPUT_PADDING);
    if (!decoder || !input->window) {
        (void)status_set(error, status, "%s: out of memory", name);
        goto fail;
    }
    *decoder = (struct input_decoder){
        .fd = fd, .owned = owned, .name = name, .capacity = FIRST_WINDOW, .left = size_left(fd)};
    decoder->from_start = !first_size && lseek(fd, 0, SEEK_CUR) == 0;
    if (first_size) {
        memcpy(input->window, first, first_size);
        input->end = first_size;
    }
    status = read_first(input, error);
    if (status == TSMITH_OK && decoder->packing != PLAIN) {
        status = input_more(input, error);
        if (status == TSMITH_END)
            status = TSMITH_OK;
    }
    if (status == TSMITH_OK)
        return TSMITH_OK;
fail:
    if (owned && !(decoder && decoder->name))
        (void)close(fd);
    input_close(input);
    return status;
}

int input_take_file(struct input *input, bool *owned) {
    struct input_decoder *decoder = input->decoder;
    if (decoder->packing != PLAIN || decoder->left == UINT64_MAX || !decoder->from_start)
        return -1;
    *owned = decoder->owned;
    decoder->owned = false;
    return decoder->fd;
}

void input_close(struct input *input) {
    struct input_decoder *decoder = input->decoder;
    if (decoder) {
        gunzip_destroy(decoder->gzip);
        (void)ZSTD_freeDStream(decoder->zstd);
        if (decoder->owned && decoder->name)
            (void)close(decoder->fd);
        free(decoder->packed);
        free(decoder);
    }
    free(input->window);
    *input = (struct input){0};
}
