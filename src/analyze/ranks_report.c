// SPDX-License-Identifier: Apache-2.0
// Reports the ranks of a run: their collectives and steps, and who is late. ranks.c calls it when all are there.
#include <stdlib.h>
#include <string.h>

#include "analyze/ranks_match.h"
#include "analyze/ranks_messages.h"
#include "base/array.h"
#include "state/sweep.h"

// One collective of several ranks.
static void judge_collective(struct rank_matching *matching, const struct rank_member *members, size_t count,
                             struct rank_sums *of_key) {
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
        struct rank_sums *rank = &matching->of_rank[members[i].rank];
        rank->matched++;
        rank->waited = sweep_add(rank->waited, waited);
        of_key->waited = sweep_add(of_key->waited, waited);
    }
    if (longest > shortest) { // among those that come at once none is the last
        matching->of_rank[last].last += second > shortest;
        if (second > shortest && matching->last_of[last]++ == 0)
            matching->touched[matching->touched_count++] = last;
        matching->of_rank[last].delay = sweep_add(matching->of_rank[last].delay, second - shortest);
    }
    of_key->matched++;
    of_key->skew_total = sweep_add(of_key->skew_total, longest - shortest);
    of_key->skew_max = longest - shortest > of_key->skew_max ? longest - shortest : of_key->skew_max;
    const int64_t bound = ranks_clock_bound(matching, members, count);
    if (bound < 0 || of_key->clock_bound < 0)
        of_key->clock_bound = -1;
    else
        of_key->clock_bound = bound > of_key->clock_bound ? bound : of_key->clock_bound;
    of_key->not_shown += bound > 0 && longest > shortest && longest - shortest <= bound;
}

// All collectives of one key.
struct of_key {
    uint32_t key;
    uint64_t matched, last_count;
    int64_t waited, skew_total, skew_max;
    int64_t last_rank;   // its number; -1: none was the last of any
    int64_t clock_bound; // the largest of any of them; below 0: unknown
    uint64_t not_shown;  // skews that clocks cannot show
};

static struct of_key judge_key(struct rank_matching *matching, size_t from, size_t to) {
    const tsmith_ranks *ranks = matching->ranks;
    struct rank_sums sums = {0};
    uint32_t most = 0;
    uint64_t most_count = 0;
    matching->touched_count = 0;
    for (size_t i = from, end; i < to; i = end) {
        end = ranks_collective_end(matching, i);
        if (end - i > 1)
            judge_collective(matching, &matching->members[i], end - i, &sums);
        else
            matching->unmatched++;
    }
    matching->waited = sweep_add(matching->waited, sums.waited);
    // A run may have as many groups as ranks: only the ranks that take part are read.
    for (size_t i = 0; i < matching->touched_count; i++) {
        const uint32_t rank = matching->touched[i];
        const uint64_t count = matching->last_of[rank];
        most = count > most_count || (count == most_count && rank < most) ? rank : most;
        most_count = count > most_count ? count : most_count;
        matching->last_of[rank] = 0;
    }
    return (struct of_key){.key = matching->members[from].key,
                           .matched = sums.matched,
                           .waited = sums.waited,
                           .skew_total = sums.skew_total,
                           .skew_max = sums.skew_max,
                           .last_count = most_count,
                           .last_rank = most_count ? ranks->items[most].number : -1,
                           .clock_bound = sums.matched ? sums.clock_bound : -1,
                           .not_shown = sums.not_shown};
}

static void write_key(struct report *report, struct report_table *table, tsmith_string key,
                      const struct of_key *sums) {
    ranks_write_key(report, table, key);
    report_integer(report, table, (int64_t)sums->matched);
    if (sums->matched) {
        report_integer(report, table, sums->skew_total / (int64_t)sums->matched);
        report_integer(report, table, sums->skew_max);
    } else {
        report_unknown(report, table);
        report_unknown(report, table);
    }
    report_integer(report, table, sums->waited);
    if (sums->last_rank >= 0)
        report_integer(report, table, sums->last_rank);
    else
        report_unknown(report, table);
    report_integer(report, table, (int64_t)sums->last_count);
    if (sums->clock_bound < 0) {
        report_unknown(report, table);
        report_unknown(report, table);
    } else {
        report_integer(report, table, sums->clock_bound);
        report_integer(report, table, (int64_t)sums->not_shown);
    }
}

// The keys are in the order of their names.
static int by_waited(const void *left, const void *right) {
    const struct of_key *a = left, *b = right;
    if (a->waited != b->waited)
        return a->waited > b->waited ? -1 : 1;
    return a->key < b->key ? -1 : a->key > b->key;
}

static bool write_collectives(struct rank_matching *matching, struct report *report) {
    static const tsmith_report_column COLUMNS[] = {
        {"collective", TSMITH_CELL_TEXT},      {"group", TSMITH_CELL_TEXT},
        {"matched", TSMITH_CELL_COUNT},        {"skew_mean", TSMITH_CELL_DURATION},
        {"skew_max", TSMITH_CELL_DURATION},    {"waited", TSMITH_CELL_DURATION},
        {"last_rank", TSMITH_CELL_COUNT},      {"last_count", TSMITH_CELL_COUNT},
        {"clock_bound", TSMITH_CELL_DURATION}, {"not_shown", TSMITH_CELL_COUNT}};
    struct report_table *table = REPORT_TABLE(report, "collectives",
                                              "skew: from the first arrival to the last; waited: time of "
                                              "all ranks until the last arrived; last_rank: the one that "
                                              "arrived last most often; clock_bound: how well the "
                                              "clocks of the ranks are known; not_shown: how often "
                                              "the skew is not above that",
                                              COLUMNS);
    struct of_key *keys = NULL;
    size_t count = 0, capacity = 0;
    for (size_t from = 0, to; from < matching->count; from = to) {
        to = ranks_key_end(matching, from);
        struct of_key *key = ARRAY_PUSH(keys, count, capacity);
        if (!key) {
            free(keys);
            return false;
        }
        *key = judge_key(matching, from, to);
    }
    if (count)
        qsort(keys, count, sizeof *keys, by_waited);
    for (size_t i = 0; i < count; i++)
        write_key(report, table, matching->names[keys[i].key], &keys[i]);
    free(keys);
    return true;
}

static void write_ranks(const struct rank_matching *matching, struct report *report) {
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
        "last: how often the rank arrived last; delay: by how much after the rank before it, in all; "
        "compute: "
        "time of its other kernels; clock_offset: its clock minus that of the first rank, from the ends of "
        "common collectives, which agree within clock_bound",
        COLUMNS);
    for (size_t i = 0; i < matching->ranks->count; i++) {
        const struct rank *rank = &matching->ranks->items[i];
        const struct rank_sums *sums = &matching->of_rank[i];
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

static bool write_steps(const struct rank_matching *matching, struct report *report) {
    const tsmith_ranks *ranks = matching->ranks;
    static const tsmith_report_column COLUMNS[] = {
        {"step", TSMITH_CELL_TEXT},         {"ranks", TSMITH_CELL_COUNT},
        {"shortest", TSMITH_CELL_DURATION}, {"longest", TSMITH_CELL_DURATION},
        {"spread", TSMITH_CELL_DURATION},   {"slowest_rank", TSMITH_CELL_COUNT}};
    size_t total = 0, count = 0;
    for (size_t i = 0; i < ranks->count; i++)
        total += ranks->items[i].step_count;
    if (!total)
        return true;
    struct rank_member *steps = malloc(total * sizeof *steps);
    if (!steps)
        return false;
    for (uint32_t i = 0; i < ranks->count; i++)
        for (size_t k = 0; k < ranks->items[i].step_count; k++)
            steps[count++] = (struct rank_member){.key = matching->order[ranks->items[i].steps[k].name],
                                                  .rank = i,
                                                  .start = ranks->items[i].steps[k].start,
                                                  .end = ranks->items[i].steps[k].end};
    qsort(steps, count, sizeof *steps, ranks_compare_members);
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
        report_text(report, table, matching->names[steps[from].key]);
        report_integer(report, table, (int64_t)(to - from));
        report_integer(report, table, shortest);
        report_integer(report, table, longest);
        report_integer(report, table, longest - shortest);
        report_integer(report, table, ranks->items[slowest].number);
    }
    free(steps);
    return true;
}

// The rank that costs most comes last by less than the clocks of the hosts are known.
static bool is_below_bound(const struct rank_matching *matching, size_t rank, char mean[REPORT_TEXT],
                           char bound[REPORT_TEXT]) {
    const struct rank_sums *sums = &matching->of_rank[rank];
    const int64_t known = ranks_clock_bound_of(matching, rank),
                  by = sums->last ? sums->delay / (int64_t)sums->last : 0;
    report_duration(mean, by);
    report_duration(bound, known);
    return by && known > 0 && by <= known;
}

static void write_finding(const struct rank_matching *matching, struct report *report) {
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
    else if (is_below_bound(matching, worst, delay, waited))
        report_finding(report,
                       "%s%s late is not shown: rank %lld is the last %llu time%s, by %s on average, and the "
                       "clocks of the hosts are known within %s.",
                       among, partial ? "which rank is" : "Which rank is",
                       (long long)ranks->items[worst].number,
                       (unsigned long long)matching->of_rank[worst].last,
                       report_plural(matching->of_rank[worst].last), delay, waited);
    else
        report_finding(
            report,
            "%s%s %lld costs most: it is the last %llu time%s, by %s in all; together the ranks wait %s "
            "for each other.",
            among, partial ? "rank" : "Rank", (long long)ranks->items[worst].number,
            (unsigned long long)matching->of_rank[worst].last, report_plural(matching->of_rank[worst].last),
            report_duration(delay, matching->of_rank[worst].delay),
            report_duration(waited, matching->waited));
}

tsmith_status ranks_report(tsmith_ranks *ranks) {
    struct report *report = &ranks->report;
    struct rank_matching matching = {.ranks = ranks};
    bool done = ranks_match(&matching) && ranks_relate_clocks(&matching) && ranks_align(&matching);
    if (done) {
        report->public.name = "ranks";
        report->public.question = "Which rank is late, and who waits for it?";
        for (size_t i = 0; i < ranks->count; i++) {
            report->public.window.to = sweep_add(report->public.window.to, ranks->items[i].window);
            report->public.missing = sweep_add(report->public.missing, ranks->items[i].missing);
            report->public.lost += ranks->items[i].lost;
        }
        done = write_collectives(&matching, report);
        write_ranks(&matching, report);
        done = done && write_steps(&matching, report) && ranks_write_lateness(&matching) &&
               ranks_write_stragglers(&matching, report) && ranks_write_links(&matching, report) &&
               ranks_write_messages(ranks, report);
        write_finding(&matching, report);
        ranks_write_absent(&matching, report);
        ranks_write_clocks(&matching, report);
        done = done && ranks_write_paths(&matching, report);
    }
    ranks_matching_finish(&matching);
    return done && report_end(report) ? TSMITH_OK : TSMITH_ERROR_NO_MEMORY;
}
