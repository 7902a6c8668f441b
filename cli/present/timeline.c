// SPDX-License-Identifier: Apache-2.0
// `view --timeline`: one row per track, one column per stretch of time. How full a cell is shows the share of
// its time the track was busy, its color and texture show with what; time in which nothing happened is left
// blank. Above the queues of a device stands how many commands ran at once.
//
// Without block characters (a charset other than UTF-8) a cell is the letter of what it was busy with: a
// capital when it was busy for half of the time or more.
#include <stdlib.h>
#include <string.h>

#include "covered.h"
#include "depth.h"
#include "stats.h"
#include "terminal.h"
#include "timeline_axis.h"
#include "timeline_labels.h"
#include "timeline_samples.h"
#include "views.h"

enum { AT_START, AT_DURATION, AT_KIND, AT_REASON, FIELD_COUNT };

static const uint32_t fields[FIELD_COUNT] = {TSMITH_FIELD_START, TSMITH_FIELD_DURATION, TSMITH_FIELD_KIND,
                                             TSMITH_FIELD_REASON};

enum {
    ROWS_MOST = 48, // tracks drawn; the busiest by number of events
    LABEL_LEAST = 20,
    SHARE_COLUMNS = 8,
    WIDTH_USUAL = 80
};

// What a cell can be busy with. Where several are, the first one here with at least half of the busy time is
// drawn.
enum activity {
    CLASS_LOSS,
    CLASS_WAIT,
    CLASS_COMPILE,
    CLASS_CALL,
    CLASS_COPY,
    CLASS_COLLECTIVE,
    CLASS_WORK,
    CLASS_RANGE,
    CLASS_COUNT,
    CLASS_NONE = CLASS_COUNT,
    // Sums over several: of everything, and of a device's work.
    SUM_ALL = CLASS_COUNT,
    SUM_WORK,
    SUM_COUNT
};

#define BLOCKS "\u2581", "\u2582", "\u2583", "\u2584", "\u2585", "\u2586", "\u2587", "\u2588"
#define SHADES "\u2591", "\u2591", "\u2592", "\u2592", "\u2592", "\u2593", "\u2593", "\u2593"
#define LINES "\u2508", "\u2508", "\u2508", "\u2508", "\u2501", "\u2501", "\u2501", "\u2501"
#define CHECKS "\u259a", "\u259a", "\u259a", "\u259a", "\u259a", "\u259a", "\u259a", "\u259a"
#define MARKS "!", "!", "!", "!", "!", "!", "!", "!"

static const struct {
    const char *name;
    const char *color;
    const char *cells[8]; // by share
    char letter;
} classes[CLASS_COUNT] = {
    [CLASS_LOSS] = {"lost", "\x1b[31m", {MARKS}, '!'},
    [CLASS_WAIT] = {"host waits", "\x1b[33m", {LINES}, 'w'},
    [CLASS_COMPILE] = {"compile", "\x1b[35m", {CHECKS}, 'b'},
    [CLASS_CALL] = {"API call", "\x1b[34m", {BLOCKS}, 'a'},
    [CLASS_COPY] = {"transfer", "\x1b[36m", {SHADES}, 'c'},
    [CLASS_COLLECTIVE] = {"collective", "\x1b[95m", {SHADES}, 'n'},
    [CLASS_WORK] = {"kernel", "\x1b[32m", {BLOCKS}, 'k'},
    [CLASS_RANGE] = {"range", "\x1b[37m", {BLOCKS}, 'r'},
};

#define BOLD "\x1b[1m"
#define DIM "\x1b[2m"
#define PLAIN "\x1b[0m"

struct row {
    uint32_t track;
    struct covered all;
    struct covered work; // of the device: what its share is made of
    struct covered by_class[CLASS_COUNT];
    int64_t *busy; // ns by activity or sum, and slot
};

struct device {
    struct covered busy;
    int64_t idle_at, idle; // the longest stretch without work between its first and its last
    struct depth depth;
    struct timeline *timeline;
    uint32_t *most; // commands at once, by slot
    size_t most_of_all;
};

// Time is measured in slots, and a slot is drawn as one column; as several where there are fewer ns than columns.
struct timeline {
    struct view *view;
    const tsmith_dictionary *dictionary;
    int64_t from, to;
    size_t label_columns;
    size_t columns, slots; // of time
    uint64_t events;       // drawn, or without anything to draw
    bool out_of_memory;
    bool has_depth;   // of a device it was drawn how many commands ran at once
    struct row *rows; // in the order of their tracks
    size_t row_count;
    size_t left_out;  // tracks with events and no row
    uint32_t *row_of; // by track: row + 1, 0: none
    uint32_t track_count;
    struct device *devices; // by id
    uint32_t device_count;
    bool seen[CLASS_COUNT];
    struct timeline_samples *samples; // of threads; NULL: none
    uint32_t track;                   // of the batch
    tsmith_view batch[FIELD_COUNT];
};

struct event {
    int64_t start, end;
    uint32_t row;
    uint8_t kind;
};

// ---- collecting

static enum activity class_of(uint8_t kind) {
    switch (kind) {
    case TSMITH_KIND_KERNEL:
    case TSMITH_KIND_GRAPH_LAUNCH:
    case TSMITH_KIND_HOST_FUNCTION:
        return CLASS_WORK;
    case TSMITH_KIND_MEMCPY:
    case TSMITH_KIND_MEMSET:
        return CLASS_COPY;
    case TSMITH_KIND_COLLECTIVE:
        return CLASS_COLLECTIVE;
    case TSMITH_KIND_API:
        return CLASS_CALL;
    case TSMITH_KIND_SYNC:
        return CLASS_WAIT;
    case TSMITH_KIND_COMPILE:
        return CLASS_COMPILE;
    case TSMITH_KIND_RANGE:
    case TSMITH_KIND_FRAME:
        return CLASS_RANGE;
    case TSMITH_KIND_LOSS:
        return CLASS_LOSS;
    default:
        return CLASS_NONE;
    }
}

static void timeline_begin(void *context, const tsmith_batch *batch) {
    struct timeline *timeline = context;
    timeline->track = tsmith_batch_track(batch);
    tsmith_view_batch(batch, fields, FIELD_COUNT, timeline->batch);
}

static void timeline_collect(void *context, uint32_t at, struct text *record) {
    const struct timeline *timeline = context;
    int64_t duration = 0;
    const bool has_duration = tsmith_view_i64(&timeline->batch[AT_DURATION], at, &duration);
    struct event event = {.start =
                              tsmith_view_i64_or(&timeline->batch[AT_START], at, 0), // every event has one
                          .kind = tsmith_view_word(&timeline->batch[AT_KIND], at)};
    // What lacks its call stack was recorded.
    if (event.kind == TSMITH_KIND_LOSS &&
        !tsmith_reason_is_of_events((tsmith_reason)tsmith_view_word(&timeline->batch[AT_REASON], at)))
        event.kind = TSMITH_KIND_NONE;
    event.end = order_end(event.start, has_duration, duration);
    event.row = timeline->track < timeline->track_count ? timeline->row_of[timeline->track] : 0;
    text_add(record, (const char *)&event, sizeof event);
}

// The time at which a slot begins.
static int64_t slot_start(const struct timeline *timeline, size_t slot) {
    uint64_t span = (uint64_t)timeline->to - (uint64_t)timeline->from;
    return (int64_t)((uint64_t)timeline->from + (uint64_t)((unsigned __int128)span * slot / timeline->slots));
}

static size_t slot_of(const struct timeline *timeline, int64_t time) {
    uint64_t span = (uint64_t)timeline->to - (uint64_t)timeline->from;
    uint64_t since = (uint64_t)time - (uint64_t)timeline->from;
    size_t slot = (size_t)((unsigned __int128)since * timeline->slots / span);
    // The division above and the one of slot_start round differently at a border.
    while (slot + 1 < timeline->slots && slot_start(timeline, slot + 1) <= time)
        slot++;
    return slot < timeline->slots ? slot : timeline->slots - 1;
}

// The first column of a slot, and the slot of a column.
static size_t column_of(const struct timeline *timeline, size_t slot) {
    return (slot * timeline->columns + timeline->slots - 1) / timeline->slots;
}

static size_t slot_at(const struct timeline *timeline, size_t column) {
    return column * timeline->slots / timeline->columns;
}

static void add_to_slots(const struct timeline *timeline, int64_t *busy, int64_t start, int64_t end) {
    for (size_t slot = slot_of(timeline, start); slot < timeline->slots && start < end; slot++) {
        int64_t border = slot + 1 < timeline->slots ? slot_start(timeline, slot + 1) : timeline->to;
        int64_t until = end < border ? end : border;
        if (until > start)
            busy[slot] += until - start;
        start = until > start ? until : start;
    }
}

static void note_depth(void *context, int64_t from, int64_t to, size_t count) {
    struct device *device = context;
    size_t last = slot_of(device->timeline, to - 1);
    uint32_t most = count < UINT32_MAX ? (uint32_t)count : UINT32_MAX;
    for (size_t slot = slot_of(device->timeline, from); slot <= last; slot++)
        device->most[slot] = most > device->most[slot] ? most : device->most[slot];
    device->most_of_all = count > device->most_of_all ? count : device->most_of_all;
}

static void add_device_work(struct device *device, int64_t start, int64_t end) {
    int64_t fresh;
    if (device->busy.started && start - device->busy.until > device->idle) {
        device->idle = start - device->busy.until;
        device->idle_at = device->busy.until;
    }
    covered_add(&device->busy, start, end, &fresh);
    device->timeline->out_of_memory |= !depth_add(&device->depth, start, end);
}

static bool timeline_emit(void *context, const char *record, size_t length) {
    struct timeline *timeline = context;
    struct event event;
    int64_t fresh;
    memcpy(&event, record, length < sizeof event ? length : sizeof event);
    timeline->events++;
    enum activity activity = class_of(event.kind);
    if (!event.row || activity == CLASS_NONE)
        return true;
    struct row *row = &timeline->rows[event.row - 1];
    if (event.start == event.end && activity == CLASS_LOSS)
        event.end = event.start + 1; // a loss is to be seen even when its duration is unknown
    int64_t start = event.start > timeline->from ? event.start : timeline->from;
    int64_t end = event.end < timeline->to ? event.end : timeline->to;
    if (start >= end)
        return true;
    timeline->seen[activity] = true;
    if (covered_add(&row->by_class[activity], start, end, &fresh))
        add_to_slots(timeline, row->busy + (size_t)activity * timeline->slots, fresh, end);
    if (covered_add(&row->all, start, end, &fresh))
        add_to_slots(timeline, row->busy + SUM_ALL * timeline->slots, fresh, end);
    const tsmith_track *track = tsmith_dictionary_track(timeline->dictionary, row->track);
    if (!stats_is_device_work(event.kind))
        return true;
    if (covered_add(&row->work, start, end, &fresh))
        add_to_slots(timeline, row->busy + SUM_WORK * timeline->slots, fresh, end);
    if (track && track->device < tsmith_dictionary_device_count(timeline->dictionary))
        add_device_work(&timeline->devices[track->device], start, end);
    return !timeline->out_of_memory;
}

// ---- choosing rows

// Counts the events of each track without decoding more than their start.
static int count_events(struct timeline *timeline, uint64_t *counts) {
    tsmith_source *source = NULL;
    tsmith_error error;
    const tsmith_batch *batch;
    const uint32_t start = TSMITH_FIELD_START;
    tsmith_scan scan = {.size = sizeof scan,
                        .has_window = 1,
                        .from = timeline->view->query.from,
                        .to = timeline->view->query.to,
                        .fields = &start,
                        .field_count = 1};
    tsmith_status status = tsmith_sbt_scan(timeline->view->trace.file, &scan, &source, &error);
    while (status == TSMITH_OK) {
        status = tsmith_source_next(source, &batch, &error);
        if (status == TSMITH_OK && tsmith_batch_track(batch) < timeline->track_count)
            counts[tsmith_batch_track(batch)] += tsmith_batch_count(batch);
    }
    tsmith_source_destroy(source);
    if (status < 0)
        complain("%s", error.message);
    return exit_code_of_input(status);
}

static const uint64_t *comparing; // qsort has no context

static int compare_counts(const void *a, const void *b) {
    uint32_t left = *(const uint32_t *)a;
    uint32_t right = *(const uint32_t *)b;
    if (comparing[left] != comparing[right])
        return comparing[left] < comparing[right] ? 1 : -1;
    return (left > right) - (left < right);
}

static int compare_ids(const void *a, const void *b) {
    uint32_t left = *(const uint32_t *)a;
    uint32_t right = *(const uint32_t *)b;
    return (left > right) - (left < right);
}

static void choose_rows(struct timeline *timeline, const uint64_t *counts, uint32_t *by_count) {
    for (uint32_t id = 0; id < timeline->track_count; id++)
        by_count[id] = id;
    comparing = counts;
    qsort(by_count, timeline->track_count, sizeof *by_count, compare_counts);
    uint32_t with_events = 0;
    while (with_events < timeline->track_count && counts[by_count[with_events]])
        with_events++;
    timeline->row_count = with_events < ROWS_MOST ? with_events : ROWS_MOST;
    timeline->left_out = with_events - timeline->row_count;
    qsort(by_count, timeline->row_count, sizeof *by_count, compare_ids);
    for (uint32_t i = 0; i < timeline->row_count; i++) {
        timeline->rows[i].track = by_count[i];
        timeline->row_of[by_count[i]] = i + 1;
    }
}

// ---- drawing

static void add_color(struct text *line, const char *color) {
    if (terminal_color())
        text_add_cstr(line, color);
}

static int64_t busy_in(const struct timeline *timeline, const struct row *row, int one, size_t slot) {
    return row->busy[(size_t)one * timeline->slots + slot];
}

// A wait or a call that is noted in a queue hides none of its work.
static bool is_work(int one) {
    return one == CLASS_COPY || one == CLASS_COLLECTIVE || one == CLASS_WORK;
}

static int cell_class(const struct timeline *timeline, const struct row *row, size_t slot) {
    int64_t all = busy_in(timeline, row, SUM_ALL, slot), work = busy_in(timeline, row, SUM_WORK, slot),
            most = 0;
    int largest = CLASS_NONE;
    for (int one = 0; one < CLASS_COUNT; one++) {
        int64_t busy = busy_in(timeline, row, one, slot);
        if (busy > 0 && one == CLASS_LOSS)
            return one;
        if (work > 0 && !is_work(one))
            continue;
        if (busy > 0 && busy >= (work > 0 ? work : all) / 2)
            return one;
        if (busy > most) {
            most = busy;
            largest = one;
        }
    }
    return largest;
}

static void add_cell(struct text *line, const struct timeline *timeline, const struct row *row, size_t slot,
                     int *before) {
    int64_t width = slot_start(timeline, slot + 1) - slot_start(timeline, slot);
    int64_t all = busy_in(timeline, row, SUM_ALL, slot), work = busy_in(timeline, row, SUM_WORK, slot);
    int one = all > 0 ? cell_class(timeline, row, slot) : CLASS_NONE;
    int64_t busy = is_work(one) ? work : all;
    if (one != *before) {
        add_color(line, one == CLASS_NONE ? PLAIN : classes[one].color);
        *before = one;
    }
    if (one == CLASS_NONE) {
        text_add_char(line, ' ');
        return;
    }
    double share = width > 0 ? (double)busy / (double)width : 1;
    char letter = classes[one].letter;
    int level = (int)(share * 8);
    if (terminal_unicode())
        text_add_cstr(line, classes[one].cells[level > 7 ? 7 : level]);
    else
        text_add_char(line, share >= 0.5 && letter >= 'a' ? (char)(letter - 'a' + 'A') : letter);
}

static void draw_row(struct timeline *timeline, const struct row *row) {
    struct text line = {0};
    int activity = CLASS_NONE;
    const char *edge = terminal_unicode() ? "\u2502" : "|";
    text_add_cstr(&line, "  ");
    const struct timeline_labels labels = {timeline->dictionary, timeline->row_of, timeline->track_count,
                                           timeline->label_columns - 3};
    size_t width = timeline_add_label(&line, &labels, row->track);
    text_pad_right(&line, width + 2, timeline->label_columns - 1);
    text_add_cstr(&line, edge);
    for (size_t column = 0; column < timeline->columns; column++)
        add_cell(&line, timeline, row, slot_at(timeline, column), &activity);
    if (activity != CLASS_NONE)
        add_color(&line, PLAIN);
    text_add_cstr(&line, edge);
    if (row->by_class[CLASS_LOSS].started) {
        text_add_cstr(&line, "   lost");
    } else {
        uint64_t span = (uint64_t)timeline->to - (uint64_t)timeline->from;
        // What a queue compiles or waits for is drawn, and is no work.
        int64_t busy = row->work.started ? row->work.busy : row->all.busy;
        text_add_share(&line, (double)busy / (double)span);
    }
    text_add_char(&line, '\n');
    output_text(&line);
    text_finish(&line);
}

static void draw_axis(const struct timeline *timeline) {
    enum { MARK_COLUMNS = 12 };
    struct text line = {0};
    int64_t span = timeline->to - timeline->from;
    int64_t zero = timeline->view->trace.summary.first_start;
    int64_t step = axis_step(span / (int64_t)(timeline->columns / MARK_COLUMNS) + 1);
    int64_t offset = timeline->from - zero;
    int64_t mark = (offset + step - 1) / step * step;
    size_t column = 0;
    add_color(&line, DIM);
    text_add_repeat(&line, ' ', timeline->label_columns);
    for (; mark < offset + span; mark += step) {
        size_t at = column_of(timeline, slot_of(timeline, zero + mark));
        if (at < column)
            continue;
        text_add_repeat(&line, ' ', at - column);
        size_t from = line.length;
        text_add_char(&line, '|');
        axis_add_time(&line, mark, step);
        column = at + (line.length - from);
        if (column > timeline->columns) { // a label that would be cut is left out
            line.length = from;
            break;
        }
    }
    add_color(&line, PLAIN);
    text_add_char(&line, '\n');
    output_text(&line);
    text_finish(&line);
}

static void draw_legend(const struct timeline *timeline) {
    struct text line = {0};
    const char *separator = "";
    size_t column = timeline->label_columns;
    text_add_repeat(&line, ' ', timeline->label_columns);
    for (int activity = CLASS_COUNT - 1; activity >= 0; activity--) {
        if (!timeline->seen[activity])
            continue;
        const size_t width = strlen(classes[activity].name) + 2;
        if (column + strlen(separator) + width > terminal_width()) {
            text_add_char(&line, '\n');
            text_add_repeat(&line, ' ', timeline->label_columns);
            column = timeline->label_columns;
            separator = "";
        }
        text_add_cstr(&line, separator);
        column += strlen(separator) + width;
        add_color(&line, classes[activity].color);
        if (terminal_unicode())
            text_add_cstr(&line, classes[activity].cells[7]);
        else
            text_add_char(&line, classes[activity].letter);
        add_color(&line, PLAIN);
        text_add_format(&line, " %s", classes[activity].name);
        separator = "   ";
    }
    if (column > timeline->label_columns)
        text_add_char(&line, '\n');
    else
        text_clear(&line);
    text_add_repeat(&line, ' ', timeline->label_columns);
    text_add_cstr(&line, terminal_unicode() ? "height: share of the time; blank: nothing happened\n"
                                            : "capital: half of the time or more; blank: nothing happened\n");
    if (timeline->has_depth) {
        text_add_repeat(&line, ' ', timeline->label_columns);
        text_add_format(&line, "at once: most commands at one time; %s: device idle\n",
                        terminal_unicode() ? "\u00b7" : ".");
    }
    output_text(&line);
    text_finish(&line);
    timeline_samples_legend(timeline->samples);
}

static bool is_of_device(const struct timeline *timeline, const struct row *row, uint32_t device) {
    const tsmith_track *track = tsmith_dictionary_track(timeline->dictionary, row->track);
    uint32_t count = tsmith_dictionary_device_count(timeline->dictionary);
    return (track && track->device < count ? track->device : 0) == device;
}

static bool is_of_process(const struct timeline *timeline, const struct row *row, uint32_t process) {
    const tsmith_track *track = tsmith_dictionary_track(timeline->dictionary, row->track);
    uint32_t count = tsmith_dictionary_process_count(timeline->dictionary);
    return is_of_device(timeline, row, 0) &&
           (track && track->process < count ? track->process : 0) == process;
}

static void draw_heading(struct text *heading) {
    struct text line = {0};
    add_color(&line, BOLD);
    text_add(&line, heading->bytes, heading->length);
    add_color(&line, PLAIN);
    text_add_char(&line, '\n');
    output_text(&line);
    text_clear(heading);
    text_finish(&line);
}

// How many commands ran at once at most: a digit, + above nine, a dot where the device was idle.
static void draw_depth(const struct timeline *timeline, const struct device *device) {
    struct text line = {0};
    const char *edge = terminal_unicode() ? "\u2502" : "|";
    bool dim = false;
    text_add_cstr(&line, "  at once");
    text_pad_right(&line, 9, timeline->label_columns - 1);
    text_add_cstr(&line, edge);
    for (size_t column = 0; column < timeline->columns; column++) {
        uint32_t most = device->most[slot_at(timeline, column)];
        if (dim != !most)
            add_color(&line, most ? PLAIN : DIM);
        dim = !most;
        if (most)
            text_add_char(&line, most > 9 ? '+' : (char)('0' + most));
        else
            text_add_cstr(&line, terminal_unicode() ? "\u00b7" : ".");
    }
    add_color(&line, PLAIN);
    text_add_cstr(&line, edge);
    text_add_format(&line, "%5zu\n", device->most_of_all);
    output_text(&line);
    text_finish(&line);
}

// The rows of a device or process, in the order of their tracks, under their heading. Rows in which nothing
// lasts (memory objects, counters) have nothing to draw.
static void draw_group(struct timeline *timeline, struct text *heading, uint32_t id,
                       bool (*belongs)(const struct timeline *, const struct row *, uint32_t),
                       const struct device *device) {
    bool headed = false;
    for (size_t i = 0; i < timeline->row_count; i++) {
        const struct row *row = &timeline->rows[i];
        const bool sampled = timeline_samples_has(timeline->samples, i);
        if ((!row->all.started && !sampled) || !belongs(timeline, row, id))
            continue;
        if (!headed)
            draw_heading(heading);
        if (!headed && device) {
            draw_depth(timeline, device);
            timeline->has_depth = true;
        }
        headed = true;
        draw_row(timeline, row);
        if (sampled)
            timeline_samples_draw(timeline->samples, i);
    }
    text_clear(heading);
}

static void add_device_facts(struct text *text, const struct timeline *timeline,
                             const struct device *device) {
    uint64_t span = (uint64_t)timeline->to - (uint64_t)timeline->from;
    double busy = 100 * (double)device->busy.busy / (double)span;
    text_add_format(text, "  busy %.1f%%, idle %.1f%%", busy, 100 - busy);
    size_t before = text->length;
    if (!device->idle)
        return;
    text_add_cstr(text, ", longest ");
    text_add_duration(text, device->idle);
    text_add_cstr(text, " at ");
    text_add_duration(text, device->idle_at - timeline->view->trace.summary.first_start);
    if (text_columns(text->bytes, text->length) > terminal_width())
        text->length = before;
}

static void draw_devices(struct timeline *timeline) {
    struct text heading = {0};
    for (uint32_t id = 1; id < tsmith_dictionary_device_count(timeline->dictionary); id++) {
        const struct device *device = &timeline->devices[id];
        (void)trace_add_device_label(&heading, timeline->dictionary, id, timeline->columns / 2);
        add_device_facts(&heading, timeline, device);
        draw_group(timeline, &heading, id, is_of_device, device->most_of_all > 1 ? device : NULL);
    }
    text_finish(&heading);
}

static void draw_processes(struct timeline *timeline) {
    struct text heading = {0};
    const struct trace *trace = &timeline->view->trace;
    for (uint32_t id = 1; id <= tsmith_dictionary_process_count(timeline->dictionary); id++) {
        // Process 0 ("unknown") comes last.
        uint32_t process_id = id < tsmith_dictionary_process_count(timeline->dictionary) ? id : 0;
        const tsmith_process *process = tsmith_dictionary_process(timeline->dictionary, process_id);
        if (process) {
            tsmith_string name = trace_program_name(trace_string(trace, process->name));
            text_add_safe(&heading, name.length ? name : text_string("process"), timeline->columns);
            text_add_format(&heading, "  pid %lld", (long long)process->pid);
        } else {
            text_add_cstr(&heading, "host");
        }
        draw_group(timeline, &heading, process_id, is_of_process, NULL);
    }
    text_finish(&heading);
}

static void draw_head(struct timeline *timeline) {
    struct text line = {0};
    const struct trace *trace = &timeline->view->trace;
    enum { FACTS_COLUMNS = 60 };
    const size_t width = terminal_width();
    text_add_safe(&line, trace_base_name(text_string(trace->path)),
                  terminal_is_output() ? (width > FACTS_COLUMNS + 20 ? width - FACTS_COLUMNS : 20) : 0);
    text_add_cstr(&line, ": ");
    text_add_count(&line, timeline->events);
    if (timeline->events != trace->summary.events) {
        text_add_cstr(&line, " of ");
        text_add_count(&line, trace->summary.events);
    }
    text_add_format(&line, " %s, ", plural(trace->summary.events, "event", "events"));
    text_add_duration(&line, timeline->to - timeline->from);
    if (window_has_time(&timeline->view->window)) {
        text_add_cstr(&line, " of ");
        text_add_duration(&line, trace_duration(trace));
    }
    if (timeline->slots == timeline->columns) {
        text_add_cstr(&line, ", a column is ");
        text_add_duration(&line, (timeline->to - timeline->from) / (int64_t)timeline->columns);
    }
    text_add_cstr(&line, "\n\n");
    output_text(&line);
    text_finish(&line);
}

static void draw(struct timeline *timeline) {
    draw_head(timeline);
    draw_axis(timeline);
    draw_devices(timeline);
    draw_processes(timeline);
    if (timeline->left_out)
        output_printf("  ... and %zu %s with fewer events\n", timeline->left_out,
                      plural(timeline->left_out, "track", "tracks"));
    output_cstr("\n");
    draw_legend(timeline);
}

// ---- the command

static void timeline_finish(struct timeline *timeline) {
    timeline_samples_destroy(timeline->samples);
    for (size_t i = 0; i < timeline->row_count; i++)
        free(timeline->rows[i].busy);
    for (uint32_t id = 0; timeline->devices && id < timeline->device_count; id++) {
        depth_finish(&timeline->devices[id].depth);
        free(timeline->devices[id].most);
    }
    free(timeline->rows);
    free(timeline->row_of);
    free(timeline->devices);
}

static bool init_devices(struct timeline *timeline) {
    timeline->device_count = tsmith_dictionary_device_count(timeline->dictionary);
    timeline->devices = calloc(timeline->device_count + 1, sizeof *timeline->devices);
    for (uint32_t id = 0; timeline->devices && id < timeline->device_count; id++) {
        struct device *device = &timeline->devices[id];
        device->timeline = timeline;
        device->depth = (struct depth){.note = note_depth, .context = device};
        device->most = calloc(timeline->slots, sizeof *device->most);
        if (!device->most)
            return false;
    }
    return timeline->devices != NULL;
}

static bool timeline_init(struct timeline *timeline, struct view *view) {
    const tsmith_sbt_summary *summary = &view->trace.summary;
    size_t width = terminal_width();
    *timeline = (struct timeline){.view = view, .dictionary = view->trace.dictionary};
    timeline->from = view->query.from > summary->first_start ? view->query.from : summary->first_start;
    timeline->to = view->query.to < summary->last_end ? view->query.to : summary->last_end;
    timeline->label_columns = LABEL_LEAST + (width - WIDTH_USUAL) / 8;
    timeline->columns = width - timeline->label_columns - SHARE_COLUMNS;
    int64_t span = timeline->to > timeline->from ? timeline->to - timeline->from : 1;
    timeline->slots = (uint64_t)span < timeline->columns ? (size_t)span : timeline->columns;
    timeline->track_count = tsmith_dictionary_track_count(timeline->dictionary);
    timeline->rows = calloc(ROWS_MOST, sizeof *timeline->rows);
    timeline->row_of = calloc(timeline->track_count + 1, sizeof *timeline->row_of);
    return init_devices(timeline) && timeline->rows && timeline->row_of;
}

static int read_samples(struct timeline *timeline) {
    const struct timeline_frame frame = {.from = timeline->from,
                                         .to = timeline->to,
                                         .columns = timeline->columns,
                                         .label_columns = timeline->label_columns,
                                         .row_of = timeline->row_of,
                                         .track_count = timeline->track_count,
                                         .row_count = timeline->row_count};
    return timeline_samples_read(timeline->view, &frame, &timeline->samples);
}

static int fill(struct timeline *timeline) {
    int code = EXIT_LACKING;
    uint64_t *counts = calloc(timeline->track_count + 1, sizeof *counts);
    uint32_t *by_count = calloc(timeline->track_count + 1, sizeof *by_count);
    const struct order_visitor visitor = {
        .context = timeline, .begin = timeline_begin, .collect = timeline_collect, .emit = timeline_emit};
    if (!counts || !by_count)
        goto done;
    code = count_events(timeline, counts);
    if (code != EXIT_DONE)
        goto done;
    choose_rows(timeline, counts, by_count);
    for (size_t i = 0; i < timeline->row_count; i++) {
        timeline->rows[i].busy = calloc(SUM_COUNT * timeline->slots, sizeof(int64_t));
        if (!timeline->rows[i].busy) {
            code = EXIT_LACKING;
            goto done;
        }
    }
    timeline->view->query.fields = fields;
    timeline->view->query.field_count = FIELD_COUNT;
    code = order_visit(&timeline->view->trace, &timeline->view->query, &visitor, &timeline->view->progress);
    for (uint32_t id = 0; id < timeline->device_count; id++)
        depth_finish(&timeline->devices[id].depth);
    if (code == EXIT_DONE)
        code = read_samples(timeline);
done:
    free(counts);
    free(by_count);
    return code;
}

// Does anything last, or do samples say what a thread did?
static bool has_rows(const struct timeline *timeline) {
    for (size_t i = 0; i < timeline->row_count; i++)
        if (timeline->rows[i].all.started || timeline_samples_has(timeline->samples, i))
            return true;
    return false;
}

int view_timeline(struct view *view) {
    struct timeline timeline;
    int code = EXIT_LACKING;
    if (!timeline_init(&timeline, view)) {
        complain("out of memory");
    } else if (timeline.to <= timeline.from) {
        complain("%s: nothing to draw: the trace %s", view->trace.path,
                 view->trace.summary.events ? "has no duration in that window" : "has no events");
        code = EXIT_NO;
    } else {
        code = fill(&timeline);
        if (timeline.out_of_memory) {
            complain("%s: out of memory", view->trace.path);
            code = EXIT_LACKING;
        }
        if (code == EXIT_DONE && !has_rows(&timeline)) {
            complain("%s: nothing to draw: %s", view->trace.path,
                     timeline.events ? "nothing in it takes time; 'tracesmith view' lists the events"
                                     : "the window contains no such events");
            code = EXIT_NO;
        }
        if (code == EXIT_DONE)
            draw(&timeline);
    }
    timeline_finish(&timeline);
    return code;
}
