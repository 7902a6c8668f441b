// SPDX-License-Identifier: Apache-2.0
// Where an exporter's bytes go: a buffer, then a file, descriptor or function of the caller's, through gzip when wanted.
#ifndef EXPORT_OUTPUT_H
#define EXPORT_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/status.h"
#include "export/formats.h"
#include "tracesmith/export_trace.h"
#include "tracesmith/stream.h"

enum { OUTPUT_SIZE = 1 << 18, OUTPUT_RESERVE = 4096 };

struct output {
    char *buffer;
    size_t used; // never above OUTPUT_SIZE; OUTPUT_RESERVE bytes more are there
    struct output_target *target;
    tsmith_status status; // the first failure; what comes after it is dropped
    tsmith_error error;
};

tsmith_status output_open(struct output *output, const struct export_place *place,
                          const tsmith_export_options *options, tsmith_error *error);
// The same, and the sink whose `self` the output belongs to. On failure `self` is destroyed as the sink would do it.
tsmith_status output_sink(struct output *output, const tsmith_sink_ops *ops, void *self,
                          const struct export_place *place, const tsmith_export_options *options,
                          tsmith_sink **out, tsmith_error *error);
// Writes what is left. The first failure of all is returned.
tsmith_status output_finish(struct output *output, tsmith_error *error);
void output_close(struct output *output);

void output_flush(struct output *output);
void output_bytes(struct output *output, const char *bytes, size_t length);

// Room for OUTPUT_RESERVE bytes at the returned place; output_advance gives the number of bytes written there.
static inline char *output_room(struct output *output) {
    if (__builtin_expect(output->used > OUTPUT_SIZE - OUTPUT_RESERVE, 0))
        output_flush(output);
    return output->buffer + output->used;
}

static inline void output_advance(struct output *output, const char *to) {
    output->used = (size_t)(to - output->buffer);
}

static inline void output_text(struct output *output, const char *text) {
    output_bytes(output, text, strlen(text));
}

static inline void output_char(struct output *output, char c) {
    char *at = output_room(output);
    *at = c;
    output->used++;
}

// The name of a track in an export: exactly the one it was given, or the one made for it (tsmith_track_name).
tsmith_string output_track_name(const tsmith_dictionary *dictionary, uint32_t track,
                                char room[TSMITH_LABEL_SIZE]);

#endif
