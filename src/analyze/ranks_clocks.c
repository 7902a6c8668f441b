// SPDX-License-Identifier: Apache-2.0
// The trace clocks of the ranks: how those of several hosts relate, from what the traces state (probes, UTC, PTP), from messages that are
// sent before they are received, and from collectives that no rank leaves before all have come. ranks_report.c calls it.
//
// Collectives alone bound the offset of two clocks only by their own lengths, which is never better than the lateness to be
// measured. So a rank is aligned by clocks only if probes, UTC, PTP or messages relate its host; collectives then narrow the interval or
// contradict it.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/ranks_match.h"
#include "analyze/ranks_messages.h"
#include "state/host_orders.h"
#include "state/sweep.h"

enum { LOOKS = 16, NOTES_MOST = 4, SOURCES_TEXT = 64 };

// ---- conditions of events

// Of one collective, on the ranks of one clock: it cannot end anywhere before it began everywhere.
struct extent {
    size_t occurrence;                      // 1 + where its members begin
    const struct rank_member *last, *first; // that began last, and that ended first
};

struct orders {
    const struct rank *ranks;
    struct host_orders kept;
    struct extent *extents; // by clock
    uint32_t *clocks;       // of the collective at hand
};

// The times of calls are those of the trace clock within an error, which a trace states.
static bool add_order(struct orders *orders, const struct rank *a, int64_t first, const struct rank *b,
                      int64_t second, uint32_t source) {
    const int64_t error = sweep_add(a->claims.ticks_error, b->claims.ticks_error);
    return host_orders_add(&orders->kept, a->clock, first, b->clock, sweep_add(second, error), source);
}

static bool add_message(void *context, uint32_t from, int64_t sent, uint32_t to, int64_t received) {
    struct orders *orders = context;
    return add_order(orders, &orders->ranks[from], sent, &orders->ranks[to], received, HOST_CLOCKS_MESSAGES);
}

static void widen_extent(const struct rank_member *member, struct extent *extent, size_t occurrence) {
    if (extent->occurrence != occurrence)
        *extent = (struct extent){occurrence, member, member};
    extent->last = member->start > extent->last->start ? member : extent->last;
    extent->first = member->end < extent->first->end ? member : extent->first;
}

static bool add_pair(struct orders *orders, const struct extent *a, const struct extent *b) {
    const struct rank *ranks = orders->ranks;
    return add_order(orders, &ranks[a->last->rank], a->last->start, &ranks[b->first->rank], b->first->end,
                     HOST_CLOCKS_COLLECTIVES) &&
           add_order(orders, &ranks[b->last->rank], b->last->start, &ranks[a->first->rank], a->first->end,
                     HOST_CLOCKS_COLLECTIVES);
}

// The clocks of one collective against that of its first member.
static bool add_occurrence(const struct rank_matching *matching, size_t from, size_t to,
                           struct orders *orders) {
    const struct rank_member *members = matching->members;
    struct extent *extents = orders->extents;
    size_t count = 0;
    for (size_t i = from; i < to; i++) {
        const uint32_t clock = orders->ranks[members[i].rank].clock;
        if (extents[clock].occurrence != from + 1)
            orders->clocks[count++] = clock;
        widen_extent(&members[i], &extents[clock], from + 1);
    }
    for (size_t i = 1; i < count; i++)
        if (!add_pair(orders, &extents[orders->clocks[0]], &extents[orders->clocks[i]]))
            return false;
    return true;
}

// Only collectives of MPI: their times are the host's own, without a device's clock between.
static bool add_collectives(const struct rank_matching *matching, struct orders *orders) {
    bool done = true;
    for (size_t from = 0, to; done && from < matching->count; from = to) {
        to = ranks_collective_end(matching, from);
        if (to - from > 1 && ranks_key_is_numbered(matching->names[matching->members[from].key]))
            done = add_occurrence(matching, from, to, orders);
    }
    return done;
}

static bool add_events(const struct rank_matching *matching) {
    const tsmith_ranks *ranks = matching->ranks;
    struct orders orders = {.ranks = ranks->items,
                            .extents = calloc(ranks->count, sizeof *orders.extents),
                            .clocks = calloc(ranks->count, sizeof *orders.clocks)};
    const bool done = orders.extents && orders.clocks && add_collectives(matching, &orders) &&
                      messages_each_order(ranks, add_message, &orders) &&
                      host_orders_give(&orders.kept, matching->clocks);
    host_orders_finish(&orders.kept);
    free(orders.extents);
    free(orders.clocks);
    return done;
}

// ---- the ranks' clocks

int64_t ranks_clock_offset(const struct rank_matching *matching, uint32_t rank, int64_t at, int64_t *bound) {
    const uint32_t clock = matching->ranks->items[rank].clock;
    struct host_offset offset = {.is_known = true};
    int64_t middle = 0, there = at;
    for (int i = 0; clock && i < 2; i++) { // the offset where the first rank's clock shows the same moment
        offset = host_clocks_offset(matching->clocks, clock, there);
        middle = offset.is_known ? offset.low + (offset.high - offset.low) / 2 : 0;
        if (__builtin_sub_overflow(at, middle, &there))
            there = at;
    }
    *bound = offset.is_known ? offset.high - middle : INT64_MAX;
    return middle;
}

static void align(const struct rank_matching *matching, uint32_t number) {
    struct rank *rank = &matching->ranks->items[number];
    int64_t bound;
    if (!rank->claims.clock || !host_clocks_is_measured(matching->clocks, rank->clock))
        return;
    rank->offset = ranks_clock_offset(matching, number, rank->begin, &bound);
    rank->bound = bound;
    for (int i = 1; i <= LOOKS; i++) {
        (void)ranks_clock_offset(matching, number, sweep_add(rank->begin, rank->window / LOOKS * i), &bound);
        rank->bound = bound > rank->bound ? bound : rank->bound;
    }
    rank->by_clocks = rank->is_aligned = rank->bound < INT64_MAX;
}

static bool relate_hosts(struct rank_matching *matching, const struct host_claims *const *claims,
                         uint32_t *numbers, int64_t from, int64_t to) {
    tsmith_ranks *ranks = matching->ranks;
    host_clocks_destroy(matching->clocks);
    matching->clocks = host_claims_relate(claims, ranks->count, numbers);
    for (size_t i = 0; matching->clocks && i < ranks->count; i++)
        ranks->items[i].clock = numbers[i];
    return matching->clocks && add_events(matching) && host_clocks_solve(matching->clocks, from, to);
}

// The time of all ranks, on the clock of the first one; true if it is longer.
static bool widen_window(const struct rank_matching *matching, int64_t *from, int64_t *to) {
    const tsmith_ranks *ranks = matching->ranks;
    const int64_t first = *from, last = *to;
    for (uint32_t i = 0; i < ranks->count; i++) {
        const struct rank *rank = &ranks->items[i];
        int64_t bound, begin;
        if (!rank->claims.clock || !host_clocks_is_measured(matching->clocks, rank->clock) ||
            __builtin_sub_overflow(rank->begin, ranks_clock_offset(matching, i, rank->begin, &bound),
                                   &begin) ||
            bound == INT64_MAX)
            continue;
        const int64_t end = sweep_add(begin, rank->window);
        *from = begin < *from ? begin : *from;
        *to = end > *to ? end : *to;
    }
    return *from < first || *to > last;
}

bool ranks_relate_clocks(struct rank_matching *matching) {
    tsmith_ranks *ranks = matching->ranks;
    const struct host_claims **claims = calloc(ranks->count, sizeof *claims);
    uint32_t *numbers = calloc(ranks->count, sizeof *numbers);
    size_t stated = 0;
    bool done = claims && numbers;
    for (size_t i = 0; done && i < ranks->count; i++) {
        claims[i] = &ranks->items[i].claims;
        stated += claims[i]->clock != NULL;
    }
    if (done && stated) {
        int64_t from = ranks->items[0].begin, to = sweep_add(from, ranks->items[0].window);
        done = relate_hosts(matching, claims, numbers, from, to);
        if (done && widen_window(matching, &from, &to))
            done = relate_hosts(matching, claims, numbers, from, to);
        for (uint32_t i = 0; done && i < ranks->count; i++)
            align(matching, i);
    }
    free(claims);
    free(numbers);
    return done;
}

// ---- bounds

static int64_t add_bounds(int64_t a, int64_t b) {
    int64_t sum;
    return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

int64_t ranks_clock_bound(const struct rank_matching *matching, const struct rank_member *members,
                          size_t count) {
    const struct rank *ranks = matching->ranks->items, *most = NULL;
    int64_t second = 0;
    bool several = false;
    for (size_t i = 0; i < count; i++) {
        const struct rank *rank = &ranks[members[i].rank];
        if (!rank->by_clocks)
            return -1;
        several |= rank->clock != ranks[members[0].rank].clock;
        if (!most || rank->bound > most->bound) {
            second = most && most->clock != rank->clock ? most->bound : second;
            most = rank;
        } else if (rank->clock != most->clock && rank->bound > second) {
            second = rank->bound;
        }
    }
    return several ? add_bounds(most->bound, second) : 0;
}

int64_t ranks_clock_bound_of(const struct rank_matching *matching, size_t rank) {
    const tsmith_ranks *ranks = matching->ranks;
    const struct rank *own = &ranks->items[rank];
    int64_t most = 0;
    bool several = false;
    for (size_t i = 0; i < ranks->count; i++) {
        const struct rank *other = &ranks->items[i];
        if (!own->by_clocks || !other->by_clocks)
            return -1;
        several |= other->clock != own->clock;
        most = other->clock != own->clock && other->bound > most ? other->bound : most;
    }
    return several ? add_bounds(own->bound, most) : 0;
}

// ---- the report

// "probes, messages"
static const char *source_names(uint32_t sources, char text[SOURCES_TEXT]) {
    static const char *const names[HOST_CLOCKS_SOURCES] = {"probes", "UTC", "PTP", "messages", "collectives"};
    size_t length = 0;
    text[0] = '\0';
    for (size_t i = 0; i < HOST_CLOCKS_SOURCES; i++) {
        if (!(sources >> i & 1))
            continue;
        const int added =
            snprintf(text + length, SOURCES_TEXT - length, "%s%s", length ? ", " : "", names[i]);
        length += added > 0 ? (size_t)added : 0;
    }
    return text;
}

// The first rank that has a clock.
static long long rank_of(const struct rank_matching *matching, uint32_t clock) {
    const tsmith_ranks *ranks = matching->ranks;
    for (size_t i = 0; i < ranks->count; i++)
        if (ranks->items[i].clock == clock)
            return (long long)ranks->items[i].number;
    return -1;
}

static int64_t contradictions_of(const struct rank_matching *matching, uint32_t clock) {
    size_t count;
    int64_t found = 0;
    const struct host_contradiction *all = host_clocks_contradictions(matching->clocks, &count);
    for (size_t i = 0; i < count; i++) {
        bool part = !all[i].clocks && (all[i].first.a == clock || all[i].first.b == clock);
        for (uint32_t k = 0; all[i].clocks && k < all[i].count; k++)
            part |= all[i].clocks[k] == clock;
        found += part;
    }
    return found;
}

static void note_contradiction(const struct rank_matching *matching, const struct host_contradiction *found,
                               struct report *report) {
    char by[REPORT_TEXT], first[SOURCES_TEXT], second[SOURCES_TEXT];
    report_duration(by, found->by);
    if (found->clocks)
        report_note(
            report,
            "The clocks of %u hosts, among them those of ranks %lld and %lld, contradict each other by "
            "%s: going round them does not lead back. None of these comparisons is used.",
            found->count, rank_of(matching, found->clocks[0]), rank_of(matching, found->clocks[1]), by);
    else
        report_note(
            report,
            "The clocks of ranks %lld and %lld contradict each other by %s: by %s the difference is at "
            "least %lld ns, and by %s at most %lld ns. Neither is used.",
            rank_of(matching, found->first.a), rank_of(matching, found->first.b), by,
            source_names(found->first.source, first), (long long)found->first.low,
            source_names(found->second.source, second), (long long)found->second.high);
}

static void note_contradictions(const struct rank_matching *matching, struct report *report) {
    size_t count;
    const struct host_contradiction *found = host_clocks_contradictions(matching->clocks, &count);
    for (size_t i = 0; i < count && i < NOTES_MOST; i++)
        note_contradiction(matching, &found[i], report);
    if (count > NOTES_MOST)
        report_note(report, "%zu more contradiction%s of clocks; the table has which clocks take part.",
                    count - NOTES_MOST, report_plural(count - NOTES_MOST));
}

// One line about all of them.
static void note_bounds(const struct rank_matching *matching, struct report *report) {
    const tsmith_ranks *ranks = matching->ranks;
    char bound[REPORT_TEXT];
    size_t unknown = 0, first = 0; // first: it has the largest bound
    int64_t other = 0;             // the largest one of another clock
    bool several = false;
    for (size_t i = 0; i < ranks->count; i++) {
        unknown += !ranks->items[i].by_clocks;
        several |= ranks->items[i].clock != 0;
        first = ranks->items[i].bound > ranks->items[first].bound ? i : first;
    }
    for (size_t i = 0; i < ranks->count; i++)
        if (ranks->items[i].clock != ranks->items[first].clock && ranks->items[i].bound > other)
            other = ranks->items[i].bound;
    const int64_t most = add_bounds(ranks->items[first].bound, other);
    if (several && !unknown)
        report_note(report, "The clocks of the hosts are known within %s of each other.",
                    report_duration(bound, most));
    else if (several)
        report_note(
            report,
            "How the clocks of %zu rank%s relate to that of the first is not known: what is said of them is "
            "by the lengths of collectives.",
            unknown, report_plural(unknown));
}

static void write_rank(const struct rank_matching *matching, uint32_t number, struct report *report,
                       struct report_table *table) {
    const struct rank *rank = &matching->ranks->items[number];
    int64_t bound, later_bound,
        middle = ranks_clock_offset(matching, number, rank->begin, &bound),
        later = ranks_clock_offset(matching, number, sweep_add(rank->begin, rank->window), &later_bound);
    report_integer(report, table, rank->number);
    report_text(report, table, (tsmith_string){rank->claims.clock, strlen(rank->claims.clock)});
    char sources[SOURCES_TEXT];
    const char *relation = rank->clock
                               ? source_names(host_clocks_sources(matching->clocks, rank->clock), sources)
                               : "same clock";
    if (bound == INT64_MAX || !*relation) {
        for (int i = 0; i < 5; i++)
            report_unknown(report, table);
    } else {
        report_text(report, table, (tsmith_string){relation, strlen(relation)});
        report_integer(report, table, middle);
        report_integer(report, table, later_bound > bound ? later_bound : bound);
        const double window = rank->window > 0 ? (double)rank->window : 1;
        report_number(report, table, 1e6 * ((double)later - (double)middle) / window);
        report_number(report, table, 1e6 * ((double)later_bound + (double)bound) / window);
    }
    report_integer(report, table, contradictions_of(matching, rank->clock));
}

void ranks_write_clocks(const struct rank_matching *matching, struct report *report) {
    static const tsmith_report_column COLUMNS[] = {{"rank", TSMITH_CELL_COUNT},
                                                   {"clock", TSMITH_CELL_TEXT},
                                                   {"relation", TSMITH_CELL_TEXT},
                                                   {"offset", TSMITH_CELL_DURATION},
                                                   {"bound", TSMITH_CELL_DURATION},
                                                   {"rate_ppm", TSMITH_CELL_NUMBER},
                                                   {"rate_bound_ppm", TSMITH_CELL_NUMBER},
                                                   {"contradictions", TSMITH_CELL_COUNT}};
    struct report_table *table = REPORT_TABLE(
        report, "clocks",
        "the trace clocks that traces state: offset: from that of the first rank, at the rank's begin, "
        "within "
        "bound; rate: how much faster it runs; contradictions: in which its comparisons take part",
        COLUMNS);
    if (!matching->clocks)
        return;
    for (uint32_t i = 0; i < matching->ranks->count; i++)
        if (matching->ranks->items[i].claims.clock)
            write_rank(matching, i, report, table);
    note_contradictions(matching, report);
    note_bounds(matching, report);
}
