// SPDX-License-Identifier: Apache-2.0
// pprof's protobuf (profile.proto): for `go tool pprof`, Parca, Pyroscope. A sample for each path with its time in ns. Each
// name is one function and one location, as names of commands and processes have no address. formats.c lists it.
#include <stdlib.h>

#include "base/table.h"
#include "export/formats.h"
#include "export/output.h"
#include "export/paths.h"
#include "export/proto_out.h"

enum { // profile.proto
    PROFILE_SAMPLE_TYPE = 1,
    PROFILE_SAMPLE = 2,
    PROFILE_LOCATION = 4,
    PROFILE_FUNCTION = 5,
    PROFILE_STRING = 6,
    SAMPLE_LOCATION = 1,
    SAMPLE_VALUE = 2,
    LOCATION_ID = 1,
    LOCATION_LINE = 4,
    LINE_FUNCTION = 1,
    FUNCTION_ID = 1,
    FUNCTION_NAME = 2,
    TYPE_NAME = 1,
    TYPE_UNIT = 2
};
enum { STRING_NONE, STRING_TYPE, STRING_UNIT, STRING_NAMES }; // the first strings

struct pprof {
    struct paths paths;
    struct output output;
    struct proto_out out;
    struct table numbers; // of names: from 1
    uint64_t *names;      // by number - 1
    size_t name_count, name_capacity;
};

// What was made so far goes out, so that little is in memory.
static void pass_on(struct pprof *pprof) {
    output_bytes(&pprof->output, (const char *)pprof->out.bytes, pprof->out.used);
    pprof->out.used = 0;
}

static uint64_t number_of(struct pprof *pprof, uint64_t name) {
    bool is_new;
    uint64_t *number = table_add(&pprof->numbers, name, &is_new);
    if (number && is_new) {
        uint64_t *place = ARRAY_PUSH(pprof->names, pprof->name_count, pprof->name_capacity);
        if (place)
            *place = name;
        *number = place ? pprof->name_count : 0;
    }
    if (!number || !*number) {
        pprof->out.failed = true;
        return 0;
    }
    return *number;
}

// The innermost name first.
static void put_sample(struct pprof *pprof, const struct paths_node *node) {
    const size_t sample = proto_open(&pprof->out);
    for (const struct paths_node *at = node; at != pprof->paths.nodes; at = &pprof->paths.nodes[at->parent])
        proto_add_uint(&pprof->out, SAMPLE_LOCATION, number_of(pprof, at->name));
    proto_add_uint(&pprof->out, SAMPLE_VALUE, (uint64_t)node->self);
    proto_close(&pprof->out, sample, PROFILE_SAMPLE);
    pass_on(pprof);
}

static void put_names(struct pprof *pprof) {
    char text[PATHS_NAME_SIZE];
    for (size_t i = 0; i < pprof->name_count; i++) {
        const size_t location = proto_open(&pprof->out);
        proto_add_uint(&pprof->out, LOCATION_ID, i + 1);
        const size_t line = proto_open(&pprof->out);
        proto_add_uint(&pprof->out, LINE_FUNCTION, i + 1);
        proto_close(&pprof->out, line, LOCATION_LINE);
        proto_close(&pprof->out, location, PROFILE_LOCATION);
        const size_t function = proto_open(&pprof->out);
        proto_add_uint(&pprof->out, FUNCTION_ID, i + 1);
        proto_add_uint(&pprof->out, FUNCTION_NAME, STRING_NAMES + i);
        proto_close(&pprof->out, function, PROFILE_FUNCTION);
        pass_on(pprof);
    }
    proto_add_bytes(&pprof->out, PROFILE_STRING, "", 0);
    const char *type = pprof->paths.of_samples ? "cpu" : pprof->paths.by_stack ? "device_time" : "time";
    proto_add_bytes(&pprof->out, PROFILE_STRING, type, strlen(type));
    proto_add_bytes(&pprof->out, PROFILE_STRING, "nanoseconds", strlen("nanoseconds"));
    for (size_t i = 0; i < pprof->name_count; i++) {
        const tsmith_string name = paths_name(&pprof->paths, pprof->names[i], text);
        proto_add_bytes(&pprof->out, PROFILE_STRING, name.bytes ? name.bytes : "", name.length);
        pass_on(pprof);
    }
}

static tsmith_status write_batch(void *self, const tsmith_dictionary *dictionary, const tsmith_batch *batch,
                                 tsmith_error *error) {
    return paths_add(&((struct pprof *)self)->paths, dictionary, batch, error);
}

static tsmith_status finish(void *self, const tsmith_dictionary *dictionary, tsmith_error *error) {
    struct pprof *pprof = self;
    const tsmith_status status = paths_end(&pprof->paths, dictionary, error);
    if (status != TSMITH_OK)
        return status;
    const size_t type = proto_open(&pprof->out);
    proto_add_uint(&pprof->out, TYPE_NAME, STRING_TYPE);
    proto_add_uint(&pprof->out, TYPE_UNIT, STRING_UNIT);
    proto_close(&pprof->out, type, PROFILE_SAMPLE_TYPE);
    for (size_t i = 1; i < pprof->paths.node_count; i++)
        if (pprof->paths.nodes[i].self > 0)
            put_sample(pprof, &pprof->paths.nodes[i]);
    put_names(pprof);
    if (pprof->out.failed)
        return status_set(error, TSMITH_ERROR_NO_MEMORY, "out of memory");
    return output_finish(&pprof->output, error);
}

static void destroy(void *self) {
    struct pprof *pprof = self;
    if (!pprof)
        return;
    paths_finish(&pprof->paths);
    output_close(&pprof->output);
    table_finish(&pprof->numbers);
    free(pprof->out.bytes);
    free(pprof->names);
    free(pprof);
}

tsmith_status pprof_open(const struct export_place *place, const tsmith_export_options *options,
                         tsmith_sink **out, tsmith_error *error) {
    static const tsmith_sink_ops ops = {write_batch, finish, destroy};
    struct pprof *pprof = calloc(1, sizeof *pprof);
    if (!pprof)
        return status_set(error, TSMITH_ERROR_NO_MEMORY, "out of memory");
    pprof->paths.hide_interpreter = options && options->hide_interpreter;
    pprof->paths.of_samples = options && options->cpu_samples;
    return output_sink(&pprof->output, &ops, pprof, place, options, out, error);
}
