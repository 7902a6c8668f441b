// SPDX-License-Identifier: Apache-2.0
// Memory objects: how much was alive when, what was never freed, what was freed twice. Memory: 40 bytes per
// allocation and per free, because a thread's events come late and order is needed to the ns.
#include <stdlib.h>

#include "analyze/analysis.h"
#include "base/array.h"

struct change {
    int64_t time;
    uint64_t object; // 0: unknown
    uint64_t bytes;
    uint32_t process, name;
    uint8_t freed, operation;
};

struct memory {
    struct change *changes;
    size_t count, capacity;
};

// What is alive in a process.
struct account {
    uint64_t allocations, frees, unknown_frees, double_frees;
    uint64_t live, peak;
    int64_t peak_at;
};

static uint64_t value_of(const tsmith_batch *batch, uint32_t field, uint32_t row) {
    uint64_t bits;
    return tsmith_batch_get(batch, field, row, &bits) ? bits : 0;
}

static tsmith_status take(void *state, const tsmith_dictionary *dictionary, const tsmith_batch *batch,
                          const tsmith_interval *window) {
    struct memory *memory = state;
    tsmith_column kinds;
    const tsmith_track *track = tsmith_dictionary_track(dictionary, tsmith_batch_track(batch));
    if (!tsmith_batch_column(batch, TSMITH_FIELD_KIND, &kinds))
        return TSMITH_OK;
    for (uint32_t row = 0; row < kinds.count; row++) {
        uint8_t kind = ((const uint8_t *)kinds.values)[row];
        if (kind != TSMITH_KIND_ALLOC && kind != TSMITH_KIND_FREE)
            continue;
        struct change change = {.time = (int64_t)value_of(batch, TSMITH_FIELD_START, row),
                                .object = value_of(batch, TSMITH_FIELD_OBJECT, row),
                                .bytes = value_of(batch, TSMITH_FIELD_BYTES, row),
                                .process = track ? track->process : 0,
                                .name = (uint32_t)value_of(batch, TSMITH_FIELD_NAME, row),
                                .freed = kind == TSMITH_KIND_FREE,
                                .operation = (uint8_t)value_of(batch, TSMITH_FIELD_OPERATION, row)};
        void *changes = memory->changes;
        if (change.operation == TSMITH_OPERATION_SUB_BUFFER || (window && change.time >= window->to))
            continue; // owns no bytes; and what was allocated before the window is alive in it
        if (!array_reserve(&changes, &memory->capacity, memory->count + 1, sizeof *memory->changes))
            return TSMITH_ERROR_NO_MEMORY;
        memory->changes = changes;
        memory->changes[memory->count++] = change;
    }
    return TSMITH_OK;
}

// By process and time; at one time frees come first.
static int by_time(const void *left, const void *right) {
    const struct change *a = left, *b = right;
    if (a->process != b->process)
        return a->process < b->process ? -1 : 1;
    if (a->time != b->time)
        return a->time < b->time ? -1 : 1;
    if (a->freed != b->freed)
        return a->freed ? -1 : 1;
    return a->object < b->object ? -1 : a->object > b->object;
}

// ---- objects alive, by number

struct slot {
    uint64_t object;
    uint32_t change; // the allocation, TSMITH_INDEX_NONE once it is freed
};

static struct slot *find_slot(struct slot *slots, size_t mask, uint64_t object) {
    size_t at = (object * 0x9e3779b97f4a7c15u >> 20) & mask;
    while (slots[at].object && slots[at].object != object)
        at = (at + 1) & mask;
    return &slots[at];
}

static void apply(struct memory *memory, size_t index, struct slot *slots, size_t mask,
                  struct account *account) {
    const struct change *change = &memory->changes[index];
    struct slot *slot = change->object ? find_slot(slots, mask, change->object) : NULL;
    if (!change->freed) {
        account->allocations++;
        account->live += change->bytes;
        if (account->live > account->peak) {
            account->peak = account->live;
            account->peak_at = change->time;
        }
        if (slot)
            *slot = (struct slot){change->object, (uint32_t)index};
        return;
    }
    account->frees++;
    if (!slot || !slot->object) {
        account->unknown_frees++;
    } else if (slot->change == TSMITH_INDEX_NONE) {
        account->double_frees++;
    } else {
        account->live -= memory->changes[slot->change].bytes;
        slot->change = TSMITH_INDEX_NONE;
    }
}

// ---- the report

static const tsmith_report_column PROCESSES[] = {
    {"process", TSMITH_CELL_COUNT},      {"allocations", TSMITH_CELL_COUNT},
    {"frees", TSMITH_CELL_COUNT},        {"peak", TSMITH_CELL_BYTES},
    {"peak_at", TSMITH_CELL_TIME},       {"live_at_end", TSMITH_CELL_BYTES},
    {"never_freed", TSMITH_CELL_COUNT},  {"freed_twice", TSMITH_CELL_COUNT},
    {"freed_unknown", TSMITH_CELL_COUNT}};
static const tsmith_report_column LEAKS[] = {{"process", TSMITH_CELL_COUNT},
                                             {"size", TSMITH_CELL_BYTES},
                                             {"at", TSMITH_CELL_TIME},
                                             {"object", TSMITH_CELL_COUNT},
                                             {"call", TSMITH_CELL_TEXT}};

static int by_size(const void *left, const void *right) {
    const struct change *a = left, *b = right;
    if (a->bytes != b->bytes)
        return a->bytes > b->bytes ? -1 : 1;
    return by_time(left, right);
}

static int64_t pid_of(const struct analysis_context *context, uint32_t process) {
    const tsmith_process *entry = tsmith_dictionary_process(context->dictionary, process);
    return entry ? (int64_t)entry->pid : 0;
}

struct totals {
    uint64_t leaked, leaks, peak, twice;
    struct change *alive; // copies of allocations never freed
    size_t alive_count, alive_capacity;
};

// One process: changes [from, to).
static bool account_process(struct memory *memory, size_t from, size_t to,
                            const struct analysis_context *context, struct report *report,
                            struct report_table *table, struct totals *totals) {
    struct account account = {0};
    size_t size = 16, alive = 0;
    while (size < 2 * (to - from))
        size *= 2;
    struct slot *slots = calloc(size, sizeof *slots);
    bool done = slots;
    for (size_t i = from; done && i < to; i++)
        apply(memory, i, slots, size - 1, &account);
    for (size_t i = 0; done && i < size; i++) {
        if (!slots[i].object || slots[i].change == TSMITH_INDEX_NONE)
            continue;
        void *items = totals->alive;
        done = array_reserve(&items, &totals->alive_capacity, totals->alive_count + 1, sizeof *totals->alive);
        totals->alive = items;
        if (done)
            totals->alive[totals->alive_count++] = memory->changes[slots[i].change];
        alive++;
    }
    free(slots);
    const int64_t cells[] = {pid_of(context, memory->changes[from].process),
                             (int64_t)account.allocations,
                             (int64_t)account.frees,
                             (int64_t)account.peak,
                             account.peak_at - context->window.from,
                             (int64_t)account.live,
                             (int64_t)alive,
                             (int64_t)account.double_frees,
                             (int64_t)account.unknown_frees};
    for (size_t i = 0; i < sizeof cells / sizeof *cells; i++)
        report_integer(report, table, cells[i]);
    totals->peak += account.peak;
    totals->leaked += account.live;
    totals->leaks += alive;
    totals->twice += account.double_frees;
    return done;
}

static void write_leaks(const struct analysis_context *context, struct report *report,
                        struct totals *totals) {
    struct report_table *table = REPORT_TABLE(
        report, "never_freed", "allocations that were alive at the end, the largest first", LEAKS);
    if (totals->alive_count)
        qsort(totals->alive, totals->alive_count, sizeof *totals->alive, by_size);
    for (size_t i = 0; i < totals->alive_count; i++) {
        const struct change *change = &totals->alive[i];
        report_integer(report, table, pid_of(context, change->process));
        report_integer(report, table, (int64_t)change->bytes);
        report_integer(report, table, change->time - context->window.from);
        report_integer(report, table, (int64_t)change->object);
        report_text(report, table, tsmith_dictionary_string(context->dictionary, change->name));
    }
}

static tsmith_status finish(void *state, const struct analysis_context *context, struct report *report) {
    struct memory *memory = state;
    struct totals totals = {0};
    bool done = memory->count < TSMITH_INDEX_NONE;
    struct report_table *table = REPORT_TABLE(
        report, "processes",
        "device memory by process (its pid); freed_unknown was allocated before the trace", PROCESSES);
    if (memory->count)
        qsort(memory->changes, memory->count, sizeof *memory->changes, by_time);
    for (size_t from = 0, to; done && from < memory->count; from = to) {
        for (to = from + 1;
             to < memory->count && memory->changes[to].process == memory->changes[from].process;)
            to++;
        done = account_process(memory, from, to, context, report, table, &totals);
    }
    write_leaks(context, report, &totals);
    free(totals.alive);
    char peak[REPORT_TEXT], leaked[REPORT_TEXT];
    if (!memory->count)
        report_finding(report, "No allocation of device memory is in the trace.");
    else
        report_finding(
            report,
            "At most %s of device memory were alive; %llu objects (%s) were never freed, %llu were freed "
            "twice.",
            report_bytes(peak, (double)totals.peak), (unsigned long long)totals.leaks,
            report_bytes(leaked, (double)totals.leaked), (unsigned long long)totals.twice);
    return done ? TSMITH_OK : TSMITH_ERROR_NO_MEMORY;
}

static void release(void *state) {
    free(((struct memory *)state)->changes);
}

const struct analysis_kind analysis_memory = {
    .name = "memory",
    .question = "How much device memory is used, and what leaks?",
    .needs = NEEDS_NOTHING,
    .state_size = sizeof(struct memory),
    .write = take,
    .finish = finish,
    .release = release,
};
