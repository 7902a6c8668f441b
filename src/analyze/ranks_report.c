// SPDX-License-Identifier: Apache-2.0
// Matches collectives and steps across ranks, and finds the late
// ranks.
#include <stdlib.h>
#include <string.h>

#include "analyze/ranks.h"
#include "state/sweep.h"

// Per rank, or for the collectives of one key.
struct sums {
    uint64_t matched, last;
    int64_t waited, delay; // added up: longer than the shortest; what the last is later than the one before
    int64_t skew_total, skew_max;
};

struct matching {
    const tsmith_ranks *ranks;
    struct member *members;
    size_t count;
    struct sums *of_rank;
    uint64_t *last_of; // of the key at hand, by rank
    uint64_t unmatched;
    int64_t waited;
};

static int by_key_and_rank(const void *left, const void *right) {
    const struct member *a = left, *b = right;
    if (a->key != b->key)
        return a->key < b->key ? -1 : 1;
    if (a->number != b->number)
        return a->number < b->number ? -1 : 1;
    return a->rank < b->rank ? -1 : a->rank > b->rank;
}

static bool gather(struct matching *matching) {
    const tsmith_ranks *ranks = matching->ranks;
    size_t total = 0;
    for (size_t i = 0; i < ranks->count; i++)
        total += ranks->items[i].collective_count;
    matching->members = malloc((total + 1) * sizeof *matching->members);
    matching->of_rank = calloc(ranks->count, sizeof *matching->of_rank);
    matching->last_of = calloc(ranks->count, sizeof *matching->last_of);
    if (!matching->members || !matching->of_rank || !matching->last_of)
        return false;
    for (uint32_t i = 0; i < ranks->count; i++) {
        for (size_t k = 0; k < ranks->items[i].collective_count; k++) {
            const struct rank_collective *one = &ranks->items[i].collectives[k];
            matching->members[matching->count++] =
                (struct member){one->key, one->number, i, one->start, one->end};
        }
    }
    qsort(matching->members, matching->count, sizeof *matching->members, by_key_and_rank);
    return true;
}

// One collective of several ranks.
static void judge(struct matching *matching, const struct member *members, size_t count,
                  struct sums *of_key) {
    int64_t shortest = INT64_MAX, second = INT64_MAX, longest = 0;
    uint32_t last = 0;
    for (size_t i = 0; i < count; i++) {
        int64_t time = members[i].end - members[i].start;
        longest = time > longest ? time : longest;
        if (time < shortest) {
            second = shortest;
            shortest = time;
            last = members[i].rank;
        } else if (time < second) {
            second = time;
        }
    }
    for (size_t i = 0; i < count; i++) {
        int64_t waited = members[i].end - members[i].start - shortest;
        struct sums *rank = &matching->of_rank[members[i].rank];
        rank->matched++;
        rank->waited = sweep_add(rank->waited, waited);
        of_key->waited = sweep_add(of_key->waited, waited);
    }
    if (longest > shortest) { // among those that come at once none is the last
        matching->of_rank[last].last += second > shortest;
        matching->last_of[last] += second > shortest;
        matching->of_rank[last].delay = sweep_add(matching->of_rank[last].delay, second - shortest);
    }
    of_key->matched++;
    of_key->skew_total = sweep_add(of_key->skew_total, longest - shortest);
    of_key->skew_max = longest - shortest > of_key->skew_max ? longest - shortest : of_key->skew_max;
}

static size_t group_end(const struct matching *matching, size_t from, bool same_number) {
    size_t to = from + 1;
    while (to < matching->count && matching->members[to].key == matching->members[from].key &&
           (!same_number || matching->members[to].number == matching->members[from].number))
        to++;
    return to;
}

// All collectives of one key.
static void write_key(struct matching *matching, size_t from, size_t to, struct report *report,
                      struct report_table *table) {
    const tsmith_ranks *ranks = matching->ranks;
    struct sums sums = {0};
    size_t most = 0;
    memset(matching->last_of, 0, ranks->count * sizeof *matching->last_of);
    for (size_t i = from, end; i < to; i = end) {
        end = group_end(matching, i, true);
        if (end - i > 1)
            judge(matching, &matching->members[i], end - i, &sums);
        else
            matching->unmatched++;
    }
    matching->waited = sweep_add(matching->waited, sums.waited);
    for (size_t i = 0; i < ranks->count; i++)
        most = matching->last_of[i] > matching->last_of[most] ? i : most;
    tsmith_string key = tsmith_dictionary_string(ranks->keys, matching->members[from].key);
    size_t name = strnlen(key.bytes, key.length);
    report_text(report, table, (tsmith_string){key.bytes, name});
    if (key.length > name + 1)
        report_text(report, table, (tsmith_string){key.bytes + name + 1, key.length - name - 1});
    else
        report_unknown(report, table);
    report_integer(report, table, (int64_t)sums.matched);
    if (sums.matched) {
        report_integer(report, table, sums.skew_total / (int64_t)sums.matched);
        report_integer(report, table, sums.skew_max);
    } else {
        report_unknown(report, table);
        report_unknown(report, table);
    }
    report_integer(report, table, sums.waited);
    if (matching->last_of[most]) {
        report_integer(report, table, ranks->items[most].number);
        report_integer(report, table, (int64_t)matching->last_of[most]);
    } else {
        report_unknown(report, table);
        report_integer(report, table, 0);
    }
}

static void write_collectives(struct matching *matching, struct report *report) {
    static const tsmith_report_column COLUMNS[] = {
        {"collective", TSMITH_CELL_TEXT},   {"group", TSMITH_CELL_TEXT},
        {"matched", TSMITH_CELL_COUNT},     {"skew_mean", TSMITH_CELL_DURATION},
        {"skew_max", TSMITH_CELL_DURATION}, {"waited", TSMITH_CELL_DURATION},
        {"last_rank", TSMITH_CELL_COUNT},   {"last_count", TSMITH_CELL_COUNT}};
    struct report_table *table = REPORT_TABLE(report, "collectives",
                                              "skew is from the first arrival to the last, waited what all "
                                              "ranks waited for the last, last_rank who "
                                              "most often was that",
                                              COLUMNS);
    for (size_t from = 0, to; from < matching->count; from = to) {
        to = group_end(matching, from, false);
        write_key(matching, from, to, report, table);
    }
}

static void write_ranks(const struct matching *matching, struct report *report) {
    static const tsmith_report_column COLUMNS[] = {{"rank", TSMITH_CELL_COUNT},
                                                   {"trace", TSMITH_CELL_TEXT},
                                                   {"collectives", TSMITH_CELL_COUNT},
                                                   {"matched", TSMITH_CELL_COUNT},
                                                   {"waited", TSMITH_CELL_DURATION},
                                                   {"last", TSMITH_CELL_COUNT},
                                                   {"delay", TSMITH_CELL_DURATION},
                                                   {"compute", TSMITH_CELL_DURATION},
                                                   {"steps", TSMITH_CELL_COUNT},
                                                   {"step_mean", TSMITH_CELL_DURATION},
                                                   {"clock_offset", TSMITH_CELL_DURATION},
                                                   {"clock_bound", TSMITH_CELL_DURATION}};
    struct report_table *table = REPORT_TABLE(
        report, "ranks",
        "last: how often it came last, delay: by how much after the one before; compute: its other kernels "
        "added up; clock_offset: its clock minus the first rank's, by the ends of collectives of both, which "
        "agree within clock_bound",
        COLUMNS);
    for (size_t i = 0; i < matching->ranks->count; i++) {
        const struct rank *rank = &matching->ranks->items[i];
        const struct sums *sums = &matching->of_rank[i];
        int64_t steps = 0;
        for (size_t k = 0; k < rank->step_count; k++)
            steps = sweep_add(steps, rank->steps[k].end - rank->steps[k].start);
        const int64_t cells[] = {(int64_t)rank->collective_count,
                                 (int64_t)sums->matched,
                                 sums->waited,
                                 (int64_t)sums->last,
                                 sums->delay,
                                 rank->compute,
                                 (int64_t)rank->step_count};
        report_integer(report, table, rank->number);
        report_text(report, table, (tsmith_string){rank->label, strlen(rank->label)});
        for (size_t k = 0; k < sizeof cells / sizeof *cells; k++)
            report_integer(report, table, cells[k]);
        if (rank->step_count)
            report_integer(report, table, steps / (int64_t)rank->step_count);
        else
            report_unknown(report, table);
        if (rank->is_aligned) {
            report_integer(report, table, rank->offset);
            report_integer(report, table, rank->bound);
        } else {
            report_unknown(report, table);
            report_unknown(report, table);
        }
    }
}

// ---- steps

static bool write_steps(const tsmith_ranks *ranks, struct report *report) {
    static const tsmith_report_column COLUMNS[] = {
        {"step", TSMITH_CELL_TEXT},         {"ranks", TSMITH_CELL_COUNT},
        {"shortest", TSMITH_CELL_DURATION}, {"longest", TSMITH_CELL_DURATION},
        {"spread", TSMITH_CELL_DURATION},   {"slowest_rank", TSMITH_CELL_COUNT}};
    size_t total = 0, count = 0;
    for (size_t i = 0; i < ranks->count; i++)
        total += ranks->items[i].step_count;
    if (!total)
        return true;
    struct member *steps = malloc(total * sizeof *steps);
    if (!steps)
        return false;
    for (uint32_t i = 0; i < ranks->count; i++)
        for (size_t k = 0; k < ranks->items[i].step_count; k++)
            steps[count++] = (struct member){ranks->items[i].steps[k].name, 0, i,
                                             ranks->items[i].steps[k].start, ranks->items[i].steps[k].end};
    qsort(steps, count, sizeof *steps, by_key_and_rank);
    struct report_table *table = REPORT_TABLE(
        report, "steps", "the profiler's steps by name: how long they take on the ranks", COLUMNS);
    for (size_t from = 0, to; from < count; from = to) {
        int64_t shortest = INT64_MAX, longest = -1;
        uint32_t slowest = 0;
        for (to = from; to < count && steps[to].key == steps[from].key; to++) {
            int64_t time = steps[to].end - steps[to].start;
            shortest = time < shortest ? time : shortest;
            slowest = time > longest ? steps[to].rank : slowest;
            longest = time > longest ? time : longest;
        }
        report_text(report, table, tsmith_dictionary_string(ranks->keys, steps[from].key));
        report_integer(report, table, (int64_t)(to - from));
        report_integer(report, table, shortest);
        report_integer(report, table, longest);
        report_integer(report, table, longest - shortest);
        report_integer(report, table, ranks->items[slowest].number);
    }
    free(steps);
    return true;
}

static void write_finding(const struct matching *matching, struct report *report) {
    const tsmith_ranks *ranks = matching->ranks;
    char waited[REPORT_TEXT], delay[REPORT_TEXT], among[96] = "";
    size_t worst = 0;
    uint64_t matched = 0;
    for (size_t i = 0; i < ranks->count; i++) {
        matched += matching->of_rank[i].matched;
        worst = matching->of_rank[i].delay > matching->of_rank[worst].delay ? i : worst;
    }
    // Who is not here may be later than anybody who is.
    const bool partial = ranks->world > (int64_t)ranks->count;
    if (partial)
        (void)snprintf(among, sizeof among, "Of the %zu of %lld ranks that are compared, ", ranks->count,
                       (long long)ranks->world);
    if (!matched)
        report_finding(report, "The %zu ranks have no collective in common.", ranks->count);
    else if (!matching->of_rank[worst].delay && matching->waited)
        report_finding(
            report,
            "%s%s is later than all others: two or more come last together, and the ranks wait %s for them.",
            among, partial ? "no rank" : "No rank", report_duration(waited, matching->waited));
    else if (!matching->of_rank[worst].delay)
        report_finding(report, "%s%s comes late: they arrive at the collectives they share at the same time.",
                       among, partial ? "no rank" : "No rank");
    else
        report_finding(
            report,
            "%s%s %lld costs most: it is the last %llu time%s, by %s in all; together the ranks wait %s "
            "for each other.",
            among, partial ? "rank" : "Rank", (long long)ranks->items[worst].number,
            (unsigned long long)matching->of_rank[worst].last, report_plural(matching->of_rank[worst].last),
            report_duration(delay, matching->of_rank[worst].delay),
            report_duration(waited, matching->waited));
    if (partial)
        report_note(
            report,
            "The run had %lld ranks: one whose trace is not given may be later, and the others wait for it "
            "unseen.",
            (long long)ranks->world);
    else if (ranks->world < 0)
        report_note(report, "The traces do not state how many ranks the run had.");
    if (matching->unmatched)
        report_note(report, "%llu collective%s in one trace only.", (unsigned long long)matching->unmatched,
                    matching->unmatched == 1 ? " is" : "s are");
    if (ranks->ordered)
        report_note(report,
                    "The traces do not state their ranks (or state one twice): they are numbered in order.");
    if (ranks->truncated)
        report_note(report, "%zu of the traces end early.", ranks->truncated);
}

tsmith_status ranks_report(tsmith_ranks *ranks) {
    struct report *report = &ranks->report;
    struct matching matching = {.ranks = ranks};
    bool done = gather(&matching) && ranks_align(ranks, matching.members, matching.count);
    if (done) {
        report->public.name = "ranks";
        report->public.question = "Which rank is late, and who waits for it?";
        report->public.window = (tsmith_interval){0, ranks->window};
        report->public.missing = ranks->missing;
        report->public.lost = ranks->lost;
        write_collectives(&matching, report);
        write_ranks(&matching, report);
        done = write_steps(ranks, report) && ranks_write_lateness(ranks, matching.members, matching.count);
        write_finding(&matching, report);
    }
    free(matching.members);
    free(matching.of_rank);
    free(matching.last_of);
    return done && report_end(report) ? TSMITH_OK : TSMITH_ERROR_NO_MEMORY;
}
