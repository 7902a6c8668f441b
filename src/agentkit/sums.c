// SPDX-License-Identifier: Apache-2.0
// Tables of sums: rows and their bounds, threads that come and go, the records. Rules: agent.h. The agents of OpenCL and CUDA use it,
// and summed_records.c for others.
#include "agentkit/sums.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>

#include "agentkit/record_words.h"
#include "base/clock.h"
#include "wire/memory.h"

enum {
    OTHERS = 64, // rows "(other)" beyond the bound: kinds times tracks
    TABLE_ROWS = SUMS_ROWS_MAX + OTHERS,
    PLACES = 8192,   // of a table's index: a power of two, more than its rows
    DEVICES = 64,    // whose tracks are remembered
    PATIENCE = 2000, // yields
};
static const uint64_t KNOWN_MASK = UINT64_C(0xff) << 24, KIND_MASK = 0xff, TRACK_MASK = UINT32_MAX;

// The count and the total are apart: two additions to memory are fewer instructions than one to both at once.
struct row {
    uint64_t what, who;
    uint64_t count, shortest, total, longest;
    uint64_t delay_total, delay_shortest, delay_longest;
    uint64_t bytes;
};

// The rows of a period.
struct set {
    uint32_t rows;
    uint32_t others;                // of these
    int64_t began;                  // trace time
    uint16_t index[PLACES];         // numbers of rows, from 1
    struct row row[1 + TABLE_ROWS]; // by number; the first is of nothing
};

// Rows are added to the open set. The other one is empty, or is being written: the flag is held only to exchange the two.
struct table {
    _Atomic uint32_t locked;
    _Atomic uint32_t owned;           // by a living thread
    uint32_t number;                  // that of channel_summed
    _Atomic uint64_t *_Atomic summed; // its counter; NULL: it is not of this table alone
    struct set *open;
    struct table *next;
    _Atomic bool scratch_taken;
    uint64_t scratch[RECORD_MAX_WORDS];
    struct set sets[2];
};

bool sums_on;
uint32_t sums_host;
static struct channel *channel;
static _Atomic int64_t period;       // 0 or less: the agent does not add up
static int64_t origin;               // periods begin at it and at multiples of the period after it
static _Atomic int64_t next;         // end of the period
static _Atomic int32_t room;         // rows that may still be made
static struct table *_Atomic tables; // all there ever were
static _Atomic uint32_t table_count;
static uint32_t other_name;
static _Atomic uint32_t tracks[DEVICES];
static _Atomic uint32_t writing; // one thread at a time writes sets
static __thread struct table *own __attribute__((tls_model("initial-exec")));
static pthread_key_t thread_end;
static bool begun;

// ---- records

// clang-format off
#define SUM_WORDS(WORD) \
    SPAN_WORDS(WORD) WORD(summed, TSMITH_FIELD_SUMMED, RECORD_VALUE) \
    WORD(count, TSMITH_FIELD_COUNT, RECORD_VALUE) OPERATION_OR_NONE(WORD) DIRECTION_OR_NONE(WORD) \
    NAME_OR_NONE(WORD) STACK_OR_NONE(WORD) BYTES_OR_NONE(WORD)
#define TIMED_WORDS(WORD) \
    WORD(total, TSMITH_FIELD_TOTAL, RECORD_VALUE) WORD(shortest, TSMITH_FIELD_SHORTEST, RECORD_VALUE) \
    WORD(longest, TSMITH_FIELD_LONGEST, RECORD_VALUE)
#define DELAYED_WORDS(WORD) \
    WORD(total, TSMITH_FIELD_DELAY_TOTAL, RECORD_VALUE) \
    WORD(shortest, TSMITH_FIELD_DELAY_SHORTEST, RECORD_VALUE) \
    WORD(longest, TSMITH_FIELD_DELAY_LONGEST, RECORD_VALUE)
// clang-format on
RECORD_PART(sum_words, SUM_WORDS)
RECORD_PART(timed_words, TIMED_WORDS)
RECORD_PART(delayed_words, DELAYED_WORDS)
RECORD_PART_SHAPE(sum_words, SUM_WORDS)
RECORD_PART_SHAPE(timed_words, TIMED_WORDS)
RECORD_PART_SHAPE(delayed_words, DELAYED_WORDS)

static uint16_t shapes[SUMS_TIMED + SUMS_DELAYED + 1]; // by what is known

// A channel that is continued has them: it would grow with each session.
static void register_shape(uint32_t known, const struct record_shape *shape) {
    struct record_shape before;
    if (!shapes[known] || !channel_find_shape(channel, shapes[known], &before) ||
        before.kind != shape->kind || before.subject != shape->subject ||
        before.field_count != shape->field_count ||
        memcmp(before.fields, shape->fields, shape->field_count * sizeof *shape->fields) != 0)
        shapes[known] = channel_shape(channel, shape);
}

static void register_shapes(void) {
    struct record_shape shape = record_shape_begin(TSMITH_KIND_SUM, RECORD_SUBJECT_TRACK);
    sum_words_add(&shape);
    register_shape(0, &shape);
    timed_words_add(&shape);
    register_shape(SUMS_TIMED, &shape);
    delayed_words_add(&shape);
    register_shape(SUMS_TIMED | SUMS_DELAYED, &shape);
}

// Ticks become ns; without the length of a tick the times are not known.
static uint32_t convert_ticks(struct row *row) {
    const uint32_t known = (uint32_t)(row->what >> 24) & (SUMS_TIMED | SUMS_DELAYED | SUMS_TICKS);
    const uint64_t scale = channel_tick_scale(channel);
    if (!(known & SUMS_TICKS))
        return known;
    if (!scale)
        return 0;
    row->total = (uint64_t)((unsigned __int128)row->total * scale >> 32);
    row->shortest = (uint64_t)((unsigned __int128)row->shortest * scale >> 32);
    row->longest = (uint64_t)((unsigned __int128)row->longest * scale >> 32);
    return known & ~(uint32_t)SUMS_TICKS;
}

// A record that finds no room counts as one lost event, and stands for many.
static void write_row(struct row row, int64_t from, int64_t to) {
    struct ring *ring = channel_ring(channel);
    const uint32_t known = convert_ticks(&row);
    const uint32_t words = 1 + RECORD_PART_WORDS(sum_words) +
                           (known & SUMS_TIMED ? RECORD_PART_WORDS(timed_words) : 0) +
                           (known & SUMS_DELAYED ? RECORD_PART_WORDS(delayed_words) : 0);
    uint64_t *at = record_begin(ring, shapes[known], words, (uint32_t)(row.who & TRACK_MASK));
    if (!at) {
        if (row.count > 1)
            channel_lose(channel, TSMITH_REASON_RING_FULL, row.count - 1);
        return;
    }
    RECORD_PUT(at, sum_words, .start = (uint64_t)from, .duration = to > from ? (uint64_t)(to - from) : 0,
               .summed = row.what & KIND_MASK, .count = row.count, .operation = row.what >> 8 & 0xff,
               .direction = row.what >> 16 & 0xff, .name = row.what >> 32, .stack = row.who >> 32,
               .bytes = row.bytes);
    if (known & SUMS_TIMED)
        RECORD_PUT(at, timed_words, .total = row.total, .shortest = row.shortest, .longest = row.longest);
    if (known & SUMS_DELAYED)
        RECORD_PUT(at, delayed_words, .total = row.delay_total, .shortest = row.delay_shortest,
                   .longest = row.delay_longest);
    ring_commit(ring, words);
}

// ---- tables and threads

static inline bool try_flag(_Atomic uint32_t *flag) {
    return atomic_exchange_explicit(flag, 1, memory_order_acquire) == 0;
}

static inline void clear_flag(_Atomic uint32_t *flag) {
    atomic_store_explicit(flag, 0, memory_order_release);
}

// Not on the event path.
static bool wait_for_flag(_Atomic uint32_t *flag) {
    for (int i = 0; i < PATIENCE; i++) {
        if (try_flag(flag))
            return true;
        sched_yield();
    }
    return false;
}

static void give_back(void *table) {
    own = NULL;
    atomic_store_explicit(&((struct table *)table)->owned, 0, memory_order_release);
}

// A forked child has other counters, from when it first uses its channel.
static void find_counter(struct table *table) {
    const struct channel_gate *gate = (const struct channel_gate *)(const void *)channel;
    const bool has_own = table->number < LAYOUT_FLIGHTS - 1 && channel_ring(channel) &&
                         channel_here()->id == atomic_load(&gate->id);
    atomic_store_explicit(&table->summed, has_own ? &channel_flight(channel, table->number)->summed : NULL,
                          memory_order_relaxed);
}

static struct table *make_table(void) {
    struct table *table = memory_take(sizeof *table);
    if (!table)
        return NULL;
    table->number = atomic_fetch_add(&table_count, 1);
    find_counter(table);
    table->owned = 1;
    table->open = &table->sets[0];
    table->open->began = clock_trace_now();
    table->next = atomic_load(&tables);
    while (!atomic_compare_exchange_weak(&tables, &table->next, table))
        ;
    return table;
}

// The calling thread's: one that another thread has left, or a new one.
static __attribute__((noinline)) struct table *take_table(void) {
    struct table *table = atomic_load(&tables);
    for (; table; table = table->next) {
        uint32_t open = 0;
        if (atomic_compare_exchange_strong(&table->owned, &open, 1))
            break;
    }
    if (!table)
        table = make_table();
    if (table && pthread_setspecific(thread_end, table)) {
        give_back(table);
        return NULL;
    }
    own = table;
    return table;
}

static void empty_set(struct set *set) {
    if (set->rows)
        memset(set->index, 0, sizeof set->index);
    set->rows = set->others = 0;
}

// The rows that have been added so far; NULL: a thread is adding one. From now on the other set is open.
static struct set *exchange_sets(struct table *table, int64_t now) {
    if (!wait_for_flag(&table->locked))
        return NULL;
    struct set *full = table->open;
    table->open = full == &table->sets[0] ? &table->sets[1] : &table->sets[0];
    table->open->began = now;
    atomic_fetch_add(&room, (int32_t)(full->rows - full->others));
    clear_flag(&table->locked);
    return full;
}

static bool write_table(struct table *table, int64_t now) {
    struct set *set = exchange_sets(table, now);
    if (!set)
        return false;
    for (uint32_t i = 1; i <= set->rows; i++) {
        const struct row *row = &set->row[i];
        write_row(*row, set->began, now);
        if (row->what >> 32 == other_name && other_name)
            channel_lose(channel, TSMITH_REASON_SUM_FULL, row->count);
        channel_summed_written(channel, table->number, row->count);
    }
    empty_set(set);
    return true;
}

// The flags are of threads that the child does not have, and what was added is the parent's to write.
static void after_fork_child(void) {
    const int64_t now = clock_trace_now();
    for (struct table *table = atomic_load(&tables); table; table = table->next) {
        empty_set(&table->sets[0]);
        empty_set(&table->sets[1]);
        table->open->began = now;
        atomic_store(&table->locked, 0);
        atomic_store(&table->owned, table == own);
        atomic_store(&table->scratch_taken, false);
        atomic_store(&table->summed, NULL);
    }
    atomic_store(&writing, 0);
    atomic_store(&room, SUMS_ROWS_MAX);
}

// ---- adding

// Names and stacks are in the upper halves, and count up.
static inline uint64_t place_of(uint64_t what, uint64_t who) {
    enum { SHIFT = 64 - 13 };
    static_assert(PLACES == 1 << 13, "the places are numbered by the upper bits of a hash");
    return (what + (who << 17 | who >> 47)) * 0x9e3779b97f4a7c15u >> SHIFT;
}

static inline struct row *find_row(struct set *set, uint64_t what, uint64_t who, uint32_t *place) {
    uint64_t at = place_of(what, who);
    for (;; at = (at + 1) & (PLACES - 1)) {
        const uint64_t number = set->index[at];
        if (!number)
            break;
        struct row *row = set->row + number;
        if (row->what == what && row->who == who)
            return row;
    }
    *place = (uint32_t)at;
    return NULL;
}

static struct row *make_row(struct set *set, uint64_t what, uint64_t who, uint32_t place) {
    struct row *row = &set->row[++set->rows];
    *row = (struct row){.what = what, .who = who, .shortest = UINT64_MAX, .delay_shortest = UINT64_MAX};
    set->index[place] = (uint16_t)set->rows;
    return row;
}

// A row that is not there yet; NULL: there is no room for it, and none for that of the others.
static __attribute__((noinline)) struct row *new_row(struct set *set, uint64_t what, uint64_t who,
                                                     uint32_t place) {
    if (atomic_fetch_sub(&room, 1) > 0)
        return make_row(set, what, who, place);
    atomic_fetch_add(&room, 1);
    const uint64_t other = (what & (KIND_MASK | KNOWN_MASK)) | (uint64_t)other_name << 32;
    struct row *row = find_row(set, other, who & TRACK_MASK, &place);
    if (row || set->rows == TABLE_ROWS)
        return row;
    set->others++;
    return make_row(set, other, who & TRACK_MASK, place);
}

static inline void add_time(struct row *row, uint64_t duration) {
    row->count++;
    row->total += duration;
    if (__builtin_expect(duration < row->shortest, 0))
        row->shortest = duration;
    if (__builtin_expect(duration > row->longest, 0))
        row->longest = duration;
}

static inline void add_details(struct row *row, uint64_t delay, uint64_t bytes) {
    row->delay_total += delay;
    if (__builtin_expect(delay < row->delay_shortest, 0))
        row->delay_shortest = delay;
    if (__builtin_expect(delay > row->delay_longest, 0))
        row->delay_longest = delay;
    row->bytes += bytes;
}

// A sum of one: the flag is taken, or there is no table.
static __attribute__((noinline)) void write_one(uint64_t what, uint64_t who, uint64_t duration,
                                                uint64_t delay, uint64_t bytes) {
    struct row row = {.what = what, .who = who, .shortest = UINT64_MAX, .delay_shortest = UINT64_MAX};
    const int64_t now = clock_trace_now();
    add_time(&row, duration);
    add_details(&row, delay, bytes);
    write_row(row, now, now);
}

// Whatever is not so at most events: the thread has no table, the flag is taken, the row is not there yet, there are many tables.
static __attribute__((noinline)) void add_slowly(uint64_t what, uint64_t who, uint64_t duration,
                                                 uint64_t delay, uint64_t bytes) {
    struct table *table = own ? own : take_table();
    uint32_t place;
    struct row *row = NULL;
    if (table && !atomic_load_explicit(&table->summed, memory_order_relaxed))
        find_counter(table);
    if (table && try_flag(&table->locked)) {
        row = find_row(table->open, what, who, &place);
        if (!row)
            row = new_row(table->open, what, who, place);
        if (row) {
            channel_summed(channel, table->number, 1);
            add_time(row, duration);
            add_details(row, delay, bytes);
        }
        clear_flag(&table->locked);
    }
    if (!row)
        write_one(what, who, duration, delay, bytes);
}

// False: it was not added. Nothing is called and nothing is searched for, so that nothing need be saved.
__attribute__((always_inline)) static inline bool add(uint64_t what, uint64_t who, uint64_t duration,
                                                      bool detailed, uint64_t delay, uint64_t bytes) {
    struct table *const table = own;
    if (__builtin_expect(!table || !try_flag(&table->locked), 0))
        return false;
    struct set *const set = table->open;
    struct row *const row = set->row + set->index[place_of(what, who)]; // none: the first, which is nothing's
    _Atomic uint64_t *const summed = atomic_load_explicit(&table->summed, memory_order_relaxed);
    const bool adds = __builtin_expect(row->what == what && row->who == who && summed, 1);
    if (adds) {
        atomic_store_explicit(summed, atomic_load_explicit(summed, memory_order_relaxed) + 1,
                              memory_order_relaxed);
        add_time(row, duration);
        if (detailed)
            add_details(row, delay, bytes);
    }
    clear_flag(&table->locked);
    return adds;
}

void sums_add_time(uint64_t what, uint64_t who, uint64_t duration) {
    if (__builtin_expect(!add(what, who, duration, false, 0, 0), 0))
        add_slowly(what, who, duration, 0, 0);
}

void sums_add(uint64_t what, uint64_t who, uint64_t duration, uint64_t delay, uint64_t bytes) {
    if (__builtin_expect(!add(what, who, duration, true, delay, bytes), 0))
        add_slowly(what, who, duration, delay, bytes);
}

// ---- a place for a record

uint64_t *sums_scratch_take(void) {
    struct table *table = own ? own : take_table();
    if (!table || atomic_load_explicit(&table->scratch_taken, memory_order_relaxed))
        return NULL;
    atomic_store_explicit(&table->scratch_taken, true, memory_order_relaxed);
    atomic_signal_fence(memory_order_seq_cst);
    return table->scratch;
}

bool sums_is_scratch(const uint64_t *at) {
    return own && at == own->scratch;
}

void sums_scratch_give_back(void) {
    atomic_signal_fence(memory_order_seq_cst);
    atomic_store_explicit(&own->scratch_taken, false, memory_order_relaxed);
}

// ---- the thread of the agent that writes

// False: not all of them, because another thread is at it.
static bool write_tables(bool patient) {
    const int64_t now = clock_trace_now();
    bool all = true;
    if (!(patient ? wait_for_flag(&writing) : try_flag(&writing)))
        return false;
    for (struct table *table = atomic_load(&tables); table; table = table->next)
        all &= write_table(table, now);
    clear_flag(&writing);
    return all;
}

void sums_look(void) {
    // Looked at once: sums_start may change it where a control thread could not be stopped in time.
    const int64_t length = atomic_load_explicit(&period, memory_order_relaxed);
    if (!sums_on || length <= 0)
        return;
    const int64_t now = clock_trace_now();
    // What could not be written is tried again at the next look.
    if (now >= atomic_load_explicit(&next, memory_order_relaxed) && write_tables(false))
        atomic_store_explicit(&next, now + length - (now - origin) % length, memory_order_relaxed);
}

int64_t sums_until_due(void) {
    return atomic_load_explicit(&next, memory_order_relaxed) - clock_trace_now();
}

void sums_write(void) {
    if (sums_on)
        (void)write_tables(true);
}

// ---- attaching

// What was added to them after the last pass of an earlier channel is counted there. False: a thread has stopped in the middle of adding.
static bool empty_tables(int64_t now) {
    if (!wait_for_flag(&writing))
        return false;
    struct table *table = atomic_load(&tables);
    for (; table && wait_for_flag(&table->locked); table = table->next) {
        atomic_fetch_add(&room, (int32_t)(table->open->rows - table->open->others));
        empty_set(&table->sets[0]);
        empty_set(&table->sets[1]);
        table->open->began = now;
        find_counter(table);
        clear_flag(&table->locked);
    }
    clear_flag(&writing);
    return !table;
}

uint32_t sums_track(uint32_t device, uint16_t flags) {
    const uint32_t known = device < DEVICES ? atomic_load(&tracks[device]) : 0;
    if (known)
        return known;
    const tsmith_track track = {.kind = TSMITH_TRACK_CUSTOM,
                                .flags = flags,
                                .name = channel_string_cstr(channel, "sums"),
                                .device = device};
    const uint32_t made = channel_track(channel, &track);
    uint32_t none = 0;
    if (device < DEVICES && !atomic_compare_exchange_strong(&tracks[device], &none, made))
        return none;
    return made;
}

void sums_start(struct channel *of) {
    const int64_t now = clock_trace_now();
    const bool first = !begun;
    channel = of;
    const int64_t length = channel_aggregate(of);
    atomic_store_explicit(&period, length, memory_order_relaxed);
    if (length <= 0 || (first && pthread_key_create(&thread_end, give_back))) {
        sums_on = false;
        return;
    }
    for (uint32_t i = 0; i < DEVICES; i++)
        atomic_store(&tracks[i], 0); // those are of the session
    if (!empty_tables(now)) {
        sums_on = false; // its events are recorded
        return;
    }
    origin = now;
    atomic_store(&next, now + length);
    other_name = channel_string_cstr(of, "(other)");
    register_shapes();
    sums_host = sums_track(0, 0);
    if (first) {
        atomic_store(&room, SUMS_ROWS_MAX);
        pthread_atfork(NULL, NULL, after_fork_child);
    }
    begun = true;
    sums_on = true;
}
