// SPDX-License-Identifier: Apache-2.0
// Adds up batches: counts of every kind, times of kernels, copies and waits, busy time of devices, memory, losses.
// src/collect/live.c calls it.
#include "collect/live_totals.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/table.h"
#include "collect/live_busy.h"
#include "tracesmith/time.h"
#include "tracesmith/view.h"

static const int64_t RECENT = 1000000000;          // ns: the window of `recent`
static const int64_t DELIVERED_AFTER = 1000000000; // ns: what is older was delivered, as good as always
static const int64_t FAR = INT64_C(1) << 61; // ns: times beyond are no times, and would make sums overflow

#define FIELDS(X)                                                                                            \
    X(DURATION)                                                                                              \
    X(NAME)                                                                                                  \
    X(OPERATION)                                                                                             \
    X(DIRECTION)                                                                                             \
    X(BYTES)                                                                                                 \
    X(LIVE_BYTES)                                                                                            \
    X(LOST)                                                                                                  \
    X(REASON)                                                                                                \
    X(SUMMED)                                                                                                \
    X(COUNT)                                                                                                 \
    X(TOTAL)                                                                                                 \
    X(SHORTEST)                                                                                              \
    X(LONGEST)
enum {
#define INDEX(NAME) AT_##NAME,
    FIELDS(INDEX)
#undef INDEX
        FIELD_COUNT
};

struct kernel {
    uint32_t name;
    tsmith_live_amount amount;
    int64_t least, most;
    int64_t before; // of amount.sum, when the period began
    double lately;  // time of recent periods, the older the less
};

struct device {
    uint64_t commands;
    int64_t work, late;
    struct live_busy busy;
};

struct live_totals {
    tsmith_live_totals sums; // all but the arrays of kernels and devices
    struct table kernel_numbers;
    struct kernel *kernels;
    size_t kernel_count, kernel_capacity;
    struct device *devices; // by id in the dictionary
    size_t device_count, device_capacity;
    uint64_t *memory; // live bytes by process
    size_t memory_count, memory_capacity;
    struct live_span *spans; // of one batch
    size_t span_capacity;
    uint32_t last_name; // whose number is last_number - 1; last_number 0: none
    size_t last_number;
    bool failed;
};

// A batch that is being added.
struct reading {
    tsmith_view views[FIELD_COUNT];
    const tsmith_track *track;
    bool summed; // the row is a sum of events (--aggregate)
};

struct live_totals *live_totals_create(bool from_start, int64_t since) {
    struct live_totals *totals = calloc(1, sizeof *totals);
    if (totals) {
        totals->sums.from_start = from_start;
        totals->sums.since = since;
    }
    return totals;
}

void live_totals_destroy(struct live_totals *totals) {
    if (!totals)
        return;
    for (size_t i = 0; i < totals->device_count; i++)
        live_busy_finish(&totals->devices[i].busy);
    table_finish(&totals->kernel_numbers);
    free(totals->kernels);
    free(totals->devices);
    free(totals->memory);
    free(totals->spans);
    free(totals);
}

// ---- adding

// How many events the row stands for.
static uint64_t count_of(const struct reading *reading, uint32_t row) {
    return reading->summed ? tsmith_view_u64_or(&reading->views[AT_COUNT], row, 0) : 1;
}

// The time of these.
static bool get_time(const struct reading *reading, uint32_t row, int64_t *out) {
    return tsmith_view_i64(&reading->views[reading->summed ? AT_TOTAL : AT_DURATION], row, out);
}

static void add_amount(tsmith_live_amount *amount, const struct reading *reading, uint32_t row) {
    const uint64_t count = count_of(reading, row);
    int64_t duration;
    uint64_t bytes;
    amount->count += count;
    if (tsmith_view_u64(&reading->views[AT_BYTES], row, &bytes))
        amount->bytes += bytes;
    if (!get_time(reading, row, &duration))
        return;
    amount->timed += count;
    amount->sum = tsmith_time_add(amount->sum, duration > 0 ? duration : 0);
}

static struct kernel *kernel_of(struct live_totals *totals, uint32_t name) {
    bool is_new;
    if (totals->last_number && totals->last_name == name)
        return &totals->kernels[totals->last_number - 1];
    uint64_t *number = table_add(&totals->kernel_numbers, name, &is_new);
    if (number && is_new) {
        struct kernel *kernel = ARRAY_PUSH(totals->kernels, totals->kernel_count, totals->kernel_capacity);
        if (kernel)
            *kernel = (struct kernel){.name = name, .least = INT64_MAX};
        *number = kernel ? totals->kernel_count : 0;
    }
    if (!number || !*number) {
        totals->failed = true;
        return NULL;
    }
    totals->last_name = name;
    totals->last_number = (size_t)*number;
    return &totals->kernels[*number - 1];
}

static void add_kernel(struct live_totals *totals, const struct reading *reading, uint32_t row) {
    struct kernel *kernel = kernel_of(totals, tsmith_view_id(&reading->views[AT_NAME], row));
    int64_t duration;
    add_amount(&totals->sums.kernels, reading, row);
    if (!kernel)
        return;
    add_amount(&kernel->amount, reading, row);
    if (!get_time(reading, row, &duration))
        return;
    duration = duration > 0 ? duration : 0;
    const tsmith_view *views = reading->views;
    const int64_t least = reading->summed ? tsmith_view_i64_or(&views[AT_SHORTEST], row, 0) : duration,
                  most = reading->summed ? tsmith_view_i64_or(&views[AT_LONGEST], row, 0) : duration;
    kernel->least = least < kernel->least ? least : kernel->least;
    kernel->most = most > kernel->most ? most : kernel->most;
}

// Of a list that has places for all that occurs in practice; what has none is in `kinds` alone.
static void add_operation(tsmith_live_operation *list, uint32_t *count, uint32_t most, uint8_t kind,
                          const struct reading *reading, uint32_t row) {
    const uint8_t operation = tsmith_view_word(&reading->views[AT_OPERATION], row);
    const uint8_t direction =
        kind == TSMITH_KIND_SYNC ? 0 : tsmith_view_word(&reading->views[AT_DIRECTION], row);
    uint32_t at = 0;
    while (at < *count &&
           (list[at].kind != kind || list[at].operation != operation || list[at].direction != direction))
        at++;
    if (at == most)
        return;
    if (at == *count)
        list[(*count)++] =
            (tsmith_live_operation){.kind = kind, .operation = operation, .direction = direction};
    add_amount(&list[at].amount, reading, row);
}

// The memory of each process is on one track, so that its events come in order.
static void add_memory(struct live_totals *totals, const struct reading *reading, uint8_t kind,
                       uint32_t row) {
    const uint32_t process = reading->track ? reading->track->process : 0;
    uint64_t bytes = tsmith_view_u64_or(&reading->views[AT_BYTES], row, 0), live;
    const bool is_new = kind == TSMITH_KIND_ALLOC;
    totals->sums.allocations += is_new;
    totals->sums.frees += !is_new;
    if (!ARRAY_RESERVE(totals->memory, totals->memory_capacity, (size_t)process + 1)) {
        totals->failed = true;
        return;
    }
    while (totals->memory_count <= process)
        totals->memory[totals->memory_count++] = 0;
    uint64_t *now = &totals->memory[process];
    if (!tsmith_view_u64(&reading->views[AT_LIVE_BYTES], row, &live))
        live = is_new ? *now + bytes : *now - (bytes < *now ? bytes : *now);
    totals->sums.live_bytes += live - *now;
    *now = live;
    if (totals->sums.live_bytes > totals->sums.peak_bytes)
        totals->sums.peak_bytes = totals->sums.live_bytes;
}

static void add_loss(struct live_totals *totals, const struct reading *reading, uint32_t row) {
    const uint8_t reason = tsmith_view_word(&reading->views[AT_REASON], row);
    if (reason < TSMITH_LIVE_REASONS)
        totals->sums.lost[reason] += tsmith_view_u64_or(&reading->views[AT_LOST], row, 0);
}

static bool is_device_work(uint8_t kind) {
    return kind == TSMITH_KIND_KERNEL || kind == TSMITH_KIND_MEMCPY || kind == TSMITH_KIND_MEMSET ||
           kind == TSMITH_KIND_GRAPH_LAUNCH || kind == TSMITH_KIND_COLLECTIVE;
}

static void add_row(struct live_totals *totals, const struct reading *reading, uint8_t kind, uint32_t row) {
    tsmith_live_totals *sums = &totals->sums;
    switch (kind) {
    case TSMITH_KIND_KERNEL:
        add_kernel(totals, reading, row);
        break;
    case TSMITH_KIND_MEMCPY:
    case TSMITH_KIND_MEMSET:
        add_operation(sums->copies, &sums->copy_count, TSMITH_LIVE_COPIES, kind, reading, row);
        break;
    case TSMITH_KIND_SYNC:
        if (reading->track && reading->track->kind == TSMITH_TRACK_THREAD)
            add_operation(sums->waits, &sums->wait_count, TSMITH_LIVE_WAITS, kind, reading, row);
        break;
    case TSMITH_KIND_ALLOC:
    case TSMITH_KIND_FREE:
        add_memory(totals, reading, kind, row);
        break;
    case TSMITH_KIND_OVERHEAD:
        add_amount(&sums->overhead, reading, row);
        break;
    case TSMITH_KIND_LOSS:
        add_loss(totals, reading, row);
        break;
    default:
        break;
    }
}

static struct device *device_of(struct live_totals *totals, const struct reading *reading) {
    const uint32_t id = reading->track ? reading->track->device : 0;
    if (!id)
        return NULL;
    if (!ARRAY_RESERVE(totals->devices, totals->device_capacity, (size_t)id + 1)) {
        totals->failed = true;
        return NULL;
    }
    while (totals->device_count <= id)
        totals->devices[totals->device_count++] = (struct device){0};
    return &totals->devices[id];
}

static void add_busy(struct live_totals *totals, const struct reading *reading, const tsmith_spans *rows,
                     uint32_t count) {
    struct device *device = device_of(totals, reading);
    size_t spans = 0;
    if (!device || !ARRAY_RESERVE(totals->spans, totals->span_capacity, count)) {
        totals->failed |= device != NULL;
        return;
    }
    for (uint32_t row = 0; row < count; row++) {
        int64_t duration;
        if (!is_device_work(rows->kinds[row]))
            continue;
        device->commands++;
        const int64_t start = rows->starts[row];
        if (!tsmith_view_i64(&rows->durations, row, &duration) || duration <= 0 || start < -FAR ||
            start > FAR || duration > FAR)
            continue;
        device->work = tsmith_time_add(device->work, duration);
        totals->spans[spans++] = (struct live_span){start, start + duration};
    }
    const int64_t late = live_busy_add(&device->busy, totals->spans, spans, &totals->failed);
    device->late = tsmith_time_add(device->late, late);
}

// As its events, but for when they ran: how long the device was busy is not known.
static void add_sum(struct live_totals *totals, struct reading *reading, uint32_t row) {
    const uint8_t kind = tsmith_view_word(&reading->views[AT_SUMMED], row);
    struct device *device = is_device_work(kind) ? device_of(totals, reading) : NULL;
    tsmith_live_totals *sums = &totals->sums;
    int64_t time;
    reading->summed = true;
    if (kind == TSMITH_KIND_SYNC && reading->track && !reading->track->device)
        add_operation(sums->waits, &sums->wait_count, TSMITH_LIVE_WAITS, kind, reading, row);
    else if (is_device_work(kind))
        add_row(totals, reading, kind, row);
    if (device)
        device->commands += count_of(reading, row);
    if (device && get_time(reading, row, &time) && time > 0) {
        device->work = tsmith_time_add(device->work, time);
        device->late = tsmith_time_add(device->late, time);
    }
    reading->summed = false;
}

void live_totals_add(struct live_totals *totals, const tsmith_dictionary *dictionary,
                     const tsmith_batch *batch) {
    static const uint32_t fields[FIELD_COUNT] = {
#define FIELD(NAME) TSMITH_FIELD_##NAME,
        FIELDS(FIELD)
#undef FIELD
    };
    const uint32_t count = tsmith_batch_count(batch);
    struct reading reading = {.track = tsmith_dictionary_track(dictionary, tsmith_batch_track(batch))};
    tsmith_spans rows;
    bool works = false;
    if (!tsmith_view_spans(batch, &rows))
        return;
    tsmith_view_batch(batch, fields, FIELD_COUNT, reading.views);
    totals->sums.events += count;
    for (uint32_t row = 0; row < count; row++) {
        const uint8_t kind = rows.kinds[row];
        totals->sums.kinds[kind % TSMITH_LIVE_KINDS]++;
        works |= is_device_work(kind);
        if (kind == TSMITH_KIND_SUM)
            add_sum(totals, &reading, row);
        else if (kind != TSMITH_KIND_API)
            add_row(totals, &reading, kind, row);
    }
    if (works)
        add_busy(totals, &reading, &rows, count);
}

// ---- giving

// Cut at a character.
static void put_text(char out[TSMITH_LIVE_TEXT], const char *bytes, size_t length) {
    size_t kept = length < TSMITH_LIVE_TEXT ? length : TSMITH_LIVE_TEXT - 1;
    while (kept < length && kept && ((unsigned char)bytes[kept] & 0xc0) == 0x80)
        kept--;
    memset(out, 0, TSMITH_LIVE_TEXT);
    if (kept)
        memcpy(out, bytes, kept);
}

// Keeps the largest of what it is shown.
struct best {
    size_t items[TSMITH_LIVE_KERNELS];
    double weights[TSMITH_LIVE_KERNELS];
    size_t count, most;
};

static void add_best(struct best *best, size_t item, double weight) {
    if (best->count == best->most && weight <= best->weights[best->count - 1])
        return;
    size_t at = best->count < best->most ? best->count++ : best->count - 1;
    for (; at && best->weights[at - 1] < weight; at--) {
        best->items[at] = best->items[at - 1];
        best->weights[at] = best->weights[at - 1];
    }
    best->items[at] = item;
    best->weights[at] = weight;
}

static void give_kernel(const tsmith_dictionary *dictionary, const struct kernel *kernel,
                        tsmith_live_totals *out) {
    for (uint32_t i = 0; i < out->device_kernel_count; i++)
        if (out->device_kernels[i].id == kernel->name)
            return;
    tsmith_live_kernel *to = &out->device_kernels[out->device_kernel_count++];
    const tsmith_string name = tsmith_dictionary_string(dictionary, kernel->name);
    put_text(to->name, name.bytes, name.length);
    to->id = kernel->name;
    to->amount = kernel->amount;
    to->least = kernel->amount.timed ? kernel->least : 0;
    to->most = kernel->most;
}

static int by_time(const void *left, const void *right) {
    const tsmith_live_kernel *a = left, *b = right;
    if (a->amount.sum != b->amount.sum)
        return a->amount.sum < b->amount.sum ? 1 : -1;
    return (a->id > b->id) - (a->id < b->id);
}

// Two thirds of the places are for those with the most time in all; the others for those with the most time lately.
static void give_kernels(struct live_totals *totals, const tsmith_dictionary *dictionary,
                         tsmith_live_totals *out) {
    struct best all = {.most = TSMITH_LIVE_KERNELS * 2 / 3}, lately = {.most = TSMITH_LIVE_KERNELS / 3};
    for (size_t i = 0; i < totals->kernel_count; i++) {
        struct kernel *kernel = &totals->kernels[i];
        kernel->lately = kernel->lately * 0.75 + (double)(kernel->amount.sum - kernel->before);
        kernel->before = kernel->amount.sum;
        add_best(&all, i, (double)kernel->amount.sum);
        add_best(&lately, i, kernel->lately);
    }
    for (size_t i = 0; i < all.count; i++)
        give_kernel(dictionary, &totals->kernels[all.items[i]], out);
    for (size_t i = 0; i < lately.count; i++)
        give_kernel(dictionary, &totals->kernels[lately.items[i]], out);
    qsort(out->device_kernels, out->device_kernel_count, sizeof out->device_kernels[0], by_time);
}

static void give_devices(const struct live_totals *totals, const tsmith_dictionary *dictionary,
                         tsmith_live_totals *out) {
    for (uint32_t id = 1; id < totals->device_count && out->device_count < TSMITH_LIVE_DEVICES; id++) {
        const struct device *device = &totals->devices[id];
        char room[TSMITH_LABEL_SIZE];
        if (!device->commands)
            continue;
        tsmith_live_device *to = &out->devices[out->device_count++];
        const tsmith_string name = tsmith_device_name(dictionary, id, room);
        put_text(to->name, name.bytes, name.length);
        to->id = id;
        to->commands = device->commands;
        to->busy = live_busy_sum(&device->busy);
        to->work = device->work;
        to->late = device->late;
        to->recent = live_busy_within(&device->busy, out->recent_from, out->recent_to);
    }
}

void live_totals_give(struct live_totals *totals, const tsmith_dictionary *dictionary, int64_t now,
                      tsmith_live_totals *out) {
    *out = totals->sums;
    out->size = sizeof *out;
    out->now = now;
    out->recent_to = now - DELIVERED_AFTER > out->since ? now - DELIVERED_AFTER : out->since;
    out->recent_from = out->recent_to - RECENT > out->since ? out->recent_to - RECENT : out->since;
    out->kernel_names = totals->kernel_count;
    out->failed = totals->failed;
    give_devices(totals, dictionary, out);
    give_kernels(totals, dictionary, out);
}
