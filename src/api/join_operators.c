// SPDX-License-Identifier: Apache-2.0
// Operators of an execution trace of PyTorch: the number of the call (rf_id) is the argument "Record function id" of the event in Kineto's
// trace of the same run. Before PyTorch 2.4 only "External id" has it, which is then shifted by a constant in some versions
// (pytorch#122833): the shift is the one with which most names agree. A node is joined only with an event of its own name.
#include <stdlib.h>

#include "api/join.h"
#include "base/table.h"
#include "tracesmith/view.h"

enum { SHIFT_MAX = 64 };

static void read_nodes(struct join *join) {
    const uint32_t field = join_field(join->other, "et_rf_id");
    for (size_t i = 0; i < join->record_count; i++) {
        struct join_record *record = &join->records[i];
        uint64_t name;
        record->known = field && join_value(record->batch, field, record->row, &record->number) &&
                        record->number != 0; // 0: of nodes that are no call
        if (join_value(record->batch, TSMITH_FIELD_NAME, record->row, &name))
            record->name = join_name(join->other, (uint32_t)name);
    }
}

static void look_at_events(struct join *join, const tsmith_batch *batch, uint64_t ordinal) {
    uint32_t field = join_field(join->dictionary, "Record function id");
    uint64_t number;
    if (!field)
        field = join_field(join->dictionary, "External id");
    const uint32_t fields[] = {field, TSMITH_FIELD_NAME, TSMITH_FIELD_KIND};
    tsmith_view views[3];
    tsmith_view_batch(batch, fields, 3, views);
    if (!tsmith_view_exists(&views[0]))
        return;
    for (uint32_t row = 0; row < tsmith_batch_count(batch) && !join->failed; row++) {
        const uint8_t kind = tsmith_view_word(&views[2], row);
        if (!tsmith_view_bits(&views[0], row, &number) || !tsmith_view_has(&views[1], row) ||
            kind == TSMITH_KIND_API || kind == TSMITH_KIND_KERNEL)
            continue;
        struct join_event *event = join_add_event(join);
        if (event) {
            event->ordinal = ordinal + row;
            event->number = number;
            event->name = join_name(join->dictionary, tsmith_view_id(&views[1], row));
        }
    }
}

// 1 + the index of the record with a number.
static bool index_records(struct join *join, struct table *numbers) {
    for (size_t i = 0; i < join->record_count; i++) {
        bool is_new;
        uint64_t *slot = join->records[i].known ? table_add(numbers, join->records[i].number, &is_new) : NULL;
        if (join->records[i].known && !slot)
            return false;
        if (slot)
            *slot = is_new ? i + 1 : 0; // of several nodes with one number none is the one
    }
    return true;
}

static size_t record_at(const struct join *join, const struct table *numbers, const struct join_event *event,
                        int64_t shift) {
    const uint64_t *slot = table_find(numbers, event->number - (uint64_t)shift);
    return slot && *slot && join->records[*slot - 1].name == event->name ? (size_t)*slot : 0;
}

static uint64_t agreeing(const struct join *join, const struct table *numbers, int64_t shift) {
    uint64_t count = 0;
    for (size_t i = 0; i < join->event_count; i++)
        count += record_at(join, numbers, &join->events[i], shift) != 0;
    return count;
}

// With 0 all agree where PyTorch has no error. *tied: another shift agrees as often, and nothing says which is right.
static int64_t best_shift(const struct join *join, const struct table *numbers, bool *tied) {
    int64_t best = 0;
    uint64_t most = agreeing(join, numbers, 0);
    *tied = false;
    if (join_field(join->dictionary, "Record function id") || most == join->event_count)
        return 0;
    for (int64_t shift = -SHIFT_MAX; shift <= SHIFT_MAX; shift++) {
        const uint64_t count = shift ? agreeing(join, numbers, shift) : 0;
        *tied = count > most ? false : *tied || (shift && count == most && count > 0);
        best = count > most ? shift : best;
        most = count > most ? count : most;
    }
    return best;
}

// An event can be there twice (a copy for another thread): then the node belongs to none of them.
static void match_events(struct join *join, const struct table *numbers, int64_t shift) {
    uint8_t *times = calloc(join->record_count ? join->record_count : 1, 1);
    join->failed |= !times;
    for (size_t i = 0; times && i < join->event_count; i++) {
        const size_t record = record_at(join, numbers, &join->events[i], shift);
        if (record && times[record - 1] < 2)
            times[record - 1]++;
    }
    for (size_t i = 0; times && i < join->event_count; i++) {
        const size_t record = record_at(join, numbers, &join->events[i], shift);
        if (record && times[record - 1] == 1)
            join_add_hit(join, &join->events[i], record - 1);
    }
    for (size_t i = 0; times && i < join->record_count; i++) {
        join->ambiguous += times[i] == 2;
        join->missing += times[i] == 0;
    }
    free(times);
}

static void match_records(struct join *join) {
    struct table numbers = {0};
    bool tied = false;
    join->failed |= !index_records(join, &numbers);
    const int64_t shift = join->failed ? 0 : best_shift(join, &numbers, &tied);
    if (tied)
        join->ambiguous = join->record_count;
    else if (!join->failed)
        match_events(join, &numbers, shift);
    table_finish(&numbers);
}

const struct join_rule join_operators = {"torch-et", read_nodes, look_at_events, match_records};
