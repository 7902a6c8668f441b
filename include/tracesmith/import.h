// SPDX-License-Identifier: Apache-2.0
// Reading the traces of other profilers. An importer is a source. The format of a file is detected from its content, never
// from its name.
#ifndef TRACESMITH_IMPORT_H
#define TRACESMITH_IMPORT_H

#include <stddef.h>

#include "tracesmith/export.h"
#include "tracesmith/status.h"
#include "tracesmith/stream.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tsmith_import_options {
    size_t size; // sizeof(tsmith_import_options)
    // Bytes of events that may be held back, so that names and devices that are late in the file are known when the first
    // batch is delivered. 0: 64 MiB. The other memory of an import does not grow with the file.
    size_t hold_bytes;
    // The program that wrote the trace, for formats whose function names are in the program (XRay). NULL: the value
    // of the environment variable TRACESMITH_BINARY, if set.
    const char *binary;
} tsmith_import_options;

// All formats, by number from 0: a name, one line of documentation, and the usual extensions of a file, separated by spaces
// (they do not decide the format). NULL past the last. Static storage. Any thread.
TSMITH_API const char *tsmith_import_format_name(unsigned index);
TSMITH_API const char *tsmith_import_format_doc(unsigned index);
TSMITH_API const char *tsmith_import_format_extensions(unsigned index);

// What a count that an import left in a trace means, to be read after the number: `attribute` is the key of an attribute of the trace,
// as "import.odd_time", whose value is the number; `format` is the value of the attribute "import.file", or of "import.format" if there is
// none, or "". NULL: it is no known count. Static storage. Any thread.
TSMITH_API const char *tsmith_import_problem_doc(const char *format, const char *attribute);

// Opens a trace of another profiler, in any format of tsmith_import_format_name (docs/sources.md has what is read of each).
// Files may be compressed with gzip or zstd, except logs of XRay. A trace that was exported in the format
// Chrome JSON or Perfetto gives the events from which it was made.
//
// Nothing of the file is lost without notice. An argument without a field in the schema becomes a dynamic field, whose unit says
// where it was: "" or "json", an argument; "event" or "event json", a key of the event itself; "end" or "end json", an argument of
// the end of a begin/end pair; "flow", a flow that starts or ends at the event; "bytes/duration" (with the value true), an argument
// that is just this quotient. A property of the whole file becomes an attribute "trace.<key>". Times keep every digit. Damaged parts
// are left out or repaired, and each kind of damage is counted in an event of kind LOSS at the end.
//
// `options` may be NULL. ERROR_FORMAT, with the byte offset, if it is not a trace. A file that ends early is read to its end, and
// the source then returns TSMITH_TRUNCATED. One thread at a time.
TSMITH_API tsmith_status tsmith_import_open(const char *path, const tsmith_import_options *options,
                                            tsmith_source **out, tsmith_error *error);
// The same from a descriptor (a pipe, standard input), which stays open. `name` is for messages.
TSMITH_API tsmith_status tsmith_import_open_fd(int fd, const char *name, const tsmith_import_options *options,
                                               tsmith_source **out, tsmith_error *error);

#ifdef __cplusplus
}
#endif
#endif
