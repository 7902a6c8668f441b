// SPDX-License-Identifier: Apache-2.0
// Makes several traces of one: of each rank, or of each process. `tracesmith split` and `tracesmith profile` call it.
//
// Invariants: every process belongs to one part. A track belongs to the part of its process, or to all. A part is written from the
// frames of its own tracks, so that the parts together read the file once. A dictionary has only what its part refers to.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/output_pattern.h"
#include "base/array.h"
#include "base/file.h"
#include "base/sized.h"
#include "base/sorted.h"
#include "base/status.h"
#include "event/merge.h"
#include "tracesmith/merge.h"
#include "tracesmith/trace.h"

enum {
    EVERY = UINT32_MAX, // in place of a part: all of them
    NAME_BYTES = 4096,
    HOST_BYTES = 256,
    GENERATIONS = 64 // of parents that are searched for a rank
};

// What processes have in common that share a file.
struct key {
    uint32_t rank; // 1 + the rank; 0: none
    uint64_t pid;  // 0 if processes share files
};

struct part {
    struct key key;
    char *path;
    bool has_events; // of a part without a rank
};

struct pid_in {
    uint64_t pid;
    uint32_t part;
};

struct splitting {
    const char *pattern;
    tsmith_split_options options;
    bool by_rank, by_process;
    tsmith_trace *trace;
    const tsmith_dictionary *from;
    tsmith_sbt_summary summary;
    uint32_t *ranks;           // by process: 1 + its rank; 0: none
    uint32_t *part_of_process; // by process
    uint32_t *part_of_track;   // by track; EVERY
    struct pid_in *pids;       // of all processes, by pid and part
    bool cut;                  // the list of missing ranks is at its end
    struct part *parts;
    size_t part_count, part_capacity;
    tsmith_split_result result;
};

// What is written at the moment.
struct writing {
    const struct splitting *splitting;
    uint32_t part;
    bool *devices; // by device of the trace: it belongs to the part
    tsmith_dictionary *into;
    struct merge *merge;
    tsmith_sink *sink;
    uint32_t *tracks; // of the trace
    size_t track_count, track_capacity;
    uint64_t events, shared; // of `events`, those of no process
};

static tsmith_status no_memory(tsmith_error *error) {
    return status_set(error, TSMITH_ERROR_NO_MEMORY, "out of memory while a trace was split");
}

// ---- ranks

struct pid_of {
    uint64_t pid;
    uint32_t process;
};

static int compare_pids(const void *left, const void *right) {
    const struct pid_of *a = left, *b = right;
    return a->pid != b->pid           ? (a->pid < b->pid ? -1 : 1)
           : a->process != b->process ? (a->process < b->process ? -1 : 1)
                                      : 0;
}

// The rank of the nearest ancestor that states one.
static uint32_t inherited_rank(const struct splitting *splitting, const struct pid_of *pids, size_t count,
                               uint32_t process) {
    for (unsigned i = 0; i < GENERATIONS && !splitting->ranks[process]; i++) {
        const struct pid_of wanted = {.pid = tsmith_dictionary_process(splitting->from, process)->parent_pid};
        size_t at = SORTED_FIND(k, 0, count, pids[k].pid < wanted.pid);
        if (!wanted.pid || at == count || pids[at].pid != wanted.pid || pids[at].process == process)
            return 0;
        process = pids[at].process;
    }
    return splitting->ranks[process];
}

// What the processes state themselves, and of one process of several entries (it called exec), any of them. Returns what the
// recording as a whole states.
static uint32_t take_stated_ranks(struct splitting *splitting, struct pid_of *pids, uint32_t processes) {
    uint32_t own = 0;
    for (uint32_t id = 1; id < tsmith_dictionary_rank_count(splitting->from); id++) {
        const tsmith_rank *rank = tsmith_dictionary_rank(splitting->from, id);
        own = rank->process ? own : rank->rank;
        if (rank->process && rank->process < processes && rank->rank && !splitting->ranks[rank->process])
            splitting->ranks[rank->process] = rank->rank;
        if (rank->world > splitting->result.world)
            splitting->result.world = rank->world;
    }
    for (uint32_t id = 1; id < processes; id++)
        pids[id - 1] = (struct pid_of){tsmith_dictionary_process(splitting->from, id)->pid, id};
    qsort(pids, processes - 1, sizeof *pids, compare_pids);
    for (uint32_t at = 0, next; at + 1 < processes; at = next) {
        uint32_t known = 0;
        for (next = at; next + 1 < processes && pids[next].pid == pids[at].pid; next++)
            known = known ? known : splitting->ranks[pids[next].process];
        for (uint32_t same = at; same < next; same++)
            if (!splitting->ranks[pids[same].process])
                splitting->ranks[pids[same].process] = known;
    }
    return own;
}

static bool find_ranks(struct splitting *splitting) {
    const uint32_t processes = tsmith_dictionary_process_count(splitting->from);
    struct pid_of *pids = calloc(processes, sizeof *pids);
    uint32_t *inherited = calloc(processes, sizeof *inherited);
    uint32_t own = 0;
    splitting->ranks = calloc(processes, sizeof *splitting->ranks);
    const bool done = pids && inherited && splitting->ranks;
    if (done) {
        own = take_stated_ranks(splitting, pids, processes);
        for (uint32_t id = 1; id < processes; id++)
            inherited[id] = inherited_rank(splitting, pids, processes - 1, id);
        for (uint32_t id = 1; id < processes; id++)
            splitting->ranks[id] = inherited[id] ? inherited[id] : own;
    }
    free(pids);
    free(inherited);
    return done;
}

static int compare_numbers(const void *left, const void *right) {
    const uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    return a < b ? -1 : a > b;
}

// Adds ranks from one to before another, of those that are missing.
static void add_missing(struct splitting *splitting, uint64_t from, uint64_t to) {
    static const char MORE[] = ", ...";
    char *text = splitting->result.missing_ranks, next[64];
    const size_t length = strlen(text), room = sizeof splitting->result.missing_ranks - sizeof MORE;
    if (from >= to)
        return;
    splitting->result.missing += to - from;
    int bytes = snprintf(next, sizeof next, "%s%llu", length ? ", " : "", (unsigned long long)from);
    if (to - from > 1)
        bytes += snprintf(next + bytes, sizeof next - (size_t)bytes, "-%llu", (unsigned long long)(to - 1));
    if (splitting->cut)
        return;
    splitting->cut = length + (size_t)bytes > room;
    if (splitting->cut)
        memcpy(text + length, MORE, sizeof MORE);
    else
        memcpy(text + length, next, (size_t)bytes + 1);
}

static bool count_ranks(struct splitting *splitting) {
    const uint32_t processes = tsmith_dictionary_process_count(splitting->from);
    uint32_t *sorted = malloc(processes * sizeof *sorted);
    if (!sorted)
        return false;
    memcpy(sorted, splitting->ranks, processes * sizeof *sorted);
    qsort(sorted, processes, sizeof *sorted, compare_numbers);
    uint64_t expected = 0; // the rank that is next
    for (uint32_t i = 0; i < processes; i++) {
        if (sorted[i] == 0 || sorted[i] == expected)
            continue;
        splitting->result.ranks++;
        if (splitting->result.world)
            add_missing(splitting, expected, sorted[i] - UINT64_C(1));
        expected = sorted[i];
    }
    if (splitting->result.ranks)
        add_missing(splitting, expected, splitting->result.world);
    free(sorted);
    return true;
}

// ---- parts

static int compare_parts(const void *left, const void *right) {
    const struct key *a = &((const struct part *)left)->key, *b = &((const struct part *)right)->key;
    // Those without a rank are the last.
    if (a->rank != b->rank)
        return a->rank - UINT32_C(1) < b->rank - UINT32_C(1) ? -1 : 1;
    return a->pid < b->pid ? -1 : a->pid > b->pid;
}

static struct key key_of(const struct splitting *splitting, uint32_t process) {
    return (struct key){
        .rank = splitting->by_rank ? splitting->ranks[process] : 0,
        .pid = splitting->by_process ? tsmith_dictionary_process(splitting->from, process)->pid : 0};
}

static bool add_part(struct splitting *splitting, struct key key) {
    struct part *part = ARRAY_PUSH(splitting->parts, splitting->part_count, splitting->part_capacity);
    if (part)
        *part = (struct part){.key = key};
    return part;
}

static bool find_parts(struct splitting *splitting) {
    const uint32_t processes = tsmith_dictionary_process_count(splitting->from);
    size_t count = 0;
    for (uint32_t id = 1; id < processes; id++)
        if (!add_part(splitting, key_of(splitting, id)))
            return false;
    if (splitting->part_count == 0 && !add_part(splitting, (struct key){0}))
        return false;
    qsort(splitting->parts, splitting->part_count, sizeof *splitting->parts, compare_parts);
    for (size_t i = 0; i < splitting->part_count; i++)
        if (count == 0 || compare_parts(&splitting->parts[count - 1], &splitting->parts[i]) != 0)
            splitting->parts[count++] = splitting->parts[i];
    splitting->part_count = count;
    splitting->part_of_process = calloc(processes, sizeof *splitting->part_of_process);
    for (uint32_t id = 1; splitting->part_of_process && id < processes; id++) {
        const struct part wanted = {.key = key_of(splitting, id)};
        const struct part *part =
            bsearch(&wanted, splitting->parts, count, sizeof *splitting->parts, compare_parts);
        splitting->part_of_process[id] = (uint32_t)(part - splitting->parts);
    }
    return splitting->part_of_process;
}

static int compare_pids_in(const void *left, const void *right) {
    const struct pid_in *a = left, *b = right;
    if (a->pid != b->pid)
        return a->pid < b->pid ? -1 : 1;
    return a->part < b->part ? -1 : a->part > b->part;
}

static bool list_pids(struct splitting *splitting) {
    const uint32_t processes = tsmith_dictionary_process_count(splitting->from);
    splitting->pids = calloc(processes, sizeof *splitting->pids);
    for (uint32_t id = 1; splitting->pids && id < processes; id++)
        splitting->pids[id - 1] = (struct pid_in){tsmith_dictionary_process(splitting->from, id)->pid,
                                                  splitting->part_of_process[id]};
    if (splitting->pids)
        qsort(splitting->pids, processes - 1, sizeof *splitting->pids, compare_pids_in);
    return splitting->pids;
}

// Whether a process with this id is of the part, or where there is none, whether there is none in any other.
static bool may_be_in(const struct splitting *splitting, uint64_t pid, uint32_t part) {
    const struct pid_in wanted = {pid, part};
    const uint32_t count = tsmith_dictionary_process_count(splitting->from) - 1;
    const uint32_t at = SORTED_FIND(i, 0, count, compare_pids_in(&splitting->pids[i], &wanted) < 0);
    const bool is_next = at < count && splitting->pids[at].pid == pid;
    return is_next && splitting->pids[at].part == part
               ? true
               : !is_next && !(at && splitting->pids[at - 1].pid == pid);
}

static uint32_t part_of(const struct splitting *splitting, uint32_t process) {
    return process && process < tsmith_dictionary_process_count(splitting->from)
               ? splitting->part_of_process[process]
               : EVERY;
}

// A track without a process is its device's, or that of the track under which it is.
static bool place_tracks(struct splitting *splitting) {
    const uint32_t tracks = tsmith_dictionary_track_count(splitting->from);
    splitting->part_of_track = malloc(tracks * sizeof *splitting->part_of_track);
    if (!splitting->part_of_track)
        return false;
    splitting->part_of_track[0] = EVERY;
    for (uint32_t id = 1; id < tracks; id++) {
        const tsmith_track *track = tsmith_dictionary_track(splitting->from, id);
        const tsmith_device *device = tsmith_dictionary_device(splitting->from, track->device);
        uint32_t part = part_of(splitting, track->process);
        if (part == EVERY && device)
            part = part_of(splitting, device->process);
        if (part == EVERY && track->parent < id)
            part = splitting->part_of_track[track->parent];
        splitting->part_of_track[id] = part;
    }
    return true;
}

// Whether events other than the start and end of processes are on tracks of the part: a launcher that loads a library of a GPU
// has these only.
static tsmith_status find_events(struct splitting *splitting, uint32_t number, tsmith_error *error) {
    static const uint32_t fields[] = {TSMITH_FIELD_KIND};
    const uint32_t tracks = tsmith_dictionary_track_count(splitting->from);
    uint32_t *own = malloc(tracks * sizeof *own);
    tsmith_scan scan = {.size = sizeof scan,
                        .tracks = own,
                        .fields = fields,
                        .field_count = 1,
                        .kinds = ~TSMITH_KIND_BIT(TSMITH_KIND_PROCESS)};
    tsmith_source *source = NULL;
    const tsmith_batch *batch;
    if (!own)
        return no_memory(error);
    for (uint32_t id = 1; id < tracks; id++)
        if (splitting->part_of_track[id] == number)
            own[scan.track_count++] = id;
    tsmith_status status = TSMITH_END;
    if (scan.track_count)
        status = tsmith_sbt_scan(tsmith_trace_sbt(splitting->trace), &scan, &source, error);
    if (scan.track_count && status == TSMITH_OK)
        status = tsmith_source_next(source, &batch, error);
    splitting->parts[number].has_events = status == TSMITH_OK;
    tsmith_source_destroy(source);
    free(own);
    return status == TSMITH_END || status == TSMITH_TRUNCATED ? TSMITH_OK : status;
}

static bool is_without_rank(const struct splitting *splitting, const struct part *part) {
    return splitting->by_rank && !part->key.rank && splitting->parts[0].key.rank;
}

// Which processes without a rank get a file.
static tsmith_status find_all_events(struct splitting *splitting, tsmith_error *error) {
    tsmith_status status = TSMITH_OK;
    for (uint32_t i = 0; status == TSMITH_OK && i < splitting->part_count; i++)
        if (is_without_rank(splitting, &splitting->parts[i]))
            status = find_events(splitting, i, error);
    return status;
}

// The host of a part's first process that states one, else that of the trace. It becomes part of a file's name.
static void find_host(const struct splitting *splitting, uint32_t part, char out[HOST_BYTES]) {
    const tsmith_dictionary *from = splitting->from;
    tsmith_string host = {0};
    for (uint32_t id = 1; !host.length && id < tsmith_dictionary_process_count(from); id++)
        if (splitting->part_of_process[id] == part)
            host = tsmith_dictionary_string(from, tsmith_dictionary_process(from, id)->host);
    if (!host.length)
        host = tsmith_dictionary_find_attribute(from, "host");
    if (!host.length)
        host = (tsmith_string){.bytes = "nohost", .length = 6};
    const size_t length = host.length < HOST_BYTES ? host.length : HOST_BYTES - 1;
    for (size_t i = 0; i < length; i++) {
        const char byte = host.bytes[i];
        out[i] = byte == '-' || byte == '_' || (byte == '.' && i) || (byte >= '0' && byte <= '9') ||
                         (byte >= 'A' && byte <= 'Z') || (byte >= 'a' && byte <= 'z')
                     ? byte
                     : '_';
    }
    out[length] = '\0';
}

static int compare_paths(const void *left, const void *right) {
    return strcmp(*(const char *const *)left, *(const char *const *)right);
}

// "run.%r%p.sbt" has one name for process 23 of rank 1 and process 3 of rank 12.
static tsmith_status check_names(const struct splitting *splitting, tsmith_error *error) {
    const char **paths = malloc(splitting->part_count * sizeof *paths);
    tsmith_status status = TSMITH_OK;
    if (!paths)
        return no_memory(error);
    for (size_t i = 0; i < splitting->part_count; i++)
        paths[i] = splitting->parts[i].path;
    qsort(paths, splitting->part_count, sizeof *paths, compare_paths);
    for (size_t i = 1; status == TSMITH_OK && i < splitting->part_count; i++)
        if (strcmp(paths[i - 1], paths[i]) == 0)
            status = status_set(error, TSMITH_ERROR_INVALID_ARGUMENT,
                                "%s: two files would have the name %s: separate the parts of the name, as in "
                                "run.%%r.%%p.sbt",
                                splitting->pattern, paths[i]);
    free(paths);
    return status;
}

static tsmith_status name_parts(struct splitting *splitting, const char *path, tsmith_error *error) {
    char rank[32], process[32], host[HOST_BYTES] = "", name[NAME_BYTES];
    const bool by_host = output_has(splitting->pattern, 'h');
    for (size_t i = 0; i < splitting->part_count; i++) {
        struct part *part = &splitting->parts[i];
        const struct output_parts parts = {
            .rank = part->key.rank ? rank : "norank", .process = process, .host = host};
        snprintf(rank, sizeof rank, "%llu", part->key.rank - 1ull);
        snprintf(process, sizeof process, "%llu", (unsigned long long)part->key.pid);
        if (by_host)
            find_host(splitting, (uint32_t)i, host);
        const tsmith_status status = output_expand(splitting->pattern, 0, &parts, name, sizeof name, error);
        if (status != TSMITH_OK)
            return status;
        if (file_is_same(path, name))
            return status_set(error, TSMITH_ERROR_INVALID_ARGUMENT,
                              "%s is the trace that is split and would be overwritten", name);
        part->path = strdup(name);
        if (!part->path)
            return no_memory(error);
    }
    return check_names(splitting, error);
}

// ---- the dictionary of a part

static bool is_in_part(const struct writing *writing, uint32_t part) {
    return part == EVERY || part == writing->part;
}

// The mpi agent's "mpi.PID.distributedInfo" is a fact about a process.
static bool is_of_part(const struct writing *writing, uint32_t attribute) {
    const struct splitting *splitting = writing->splitting;
    const tsmith_dictionary *from = splitting->from;
    static const char BEFORE[] = "mpi.";
    const char *key = tsmith_dictionary_string(from, tsmith_dictionary_attribute(from, attribute)->key).bytes;
    char *end;
    if (strncmp(key, BEFORE, sizeof BEFORE - 1) != 0 || key[sizeof BEFORE - 1] < '0' ||
        key[sizeof BEFORE - 1] > '9')
        return true;
    const uint64_t pid = strtoull(key + sizeof BEFORE - 1, &end, 10);
    return *end != '.' || may_be_in(splitting, pid, writing->part);
}

static bool chooses_clock(const struct writing *writing, uint32_t id) {
    const tsmith_clock *clock = tsmith_dictionary_clock(writing->splitting->from, id);
    return clock && is_in_part(writing, part_of(writing->splitting, clock->process)) &&
           (clock->device == 0 || clock->device >= tsmith_dictionary_device_count(writing->splitting->from) ||
            writing->devices[clock->device]);
}

static bool chooses(void *context, enum merge_table table, uint32_t id) {
    const struct writing *writing = context;
    const struct splitting *splitting = writing->splitting;
    switch (table) {
    case MERGE_TABLE_process:
        return splitting->part_of_process[id] == writing->part;
    case MERGE_TABLE_device:
        return writing->devices[id];
    case MERGE_TABLE_track:
        return is_in_part(writing, splitting->part_of_track[id]);
    case MERGE_TABLE_clock:
        return chooses_clock(writing, id);
    case MERGE_TABLE_clock_pair:
        return chooses_clock(writing, tsmith_dictionary_clock_pair(splitting->from, id)->clock);
    case MERGE_TABLE_attribute:
        return is_of_part(writing, id);
    case MERGE_TABLE_rank:
        return is_in_part(writing, part_of(splitting, tsmith_dictionary_rank(splitting->from, id)->process));
    default:
        return table == MERGE_TABLE_dynamic_field;
    }
}

// Devices of the part's processes, those of the machine that its tracks use, and those that no track uses.
static bool choose_devices(struct writing *writing) {
    const struct splitting *splitting = writing->splitting;
    const uint32_t devices = tsmith_dictionary_device_count(splitting->from);
    bool *used = calloc(devices, sizeof *used);
    writing->devices = calloc(devices, sizeof *writing->devices);
    if (used && writing->devices) {
        for (uint32_t id = 1; id < tsmith_dictionary_track_count(splitting->from); id++) {
            const uint32_t device = tsmith_dictionary_track(splitting->from, id)->device;
            if (device < devices) {
                used[device] = true;
                writing->devices[device] |= is_in_part(writing, splitting->part_of_track[id]);
            }
        }
        for (uint32_t id = 1; id < devices; id++) {
            const uint32_t part = part_of(splitting, tsmith_dictionary_device(splitting->from, id)->process);
            writing->devices[id] |= part == writing->part || (part == EVERY && !used[id]);
        }
    }
    free(used);
    return writing->devices;
}

static bool list_tracks(struct writing *writing) {
    for (uint32_t id = 0; id < tsmith_dictionary_track_count(writing->splitting->from); id++) {
        if (!is_in_part(writing, writing->splitting->part_of_track[id]))
            continue;
        uint32_t *place = ARRAY_PUSH(writing->tracks, writing->track_count, writing->track_capacity);
        if (!place)
            return false;
        *place = id;
    }
    return true;
}

static void add_facts(struct writing *writing) {
    const tsmith_split_result *result = &writing->splitting->result;
    char text[512];
    if (is_without_rank(writing->splitting, &writing->splitting->parts[writing->part]))
        tsmith_dictionary_set_attribute(writing->into, "split.without_rank", "yes");
    if (!result->missing)
        return;
    snprintf(text, sizeof text,
             "nothing was recorded of %s %s of %llu: on another host, which this recording did not reach, or "
             "without a call of a recorded API",
             result->missing == 1 ? "rank" : "ranks", result->missing_ranks,
             (unsigned long long)result->world);
    tsmith_dictionary_set_attribute(writing->into, "notice.ranks", text);
}

static tsmith_status make_dictionary(struct writing *writing, tsmith_error *error) {
    if (tsmith_dictionary_create(&writing->into) != TSMITH_OK || !choose_devices(writing) ||
        !list_tracks(writing))
        return no_memory(error);
    writing->merge = merge_create(writing->into, MERGE_USED);
    if (!writing->merge || !merge_choose(writing->merge, writing->splitting->from, chooses, writing) ||
        merge_take(writing->merge, writing->splitting->from) != TSMITH_OK)
        return no_memory(error);
    add_facts(writing);
    return tsmith_dictionary_failed(writing->into) ? no_memory(error) : TSMITH_OK;
}

// ---- events

static tsmith_status copy_events(struct writing *writing, tsmith_error *error) {
    const tsmith_scan scan = {
        .size = sizeof scan, .tracks = writing->tracks, .track_count = writing->track_count};
    tsmith_source *source = NULL;
    const tsmith_batch *batch, *moved;
    tsmith_status status =
        tsmith_sbt_scan(tsmith_trace_sbt(writing->splitting->trace), &scan, &source, error);
    while (status == TSMITH_OK) {
        status = tsmith_source_next(source, &batch, error);
        if (status != TSMITH_OK)
            break;
        if (merge_batch(writing->merge, batch, &moved) != TSMITH_OK)
            status = no_memory(error);
        else
            status = tsmith_sink_write(writing->sink, writing->into, moved, error);
        writing->events += tsmith_batch_count(batch);
        if (writing->splitting->part_of_track[tsmith_batch_track(batch)] == EVERY)
            writing->shared += tsmith_batch_count(batch);
    }
    tsmith_source_destroy(source);
    return status == TSMITH_END || status == TSMITH_TRUNCATED ? TSMITH_OK : status;
}

// Damage of the trace could have been of any of its parts.
static tsmith_status write_loss(struct writing *writing, tsmith_error *error) {
    tsmith_sbt_summary found = {.size = sizeof found};
    tsmith_status status = tsmith_sbt_summarize(tsmith_trace_sbt(writing->splitting->trace), &found, error);
    if (status != TSMITH_OK || found.complete)
        return status;
    const tsmith_track track = {.kind = TSMITH_TRACK_LOSS,
                                .name = tsmith_dictionary_intern_cstr(writing->into, "split")};
    const char *text = found.damaged_frames ? "the trace that was split was damaged"
                                            : "the trace that was split ended early";
    tsmith_batch *loss = NULL;
    if (tsmith_batch_create(&loss) != TSMITH_OK)
        return no_memory(error);
    tsmith_batch_reset(loss, tsmith_dictionary_add_track(writing->into, &track));
    const bool made = tsmith_batch_append(loss, TSMITH_KIND_LOSS, found.first_start) != UINT32_MAX &&
                      tsmith_batch_set(loss, TSMITH_FIELD_DURATION,
                                       (uint64_t)found.last_end - (uint64_t)found.first_start) == TSMITH_OK &&
                      tsmith_batch_set(loss, TSMITH_FIELD_REASON, TSMITH_REASON_CORRUPT) == TSMITH_OK &&
                      tsmith_batch_set(loss, TSMITH_FIELD_TEXT,
                                       tsmith_dictionary_intern_cstr(writing->into, text)) == TSMITH_OK &&
                      tsmith_batch_finish(loss) == TSMITH_OK && !tsmith_dictionary_failed(writing->into);
    status = made ? tsmith_sink_write(writing->sink, writing->into, loss, error) : no_memory(error);
    writing->events++;
    tsmith_batch_destroy(loss);
    return status;
}

static tsmith_status write_part(struct splitting *splitting, uint32_t number, tsmith_error *error) {
    const struct part *part = &splitting->parts[number];
    struct writing writing = {.splitting = splitting, .part = number};
    tsmith_status status = make_dictionary(&writing, error);
    if (status == TSMITH_OK)
        status = tsmith_sbt_writer_open(part->path, splitting->options.write, &writing.sink, error);
    if (status == TSMITH_OK)
        status = copy_events(&writing, error);
    if (status == TSMITH_OK)
        status = write_loss(&writing, error);
    if (status == TSMITH_OK)
        status = tsmith_sink_finish(writing.sink, writing.into, error);
    tsmith_sink_destroy(writing.sink);
    merge_destroy(writing.merge);
    tsmith_dictionary_destroy(writing.into);
    free(writing.devices);
    free(writing.tracks);
    if (status != TSMITH_OK)
        return status;
    splitting->result.repeated += splitting->result.files ? writing.shared : 0;
    splitting->result.files++;
    splitting->result.events += writing.events;
    if (splitting->options.written)
        splitting->options.written(splitting->options.context, part->path, writing.events);
    return TSMITH_OK;
}

// ---- all of it

static tsmith_status prepare(struct splitting *splitting, const char *path, tsmith_error *error) {
    splitting->by_rank = output_has(splitting->pattern, 'r');
    splitting->by_process = output_has(splitting->pattern, 'p');
    splitting->summary.size = sizeof splitting->summary;
    if (!splitting->by_rank && !splitting->by_process)
        return status_set(
            error, TSMITH_ERROR_INVALID_ARGUMENT,
            "%s: the name has neither %%r (rank) nor %%p (process id), so that all files would be one",
            splitting->pattern);
    tsmith_status status = tsmith_trace_open(path, NULL, &splitting->trace, error);
    if (status == TSMITH_OK)
        status = tsmith_sbt_dictionary(tsmith_trace_sbt(splitting->trace), &splitting->from, error);
    if (status != TSMITH_OK)
        return status;
    if (tsmith_dictionary_part_count(splitting->from) > 1)
        return status_set(error, TSMITH_ERROR_UNSUPPORTED,
                          "%s is merged of several traces, which are its parts: it cannot be split", path);
    if (!find_ranks(splitting) || !count_ranks(splitting) || !find_parts(splitting) ||
        !list_pids(splitting) || !place_tracks(splitting))
        return no_memory(error);
    status = find_all_events(splitting, error);
    return status == TSMITH_OK ? name_parts(splitting, path, error) : status;
}

// TRUNCATED if the trace is not whole.
static tsmith_status check_whole(const struct splitting *splitting, const char *path, tsmith_error *error) {
    tsmith_sbt_summary found = {.size = sizeof found};
    tsmith_error why;
    tsmith_status status = tsmith_sbt_summarize(tsmith_trace_sbt(splitting->trace), &found, error);
    if (status != TSMITH_OK || (found.complete && tsmith_trace_ended(splitting->trace, &why) == TSMITH_OK))
        return status;
    return status_set(error, TSMITH_TRUNCATED,
                      "%s ends early or is damaged: only the readable part was split", path);
}

tsmith_status tsmith_trace_split(const char *path, const char *pattern, const tsmith_split_options *options,
                                 tsmith_split_result *result, tsmith_error *error) {
    struct splitting splitting = {.pattern = pattern};
    splitting.result.size = sizeof splitting.result;
    tsmith_status status = sized_take(tsmith_split_options, options, &splitting.options, error);
    if (status == TSMITH_OK)
        status = prepare(&splitting, path, error);
    for (uint32_t i = 0; status == TSMITH_OK && i < splitting.part_count; i++)
        if (!is_without_rank(&splitting, &splitting.parts[i]) || splitting.parts[i].has_events)
            status = write_part(&splitting, i, error);
    if (status == TSMITH_OK)
        status = check_whole(&splitting, path, error);
    sized_give(tsmith_split_result, &splitting.result, result);
    for (size_t i = 0; i < splitting.part_count; i++)
        free(splitting.parts[i].path);
    free(splitting.parts);
    free(splitting.ranks);
    free(splitting.part_of_process);
    free(splitting.part_of_track);
    free(splitting.pids);
    tsmith_trace_close(splitting.trace);
    return status;
}
