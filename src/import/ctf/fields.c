// SPDX-License-Identifier: Apache-2.0
// Decodes a field by its class, and keeps its value: as a field of the record, or as JSON where it is in an array. Nothing of the stream is
// trusted: every length is compared with what is left of the packet.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash.h"
#include "base/json.h"
#include "import/ctf/ctf.h"

enum { NAME_SIZE = 256 };

static bool fail(struct ctf *ctf, const char *problem) {
    if (!ctf->bits.problem)
        ctf->bits.problem = problem;
    return false;
}

// ---- bits

static bool align(struct ctf *ctf, uint64_t alignment) {
    struct ctf_bits *bits = &ctf->bits;
    const uint64_t at = (bits->at + alignment - 1) & ~(alignment - 1);
    if (at > bits->end) {
        bits->short_of = true;
        return fail(ctf, "a field is not within its packet");
    }
    bits->at = at;
    return true;
}

static bool has_bits(struct ctf *ctf, uint64_t count) {
    if (count <= ctf->bits.end - ctf->bits.at)
        return true;
    ctf->bits.short_of = true;
    return fail(ctf, "a field is not within its packet");
}

// Up to 64 bits, whole bytes of a little or big machine at once.
static uint64_t take_bits(struct ctf_bits *bits, const struct ctf_class *of, uint64_t length) {
    uint64_t value = 0;
    if ((bits->at | length) % 8 == 0 && of->big == of->last_to_first) {
        const uint8_t *at = bits->bytes + bits->at / 8;
        const uint64_t bytes = length / 8;
        for (uint64_t i = 0; i < bytes; i++)
            value = value << 8 | at[of->big ? i : bytes - 1 - i];
        bits->at += length;
        return value;
    }
    for (uint64_t i = 0; i < length; i++, bits->at++) {
        const unsigned shift = (unsigned)(of->big ? 7 - bits->at % 8 : bits->at % 8);
        const uint64_t bit = bits->bytes[bits->at / 8] >> shift & 1;
        value |= bit << (of->last_to_first ? length - 1 - i : i);
    }
    return value;
}

static bool take_leb128(struct ctf *ctf, bool is_signed, uint64_t *out, uint64_t *used) {
    uint64_t value = 0;
    for (unsigned shift = 0;; shift += 7) {
        if (!has_bits(ctf, 8))
            return false;
        const uint8_t byte = ctf->bits.bytes[ctf->bits.at / 8];
        ctf->bits.at += 8;
        if (shift < 64)
            value |= (uint64_t)(byte & 0x7f) << shift;
        if (shift > 70)
            return fail(ctf, "a number has more than 64 bits");
        if (byte < 0x80) {
            if (is_signed && byte & 0x40 && shift + 7 < 64)
                value |= ~UINT64_C(0) << (shift + 7);
            *used = shift + 7;
            *out = value;
            return true;
        }
    }
}

// ---- JSON

static char *text_room(struct ctf *ctf, size_t more) {
    if (!ARRAY_RESERVE(ctf->text, ctf->text_capacity, ctf->text_used + more)) {
        ctf->rows.failed = true;
        return NULL;
    }
    return ctf->text + ctf->text_used;
}

static void text_put(struct ctf *ctf, const char *bytes, size_t length) {
    char *room = text_room(ctf, length);
    if (!room)
        return;
    memcpy(room, bytes, length);
    ctf->text_used += length;
}

static void text_string(struct ctf *ctf, const char *bytes, size_t length) {
    text_put(ctf, "\"", 1);
    for (size_t i = 0; i < length;) {
        const unsigned char c = (unsigned char)bytes[i];
        const unsigned size = c < 0x20 || c == '"' || c == '\\' ? 0 : json_utf8_length(bytes + i, length - i);
        char escaped[8];
        if (size)
            text_put(ctf, bytes + i, size);
        else
            text_put(ctf, escaped,
                     (size_t)snprintf(escaped, sizeof escaped, "\\u%04x", c < 0x80 ? c : 0xfffdu));
        i += size ? size : 1;
    }
    text_put(ctf, "\"", 1);
}

// ---- values

static void keep_value(struct ctf *ctf, const char *prefix, const char *name, tsmith_type type,
                       uint64_t bits) {
    char text[NAME_SIZE];
    const int length = snprintf(text, sizeof text, "%s%s", prefix, name);
    const uint64_t key =
        hash_bytes(text, length < (int)sizeof text ? (size_t)length : sizeof text - 1) ^ (uint64_t)type;
    uint64_t *field = table_add(&ctf->fields, key, NULL);
    struct ctf_value *value = ARRAY_PUSH(ctf->values, ctf->value_count, ctf->value_capacity);
    if (field && !*field) {
        *field = tsmith_dictionary_field(ctf->rows.dictionary, text, type, "");
        if (strcmp(text, "context.vtid") == 0 || strcmp(text, "context.tid") == 0)
            ctf->tid_field = (uint32_t)*field;
        if (strcmp(text, "context.vpid") == 0 || strcmp(text, "context.pid") == 0)
            ctf->pid_field = (uint32_t)*field;
    }
    if (!field || !*field || !value)
        ctf->rows.failed = true;
    if (value)
        *value = (struct ctf_value){field ? (uint32_t)*field : 0, type, bits};
}

static void keep_text(struct ctf *ctf, const struct ctf_keep *keep, const char *name, const char *bytes,
                      size_t length) {
    if (keep->json)
        text_string(ctf, bytes, length);
    else if (keep->prefix)
        keep_value(ctf, keep->prefix, name, TSMITH_TYPE_STRING,
                   tsmith_dictionary_intern(ctf->rows.dictionary, bytes, length));
}

bool ctf_in_ranges(const struct ctf_range *ranges, size_t count, uint64_t bits, bool is_signed) {
    for (size_t i = 0; i < count; i++)
        if (is_signed ? (int64_t)bits >= ranges[i].from && (int64_t)bits <= ranges[i].to
                      : bits >= (uint64_t)ranges[i].from && bits <= (uint64_t)ranges[i].to)
            return true;
    return false;
}

// The names of a number (or of the bits of a bit map), in a field next to it.
static void keep_names(struct ctf *ctf, const struct ctf_class *of, const struct ctf_keep *keep,
                       const char *name, uint64_t bits, bool is_signed) {
    char label[NAME_SIZE];
    const size_t from = ctf->text_used;
    for (size_t i = 0; i < of->mapping_count; i++) {
        const struct ctf_member *mapping = &of->mappings[i];
        bool active =
            of->type != CTF_MAP && ctf_in_ranges(mapping->ranges, mapping->range_count, bits, is_signed);
        for (uint64_t bit = 0; of->type == CTF_MAP && bit < 64; bit++)
            active = active ||
                     (bits >> bit & 1 && ctf_in_ranges(mapping->ranges, mapping->range_count, bit, false));
        if (!active)
            continue;
        const tsmith_string text = tsmith_dictionary_string(ctf->rows.dictionary, mapping->name);
        if (ctf->text_used > from)
            text_put(ctf, "|", 1);
        text_put(ctf, text.bytes ? text.bytes : "", text.length);
    }
    if (ctf->text_used > from && !ctf->rows.failed) {
        (void)snprintf(label, sizeof label, "%s.name", name);
        keep_value(ctf, keep->prefix, label, TSMITH_TYPE_STRING,
                   tsmith_dictionary_intern(ctf->rows.dictionary, ctf->text + from, ctf->text_used - from));
    }
    ctf->text_used = from;
}

static void keep_number(struct ctf *ctf, const struct ctf_class *of, const struct ctf_keep *keep,
                        const char *name, uint64_t bits, tsmith_type type) {
    char text[32];
    if (keep->json) {
        const int length = type == TSMITH_TYPE_BOOL  ? snprintf(text, sizeof text, bits ? "true" : "false")
                           : type == TSMITH_TYPE_I64 ? snprintf(text, sizeof text, "%" PRId64, (int64_t)bits)
                                                     : snprintf(text, sizeof text, "%" PRIu64, bits);
        text_put(ctf, text, (size_t)length);
    } else if (keep->prefix && !of->roles) {
        keep_value(ctf, keep->prefix, name, type, bits);
        if (of->mapping_count)
            keep_names(ctf, of, keep, name, bits, type == TSMITH_TYPE_I64);
    }
}

static void keep_double(struct ctf *ctf, const struct ctf_keep *keep, const char *name, double value) {
    char text[40];
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    if (keep->json) {
        // JSON has no infinity.
        const int length = value - value == 0 ? snprintf(text, sizeof text, "%.17g", value)
                                              : snprintf(text, sizeof text, "\"%g\"", value);
        text_put(ctf, text, (size_t)length);
    } else if (keep->prefix) {
        keep_value(ctf, keep->prefix, name, TSMITH_TYPE_F64, bits);
    }
}

// What others depend on, roles, and the clock.
static void note_number(struct ctf *ctf, const struct ctf_class *of, uint64_t bits, uint64_t length,
                        bool is_signed) {
    if (of->slot)
        ctf->slots[of->slot] = (struct ctf_slot){bits, ctf->stamp, is_signed};
    for (unsigned role = 0; of->roles && role < CTF_ROLE_COUNT; role++)
        if (of->roles >> role & 1) {
            ctf->roles.known[role] = true;
            ctf->roles.values[role] = bits;
        }
    if (!(of->roles >> CTF_ROLE_TIMESTAMP & 1))
        return;
    // A shorter field has the lower bits of the clock.
    const uint64_t mask = length >= 64 ? UINT64_MAX : (UINT64_C(1) << length) - 1;
    const uint64_t high = ctf->clock & ~mask;
    ctf->clock = bits >= (ctf->clock & mask) ? high + bits : high + mask + 1 + bits;
}

// ---- fixed lengths

static double half(uint64_t bits) {
    const int exponent = (int)(bits >> 10 & 31);
    const double mantissa = (double)(bits & 1023), sign = bits >> 15 & 1 ? -1 : 1;
    double value = exponent == 31 ? (mantissa != 0 ? __builtin_nan("") : __builtin_inf())
                                  : __builtin_ldexp(exponent ? 1024 + mantissa : mantissa,
                                                    (exponent ? exponent : 1) - 25);
    return sign * value;
}

static void decode_float(struct ctf *ctf, struct ctf_class *of, const struct ctf_keep *keep,
                         const char *name) {
    const uint64_t bits = take_bits(&ctf->bits, of, of->length);
    const uint32_t word = (uint32_t)bits;
    double value;
    float single;
    memcpy(&value, &bits, sizeof value);
    memcpy(&single, &word, sizeof single);
    keep_double(ctf, keep, name, of->length == 64 ? value : of->length == 32 ? (double)single : half(bits));
}

// More than 64 bits: as text of ones and zeros, the highest bit first.
static bool decode_wide(struct ctf *ctf, struct ctf_class *of, const struct ctf_keep *keep,
                        const char *name) {
    char text[4096];
    bool any = false;
    for (uint64_t i = 0; i < of->length; i++) {
        const bool bit = take_bits(&ctf->bits, of, 1) != 0;
        any |= bit;
        text[of->last_to_first ? i : of->length - 1 - i] = bit ? '1' : '0';
    }
    if (of->type == CTF_BOOLEAN) {
        note_number(ctf, of, any, 1, false);
        keep_number(ctf, of, keep, name, any, TSMITH_TYPE_BOOL);
        return true;
    }
    if (of->slot || of->roles)
        return fail(ctf, "a number that is needed has more than 64 bits");
    keep_text(ctf, keep, name, text, (size_t)of->length);
    return true;
}

static bool decode_bits(struct ctf *ctf, struct ctf_class *of, const struct ctf_keep *keep,
                        const char *name) {
    if (!has_bits(ctf, of->length))
        return false;
    if (of->length > 64)
        return decode_wide(ctf, of, keep, name);
    if (of->type == CTF_FLOAT) {
        if (of->length != 16 && of->length != 32 && of->length != 64)
            return fail(ctf, "a floating point number has a length that CTF does not have");
        decode_float(ctf, of, keep, name);
        return true;
    }
    uint64_t bits = take_bits(&ctf->bits, of, of->length);
    if (of->type == CTF_SIGNED && of->length < 64 && bits >> (of->length - 1) & 1)
        bits |= ~UINT64_C(0) << of->length;
    if (of->type == CTF_BOOLEAN)
        bits = bits != 0;
    note_number(ctf, of, bits, of->length, of->type == CTF_SIGNED);
    keep_number(ctf, of, keep, name, bits,
                of->type == CTF_SIGNED    ? TSMITH_TYPE_I64
                : of->type == CTF_BOOLEAN ? TSMITH_TYPE_BOOL
                                          : TSMITH_TYPE_U64);
    return true;
}

static bool decode_variable(struct ctf *ctf, struct ctf_class *of, const struct ctf_keep *keep,
                            const char *name) {
    const bool is_signed = of->type == CTF_VAR_SIGNED;
    uint64_t bits, used;
    if (!take_leb128(ctf, is_signed, &bits, &used))
        return false;
    note_number(ctf, of, bits, used, is_signed);
    keep_number(ctf, of, keep, name, bits, is_signed ? TSMITH_TYPE_I64 : TSMITH_TYPE_U64);
    return true;
}

// ---- texts and bytes

static uint32_t unit_at(const uint8_t *at, const struct ctf_class *of) {
    uint32_t value = 0;
    for (unsigned i = 0; i < of->unit; i++)
        value |= (uint32_t)at[i] << 8 * (of->big ? of->unit - 1u - i : i);
    return value;
}

static size_t put_utf8(char *at, uint32_t point) {
    if (point > 0x10ffff || (point >= 0xd800 && point < 0xe000))
        point = 0xfffd;
    if (point < 0x80) {
        at[0] = (char)point;
        return 1;
    }
    const size_t more = point < 0x800 ? 1 : point < 0x10000 ? 2 : 3;
    static const uint8_t leads[] = {0, 0xc0, 0xe0, 0xf0};
    at[0] = (char)(leads[more] | point >> 6 * more);
    for (size_t i = 1; i <= more; i++)
        at[i] = (char)(0x80 | (point >> 6 * (more - i) & 0x3f));
    return more + 1;
}

// `length` bytes in UTF-16 or UTF-32.
static void keep_wide_text(struct ctf *ctf, struct ctf_class *of, const struct ctf_keep *keep,
                           const char *name, const uint8_t *at, uint64_t length) {
    char *text = malloc(length * 2 + 4);
    size_t used = 0;
    ctf->rows.failed |= !text;
    for (uint64_t i = 0; text && i + of->unit <= length; i += of->unit) {
        uint32_t point = unit_at(at + i, of);
        if (of->unit == 2 && point >= 0xd800 && point < 0xdc00 && i + 4 <= length) {
            const uint32_t low = unit_at(at + i + 2, of);
            if (low >= 0xdc00 && low < 0xe000) {
                point = 0x10000 + ((point - 0xd800) << 10) + (low - 0xdc00);
                i += 2;
            }
        }
        used += put_utf8(text + used, point);
    }
    if (text)
        keep_text(ctf, keep, name, text, used);
    free(text);
}

static void keep_units(struct ctf *ctf, struct ctf_class *of, const struct ctf_keep *keep, const char *name,
                       const uint8_t *at, uint64_t length) {
    if (!keep->prefix && !keep->json)
        return;
    if (of->unit == 1)
        keep_text(ctf, keep, name, (const char *)at, (size_t)length);
    else
        keep_wide_text(ctf, of, keep, name, at, length);
}

static bool decode_terminated(struct ctf *ctf, struct ctf_class *of, const struct ctf_keep *keep,
                              const char *name) {
    const uint8_t *from = ctf->bits.bytes + ctf->bits.at / 8;
    for (uint64_t length = 0;; length += of->unit) {
        if (!has_bits(ctf, 8u * of->unit))
            return false;
        ctf->bits.at += 8u * of->unit;
        if (unit_at(from + length, of) == 0) {
            keep_units(ctf, of, keep, name, from, length);
            return true;
        }
    }
}

static bool decode_text(struct ctf *ctf, struct ctf_class *of, const struct ctf_keep *keep, const char *name,
                        uint64_t length) {
    const uint8_t *from = ctf->bits.bytes + ctf->bits.at / 8;
    uint64_t used = 0;
    if (length > UINT64_MAX / 8 || !has_bits(ctf, length * 8))
        return fail(ctf, "a text is not within its packet");
    while (used + of->unit <= length && unit_at(from + used, of) != 0)
        used += of->unit;
    ctf->bits.at += length * 8;
    keep_units(ctf, of, keep, name, from, used);
    return true;
}

static bool decode_blob(struct ctf *ctf, struct ctf_class *of, const struct ctf_keep *keep, const char *name,
                        uint64_t length) {
    static const char digits[] = "0123456789abcdef";
    const uint8_t *from = ctf->bits.bytes + ctf->bits.at / 8;
    if (length > UINT64_MAX / 16 || !has_bits(ctf, length * 8))
        return fail(ctf, "bytes are not within their packet");
    ctf->bits.at += length * 8;
    if (of->roles >> CTF_ROLE_UUID & 1)
        ctf->roles.known[CTF_ROLE_UUID] = length == 16 && ctf->has_uuid && memcmp(from, ctf->uuid, 16) == 0;
    if (!keep->prefix && !keep->json)
        return true;
    char *text = malloc(2 * length + 1);
    ctf->rows.failed |= !text;
    for (uint64_t i = 0; text && i < length; i++) {
        text[2 * i] = digits[from[i] >> 4];
        text[2 * i + 1] = digits[from[i] & 15];
    }
    if (text)
        keep_text(ctf, keep, name, text, 2 * length);
    free(text);
    return true;
}

// ---- fields that depend on others

static bool needed(struct ctf *ctf, const struct ctf_class *of, struct ctf_slot *out) {
    const struct ctf_slot *slot = &ctf->slots[of->needs];
    if (!of->needs || !slot->stamp || (slot->stamp != ctf->packet_stamp && slot->stamp != ctf->record_stamp))
        return fail(ctf, "a length or selector was not decoded before it is needed");
    *out = *slot;
    return true;
}

static void join_names(char *out, size_t size, const char *left, const char *right) {
    (void)snprintf(out, size, "%s%s%s", left, *left && *right ? "." : "", right);
}

static bool decode_structure(struct ctf *ctf, struct ctf_class *of, const struct ctf_keep *keep,
                             const char *name, unsigned depth) {
    if (keep->json)
        text_put(ctf, "{", 1);
    for (size_t i = 0; i < of->member_count; i++) {
        const tsmith_string own = tsmith_dictionary_string(ctf->rows.dictionary, of->members[i].name);
        char full[NAME_SIZE];
        full[0] = '\0';
        if (keep->json) {
            if (i)
                text_put(ctf, ",", 1);
            text_string(ctf, own.bytes ? own.bytes : "", own.length);
            text_put(ctf, ":", 1);
        } else if (keep->prefix) {
            join_names(full, sizeof full, name, own.bytes ? own.bytes : "");
        }
        if (!ctf_decode(ctf, of->members[i].of, keep, full, depth + 1))
            return false;
    }
    if (keep->json)
        text_put(ctf, "}", 1);
    return true;
}

// Arrays within records are one JSON text.
static bool decode_array(struct ctf *ctf, struct ctf_class *of, const struct ctf_keep *keep, const char *name,
                         uint64_t length, unsigned depth) {
    const struct ctf_keep inner = {.json = keep->json || keep->prefix};
    const size_t from = ctf->text_used;
    if (length > CTF_ARRAY_MAX || (ctf->elements += length) > CTF_ARRAY_MAX)
        return fail(ctf, "the arrays of a record have more than 16,777,216 elements");
    if (inner.json)
        text_put(ctf, "[", 1);
    for (uint64_t i = 0; i < length; i++) {
        if (inner.json && i)
            text_put(ctf, ",", 1);
        if (!ctf_decode(ctf, of->element, &inner, "", depth + 1) || ctf->rows.failed)
            return false;
    }
    if (!inner.json)
        return true;
    text_put(ctf, "]", 1);
    if (keep->json || ctf->rows.failed)
        return true;
    keep_value(ctf, keep->prefix, name, TSMITH_TYPE_STRING,
               tsmith_dictionary_intern(ctf->rows.dictionary, ctf->text + from, ctf->text_used - from));
    ctf->text_used = from;
    return true;
}

static bool decode_optional(struct ctf *ctf, struct ctf_class *of, const struct ctf_keep *keep,
                            const char *name, unsigned depth) {
    struct ctf_slot slot;
    if (!needed(ctf, of, &slot))
        return false;
    if (of->ranges ? ctf_in_ranges(of->ranges, of->range_count, slot.bits, slot.is_signed) : slot.bits != 0)
        return ctf_decode(ctf, of->element, keep, name, depth + 1);
    if (keep->json)
        text_put(ctf, "null", 4);
    return true;
}

static bool decode_variant(struct ctf *ctf, struct ctf_class *of, const struct ctf_keep *keep,
                           const char *name, unsigned depth) {
    struct ctf_slot slot;
    if (!needed(ctf, of, &slot))
        return false;
    for (size_t i = 0; i < of->member_count; i++)
        if (ctf_in_ranges(of->members[i].ranges, of->members[i].range_count, slot.bits, slot.is_signed))
            return ctf_decode(ctf, of->members[i].of, keep, name, depth + 1);
    return fail(ctf, "a variant has no option for its selector");
}

bool ctf_decode(struct ctf *ctf, struct ctf_class *of, const struct ctf_keep *keep, const char *name,
                unsigned depth) {
    struct ctf_slot slot;
    uint64_t length = of->length;
    if (depth > 2 * CTF_DEPTH_MAX)
        return fail(ctf, "fields are nested too deeply");
    if (of->type != CTF_OPTIONAL && of->type != CTF_VARIANT && !align(ctf, of->alignment))
        return false;
    if (of->type == CTF_DYNAMIC_TEXT || of->type == CTF_DYNAMIC_BLOB || of->type == CTF_DYNAMIC_ARRAY) {
        if (!needed(ctf, of, &slot))
            return false;
        length = slot.bits;
    }
    switch (of->type) {
    case CTF_VAR_UNSIGNED:
    case CTF_VAR_SIGNED:
        return decode_variable(ctf, of, keep, name);
    case CTF_TEXT:
        return decode_terminated(ctf, of, keep, name);
    case CTF_STATIC_TEXT:
    case CTF_DYNAMIC_TEXT:
        return decode_text(ctf, of, keep, name, length);
    case CTF_STATIC_BLOB:
    case CTF_DYNAMIC_BLOB:
        return decode_blob(ctf, of, keep, name, length);
    case CTF_STRUCTURE:
        return decode_structure(ctf, of, keep, name, depth);
    case CTF_STATIC_ARRAY:
    case CTF_DYNAMIC_ARRAY:
        return decode_array(ctf, of, keep, name, length, depth);
    case CTF_OPTIONAL:
        return decode_optional(ctf, of, keep, name, depth);
    case CTF_VARIANT:
        return decode_variant(ctf, of, keep, name, depth);
    default:
        return decode_bits(ctf, of, keep, name);
    }
}
