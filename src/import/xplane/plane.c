// SPDX-License-Identifier: Apache-2.0
// A plane's own data: its names, its stats, and the positions of its
// lines.
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "import/xplane/xplane.h"

enum { PLANE_ID = 1, PLANE_NAME, PLANE_LINES, PLANE_EVENT_NAMES, PLANE_STAT_NAMES, PLANE_STATS };
enum { LINE_ID = 1, LINE_NAME, LINE_TIMESTAMP, LINE_DURATION = 9, LINE_DISPLAY_ID, LINE_DISPLAY_NAME };
enum { NAME_ID = 1, NAME_NAME, NAME_METADATA, NAME_DISPLAY_NAME, NAME_STATS, NAME_CHILDREN };
enum { PLANE_STATS_MAX = 1 << 12 };

// ---- numbers of names

static bool put_id(struct table *places, int64_t id, uint32_t place) {
    uint64_t *value = table_add(places, (uint64_t)id, NULL);
    if (value)
        *value = place;
    return value != NULL;
}

// The place, or UINT32_MAX.
static uint32_t find_id(const struct table *places, int64_t id) {
    const uint64_t *place = table_find(places, (uint64_t)id);
    return place ? (uint32_t)*place : UINT32_MAX;
}

struct xp_stat_name *xp_stat_name(struct xplane *xplane, int64_t id) {
    uint32_t at = find_id(&xplane->plane.stat_ids, id);
    return at == UINT32_MAX ? NULL : &xplane->plane.stats[at];
}

struct xp_event_name *xp_event_name(struct xplane *xplane, int64_t id) {
    uint32_t at = find_id(&xplane->plane.event_ids, id);
    return at == UINT32_MAX ? NULL : &xplane->plane.events[at];
}

// ---- stats

bool xp_stat_read(struct xplane *xplane, struct proto_in in, struct xp_stat *stat) {
    enum { ID = 1, DOUBLE, UNSIGNED, SIGNED, TEXT, BYTES, REFERENCE };
    struct proto_field field;
    *stat = (struct xp_stat){.form = -1};
    int64_t id = 0;
    while (proto_next(&in, &field)) {
        bool number = field.number == DOUBLE ? field.wire == PROTO_FIXED64
                                             : (field.number == UNSIGNED || field.number == SIGNED) &&
                                                   field.wire == PROTO_VARINT;
        if (field.number == ID && field.wire == PROTO_VARINT)
            id = (int64_t)field.value;
        if (number) {
            stat->form = (int)field.number - DOUBLE;
            stat->bits = field.value;
        } else if ((field.number == TEXT || field.number == BYTES) && field.wire == PROTO_BYTES) {
            stat->form = (int)field.number - DOUBLE;
            stat->bytes = (const char *)field.bytes;
            stat->length = field.length;
        } else if (field.number == REFERENCE && field.wire == PROTO_VARINT) {
            // A text that stands among the names of stats.
            const struct xp_stat_name *name = xp_stat_name(xplane, (int64_t)field.value);
            if (!name)
                xp_problem(xplane, XP_PROBLEM_NO_NAME);
            tsmith_string text = tsmith_dictionary_string(xplane->dictionary, name ? name->name : 0);
            stat->form = name ? TEXT - DOUBLE : UNSIGNED - DOUBLE; // a number that leads nowhere is kept
            stat->bits = field.value;
            stat->bytes = text.bytes;
            stat->length = text.length;
        }
    }
    stat->name = xp_stat_name(xplane, id);
    if (in.bad || !stat->name)
        xp_problem(xplane, in.bad ? XP_PROBLEM_MALFORMED : XP_PROBLEM_NO_NAME);
    return !in.bad && stat->name && stat->form >= 0;
}

static enum xp_role role_of(tsmith_string name) {
    static const struct {
        const char *name;
        enum xp_role role;
    } roles[] = {{"correlation_id", XP_CORRELATION},
                 {"kernel_details", XP_KERNEL_DETAILS},
                 {"memcpy_details", XP_MEMCPY_DETAILS},
                 {"memset_details", XP_MEMSET_DETAILS}};
    for (size_t i = 0; i < sizeof roles / sizeof *roles; i++)
        if (strcmp(roles[i].name, name.bytes) == 0)
            return roles[i].role;
    return XP_NO_ROLE;
}

static uint32_t intern(struct xplane *xplane, const struct proto_field *field) {
    return field->length
               ? tsmith_dictionary_intern(xplane->dictionary, (const char *)field->bytes, field->length)
               : 0;
}

// ---- entries of names

// The message of an entry {1: key, 2: message}.
static bool open_entry(struct xplane *xplane, struct xp_range range, int64_t *key, struct xp_range *message) {
    const void *bytes = xp_bytes(xplane, range);
    struct proto_in in = proto_in(bytes, bytes ? (size_t)(range.end - range.at) : 0);
    struct proto_field field;
    *key = 0;
    *message = (struct xp_range){range.end, range.end};
    while (bytes && proto_next(&in, &field)) {
        if (field.number == 1 && field.wire == PROTO_VARINT)
            *key = (int64_t)field.value;
        if (field.number == 2 && field.wire == PROTO_BYTES) {
            message->at = range.at + (uint64_t)(field.bytes - (const uint8_t *)bytes);
            message->end = message->at + field.length;
        }
    }
    if (bytes && in.bad)
        xp_problem(xplane, XP_PROBLEM_MALFORMED);
    return bytes && !in.bad;
}

static void add_stat_name(struct xplane *xplane, struct xp_range range) {
    struct xp_plane *plane = &xplane->plane;
    struct proto_field field;
    struct xp_range message;
    int64_t key;
    if (!open_entry(xplane, range, &key, &message))
        return;
    if (plane->stat_count == XP_NAMES_MAX) {
        xp_problem(xplane, XP_PROBLEM_TOO_MANY);
        return;
    }
    if (!ARRAY_RESERVE(plane->stats, plane->stat_capacity, plane->stat_count + 1)) {
        xplane->failed = true;
        return;
    }
    struct xp_stat_name *name = &plane->stats[plane->stat_count];
    *name = (struct xp_stat_name){.name = 0};
    const void *bytes = xp_bytes(xplane, message);
    struct proto_in in = proto_in(bytes, bytes ? (size_t)(message.end - message.at) : 0);
    while (proto_next(&in, &field))
        if (field.number == NAME_NAME && field.wire == PROTO_BYTES)
            name->name = intern(xplane, &field);
    name->role = role_of(tsmith_dictionary_string(xplane->dictionary, name->name));
    xplane->failed |= !put_id(&plane->stat_ids, key, (uint32_t)plane->stat_count++);
}

// The stats of a name, one behind the other with their lengths: what every event of that name is given.
static void keep_stats(struct xplane *xplane, struct xp_event_name *name, struct proto_in in, size_t length) {
    struct proto_field field;
    uint8_t *at = arena_take(&xplane->plane.arena, length, 1);
    if (!at) {
        xplane->failed = true;
        return;
    }
    name->stats = at;
    while (proto_next(&in, &field)) {
        if (field.number != NAME_STATS || field.wire != PROTO_BYTES)
            continue;
        uint32_t size = (uint32_t)field.length;
        memcpy(at, &size, sizeof size);
        memcpy(at + sizeof size, field.bytes, size);
        at += sizeof size + size;
    }
    name->stats_length = (uint32_t)(at - name->stats);
}

static void read_event_name(struct xplane *xplane, struct xp_event_name *name) {
    const void *bytes = xp_bytes(xplane, name->range);
    struct proto_in in = proto_in(bytes, bytes ? (size_t)(name->range.end - name->range.at) : 0), again = in;
    struct proto_field field;
    size_t stats = 0;
    while (proto_next(&in, &field)) {
        if (field.wire == PROTO_BYTES && field.number == NAME_NAME)
            name->name = intern(xplane, &field);
        else if (field.wire == PROTO_BYTES && field.number == NAME_DISPLAY_NAME)
            name->display_name = intern(xplane, &field);
        else if (field.wire == PROTO_BYTES && field.number == NAME_STATS)
            stats += sizeof(uint32_t) + field.length;
        else if (field.number == NAME_METADATA || field.number == NAME_CHILDREN)
            name->details = true;
    }
    if (stats && stats <= XP_FIXED_STATS_MAX)
        keep_stats(xplane, name, again, stats);
    name->details |= stats > XP_FIXED_STATS_MAX;
}

static void add_event_name(struct xplane *xplane, struct xp_range range) {
    struct xp_plane *plane = &xplane->plane;
    struct xp_range message;
    int64_t key;
    if (!open_entry(xplane, range, &key, &message))
        return;
    if (plane->event_count == XP_NAMES_MAX) {
        xp_problem(xplane, XP_PROBLEM_TOO_MANY);
        return;
    }
    if (!ARRAY_RESERVE(plane->events, plane->event_capacity, plane->event_count + 1)) {
        xplane->failed = true;
        return;
    }
    struct xp_event_name *name = &plane->events[plane->event_count];
    *name = (struct xp_event_name){.range = message};
    read_event_name(xplane, name);
    xplane->failed |= !put_id(&plane->event_ids, key, (uint32_t)plane->event_count++);
}

// ---- lines

static uint32_t text_of(struct xplane *xplane, struct xp_range range) {
    const char *bytes = xp_bytes(xplane, range);
    return bytes ? tsmith_dictionary_intern(xplane->dictionary, bytes, (size_t)(range.end - range.at)) : 0;
}

static void add_line(struct xplane *xplane, struct xp_range range) {
    struct xp_plane *plane = &xplane->plane;
    struct xp_line line = {.range = range};
    struct xp_field field;
    bool bad;
    while (xp_next(xplane, &range, &field, &bad)) {
        if (field.wire == PROTO_VARINT && field.number == LINE_ID)
            line.id = (int64_t)field.value;
        else if (field.wire == PROTO_VARINT && field.number == LINE_DISPLAY_ID)
            line.display_id = (int64_t)field.value;
        else if (field.wire == PROTO_VARINT && field.number == LINE_TIMESTAMP)
            line.timestamp_ns = (int64_t)field.value;
        else if (field.wire == PROTO_VARINT && field.number == LINE_DURATION)
            line.duration_ps = (int64_t)field.value;
        else if (field.wire == PROTO_BYTES && field.number == LINE_NAME)
            line.name = text_of(xplane, field.range);
        else if (field.wire == PROTO_BYTES && field.number == LINE_DISPLAY_NAME)
            line.display_name = text_of(xplane, field.range);
    }
    if (xplane->lines_in_all == XP_LINES_MAX) {
        xp_problem(xplane, XP_PROBLEM_TOO_MANY);
        return;
    }
    if (!ARRAY_RESERVE(plane->lines, plane->line_capacity, plane->line_count + 1)) {
        xplane->failed = true;
        return;
    }
    plane->lines[plane->line_count++] = line;
    xplane->lines_in_all++;
}

static void add_own_stat(struct xplane *xplane, struct xp_range range) {
    struct xp_plane *plane = &xplane->plane;
    if (plane->own_count == PLANE_STATS_MAX) {
        xp_problem(xplane, XP_PROBLEM_ABOUT);
        return;
    }
    if (!ARRAY_RESERVE(plane->own, plane->own_capacity, plane->own_count + 1)) {
        xplane->failed = true;
        return;
    }
    plane->own[plane->own_count++] = range;
}

// ---- the device and the process of a plane

static bool begins_with(tsmith_string name, const char *with) {
    return strncmp(name.bytes, with, strlen(with)) == 0;
}

static void know_device(struct xplane *xplane, tsmith_device *device, const struct xp_stat *stat) {
    const char *name = tsmith_dictionary_string(xplane->dictionary, stat->name->name).bytes;
    bool number = (stat->form == 1 || stat->form == 2) && stat->bits <= INT64_MAX;
    if (stat->form == 3 && strcmp(name, "device_vendor") == 0)
        device->vendor = tsmith_dictionary_intern(xplane->dictionary, stat->bytes, stat->length);
    if (stat->form == 3 && strcmp(name, "device_type_string") == 0)
        device->name = tsmith_dictionary_intern(xplane->dictionary, stat->bytes, stat->length);
    if (number && strcmp(name, "memory_size") == 0)
        device->memory_bytes = stat->bits;
    if (number && strcmp(name, "core_count") == 0 && stat->bits <= UINT32_MAX)
        device->compute_units = (uint32_t)stat->bits;
    if (number && strcmp(name, "clock_rate") == 0 && stat->bits / 1000 <= UINT32_MAX)
        device->clock_mhz = (uint32_t)(stat->bits / 1000); // the file has kHz
}

static void add_process(struct xplane *xplane, int64_t pid) {
    if (!xplane->process || xplane->pid != pid) {
        tsmith_process process = {.pid = (uint64_t)pid, .host = xplane->host};
        xplane->process = tsmith_dictionary_add_process(xplane->dictionary, &process);
        xplane->pid = pid;
    }
    xplane->plane.process = xplane->process;
}

// The plane's stats, when all names are known.
static void know_plane(struct xplane *xplane) {
    struct xp_plane *plane = &xplane->plane;
    tsmith_string name = tsmith_dictionary_string(xplane->dictionary, plane->name);
    tsmith_device device = {.name = plane->name};
    plane->is_device = begins_with(name, "/device:");
    plane->is_tpu = begins_with(name, "/device:TPU:");
    for (size_t i = 0; i < plane->own_count; i++) {
        const void *bytes = xp_bytes(xplane, plane->own[i]);
        struct xp_stat stat;
        if (!bytes ||
            !xp_stat_read(xplane, proto_in(bytes, (size_t)(plane->own[i].end - plane->own[i].at)), &stat))
            continue;
        know_device(xplane, &device, &stat);
        if ((stat.form == 1 || stat.form == 2) && stat.bits && stat.bits <= INT32_MAX &&
            strcmp(tsmith_dictionary_string(xplane->dictionary, stat.name->name).bytes, "process_id") == 0)
            add_process(xplane, (int64_t)stat.bits);
    }
    if (!plane->is_device)
        return;
    const char *type = begins_with(name, "/device:GPU:") ? "gpu" : "accelerator";
    device.type = tsmith_dictionary_intern_cstr(xplane->dictionary, type);
    plane->device = tsmith_dictionary_add_device(xplane->dictionary, &device);
}

void xp_plane_read(struct xplane *xplane, struct xp_range range) {
    struct xp_plane *plane = &xplane->plane;
    struct xp_field field;
    bool bad;
    *plane = (struct xp_plane){.range = range};
    while (!xplane->failed && xp_next(xplane, &range, &field, &bad)) {
        if (field.number == PLANE_ID && field.wire == PROTO_VARINT)
            plane->id = (int64_t)field.value;
        if (field.wire != PROTO_BYTES)
            continue;
        if (field.number == PLANE_NAME)
            plane->name = text_of(xplane, field.range);
        else if (field.number == PLANE_LINES)
            add_line(xplane, field.range);
        else if (field.number == PLANE_EVENT_NAMES)
            add_event_name(xplane, field.range);
        else if (field.number == PLANE_STAT_NAMES)
            add_stat_name(xplane, field.range);
        else if (field.number == PLANE_STATS)
            add_own_stat(xplane, field.range);
    }
    if (bad && !xplane->damaged)
        xp_problem(xplane, XP_PROBLEM_MALFORMED);
    know_plane(xplane);
}

void xp_plane_finish(struct xp_plane *plane) {
    free(plane->lines);
    free(plane->stats);
    free(plane->events);
    free(plane->own);
    table_finish(&plane->stat_ids);
    table_finish(&plane->event_ids);
    arena_finish(&plane->arena);
    *plane = (struct xp_plane){.id = 0};
}
