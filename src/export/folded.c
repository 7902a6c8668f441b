// SPDX-License-Identifier: Apache-2.0
// Folded stacks: one line per path, `process;outer;inner NS`, with the time that was spent in the innermost and in
// nothing within it. flamegraph.pl, inferno and speedscope draw it.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "export/formats.h"
#include "export/output.h"
#include "export/paths.h"

struct folded {
    struct paths paths;
    struct output output;
};

// Semicolons part the names and line feeds the lines.
static void put_clean(struct output *output, tsmith_string name) {
    for (size_t i = 0; i < name.length; i++)
        output_char(output, name.bytes[i] == ';'                 ? ':'
                            : (unsigned char)name.bytes[i] < ' ' ? ' '
                                                                 : name.bytes[i]);
}

// If a path is deeper than PATHS_DEPTH_MAX, the outermost names are left out.
static void put_path(struct folded *folded, uint32_t node) {
    uint32_t path[PATHS_DEPTH_MAX];
    char text[PATHS_NAME_SIZE];
    size_t depth = 0;
    for (uint32_t at = node; at && depth < PATHS_DEPTH_MAX; at = folded->paths.nodes[at].parent)
        path[depth++] = at;
    while (depth-- > 0) {
        put_clean(&folded->output, paths_name(&folded->paths, folded->paths.nodes[path[depth]].name, text));
        if (depth)
            output_char(&folded->output, ';');
    }
    (void)snprintf(text, sizeof text, " %" PRIi64 "\n", folded->paths.nodes[node].self);
    output_text(&folded->output, text);
}

static tsmith_status write_batch(void *self, const tsmith_dictionary *dictionary, const tsmith_batch *batch,
                                 tsmith_error *error) {
    return paths_add(&((struct folded *)self)->paths, dictionary, batch, error);
}

static tsmith_status finish(void *self, const tsmith_dictionary *dictionary, tsmith_error *error) {
    struct folded *folded = self;
    tsmith_status status = paths_end(&folded->paths, dictionary, error);
    for (size_t i = 1; status == TSMITH_OK && i < folded->paths.node_count; i++)
        if (folded->paths.nodes[i].self > 0)
            put_path(folded, (uint32_t)i);
    return status == TSMITH_OK ? output_finish(&folded->output, error) : status;
}

static void destroy(void *self) {
    struct folded *folded = self;
    if (!folded)
        return;
    paths_finish(&folded->paths);
    output_close(&folded->output);
    free(folded);
}

tsmith_status folded_open(const struct export_place *place, const tsmith_export_options *options,
                          tsmith_sink **out, tsmith_error *error) {
    static const tsmith_sink_ops ops = {write_batch, finish, destroy};
    struct folded *folded = calloc(1, sizeof *folded);
    if (!folded)
        return status_set(error, TSMITH_ERROR_NO_MEMORY, "out of memory");
    folded->paths.hide_interpreter = options && options->hide_interpreter;
    folded->paths.of_samples = options && options->cpu_samples;
    return output_sink(&folded->output, &ops, folded, place, options, out, error);
}
