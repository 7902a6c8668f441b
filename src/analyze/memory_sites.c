// SPDX-License-Identifier: Apache-2.0
// Device memory by the place in the program that allocated it, and by the stream or thread that it was allocated on: how much, how
// much of it was alive when most was, and at the end. A site is a call stack; without one, the innermost range around the
// allocation that the program named, and else the name of the call.
#include <stdio.h>
#include <string.h>

#include "analyze/memory.h"
#include "base/array.h"
#include "base/sorted.h"
#include "tracesmith/stacks.h"

enum { ROWS_MAX = 10000, PATH_SIZE = 16384 };

static const tsmith_report_column SITES[] = {
    {"process", TSMITH_CELL_COUNT},     {"device", TSMITH_CELL_COUNT},
    {"at_peak", TSMITH_CELL_BYTES},     {"objects_at_peak", TSMITH_CELL_COUNT},
    {"live_at_end", TSMITH_CELL_BYTES}, {"never_freed", TSMITH_CELL_COUNT},
    {"allocations", TSMITH_CELL_COUNT}, {"allocated", TSMITH_CELL_BYTES},
    {"most", TSMITH_CELL_BYTES},        {"site", TSMITH_CELL_TEXT},
    {"stack", TSMITH_CELL_TEXT}};
static const tsmith_report_column STREAMS[] = {
    {"process", TSMITH_CELL_COUNT},     {"device", TSMITH_CELL_COUNT},
    {"at_peak", TSMITH_CELL_BYTES},     {"objects_at_peak", TSMITH_CELL_COUNT},
    {"live_at_end", TSMITH_CELL_BYTES}, {"never_freed", TSMITH_CELL_COUNT},
    {"allocations", TSMITH_CELL_COUNT}, {"allocated", TSMITH_CELL_BYTES},
    {"most", TSMITH_CELL_BYTES},        {"track", TSMITH_CELL_TEXT}};

// ---- the site of an allocation

// The innermost range of the program's own around a moment of a track, or the innermost function; 0: none.
static uint32_t range_around(const struct analysis_context *context, uint32_t number, int64_t time) {
    const struct ranges *ranges = context->ranges;
    if (!ranges || number >= ranges->of_track_count || !ranges->of_track[number])
        return 0;
    const struct range_track *track = &ranges->tracks[ranges->of_track[number] - 1];
    const size_t begun = SORTED_FIND(i, 0, track->count, track->items[i].start <= time);
    uint32_t operator= 0;
    for (uint32_t at = begun ? (uint32_t)begun - 1 : TSMITH_INDEX_NONE; at != TSMITH_INDEX_NONE;
         at = track->items[at].parent) {
        const struct range *range = &track->items[at];
        if (range->end <= time)
            continue;
        const enum range_class class = range_key_class(ranges, context->dictionary, range->key);
        if (class == RANGE_USER || class == RANGE_FRAME)
            return range_key_name(ranges, range->key);
        if (class == RANGE_OPERATOR) // the outermost of them
            operator= range_key_name(ranges, range->key);
    }
    return operator;
}

// The parts of a site's key: a stack, or a range, or a name.
static uint64_t key_of(const struct memory_place *place, const struct memory_change *change,
                       uint32_t *range) {
    *range = 0;
    if (change->stack)
        return UINT64_C(1) << 32 | change->stack;
    *range = range_around(place->context, change->thread, change->time);
    return *range ? UINT64_C(2) << 32 | *range : change->name;
}

// ---- one place

struct walk {
    const struct memory_place *place;
    struct memory_slots slots;
    uint32_t *numbers; // by change: the site of an allocation
    struct tally keys, tracks;
    struct memory_sites *sites;
    size_t first_site, first_stream; // of the place
};

static void grow(struct memory_site *site, int64_t bytes) {
    site->allocations++;
    site->objects++;
    site->allocated = sweep_add(site->allocated, bytes);
    site->live = sweep_add(site->live, bytes);
    site->most = site->live > site->most ? site->live : site->most;
}

static void shrink(struct memory_site *site, int64_t bytes) {
    site->objects--;
    site->live = sweep_add(site->live, -bytes);
}

static struct memory_site *stream_of(struct walk *walk, const struct memory_change *change) {
    const uint32_t number = tally_number(&walk->tracks, change->track);
    struct memory_sites *sites = walk->sites;
    if (number == UINT32_MAX)
        return NULL;
    if (walk->first_stream + number == sites->stream_count) {
        struct memory_site *stream = ARRAY_PUSH(sites->streams, sites->stream_count, sites->stream_capacity);
        if (!stream)
            return NULL;
        *stream = (struct memory_site){
            .place = change->place, .track = change->track, .objects_known = walk->place->objects};
    }
    return &sites->streams[walk->first_stream + number];
}

static struct memory_site *site_of(struct walk *walk, size_t index) {
    const struct memory_change *change = &walk->place->changes[index];
    struct memory_sites *sites = walk->sites;
    uint32_t range;
    const uint64_t key = key_of(walk->place, change, &range);
    const uint32_t number = tally_number(&walk->keys, key);
    if (number == UINT32_MAX)
        return NULL;
    walk->numbers[index] = number;
    if (walk->first_site + number == sites->site_count) {
        struct memory_site *site = ARRAY_PUSH(sites->sites, sites->site_count, sites->site_capacity);
        if (!site)
            return NULL;
        *site = (struct memory_site){.place = change->place,
                                     .stack = change->stack,
                                     .name = change->name,
                                     .range = range,
                                     .objects_known = walk->place->objects};
    }
    return &sites->sites[walk->first_site + number];
}

static bool take_change(struct walk *walk, size_t index) {
    const struct memory_change *change = &walk->place->changes[index];
    struct memory_slot *slot = change->object ? memory_slot(&walk->slots, change->object) : NULL;
    if (!change->freed) {
        struct memory_site *site = site_of(walk, index), *stream = stream_of(walk, change);
        if (!site || !stream)
            return false;
        grow(site, (int64_t)change->bytes);
        grow(stream, (int64_t)change->bytes);
        if (slot)
            *slot = (struct memory_slot){change->object, (uint32_t)index};
    } else if (slot && slot->object && slot->change != TSMITH_INDEX_NONE) {
        const struct memory_change *made = &walk->place->changes[slot->change];
        struct memory_site *stream = stream_of(walk, made); // that of the allocation
        if (!stream)
            return false;
        shrink(&walk->sites->sites[walk->first_site + walk->numbers[slot->change]], (int64_t)made->bytes);
        shrink(stream, (int64_t)made->bytes);
        slot->change = TSMITH_INDEX_NONE;
    }
    return true;
}

static void keep_peak(struct walk *walk) {
    struct memory_sites *sites = walk->sites;
    for (size_t i = walk->first_site; i < sites->site_count; i++) {
        sites->sites[i].at_peak = sites->sites[i].live;
        sites->sites[i].objects_at_peak = sites->sites[i].objects;
    }
    for (size_t i = walk->first_stream; i < sites->stream_count; i++) {
        sites->streams[i].at_peak = sites->streams[i].live;
        sites->streams[i].objects_at_peak = sites->streams[i].objects;
    }
}

bool memory_sites_add(struct memory_sites *sites, const struct memory_place *place) {
    struct walk walk = {.place = place,
                        .sites = sites,
                        .first_site = sites->site_count,
                        .first_stream = sites->stream_count,
                        .numbers = malloc((place->count + 1) * sizeof *walk.numbers)};
    bool done = walk.numbers && memory_slots_make(&walk.slots, place->count);
    for (size_t i = 0; done && i < place->count; i++) {
        done = take_change(&walk, i);
        if (done && place->peak > 0 && i == place->peak_change)
            keep_peak(&walk);
    }
    free(walk.numbers);
    free(walk.slots.items);
    tally_finish(&walk.keys);
    tally_finish(&walk.tracks);
    return done;
}

// ---- the tables

static int by_peak(const void *left, const void *right) {
    const struct memory_site *a = left, *b = right;
    if (a->at_peak != b->at_peak)
        return a->at_peak > b->at_peak ? -1 : 1;
    if (a->allocated != b->allocated)
        return a->allocated > b->allocated ? -1 : 1;
    if (a->place != b->place)
        return a->place < b->place ? -1 : 1;
    if (a->stack != b->stack)
        return a->stack < b->stack ? -1 : 1;
    if (a->track != b->track)
        return a->track < b->track ? -1 : 1;
    return a->name < b->name ? -1 : a->name > b->name;
}

static void write_amounts(const struct memory_site *site, const struct analysis_context *context,
                          struct report *report, struct report_table *table) {
    const int64_t cells[] = {site->at_peak,
                             (int64_t)site->objects_at_peak,
                             site->live,
                             (int64_t)site->objects,
                             (int64_t)site->allocations,
                             site->allocated,
                             site->most};
    memory_write_place(context, report, table, site->place);
    for (size_t i = 0; i < sizeof cells / sizeof *cells; i++)
        if (site->objects_known || i == 4 || i == 5)
            report_integer(report, table, cells[i]);
        else
            report_unknown(report, table);
}

void memory_write_stack(struct memory_sites *sites, const struct analysis_context *context,
                        struct report *report, struct report_table *table, uint32_t stack) {
    char *path = stack ? malloc(PATH_SIZE) : NULL;
    (void)context;
    if (path) {
        const size_t length = tsmith_stack_path(sites->names, stack, path, PATH_SIZE);
        report_text(report, table,
                    (tsmith_string){path, length < PATH_SIZE ? length : (size_t)PATH_SIZE - 1});
    } else {
        report_unknown(report, table);
    }
    free(path);
}

// "function (file:line)" of the innermost function; the whole stack is in the next column.
static void write_site(struct memory_sites *sites, const struct memory_site *site,
                       const struct analysis_context *context, struct report *report,
                       struct report_table *table) {
    tsmith_stack_line line;
    char name[1024], text[2048];
    if (!site->stack || !tsmith_stack_lines(sites->names, site->stack, &line, 1)) {
        report_text(report, table,
                    tsmith_dictionary_string(context->dictionary, site->range ? site->range : site->name));
        return;
    }
    (void)tsmith_stack_line_text(context->dictionary, &line, name, sizeof name);
    if (line.file && line.line)
        (void)snprintf(text, sizeof text, "%s (%.900s:%u)", name,
                       tsmith_dictionary_string(context->dictionary, line.file).bytes, line.line);
    else
        (void)snprintf(text, sizeof text, "%s", name);
    report_text(report, table, analysis_text(text));
}

void memory_sites_begin(struct memory_sites *sites, struct report *report) {
    sites->site_table = REPORT_TABLE(
        report, "sites", "who allocated what was alive when most was, and what was never freed", SITES);
    sites->stream_table =
        REPORT_TABLE(report, "streams", "the same by the stream or thread that it was allocated on", STREAMS);
}

void memory_sites_write(struct memory_sites *sites, const struct analysis_context *context,
                        struct report *report) {
    struct report_table *table = sites->site_table;
    if (sites->site_count)
        qsort(sites->sites, sites->site_count, sizeof *sites->sites, by_peak);
    for (size_t i = 0; i < sites->site_count && i < ROWS_MAX; i++) {
        write_amounts(&sites->sites[i], context, report, table);
        write_site(sites, &sites->sites[i], context, report, table);
        memory_write_stack(sites, context, report, table, sites->sites[i].stack);
    }
    table = sites->stream_table;
    if (sites->stream_count)
        qsort(sites->streams, sites->stream_count, sizeof *sites->streams, by_peak);
    for (size_t i = 0; i < sites->stream_count && i < ROWS_MAX; i++) {
        write_amounts(&sites->streams[i], context, report, table);
        analysis_track_text(report, table, context, sites->streams[i].track);
    }
}

void memory_sites_finish(struct memory_sites *sites) {
    free(sites->sites);
    free(sites->streams);
    if (sites->names)
        tsmith_stack_names_destroy(sites->names);
}
