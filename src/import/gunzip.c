// SPDX-License-Identifier: Apache-2.0
// Members of gzip one after the other. input.c calls it.
//
// The header of a member is read by zlib in either case, because zlib finds more that is wrong with it. ISA-L then decodes the
// body and compares both numbers of the trailer.
//
// The two differ where a file is damaged. A file that stops early may yield up to two bytes less with ISA-L, which looks up as many as
// three symbols at once and waits for all their bits. ISA-L accepts code lengths that zlib calls incomplete, and finds the damage
// later, by the checksum at the latest.
#include "import/gunzip.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "import/isal.h"

enum { CALL_MAX = 1 << 30, HEADER_READ = 128 }; // zlib's sign that a block, the first or a later one, is next

struct gunzip {
    z_stream zlib;
    bool zlib_open;
    const struct isal *isal;                 // NULL: zlib decodes the bodies too
    struct isal_state *state, *state_before; // of ISA-L: now, and before the last call
    bool between;                            // at the end of a member, where the file may end
    bool padding;                            // zeros follow the last member
    bool in_body;                            // per ISA-L
    const char *problem; // per ISA-L: found, to be returned when the output before it is delivered
};

struct gunzip *gunzip_create(enum gunzip_decoder decoder) {
    struct gunzip *gunzip = calloc(1, sizeof *gunzip);
    if (!gunzip)
        return NULL;
    gunzip->zlib_open = inflateInit2(&gunzip->zlib, 15 + 16) == Z_OK;
    gunzip->isal = decoder == GUNZIP_ZLIB ? NULL : isal_find();
    if (gunzip->isal) {
        gunzip->state = isal_state_create();
        gunzip->state_before = isal_state_create();
    }
    const bool is_ready = gunzip->isal ? gunzip->state && gunzip->state_before : decoder != GUNZIP_ISAL;
    if (gunzip->zlib_open && is_ready)
        return gunzip;
    gunzip_destroy(gunzip);
    return NULL;
}

void gunzip_destroy(struct gunzip *gunzip) {
    if (!gunzip)
        return;
    if (gunzip->zlib_open)
        (void)inflateEnd(&gunzip->zlib);
    free(gunzip->state);
    free(gunzip->state_before);
    free(gunzip);
}

bool gunzip_may_end(const struct gunzip *gunzip) {
    return gunzip->between;
}

static unsigned call_size(size_t size) {
    return size < CALL_MAX ? (unsigned)size : CALL_MAX;
}

static void end_member(struct gunzip *gunzip) {
    gunzip->between = true;
    gunzip->in_body = false;
    (void)inflateReset(&gunzip->zlib);
}

// ---- zlib

static const char *decode_with_zlib(struct gunzip *gunzip, struct gunzip_piece *piece, int flush) {
    z_stream *zlib = &gunzip->zlib;
    const unsigned in_size = call_size(piece->in_size), out_size = call_size(piece->out_size);
    zlib->next_in = (Bytef *)(uintptr_t)piece->in; // zlib does not change it
    zlib->avail_in = in_size;
    zlib->next_out = piece->out;
    zlib->avail_out = out_size;
    const int result = inflate(zlib, flush);
    piece->in += in_size - zlib->avail_in;
    piece->in_size -= in_size - zlib->avail_in;
    piece->out += out_size - zlib->avail_out;
    piece->out_size -= out_size - zlib->avail_out;
    if (result == Z_STREAM_END)
        end_member(gunzip);
    else if (result != Z_OK && result != Z_BUF_ERROR)
        return zlib->msg ? zlib->msg : "damaged gzip data";
    return NULL;
}

// ---- ISA-L

static const char *problem_of(int result) {
    switch (result) {
    case ISAL_INVALID_DISTANCE:
        return "invalid distance too far back"; // these two as zlib says it
    case ISAL_WRONG_TRAILER:
        return "incorrect data check";
    case ISAL_INVALID_BLOCK:
        return "invalid block header";
    case ISAL_INVALID_SYMBOL:
        return "invalid symbol";
    default:
        return "damaged gzip data";
    }
}

// After an error: ISA-L has decoded what comes before it, and would go on behind it if it were called again.
static const char *deliver_rest(struct gunzip *gunzip, struct gunzip_piece *piece) {
    struct isal_state *state = gunzip->state;
    size_t size = (size_t)(state->valid - state->delivered);
    const bool is_all = size <= piece->out_size;
    size = is_all ? size : piece->out_size;
    memcpy(piece->out, state->decoded + state->delivered, size);
    state->delivered += (int32_t)size;
    piece->out += size;
    piece->out_size -= size;
    return is_all ? gunzip->problem : NULL;
}

// One call, which reads at most `in_most` bytes.
static int decode_once(struct gunzip *gunzip, struct gunzip_piece *piece, size_t in_most) {
    struct isal_state *state = gunzip->state;
    const unsigned in_size = call_size(piece->in_size < in_most ? piece->in_size : in_most);
    const unsigned out_size = call_size(piece->out_size);
    state->next_in = (unsigned char *)(uintptr_t)piece->in; // ISA-L does not change it
    state->avail_in = in_size;
    state->next_out = piece->out;
    state->avail_out = out_size;
    const int result = gunzip->isal->inflate(state);
    piece->in += in_size - state->avail_in;
    piece->in_size -= in_size - state->avail_in;
    piece->out += out_size - state->avail_out;
    piece->out_size -= out_size - state->avail_out;
    return result;
}

// Up to the damage. Where there is much input ISA-L decodes in a loop that counts a match as output before it sees that its distance is
// invalid, so the last bytes are not those of the file, and depend on where the pieces begin. That loop needs 8 bytes of input.
static int decode_damaged(struct gunzip *gunzip, struct gunzip_piece *piece) {
    enum { FEW = 4 };
    int result = 0;
    while (result == 0 && piece->in_size && piece->out_size && gunzip->state->block_state != ISAL_FINISHED)
        result = decode_once(gunzip, piece, FEW);
    return result;
}

static const char *decode_body(struct gunzip *gunzip, struct gunzip_piece *piece) {
    if (gunzip->problem)
        return deliver_rest(gunzip, piece);
    const struct gunzip_piece before = *piece;
    memcpy(gunzip->state_before, gunzip->state, ISAL_STATE_ROOM);
    int result = decode_once(gunzip, piece, piece->in_size);
    if (result < 0 && result != ISAL_WRONG_TRAILER) {
        *piece = before;
        memcpy(gunzip->state, gunzip->state_before, ISAL_STATE_ROOM);
        result = decode_damaged(gunzip, piece);
    }
    if (result < 0) {
        gunzip->problem = problem_of(result);
        return deliver_rest(gunzip, piece);
    }
    if (gunzip->state->block_state == ISAL_FINISHED)
        end_member(gunzip);
    return NULL;
}

static const char *decode_with_isal(struct gunzip *gunzip, struct gunzip_piece *piece) {
    if (!gunzip->in_body) {
        const char *problem = decode_with_zlib(gunzip, piece, Z_BLOCK);
        if (problem || !(gunzip->zlib.data_type & HEADER_READ))
            return problem;
        gunzip->isal->init(gunzip->state);
        gunzip->state->wrapper = ISAL_BODY_AND_TRAILER;
        gunzip->in_body = true;
    }
    return decode_body(gunzip, piece);
}

// ----

const char *gunzip_decode(struct gunzip *gunzip, struct gunzip_piece *piece) {
    // Zeros behind the last member are padding. Anything else may be a member whose beginning is damaged.
    while (gunzip->between && piece->in_size && *piece->in == 0) {
        gunzip->padding = true;
        piece->in++;
        piece->in_size--;
    }
    if (gunzip->between && piece->in_size == 0)
        return NULL;
    if (gunzip->between && (gunzip->padding || *piece->in != 0x1f))
        return "the data after a gzip member is not a gzip member";
    gunzip->between = false;
    return gunzip->isal ? decode_with_isal(gunzip, piece) : decode_with_zlib(gunzip, piece, Z_NO_FLUSH);
}
