// SPDX-License-Identifier: Apache-2.0
// The exporters, one function each: a sink into the file at `path`, or into `fd` when path is NULL (otf2_open
// makes a directory and needs the path). formats.c has the table.
#ifndef EXPORT_FORMATS_H
#define EXPORT_FORMATS_H

#include "tracesmith/export_trace.h"

typedef tsmith_status format_open(const char *path, int fd, const tsmith_export_options *options,
                                  tsmith_sink **out, tsmith_error *error);

format_open chrome_open, perfetto_open, csv_open, folded_open, flamegraph_open, otf2_open;

#endif
