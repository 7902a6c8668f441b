// SPDX-License-Identifier: Apache-2.0
// The processed profile format of the Firefox Profiler, version 48. formats.c lists it. The format is that of the profiler's documents
// "Processed profile format" and "CHANGELOG-formats"
// (https://github.com/firefox-devtools/profiler/tree/main/docs-developer).
//
// The first thread has the call paths of paths.h, a sample for each path with its time in ms as the weight. Each track is a thread of
// its own with its events as markers: they are held back until the trace ends, 48 bytes each.
#include <stdlib.h>

#include "export/firefox/markers.h"
#include "export/formats.h"
#include "export/paths.h"
#include "tracesmith/version.h"

enum { CATEGORY_OTHER = 0, VISIBLE_MAX = 40 };

struct firefox {
    struct paths paths;
    struct paths_names names;
    struct markers markers;
    struct output output;
    struct json_out json;
};

static tsmith_status out_of_memory(tsmith_error *error) {
    return status_set(error, TSMITH_ERROR_NO_MEMORY, "out of memory while writing a Firefox profile");
}

static tsmith_status write_batch(void *self, const tsmith_dictionary *dictionary, const tsmith_batch *batch,
                                 tsmith_error *error) {
    struct firefox *firefox = self;
    if (!markers_add(&firefox->markers, batch))
        return out_of_memory(error);
    return paths_add(&firefox->paths, dictionary, batch, error);
}

// ---- columns

static void begin_column(struct output *output, const char *key) {
    output_text(output, ",\n\"");
    output_text(output, key);
    output_text(output, "\":[");
}

// The same value for each row.
static void put_same(struct output *output, const char *key, const char *value, size_t count) {
    begin_column(output, key);
    for (size_t i = 0; i < count; i++) {
        output_text(output, i ? "," : "");
        output_text(output, value);
    }
    output_char(output, ']');
}

// The numbers 0 .. count-1.
static void put_sequence(struct output *output, const char *key, size_t count) {
    begin_column(output, key);
    for (size_t i = 0; i < count; i++) {
        output_text(output, i ? "," : "");
        json_out_u64(output, i);
    }
    output_char(output, ']');
}

static void begin_table(struct output *output, const char *name, size_t count) {
    output_text(output, ",\n\"");
    output_text(output, name);
    output_text(output, "\":{\"length\":");
    json_out_u64(output, count);
}

// A function and a frame for each name.
static void put_frames(struct output *output, size_t count) {
    begin_table(output, "funcTable", count);
    put_sequence(output, "name", count);
    put_same(output, "isJS", "false", count);
    put_same(output, "relevantForJS", "false", count);
    put_same(output, "resource", "-1", count);
    put_same(output, "fileName", "null", count);
    put_same(output, "lineNumber", "null", count);
    put_same(output, "columnNumber", "null", count);
    output_char(output, '}');
    begin_table(output, "frameTable", count);
    put_sequence(output, "func", count);
    put_same(output, "address", "-1", count);
    put_same(output, "inlineDepth", "0", count);
    put_same(output, "category", "0", count);
    put_same(output, "subcategory", "0", count);
    put_same(output, "nativeSymbol", "null", count);
    put_same(output, "innerWindowID", "0", count);
    put_same(output, "implementation", "null", count);
    put_same(output, "line", "null", count);
    put_same(output, "column", "null", count);
    output_text(output, "},\n\"resourceTable\":{\"length\":0,\"lib\":[],\"name\":[],\"host\":[],\"type\":[]},"
                        "\n\"nativeSymbols\":{\"length\":0,\"libIndex\":[],\"address\":[],\"name\":[],"
                        "\"functionSize\":[]}");
}

// ---- the thread of call paths

// The stack of a node is its number less one: the empty path is no stack.
static void put_stacks(struct firefox *firefox) {
    const struct paths *paths = &firefox->paths;
    const size_t count = paths->node_count ? paths->node_count - 1 : 0;
    struct output *output = &firefox->output;
    begin_table(output, "stackTable", count);
    begin_column(output, "frame");
    for (size_t i = 1; i <= count; i++) {
        output_text(output, i > 1 ? "," : "");
        json_out_u64(output, paths_name_number(&firefox->names, paths->nodes[i].name));
    }
    output_char(output, ']');
    begin_column(output, "prefix");
    for (size_t i = 1; i <= count; i++) {
        output_text(output, i > 1 ? "," : "");
        if (paths->nodes[i].parent)
            json_out_u64(output, paths->nodes[i].parent - 1);
        else
            output_text(output, "null");
    }
    output_char(output, ']');
    put_same(output, "category", "0", count);
    put_same(output, "subcategory", "0", count);
    output_char(output, '}');
}

enum sample_column { STACK, TIME, WEIGHT };

static size_t put_sample_column(struct firefox *firefox, const char *key, enum sample_column column) {
    const struct paths *paths = &firefox->paths;
    uint64_t total = 0;
    size_t count = 0;
    begin_column(&firefox->output, key);
    for (size_t i = 1; i < paths->node_count; i++) {
        const int64_t self = paths->nodes[i].self;
        if (self <= 0)
            continue;
        output_text(&firefox->output, count++ ? "," : "");
        if (column == STACK)
            json_out_u64(&firefox->output, i - 1);
        else
            markers_put_ms(&firefox->output, column == TIME ? total : (uint64_t)self);
        total += (uint64_t)self;
    }
    output_char(&firefox->output, ']');
    return count;
}

static void put_samples(struct firefox *firefox) {
    struct output *output = &firefox->output;
    output_text(output, ",\n\"samples\":{\"weightType\":\"tracing-ms\"");
    const size_t count = put_sample_column(firefox, "stack", STACK);
    (void)put_sample_column(firefox, "time", TIME);
    (void)put_sample_column(firefox, "weight", WEIGHT);
    output_text(output, ",\"length\":");
    json_out_u64(output, count);
    output_char(output, '}');
}

static void begin_thread(struct output *output, bool is_main) {
    output_text(output, "{\"processType\":\"default\",\"processStartupTime\":0,\"processShutdownTime\":null,"
                        "\"registerTime\":0,\"unregisterTime\":null,\"pausedRanges\":[],"
                        "\"showMarkersInTimeline\":true,\"isMainThread\":");
    output_text(output, is_main ? "true" : "false");
}

static void put_path_thread(struct firefox *firefox) {
    struct output *output = &firefox->output;
    const char *name = firefox->paths.by_stack ? "\"device time\"" : "\"time\"";
    char text[PATHS_NAME_SIZE];
    begin_thread(output, true);
    output_text(output, ",\"name\":");
    output_text(output, name);
    output_text(output, ",\"processName\":");
    output_text(output, name);
    output_text(output, ",\"pid\":\"call paths\",\"tid\":\"call paths\",\n\"stringArray\":[");
    for (size_t i = 0; i < firefox->names.count; i++) {
        const tsmith_string frame = paths_name(&firefox->paths, firefox->names.names[i], text);
        output_text(output, i ? ",\n" : "");
        json_out_string(output, frame.bytes ? frame.bytes : "", frame.length);
    }
    output_text(output,
                "],\n\"markers\":{\"length\":0,\"name\":[],\"startTime\":[],\"endTime\":[],\"phase\":[],"
                "\"category\":[],\"data\":[]}");
    put_samples(firefox);
    put_stacks(firefox);
    put_frames(output, firefox->names.count);
    output_char(output, '}');
}

// ---- the threads of tracks

static void put_track_names(struct firefox *firefox, const tsmith_dictionary *dictionary, uint32_t id) {
    struct output *output = &firefox->output;
    char room[TSMITH_LABEL_SIZE];
    const tsmith_track *track = tsmith_dictionary_track(dictionary, id);
    const tsmith_process *process = tsmith_dictionary_process(dictionary, track ? track->process : 0);
    const tsmith_string name = output_track_name(dictionary, id, room);
    output_text(output, ",\"name\":");
    json_out_string(output, name.bytes, name.length);
    if (process && process->name) {
        output_text(output, ",\"processName\":");
        json_out_string_id(&firefox->json, dictionary, process->name);
    }
    output_text(output, ",\"pid\":\"");
    json_out_u64(output, process ? process->pid : 0);
    output_text(output, "\",\"tid\":");
    if (track && track->kind == TSMITH_TRACK_THREAD && track->tid) {
        json_out_u64(output, track->tid);
    } else {
        output_text(output, "\"track ");
        json_out_u64(output, id);
        output_char(output, '"');
    }
}

static bool put_track(struct firefox *firefox, const tsmith_dictionary *dictionary, uint32_t id) {
    struct output *output = &firefox->output;
    begin_thread(output, false);
    put_track_names(firefox, dictionary, id);
    output_text(output, ",\n");
    const bool good =
        markers_put(&firefox->markers, &firefox->markers.tracks[id], dictionary, &firefox->json);
    output_text(
        output,
        ",\n\"samples\":{\"weightType\":\"tracing-ms\",\"stack\":[],\"time\":[],\"weight\":[],\"length\":0},"
        "\n\"stackTable\":{\"length\":0,\"frame\":[],\"prefix\":[],\"category\":[],\"subcategory\":[]}");
    put_frames(output, 0);
    output_char(output, '}');
    return good;
}

// ---- the profile

static void put_meta(struct firefox *firefox) {
    struct output *output = &firefox->output;
    size_t threads = 1;
    output_text(output,
                "{\"meta\":{\"version\":29,\"preprocessedProfileVersion\":48,\"interval\":1,\"startTime\":0,"
                "\"processType\":0,\"stackwalk\":0,\"debug\":false,\"symbolicated\":true,"
                "\"product\":\"TraceSmith\",\"importedFrom\":\"TraceSmith ");
    output_text(output, tsmith_version());
    output_text(
        output,
        "\",\"categories\":[\n{\"name\":\"Other\",\"color\":\"transparent\",\"subcategories\":[\"Other\"]}");
    for (unsigned kind = 1; kind < 256; kind++) { // a category for each kind, by its number
        const char *name = tsmith_kind_name((tsmith_kind)kind);
        if (kind >= TSMITH_KIND_LIMIT)
            break;
        output_text(output, ",\n{\"name\":\"");
        output_text(output, name ? name : "event");
        output_text(output, kind == TSMITH_KIND_KERNEL ? "\",\"color\":\"green\"" : "\",\"color\":\"blue\"");
        output_text(output, ",\"subcategories\":[\"Other\"]}");
    }
    output_text(output, "],\n\"initialVisibleThreads\":[0");
    for (size_t id = 0; id < firefox->markers.track_capacity && threads < VISIBLE_MAX; id++)
        if (firefox->markers.tracks[id].count) {
            output_char(output, ',');
            json_out_u64(output, threads++);
        }
    output_text(output, "],\n\"markerSchema\":[");
    markers_put_schema(output);
    output_text(output, "]},\n\"libs\":[],\"pages\":[],\"threads\":[\n");
}

static tsmith_status finish(void *self, const tsmith_dictionary *dictionary, tsmith_error *error) {
    struct firefox *firefox = self;
    const tsmith_status status = paths_end(&firefox->paths, dictionary, error);
    if (status != TSMITH_OK)
        return status;
    bool good = paths_number_names(&firefox->paths, &firefox->names);
    put_meta(firefox);
    put_path_thread(firefox);
    for (size_t id = 0; id < firefox->markers.track_capacity && good; id++)
        if (firefox->markers.tracks[id].count) {
            output_text(&firefox->output, ",\n");
            good = put_track(firefox, dictionary, (uint32_t)id);
        }
    output_text(&firefox->output, "]}\n");
    if (!good || firefox->json.failed)
        return out_of_memory(error);
    return output_finish(&firefox->output, error);
}

static void destroy(void *self) {
    struct firefox *firefox = self;
    if (!firefox)
        return;
    paths_finish(&firefox->paths);
    paths_names_finish(&firefox->names);
    markers_finish(&firefox->markers);
    json_out_finish(&firefox->json);
    output_close(&firefox->output);
    free(firefox);
}

tsmith_status firefox_open(const struct export_place *place, const tsmith_export_options *options,
                           tsmith_sink **out, tsmith_error *error) {
    static const tsmith_sink_ops ops = {write_batch, finish, destroy};
    struct firefox *firefox = calloc(1, sizeof *firefox);
    if (!firefox)
        return out_of_memory(error);
    firefox->json.output = &firefox->output;
    firefox->paths.hide_interpreter = options && options->hide_interpreter;
    return output_sink(&firefox->output, &ops, firefox, place, options, out, error);
}
