// SPDX-License-Identifier: Apache-2.0
// Draws the samples of threads. A sample stands for the CPU time of its thread since the sample before: the period of the
// sampler. It is drawn as the time of that length before it; where the thread was off the CPU meanwhile, a cell has at most all
// of its time. The line below names the function of the program (tsmith_stack_place) with the most samples of each part.
#include "timeline_samples.h"

#include <stdlib.h>
#include <string.h>

#include "map.h"
#include "terminal.h"
#include "tracesmith/stacks.h"

enum { PART_COLUMNS = 14, NAME_LEAST = 4, TEXT_SIZE = 512, COMPACT_AT = 65536 };

#define USER_COLOR "\x1b[92m"
#define KERNEL_COLOR "\x1b[91m"
#define DIM "\x1b[2m"
#define PLAIN "\x1b[0m"

static const uint32_t IS_MODULE = UINT32_C(1) << 31; // in place of a function

// So many samples with a stack in a part of the line.
struct place {
    uint64_t key; // part << 32 | stack, later part << 32 | function or module
    uint64_t count;
};

struct sampled_row {
    int64_t *user, *kernel; // ns by column
    uint64_t *count;        // by column; periods may be unknown
    int64_t total;          // ns
    struct place *places;
    size_t place_count, place_capacity;
};

struct timeline_samples {
    const tsmith_dictionary *dictionary;
    tsmith_stack_names *names;
    struct timeline_frame frame;
    struct sampled_row *rows;
    bool has_kernel;
};

// ---- reading

static int by_key(const void *left, const void *right) {
    const struct place *a = left, *b = right;
    return (a->key > b->key) - (a->key < b->key);
}

static void join_places(struct sampled_row *row) {
    size_t kept = 0;
    qsort(row->places, row->place_count, sizeof *row->places, by_key);
    for (size_t i = 0; i < row->place_count; i++) {
        if (kept && row->places[kept - 1].key == row->places[i].key)
            row->places[kept - 1].count += row->places[i].count;
        else
            row->places[kept++] = row->places[i];
    }
    row->place_count = kept;
}

static bool add_place(struct sampled_row *row, uint64_t key) {
    // The memory follows the number of different stacks, not of samples.
    if (row->place_count == row->place_capacity && row->place_count >= COMPACT_AT) {
        join_places(row);
        if (row->place_count > row->place_capacity / 2 &&
            !map_array_reserve((void **)&row->places, &row->place_capacity, row->place_capacity,
                               sizeof *row->places))
            return false;
    }
    if (!map_array_reserve((void **)&row->places, &row->place_capacity, row->place_count,
                           sizeof *row->places))
        return false;
    row->places[row->place_count++] = (struct place){.key = key, .count = 1};
    return true;
}

static int64_t column_start(const struct timeline_frame *frame, size_t column) {
    const uint64_t span = (uint64_t)frame->to - (uint64_t)frame->from;
    return (int64_t)((uint64_t)frame->from + (uint64_t)((unsigned __int128)span * column / frame->columns));
}

static size_t column_of(const struct timeline_frame *frame, int64_t time) {
    const uint64_t span = (uint64_t)frame->to - (uint64_t)frame->from;
    const uint64_t since = (uint64_t)time - (uint64_t)frame->from;
    size_t column = (size_t)((unsigned __int128)since * frame->columns / span);
    while (column + 1 < frame->columns && column_start(frame, column + 1) <= time)
        column++;
    return column < frame->columns ? column : frame->columns - 1;
}

static void add_time(const struct timeline_frame *frame, int64_t *sums, int64_t start, int64_t end) {
    for (size_t column = column_of(frame, start); column < frame->columns && start < end; column++) {
        const int64_t border = column + 1 < frame->columns ? column_start(frame, column + 1) : frame->to;
        const int64_t until = end < border ? end : border;
        if (until > start)
            sums[column] += until - start;
        start = until > start ? until : start;
    }
}

static size_t part_of(const struct timeline_frame *frame, size_t column) {
    const size_t parts = frame->columns / PART_COLUMNS ? frame->columns / PART_COLUMNS : 1;
    return column / PART_COLUMNS < parts ? column / PART_COLUMNS : parts - 1;
}

static bool make_row(const struct timeline_frame *frame, struct sampled_row *row) {
    row->user = calloc(frame->columns, sizeof *row->user);
    row->kernel = calloc(frame->columns, sizeof *row->kernel);
    row->count = calloc(frame->columns, sizeof *row->count);
    return row->user && row->kernel && row->count;
}

enum { KIND, START, STACK, PERIOD, CATEGORY, FIELDS };
static const uint32_t fields[FIELDS] = {TSMITH_FIELD_KIND, TSMITH_FIELD_START, TSMITH_FIELD_STACK,
                                        TSMITH_FIELD_SAMPLER_PERIOD, TSMITH_FIELD_CATEGORY};

static bool is_kernel(const tsmith_dictionary *dictionary, uint32_t category) {
    const tsmith_string text = tsmith_dictionary_string(dictionary, category);
    return text.length == 6 && memcmp(text.bytes, "kernel", 6) == 0;
}

static bool take_batch(struct timeline_samples *samples, const tsmith_batch *batch) {
    const struct timeline_frame *frame = &samples->frame;
    const uint32_t track = tsmith_batch_track(batch);
    tsmith_view views[FIELDS];
    if (track >= frame->track_count || !frame->row_of[track])
        return true;
    struct sampled_row *row = &samples->rows[frame->row_of[track] - 1];
    tsmith_view_batch(batch, fields, FIELDS, views);
    for (uint32_t at = 0; at < tsmith_batch_count(batch); at++) {
        const int64_t time = tsmith_view_i64_or(&views[START], at, 0);
        const uint64_t period = tsmith_view_u64_or(&views[PERIOD], at, 0);
        if (tsmith_view_word(&views[KIND], at) != TSMITH_KIND_SAMPLE || time < frame->from ||
            time >= frame->to)
            continue;
        if (!row->count && !make_row(frame, row))
            return false;
        const size_t column = column_of(frame, time);
        const uint64_t part = part_of(frame, column);
        const bool kernel = is_kernel(samples->dictionary, tsmith_view_id(&views[CATEGORY], at));
        const uint64_t before = (uint64_t)time - (uint64_t)frame->from;
        const int64_t length = (int64_t)(period < before ? period : before);
        samples->has_kernel |= kernel;
        row->count[column]++;
        row->total += length;
        add_time(frame, kernel ? row->kernel : row->user, time - length, time);
        if (!add_place(row, part << 32 | tsmith_view_id(&views[STACK], at)))
            return false;
    }
    return true;
}

// From stacks to the functions that they are in: the string of the name, or the module where it is not known.
static void find_functions(struct timeline_samples *samples, struct sampled_row *row) {
    for (size_t i = 0; i < row->place_count; i++) {
        tsmith_stack_line line;
        const uint32_t stack = (uint32_t)row->places[i].key;
        (void)tsmith_stack_place(samples->dictionary, samples->names, stack, &line);
        row->places[i].key = row->places[i].key >> 32 << 32 |
                             (line.function || !line.module ? line.function : IS_MODULE | line.module);
    }
    join_places(row);
}

static int read_all(struct timeline_samples *samples, struct view *view) {
    const tsmith_scan scan = {.size = sizeof scan,
                              .has_window = 1,
                              .from = samples->frame.from,
                              .to = samples->frame.to,
                              .kinds = TSMITH_KIND_BIT(TSMITH_KIND_SAMPLE),
                              .fields = fields,
                              .field_count = FIELDS};
    tsmith_source *source = NULL;
    tsmith_error error;
    const tsmith_batch *batch;
    bool room = true;
    tsmith_status status = tsmith_sbt_scan(view->trace.file, &scan, &source, &error);
    while (status == TSMITH_OK && room) {
        status = tsmith_source_next(source, &batch, &error);
        if (status == TSMITH_OK)
            room = take_batch(samples, batch);
    }
    tsmith_source_destroy(source);
    if (status < 0)
        complain("%s", error.message);
    if (!room)
        complain("%s: out of memory", view->trace.path);
    return room ? exit_code_of_input(status) : EXIT_LACKING;
}

int timeline_samples_read(struct view *view, const struct timeline_frame *frame,
                          struct timeline_samples **out) {
    *out = NULL;
    if (!view->trace.summary.kinds[TSMITH_KIND_SAMPLE] || frame->to <= frame->from ||
        (view->query.kinds && !(view->query.kinds & TSMITH_KIND_BIT(TSMITH_KIND_SAMPLE))))
        return EXIT_DONE;
    struct timeline_samples *samples = calloc(1, sizeof *samples);
    if (samples) {
        *samples = (struct timeline_samples){.dictionary = view->trace.dictionary, .frame = *frame};
        samples->rows = calloc(frame->row_count + 1, sizeof *samples->rows);
    }
    if (!samples || !samples->rows ||
        tsmith_stack_names_create(view->trace.dictionary, &samples->names) != TSMITH_OK) {
        complain("out of memory");
        timeline_samples_destroy(samples);
        return EXIT_LACKING;
    }
    tsmith_stack_names_hide_interpreter(samples->names, 1);
    const int code = read_all(samples, view);
    for (size_t i = 0; i < frame->row_count; i++)
        find_functions(samples, &samples->rows[i]);
    if (code == EXIT_DONE)
        *out = samples;
    else
        timeline_samples_destroy(samples);
    return code;
}

void timeline_samples_destroy(struct timeline_samples *samples) {
    if (!samples)
        return;
    for (size_t i = 0; samples->rows && i < samples->frame.row_count; i++) {
        free(samples->rows[i].user);
        free(samples->rows[i].kernel);
        free(samples->rows[i].count);
        free(samples->rows[i].places);
    }
    tsmith_stack_names_destroy(samples->names);
    free(samples->rows);
    free(samples);
}

// ---- drawing

bool timeline_samples_has(const struct timeline_samples *samples, size_t row) {
    return samples && samples->rows[row].count;
}

static void add_color(struct text *line, const char *color) {
    if (terminal_color())
        text_add_cstr(line, color);
}

static const char *edge(void) {
    return terminal_unicode() ? "\u2502" : "|";
}

static void add_label(const struct timeline_samples *samples, struct text *line, const char *label) {
    text_add_cstr(line, label);
    text_pad_right(line, strlen(label), samples->frame.label_columns - 1);
    text_add_cstr(line, edge());
}

// A cell without any sample is blank; one whose samples have no period is the lowest.
static void add_cell(const struct timeline_samples *samples, const struct sampled_row *row, size_t column,
                     struct text *line) {
    static const char *const blocks[] = {"\u2581", "\u2582", "\u2583", "\u2584",
                                         "\u2585", "\u2586", "\u2587", "\u2588"};
    const struct timeline_frame *frame = &samples->frame;
    const int64_t width = column_start(frame, column + 1) - column_start(frame, column);
    const int64_t all = row->user[column] + row->kernel[column];
    const bool kernel = row->kernel[column] > row->user[column];
    if (!all && !row->count[column]) {
        text_add_char(line, ' ');
        return;
    }
    const double share = width > 0 ? (double)all / (double)width : 1;
    const int level = (int)(share * 8);
    add_color(line, kernel ? KERNEL_COLOR : USER_COLOR);
    if (terminal_unicode())
        text_add_cstr(line, blocks[level > 7 ? 7 : level]);
    else
        text_add_char(line, kernel ? (share >= 0.5 ? 'S' : 's') : share >= 0.5 ? 'U' : 'u');
    add_color(line, PLAIN);
}

static void draw_time(const struct timeline_samples *samples, const struct sampled_row *row) {
    struct text line = {0};
    const double span = (double)((uint64_t)samples->frame.to - (uint64_t)samples->frame.from);
    add_label(samples, &line, "    CPU time");
    for (size_t column = 0; column < samples->frame.columns; column++)
        add_cell(samples, row, column, &line);
    text_add_cstr(&line, edge());
    if (row->total)
        text_add_share(&line, (double)row->total / span);
    text_add_char(&line, '\n');
    output_text(&line);
    text_finish(&line);
}

// The function with the most samples of a part; 0: unknown, or there are no samples. Moves the cursor behind the part.
static uint32_t most_frequent(const struct sampled_row *row, size_t part, size_t *cursor, uint64_t *count) {
    uint32_t function = 0;
    *count = 0;
    for (; *cursor < row->place_count && row->places[*cursor].key >> 32 == part; ++*cursor) {
        const struct place *place = &row->places[*cursor];
        if (place->count > *count) {
            *count = place->count;
            function = (uint32_t)place->key;
        }
    }
    return function;
}

static tsmith_string name_of(const struct timeline_samples *samples, uint32_t function) {
    const tsmith_module *module =
        function & IS_MODULE ? tsmith_dictionary_module(samples->dictionary, function & ~IS_MODULE) : NULL;
    const tsmith_string name =
        module ? trace_base_name(tsmith_dictionary_string(samples->dictionary, module->path))
               : tsmith_dictionary_string(samples->dictionary, function);
    return name.length ? name : text_string("[unknown]");
}

// `| name      `, in so many columns; the first without the line.
static void add_name(const struct timeline_samples *samples, struct text *line, uint32_t function,
                     size_t columns, bool is_first) {
    size_t width = !is_first;
    add_color(line, DIM);
    if (!is_first)
        text_add_cstr(line, edge());
    add_color(line, PLAIN);
    if (columns > NAME_LEAST)
        width += text_add_safe(line, name_of(samples, function), columns - 1 - width);
    text_pad_right(line, width, columns);
}

static void draw_functions(const struct timeline_samples *samples, const struct sampled_row *row) {
    struct text line = {0};
    const struct timeline_frame *frame = &samples->frame;
    const size_t parts = part_of(frame, frame->columns - 1) + 1;
    size_t cursor = 0, begun = 0;
    uint64_t count = 0;
    uint32_t function = 0;
    add_label(samples, &line, "      in");
    for (size_t part = 0; part <= parts; part++) {
        uint64_t next_count = 0;
        const uint32_t next = part < parts ? most_frequent(row, part, &cursor, &next_count) : 0;
        const bool same = part && part < parts && next == function && !next_count == !count;
        const size_t columns = (part < parts ? part * PART_COLUMNS : frame->columns) - begun;
        if (part && !same && count)
            add_name(samples, &line, function, columns, begun == 0);
        else if (part && !same)
            text_add_repeat(&line, ' ', columns);
        if (!same)
            begun += columns;
        function = next;
        count = next_count;
    }
    text_add_cstr(&line, edge());
    text_add_char(&line, '\n');
    output_text(&line);
    text_finish(&line);
}

void timeline_samples_draw(struct timeline_samples *samples, size_t row) {
    if (!timeline_samples_has(samples, row))
        return;
    draw_time(samples, &samples->rows[row]);
    draw_functions(samples, &samples->rows[row]);
}

static void add_meaning(struct text *line, const char *color, const char *letter, const char *meaning) {
    add_color(line, color);
    text_add_cstr(line, terminal_unicode() ? "\u2588" : letter);
    add_color(line, PLAIN);
    text_add_format(line, " %s", meaning);
}

void timeline_samples_legend(const struct timeline_samples *samples) {
    struct text line = {0};
    if (!samples)
        return;
    text_add_repeat(&line, ' ', samples->frame.label_columns);
    add_meaning(&line, USER_COLOR, "u", "CPU time by samples");
    if (samples->has_kernel) {
        text_add_cstr(&line, "   ");
        add_meaning(&line, KERNEL_COLOR, "s", "in system calls");
    }
    text_add_char(&line, '\n');
    text_add_repeat(&line, ' ', samples->frame.label_columns);
    text_add_cstr(&line, "in: the function with the most samples\n");
    output_text(&line);
    text_finish(&line);
}
