// SPDX-License-Identifier: Apache-2.0
// Invariants: a stream was checked for shape when it was opened (counts, lengths, decompressed planes), so
// that unpack_next only has to check what cannot be known before: the vectors of FOR and the indices of
// DICTIONARY. Streams inside hand out the same number of values in the same steps as the one around them.
#include "platform/unzstd.h"
#include "sbt/loops.h"
#include "sbt/packing.h"

bool unpack_zstd(struct scratch *scratch, struct input in, void *out, size_t plain) {
    return unzstd(&scratch->zstd, in.at, input_left(&in), out, plain);
}

static enum unpack_result open_nested(struct stream *stream, struct input *in, uint32_t count,
                                      struct scratch *scratch, unsigned depth);

static enum unpack_result open_child(struct stream **out, struct input *in, uint32_t count,
                                     struct scratch *scratch, unsigned depth) {
    *out = scratch_take(scratch, sizeof **out);
    return *out ? open_nested(*out, in, count, scratch, depth + 1) : UNPACK_DAMAGED;
}

// A stream inside that is wanted as a whole.
static enum unpack_result take_child(uint64_t **out, struct input *in, uint32_t count,
                                     struct scratch *scratch, unsigned depth) {
    struct stream *child;
    enum unpack_result result = open_child(&child, in, count, scratch, depth);
    if (result != UNPACK_OK)
        return result;
    *out = scratch_take(scratch, (size_t)count * sizeof **out);
    return *out && unpack_all(child, *out) ? UNPACK_OK : UNPACK_DAMAGED;
}

static enum unpack_result open_raw(struct stream *stream) {
    uint8_t width;
    if (!input_u8(&stream->body, &width) || (width != 1 && width != 2 && width != 4 && width != 8) ||
        input_left(&stream->body) != (uint64_t)stream->left * width)
        return UNPACK_DAMAGED;
    stream->as.width = width;
    return UNPACK_OK;
}

static enum unpack_result open_plane(struct stream *stream, uint32_t index, struct scratch *scratch) {
    uint8_t encoding, constant;
    struct input part;
    uint64_t length;
    stream->as.planes.plane[index] = NULL;
    if (!input_u8(&stream->body, &encoding))
        return UNPACK_DAMAGED;
    switch (encoding) {
    case PLANE_CONSTANT:
        if (!input_u8(&stream->body, &constant))
            return UNPACK_DAMAGED;
        stream->as.planes.constants |= (uint64_t)constant << 8 * index;
        return UNPACK_OK;
    case PLANE_RAW:
        if (!input_part(&stream->body, stream->left, &part))
            return UNPACK_DAMAGED;
        stream->as.planes.plane[index] = part.at;
        return UNPACK_OK;
    case PLANE_ZSTD: {
        uint8_t *plane = scratch_take(scratch, stream->left);
        if (!plane || !input_varint(&stream->body, &length) || !input_part(&stream->body, length, &part) ||
            !unpack_zstd(scratch, part, plane, stream->left))
            return UNPACK_DAMAGED;
        stream->as.planes.plane[index] = plane;
        return UNPACK_OK;
    }
    default:
        return UNPACK_UNKNOWN;
    }
}

static enum unpack_result open_planes(struct stream *stream, struct scratch *scratch) {
    uint8_t head;
    if (!input_u8(&stream->body, &head) || !input_zigzag(&stream->body, &stream->base))
        return UNPACK_DAMAGED;
    uint32_t count = head & PLANES_COUNT;
    if (count == 0 || count > 8 || (head & ~(PLANES_COUNT | PLANES_ZIGZAG)))
        return UNPACK_DAMAGED;
    stream->as.planes.count = count;
    stream->as.planes.zigzag = (head & PLANES_ZIGZAG) != 0;
    stream->as.planes.at = 0;
    stream->as.planes.constants = 0;
    for (uint32_t i = 0; i < count; i++) {
        enum unpack_result result = open_plane(stream, i, scratch);
        if (result != UNPACK_OK)
            return result;
    }
    return input_left(&stream->body) == 0 ? UNPACK_OK : UNPACK_DAMAGED;
}

static enum unpack_result open_dictionary(struct stream *stream, struct scratch *scratch, unsigned depth) {
    if (!input_count(&stream->body, stream->left, &stream->as.dictionary.count) ||
        stream->as.dictionary.count == 0)
        return UNPACK_DAMAGED;
    enum unpack_result result =
        take_child(&stream->as.dictionary.values, &stream->body, stream->as.dictionary.count, scratch, depth);
    if (result == UNPACK_OK)
        result = open_child(&stream->as.dictionary.indices, &stream->body, stream->left, scratch, depth);
    return result == UNPACK_OK && input_left(&stream->body) ? UNPACK_DAMAGED : result;
}

static enum unpack_result open_runs(struct stream *stream, struct scratch *scratch, unsigned depth) {
    if (!input_count(&stream->body, stream->left, &stream->as.runs.count) || stream->as.runs.count == 0)
        return UNPACK_DAMAGED;
    uint32_t count = stream->as.runs.count;
    enum unpack_result result = take_child(&stream->as.runs.values, &stream->body, count, scratch, depth);
    if (result == UNPACK_OK)
        result = take_child(&stream->as.runs.lengths, &stream->body, count, scratch, depth);
    if (result != UNPACK_OK)
        return result;
    uint64_t total = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (stream->as.runs.lengths[i] >= stream->left)
            return UNPACK_DAMAGED;
        total += ++stream->as.runs.lengths[i];
    }
    stream->as.runs.at = 0;
    stream->as.runs.used = 0;
    return total == stream->left && input_left(&stream->body) == 0 ? UNPACK_OK : UNPACK_DAMAGED;
}

static enum unpack_result open_tick(struct stream *stream, struct scratch *scratch, unsigned depth) {
    if (!input_varint(&stream->body, &stream->as.tick.factor) || stream->as.tick.factor < 2)
        return UNPACK_DAMAGED;
    enum unpack_result result =
        open_child(&stream->as.tick.quotient, &stream->body, stream->left, scratch, depth);
    if (result == UNPACK_OK)
        result = open_child(&stream->as.tick.remainder, &stream->body, stream->left, scratch, depth);
    return result == UNPACK_OK && input_left(&stream->body) ? UNPACK_DAMAGED : result;
}

static const struct log_bucket *make_buckets(struct scratch *scratch, unsigned mantissa) {
    struct log_bucket *buckets = scratch_take(scratch, LOG_BUCKETS * sizeof *buckets);
    for (uint64_t symbol = 0; buckets && symbol < LOG_BUCKETS; symbol++) {
        uint64_t extra = symbol >> mantissa ? (symbol >> mantissa) - 1 : 0;
        uint64_t top = symbol >> mantissa ? (uint64_t)1 << mantissa : 0;
        uint64_t below = symbol & (((uint64_t)1 << mantissa) - 1);
        // Those that no value has are marked by more bits than there are.
        buckets[symbol] = extra + mantissa < 64 ? (struct log_bucket){(top | below) << extra, extra}
                                                : (struct log_bucket){0, 64};
    }
    return buckets;
}

static enum unpack_result open_log(struct stream *stream, struct scratch *scratch, unsigned depth) {
    uint8_t head;
    if (!input_u8(&stream->body, &head) || !input_zigzag(&stream->body, &stream->base) ||
        (head & ~(LOG_MANTISSA | LOG_ZIGZAG)) || (head & LOG_MANTISSA) > LOG_MOST_MANTISSA)
        return UNPACK_DAMAGED;
    stream->as.log.buckets = make_buckets(scratch, head & LOG_MANTISSA);
    stream->as.log.zigzag = (head & LOG_ZIGZAG) != 0;
    stream->as.log.bit = 0;
    return stream->as.log.buckets
               ? open_child(&stream->as.log.symbols, &stream->body, stream->left, scratch, depth)
               : UNPACK_DAMAGED;
}

static enum unpack_result open_bundles(struct stream *stream, struct scratch *scratch, unsigned depth) {
    uint8_t bundle;
    if (!input_u8(&stream->body, &bundle) || (bundle != 2 && bundle != 4 && bundle != 8) ||
        !input_zigzag(&stream->body, &stream->base))
        return UNPACK_DAMAGED;
    stream->as.bundles.bundle = bundle;
    stream->as.bundles.at = 0;
    uint32_t count = (stream->left + bundle - 1) / bundle;
    uint64_t most = 0;
    enum unpack_result result = take_child(&stream->as.bundles.values, &stream->body, count, scratch, depth);
    for (uint32_t i = 0; result == UNPACK_OK && i < count; i++)
        most |= stream->as.bundles.values[i];
    return result == UNPACK_OK && (input_left(&stream->body) || most > 255) ? UNPACK_DAMAGED : result;
}

static enum unpack_result open_nested(struct stream *stream, struct input *in, uint32_t count,
                                      struct scratch *scratch, unsigned depth) {
    uint64_t length;
    if (depth > PACKING_DEPTH || !input_u8(in, &stream->packing) || !input_varint(in, &length) ||
        !input_part(in, length, &stream->body))
        return UNPACK_DAMAGED;
    stream->left = count;
    stream->base = 0;
    switch (stream->packing) {
    case PACKING_CONSTANT:
        return input_zigzag(&stream->body, &stream->base) && input_left(&stream->body) == 0 ? UNPACK_OK
                                                                                            : UNPACK_DAMAGED;
    case PACKING_RAW:
        return open_raw(stream);
    case PACKING_FOR:
        return UNPACK_OK;
    case PACKING_PLANES:
        return open_planes(stream, scratch);
    case PACKING_DICTIONARY:
        return open_dictionary(stream, scratch, depth);
    case PACKING_RUNS:
        return open_runs(stream, scratch, depth);
    case PACKING_TICK:
        return open_tick(stream, scratch, depth);
    case PACKING_LOG:
        return open_log(stream, scratch, depth);
    case PACKING_BUNDLES:
        return open_bundles(stream, scratch, depth);
    default:
        return UNPACK_UNKNOWN;
    }
}

enum unpack_result unpack_open(struct stream *stream, struct input *in, uint32_t count,
                               struct scratch *scratch) {
    return open_nested(stream, in, count, scratch, 1);
}

// ---- handing out

static bool next_for(struct stream *stream, uint64_t *out, uint32_t count) {
    uint8_t head;
    uint64_t base;
    struct input packed;
    if (!input_u8(&stream->body, &head) || !input_zigzag(&stream->body, &base))
        return false;
    unsigned width = head & FOR_WIDTH;
    if (width > 64 || !input_part(&stream->body, bits_bytes(count, width), &packed))
        return false;
    bits_unpack(out, packed.at, count, base, width);
    if (!(head & FOR_EXCEPTIONS))
        return true;
    uint32_t exceptions;
    if (width > 63 || !input_count(&stream->body, count, &exceptions))
        return false;
    uint64_t position = 0;
    for (uint32_t i = 0; i < exceptions; i++, position++) {
        uint64_t skipped, high;
        if (!input_varint(&stream->body, &skipped) || !input_varint(&stream->body, &high) ||
            skipped >= count - position)
            return false;
        position += skipped;
        out[position] += high << width;
    }
    return true;
}

static void next_raw(struct stream *stream, uint64_t *out, uint32_t count) {
    const uint8_t *at = stream->body.at;
    switch (stream->as.width) {
    case 1:
        for (uint32_t i = 0; i < count; i++)
            out[i] = at[i];
        break;
    case 2:
        for (uint32_t i = 0; i < count; i++)
            out[i] = bytes_get_u16(at + 2 * (size_t)i);
        break;
    case 4:
        for (uint32_t i = 0; i < count; i++)
            out[i] = bytes_get_u32(at + 4 * (size_t)i);
        break;
    default:
        memcpy(out, at, count * sizeof *out);
    }
    stream->body.at += (size_t)count * stream->as.width;
}

static void next_planes(struct stream *stream, uint64_t *out, uint32_t count) {
    uint32_t at = stream->as.planes.at;
    const uint8_t *const *planes = stream->as.planes.plane;
    stream->as.planes.at += count;
    uint32_t next = 0;
    if (stream->as.planes.count >= 2 && planes[0] && planes[1]) {
        loops()->two_planes(out, planes[0] + at, planes[1] + at, count, stream->as.planes.constants);
        next = 2;
    } else {
        loops()->fill64(out, stream->as.planes.constants, count);
    }
    // The higher ones hold the rare large values: most stretches of them are all zero.
    for (; next < stream->as.planes.count; next++)
        if (planes[next] && loops()->greatest8(planes[next] + at, count))
            loops()->put_plane(out, planes[next] + at, count, next);
    if (stream->as.planes.zigzag)
        loops()->unzigzag(out, count);
    if (stream->base)
        loops()->add_one(out, stream->base, count);
}

static bool next_dictionary(struct stream *stream, uint64_t *out) {
    uint32_t count = unpack_next(stream->as.dictionary.indices, out);
    for (uint32_t i = 0; i < count; i++) {
        if (out[i] >= stream->as.dictionary.count)
            return false;
        out[i] = stream->as.dictionary.values[out[i]];
    }
    return count != 0;
}

static void next_runs(struct stream *stream, uint64_t *out, uint32_t count) {
    uint32_t filled = 0;
    while (filled < count) {
        uint64_t rest = stream->as.runs.lengths[stream->as.runs.at] - stream->as.runs.used;
        uint64_t value = stream->as.runs.values[stream->as.runs.at];
        uint32_t now = rest < count - filled ? (uint32_t)rest : count - filled;
        for (uint32_t i = 0; i < now; i++)
            out[filled + i] = value;
        filled += now;
        stream->as.runs.used += now;
        if (now == rest) {
            stream->as.runs.at++;
            stream->as.runs.used = 0;
        }
    }
}

static bool next_tick(struct stream *stream, uint64_t *out) {
    uint64_t remainders[SBT_VECTOR];
    uint32_t count = unpack_next(stream->as.tick.quotient, out);
    if (count == 0 || unpack_next(stream->as.tick.remainder, remainders) != count)
        return false;
    for (uint32_t i = 0; i < count; i++)
        out[i] = out[i] * stream->as.tick.factor + remainders[i];
    return true;
}

// `extra` bits (below 64) from there on; up to 8 bytes beyond the byte they begin in are read.
static uint64_t bits_at(const uint8_t *bytes, uint64_t bit, uint64_t extra) {
    uint64_t bits = bytes_get_u64(bytes + bit / 8) >> bit % 8;
    if (__builtin_expect(extra > 56, 0) && bit % 8)
        bits |= (uint64_t)bytes[bit / 8 + 8] << (64 - bit % 8);
    return bits & (((uint64_t)1 << extra) - 1);
}

static bool next_log(struct stream *stream, uint64_t *out) {
    uint64_t bit = stream->as.log.bit, end = (uint64_t)input_left(&stream->body) * 8, needed = 0;
    const struct log_bucket *buckets = stream->as.log.buckets;
    uint32_t count = unpack_next(stream->as.log.symbols, out);
    for (uint32_t i = 0; i < count; i++) {
        if (out[i] >= LOG_BUCKETS || buckets[out[i]].extra > 63)
            return false;
        needed += buckets[out[i]].extra;
    }
    if (count == 0 || needed > end - bit)
        return false;
    for (uint32_t i = 0; i < count; i++) {
        struct log_bucket bucket = buckets[out[i]];
        out[i] = bucket.value | bits_at(stream->body.at, bit, bucket.extra);
        bit += bucket.extra;
    }
    stream->as.log.bit = bit;
    if (stream->as.log.zigzag)
        loops()->unzigzag(out, count);
    if (stream->base)
        loops()->add_one(out, stream->base, count);
    return true;
}

static void next_bundles(struct stream *stream, uint64_t *out, uint32_t count) {
    unsigned bundle = stream->as.bundles.bundle, width = 8 / bundle;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t at = stream->as.bundles.at + i;
        uint64_t value = stream->as.bundles.values[at / bundle] >> width * (at % bundle);
        out[i] = stream->base + (value & ((1u << width) - 1));
    }
    stream->as.bundles.at += count;
}

uint32_t unpack_next(struct stream *stream, uint64_t out[SBT_VECTOR]) {
    uint32_t count = stream->left < SBT_VECTOR ? stream->left : SBT_VECTOR;
    bool ok = true;
    switch (stream->packing) {
    case PACKING_CONSTANT:
        loops()->fill64(out, stream->base, count);
        break;
    case PACKING_RAW:
        next_raw(stream, out, count);
        break;
    case PACKING_FOR:
        ok = next_for(stream, out, count);
        break;
    case PACKING_PLANES:
        next_planes(stream, out, count);
        break;
    case PACKING_DICTIONARY:
        ok = next_dictionary(stream, out);
        break;
    case PACKING_RUNS:
        next_runs(stream, out, count);
        break;
    case PACKING_LOG:
        ok = next_log(stream, out);
        break;
    case PACKING_BUNDLES:
        next_bundles(stream, out, count);
        break;
    default:
        ok = next_tick(stream, out);
    }
    stream->left -= count;
    if (stream->left == 0 && stream->packing == PACKING_FOR && input_left(&stream->body))
        ok = false; // bytes that belong to nothing
    if (stream->left == 0 && stream->packing == PACKING_LOG &&
        input_left(&stream->body) != (stream->as.log.bit + 7) / 8)
        ok = false;
    return ok ? count : 0;
}

bool unpack_all(struct stream *stream, uint64_t *out) {
    while (stream->left) {
        uint32_t count = unpack_next(stream, out);
        if (count == 0)
            return false;
        out += count;
    }
    return true;
}
