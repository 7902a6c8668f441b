// SPDX-License-Identifier: Apache-2.0
// Formats the call stacks of events as text and JSON. `view` and `replay` call it.
#include "stack_lines.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/present/terminal.h"

enum { NAME_COLUMNS = 160, PATH_COLUMNS = 120, TEXT_SIZE = 4096, INDENT = 11 };

#define DIM "\x1b[2m"
#define PLAIN "\x1b[0m"

static void say_what_lacks(const tsmith_symbolize_counts *counts, const char *path) {
    if (counts->modules_gone)
        complain("%s: %u %s of its call stacks cannot be read here: shown as module and offset", path,
                 counts->modules_gone, plural(counts->modules_gone, "module", "modules"));
    if (counts->modules_other)
        complain("%s: %u %s of its call stacks %s another version on this machine (the build ID differs): "
                 "shown as "
                 "module and offset",
                 path, counts->modules_other, plural(counts->modules_other, "module", "modules"),
                 plural(counts->modules_other, "has", "have"));
    if (counts->modules_damaged)
        complain("%s: symbols of %u %s of its call stacks are damaged", path, counts->modules_damaged,
                 plural(counts->modules_damaged, "module", "modules"));
}

// ---- calls

struct stacks_call {
    uint64_t correlation;
    uint32_t stack; // 0: calls of different stacks have that correlation
};

static int by_correlation(const void *left, const void *right) {
    const struct stacks_call *a = left, *b = right;
    if (a->correlation != b->correlation)
        return a->correlation < b->correlation ? -1 : 1;
    return (a->stack > b->stack) - (a->stack < b->stack);
}

// Whatever its stack is.
static int has_correlation(const void *key, const void *call) {
    const uint64_t a = *(const uint64_t *)key, b = ((const struct stacks_call *)call)->correlation;
    return (a > b) - (a < b);
}

static const uint32_t fields[] = {TSMITH_FIELD_CORRELATION, TSMITH_FIELD_STACK};
enum { CORRELATION, STACK, FIELDS };

static bool each_of_batch(const tsmith_batch *batch, stacks_call_taker take, void *context) {
    tsmith_view views[FIELDS];
    uint64_t correlation;
    tsmith_view_batch(batch, fields, FIELDS, views);
    for (uint32_t row = 0; row < tsmith_batch_count(batch); row++) {
        const uint32_t stack = tsmith_view_id(&views[STACK], row);
        if (stack && tsmith_view_u64(&views[CORRELATION], row, &correlation) &&
            !take(context, tsmith_batch_track(batch), correlation, stack))
            return false;
    }
    return true;
}

bool stacks_each_call(const struct trace *trace, stacks_call_taker take, void *context) {
    const tsmith_scan scan = {.size = sizeof scan,
                              .fields = fields,
                              .field_count = sizeof fields / sizeof fields[0],
                              .kinds = TSMITH_KIND_BIT(TSMITH_KIND_API)};
    tsmith_source *source = NULL;
    const tsmith_batch *batch;
    bool all = true;
    if (tsmith_dictionary_stack_count(trace->dictionary) <= 1)
        return true;
    tsmith_status status = tsmith_sbt_scan(trace->file, &scan, &source, NULL);
    while (all && status == TSMITH_OK && (status = tsmith_source_next(source, &batch, NULL)) == TSMITH_OK)
        all = each_of_batch(batch, take, context);
    tsmith_source_destroy(source);
    return all;
}

static bool add_call(void *context, uint32_t track, uint64_t correlation, uint32_t stack) {
    struct stacks *stacks = context;
    (void)track;
    if (stacks->call_count == stacks->call_capacity) {
        size_t capacity = stacks->call_capacity ? stacks->call_capacity * 2 : 1024;
        struct stacks_call *calls = realloc(stacks->calls, capacity * sizeof *calls);
        if (!calls)
            return false;
        stacks->calls = calls;
        stacks->call_capacity = capacity;
    }
    stacks->calls[stacks->call_count++] = (struct stacks_call){correlation, stack};
    return true;
}

// Without memory for all of them none is used.
static void read_calls(struct stacks *stacks, const struct trace *trace) {
    size_t kept = 0;
    if (!stacks_each_call(trace, add_call, stacks))
        stacks->call_count = 0;
    if (stacks->call_count)
        qsort(stacks->calls, stacks->call_count, sizeof *stacks->calls, by_correlation);
    for (size_t i = 0; i < stacks->call_count; i++) {
        struct stacks_call *last = kept ? &stacks->calls[kept - 1] : NULL;
        if (!last || last->correlation != stacks->calls[i].correlation)
            stacks->calls[kept++] = stacks->calls[i];
        else if (last->stack != stacks->calls[i].stack)
            last->stack = 0;
    }
    stacks->call_count = kept;
}

bool stacks_are_of_call(tsmith_kind kind) {
    return kind == TSMITH_KIND_KERNEL || kind == TSMITH_KIND_MEMCPY || kind == TSMITH_KIND_MEMSET;
}

uint32_t stacks_of_call(const struct stacks *stacks, uint64_t correlation) {
    const struct stacks_call *call =
        stacks->call_count
            ? bsearch(&correlation, stacks->calls, stacks->call_count, sizeof *stacks->calls, has_correlation)
            : NULL;
    return call ? call->stack : 0;
}

// ---- all of it

bool stacks_open(struct stacks *stacks, struct trace *trace, bool hide_interpreter) {
    tsmith_error error;
    tsmith_symbolize_counts counts = {.size = sizeof counts};
    *stacks = (struct stacks){.dictionary = trace->dictionary};
    if (trace->opened && tsmith_trace_symbolize(trace->opened, &counts, &error) != TSMITH_OK)
        complain("%s", error.message);
    say_what_lacks(&counts, trace->path);
    read_calls(stacks, trace);
    if (tsmith_stack_names_create(trace->dictionary, &stacks->names) == TSMITH_OK) {
        tsmith_stack_names_hide_interpreter(stacks->names, hide_interpreter);
        return true;
    }
    complain("out of memory");
    return false;
}

void stacks_close(struct stacks *stacks) {
    tsmith_stack_names_destroy(stacks->names);
    free(stacks->lines);
    free(stacks->calls);
    *stacks = (struct stacks){0};
}

// The lines of a stack, in memory of ours; how many.
static size_t read_lines(struct stacks *stacks, uint32_t stack) {
    size_t count = tsmith_stack_lines(stacks->names, stack, stacks->lines, stacks->capacity);
    if (count <= stacks->capacity)
        return count;
    tsmith_stack_line *lines = realloc(stacks->lines, count * sizeof *lines);
    if (!lines)
        return stacks->capacity;
    stacks->lines = lines;
    stacks->capacity = count;
    return tsmith_stack_lines(stacks->names, stack, stacks->lines, stacks->capacity);
}

// What a function is called, in memory of the caller's.
static tsmith_string name_of(const struct stacks *stacks, const tsmith_stack_line *line, char *text) {
    if (line->function)
        return tsmith_dictionary_string(stacks->dictionary, line->function);
    size_t length = tsmith_stack_line_text(stacks->dictionary, line, text, TEXT_SIZE);
    return (tsmith_string){text, length < TEXT_SIZE ? length : TEXT_SIZE - 1};
}

static void add_place(struct text *text, const struct stacks *stacks, const tsmith_stack_line *line) {
    tsmith_string file = tsmith_dictionary_string(stacks->dictionary, line->file);
    const tsmith_module *module = tsmith_dictionary_module(stacks->dictionary, line->module);
    if (file.length) {
        text_add_cstr(text, " at ");
        text_add_safe(text, file, PATH_COLUMNS);
        if (line->line)
            text_add_format(text, ":%" PRIu32, line->line);
    } else if (line->function && module && module->path) {
        text_add_cstr(text, " in ");
        text_add_safe(text, tsmith_dictionary_string(stacks->dictionary, module->path), PATH_COLUMNS);
    }
}

void stacks_add_text(struct stacks *stacks, struct text *text, uint32_t stack, size_t columns) {
    char name[TEXT_SIZE];
    size_t count = read_lines(stacks, stack);
    bool color = terminal_color();
    for (size_t i = 0; i < count; i++) {
        const tsmith_stack_line *line = &stacks->lines[i];
        size_t from = text->length;
        text_add_repeat(text, ' ', INDENT);
        text_add_format(text, "%s#%-3zu%s ", color ? DIM : "", i, color ? PLAIN : "");
        text_add_safe(text, name_of(stacks, line, name), NAME_COLUMNS);
        text_add_cstr(text, line->inlined ? " (inlined)" : "");
        text_add_cstr(text, line->flags & TSMITH_FRAME_PYTHON ? " (Python)" : "");
        text_add_cstr(text, line->flags & TSMITH_FRAME_GUESSED ? " [guessed]" : "");
        text_add_cstr(text, color ? DIM : "");
        add_place(text, stacks, line);
        text_add_cstr(text, color ? PLAIN : "");
        if (columns)
            text_cut(text, from, columns);
        text_add_char(text, '\n');
    }
    if (count && stacks->lines[count - 1].flags & TSMITH_FRAME_TRUNCATED) {
        text_add_repeat(text, ' ', INDENT);
        text_add_cstr(text, "[truncated] further callers are unknown\n");
    }
}

static void add_json_frame(const struct stacks *stacks, struct text *text, const tsmith_stack_line *line) {
    const tsmith_module *module = tsmith_dictionary_module(stacks->dictionary, line->module);
    text_add_cstr(text, "{");
    if (line->function) {
        text_add_cstr(text, "\"function\":");
        text_add_json(text, tsmith_dictionary_string(stacks->dictionary, line->function));
        text_add_char(text, ',');
    }
    if (line->file) {
        text_add_cstr(text, "\"file\":");
        text_add_json(text, tsmith_dictionary_string(stacks->dictionary, line->file));
        text_add_char(text, ',');
    }
    if (line->line)
        text_add_format(text, "\"line\":%" PRIu32 ",", line->line);
    if (module) {
        text_add_cstr(text, "\"module\":");
        text_add_json(text, tsmith_dictionary_string(stacks->dictionary, module->path));
        text_add_char(text, ',');
    }
    if (!(line->flags & TSMITH_FRAME_PYTHON))
        text_add_format(text, "\"address\":%" PRIu64 ",", line->address);
    text_add_format(text, "\"inlined\":%s", line->inlined ? "true" : "false");
    static const struct {
        uint32_t flag;
        const char *name;
    } FLAGS[] = {{TSMITH_FRAME_PYTHON, "python"},
                 {TSMITH_FRAME_GUESSED, "guessed"},
                 {TSMITH_FRAME_KERNEL, "kernel"},
                 {TSMITH_FRAME_TRUNCATED, "truncated"}};
    for (size_t i = 0; i < sizeof FLAGS / sizeof *FLAGS; i++)
        if (line->flags & FLAGS[i].flag)
            text_add_format(text, ",\"%s\":true", FLAGS[i].name);
    text_add_char(text, '}');
}

void stacks_add_json(struct stacks *stacks, struct text *text, uint32_t stack) {
    size_t count = read_lines(stacks, stack);
    text_add_char(text, '[');
    for (size_t i = 0; i < count; i++) {
        text_add_cstr(text, i ? "," : "");
        add_json_frame(stacks, text, &stacks->lines[i]);
    }
    text_add_char(text, ']');
}

void stacks_add_path(struct stacks *stacks, struct text *text, uint32_t stack) {
    char path[TEXT_SIZE], *whole = path;
    size_t length = tsmith_stack_path(stacks->names, stack, path, sizeof path);
    if (length >= sizeof path && (whole = malloc(length + 1)))
        (void)tsmith_stack_path(stacks->names, stack, whole, length + 1);
    if (whole)
        text_add(text, whole, length);
    else
        text->failed = true;
    if (whole != path)
        free(whole);
}
