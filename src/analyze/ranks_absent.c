// SPDX-License-Identifier: Apache-2.0
// What an answer about ranks does not have: ranks without a trace, traces that could not be read, collectives of one rank
// only. ranks_report.c calls it.
#include <stdio.h>
#include <string.h>

#include "analyze/ranks_match.h"

enum { LISTED = 400 };

struct list {
    char text[LISTED];
    size_t length;
    bool full;
};

// "3, 17, 40-47", one range after the other; `to` is not in it.
static void add_range(struct list *list, int64_t from, int64_t to) {
    const size_t left = LISTED - list->length;
    const char *comma = list->length ? ", " : "";
    if (list->full)
        return;
    const int added = to - from > 1
                          ? snprintf(list->text + list->length, left, "%s%lld-%lld", comma, (long long)from,
                                     (long long)to - 1)
                          : snprintf(list->text + list->length, left, "%s%lld", comma, (long long)from);
    list->full = added < 0 || (size_t)added >= left - 8;
    if (list->full)
        (void)snprintf(list->text + list->length, left, ", ...");
    else
        list->length += (size_t)added;
}

// The ranks of the run that have no trace; the ranks are sorted by number.
static struct list list_absent(const tsmith_ranks *ranks) {
    struct list list = {0};
    int64_t from = 0;
    for (size_t i = 0; i < ranks->count && !list.full; i++) {
        const int64_t number = ranks->items[i].number;
        if (number > from && from < ranks->world)
            add_range(&list, from, number < ranks->world ? number : ranks->world);
        from = number >= from ? number + 1 : from;
    }
    if (from < ranks->world)
        add_range(&list, from, ranks->world);
    return list;
}

static struct list list_truncated(const tsmith_ranks *ranks) {
    struct list list = {0};
    for (size_t i = 0, to; i < ranks->count && !list.full; i = to) {
        to = i + 1;
        if (!ranks->items[i].truncated)
            continue;
        while (to < ranks->count && ranks->items[to].truncated &&
               ranks->items[to].number == ranks->items[to - 1].number + 1)
            to++;
        add_range(&list, ranks->items[i].number, ranks->items[to - 1].number + 1);
    }
    return list;
}

// A launcher names its runs; not every trace states it.
static void note_jobs(const tsmith_ranks *ranks, struct report *report) {
    const char *first = NULL;
    for (size_t i = 0; i < ranks->count; i++) {
        const char *job = ranks->items[i].job;
        if (job && first && strcmp(job, first) != 0) {
            report_note(report,
                        "The traces are of different runs: their launchers state the jobs %.40s and %.40s.",
                        first, job);
            return;
        }
        first = first ? first : job;
    }
}

static void note_world(const tsmith_ranks *ranks, struct report *report) {
    if (ranks->worlds_differ)
        report_note(report, "The traces state different numbers of ranks: they may be of different runs.");
    else if (ranks->world < 0)
        report_note(report, "The traces do not state how many ranks the run had.");
    if (ranks->world <= (int64_t)ranks->count)
        return;
    report_note(report,
                "The run had %lld ranks: a rank whose trace is not given may be later than all of these.",
                (long long)ranks->world);
    if (ranks->ordered)
        return;
    const struct list absent = list_absent(ranks);
    report_note(report, "No trace of: rank%s %s.",
                report_plural((uint64_t)(ranks->world - (int64_t)ranks->count)), absent.text);
}

static void write_unread(const tsmith_ranks *ranks, struct report *report) {
    static const tsmith_report_column COLUMNS[] = {{"trace", TSMITH_CELL_TEXT}, {"reason", TSMITH_CELL_TEXT}};
    struct report_table *table =
        REPORT_TABLE(report, "missing", "traces that were given and are not in the answer, and why", COLUMNS);
    for (size_t i = ranks->count; i < ranks->count + ranks->absent; i++) {
        const struct rank *rank = &ranks->items[i];
        report_text(report, table, (tsmith_string){rank->label, strlen(rank->label)});
        report_text(report, table, (tsmith_string){rank->reason, strlen(rank->reason)});
    }
    if (!ranks->absent)
        return;
    report_note(report, "%zu of the %zu traces %s not in the answer; the table 'missing' says why.",
                ranks->absent, ranks->count + ranks->absent, ranks->absent == 1 ? "is" : "are");
}

void ranks_write_absent(const struct rank_matching *matching, struct report *report) {
    const tsmith_ranks *ranks = matching->ranks;
    size_t truncated = 0;
    for (size_t i = 0; i < ranks->count; i++)
        truncated += ranks->items[i].truncated;
    note_world(ranks, report);
    note_jobs(ranks, report);
    if (matching->unmatched)
        report_note(report, "%llu collective%s in one trace only.", (unsigned long long)matching->unmatched,
                    matching->unmatched == 1 ? " is" : "s are");
    if (ranks->ordered)
        report_note(
            report,
            "The traces do not state their ranks (or all state one): they are numbered by their names.");
    if (truncated)
        report_note(report, "%zu of the traces end early: rank%s %s.", truncated, report_plural(truncated),
                    list_truncated(ranks).text);
    write_unread(ranks, report);
}
