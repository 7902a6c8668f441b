// SPDX-License-Identifier: Apache-2.0
// The clocks of ranks against each other, and who is how late at which collective. ranks_report.c calls it.
//
// A collective ends on all ranks at about the same time. So the difference of its ends on two clocks is the offset of the clocks, and
// how much that differs from one collective to another says how well it is known.
#include <stdlib.h>
#include <string.h>

#include "analyze/ranks.h"
#include "state/sweep.h"

enum { OCCURRENCES_MOST = 64 };

// The members of one occurrence of a collective.
static size_t occurrence_end(const struct member *members, size_t count, size_t from) {
    size_t to = from + 1;
    while (to < count && members[to].key == members[from].key && members[to].number == members[from].number)
        to++;
    return to;
}

static int by_value(const void *left, const void *right) {
    const int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;
    return a < b ? -1 : a > b;
}

static void align_one(struct rank *rank, uint32_t index, const struct member *members, size_t count,
                      int64_t *differences) {
    size_t found = 0;
    for (size_t from = 0, to; from < count; from = to) {
        to = occurrence_end(members, count, from);
        for (size_t i = from + 1; members[from].rank == 0 && i < to; i++) {
            int64_t difference;
            if (members[i].rank == index &&
                !__builtin_sub_overflow(members[i].end, members[from].end, &difference))
                differences[found++] = difference;
        }
    }
    if (!found)
        return;
    int64_t below, above;
    qsort(differences, found, sizeof *differences, by_value);
    rank->offset = differences[found / 2];
    if (__builtin_sub_overflow(rank->offset, differences[0], &below) ||
        __builtin_sub_overflow(differences[found - 1], rank->offset, &above))
        return;
    rank->bound = above > below ? above : below;
    rank->is_aligned = true;
}

bool ranks_align(tsmith_ranks *ranks, const struct member *members, size_t count) {
    int64_t *differences = malloc((count + 1) * sizeof *differences);
    if (!differences)
        return false;
    ranks->items[0].is_aligned = true; // its clock is the one that the others are compared with
    for (uint32_t i = 1; i < ranks->count; i++)
        align_one(&ranks->items[i], i, members, count, differences);
    free(differences);
    return true;
}

// ---- lateness

struct late {
    uint64_t matched;
    int64_t total, most, waited;
};

static int64_t length_of(const struct member *member) {
    return member->end - member->start;
}

static void extent(const struct member *members, size_t count, int64_t *shortest, int64_t *longest) {
    *shortest = INT64_MAX;
    *longest = 0;
    for (size_t i = 0; i < count; i++) {
        const int64_t length = length_of(&members[i]);
        *shortest = length < *shortest ? length : *shortest;
        *longest = length > *longest ? length : *longest;
    }
}

static void write_name(const tsmith_ranks *ranks, uint32_t id, struct report *report,
                       struct report_table *table) {
    const tsmith_string key = tsmith_dictionary_string(ranks->keys, id);
    const size_t name = strnlen(key.bytes, key.length);
    report_text(report, table, (tsmith_string){key.bytes, name});
    if (key.length > name + 1)
        report_text(report, table, (tsmith_string){key.bytes + name + 1, key.length - name - 1});
    else
        report_unknown(report, table);
}

static void write_key(const tsmith_ranks *ranks, uint32_t key, const struct late *late, struct report *report,
                      struct report_table *table) {
    for (size_t i = 0; i < ranks->count; i++) {
        if (!late[i].matched)
            continue;
        write_name(ranks, key, report, table);
        report_integer(report, table, ranks->items[i].number);
        report_integer(report, table, (int64_t)late[i].matched);
        report_integer(report, table, late[i].total / (int64_t)late[i].matched);
        report_integer(report, table, late[i].most);
        report_integer(report, table, late[i].waited);
    }
}

static bool write_each(tsmith_ranks *ranks, const struct member *members, size_t count) {
    static const tsmith_report_column COLUMNS[] = {
        {"collective", TSMITH_CELL_TEXT},    {"group", TSMITH_CELL_TEXT},
        {"rank", TSMITH_CELL_COUNT},         {"matched", TSMITH_CELL_COUNT},
        {"late_mean", TSMITH_CELL_DURATION}, {"late_max", TSMITH_CELL_DURATION},
        {"waited", TSMITH_CELL_DURATION}};
    struct report *report = &ranks->report;
    struct late *late = calloc(ranks->count, sizeof *late);
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
            one->matched++;
            one->total = sweep_add(one->total, by);
            one->most = by > one->most ? by : one->most;
            one->waited = sweep_add(one->waited, length_of(&members[i]) - shortest);
        }
        if (to < count && members[to].key == members[from].key)
            continue;
        write_key(ranks, members[from].key, late, report, table);
        memset(late, 0, ranks->count * sizeof *late);
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
static void keep(struct occurrence *list, size_t *count, struct occurrence one) {
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

// On the first rank's clock; false where that is not known.
static bool aligned_start(const tsmith_ranks *ranks, const struct member *member, int64_t *out) {
    const struct rank *rank = &ranks->items[member->rank];
    return rank->is_aligned && !__builtin_sub_overflow(member->start, rank->offset, out);
}

static void write_occurrence(const tsmith_ranks *ranks, const struct member *members, size_t count,
                             struct report *report, struct report_table *table) {
    int64_t shortest, longest, first = INT64_MAX, start;
    bool is_aligned = true;
    extent(members, count, &shortest, &longest);
    for (size_t i = 0; i < count; i++) {
        const bool known = aligned_start(ranks, &members[i], &start);
        is_aligned &= known;
        first = known && start < first ? start : first;
    }
    for (size_t i = 0; i < count; i++) {
        const struct rank *rank = &ranks->items[members[i].rank];
        write_name(ranks, members[i].key, report, table);
        report_integer(report, table, members[i].number);
        report_integer(report, table, rank->number);
        report_integer(report, table, members[i].start - rank->begin);
        report_integer(report, table, length_of(&members[i]));
        report_integer(report, table, longest - length_of(&members[i]));
        if (is_aligned && aligned_start(ranks, &members[i], &start)) {
            report_integer(report, table, start - first);
            report_integer(report, table, rank->bound);
        } else {
            report_unknown(report, table);
            report_unknown(report, table);
        }
    }
}

static void write_worst(tsmith_ranks *ranks, const struct member *members, size_t count) {
    static const tsmith_report_column COLUMNS[] = {{"collective", TSMITH_CELL_TEXT},
                                                   {"group", TSMITH_CELL_TEXT},
                                                   {"number", TSMITH_CELL_COUNT},
                                                   {"rank", TSMITH_CELL_COUNT},
                                                   {"at", TSMITH_CELL_TIME},
                                                   {"length", TSMITH_CELL_DURATION},
                                                   {"late", TSMITH_CELL_DURATION},
                                                   {"aligned", TSMITH_CELL_DURATION},
                                                   {"clock_bound", TSMITH_CELL_DURATION}};
    struct report *report = &ranks->report;
    struct occurrence list[OCCURRENCES_MOST];
    size_t kept = 0;
    for (size_t from = 0, to; from < count; from = to) {
        int64_t shortest, longest;
        to = occurrence_end(members, count, from);
        extent(&members[from], to - from, &shortest, &longest);
        if (to - from > 1 && longest > shortest)
            keep(list, &kept, (struct occurrence){from, to - from, longest - shortest});
    }
    struct report_table *table = REPORT_TABLE(
        report, "occurrences",
        "the occurrences of collectives with the most skew, on each rank: at is since the rank's trace "
        "began; late by their lengths, aligned by the clocks: how long after the first arrival, within "
        "clock_bound",
        COLUMNS);
    for (size_t i = 0; i < kept; i++)
        write_occurrence(ranks, &members[list[i].from], list[i].count, report, table);
}

bool ranks_write_lateness(tsmith_ranks *ranks, const struct member *members, size_t count) {
    if (!write_each(ranks, members, count))
        return false;
    write_worst(ranks, members, count);
    return true;
}
