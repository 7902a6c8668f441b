// SPDX-License-Identifier: Apache-2.0
// Labels of a timeline's rows that differ where there is little room. timeline.c draws them.
#include "timeline_labels.h"

#include <string.h>

#include "cli/opened_trace.h"

enum { TAIL = 8 };

// What the heading above the row has.
static unsigned left_out(const struct timeline_labels *labels, uint32_t track) {
    const tsmith_track *entry = tsmith_dictionary_track(labels->dictionary, track);
    return entry && entry->device ? TSMITH_LABEL_DEVICE : TSMITH_LABEL_PROCESS;
}

// Is the label, cut, that of another row too? `without`: what the labels leave out in addition.
static bool is_shared(const struct timeline_labels *labels, uint32_t track, const struct text *label,
                      unsigned without) {
    struct text other = {0};
    bool shared = false;
    for (uint32_t id = 0; id < labels->track_count && !shared; id++) {
        if (id == track || !labels->row_of[id])
            continue;
        text_clear(&other);
        trace_add_track_label(&other, labels->dictionary, id, left_out(labels, id) | without, labels->room);
        shared = other.length == label->length && memcmp(other.bytes, label->bytes, label->length) == 0;
    }
    text_finish(&other);
    return shared;
}

// The distinguishing part of queues' names is at the end as often as at the beginning: both are kept, around a '~'.
static size_t add_ends(struct text *cut, const struct timeline_labels *labels, uint32_t track,
                       const struct text *whole) {
    const size_t head = labels->room - TAIL;
    size_t width = trace_add_track_label(cut, labels->dictionary, track, left_out(labels, track), head);
    if (width && cut->bytes[cut->length - 1] != '~') { // the name fits, and not what distinguishes it
        cut->length -= width == head;
        width += width < head;
        text_add_char(cut, '~');
    }
    text_add(cut, whole->bytes + whole->length - TAIL, TAIL);
    return width + TAIL;
}

// A label that another row has too, once cut, becomes the name alone, or else its beginning and its end.
size_t timeline_add_label(struct text *line, const struct timeline_labels *labels, uint32_t track) {
    const unsigned known = left_out(labels, track), all = TSMITH_LABEL_DEVICE | TSMITH_LABEL_PROCESS;
    struct text cut = {0}, whole = {0};
    size_t width = trace_add_track_label(&cut, labels->dictionary, track, known, labels->room);
    const size_t wanted = trace_add_track_label(&whole, labels->dictionary, track, known, 0);
    const bool is_plain = wanted == whole.length; // of one byte each
    if (wanted > labels->room && is_plain && is_shared(labels, track, &cut, 0)) {
        text_clear(&cut);
        width = trace_add_track_label(&cut, labels->dictionary, track, all, labels->room);
        if (is_shared(labels, track, &cut, all)) {
            text_clear(&cut);
            width = add_ends(&cut, labels, track, &whole);
        }
    }
    text_add(line, cut.bytes, cut.length);
    text_finish(&cut);
    text_finish(&whole);
    return width;
}
