// SPDX-License-Identifier: Apache-2.0
// The clocks of ranks against each other, and who is how late at which collective. ranks_report.c calls it.
//
// Where neither probes, UTC nor PTP relate two clocks (ranks_clocks.c): a collective ends on all ranks at about the same time. So the
// difference of its ends on two clocks is the offset of the clocks, and how much that differs from one collective to another says
// how well it is known.
#include <stdlib.h>
#include <string.h>

#include "analyze/ranks_match.h"
#include "state/sweep.h"

enum { OCCURRENCES_MOST = 64 };

// The members of one occurrence of a collective.
static size_t occurrence_end(const struct rank_member *members, size_t count, size_t from) {
    size_t to = from + 1;
    while (to < count && members[to].key == members[from].key && members[to].number == members[from].number)
        to++;
    return to;
}

// Of one rank: the ends of its collectives minus those of the first rank.
static void align_one(struct rank *rank, int64_t *differences, size_t count) {
    int64_t below, above, least = INT64_MAX, most = INT64_MIN;
    for (size_t i = 0; i < count; i++) {
        least = differences[i] < least ? differences[i] : least;
        most = differences[i] > most ? differences[i] : most;
    }
    rank->offset = ranks_select(differences, count, count / 2);
    if (__builtin_sub_overflow(rank->offset, least, &below) ||
        __builtin_sub_overflow(most, rank->offset, &above))
        return;
    rank->bound = above > below ? above : below;
    rank->is_aligned = true;
}

static void list_differences(const struct rank_matching *matching, int64_t *differences, size_t *found) {
    const struct rank_member *members = matching->members;
    for (size_t from = 0, to; from < matching->count; from = to) {
        to = occurrence_end(members, matching->count, from);
        for (size_t i = from + 1; members[from].rank == 0 && i < to; i++) {
            const uint32_t rank = members[i].rank;
            int64_t *place = &differences[matching->first_of[rank] + found[rank]];
            found[rank] += !__builtin_sub_overflow(members[i].end, members[from].end, place);
        }
    }
}

bool ranks_align(const struct rank_matching *matching) {
    tsmith_ranks *ranks = matching->ranks;
    int64_t *differences = malloc((matching->count + 1) * sizeof *differences); // by rank
    size_t *found = calloc(ranks->count, sizeof *found);
    const bool done = differences && found;
    if (done)
        list_differences(matching, differences, found);
    ranks->items[0].is_aligned = true; // its clock is the one that the others are compared with
    for (size_t i = 1; done && i < ranks->count; i++)
        if (found[i] && !ranks->items[i].by_clocks)
            align_one(&ranks->items[i], &differences[matching->first_of[i]], found[i]);
    free(differences);
    free(found);
    return done;
}

// ---- lateness

struct late {
    uint64_t matched;
    int64_t total, most, waited;
};

static int64_t length_of(const struct rank_member *member) {
    return member->end - member->start;
}

static void extent(const struct rank_member *members, size_t count, int64_t *shortest, int64_t *longest) {
    *shortest = INT64_MAX;
    *longest = 0;
    for (size_t i = 0; i < count; i++) {
        const int64_t length = length_of(&members[i]);
        *shortest = length < *shortest ? length : *shortest;
        *longest = length > *longest ? length : *longest;
    }
}

static int by_rank(const void *left, const void *right) {
    const uint32_t *a = left, *b = right;
    return *a < *b ? -1 : *a > *b;
}

// The ranks that take part, which may be few of all; then nothing of them is left in `late`.
static void write_key(const struct rank_matching *matching, uint32_t key, struct late *late, size_t touched,
                      struct report *report, struct report_table *table) {
    qsort(matching->touched, touched, sizeof *matching->touched, by_rank);
    for (size_t i = 0; i < touched; i++) {
        struct late *one = &late[matching->touched[i]];
        ranks_write_key(report, table, matching->names[key]);
        report_integer(report, table, matching->ranks->items[matching->touched[i]].number);
        report_integer(report, table, (int64_t)one->matched);
        report_integer(report, table, one->total / (int64_t)one->matched);
        report_integer(report, table, one->most);
        report_integer(report, table, one->waited);
        *one = (struct late){0};
    }
}

static bool write_each(const struct rank_matching *matching, tsmith_ranks *ranks) {
    static const tsmith_report_column COLUMNS[] = {
        {"collective", TSMITH_CELL_TEXT},    {"group", TSMITH_CELL_TEXT},
        {"rank", TSMITH_CELL_COUNT},         {"matched", TSMITH_CELL_COUNT},
        {"late_mean", TSMITH_CELL_DURATION}, {"late_max", TSMITH_CELL_DURATION},
        {"waited", TSMITH_CELL_DURATION}};
    const struct rank_member *members = matching->members;
    const size_t count = matching->count;
    struct report *report = &ranks->report;
    struct late *late = calloc(ranks->count, sizeof *late);
    size_t touched = 0;
    if (!late)
        return false;
    struct report_table *table = REPORT_TABLE(
        report, "lateness",
        "each collective on each rank: late is from the first arrival to that of the rank", COLUMNS);
    for (size_t from = 0, to; from < count; from = to) {
        int64_t shortest, longest;
        to = occurrence_end(members, count, from);
        extent(&members[from], to - from, &shortest, &longest);
        for (size_t i = from; to - from > 1 && i < to; i++) {
            struct late *one = &late[members[i].rank];
            const int64_t by = longest - length_of(&members[i]);
            if (one->matched++ == 0)
                matching->touched[touched++] = members[i].rank;
            one->total = sweep_add(one->total, by);
            one->most = by > one->most ? by : one->most;
            one->waited = sweep_add(one->waited, length_of(&members[i]) - shortest);
        }
        if (to < count && members[to].key == members[from].key)
            continue;
        write_key(matching, members[from].key, late, touched, report, table);
        touched = 0;
    }
    free(late);
    return true;
}

// ---- the occurrences with the most skew

struct occurrence {
    size_t from, count; // members
    int64_t skew;
};

// Keeps the list sorted, the most skew first.
static void keep_most_skewed(struct occurrence *list, size_t *count, struct occurrence one) {
    size_t at = *count;
    while (at && list[at - 1].skew < one.skew)
        at--;
    if (at == OCCURRENCES_MOST)
        return;
    const size_t kept = *count < OCCURRENCES_MOST ? *count : OCCURRENCES_MOST - 1;
    memmove(&list[at + 1], &list[at], (kept - at) * sizeof *list);
    list[at] = one;
    *count = kept + 1;
}

// On the first rank's clock, within a bound; false where that is not known.
static bool aligned_start(const struct rank_matching *matching, const struct rank_member *member,
                          int64_t *out, int64_t *bound) {
    const struct rank *rank = &matching->ranks->items[member->rank];
    int64_t offset = rank->offset;
    *bound = rank->bound;
    if (rank->by_clocks)
        offset = ranks_clock_offset(matching, member->rank, member->start, bound);
    return rank->is_aligned && !__builtin_sub_overflow(member->start, offset, out);
}

static void write_occurrence(const struct rank_matching *matching, const struct rank_member *members,
                             size_t count, struct report *report, struct report_table *table) {
    const tsmith_ranks *ranks = matching->ranks;
    int64_t shortest, longest, first = INT64_MAX, start, bound;
    bool is_aligned = true;
    extent(members, count, &shortest, &longest);
    for (size_t i = 0; i < count; i++) {
        const bool known = aligned_start(matching, &members[i], &start, &bound);
        is_aligned &= known;
        first = known && start < first ? start : first;
    }
    for (size_t i = 0; i < count; i++) {
        const struct rank *rank = &ranks->items[members[i].rank];
        ranks_write_key(report, table, matching->names[members[i].key]);
        report_integer(report, table, members[i].number);
        report_integer(report, table, rank->number);
        report_integer(report, table, members[i].start - rank->begin);
        report_integer(report, table, length_of(&members[i]));
        report_integer(report, table, longest - length_of(&members[i]));
        if (is_aligned && aligned_start(matching, &members[i], &start, &bound)) {
            report_integer(report, table, start - first);
            report_integer(report, table, bound);
        } else {
            report_unknown(report, table);
            report_unknown(report, table);
        }
    }
}

static void write_worst(const struct rank_matching *matching, tsmith_ranks *ranks) {
    static const tsmith_report_column COLUMNS[] = {{"collective", TSMITH_CELL_TEXT},
                                                   {"group", TSMITH_CELL_TEXT},
                                                   {"number", TSMITH_CELL_COUNT},
                                                   {"rank", TSMITH_CELL_COUNT},
                                                   {"at", TSMITH_CELL_TIME},
                                                   {"length", TSMITH_CELL_DURATION},
                                                   {"late", TSMITH_CELL_DURATION},
                                                   {"aligned", TSMITH_CELL_DURATION},
                                                   {"clock_bound", TSMITH_CELL_DURATION}};
    const struct rank_member *members = matching->members;
    const size_t count = matching->count;
    struct report *report = &ranks->report;
    struct occurrence list[OCCURRENCES_MOST];
    size_t kept = 0;
    for (size_t from = 0, to; from < count; from = to) {
        int64_t shortest, longest;
        to = occurrence_end(members, count, from);
        extent(&members[from], to - from, &shortest, &longest);
        if (to - from > 1 && longest > shortest)
            keep_most_skewed(list, &kept, (struct occurrence){from, to - from, longest - shortest});
    }
    struct report_table *table = REPORT_TABLE(
        report, "occurrences",
        "the occurrences of collectives with the most skew, on each rank: at is since the rank's trace "
        "began; late by their lengths, aligned by the clocks: how long after the first arrival, within "
        "clock_bound",
        COLUMNS);
    for (size_t i = 0; i < kept; i++)
        write_occurrence(matching, &members[list[i].from], list[i].count, report, table);
}

bool ranks_write_lateness(const struct rank_matching *matching) {
    if (!write_each(matching, matching->ranks))
        return false;
    write_worst(matching, matching->ranks);
    return true;
}
