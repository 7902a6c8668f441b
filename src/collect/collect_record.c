// SPDX-License-Identifier: Apache-2.0
// Reading records: the hot path of the collector. One pass over the words, one row per event.
//
// What the words of a shape become is worked out once for each builder that gets such rows, as a list of moves into its
// columns (struct builder_layout). A record gets its row at once; what its words are is moved for several records of a shape
// together, one column after the other. Which values there are follows in the end from the rows' layouts and values.
#include <string.h>

#include "collect/collect_private.h"

// An encoding that no record uses: the name in its head.
enum { MOVE_NAME = 0x7f };

// ---- layouts

// Moves of one class follow each other, so that each has a loop of its own.
enum move_class {
    MOVE_8,
    MOVE_4,
    MOVE_1,
    MOVE_STRING,
    MOVE_TRACK,
    MOVE_TICK,
    MOVE_TICK_END,
    MOVE_DEVICE_END,
    MOVE_HEAD, // the name in the records' head
    MOVE_OTHER // one by one
};
_Static_assert(MOVE_OTHER == BUILDER_CLASSES - 1, "a builder's layout says where each class ends");

static enum move_class class_of(const struct builder_move *move) {
    if (move->eager)
        return MOVE_OTHER;
    switch (move->encoding) {
    case RECORD_VALUE:
    case RECORD_DEVICE_TIME:
        return move->size == 8 ? MOVE_8 : move->size == 4 ? MOVE_4 : MOVE_1;
    case RECORD_STRING:
        return move->size == 4 ? MOVE_STRING : MOVE_OTHER;
    case RECORD_TRACK:
        return move->size == 4 ? MOVE_TRACK : MOVE_OTHER;
    case RECORD_TICK:
        return move->size == 8 ? MOVE_TICK : MOVE_OTHER;
    case RECORD_TICK_END:
        return move->size == 8 ? MOVE_TICK_END : MOVE_OTHER;
    case RECORD_DEVICE_END:
        return move->size == 8 ? MOVE_DEVICE_END : MOVE_OTHER;
    case MOVE_NAME:
        return move->size == 4 ? MOVE_HEAD : MOVE_OTHER;
    default:
        return MOVE_OTHER;
    }
}

static bool add_move(struct builder *builder, struct builder_move *moves, uint32_t count,
                     const struct collect_step *step, uint32_t word) {
    struct builder_column *column = builder_column(builder, step->field, step->type);
    if (!column)
        return false;
    uint8_t encoding = step->encoding;
    if (encoding == RECORD_DYNAMIC)
        encoding = step->type == TSMITH_TYPE_STRING  ? RECORD_STRING
                   : step->type == TSMITH_TYPE_TRACK ? RECORD_TRACK
                                                     : RECORD_VALUE;
    // An id of 0 is no value, independent of the shape; START is always present.
    bool is_id = encoding == RECORD_STRING || encoding == RECORD_TRACK || encoding == RECORD_STACK ||
                 encoding == MOVE_NAME;
    bool converted = encoding == RECORD_TICK || encoding == RECORD_TICK_END || encoding == RECORD_DEVICE_END;
    struct builder_move *move = &moves[count];
    *move = (struct builder_move){.column = (uint16_t)(column - builder->columns),
                                  .word = (uint8_t)word,
                                  .size = (uint8_t)column->size,
                                  .encoding = encoding,
                                  .optional = is_id || (step->zero_is_none && word > 0),
                                  .device = encoding == RECORD_DEVICE_TIME};
    // 0 ns may well be the value of a word that is not 0.
    move->eager = converted && move->optional;
    // A field that a shape has twice has the later value, if there is one.
    for (uint32_t i = 0; i < count; i++)
        if (moves[i].column == move->column)
            moves[i].eager = move->eager = true;
    return !move->device || column->device || builder_add_device_bitmap(builder, column);
}

// KIND has no move: it is the layout's.
static bool lay_out(struct builder *builder, const struct collect_plan *plan, struct builder_layout *layout) {
    struct builder_move moves[BUILDER_MOVES];
    uint32_t count = 0;
    const struct collect_step name = {
        .encoding = MOVE_NAME, .type = TSMITH_TYPE_STRING, .field = TSMITH_FIELD_NAME};
    if (!builder_column(builder, TSMITH_FIELD_KIND, TSMITH_TYPE_KIND))
        return false;
    if (plan->subject == RECORD_SUBJECT_NAME && !add_move(builder, moves, count++, &name, 0))
        return false;
    for (uint32_t i = 0; i < (uint32_t)plan->step_count - plan->list; i++) {
        const struct collect_step *step = &plan->steps[i];
        if (step->encoding == RECORD_NOT_BEFORE || step->encoding == RECORD_NOT_AFTER)
            continue;
        if (!add_move(builder, moves, count++, step, i))
            return false;
    }
    uint8_t laid = 0;
    layout->kind = plan->kind;
    layout->device = false;
    for (int class = 0; class < BUILDER_CLASSES; class ++) {
        for (uint32_t i = 0; i < count; i++) {
            if (class_of(&moves[i]) != (enum move_class) class)
                continue;
            layout->moves[laid] = moves[i];
            layout->moves[laid++].values = builder->columns[moves[i].column].values;
            layout->device |= moves[i].device;
        }
        layout->ends[class] = laid;
    }
    layout->number = plan->number;
    return true;
}

// ---- values

// A record being read: its words after the head.
struct record {
    const uint64_t *words;
    uint32_t count;
    uint32_t name; // dictionary's id
};

static void lose_stack(struct collector *collector, uint64_t tick) {
    const struct collect_work *work = &collector->work;
    int64_t at = session_clock_convert(&collector->clock, work->head.opened ? work->head.opened : tick);
    collect_lose(collector, work->channel, TSMITH_REASON_NO_STACK, 1, at, at,
                 work->channel->ring_states[work->slot].thread);
}

static uint64_t duration_between(uint64_t begun, uint64_t end) {
    return (int64_t)end > (int64_t)begun ? end - begun : 0;
}

static uint64_t value_of(struct collector *collector, const struct builder_move *move,
                         const struct record *record) {
    const struct collect_channel *channel = collector->work.channel;
    const uint64_t word = record->words[move->word];
    switch (move->encoding) {
    case RECORD_TICK:
        return (uint64_t)session_clock_convert(&collector->clock, word);
    case RECORD_TICK_END:
        return duration_between((uint64_t)session_clock_convert(&collector->clock, record->words[0]),
                                (uint64_t)session_clock_convert(&collector->clock, word));
    case RECORD_DEVICE_END:
        return word > record->words[0] ? word - record->words[0] : 0;
    case MOVE_NAME:
        return record->name;
    case RECORD_STRING:
        return collect_id(&channel->strings, word);
    case RECORD_TRACK:
        return collect_id(&channel->tracks, word);
    case RECORD_STACK: {
        uint32_t id = collect_stack(collector, collector->work.channel, word);
        // A record without a stack needs no loss here: the thread that took the stack counted it.
        if (!id && word)
            lose_stack(collector, record->words[0]);
        return id;
    }
    default:
        return word;
    }
}

// For a field that has a flag in each row for whether it is present.
static void set_eagerly(struct builder *builder, const struct builder_move *move, uint32_t row, uint64_t word,
                        uint64_t value) {
    struct builder_column *column = &builder->columns[move->column];
    bool is_id = move->encoding != RECORD_TICK && move->encoding != RECORD_TICK_END &&
                 move->encoding != RECORD_DEVICE_END;
    if (move->optional && (is_id ? value : word) == 0)
        return;
    builder_store(column->values, column->size, row, value);
    column->valid[row / 64] |= 1ull << (row % 64);
    if (move->device)
        column->device[row / 64] |= 1ull << (row % 64);
}

// Stores the fields that the collector computes from the record one by one.
static void store_computed_fields(struct collector *collector, struct builder *builder,
                                  const struct builder_layout *layout, const struct record *record) {
    const uint32_t row = builder->rows - 1;
    const struct builder_move *move = layout->moves + layout->ends[MOVE_OTHER - 1];
    for (const struct builder_move *end = layout->moves + layout->ends[MOVE_OTHER]; move < end; move++) {
        uint64_t value = value_of(collector, move, record);
        if (move->eager)
            set_eagerly(builder, move, row, record->words[move->word], value);
        else
            builder_store(move->values, move->size, row, value);
    }
}

#define MOVE(class, ctype, value)                                                                            \
    for (end = layout->moves + layout->ends[class]; move < end; move++) {                                    \
        ctype *const values = move->values;                                                                  \
        const size_t of = move->word;                                                                        \
        _Pragma("GCC unroll 4") for (uint32_t i = 0; i < count; i++) {                                       \
            const uint64_t word = target->words[i][of];                                                      \
            values[target->rows[i]] = (ctype)(value);                                                        \
        }                                                                                                    \
    }

// What the program's ids mean stands in the channel, which does not change while the target waits.
static void move_waiting(struct collector *collector, struct collect_target *target) {
    const struct collect_channel *channel = collector->work.channel;
    struct session_clock *clock = &collector->clock;
    const struct builder_layout *layout = target->layout;
    const struct builder_move *move = layout->moves, *end;
    const struct collect_ids strings = channel->strings, tracks = channel->tracks;
    const uint32_t count = target->waiting;
    uint8_t *slots = target->builder->slots, *kinds = target->builder->kinds;
    for (uint32_t i = 0; i < count; i++) {
        slots[target->rows[i]] = layout->slot;
        kinds[target->rows[i]] = layout->kind;
    }
    MOVE(MOVE_8, uint64_t, word)
    MOVE(MOVE_4, uint32_t, word)
    MOVE(MOVE_1, uint8_t, word)
    MOVE(MOVE_STRING, uint32_t, collect_id(&strings, word))
    MOVE(MOVE_TRACK, uint32_t, collect_id(&tracks, word))
    MOVE(MOVE_TICK, uint64_t, session_clock_convert(clock, word))
    MOVE(MOVE_TICK_END, uint64_t,
         duration_between((uint64_t)session_clock_convert(clock, target->words[i][0]),
                          (uint64_t)session_clock_convert(clock, word)))
    MOVE(MOVE_DEVICE_END, uint64_t, word > target->words[i][0] ? word - target->words[i][0] : 0)
    const uint32_t name = target->name;
    for (end = layout->moves + layout->ends[MOVE_HEAD]; move < end; move++)
        for (uint32_t i = 0; i < count; i++)
            ((uint32_t *)move->values)[target->rows[i]] = name;
    target->builder->records += count;
    target->waiting = 0;
}

// Before anything else happens to a builder.
static void move_all_waiting(struct collector *collector) {
    struct collect_targets *targets = &collector->targets;
    for (uint64_t left = targets->used; left; left &= left - 1) {
        struct collect_target *target = &targets->of[__builtin_ctzll(left)];
        if (target->waiting)
            move_waiting(collector, target);
    }
}

static bool append_list(struct builder *builder, const struct collect_plan *plan,
                        const struct record *record) {
    const uint32_t values = plan->step_count - 1u;
    const uint64_t length = record->words[values];
    return length == 0 || length > record->count - values - 1 ||
           builder_set_list(builder, plan->steps[values].field, record->words + values + 1, (uint32_t)length);
}

static void observe_device(struct collector *collector, const struct builder *builder,
                           const struct collect_plan *plan, const uint64_t *words) {
    const uint8_t steps[] = {plan->queued, plan->not_before, plan->not_after};
    for (size_t i = 0; i < sizeof steps; i++)
        if (words[steps[i] - 1] == 0 && plan->steps[steps[i] - 1].zero_is_none)
            return;
    struct device_clock *clock = collect_device_clock(collector, builder->track);
    if (clock)
        device_clock_observe(clock, (int64_t)words[plan->queued - 1],
                             session_clock_convert(&collector->clock, words[plan->not_before - 1]),
                             session_clock_convert(&collector->clock, words[plan->not_after - 1]));
}

// ---- records

enum outcome { KEPT, DAMAGED, BUILDER_FULL };

// Recover: whether what the record being read adds to this builder is in the file.
static bool in_file(const struct collector *collector, const struct builder *builder) {
    const struct collect_work *work = &collector->work;
    return collector->known && work->words &&
           collect_here(work) < collect_delivered_to(builder, work->channel, work->slot);
}

static enum outcome end_range(struct collector *collector, uint64_t tick) {
    struct collect_work *work = &collector->work;
    const struct collect_ring *ring = &work->channel->ring_states[work->slot];
    int64_t end = session_clock_convert(&collector->clock, tick);
    if (!work->builder)
        return DAMAGED;
    if (in_file(collector, work->builder))
        return KEPT;
    collect_touch(collector, work->builder, work->channel, work->slot, ring->local_thread);
    if (!builder_close_range(work->builder, end) && !collect_is_known(ring, collect_here(work)))
        collect_lose(collector, work->channel, TSMITH_REASON_UNMATCHED, 1, end, end,
                     work->channel->ring_states[work->slot].thread);
    work->builder->records++;
    return KEPT;
}

static struct builder *builder_of(struct collector *collector, uint32_t track) {
    if (track && track < collector->builder_count && collector->builders[track])
        return collector->builders[track];
    return track ? collect_builder(collector, track) : NULL;
}

// Adds to a row what is not a single value: the list, the open range, and the times of the device clock.
static bool add_list_and_range(struct collector *collector, struct builder *builder,
                               const struct collect_plan *plan, const struct record *record) {
    if (plan->queued && plan->not_before && plan->not_after)
        observe_device(collector, builder, plan, record->words);
    return (!plan->list || append_list(builder, plan, record)) &&
           (plan->role != RECORD_BEGIN || builder_open_range(builder, record->words - 1, record->count + 1));
}

// None has something waiting.
static void forget_targets(struct collect_targets *targets) {
    memset(targets->heads, 0, sizeof targets->heads);
    targets->used = 0;
}

// The layout of the builder's rows of this shape. NULL when memory is exhausted. Where one is laid out, others may have
// become invalid.
static struct builder_layout *layout_of(struct builder *builder, const struct collect_plan *plan,
                                        struct collect_targets *targets) {
    struct builder_layout *layout = builder_layout(builder, plan->number);
    if (layout && !layout->number) {
        forget_targets(targets);
        if (!lay_out(builder, plan, layout))
            return NULL;
    }
    if (layout)
        builder->device_times |= layout->device;
    return layout;
}

// Where the target of this head is, or can be.
static inline uint32_t target_of(const struct collect_targets *targets, uint64_t head) {
    enum { NEAR = 4 };
    const uint32_t home = (uint32_t)(head * UINT64_C(0x9e3779b97f4a7c15) >> 32) % COLLECT_TARGETS;
    uint32_t found = home;
    for (uint32_t i = 0; targets->heads[found] != head && i < NEAR; i++)
        found = (home + i) % COLLECT_TARGETS;
    if (__builtin_expect(targets->heads[found] == head, 1))
        return found;
    found = home;
    for (uint32_t i = 0; targets->heads[found] && i < NEAR; i++)
        found = (home + i) % COLLECT_TARGETS;
    return targets->heads[found] ? home : found;
}

// Completes the row that was added last.
static void finish_row(struct collector *collector, const struct collect_target *target,
                       const uint64_t *words, uint32_t count) {
    const struct record record = {.words = words, .count = count, .name = target->name};
    store_computed_fields(collector, target->builder, target->layout, &record);
    if (target->more && !add_list_and_range(collector, target->builder, target->plan, &record))
        collector->out_of_memory = true;
}

// One record of `count` words after its head, of which nothing is known. What was found out goes to
// the target `at`.
static enum outcome read_record(struct collector *collector, uint64_t head, const uint64_t *words,
                                uint32_t count, uint32_t at) {
    struct collect_work *work = &collector->work;
    struct collect_channel *channel = work->channel;
    uint32_t name = 0, shape = head & 0xffff, subject = (uint32_t)(head >> 32), local = subject;
    if (shape == 0 || shape >= channel->plan_count)
        return DAMAGED;
    const struct collect_plan *plan = &channel->plans[shape];
    if (plan->kind == TSMITH_KIND_NONE || count < plan->step_count)
        return DAMAGED;
    if (plan->role == RECORD_END)
        return end_range(collector, words[0]);
    struct builder *builder = work->builder;
    if (plan->subject == RECORD_SUBJECT_NAME) {
        name = collect_id(&channel->strings, subject);
        local = channel->ring_states[work->slot].local_thread;
    } else {
        builder = builder_of(collector, collect_id(&channel->tracks, subject));
    }
    if (!builder)
        return DAMAGED;
    if (in_file(collector, builder))
        return KEPT;
    if (!collect_row_allowed(collector, builder))
        return BUILDER_FULL;
    collect_touch(collector, builder, channel, work->slot, local);
    struct collect_targets *targets = &collector->targets;
    struct builder_layout *layout = layout_of(builder, plan, targets);
    if (!layout) {
        collector->out_of_memory = true;
        return KEPT;
    }
    struct collect_target *target = &targets->of[at];
    targets->heads[at] = collector->known ? 0 : head;
    targets->used |= 1ull << at;
    target->builder = builder;
    target->plan = plan;
    target->layout = layout;
    target->name = name;
    target->more =
        plan->list || (plan->queued && plan->not_before && plan->not_after) || plan->role == RECORD_BEGIN;
    target->now = target->more || layout->ends[MOVE_OTHER] > layout->ends[MOVE_OTHER - 1];
    target->rows[0] = builder->rows++;
    target->words[0] = words;
    target->waiting = 1;
    if (target->now)
        finish_row(collector, target, words, count);
    return KEPT;
}

void collect_reopen_range(struct collector *collector, struct collect_channel *channel,
                          struct builder *builder, const uint64_t *record, uint32_t words) {
    uint32_t shape = record[0] & 0xffff;
    bool begins =
        shape != 0 && shape < channel->plan_count && channel->plans[shape].kind != TSMITH_KIND_NONE &&
        channel->plans[shape].role == RECORD_BEGIN && channel->plans[shape].subject == RECORD_SUBJECT_NAME;
    forget_targets(&collector->targets);
    // As a record of the thread's ring, but of none of its sub-buffers.
    collector->work = (struct collect_work){.channel = channel, .builder = builder};
    if (begins && collect_ring_of(channel, 0))
        read_record(collector, record[0], record + 1, words - 1, 0);
    move_all_waiting(collector);
    collector->work = (struct collect_work){.channel = NULL};
}

static void read_other(struct collector *collector, struct collect_ring *ring, enum outcome outcome) {
    struct collect_work *work = &collector->work;
    int64_t opened = session_clock_convert(&collector->clock, work->head.opened);
    if (outcome == KEPT)
        collector->totals.kept++;
    else if (!collect_is_known(ring, collect_here(work)))
        collect_lose(collector, work->channel, TSMITH_REASON_CORRUPT, 1, opened, opened, ring->thread);
    work->records++;
}

// A record that no target knows. False: its builder is full.
static bool read_unknown(struct collector *collector, struct collect_ring *ring, const uint64_t *words,
                         uint32_t count, uint32_t target) {
    struct collect_work *work = &collector->work;
    const uint64_t head = words[0];
    move_all_waiting(collector);
    if ((head & 0xffff) == RECORD_SWITCH) {
        collect_switch_thread(collector, work, ring, (uint32_t)(head >> 32), collect_here(work));
        forget_targets(&collector->targets);
        return true;
    }
    enum outcome outcome = read_record(collector, head, words + 1, count - 1, target);
    if (outcome != BUILDER_FULL)
        read_other(collector, ring, outcome);
    return outcome != BUILDER_FULL;
}

// Records of a target that follow each other, of `count` words each, up to `end`. The words of those that it takes.
static inline uint64_t read_run(struct collect_target *target, const uint64_t *words, uint32_t count,
                                const uint64_t *end) {
    const uint64_t head = words[0], *at = words;
    struct builder *builder = target->builder;
    uint32_t row = builder->rows, waiting = target->waiting;
    const uint32_t rows = builder->capacity - row, room = COLLECT_WAITING - waiting;
    const uint32_t most = waiting + (rows < room ? rows : room);
    do {
        target->rows[waiting] = row++;
        target->words[waiting++] = at + 1;
        at += count;
    } while (waiting < most && !target->now && (size_t)(end - at) >= count && at[0] == head);
    builder->rows = row;
    target->waiting = waiting;
    return (uint64_t)(at - words);
}

void collect_read(struct collector *collector) {
    struct collect_work *work = &collector->work;
    struct collect_targets *targets = &collector->targets;
    struct collect_ring *ring = &work->channel->ring_states[work->slot];
    uint64_t at = work->at, known = 0; // what of the targets is not counted yet
    forget_targets(targets);
    while (at < work->end) {
        const uint64_t *words = work->words + at;
        const uint64_t head = words[0];
        const uint32_t count = head >> 16 & 0xffff, place = target_of(targets, head);
        struct collect_target *target = &targets->of[place];
        const uint32_t waited = target->waiting;
        if (count == 0 || count > work->end - at)
            break; // the rest cannot be read; collect_end_work counts it
        if (targets->heads[place] == head && target->builder->rows < target->builder->capacity) {
            const uint64_t taken = read_run(target, words, count, work->words + work->end);
            known += target->waiting - waited;
            at += taken - count;
            if (target->now)
                finish_row(collector, target, words + 1, count - 1);
            if (target->waiting == COLLECT_WAITING)
                move_waiting(collector, target);
        } else {
            work->at = at;
            work->records += known;
            collector->totals.kept += known;
            known = 0;
            if (!read_unknown(collector, ring, words, count, place))
                break;
        }
        at += count;
    }
    work->at = at;
    work->records += known;
    collector->totals.kept += known;
    move_all_waiting(collector);
    if (!collector->due)
        collect_end_work(collector);
}
