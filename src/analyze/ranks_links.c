// SPDX-License-Identifier: Apache-2.0
// Groups whose collectives move their bytes slower than the same collectives of other groups: a slow link. ranks_report.c
// calls it.
//
// From the last arrival to the end, a collective only moves bytes: that is the shortest duration among its members. Groups of
// one name and one size are taken to move the same number of bytes.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/ranks_match.h"
#include "base/array.h"

static const double SIGNIFICANT = 0.01, SLOWER = 1.1;
enum { PEERS_LEAST = 3, NOTES_MAX = 5, LISTED = 8, MEMBERS_TEXT = 192 };

struct group {
    size_t from, to; // members
    uint32_t key;
    uint32_t name;       // the same for groups of one name
    size_t ranks, count; // ranks that take part, collectives that all of them have
    int64_t median;      // of the transfers, ns
};

struct groups {
    const struct rank_matching *matching;
    struct group *items;
    size_t count, capacity;
    int64_t *scratch;
};

static int64_t transfer_ns(const struct rank_member *members, size_t count) {
    int64_t shortest = INT64_MAX;
    for (size_t i = 0; i < count; i++)
        shortest =
            members[i].end - members[i].start < shortest ? members[i].end - members[i].start : shortest;
    return shortest;
}

// Transfers of a group's collectives into scratch; returns how many. Only those that all its ranks have: of the others, the
// last arrival may not be there.
static size_t list_transfers(const struct groups *groups, const struct group *group) {
    const struct rank_matching *matching = groups->matching;
    size_t count = 0;
    for (size_t from = group->from, to; from < group->to; from = to) {
        to = ranks_collective_end(matching, from);
        if (to - from == group->ranks)
            groups->scratch[count++] = transfer_ns(&matching->members[from], to - from);
    }
    return count;
}

static bool add_group(struct groups *groups, size_t from, size_t to) {
    const struct rank_matching *matching = groups->matching;
    struct group group = {.from = from, .to = to, .key = matching->members[from].key};
    for (size_t at = from, end; at < to; at = end) {
        end = ranks_collective_end(matching, at);
        group.ranks = end - at > group.ranks ? end - at : group.ranks;
    }
    if (group.ranks < 2)
        return true;
    group.count = list_transfers(groups, &group);
    group.median = ranks_median(groups->scratch, group.count);
    struct group *place = ARRAY_PUSH(groups->items, groups->count, groups->capacity);
    if (place)
        *place = group;
    return place;
}

// Keys are in the order of their bytes, so those of one name follow each other.
static void number_names(struct groups *groups) {
    const tsmith_string *names = groups->matching->names;
    for (size_t i = 1; i < groups->count; i++)
        groups->items[i].name =
            groups->items[i - 1].name +
            (strcmp(names[groups->items[i].key].bytes, names[groups->items[i - 1].key].bytes) != 0);
}

static int by_name_and_size(const void *left, const void *right) {
    const struct group *a = left, *b = right;
    if (a->name != b->name)
        return a->name < b->name ? -1 : 1;
    if (a->ranks != b->ranks)
        return a->ranks < b->ranks ? -1 : 1;
    return a->key < b->key ? -1 : a->key > b->key;
}

// The end of the groups that have the name and size of the one at `from`.
static size_t peers_end(const struct groups *groups, size_t from) {
    size_t to = from;
    while (to < groups->count && groups->items[to].name == groups->items[from].name &&
           groups->items[to].ranks == groups->items[from].ranks)
        to++;
    return to;
}

// "12,13"; at most eight.
static void list_members(const struct groups *groups, const struct group *group, char *text) {
    const struct rank_matching *matching = groups->matching;
    size_t length = 0;
    text[0] = 0;
    for (size_t from = group->from, to; from < group->to; from = to) {
        to = ranks_collective_end(matching, from);
        if (to - from != group->ranks)
            continue;
        for (size_t i = from; i < to && i < from + LISTED; i++) {
            const long long number = matching->ranks->items[matching->members[i].rank].number;
            const int added =
                snprintf(text + length, MEMBERS_TEXT - length, "%s%lld", i > from ? "," : "", number);
            length += added > 0 ? (size_t)added : 0;
        }
        if (group->ranks > LISTED)
            (void)snprintf(text + length, MEMBERS_TEXT - length, ",...");
        return;
    }
}

static void write_group(const struct groups *groups, const struct group *group, int64_t usual, size_t slow,
                        struct report *report, struct report_table *table) {
    char members[MEMBERS_TEXT];
    list_members(groups, group, members);
    ranks_write_key(report, table, groups->matching->names[group->key]);
    report_text(report, table, (tsmith_string){members, strlen(members)});
    report_integer(report, table, (int64_t)group->count);
    report_integer(report, table, (int64_t)slow);
    report_integer(report, table, group->median);
    report_integer(report, table, usual);
}

static void note_group(const struct groups *groups, const struct group *group, int64_t usual,
                       struct report *report) {
    char members[MEMBERS_TEXT], median[REPORT_TEXT], peers[REPORT_TEXT];
    const tsmith_string key = groups->matching->names[group->key];
    list_members(groups, group, members);
    report_note(report,
                "Ranks %s transfer slowly: once the last of them has arrived, %.80s takes %s, in other "
                "groups of this "
                "size %s. Their link is slow, or they transfer more bytes.",
                members, key.bytes, report_duration(median, group->median), report_duration(peers, usual));
}

static const tsmith_report_column COLUMNS[] = {
    {"collective", TSMITH_CELL_TEXT},   {"group", TSMITH_CELL_TEXT}, {"ranks", TSMITH_CELL_TEXT},
    {"collectives", TSMITH_CELL_COUNT}, {"slow", TSMITH_CELL_COUNT}, {"transfer", TSMITH_CELL_DURATION},
    {"usual", TSMITH_CELL_DURATION}};

static bool is_slow(const struct groups *groups, const struct group *group, int64_t usual, size_t peers,
                    size_t *slow) {
    if ((double)group->median < SLOWER * (double)usual)
        return false;
    const size_t count = list_transfers(groups, group);
    *slow = 0;
    for (size_t i = 0; i < count; i++)
        *slow += groups->scratch[i] > usual;
    return ranks_coin_tail(*slow, count) * (double)peers < SIGNIFICANT;
}

static void write_found(const struct groups *groups, struct report *report) {
    struct report_table *table =
        REPORT_TABLE(report, "links",
                     "groups whose transfers take longer than those of the same name in other groups "
                     "of this size; transfer: from the last arrival to the end (median); usual: that "
                     "of the other groups",
                     COLUMNS);
    size_t found = 0;
    for (size_t from = 0, to; from < groups->count; from = to) {
        to = peers_end(groups, from);
        for (size_t i = from; i < to; i++)
            groups->scratch[i - from] = groups->items[i].median;
        const int64_t usual = ranks_median(groups->scratch, to - from);
        for (size_t i = from; to - from >= PEERS_LEAST && i < to; i++) {
            const struct group *group = &groups->items[i];
            size_t slow;
            if (!is_slow(groups, group, usual, to - from, &slow))
                continue;
            write_group(groups, group, usual, slow, report, table);
            if (found++ < NOTES_MAX)
                note_group(groups, group, usual, report);
        }
    }
    if (found > NOTES_MAX)
        report_note(report, "%zu more link%s slow; the table has all.", found - NOTES_MAX,
                    found - NOTES_MAX == 1 ? " is" : "s are");
}

bool ranks_write_links(const struct rank_matching *matching, struct report *report) {
    struct groups groups = {.matching = matching};
    groups.scratch = malloc((matching->count + 1) * sizeof *groups.scratch);
    bool done = groups.scratch != NULL;
    for (size_t from = 0, to; done && from < matching->count; from = to) {
        to = ranks_key_end(matching, from);
        done = add_group(&groups, from, to);
    }
    if (done && groups.count) {
        number_names(&groups);
        qsort(groups.items, groups.count, sizeof *groups.items, by_name_and_size);
    }
    if (done)
        write_found(&groups, report);
    free(groups.items);
    free(groups.scratch);
    return done;
}
