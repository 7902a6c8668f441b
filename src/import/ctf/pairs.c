// SPDX-License-Identifier: Apache-2.0
// Ranges of pairs of records: NAME_entry and NAME_exit of one thread, as THAPI and tracepoints of functions have them. The two may be in
// different streams, because a thread moves between processors, whose streams are read one after the other: they are matched at the end.
//
// Where records may be missing, an exit may belong to an entry that is missing. So there is a range only where nothing is missing between
// its two records: a thread may have been on any processor then, so a loss of any stream counts.
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "import/ctf/ctf.h"

enum { PAIRS_MAX = 1 << 22, LOSSES_MAX = 1 << 20 };
static const char ENTRY[] = "_entry", EXIT[] = "_exit";

static bool ends_with(tsmith_string text, const char *end, size_t length) {
    return text.length > length && memcmp(text.bytes + text.length - length, end, length) == 0;
}

// The name of a class is examined once.
static void find_side(struct ctf *ctf, struct ctf_record_class *of) {
    const tsmith_string name = tsmith_dictionary_string(ctf->rows.dictionary, of->name);
    const bool entry = of->name && ends_with(name, ENTRY, sizeof ENTRY - 1),
               exit = of->name && ends_with(name, EXIT, sizeof EXIT - 1);
    of->side = entry ? CTF_SIDE_ENTRY : exit ? CTF_SIDE_EXIT : CTF_SIDE_NONE;
    if (entry || exit)
        of->call = tsmith_dictionary_intern(ctf->rows.dictionary, name.bytes,
                                            name.length - (entry ? sizeof ENTRY - 1 : sizeof EXIT - 1));
}

static void write_none_since(struct ctf *ctf, int64_t time) {
    if (!ctf->has_unpaired || time < ctf->unpaired_since)
        ctf->unpaired_since = time;
    ctf->has_unpaired = true;
}

void ctf_note_side(struct ctf *ctf, struct ctf_record_class *of, uint32_t track, int64_t time) {
    if (of->side == CTF_SIDE_UNKNOWN)
        find_side(ctf, of);
    if (of->side == CTF_SIDE_NONE)
        return;
    if (ctf->side_count >= PAIRS_MAX) {
        write_none_since(ctf, time);
        return;
    }
    struct ctf_call_side *side = ARRAY_PUSH(ctf->sides, ctf->side_count, ctf->side_capacity);
    ctf->rows.failed |= !side;
    if (side)
        *side = (struct ctf_call_side){.time = time,
                                       .track = track,
                                       .call = of->call,
                                       .order = (uint32_t)ctf->side_count,
                                       .is_exit = of->side == CTF_SIDE_EXIT,
                                       .of_stream = track == ctf->stream_track};
}

// ---- losses

static void add_loss(struct ctf *ctf, uint32_t track, int64_t from, int64_t to) {
    if (ctf->loss_count >= LOSSES_MAX) {
        write_none_since(ctf, from);
        return;
    }
    struct ctf_loss *loss = ARRAY_PUSH(ctf->losses, ctf->loss_count, ctf->loss_capacity);
    ctf->rows.failed |= !loss;
    if (loss)
        *loss = (struct ctf_loss){from, to, track};
}

void ctf_note_loss(struct ctf *ctf, uint32_t track, int64_t from, int64_t to) {
    add_loss(ctf, 0, from < to ? from : to, from < to ? to : from);
    if (track)
        add_loss(ctf, track, from < to ? from : to, from < to ? to : from);
}

static int by_track(const void *left, const void *right) {
    const struct ctf_loss *a = left, *b = right;
    if (a->track != b->track)
        return a->track < b->track ? -1 : 1;
    return a->from < b->from ? -1 : a->from > b->from;
}

// Of one track, none begins before the one before it has ended.
static void join_losses(struct ctf *ctf) {
    struct ctf_loss *const losses = ctf->losses;
    size_t kept = 0;
    if (ctf->loss_count > 1)
        qsort(losses, ctf->loss_count, sizeof *losses, by_track);
    for (size_t i = 0; i < ctf->loss_count; i++) {
        struct ctf_loss *last = kept ? &losses[kept - 1] : NULL;
        if (!last || last->track != losses[i].track || last->to < losses[i].from)
            losses[kept++] = losses[i];
        else if (last->to < losses[i].to)
            last->to = losses[i].to;
    }
    ctf->loss_count = kept;
}

static bool is_whole(const struct ctf *ctf, const struct ctf_call_side *from,
                     const struct ctf_call_side *to) {
    const struct ctf_loss wanted = {.track = from->of_stream ? from->track : 0, .from = to->time};
    size_t low = 0, high = ctf->loss_count;
    while (low < high) { // the first that begins after the exit
        const size_t middle = low + (high - low) / 2;
        if (by_track(&ctf->losses[middle], &wanted) <= 0)
            low = middle + 1;
        else
            high = middle;
    }
    const struct ctf_loss *before = low ? &ctf->losses[low - 1] : NULL;
    return (!before || before->track != wanted.track || before->to < from->time) &&
           (!ctf->has_unpaired || to->time < ctf->unpaired_since);
}

// ---- ranges

static int by_call(const void *left, const void *right) {
    const struct ctf_call_side *a = left, *b = right;
    if (a->track != b->track)
        return a->track < b->track ? -1 : 1;
    if (a->call != b->call)
        return a->call < b->call ? -1 : 1;
    if (a->time != b->time)
        return a->time < b->time ? -1 : 1;
    return a->order < b->order ? -1 : 1;
}

static void write_range(struct ctf *ctf, const struct ctf_call_side *from, const struct ctf_call_side *to) {
    const int64_t end = to->time;
    if (!is_whole(ctf, from, to))
        return;
    tsmith_batch *batch =
        gather_row(&ctf->rows.gather, from->track, 0, TSMITH_KIND_RANGE, from->time, end - from->time);
    ctf->rows.failed |= !batch;
    if (!batch)
        return;
    (void)tsmith_batch_set(batch, TSMITH_FIELD_NAME, from->call);
    (void)tsmith_batch_set(batch, TSMITH_FIELD_DURATION, (uint64_t)(end - from->time));
}

static void prepare(struct ctf *ctf) {
    if (ctf->side_count > 1)
        qsort(ctf->sides, ctf->side_count, sizeof *ctf->sides, by_call);
    join_losses(ctf);
    if (ctf->has_unpaired)
        ledger_note(&ctf->rows.ledger, ctf->rows.dictionary, TSMITH_REASON_TABLE_FULL, 0, false,
                    "more than %d records of entries and exits, or %d losses: there is no range that ends at "
                    "or after the time %lld ns of the first that is too many",
                    PAIRS_MAX, LOSSES_MAX / 2, (long long)ctf->unpaired_since);
    ctf->sides_sorted = true;
}

// An exit belongs to the last entry before it that has none. What is left alone stays a record only.
bool ctf_write_ranges(struct ctf *ctf, size_t most) {
    struct ctf_call_side *const sides = ctf->sides;
    if (!ctf->sides_sorted)
        prepare(ctf);
    for (; most && ctf->side_at < ctf->side_count && !ctf->rows.failed; most--, ctf->side_at++) {
        const struct ctf_call_side *side = &sides[ctf->side_at];
        // Open entries are kept at `side_open`, over sides that were read: there are never more of them.
        const bool same = ctf->side_open && sides[ctf->side_open - 1].track == side->track &&
                          sides[ctf->side_open - 1].call == side->call;
        ctf->side_open = same ? ctf->side_open : 0;
        if (!side->is_exit)
            sides[ctf->side_open++] = *side;
        else if (ctf->side_open)
            write_range(ctf, &sides[--ctf->side_open], side);
    }
    return ctf->side_at < ctf->side_count;
}
