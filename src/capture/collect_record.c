// SPDX-License-Identifier: Apache-2.0
// Reading records: the hot path of the collector. One pass over the words, one row per event.
//
// What the words of a shape become is worked out once for each builder that gets such rows, as a list of moves into its
// columns (struct builder_layout). A record is then a few stores; which values there are follows from the values of a
// whole run of rows.
#include <string.h>

#include "capture/collect_private.h"

// An encoding that no record has: the name that its head says.
enum { MOVE_NAME = 0x7f };

// ---- layouts

// Moves of one class follow each other, so that each has a loop of its own.
enum move_class { MOVE_PLAIN, MOVE_STRING, MOVE_TRACK, MOVE_OTHER, MOVE_CLASSES };

static enum move_class class_of(const struct builder_move *move) {
    if (move->eager)
        return MOVE_OTHER;
    switch (move->encoding) {
    case RECORD_VALUE:
    case RECORD_DEVICE_TIME:
        return MOVE_PLAIN;
    case RECORD_STRING:
        return MOVE_STRING;
    case RECORD_TRACK:
        return MOVE_TRACK;
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
    // An id of 0 is no value whatever the shape says; START is always there.
    bool is_id = encoding == RECORD_STRING || encoding == RECORD_TRACK || encoding == RECORD_STACK ||
                 encoding == MOVE_NAME;
    bool converted = encoding == RECORD_TICK || encoding == RECORD_TICK_END || encoding == RECORD_DEVICE_END;
    struct builder_move *move = &moves[count];
    *move = (struct builder_move){.column = (uint16_t)(column - builder->columns),
                                  .word = (uint8_t)word,
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
static void lay_out_marks(const struct builder *builder, struct builder_layout *layout) {
    const uint16_t kind = builder->column_of[TSMITH_FIELD_KIND];
    layout->mark[layout->marks++] = (struct builder_mark){.valid = builder->columns[kind - 1].valid};
    for (int optional = 0; optional <= 1; optional++) {
        for (uint32_t i = 0; i < layout->count; i++) {
            const struct builder_move *move = &layout->moves[i];
            if (!move->eager && move->optional == optional)
                layout->mark[layout->marks++] = (struct builder_mark){
                    .valid = builder->columns[move->column].valid, .values = move->values};
        }
        layout->always = optional ? layout->always : layout->marks;
    }
}

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
    *layout = (struct builder_layout){.kind = plan->kind};
    for (int class = 0; class < MOVE_CLASSES; class ++) {
        for (uint32_t i = 0; i < count; i++) {
            if (class_of(&moves[i]) != (enum move_class) class)
                continue;
            layout->moves[layout->count] = moves[i];
            layout->moves[layout->count++].values = builder->columns[moves[i].column].values;
            layout->device |= moves[i].device;
        }
        layout->ends[class] = layout->count;
    }
    lay_out_marks(builder, layout);
    layout->number = plan->number;
    return true;
}

// The builder's next rows are of this shape.
static bool begin_run(struct builder *builder, const struct collect_plan *plan) {
    struct builder_layout *layout = builder_layout(builder, plan->number);
    if (!layout || (!layout->number && !lay_out(builder, plan, layout)))
        return false;
    builder_run(builder, layout);
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

static uint64_t value_of(struct collector *collector, const struct builder_move *move,
                         const struct record *record) {
    const struct collect_channel *channel = collector->work.channel;
    const uint64_t word = record->words[move->word];
    switch (move->encoding) {
    case RECORD_TICK:
        return (uint64_t)session_clock_convert(&collector->clock, word);
    case RECORD_TICK_END: {
        int64_t begun = session_clock_convert(&collector->clock, record->words[0]);
        int64_t end = session_clock_convert(&collector->clock, word);
        return end > begun ? (uint64_t)end - (uint64_t)begun : 0;
    }
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
        // Where it had none, whoever took it has counted that.
        if (!id && word)
            lose_stack(collector, record->words[0]);
        return id;
    }
    default:
        return word;
    }
}

// Of a field that says row by row whether it is there.
static void set_eagerly(struct builder *builder, const struct builder_move *move, uint32_t row, uint64_t word,
                        uint64_t value) {
    struct builder_column *column = &builder->columns[move->column];
    bool is_id = move->encoding != RECORD_TICK && move->encoding != RECORD_TICK_END &&
                 move->encoding != RECORD_DEVICE_END;
    if (move->optional && (is_id ? value : word) == 0)
        return;
    column->values[row] = value;
    column->valid[row / 64] |= 1ull << (row % 64);
    if (move->device)
        column->device[row / 64] |= 1ull << (row % 64);
}

// The next row, in a run of this layout. What the program's ids mean stands in `channel`, which does not change meanwhile.
static inline void append(struct collector *collector, const struct collect_channel *channel,
                          struct builder *builder, const struct builder_layout *layout,
                          const struct record *record) {
    const uint64_t *words = record->words;
    const uint32_t row = builder->rows++;
    const struct builder_move *move = layout->moves;
    const struct builder_move *end = layout->moves + layout->ends[MOVE_PLAIN];
    for (; move < end; move++)
        move->values[row] = words[move->word];
    for (end = layout->moves + layout->ends[MOVE_STRING]; move < end; move++)
        move->values[row] = collect_id(&channel->strings, words[move->word]);
    for (end = layout->moves + layout->ends[MOVE_TRACK]; move < end; move++)
        move->values[row] = collect_id(&channel->tracks, words[move->word]);
    for (end = layout->moves + layout->count; move < end; move++) {
        uint64_t value = value_of(collector, move, record);
        if (move->eager)
            set_eagerly(builder, move, row, words[move->word], value);
        else
            move->values[row] = value;
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

// What a row has beyond its values.
static bool add_more(struct collector *collector, struct builder *builder, const struct collect_plan *plan,
                     const struct record *record) {
    if (plan->queued && plan->not_before && plan->not_after)
        observe_device(collector, builder, plan, record->words);
    return (!plan->list || append_list(builder, plan, record)) &&
           (plan->role != RECORD_BEGIN || builder_open_range(builder, record->words - 1, record->count + 1));
}

// Records whose heads are the same are of one shape, as long, of one subject: what the first of them was found to be holds
// for the others of the sub-buffer, as long as one thread has it.
enum { TARGETS = 64 };
struct target {
    uint64_t head; // 0: none
    struct builder *builder;
    const struct collect_plan *plan;
    struct builder_layout *layout;
    uint32_t number; // of the plan, and of the layout as long as it is the plan's
    uint32_t name;
    bool more;
};

static struct target *target_of(struct target *targets, uint64_t head) {
    return &targets[(head >> 32 ^ head * 7) % TARGETS];
}

// One record of `count` words after its head, of which nothing is known. What was found out goes to `target`.
static enum outcome read_record(struct collector *collector, uint64_t head, const uint64_t *words,
                                uint32_t count, struct target *target) {
    struct collect_work *work = &collector->work;
    struct collect_channel *channel = work->channel;
    struct record record = {.words = words, .count = count};
    uint32_t shape = head & 0xffff, subject = (uint32_t)(head >> 32), local = subject;
    if (shape == 0 || shape >= channel->plan_count)
        return DAMAGED;
    const struct collect_plan *plan = &channel->plans[shape];
    if (plan->kind == TSMITH_KIND_NONE || count < plan->step_count)
        return DAMAGED;
    if (plan->role == RECORD_END)
        return end_range(collector, words[0]);
    struct builder *builder = work->builder;
    if (plan->subject == RECORD_SUBJECT_NAME) {
        record.name = collect_id(&channel->strings, subject);
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
    builder->records++;
    bool running = builder->run && builder->run->number == plan->number && builder->rows < builder->capacity;
    if (!running && !begin_run(builder, plan)) {
        collector->out_of_memory = true;
        return KEPT;
    }
    append(collector, channel, builder, builder->run, &record);
    if (!add_more(collector, builder, plan, &record))
        collector->out_of_memory = true;
    *target = (struct target){.head = collector->known ? 0 : head,
                              .builder = builder,
                              .plan = plan,
                              .layout = builder->run,
                              .number = plan->number,
                              .name = record.name,
                              .more = plan->list || plan->queued || plan->role == RECORD_BEGIN};
    return KEPT;
}

// The same where all is known. False: it is not.
static inline bool read_known(struct collector *collector, const struct collect_channel *channel,
                              const struct target *target, uint64_t head, const uint64_t *words) {
    struct builder *builder = target->builder;
    // A builder without a run was handed out meanwhile, and must be touched again.
    if (target->head != head || !builder->run || target->layout->number != target->number ||
        builder->rows >= builder->capacity)
        return false;
    if (builder->run != target->layout) {
        builder_settle(builder);
        builder_run(builder, target->layout);
    }
    const struct record record = {
        .words = words, .count = (uint32_t)(head >> 16 & 0xffff) - 1, .name = target->name};
    append(collector, channel, builder, builder->run, &record);
    builder->records++;
    if (target->more && !add_more(collector, builder, target->plan, &record))
        collector->out_of_memory = true;
    return true;
}

void collect_reopen_range(struct collector *collector, struct collect_channel *channel,
                          struct builder *builder, const uint64_t *record, uint32_t words) {
    uint32_t shape = record[0] & 0xffff;
    bool begins =
        shape != 0 && shape < channel->plan_count && channel->plans[shape].kind != TSMITH_KIND_NONE &&
        channel->plans[shape].role == RECORD_BEGIN && channel->plans[shape].subject == RECORD_SUBJECT_NAME;
    // As a record of the thread's ring, but of none of its sub-buffers.
    collector->work = (struct collect_work){.channel = channel, .builder = builder};
    if (begins && collect_ring_of(channel, 0))
        read_record(collector, record[0], record + 1, words - 1, &(struct target){.head = 0});
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

void collect_read(struct collector *collector) {
    struct collect_work *work = &collector->work;
    struct collect_ring *ring = &work->channel->ring_states[work->slot];
    struct target targets[TARGETS] = {{.head = 0}};
    while (work->at < work->end && !collector->due) {
        const uint64_t *words = work->words + work->at;
        uint64_t head = words[0];
        uint32_t count = head >> 16 & 0xffff;
        if (count == 0 || count > work->end - work->at)
            break; // the rest cannot be read; collect_end_work counts it
        struct target *target = target_of(targets, head);
        if (read_known(collector, work->channel, target, head, words + 1)) {
            work->records++;
            collector->totals.kept++;
        } else if ((head & 0xffff) == RECORD_SWITCH) {
            collect_switch_thread(collector, work, ring, (uint32_t)(head >> 32), collect_here(work));
            memset(targets, 0, sizeof targets);
        } else {
            enum outcome outcome = read_record(collector, head, words + 1, count - 1, target);
            if (outcome == BUILDER_FULL)
                return;
            read_other(collector, ring, outcome);
        }
        work->at += count;
    }
    if (!collector->due)
        collect_end_work(collector);
}
