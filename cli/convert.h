// SPDX-License-Identifier: Apache-2.0
// The common part of `import` and `export`: carries batches from a source to a file, and prints the result.
#ifndef CLI_CONVERT_H
#define CLI_CONVERT_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/present/progress.h"
#include "cli/present/text.h"
#include "opened_trace.h"
#include "tracesmith/stream.h"
#include "tracesmith/trace.h"

struct convert {
    struct progress progress;
    tsmith_trace_options options; // for tsmith_trace_open and tsmith_trace_stream: shows the progress
    uint64_t events;              // carried
    uint8_t wanted[3];            // kinds of events without which what is written is empty; 0: none
    bool has_wanted;              // one of them was carried
    struct losses losses;         // of what was carried
    struct text format;           // of the source
    const char *named;            // the same, while the source lives
    struct text origin;           // what the trace was before it became that; "" when nothing else
    tsmith_status status;         // OK, TRUNCATED, or a failure
    tsmith_error error;
    bool writing_failed; // the failure is of what is written
};

void convert_init(struct convert *convert, const char *what);
void convert_finish(struct convert *convert);

// Carries all of the source, which it takes, into the sink that `open_sink` opens once there is something to write. How
// it went is in `convert`.
void convert_run(struct convert *convert, tsmith_source *taken,
                 tsmith_status (*open_sink)(void *context, tsmith_sink **out, tsmith_error *error),
                 void *context);
// Complains about what went wrong; the exit code.
int convert_exit_code(const struct convert *convert);

// Is the path ("-": standard output) the file that is read?
bool convert_is_same_file(const char *input, const char *output);
// May what is at `output` be replaced by an answer from `input`? Not by reading and writing one file, and not a .sbt
// trace: it may be the only one there is; an older answer is not. Complains.
bool convert_may_replace(const char *input, const char *output);
// The name of a file without its folder, compression and extension, with another one: "a/b.json.gz", ".sbt" -> "b.sbt".
void convert_add_name(struct text *text, const char *path, const char *extension);

// All bytes of a file, which the caller frees; NULL with errno set.
char *convert_read_whole(const char *path, size_t *size);

#endif
