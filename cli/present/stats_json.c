// SPDX-License-Identifier: Apache-2.0
// The totals as one JSON document: all of them, in nanoseconds and bytes.
#include <inttypes.h>
#include <stdlib.h>

#include "stats.h"
#include "terminal.h"

static bool has_events(const struct total *total, uint8_t kind) {
    (void)kind;
    return total->count > 0;
}

static void add_enum(struct text *text, const char *key, tsmith_type type, uint8_t value) {
    const char *name = tsmith_value_name(type, value);
    text_add_format(text, "\"%s\":", key);
    if (name)
        text_add_json_cstr(text, name);
    else
        text_add_cstr(text, "null");
}

static void add_named(struct text *text, const struct stats *stats, uint32_t name) {
    text_add_cstr(text, ",\"name\":");
    if (name)
        text_add_json(text, trace_string(&stats->view->trace, name));
    else
        text_add_cstr(text, "null");
}

static void add_totals(struct text *text, const struct stats *stats) {
    size_t count;
    uint32_t *indices = stats_sorted(stats, has_events, 0, &count);
    text_add_cstr(text, "\"totals\":[");
    for (size_t i = 0; indices && i < count; i++) {
        const struct total *total = &stats->totals[indices[i]];
        text_add_cstr(text, i ? ",\n{" : "\n{");
        add_enum(text, "kind", TSMITH_TYPE_KIND, total->kind);
        add_named(text, stats, total->name);
        text_add_char(text, ',');
        add_enum(text, "operation", TSMITH_TYPE_OPERATION, total->operation);
        text_add_char(text, ',');
        add_enum(text, "direction", TSMITH_TYPE_DIRECTION, total->direction);
        text_add_format(text, ",\"count\":%" PRIu64 ",\"timed\":%" PRIu64, total->count, total->timed);
        if (!total->timed)
            text_add_cstr(text, ",\"total_ns\":null");
        else
            text_add_format(text,
                            ",\"total_ns\":%" PRId64 ",\"mean_ns\":%" PRId64 ",\"min_ns\":%" PRId64
                            ",\"max_ns\":%" PRId64,
                            total->sum, total->sum / (int64_t)total->timed, total->least, total->most);
        if (total->sized)
            text_add_format(text, ",\"bytes\":%" PRIu64, total->bytes);
        if (stats_has_rate(total)) {
            text_add_cstr(text, ",\"bytes_per_second\":");
            text_add_f64(text, (double)total->timed_bytes * 1e9 / (double)total->bytes_time);
        }
        text_add_char(text, '}');
    }
    text_add_cstr(text, "]");
    free(indices);
}

static void add_share(struct text *text, const struct stats *stats, int64_t part) {
    int64_t window = stats->to - stats->from;
    text_add_f64(text, window > 0 ? (double)part / (double)window : 0);
}

static void add_busy(struct text *text, const struct stats *stats) {
    const tsmith_dictionary *dictionary = stats->view->trace.dictionary;
    text_add_cstr(text, "\"device_busy\":[");
    bool first = true;
    for (uint32_t id = 0; id < stats->device_count; id++) {
        const struct device_totals *device = &stats->devices[id];
        const tsmith_device *entry = tsmith_dictionary_device(dictionary, id);
        if (!device->work.started)
            continue;
        text_add_format(text, "%s{\"device\":%u", first ? "\n" : ",\n", id);
        add_named(text, stats, entry ? entry->name : 0);
        text_add_format(
            text, ",\"commands\":%" PRIu64 ",\"busy_ns\":%" PRId64 ",\"work_ns\":%" PRId64 ",\"share\":",
            device->commands, device->work.busy, device->work_sum);
        add_share(text, stats, device->work.busy);
        text_add_char(text, '}');
        first = false;
    }
    const bool knows_waits = stats_know_waits(stats);
    text_add_cstr(text, "],\n\"track_busy\":[");
    first = true;
    for (uint32_t id = 0; id < stats->track_count; id++) {
        const struct track_totals *track = &stats->tracks[id];
        if (!track->events)
            continue;
        text_add_format(text, "%s{\"track\":%u,\"name\":", first ? "\n" : ",\n", id);
        trace_add_track_json(text, dictionary, id);
        text_add_format(text,
                        ",\"events\":%" PRIu64 ",\"device_work_ns\":%" PRId64 ",\"work_ns\":%" PRId64
                        ",\"calls_ns\":%" PRId64 ",\"waiting_ns\":",
                        track->events, track->device_work.busy, track->work_sum, track->calls.busy);
        if (knows_waits)
            text_add_i64(text, track->waiting.busy);
        else
            text_add_cstr(text, "null");
        text_add_cstr(text, ",\"device_work_share\":");
        add_share(text, stats, track->device_work.busy);
        text_add_char(text, '}');
        first = false;
    }
    text_add_char(text, ']');
}

static void add_causes(struct text *text, const struct stats *stats, uint32_t wait) {
    size_t count;
    uint32_t *indices = stats_sorted_causes(stats, wait, &count);
    text_add_cstr(text, "\"for\":[");
    for (size_t i = 0; indices && i < count; i++) {
        const struct cause *cause = &stats->causes[indices[i]];
        text_add_cstr(text, i ? ",{" : "{");
        add_enum(text, "kind", TSMITH_TYPE_KIND, cause->kind);
        add_named(text, stats, cause->name);
        text_add_char(text, ',');
        add_enum(text, "operation", TSMITH_TYPE_OPERATION, cause->operation);
        text_add_format(text, ",\"ns\":%" PRId64 "}", cause->sum);
    }
    text_add_char(text, ']');
    free(indices);
}

static void add_waits(struct text *text, const struct stats *stats) {
    size_t count;
    uint32_t *indices = stats_sorted_waits(stats, &count);
    text_add_cstr(text, "\"waits\":[");
    for (size_t i = 0; indices && i < count; i++) {
        const struct wait *wait = &stats->waits[indices[i]];
        text_add_cstr(text, i ? ",\n{" : "\n{");
        add_enum(text, "operation", TSMITH_TYPE_OPERATION, wait->operation);
        text_add_format(text, ",\"queue_track\":%u,\"count\":%" PRIu64 ",\"total_ns\":%" PRId64, wait->queue,
                        wait->count, wait->sum);
        text_add_format(text, ",\"nothing_ran_ns\":%" PRId64 ",", wait->sum - wait->explained);
        add_causes(text, stats, indices[i]);
        text_add_char(text, '}');
    }
    text_add_char(text, ']');
    free(indices);
}

static void add_failures(struct text *text, const struct stats *stats) {
    text_add_cstr(text, "\"failed_calls\":[");
    for (size_t i = 0; i < stats->failure_map.count; i++) {
        const struct failure *failure = &stats->failures[i];
        text_add_format(text, "%s{\"result\":%" PRId64 ",\"count\":%" PRIu64, i ? ",\n" : "\n",
                        failure->result, failure->count);
        add_named(text, stats, failure->name);
        text_add_char(text, '}');
    }
    text_add_char(text, ']');
}

static void add_memory(struct text *text, const struct stats *stats) {
    bool first = true;
    text_add_cstr(text, "\"memory\":[");
    for (uint32_t id = 0; id < stats->process_count; id++) {
        const struct memory_totals *memory = &stats->processes[id];
        if (!memory->allocations && !memory->frees)
            continue;
        text_add_format(text, "%s{\"process\":%u,\"allocations\":%" PRIu64 ",\"frees\":%" PRIu64,
                        first ? "\n" : ",\n", id, memory->allocations, memory->frees);
        if (memory->sized)
            text_add_format(text,
                            ",\"allocated_bytes\":%" PRIu64 ",\"peak_bytes\":%" PRIu64
                            ",\"peak_at_ns\":%" PRId64 ",\"live_bytes\":%" PRIu64,
                            memory->allocated_bytes, memory->peak, memory->peak_at, memory->live);
        text_add_char(text, '}');
        first = false;
    }
    text_add_char(text, ']');
}

void stats_write_json(struct stats *stats) {
    struct text text = {0};
    bool first = true;
    text_add_char(&text, '{');
    trace_refresh(&stats->view->trace);
    trace_add_json_head(&text, &stats->view->trace);
    text_add_char(&text, ',');
    trace_add_json_state(&text, &stats->view->trace);
    text_add_format(&text,
                    ",\"from\":%" PRId64 ",\"to\":%" PRId64 ",\"window_ns\":%" PRId64 ",\"events\":%" PRIu64,
                    stats->from, stats->to, stats->to - stats->from, stats->events);
    text_add_format(&text, ",\"work\":{\"commands\":%" PRIu64 ",\"timed\":%" PRIu64 "}", stats->work,
                    stats->timed_work);
    text_add_format(&text, ",\"lost_in_window\":{\"events\":%" PRIu64 ",\"unrecorded_ns\":%" PRId64 "}",
                    stats->lost, stats->holes.busy);
    text_add_cstr(&text, ",\"kinds\":{");
    for (int kind = 0; kind < TSMITH_KIND_LIMIT; kind++) {
        if (!stats->kinds[kind])
            continue;
        text_add_format(&text, "%s\"%s\":%" PRIu64, first ? "" : ",", trace_kind_name(kind),
                        stats->kinds[kind]);
        first = false;
    }
    text_add_cstr(&text, "},\n");
    void (*const parts[])(struct text *, const struct stats *) = {add_totals, add_busy, add_waits,
                                                                  add_failures, add_memory};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        text_add_cstr(&text, i ? ",\n" : "");
        parts[i](&text, stats);
    }
    text_add_cstr(&text, "}\n");
    output_text(&text);
    text_finish(&text);
}
