// SPDX-License-Identifier: Apache-2.0
// A split unit becomes a plain one without a byte being moved within it, since its entries refer to one another by
// their distance from its header. A plain unit additionally has the address to which its ranges are relative, 8
// bytes, and there is room for exactly those:
//
//     DWARF 5   header 12 | id 8 | code | values       -->   header 12 | code | low_pc 8 | values
//     DWARF 4   header 11 | code | .. | GNU_dwo_id 8 | ..   -->   the id becomes low_pc
//
// The declaration of the unit's entry in .debug_abbrev is rewritten accordingly. Everything the unit refers to by an index
// is in a section of its own that begins where the unit's part does, so that its missing bases equal libdw's defaults.
#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "symbols/split.h"

enum { HEADER_4 = 11, HEADER_5 = 20, ID_AT = 12, LEB_MAX = 10 };

struct cursor {
    const uint8_t *at, *end;
    bool failed;
};

static uint64_t take_leb(struct cursor *cursor) {
    uint64_t value = 0;
    for (unsigned shift = 0; cursor->at < cursor->end && shift < 64; shift += 7) {
        uint8_t byte = *cursor->at++;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80))
            return value;
    }
    cursor->failed = true;
    return 0;
}

static void skip(struct cursor *cursor, uint64_t size) {
    if (size > (uint64_t)(cursor->end - cursor->at))
        cursor->failed = true;
    else
        cursor->at += size;
}

size_t symbols_split_unit_size(const uint8_t *info, size_t size) {
    if (size < HEADER_4)
        return 0;
    uint64_t length = bytes_get_u32(info) + UINT64_C(4); // 64-bit DWARF begins with 0xffffffff: not read
    unsigned version = bytes_get_u16(info + 4);
    bool known = (version == 4 && length > HEADER_4 && info[10] == 8) ||
                 (version == 5 && length > HEADER_5 && info[7] == 8);
    return length <= size && known ? (size_t)length : 0;
}

uint64_t symbols_split_unit_declared(const uint8_t *info) {
    return bytes_get_u32(info + (bytes_get_u16(info + 4) == 5 ? 8 : 6));
}

// ---- the declaration of the unit's entry

struct declaration {
    uint64_t code, tag;
    size_t code_size; // in the unit
    const uint8_t *start, *attributes, *end;
    bool children;
};

// Goes over pairs of attribute and form; false when they end.
static bool take_attribute(struct cursor *abbrev, uint64_t *attribute, uint64_t *form) {
    *attribute = take_leb(abbrev);
    *form = take_leb(abbrev);
    if (*form == DW_FORM_implicit_const)
        (void)take_leb(abbrev);
    return !abbrev->failed && (*attribute || *form);
}

static bool find_declaration(const struct symbols_split_parts *parts, size_t entry_at,
                             struct declaration *declaration) {
    struct cursor unit = {parts->info + entry_at, parts->info + parts->info_size, false};
    struct cursor abbrev = {parts->abbrev.bytes, parts->abbrev.bytes + parts->abbrev.size, false};
    uint64_t wanted = take_leb(&unit), attribute, form;
    declaration->code_size = (size_t)(unit.at - (parts->info + entry_at));
    while (!unit.failed && wanted && !abbrev.failed) {
        declaration->start = abbrev.at;
        declaration->code = take_leb(&abbrev);
        if (!declaration->code)
            break;
        declaration->tag = take_leb(&abbrev);
        declaration->children = abbrev.at < abbrev.end && *abbrev.at;
        skip(&abbrev, 1);
        declaration->attributes = abbrev.at;
        while (take_attribute(&abbrev, &attribute, &form))
            continue;
        declaration->end = abbrev.at;
        if (declaration->code == wanted)
            return !abbrev.failed && declaration->tag == DW_TAG_compile_unit;
    }
    return false;
}

// Steps over a value of the unit's entry.
static void skip_value(struct cursor *unit, uint64_t form) {
    switch (form) {
    case DW_FORM_flag_present:
    case DW_FORM_implicit_const:
        return;
    case DW_FORM_data1:
    case DW_FORM_flag:
    case DW_FORM_strx1:
    case DW_FORM_addrx1:
        skip(unit, 1);
        return;
    case DW_FORM_data2:
    case DW_FORM_strx2:
    case DW_FORM_addrx2:
        skip(unit, 2);
        return;
    case DW_FORM_data4:
    case DW_FORM_sec_offset:
    case DW_FORM_strp:
    case DW_FORM_strx4:
    case DW_FORM_addrx4:
        skip(unit, 4);
        return;
    case DW_FORM_data8:
    case DW_FORM_addr:
        skip(unit, 8);
        return;
    case DW_FORM_udata:
    case DW_FORM_sdata:
    case DW_FORM_strx:
    case DW_FORM_addrx:
    case DW_FORM_rnglistx:
    case DW_FORM_GNU_str_index:
    case DW_FORM_GNU_addr_index:
        (void)take_leb(unit);
        return;
    default: // none that compilers give to a unit
        unit->failed = true;
    }
}

// Where the id is among the values of a DWARF 4 unit's entry, NULL when it has none; and its pair in the declaration.
static uint8_t *find_id(const struct symbols_split_parts *parts, const struct declaration *declaration,
                        const uint8_t **pair) {
    struct cursor unit = {parts->info + HEADER_4 + declaration->code_size, parts->info + parts->info_size,
                          false};
    struct cursor abbrev = {declaration->attributes, declaration->end, false};
    uint64_t attribute, form;
    for (*pair = abbrev.at; take_attribute(&abbrev, &attribute, &form) && !unit.failed; *pair = abbrev.at) {
        if (attribute == DW_AT_GNU_dwo_id)
            return form == DW_FORM_data8 && unit.end - unit.at >= 8 ? parts->info + (unit.at - parts->info)
                                                                    : NULL;
        skip_value(&unit, form);
    }
    return NULL;
}

bool symbols_split_unit_is(const struct symbols_split_parts *parts, uint64_t id) {
    struct declaration declaration;
    const uint8_t *pair;
    if (bytes_get_u16(parts->info + 4) == 5)
        return parts->info[6] == DW_UT_split_compile && bytes_get_u64(parts->info + ID_AT) == id;
    if (!find_declaration(parts, HEADER_4, &declaration))
        return false;
    const uint8_t *at = find_id(parts, &declaration, &pair);
    return at && bytes_get_u64(at) == id;
}

// ---- writing

struct writer {
    uint8_t *bytes;
    size_t size;
};

static void put_leb(struct writer *writer, uint64_t value) {
    do {
        writer->bytes[writer->size++] = (uint8_t)((value & 0x7f) | (value > 0x7f ? 0x80u : 0));
    } while (value >>= 7);
}

static void write_range(struct writer *writer, const uint8_t *from, const uint8_t *to) {
    if (to > from)
        memcpy(writer->bytes + writer->size, from, (size_t)(to - from));
    writer->size += (size_t)(to - from);
}

// The table with the unit's declaration first, then all others. `pair` is what becomes low_pc (DWARF 4), or NULL.
static uint8_t *declare(const struct symbols_split_parts *parts, const struct declaration *declaration,
                        const uint8_t *pair, size_t *size) {
    struct writer writer = {malloc(parts->abbrev.size + 4 * LEB_MAX), 0};
    const uint8_t *attributes = declaration->attributes;
    if (!writer.bytes)
        return NULL;
    put_leb(&writer, declaration->code);
    put_leb(&writer, declaration->tag);
    writer.bytes[writer.size++] = declaration->children;
    if (pair) {
        struct cursor cursor = {pair, declaration->end, false};
        uint64_t attribute, form;
        write_range(&writer, attributes, pair);
        (void)take_attribute(&cursor, &attribute, &form);
        attributes = cursor.at;
    }
    put_leb(&writer, DW_AT_low_pc);
    put_leb(&writer, DW_FORM_addr);
    write_range(&writer, attributes, declaration->end);
    write_range(&writer, parts->abbrev.bytes, declaration->start);
    write_range(&writer, declaration->end, parts->abbrev.bytes + parts->abbrev.size);
    *size = writer.size;
    return writer.bytes;
}

static void put_u64(uint8_t *at, uint64_t value) {
    memcpy(at, &value, sizeof value);
}

// The unit's header and entry. NULL: there is no room for the base.
static uint8_t *change_unit(const struct symbols_split_parts *parts, uint64_t base, size_t *abbrev_size) {
    struct declaration declaration;
    bool five = bytes_get_u16(parts->info + 4) == 5;
    const uint8_t *pair = NULL;
    uint8_t *id = NULL;
    if (!find_declaration(parts, five ? HEADER_5 : HEADER_4, &declaration) ||
        (!five && !(id = find_id(parts, &declaration, &pair))))
        return NULL;
    uint8_t *abbrev = declare(parts, &declaration, pair, abbrev_size);
    if (five) {
        parts->info[6] = DW_UT_compile;
        memset(parts->info + 8, 0, 4); // where its declarations are
        memmove(parts->info + ID_AT, parts->info + HEADER_5, declaration.code_size);
        put_u64(parts->info + ID_AT + declaration.code_size, base);
    } else {
        memset(parts->info + 6, 0, 4);
        put_u64(id, base);
    }
    return abbrev;
}

// ---- strings

// Copies only the unit's strings of a package, with adjusted offsets. The output is never larger than all strings,
// however often one is referred to.
static bool gather(const struct symbols_split_parts *parts, bool five, uint8_t *offsets, struct writer *str) {
    size_t at = five ? 8 : 0, most = parts->str.size + 1;
    str->bytes = malloc(most);
    if (!str->bytes)
        return false;
    str->bytes[str->size++] = 0;
    for (; at + 4 <= parts->str_offsets.size; at += 4) {
        uint32_t from = bytes_get_u32(offsets + at), to = 0;
        const uint8_t *string = from < parts->str.size ? parts->str.bytes + from : NULL;
        const uint8_t *end = string ? memchr(string, 0, parts->str.size - from) : NULL;
        if (end && (size_t)(end - string) < most - str->size) {
            to = (uint32_t)str->size;
            write_range(str, string, end + 1);
        }
        memcpy(offsets + at, &to, sizeof to);
    }
    return true;
}

struct symbols_image symbols_split_unit_make(const struct symbols_split_parts *parts,
                                             const struct symbols_skeleton *skeleton, uint16_t machine) {
    struct symbols_bytes sections[SYMBOLS_SECTIONS] = {{0}};
    struct symbols_image image = {0};
    struct writer str = {0};
    size_t abbrev_size = 0;
    bool five = bytes_get_u16(parts->info + 4) == 5;
    uint8_t *offsets = malloc(parts->str_offsets.size + 1);
    uint8_t *abbrev = offsets ? change_unit(parts, skeleton->base, &abbrev_size) : NULL;
    if (abbrev && parts->str_offsets.size)
        memcpy(offsets, parts->str_offsets.bytes, parts->str_offsets.size);
    if (abbrev && gather(parts, five, offsets, &str)) {
        sections[SYMBOLS_INFO] = (struct symbols_bytes){parts->info, parts->info_size};
        sections[SYMBOLS_ABBREV] = (struct symbols_bytes){abbrev, abbrev_size};
        sections[SYMBOLS_STR] = (struct symbols_bytes){str.bytes, str.size};
        sections[SYMBOLS_STR_OFFSETS] = (struct symbols_bytes){offsets, parts->str_offsets.size};
        sections[SYMBOLS_RNGLISTS] = parts->rnglists;
        sections[SYMBOLS_RANGES] = skeleton->ranges;
        sections[SYMBOLS_ADDR] = skeleton->addresses;
        image = symbols_image_of(sections, machine);
    }
    free(str.bytes);
    free(abbrev);
    free(offsets);
    return image;
}
