// SPDX-License-Identifier: Apache-2.0
// The table of output formats.
#include "export/formats.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/sized.h"
#include "base/status.h"
#include "event/sums.h"

static const struct format {
    const char *name, *doc, *extension;
    format_open *open;
    bool sums; // sums of events (--aggregate) are what they are in it, and no events
} formats[] = {
    {"chrome", "Chrome trace JSON: chrome://tracing, Perfetto, HTA, TraceLens", ".json", chrome_open, false},
    {"perfetto", "Perfetto protobuf: ui.perfetto.dev, trace_processor", ".pftrace", perfetto_open, false},
    {"csv", "CSV: one line per event, with every field; those of the trace itself as args.NAME", ".csv",
     csv_open, true},
    {"folded",
     "folded stacks, for flame graphs: device time by call path if the trace has call stacks, otherwise ns "
     "in nested slices",
     ".folded", folded_open, true},
    {"flamegraph", "the same as a flame graph: an SVG that any browser shows, to zoom and search in", ".svg",
     flamegraph_open, true},
    {"pprof", "the same for pprof (profile.proto): go tool pprof, Parca, Pyroscope", ".pprof", pprof_open,
     true},
    {"speedscope", "the same for speedscope", ".speedscope.json", speedscope_open, true},
    {"firefox",
     "the same for the Firefox Profiler (profiler.firefox.com), with each track's events as markers",
     ".firefox.json", firefox_open, false},
    {"memory-viz", "memory snapshot of PyTorch: pytorch.org/memory_viz, torch.cuda._memory_viz", ".pickle",
     memory_viz_open, false},
    {"arrow", "Arrow IPC file (Feather): events as a table, for pandas, polars, DuckDB and others", ".arrow",
     arrow_ipc_open, true},
    {"arrow-stream", "the same as an Arrow IPC stream, for a pipe", ".arrows", arrow_ipc_open_stream, true},
    {"parquet", "the same table as Apache Parquet, with zstd: small files for archives and databases",
     ".parquet", parquet_open, true},
    {"chakra", "Chakra execution trace (MLCommons): the dependency graph, for simulators such as ASTRA-sim",
     ".et", chakra_open, false},
    {"otf2", "OTF2 archive, a directory: Vampir, otf2-print and the tools of Score-P", ".otf2", otf2_open,
     false},
};

enum { FORMAT_COUNT = sizeof formats / sizeof *formats };

const char *tsmith_export_format_name(unsigned index) {
    return index < FORMAT_COUNT ? formats[index].name : NULL;
}

const char *tsmith_export_format_doc(unsigned index) {
    return index < FORMAT_COUNT ? formats[index].doc : NULL;
}

const char *tsmith_export_format_extension(unsigned index) {
    return index < FORMAT_COUNT ? formats[index].extension : NULL;
}

// ---- formats that have events only

struct events_only {
    tsmith_sink *sink;
    const char *format;
};

static tsmith_status events_only_write(void *self, const tsmith_dictionary *dictionary,
                                       const tsmith_batch *batch, tsmith_error *error) {
    const struct events_only *only = self;
    if (sums_in(batch))
        return status_set(error, TSMITH_ERROR_UNSUPPORTED,
                          "the trace has sums of events (--aggregate), and the format %s needs single "
                          "events; export it as folded, flamegraph, pprof, speedscope, csv, arrow or parquet",
                          only->format);
    return tsmith_sink_write(only->sink, dictionary, batch, error);
}

static tsmith_status events_only_finish(void *self, const tsmith_dictionary *dictionary,
                                        tsmith_error *error) {
    return tsmith_sink_finish(((struct events_only *)self)->sink, dictionary, error);
}

static void events_only_destroy(void *self) {
    tsmith_sink_destroy(((struct events_only *)self)->sink);
    free(self);
}

// Takes over *sink, also if it fails.
static tsmith_status refuse_sums(const char *format, tsmith_sink **sink, tsmith_error *error) {
    static const tsmith_sink_ops OPS = {events_only_write, events_only_finish, events_only_destroy};
    struct events_only *only = malloc(sizeof *only);
    tsmith_sink *inner = *sink;
    *sink = NULL;
    if (only)
        *only = (struct events_only){inner, format};
    if (only && tsmith_sink_create(&OPS, only, sink) == TSMITH_OK)
        return TSMITH_OK;
    free(only);
    tsmith_sink_destroy(inner);
    return status_set(error, TSMITH_ERROR_NO_MEMORY, "out of memory");
}

static tsmith_status open_format(const char *name, const struct export_place *place,
                                 const tsmith_export_options *given, tsmith_sink **out, tsmith_error *error) {
    char names[256];
    size_t length = 0;
    tsmith_export_options options;
    *out = NULL;
    const tsmith_status status = sized_take(tsmith_export_options, given, &options, error);
    if (status != TSMITH_OK)
        return status;
    for (size_t i = 0; i < FORMAT_COUNT; i++) {
        if (strcmp(formats[i].name, name) == 0) {
            const tsmith_status opened = formats[i].open(place, &options, out, error);
            return opened == TSMITH_OK && !formats[i].sums ? refuse_sums(formats[i].name, out, error)
                                                           : opened;
        }
        int added = snprintf(names + length, sizeof names - length, "%s%s", i ? ", " : "", formats[i].name);
        if (added > 0 && (size_t)added < sizeof names - length)
            length += (size_t)added;
    }
    names[length] = '\0';
    return status_set(error, TSMITH_ERROR_NOT_FOUND, "unknown output format '%s'; available: %s", name,
                      names);
}

tsmith_status tsmith_export_open(const char *format, const char *path, const tsmith_export_options *options,
                                 tsmith_sink **out, tsmith_error *error) {
    return open_format(format, &(struct export_place){.path = path, .to = {.fd = -1}}, options, out, error);
}

tsmith_status tsmith_export_open_fd(const char *format, int fd, const tsmith_export_options *options,
                                    tsmith_sink **out, tsmith_error *error) {
    return open_format(format, &(struct export_place){.to = {.fd = fd}}, options, out, error);
}

tsmith_status tsmith_export_open_output(const char *format, const tsmith_output *output,
                                        const tsmith_export_options *options, tsmith_sink **out,
                                        tsmith_error *error) {
    *out = NULL;
    const tsmith_status status = destination_check(output, error);
    return status == TSMITH_OK
               ? open_format(format, &(struct export_place){.to = {-1, *output}}, options, out, error)
               : status;
}
