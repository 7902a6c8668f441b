// SPDX-License-Identifier: Apache-2.0
// Launches of Nsight Compute: it profiles launches in their order, all or a part of them (--launch-skip, --launch-count, --kernel-name), in a run of
// its own. So the launches of a process are compared with those of the trace that have the same kernels, in the order of their launch: they must
// follow each other at exactly one place. If they do so nowhere, the n-th launch of a kernel is joined with the n-th of the trace where
// both have equally many. Everything else is ambiguous, and is not joined. Kernels are equal by name and, if both sides have
// them, by the sizes of grid and block.
#include <stdlib.h>
#include <string.h>

#include "api/join.h"
#include "base/array.h"
#include "base/hash.h"
#include "base/table.h"
#include "tracesmith/view.h"

static const uint32_t SIZES[] = {TSMITH_FIELD_GLOBAL_X, TSMITH_FIELD_GLOBAL_Y, TSMITH_FIELD_GLOBAL_Z,
                                 TSMITH_FIELD_LOCAL_X,  TSMITH_FIELD_LOCAL_Y,  TSMITH_FIELD_LOCAL_Z};

// ---- names

// The name of the function alone: without its type, namespaces, template arguments and parameters, as ncu writes it with
// --print-kernel-base function.
static tsmith_string base_name(tsmith_string name) {
    static const char ANONYMOUS[] = "(anonymous namespace)::";
    const char *from = name.bytes ? name.bytes : "", *end = from + name.length, *found;
    while ((found = memmem(from, (size_t)(end - from), ANONYMOUS, sizeof ANONYMOUS - 1)) &&
           !memchr(from, '<', (size_t)(found - from)))
        from = found + sizeof ANONYMOUS - 1;
    for (const char *at = from; at < end; at++)
        if (*at == '<' || *at == '(') {
            end = at;
            break;
        } else if (*at == ' ' || (*at == ':' && at > from && at[-1] == ':')) {
            from = at + 1;
        }
    return (tsmith_string){from, (size_t)(end - from)};
}

static uint64_t name_of(const tsmith_dictionary *dictionary, uint32_t string, bool base) {
    const tsmith_string name = tsmith_dictionary_string(dictionary, string);
    const tsmith_string text = base ? base_name(name) : name;
    return hash_bytes(text.bytes ? text.bytes : "", text.length);
}

// ---- both sides

static uint32_t process_of(const tsmith_dictionary *dictionary, const tsmith_batch *batch) {
    const tsmith_track *track = tsmith_dictionary_track(dictionary, tsmith_batch_track(batch));
    return track ? track->process : 0;
}

static void read_sizes(const tsmith_batch *batch, uint32_t row, uint64_t sizes[6]) {
    tsmith_view views[6];
    tsmith_view_batch(batch, SIZES, 6, views);
    for (unsigned i = 0; i < 6; i++)
        if (!tsmith_view_bits(&views[i], row, &sizes[i]))
            sizes[i] = i == 0 || i == 3 ? 0 : 1; // what an interface leaves out is 1
}

static void read_launches(struct join *join) {
    const uint32_t field = join_field(join->other, "ncu_id");
    for (size_t i = 0; i < join->record_count; i++) {
        struct join_record *record = &join->records[i];
        record->known = field && join_value(record->batch, field, record->row, &record->number);
        record->process = process_of(join->other, record->batch);
    }
}

static void look_at_events(struct join *join, const tsmith_batch *batch, uint64_t ordinal) {
    static const uint32_t fields[] = {TSMITH_FIELD_NAME, TSMITH_FIELD_CORRELATION};
    tsmith_spans spans;
    tsmith_view views[2];
    if (!tsmith_view_spans(batch, &spans))
        return;
    tsmith_view_batch(batch, fields, 2, views);
    for (uint32_t row = 0; row < tsmith_batch_count(batch); row++) {
        if (spans.kinds[row] != TSMITH_KIND_KERNEL || !tsmith_view_has(&views[0], row))
            continue;
        struct join_event *event = join_add_event(join);
        if (!event)
            return;
        event->ordinal = ordinal + row;
        event->name_id = tsmith_view_id(&views[0], row);
        event->process = process_of(join->dictionary, batch);
        event->number = tsmith_view_u64_or(&views[1], row, 0);
        event->start = spans.starts[row];
        read_sizes(batch, row, event->sizes);
    }
}

// ---- keys

// Whether every kernel of ncu has its full name in the trace.
static bool has_full_names(struct join *join) {
    struct table names = {0};
    bool all = true;
    for (size_t i = 0; i < join->event_count; i++)
        join->failed |= !table_add(&names, name_of(join->dictionary, join->events[i].name_id, false), NULL);
    for (size_t i = 0; i < join->record_count; i++) {
        uint64_t name;
        all = all && join_value(join->records[i].batch, TSMITH_FIELD_NAME, join->records[i].row, &name) &&
              table_find(&names, name_of(join->other, (uint32_t)name, false));
    }
    table_finish(&names);
    return all;
}

static uint64_t with_sizes(uint64_t name, const uint64_t sizes[6]) {
    int64_t words[7] = {(int64_t)name};
    for (unsigned i = 0; i < 6; i++)
        words[1 + i] = (int64_t)sizes[i];
    return hash_words(words, 7);
}

// Sizes are compared if each launch of ncu, and each event with the name of one, has them.
static void set_keys(struct join *join, bool base) {
    struct table names = {0};
    bool sized = true;
    for (size_t i = 0; i < join->record_count; i++) {
        struct join_record *record = &join->records[i];
        uint64_t name = 0, sizes[6];
        if (join_value(record->batch, TSMITH_FIELD_NAME, record->row, &name))
            record->name = name_of(join->other, (uint32_t)name, base);
        read_sizes(record->batch, record->row, sizes);
        sized = sized && sizes[0] && sizes[3];
        join->failed |= !table_add(&names, record->name, NULL);
        record->key = with_sizes(record->name, sizes);
    }
    for (size_t i = 0; i < join->event_count; i++) {
        struct join_event *event = &join->events[i];
        event->name = name_of(join->dictionary, event->name_id, base);
        event->wanted = table_find(&names, event->name) != NULL;
        sized = sized && (!event->wanted || (event->sizes[0] && event->sizes[3]));
        event->key = with_sizes(event->name, event->sizes);
    }
    for (size_t i = 0; !sized && i < join->record_count; i++)
        join->records[i].key = join->records[i].name;
    for (size_t i = 0; !sized && i < join->event_count; i++)
        join->events[i].key = join->events[i].name;
    table_finish(&names);
}

// ---- order

static int by_launch(const void *left, const void *right) {
    const struct join_event *a = left, *b = right;
    if (a->process != b->process)
        return a->process < b->process ? -1 : 1;
    if (a->number != b->number)
        return a->number < b->number ? -1 : 1;
    if (a->start != b->start)
        return a->start < b->start ? -1 : 1;
    return a->ordinal < b->ordinal ? -1 : a->ordinal > b->ordinal;
}

static int by_id(const void *left, const void *right) {
    const struct join_record *a = left, *b = right;
    if (a->process != b->process)
        return a->process < b->process ? -1 : 1;
    return a->number < b->number ? -1 : a->number > b->number;
}

// Only events with a name that is asked for, in the order of their launch: by their correlation if all have one.
static void order(struct join *join) {
    size_t kept = 0;
    bool numbered = true;
    for (size_t i = 0; i < join->event_count; i++)
        if (join->events[i].wanted)
            join->events[kept++] = join->events[i];
    join->event_count = kept;
    for (size_t i = 0; i < kept; i++)
        numbered = numbered && join->events[i].number;
    for (size_t i = 0; !numbered && i < kept; i++)
        join->events[i].number = 0;
    if (kept)
        qsort(join->events, kept, sizeof *join->events, by_launch);
    if (join->record_count)
        qsort(join->records, join->record_count, sizeof *join->records, by_id);
}

// ---- one run of launches

struct part {
    size_t from, to;
};

// The next part with one process.
static bool next_records(const struct join *join, struct part *part) {
    part->from = part->to;
    while (part->to < join->record_count &&
           join->records[part->to].process == join->records[part->from].process)
        part->to++;
    return part->to > part->from;
}

static bool next_events(const struct join *join, struct part *part) {
    part->from = part->to;
    while (part->to < join->event_count && join->events[part->to].process == join->events[part->from].process)
        part->to++;
    return part->to > part->from;
}

// For each launch the length of the longest beginning of all that ends there (Knuth, Morris, Pratt).
static uint32_t *borders(const struct join_record *records, size_t count) {
    uint32_t *lengths = calloc(count, sizeof *lengths);
    for (size_t i = 1, length = 0; lengths && i < count; i++) {
        while (length && records[i].key != records[length].key)
            length = lengths[length - 1];
        length += records[i].key == records[length].key;
        lengths[i] = (uint32_t)length;
    }
    return lengths;
}

// How often the launches follow each other in the events of any process; *at: the first event where they do.
static size_t find_run(struct join *join, struct part launches, size_t *at) {
    const struct join_record *records = &join->records[launches.from];
    const size_t count = launches.to - launches.from;
    uint32_t *lengths = borders(records, count);
    struct part events = {0, 0};
    size_t found = 0;
    join->failed |= !lengths;
    while (lengths && next_events(join, &events)) {
        size_t length = 0;
        for (size_t i = events.from; i < events.to; i++) {
            while (length && (length == count || records[length].key != join->events[i].key))
                length = lengths[length - 1];
            length += records[length].key == join->events[i].key;
            if (length == count && found++ == 0)
                *at = i + 1 - count;
        }
    }
    free(lengths);
    return found;
}

// ---- one kernel after the other

struct tally {
    uint64_t key;
    uint32_t records, events, next; // `next`: of the events, 1 + the first that is not joined
    uint32_t process;
    bool several; // processes of the trace have it
};

static struct tally *tally_of(struct tally *tallies, const struct table *places, uint64_t key) {
    const uint64_t *place = table_find(places, key);
    return place ? &tallies[*place] : NULL;
}

static void count_events(struct join *join, struct tally *tallies, const struct table *places) {
    for (size_t i = 0; i < join->event_count; i++) {
        struct tally *tally = tally_of(tallies, places, join->events[i].key);
        if (!tally)
            continue;
        tally->several |= tally->events && tally->process != join->events[i].process;
        tally->process = join->events[i].process;
        tally->events++;
    }
}

// The events of a kernel are joined with its launches one by one, where there are equally many.
static void join_equal(struct join *join, struct part launches, struct tally *tallies,
                       const struct table *places) {
    for (size_t r = launches.from; r < launches.to; r++) {
        struct tally *tally = tally_of(tallies, places, join->records[r].key);
        if (!tally->events) {
            join->missing++;
        } else if (tally->several || tally->events != tally->records) {
            join->ambiguous++;
        } else {
            while (join->events[tally->next].key != tally->key)
                tally->next++;
            join_add_hit(join, &join->events[tally->next++], r);
        }
    }
}

static void join_by_kernel(struct join *join, struct part launches) {
    struct table places = {0};
    struct tally *tallies = calloc(launches.to - launches.from, sizeof *tallies);
    size_t count = 0;
    join->failed |= !tallies;
    for (size_t r = launches.from; tallies && r < launches.to && !join->failed; r++) {
        bool is_new;
        uint64_t *place = table_add(&places, join->records[r].key, &is_new);
        join->failed |= !place;
        if (place && is_new)
            tallies[ *place = count++].key = join->records[r].key;
        if (place)
            tallies[*place].records++;
    }
    if (!join->failed) {
        count_events(join, tallies, &places);
        join_equal(join, launches, tallies, &places);
    }
    free(tallies);
    table_finish(&places);
}

static void match_records(struct join *join) {
    struct part launches = {0, 0};
    size_t processes = 0;
    set_keys(join, !has_full_names(join));
    order(join);
    while (next_records(join, &launches))
        processes++;
    launches = (struct part){0, 0};
    while (!join->failed && next_records(join, &launches)) {
        size_t at = 0;
        const size_t found = find_run(join, launches, &at);
        // Several processes with the same launches: which is which is not known.
        if (found > 1)
            join->ambiguous += launches.to - launches.from;
        else if (found == 1)
            for (size_t i = 0; i < launches.to - launches.from; i++)
                join_add_hit(join, &join->events[at + i], launches.from + i);
        else if (processes == 1)
            join_by_kernel(join, launches);
        else
            join->ambiguous += launches.to - launches.from;
    }
}

const struct join_rule join_launches = {"ncu-csv", read_launches, look_at_events, match_records};
