// SPDX-License-Identifier: Apache-2.0
// An OTF2 archive, through libotf2: read by Vampir, Score-P's tools and others of high-performance computing.
//
// A slice is the stay in a region: of its name and kind, with the kind as the region's description. An instant is a
// stay that ends when it begins, in a region marked as instant. A counter is a metric. Every other field of a row is
// an attribute with the name of the field. Rows wait on their track until they can be written by time (lanes.c).
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "export/formats.h"
#include "export/otf2/otf2.h"

enum {
    VALUES_MAX = 1 << 26 // that one batch can make wait, of 16 bytes
};

struct plan_column {
    tsmith_view column;
    size_t field;     // in otf2->fields
    tsmith_type type; // its OTF2 type: a stack is a text
    bool is_silent, is_series;
};

// The columns of a batch; NULL when it has none.
struct plan {
    struct otf2 *otf2;
    struct otf2_track *track;
    OTF2_Paradigm paradigm;
    struct plan_column *columns;
    size_t count;
    const struct plan_column *start, *duration, *kind, *name;
};

// ---- reading columns

static bool has_value(const struct plan_column *it, uint32_t row) {
    return it && tsmith_view_has(&it->column, row);
}

static uint64_t value_at(const struct plan_column *it, uint32_t row) {
    return tsmith_view_known(&it->column, row);
}

static const char *constant_text(tsmith_type type, uint64_t value) {
    const char *text = tsmith_value_name(type, value);
    return text ? text : "unknown";
}

// A list is a text: its numbers with spaces between them.
static OTF2_StringRef list_text(struct otf2 *otf2, const struct plan_column *it, uint32_t row) {
    const uint64_t *values = it->column.values;
    uint32_t from = it->column.offsets[row], to = it->column.offsets[row + 1];
    size_t room = (size_t)(to - from) * 21 + 1, length = 0;
    char *text = malloc(room);
    if (!text) {
        otf2_no_memory(otf2);
        return 0;
    }
    text[0] = '\0';
    for (uint32_t i = from; i < to; i++)
        length += (size_t)snprintf(text + length, room - length, "%s%llu", i > from ? " " : "",
                                   (unsigned long long)values[i]);
    OTF2_StringRef string = otf2_text(otf2, text, length);
    free(text);
    return string;
}

static uint64_t bits_of(const struct plan *plan, const struct plan_column *it, uint32_t row) {
    struct otf2 *otf2 = plan->otf2;
    if (it->column.type == TSMITH_TYPE_LIST)
        return list_text(otf2, it, row);
    uint64_t value = value_at(it, row);
    if (it->type != it->column.type)
        return otf2_path(otf2, (uint32_t)value);
    if (it->column.type == TSMITH_TYPE_STRING)
        return otf2_string(otf2, (uint32_t)value);
    if (it->column.type == TSMITH_TYPE_TRACK) {
        const struct otf2_track *track = otf2_track(otf2, (uint32_t)value);
        return track ? track->lanes[0].location : 0;
    }
    if (otf2_type(it->column.type) == OTF2_TYPE_STRING)
        return otf2_constant(otf2, constant_text(it->column.type, value));
    return it->column.type == TSMITH_TYPE_BOOL ? value != 0 : value;
}

// ---- rows

static struct otf2_value attribute_of(const struct plan *plan, const struct plan_column *it, uint32_t row) {
    return (struct otf2_value){plan->otf2->fields[it->field].attribute, otf2_type(it->type),
                               bits_of(plan, it, row)};
}

// Whether the row is a slice that OTF2 can show as it is; until when, then.
static bool is_slice(const struct plan *plan, uint32_t row, int64_t start, int64_t *end) {
    int64_t duration = has_value(plan->duration, row) ? (int64_t)value_at(plan->duration, row) : -1;
    return start >= 0 && duration >= 0 && !__builtin_add_overflow(start, duration, end) && *end != INT64_MAX;
}

static uint32_t put_series(const struct plan *plan, struct otf2_value *to, uint64_t name, uint32_t row) {
    uint32_t count = 0;
    for (size_t i = 0; i < plan->count; i++) {
        const struct plan_column *it = &plan->columns[i];
        if (!it->is_series || !has_value(it, row))
            continue;
        OTF2_Type type = otf2_type(it->column.type);
        const struct otf2_field *field = &plan->otf2->fields[it->field];
        to[count++] =
            (struct otf2_value){otf2_metric(plan->otf2, name, field, type), type, value_at(it, row)};
    }
    return count;
}

static void put_row(const struct plan *plan, uint32_t row) {
    struct otf2 *otf2 = plan->otf2;
    size_t from = plan->track->value_count;
    struct otf2_value *head = otf2_track_room(otf2, plan->track, plan->count + 1), *to = head + 1;
    if (!head)
        return;
    tsmith_kind kind = has_value(plan->kind, row) ? (tsmith_kind)value_at(plan->kind, row) : TSMITH_KIND_NONE;
    uint64_t name = has_value(plan->name, row) ? value_at(plan->name, row) : UINT64_MAX;
    int64_t start = (int64_t)value_at(plan->start, row), end = INT64_MIN;
    uint32_t series = kind == TSMITH_KIND_COUNTER ? put_series(plan, to, name, row) : 0;
    to += series;
    bool slice = series == 0 && is_slice(plan, row, start, &end);
    if (!slice)
        end = INT64_MIN;
    for (size_t i = 0; i < plan->count; i++) {
        const struct plan_column *it = &plan->columns[i];
        if (has_value(it, row) && !it->is_silent && !(series && it->is_series))
            *to++ = attribute_of(plan, it, row);
    }
    if (start < 0)
        *to++ = attribute_of(plan, plan->start, row);
    if (has_value(plan->duration, row) && !slice)
        *to++ = attribute_of(plan, plan->duration, row);
    *head = (struct otf2_value){.type = series};
    if (!series)
        head->ref = otf2_region(otf2, name, kind, !slice, plan->paradigm);
    plan->track->value_count += (size_t)(to - head);
    otf2_wait(otf2, plan->track, start < 0 ? 0 : start, end, from);
}

// ---- the plan of a batch

static void plan_column(struct plan *plan, tsmith_view column) {
    struct otf2 *otf2 = plan->otf2;
    tsmith_field_info info;
    bool is_told = column.field == TSMITH_FIELD_KIND || column.field == TSMITH_FIELD_NAME; // by the region
    bool is_stack = column.field == TSMITH_FIELD_STACK && tsmith_dictionary_stack_count(otf2->dictionary) > 1;
    tsmith_type type = is_stack ? TSMITH_TYPE_STRING : column.type;
    size_t field = is_told ? 0 : otf2_field(otf2, column.field, type);
    if (field == SIZE_MAX || !tsmith_dictionary_describe_field(otf2->dictionary, column.field, &info))
        return; // a field without a description has no name
    struct plan_column *it = &plan->columns[plan->count++];
    *it = (struct plan_column){column, field, type, column.field <= TSMITH_FIELD_NAME,
                               origin_is_series(otf2->origin, &column, &info)};
    if (column.field == TSMITH_FIELD_START)
        plan->start = it;
    else if (column.field == TSMITH_FIELD_DURATION)
        plan->duration = it;
    else if (column.field == TSMITH_FIELD_KIND)
        plan->kind = it;
    else if (column.field == TSMITH_FIELD_NAME)
        plan->name = it;
}

static uint64_t lost_in(const tsmith_batch *batch) {
    const tsmith_view view = tsmith_view_typed(batch, TSMITH_FIELD_LOST, TSMITH_TYPE_U64);
    uint64_t sum = 0, lost;
    for (uint32_t row = 0; tsmith_view_exists(&view) && row < tsmith_batch_count(batch); row++)
        if (tsmith_view_u64(&view, row, &lost) && __builtin_add_overflow(sum, lost, &sum))
            sum = UINT64_MAX;
    return sum;
}

static tsmith_status final_status(const struct otf2 *otf2, tsmith_error *error) {
    if (otf2->status != TSMITH_OK && error)
        *error = otf2->error;
    return otf2->status;
}

static void begin(struct otf2 *otf2, const tsmith_dictionary *dictionary) {
    otf2->dictionary = dictionary;
    otf2->origin = origin_of(dictionary);
}

static tsmith_status write_batch(void *self, const tsmith_dictionary *dictionary, const tsmith_batch *batch,
                                 tsmith_error *error) {
    struct otf2 *otf2 = self;
    uint32_t count = tsmith_batch_count(batch), columns = tsmith_batch_column_count(batch);
    begin(otf2, dictionary);
    struct plan plan = {.otf2 = otf2,
                        .track = otf2_track(otf2, tsmith_batch_track(batch)),
                        .paradigm = otf2_paradigm(otf2, tsmith_batch_track(batch)),
                        .columns = calloc((size_t)columns + 1, sizeof *plan.columns)};
    if (!plan.columns)
        otf2_no_memory(otf2);
    for (uint32_t i = 0; i < columns && otf2->status == TSMITH_OK; i++)
        plan_column(&plan, tsmith_view_at(batch, i));
    for (uint32_t row = 0; plan.start && row < count && otf2->status == TSMITH_OK; row++) {
        put_row(&plan, row);
        if (plan.track->value_count > VALUES_MAX)
            otf2_put_waiting(otf2, plan.track, SIZE_MAX, false);
    }
    otf2->lost += lost_in(batch);
    free(plan.columns);
    otf2_bound(otf2);
    return final_status(otf2, error);
}

// ---- the sink

static tsmith_status finish(void *self, const tsmith_dictionary *dictionary, tsmith_error *error) {
    struct otf2 *otf2 = self;
    begin(otf2, dictionary);
    // Tracks without an event are rows of the timeline, too.
    for (uint32_t id = 1; id < tsmith_dictionary_track_count(dictionary) && otf2->status == TSMITH_OK; id++)
        (void)otf2_track(otf2, id);
    for (size_t id = 0; id < otf2->track_capacity && otf2->status == TSMITH_OK; id++)
        if (otf2->tracks[id])
            otf2_put_waiting(otf2, otf2->tracks[id], SIZE_MAX, true);
    otf2->finished = otf2->status == TSMITH_OK;
    otf2_archive_close(otf2);
    return final_status(otf2, error);
}

static void destroy(void *self) {
    struct otf2 *otf2 = self;
    otf2_archive_close(otf2);
    otf2_lanes_finish(otf2);
    otf2_definitions_finish(otf2);
    free(otf2->path);
    free(otf2);
}

tsmith_status otf2_open(const struct export_place *place, const tsmith_export_options *options,
                        tsmith_sink **out, tsmith_error *error) {
    static const tsmith_sink_ops ops = {write_batch, finish, destroy};
    const char *path = place->path;
    *out = NULL;
    if (!path)
        return status_set(error, TSMITH_ERROR_INVALID_ARGUMENT,
                          "an OTF2 archive is a directory: it needs a name, and cannot be a stream");
    if (options->gzip)
        return status_set(error, TSMITH_ERROR_INVALID_ARGUMENT,
                          "%s: an OTF2 archive is a directory and is not compressed", path);
    struct otf2 *otf2 = calloc(1, sizeof *otf2);
    if (!otf2)
        return status_set(error, TSMITH_ERROR_NO_MEMORY, "out of memory");
    otf2->first = UINT64_MAX;
    tsmith_status status = otf2_archive_open(otf2, path, options->exclusive, error);
    if (status == TSMITH_OK && tsmith_sink_create(&ops, otf2, out) != TSMITH_OK)
        status = status_set(error, TSMITH_ERROR_NO_MEMORY, "out of memory");
    if (status != TSMITH_OK)
        destroy(otf2);
    return status;
}
