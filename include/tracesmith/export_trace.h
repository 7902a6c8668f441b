// SPDX-License-Identifier: Apache-2.0
// Writing traces for other tools. An exporter is a sink like any other.
#ifndef TRACESMITH_EXPORT_TRACE_H
#define TRACESMITH_EXPORT_TRACE_H

#include <stddef.h>

#include "tracesmith/export.h"
#include "tracesmith/output.h"
#include "tracesmith/status.h"
#include "tracesmith/stream.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tsmith_export_options {
    size_t size;   // sizeof(tsmith_export_options)
    int gzip;      // compress the output with gzip
    int exclusive; // fail when the file exists instead of replacing it
    // "folded" and "flamegraph" leave out functions of the Python interpreter itself: tsmith_stack_names_hide_interpreter
    int hide_interpreter;
    // "folded", "flamegraph", "pprof" and "speedscope": the processor time that samples of threads stand for, instead of device
    // time. A sample without a period counts as 1 ns.
    int cpu_samples;
} tsmith_export_options;

// All formats, by number from 0: the value of `-f`, one line of documentation, and the usual extension of a file with its
// dot. NULL past the last. Static storage. Any thread.
TSMITH_API const char *tsmith_export_format_name(unsigned index);
TSMITH_API const char *tsmith_export_format_doc(unsigned index);
TSMITH_API const char *tsmith_export_format_extension(unsigned index);

// A sink that writes the format of this name, with `options` or, where they are NULL, none. ERROR_NOT_FOUND for an unknown name
// (the message lists the known ones); ERROR_MISSING if the library was built without the format (the message names the package).
//
// A file appears under its path when tsmith_sink_finish has completed it. Until then it has the path with a random ending, and an
// existing file stays as it is; if it cannot be completed, it is deleted. A path that is no regular file (a device, a pipe, a
// link) is written to directly.
//
// "chrome": Chrome trace JSON, which chrome://tracing, Perfetto, HTA and TraceLens read. Times are microseconds with
// as many decimals as the nanoseconds need. The output is always valid JSON: bytes that are
// not UTF-8 become \udc80 .. \udcff (as with Python's "surrogateescape"), and numbers that JSON does not have ("NaN") become
// strings. Slices of a thread are nested or disjoint, as viewers require. Events that overlap on a track go to additional
// threads that are named and sorted after it ("queue 1 (2)"), and beyond 1,024 of them become instants that keep their
// duration. "stream" and the arrows are the same on all of them. Up to 64 MiB are held back for this. The key "producer" comes
// first; it makes tsmith_import_open restore the kinds, fields and devices of the events. A trace that was imported from
// Chrome JSON is written with every event, argument, flow, process and thread.
//
// "perfetto": a Perfetto trace (protobuf), which ui.perfetto.dev and trace_processor read: threads beneath their
// process, queues beneath their device, slices with every field as a debug annotation, counters, and arrows from a call
// to the work it made; a call stack has the names of its functions. Slices that overlap without nesting go to further
// tracks beneath theirs; nothing is cut or left out. Facts without a place in Perfetto's format are attributes of the
// trace, so that tsmith_import_open makes the same events of the file again. The file's clock is the trace clock in ns;
// times before 0 are shown at 0 and kept in an annotation. Holds back up to 96 MiB so that slices can be put in order.
//
// "arrow", "arrow-stream" and "parquet" compress in up to three threads of their own, as many as tsmith_processors() allows. They
// write in the thread that calls the sink, and end with the sink. In a child process that was forked meanwhile the sink fails with ERROR_STATE,
// and tsmith_sink_destroy leaves all as it is.
//
// "chakra": the dependency graph (tracesmith/graph.h) as a Chakra execution trace, a node for each command and call
// (docs/sources.md has the form of the edges). It is written when the sink is finished, and needs the memory of the timeline and the
// graph.
TSMITH_API tsmith_status tsmith_export_open(const char *format, const char *path,
                                            const tsmith_export_options *options, tsmith_sink **out,
                                            tsmith_error *error);
// The same, written to a descriptor, which the exporter does not close. ERROR_INVALID_ARGUMENT for "otf2", which makes a
// directory (0700, its files 0600).
TSMITH_API tsmith_status tsmith_export_open_fd(const char *format, int fd,
                                               const tsmith_export_options *options, tsmith_sink **out,
                                               tsmith_error *error);
// The same bytes, written to a function of the caller. If it fails, the sink's `write` or `finish` returns its status, which may be
// late for events that are held back (above). ERROR_INVALID_ARGUMENT for "otf2".
TSMITH_API tsmith_status tsmith_export_open_output(const char *format, const tsmith_output *output,
                                                   const tsmith_export_options *options, tsmith_sink **out,
                                                   tsmith_error *error);

#ifdef __cplusplus
}
#endif
#endif
