// SPDX-License-Identifier: Apache-2.0
// `view --stats`: one pass over the events in time order. In that order a union of intervals is a running
// end, so no busy time is counted twice and no share can exceed what there is.
//
// What the host waited for: while a wait lasts, the device work of its queue (of its process, when the queue
// is not known) that runs meanwhile is its cause. Where several run at once, the one that began first has the
// time.
#include "stats.h"

#include <stdlib.h>
#include <string.h>

#include "terminal.h"
#include "tracesmith/time.h"

#define STATS_FIELDS(X)                                                                                      \
    X(START)                                                                                                 \
    X(DURATION)                                                                                              \
    X(KIND)                                                                                                  \
    X(NAME) X(OPERATION) X(DIRECTION) X(BYTES) X(QUEUE_TRACK) X(LIVE_BYTES) X(LOST) X(REASON) X(RESULT)

enum {
#define INDEX(NAME) AT_##NAME,
    STATS_FIELDS(INDEX)
#undef INDEX
        FIELD_COUNT
};

static const uint32_t fields[FIELD_COUNT] = {
#define FIELD(NAME) TSMITH_FIELD_##NAME,
    STATS_FIELDS(FIELD)
#undef FIELD
};

enum {
    RUNNING_MOST = 256
}; // waits and device work looked at side by side; more of them at once are not joined

struct row {
    int64_t start, end, result;
    uint64_t bytes, live, lost;
    uint32_t track, name, queue;
    uint8_t kind, operation, direction;
    bool has_duration, has_bytes, has_live, is_hole, is_partial;
};

// Device work or a wait that may still be in progress.
struct running {
    struct row row;
    uint32_t process;
    uint32_t wait;   // for a wait: its number
    int64_t covered; // for a wait: explained until then
};

struct running_list {
    struct running items[RUNNING_MOST];
    size_t count;
};

struct collector {
    struct stats stats;
    uint32_t track;
    tsmith_view columns[FIELD_COUNT];
    struct running_list work, waits;
};

bool stats_has_rate(const struct total *total) {
    return (total->kind == TSMITH_KIND_MEMCPY || total->kind == TSMITH_KIND_MEMSET) &&
           total->bytes_time > 0 && !tsmith_operation_is_map((tsmith_operation)total->operation);
}

bool stats_is_device_work(uint8_t kind) {
    return kind == TSMITH_KIND_KERNEL || kind == TSMITH_KIND_MEMCPY || kind == TSMITH_KIND_MEMSET ||
           kind == TSMITH_KIND_GRAPH_LAUNCH || kind == TSMITH_KIND_COLLECTIVE;
}

// ---- reading rows

static void stats_begin(void *context, const tsmith_batch *batch) {
    struct collector *collector = context;
    collector->track = tsmith_batch_track(batch);
    tsmith_view_batch(batch, fields, FIELD_COUNT, collector->columns);
}

static bool get_bits(const struct collector *collector, int at, uint32_t row, uint64_t *out) {
    return tsmith_view_bits(&collector->columns[at], row, out);
}

static uint64_t get_or_zero(const struct collector *collector, int at, uint32_t row) {
    uint64_t bits;
    return get_bits(collector, at, row, &bits) ? bits : 0;
}

static void stats_collect(void *context, uint32_t at, struct text *record) {
    struct collector *collector = context;
    struct row row = {.track = collector->track};
    uint64_t duration = 0;
    row.start = (int64_t)get_or_zero(collector, AT_START, at);
    row.has_duration = get_bits(collector, AT_DURATION, at, &duration);
    // That of a sum is its period, and no time of the events in it.
    row.has_duration &= get_or_zero(collector, AT_KIND, at) != TSMITH_KIND_SUM;
    row.end = order_end(row.start, row.has_duration, (int64_t)duration);
    row.kind = (uint8_t)get_or_zero(collector, AT_KIND, at);
    row.name = (uint32_t)get_or_zero(collector, AT_NAME, at);
    row.operation = (uint8_t)get_or_zero(collector, AT_OPERATION, at);
    row.direction = (uint8_t)get_or_zero(collector, AT_DIRECTION, at);
    row.queue = (uint32_t)get_or_zero(collector, AT_QUEUE_TRACK, at);
    row.lost = get_or_zero(collector, AT_LOST, at);
    row.result = (int64_t)get_or_zero(collector, AT_RESULT, at);
    row.is_hole = row.kind == TSMITH_KIND_LOSS &&
                  tsmith_reason_is_of_events((tsmith_reason)get_or_zero(collector, AT_REASON, at));
    row.is_partial =
        row.is_hole && tsmith_reason_is_partial((tsmith_reason)get_or_zero(collector, AT_REASON, at));
    row.has_bytes = get_bits(collector, AT_BYTES, at, &row.bytes);
    row.has_live = get_bits(collector, AT_LIVE_BYTES, at, &row.live);
    text_add(record, (const char *)&row, sizeof row);
}

// ---- totals

static struct total *total_of(struct stats *stats, const struct row *row) {
    bool is_new;
    // Transfers are distinguished by their operation, everything else by its name.
    bool moves = row->kind == TSMITH_KIND_MEMCPY || row->kind == TSMITH_KIND_MEMSET;
    uint8_t operation = moves || !row->name ? row->operation : 0;
    uint8_t direction = moves ? row->direction : 0;
    uint32_t name = moves ? 0 : row->name;
    uint64_t key = (uint64_t)name << 24 | (uint64_t)row->kind << 16 | (uint64_t)operation << 8 | direction;
    uint32_t number = map_number(&stats->total_map, key, &is_new);
    if (number == UINT32_MAX ||
        !map_array_reserve((void **)&stats->totals, &stats->total_capacity, number, sizeof *stats->totals)) {
        stats->out_of_memory = true;
        return NULL;
    }
    if (is_new)
        stats->totals[number] = (struct total){.kind = row->kind,
                                               .operation = operation,
                                               .direction = direction,
                                               .name = name,
                                               .least = INT64_MAX};
    return &stats->totals[number];
}

// Sums of what a file claims may be more than 64 bits.
static void add_time(int64_t *sum, int64_t duration) {
    *sum = tsmith_time_add(*sum, duration);
}

static void add_total(struct stats *stats, const struct row *row) {
    struct total *total = total_of(stats, row);
    int64_t duration = (int64_t)((uint64_t)row->end - (uint64_t)row->start);
    if (!total)
        return;
    const bool works =
        row->kind == TSMITH_KIND_KERNEL || row->kind == TSMITH_KIND_MEMCPY || row->kind == TSMITH_KIND_MEMSET;
    stats->work += works;
    stats->timed_work += works && row->has_duration;
    total->count++;
    total->bytes += row->bytes;
    total->sized += row->has_bytes;
    if (!row->has_duration)
        return;
    total->timed++;
    total->timed_bytes += row->bytes;
    add_time(&total->sum, duration);
    add_time(&total->bytes_time, row->has_bytes ? duration : 0);
    total->least = duration < total->least ? duration : total->least;
    total->most = duration > total->most ? duration : total->most;
}

static void add_failure(struct stats *stats, const struct row *row) {
    bool is_new;
    if (!row->result || !tsmith_call_failed(trace_string(&stats->view->trace, row->name).bytes, row->result))
        return;
    const uint32_t number =
        map_number(&stats->failure_map, (uint64_t)row->name << 32 | (uint32_t)row->result, &is_new);
    if (number == UINT32_MAX || !map_array_reserve((void **)&stats->failures, &stats->failure_capacity,
                                                   number, sizeof *stats->failures)) {
        stats->out_of_memory = true;
        return;
    }
    if (is_new)
        stats->failures[number] = (struct failure){.name = row->name, .result = row->result};
    stats->failures[number].count++;
}

bool stats_know_waits(const struct stats *stats) {
    const tsmith_dictionary *dictionary = stats->view->trace.dictionary;
    bool any = tsmith_dictionary_find_attribute(dictionary, "import.format").length == 0;
    for (uint32_t id = 0; id < stats->track_count && !any; id++) {
        const tsmith_track *track = tsmith_dictionary_track(dictionary, id);
        any = track && track->kind == TSMITH_TRACK_THREAD && stats->tracks[id].waiting.started;
    }
    return any;
}

// ---- busy time

static void add_busy(struct stats *stats, const struct row *row) {
    int64_t start = row->start > stats->from ? row->start : stats->from;
    int64_t end = row->end < stats->to ? row->end : stats->to;
    int64_t fresh;
    const tsmith_track *entry = tsmith_dictionary_track(stats->view->trace.dictionary, row->track);
    if (row->track >= stats->track_count)
        return;
    struct track_totals *track = &stats->tracks[row->track];
    track->events++;
    if (row->is_hole) {
        stats->lost += row->lost;
        stats->partial += row->is_partial ? row->lost : 0;
        covered_add(&stats->holes, start, end, &fresh);
    }
    if (row->kind == TSMITH_KIND_API)
        covered_add(&track->calls, start, end, &fresh);
    if (row->kind == TSMITH_KIND_SYNC)
        covered_add(&track->waiting, start, end, &fresh);
    if (!stats_is_device_work(row->kind))
        return;
    int64_t inside = end > start ? end - start : 0;
    covered_add(&track->device_work, start, end, &fresh);
    track->work_sum = tsmith_time_add(track->work_sum, inside);
    if (!entry || entry->device >= stats->device_count)
        return;
    struct device_totals *device = &stats->devices[entry->device];
    covered_add(&device->work, start, end, &fresh);
    device->work_sum = tsmith_time_add(device->work_sum, inside);
    device->commands++;
}

static void add_memory(struct stats *stats, const struct row *row) {
    const tsmith_track *entry = tsmith_dictionary_track(stats->view->trace.dictionary, row->track);
    uint32_t process = entry && entry->process < stats->process_count ? entry->process : 0;
    struct memory_totals *memory = &stats->processes[process];
    bool is_new = row->kind == TSMITH_KIND_ALLOC;
    memory->allocations += is_new;
    memory->frees += !is_new;
    memory->allocated_bytes += is_new ? row->bytes : 0;
    memory->sized += row->has_bytes || row->has_live;
    if (row->has_live)
        memory->live = row->live;
    else if (is_new)
        memory->live += row->bytes;
    else
        memory->live -= row->bytes < memory->live ? row->bytes : memory->live;
    if (memory->live > memory->peak) {
        memory->peak = memory->live;
        memory->peak_at = row->start;
    }
}

// ---- what the host waited for

static void explain(struct stats *stats, struct running *wait, const struct running *work) {
    bool is_new;
    int64_t start = work->row.start > wait->covered ? work->row.start : wait->covered;
    int64_t end = work->row.end < wait->row.end ? work->row.end : wait->row.end;
    bool same = wait->row.queue ? wait->row.queue == work->row.track : wait->process == work->process;
    if (!same || end <= start)
        return;
    uint64_t key = ((uint64_t)wait->wait << 40) ^ ((uint64_t)work->row.name << 12) ^
                   ((uint64_t)work->row.kind << 7) ^ (work->row.name ? 0 : work->row.operation);
    uint32_t number = map_number(&stats->cause_map, key, &is_new);
    if (number == UINT32_MAX ||
        !map_array_reserve((void **)&stats->causes, &stats->cause_capacity, number, sizeof *stats->causes)) {
        stats->out_of_memory = true;
        return;
    }
    if (is_new)
        stats->causes[number] = (struct cause){.wait = wait->wait,
                                               .kind = work->row.kind,
                                               .name = work->row.name,
                                               .operation = work->row.name ? 0 : work->row.operation};
    add_time(&stats->causes[number].sum, end - start);
    add_time(&stats->waits[wait->wait].explained, end - start);
    wait->covered = end;
}

// Adds to the list, without what has ended by then.
static struct running *add_running(struct running_list *list, const struct row *row, uint32_t process) {
    size_t kept = 0;
    for (size_t i = 0; i < list->count; i++)
        if (list->items[i].row.end > row->start)
            list->items[kept++] = list->items[i];
    if (kept == RUNNING_MOST)
        memmove(list->items, list->items + 1, --kept * sizeof *list->items);
    list->count = kept + 1;
    list->items[kept] = (struct running){.row = *row, .process = process, .covered = row->start};
    return &list->items[kept];
}

static uint32_t wait_number(struct stats *stats, const struct row *row) {
    bool is_new;
    uint32_t number = map_number(&stats->wait_map, (uint64_t)row->queue << 8 | row->operation, &is_new);
    if (number == UINT32_MAX ||
        !map_array_reserve((void **)&stats->waits, &stats->wait_capacity, number, sizeof *stats->waits)) {
        stats->out_of_memory = true;
        return UINT32_MAX;
    }
    if (is_new)
        stats->waits[number] = (struct wait){.operation = row->operation, .queue = row->queue};
    return number;
}

static void join_waits(struct collector *collector, const struct row *row) {
    struct stats *stats = &collector->stats;
    const tsmith_track *entry = tsmith_dictionary_track(stats->view->trace.dictionary, row->track);
    uint32_t process = entry ? entry->process : 0;
    // A driver may compile a kernel when it is first launched: then nothing can run, and that is why.
    if (stats_is_device_work(row->kind) || row->kind == TSMITH_KIND_COMPILE) {
        struct running *work = add_running(&collector->work, row, process);
        for (size_t i = 0; i < collector->waits.count; i++)
            explain(stats, &collector->waits.items[i], work);
    } else if (row->kind == TSMITH_KIND_SYNC && entry && entry->kind == TSMITH_TRACK_THREAD) {
        uint32_t number = wait_number(stats, row);
        if (number == UINT32_MAX)
            return;
        struct running *wait = add_running(&collector->waits, row, process);
        wait->wait = number;
        stats->waits[number].count++;
        add_time(&stats->waits[number].sum, row->end - row->start);
        for (size_t i = 0; i < collector->work.count; i++)
            explain(stats, wait, &collector->work.items[i]);
    }
}

static bool stats_emit(void *context, const char *record, size_t length) {
    struct collector *collector = context;
    struct stats *stats = &collector->stats;
    struct row row;
    memcpy(&row, record, length < sizeof row ? length : sizeof row);
    stats->events++;
    if (row.kind < TSMITH_KIND_LIMIT)
        stats->kinds[row.kind]++;
    add_total(stats, &row);
    add_busy(stats, &row);
    if (row.kind == TSMITH_KIND_API)
        add_failure(stats, &row);
    if (row.kind == TSMITH_KIND_ALLOC || row.kind == TSMITH_KIND_FREE)
        add_memory(stats, &row);
    join_waits(collector, &row);
    return !stats->out_of_memory;
}

// ---- sorting

static const struct stats *sorting; // qsort has no context

static int by_sum(int64_t a, int64_t b) {
    return (a < b) - (a > b);
}

static int compare_totals(const void *a, const void *b) {
    uint32_t left = *(const uint32_t *)a;
    uint32_t right = *(const uint32_t *)b;
    int order = by_sum(sorting->totals[left].sum, sorting->totals[right].sum);
    return order ? order : (left > right) - (left < right);
}

static int compare_waits(const void *a, const void *b) {
    uint32_t left = *(const uint32_t *)a;
    uint32_t right = *(const uint32_t *)b;
    int order = by_sum(sorting->waits[left].sum, sorting->waits[right].sum);
    return order ? order : (left > right) - (left < right);
}

static int compare_causes(const void *a, const void *b) {
    uint32_t left = *(const uint32_t *)a;
    uint32_t right = *(const uint32_t *)b;
    int order = by_sum(sorting->causes[left].sum, sorting->causes[right].sum);
    return order ? order : (left > right) - (left < right);
}

uint32_t *stats_sorted(const struct stats *stats, bool (*keep)(const struct total *total, uint8_t kind),
                       uint8_t kind, size_t *count) {
    uint32_t *indices = malloc((stats->total_map.count + 1) * sizeof *indices);
    *count = 0;
    for (uint32_t i = 0; indices && i < stats->total_map.count; i++)
        if (keep(&stats->totals[i], kind))
            indices[(*count)++] = i;
    sorting = stats;
    if (indices)
        qsort(indices, *count, sizeof *indices, compare_totals);
    return indices;
}

uint32_t *stats_sorted_waits(const struct stats *stats, size_t *count) {
    uint32_t *indices = malloc((stats->wait_map.count + 1) * sizeof *indices);
    *count = indices ? stats->wait_map.count : 0;
    for (uint32_t i = 0; i < *count; i++)
        indices[i] = i;
    sorting = stats;
    if (indices)
        qsort(indices, *count, sizeof *indices, compare_waits);
    return indices;
}

uint32_t *stats_sorted_causes(const struct stats *stats, uint32_t wait, size_t *count) {
    uint32_t *indices = malloc((stats->cause_map.count + 1) * sizeof *indices);
    *count = 0;
    for (uint32_t i = 0; indices && i < stats->cause_map.count; i++)
        if (stats->causes[i].wait == wait)
            indices[(*count)++] = i;
    sorting = stats;
    if (indices)
        qsort(indices, *count, sizeof *indices, compare_causes);
    return indices;
}

// ---- the command

static bool stats_init(struct stats *stats, struct view *view) {
    const tsmith_dictionary *dictionary = view->trace.dictionary;
    const tsmith_sbt_summary *summary = &view->trace.summary;
    *stats = (struct stats){.view = view};
    stats->from = view->query.from > summary->first_start ? view->query.from : summary->first_start;
    stats->to = view->query.to < summary->last_end ? view->query.to : summary->last_end;
    if (stats->to < stats->from)
        stats->to = stats->from; // a window beyond the trace
    stats->track_count = tsmith_dictionary_track_count(dictionary);
    stats->device_count = tsmith_dictionary_device_count(dictionary);
    stats->process_count = tsmith_dictionary_process_count(dictionary);
    stats->tracks = calloc(stats->track_count + 1, sizeof *stats->tracks);
    stats->devices = calloc(stats->device_count + 1, sizeof *stats->devices);
    stats->processes = calloc(stats->process_count + 1, sizeof *stats->processes);
    return stats->tracks && stats->devices && stats->processes;
}

static void stats_finish(struct stats *stats) {
    map_finish(&stats->total_map);
    map_finish(&stats->wait_map);
    map_finish(&stats->cause_map);
    map_finish(&stats->failure_map);
    free(stats->totals);
    free(stats->waits);
    free(stats->causes);
    free(stats->failures);
    free(stats->tracks);
    free(stats->devices);
    free(stats->processes);
}

int view_stats(struct view *view, bool json) {
    struct collector *collector = calloc(1, sizeof *collector);
    int code = EXIT_LACKING;
    if (!collector)
        goto done;
    struct stats *stats = &collector->stats;
    const struct order_visitor visitor = {
        .context = collector, .begin = stats_begin, .collect = stats_collect, .emit = stats_emit};
    view->query.fields = fields;
    view->query.field_count = FIELD_COUNT;
    stats->out_of_memory = !stats_init(stats, view);
    if (!stats->out_of_memory)
        code = order_visit(&view->trace, &view->query, &visitor, &view->progress);
    if (code == EXIT_DONE && !stats->out_of_memory)
        (json ? stats_write_json : stats_write_text)(stats);
    if (stats->out_of_memory) {
        complain("out of memory");
        code = EXIT_LACKING;
    }
    stats_finish(stats);
done:
    free(collector);
    return code;
}
