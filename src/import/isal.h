// SPDX-License-Identifier: Apache-2.0
// The part of ISA-L's interface (libisal.so.2) that decompresses the body of a gzip member. It is declared here, so that the
// build needs nothing of ISA-L; import.gunzip compares it with ISA-L's own header, and isal_find with the library that is
// installed. gunzip.c calls it.
#ifndef IMPORT_ISAL_H
#define IMPORT_ISAL_H

#include <stdint.h>

// Of 2.30 to 2.32, and with some room behind it in case a later version needs more.
enum { ISAL_STATE_SIZE = 87368, ISAL_STATE_ROOM = ISAL_STATE_SIZE + 4096 };

// The beginning of ISA-L's struct inflate_state. The tables and what follows `crc` are its own.
struct isal_state {
    unsigned char *next_out;
    uint32_t avail_out, total_out;
    unsigned char *next_in;
    uint64_t bits;
    uint32_t avail_in;
    int32_t bit_count;
    unsigned char tables[21120];
    int32_t block_state;
    uint32_t dictionary_length, is_last, wrapper, crc;
    unsigned char unused[28];
    // Output that is decoded and not delivered: decoded[delivered .. valid).
    int32_t valid, delivered;
    unsigned char header[328];
    unsigned char decoded[ISAL_STATE_SIZE - 21544];
};

// The body and the trailer of a gzip member, both numbers of which are compared; the block_state after them; results.
enum { ISAL_BODY_AND_TRAILER = 6, ISAL_FINISHED = 5 };
enum {
    ISAL_INVALID_BLOCK = -1,
    ISAL_INVALID_SYMBOL = -2,
    ISAL_INVALID_DISTANCE = -3,
    ISAL_WRONG_TRAILER = -6
};

struct isal {
    void (*init)(struct isal_state *state);
    int (*inflate)(struct isal_state *state);
};

// NULL where the library is not installed, is older than 2.30, or does not behave as declared. Any thread.
const struct isal *isal_find(void);

// ISAL_STATE_ROOM bytes. free() releases them.
struct isal_state *isal_state_create(void);

#endif
