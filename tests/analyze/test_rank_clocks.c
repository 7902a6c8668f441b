// SPDX-License-Identifier: Apache-2.0
// Ranks on hosts with clocks of their own, which their traces relate by probes, by UTC, or not at all: what the comparison says of the
// clocks holds, and a rank that is late by less than that is not shown to be late.
#include "support/made_trace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tracesmith/ranks.h"

enum { COLLECTIVES = 20, RANKS_MOST = 8 };
static const int64_t US = 1000, MS = 1000000, SECOND = 1000000000;

// Host h's clock shows its shift, and its time runs 10 ppm faster than that of host h - 1.
static int64_t shown(int host, int64_t time) {
    return time + time / 100000 * host + (int64_t)host * 12345 * SECOND;
}

enum claim { NOTHING, PROBES, UTC, BOTH, PTP, STEPPED, CROOKED };

// Messages with each of the two ranks before and after it: to both (a ring), only to the one after it. LOSSY: and events were lost;
// EARLY: some are received before they are sent; TWISTED: some receives end in another order than they began.
// INEXACT: a ring, and times of calls may be off by 2 us. MIDDLE: as LOSSY, but because the recording began and ended in the middle.
// THINNED: as LOSSY, by --max-overhead.
enum talk { SILENT, RING, CHAIN, LOSSY, EARLY, TWISTED, INEXACT, MIDDLE, THINNED };

struct made_rank {
    int number, host;
    int64_t late;     // ns, at each collective
    enum claim claim; // of host 0; CROOKED: also of host 1, and wrong by 1 ms
    enum talk talk;
};

// ---- a trace of collectives of MPI

struct rank_trace {
    tsmith_dictionary *dictionary;
    tsmith_batch *batch;
    bool given;
};

static tsmith_status next_batch(void *self, const tsmith_batch **out, tsmith_error *error) {
    struct rank_trace *trace = self;
    (void)error;
    if (trace->given)
        return TSMITH_END;
    trace->given = true;
    *out = trace->batch;
    return TSMITH_OK;
}

static const tsmith_dictionary *dictionary_of(void *self) {
    return ((struct rank_trace *)self)->dictionary;
}

static const tsmith_source_ops OPS = {.next = next_batch, .dictionary = dictionary_of};

static uint32_t add_clock(tsmith_dictionary *dictionary, const char *name) {
    return tsmith_dictionary_add_clock(
        dictionary, &(tsmith_clock){.name = tsmith_dictionary_intern_cstr(dictionary, name)});
}

static void add_pair(tsmith_dictionary *dictionary, uint32_t clock, int64_t there, int64_t here,
                     int64_t error) {
    assert_int_not_equal(
        tsmith_dictionary_add_clock_pair(
            dictionary,
            &(tsmith_clock_pair){.clock = clock, .clock_time = there, .trace_time = here, .error = error}),
        0);
}

static void claim_clocks(const struct made_rank *rank, tsmith_dictionary *dictionary) {
    char name[64];
    (void)snprintf(name, sizeof name, "raw:%d", rank->host);
    tsmith_dictionary_set_attribute(dictionary, TSMITH_CLOCK_ATTRIBUTE, name);
    const uint32_t probes = rank->claim == PROBES || rank->claim == BOTH || rank->claim == STEPPED ||
                                    rank->claim == CROOKED
                                ? add_clock(dictionary, TSMITH_CLOCK_OF "raw:0")
                                : 0,
                   others = rank->claim == CROOKED ? add_clock(dictionary, TSMITH_CLOCK_OF "raw:1") : 0,
                   utc = rank->claim == UTC || rank->claim == BOTH ? add_clock(dictionary, TSMITH_CLOCK_UTC)
                                                                   : 0,
                   ptp = rank->claim == PTP ? add_clock(dictionary, TSMITH_CLOCK_PTP) : 0;
    if (rank->talk == INEXACT)
        add_pair(dictionary, add_clock(dictionary, "tsc"), 1000, shown(rank->host, 0), 2 * US);
    for (int i = 0; i < 20; i++) {
        const int64_t time = i * SECOND / 2 + 7 * MS, here = shown(rank->host, time);
        const int64_t step = rank->claim == STEPPED && i >= 10 ? SECOND : 0;
        if (probes)
            add_pair(dictionary, probes, shown(0, time) + step + 1 * US, here, 4 * US);
        if (others)
            add_pair(dictionary, others, shown(1, time) + 1 * MS, here, 4 * US);
        if (utc)
            add_pair(dictionary, utc, time + 1600000000 * SECOND + 3 * US, here, 40 * US);
        if (ptp) // each is read at times of its own
            add_pair(dictionary, ptp, time + 1600000037 * SECOND + (rank->host ? -200 : 200), here, 1 * US);
    }
}

static void add_collective(struct rank_trace *trace, const struct made_rank *rank, uint64_t number) {
    const int64_t begin = ((int64_t)number + 1) * 400 * MS, end = begin + 300 * US,
                  start = shown(rank->host, begin + rank->late);
    static const char *const names[] = {"comm", "sequence", "ranks"};
    const uint64_t values[] = {77, number, RANKS_MOST};
    assert_int_not_equal(tsmith_batch_append(trace->batch, TSMITH_KIND_COLLECTIVE, start), UINT32_MAX);
    assert_int_equal(
        tsmith_batch_set(trace->batch, TSMITH_FIELD_DURATION, (uint64_t)(shown(rank->host, end) - start)),
        TSMITH_OK);
    assert_int_equal(tsmith_batch_set(trace->batch, TSMITH_FIELD_NAME,
                                      tsmith_dictionary_intern_cstr(trace->dictionary, "MPI_Allreduce")),
                     TSMITH_OK);
    for (int i = 0; i < 3; i++)
        assert_int_equal(tsmith_batch_set_dynamic(
                             trace->batch,
                             tsmith_dictionary_field(trace->dictionary, names[i], TSMITH_TYPE_U64, ""),
                             TSMITH_TYPE_U64, values[i]),
                         TSMITH_OK);
}

static void set_dynamic(struct rank_trace *trace, const char *name, tsmith_type type, uint64_t value) {
    const uint32_t field = tsmith_dictionary_field(trace->dictionary, name, type, "");
    assert_int_equal(tsmith_batch_set_dynamic(trace->batch, field, type, value), TSMITH_OK);
}

static void add_message(struct rank_trace *trace, bool sends, int64_t peer, int64_t start, int64_t end) {
    assert_int_not_equal(tsmith_batch_append(trace->batch, TSMITH_KIND_API, start), UINT32_MAX);
    assert_int_equal(tsmith_batch_set(trace->batch, TSMITH_FIELD_DURATION, (uint64_t)(end - start)),
                     TSMITH_OK);
    const uint32_t name = tsmith_dictionary_intern_cstr(trace->dictionary, sends ? "MPI_Send" : "MPI_Recv");
    assert_int_equal(tsmith_batch_set(trace->batch, TSMITH_FIELD_NAME, name), TSMITH_OK);
    set_dynamic(trace, "comm", TSMITH_TYPE_U64, 77);
    set_dynamic(trace, "peer", TSMITH_TYPE_I64, (uint64_t)peer);
    set_dynamic(trace, "tag", TSMITH_TYPE_I64, 5);
    set_dynamic(trace, "sends", TSMITH_TYPE_BOOL, sends);
}

// The i-th message between two ranks, up or down: sent into a buffer, which takes 1 us; received 4 us after it was sent, or while the
// receiver does something else a while later.
static void add_messages(struct rank_trace *trace, const struct made_rank *rank,
                         const struct made_rank *peer) {
    const bool up = rank->number < peer->number, both = rank->talk != CHAIN && peer->talk != CHAIN,
               lossy = rank->talk == LOSSY || peer->talk == LOSSY || rank->talk == MIDDLE ||
                       peer->talk == MIDDLE || rank->talk == THINNED || peer->talk == THINNED;
    for (int64_t i = 0; i < 40; i++)
        for (int down = 0; down < 2; down++) {
            const int64_t sent = i * 200 * MS + 90 * MS + (down ? 7 : 0) * MS, late = i % 3 ? 50 * US : 0;
            int64_t received = sent + 4 * US + late;
            received -= peer->talk == EARLY || rank->talk == EARLY ? 9 * MS : 0;
            if (down && !both)
                continue;
            // Of 40 messages the first send and the last receive were lost.
            if (lossy && up != (bool)down && i == 0)
                continue;
            if (up != (bool)down)
                add_message(trace, true, peer->number, shown(rank->host, sent),
                            shown(rank->host, sent + 1 * US));
            else if (!lossy || i != 39)
                add_message(
                    trace, false, peer->number,
                    shown(rank->host, received - 3 * US - (rank->talk == TWISTED ? i % 2 * 250 * MS : 0)),
                    shown(rank->host, received));
        }
}

// At the time of an event that the trace has anyway, so that the trace begins when it did.
static void add_begin(struct rank_trace *trace, const char *call, int64_t time) {
    assert_int_not_equal(tsmith_batch_append(trace->batch, TSMITH_KIND_API, time), UINT32_MAX);
    assert_int_equal(tsmith_batch_set(trace->batch, TSMITH_FIELD_DURATION, 1), TSMITH_OK);
    assert_int_equal(tsmith_batch_set(trace->batch, TSMITH_FIELD_NAME,
                                      tsmith_dictionary_intern_cstr(trace->dictionary, call)),
                     TSMITH_OK);
}

static void add_loss(struct rank_trace *trace, tsmith_reason reason) {
    assert_int_not_equal(tsmith_batch_append(trace->batch, TSMITH_KIND_LOSS, 0), UINT32_MAX);
    assert_int_equal(tsmith_batch_set(trace->batch, TSMITH_FIELD_DURATION, 1), TSMITH_OK);
    assert_int_equal(tsmith_batch_set(trace->batch, TSMITH_FIELD_LOST, 2), TSMITH_OK);
    assert_int_equal(tsmith_batch_set(trace->batch, TSMITH_FIELD_REASON, (uint64_t)reason), TSMITH_OK);
}

static void add_rank(tsmith_ranks *ranks, const struct made_rank *made, size_t count, size_t index) {
    const struct made_rank *rank = &made[index];
    struct rank_trace trace = {0};
    tsmith_source *source;
    char label[32];
    (void)snprintf(label, sizeof label, "rank%d", rank->number);
    assert_int_equal(tsmith_dictionary_create(&trace.dictionary), TSMITH_OK);
    assert_int_equal(tsmith_batch_create(&trace.batch), TSMITH_OK);
    (void)tsmith_dictionary_add_rank(trace.dictionary,
                                     &(tsmith_rank){.rank = (uint32_t)rank->number + 1, .world = RANKS_MOST});
    claim_clocks(rank, trace.dictionary);
    tsmith_batch_reset(trace.batch, tsmith_dictionary_add_track(
                                        trace.dictionary, &(tsmith_track){.kind = TSMITH_TRACK_THREAD}));
    for (uint64_t i = 0; i < COLLECTIVES; i++)
        add_collective(&trace, rank, i);
    if (rank->talk && index)
        add_messages(&trace, rank, &made[index - 1]);
    if (rank->talk && index + 1 < count)
        add_messages(&trace, rank, &made[index + 1]);
    if (rank->talk && rank->talk != MIDDLE)
        add_begin(&trace, rank->number ? "MPI_Init_thread" : "MPI_Init",
                  shown(rank->host, 400 * MS + rank->late));
    if (rank->talk == LOSSY || rank->talk == THINNED)
        add_loss(&trace, rank->talk == LOSSY ? TSMITH_REASON_RING_FULL : TSMITH_REASON_THINNED);
    assert_int_equal(tsmith_batch_finish(trace.batch), TSMITH_OK);
    assert_int_equal(tsmith_source_create(&OPS, &trace, &source), TSMITH_OK);
    assert_int_equal(tsmith_ranks_add(ranks, label, source, NULL), TSMITH_OK);
    tsmith_source_destroy(source);
    tsmith_batch_destroy(trace.batch);
    tsmith_dictionary_destroy(trace.dictionary);
}

// ---- the answer

static tsmith_ranks *new_ranks(void) {
    tsmith_ranks *ranks;
    assert_int_equal(tsmith_ranks_create(&ranks, NULL), TSMITH_OK);
    return ranks;
}

static tsmith_status keep_bytes(void *context, const void *bytes, size_t size) {
    return fwrite(bytes, 1, size, context) == size ? TSMITH_OK : TSMITH_ERROR_IO;
}

// Through a partial, which has to be the same.
static tsmith_ranks *copy_of(const tsmith_ranks *ranks) {
    char *bytes;
    size_t size;
    FILE *file = open_memstream(&bytes, &size);
    assert_non_null(file);
    const tsmith_output output = {.write = keep_bytes, .context = file};
    assert_int_equal(tsmith_ranks_write_partial(ranks, &output, NULL), TSMITH_OK);
    assert_int_equal(fclose(file), 0);
    tsmith_ranks *copy = new_ranks();
    assert_int_equal(tsmith_ranks_add_partial(copy, "partial", bytes, size, NULL), TSMITH_OK);
    for (size_t cut = 1; cut < size; cut += size / 50 + 1) { // and nothing of a part of it
        tsmith_ranks *damaged = new_ranks();
        assert_true(tsmith_ranks_add_partial(damaged, "partial", bytes, size - cut, NULL) < 0);
        tsmith_ranks_destroy(damaged);
    }
    free(bytes);
    return copy;
}

static const tsmith_cell *cell(const tsmith_report *report, const char *table, size_t row,
                               const char *column) {
    for (size_t i = 0; i < report->table_count; i++)
        for (size_t k = 0; k < report->tables[i].column_count; k++)
            if (strcmp(report->tables[i].name, table) == 0 &&
                strcmp(report->tables[i].columns[k].name, column) == 0) {
                assert_true(row < report->tables[i].row_count);
                return &report->tables[i].cells[row * report->tables[i].column_count + k];
            }
    fail_msg("no column %s.%s", table, column);
    return NULL;
}

static bool has_note(const tsmith_report *report, const char *text) {
    for (size_t i = 0; i < report->note_count; i++)
        if (strstr(report->notes[i], text))
            return true;
    return false;
}

static void check_same(const tsmith_report *a, const tsmith_report *b) {
    assert_string_equal(a->finding, b->finding);
    assert_int_equal(a->note_count, b->note_count);
    for (size_t i = 0; i < a->note_count; i++)
        assert_string_equal(a->notes[i], b->notes[i]);
    static const char *const columns[] = {"offset", "bound", "contradictions"};
    for (size_t row = 0; row < 2; row++)
        for (size_t i = 0; i < 3; i++) {
            const tsmith_cell *left = cell(a, "clocks", row, columns[i]),
                              *right = cell(b, "clocks", row, columns[i]);
            assert_int_equal(left->known, right->known);
            assert_true(!left->known || left->value.integer == right->value.integer);
        }
}

static tsmith_ranks *compare(const struct made_rank *made, size_t count) {
    tsmith_ranks *ranks = new_ranks();
    for (size_t i = count; i-- > 0;)
        add_rank(ranks, made, count, i);
    tsmith_ranks *copy = copy_of(ranks);
    assert_int_equal(tsmith_ranks_finish(ranks, NULL), TSMITH_OK);
    assert_int_equal(tsmith_ranks_finish(copy, NULL), TSMITH_OK);
    check_same(tsmith_ranks_report(ranks), tsmith_ranks_report(copy));
    tsmith_ranks_destroy(copy);
    return ranks;
}

// The offset of a host's clock from that of host 0, at the first collective of the rank.
static void check_offset(const tsmith_report *report, size_t row, const struct made_rank *rank,
                         const char *relation) {
    const int64_t time = 400 * MS + rank->late, truth = shown(rank->host, time) - shown(0, time),
                  offset = cell(report, "clocks", row, "offset")->value.integer,
                  bound = cell(report, "clocks", row, "bound")->value.integer;
    assert_string_equal(cell(report, "clocks", row, "relation")->value.text, relation);
    assert_true(offset - truth <= bound && truth - offset <= bound);
    const double rate = cell(report, "clocks", row, "rate_ppm")->value.number,
                 rate_bound = cell(report, "clocks", row, "rate_bound_ppm")->value.number;
    assert_true(rate - 10 * rank->host <= rate_bound && 10 * rank->host - rate <= rate_bound);
}

static void a_difference_is_compared_with_the_bound(void **unused) {
    (void)unused;
    for (int shown_late = 0; shown_late < 2; shown_late++) {
        const struct made_rank made[] = {{0, 0, 0, NOTHING, SILENT},
                                         {1, 1, 0, PROBES, SILENT},
                                         {2, 2, shown_late ? 50 * US : 3 * US, PROBES, SILENT}};
        tsmith_ranks *ranks = compare(made, 3);
        const tsmith_report *report = tsmith_ranks_report(ranks);
        for (size_t i = 1; i < 3; i++) {
            check_offset(report, i, &made[i], "probes, collectives");
            assert_true(cell(report, "clocks", i, "bound")->value.integer <= 5 * US);
            assert_int_equal(cell(report, "clocks", i, "contradictions")->value.integer, 0);
        }
        assert_string_equal(cell(report, "clocks", 0, "relation")->value.text, "same clock");
        assert_non_null(
            strstr(report->finding, shown_late ? "rank 2 costs most" : "which rank is late is not shown"));
        const int64_t bound = cell(report, "collectives", 0, "clock_bound")->value.integer;
        assert_true(bound > 3 * US && bound < 50 * US);
        assert_int_equal(cell(report, "collectives", 0, "not_shown")->value.integer,
                         shown_late ? 0 : COLLECTIVES);
        assert_true(has_note(report, "The clocks of the hosts are known within"));
        // The start of each rank by the clocks, and that by the lengths.
        for (size_t row = 0; row < 6; row++) {
            const int64_t late = cell(report, "occurrences", row, "late")->value.integer,
                          aligned = cell(report, "occurrences", row, "aligned")->value.integer;
            assert_true(cell(report, "occurrences", row, "clock_bound")->value.integer <= 5 * US);
            assert_true(aligned - late <= bound && late - aligned <= bound);
        }
        tsmith_ranks_destroy(ranks);
    }
}

static void utc_relates_hosts(void **unused) {
    (void)unused;
    const struct made_rank made[] = {{0, 0, 0, UTC, SILENT}, {1, 1, 200 * US, UTC, SILENT}};
    tsmith_ranks *ranks = compare(made, 2);
    check_offset(tsmith_ranks_report(ranks), 1, &made[1], "UTC, collectives");
    assert_true(cell(tsmith_ranks_report(ranks), "clocks", 1, "bound")->value.integer < 200 * US);
    assert_non_null(strstr(tsmith_ranks_report(ranks)->finding, "rank 1 costs most"));
    tsmith_ranks_destroy(ranks);
}

static void ptp_relates_hosts(void **unused) {
    (void)unused;
    const struct made_rank made[] = {{0, 0, 0, PTP, SILENT}, {1, 1, 50 * US, PTP, SILENT}};
    tsmith_ranks *ranks = compare(made, 2);
    check_offset(tsmith_ranks_report(ranks), 1, &made[1], "PTP, collectives");
    assert_true(cell(tsmith_ranks_report(ranks), "clocks", 1, "bound")->value.integer <= 3 * US);
    assert_non_null(strstr(tsmith_ranks_report(ranks)->finding, "rank 1 costs most"));
    tsmith_ranks_destroy(ranks);
}

// UTC of one host and PTP of the other have nothing in common.
static void utc_is_not_ptp(void **unused) {
    (void)unused;
    const struct made_rank made[] = {{0, 0, 0, UTC, SILENT}, {1, 1, 50 * US, PTP, SILENT}};
    tsmith_ranks *ranks = compare(made, 2);
    assert_string_equal(cell(tsmith_ranks_report(ranks), "clocks", 1, "relation")->value.text, "collectives");
    tsmith_ranks_destroy(ranks);
}

static void probes_and_utc_are_intersected(void **unused) {
    (void)unused;
    const struct made_rank made[] = {{0, 0, 0, UTC, SILENT}, {1, 1, 50 * US, BOTH, SILENT}};
    tsmith_ranks *ranks = compare(made, 2);
    check_offset(tsmith_ranks_report(ranks), 1, &made[1], "probes, UTC, collectives");
    assert_true(cell(tsmith_ranks_report(ranks), "clocks", 1, "bound")->value.integer <= 5 * US);
    tsmith_ranks_destroy(ranks);
}

// Without any probe: messages in both directions relate the clocks, within less than half of what a message takes.
static void messages_relate_hosts(void **unused) {
    (void)unused;
    for (int shown_late = 0; shown_late < 4; shown_late++) {
        const enum talk talk = shown_late < 2 ? RING : TWISTED;
        const struct made_rank made[] = {{0, 0, 0, NOTHING, talk},
                                         {1, 1, 0, NOTHING, talk},
                                         {2, 2, shown_late % 2 ? 50 * US : 3 * US, NOTHING, talk}};
        tsmith_ranks *ranks = compare(made, 3);
        const tsmith_report *report = tsmith_ranks_report(ranks);
        check_offset(report, 1, &made[1], "messages, collectives");
        check_offset(report, 2, &made[2], "messages, collectives");
        assert_true(cell(report, "clocks", 1, "bound")->value.integer <= 5 * US);
        assert_true(cell(report, "clocks", 2, "bound")->value.integer <= 10 * US);
        const int64_t bound = cell(report, "collectives", 0, "clock_bound")->value.integer;
        assert_true(bound > 3 * US && bound < 50 * US);
        assert_non_null(strstr(report->finding,
                               shown_late % 2 ? "rank 2 costs most" : "which rank is late is not shown"));
        tsmith_ranks_destroy(ranks);
    }
}

// Messages in one direction, and messages of traces with losses or without their beginning, say nothing that collectives do not.
static void other_messages_relate_no_host(void **unused) {
    (void)unused;
    const struct made_rank chain[] = {{0, 0, 0, NOTHING, CHAIN}, {1, 1, 3 * US, NOTHING, CHAIN}};
    tsmith_ranks *ranks = compare(chain, 2);
    const tsmith_report *report = tsmith_ranks_report(ranks);
    check_offset(report, 1, &chain[1], "messages, collectives");
    assert_true(cell(report, "clocks", 1, "bound")->value.integer > 100 * US);
    assert_false(cell(report, "collectives", 0, "clock_bound")->known);
    tsmith_ranks_destroy(ranks);
    const struct made_rank lossy[] = {{0, 0, 0, NOTHING, RING}, {1, 1, 3 * US, NOTHING, LOSSY}};
    ranks = compare(lossy, 2);
    check_offset(tsmith_ranks_report(ranks), 1, &lossy[1], "collectives");
    assert_int_equal(cell(tsmith_ranks_report(ranks), "clocks", 1, "contradictions")->value.integer, 0);
    tsmith_ranks_destroy(ranks);
    // The same messages, and nothing says that some are missing.
    const struct made_rank middle[] = {{0, 0, 0, NOTHING, RING}, {1, 1, 3 * US, NOTHING, MIDDLE}};
    ranks = compare(middle, 2);
    assert_int_equal(cell(tsmith_ranks_report(ranks), "clocks", 1, "contradictions")->value.integer, 0);
    check_offset(tsmith_ranks_report(ranks), 1, &middle[1], "collectives");
    tsmith_ranks_destroy(ranks);
}

// The two traces have as many messages, but not the same ones: who waited for whom is not known, and nothing is said of it.
static void messages_chosen_by_each_rank_are_not_matched(void **unused) {
    (void)unused;
    for (int i = 0; i < 2; i++) {
        const struct made_rank made[] = {{0, 0, 0, NOTHING, RING},
                                         {1, 1, 3 * US, NOTHING, i ? THINNED : RING}};
        tsmith_ranks *ranks = compare(made, 2);
        const tsmith_report *report = tsmith_ranks_report(ranks);
        size_t rows = 0;
        for (size_t k = 0; k < report->table_count; k++)
            if (strcmp(report->tables[k].name, "messages") == 0)
                rows += report->tables[k].row_count;
        assert_int_equal(rows, i ? 0 : 2);
        tsmith_ranks_destroy(ranks);
    }
}

static void messages_may_contradict_probes(void **unused) {
    (void)unused;
    const struct made_rank made[] = {{0, 0, 0, NOTHING, RING}, {1, 1, 0, PROBES, EARLY}};
    tsmith_ranks *ranks = compare(made, 2);
    const tsmith_report *report = tsmith_ranks_report(ranks);
    assert_false(cell(report, "clocks", 1, "offset")->known);
    assert_int_equal(cell(report, "clocks", 1, "contradictions")->value.integer, 1);
    assert_true(has_note(report, "The clocks of ranks 0 and 1 contradict each other by "));
    assert_true(has_note(report, "by messages at most") || has_note(report, "by messages the difference"));
    assert_true(has_note(report, "by probes at most") || has_note(report, "by probes the difference") ||
                has_note(report, "by messages the difference is at least"));
    tsmith_ranks_destroy(ranks);
}

static void inexact_times_widen_the_bound(void **unused) {
    (void)unused;
    int64_t bounds[2];
    for (int i = 0; i < 2; i++) {
        const enum talk talk = i ? INEXACT : RING;
        const struct made_rank made[] = {{0, 0, 0, NOTHING, talk}, {1, 1, 0, NOTHING, talk}};
        tsmith_ranks *ranks = compare(made, 2);
        check_offset(tsmith_ranks_report(ranks), 1, &made[1], "messages, collectives");
        bounds[i] = cell(tsmith_ranks_report(ranks), "clocks", 1, "bound")->value.integer;
        tsmith_ranks_destroy(ranks);
    }
    assert_true(is_between(bounds[1] - bounds[0], 4 * US - 10, 5 * US)); // by the errors of both
}

static void collectives_alone_align_no_rank(void **unused) {
    (void)unused;
    const struct made_rank made[] = {{0, 0, 0, NOTHING, SILENT}, {1, 1, 3 * US, NOTHING, SILENT}};
    tsmith_ranks *ranks = compare(made, 2);
    const tsmith_report *report = tsmith_ranks_report(ranks);
    check_offset(report, 1, &made[1], "collectives");
    assert_true(cell(report, "clocks", 1, "bound")->value.integer >= 290 * US);
    assert_false(cell(report, "collectives", 0, "clock_bound")->known);
    assert_non_null(strstr(report->finding, "rank 1 costs most")); // by the lengths
    assert_true(has_note(report, "How the clocks of 1 rank relate"));
    tsmith_ranks_destroy(ranks);
}

static void one_host_has_one_clock(void **unused) {
    (void)unused;
    const struct made_rank made[] = {{0, 0, 0, NOTHING, SILENT}, {1, 0, 3 * US, NOTHING, SILENT}};
    tsmith_ranks *ranks = compare(made, 2);
    const tsmith_report *report = tsmith_ranks_report(ranks);
    assert_string_equal(cell(report, "clocks", 1, "relation")->value.text, "same clock");
    assert_int_equal(cell(report, "clocks", 1, "bound")->value.integer, 0);
    assert_int_equal(cell(report, "collectives", 0, "clock_bound")->value.integer, 0);
    assert_int_equal(cell(report, "collectives", 0, "not_shown")->value.integer, 0);
    assert_non_null(strstr(report->finding, "rank 1 costs most"));
    assert_false(has_note(report, "clocks"));
    tsmith_ranks_destroy(ranks);
}

static void contradictions_are_reported(void **unused) {
    (void)unused;
    const struct made_rank stepped[] = {{0, 0, 0, NOTHING, SILENT},      {1, 1, 0, STEPPED, SILENT},
                                        {2, 2, 0, PROBES, SILENT},       {3, 3, 0, STEPPED, SILENT},
                                        {4, 4, 0, STEPPED, SILENT},      {5, 5, 0, STEPPED, SILENT},
                                        {6, 6, 50 * US, STEPPED, SILENT}};
    tsmith_ranks *ranks = compare(stepped, 7);
    const tsmith_report *report = tsmith_ranks_report(ranks);
    assert_false(cell(report, "clocks", 1, "offset")->known);
    assert_int_equal(cell(report, "clocks", 0, "contradictions")->value.integer, 5);
    assert_int_equal(cell(report, "clocks", 1, "contradictions")->value.integer, 1);
    check_offset(report, 2, &stepped[2], "probes, collectives");
    assert_true(has_note(report, "The clocks of ranks 0 and 1 contradict each other by "));
    assert_true(has_note(report, "1 more contradiction of clocks"));
    tsmith_ranks_destroy(ranks);
    const struct made_rank crooked[] = {{0, 0, 0, NOTHING, SILENT},
                                        {1, 1, 0, PROBES, SILENT},
                                        {2, 2, 0, CROOKED, SILENT},
                                        {3, 3, 50 * US, PROBES, SILENT}};
    ranks = compare(crooked, 4);
    report = tsmith_ranks_report(ranks);
    assert_true(has_note(report, "The clocks of 3 hosts"));
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(cell(report, "clocks", i, "contradictions")->value.integer, i < 3);
    check_offset(report, 3, &crooked[3], "probes, collectives");
    tsmith_ranks_destroy(ranks);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_difference_is_compared_with_the_bound),
        cmocka_unit_test(utc_relates_hosts),
        cmocka_unit_test(ptp_relates_hosts),
        cmocka_unit_test(utc_is_not_ptp),
        cmocka_unit_test(probes_and_utc_are_intersected),
        cmocka_unit_test(messages_relate_hosts),
        cmocka_unit_test(other_messages_relate_no_host),
        cmocka_unit_test(messages_chosen_by_each_rank_are_not_matched),
        cmocka_unit_test(messages_may_contradict_probes),
        cmocka_unit_test(inexact_times_widen_the_bound),
        cmocka_unit_test(collectives_alone_align_no_rank),
        cmocka_unit_test(one_host_has_one_clock),
        cmocka_unit_test(contradictions_are_reported),
    };
    return cmocka_run_group_tests_name("rank_clocks", tests, NULL, NULL);
}
