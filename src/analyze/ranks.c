// SPDX-License-Identifier: Apache-2.0
// Collects the collectives and steps of one trace per rank. `analyze` with several traces calls it; ranks_report.c
// compares the ranks.
#include "analyze/ranks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/ranks_messages.h"
#include "base/array.h"
#include "event/sums.h"
#include "state/names.h"
#include "state/sweep.h"
#include "state/timeline.h"
#include "tracesmith/topology.h"
#include "tracesmith/view.h"

tsmith_status tsmith_ranks_create(tsmith_ranks **out, tsmith_error *error) {
    tsmith_ranks *ranks = calloc(1, sizeof *ranks);
    if (!ranks || tsmith_dictionary_create(&ranks->keys) != TSMITH_OK) {
        free(ranks);
        return status_set(error, TSMITH_ERROR_NO_MEMORY,
                          "out of memory while creating a comparison of ranks");
    }
    *out = ranks;
    return TSMITH_OK;
}

void rank_finish(struct rank *rank) {
    free(rank->label);
    free(rank->reason);
    free(rank->job);
    host_claims_finish(&rank->claims);
    free(rank->collectives);
    free(rank->steps);
    free(rank->messages);
    free(rank->transfers);
    free(rank->topology);
    free(rank->device);
}

void tsmith_ranks_destroy(tsmith_ranks *ranks) {
    if (!ranks)
        return;
    for (size_t i = 0; i < ranks->count + ranks->absent; i++)
        rank_finish(&ranks->items[i]);
    free(ranks->items);
    tsmith_dictionary_destroy(ranks->keys);
    report_finish(&ranks->report);
    free(ranks);
}

// ---- reading a trace

// Of a collective: its name and group as the trace has them, and both together as the ranks do. key 0: none.
struct key_memo {
    uint32_t name, group, key;
};

enum { KEY_MEMOS = 64 };

struct reading {
    tsmith_ranks *ranks;
    struct rank *rank;
    const tsmith_dictionary *dictionary;
    tsmith_timeline *ledger; // window and holes
    uint32_t group_field, comm_field, sequence_field, ranks_field, fields_seen;
    uint8_t *communicates; // by string: 1 no, 2 yes
    size_t known;
    uint32_t device, other_device;     // strings: of kernels that communicate, and of others; 0: none yet
    bool is_several, is_other_several; // devices
    struct message_reading messages;
    struct key_memo keys[KEY_MEMOS]; // those that came last
};

static const char STEP[] = "ProfilerStep", DATA[] = "enumerate(DataLoader)";

static bool begins_with(const char *name, const char *beginning) {
    return strncmp(name, beginning, strlen(beginning)) == 0;
}

static int needs_event(tsmith_kind kind, const char *name) {
    switch (kind) {
    case TSMITH_KIND_KERNEL:
    case TSMITH_KIND_COLLECTIVE:
    case TSMITH_KIND_LOSS:
    case TSMITH_KIND_SUM:
        return 1;
    case TSMITH_KIND_API:
        return begins_with(name, "MPI_");
    case TSMITH_KIND_RANGE:
        return begins_with(name, "MPI_") || begins_with(name, STEP) || begins_with(name, DATA);
    default:
        return 0;
    }
}

void tsmith_ranks_set_needs(tsmith_trace_options *options) {
    static const char *const names[] = {NAMES_PROCESS_GROUP, MESSAGE_ARGUMENTS, "sequence", "ranks"};
    options->arguments = names;
    options->argument_count = sizeof names / sizeof *names;
    options->needs_event = needs_event;
}

static void learn_fields(struct reading *reading) {
    uint32_t count = tsmith_dictionary_dynamic_field_count(reading->dictionary);
    for (uint32_t id = reading->fields_seen ? reading->fields_seen : 1; id < count; id++) {
        const tsmith_dynamic_field *field = tsmith_dictionary_dynamic_field(reading->dictionary, id);
        const char *name = field ? tsmith_dictionary_string(reading->dictionary, field->name).bytes : "";
        if (field)
            messages_learn_field(&reading->messages, name, field->type, TSMITH_FIELD_DYNAMIC + id);
        if (field && field->type == TSMITH_TYPE_STRING && strcmp(name, NAMES_PROCESS_GROUP) == 0)
            reading->group_field = TSMITH_FIELD_DYNAMIC + id;
        else if (field && field->type == TSMITH_TYPE_U64 && strcmp(name, "comm") == 0)
            reading->comm_field = TSMITH_FIELD_DYNAMIC + id;
        else if (field && field->type == TSMITH_TYPE_U64 && strcmp(name, "sequence") == 0)
            reading->sequence_field = TSMITH_FIELD_DYNAMIC + id;
        else if (field && field->type == TSMITH_TYPE_U64 && strcmp(name, "ranks") == 0)
            reading->ranks_field = TSMITH_FIELD_DYNAMIC + id;
    }
    reading->fields_seen = count;
}

static bool communicates(struct reading *reading, uint32_t name) {
    if (name >= tsmith_dictionary_string_count(reading->dictionary))
        return false; // an id that is none
    if (name >= reading->known) {
        size_t grown = (size_t)name + name / 4 + 64;
        uint8_t *moved = realloc(reading->communicates, grown);
        if (!moved)
            return names_classify(tsmith_dictionary_string(reading->dictionary, name)) & NAME_COMMUNICATION;
        memset(moved + reading->known, 0, grown - reading->known);
        reading->communicates = moved;
        reading->known = grown;
    }
    if (!reading->communicates[name])
        reading->communicates[name] =
            names_classify(tsmith_dictionary_string(reading->dictionary, name)) & NAME_COMMUNICATION ? 2 : 1;
    return reading->communicates[name] == 2;
}

// "name\0group" in the ranks' own dictionary; 0 when memory is exhausted.
static uint32_t intern_key(const struct reading *reading, uint32_t name, uint32_t group) {
    tsmith_string first = tsmith_dictionary_string(reading->dictionary, name),
                  second = tsmith_dictionary_string(reading->dictionary, group);
    char *key = malloc(first.length + second.length + 1);
    if (!key)
        return 0;
    memcpy(key, first.bytes, first.length + 1);
    memcpy(key + first.length + 1, second.bytes, second.length);
    uint32_t id = tsmith_dictionary_intern(reading->ranks->keys, key, first.length + second.length + 1);
    free(key);
    return id;
}

static uint32_t make_key(struct reading *reading, uint32_t name, uint32_t group) {
    struct key_memo *memo = &reading->keys[(name + 31 * group) % KEY_MEMOS];
    if (!memo->key || memo->name != name || memo->group != group)
        *memo = (struct key_memo){name, group, intern_key(reading, name, group)};
    return memo->key;
}

enum { KIND, START, DURATION, NAME, BYTES, CERTAINTY, GROUP, COMM, SEQUENCE, RANKS, FIELDS };

static bool push_collective(struct rank *rank, const struct rank_collective *collective) {
    struct rank_collective *place =
        ARRAY_PUSH(rank->collectives, rank->collective_count, rank->collective_capacity);
    if (place)
        *place = *collective;
    return place;
}

// Those of MPI's collectives that no rank leaves before all have come. Of others (a broadcast, a reduction to one rank) some ranks may
// leave at once, so that their durations do not tell who was late.
static bool is_synchronizing(tsmith_string name) {
    static const char *const names[] = {"Barrier",    "Allreduce",      "Allgather",
                                        "Allgatherv", "Alltoall",       "Alltoallv",
                                        "Alltoallw",  "Reduce_scatter", "Reduce_scatter_block"};
    if (name.length < 4 || memcmp(name.bytes, "MPI_", 4) != 0)
        return false;
    size_t length = name.length - 4;
    if (length > 2 && memcmp(name.bytes + name.length - 2, "_c", 2) == 0)
        length -= 2; // with a count of 64 bits
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strlen(names[i]) == length && memcmp(name.bytes + 4, names[i], length) == 0)
            return true;
    return false;
}

// Of NCCL: the event of a bounded one is that of its kernel, that of another one only that of the call.
static bool add_transfer(struct reading *reading, const tsmith_view *views, uint32_t row, int64_t start,
                         int64_t end) {
    struct rank *rank = reading->rank;
    const tsmith_string name =
        tsmith_dictionary_string(reading->dictionary, tsmith_view_id(&views[NAME], row));
    struct rank_transfer one = {.start = start, .end = end};
    uint64_t number;
    if (!name.length || end <= start || (name.length > 4 && memcmp(name.bytes, "MPI_", 4) == 0) ||
        !tsmith_view_u64(&views[COMM], row, &one.comm) || !tsmith_view_u64(&views[SEQUENCE], row, &number) ||
        number > UINT32_MAX || !tsmith_view_u64(&views[BYTES], row, &one.bytes) || !one.bytes ||
        tsmith_view_word(&views[CERTAINTY], row) != TSMITH_CERTAINTY_BOUNDED)
        return true;
    const uint64_t ranks = tsmith_view_u64_or(&views[RANKS], row, 0);
    one.number = (uint32_t)number;
    one.ranks = ranks <= UINT32_MAX ? (uint32_t)ranks : 0;
    one.name = tsmith_dictionary_intern(reading->ranks->keys, name.bytes, name.length);
    struct rank_transfer *place =
        one.name ? ARRAY_PUSH(rank->transfers, rank->transfer_count, rank->transfer_capacity) : NULL;
    if (place)
        *place = one;
    return place;
}

// A collective of MPI, whose trace has the number of the communicator, the same on all ranks, and the collective's number in it.
static bool add_numbered(struct reading *reading, const tsmith_view *views, uint32_t row, int64_t start,
                         int64_t end) {
    const tsmith_string name =
        tsmith_dictionary_string(reading->dictionary, tsmith_view_id(&views[NAME], row));
    uint64_t comm, sequence;
    char key[96];
    if (!tsmith_view_u64(&views[COMM], row, &comm) || !tsmith_view_u64(&views[SEQUENCE], row, &sequence) ||
        sequence > UINT32_MAX || tsmith_view_u64_or(&views[RANKS], row, 0) == 1 || !is_synchronizing(name))
        return true;
    const int length = snprintf(key, sizeof key, "%.*s%ccommunicator 0x%llx", (int)name.length, name.bytes,
                                '\0', (unsigned long long)comm);
    const uint32_t id = tsmith_dictionary_intern(reading->ranks->keys, key, (size_t)length + 1);
    return id &&
           push_collective(reading->rank, &(struct rank_collective){start, end, id, (uint32_t)sequence});
}

static bool add_collective(struct reading *reading, const tsmith_view *views, uint32_t row, int64_t start,
                           int64_t end) {
    uint32_t key = make_key(reading, tsmith_view_id(&views[NAME], row), tsmith_view_id(&views[GROUP], row));
    return key && push_collective(reading->rank, &(struct rank_collective){start, end, key, 0});
}

static bool add_step(struct reading *reading, const tsmith_view *views, uint32_t row, int64_t start,
                     int64_t end) {
    struct rank *rank = reading->rank;
    tsmith_string name = tsmith_dictionary_string(reading->dictionary, tsmith_view_id(&views[NAME], row));
    if (name.length >= sizeof DATA && memcmp(name.bytes, DATA, sizeof DATA - 1) == 0)
        rank->data = sweep_add(rank->data, end - start);
    if (name.length < sizeof STEP || memcmp(name.bytes, STEP, sizeof STEP - 1) != 0)
        return true;
    uint32_t id = tsmith_dictionary_intern(reading->ranks->keys, name.bytes, name.length);
    if (!id || !ARRAY_RESERVE(rank->steps, rank->step_capacity, rank->step_count + 1))
        return false;
    rank->steps[rank->step_count++] = (struct rank_step){start, end, id};
    return true;
}

static bool add_row(struct reading *reading, const tsmith_view *views, uint32_t row, uint8_t kind, bool queue,
                    int64_t start, int64_t duration) {
    int64_t end;
    if (kind == TSMITH_KIND_COLLECTIVE && !queue && duration >= 0 &&
        !__builtin_add_overflow(start, duration, &end))
        return add_numbered(reading, views, row, start, end) && add_transfer(reading, views, row, start, end);
    if (duration <= 0 || __builtin_add_overflow(start, duration, &end))
        return true;
    if (kind == TSMITH_KIND_RANGE)
        return queue || add_step(reading, views, row, start, end);
    if (queue && (kind == TSMITH_KIND_COLLECTIVE || communicates(reading, tsmith_view_id(&views[NAME], row))))
        return add_collective(reading, views, row, start, end);
    if (kind == TSMITH_KIND_KERNEL)
        reading->rank->compute = sweep_add(reading->rank->compute, duration);
    return true;
}

// Which device the queue of a command is of.
static void learn_device(struct reading *reading, const tsmith_track *track, bool communicating) {
    const tsmith_device *device = tsmith_dictionary_device(reading->dictionary, track->device);
    const uint32_t identity = device ? device->identity : 0;
    uint32_t *known = communicating ? &reading->device : &reading->other_device;
    bool *is_several = communicating ? &reading->is_several : &reading->is_other_several;
    *is_several |= *known && identity != *known;
    *known = identity ? identity : *known;
}

static bool add_batch(struct reading *reading, const tsmith_batch *batch) {
    tsmith_view views[FIELDS];
    const tsmith_track *track = tsmith_dictionary_track(reading->dictionary, tsmith_batch_track(batch));
    bool queue = track && (track->kind == TSMITH_TRACK_QUEUE || track->kind == TSMITH_TRACK_COPY_ENGINE);
    if (tsmith_dictionary_dynamic_field_count(reading->dictionary) != reading->fields_seen)
        learn_fields(reading);
    static const uint32_t fields[] = {TSMITH_FIELD_KIND, TSMITH_FIELD_START, TSMITH_FIELD_DURATION,
                                      TSMITH_FIELD_NAME, TSMITH_FIELD_BYTES, TSMITH_FIELD_CERTAINTY};
    tsmith_view_batch(batch, fields, GROUP, views);
    views[GROUP] = tsmith_view_typed(batch, reading->group_field, TSMITH_TYPE_STRING);
    views[COMM] = tsmith_view_typed(batch, reading->comm_field, TSMITH_TYPE_U64);
    views[RANKS] = tsmith_view_typed(batch, reading->ranks_field, TSMITH_TYPE_U64);
    views[SEQUENCE] = tsmith_view_typed(batch, reading->sequence_field, TSMITH_TYPE_U64);
    const uint8_t *kinds = tsmith_view_every(&views[KIND]);
    const int64_t *starts = tsmith_view_every(&views[START]);
    if (!kinds || !starts || !tsmith_view_exists(&views[DURATION]))
        return true;
    bool is_learned[2] = {false, false};
    for (uint32_t row = 0; row < tsmith_batch_count(batch); row++) {
        const uint8_t kind = kinds[row];
        int64_t duration;
        if ((kind != TSMITH_KIND_KERNEL && kind != TSMITH_KIND_COLLECTIVE && kind != TSMITH_KIND_RANGE) ||
            !tsmith_view_i64(&views[DURATION], row, &duration))
            continue;
        if (!add_row(reading, views, row, kind, queue, starts[row], duration))
            return false;
        if (!queue || !track || kind != TSMITH_KIND_KERNEL || (is_learned[0] && is_learned[1]))
            continue;
        const bool communicating = communicates(reading, tsmith_view_id(&views[NAME], row));
        if (!is_learned[communicating])
            learn_device(reading, track, communicating);
        is_learned[communicating] = true;
    }
    return true;
}

// Brings collectives of one key together, in the order in which they were: a trace has them in the order of time, so that few runs are
// left to be sorted. Not where keys are so far apart that to count them would take longer. False when memory is exhausted.
static bool gather_keys(struct rank_collective *items, struct rank_collective *spare, size_t count) {
    uint32_t least = UINT32_MAX, most = 0;
    bool is_gathered = true; // as a partial has them
    for (size_t i = 0; i < count; i++) {
        is_gathered &= i == 0 || items[i].key >= items[i - 1].key;
        least = items[i].key < least ? items[i].key : least;
        most = items[i].key > most ? items[i].key : most;
    }
    if (is_gathered || most - least >= 4 * count)
        return true;
    const size_t keys = (size_t)(most - least) + 1;
    size_t *places = calloc(keys + 1, sizeof *places);
    if (!places)
        return false;
    for (size_t i = 0; i < count; i++)
        places[items[i].key - least + 1]++;
    for (size_t key = 1; key < keys; key++)
        places[key] += places[key - 1];
    for (size_t i = 0; i < count; i++)
        spare[places[items[i].key - least]++] = items[i];
    memcpy(items, spare, count * sizeof *items);
    free(places);
    return true;
}

bool rank_number_collectives(const tsmith_ranks *ranks, struct rank *rank) {
    struct rank_collective *spare = malloc((rank->collective_count + 1) * sizeof *spare), *sorted = NULL;
    if (!spare || !gather_keys(rank->collectives, spare, rank->collective_count)) {
        free(spare);
        return false;
    }
    sorted = ranks_sort_by_key(rank->collectives, spare, rank->collective_count);
    if (sorted == spare)
        memcpy(rank->collectives, spare, rank->collective_count * sizeof *spare);
    free(spare);
    bool is_numbered = false;
    for (size_t i = 0; i < rank->collective_count; i++) {
        struct rank_collective *one = &rank->collectives[i];
        const bool is_first = i == 0 || one->key != one[-1].key;
        if (is_first)
            is_numbered = ranks_key_is_numbered(tsmith_dictionary_string(ranks->keys, one->key));
        else if (!is_numbered)
            one->number = one[-1].number + 1;
    }
    return true;
}

static tsmith_status read_source(struct reading *reading, tsmith_source *source, tsmith_error *error) {
    const tsmith_batch *batch;
    tsmith_status got, status = tsmith_timeline_create(NULL, &reading->ledger);
    if (status != TSMITH_OK)
        return status_set(error, status, "out of memory while reading the trace of a rank");
    reading->ledger->ledger_only = true;
    while ((got = tsmith_source_next(source, &batch, error)) == TSMITH_OK || got == TSMITH_AGAIN) {
        if (got == TSMITH_AGAIN)
            continue;
        if (sums_in(batch))
            return status_set(error, TSMITH_ERROR_UNSUPPORTED,
                              "The trace has sums of events (--aggregate); a comparison of ranks needs "
                              "single events.");
        reading->dictionary = tsmith_source_dictionary(source);
        status = tsmith_timeline_add(reading->ledger, reading->dictionary, batch, error);
        if (status != TSMITH_OK)
            return status;
        if (!add_batch(reading, batch) ||
            !messages_add_batch(&reading->messages, reading->rank, reading->dictionary, batch))
            return status_set(error, TSMITH_ERROR_NO_MEMORY,
                              "out of memory while reading the collectives of a rank");
    }
    if (got < 0)
        return got;
    reading->dictionary = tsmith_source_dictionary(source);
    status = tsmith_timeline_finish(reading->ledger, reading->dictionary, error);
    return status == TSMITH_OK && got == TSMITH_TRUNCATED ? got : status;
}

bool ranks_push(tsmith_ranks *ranks, struct rank *rank) {
    struct rank *place = ARRAY_PUSH(ranks->items, ranks->count, ranks->capacity);
    if (place)
        *place = *rank;
    return place;
}

static tsmith_status check_open(const tsmith_ranks *ranks, tsmith_error *error) {
    return ranks->finished ? status_set(error, TSMITH_ERROR_STATE,
                                        "The comparison of ranks is finished and accepts no more traces.")
                           : TSMITH_OK;
}

// False when memory is exhausted.
static bool describe_place(const struct reading *reading, struct rank *rank) {
    const tsmith_dictionary *dictionary = reading->dictionary;
    const tsmith_string topology = tsmith_dictionary_find_attribute(dictionary, TSMITH_TOPOLOGY_ATTRIBUTE);
    const bool is_several = reading->device ? reading->is_several : reading->is_other_several;
    const uint32_t device = reading->device ? reading->device : reading->other_device;
    rank->topology = topology.length ? strdup(topology.bytes) : NULL;
    if (device && !is_several)
        rank->device = strdup(tsmith_dictionary_string(dictionary, device).bytes);
    return (rank->topology || !topology.length) && (rank->device || !device || is_several);
}

// False when memory is exhausted.
static bool describe(struct reading *reading, struct rank *rank) {
    const tsmith_interval window = tsmith_timeline_window(reading->ledger);
    const tsmith_rank stated = tsmith_dictionary_find_rank(reading->dictionary, 0);
    rank->world = stated.world ? (int64_t)stated.world : -1;
    rank->number = (int64_t)stated.rank - 1;
    rank->begin = window.from;
    rank->window = window.to - window.from;
    rank->missing = timeline_hole_time(reading->ledger, 0, window);
    for (size_t i = 0; i < reading->ledger->hole_count; i++)
        rank->lost += reading->ledger->holes[i].lost;
    if (!rank_number_collectives(reading->ranks, rank))
        return false;
    messages_finish_trace(&reading->messages, rank);
    // With --max-overhead each rank chose its own messages: the n-th of one is not the n-th of another, even where they are as many.
    for (size_t i = 0; i < reading->ledger->hole_count; i++)
        if (reading->ledger->holes[i].reason == TSMITH_REASON_THINNED)
            rank->message_count = 0;
    const tsmith_string job = tsmith_dictionary_string(reading->dictionary, stated.job);
    rank->job = job.length ? strdup(job.bytes) : NULL;
    // tsmith_trace_split: the launcher and other processes that are no rank.
    const bool is_no_rank =
        tsmith_dictionary_find_attribute(reading->dictionary, "split.without_rank").bytes != NULL;
    rank->reason = is_no_rank ? strdup("has the processes without a rank") : NULL;
    return (rank->reason || !is_no_rank) && (rank->job || !job.length) && describe_place(reading, rank) &&
           host_claims_read(&rank->claims, reading->dictionary);
}

tsmith_status tsmith_ranks_add(tsmith_ranks *ranks, const char *label, tsmith_source *source,
                               tsmith_error *error) {
    tsmith_status status = check_open(ranks, error);
    if (status != TSMITH_OK)
        return status;
    struct rank rank = {.label = strdup(label)};
    struct reading reading = {.ranks = ranks, .rank = &rank};
    if (rank.label)
        status = read_source(&reading, source, error);
    if (rank.label && status >= 0) {
        rank.truncated = status == TSMITH_TRUNCATED;
        if (!describe(&reading, &rank))
            status =
                status_set(error, TSMITH_ERROR_NO_MEMORY, "out of memory while reading the trace of a rank");
    }
    if (!rank.label || (status >= 0 && !ranks_push(ranks, &rank)))
        status = status_set(error, TSMITH_ERROR_NO_MEMORY, "out of memory while reading the trace of a rank");
    if (status < 0)
        rank_finish(&rank);
    free(reading.messages.waits);
    tsmith_timeline_destroy(reading.ledger);
    free(reading.communicates);
    return status;
}

tsmith_status tsmith_ranks_add_missing(tsmith_ranks *ranks, const char *label, const char *reason,
                                       tsmith_error *error) {
    tsmith_status status = check_open(ranks, error);
    if (status != TSMITH_OK)
        return status;
    struct rank rank = {.label = strdup(label), .reason = strdup(reason), .number = -1, .world = -1};
    if (rank.label && rank.reason && ranks_push(ranks, &rank))
        return TSMITH_OK;
    rank_finish(&rank);
    return status_set(error, TSMITH_ERROR_NO_MEMORY, "out of memory while noting a trace of a rank");
}

// ---- all of them

tsmith_status tsmith_ranks_finish(tsmith_ranks *ranks, tsmith_error *error) {
    size_t read = 0;
    for (size_t i = 0; i < ranks->count; i++)
        read += !ranks->items[i].reason;
    if (ranks->finished || read < 2)
        return status_set(error, TSMITH_ERROR_STATE,
                          "A comparison of ranks needs at least two traces and can be finished only once.");
    ranks->finished = true;
    const bool arranged = ranks_arrange(ranks);
    if (arranged && ranks->count < 2)
        return status_set(error, TSMITH_ERROR_STATE,
                          "A comparison of ranks needs at least two traces, and these are one trace.");
    tsmith_status status = arranged ? ranks_report(ranks) : TSMITH_ERROR_NO_MEMORY;
    return status == TSMITH_OK ? status
                               : status_set(error, status, "out of memory while reporting the ranks");
}

const tsmith_report *tsmith_ranks_report(const tsmith_ranks *ranks) {
    return ranks->finished ? &ranks->report.public : NULL;
}
