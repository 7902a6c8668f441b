// SPDX-License-Identifier: Apache-2.0
// A decoder of zstd frames (RFC 8878), for platforms without libzstd: wasm/unzstd.c calls it. The input is untrusted. The output
// is one buffer of known length, which is the window too.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "platform/unzstd.h"

enum {
    BLOCK_MOST = 1 << 17, // bytes that a block stands for
    LOG_MOST = 9,         // of a table of sequence codes
    WEIGHT_LOG_MOST = 6,
    HUFFMAN_LOG_MOST = 11,
    SYMBOLS_MOST = 256,
    WINDOW_LOG_MOST = 31 // as libzstd; the window itself is of no concern here
};

enum codes { LITERAL_LENGTHS, OFFSETS, MATCH_LENGTHS, CODES };

struct cell {
    uint16_t base; // of the next state
    uint8_t symbol, bits;
};

struct table { // FSE
    unsigned log;
    bool is_set;
    struct cell cells[1 << LOG_MOST];
};

struct huffman {
    unsigned log; // 0: none was read yet
    struct {
        uint8_t symbol, bits;
    } cells[1 << HUFFMAN_LOG_MOST];
};

struct decoder {
    struct table tables[CODES];
    struct table weights;
    struct huffman huffman;
    uint32_t repeated[3]; // offsets
    uint32_t literal_base[36], match_base[53];
    uint8_t literals[BLOCK_MOST];
    size_t literal_count;
    uint8_t *out;
    size_t made, plain;
};

struct bytes {
    const uint8_t *at, *end;
};

static size_t bytes_left(const struct bytes *bytes) {
    return (size_t)(bytes->end - bytes->at);
}

static bool bytes_part(struct bytes *bytes, size_t size, struct bytes *out) {
    if (size > bytes_left(bytes))
        return false;
    *out = (struct bytes){bytes->at, bytes->at + size};
    bytes->at += size;
    return true;
}

static uint64_t bytes_number(const uint8_t *at, size_t size) {
    uint64_t value = 0;
    for (size_t i = 0; i < size; i++)
        value |= (uint64_t)at[i] << 8 * i;
    return value;
}

static unsigned top_bit(uint32_t value) {
    return 31 - (unsigned)__builtin_clz(value);
}

// ---- bits that are read from the end

struct back {
    const uint8_t *at;
    size_t size;
    int64_t left; // bits; negative when more was taken than there is
};

// The last byte ends with a 1 that is no data.
static bool back_open(struct back *back, struct bytes from) {
    const size_t size = bytes_left(&from);
    if (!size || !from.end[-1])
        return false;
    *back = (struct back){from.at, size, (int64_t)size * 8 - 8 + top_bit(from.end[-1])};
    return true;
}

// At least 57 bits from `bit` on; zeros outside.
static uint64_t back_at(const struct back *back, int64_t bit) {
    const int64_t byte = bit >> 3;
    if (byte >= 0 && (uint64_t)byte + 8 <= back->size)
        return bytes_get_u64(back->at + byte) >> (bit & 7);
    uint64_t value = 0;
    for (int i = 0; i < 8; i++)
        if (byte + i >= 0 && (uint64_t)(byte + i) < back->size)
            value |= (uint64_t)back->at[byte + i] << 8 * i;
    return value >> (bit & 7);
}

static uint32_t back_take(struct back *back, unsigned count) {
    back->left -= count;
    return (uint32_t)(back_at(back, back->left) & ((UINT64_C(1) << count) - 1));
}

// ---- tables

struct distribution {
    int16_t share[SYMBOLS_MOST]; // -1: less than one
    unsigned count, log;
};

struct forward {
    struct bytes from;
    size_t bit;
};

static uint32_t forward_take(struct forward *bits, unsigned count) {
    uint32_t value = 0;
    for (unsigned i = 0; i < count; i++, bits->bit++)
        if (bits->bit / 8 < bytes_left(&bits->from))
            value |= (uint32_t)(bits->from.at[bits->bit / 8] >> bits->bit % 8 & 1) << i;
    return value;
}

static bool read_distribution(struct bytes *in, unsigned log_most, unsigned symbols,
                              struct distribution *out) {
    struct forward bits = {*in, 0};
    out->log = forward_take(&bits, 4) + 5;
    out->count = 0;
    if (out->log > log_most)
        return false;
    int32_t remaining = 1 << out->log;
    while (remaining > 0) {
        if (out->count >= symbols)
            return false;
        // One of 0 .. remaining + 1: the lower numbers have one bit less.
        const unsigned width = top_bit((uint32_t)remaining + 1) + 1;
        const uint32_t half = (1u << (width - 1)) - 1, spare = (1u << width) - 2 - (uint32_t)remaining;
        uint32_t value = forward_take(&bits, width);
        if ((value & half) < spare) {
            bits.bit--;
            value &= half;
        } else if (value > half) {
            value -= spare;
        }
        const int32_t share = (int32_t)value - 1;
        remaining -= share < 0 ? 1 : share;
        out->share[out->count++] = (int16_t)share;
        for (uint32_t more = share ? 0 : 3; more == 3;) {
            more = forward_take(&bits, 2);
            if (more > symbols - out->count)
                return false;
            for (uint32_t i = 0; i < more; i++)
                out->share[out->count++] = 0;
        }
    }
    struct bytes used;
    return remaining == 0 && bytes_part(in, (bits.bit + 7) / 8, &used);
}

static bool make_table(struct table *table, const struct distribution *from) {
    const uint32_t size = 1u << from->log, step = (size >> 1) + (size >> 3) + 3;
    uint32_t high = size, at = 0;
    uint16_t next[SYMBOLS_MOST];
    for (unsigned symbol = 0; symbol < from->count; symbol++) {
        next[symbol] = from->share[symbol] < 0 ? 1 : (uint16_t)from->share[symbol];
        if (from->share[symbol] < 0)
            table->cells[--high].symbol = (uint8_t)symbol;
    }
    for (unsigned symbol = 0; symbol < from->count; symbol++)
        for (int i = 0; i < from->share[symbol]; i++) {
            table->cells[at].symbol = (uint8_t)symbol;
            do
                at = (at + step) & (size - 1);
            while (at >= high);
        }
    if (at)
        return false;
    for (uint32_t i = 0; i < size; i++) {
        struct cell *cell = &table->cells[i];
        const uint32_t state = next[cell->symbol]++;
        cell->bits = (uint8_t)(from->log - top_bit(state));
        cell->base = (uint16_t)((state << cell->bits) - size);
    }
    table->log = from->log;
    table->is_set = true;
    return true;
}

// ---- Huffman codes

static bool read_packed_weights(struct decoder *decoder, struct bytes in, uint8_t *weights, unsigned *count) {
    struct distribution shares;
    struct back back;
    if (!read_distribution(&in, WEIGHT_LOG_MOST, SYMBOLS_MOST, &shares) ||
        !make_table(&decoder->weights, &shares) || !back_open(&back, in))
        return false;
    const struct cell *cells = decoder->weights.cells;
    uint32_t states[2];
    states[0] = back_take(&back, shares.log);
    states[1] = back_take(&back, shares.log);
    if (back.left < 0)
        return false;
    // Two states in turn; when one cannot be moved on, the other has the last weight.
    for (unsigned turn = 0; *count < SYMBOLS_MOST - 2; turn ^= 1) {
        const struct cell *cell = &cells[states[turn]];
        weights[(*count)++] = cell->symbol;
        states[turn] = cell->base + back_take(&back, cell->bits);
        if (back.left < 0) {
            weights[(*count)++] = cells[states[turn ^ 1]].symbol;
            return true;
        }
    }
    return false;
}

// The last weight is what the others leave.
static bool add_last_weight(uint8_t *weights, unsigned *count, unsigned *log) {
    uint32_t sum = 0;
    for (unsigned i = 0; i < *count; i++) {
        if (weights[i] > HUFFMAN_LOG_MOST)
            return false;
        sum += weights[i] ? 1u << (weights[i] - 1) : 0;
    }
    if (!sum || top_bit(sum) + 1 > HUFFMAN_LOG_MOST)
        return false;
    *log = top_bit(sum) + 1;
    const uint32_t left = (1u << *log) - sum;
    if (left & (left - 1))
        return false;
    weights[(*count)++] = (uint8_t)(top_bit(left) + 1);
    return true;
}

static bool read_huffman(struct decoder *decoder, struct bytes *in) {
    uint8_t weights[SYMBOLS_MOST];
    unsigned count = 0, log;
    struct bytes part;
    if (in->at == in->end)
        return false;
    const unsigned head = *in->at++;
    if (head < 128) {
        if (!bytes_part(in, head, &part) || !read_packed_weights(decoder, part, weights, &count))
            return false;
    } else {
        if (!bytes_part(in, (head - 126) / 2, &part))
            return false;
        for (count = 0; count < head - 127; count++)
            weights[count] = count % 2 ? part.at[count / 2] & 15 : part.at[count / 2] >> 4;
    }
    if (!add_last_weight(weights, &count, &log))
        return false;
    uint32_t at = 0;
    for (unsigned weight = 1; weight <= log; weight++)
        for (unsigned symbol = 0; symbol < count; symbol++)
            for (uint32_t i = 0; weights[symbol] == weight && i < 1u << (weight - 1); i++, at++) {
                decoder->huffman.cells[at].symbol = (uint8_t)symbol;
                decoder->huffman.cells[at].bits = (uint8_t)(log + 1 - weight);
            }
    decoder->huffman.log = log;
    return at == 1u << log;
}

static bool read_huffman_stream(const struct huffman *huffman, struct bytes in, uint8_t *out, size_t count) {
    struct back back;
    if (!back_open(&back, in))
        return false;
    const uint32_t mask = (1u << huffman->log) - 1;
    for (size_t i = 0; i < count; i++) {
        const uint32_t code = (uint32_t)back_at(&back, back.left - huffman->log) & mask;
        out[i] = huffman->cells[code].symbol;
        back.left -= huffman->cells[code].bits;
        if (back.left < 0)
            return false;
    }
    return back.left == 0;
}

static bool read_four_streams(struct decoder *decoder, struct bytes in) {
    struct bytes sizes, part;
    const size_t each = (decoder->literal_count + 3) / 4;
    if (!bytes_part(&in, 6, &sizes) || 3 * each > decoder->literal_count)
        return false;
    for (size_t i = 0; i < 4; i++) {
        const size_t size = i < 3 ? bytes_get_u16(sizes.at + 2 * i) : bytes_left(&in);
        if (!bytes_part(&in, size, &part) ||
            !read_huffman_stream(&decoder->huffman, part, decoder->literals + i * each,
                                 i < 3 ? each : decoder->literal_count - 3 * each))
            return false;
    }
    return true;
}

// ---- literals

enum { LITERALS_RAW, LITERALS_REPEATED, LITERALS_HUFFMAN, LITERALS_SAME_HUFFMAN };

static bool read_plain_literals(struct decoder *decoder, struct bytes *in, unsigned type) {
    const unsigned form = *in->at >> 2 & 3;
    const size_t head_size = form == 1 ? 2 : form == 3 ? 3 : 1;
    struct bytes head, part;
    if (!bytes_part(in, head_size, &head))
        return false;
    decoder->literal_count = (size_t)(bytes_number(head.at, head_size) >> (form & 1 ? 4 : 3));
    if (decoder->literal_count > BLOCK_MOST ||
        !bytes_part(in, type == LITERALS_RAW ? decoder->literal_count : 1, &part))
        return false;
    if (type == LITERALS_RAW)
        memcpy(decoder->literals, part.at, decoder->literal_count);
    else
        memset(decoder->literals, *part.at, decoder->literal_count);
    return true;
}

static bool read_literals(struct decoder *decoder, struct bytes *in) {
    struct bytes head, part;
    if (in->at == in->end)
        return false;
    const unsigned type = *in->at & 3, form = *in->at >> 2 & 3;
    if (type < LITERALS_HUFFMAN)
        return read_plain_literals(decoder, in, type);
    const size_t head_size = form < 2 ? 3 : form + 2;
    const unsigned width = form < 2 ? 10 : form == 2 ? 14 : 18;
    if (!bytes_part(in, head_size, &head))
        return false;
    const uint64_t sizes = bytes_number(head.at, head_size) >> 4, mask = (UINT64_C(1) << width) - 1;
    decoder->literal_count = (size_t)(sizes & mask);
    if (decoder->literal_count > BLOCK_MOST || !bytes_part(in, (size_t)(sizes >> width & mask), &part) ||
        (type == LITERALS_HUFFMAN && !read_huffman(decoder, &part)) || !decoder->huffman.log)
        return false;
    return form ? read_four_streams(decoder, part)
                : read_huffman_stream(&decoder->huffman, part, decoder->literals, decoder->literal_count);
}

// ---- sequences

static const uint8_t literal_bits[36] = {[16] = 1, 1, 1, 1,  2,  2,  3,  3,  4,  6,
                                         7,        8, 9, 10, 11, 12, 13, 14, 15, 16};
static const uint8_t match_bits[53] = {[32] = 1, 1, 1, 1,  2,  2,  3,  3,  4,  4, 5,
                                       7,        8, 9, 10, 11, 12, 13, 14, 15, 16};

static const struct distribution usual[CODES] = {
    [LITERAL_LENGTHS] = {{4, 3, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 1, 1,  1,  2,  2,
                          2, 2, 2, 2, 2, 2, 2, 3, 2, 1, 1, 1, 1, 1, -1, -1, -1, -1},
                         36,
                         6},
    [OFFSETS] = {{1, 1, 1, 1, 1, 1, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, -1, -1, -1, -1, -1},
                 29,
                 5},
    [MATCH_LENGTHS] = {{1, 4, 3, 2, 2, 2, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,  1,  1,  1,  1,  1,  1, 1,
                        1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, -1, -1, -1, -1, -1, -1, -1},
                       53,
                       6}};

enum { MODE_USUAL, MODE_ONE, MODE_GIVEN, MODE_SAME };

static bool read_table(struct decoder *decoder, enum codes codes, unsigned mode, struct bytes *in) {
    static const uint8_t symbols[CODES] = {36, 32, 53}, logs[CODES] = {9, 8, 9};
    struct table *table = &decoder->tables[codes];
    struct distribution shares;
    switch (mode) {
    case MODE_USUAL:
        return make_table(table, &usual[codes]);
    case MODE_ONE:
        if (in->at == in->end || *in->at >= symbols[codes])
            return false;
        table->cells[0] = (struct cell){0, *in->at++, 0};
        table->log = 0;
        table->is_set = true;
        return true;
    case MODE_GIVEN:
        return read_distribution(in, logs[codes], symbols[codes], &shares) && make_table(table, &shares);
    default:
        return table->is_set;
    }
}

// What an offset of a sequence means: 1 to 3 (without literals one more) are the last ones again.
static uint32_t offset_of(struct decoder *decoder, uint32_t value, bool has_literals) {
    uint32_t *last = decoder->repeated;
    const uint32_t which = value > 3 ? 3 : value - has_literals;
    const uint32_t offset = value > 3 ? value - 3 : which == 3 ? last[0] - 1 : last[which];
    if (which > 1)
        last[2] = last[1];
    if (which > 0)
        last[1] = last[0];
    last[0] = offset;
    return offset;
}

static bool put_literals(struct decoder *decoder, size_t *used, size_t count) {
    if (count > decoder->literal_count - *used || count > decoder->plain - decoder->made)
        return false;
    memcpy(decoder->out + decoder->made, decoder->literals + *used, count);
    *used += count;
    decoder->made += count;
    return true;
}

static bool put_match(struct decoder *decoder, uint32_t offset, size_t count) {
    if (!offset || offset > decoder->made || count > decoder->plain - decoder->made)
        return false;
    uint8_t *to = decoder->out + decoder->made;
    if (offset >= count)
        memcpy(to, to - offset, count);
    else
        for (size_t i = 0; i < count; i++)
            to[i] = to[(ptrdiff_t)i - (ptrdiff_t)offset];
    decoder->made += count;
    return true;
}

static bool put_sequences(struct decoder *decoder, struct bytes in, uint32_t count, size_t *used) {
    struct back back;
    uint32_t states[CODES];
    if (!back_open(&back, in))
        return false;
    for (int i = 0; i < CODES; i++)
        states[i] = back_take(&back, decoder->tables[i].log);
    for (uint32_t i = 0; i < count; i++) {
        const struct cell *literal = &decoder->tables[LITERAL_LENGTHS].cells[states[LITERAL_LENGTHS]],
                          *offset = &decoder->tables[OFFSETS].cells[states[OFFSETS]],
                          *match = &decoder->tables[MATCH_LENGTHS].cells[states[MATCH_LENGTHS]];
        const uint32_t distance = (1u << offset->symbol) + back_take(&back, offset->symbol);
        const size_t same = decoder->match_base[match->symbol] + back_take(&back, match_bits[match->symbol]);
        const size_t fresh =
            decoder->literal_base[literal->symbol] + back_take(&back, literal_bits[literal->symbol]);
        if (i + 1 < count) {
            states[LITERAL_LENGTHS] = literal->base + back_take(&back, literal->bits);
            states[MATCH_LENGTHS] = match->base + back_take(&back, match->bits);
            states[OFFSETS] = offset->base + back_take(&back, offset->bits);
        }
        if (back.left < 0 || !put_literals(decoder, used, fresh) ||
            !put_match(decoder, offset_of(decoder, distance, fresh != 0), same))
            return false;
    }
    return back.left == 0;
}

static bool read_count(struct bytes *in, uint32_t *out) {
    struct bytes head;
    if (in->at == in->end)
        return false;
    const unsigned first = *in->at;
    if (!bytes_part(in, first < 128 ? 1 : first < 255 ? 2 : 3, &head))
        return false;
    *out = first < 128   ? first
           : first < 255 ? (first - 128) * 256 + head.at[1]
                         : (uint32_t)bytes_get_u16(head.at + 1) + 0x7f00;
    return true;
}

static bool read_packed_block(struct decoder *decoder, struct bytes in) {
    uint32_t count;
    size_t used = 0;
    if (!read_literals(decoder, &in) || !read_count(&in, &count))
        return false;
    if (count) {
        if (in.at == in.end || *in.at & 3)
            return false;
        const unsigned modes = *in.at++;
        for (unsigned i = 0; i < CODES; i++)
            if (!read_table(decoder, (enum codes)i, modes >> (6 - 2 * i) & 3, &in))
                return false;
        if (!put_sequences(decoder, in, count, &used))
            return false;
    } else if (in.at != in.end) {
        return false;
    }
    return put_literals(decoder, &used, decoder->literal_count - used);
}

// ---- frames

enum { BLOCK_RAW, BLOCK_REPEATED, BLOCK_PACKED };

static bool read_block(struct decoder *decoder, struct bytes *in, bool *is_last) {
    struct bytes head, part;
    if (!bytes_part(in, 3, &head))
        return false;
    const uint32_t bits = (uint32_t)bytes_number(head.at, 3), type = bits >> 1 & 3, size = bits >> 3;
    *is_last = bits & 1;
    if (!bytes_part(in, type == BLOCK_REPEATED ? 1 : size, &part))
        return false;
    if (type == BLOCK_PACKED)
        return size <= BLOCK_MOST && read_packed_block(decoder, part);
    if (type > BLOCK_PACKED || size > decoder->plain - decoder->made)
        return false;
    if (type == BLOCK_RAW)
        memcpy(decoder->out + decoder->made, part.at, size);
    else
        memset(decoder->out + decoder->made, *part.at, size);
    decoder->made += size;
    return true;
}

static bool read_frame_header(struct bytes *in, size_t plain, bool *has_checksum) {
    struct bytes head, more;
    if (!bytes_part(in, 5, &head) || bytes_get_u32(head.at) != UINT32_C(0xfd2fb528))
        return false;
    const unsigned bits = head.at[4], width = bits >> 6;
    const bool is_single = bits >> 5 & 1;
    *has_checksum = bits >> 2 & 1;
    if (bits & 8 || bits & 3) // reserved, and a dictionary
        return false;
    const size_t window = is_single ? 0 : 1, size = width ? (size_t)1 << width : is_single;
    if (!bytes_part(in, window + size, &more) || (window && *more.at >> 3 > WINDOW_LOG_MOST - 10))
        return false;
    return !size || bytes_number(more.at + window, size) + (width == 1 ? 256 : 0) == plain;
}

static struct decoder *make_decoder(void) {
    struct decoder *decoder = malloc(sizeof *decoder);
    if (!decoder)
        return NULL;
    uint32_t base = 0;
    for (size_t i = 0; i < sizeof literal_bits; base += 1u << literal_bits[i++])
        decoder->literal_base[i] = base;
    base = 3;
    for (size_t i = 0; i < sizeof match_bits; base += 1u << match_bits[i++])
        decoder->match_base[i] = base;
    return decoder;
}

bool unzstd_own(void **state, const void *bytes, size_t size, void *out, size_t plain) {
    struct decoder *decoder = *state;
    struct bytes in = {bytes, (const uint8_t *)bytes + size};
    bool has_checksum, is_last = false;
    if (!decoder && !(*state = decoder = make_decoder()))
        return false;
    for (int i = 0; i < CODES; i++)
        decoder->tables[i].is_set = false;
    decoder->huffman.log = 0;
    decoder->repeated[0] = 1;
    decoder->repeated[1] = 4;
    decoder->repeated[2] = 8;
    decoder->out = out;
    decoder->made = 0;
    decoder->plain = plain;
    if (!read_frame_header(&in, plain, &has_checksum))
        return false;
    while (!is_last)
        if (!read_block(decoder, &in, &is_last))
            return false;
    return decoder->made == plain && bytes_left(&in) == (has_checksum ? 4u : 0u);
}
