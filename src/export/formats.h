// SPDX-License-Identifier: Apache-2.0
// The exporters, one function each: a sink into a place (otf2_open makes a directory and needs a path). formats.c has the
// table.
#ifndef EXPORT_FORMATS_H
#define EXPORT_FORMATS_H

#include "base/destination.h"
#include "tracesmith/export_trace.h"

// The file at `path`, which is created with mode 0600, or, when it is NULL, what is open already and stays so. A file gets its
// name when it is complete, and is deleted if it cannot be completed (output.c).
struct export_place {
    const char *path;
    struct destination to;
};

typedef tsmith_status format_open(const struct export_place *place, const tsmith_export_options *options,
                                  tsmith_sink **out, tsmith_error *error);

format_open chrome_open, perfetto_open, csv_open, folded_open, flamegraph_open, otf2_open, pprof_open,
    speedscope_open, memory_viz_open, arrow_ipc_open, arrow_ipc_open_stream, parquet_open, firefox_open,
    chakra_open;

#endif
