// SPDX-License-Identifier: Apache-2.0
// The table of output formats.
#include "export/formats.h"

#include <stdio.h>
#include <string.h>

#include "base/sized.h"
#include "base/status.h"

static const struct format {
    const char *name, *doc, *extension;
    format_open *open;
} formats[] = {
    {"chrome", "Chrome trace JSON: chrome://tracing, Perfetto, HTA, TraceLens", ".json", chrome_open},
    {"perfetto", "Perfetto protobuf: ui.perfetto.dev, trace_processor", ".pftrace", perfetto_open},
    {"csv", "CSV: one line per event, with every field; those of the trace itself as args.NAME", ".csv",
     csv_open},
    {"folded",
     "folded stacks, for flame graphs: device time by call path if the trace has call stacks, otherwise ns "
     "in nested slices",
     ".folded", folded_open},
    {"flamegraph", "the same as a flame graph: an SVG that any browser shows, to zoom and search in", ".svg",
     flamegraph_open},
    {"pprof", "the same for pprof (profile.proto): go tool pprof, Parca, Pyroscope", ".pprof", pprof_open},
    {"speedscope", "the same for speedscope", ".speedscope.json", speedscope_open},
    {"firefox",
     "the same for the Firefox Profiler (profiler.firefox.com), with each track's events as markers",
     ".firefox.json", firefox_open},
    {"memory-viz", "memory snapshot of PyTorch: pytorch.org/memory_viz, torch.cuda._memory_viz", ".pickle",
     memory_viz_open},
    {"arrow", "Arrow IPC file (Feather): events as a table, for pandas, polars, DuckDB and others", ".arrow",
     arrow_ipc_open},
    {"arrow-stream", "the same as an Arrow IPC stream, for a pipe", ".arrows", arrow_ipc_open_stream},
    {"parquet", "the same table as Apache Parquet, with zstd: small files for archives and databases",
     ".parquet", parquet_open},
    {"chakra", "Chakra execution trace (MLCommons): the dependency graph, for simulators such as ASTRA-sim",
     ".et", chakra_open},
    {"otf2", "OTF2 archive, a directory: Vampir, otf2-print and the tools of Score-P", ".otf2", otf2_open},
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
        if (strcmp(formats[i].name, name) == 0)
            return formats[i].open(place, &options, out, error);
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
