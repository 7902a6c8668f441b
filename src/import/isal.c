// SPDX-License-Identifier: Apache-2.0
// Loads ISA-L with dlopen and tries it. gunzip.c calls it.
//
// The caller of ISA-L provides the memory of a state, so the layout in isal.h has to be the library's. The soname does not say
// so: 2.20 has the same soname and another layout. The library decodes a known member before it is used.
#include "import/isal.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { RESERVE_BYTE = 0xa5 };

// Two blocks and an empty one between them, and the trailer. zlib made it of this text.
static const char TEXT[] =
    "tracesmith reads traces, tracesmith replays traces, and traces of traces are traced.\n";
static const unsigned char PACKED[] = {0x2a, 0x29, 0x4a, 0x4c, 0x4e, 0x2d, 0xce, 0xcd, 0x2c, 0xc9, 0x50, 0x28,
                                       0x4a, 0x4d, 0x4c, 0x29, 0x56, 0x28, 0x01, 0x0b, 0xe8, 0x40, 0x69, 0xa8,
                                       0x44, 0x41, 0x4e, 0x62, 0x25, 0x42, 0x2a, 0x31, 0x2f, 0x05, 0xcc, 0x06,
                                       0x00, 0x00, 0x00, 0xff, 0xff, 0x4b, 0x2d, 0x56, 0xc8, 0x4f, 0x53, 0x28,
                                       0x29, 0x4a, 0x4c, 0x4e, 0x2d, 0x56, 0x48, 0x2c, 0x4a, 0x85, 0x30, 0x53,
                                       0xf4, 0xb8, 0x00, 0x01, 0xe3, 0x7f, 0x50, 0x55, 0x00, 0x00, 0x00};
enum { TEXT_SIZE = sizeof TEXT - 1, PACKED_SIZE = sizeof PACKED, CRC_AT = PACKED_SIZE - 8, BEHIND = 3 };
static const uint32_t TEXT_CRC = 0x507fe301;

struct isal_state *isal_state_create(void) {
    return calloc(1, ISAL_STATE_ROOM);
}

// One call that may read up to packed[to] and write up to out[room].
static int decode_part(const struct isal *isal, struct isal_state *state, unsigned char *packed, size_t to,
                       unsigned char *out, size_t room) {
    state->avail_in = (uint32_t)(packed + to - state->next_in);
    state->avail_out = (uint32_t)(out + room - state->next_out);
    return isal->inflate(state);
}

// Decodes the known member in two parts, with some bytes behind it. True if the library returned `expected`, and, where that
// is success, left in the state what isal.h says.
static bool decodes(const struct isal *isal, struct isal_state *state, unsigned char *packed, int expected) {
    enum { HALF = PACKED_SIZE / 2, ROOM = TEXT_SIZE + 7 };
    unsigned char out[ROOM] = {0};
    isal->init(state);
    state->wrapper = ISAL_BODY_AND_TRAILER;
    state->next_in = packed;
    state->next_out = out;
    if (decode_part(isal, state, packed, HALF, out, TEXT_SIZE / 3) != 0 || state->avail_out != 0 ||
        state->next_out != out + TEXT_SIZE / 3 || state->total_out != TEXT_SIZE / 3 ||
        state->valid <= state->delivered || state->next_in != packed + HALF || state->avail_in != 0)
        return false;
    if (memcmp(state->decoded + state->delivered, TEXT + TEXT_SIZE / 3,
               (size_t)(state->valid - state->delivered)) != 0)
        return false;
    if (decode_part(isal, state, packed, PACKED_SIZE + BEHIND, out, ROOM) != expected)
        return false;
    return expected != 0 ||
           (state->block_state == ISAL_FINISHED && state->crc == TEXT_CRC && state->total_out == TEXT_SIZE &&
            state->next_out == out + TEXT_SIZE && state->avail_out == ROOM - TEXT_SIZE &&
            state->next_in == packed + PACKED_SIZE && state->avail_in == BEHIND &&
            state->valid == state->delivered && memcmp(out, TEXT, TEXT_SIZE) == 0);
}

static bool behaves_as_declared(const struct isal *isal) {
    struct isal_state *state = isal_state_create();
    unsigned char packed[PACKED_SIZE + BEHIND] = {0};
    if (!state)
        return false;
    memset(state, RESERVE_BYTE, ISAL_STATE_ROOM);
    memcpy(packed, PACKED, PACKED_SIZE);
    bool good = decodes(isal, state, packed, 0);
    for (size_t at = CRC_AT; good && at < PACKED_SIZE; at++) { // the checksum, and the length
        packed[at] ^= 0x10;
        good = decodes(isal, state, packed, ISAL_WRONG_TRAILER);
        packed[at] ^= 0x10;
    }
    const unsigned char *behind = (const unsigned char *)(state + 1);
    for (size_t i = 0; i < ISAL_STATE_ROOM - ISAL_STATE_SIZE; i++)
        good = good && behind[i] == RESERVE_BYTE;
    free(state);
    return good;
}

static struct isal found;
static bool is_usable;

static void open_library(void) {
    void *library = dlopen("libisal.so.2", RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return;
    found.init = (void (*)(struct isal_state *))dlsym(library, "isal_inflate_init");
    found.inflate = (int (*)(struct isal_state *))dlsym(library, "isal_inflate");
    // 2.30 added this function. Older versions were not tried.
    const bool is_known = dlsym(library, "isal_deflate_process_dict") != NULL;
    is_usable = is_known && found.init && found.inflate && behaves_as_declared(&found);
}

const struct isal *isal_find(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, open_library);
    return is_usable ? &found : NULL;
}
