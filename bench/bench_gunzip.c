// SPDX-License-Identifier: Apache-2.0
// How fast both decoders of gzip are, alone.
//
//     bench_gunzip [FILE.gz...]
//
// One line per file (without files: of JSON made here) and decoder: MB of decompressed bytes per second of this thread's processor
// time, best of 15, and how many times as fast as zlib.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <zlib.h>

#include "base/clock.h"
#include "import/gunzip.h"

enum { ROUNDS = 15, IN_PIECE = 1 << 18, OUT_PIECE = 1 << 20, MADE = 200000, ROOM = 256 << 20 };

// Nanoseconds; 0: this decoder is not installed, or the data is damaged.
static int64_t decode_all(enum gunzip_decoder decoder, const unsigned char *packed, size_t size,
                          size_t *length) {
    static unsigned char out[OUT_PIECE];
    const int64_t from = clock_now(CLOCK_THREAD_CPUTIME_ID);
    struct gunzip *gunzip = gunzip_create(decoder);
    const char *problem = gunzip ? NULL : "not installed";
    *length = 0;
    for (size_t at = 0; !problem && !(at == size && gunzip_may_end(gunzip));) {
        const size_t given = size - at < IN_PIECE ? size - at : IN_PIECE;
        struct gunzip_piece piece = {packed + at, given, out, sizeof out};
        problem = gunzip_decode(gunzip, &piece);
        at += given - piece.in_size;
        *length += sizeof out - piece.out_size;
        if (!given && piece.out_size == sizeof out)
            problem = "stops early";
    }
    gunzip_destroy(gunzip);
    return problem ? 0 : clock_now(CLOCK_THREAD_CPUTIME_ID) - from;
}

static void measure(const char *name, const unsigned char *packed, size_t size) {
    static const struct {
        enum gunzip_decoder decoder;
        const char *name;
    } decoders[] = {{GUNZIP_ZLIB, "zlib"}, {GUNZIP_ISAL, "ISA-L"}};
    int64_t best[2] = {INT64_MAX, INT64_MAX};
    size_t length = 0;
    for (int round = 0; round < ROUNDS; round++) {
        for (size_t i = 0; i < 2; i++) {
            const int64_t took = decode_all(decoders[i].decoder, packed, size, &length);
            best[i] = took < best[i] ? took : best[i];
        }
    }
    for (size_t i = 0; i < 2; i++) {
        if (best[i] > 0)
            printf("%-6s %8.0f MB/s  %5.2f times  %s\n", decoders[i].name,
                   (double)length * 1000 / (double)best[i], (double)best[0] / (double)best[i], name);
        else
            printf("%-6s is not installed, or the file is damaged  %s\n", decoders[i].name, name);
    }
}

static size_t make(unsigned char *packed) {
    char event[200];
    z_stream zlib = {.next_out = packed, .avail_out = ROOM};
    if (deflateInit2(&zlib, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK)
        return 0;
    for (unsigned i = 0; i < MADE; i++) {
        const int length = snprintf(
            event, sizeof event,
            "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"gemm_%u\",\"pid\":0,\"tid\":%u,\"ts\":%u.%03u,"
            "\"dur\":%u,\"args\":{\"stream\":7,\"correlation\":%u}},\n",
            i % 37, i % 3, i * 13, i * 7919 % 1000, i * 31 % 997, i);
        zlib.next_in = (Bytef *)event;
        zlib.avail_in = (uInt)length;
        (void)deflate(&zlib, Z_NO_FLUSH);
    }
    (void)deflate(&zlib, Z_FINISH);
    (void)deflateEnd(&zlib);
    return zlib.total_out;
}

int main(int count, char **files) {
    unsigned char *packed = malloc(ROOM);
    if (!packed)
        return 4;
    if (count < 2)
        measure("made here", packed, make(packed));
    for (int i = 1; i < count; i++) {
        FILE *file = fopen(files[i], "rb");
        if (!file) {
            perror(files[i]);
            return 3;
        }
        measure(files[i], packed, fread(packed, 1, ROOM, file));
        (void)fclose(file);
    }
    free(packed);
    return 0;
}
