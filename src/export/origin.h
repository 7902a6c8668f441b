// SPDX-License-Identifier: Apache-2.0
// What exporters have to know of where a trace came from.
#ifndef EXPORT_ORIGIN_H
#define EXPORT_ORIGIN_H

#include <stdbool.h>
#include <string.h>

#include "event/category.h"
#include "tracesmith/dictionary.h"
#include "tracesmith/view.h"

struct origin {
    bool imported; // from another profiler's file
    bool chrome;   // from Chrome JSON: what has no name or category had none, and flows are fields
    bool verbatim; // from Chrome JSON or Perfetto
    bool derived; // from Chrome JSON that we did not write: values of counters stand among the arguments, too
    bool mctracer; // Chrome JSON of mcTracer, which has names of its own for what others have, too
};

static inline struct origin origin_of(const tsmith_dictionary *dictionary) {
    const char *format = tsmith_dictionary_find_attribute(dictionary, "import.format").bytes;
    bool chrome = format && (strcmp(format, "chrome-json") == 0 || strcmp(format, "rocprofv3-json") == 0);
    const char *writer = tsmith_dictionary_find_attribute(dictionary, "import.writer").bytes;
    const char *producer = tsmith_dictionary_find_attribute(dictionary, "trace.producer").bytes;
    const bool ours = producer && strcmp(producer, "\"" CATEGORY_PRODUCER "\"") == 0;
    return (struct origin){format != NULL, chrome, chrome || (format && strcmp(format, "perfetto") == 0),
                           chrome && !ours, chrome && writer && strcmp(writer, "mcTracer") == 0};
}

// Whether the column is a series of the events that are counters: their value, or what Chrome JSON had as arguments.
static inline bool origin_is_series(struct origin origin, const tsmith_view *column,
                                    const tsmith_field_info *info) {
    bool number =
        column->type == TSMITH_TYPE_I64 || column->type == TSMITH_TYPE_U64 || column->type == TSMITH_TYPE_F64;
    return (column->field == TSMITH_FIELD_VALUE && !origin.derived) ||
           (column->field > TSMITH_FIELD_DYNAMIC && number && origin.chrome && *info->unit == '\0');
}

#endif
