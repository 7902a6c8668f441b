// SPDX-License-Identifier: Apache-2.0
// Events for people: one line each.
//
//   TIME ms     DURATION  TRACK           KIND      WHAT
//   12.345678   820.1 us  queue 1         kernel    blur  1024x768 in 16x16  #17
#include <inttypes.h>
#include <string.h>

#include "terminal.h"
#include "views.h"

enum { WAKER_INDENT = 11 }; // as functions are
enum {
    DURATION_COLUMNS = 9,
    TRACK_COLUMNS = 18, // at most
    TRACKS_MEASURED = 1000,
    NAME_COLUMNS = 120, // longer names are cut
    LABEL_COLUMNS = 40
};

#define DIM "\x1b[2m"
#define BOLD "\x1b[1m"
#define PLAIN "\x1b[0m"

// The columns a line is made of.
#define TEXT_FIELDS(X)                                                                                       \
    X(START)                                                                                                 \
    X(DURATION)                                                                                              \
    X(KIND)                                                                                                  \
    X(NAME)                                                                                                  \
    X(CORRELATION)                                                                                           \
    X(OPERATION)                                                                                             \
    X(DIRECTION)                                                                                             \
    X(BYTES)                                                                                                 \
    X(GLOBAL_X)                                                                                              \
    X(GLOBAL_Y)                                                                                              \
    X(GLOBAL_Z)                                                                                              \
    X(LOCAL_X)                                                                                               \
    X(LOCAL_Y)                                                                                               \
    X(LOCAL_Z)                                                                                               \
    X(QUEUE_TRACK)                                                                                           \
    X(LIVE_BYTES)                                                                                            \
    X(RESULT)                                                                                                \
    X(VALUE)                                                                                                 \
    X(LOST)                                                                                                  \
    X(REASON)                                                                                                \
    X(TEXT)                                                                                                  \
    X(CERTAINTY)                                                                                             \
    X(STACK)                                                                                                 \
    X(LINE)                                                                                                  \
    X(COUNT)                                                                                                 \
    X(TAKEN)                                                                                                 \
    X(WAKER)                                                                                                 \
    X(WAKER_STACK)                                                                                           \
    X(SUMMED)                                                                                                \
    X(TOTAL)

enum {
#define INDEX(NAME) AT_##NAME,
    TEXT_FIELDS(INDEX)
#undef INDEX
        FIELD_COUNT
};

static const uint32_t fields[FIELD_COUNT] = {
#define FIELD(NAME) TSMITH_FIELD_##NAME,
    TEXT_FIELDS(FIELD)
#undef FIELD
};

struct lines {
    struct view *view;
    const tsmith_dictionary *dictionary;
    size_t time_columns, track_columns, kind_columns;
    size_t line_columns; // lines are cut to this; 0: never
    struct text track;   // of the batch, padded
    tsmith_view columns[FIELD_COUNT];
    uint64_t written;
};

static const char *color_of(uint64_t kind) {
    switch (kind) {
    case TSMITH_KIND_KERNEL:
    case TSMITH_KIND_GRAPH_LAUNCH:
        return "\x1b[32m";
    case TSMITH_KIND_MEMCPY:
    case TSMITH_KIND_MEMSET:
        return "\x1b[36m";
    case TSMITH_KIND_SYNC:
        return "\x1b[33m";
    case TSMITH_KIND_LOSS:
        return "\x1b[31m";
    case TSMITH_KIND_COMPILE:
        return "\x1b[35m";
    default:
        return "";
    }
}

static bool get_bits(const struct lines *lines, int at, uint32_t row, uint64_t *out) {
    return tsmith_view_bits(&lines->columns[at], row, out);
}

static void lines_begin(void *context, const tsmith_batch *batch) {
    struct lines *lines = context;
    tsmith_view_batch(batch, fields, FIELD_COUNT, lines->columns);
    text_clear(&lines->track);
    size_t width = trace_add_track_label(&lines->track, lines->dictionary, tsmith_batch_track(batch), 0,
                                         lines->track_columns);
    text_pad_right(&lines->track, width, lines->track_columns);
}

// "1024x768x1", as far as the dimensions are known.
static bool add_size(struct text *record, const struct lines *lines, int first, uint32_t row,
                     const char *before) {
    uint64_t size;
    for (int i = 0; i < 3 && get_bits(lines, first + i, row, &size); i++) {
        text_add_cstr(record, i ? "x" : before);
        text_add_u64(record, size);
    }
    return get_bits(lines, first, row, &size);
}

static void add_transfer(struct text *record, const struct lines *lines, uint32_t row, uint64_t kind) {
    uint64_t bits, duration;
    if (get_bits(lines, AT_DIRECTION, row, &bits) && tsmith_value_name(TSMITH_TYPE_DIRECTION, bits)) {
        text_add_cstr(record, "  ");
        text_add_cstr(record, tsmith_value_name(TSMITH_TYPE_DIRECTION, bits));
    }
    if (!get_bits(lines, AT_BYTES, row, &bits))
        return;
    text_add_cstr(record, "  ");
    text_add_bytes(record, (double)bits);
    bool moves = kind == TSMITH_KIND_MEMCPY || kind == TSMITH_KIND_MEMSET;
    if (moves && get_bits(lines, AT_DURATION, row, &duration) && (int64_t)duration > 0) {
        text_add_cstr(record, " at ");
        text_add_bytes(record, (double)bits * 1e9 / (double)duration);
        text_add_cstr(record, "/s");
    }
}

static void add_loss(struct text *record, const struct lines *lines, uint32_t row, uint64_t kind) {
    uint64_t bits;
    if (kind != TSMITH_KIND_LOSS)
        return;
    // Calls without their stacks are there, with all else that is known of them.
    const char *what =
        get_bits(lines, AT_REASON, row, &bits) && !tsmith_reason_is_of_events((tsmith_reason)bits)
            ? "recorded in part"
            : "not recorded";
    if (get_bits(lines, AT_LOST, row, &bits)) {
        text_add_counted(record, bits, "event ", "events ");
    } else {
        text_add_cstr(record, "an unknown number of events ");
    }
    text_add_cstr(record, what);
    if (get_bits(lines, AT_REASON, row, &bits) && tsmith_value_name(TSMITH_TYPE_REASON, bits)) {
        text_add_cstr(record, ": ");
        text_add_cstr(record, trace_reason_doc((int)bits));
    }
}

static bool is_same(tsmith_string name, const char *word) {
    return name.length == strlen(word) && memcmp(name.bytes, word, name.length) == 0;
}

// Name and operation, if it is more specific than the name: "blur", "read", "clFinish  finish".
static void add_name(struct text *record, const struct lines *lines, uint32_t row, uint64_t kind) {
    uint64_t bits;
    tsmith_string name = {"", 0};
    if (get_bits(lines, AT_NAME, row, &bits))
        name = tsmith_dictionary_string(lines->dictionary, (uint32_t)bits);
    text_add_safe(record, name, NAME_COLUMNS);
    const char *operation =
        get_bits(lines, AT_OPERATION, row, &bits) ? tsmith_value_name(TSMITH_TYPE_OPERATION, bits) : NULL;
    // That a kernel is an NDRange is no news.
    if (!operation || (name.length && (kind == TSMITH_KIND_KERNEL || is_same(name, operation))))
        return;
    text_add_cstr(record, name.length ? "  " : "");
    text_add_cstr(record, operation);
}

static void add_rest(struct text *record, const struct lines *lines, uint32_t row, uint64_t kind) {
    uint64_t bits;
    double real;
    if (get_bits(lines, AT_QUEUE_TRACK, row, &bits) && bits) {
        text_add_cstr(record, "  ");
        trace_add_track_label(record, lines->dictionary, (uint32_t)bits, 0, LABEL_COLUMNS);
    }
    if (get_bits(lines, AT_VALUE, row, &bits)) {
        memcpy(&real, &bits, sizeof real);
        text_add_format(record, " = %.6g", real);
    }
    if (get_bits(lines, AT_LIVE_BYTES, row, &bits)) {
        text_add_cstr(record, "  (");
        text_add_bytes(record, (double)bits);
        text_add_cstr(record, " alive)");
    }
    if (get_bits(lines, AT_RESULT, row, &bits) && (bits || kind == TSMITH_KIND_PROCESS)) {
        text_add_cstr(record, "  gave ");
        text_add_i64(record, (int64_t)bits);
    }
    if (get_bits(lines, AT_TEXT, row, &bits) && bits) {
        text_add_cstr(record, "  ");
        text_add_safe(record, tsmith_dictionary_string(lines->dictionary, (uint32_t)bits), NAME_COLUMNS);
    }
    if (get_bits(lines, AT_CERTAINTY, row, &bits) && bits != TSMITH_CERTAINTY_MEASURED) {
        const char *certainty = tsmith_value_name(TSMITH_TYPE_CERTAINTY, bits);
        text_add_format(record, "  (%s)", certainty ? certainty : "certainty unknown");
    }
    if (get_bits(lines, AT_CORRELATION, row, &bits)) {
        text_add_cstr(record, terminal_color() ? "  " DIM "#" : "  #");
        text_add_u64(record, bits);
        text_add_cstr(record, terminal_color() ? PLAIN : "");
    }
}

// What an interpreter counted, and who woke a thread.
static void add_counts_and_waker(struct text *record, const struct lines *lines, uint32_t row,
                                 uint64_t kind) {
    uint64_t bits, taken = 0;
    if (get_bits(lines, AT_LINE, row, &bits))
        text_add_format(record, "  line %" PRIu64, bits);
    if (get_bits(lines, AT_SUMMED, row, &bits) && tsmith_value_name(TSMITH_TYPE_KIND, bits))
        text_add_format(record, "  of %s", tsmith_value_name(TSMITH_TYPE_KIND, bits));
    const bool branched = get_bits(lines, AT_TAKEN, row, &taken);
    if (get_bits(lines, AT_COUNT, row, &bits)) {
        text_add_cstr(record, "  ");
        text_add_counted(record, bits, "time", "times");
        if (branched)
            text_add_format(record, " (true %" PRIu64 ")", taken);
        if (get_bits(lines, AT_TOTAL, row, &bits)) {
            text_add_cstr(record, ", ");
            text_add_duration(record, (int64_t)bits);
            text_add_cstr(record, " in all");
        }
    } else if (branched && kind == TSMITH_KIND_INSTRUCTION) {
        text_add_cstr(record, taken ? "  true" : "  false");
    }
    if (get_bits(lines, AT_WAKER, row, &bits)) {
        text_add_cstr(record, "  woken by ");
        text_add_safe(record, tsmith_dictionary_string(lines->dictionary, (uint32_t)bits), NAME_COLUMNS);
    }
}

static void add_description(struct text *record, const struct lines *lines, uint32_t row, uint64_t kind) {
    add_name(record, lines, row, kind);
    if (add_size(record, lines, AT_GLOBAL_X, row, "  "))
        add_size(record, lines, AT_LOCAL_X, row, " in ");
    add_transfer(record, lines, row, kind);
    add_loss(record, lines, row, kind);
    add_counts_and_waker(record, lines, row, kind);
    add_rest(record, lines, row, kind);
}

static void lines_collect(void *context, uint32_t row, struct text *record) {
    struct lines *lines = context;
    uint64_t start = 0;
    uint64_t duration;
    uint64_t kind = 0;
    get_bits(lines, AT_START, row, &start);
    get_bits(lines, AT_KIND, row, &kind);
    size_t from = record->length;
    size_t line = record->length;
    text_add_milliseconds(record, (int64_t)(start - (uint64_t)lines->view->trace.summary.first_start));
    text_pad_left(record, from, lines->time_columns);
    text_add_cstr(record, "  ");
    from = record->length;
    if (get_bits(lines, AT_DURATION, row, &duration))
        text_add_duration(record, (int64_t)duration);
    text_pad_left(record, from, DURATION_COLUMNS);
    text_add_cstr(record, "  ");
    text_add(record, lines->track.bytes, lines->track.length);
    text_add_cstr(record, "  ");
    const char *color = terminal_color() ? color_of(kind) : "";
    const char *name = tsmith_value_name(TSMITH_TYPE_KIND, kind);
    text_add_cstr(record, color);
    from = record->length;
    if (name)
        text_add_cstr(record, name);
    else
        text_add_format(record, "kind %" PRIu64, kind);
    text_pad_right(record, record->length - from, lines->kind_columns);
    text_add_cstr(record, *color ? PLAIN "  " : "  ");
    add_description(record, lines, row, kind);
    if (lines->line_columns)
        text_cut(record, line, lines->line_columns);
    text_add_char(record, '\n');
    uint64_t stack = 0, correlation;
    if (lines->view->with_stacks && !get_bits(lines, AT_STACK, row, &stack) &&
        stacks_are_of_call((tsmith_kind)kind) && get_bits(lines, AT_CORRELATION, row, &correlation))
        stack = stacks_of_call(&lines->view->stacks, correlation);
    if (stack)
        stacks_add_text(&lines->view->stacks, record, (uint32_t)stack, lines->line_columns);
    if (lines->view->with_stacks && get_bits(lines, AT_WAKER_STACK, row, &stack) && stack) {
        text_add_repeat(record, ' ', WAKER_INDENT);
        text_add_cstr(record, "woken from\n");
        stacks_add_text(&lines->view->stacks, record, (uint32_t)stack, lines->line_columns);
    }
}

static bool lines_emit(void *context, const char *record, size_t length) {
    struct lines *lines = context;
    lines->written++;
    return output_write(record, length) && lines->written < lines->view->limit;
}

static void write_head(const struct lines *lines) {
    struct text head = {0};
    text_add_cstr(&head, terminal_color() ? BOLD : "");
    size_t from = head.length;
    text_add_cstr(&head, "TIME ms");
    text_pad_left(&head, from, lines->time_columns);
    text_add_format(&head, "  %*s  %-*s  %-*s  %s", DURATION_COLUMNS, "DURATION", (int)lines->track_columns,
                    "TRACK", (int)lines->kind_columns, "KIND", "WHAT");
    text_add_cstr(&head, terminal_color() ? PLAIN "\n" : "\n");
    output_text(&head);
    text_finish(&head);
}

// The columns are as wide as what is in the trace, within limits.
static void measure(struct lines *lines) {
    const struct trace *trace = &lines->view->trace;
    struct text word = {0};
    text_add_milliseconds(&word, trace_duration(trace));
    lines->time_columns = word.length > 9 ? word.length : 9;
    lines->track_columns = sizeof "TRACK" - 1;
    uint32_t tracks = tsmith_dictionary_track_count(trace->dictionary);
    for (uint32_t id = 1; id < tracks && id < TRACKS_MEASURED; id++) {
        text_clear(&word);
        size_t width = trace_add_track_label(&word, trace->dictionary, id, 0, TRACK_COLUMNS);
        lines->track_columns = width > lines->track_columns ? width : lines->track_columns;
    }
    lines->kind_columns = sizeof "KIND" - 1;
    for (int kind = 0; kind < TSMITH_KIND_LIMIT; kind++) {
        const char *name = trace_kind_name(kind);
        if (trace->summary.kinds[kind] && strlen(name) > lines->kind_columns)
            lines->kind_columns = strlen(name);
    }
    lines->line_columns = terminal_is_output() ? terminal_width() : 0;
    text_finish(&word);
}

static int write_frame_state(struct view *view) {
    struct text state = {0};
    const int code = frame_state_add(&state, &view->trace, &view->frame, false);
    output_text(&state);
    text_finish(&state);
    return code;
}

int view_text(struct view *view) {
    struct lines lines = {.view = view, .dictionary = view->trace.dictionary};
    const struct order_visitor visitor = {
        .context = &lines, .begin = lines_begin, .collect = lines_collect, .emit = lines_emit};
    measure(&lines);
    view->query.fields = fields;
    view->query.field_count = FIELD_COUNT;
    view->query.soon = true;
    view->progress.disabled = terminal_is_output();
    write_head(&lines);
    int code = view->limit ? order_visit(&view->trace, &view->query, &visitor, &view->progress) : EXIT_DONE;
    if (code == EXIT_DONE && !lines.written && view->limit)
        complain("%s has no %sevents", view->trace.path, view->trace.summary.events ? "such " : "");
    text_finish(&lines.track);
    if (code == EXIT_DONE)
        code = write_frame_state(view);
    return code;
}
