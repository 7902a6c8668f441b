// SPDX-License-Identifier: Apache-2.0
// The data of a payload as JSON. Every read is within the bytes that were given, but for strings that are pointers,
// of which STRING_MAX bytes are read at most; arrays, nesting and the whole text are bounded too, and omissions are
// marked in the text. Rules: agent.h.
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "payload.h"

enum {
    TEXT_BYTES = 2048,
    RESERVED = 64, // of the text, for what closes it
    STRING_MAX = 256,
    ELEMENTS_MAX = 32,
    DEPTH_MAX = 4,
    PAYLOADS_MAX = 8
};

struct text {
    char bytes[TEXT_BYTES];
    size_t length;
    bool cut;
};

// What is being read: the bytes of a payload, and what of its schema's numbers is known (lengths of arrays).
struct reading {
    struct text *text;
    struct thread *thread;
    uint32_t domain;
    const uint8_t *base;
    size_t bytes;
    uint32_t message;
};

// ---- text

static void append_text(struct text *text, const char *bytes, size_t length) {
    if (text->cut || length > TEXT_BYTES - RESERVED - text->length) {
        text->cut = true;
        return;
    }
    memcpy(text->bytes + text->length, bytes, length);
    text->length += length;
}

static void put_cstr(struct text *text, const char *cstr) {
    append_text(text, cstr, strlen(cstr));
}

static void put_string(struct text *text, const char *bytes, size_t length) {
    char escape[8];
    append_text(text, "\"", 1);
    for (size_t i = 0; i < length; i++) {
        const unsigned char c = (unsigned char)bytes[i];
        if (c == '"' || c == '\\')
            append_text(text, (char[]){'\\', (char)c}, 2);
        else if (c < 0x20)
            append_text(text, escape, (size_t)snprintf(escape, sizeof escape, "\\u%04x", c));
        else
            append_text(text, (const char *)&bytes[i], 1);
    }
    append_text(text, "\"", 1);
}

static void put_double(struct text *text, double value, const char *format) {
    char number[48];
    if (isfinite(value))
        append_text(text, number, (size_t)snprintf(number, sizeof number, format, value));
    else
        put_cstr(text, isnan(value) ? "\"nan\"" : value > 0 ? "\"inf\"" : "\"-inf\"");
}

// ---- numbers

static double half_to_double(uint16_t bits) {
    const int exponent = bits >> 10 & 31;
    const double fraction = bits & 1023;
    const double value = exponent == 31 ? (fraction != 0 ? NAN : INFINITY)
                         : exponent     ? ldexp(1024 + fraction, exponent - 25)
                                        : ldexp(fraction, -24);
    return bits >> 15 ? -value : value;
}

static bool is_signed(uint64_t type) {
    return type == NVTX_TYPE_CHAR || (type <= 10 && type % 2 == 1) ||
           (type >= 11 && type <= 18 && type % 2 == 1);
}

static uint64_t integer(const uint8_t *at, size_t bytes, bool negative) {
    uint64_t value = 0;
    memcpy(&value, at, bytes < 8 ? bytes : 8);
    if (negative && bytes < 8 && value >> (8 * bytes - 1))
        value |= UINT64_MAX << (8 * bytes);
    return value;
}

// A real number; false when the type is none.
static bool put_real(struct text *text, uint64_t type, const uint8_t *at) {
    float f32;
    double f64;
    long double longest;
    uint16_t bits;
    switch (type) {
    case NVTX_TYPE_FLOAT:
    case 43: // float32
    case 52: // tf32
        memcpy(&f32, at, sizeof f32);
        put_double(text, (double)f32, "%.9g");
        return true;
    case NVTX_TYPE_DOUBLE:
    case 44: // float64
        memcpy(&f64, at, sizeof f64);
        put_double(text, f64, "%.17g");
        return true;
    case 21: // long double
        memcpy(&longest, at, sizeof longest);
        put_double(text, (double)longest, "%.17g");
        return true;
    case 42: // float16
        memcpy(&bits, at, sizeof bits);
        put_double(text, half_to_double(bits), "%.9g");
        return true;
    case 50: // bf16
        memcpy(&bits, at, sizeof bits);
        const uint32_t widened = (uint32_t)bits << 16;
        memcpy(&f32, &widened, sizeof f32);
        put_double(text, (double)f32, "%.9g");
        return true;
    default:
        return false;
    }
}

static void put_choice(struct text *text, const struct payload_schema *schema, uint64_t value) {
    char number[24];
    uint64_t rest = value;
    bool any = false;
    for (size_t i = 0; i < schema->count; i++)
        if (schema->choices[i].name && schema->choices[i].value == value) {
            put_string(text, schema->choices[i].name, strlen(schema->choices[i].name));
            return;
        }
    for (size_t i = 0; i < schema->count; i++)
        any |= schema->choices[i].is_flag && schema->choices[i].value &&
               (value & schema->choices[i].value) == schema->choices[i].value;
    if (!any) {
        append_text(text, number, (size_t)snprintf(number, sizeof number, "%" PRIu64, value));
        return;
    }
    append_text(text, "\"", 1);
    for (size_t i = 0, said = 0; i < schema->count; i++) {
        const struct payload_choice *choice = &schema->choices[i];
        if (!choice->is_flag || !choice->name || !choice->value || (value & choice->value) != choice->value)
            continue;
        if (said++)
            append_text(text, "|", 1);
        put_cstr(text, choice->name);
        rest &= ~choice->value;
    }
    if (rest)
        append_text(text, number, (size_t)snprintf(number, sizeof number, "|0x%" PRIx64, rest));
    append_text(text, "\"", 1);
}

static bool put_schema(struct reading *reading, const struct payload_schema *schema, size_t from,
                       size_t limit, int depth);

// One value of a type, which is whole within the payload.
static void put_value(struct reading *reading, uint64_t type, size_t at, size_t bytes, int depth) {
    const uint8_t *data = reading->base + at;
    const struct payload_schema *schema =
        type >= NVTX_TYPE_LIMIT ? payload_schema_find(reading->domain, type) : NULL;
    char number[32];
    if (schema && schema->is_enum) {
        put_choice(reading->text, schema, integer(data, bytes, false));
    } else if (schema) {
        if (depth >= DEPTH_MAX || !put_schema(reading, schema, at, at + bytes, depth + 1))
            put_cstr(reading->text, "null");
    } else if (type == NVTX_TYPE_REGISTERED) {
        const struct registered *registered;
        memcpy(&registered, data, sizeof registered);
        const char *text = registered && registered->copy ? registered->copy : "";
        put_string(reading->text, text, strlen(text));
    } else if (type == NVTX_TYPE_ADDRESS) {
        append_text(reading->text, number,
                    (size_t)snprintf(number, sizeof number, "\"0x%" PRIx64 "\"", integer(data, 8, false)));
    } else if (bytes > 8 && type != 21) { // 16 bytes, unchanged
        append_text(reading->text, number,
                    (size_t)snprintf(number, sizeof number, "\"0x%" PRIx64 "", integer(data + 8, 8, false)));
        append_text(reading->text, number,
                    (size_t)snprintf(number, sizeof number, "%016" PRIx64 "\"", integer(data, 8, false)));
    } else if (!put_real(reading->text, type, data)) {
        const uint64_t value = integer(data, bytes, is_signed(type));
        append_text(
            reading->text, number,
            (size_t)snprintf(number, sizeof number, is_signed(type) ? "%" PRId64 : "%" PRIu64, value));
    }
}

// ---- entries

static bool is_text(uint64_t type) {
    return type == NVTX_TYPE_CSTRING || type == NVTX_TYPE_CSTRING_UTF8;
}

// How many elements of `bytes` there are from `at` to the first that is 0, at most those before `limit`.
static size_t until_zero(const uint8_t *base, size_t at, size_t limit, size_t bytes) {
    static const uint8_t zeros[16];
    size_t count = 0;
    while (bytes <= sizeof zeros && at + (count + 1) * bytes <= limit &&
           memcmp(base + at + count * bytes, zeros, bytes) != 0)
        count++;
    return count;
}

static void put_bytes_as_text(struct reading *reading, const struct payload_entry *entry, const char *text,
                              size_t length) {
    length = strnlen(text, length < STRING_MAX ? length : STRING_MAX);
    if (entry->flags & NVTX_ENTRY_MESSAGE)
        reading->message = channel_string(agent.channel, text, length);
    put_string(reading->text, text, length);
}

static void put_array(struct reading *reading, uint64_t type, size_t at, size_t count, size_t bytes,
                      int depth) {
    char more[48];
    append_text(reading->text, "[", 1);
    for (size_t i = 0; i < count && i < ELEMENTS_MAX; i++) {
        if (i)
            append_text(reading->text, ",", 1);
        put_value(reading, type, at + i * bytes, bytes, depth);
    }
    if (count > ELEMENTS_MAX)
        append_text(reading->text, more,
                    (size_t)snprintf(more, sizeof more, ",\"%zu more\"", count - ELEMENTS_MAX));
    append_text(reading->text, "]", 1);
}

// The layout of an entry: its offset, the number and size of its elements, and the offset of the next one.
struct place {
    size_t at, count, bytes, end;
    bool is_array;
};

// False when it is not within the payload, or cannot be known.
static bool find_place(const struct reading *reading, const struct payload_schema *schema, size_t index,
                       const uint64_t *values, size_t from, size_t running, size_t limit, struct place *out) {
    const struct payload_entry *entry = &schema->entries[index];
    const uint64_t kind = entry->flags & NVTX_ENTRY_ARRAY;
    size_t align = 1;
    const bool embedded = is_text(entry->type) && (kind || entry->detail);
    out->bytes = embedded ? 1 : payload_type_bytes(reading->domain, entry->type, &align);
    align = embedded ? 1 : align;
    if (schema->pack && align > schema->pack)
        align = schema->pack;
    if (!out->bytes || !align)
        return false;
    out->at = entry->offset ? from + entry->offset : (running - from + align - 1) / align * align + from;
    out->is_array = kind || (embedded && entry->detail);
    if (out->at > limit || entry->offset > limit)
        return false;
    out->end = out->at;
    if (entry->flags & (NVTX_ENTRY_POINTER | NVTX_ENTRY_FROM_BASE | NVTX_ENTRY_FROM_HERE)) {
        // The value is the offset of the data: inside this payload, or it is not followed.
        if (limit - out->at < 8)
            return false;
        const uint64_t value = integer(reading->base + out->at, 8, false);
        out->end = out->at + 8;
        out->at = entry->flags & NVTX_ENTRY_POINTER     ? (size_t)(value - (uintptr_t)reading->base)
                  : entry->flags & NVTX_ENTRY_FROM_BASE ? (size_t)value
                                                        : (size_t)(value + out->end);
        limit = reading->bytes;
        if (out->at > limit)
            return false;
    }
    const size_t room = (limit - out->at) / out->bytes;
    out->count = kind == NVTX_ENTRY_TERMINATED ? until_zero(reading->base, out->at, limit, out->bytes)
                 : kind == NVTX_ENTRY_LENGTH   ? (entry->detail < index ? values[entry->detail] : SIZE_MAX)
                 : out->is_array               ? entry->detail
                                               : 1;
    if (out->count > room)
        return false;
    if (out->end == out->at)
        out->end = out->at + out->count * out->bytes + (kind == NVTX_ENTRY_TERMINATED ? out->bytes : 0);
    return true;
}

static void put_entry(struct reading *reading, const struct payload_entry *entry, const struct place *place,
                      int depth) {
    const char *pointer;
    if (is_text(entry->type) && !place->is_array) {
        memcpy(&pointer, reading->base + place->at, sizeof pointer);
        if (pointer)
            put_bytes_as_text(reading, entry, pointer, STRING_MAX);
        else
            put_cstr(reading->text, "null");
    } else if (place->is_array &&
               (is_text(entry->type) || entry->type == NVTX_TYPE_CHAR || entry->type == 25)) {
        put_bytes_as_text(reading, entry, (const char *)reading->base + place->at, place->count);
    } else if (place->is_array) {
        put_array(reading, entry->type, place->at, place->count, place->bytes, depth);
    } else {
        if (entry->type == NVTX_TYPE_REGISTERED && entry->flags & NVTX_ENTRY_MESSAGE) {
            const struct registered *registered;
            memcpy(&registered, reading->base + place->at, sizeof registered);
            reading->message = registered ? registered->text : 0;
        }
        put_value(reading, entry->type, place->at, place->bytes, depth);
    }
}

// Decodes the bytes from `from` to `limit` of the payload by a schema. Values outside are left out, and marked.
static bool put_schema(struct reading *reading, const struct payload_schema *schema, size_t from,
                       size_t limit, int depth) {
    uint64_t values[PAYLOAD_ENTRIES_MAX];
    size_t running = from;
    bool any = false;
    append_text(reading->text, "{", 1);
    for (size_t i = 0; i < schema->count; i++) {
        const struct payload_entry *entry = &schema->entries[i];
        struct place place;
        char number[24];
        if (!find_place(reading, schema, i, values, from, running, limit, &place)) {
            put_cstr(reading->text, any ? ",\"not whole\":true" : "\"not whole\":true");
            break;
        }
        values[i] = place.is_array ? 0 : integer(reading->base + place.at, place.bytes, false);
        running = place.end;
        if (any)
            append_text(reading->text, ",", 1);
        any = true;
        snprintf(number, sizeof number, "%zu", i);
        put_string(reading->text, entry->name ? entry->name : number,
                   strlen(entry->name ? entry->name : number));
        append_text(reading->text, ":", 1);
        put_entry(reading, entry, &place, depth);
    }
    append_text(reading->text, "}", 1);
    return true;
}

static void put_payload(struct reading *reading, const struct nvtx_data *data,
                        const struct payload_schema *schema) {
    char said[80];
    reading->base = data->payload;
    reading->bytes = data->size != SIZE_MAX ? data->size : schema ? schema->bytes : 0;
    if (schema && !schema->is_enum && reading->base)
        (void)put_schema(reading, schema, 0, reading->bytes, 0);
    else if (schema && reading->base && reading->bytes >= schema->bytes)
        put_choice(reading->text, schema, integer(reading->base, schema->bytes, false));
    else
        append_text(reading->text, said,
                    (size_t)snprintf(said, sizeof said, "{\"schema\":%" PRIu64 ",\"bytes\":%zu}",
                                     data->schema, data->size == SIZE_MAX ? 0 : data->size));
}

uint32_t payload_text(struct thread *thread, const struct domain *domain, const struct nvtx_data *data,
                      size_t count, uint32_t *message) {
    struct text text = {.length = 0};
    struct reading reading = {.text = &text, .thread = thread, .domain = domain_number(domain)};
    uint32_t name = 0;
    if (!data || !count)
        return 0;
    if (count > 1)
        append_text(&text, "[", 1);
    for (size_t i = 0; i < count && i < PAYLOADS_MAX; i++) {
        const struct payload_schema *schema = payload_schema_find(reading.domain, data[i].schema);
        if (i)
            append_text(&text, ",", 1);
        put_payload(&reading, &data[i], schema);
        if (!name && schema && schema->name)
            name = text_ascii(thread, schema->name);
    }
    if (count > 1)
        append_text(&text, "]", 1);
    if (text.cut) { // no whole JSON: as a text of it
        static const char more[] = " ... (cut)";
        memcpy(text.bytes + text.length, more, sizeof more - 1);
        text.length += sizeof more - 1;
    }
    if (message)
        *message = reading.message ? reading.message : name;
    return channel_string(agent.channel, text.bytes, text.length);
}

bool payload_is_plain(const struct domain *domain, const struct nvtx_data *data, size_t count) {
    for (size_t i = 0; data && i < count; i++) {
        const struct payload_schema *schema = payload_schema_find(domain_number(domain), data[i].schema);
        if (schema && schema->has_handles)
            return false;
    }
    return true;
}
