// SPDX-License-Identifier: Apache-2.0
// Draws the samples of threads: their CPU time, and the function of the program (tsmith_stack_place) with the most samples of each
// part of the line.
#include "timeline_samples.h"

#include <stdlib.h>
#include <string.h>

#include "sample_columns.h"
#include "terminal.h"

enum { PART_COLUMNS = 14, NAME_LEAST = 4 };

#define USER_COLOR "\x1b[92m"
#define KERNEL_COLOR "\x1b[91m"
#define DIM "\x1b[2m"
#define PLAIN "\x1b[0m"

struct timeline_samples {
    struct sample_columns columns;
    size_t label_columns;
};

int timeline_samples_read(struct view *view, const struct timeline_frame *frame,
                          struct timeline_samples **out) {
    const struct sample_frame wanted = {.from = frame->from,
                                        .to = frame->to,
                                        .columns = frame->columns,
                                        .part_columns = PART_COLUMNS,
                                        .row_of = frame->row_of,
                                        .track_count = frame->track_count,
                                        .row_count = frame->row_count};
    tsmith_error error = {.message = "out of memory"};
    *out = NULL;
    if (!view->trace.summary.kinds[TSMITH_KIND_SAMPLE] || frame->to <= frame->from ||
        (view->query.kinds && !(view->query.kinds & TSMITH_KIND_BIT(TSMITH_KIND_SAMPLE))))
        return EXIT_DONE;
    struct timeline_samples *samples = calloc(1, sizeof *samples);
    const tsmith_status status = samples ? sample_columns_read(view->trace.file, view->trace.dictionary,
                                                               &wanted, &samples->columns, &error)
                                         : TSMITH_ERROR_NO_MEMORY;
    if (status == TSMITH_OK) {
        samples->label_columns = frame->label_columns;
        *out = samples;
        return EXIT_DONE;
    }
    complain("%s: %s", view->trace.path, error.message);
    timeline_samples_destroy(samples);
    return status == TSMITH_ERROR_NO_MEMORY ? EXIT_LACKING : exit_code_of_input(status);
}

void timeline_samples_destroy(struct timeline_samples *samples) {
    if (samples)
        sample_columns_finish(&samples->columns);
    free(samples);
}

// ---- drawing

bool timeline_samples_has(const struct timeline_samples *samples, size_t row) {
    return samples && samples->columns.rows[row].count;
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
    text_pad_right(line, strlen(label), samples->label_columns - 1);
    text_add_cstr(line, edge());
}

// A cell without any sample is blank; one whose samples have no period is the lowest.
static void add_cell(const struct timeline_samples *samples, const struct sample_row *row, size_t column,
                     struct text *line) {
    static const char *const blocks[] = {"\u2581", "\u2582", "\u2583", "\u2584",
                                         "\u2585", "\u2586", "\u2587", "\u2588"};
    const struct sample_frame *frame = &samples->columns.frame;
    const int64_t width = sample_column_start(frame, column + 1) - sample_column_start(frame, column);
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

static void draw_time(const struct timeline_samples *samples, const struct sample_row *row) {
    struct text line = {0};
    const double span = (double)((uint64_t)samples->columns.frame.to - (uint64_t)samples->columns.frame.from);
    add_label(samples, &line, "    CPU time");
    for (size_t column = 0; column < samples->columns.frame.columns; column++)
        add_cell(samples, row, column, &line);
    text_add_cstr(&line, edge());
    if (row->total)
        text_add_share(&line, (double)row->total / span);
    text_add_char(&line, '\n');
    output_text(&line);
    text_finish(&line);
}

// `| name      `, in so many columns; the first without the line.
static void add_name(const struct timeline_samples *samples, struct text *line, uint32_t function,
                     size_t columns, bool is_first) {
    const tsmith_string name = sample_columns_name(&samples->columns, function);
    size_t width = !is_first;
    add_color(line, DIM);
    if (!is_first)
        text_add_cstr(line, edge());
    add_color(line, PLAIN);
    if (columns > NAME_LEAST)
        width += text_add_safe(line, name.length ? name : text_string("[unknown]"), columns - 1 - width);
    text_pad_right(line, width, columns);
}

static void draw_functions(const struct timeline_samples *samples, const struct sample_row *row) {
    struct text line = {0};
    const struct sample_frame *frame = &samples->columns.frame;
    const size_t parts = sample_part_count(frame);
    size_t cursor = 0, begun = 0;
    uint64_t count = 0;
    uint32_t function = 0;
    add_label(samples, &line, "      in");
    for (size_t part = 0; part <= parts; part++) {
        uint64_t next_count = 0;
        const uint32_t next = part < parts ? sample_most_frequent(row, part, &cursor, &next_count) : 0;
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
    draw_time(samples, &samples->columns.rows[row]);
    draw_functions(samples, &samples->columns.rows[row]);
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
    text_add_repeat(&line, ' ', samples->label_columns);
    add_meaning(&line, USER_COLOR, "u", "CPU time by samples");
    if (samples->columns.has_kernel) {
        text_add_cstr(&line, "   ");
        add_meaning(&line, KERNEL_COLOR, "s", "in system calls");
    }
    text_add_char(&line, '\n');
    text_add_repeat(&line, ' ', samples->label_columns);
    text_add_cstr(&line, "in: the function with the most samples\n");
    output_text(&line);
    text_finish(&line);
}
