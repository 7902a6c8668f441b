// SPDX-License-Identifier: Apache-2.0
// Reading what other profilers write. An importer is a source. The format of a file is detected from its content, never
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
    // How much may be held back so that names and devices that come late in a file are known when its first
    // batch is delivered. 0: 64 MiB. Other memory of an import does not grow with the file.
    size_t hold_bytes;
    // The program that wrote the trace, for formats that leave the names of functions there (XRay). NULL: the value
    // of the environment variable TRACESMITH_BINARY, if set.
    const char *binary;
} tsmith_import_options;

// The formats there are, by number from 0: a name, one line of documentation, and the usual extensions of a file, separated
// by spaces (no file is judged by them). NULL past the last. Static storage. Any thread.
TSMITH_API const char *tsmith_import_format_name(unsigned index);
TSMITH_API const char *tsmith_import_format_doc(unsigned index);
TSMITH_API const char *tsmith_import_format_extensions(unsigned index);

// Opens a foreign trace: Chrome trace JSON as Kineto (PyTorch) and others write it, or rocprofv3 JSON, plain, gzip
// or zstd; an SQLite database that nsys (Nsight Systems) exported, of any version, or that rocprofv3 wrote (rocpd), or an XPlane
// trace (JAX, TensorFlow), plain, gzip or zstd; a log of LLVM XRay, basic (versions
// 1 to 3) or of the flight data recorder (1 to 5); XML that xctrace (Instruments) exported, plain, gzip or zstd; or a
// Perfetto trace (protobuf; plain, gzip or zstd), of which track events, call stacks and samples of them, GPU render
// stages and GPU counters are read and all else is counted. What an export to Perfetto wrote becomes the events it was made of.
//
// Nothing of the file is lost: what has no field of the vocabulary becomes a dynamic field (unit "" or "json"
// for an argument, "event" or "event json" for a key of the event itself, "end" or "end json" for an argument
// of the end of a begin/end pair, "flow" for a flow that starts or ends at the event; "bytes/duration" and true
// for an argument that is just that quotient), what describes the file as a whole an attribute "trace.<key>". Times keep every digit. Damaged parts are left out or repaired,
// and each kind of damage is counted in an event of kind LOSS at the end.
//
// `options` may be NULL. Fails with ERROR_FORMAT, naming the byte offset, when it is no trace; a file that
// stops early is read up to there and the source then returns TSMITH_TRUNCATED. One thread at a time.
TSMITH_API tsmith_status tsmith_import_open(const char *path, const tsmith_import_options *options,
                                            tsmith_source **out, tsmith_error *error);
// The same from a descriptor (a pipe, standard input), which is not closed. `name` is for messages.
TSMITH_API tsmith_status tsmith_import_open_fd(int fd, const char *name, const tsmith_import_options *options,
                                               tsmith_source **out, tsmith_error *error);

#ifdef __cplusplus
}
#endif
#endif
