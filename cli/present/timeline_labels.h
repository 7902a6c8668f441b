// SPDX-License-Identifier: Apache-2.0
// The labels of a timeline's rows. timeline.c draws them.
#ifndef CLI_TIMELINE_LABELS_H
#define CLI_TIMELINE_LABELS_H

#include <stddef.h>
#include <stdint.h>

#include "text.h"
#include "tracesmith/dictionary.h"

struct timeline_labels {
    const tsmith_dictionary *dictionary;
    const uint32_t *row_of; // by track; 0: it has no row
    uint32_t track_count;
    size_t room; // characters
};

// Adds the label of a track below the heading of its device or process; returns its characters. Rows whose labels would be the same
// once cut get labels that differ, if there is room for these.
size_t timeline_add_label(struct text *line, const struct timeline_labels *labels, uint32_t track);

#endif
