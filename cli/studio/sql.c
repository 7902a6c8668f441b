// SPDX-License-Identifier: Apache-2.0
// SQL of the page, and what is known of one event, which is a question in SQL as well.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/studio/live.h"
#include "cli/studio/picture.h"
#include "tracesmith/stacks.h"

enum {
    ROWS_MOST = 10000,
    ROWS_BYTES = 32 << 20,
    RELATED_MOST = 32,
    NEAR = 2000000000, // ns: how far from an event what belongs to it is looked for
    FRAMES_MOST = 128
};

static bool open_query(const struct server *server, struct file *file, struct answer *out) {
    tsmith_error error;
    const uint64_t revision = live_revision(file);
    if (file->query && file->query_revision == revision)
        return true;
    tsmith_query_close(file->query);
    file->query = NULL;
    if (file->query_revision != revision) {
        tsmith_trace_close(file->query_trace);
        file->query_trace = NULL;
    }
    file->query_revision = revision;
    const tsmith_trace_options options = files_options(server, NULL);
    if (!file->query_trace && tsmith_trace_open(file->path, &options, &file->query_trace, &error) < 0) {
        answer_failure(out, 500, "%s", error.message);
        return false;
    }
    if (tsmith_query_open(tsmith_trace_sbt(file->query_trace), &file->query, &error) >= 0)
        return true;
    answer_failure(out, 500, "%s", error.message);
    return false;
}

static void add_value(struct text *text, const tsmith_sql_value *value) {
    switch (value->type) {
    case TSMITH_SQL_INTEGER:
        text_add_i64(text, value->integer);
        break;
    case TSMITH_SQL_REAL:
        text_add_f64(text, value->real);
        break;
    case TSMITH_SQL_TEXT:
    case TSMITH_SQL_BLOB:
        text_add_json(text, value->text);
        break;
    case TSMITH_SQL_NULL:
        text_add_cstr(text, "null");
        break;
    }
}

static void add_columns(struct text *text, tsmith_query *query, size_t columns) {
    text_add_cstr(text, "{\"columns\":[");
    for (size_t i = 0; i < columns; i++) {
        text_add_cstr(text, i ? "," : "");
        text_add_json_cstr(text, tsmith_query_column_name(query, i));
    }
    text_add_cstr(text, "],\"types\":[");
    for (size_t i = 0; i < columns; i++) {
        text_add_cstr(text, i ? "," : "");
        text_add_json_cstr(text, tsmith_query_column_type(query, i));
    }
    text_add_cstr(text, "],\n\"rows\":[");
}

// The rows of the statement that was prepared; integers beyond 2^53 lose digits in a browser, so the page asks for text where
// that matters.
static tsmith_status add_rows(struct text *text, tsmith_query *query, bool *more, tsmith_error *error) {
    const size_t columns = tsmith_query_column_count(query), begin = text->length;
    size_t rows = 0;
    tsmith_status status;
    while ((status = tsmith_query_next(query, error)) == TSMITH_OK) {
        if (rows == ROWS_MOST || text->length - begin > ROWS_BYTES) {
            *more = true;
            return TSMITH_OK;
        }
        text_add_cstr(text, rows++ ? ",\n[" : "\n[");
        for (size_t i = 0; i < columns; i++) {
            const tsmith_sql_value value = tsmith_query_value(query, i);
            text_add_cstr(text, i ? "," : "");
            add_value(text, &value);
        }
        text_add_char(text, ']');
    }
    return status == TSMITH_END ? TSMITH_OK : status;
}

// The answer of the last statement that has one.
static void run_statements(struct file *file, const char *sql, size_t length, struct answer *out) {
    tsmith_error error;
    size_t used = 0;
    bool more = false;
    tsmith_status status;
    while ((status = tsmith_query_prepare(file->query, sql, length, &used, &error)) == TSMITH_OK) {
        const size_t columns = tsmith_query_column_count(file->query);
        text_clear(&out->text);
        more = false;
        add_columns(&out->text, file->query, columns);
        status = add_rows(&out->text, file->query, &more, &error);
        if (status < 0 || status == TSMITH_TRUNCATED)
            break;
        sql += used;
        length -= used;
    }
    if (status != TSMITH_END && status != TSMITH_OK && status != TSMITH_TRUNCATED)
        answer_failure(out, 400, "%s", error.message);
    else if (!out->text.length)
        answer_failure(out, 400, "The SQL has no statement");
    else
        text_add_format(&out->text, "],\"more\":%s,\"truncated\":%s}\n", more ? "true" : "false",
                        status == TSMITH_TRUNCATED ? "true" : "false");
}

void answer_sql(struct server *server, struct file *file, const struct request *request, struct answer *out) {
    pthread_mutex_lock(&file->query_lock);
    if (open_query(server, file, out))
        run_statements(file, request->body, request->body_length, out);
    pthread_mutex_unlock(&file->query_lock);
}

// ---- one event

struct event {
    int64_t start;
    uint64_t track, name, correlation, stack;
    bool has_duration, has_correlation, has_stack;
    int64_t duration;
};

static bool parse_event(const struct file *file, const struct request *request, struct event *out) {
    uint64_t start, duration;
    const char *text = request->parameter(request, "duration");
    *out = (struct event){0};
    if (!picture_number(request->parameter(request, "track"), UINT32_MAX, &out->track) ||
        !picture_number(request->parameter(request, "start"), INT64_MAX, &start))
        return false;
    if (!picture_number(request->parameter(request, "name"), UINT32_MAX, &out->name))
        out->name = 0;
    out->has_duration = picture_number(text, INT64_MAX, &duration);
    out->duration = out->has_duration ? (int64_t)duration : 0;
    return !__builtin_add_overflow(tsmith_tiles_origin(file->tiles), (int64_t)start, &out->start);
}

// The fields of an event that are known.
static void add_fields(struct file *file, struct event *event, struct text *text) {
    const size_t columns = tsmith_query_column_count(file->query);
    bool is_first = true;
    text_add_cstr(text, "{\"event\":{");
    for (size_t i = 0; i < columns; i++) {
        const char *name = tsmith_query_column_name(file->query, i);
        const tsmith_sql_value value = tsmith_query_value(file->query, i);
        if (value.type == TSMITH_SQL_NULL)
            continue;
        if (strcmp(name, "correlation") == 0 && value.integer) {
            event->correlation = (uint64_t)value.integer;
            event->has_correlation = true;
        }
        if (strcmp(name, "stack") == 0) {
            event->stack = (uint64_t)value.integer;
            event->has_stack = true;
        }
        text_add_cstr(text, is_first ? "" : ",\n");
        text_add_json_cstr(text, name);
        text_add_char(text, ':');
        // Large integers as text: JavaScript's numbers would change them.
        if (value.type == TSMITH_SQL_INTEGER &&
            (value.integer > INT64_C(1) << 53 || value.integer < -(INT64_C(1) << 53)))
            text_add_format(text, "\"%" PRId64 "\"", value.integer);
        else
            add_value(text, &value);
        is_first = false;
    }
    text_add_char(text, '}');
}

// What has the same correlation and is near: the call of a command, the command of a call, the wait for it.
static void add_related(struct file *file, const struct event *event, struct text *text) {
    char sql[512];
    size_t used, count = 0;
    text_add_cstr(text, ",\n\"related\":[");
    const int64_t origin = tsmith_tiles_origin(file->tiles);
    const int length = snprintf(
        sql, sizeof sql,
        "SELECT kind, track, start, duration, name FROM events WHERE correlation = %" PRIu64
        " AND start BETWEEN %" PRId64 " AND %" PRId64 " AND NOT (track = %" PRIu64 " AND start = %" PRId64
        ") ORDER BY start LIMIT %d",
        event->correlation, event->start - NEAR, event->start + event->duration % (INT64_C(1) << 61) + NEAR,
        event->track, event->start, RELATED_MOST);
    if (event->has_correlation &&
        tsmith_query_prepare(file->query, sql, (size_t)length, &used, NULL) == TSMITH_OK)
        while (tsmith_query_next(file->query, NULL) == TSMITH_OK) {
            const tsmith_sql_value start = tsmith_query_value(file->query, 2);
            text_add_cstr(text, count++ ? ",\n{\"what\":" : "{\"what\":");
            const char *const names[] = {"", ",\"track\":", NULL, ",\"duration\":", ",\"text\":"};
            for (size_t i = 0; i < 5; i++) {
                const tsmith_sql_value value = tsmith_query_value(file->query, i);
                if (i == 2)
                    text_add_format(text, ",\"start\":%" PRId64, start.integer - origin);
                else {
                    text_add_cstr(text, names[i]);
                    add_value(text, &value);
                }
            }
            text_add_char(text, '}');
        }
    text_add_char(text, ']');
}

static void add_frame(const struct file *file, const tsmith_stack_line *line, struct text *text) {
    const tsmith_string function = tsmith_dictionary_string(file->dictionary, line->function);
    const tsmith_module *module = tsmith_dictionary_module(file->dictionary, line->module);
    const tsmith_string path = tsmith_dictionary_string(file->dictionary, module ? module->path : 0);
    struct text name = {0};
    if (function.length)
        text_add(&name, function.bytes, function.length);
    else if (path.length) {
        text_add(&name, path.bytes, path.length);
        text_add_format(&name, "+0x%" PRIx64, line->address);
    } else
        text_add_format(&name, "0x%" PRIx64, line->address);
    text_add_json(text, (tsmith_string){text_cstr(&name), name.length});
    text_finish(&name);
}

// The call stack, innermost first. Under the lock of the handle whose names were resolved.
static void add_stack(struct file *file, const struct event *event, struct text *text) {
    tsmith_stack_line lines[FRAMES_MOST];
    tsmith_stack_names *names = NULL;
    text_add_cstr(text, ",\n\"stack\":");
    file_enter(file);
    const bool good = event->has_stack && tsmith_stack_names_create(file->dictionary, &names) == TSMITH_OK;
    const size_t there = good ? tsmith_stack_lines(names, (uint32_t)event->stack, lines, FRAMES_MOST) : 0;
    text_add_cstr(text, there ? "[" : "null");
    for (size_t i = 0; i < there && i < FRAMES_MOST; i++) {
        text_add_cstr(text, i ? "," : "");
        add_frame(file, &lines[i], text);
    }
    text_add_cstr(text, there ? "]" : "");
    tsmith_stack_names_destroy(names);
    file_leave(file);
}

static void find_event(struct file *file, struct event *event, struct answer *out) {
    char sql[512], duration[64] = "duration IS NULL";
    size_t used;
    tsmith_error error = {.message = ""};
    if (event->has_duration)
        snprintf(duration, sizeof duration, "duration = %" PRId64, event->duration);
    const int length =
        snprintf(sql, sizeof sql,
                 "SELECT * FROM events WHERE track = %" PRIu64 " AND start = %" PRId64 " AND %s AND "
                 "(%" PRIu64 " = 0 OR name_id = %" PRIu64 ") LIMIT 1",
                 event->track, event->start, duration, event->name, event->name);
    tsmith_status status = tsmith_query_prepare(file->query, sql, (size_t)length, &used, &error);
    if (status == TSMITH_OK)
        status = tsmith_query_next(file->query, &error);
    if (status != TSMITH_OK) {
        answer_failure(out, status == TSMITH_END ? 404 : 500, "%s",
                       status == TSMITH_END ? "This event does not exist" : error.message);
        return;
    }
    add_fields(file, event, &out->text);
    add_related(file, event, &out->text);
    add_stack(file, event, &out->text);
    text_add_cstr(&out->text, "}\n");
}

void answer_event(struct server *server, struct file *file, const struct request *request,
                  struct answer *out) {
    struct event event;
    if (!parse_event(file, request, &event)) {
        answer_failure(out, 400, "The request for an event needs track, start, duration and name");
        return;
    }
    pthread_mutex_lock(&file->query_lock);
    if (open_query(server, file, out))
        find_event(file, &event, out);
    pthread_mutex_unlock(&file->query_lock);
}
