// SPDX-License-Identifier: Apache-2.0
// What describes planes, lines and names rather than any event: a JSON object for each plane, in the attribute
// "trace.<name of the plane>". Bytes (such as programs of XLA) are hexadecimal.
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/json.h"
#include "import/xplane/xplane.h"

struct text {
    char *bytes;
    size_t length, capacity;
    bool full, failed;
};

static void add(struct text *text, const char *bytes, size_t length) {
    if (text->full || text->length + length > XP_ABOUT_MAX) {
        text->full = true;
        return;
    }
    if (!ARRAY_RESERVE(text->bytes, text->capacity, text->length + length + 1)) {
        text->full = text->failed = true;
        return;
    }
    memcpy(text->bytes + text->length, bytes, length);
    text->length += length;
}

static void add_cstr(struct text *text, const char *bytes) {
    add(text, bytes, strlen(bytes));
}

static void add_format(struct text *text, const char *format, ...) TSMITH_PRINTF(2, 3);
static void add_format(struct text *text, const char *format, ...) {
    char bytes[128];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(bytes, sizeof bytes, format, arguments);
    va_end(arguments);
    if (length > 0 && (size_t)length < sizeof bytes)
        add(text, bytes, (size_t)length);
}

static void add_string(struct text *text, const char *bytes, size_t length) {
    add_cstr(text, "\"");
    for (size_t i = 0; i < length && !text->full;) {
        unsigned char c = (unsigned char)bytes[i];
        unsigned step = json_utf8_length(bytes + i, length - i);
        if (c == '"' || c == '\\' || c < 0x20)
            add_format(text, "\\u%04x", c);
        else if (step)
            add(text, bytes + i, step);
        else
            add_cstr(text, "\\ufffd");
        i += step ? step : 1;
    }
    add_cstr(text, "\"");
}

static void add_id(struct text *text, struct xplane *xplane, uint32_t id) {
    tsmith_string string = tsmith_dictionary_string(xplane->dictionary, id);
    add_string(text, string.bytes, string.length);
}

static void add_hex(struct text *text, const void *bytes, size_t length) {
    static const char digits[] = "0123456789abcdef";
    const uint8_t *at = bytes;
    add_cstr(text, "\"");
    for (size_t i = 0; i < length && !text->full; i++) {
        const char pair[2] = {digits[at[i] >> 4], digits[at[i] & 15]};
        add(text, pair, 2);
    }
    add_cstr(text, "\"");
}

static void add_value(struct text *text, const struct xp_stat *stat) {
    double real;
    memcpy(&real, &stat->bits, sizeof real);
    switch (stat->form) {
    case 0:
        if (isfinite(real))
            add_format(text, "%.17g", real);
        else
            add_format(text, "\"%g\"", real);
        break;
    case 1:
        add_format(text, "%" PRIu64, stat->bits);
        break;
    case 2:
        add_format(text, "%" PRId64, (int64_t)stat->bits);
        break;
    case 3:
        add_string(text, stat->bytes, stat->length);
        break;
    default:
        add_hex(text, stat->bytes, stat->length);
    }
}

// `"name":value` for a stat that can be read.
static bool add_stat(struct text *text, struct xplane *xplane, struct proto_in in, const char *before) {
    struct xp_stat stat;
    if (!xp_stat_read(xplane, in, &stat))
        return false;
    add_cstr(text, before);
    add_id(text, xplane, stat.name->name);
    add_cstr(text, ":");
    add_value(text, &stat);
    return true;
}

static void add_own_stats(struct text *text, struct xplane *xplane) {
    const struct xp_plane *plane = &xplane->plane;
    bool any = false;
    add_cstr(text, ",\"stats\":{");
    for (size_t i = 0; i < plane->own_count && !text->full; i++) {
        const void *bytes = xp_bytes(xplane, plane->own[i]);
        size_t length = (size_t)(plane->own[i].end - plane->own[i].at);
        any |= bytes && add_stat(text, xplane, proto_in(bytes, length), any ? "," : "");
    }
    add_cstr(text, "}");
}

static void add_lines(struct text *text, struct xplane *xplane) {
    const struct xp_plane *plane = &xplane->plane;
    add_cstr(text, ",\"lines\":[");
    for (size_t i = 0; i < plane->line_count && !text->full; i++) {
        const struct xp_line *line = &plane->lines[i];
        add_format(text, "%s{\"id\":%" PRId64 ",\"timestamp_ns\":%" PRId64, i ? "," : "", line->id,
                   line->timestamp_ns);
        if (line->duration_ps)
            add_format(text, ",\"duration_ps\":%" PRId64, line->duration_ps);
        if (line->display_id)
            add_format(text, ",\"display_id\":%" PRId64, line->display_id);
        add_cstr(text, ",\"name\":");
        add_id(text, xplane, line->name);
        if (line->display_name)
            add_cstr(text, ",\"display_name\":");
        if (line->display_name)
            add_id(text, xplane, line->display_name);
        add_cstr(text, "}");
    }
    add_cstr(text, "]");
}

// What a name has besides its text. Its message stays in the buffer: reading a stat reads no other part of the file.
static void add_name(struct text *text, struct xplane *xplane, const struct xp_event_name *name,
                     const char *before) {
    enum { METADATA = 3, STATS = 5, CHILDREN = 6 };
    const void *bytes = xp_bytes(xplane, name->range);
    if (!bytes)
        return;
    struct proto_in in = proto_in(bytes, (size_t)(name->range.end - name->range.at)), again = in;
    struct proto_numbers children = {.in = in, .field = CHILDREN};
    struct proto_field field;
    uint64_t child;
    bool any = false;
    add_cstr(text, before);
    add_cstr(text, "{\"name\":");
    add_id(text, xplane, name->name);
    add_cstr(text, ",\"stats\":{");
    while (proto_next(&in, &field) && !text->full)
        if (field.number == STATS && field.wire == PROTO_BYTES)
            any |= add_stat(text, xplane, proto_within(&field), any ? "," : "");
    add_cstr(text, "}");
    while (proto_next(&again, &field))
        if (field.number == METADATA && field.wire == PROTO_BYTES) {
            add_cstr(text, ",\"metadata\":");
            add_hex(text, field.bytes, field.length);
        }
    for (any = false; proto_next_number(&children, &child) && !text->full; any = true)
        add_format(text, "%s%" PRId64, any ? "," : ",\"children\":[", (int64_t)child);
    add_cstr(text, any ? "]}" : "}");
}

void xp_describe(struct xplane *xplane) {
    const struct xp_plane *plane = &xplane->plane;
    tsmith_string plane_name = tsmith_dictionary_string(xplane->dictionary, plane->name);
    struct text text = {0};
    char key[256];
    bool any = false;
    add_format(&text, "{\"id\":%" PRId64, plane->id);
    add_own_stats(&text, xplane);
    add_lines(&text, xplane);
    add_cstr(&text, ",\"event_metadata\":[");
    for (size_t i = 0; i < plane->event_count && !text.full; i++) {
        // The stats of events without a line are nowhere else.
        if (!plane->events[i].details && (plane->line_count || !plane->events[i].stats))
            continue;
        add_name(&text, xplane, &plane->events[i], any ? "," : "");
        any = true;
    }
    add_cstr(&text, "]}");
    if (text.full)
        xp_problem(xplane, XP_PROBLEM_ABOUT);
    xplane->failed |= text.failed;
    if (!text.full) {
        int length = snprintf(key, sizeof key, "trace.%.200s", plane_name.bytes);
        tsmith_attribute attribute = {tsmith_dictionary_intern(xplane->dictionary, key, (size_t)length),
                                      tsmith_dictionary_intern(xplane->dictionary, text.bytes, text.length)};
        (void)tsmith_dictionary_add_attribute(xplane->dictionary, &attribute);
    }
    free(text.bytes);
}
