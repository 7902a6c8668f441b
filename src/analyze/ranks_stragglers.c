// SPDX-License-Identifier: Apache-2.0
// Ranks that are late again and again by what they do themselves, and the probable cause. ranks_report.c calls it.
//
// A rank that waited for a late one in one group comes late to the next as well. So a rank counts as late at a collective
// only as far as both hold: it arrives later than the median of the members, and its time since the collective before it is
// longer than their median. Both are differences of one clock each, so clocks need not agree.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/ranks_match.h"
#include "state/sweep.h"

// A rank is a straggler if chance would make one rank of the run so often late with this probability at most; or, for what
// happens once in a step, if its lateness is this many standard deviations from that of the median rank, even without the
// times at which it was most late. It must cost this share of its time, too: a rank that is always late by a microsecond is
// no straggler.
static const double SIGNIFICANT = 0.01, DEVIATIONS = 6, WORTH = 0.005;
enum { OUTLIERS = 2, RANKS_LEAST = 8, NOTES_MAX = 5 };

struct straggler {
    uint64_t late, judged;     // collectives; those at which the rank is neither late nor early do not count
    int64_t typical;           // median of those at which it is late
    int64_t total, usual;      // usual: without the outliers
    double chance, deviations; // deviations: NAN where there are too few ranks
};

// How late the ranks are, in ns; below 0: earlier than the median.
struct found {
    int64_t *by;   // of each rank, where its collectives begin
    size_t *count; // by rank
    int64_t *scratch;
};

// The smaller of two that agree in sign; else 0.
static int64_t agree(int64_t a, int64_t b) {
    if (a > 0 && b > 0)
        return a < b ? a : b;
    return a < 0 && b < 0 ? (a > b ? a : b) : 0;
}

static void judge_collective(const size_t *first_of, struct found *found, const struct rank_member *members,
                             size_t count) {
    int64_t longest = 0, times[2];
    size_t known = 0;
    for (size_t i = 0; i < count; i++)
        longest = members[i].end - members[i].start > longest ? members[i].end - members[i].start : longest;
    for (size_t i = 0; i < count; i++)
        found->scratch[i] = longest - (members[i].end - members[i].start);
    times[0] = ranks_median(found->scratch, count);
    for (size_t i = 0; i < count; i++)
        if (!members[i].first)
            found->scratch[known++] = members[i].before;
    times[1] = ranks_median(found->scratch, known);
    for (size_t i = 0; i < count; i++) {
        const int64_t arrival = longest - (members[i].end - members[i].start) - times[0];
        const uint32_t rank = members[i].rank;
        if (!members[i].first)
            found->by[first_of[rank] + found->count[rank]++] = agree(arrival, members[i].before - times[1]);
    }
}

static bool find(const struct rank_matching *matching, struct found *found) {
    found->by = malloc((matching->count + 1) * sizeof *found->by);
    found->count = calloc(matching->ranks->count, sizeof *found->count);
    found->scratch = malloc((matching->count + 1) * sizeof *found->scratch);
    if (!found->by || !found->count || !found->scratch)
        return false;
    for (size_t from = 0, to; from < matching->count; from = to) {
        to = ranks_collective_end(matching, from);
        if (to - from > 1)
            judge_collective(matching->first_of, found, &matching->members[from], to - from);
    }
    return true;
}

static int64_t limited(__int128 sum) {
    return sum > INT64_MAX ? INT64_MAX : sum < INT64_MIN ? INT64_MIN : (int64_t)sum;
}

// The largest first.
static void keep_largest(int64_t most[OUTLIERS], int64_t value) {
    for (size_t i = 0; i < OUTLIERS; i++) {
        const int64_t before = most[i];
        most[i] = value > before ? value : before;
        value = value > before ? before : value;
    }
}

// Of one rank; changes the order of the values. The sums are exact and limited at their end, so that they do not depend on it.
static struct straggler judge_rank(int64_t *by, size_t count, size_t ranks) {
    struct straggler straggler = {0};
    int64_t most[OUTLIERS] = {0};
    __int128 total = 0, outliers = 0;
    for (size_t i = 0; i < count; i++) {
        const int64_t late = by[i];
        total += late;
        straggler.judged += late != 0;
        if (late <= 0)
            continue;
        keep_largest(most, late);
        by[i] = by[straggler.late];
        by[straggler.late++] = late;
    }
    for (size_t k = 0; k < OUTLIERS; k++)
        outliers += most[k];
    straggler.total = limited(total);
    straggler.usual = limited(total - outliers);
    if (straggler.late)
        straggler.typical = ranks_select(by, straggler.late, straggler.late / 2);
    straggler.chance = straggler.judged ? ranks_coin_tail(straggler.late, straggler.judged) * (double)ranks
                                        : 1; // one without collectives
    return straggler;
}

static int64_t median_of(const tsmith_ranks *ranks, bool data, int64_t *scratch) {
    for (size_t i = 0; i < ranks->count; i++)
        scratch[i] = data ? ranks->items[i].data : ranks->items[i].compute;
    return ranks_median(scratch, ranks->count);
}

// All collectives of the rank are calls of its host (MPI): they do not wait for the rank's kernels.
static bool is_on_host(const tsmith_ranks *ranks, const struct rank *rank) {
    for (size_t i = 0; i < rank->collective_count; i++)
        if (!ranks_key_is_numbered(tsmith_dictionary_string(ranks->keys, rank->collectives[i].key)))
            return false;
    return true;
}

// Half of the lateness explained is taken as the cause.
static const char *cause(const struct straggler *straggler, int64_t more_data, int64_t more_compute,
                         bool on_host) {
    if (more_data >= straggler->total / 2)
        return "waits for data";
    if (more_compute >= straggler->total / 2)
        return "kernels take longer";
    return on_host ? "host arrives later" : "kernels start later";
}

static void write_one(const struct rank *rank, const struct straggler *straggler, const char *why,
                      struct report *report, struct report_table *table) {
    report_integer(report, table, rank->number);
    report_text(report, table, (tsmith_string){rank->label, strlen(rank->label)});
    report_integer(report, table, (int64_t)straggler->late);
    report_integer(report, table, (int64_t)straggler->judged);
    report_integer(report, table, straggler->typical);
    report_integer(report, table, straggler->total);
    report_share(report, table, straggler->total, rank->window);
    report_number(report, table, straggler->chance);
    if (isnan(straggler->deviations))
        report_unknown(report, table);
    else
        report_number(report, table, straggler->deviations);
    report_text(report, table, (tsmith_string){why, strlen(why)});
}

static void note_one(const struct rank *rank, const struct straggler *straggler, const char *why,
                     struct report *report) {
    char typical[REPORT_TEXT];
    report_note(
        report,
        "Rank %lld is a straggler: by itself late at %llu of %llu collectives, typically by %s; its %s.",
        (long long)rank->number, (unsigned long long)straggler->late, (unsigned long long)straggler->judged,
        report_duration(typical, straggler->typical), *why == 'w' ? "host waits for data" : why);
}

// The distance of each rank's usual lateness from the median, in standard deviations as the median of distances gives them.
static void measure_deviations(struct straggler *all, size_t count, int64_t *scratch) {
    for (size_t i = 0; i < count; i++)
        scratch[i] = all[i].usual;
    const int64_t middle = ranks_median(scratch, count);
    for (size_t i = 0; i < count; i++)
        scratch[i] = all[i].usual > middle ? all[i].usual - middle : middle - all[i].usual;
    const double deviation = 1.4826 * (double)ranks_median(scratch, count);
    for (size_t i = 0; i < count; i++)
        all[i].deviations =
            count < RANKS_LEAST || deviation <= 0 ? (double)NAN : (double)(all[i].usual - middle) / deviation;
}

static bool is_straggler(const struct rank *rank, const struct straggler *straggler) {
    const double worth = WORTH * (double)rank->window;
    return (straggler->chance < SIGNIFICANT && (double)straggler->total >= worth) ||
           (straggler->deviations >= DEVIATIONS && (double)straggler->usual >= worth);
}

static void write_all(const tsmith_ranks *ranks, const struct straggler *all, int64_t *scratch,
                      struct report *report) {
    static const tsmith_report_column COLUMNS[] = {
        {"rank", TSMITH_CELL_COUNT},  {"trace", TSMITH_CELL_TEXT},       {"late", TSMITH_CELL_COUNT},
        {"of", TSMITH_CELL_COUNT},    {"typical", TSMITH_CELL_DURATION}, {"total", TSMITH_CELL_DURATION},
        {"share", TSMITH_CELL_SHARE}, {"chance", TSMITH_CELL_NUMBER},    {"deviations", TSMITH_CELL_NUMBER},
        {"cause", TSMITH_CELL_TEXT}};
    struct report_table *table =
        REPORT_TABLE(report, "stragglers",
                     "ranks that are late by themselves: late at how many of the collectives at "
                     "which they are late or early, typical and total lateness, its share of the "
                     "rank's time, how often chance makes a rank so often late, its distance from "
                     "the median rank in standard deviations, and the probable cause",
                     COLUMNS);
    const int64_t data = median_of(ranks, true, scratch), compute = median_of(ranks, false, scratch);
    size_t stragglers = 0;
    for (size_t i = 0; i < ranks->count; i++) {
        const struct rank *rank = &ranks->items[i];
        if (!is_straggler(rank, &all[i]))
            continue;
        const char *why = cause(&all[i], rank->data - data, rank->compute - compute, is_on_host(ranks, rank));
        write_one(rank, &all[i], why, report, table);
        if (stragglers++ < NOTES_MAX)
            note_one(rank, &all[i], why, report);
    }
    if (stragglers > NOTES_MAX)
        report_note(report, "%zu more rank%s; the table has all.", stragglers - NOTES_MAX,
                    stragglers - NOTES_MAX == 1 ? " is a straggler" : "s are stragglers");
}

bool ranks_write_stragglers(const struct rank_matching *matching, struct report *report) {
    const tsmith_ranks *ranks = matching->ranks;
    struct found found = {0};
    struct straggler *all = calloc(ranks->count, sizeof *all);
    int64_t *scratch = malloc(ranks->count * sizeof *scratch);
    const bool done = all && scratch && find(matching, &found);
    for (size_t i = 0; done && i < ranks->count; i++)
        all[i] = judge_rank(&found.by[matching->first_of[i]], found.count[i], ranks->count);
    if (done) {
        measure_deviations(all, ranks->count, scratch);
        write_all(ranks, all, scratch, report);
    }
    free(all);
    free(scratch);
    free(found.by);
    free(found.count);
    free(found.scratch);
    return done;
}
