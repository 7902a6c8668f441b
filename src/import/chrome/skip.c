// SPDX-License-Identifier: Apache-2.0
// Skips the arguments of events that the caller does not need (tsmith_trace_options.needs_event). reader.c calls it when an event's
// name, category, place and times have been read.
//
// Only brackets and strings are examined. Where the text is damaged that could lead into another event: a quote too many makes strings
// of what is between them. So an event is read after all if it is long, if a string seems to go on in another line, if it has one line
// and "ph" comes again, and if no event follows it.
#include <string.h>

#include "event/category.h"
#include "import/chrome/reader.h"

static bool is_needed(struct chrome *chrome, uint32_t name, uint32_t category) {
    struct skip *skip = &chrome->reader->skips[(name ^ category << 4) % SKIPS];
    if (skip->is_known && skip->name == name && skip->category == category)
        return skip->is_needed;
    const tsmith_string what = tsmith_dictionary_string(chrome->dictionary, category);
    // Of MTIA names decide.
    const bool is_needed = strcmp(what.bytes, "mtia_ccp_events") == 0 ||
                           chrome->needs_event(category_kind(what, TSMITH_KIND_RANGE),
                                               tsmith_dictionary_string(chrome->dictionary, name).bytes);
    *skip = (struct skip){name, category, true, is_needed};
    return is_needed;
}

void reader_note_metadata(struct reader *reader, const char *text, size_t length) {
    static const char *const names[] = {"Ascend", "CANN"}; // kinds.c
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        reader->names_decide |= memmem(text, length, names[i], strlen(names[i])) != NULL;
}

bool reader_skip_event(struct chrome *chrome, const char *at, const char *end, struct skipped *out) {
    static const char phase[] = "\"ph\"";
    const struct reader *reader = chrome->reader;
    const struct event *event = &reader->event;
    if (reader->names_decide || reader->tolerant || chrome->by_us || !chrome->has_unit || chrome->in_ns ||
        event->ph != 'X' || !event->has_name || !event->has_category || !event->start.there ||
        !event->duration.there || event->pid.form == FORM_NONE || event->tid.form == FORM_NONE ||
        is_needed(chrome, event->name, event->category))
        return false;
    const char *after = json_object_rest(at, end - at > SKIP_MAX ? at + SKIP_MAX : end);
    if (!after)
        return false;
    const size_t length = (size_t)(after - at);
    if (!memchr(at, '\n', length) && memmem(at, length, phase, sizeof phase - 1))
        return false;
    const char *next = json_skip_space(after, end);
    if (next < end && *next == ',')
        next = json_skip_space(next + 1, end);
    *out = (struct skipped){after, next};
    return next < end && *next == '{';
}
