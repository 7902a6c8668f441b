// SPDX-License-Identifier: Apache-2.0
// Decompresses gzip piece by piece: by ISA-L where it is installed, else by zlib. Both give the same bytes of a whole file, and
// find the same files damaged. input.c calls it.
#ifndef IMPORT_GUNZIP_H
#define IMPORT_GUNZIP_H

#include <stdbool.h>
#include <stddef.h>

// FASTEST: ISA-L where it is installed. The others are for tests and measurements.
enum gunzip_decoder { GUNZIP_FASTEST, GUNZIP_ZLIB, GUNZIP_ISAL };

struct gunzip;

// NULL: out of memory, or ISA-L was asked for and is not usable.
struct gunzip *gunzip_create(enum gunzip_decoder decoder);
void gunzip_destroy(struct gunzip *gunzip);

// What one call reads and writes. `in` and `out` move forward. ISA-L may hold back output until there is room, and input of which the
// output is not complete: call again as long as there is either.
struct gunzip_piece {
    const unsigned char *in;
    size_t in_size;
    unsigned char *out;
    size_t out_size;
};

// NULL, or why the data is damaged: afterwards nothing more is decoded. A file may have several members, one after the other,
// and zeros behind the last one.
const char *gunzip_decode(struct gunzip *gunzip, struct gunzip_piece *piece);

// Whether the file may end here: all members are complete.
bool gunzip_may_end(const struct gunzip *gunzip);

#endif
