// SPDX-License-Identifier: Apache-2.0
// Point-to-point messages of MPI: reads them from a trace, matches them between ranks, and says who waits for whom. ranks.c and
// ranks_report.c call it.
//
// Messages of one communicator, sender, receiver and tag do not overtake each other: the n-th that is sent is the n-th for which a receive
// was begun. Where the two traces have different numbers of them, some are missing, and none is matched.
#include "analyze/ranks_messages.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/sorted.h"
#include "state/sweep.h"

// ---- reading

static const struct {
    const char *name;
    tsmith_type type;
} FIELDS[MESSAGE_FIELDS] = {
    [MESSAGE_COMM] = {"comm", TSMITH_TYPE_U64}, [MESSAGE_PEER] = {"peer", TSMITH_TYPE_I64},
    [MESSAGE_TAG] = {"tag", TSMITH_TYPE_I64},   [MESSAGE_SENDS] = {"sends", TSMITH_TYPE_BOOL},
    [MESSAGE_FROM] = {"from", TSMITH_TYPE_I64}, [MESSAGE_FROM_TAG] = {"from_tag", TSMITH_TYPE_I64},
    [MESSAGE_WAIT] = {"wait", TSMITH_TYPE_U64}};

void messages_learn_field(struct message_reading *reading, const char *name, tsmith_type type,
                          uint32_t field) {
    for (size_t i = 0; i < MESSAGE_FIELDS; i++)
        if (type == FIELDS[i].type && strcmp(name, FIELDS[i].name) == 0)
            reading->fields[i] = field;
}

static bool has_name(tsmith_string name, const char *const *names) {
    for (; *names; names++) {
        const size_t length = strlen(*names);
        if (name.length >= length && memcmp(name.bytes, *names, length) == 0 &&
            (name.length == length || strcmp(name.bytes + length, "_c") == 0))
            return true;
    }
    return false;
}

static bool add_message(struct rank *rank, const struct rank_message *message) {
    struct rank_message *place = ARRAY_PUSH(rank->messages, rank->message_count, rank->message_capacity);
    if (place)
        *place = *message;
    return place;
}

static bool add_wait(struct message_reading *reading, uint64_t correlation, int64_t start) {
    struct message_wait *place = ARRAY_PUSH(reading->waits, reading->wait_count, reading->wait_capacity);
    if (place)
        *place = (struct message_wait){correlation, start};
    return place;
}

struct row {
    const tsmith_view *views;
    uint32_t row;
    int64_t start, end;
};

// A call that returns when its message has come or its buffer is free.
static bool add_blocking(struct rank *rank, const struct row *row) {
    struct rank_message message = {.posted = row->start, .blocks = row->start, .end = row->end};
    bool done = true;
    if (tsmith_view_u64(&row->views[MESSAGE_COMM], row->row, &message.comm) &&
        tsmith_view_i64(&row->views[MESSAGE_PEER], row->row, &message.peer) &&
        tsmith_view_i64(&row->views[MESSAGE_TAG], row->row, &message.tag) &&
        tsmith_view_has(&row->views[MESSAGE_SENDS], row->row)) {
        message.sends = ((const uint8_t *)row->views[MESSAGE_SENDS].values)[row->row];
        done = add_message(rank, &message);
    }
    if (tsmith_view_u64(&row->views[MESSAGE_COMM], row->row, &message.comm) &&
        tsmith_view_i64(&row->views[MESSAGE_FROM], row->row, &message.peer) &&
        tsmith_view_i64(&row->views[MESSAGE_FROM_TAG], row->row, &message.tag)) {
        message.sends = false;
        done = done && add_message(rank, &message);
    }
    return done;
}

// A request. `blocks` becomes the number of the call that completed it, until messages_finish_trace.
static bool add_request(struct rank *rank, const struct row *row) {
    struct rank_message message = {.posted = row->start, .end = row->end, .is_request = true};
    if (!tsmith_view_u64(&row->views[MESSAGE_COMM], row->row, &message.comm) ||
        !tsmith_view_i64(&row->views[MESSAGE_PEER], row->row, &message.peer) ||
        !tsmith_view_i64(&row->views[MESSAGE_TAG], row->row, &message.tag) ||
        !tsmith_view_has(&row->views[MESSAGE_SENDS], row->row))
        return true;
    message.sends = ((const uint8_t *)row->views[MESSAGE_SENDS].values)[row->row];
    message.blocks = (int64_t)tsmith_view_u64_or(&row->views[MESSAGE_WAIT], row->row, 0);
    return add_message(rank, &message);
}

// Notes whether MPI begins in the batch.
static void find_begin(struct message_reading *reading, struct rank *rank,
                       const tsmith_dictionary *dictionary, const tsmith_batch *batch) {
    static const char *const BEGINS[MESSAGE_BEGINS] = {"MPI_Init", "MPI_Init_thread", "MPI_Session_init"};
    static const uint32_t FIELDS_USED[] = {TSMITH_FIELD_KIND, TSMITH_FIELD_NAME};
    const uint32_t *begins = reading->begins;
    tsmith_view views[2];
    for (; !rank->is_begun && reading->strings_seen < tsmith_dictionary_string_count(dictionary);
         reading->strings_seen++)
        for (size_t i = 0; i < MESSAGE_BEGINS; i++)
            if (strcmp(tsmith_dictionary_string(dictionary, reading->strings_seen).bytes, BEGINS[i]) == 0)
                reading->begins[i] = reading->strings_seen;
    if (rank->is_begun || !(begins[0] || begins[1] || begins[2]))
        return;
    tsmith_view_batch(batch, FIELDS_USED, 2, views);
    const uint8_t *kinds = tsmith_view_every(&views[0]);
    for (uint32_t row = 0; kinds && row < tsmith_batch_count(batch); row++) {
        const uint32_t name = kinds[row] == TSMITH_KIND_API ? tsmith_view_id(&views[1], row) : 0;
        rank->is_begun |= name && (name == begins[0] || name == begins[1] || name == begins[2]);
    }
}

bool messages_add_batch(struct message_reading *reading, struct rank *rank,
                        const tsmith_dictionary *dictionary, const tsmith_batch *batch) {
    static const char *const BLOCKING[] = {"MPI_Send", "MPI_Ssend", "MPI_Rsend",    "MPI_Bsend",
                                           "MPI_Recv", "MPI_Mrecv", "MPI_Sendrecv", "MPI_Sendrecv_replace",
                                           NULL},
                             *const WAITS[] = {"MPI_Wait", "MPI_Waitall", "MPI_Waitany", "MPI_Waitsome",
                                               NULL},
                             *const REQUESTS[] = {"MPI_Isend", "MPI_Issend", "MPI_Irsend", "MPI_Ibsend",
                                                  "MPI_Irecv", "MPI_Imrecv", NULL};
    tsmith_view views[MESSAGE_FIELDS], names, correlations;
    tsmith_spans spans;
    static const uint32_t NAME = TSMITH_FIELD_NAME, CORRELATION = TSMITH_FIELD_CORRELATION;
    find_begin(reading, rank, dictionary, batch);
    if (!reading->fields[MESSAGE_COMM] || !tsmith_view_spans(batch, &spans))
        return true;
    for (size_t i = 0; i < MESSAGE_FIELDS; i++)
        views[i] = tsmith_view_typed(batch, reading->fields[i], FIELDS[i].type);
    tsmith_view_batch(batch, &NAME, 1, &names);
    tsmith_view_batch(batch, &CORRELATION, 1, &correlations);
    bool done = true;
    for (uint32_t at = 0; done && at < tsmith_batch_count(batch); at++) {
        const uint8_t kind = spans.kinds[at];
        struct row row = {.views = views, .row = at, .start = spans.starts[at]};
        int64_t duration;
        uint64_t correlation;
        if ((kind != TSMITH_KIND_API && kind != TSMITH_KIND_RANGE) ||
            !tsmith_view_i64(&spans.durations, at, &duration) || duration < 0 ||
            __builtin_add_overflow(row.start, duration, &row.end))
            continue;
        const tsmith_string name = tsmith_dictionary_string(dictionary, tsmith_view_id(&names, at));
        if (kind == TSMITH_KIND_RANGE)
            done = !has_name(name, REQUESTS) || add_request(rank, &row);
        else if (has_name(name, BLOCKING))
            done = add_blocking(rank, &row);
        else if (has_name(name, WAITS) && tsmith_view_u64(&correlations, at, &correlation))
            done = add_wait(reading, correlation, row.start);
    }
    return done;
}

static int by_correlation(const void *left, const void *right) {
    const struct message_wait *a = left, *b = right;
    return a->correlation < b->correlation ? -1 : a->correlation > b->correlation;
}

// Messages that may be matched are neighbors, in the order in which they were begun.
static int compare_channels(const struct rank_message *a, const struct rank_message *b) {
    if (a->comm != b->comm)
        return a->comm < b->comm ? -1 : 1;
    if (a->peer != b->peer)
        return a->peer < b->peer ? -1 : 1;
    if (a->tag != b->tag)
        return a->tag < b->tag ? -1 : 1;
    return a->sends - b->sends;
}

static int by_channel(const void *left, const void *right) {
    const struct rank_message *a = left, *b = right;
    const int order = compare_channels(a, b);
    if (order)
        return order;
    if (a->posted != b->posted)
        return a->posted < b->posted ? -1 : 1;
    if (a->end != b->end)
        return a->end < b->end ? -1 : 1;
    return a->blocks < b->blocks ? -1 : a->blocks > b->blocks;
}

void messages_finish_trace(struct message_reading *reading, struct rank *rank) {
    if (reading->wait_count)
        qsort(reading->waits, reading->wait_count, sizeof *reading->waits, by_correlation);
    for (size_t i = 0; i < rank->message_count; i++) {
        struct rank_message *message = &rank->messages[i];
        if (!message->is_request)
            continue;
        const struct message_wait key = {.correlation = (uint64_t)message->blocks},
                                  *found = reading->wait_count
                                               ? bsearch(&key, reading->waits, reading->wait_count,
                                                         sizeof key, by_correlation)
                                               : NULL;
        message->blocks = found && found->start > message->posted ? found->start : message->end;
        message->blocks = message->blocks < message->end ? message->blocks : message->end;
        message->is_request = false;
    }
    if (rank->message_count)
        qsort(rank->messages, rank->message_count, sizeof *rank->messages, by_channel);
    free(reading->waits);
    reading->waits = NULL;
}

// ---- matching

struct pair {
    uint32_t from, to; // indices of ranks
    uint64_t matched, late_sends, late_receives, unclear;
    int64_t for_sender, for_receiver; // ns that the receiver waited, and the sender
};

struct pairs {
    const tsmith_ranks *ranks;
    struct pair *items;
    size_t count, capacity;
    uint64_t messages, matched, unclear;
};

static size_t channel_end(const struct rank *rank, size_t from) {
    size_t to = from + 1;
    while (to < rank->message_count && compare_channels(&rank->messages[from], &rank->messages[to]) == 0)
        to++;
    return to;
}

// The first message of a channel; the count if there is none.
static size_t find_channel(const struct rank *rank, const struct rank_message *channel) {
    const size_t at =
        SORTED_FIND(i, 0, rank->message_count, compare_channels(&rank->messages[i], channel) < 0);
    return at < rank->message_count && compare_channels(&rank->messages[at], channel) == 0
               ? at
               : rank->message_count;
}

static const struct rank *find_rank(const tsmith_ranks *ranks, int64_t number) {
    const size_t at = SORTED_FIND(i, 0, ranks->count, ranks->items[i].number < number);
    return at < ranks->count && ranks->items[at].number == number ? &ranks->items[at] : NULL;
}

// ns from `left` on the clock of one rank to `right` on that of another.
static __int128 distance(const struct rank *left_rank, int64_t left, const struct rank *right_rank,
                         int64_t right) {
    return ((__int128)right - right_rank->offset) - ((__int128)left - left_rank->offset);
}

// The time that a rank waited in `waiting`, because the other side began only at `begun`; 0: it did not.
static int64_t waiting_time(const struct rank *rank, const struct rank_message *waiting,
                            const struct rank *other, int64_t begun) {
    const __int128 late = distance(rank, waiting->blocks, other, begun);
    const __int128 blocked = (__int128)waiting->end - waiting->blocks;
    const __int128 waited = late < blocked ? late : blocked;
    return waited > 0 && waited < INT64_MAX ? (int64_t)waited : 0;
}

static void judge_message(struct pair *pair, const struct rank *sender, const struct rank_message *send,
                          const struct rank *receiver, const struct rank_message *receive) {
    const int64_t bound = sweep_add(sender->bound, receiver->bound),
                  for_sender = waiting_time(receiver, receive, sender, send->posted),
                  for_receiver = waiting_time(sender, send, receiver, receive->posted);
    pair->matched++;
    if (!sender->is_aligned || !receiver->is_aligned) {
        pair->unclear++;
    } else if (for_sender > bound) {
        pair->late_sends++;
        pair->for_sender = sweep_add(pair->for_sender, for_sender);
    } else if (for_receiver > bound) {
        pair->late_receives++;
        pair->for_receiver = sweep_add(pair->for_receiver, for_receiver);
    } else if (for_sender || for_receiver) {
        pair->unclear++;
    }
}

// The receives of the messages of a channel that a rank sends; NULL: they are not matched.
static const struct rank_message *find_receives(const tsmith_ranks *ranks, const struct rank *sender,
                                                size_t first, size_t count, uint32_t *to) {
    const struct rank_message *sends = &sender->messages[first];
    const struct rank *receiver = find_rank(ranks, sends->peer);
    struct rank_message other = *sends;
    other.peer = sender->number;
    other.sends = false;
    const size_t at = receiver && receiver != sender ? find_channel(receiver, &other) : 0;
    if (!receiver || receiver == sender || at == receiver->message_count ||
        channel_end(receiver, at) - at != count)
        return NULL;
    *to = (uint32_t)(receiver - ranks->items);
    return &receiver->messages[at];
}

// All messages of a channel that one rank sends; false when memory is exhausted.
static bool match_channel(struct pairs *pairs, uint32_t from, size_t first, size_t count) {
    const struct rank *sender = &pairs->ranks->items[from];
    uint32_t to;
    const struct rank_message *receives = find_receives(pairs->ranks, sender, first, count, &to);
    struct pair *pair = receives ? ARRAY_PUSH(pairs->items, pairs->count, pairs->capacity) : NULL;
    if (!pair)
        return !receives;
    *pair = (struct pair){.from = from, .to = to};
    for (size_t i = 0; i < count; i++)
        judge_message(pair, sender, &sender->messages[first + i], &pairs->ranks->items[to], &receives[i]);
    pairs->matched += 2 * count;
    pairs->unclear += pair->unclear;
    return true;
}

// ---- orders

static int by_value(const void *left, const void *right) {
    const int64_t *a = left, *b = right;
    return *a < *b ? -1 : *a > *b;
}

// A recording that began later may have as many messages as that of the other side, but not the same ones.
static bool is_complete(const struct rank *rank) {
    return rank->is_begun && !rank->lost && !rank->missing && !rank->truncated;
}

struct ends {
    int64_t *items;
    size_t capacity;
};

// Before the k-th receive of a channel has ended, k sends have begun: whichever send it was that it received.
static bool visit_channel(const tsmith_ranks *ranks, uint32_t from, size_t first, size_t count,
                          struct ends *ends, messages_visit *visit, void *context) {
    const struct rank *sender = &ranks->items[from];
    uint32_t to;
    const struct rank_message *receives = find_receives(ranks, sender, first, count, &to);
    if (!receives || !is_complete(&ranks->items[to]))
        return true;
    if (!ARRAY_RESERVE(ends->items, ends->capacity, count))
        return false;
    bool sorted = true;
    for (size_t i = 0; i < count; i++) {
        ends->items[i] = receives[i].end;
        sorted &= !i || ends->items[i - 1] <= ends->items[i];
    }
    if (!sorted)
        qsort(ends->items, count, sizeof *ends->items, by_value);
    for (size_t i = 0; i < count; i++)
        if (!visit(context, from, sender->messages[first + i].posted, to, ends->items[i]))
            return false;
    return true;
}

bool messages_each_order(const tsmith_ranks *ranks, messages_visit *visit, void *context) {
    struct ends ends = {0};
    bool done = true;
    for (uint32_t i = 0; done && i < ranks->count; i++) {
        const struct rank *rank = &ranks->items[i];
        for (size_t from = 0, to; done && is_complete(rank) && from < rank->message_count; from = to) {
            to = channel_end(rank, from);
            done = !rank->messages[from].sends ||
                   visit_channel(ranks, i, from, to - from, &ends, visit, context);
        }
    }
    free(ends.items);
    return done;
}

// ---- pairs

static int by_ranks(const void *left, const void *right) {
    const struct pair *a = left, *b = right;
    if (a->from != b->from)
        return a->from < b->from ? -1 : 1;
    return a->to < b->to ? -1 : a->to > b->to;
}

static int by_waiting(const void *left, const void *right) {
    const struct pair *a = left, *b = right;
    const int64_t x = sweep_add(a->for_sender, a->for_receiver),
                  y = sweep_add(b->for_sender, b->for_receiver);
    return x != y ? (x > y ? -1 : 1) : by_ranks(left, right);
}

// The channels of two ranks become one pair.
static void join_pairs(struct pairs *pairs) {
    size_t kept = 0;
    if (pairs->count)
        qsort(pairs->items, pairs->count, sizeof *pairs->items, by_ranks);
    for (size_t i = 0; i < pairs->count; i++) {
        struct pair *last = kept ? &pairs->items[kept - 1] : NULL;
        const struct pair one = pairs->items[i];
        if (!last || by_ranks(last, &one) != 0) {
            pairs->items[kept++] = one;
            continue;
        }
        last->matched += one.matched;
        last->late_sends += one.late_sends;
        last->late_receives += one.late_receives;
        last->unclear += one.unclear;
        last->for_sender = sweep_add(last->for_sender, one.for_sender);
        last->for_receiver = sweep_add(last->for_receiver, one.for_receiver);
    }
    pairs->count = kept;
    if (kept)
        qsort(pairs->items, kept, sizeof *pairs->items, by_waiting);
}

// ---- the report

// The rank for whose sends (or receives) the others wait longest in all, as a note.
static bool note_worst(const struct pairs *pairs, struct report *report, bool sends) {
    const size_t count = pairs->ranks->count;
    int64_t *waited = calloc(count, sizeof *waited);
    uint64_t *messages = calloc(count, sizeof *messages);
    char text[REPORT_TEXT];
    size_t worst = 0;
    const bool done = waited && messages;
    for (size_t i = 0; done && i < pairs->count; i++) {
        const struct pair *pair = &pairs->items[i];
        const uint32_t rank = sends ? pair->from : pair->to;
        waited[rank] = sweep_add(waited[rank], sends ? pair->for_sender : pair->for_receiver);
        messages[rank] += sends ? pair->late_sends : pair->late_receives;
        worst = waited[rank] > waited[worst] ? rank : worst;
    }
    if (done && waited[worst] && sends)
        report_note(report, "Late sender: receivers wait %s for %llu message%s of rank %lld.",
                    report_duration(text, waited[worst]), (unsigned long long)messages[worst],
                    report_plural(messages[worst]), (long long)pairs->ranks->items[worst].number);
    else if (done && waited[worst])
        report_note(report, "Late receiver: senders wait %s until rank %lld receives %llu message%s.",
                    report_duration(text, waited[worst]), (long long)pairs->ranks->items[worst].number,
                    (unsigned long long)messages[worst], report_plural(messages[worst]));
    free(waited);
    free(messages);
    return done;
}

static void write_pairs(const struct pairs *pairs, struct report *report) {
    static const tsmith_report_column COLUMNS[] = {{"from", TSMITH_CELL_COUNT},
                                                   {"to", TSMITH_CELL_COUNT},
                                                   {"messages", TSMITH_CELL_COUNT},
                                                   {"late_sends", TSMITH_CELL_COUNT},
                                                   {"receiver_waits", TSMITH_CELL_DURATION},
                                                   {"late_receives", TSMITH_CELL_COUNT},
                                                   {"sender_waits", TSMITH_CELL_DURATION},
                                                   {"unclear", TSMITH_CELL_COUNT}};
    struct report_table *table =
        REPORT_TABLE(report, "messages",
                     "late_sends: the send began after the receiver had begun to wait; late_receives: the "
                     "receive began after "
                     "the sender had begun to wait; unclear: by less than the clocks of the two ranks agree",
                     COLUMNS);
    for (size_t i = 0; i < pairs->count; i++) {
        const struct pair *pair = &pairs->items[i];
        const int64_t cells[] = {pairs->ranks->items[pair->from].number,
                                 pairs->ranks->items[pair->to].number,
                                 (int64_t)pair->matched,
                                 (int64_t)pair->late_sends,
                                 pair->for_sender,
                                 (int64_t)pair->late_receives,
                                 pair->for_receiver,
                                 (int64_t)pair->unclear};
        for (size_t k = 0; k < sizeof cells / sizeof *cells; k++)
            report_integer(report, table, cells[k]);
    }
}

bool ranks_write_messages(const tsmith_ranks *ranks, struct report *report) {
    struct pairs pairs = {.ranks = ranks};
    bool done = true;
    for (uint32_t i = 0; done && i < ranks->count; i++) {
        const struct rank *rank = &ranks->items[i];
        pairs.messages += rank->message_count;
        for (size_t from = 0, to; done && from < rank->message_count; from = to) {
            to = channel_end(rank, from);
            done = !rank->messages[from].sends || match_channel(&pairs, i, from, to - from);
        }
    }
    join_pairs(&pairs);
    if (done)
        write_pairs(&pairs, report);
    if (done && pairs.messages) {
        done = note_worst(&pairs, report, true) && note_worst(&pairs, report, false);
        if (pairs.matched < pairs.messages)
            report_note(report, "%llu of %llu sends and receives have no counterpart in the traces.",
                        (unsigned long long)(pairs.messages - pairs.matched),
                        (unsigned long long)pairs.messages);
    }
    free(pairs.items);
    return done;
}
