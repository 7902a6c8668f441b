// SPDX-License-Identifier: Apache-2.0
// Which kernels take the time: totals by name, and by name and shape (grid and block) where the trace has shapes. Memory:
// one entry per name with up to 64 Ki durations, and one per shape.
#include <stdlib.h>
#include <string.h>

#include "analyze/analysis.h"
#include "analyze/samples.h"
#include "base/array.h"
#include "base/hash.h"
#include "tracesmith/view.h"

enum { DIMENSIONS = 6, OCCUPANCIES = 2 };

struct entry {
    uint32_t name, shapes;
    struct samples durations;
    uint64_t occupied;     // kernels whose occupancy is known
    double occupancy;      // of those, added up, in %
    struct samples summed; // of those in sums, without single durations
};

struct shape {
    uint32_t name;
    uint64_t sizes[DIMENSIONS]; // global, then local; 0: unknown
    uint64_t count;
    int64_t total, min, max;
};

struct kernels {
    uint32_t *entry_of_name; // of kernels, by string id: index + 1
    size_t name_count;
    struct entry *entries;
    size_t count, capacity;
    struct tally shape_numbers;
    struct shape *shapes;
    size_t shape_capacity;
    uint64_t untimed;
    bool totals; // there are no single durations
    bool summed; // of some kernels there are none
    uint32_t fields_seen;
    uint32_t occupancy[OCCUPANCIES]; // dynamic fields: as an integer, as a fraction
};

// The columns of a batch besides name and time.
struct details {
    tsmith_view sizes[DIMENSIONS], whole, fraction; // the occupancy in either form
    bool any;
};

static struct entry *find_entry(struct kernels *kernels, uint32_t name) {
    if (name >= kernels->name_count) {
        size_t grown = (size_t)name + name / 4 + 64;
        uint32_t *moved = realloc(kernels->entry_of_name, grown * sizeof *moved);
        if (!moved)
            return NULL;
        memset(moved + kernels->name_count, 0, (grown - kernels->name_count) * sizeof *moved);
        kernels->entry_of_name = moved;
        kernels->name_count = grown;
    }
    if (!kernels->entry_of_name[name]) {
        if (!ARRAY_RESERVE(kernels->entries, kernels->capacity, kernels->count + 1))
            return NULL;
        kernels->entries[kernels->count] = (struct entry){.name = name};
        kernels->entry_of_name[name] = (uint32_t)++kernels->count;
    }
    return &kernels->entries[kernels->entry_of_name[name] - 1];
}

// The field numbers in which Kineto stores the occupancy.
static void learn_fields(struct kernels *kernels, const tsmith_dictionary *dictionary) {
    uint32_t count = tsmith_dictionary_dynamic_field_count(dictionary);
    for (uint32_t id = kernels->fields_seen ? kernels->fields_seen : 1; id < count; id++) {
        const tsmith_dynamic_field *field = tsmith_dictionary_dynamic_field(dictionary, id);
        if (field &&
            strcmp(tsmith_dictionary_string(dictionary, field->name).bytes, "est. achieved occupancy %") ==
                0 &&
            (field->type == TSMITH_TYPE_I64 || field->type == TSMITH_TYPE_F64))
            kernels->occupancy[field->type == TSMITH_TYPE_F64] = TSMITH_FIELD_DYNAMIC + id;
    }
    kernels->fields_seen = count;
}

static void find_details(const struct kernels *kernels, const tsmith_batch *batch, struct details *details) {
    static const uint32_t SIZES[DIMENSIONS] = {TSMITH_FIELD_GLOBAL_X, TSMITH_FIELD_GLOBAL_Y,
                                               TSMITH_FIELD_GLOBAL_Z, TSMITH_FIELD_LOCAL_X,
                                               TSMITH_FIELD_LOCAL_Y,  TSMITH_FIELD_LOCAL_Z};
    tsmith_view_batch(batch, SIZES, DIMENSIONS, details->sizes);
    details->any = false;
    for (size_t i = 0; i < DIMENSIONS; i++)
        details->any |= tsmith_view_exists(&details->sizes[i]);
    details->whole = tsmith_view_typed(batch, kernels->occupancy[0], TSMITH_TYPE_I64);
    details->fraction = tsmith_view_typed(batch, kernels->occupancy[1], TSMITH_TYPE_F64);
}

// The entry of a name and its sizes, made if there is none; NULL when memory is exhausted. The tally knows 64-bit keys
// only: where another shape has this one's hash, the next key is tried, so that two shapes never share an entry.
static struct shape *find_shape(struct kernels *kernels, struct entry *entry, const struct shape *wanted) {
    uint64_t words[1 + DIMENSIONS] = {wanted->name};
    memcpy(words + 1, wanted->sizes, sizeof wanted->sizes);
    for (uint64_t key = hash_bytes(words, sizeof words);; key++) {
        const size_t before = kernels->shape_numbers.count;
        const uint32_t number = tally_number(&kernels->shape_numbers, key);
        if (number == UINT32_MAX ||
            !ARRAY_RESERVE(kernels->shapes, kernels->shape_capacity, kernels->shape_numbers.count))
            return NULL;
        struct shape *found = &kernels->shapes[number];
        if (number == before) {
            *found = *wanted;
            entry->shapes++;
            return found;
        }
        if (found->name == wanted->name && !memcmp(found->sizes, wanted->sizes, sizeof found->sizes))
            return found;
    }
}

static bool add_shape(struct kernels *kernels, const struct details *details, uint32_t row,
                      struct entry *entry, int64_t duration) {
    struct shape shape = {.name = entry->name, .min = duration, .max = duration};
    bool any = false;
    for (size_t i = 0; i < DIMENSIONS; i++)
        any |= tsmith_view_u64(&details->sizes[i], row, &shape.sizes[i]);
    if (!any)
        return true;
    struct shape *of = find_shape(kernels, entry, &shape);
    if (!of)
        return false;
    of->count++;
    of->total = sweep_add(of->total, duration);
    of->min = duration < of->min ? duration : of->min;
    of->max = duration > of->max ? duration : of->max;
    return true;
}

static void add_occupancy(const struct details *details, uint32_t row, struct entry *entry) {
    int64_t whole;
    double fraction;
    if (tsmith_view_i64(&details->whole, row, &whole)) {
        entry->occupied++;
        entry->occupancy += (double)whole;
    }
    if (tsmith_view_f64(&details->fraction, row, &fraction)) {
        entry->occupied++;
        entry->occupancy += fraction;
    }
}

// Kernels that the program added up: as with totals, there are no single durations.
static bool add_sums(struct kernels *kernels, const tsmith_batch *batch, const tsmith_interval *window) {
    static const uint32_t fields[] = {TSMITH_FIELD_KIND,     TSMITH_FIELD_START,  TSMITH_FIELD_SUMMED,
                                      TSMITH_FIELD_NAME,     TSMITH_FIELD_COUNT,  TSMITH_FIELD_TOTAL,
                                      TSMITH_FIELD_SHORTEST, TSMITH_FIELD_LONGEST};
    enum { KIND, START, SUMMED, NAME, COUNT, TOTAL, SHORTEST, LONGEST, FIELDS };
    tsmith_view views[FIELDS];
    tsmith_view_batch(batch, fields, FIELDS, views);
    const int64_t *starts = tsmith_view_every(&views[START]);
    for (uint32_t row = 0; row < tsmith_batch_count(batch); row++) {
        const uint64_t count = tsmith_view_u64_or(&views[COUNT], row, 0);
        int64_t time;
        if (tsmith_view_word(&views[KIND], row) != TSMITH_KIND_SUM ||
            tsmith_view_word(&views[SUMMED], row) != TSMITH_KIND_KERNEL || !count ||
            (window && (starts[row] < window->from || starts[row] >= window->to)))
            continue;
        kernels->summed = true;
        if (!tsmith_view_i64(&views[TOTAL], row, &time)) {
            kernels->untimed += count;
            continue;
        }
        struct entry *entry = find_entry(kernels, tsmith_view_id(&views[NAME], row));
        if (!entry)
            return false;
        struct samples *durations = &entry->summed;
        const int64_t shortest = tsmith_view_i64_or(&views[SHORTEST], row, 0),
                      longest = tsmith_view_i64_or(&views[LONGEST], row, 0);
        durations->min = !durations->count || shortest < durations->min ? shortest : durations->min;
        durations->max = !durations->count || longest > durations->max ? longest : durations->max;
        durations->count += count;
        durations->total = sweep_add(durations->total, time);
    }
    return true;
}

// After the last event: no duration is added any more, and no quantile asked for.
static void join_sums(struct entry *entry) {
    struct samples *all = &entry->durations;
    const struct samples *summed = &entry->summed;
    if (!summed->count)
        return;
    all->min = !all->count || summed->min < all->min ? summed->min : all->min;
    all->max = !all->count || summed->max > all->max ? summed->max : all->max;
    all->count += summed->count;
    all->total = sweep_add(all->total, summed->total);
}

static tsmith_status take_batch(void *state, const tsmith_dictionary *dictionary, const tsmith_batch *batch,
                                const tsmith_interval *window) {
    struct kernels *kernels = state;
    static const uint32_t fields[] = {TSMITH_FIELD_KIND, TSMITH_FIELD_START, TSMITH_FIELD_DURATION,
                                      TSMITH_FIELD_NAME};
    enum { KIND, START, DURATION, NAME, FIELDS };
    tsmith_view views[FIELDS];
    struct details details;
    tsmith_view_batch(batch, fields, FIELDS, views);
    const uint8_t *kinds = tsmith_view_every(&views[KIND]);
    const int64_t *starts = tsmith_view_every(&views[START]);
    if (!kinds || !starts)
        return TSMITH_OK;
    if (memchr(kinds, TSMITH_KIND_SUM, tsmith_batch_count(batch)) && !add_sums(kernels, batch, window))
        return TSMITH_ERROR_NO_MEMORY;
    if (tsmith_dictionary_dynamic_field_count(dictionary) != kernels->fields_seen)
        learn_fields(kernels, dictionary);
    find_details(kernels, batch, &details);
    uint32_t strings = tsmith_dictionary_string_count(dictionary);
    for (uint32_t row = 0; row < tsmith_batch_count(batch); row++) {
        int64_t duration;
        if (kinds[row] != TSMITH_KIND_KERNEL ||
            (window && (starts[row] < window->from || starts[row] >= window->to)))
            continue;
        if (!tsmith_view_i64(&views[DURATION], row, &duration)) {
            kernels->untimed++;
            continue;
        }
        uint32_t name = tsmith_view_id(&views[NAME], row);
        name = name < strings ? name : 0; // an id may be none
        struct entry *entry = find_entry(kernels, name);
        if (!entry || !samples_add(&entry->durations, duration) ||
            (details.any && !add_shape(kernels, &details, row, entry, duration < 0 ? 0 : duration)))
            return TSMITH_ERROR_NO_MEMORY;
        add_occupancy(&details, row, entry);
    }
    return TSMITH_OK;
}

static bool add_total(void *state, const tsmith_kernel_total *total) {
    struct kernels *kernels = state;
    struct entry *entry = find_entry(kernels, total->name);
    kernels->totals = true;
    if (!entry)
        return false;
    entry->durations.count += total->count;
    entry->durations.total = sweep_add(entry->durations.total, total->total);
    entry->durations.min = total->min;
    entry->durations.max = total->max;
    return true;
}

static int by_total(const void *left, const void *right) {
    const struct entry *a = left, *b = right;
    if (a->durations.total != b->durations.total)
        return a->durations.total > b->durations.total ? -1 : 1;
    return a->name < b->name ? -1 : a->name > b->name;
}

static void add_row(struct report *report, struct report_table *table, const struct analysis_context *context,
                    struct entry *entry, int64_t total, bool totals) {
    struct samples *durations = &entry->durations;
    report_text(report, table, tsmith_dictionary_string(context->dictionary, entry->name));
    report_integer(report, table, (int64_t)durations->count);
    report_integer(report, table, durations->total);
    report_share(report, table, durations->total, total);
    report_integer(report, table, durations->min);
    for (int i = 0; i < 2; i++) {
        if (totals || entry->summed.count)
            report_unknown(report, table);
        else
            report_integer(report, table, samples_quantile(durations, i ? 0.99 : 0.5));
    }
    report_integer(report, table, durations->max);
    if (entry->shapes)
        report_integer(report, table, entry->shapes);
    else
        report_unknown(report, table);
    if (entry->occupied)
        report_number(report, table, entry->occupancy / (double)entry->occupied / 100);
    else
        report_unknown(report, table);
}

// "56x2x1", what is not there left out; "" when nothing is known.
static void write_sizes(struct report *report, struct report_table *table, const uint64_t sizes[3]) {
    char text[3 * 21 + 3] = "";
    size_t length = 0;
    for (size_t i = 0; i < 3 && sizes[i]; i++)
        length += (size_t)snprintf(text + length, sizeof text - length, "%s%llu", i ? "x" : "",
                                   (unsigned long long)sizes[i]);
    if (length)
        report_text(report, table, analysis_text(text));
    else
        report_unknown(report, table);
}

static int by_shape_total(const void *left, const void *right) {
    const struct shape *a = left, *b = right;
    if (a->total != b->total)
        return a->total > b->total ? -1 : 1;
    if (a->name != b->name)
        return a->name < b->name ? -1 : 1;
    for (size_t i = 0; i < DIMENSIONS; i++)
        if (a->sizes[i] != b->sizes[i])
            return a->sizes[i] < b->sizes[i] ? -1 : 1;
    return 0;
}

static void write_shapes(struct kernels *kernels, const struct analysis_context *context,
                         struct report *report) {
    static const tsmith_report_column COLUMNS[] = {
        {"kernel", TSMITH_CELL_TEXT},   {"global", TSMITH_CELL_TEXT},  {"block", TSMITH_CELL_TEXT},
        {"grid", TSMITH_CELL_TEXT},     {"count", TSMITH_CELL_COUNT},  {"total", TSMITH_CELL_DURATION},
        {"mean", TSMITH_CELL_DURATION}, {"min", TSMITH_CELL_DURATION}, {"max", TSMITH_CELL_DURATION}};
    struct report_table *table = REPORT_TABLE(
        report, "shapes",
        "by name, global size (work-items) and block (work-group); grid is global size / block", COLUMNS);
    size_t count = kernels->shape_numbers.count;
    if (count)
        qsort(kernels->shapes, count, sizeof *kernels->shapes, by_shape_total);
    for (size_t i = 0; i < count; i++) {
        const struct shape *shape = &kernels->shapes[i];
        uint64_t grid[3] = {0};
        for (size_t k = 0; k < 3; k++)
            grid[k] = shape->sizes[3 + k] && shape->sizes[k] % shape->sizes[3 + k] == 0
                          ? shape->sizes[k] / shape->sizes[3 + k]
                          : 0;
        report_text(report, table, tsmith_dictionary_string(context->dictionary, shape->name));
        write_sizes(report, table, shape->sizes);
        write_sizes(report, table, shape->sizes + 3);
        write_sizes(report, table, grid);
        report_integer(report, table, (int64_t)shape->count);
        report_integer(report, table, shape->total);
        report_integer(report, table, shape->total / (int64_t)shape->count);
        report_integer(report, table, shape->min);
        report_integer(report, table, shape->max);
    }
}

static tsmith_status finish(void *state, const struct analysis_context *context, struct report *report) {
    static const tsmith_report_column COLUMNS[] = {
        {"kernel", TSMITH_CELL_TEXT},     {"count", TSMITH_CELL_COUNT},  {"total", TSMITH_CELL_DURATION},
        {"share", TSMITH_CELL_SHARE},     {"min", TSMITH_CELL_DURATION}, {"median", TSMITH_CELL_DURATION},
        {"p99", TSMITH_CELL_DURATION},    {"max", TSMITH_CELL_DURATION}, {"shapes", TSMITH_CELL_COUNT},
        {"occupancy", TSMITH_CELL_SHARE},
    };
    struct kernels *kernels = state;
    struct report_table *table = REPORT_TABLE(
        report, "kernels",
        "by name; share is of the time of all kernels added up, occupancy the estimate of the trace",
        COLUMNS);
    int64_t total = 0;
    uint64_t count = 0;
    bool exact = true;
    for (size_t i = 0; i < kernels->count; i++) {
        join_sums(&kernels->entries[i]);
        total = sweep_add(total, kernels->entries[i].durations.total);
        count += kernels->entries[i].durations.count;
        exact &= kernels->entries[i].summed.count || samples_exact(&kernels->entries[i].durations);
    }
    if (kernels->count)
        qsort(kernels->entries, kernels->count, sizeof *kernels->entries, by_total);
    for (size_t i = 0; i < kernels->count; i++)
        add_row(report, table, context, &kernels->entries[i], total, kernels->totals);
    if (kernels->shape_numbers.count)
        write_shapes(kernels, context, report);
    if (!kernels->count) {
        report_finding(report, "No kernel with times is in the %s.", context->scope);
    } else {
        char time[REPORT_TEXT];
        tsmith_string name = tsmith_dictionary_string(context->dictionary, kernels->entries[0].name);
        report_finding(report, "%zu kernel%s ran %llu time%s, %s in all; %.1f%% of it is %.*s%s.",
                       kernels->count, report_plural(kernels->count), (unsigned long long)count,
                       report_plural(count), report_duration(time, total),
                       total ? report_percent(kernels->entries[0].durations.total, total) : 100,
                       ANALYSIS_NAMED(name));
    }
    if (kernels->untimed)
        report_note(report, "%llu kernel%s no times and %s left out.", (unsigned long long)kernels->untimed,
                    kernels->untimed == 1 ? " has" : "s have", kernels->untimed == 1 ? "is" : "are");
    if (kernels->totals)
        report_note(report, "From the totals of the file: median, p99 and shapes need its events.");
    if (kernels->summed)
        report_note(report, "The median and p99 of kernels in sums (--aggregate) are not known.");
    if (!exact)
        report_note(report,
                    "median and p99 of kernels that ran more than %d times are rounded down by up to 1.6%%.",
                    SAMPLES_EXACT);
    return TSMITH_OK;
}

static void release(void *state) {
    struct kernels *kernels = state;
    for (size_t i = 0; i < kernels->count; i++)
        samples_finish(&kernels->entries[i].durations);
    free(kernels->entries);
    free(kernels->entry_of_name);
    free(kernels->shapes);
    tally_finish(&kernels->shape_numbers);
}

const struct analysis_kind analysis_kernels = {
    .name = "kernels",
    .question = "Which kernels take the time?",
    .needs = NEEDS_NOTHING,
    .state_size = sizeof(struct kernels),
    .write = take_batch,
    .finish = finish,
    .release = release,
    .reads_sums = true,
    .add_total = add_total,
};
