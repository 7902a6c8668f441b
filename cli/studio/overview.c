// SPDX-License-Identifier: Apache-2.0
// What a trace consists of: processes, devices, tracks, losses. The page asks for it first.
#include <inttypes.h>
#include <string.h>

#include "cli/studio/picture.h"
#include "tracesmith/view.h"

static void add_number(struct text *text, const char *name, uint64_t value) {
    text_add_format(text, ",\"%s\":%" PRIu64, name, value);
}

// Kineto has processes of number -1.
static void add_pid(struct text *text, uint64_t pid) {
    if (pid)
        text_add_format(text, ",\"pid\":%" PRId64, (int64_t)pid);
    else
        text_add_cstr(text, ",\"pid\":null");
}

static void add_string(struct text *text, const struct picture *picture, const char *name, uint32_t id) {
    const tsmith_string string = tsmith_dictionary_string(picture->dictionary, id);
    text_add_format(text, ",\"%s\":", name);
    if (string.length)
        text_add_json(text, string);
    else
        text_add_cstr(text, "null");
}

static void add_processes(struct text *text, const struct picture *picture) {
    const uint32_t count = tsmith_dictionary_process_count(picture->dictionary);
    text_add_cstr(text, ",\"processes\":[");
    for (uint32_t id = 1; id < count; id++) {
        const tsmith_process *process = tsmith_dictionary_process(picture->dictionary, id);
        text_add_format(text, "%s{\"id\":%u", id > 1 ? ",\n" : "", id);
        add_pid(text, process->pid);
        add_string(text, picture, "name", process->name);
        add_string(text, picture, "host", process->host);
        text_add_char(text, '}');
    }
    text_add_char(text, ']');
}

static void add_devices(struct text *text, const struct picture *picture) {
    const uint32_t count = tsmith_dictionary_device_count(picture->dictionary);
    char room[TSMITH_LABEL_SIZE];
    text_add_cstr(text, ",\n\"devices\":[");
    for (uint32_t id = 1; id < count; id++) {
        const tsmith_device *device = tsmith_dictionary_device(picture->dictionary, id);
        text_add_format(text, "%s{\"id\":%u,\"name\":", id > 1 ? ",\n" : "", id);
        text_add_json(text, tsmith_device_name(picture->dictionary, id, room));
        add_string(text, picture, "vendor", device->vendor);
        add_string(text, picture, "kind", device->type);
        text_add_char(text, '}');
    }
    text_add_char(text, ']');
}

// ---- tracks

static const char *kind_of(const tsmith_track *track) {
    switch (track ? track->kind : TSMITH_TRACK_KIND_NONE) {
    case TSMITH_TRACK_THREAD:
        return "thread";
    case TSMITH_TRACK_QUEUE:
    case TSMITH_TRACK_COPY_ENGINE:
        return "queue";
    case TSMITH_TRACK_COUNTER:
        return "counter";
    case TSMITH_TRACK_PROCESS:
    case TSMITH_TRACK_LOSS:
        return "process";
    default:
        return "other";
    }
}

static void add_track(struct text *text, const struct picture *picture, const tsmith_tile_track *tile) {
    const tsmith_track *track = tsmith_dictionary_track(picture->dictionary, tile->track);
    char room[TSMITH_LABEL_SIZE], distinction[TSMITH_LABEL_SIZE];
    struct text name = {0};
    const tsmith_string own = tsmith_track_name(picture->dictionary, tile->track, room);
    text_add(&name, own.bytes, own.length);
    const size_t more = tsmith_track_distinction(picture->dictionary, tile->track,
                                                 TSMITH_LABEL_PROCESS | TSMITH_LABEL_DEVICE, distinction);
    text_add(&name, distinction, more);
    text_add_format(text, "{\"id\":%u,\"name\":", tile->track);
    text_add_json(text, (tsmith_string){text_cstr(&name), name.length});
    text_finish(&name);
    text_add_format(text, ",\"kind\":\"%s\",\"process\":%u,\"device\":%u", kind_of(track),
                    track ? track->process : 0, track ? track->device : 0);
    add_number(text, "events", tile->events);
    text_add_format(text, ",\"first\":%" PRId64 ",\"last\":%" PRId64 ",\"parent\":%u}", tile->first,
                    tile->last, track ? track->parent : 0);
}

static void add_tracks(struct text *text, const struct picture *picture) {
    size_t count;
    const tsmith_tile_track *tracks = tsmith_tiles_tracks(picture->tiles, &count);
    text_add_cstr(text, ",\n\"tracks\":[");
    for (size_t i = 0; i < count; i++) {
        text_add_cstr(text, i ? ",\n" : "");
        add_track(text, picture, &tracks[i]);
    }
    text_add_char(text, ']');
}

// ---- losses

enum { KIND, START, DURATION, LOST, REASON, DETAIL, FIELDS };

static void add_loss(struct text *text, const struct picture *picture, const tsmith_batch *batch,
                     const tsmith_view views[FIELDS], uint32_t row, bool *is_first) {
    uint64_t count;
    const uint32_t number = tsmith_batch_track(batch);
    const tsmith_track *track = tsmith_dictionary_track(picture->dictionary, number);
    const uint64_t start = tsmith_view_u64_or(&views[START], row, 0);       // every event has one
    const uint64_t duration = tsmith_view_u64_or(&views[DURATION], row, 0); // an instant
    const uint8_t reason = tsmith_view_word(&views[REASON], row);
    const uint32_t detail = tsmith_view_id(&views[DETAIL], row);
    const int64_t from = (int64_t)(start - (uint64_t)tsmith_tiles_origin(picture->tiles));
    text_add_format(text, "%s{\"from\":%" PRId64 ",\"to\":%" PRId64, *is_first ? "" : ",\n", from,
                    (int64_t)((uint64_t)from + duration));
    *is_first = false;
    text_add_format(text, ",\"process\":%u,\"track\":%u", track ? track->process : 0,
                    track && track->kind != TSMITH_TRACK_LOSS ? number : 0);
    if (tsmith_view_u64(&views[LOST], row, &count))
        add_number(text, "count", count);
    else
        text_add_cstr(text, ",\"count\":null");
    const char *name = tsmith_reason_name((tsmith_reason)reason);
    const char *doc = tsmith_reason_doc((tsmith_reason)reason);
    text_add_cstr(text, ",\"reason\":");
    text_add_json_cstr(text, name ? name : "unknown");
    text_add_cstr(text, ",\"doc\":");
    text_add_json_cstr(text, doc ? doc : "");
    if (detail)
        add_string(text, picture, "text", detail);
    text_add_char(text, '}');
}

// The ledger. An unreadable part of it is reported by `incomplete`.
static void add_losses(struct text *text, const struct picture *picture) {
    static const uint32_t fields[FIELDS] = {
        [KIND] = TSMITH_FIELD_KIND, [START] = TSMITH_FIELD_START,   [DURATION] = TSMITH_FIELD_DURATION,
        [LOST] = TSMITH_FIELD_LOST, [REASON] = TSMITH_FIELD_REASON, [DETAIL] = TSMITH_FIELD_TEXT};
    const tsmith_scan scan = {.size = sizeof scan, .kinds = TSMITH_KIND_BIT(TSMITH_KIND_LOSS)};
    tsmith_view views[FIELDS];
    tsmith_source *source = NULL;
    const tsmith_batch *batch;
    bool is_first = true;
    text_add_cstr(text, ",\n\"losses\":[");
    tsmith_status status = tsmith_sbt_scan(picture->sbt, &scan, &source, NULL);
    while (status == TSMITH_OK && (status = tsmith_source_next(source, &batch, NULL)) == TSMITH_OK) {
        tsmith_view_batch(batch, fields, FIELDS, views);
        for (uint32_t row = 0; row < tsmith_batch_count(batch); row++)
            if (tsmith_view_word(&views[KIND], row) == TSMITH_KIND_LOSS)
                add_loss(text, picture, batch, views, row, &is_first);
    }
    tsmith_source_destroy(source);
    text_add_char(text, ']');
}

// ----

static void add_state(struct text *text, const struct picture *picture) {
    tsmith_sbt_summary summary = {.size = sizeof summary};
    tsmith_error error = {.status = TSMITH_OK};
    uint64_t lost = 0;
    if (picture->live) { // whose events are not counted again and again
        for (int reason = 0; reason < TSMITH_LIVE_REASONS; reason++)
            lost += tsmith_reason_is_of_events((tsmith_reason)reason) ? picture->live->lost[reason] : 0;
        add_number(text, "events", picture->live->events);
        add_number(text, "lost", lost);
        text_add_cstr(text, ",\"samples\":0,\"incomplete\":null"); // they come at the end
        return;
    }
    if (tsmith_sbt_summarize(picture->sbt, &summary, &error) != TSMITH_OK) {
        text_add_cstr(text, ",\"events\":null,\"lost\":null,\"samples\":0,\"incomplete\":");
        text_add_json_cstr(text, error.message);
        return;
    }
    for (int reason = 0; reason < TSMITH_REASON_LIMIT; reason++)
        lost += tsmith_reason_is_of_events((tsmith_reason)reason) ? summary.lost[reason] : 0;
    add_number(text, "events", summary.events);
    add_number(text, "lost", lost);
    add_number(text, "samples", summary.kinds[TSMITH_KIND_SAMPLE]);
    text_add_cstr(text, ",\"incomplete\":");
    if (picture->incomplete)
        text_add_json_cstr(text, picture->incomplete);
    else if (!summary.complete)
        text_add_cstr(text, "\"The file is damaged or incomplete; the readable part is shown\"");
    else
        text_add_cstr(text, "null");
}

static void add_kinds(struct text *text) {
    text_add_cstr(text, ",\n\"kinds\":{");
    for (int kind = 1; kind < TSMITH_KIND_LIMIT; kind++) {
        const char *name = tsmith_kind_name((tsmith_kind)kind);
        text_add_format(text, "%s\"%d\":\"%s\"", kind > 1 ? "," : "", kind, name ? name : "?");
    }
    text_add_char(text, '}');
}

void picture_overview(const struct picture *picture, struct text *text) {
    struct text word = {0};
    const char *slash = strrchr(picture->path, '/');
    text_add_cstr(text, "{\"name\":");
    text_add_json_cstr(text, slash && slash[1] ? slash + 1 : picture->path);
    text_add_cstr(text, ",\"path\":");
    text_add_json_cstr(text, picture->path);
    text_add_shell(&word, picture->path);
    text_add_cstr(text, ",\"file\":");
    text_add_json(text, (tsmith_string){text_cstr(&word), word.length});
    text_finish(&word);
    text_add_format(text, ",\"format\":\"%s\",\"origin\":\"%" PRId64 "\",\"duration\":%" PRIu64,
                    picture->format, tsmith_tiles_origin(picture->tiles),
                    (uint64_t)tsmith_tiles_end(picture->tiles) -
                        (uint64_t)tsmith_tiles_origin(picture->tiles));
    text_add_format(text, ",\"detail\":\"%s\",\"kept\":%s", picture->is_filled ? "ready" : "building",
                    picture->is_loaded ? "true" : "false");
    text_add_format(text, ",\"live\":%s", picture->live ? "true" : "false");
    add_state(text, picture);
    add_kinds(text);
    add_processes(text, picture);
    add_devices(text, picture);
    add_tracks(text, picture);
    add_losses(text, picture);
    text_add_cstr(text, "}\n");
}
