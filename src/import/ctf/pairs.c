// SPDX-License-Identifier: Apache-2.0
// Ranges of pairs of records: NAME_entry and NAME_exit of one thread, as THAPI and tracepoints of functions have them. The two may be in
// different streams, because a thread moves between processors, whose streams are read one after the other: they are matched at the end.
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "import/ctf/ctf.h"

enum { PAIRS_MAX = 1 << 24 };
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

void ctf_note_side(struct ctf *ctf, struct ctf_record_class *of, uint32_t track, int64_t time) {
    if (of->side == CTF_SIDE_UNKNOWN)
        find_side(ctf, of);
    if (of->side == CTF_SIDE_NONE || ctf->side_count >= PAIRS_MAX)
        return;
    struct ctf_call_side *side = ARRAY_PUSH(ctf->sides, ctf->side_count, ctf->side_capacity);
    ctf->rows.failed |= !side;
    if (side)
        *side = (struct ctf_call_side){.time = time,
                                       .track = track,
                                       .call = of->call,
                                       .order = (uint32_t)ctf->side_count,
                                       .is_exit = of->side == CTF_SIDE_EXIT};
}

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

static void write_range(struct ctf *ctf, const struct ctf_call_side *from, int64_t end) {
    tsmith_batch *batch =
        gather_row(&ctf->rows.gather, from->track, 0, TSMITH_KIND_RANGE, from->time, end - from->time);
    ctf->rows.failed |= !batch;
    if (!batch)
        return;
    (void)tsmith_batch_set(batch, TSMITH_FIELD_NAME, from->call);
    (void)tsmith_batch_set(batch, TSMITH_FIELD_DURATION, (uint64_t)(end - from->time));
}

// An exit belongs to the last entry before it that has none. What is left alone stays a record only.
bool ctf_write_ranges(struct ctf *ctf, size_t most) {
    struct ctf_call_side *const sides = ctf->sides;
    if (!ctf->sides_sorted && ctf->side_count > 1)
        qsort(sides, ctf->side_count, sizeof *sides, by_call);
    ctf->sides_sorted = true;
    for (; most && ctf->side_at < ctf->side_count && !ctf->rows.failed; most--, ctf->side_at++) {
        const struct ctf_call_side *side = &sides[ctf->side_at];
        // Open entries are kept at `side_open`, over sides that were read: there are never more of them.
        const bool same = ctf->side_open && sides[ctf->side_open - 1].track == side->track &&
                          sides[ctf->side_open - 1].call == side->call;
        ctf->side_open = same ? ctf->side_open : 0;
        if (!side->is_exit)
            sides[ctf->side_open++] = *side;
        else if (ctf->side_open)
            write_range(ctf, &sides[--ctf->side_open], side->time);
    }
    return ctf->side_at < ctf->side_count;
}
