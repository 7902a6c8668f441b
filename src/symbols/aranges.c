// SPDX-License-Identifier: Apache-2.0
// Reads .debug_aranges, the ranges of addresses of each unit. dwarf_info.c calls it.
#include "symbols/aranges.h"

#include "base/bytes.h"

enum { VERSION = 2, ADDRESS = 8, PAIR = 2 * ADDRESS };

// One set: its header, zeros up to a multiple of a pair, pairs, and a pair of zeros.
static bool read_set(const uint8_t *set, size_t end, size_t offset_size, symbols_arange_function *take,
                     void *context) {
    size_t at = offset_size == 4 ? 6 : 14, header = at + offset_size + 2;
    if (end < header || bytes_get_u16(set + at - 2) != VERSION || set[header - 2] != ADDRESS ||
        set[header - 1] != 0)
        return false;
    uint64_t unit = offset_size == 4 ? bytes_get_u32(set + at) : bytes_get_u64(set + at);
    for (at = (header + PAIR - 1) / PAIR * PAIR; at <= end && end - at >= PAIR; at += PAIR) {
        uint64_t start = bytes_get_u64(set + at), length = bytes_get_u64(set + at + ADDRESS);
        if (start > UINT64_MAX - length)
            return false;
        if (length && !take(context, unit, start, start + length))
            return false;
    }
    return true;
}

bool symbols_aranges_read(const uint8_t *bytes, size_t size, symbols_arange_function *take, void *context) {
    while (size) {
        size_t before = 4;
        if (size < before)
            return false;
        uint64_t length = bytes_get_u32(bytes);
        if (length == UINT32_MAX) {
            before = 12;
            if (size < before)
                return false;
            length = bytes_get_u64(bytes + 4);
        }
        if (length > size - before ||
            !read_set(bytes, before + (size_t)length, before == 4 ? 4 : 8, take, context))
            return false;
        bytes += before + (size_t)length;
        size -= before + (size_t)length;
    }
    return true;
}
