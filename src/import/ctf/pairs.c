// SPDX-License-Identifier: Apache-2.0
// Pairs of records: NAME_entry and NAME_exit of one thread, as tracepoints of functions have them, become a range; those of THAPI's providers
// become a call of an API; syscall_entry_NAME and syscall_exit_NAME of the kernel become a range if their records say which thread they are
// of. The two may be in different streams, because a thread moves between processors, whose streams are read one after the other: they are
// matched at the end.
//
// Where records may be missing, an exit may belong to an entry that is missing. So there is a range only where nothing is missing between
// its two records: a thread may have been on any processor then, so a loss of any stream counts.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/sorted.h"
#include "import/ctf/ctf.h"

enum { PAIRS_MAX = 1 << 22, LOSSES_MAX = 1 << 20 };

static bool begins_with(tsmith_string text, const char *start) {
    const size_t length = strlen(start);
    return text.length > length && memcmp(text.bytes, start, length) == 0;
}

static bool ends_with(tsmith_string text, const char *end) {
    const size_t length = strlen(end);
    return text.length > length && memcmp(text.bytes + text.length - length, end, length) == 0;
}

// Those of THAPI whose tracepoints are the functions of an API. LTTng-UST has providers of its own that begin in the same way.
static bool is_api(tsmith_string provider) {
    static const char *const known[] = {
        "lttng_ust_ze",   "lttng_ust_zet", "lttng_ust_zes", "lttng_ust_zel",    "lttng_ust_zex",
        "lttng_ust_cuda", "lttng_ust_hip", "lttng_ust_mpi", "lttng_ust_cudart", "lttng_ust_opencl",
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (provider.length == strlen(known[i]) && memcmp(provider.bytes, known[i], provider.length) == 0)
            return true;
    return false;
}

// NAME_entry and NAME_exit. Older versions of THAPI write _start and _stop for OpenCL.
static void find_function(struct ctf *ctf, struct ctf_record_class *of, tsmith_string name) {
    const char *colon = memchr(name.bytes, ':', name.length);
    const tsmith_string provider = {name.bytes, colon ? (size_t)(colon - name.bytes) : 0};
    const bool api = is_api(provider);
    const bool entry = ends_with(name, "_entry"), start = api && ends_with(name, "_start");
    const bool exit = ends_with(name, "_exit"), stop = api && ends_with(name, "_stop");
    const size_t suffix = entry || start ? sizeof "_entry" - 1 : exit || stop ? sizeof "_exit" - 1 : 0;
    const size_t from = api ? provider.length + 1 : 0;
    if (!suffix || from + suffix >= name.length)
        return;
    of->side = entry || start ? CTF_SIDE_ENTRY : CTF_SIDE_EXIT;
    of->call = tsmith_dictionary_intern(ctf->rows.dictionary, name.bytes + from, name.length - suffix - from);
    if (api)
        of->provider = tsmith_dictionary_intern(ctf->rows.dictionary, provider.bytes, provider.length);
}

// syscall_entry_NAME and syscall_exit_NAME: a thread may wait in it while others run on its processor.
static void find_syscall(struct ctf *ctf, struct ctf_record_class *of, tsmith_string name) {
    static const struct {
        const char *start;
        enum ctf_side side;
    } known[] = {{"syscall_entry_", CTF_SIDE_ENTRY},
                 {"syscall_exit_", CTF_SIDE_EXIT},
                 {"compat_syscall_entry_", CTF_SIDE_ENTRY},
                 {"compat_syscall_exit_", CTF_SIDE_EXIT}};
    char call[256];
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        const size_t skipped = strlen(known[i].start);
        if (!begins_with(name, known[i].start) || name.length >= sizeof call)
            continue;
        const int length =
            snprintf(call, sizeof call, "%ssyscall_%.*s", known[i].start[0] == 'c' ? "compat_" : "",
                     (int)(name.length - skipped), name.bytes + skipped);
        of->side = known[i].side;
        of->of_thread = true;
        of->call = tsmith_dictionary_intern(ctf->rows.dictionary, call, (size_t)length);
    }
}

// The name of a class is examined once.
static void find_side(struct ctf *ctf, struct ctf_record_class *of) {
    const tsmith_string name = tsmith_dictionary_string(ctf->rows.dictionary, of->name);
    of->side = CTF_SIDE_NONE;
    if (!of->name)
        return;
    find_syscall(ctf, of, name);
    if (of->side == CTF_SIDE_NONE)
        find_function(ctf, of, name);
}

static void write_none_since(struct ctf *ctf, int64_t time) {
    if (!ctf->has_unpaired || time < ctf->unpaired_since)
        ctf->unpaired_since = time;
    ctf->has_unpaired = true;
}

void ctf_note_side(struct ctf *ctf, struct ctf_record_class *of, uint32_t track, int64_t time) {
    if (of->side == CTF_SIDE_UNKNOWN)
        find_side(ctf, of);
    if (of->side == CTF_SIDE_NONE || (of->of_thread && track == ctf->stream_track))
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
                                       .provider = of->provider,
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
    // The first that begins after the exit.
    const size_t at = SORTED_FIND(i, 0, ctf->loss_count, by_track(&ctf->losses[i], &wanted) <= 0);
    const struct ctf_loss *before = at ? &ctf->losses[at - 1] : NULL;
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
    if (a->provider != b->provider)
        return a->provider < b->provider ? -1 : 1;
    if (a->time != b->time)
        return a->time < b->time ? -1 : 1;
    return a->order < b->order ? -1 : 1;
}

static void write_range(struct ctf *ctf, const struct ctf_call_side *from, const struct ctf_call_side *to) {
    const int64_t end = to->time;
    if (!is_whole(ctf, from, to))
        return;
    tsmith_batch *batch =
        gather_row(&ctf->rows.gather, from->track, 0, from->provider ? TSMITH_KIND_API : TSMITH_KIND_RANGE,
                   from->time, end - from->time);
    ctf->rows.failed |= !batch;
    if (!batch)
        return;
    (void)tsmith_batch_set(batch, TSMITH_FIELD_NAME, from->call);
    if (from->provider)
        (void)tsmith_batch_set(batch, TSMITH_FIELD_CATEGORY, from->provider);
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
                          sides[ctf->side_open - 1].call == side->call &&
                          sides[ctf->side_open - 1].provider == side->provider;
        ctf->side_open = same ? ctf->side_open : 0;
        if (!side->is_exit)
            sides[ctf->side_open++] = *side;
        else if (ctf->side_open)
            write_range(ctf, &sides[--ctf->side_open], side);
    }
    return ctf->side_at < ctf->side_count;
}
