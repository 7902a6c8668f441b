// SPDX-License-Identifier: Apache-2.0
// From an event of a line to a row.
//
// Times are picoseconds from the line's time in nanoseconds. Start and end are each rounded down to nanoseconds, so that what
// was inside something still is; what that leaves out stands in the fields start_rest and duration_rest ("ps").
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "import/xplane/xplane.h"

enum { EVENT_NAME = 1, EVENT_OFFSET, EVENT_DURATION, EVENT_STATS, EVENT_COUNT };
enum { PS_PER_NS = 1000, DETAILS_MAX = 512 };
enum { OWN, OF_NAME }; // whose stat it is

struct row {
    struct xplane *xplane;
    tsmith_batch *batch;
    tsmith_kind kind;
    int64_t name, offset_ps, duration_ps;
    bool counted;   // it has a count instead of a time
    bool backwards; // it ends before it starts
    bool correlated, kernel, copy, fill;
    struct proto_in stats; // the whole event
    const struct xp_event_name *named;
};

// ---- tracks

uint32_t xp_line_track(struct xplane *xplane, const struct xp_line *line, bool *queue) {
    const struct xp_plane *plane = &xplane->plane;
    tsmith_string plane_name = tsmith_dictionary_string(xplane->dictionary, plane->name),
                  name = tsmith_dictionary_string(xplane->dictionary, line->name);
    static const char stream[] = "Stream #";
    bool is_stream = strncmp(name.bytes, stream, sizeof stream - 1) == 0;
    bool is_ops =
        plane->is_tpu && (strcmp(name.bytes, "XLA Ops") == 0 || strcmp(name.bytes, "Async XLA Ops") == 0);
    bool is_thread = strncmp(plane_name.bytes, "/host:", 6) == 0;
    tsmith_track track = {.name = line->display_name ? line->display_name : line->name,
                          .process = plane->process,
                          .device = plane->device};
    *queue = plane->is_device && (is_stream || is_ops);
    if (*queue) {
        track.kind = TSMITH_TRACK_QUEUE;
        track.queue = is_stream ? strtoull(name.bytes + sizeof stream - 1, NULL, 10) : (uint64_t)line->id;
    } else if (is_thread) {
        track.kind = TSMITH_TRACK_THREAD;
        track.tid = (uint64_t)line->id;
    } else {
        track.kind = TSMITH_TRACK_CUSTOM; // steps, modules, name scopes: what was derived from the streams
    }
    return tsmith_dictionary_add_track(xplane->dictionary, &track);
}

// ---- values

static void set(struct row *row, uint32_t field, uint64_t bits) {
    row->xplane->failed |= tsmith_batch_set(row->batch, field, bits) != TSMITH_OK;
}

static uint32_t new_field(struct xplane *xplane, tsmith_string name, tsmith_type type, const char *unit) {
    if (xplane->field_count == XP_FIELDS_MAX)
        return 0;
    xplane->field_count++;
    tsmith_dictionary *dictionary = xplane->dictionary;
    tsmith_dynamic_field field = {.name = tsmith_dictionary_intern(dictionary, name.bytes, name.length),
                                  .unit = tsmith_dictionary_intern_cstr(dictionary, unit),
                                  .type = (uint32_t)type};
    for (uint32_t id = 1; id < tsmith_dictionary_dynamic_field_count(dictionary); id++) {
        const tsmith_dynamic_field *other = tsmith_dictionary_dynamic_field(dictionary, id);
        if (other->name == field.name && other->unit == field.unit && other->type == field.type)
            return TSMITH_FIELD_DYNAMIC + id; // of another plane
    }
    uint32_t id = tsmith_dictionary_add_dynamic_field(dictionary, &field);
    return id ? TSMITH_FIELD_DYNAMIC + id : 0;
}

static void keep_stat(struct row *row, const struct xp_stat *stat, int whose) {
    static const tsmith_type types[XP_FORMS] = {TSMITH_TYPE_F64, TSMITH_TYPE_U64, TSMITH_TYPE_I64,
                                                TSMITH_TYPE_STRING, TSMITH_TYPE_STRING};
    static const char *const units[2][2] = {{"", "blob"}, {"metadata", "metadata blob"}};
    struct xplane *xplane = row->xplane;
    uint32_t *field = &stat->name->fields[whose][stat->form];
    if (!*field)
        *field = new_field(xplane, tsmith_dictionary_string(xplane->dictionary, stat->name->name),
                           types[stat->form], units[whose][stat->form == XP_FORMS - 1]);
    if (!*field) {
        xp_problem(xplane, XP_PROBLEM_TOO_MANY_FIELDS);
        return;
    }
    uint64_t bits = stat->form < 3 ? stat->bits
                    : stat->length ? tsmith_dictionary_intern(xplane->dictionary, stat->bytes, stat->length)
                                   : 0;
    xplane->failed |= tsmith_batch_set_dynamic(row->batch, *field, types[stat->form], bits) != TSMITH_OK;
}

// What is less than a nanosecond.
static void set_rest(struct row *row, int which, int64_t ps) {
    static const char *const names[2] = {"start_rest", "duration_rest"};
    uint32_t *field = &row->xplane->rest_fields[which];
    if (!ps)
        return;
    if (!*field)
        *field = tsmith_dictionary_field(row->xplane->dictionary, names[which], TSMITH_TYPE_I64, "ps");
    row->xplane->failed |=
        !*field || tsmith_batch_set_dynamic(row->batch, *field, TSMITH_TYPE_I64, (uint64_t)ps) != TSMITH_OK;
}

// ---- details: "grid:16,1,1 block:512,1,1", "kind_src:pinned kind_dst:device size:4096 dest:0 async:1"

// Where the value of a key begins in the text; NULL when there is none.
static const char *find_detail(const char *text, const char *key) {
    size_t length = strlen(key);
    for (const char *at = text; (at = strstr(at, key)); at++)
        if ((at == text || at[-1] == ' ') && at[length] == ':')
            return at + length + 1;
    return NULL;
}

static bool parse_sizes(const char *text, uint64_t sizes[3]) {
    for (int i = 0; text && i < 3; i++) {
        char *end;
        if (*text < '1' || *text > '9')
            return false;
        sizes[i] = strtoull(text, &end, 10);
        text = i < 2 && *end != ',' ? NULL : end + 1;
    }
    return text != NULL;
}

static void set_sizes(struct row *row, const char *text) {
    uint64_t grid[3], block[3], global[3];
    if (!parse_sizes(find_detail(text, "grid"), grid) || !parse_sizes(find_detail(text, "block"), block))
        return;
    for (int i = 0; i < 3; i++)
        if (__builtin_mul_overflow(grid[i], block[i], &global[i]))
            return;
    for (uint32_t i = 0; i < 3; i++) {
        set(row, TSMITH_FIELD_GLOBAL_X + i, global[i]);
        set(row, TSMITH_FIELD_LOCAL_X + i, block[i]);
    }
}

// 'h': memory of the host, 'd': of a device, 0: unknown.
static char memory_side(const char *text, const char *key) {
    static const struct {
        const char *word;
        char side;
    } words[] = {{"pageable", 'h'}, {"pinned", 'h'}, {"host", 'h'}, {"device", 'd'}};
    const char *at = find_detail(text, key);
    for (size_t i = 0; at && i < sizeof words / sizeof *words; i++)
        if (strncmp(at, words[i].word, strlen(words[i].word)) == 0)
            return words[i].side;
    return 0;
}

static void set_copy(struct row *row, const char *text) {
    const char *size = find_detail(text, "size");
    char from = memory_side(text, "kind_src"), to = memory_side(text, "kind_dst");
    uint64_t bytes = size ? strtoull(size, NULL, 10) : 0;
    if (bytes)
        set(row, TSMITH_FIELD_BYTES, bytes);
    if (row->kind == TSMITH_KIND_MEMCPY && from && to)
        set(row, TSMITH_FIELD_DIRECTION,
            from == 'h' ? to == 'h' ? TSMITH_DIRECTION_HOST_TO_HOST : TSMITH_DIRECTION_HOST_TO_DEVICE
            : to == 'h' ? TSMITH_DIRECTION_DEVICE_TO_HOST
                        : TSMITH_DIRECTION_DEVICE_TO_DEVICE);
}

static void use_details(struct row *row, const struct xp_stat *stat) {
    char text[DETAILS_MAX];
    if (stat->form != 3 || stat->length >= sizeof text)
        return;
    memcpy(text, stat->bytes, stat->length);
    text[stat->length] = '\0';
    if (stat->name->role == XP_KERNEL_DETAILS && row->kind == TSMITH_KIND_KERNEL)
        set_sizes(row, text);
    if ((stat->name->role == XP_MEMCPY_DETAILS && row->kind == TSMITH_KIND_MEMCPY) ||
        (stat->name->role == XP_MEMSET_DETAILS && row->kind == TSMITH_KIND_MEMSET))
        set_copy(row, text);
}

// ---- stats

static void put_stat(struct row *row, struct proto_in in, int whose) {
    struct xp_stat stat;
    if (!xp_stat_read(row->xplane, in, &stat))
        return;
    if (stat.name->used[whose] == row->xplane->events)
        xp_problem(row->xplane, XP_PROBLEM_TWICE);
    stat.name->used[whose] = row->xplane->events;
    bool number = (stat.form == 1 || stat.form == 2) && stat.bits > 0 && stat.bits <= INT64_MAX;
    if (stat.name->role == XP_CORRELATION && number && whose == OWN) {
        set(row, TSMITH_FIELD_CORRELATION, stat.bits);
        return;
    }
    if (whose == OWN && stat.name->role)
        use_details(row, &stat);
    keep_stat(row, &stat, whose);
}

static void put_stats(struct row *row) {
    struct proto_in in = row->stats;
    struct proto_field field;
    while (proto_next(&in, &field))
        if (field.number == EVENT_STATS && field.wire == PROTO_BYTES)
            put_stat(row, proto_within(&field), OWN);
    const uint8_t *at = row->named ? row->named->stats : NULL,
                  *end = at ? at + row->named->stats_length : NULL;
    while (at < end) {
        uint32_t length;
        memcpy(&length, at, sizeof length);
        put_stat(row, proto_in(at + sizeof length, length), OF_NAME);
        at += sizeof length + length;
    }
}

// Which of its stats determine its kind.
static void look_at_stat(struct row *row, struct proto_in in) {
    struct proto_field field;
    while (proto_next(&in, &field)) {
        if (field.number != 1 || field.wire != PROTO_VARINT)
            continue;
        const struct xp_stat_name *name = xp_stat_name(row->xplane, (int64_t)field.value);
        row->correlated |= name && name->role == XP_CORRELATION;
        row->kernel |= name && name->role == XP_KERNEL_DETAILS;
        row->copy |= name && name->role == XP_MEMCPY_DETAILS;
        row->fill |= name && name->role == XP_MEMSET_DETAILS;
    }
}

// ---- the event

static bool begins_with(const char *text, const char *with) {
    return strncasecmp(text, with, strlen(with)) == 0;
}

static tsmith_kind kind_of(const struct row *row, const char *name) {
    if (row->xplane->queue) {
        if (row->kernel)
            return TSMITH_KIND_KERNEL;
        if (row->copy || begins_with(name, "memcpy"))
            return TSMITH_KIND_MEMCPY;
        return row->fill || begins_with(name, "memset") ? TSMITH_KIND_MEMSET : TSMITH_KIND_KERNEL;
    }
    if (row->xplane->plane.is_device)
        return TSMITH_KIND_RANGE;
    if (row->correlated)
        return TSMITH_KIND_API;
    return row->duration_ps || row->backwards ? TSMITH_KIND_RANGE : TSMITH_KIND_MARKER;
}

static bool read_event(struct row *row, struct proto_in in) {
    struct proto_field field;
    while (proto_next(&in, &field)) {
        if (field.number == EVENT_STATS && field.wire == PROTO_BYTES)
            look_at_stat(row, proto_within(&field));
        if (field.wire != PROTO_VARINT)
            continue;
        if (field.number == EVENT_NAME)
            row->name = (int64_t)field.value;
        else if (field.number == EVENT_OFFSET)
            row->offset_ps = (int64_t)field.value;
        else if (field.number == EVENT_DURATION)
            row->duration_ps = (int64_t)field.value;
        else if (field.number == EVENT_COUNT)
            row->counted = true;
    }
    return !in.bad;
}

// False when it cannot be a time.
static bool times_of_event(const struct xp_line *line, const struct row *row, int64_t *start, int64_t *rest,
                           int64_t *duration, int64_t *duration_rest) {
    int64_t ns = row->offset_ps / PS_PER_NS, left = row->offset_ps % PS_PER_NS, end;
    ns -= left < 0;
    left += left < 0 ? PS_PER_NS : 0;
    if (__builtin_add_overflow(line->timestamp_ns, ns, start) ||
        __builtin_add_overflow(left, row->duration_ps, &end))
        return false;
    *rest = left;
    *duration = end / PS_PER_NS;
    *duration_rest = row->duration_ps - *duration * PS_PER_NS;
    int64_t sum;
    return !__builtin_add_overflow(*start, *duration, &sum);
}

static void fill(struct row *row, uint32_t name, int64_t rest, int64_t duration, int64_t duration_rest) {
    struct xplane *xplane = row->xplane;
    if (name)
        set(row, TSMITH_FIELD_NAME, name);
    if (row->kind != TSMITH_KIND_MARKER && !row->backwards)
        set(row, TSMITH_FIELD_DURATION, (uint64_t)duration);
    set_rest(row, 0, rest);
    set_rest(row, 1, duration_rest);
    if (row->named && row->named->display_name && row->named->display_name != name)
        set(row, TSMITH_FIELD_TEXT, row->named->display_name);
    put_stats(row);
    (void)xplane;
}

void xp_event_read(struct xplane *xplane, const struct xp_line *line, struct proto_in in) {
    struct row row = {.xplane = xplane, .stats = in};
    int64_t start, rest, duration, duration_rest;
    if (!read_event(&row, in)) {
        xp_problem(xplane, XP_PROBLEM_MALFORMED);
        return;
    }
    if (row.counted) {
        xp_problem(xplane, XP_PROBLEM_AGGREGATED);
        return;
    }
    if (row.duration_ps < 0) { // how long it lasted is unknown
        xp_problem(xplane, XP_PROBLEM_BACKWARDS);
        row.duration_ps = 0;
        row.backwards = true;
    }
    if (!times_of_event(line, &row, &start, &rest, &duration, &duration_rest)) {
        xp_problem(xplane, XP_PROBLEM_NO_TIME);
        return;
    }
    row.named = xp_event_name(xplane, row.name);
    if (!row.named)
        xp_problem(xplane, XP_PROBLEM_NO_NAME);
    uint32_t name = row.named ? row.named->name ? row.named->name : row.named->display_name : 0;
    if (!name) {
        char text[40];
        (void)snprintf(text, sizeof text, "event %lld", (long long)row.name);
        name = tsmith_dictionary_intern_cstr(xplane->dictionary, text);
    }
    row.kind = kind_of(&row, tsmith_dictionary_string(xplane->dictionary, name).bytes);
    xplane->events++;
    row.batch = gather_row(&xplane->gather, xplane->track, (uint32_t)row.kind, row.kind, start, duration);
    if (row.batch)
        fill(&row, name, rest, duration, duration_rest);
    xplane->failed |= !row.batch;
}
