// SPDX-License-Identifier: Apache-2.0
// speedscope's own JSON: a sampled profile, with a sample for each path and its time in ns as the weight. formats.c lists it.
#include <stdlib.h>
#include <string.h>

#include "export/formats.h"
#include "export/json_out.h"
#include "export/output.h"
#include "export/paths.h"

struct speedscope {
    struct paths paths;
    struct output output;
    struct paths_names names;
    uint32_t *path; // of PATHS_DEPTH_MAX nodes
};

static void put_frames(struct speedscope *scope) {
    char text[PATHS_NAME_SIZE];
    for (size_t i = 0; i < scope->names.count; i++) {
        const tsmith_string name = paths_name(&scope->paths, scope->names.names[i], text);
        output_text(&scope->output, i ? ",\n{\"name\":" : "\n{\"name\":");
        json_out_string(&scope->output, name.bytes ? name.bytes : "", name.length);
        output_char(&scope->output, '}');
    }
}

// The outermost name first. Of a path that is deeper than PATHS_DEPTH_MAX the outermost names are left out.
static void put_path(struct speedscope *scope, size_t node) {
    size_t depth = 0;
    for (uint32_t at = (uint32_t)node; at && depth < PATHS_DEPTH_MAX; at = scope->paths.nodes[at].parent)
        scope->path[depth++] = at;
    output_char(&scope->output, '[');
    while (depth-- > 0) {
        const uint64_t name = scope->paths.nodes[scope->path[depth]].name;
        json_out_u64(&scope->output, paths_name_number(&scope->names, name));
        if (depth)
            output_char(&scope->output, ',');
    }
    output_char(&scope->output, ']');
}

static int64_t put_samples(struct speedscope *scope) {
    int64_t total = 0;
    bool first = true;
    for (size_t i = 1; i < scope->paths.node_count; i++) {
        if (scope->paths.nodes[i].self <= 0)
            continue;
        output_text(&scope->output, first ? "\n" : ",\n");
        put_path(scope, i);
        first = false;
    }
    output_text(&scope->output, "],\"weights\":[");
    first = true;
    for (size_t i = 1; i < scope->paths.node_count; i++) {
        if (scope->paths.nodes[i].self <= 0)
            continue;
        output_text(&scope->output, first ? "\n" : ",\n");
        json_out_i64(&scope->output, scope->paths.nodes[i].self);
        total = __builtin_add_overflow(total, scope->paths.nodes[i].self, &total) ? INT64_MAX : total;
        first = false;
    }
    return total;
}

static tsmith_status write_batch(void *self, const tsmith_dictionary *dictionary, const tsmith_batch *batch,
                                 tsmith_error *error) {
    return paths_add(&((struct speedscope *)self)->paths, dictionary, batch, error);
}

static tsmith_status finish(void *self, const tsmith_dictionary *dictionary, tsmith_error *error) {
    struct speedscope *scope = self;
    const tsmith_status status = paths_end(&scope->paths, dictionary, error);
    if (status != TSMITH_OK)
        return status;
    if (!paths_number_names(&scope->paths, &scope->names))
        return status_set(error, TSMITH_ERROR_NO_MEMORY, "out of memory");
    output_text(&scope->output, "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\","
                                "\"exporter\":\"tracesmith\",\"shared\":{\"frames\":[");
    put_frames(scope);
    output_text(&scope->output, "]},\n\"profiles\":[{\"type\":\"sampled\",\"name\":");
    json_out_string(&scope->output, paths_quantity(&scope->paths), strlen(paths_quantity(&scope->paths)));
    output_text(&scope->output, ",\"unit\":\"nanoseconds\",\"startValue\":0,\"samples\":[");
    const int64_t total = put_samples(scope);
    output_text(&scope->output, "],\"endValue\":");
    json_out_i64(&scope->output, total);
    output_text(&scope->output, "}]}\n");
    return output_finish(&scope->output, error);
}

static void destroy(void *self) {
    struct speedscope *scope = self;
    if (!scope)
        return;
    paths_finish(&scope->paths);
    output_close(&scope->output);
    paths_names_finish(&scope->names);
    free(scope->path);
    free(scope);
}

tsmith_status speedscope_open(const struct export_place *place, const tsmith_export_options *options,
                              tsmith_sink **out, tsmith_error *error) {
    static const tsmith_sink_ops ops = {write_batch, finish, destroy};
    struct speedscope *scope = calloc(1, sizeof *scope);
    if (scope)
        scope->path = malloc(PATHS_DEPTH_MAX * sizeof *scope->path);
    if (!scope || !scope->path) {
        free(scope);
        return status_set(error, TSMITH_ERROR_NO_MEMORY, "out of memory");
    }
    scope->paths.hide_interpreter = options && options->hide_interpreter;
    scope->paths.of_samples = options && options->cpu_samples;
    return output_sink(&scope->output, &ops, scope, place, options, out, error);
}
