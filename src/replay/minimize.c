// SPDX-License-Identifier: Apache-2.0
// The least part of a recording that still diverges on a device: `replay --minimize`. By versions of memory.
//
// Every command that writes a memory makes a new version of it. A version is known if the recording has all of its bytes: what
// was written or read as a whole, and copies that were taken. A command that is kept needs the versions that it reads. Each is
// there because the command that made it is kept too, or because it is known: then it is fed, before the command, and all that
// led to it can go. So a part is a set of commands, closed under "made by a command that is not known otherwise" (close_part).
//
//   1. A replay of everything gives the first result that diverges, and all commands that it comes from.
//   2. The last of them alone, then by bisection as few of the last ones as diverge, and as few of the first of those: one run
//      for each doubling.
//   3. Each command that is left is tried without (those that are needed by others come back and cost no run).
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/sized.h"
#include "base/status.h"
#include "replay/emit.h"
#include "replay/plan.h"
#include "replay/results.h"

enum { TRIES_MOST = 200, ORIGIN = 160 };
enum { AVAILABLE = 1, UNAVAILABLE };

// A memory that a command uses.
struct use {
    uint32_t memory, before, after; // versions; equal: it is not written
    bool reads;                     // what is in it
    bool partly;                    // it writes, and what it does not write stays
};

struct minimizer {
    struct plan plan;
    struct execution *execution;
    struct tsmith_recording *recording;
    size_t process;
    const tsmith_replay_options *options;
    struct use *uses;
    size_t use_count, use_capacity;
    size_t *first_use;           // by record; one more at the end
    struct chunk_table maker;    // of a version: record + 1
    struct chunk_table known;    // of a version: record + 1 that has its bytes
    struct chunk_table memories; // ids: index + 1
    uint32_t *version;           // by memory, on the way
    uint32_t *observed; // by record: version + 1 that a result shows, or that a CONTENT brings; 0: none
    uint32_t *observed_memory; // by record
    uint32_t *partner;         // by record: of a map its unmap + 1, and the other way round
    uint8_t *available;        // by record: whether its bytes are in the recording
    uint8_t *left_out;
    struct execute_feed *feeds;
    size_t feed_count, feed_capacity;
    size_t result; // record of the one that diverges
    bool exactly;  // what a command only writes has its earlier content, too
    uint64_t tries;
    bool failed;
};

static struct chunk_hash key_of(uint32_t memory, uint32_t version) {
    return chunk_key_of(((uint64_t)memory << 32 | version) + 1);
}

static const struct recording_record *record_of(const struct minimizer *min, size_t record) {
    return &min->plan.process->records[record];
}

static uint64_t value(const struct recording_record *record, enum recording_key key) {
    return recording_value(record, key);
}

static void add_version(struct minimizer *min, struct chunk_table *table, uint32_t memory, uint32_t version,
                        size_t record) {
    if (!chunk_table_find(table, key_of(memory, version)) &&
        !chunk_table_add(table, key_of(memory, version), record + 1))
        min->failed = true;
}

// ---- versions

static uint32_t find_memory(const struct minimizer *min, uint64_t id) {
    return (uint32_t)chunk_table_find(&min->memories, chunk_key_of(id));
}

static bool is_whole(const struct minimizer *min, uint32_t memory, const struct recording_record *record) {
    return recording_has_payload(record) &&
           value(record, RECORDING_KEY_SIZE) == min->plan.memories[memory].size &&
           value(record, RECORDING_KEY_OFFSET) == 0;
}

static struct use *find_use(struct minimizer *min, size_t record, uint32_t memory) {
    for (size_t i = min->first_use[record]; i < min->use_count; i++)
        if (min->uses[i].memory == memory)
            return &min->uses[i];
    if (!ARRAY_RESERVE(min->uses, min->use_capacity, min->use_count + 1)) {
        min->failed = true;
        return NULL;
    }
    min->uses[min->use_count] =
        (struct use){.memory = memory, .before = min->version[memory], .after = min->version[memory]};
    return &min->uses[min->use_count++];
}

static void take_accesses(struct minimizer *min, size_t record) {
    const struct plan *plan = &min->plan;
    const uint32_t node = plan->node_of[record];
    const struct plan_node *at = node ? &plan->nodes[node - 1] : NULL;
    for (uint32_t i = 0; at && i < at->access_count; i++) {
        const struct plan_access *access = &plan->accesses[at->access_first + i];
        if (plan->memories[access->memory].kind != PLAN_BUFFER)
            continue;
        struct use *use = find_use(min, record, access->memory);
        const bool writes = (access->flags & PLAN_WRITES) != 0,
                   all = access->from == 0 && access->to == plan->memories[access->memory].size &&
                         !(access->flags & (PLAN_ASSUMED | PLAN_PARTLY));
        if (!use)
            return;
        use->reads |= (access->flags & PLAN_READS) != 0;
        use->partly |= writes && !all;
        if (writes)
            use->after = use->before + 1;
    }
    for (size_t i = min->first_use[record]; i < min->use_count; i++) {
        const struct use *use = &min->uses[i];
        min->version[use->memory] = use->after;
        if (use->after != use->before)
            add_version(min, &min->maker, use->memory, use->after, record);
    }
}

// A transfer of a whole memory shows what is in it.
static void take_transfer(struct minimizer *min, size_t record) {
    const struct recording_record *at = record_of(min, record);
    const uint64_t kind = value(at, RECORDING_KEY_COMMAND);
    const bool write = kind == RECORDING_COMMAND_WRITE || kind == RECORDING_COMMAND_WRITE_IMAGE,
               read = kind == RECORDING_COMMAND_READ || kind == RECORDING_COMMAND_READ_IMAGE ||
                      kind == RECORDING_COMMAND_READ_RECT || kind == RECORDING_COMMAND_MAP;
    const uint32_t memory = find_memory(min, value(at, write ? RECORDING_KEY_TARGET : RECORDING_KEY_SOURCE));
    if ((!read && !write) || !memory || !recording_has_payload(at))
        return;
    if (kind != RECORDING_COMMAND_READ_RECT && is_whole(min, memory - 1, at))
        add_version(min, &min->known, memory - 1, min->version[memory - 1], record);
    if (read) {
        min->observed[record] = min->version[memory - 1] + 1;
        min->observed_memory[record] = memory - 1;
    }
}

static void take_verify(struct minimizer *min, size_t record, const struct chunk_table *states) {
    const struct recording_record *at = record_of(min, record);
    const uint64_t state = chunk_table_find(states, chunk_key_of(value(at, RECORDING_KEY_VERIFY)));
    const uint32_t memory = find_memory(min, value(at, RECORDING_KEY_OBJECT));
    if (!memory || !state || !recording_has_payload(record_of(min, state - 1)))
        return;
    add_version(min, &min->known, memory - 1, min->version[memory - 1], state - 1);
    min->observed[record] = min->version[memory - 1] + 1;
    min->observed_memory[record] = memory - 1;
}

// What nothing recorded brought there is there in any part: a CONTENT; or it is lost, a REFUSED call.
static void take_foreign(struct minimizer *min, size_t record) {
    const struct recording_record *at = record_of(min, record);
    const uint8_t *ids;
    const size_t count = recording_list(at, RECORDING_KEY_WRITES, &ids);
    const uint32_t memory =
        at->type == RECORDING_CONTENT ? find_memory(min, value(at, RECORDING_KEY_OBJECT)) : 0;
    if (memory) {
        min->observed[record] = ++min->version[memory - 1] + 1;
        min->observed_memory[record] = memory - 1;
    }
    for (size_t i = 0; at->type == RECORDING_REFUSED && i < count; i++) {
        uint64_t id;
        memcpy(&id, ids + 8 * i, sizeof id);
        const uint32_t lost = find_memory(min, id);
        if (lost)
            min->version[lost - 1]++;
    }
}

static void pair_maps(struct minimizer *min) {
    struct chunk_table open = {0};
    for (size_t i = 0; i < min->plan.process->count; i++) {
        const struct recording_record *at = record_of(min, i);
        const uint64_t kind = value(at, RECORDING_KEY_COMMAND), id = value(at, RECORDING_KEY_MAPPING);
        if (at->type != RECORDING_COMMAND || !id)
            continue;
        const uint64_t map = chunk_table_find(&open, chunk_key_of(id));
        if (kind == RECORDING_COMMAND_MAP && !map)
            min->failed |= !chunk_table_add(&open, chunk_key_of(id), i + 1);
        if (kind == RECORDING_COMMAND_UNMAP && map && !min->partner[map - 1]) {
            min->partner[map - 1] = (uint32_t)i + 1;
            min->partner[i] = (uint32_t)map;
        }
    }
    chunk_table_finish(&open);
}

static bool find_versions(struct minimizer *min) {
    const size_t records = min->plan.process->count + 1;
    struct chunk_table states = {0};
    min->first_use = calloc(records + 1, sizeof *min->first_use);
    min->version = calloc(min->plan.memory_count + 1, sizeof *min->version);
    min->observed = calloc(records, sizeof *min->observed);
    min->observed_memory = calloc(records, sizeof *min->observed_memory);
    min->partner = calloc(records, sizeof *min->partner);
    min->available = calloc(records, 1);
    min->left_out = calloc(records, 1);
    if (!min->first_use || !min->version || !min->observed || !min->observed_memory || !min->partner ||
        !min->available || !min->left_out)
        return false;
    for (size_t i = 0; i < min->plan.memory_count; i++) {
        const struct plan_memory *memory = &min->plan.memories[i];
        if (memory->kind == PLAN_BUFFER && !chunk_table_find(&min->memories, chunk_key_of(memory->id)))
            min->failed |= !chunk_table_add(&min->memories, chunk_key_of(memory->id), i + 1);
    }
    for (size_t i = 0; i + 1 < records; i++)
        if (record_of(min, i)->type == RECORDING_STATE)
            min->failed |= !chunk_table_add(
                &states, chunk_key_of(value(record_of(min, i), RECORDING_KEY_VERIFY)), i + 1);
    for (size_t i = 0; i + 1 < records; i++) {
        const uint32_t type = record_of(min, i)->type;
        min->first_use[i] = min->use_count;
        if (type == RECORDING_COMMAND) {
            take_accesses(min, i);
            take_transfer(min, i);
        } else if (type == RECORDING_VERIFY) {
            take_verify(min, i, &states);
        } else if (type == RECORDING_CONTENT || type == RECORDING_REFUSED) {
            take_foreign(min, i);
        }
    }
    min->first_use[records - 1] = min->first_use[records] = min->use_count;
    pair_maps(min);
    chunk_table_finish(&states);
    return !min->failed;
}

// ---- parts

static bool is_available(struct minimizer *min, size_t record) {
    if (!min->available[record]) {
        size_t size;
        uint8_t *bytes = recording_payload(min->recording, record_of(min, record), &size);
        min->available[record] = bytes ? AVAILABLE : UNAVAILABLE;
        free(bytes);
    }
    return min->available[record] == AVAILABLE;
}

// The record that has the bytes of a version; SIZE_MAX: none.
static size_t find_known(struct minimizer *min, uint32_t memory, uint32_t version) {
    const uint64_t record = chunk_table_find(&min->known, key_of(memory, version));
    return record && is_available(min, record - 1) ? record - 1 : SIZE_MAX;
}

// The version that is fed where a command needs the one before it. Where it only writes, what it wrote will do: the bytes that
// it does not write are the same before and after. UINT32_MAX: neither is known.
static uint32_t find_feed(struct minimizer *min, const struct use *use) {
    if (find_known(min, use->memory, use->before) != SIZE_MAX)
        return use->before;
    if (!use->reads && !min->exactly && find_known(min, use->memory, use->after) != SIZE_MAX)
        return use->after;
    return UINT32_MAX;
}

static bool needs_content(const struct use *use) {
    return use->reads || use->partly;
}

// Adds what the commands of a part need: from the last to the first, for makers come before.
static void close_part(struct minimizer *min, uint8_t *kept) {
    for (bool again = true; again;) {
        again = false;
        for (size_t i = min->plan.process->count; i-- > 0;) {
            if (!kept[i])
                continue;
            if (min->partner[i] && !kept[min->partner[i] - 1]) {
                kept[min->partner[i] - 1] = 1;
                again |= min->partner[i] - 1 > i;
            }
            for (size_t j = min->first_use[i]; j < min->first_use[i + 1]; j++) {
                const struct use *use = &min->uses[j];
                const uint64_t maker = chunk_table_find(&min->maker, key_of(use->memory, use->before));
                if (needs_content(use) && maker && !kept[maker - 1] && find_feed(min, use) == UINT32_MAX)
                    kept[maker - 1] = 1;
            }
        }
    }
}

static void add_feed(struct minimizer *min, size_t before, uint32_t memory, uint32_t version) {
    const size_t content = find_known(min, memory, version);
    if (content == SIZE_MAX)
        return;
    if (!ARRAY_RESERVE(min->feeds, min->feed_capacity, min->feed_count + 1)) {
        min->failed = true;
        return;
    }
    min->feeds[min->feed_count++] =
        (struct execute_feed){.before = before, .content = content, .memory = min->plan.memories[memory].id};
}

// What is there on the way through a part.
struct held {
    uint32_t version;
    bool used; // by a command of the part
};

static void feed_command(struct minimizer *min, size_t record, struct held *held) {
    for (size_t j = min->first_use[record]; j < min->first_use[record + 1]; j++) {
        const struct use *use = &min->uses[j];
        const uint32_t feed =
            needs_content(use) && held[use->memory].version != use->before ? find_feed(min, use) : UINT32_MAX;
        if (feed != UINT32_MAX)
            add_feed(min, record, use->memory, feed);
        held[use->memory] = (struct held){use->after, true};
    }
}

// The closed part as a replay takes it: what is left out, which results are compared, what is fed.
static bool describe_part(struct minimizer *min, const uint8_t *kept) {
    struct held *held = calloc(min->plan.memory_count + 1, sizeof *held);
    min->feed_count = 0;
    for (size_t i = 0; held && i < min->plan.process->count; i++) {
        const struct recording_record *at = record_of(min, i);
        const struct held *shown = min->observed[i] ? &held[min->observed_memory[i]] : NULL;
        const bool shows = shown && shown->used && shown->version + 1 == min->observed[i];
        if (at->type == RECORDING_CONTENT && min->observed[i])
            held[min->observed_memory[i]] = (struct held){min->observed[i] - 1, false};
        if (at->type == RECORDING_VERIFY)
            min->left_out[i] = !shows;
        if (at->type != RECORDING_COMMAND)
            continue;
        min->left_out[i] = !kept[i] && !(shows && (!min->partner[i] || i == min->result)) &&
                           min->partner[i] != min->result + 1;
        if (kept[i])
            feed_command(min, i, held);
    }
    free(held);
    return held != NULL && !min->failed;
}

static tsmith_status try_part(struct minimizer *min, const uint8_t *kept, bool *diverged,
                              tsmith_error *error) {
    if (!describe_part(min, kept))
        return status_set(error, TSMITH_ERROR_NO_MEMORY, "out of memory while minimizing the recording");
    const struct execute_options run_options = {
        .left_out = min->left_out, .feeds = min->feeds, .feed_count = min->feed_count};
    min->tries++;
    return replay_run_part(min->execution, min->recording, min->process, min->options, &run_options, diverged,
                           error);
}

static size_t count_kept(const struct minimizer *min, const uint8_t *kept) {
    size_t count = 0;
    for (size_t i = 0; i < min->plan.process->count; i++)
        count += kept[i];
    return count;
}

// ---- the search

// All commands that a version comes from, whatever is known; with `users` also those that only used it before the result.
static void mark_causes(const struct minimizer *min, bool users, uint8_t *marks) {
    const uint32_t memory = min->observed_memory[min->result], version = min->observed[min->result] - 1;
    const uint64_t last = chunk_table_find(&min->maker, key_of(memory, version));
    if (last)
        marks[last - 1] = 1;
    for (size_t i = min->plan.process->count; i-- > 0;)
        for (size_t j = min->first_use[i]; j < min->first_use[i + 1]; j++) {
            const struct use *use = &min->uses[j];
            const uint64_t maker = chunk_table_find(&min->maker, key_of(use->memory, use->before));
            if (users && i < min->result && use->memory == memory && use->before == version)
                marks[i] = 1;
            if (marks[i] && needs_content(use) && maker)
                marks[maker - 1] = 1;
        }
}

struct search {
    size_t *causes; // records, ascending
    size_t count;
    uint8_t *kept, *trial;
};

static void keep_causes(struct minimizer *min, const struct search *search, size_t first, size_t last,
                        uint8_t *kept) {
    memset(kept, 0, min->plan.process->count + 1);
    for (size_t i = first; i <= last; i++)
        kept[search->causes[i]] = 1;
    close_part(min, kept);
}

static tsmith_status try_causes(struct minimizer *min, struct search *search, size_t first, size_t last,
                                bool *diverged, tsmith_error *error) {
    keep_causes(min, search, first, last, search->trial);
    return try_part(min, search->trial, diverged, error);
}

// As few of the first of these as diverge.
static tsmith_status bisect_end(struct minimizer *min, struct search *search, size_t first,
                                tsmith_error *error) {
    size_t low = first, high = search->count - 1; // up to `high` it diverges
    bool diverged = false;
    tsmith_status status = low < high ? try_causes(min, search, first, low, &diverged, error) : TSMITH_OK;
    if (diverged)
        high = low;
    while (status == TSMITH_OK && high > low + 1) {
        const size_t middle = low + (high - low) / 2;
        status = try_causes(min, search, first, middle, &diverged, error);
        low = diverged ? low : middle;
        high = diverged ? middle : high;
    }
    keep_causes(min, search, first, high, search->kept);
    return status;
}

// As few of the last causes as diverge, and then of the first of those.
static tsmith_status bisect(struct minimizer *min, struct search *search, bool *diverged,
                            tsmith_error *error) {
    size_t low = 0, high = search->count - 1; // from `low` on it diverges
    bool differs;
    tsmith_status status = try_causes(min, search, high, high, diverged, error);
    keep_causes(min, search, high, high, search->kept);
    if (status != TSMITH_OK || *diverged)
        return status;
    while (status == TSMITH_OK && high - low > 1) {
        const size_t middle = low + (high - low) / 2;
        status = try_causes(min, search, middle, search->count - 1, &differs, error);
        low = differs ? middle : low;
        high = differs ? high : middle;
    }
    *diverged = low > 0;
    if (status == TSMITH_OK && !low)
        status = try_causes(min, search, 0, search->count - 1, diverged, error);
    return status == TSMITH_OK && *diverged ? bisect_end(min, search, low, error) : status;
}

// Each command that others do not need is tried without, until none can go.
static tsmith_status remove_each(struct minimizer *min, struct search *search, tsmith_error *error) {
    tsmith_status status = TSMITH_OK;
    for (size_t i = 0; status == TSMITH_OK && i < min->plan.process->count && min->tries < TRIES_MOST; i++) {
        bool diverged = false;
        if (!search->kept[i])
            continue;
        memcpy(search->trial, search->kept, min->plan.process->count + 1);
        search->trial[i] = 0;
        if (min->partner[i])
            search->trial[min->partner[i] - 1] = 0;
        close_part(min, search->trial);
        const size_t left = count_kept(min, search->trial);
        if (!left || left >= count_kept(min, search->kept))
            continue;
        status = try_part(min, search->trial, &diverged, error);
        if (diverged)
            memcpy(search->kept, search->trial, min->plan.process->count + 1);
    }
    return status;
}

static tsmith_status search_causes(struct minimizer *min, bool users, struct search *search, bool *diverged,
                                   tsmith_error *error) {
    const size_t records = min->plan.process->count + 1;
    memset(search->trial, 0, records);
    search->count = 0;
    if (min->observed[min->result])
        mark_causes(min, users, search->trial);
    for (size_t i = 0; i < records; i++)
        if (search->trial[i])
            search->causes[search->count++] = i;
    *diverged = false;
    return search->count ? bisect(min, search, diverged, error) : TSMITH_OK;
}

static tsmith_status search_part(struct minimizer *min, struct search *search, bool *diverged,
                                 tsmith_error *error) {
    const size_t records = min->plan.process->count + 1;
    search->causes = calloc(records, sizeof *search->causes);
    search->kept = calloc(records, 1);
    search->trial = calloc(records, 1);
    if (!search->causes || !search->kept || !search->trial)
        return status_set(error, TSMITH_ERROR_NO_MEMORY, "out of memory while minimizing the recording");
    // A command may spoil what it should only read, or leave out what it should write.
    tsmith_status status = TSMITH_OK;
    *diverged = false;
    for (int way = 0; way < 4 && status == TSMITH_OK && !*diverged; way++) {
        min->exactly = way >= 2;
        status = search_causes(min, way % 2 != 0, search, diverged, error);
    }
    if (status == TSMITH_OK && *diverged)
        status = remove_each(min, search, error);
    if (status == TSMITH_OK && *diverged && !describe_part(min, search->kept))
        status = status_set(error, TSMITH_ERROR_NO_MEMORY, "out of memory while minimizing the recording");
    return status;
}

// The first result that diverges and whose bytes were recorded.
static bool find_first(const tsmith_replay *replay, size_t *process, size_t *record) {
    bool found = false;
    for (size_t i = 0; i < replay->count; i++) {
        const struct gathered *at = &replay->gathered[i];
        if (replay->results[i].verdict != TSMITH_VERDICT_DIVERGED || at->hashed ||
            (found && (at->process > *process || (at->process == *process && at->record >= *record))))
            continue;
        *process = at->process;
        *record = at->record;
        found = true;
    }
    return found;
}

static void list_commands(const struct minimizer *min, tsmith_recorded_command_take *each, void *context) {
    uint64_t number = 0;
    for (size_t i = 0; i < min->plan.process->count; i++) {
        tsmith_plan_command command;
        if (record_of(min, i)->type != RECORDING_COMMAND)
            continue;
        if (!min->left_out[i] && min->plan.node_of[i] && each) {
            plan_describe(&min->plan, min->plan.node_of[i] - 1, &command);
            each(context, &(tsmith_recorded_command){.pid = min->plan.process->pid,
                                                     .command = number,
                                                     .what = command.what,
                                                     .kernel = command.kernel,
                                                     .queue = command.queue});
        }
        number++;
    }
}

static void count_part(const struct minimizer *min, tsmith_minimized *out) {
    out->pid = min->plan.process->pid;
    out->tries = min->tries;
    out->fed = min->feed_count;
    for (size_t i = 0; i < min->plan.process->count; i++)
        if (record_of(min, i)->type == RECORDING_COMMAND) {
            out->commands++;
            out->remaining += !min->left_out[i];
            out->launches += !min->left_out[i] &&
                             value(record_of(min, i), RECORDING_KEY_COMMAND) == RECORDING_COMMAND_KERNEL;
        }
}

static void finish(struct minimizer *min) {
    chunk_table_finish(&min->maker);
    chunk_table_finish(&min->known);
    chunk_table_finish(&min->memories);
    free(min->uses);
    free(min->first_use);
    free(min->version);
    free(min->observed);
    free(min->observed_memory);
    free(min->partner);
    free(min->available);
    free(min->left_out);
    free(min->feeds);
    plan_finish(&min->plan);
}

static tsmith_status emit_part(struct minimizer *min, const tsmith_minimize_options *options,
                               tsmith_minimized *out, tsmith_error *error) {
    char origin[ORIGIN];
    tsmith_emit_summary summary = {0};
    snprintf(origin, sizeof origin, "the least part that diverged on %.100s, found in %llu replays",
             execute_opencl_device(min->execution), (unsigned long long)min->tries + 1);
    const struct emit_request request = {.left_out = min->left_out,
                                         .feeds = min->feeds,
                                         .feed_count = min->feed_count,
                                         .ulps = min->options->ulps,
                                         .absolute = min->options->absolute,
                                         .origin = origin,
                                         .take = options->take,
                                         .context = options->context};
    const tsmith_status status = emit_opencl(min->recording, min->plan.process, &request, &summary, error);
    out->results = summary.results;
    out->data_bytes = summary.data_bytes;
    out->omissions = summary.omissions;
    return status;
}

static tsmith_status minimize(struct minimizer *min, const tsmith_minimize_options *options,
                              tsmith_minimized *out, tsmith_error *error) {
    struct search search = {0};
    bool diverged = false;
    tsmith_status status =
        plan_make(&min->plan, min->recording, &min->recording->processes[min->process], error);
    if (status == TSMITH_OK && !find_versions(min))
        status = status_set(error, TSMITH_ERROR_NO_MEMORY, "out of memory while minimizing the recording");
    if (status == TSMITH_OK)
        status = search_part(min, &search, &diverged, error);
    if (status == TSMITH_OK && !diverged)
        status = status_set(
            error, TSMITH_ERROR_STATE,
            "the recording diverges as a whole, but not when only the commands are run that the first "
            "wrong result comes from: the driver does not go wrong in the same way every time");
    if (status == TSMITH_OK) {
        count_part(min, out);
        list_commands(min, options->each, options->context);
        if (options->take)
            status = emit_part(min, options, out, error);
    }
    free(search.causes);
    free(search.kept);
    free(search.trial);
    finish(min);
    return status;
}

tsmith_status tsmith_replay_minimize(tsmith_recording *recording, const tsmith_minimize_options *given,
                                     tsmith_minimized *out, tsmith_error *error) {
    tsmith_minimize_options options = {0};
    tsmith_replay_options replay_options = {0};
    tsmith_minimized found = {0};
    tsmith_replay *replay = NULL;
    tsmith_status status = sized_take(tsmith_minimize_options, given, &options, error);
    if (status == TSMITH_OK)
        status = sized_take(tsmith_replay_options, options.replay, &replay_options, error);
    if (status != TSMITH_OK)
        return status;
    replay_options.times = replay_options.times ? replay_options.times : 1;
    status = tsmith_replay_run(recording, &replay_options, &replay, error);
    struct minimizer min = {.recording = recording, .options = &replay_options};
    if (status == TSMITH_OK)
        for (size_t i = 0; i < replay->count; i++)
            found.diverged += replay->results[i].verdict == TSMITH_VERDICT_DIVERGED;
    if (found.diverged && !find_first(replay, &min.process, &min.result))
        status =
            status_set(error, TSMITH_ERROR_UNSUPPORTED,
                       "of the results that diverge only hashes were recorded: nothing can be minimized");
    if (status == TSMITH_OK && found.diverged && recording->processes[min.process].vulkan)
        status = status_set(error, TSMITH_ERROR_UNSUPPORTED,
                            "what diverges is a frame of Vulkan: only commands of OpenCL can be minimized");
    if (status == TSMITH_OK && found.diverged) {
        min.execution = replay->execution;
        status = minimize(&min, &options, &found, error);
    }
    tsmith_replay_destroy(replay);
    sized_give(tsmith_minimized, &found, out);
    return status;
}
