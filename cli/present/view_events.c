// SPDX-License-Identifier: Apache-2.0
// Events for other programs: JSON and CSV with every field.
//
// A trace's own fields may have any name, also one of the schema's. So they stand apart: in the object "args" of JSON, in
// columns "args.NAME" of CSV. Own fields of one name and several types are one there: an event has one of them.
#include <stdlib.h>
#include <string.h>

#include "map.h"
#include "terminal.h"
#include "views.h"

// A field of the trace's own, by its id.
struct own_field {
    uint32_t first; // id of the first field of this name
    uint32_t next;  // id of the next one, 0: none
    uint64_t event; // the last that was written with this name; kept at the first
};

struct writer {
    struct view *view;
    const tsmith_dictionary *dictionary;
    uint32_t track;
    uint32_t column_count;
    uint32_t column_room; // all fields there are: of the schema and of the trace
    tsmith_view *columns; // of the batch; for CSV by field, in the order of the header
    tsmith_field_info *infos;
    uint32_t own_at;         // for CSV: the column of own field 1
    struct own_field *own;   // column_room of them
    uint64_t event;          // how many were collected
    struct text track_label; // of the track, as JSON or CSV
    uint64_t written;
};

static void add_number(struct text *text, tsmith_type type, uint64_t bits) {
    double real;
    if (type == TSMITH_TYPE_F64) {
        memcpy(&real, &bits, sizeof real);
        text_add_f64(text, real);
    } else if (type == TSMITH_TYPE_TIME || type == TSMITH_TYPE_I64) {
        text_add_i64(text, (int64_t)bits);
    } else if (type == TSMITH_TYPE_BOOL) {
        text_add_cstr(text, bits ? "true" : "false");
    } else {
        text_add_u64(text, bits);
    }
}

void view_add_json_value(struct text *text, const tsmith_dictionary *dictionary, tsmith_type type,
                         uint64_t bits) {
    const char *name = tsmith_value_name(type, bits);
    if (name)
        text_add_json_cstr(text, name);
    else if (type == TSMITH_TYPE_STRING)
        text_add_json(text, tsmith_dictionary_string(dictionary, (uint32_t)bits));
    else
        add_number(text, type, bits);
}

static void writer_finish(struct writer *writer) {
    text_finish(&writer->track_label);
    free(writer->columns);
    free(writer->infos);
    free(writer->own);
}

// Finds the own fields that have one name.
static bool join_own_fields(struct writer *writer) {
    struct map names = {0};
    uint32_t count = tsmith_dictionary_dynamic_field_count(writer->dictionary), number = 0;
    uint32_t *last = calloc(writer->column_room, sizeof *last); // field of each name
    for (uint32_t id = 1; last && id < count; id++) {
        bool is_new = false;
        number = map_number(&names, tsmith_dictionary_dynamic_field(writer->dictionary, id)->name, &is_new);
        if (number == UINT32_MAX)
            break;
        writer->own[id].first = is_new ? id : writer->own[last[number]].first;
        if (!is_new)
            writer->own[last[number]].next = id;
        last[number] = id;
    }
    bool done = last && number != UINT32_MAX;
    free(last);
    map_finish(&names);
    return done;
}

// NULL: a field of the schema.
static const struct own_field *own_field(const struct writer *writer, uint32_t field) {
    return field > TSMITH_FIELD_DYNAMIC ? &writer->own[field - TSMITH_FIELD_DYNAMIC] : NULL;
}

static bool writer_init(struct writer *writer, struct view *view) {
    *writer = (struct writer){.view = view, .dictionary = view->trace.dictionary};
    writer->column_room = TSMITH_FIELD_LIMIT + tsmith_dictionary_dynamic_field_count(writer->dictionary) + 1;
    writer->columns = calloc(writer->column_room, sizeof *writer->columns);
    writer->infos = calloc(writer->column_room, sizeof *writer->infos);
    writer->own = calloc(writer->column_room, sizeof *writer->own);
    if (writer->columns && writer->infos && writer->own && join_own_fields(writer))
        return true;
    complain("out of memory");
    writer_finish(writer);
    return false;
}

// ---- JSON

static void json_begin(void *context, const tsmith_batch *batch) {
    struct writer *writer = context;
    uint32_t count = tsmith_batch_column_count(batch);
    writer->track = tsmith_batch_track(batch);
    writer->column_count = 0;
    for (uint32_t i = 0; i < count && writer->column_count < writer->column_room; i++) {
        const tsmith_view column = tsmith_view_at(batch, i);
        if (!tsmith_dictionary_describe_field(writer->dictionary, column.field,
                                              &writer->infos[writer->column_count]))
            continue;
        writer->columns[writer->column_count++] = column;
    }
}

static void add_json_list(struct text *record, const tsmith_view *column, uint32_t row) {
    text_add_char(record, '[');
    const uint64_t *elements = NULL;
    const uint32_t count = tsmith_view_list(column, row, &elements);
    for (uint32_t i = 0; i < count; i++) {
        if (i)
            text_add_char(record, ',');
        text_add_u64(record, elements[i]);
    }
    text_add_char(record, ']');
}

// Whether this is the first value that the event has for the name of an own field.
static bool is_first_of_name(struct writer *writer, const struct own_field *own) {
    struct own_field *first = &writer->own[own->first];
    bool is_first = first->event != writer->event;
    first->event = writer->event;
    return is_first;
}

// A stack of an event, where stacks are wanted; of a command that has none that of its call.
static bool stack_of(const struct writer *writer, uint32_t row, uint32_t field, uint64_t *stack) {
    uint64_t kind = TSMITH_KIND_NONE, correlation = 0;
    bool correlated = false;
    *stack = 0;
    for (uint32_t i = 0; writer->view->with_stacks && i < writer->column_count; i++) {
        const tsmith_view *column = &writer->columns[i];
        if (!tsmith_view_has(column, row))
            continue;
        if (column->field == field)
            *stack = tsmith_view_known(column, row);
        else if (column->field == TSMITH_FIELD_KIND)
            kind = tsmith_view_known(column, row);
        else if (column->field == TSMITH_FIELD_CORRELATION) {
            correlation = tsmith_view_known(column, row);
            correlated = true;
        }
    }
    if (!*stack && field == TSMITH_FIELD_STACK && correlated && stacks_are_of_call((tsmith_kind)kind))
        *stack = stacks_of_call(&writer->view->stacks, correlation);
    return *stack != 0;
}

static void json_collect(void *context, uint32_t row, struct text *record) {
    struct writer *writer = context;
    bool in_args = false;
    uint64_t stack;
    writer->event++;
    text_add_cstr(record, "{\"track\":");
    text_add_u64(record, writer->track);
    if (stack_of(writer, row, TSMITH_FIELD_STACK, &stack)) {
        text_add_cstr(record, ",\"frames\":");
        stacks_add_json(&writer->view->stacks, record, (uint32_t)stack);
    }
    if (stack_of(writer, row, TSMITH_FIELD_WAKER_STACK, &stack)) {
        text_add_cstr(record, ",\"waker_frames\":");
        stacks_add_json(&writer->view->stacks, record, (uint32_t)stack);
    }
    for (uint32_t i = 0; i < writer->column_count; i++) { // the trace's own come last
        const tsmith_view *column = &writer->columns[i];
        const struct own_field *own = own_field(writer, column->field);
        if (!tsmith_view_has(column, row) || (own && !is_first_of_name(writer, own)))
            continue;
        text_add_cstr(record, own && !in_args ? ",\"args\":{" : ",");
        in_args = own;
        text_add_json_cstr(record, writer->infos[i].name);
        text_add_char(record, ':');
        if (column->type == TSMITH_TYPE_LIST)
            add_json_list(record, column, row);
        else
            view_add_json_value(record, writer->dictionary, column->type, tsmith_view_known(column, row));
    }
    text_add_cstr(record, in_args ? "}}" : "}");
}

static bool json_emit(void *context, const char *record, size_t length) {
    struct writer *writer = context;
    writer->written++;
    return output_cstr(writer->written > 1 ? ",\n" : "\n") && output_write(record, length) &&
           writer->written < writer->view->limit;
}

static void write_json_head(struct view *view) {
    struct text head = {0};
    text_add_char(&head, '{');
    trace_add_json_head(&head, &view->trace);
    text_add_format(&head, ",\"event_count\":%llu,\n", (unsigned long long)view->trace.summary.events);
    trace_add_json_tables(&head, &view->trace);
    text_add_cstr(&head, ",\n\"events\":[");
    output_text(&head);
    text_finish(&head);
}

static void write_json_end(struct view *view) {
    struct text end = {0};
    trace_refresh(&view->trace);
    text_add_cstr(&end, "\n],\n");
    frame_state_add(&end, &view->trace, &view->frame, true);
    trace_add_json_state(&end, &view->trace);
    text_add_cstr(&end, "}\n");
    output_text(&end);
    text_finish(&end);
}

static int visit(struct view *view, struct writer *writer, const struct order_visitor *visitor) {
    view->query.soon = true;
    // A terminal shows the events themselves; a bar would be drawn over them.
    view->progress.disabled = terminal_is_output();
    return writer->view->limit ? order_visit(&view->trace, &view->query, visitor, &view->progress)
                               : EXIT_DONE;
}

int view_json(struct view *view) {
    struct writer writer;
    if (!writer_init(&writer, view))
        return EXIT_LACKING;
    const struct order_visitor visitor = {
        .context = &writer, .begin = json_begin, .collect = json_collect, .emit = json_emit};
    write_json_head(view);
    int code = visit(view, &writer, &visitor);
    write_json_end(view);
    writer_finish(&writer);
    return code;
}

// ---- CSV

// Every field of the schema and of the trace, whether an event has it or not: the header depends on no event.
static void csv_fields(struct writer *writer) {
    uint32_t dynamic = tsmith_dictionary_dynamic_field_count(writer->dictionary);
    for (uint32_t field = 1; field < TSMITH_FIELD_LIMIT; field++)
        if (tsmith_dictionary_describe_field(writer->dictionary, field, &writer->infos[writer->column_count]))
            writer->column_count++;
    writer->own_at = writer->column_count;
    for (uint32_t id = 1; id < dynamic && writer->column_count < writer->column_room; id++)
        if (tsmith_dictionary_describe_field(writer->dictionary, TSMITH_FIELD_DYNAMIC + id,
                                             &writer->infos[writer->column_count]))
            writer->column_count++;
}

// Whether the column of an own field stands in that of the first field of its name.
static bool csv_joined(const struct writer *writer, uint32_t index) {
    return index >= writer->own_at &&
           writer->own[index - writer->own_at + 1].first != index - writer->own_at + 1;
}

static bool csv_has(const struct writer *writer, uint32_t index, uint32_t row) {
    return tsmith_view_has(&writer->columns[index], row);
}

// A file gets the bytes that the trace has; a terminal gets none that it would obey.
static void add_csv_text(struct text *text, tsmith_string bytes) {
    struct text safe = {0};
    if (terminal_is_output()) {
        text_add_safe(&safe, bytes, 0);
        bytes = (tsmith_string){text_cstr(&safe), safe.length};
    }
    text_add_csv(text, bytes);
    text_finish(&safe);
}

static void csv_begin(void *context, const tsmith_batch *batch) {
    struct writer *writer = context;
    struct text label = {0};
    writer->track = tsmith_batch_track(batch);
    trace_add_track_raw(&label, writer->dictionary, writer->track);
    text_clear(&writer->track_label);
    add_csv_text(&writer->track_label, (tsmith_string){text_cstr(&label), label.length});
    text_finish(&label);
    for (uint32_t i = 0; i < writer->column_count; i++)
        tsmith_view_batch(batch, &writer->infos[i].field, 1, &writer->columns[i]);
}

static void add_csv_value(struct text *record, const struct writer *writer, const tsmith_view *column,
                          uint32_t row) {
    if (column->type == TSMITH_TYPE_LIST) {
        const uint64_t *elements = NULL;
        const uint32_t count = tsmith_view_list(column, row, &elements);
        for (uint32_t i = 0; i < count; i++) {
            text_add_cstr(record, i ? " " : "");
            text_add_u64(record, elements[i]);
        }
        return;
    }
    uint64_t bits = tsmith_view_known(column, row);
    const char *name = tsmith_value_name(column->type, bits);
    if (name)
        text_add_cstr(record, name);
    else if (column->type == TSMITH_TYPE_STRING)
        add_csv_text(record, tsmith_dictionary_string(writer->dictionary, (uint32_t)bits));
    else
        add_number(record, column->type, bits);
}

static void add_csv_path(struct text *record, const struct writer *writer, uint32_t row) {
    uint64_t stack;
    struct text path = {0};
    text_add_char(record, ',');
    if (stack_of(writer, row, TSMITH_FIELD_STACK, &stack)) {
        stacks_add_path(&writer->view->stacks, &path, (uint32_t)stack);
        add_csv_text(record, (tsmith_string){text_cstr(&path), path.length});
    }
    text_finish(&path);
}

static void csv_collect(void *context, uint32_t row, struct text *record) {
    struct writer *writer = context;
    text_add_u64(record, writer->track);
    text_add_char(record, ',');
    text_add(record, writer->track_label.bytes, writer->track_label.length);
    for (uint32_t i = 0; i < writer->column_count; i++) {
        if (csv_joined(writer, i))
            continue;
        text_add_char(record, ',');
        uint32_t at = i;
        while (!csv_has(writer, at, row) && at >= writer->own_at && writer->own[at - writer->own_at + 1].next)
            at = writer->own_at + writer->own[at - writer->own_at + 1].next - 1;
        if (csv_has(writer, at, row))
            add_csv_value(record, writer, &writer->columns[at], row);
    }
    if (writer->view->with_stacks)
        add_csv_path(record, writer, row);
    text_add_cstr(record, "\r\n");
}

static bool csv_emit(void *context, const char *record, size_t length) {
    struct writer *writer = context;
    writer->written++;
    return output_write(record, length) && writer->written < writer->view->limit;
}

int view_csv(struct view *view) {
    struct text head = {0}, name = {0};
    struct writer writer;
    if (!writer_init(&writer, view))
        return EXIT_LACKING;
    const struct order_visitor visitor = {
        .context = &writer, .begin = csv_begin, .collect = csv_collect, .emit = csv_emit};
    csv_fields(&writer);
    text_add_cstr(&head, "track,track_name");
    for (uint32_t i = 0; i < writer.column_count; i++) {
        if (csv_joined(&writer, i))
            continue;
        text_add_char(&head, ',');
        text_clear(&name);
        text_add_cstr(&name, i < writer.own_at ? "" : "args.");
        text_add_cstr(&name, writer.infos[i].name);
        text_add_csv(&head, (tsmith_string){text_cstr(&name), name.length});
    }
    text_add_cstr(&head, view->with_stacks ? ",call_path\r\n" : "\r\n");
    output_text(&head);
    int code = visit(view, &writer, &visitor);
    text_finish(&name);
    text_finish(&head);
    writer_finish(&writer);
    return code;
}
