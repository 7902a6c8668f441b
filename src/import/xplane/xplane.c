// SPDX-License-Identifier: Apache-2.0
// The batch source of XPlane files: walks the planes and lines. formats.c opens it.
#include "import/xplane/xplane.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/json.h"

enum { PLANES = 1, ERRORS, WARNINGS, HOSTNAMES }; // fields of XSpace
enum { CHUNK = 1 << 20, HEAD_MAX = 20, EVENTS_PER_RUN = 4096, LINE_EVENTS = 4 };

void xp_problem(struct xplane *xplane, enum xp_problem problem) {
    xplane->problems[problem]++;
}

// ---- whether it is one

static bool is_text(const struct proto_field *field) {
    const char *at = (const char *)field->bytes;
    size_t left = field->length;
    while (left) {
        unsigned length = (unsigned char)*at < 0x20 ? 0 : json_utf8_length(at, left);
        if (!length)
            return false;
        at += length;
        left -= length;
    }
    return field->length > 0;
}

// A value of one of the maps: its key is a number, its value a message.
static bool is_entry(const struct proto_field *field) {
    struct proto_in in = proto_within(field);
    struct proto_field part;
    while (proto_next(&in, &part))
        if (!(part.number == 1 && part.wire == PROTO_VARINT) &&
            !(part.number == 2 && part.wire == PROTO_BYTES))
            return false;
    return !in.bad;
}

static bool is_line(const struct proto_field *field) {
    static const uint8_t wires[] = {
        [1] = PROTO_VARINT, [2] = PROTO_BYTES,   [3] = PROTO_VARINT, [4] = PROTO_BYTES,
        [9] = PROTO_VARINT, [10] = PROTO_VARINT, [11] = PROTO_BYTES};
    struct proto_in in = proto_within(field);
    struct proto_field part;
    while (proto_next(&in, &part))
        if (part.number > 11 || (part.number > 4 && part.number < 9) || part.wire != wires[part.number])
            return false;
    return !in.bad;
}

// What there is of the first plane: it has a name that is a text, and nothing but what planes have.
static bool is_plane(struct proto_in in) {
    struct proto_field field;
    bool named = false;
    while (proto_next(&in, &field)) {
        bool fits = field.number == 1   ? field.wire == PROTO_VARINT
                    : field.number == 2 ? field.wire == PROTO_BYTES && is_text(&field)
                    : field.number == 3 ? field.wire == PROTO_BYTES && is_line(&field)
                    : field.number <= 5 ? field.wire == PROTO_BYTES && is_entry(&field)
                                        : field.number == 6 && field.wire == PROTO_BYTES;
        if (!fits)
            return false;
        named |= field.number == 2;
    }
    return named;
}

bool xplane_is(struct input *input) {
    size_t have = input->end - input->begin;
    struct proto_in in = proto_in(input->window + input->begin, have);
    uint64_t length;
    if (have < 4 || *in.at++ != (PLANES << 3 | PROTO_BYTES) || !proto_get_varint(&in, &length) || length < 2)
        return false;
    bool whole = length <= (uint64_t)(in.end - in.at);
    struct proto_in plane = proto_in(in.at, whole ? (size_t)length : (size_t)(in.end - in.at));
    if (!is_plane(plane))
        return false;
    const uint8_t *next = in.at + (whole ? length : 0);
    return !whole || next == in.end || (*next & 7) == PROTO_BYTES;
}

// ---- ranges of the file

// The file from `at` on, `size` bytes of it at least (or as many as there are: *there).
static const uint8_t *bytes_at(struct xplane *xplane, uint64_t at, size_t size, size_t *there) {
    if (at >= xplane->from && at - xplane->from <= xplane->have &&
        xplane->have - (size_t)(at - xplane->from) >= size) {
        *there = xplane->have - (size_t)(at - xplane->from);
        return (const uint8_t *)xplane->buffer + (at - xplane->from);
    }
    size_t wanted = size > CHUNK ? size : CHUNK;
    if (!ARRAY_RESERVE(xplane->buffer, xplane->capacity, wanted)) {
        xplane->failed = true;
        return NULL;
    }
    int64_t got = seekable_read(&xplane->file, at, xplane->buffer, wanted);
    xplane->from = at;
    xplane->have = got < 0 ? 0 : (size_t)got;
    *there = xplane->have;
    return (const uint8_t *)xplane->buffer;
}

bool xp_next(struct xplane *xplane, struct xp_range *range, struct xp_field *field, bool *bad) {
    size_t there;
    *bad = false;
    if (range->at >= range->end)
        return false;
    *bad = true;
    uint64_t left = range->end - range->at;
    const uint8_t *bytes = bytes_at(xplane, range->at, left < HEAD_MAX ? (size_t)left : HEAD_MAX, &there);
    if (!bytes)
        return false;
    struct proto_in in = proto_in(bytes, left < there ? (size_t)left : there);
    uint64_t tag, length;
    if (!proto_get_varint(&in, &tag) || tag >> 3 == 0 || tag >> 3 > UINT32_MAX >> 3)
        return false;
    *field = (struct xp_field){.number = (uint32_t)(tag >> 3), .wire = (uint32_t)(tag & 7)};
    if (field->wire == PROTO_BYTES) {
        if (!proto_get_varint(&in, &length))
            return false;
        uint64_t head = (uint64_t)(in.at - bytes);
        if (length > left - head)
            return false;
        field->range = (struct xp_range){range->at + head, range->at + head + length};
        range->at = field->range.end;
    } else {
        struct proto_field number;
        in = proto_in(bytes, left < there ? (size_t)left : there);
        if (!proto_next(&in, &number))
            return false;
        field->value = number.value;
        range->at += (uint64_t)(in.at - bytes);
    }
    *bad = false;
    return true;
}

const void *xp_bytes(struct xplane *xplane, struct xp_range range) {
    uint64_t length = range.end - range.at;
    size_t there;
    if (length > XP_MESSAGE_MAX) {
        xp_problem(xplane, XP_PROBLEM_TOO_LARGE);
        return NULL;
    }
    const void *bytes = bytes_at(xplane, range.at, (size_t)length, &there);
    if (bytes && there < length) {
        xp_problem(xplane, XP_PROBLEM_MALFORMED);
        return NULL;
    }
    return bytes;
}

// ---- running

static void note_cut(struct xplane *xplane, uint64_t offset, const char *why) {
    if (!xplane->damaged) {
        ledger_note(&xplane->ledger, xplane->dictionary, TSMITH_REASON_CORRUPT, 0, true, "%s", why);
        (void)status_set_at(&xplane->stop, TSMITH_TRUNCATED, offset, UINT64_MAX,
                            "%s: %s (at byte %llu); everything readable was read", xplane->name, why,
                            (unsigned long long)offset);
    }
    xplane->damaged = true;
}

static uint32_t text_of(struct xplane *xplane, struct xp_range range) {
    const char *bytes = xp_bytes(xplane, range);
    return bytes ? tsmith_dictionary_intern(xplane->dictionary, bytes, (size_t)(range.end - range.at)) : 0;
}

// The errors that the profiler reported while it recorded.
static void note_message(struct xplane *xplane, struct xp_range range, const char *what) {
    tsmith_string text = tsmith_dictionary_string(xplane->dictionary, text_of(xplane, range));
    ledger_note(&xplane->ledger, xplane->dictionary, TSMITH_REASON_UNTRACED, 0, false,
                "the profiler reported %s: %.400s", what, text.bytes);
}

// The last plane of a file that was cut: what there is of it.
static bool take_rest(struct xplane *xplane, struct xp_range *range) {
    size_t there;
    const uint8_t *bytes = bytes_at(xplane, xplane->space.at, HEAD_MAX, &there);
    uint64_t length, left = xplane->space.end - xplane->space.at;
    if (!bytes)
        return false;
    struct proto_in in = proto_in(bytes, left < there ? (size_t)left : there);
    if (in.at == in.end || *in.at++ != (PLANES << 3 | PROTO_BYTES) || !proto_get_varint(&in, &length))
        return false;
    *range = (struct xp_range){xplane->space.at + (uint64_t)(in.at - bytes), xplane->space.end};
    return true;
}

static void begin_plane(struct xplane *xplane, struct xp_range range) {
    xp_plane_finish(&xplane->plane);
    xp_plane_read(xplane, range);
    xp_describe(xplane);
    xplane->line_at = 0;
}

// The next plane; false at the end of the file.
static bool next_plane(struct xplane *xplane) {
    struct xp_field field;
    struct xp_range rest;
    bool bad;
    while (xp_next(xplane, &xplane->space, &field, &bad)) {
        if (field.wire == PROTO_BYTES && field.number == PLANES) {
            begin_plane(xplane, field.range);
            return true;
        }
        if (field.wire == PROTO_BYTES && (field.number == ERRORS || field.number == WARNINGS))
            note_message(xplane, field.range, field.number == ERRORS ? "an error" : "a warning");
    }
    if (!bad)
        return false;
    note_cut(xplane, xplane->space.at, "the file ends early, or no plane begins here");
    bool more = take_rest(xplane, &rest);
    xplane->space.at = xplane->space.end;
    if (more)
        begin_plane(xplane, rest);
    return more;
}

static void end(struct xplane *xplane) {
    static const struct {
        const char *text;
        tsmith_reason reason;
        bool lost;
    } rows[XP_PROBLEM_COUNT] = {
#define ROW(NAME, lost, reason, text) [XP_PROBLEM_##NAME] = {text, reason, lost},
        XP_PROBLEM_TABLE(ROW)
#undef ROW
    };
    for (int i = 0; i < XP_PROBLEM_COUNT; i++)
        if (xplane->problems[i])
            ledger_note(&xplane->ledger, xplane->dictionary, rows[i].reason,
                        rows[i].lost ? xplane->problems[i] : 0, rows[i].lost, "%llu %s",
                        (unsigned long long)xplane->problems[i], rows[i].text);
    gather_flush(&xplane->gather);
    xplane->failed |= !ledger_write(&xplane->ledger, xplane->dictionary, &xplane->gather);
    xplane->over = true;
}

// One field of the line at hand.
static void read_field(struct xplane *xplane) {
    struct xp_field field;
    bool bad;
    if (!xp_next(xplane, &xplane->line, &field, &bad)) {
        if (bad)
            xp_problem(xplane, XP_PROBLEM_MALFORMED);
        if (bad)
            note_cut(xplane, xplane->line.at, "no event begins at this byte");
        xplane->in_line = false;
        return;
    }
    if (field.number != LINE_EVENTS || field.wire != PROTO_BYTES)
        return;
    const void *bytes = xp_bytes(xplane, field.range);
    if (bytes)
        xp_event_read(xplane, &xplane->plane.lines[xplane->line_at - 1],
                      proto_in(bytes, (size_t)(field.range.end - field.range.at)));
}

static void run(struct xplane *xplane) {
    for (int i = 0; i < EVENTS_PER_RUN && !xplane->over && !xplane->failed; i++) {
        if (xplane->in_line) {
            read_field(xplane);
        } else if (xplane->line_at < xplane->plane.line_count) {
            const struct xp_line *line = &xplane->plane.lines[xplane->line_at++];
            xplane->line = line->range;
            xplane->track = xp_line_track(xplane, line, &xplane->queue);
            xplane->in_line = xplane->track != 0;
            xplane->failed |= xplane->track == 0;
        } else if (!next_plane(xplane)) {
            end(xplane);
        }
    }
}

// ---- the source

static tsmith_status next(void *self, const tsmith_batch **out, tsmith_error *error) {
    struct xplane *xplane = self;
    for (;;) {
        tsmith_status status = gather_take(&xplane->gather, out);
        if (status != TSMITH_OK || xplane->failed || tsmith_dictionary_failed(xplane->dictionary))
            return status_set(error, TSMITH_ERROR_NO_MEMORY, "%s: out of memory", xplane->name);
        if (*out)
            return TSMITH_OK;
        if (xplane->over) {
            if (xplane->damaged && error)
                *error = xplane->stop;
            return xplane->damaged ? TSMITH_TRUNCATED : TSMITH_END;
        }
        while (!xplane->over && !xplane->failed && !gather_is_full(&xplane->gather))
            run(xplane);
    }
}

static const tsmith_dictionary *dictionary(void *self) {
    return ((struct xplane *)self)->dictionary;
}

static void destroy(void *self) {
    struct xplane *xplane = self;
    xp_plane_finish(&xplane->plane);
    ledger_finish(&xplane->ledger);
    gather_finish(&xplane->gather);
    seekable_close(&xplane->file);
    tsmith_dictionary_destroy(xplane->dictionary);
    free(xplane->buffer);
    free(xplane->name);
    free(xplane);
}

// The host stands behind the planes.
static void read_host(struct xplane *xplane) {
    struct xp_range space = xplane->space;
    struct xp_field field;
    bool bad;
    while (xp_next(xplane, &space, &field, &bad))
        if (field.number == HOSTNAMES && field.wire == PROTO_BYTES && !xplane->host)
            xplane->host = text_of(xplane, field.range);
}

tsmith_status xplane_open(struct input *input, char *name, tsmith_source **out, tsmith_error *error) {
    static const tsmith_source_ops ops = {next, dictionary, destroy};
    struct xplane *xplane = calloc(1, sizeof *xplane);
    tsmith_status status = TSMITH_ERROR_NO_MEMORY;
    if (!xplane) {
        (void)status_set(error, status, "%s: out of memory", name);
        input_close(input);
        free(name);
        return status;
    }
    xplane->name = name;
    status = seekable_take(&xplane->file, input, name, error);
    if (status == TSMITH_OK) {
        status = tsmith_dictionary_create(&xplane->dictionary);
        if (status == TSMITH_OK) {
            xplane->space.end = xplane->file.size;
            tsmith_dictionary_set_attribute(xplane->dictionary, "import.format", "xplane");
            if (xplane->file.problem)
                note_cut(xplane, xplane->file.size, xplane->file.problem);
            read_host(xplane);
            status = tsmith_source_create(&ops, xplane, out);
        }
        if (status != TSMITH_OK)
            (void)status_set(error, status, "%s: out of memory", name);
    }
    if (status != TSMITH_OK)
        destroy(xplane);
    return status;
}
