// SPDX-License-Identifier: Apache-2.0
// A trace is ordered within each track only. To order it over all tracks in bounded memory it is read in
// windows of time: every batch that touches the window is decoded, the events that begin in it are collected
// and merged (each batch is a sorted run), and the next window follows.
//
// The width of a window is found on the way: it grows while windows have few events and shrinks when one has
// more than fit; a window that overflows is dropped and tried again narrower. One nanosecond cannot be narrowed:
// its events are passed on in pieces, in the order of the file, which is as good as any.
//
//   invariant: every event is emitted in exactly one window, the one that contains its start. The first window also
//   takes what begins before it, the last what begins after it, so nothing depends on the bounds the file
//   claims to have.
#include "order.h"

#include <stdlib.h>
#include <string.h>

#include "cli/present/terminal.h"

enum {
    ROWS_MOST = 1 << 19,     // events of one window
    RECORDS_MOST = 48 << 20, // bytes of their records
    ROWS_SOON = 1 << 11      // events of the first window when the first line is wanted soon
};

struct entry {
    int64_t start;
    size_t offset; // of the record
    size_t length;
};

struct order {
    struct trace *trace;
    const struct order_query *query;
    const struct order_visitor *visitor;
    int64_t window_from, window_to; // starts in [from, to)
    bool is_first, is_last;
    struct text records;
    struct entry *entries; // `count` of them, and as many again as room to merge into
    struct entry *spare;
    size_t count;
    size_t capacity;
    size_t emitted; // events of the window before
    size_t *runs;   // where each sorted run begins
    size_t run_count;
    size_t run_capacity;
    bool enough;
    bool out_of_memory;
};

int64_t order_end(int64_t start, bool has_duration, int64_t duration) {
    int64_t end;
    if (!has_duration || duration < 0)
        return start;
    return __builtin_add_overflow(start, duration, &end) ? INT64_MAX : end;
}

// ---- collecting

static bool grow(struct order *order) {
    size_t capacity = order->capacity ? order->capacity * 2 : 4096;
    struct entry *entries = realloc(order->entries, capacity * sizeof *entries);
    if (entries)
        order->entries = entries;
    struct entry *spare = entries ? realloc(order->spare, capacity * sizeof *spare) : NULL;
    if (spare)
        order->spare = spare;
    order->out_of_memory = !spare;
    order->capacity = spare ? capacity : order->capacity;
    return spare;
}

static bool begin_run(struct order *order) {
    if (order->run_count == order->run_capacity) {
        size_t capacity = order->run_capacity ? order->run_capacity * 2 : 64;
        size_t *runs = realloc(order->runs, capacity * sizeof *runs);
        order->out_of_memory = !runs;
        if (!runs)
            return false;
        order->runs = runs;
        order->run_capacity = capacity;
    }
    order->runs[order->run_count++] = order->count;
    return true;
}

static bool collect_row(struct order *order, uint32_t row, int64_t start) {
    if (order->count == order->capacity && !grow(order))
        return false;
    // A batch that is not sorted after all (a file may be wrong) is several runs.
    if (order->count > order->runs[order->run_count - 1] && order->entries[order->count - 1].start > start &&
        !begin_run(order))
        return false;
    size_t offset = order->records.length;
    order->visitor->collect(order->visitor->context, row, &order->records);
    if (order->records.failed)
        order->out_of_memory = true;
    order->entries[order->count++] =
        (struct entry){.start = start, .offset = offset, .length = order->records.length - offset};
    return !order->out_of_memory;
}

static bool is_full(const struct order *order) {
    return order->count >= ROWS_MOST || order->records.length >= RECORDS_MOST;
}

// Whether the event belongs to what was asked for, and its start to this window.
static bool is_wanted(const struct order *order, int64_t start, int64_t end, uint8_t kind) {
    const struct order_query *query = order->query;
    if (query->kinds && !tsmith_kinds_have(query->kinds, kind))
        return false;
    if ((start >= order->window_to && !order->is_last) || (start < order->window_from && !order->is_first))
        return false;
    return start < query->to && (start >= query->from || end > query->from);
}

// ---- merging

static void merge_two(const struct entry *from, size_t left, size_t middle, size_t right, struct entry *to) {
    size_t a = left;
    size_t b = middle;
    for (size_t i = left; i < right; i++)
        to[i] = b >= right || (a < middle && from[a].start <= from[b].start) ? from[a++] : from[b++];
}

// Merges neighboring runs until one is left; equal starts stay in the order they were collected.
static void merge_runs(struct order *order) {
    while (order->run_count > 1) {
        size_t made = 0;
        for (size_t i = 0; i < order->run_count; i += 2) {
            size_t left = order->runs[i];
            size_t middle = i + 1 < order->run_count ? order->runs[i + 1] : order->count;
            size_t right = i + 2 < order->run_count ? order->runs[i + 2] : order->count;
            merge_two(order->entries, left, middle, right, order->spare);
            order->runs[made++] = left;
        }
        order->run_count = made;
        struct entry *merged = order->spare;
        order->spare = order->entries;
        order->entries = merged;
    }
}

static void clear_records(struct order *order) {
    order->count = 0;
    order->run_count = 0;
    text_clear(&order->records);
}

static void emit_collected(struct order *order) {
    merge_runs(order);
    for (size_t i = 0; i < order->count && !order->enough; i++) {
        const struct entry *entry = &order->entries[i];
        const char *record = order->records.bytes ? order->records.bytes + entry->offset : "";
        order->enough = !order->visitor->emit(order->visitor->context, record, entry->length);
    }
    order->emitted = order->count;
    clear_records(order);
}

// ---- one window

enum outcome { WINDOW_DONE, WINDOW_TOO_WIDE, WINDOW_FAILED };

static enum outcome collect_batch(struct order *order, const tsmith_batch *batch, bool can_narrow) {
    tsmith_spans spans;
    if (!tsmith_view_spans(batch, &spans) || !begin_run(order))
        return order->out_of_memory ? WINDOW_FAILED : WINDOW_DONE;
    const struct order_filter *filter = &order->query->filter;
    order->visitor->begin(order->visitor->context, batch);
    if (filter->is_wanted)
        filter->begin(filter->context, batch);
    for (uint32_t row = 0; row < tsmith_batch_count(batch); row++) {
        const int64_t start = spans.starts[row];
        int64_t duration = 0;
        const bool has_duration = tsmith_view_i64(&spans.durations, row, &duration);
        if (!is_wanted(order, start, order_end(start, has_duration, duration), spans.kinds[row]) ||
            (filter->is_wanted && !filter->is_wanted(filter->context, row)))
            continue;
        if (!collect_row(order, row, start))
            return WINDOW_FAILED;
        if (!is_full(order))
            continue;
        if (can_narrow)
            return WINDOW_TOO_WIDE;
        emit_collected(order);
        if (order->enough || !begin_run(order))
            return order->enough ? WINDOW_DONE : WINDOW_FAILED;
    }
    return WINDOW_DONE;
}

static int fail(const struct order *order, tsmith_status status, const tsmith_error *error) {
    if (order->out_of_memory)
        complain("%s: out of memory", order->trace->path);
    else
        complain("%s", error->message);
    return order->out_of_memory ? EXIT_LACKING : exit_code_of_input(status);
}

static tsmith_status open_window(struct order *order, tsmith_source **source, tsmith_error *error) {
    const struct order_query *query = order->query;
    tsmith_scan scan = {.size = sizeof scan,
                        .has_window = 1,
                        .from = order->is_first ? query->from : order->window_from,
                        .to = order->is_last ? query->to : order->window_to,
                        .fields = query->fields,
                        .field_count = query->field_count,
                        .kinds = query->kinds};
    return tsmith_sbt_scan(order->trace->file, &scan, source, error);
}

// Collects one window and emits it. *outcome is meaningful when the exit code is EXIT_DONE.
static int visit_window(struct order *order, bool can_narrow, enum outcome *outcome) {
    tsmith_source *source = NULL;
    const tsmith_batch *batch;
    tsmith_error error;
    int code = EXIT_DONE;
    *outcome = WINDOW_DONE;
    tsmith_status status = open_window(order, &source, &error);
    while (status == TSMITH_OK && *outcome == WINDOW_DONE && !order->enough) {
        status = tsmith_source_next(source, &batch, &error);
        if (status == TSMITH_OK)
            *outcome = collect_batch(order, batch, can_narrow);
        else if (status == TSMITH_TRUNCATED)
            order->trace->is_whole = false;
    }
    if (status < 0 || *outcome == WINDOW_FAILED)
        code = fail(order, status, &error);
    tsmith_source_destroy(source);
    if (code == EXIT_DONE && *outcome == WINDOW_DONE)
        emit_collected(order);
    return code;
}

// ---- all windows

// The width of the first window: as many events as are wanted in it, if they were spread evenly.
static uint64_t first_width(const struct order *order, int64_t from, int64_t to) {
    uint64_t span = (uint64_t)to - (uint64_t)from;
    uint64_t events = order->trace->summary.events;
    uint64_t wanted = order->query->soon ? ROWS_SOON : ROWS_MOST / 2;
    if (events <= wanted)
        return UINT64_MAX;
    uint64_t width = span / (events / wanted + 1);
    return width ? width : 1;
}

static uint64_t next_width(uint64_t width, uint64_t rows) {
    if (rows < ROWS_MOST / 8)
        return width > UINT64_MAX / 4 ? UINT64_MAX : width * 4;
    return rows > ROWS_MOST / 2 && width > 1 ? width / 2 : width;
}

static int visit_windows(struct order *order, struct progress *progress) {
    const tsmith_sbt_summary *summary = &order->trace->summary;
    const struct order_query *query = order->query;
    int64_t from = query->from > summary->first_start ? query->from : summary->first_start;
    int64_t to = query->to < summary->last_end ? query->to : summary->last_end;
    if (to < from)
        to = from;
    uint64_t width = first_width(order, from, to);
    order->is_first = true;
    for (int64_t at = from; !order->enough;) {
        uint64_t left = (uint64_t)to - (uint64_t)at;
        order->is_last = width > left;
        order->window_from = at;
        order->window_to = order->is_last ? INT64_MAX : (int64_t)((uint64_t)at + width);
        enum outcome outcome;
        bool can_narrow = order->is_last ? left > 0 : width > 1;
        int code = visit_window(order, can_narrow, &outcome);
        if (code != EXIT_DONE)
            return code;
        if (outcome == WINDOW_TOO_WIDE) {
            width = (order->is_last ? left : width) / 8;
            width = width ? width : 1;
            clear_records(order);
            continue;
        }
        if (order->is_last)
            break;
        width = next_width(width, order->emitted);
        at = order->window_to;
        order->is_first = false;
        progress_show(progress,
                      (double)((uint64_t)at - (uint64_t)from) / (double)((uint64_t)to - (uint64_t)from));
    }
    return EXIT_DONE;
}

int order_visit(struct trace *trace, const struct order_query *query, const struct order_visitor *visitor,
                struct progress *progress) {
    struct order order = {.trace = trace, .query = query, .visitor = visitor};
    int code = visit_windows(&order, progress);
    progress_clear(progress);
    text_finish(&order.records);
    free(order.entries);
    free(order.spare);
    free(order.runs);
    return code;
}
