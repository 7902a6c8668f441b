// SPDX-License-Identifier: Apache-2.0
// Markers of the Firefox Profiler. Used by firefox.c. The format is that of "Marker schema" and "Raw marker table" in the profiler's
// documents (https://github.com/firefox-devtools/profiler/tree/main/docs-developer).
#include "export/firefox/markers.h"

#include <stdlib.h>

#include "base/array.h"
#include "tracesmith/view.h"

enum { PHASE_INSTANT = 0, PHASE_INTERVAL = 1 };
enum { KIND, START, DURATION, NAME, CORRELATION, BYTES, LOST, REASON, FIELDS };

static const uint32_t fields[FIELDS] = {[KIND] = TSMITH_FIELD_KIND,
                                        [START] = TSMITH_FIELD_START,
                                        [DURATION] = TSMITH_FIELD_DURATION,
                                        [NAME] = TSMITH_FIELD_NAME,
                                        [CORRELATION] = TSMITH_FIELD_CORRELATION,
                                        [BYTES] = TSMITH_FIELD_BYTES,
                                        [LOST] = TSMITH_FIELD_LOST,
                                        [REASON] = TSMITH_FIELD_REASON};

static struct marker make_marker(const tsmith_view views[FIELDS], uint32_t row, int64_t start, uint8_t kind) {
    struct marker marker = {.start = start,
                            .duration = tsmith_view_i64_or(&views[DURATION], row, -1),
                            .name = tsmith_view_id(&views[NAME], row),
                            .kind = kind};
    if (kind == TSMITH_KIND_LOSS) {
        marker.has_correlation = tsmith_view_u64(&views[LOST], row, &marker.correlation);
        marker.bytes = tsmith_view_word(&views[REASON], row);
        marker.has_bytes = tsmith_reason_name((tsmith_reason)marker.bytes) != NULL;
    } else {
        marker.has_correlation = tsmith_view_u64(&views[CORRELATION], row, &marker.correlation);
        marker.has_bytes = tsmith_view_u64(&views[BYTES], row, &marker.bytes);
    }
    return marker;
}

bool markers_add(struct markers *markers, const tsmith_batch *batch) {
    const uint32_t id = tsmith_batch_track(batch), count = tsmith_batch_count(batch);
    const size_t had = markers->track_capacity;
    tsmith_view views[FIELDS];
    tsmith_view_batch(batch, fields, FIELDS, views);
    const int64_t *starts = tsmith_view_every(&views[START]);
    const uint8_t *kinds = tsmith_view_every(&views[KIND]);
    if (!starts || !kinds || !count)
        return true;
    if (!ARRAY_RESERVE(markers->tracks, markers->track_capacity, (size_t)id + 1))
        return false;
    for (size_t i = had; i < markers->track_capacity; i++)
        markers->tracks[i] = (struct markers_track){NULL, 0, 0};
    struct markers_track *track = &markers->tracks[id];
    if (!ARRAY_RESERVE(track->items, track->capacity, track->count + count))
        return false;
    for (uint32_t row = 0; row < count; row++) {
        track->items[track->count++] = make_marker(views, row, starts[row], kinds[row]);
        markers->first = markers->any && markers->first < starts[row] ? markers->first : starts[row];
        markers->any = true;
    }
    return true;
}

void markers_finish(struct markers *markers) {
    for (size_t i = 0; i < markers->track_capacity; i++)
        free(markers->tracks[i].items);
    free(markers->tracks);
}

// ---- JSON

void markers_put_ms(struct output *output, uint64_t ns) {
    char *at = output_room(output);
    json_out_u64(output, ns / 1000000);
    at = output_room(output);
    uint64_t rest = ns % 1000000;
    *at = '.';
    for (int i = 6; i > 0; i--, rest /= 10)
        at[i] = (char)('0' + rest % 10);
    output_advance(output, at + 7);
}

static uint64_t name_key(const struct marker *marker) {
    return marker->name ? marker->name : (uint64_t)1 << 32 | marker->kind;
}

static uint64_t since(const struct markers *markers, int64_t time) {
    return (uint64_t)time - (uint64_t)markers->first;
}

static uint64_t end_of(const struct markers *markers, const struct marker *marker) {
    uint64_t end;
    return __builtin_add_overflow(since(markers, marker->start), (uint64_t)marker->duration, &end)
               ? UINT64_MAX
               : end;
}

static void put_name(const struct marker *marker, const tsmith_dictionary *dictionary,
                     struct json_out *json) {
    const char *kind = tsmith_kind_name((tsmith_kind)marker->kind);
    kind = kind ? kind : "event";
    if (marker->name)
        json_out_string_id(json, dictionary, marker->name);
    else
        json_out_string(json->output, kind, strlen(kind));
}

static void put_data(const struct marker *marker, struct output *output) {
    const char *kind = tsmith_kind_name((tsmith_kind)marker->kind);
    const bool loss = marker->kind == TSMITH_KIND_LOSS;
    output_text(output, "{\"type\":\"");
    output_text(output, kind ? kind : "event");
    output_char(output, '"');
    if (marker->has_correlation) {
        output_text(output, loss ? ",\"lost\":" : ",\"correlation\":");
        json_out_u64(output, marker->correlation);
    }
    if (marker->has_bytes && loss) {
        output_text(output, ",\"reason\":\"");
        output_text(output, tsmith_reason_name((tsmith_reason)marker->bytes));
        output_char(output, '"');
    } else if (marker->has_bytes) {
        output_text(output, ",\"bytes\":");
        json_out_u64(output, marker->bytes);
    }
    output_char(output, '}');
}

enum column { NAMES, STARTS, ENDS, PHASES, CATEGORIES, DATA, COLUMNS };

static void put_cell(const struct markers *markers, const struct marker *marker, enum column column,
                     struct output *output) {
    switch (column) {
    case STARTS:
        markers_put_ms(output, since(markers, marker->start));
        return;
    case ENDS:
        if (marker->duration < 0)
            output_text(output, "null");
        else
            markers_put_ms(output, end_of(markers, marker));
        return;
    case PHASES:
        output_char(output, (char)('0' + (marker->duration < 0 ? PHASE_INSTANT : PHASE_INTERVAL)));
        return;
    case CATEGORIES:
        json_out_u64(output, marker->kind < TSMITH_KIND_LIMIT ? marker->kind : 0);
        return;
    default:
        put_data(marker, output);
    }
}

bool markers_put(const struct markers *markers, const struct markers_track *track,
                 const tsmith_dictionary *dictionary, struct json_out *json) {
    static const char *const keys[COLUMNS] = {"name", "startTime", "endTime", "phase", "category", "data"};
    struct output *output = json->output;
    struct table numbers = {0};
    uint64_t strings = 0;
    bool good = true, is_new;
    output_text(output, "\"stringArray\":[");
    for (size_t i = 0; i < track->count && good; i++) {
        uint64_t *number = table_add(&numbers, name_key(&track->items[i]), &is_new);
        good = number != NULL;
        if (!number || !is_new)
            continue;
        output_text(output, strings ? ",\n" : "");
        put_name(&track->items[i], dictionary, json);
        *number = strings++;
    }
    output_text(output, "],\n\"markers\":{\"length\":");
    json_out_u64(output, track->count);
    for (enum column column = NAMES; column < COLUMNS && good; column++) {
        output_text(output, ",\n\"");
        output_text(output, keys[column]);
        output_text(output, "\":[");
        for (size_t i = 0; i < track->count; i++) {
            output_text(output, i ? "," : "");
            if (column == NAMES)
                json_out_u64(output, *table_find(&numbers, name_key(&track->items[i])));
            else
                put_cell(markers, &track->items[i], column, output);
        }
        output_char(output, ']');
    }
    output_char(output, '}');
    table_finish(&numbers);
    return good;
}

void markers_put_schema(struct output *output) {
    bool first = true;
    for (unsigned kind = 1; kind < TSMITH_KIND_LIMIT; kind++) {
        const char *name = tsmith_kind_name((tsmith_kind)kind);
        if (!name)
            continue;
        output_text(output, first ? "\n{\"name\":\"" : ",\n{\"name\":\"");
        output_text(output, name);
        output_text(output,
                    "\",\"tooltipLabel\":\"{marker.name}\",\"tableLabel\":\"{marker.name}\","
                    "\"chartLabel\":\"{marker.name}\","
                    "\"display\":[\"marker-chart\",\"marker-table\",\"timeline-overview\"],\"data\":[");
        output_text(output,
                    kind == TSMITH_KIND_LOSS
                        ? "{\"key\":\"lost\",\"label\":\"lost events\",\"format\":\"integer\"},"
                          "{\"key\":\"reason\",\"label\":\"reason\",\"format\":\"string\"}"
                        : "{\"key\":\"correlation\",\"label\":\"correlation\",\"format\":\"integer\"},"
                          "{\"key\":\"bytes\",\"label\":\"bytes\",\"format\":\"bytes\"}");
        output_text(output, "]}");
        first = false;
    }
}
