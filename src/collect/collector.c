// SPDX-License-Identifier: Apache-2.0
// The collector's loop. It goes round the channels: in each it scans for sub-buffers, reads them in order,
// and continues with the next. Rows gather in one builder per track; a builder is flushed when it is full, when
// its rows are FLUSH_AFTER old, when a ring is short of sub-buffers because we hold them for that builder,
// and at the end.
//
//     channel: LIVE --process gone, or closing--> GONE --scanned to the end--> DONE (files removed once all
//     is freed)
#include "collect/collector.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdalign.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/probe.h"
#include "base/status.h"
#include "collect/collect_private.h"

static const int64_t FLUSH_AFTER = 250000000;    // ns
static const int64_t REST = 250000000;           // ns between rounds while the rings have room
static const int64_t PEEK_INTERVAL = 100000000;  // ns between looks at sub-buffers not handed over yet
static const int64_t CHECK_INTERVAL = 100000000; // ns between looks whether a process lives
enum { REST_SHARE = 16 };                        // of a ring, or less

// ---- builders

struct builder *collect_builder(struct collector *collector, uint32_t track) {
    if (track >= collector->builder_count) {
        uint32_t count = tsmith_dictionary_track_count(collector->dictionary);
        bool room = track < count && ARRAY_RESERVE(collector->builders, collector->builder_capacity, count);
        if (!room)
            return NULL;
        memset(collector->builders + collector->builder_count, 0,
               (count - collector->builder_count) * sizeof *collector->builders);
        collector->builder_count = count;
    }
    struct builder *builder = collector->builders[track];
    if (!builder) {
        builder = malloc(sizeof *builder);
        if (!builder) {
            collector->out_of_memory = true;
            return NULL;
        }
        builder_init(builder, track);
        collector->builders[track] = builder;
    }
    return builder;
}

// A driver may count from where its process began, so a device has a clock per process that uses it.
static uint32_t find_clock(struct collector *collector, uint32_t device, uint32_t process) {
    for (uint32_t i = 0; i < collector->clock_count; i++)
        if (collector->clocks[i].device == device && collector->clocks[i].process == process)
            return i + 1;
    bool room =
        ARRAY_RESERVE(collector->clocks, collector->clock_capacity, collector->clock_count + (size_t)1);
    if (!room)
        return 0;
    device_clock_init(&collector->clocks[collector->clock_count], device, process,
                      collector->recover ? collector->control->host_offsets : NULL);
    return ++collector->clock_count;
}

struct device_clock *collect_device_clock(struct collector *collector, uint32_t track) {
    const uint32_t count = tsmith_dictionary_track_count(collector->dictionary);
    if (track >= collector->clock_of_track_count) {
        bool room = track < count &&
                    ARRAY_RESERVE(collector->clock_of_track, collector->clock_of_track_capacity, count);
        if (!room)
            return NULL;
        memset(collector->clock_of_track + collector->clock_of_track_count, 0,
               (count - collector->clock_of_track_count) * sizeof *collector->clock_of_track);
        collector->clock_of_track_count = count;
    }
    uint32_t *clock = &collector->clock_of_track[track];
    if (!*clock) {
        const tsmith_track *entry = tsmith_dictionary_track(collector->dictionary, track);
        *clock = entry && tsmith_dictionary_device(collector->dictionary, entry->device)
                     ? find_clock(collector, entry->device, entry->process)
                     : 0;
    }
    return *clock ? &collector->clocks[*clock - 1] : NULL;
}

void collect_freshen(struct collector *collector, struct builder *builder) {
    builder->fresh = true;
    builder->first_serial = collector->serial;
    builder->opened_at = collector->now;
}

// The builder whose rows have waited longest.
static struct builder *oldest_builder(const struct collector *collector) {
    struct builder *oldest = NULL;
    for (uint32_t i = 0; i < collector->builder_count; i++) {
        struct builder *builder = collector->builders[i];
        if (builder && builder->fresh && (!oldest || builder->first_serial < oldest->first_serial))
            oldest = builder;
    }
    return oldest;
}

static tsmith_status flush(struct collector *collector, struct builder *builder) {
    struct device_clock *clock =
        builder->device_times ? collect_device_clock(collector, builder->track) : NULL;
    int64_t offset = clock ? device_clock_offset(clock, collector->dictionary) : 0;
    tsmith_status status = builder_flush(builder, offset, collector->batch);
    collector->handed_out = builder->records;
    builder->records = 0;
    if (collector->journal && status >= 0)
        collect_note_delivery(collector, builder, status == TSMITH_OK ? collector->batch : NULL);
    if (status == TSMITH_OK)
        builder->fresh = false;
    return status;
}

// ---- freeing sub-buffers

static void free_held(struct collector *collector) {
    uint64_t limit = collector->work.channel ? collector->serial : UINT64_MAX;
    bool freed = false;
    for (uint32_t i = 0; i < collector->builder_count; i++) {
        const struct builder *builder = collector->builders[i];
        if (builder && builder->fresh && builder->first_serial < limit)
            limit = builder->first_serial;
    }
    while (collector->held_first < collector->held_count) {
        struct collect_held *held = &collector->held[collector->held_first];
        if (held->serial >= limit)
            break;
        collector->held_first++;
        held->channel->held--;
        held->channel->ring_states[held->slot].held--;
        if (collector->recover)
            continue;
        freed |= collect_set_state(held->channel, held->sub, LAYOUT_SUB_FREE);
    }
    if (freed)
        control_file_wake(collector->file);
}

static bool under_pressure(const struct collector *collector) {
    for (uint32_t i = 0; i < collector->channel_count; i++) {
        const struct collect_channel *channel = collector->channels[i];
        for (uint32_t slot = 0; channel->held && slot < channel->ring_count; slot++)
            if (2 * channel->ring_states[slot].held >= collector->control->ring_sub_buffers)
                return true;
    }
    return false;
}

// ---- channels

static bool has_channel(const struct collector *collector, const char *name) {
    for (uint32_t i = 0; i < collector->channel_count; i++)
        if (strcmp(collector->channels[i]->name, name) == 0)
            return true;
    return false;
}

static void add_channel(struct collector *collector, const char *name) {
    struct collect_channel *channel = NULL;
    uint32_t number = collector->known ? journal_find_channel(collector->known, name) : UINT32_MAX;
    if (number != UINT32_MAX && collector->known->channels[number].finished)
        return; // all of it is in the file, and its files may be gone in part
    bool room =
        ARRAY_RESERVE(collector->channels, collector->channel_capacity, collector->channel_count + 1u);
    if (!room) {
        collector->out_of_memory = true;
        return;
    }
    tsmith_status status = collect_channel_open(collector, name, &channel);
    if (status == TSMITH_OK) {
        channel->alive = true;
        collect_journal_found(collector, channel);
        collector->channels[collector->channel_count++] = channel;
    } else if (!collector->recover) {
        collector->rescan = true; // not ready yet, or beyond help: looked at again now and then
    } else if (status != TSMITH_AGAIN) {
        collector->unreadable++;
    }
}

struct name {
    uint32_t number; // in the journal
    char *text;
};
struct names {
    struct name *items;
    size_t count, capacity;
};

static bool add_name(struct names *names, const struct journal_state *known, const char *text) {
    bool room = ARRAY_RESERVE(names->items, names->capacity, names->count + 1);
    char *copy = room ? strdup(text) : NULL;
    if (copy)
        names->items[names->count++] = (struct name){known ? journal_find_channel(known, text) : 0, copy};
    return copy != NULL;
}

static int by_number_and_text(const void *left, const void *right) {
    const struct name *a = left, *b = right;
    if (a->number != b->number)
        return a->number < b->number ? -1 : 1;
    return strcmp(a->text, b->text);
}

// In the order in which they were found the first time, then by name: two recoveries do the same.
static void add_channels(struct collector *collector, struct names *names) {
    if (names->count > 1)
        qsort(names->items, names->count, sizeof *names->items, by_number_and_text);
    for (size_t i = 0; i < names->count; i++) {
        add_channel(collector, names->items[i].text);
        free(names->items[i].text);
    }
    free(names->items);
}

static uint32_t generation_of(const struct collector *collector) {
    return collector->file ? control_file_generation(collector->file)
                           : atomic_load_explicit(&collector->control->generation, memory_order_relaxed);
}

static void read_directory(struct collector *collector) {
    collector->rescan = false;
    collector->scanned = collector->now;
    collector->generation = generation_of(collector);
    int fd = openat(collector->directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *directory = fd >= 0 ? fdopendir(fd) : NULL;
    if (!directory) {
        if (fd >= 0)
            close(fd);
        return;
    }
    struct names names = {.count = 0};
    const size_t suffix = sizeof LAYOUT_CHANNEL_SUFFIX - 1;
    for (struct dirent *entry = readdir(directory); entry; entry = readdir(directory)) {
        size_t length = strlen(entry->d_name);
        if (length <= suffix || strcmp(entry->d_name + length - suffix, LAYOUT_CHANNEL_SUFFIX) != 0)
            continue;
        entry->d_name[length - suffix] = '\0';
        if (!has_channel(collector, entry->d_name))
            collector->out_of_memory |= !add_name(&names, collector->known, entry->d_name);
    }
    closedir(directory);
    add_channels(collector, &names);
}

static void look_for_channels(struct collector *collector) {
    uint32_t generation = generation_of(collector);
    bool again = collector->rescan && collector->now - collector->scanned > CHECK_INTERVAL / 10;
    if (generation != collector->generation || again || collector->scanned == 0)
        read_directory(collector);
}

static bool is_program(const struct collector *collector, const struct collect_channel *channel) {
    return collector->program == channel->seen.pid && !channel->elsewhere;
}

static bool process_alive(const struct collector *collector, struct collect_channel *channel) {
    if (channel->local)
        return true;
    if (collector->before_boot || channel->has_end_status)
        return false;
    // Between its end and our waiting for it, it is nothing but a status that we do not have yet.
    return (is_program(collector, channel) && !collector->closing) || process_is_alive(&channel->seen);
}

static bool is_exiting(struct collect_channel *channel) {
    return collect_look_at_head(channel) && collect_is_closed(channel) && process_is_exiting(&channel->seen);
}

static void look_whether_gone(struct collector *collector, struct collect_channel *channel) {
    if (channel->state != COLLECT_LIVE)
        return;
    if (collector->program_ended && is_program(collector, channel)) {
        channel->has_end_status = true;
        channel->end_status = collector->program_status;
    }
    if (collector->closing || channel->has_end_status || collector->now - channel->checked > CHECK_INTERVAL) {
        channel->checked = collector->now;
        channel->alive = process_alive(collector, channel);
    }
    // Nothing else comes from a process that has closed its channel and is taken apart: its exit has been seen.
    if (channel->alive && collector->closing && !channel->local && is_exiting(channel))
        channel->alive = false;
    if (!channel->alive || collector->closing)
        channel->state = COLLECT_GONE;
}

static void remove_files(const struct collector *collector, const struct collect_channel *channel) {
    char path[512];
    snprintf(path, sizeof path, "%s" LAYOUT_RINGS_SUFFIX, channel->name);
    unlinkat(collector->directory, path, 0);
    snprintf(path, sizeof path, "%s" LAYOUT_STACKS_SUFFIX, channel->name);
    unlinkat(collector->directory, path, 0);
    snprintf(path, sizeof path, "%s" LAYOUT_CHANNEL_SUFFIX, channel->name);
    unlinkat(collector->directory, path, 0);
}

static void finish_channel(struct collector *collector, struct collect_channel *channel) {
    collect_channel_read_table(collector, channel);
    collect_reported_losses(collector, channel);
    collect_finish_rings(collector, channel);
    collect_channel_ended(collector, channel, channel->alive);
    channel->state = COLLECT_DONE;
    channel->done_serial = collector->serial;
}

// ---- the round

// Continues reading where it stopped, or begins with the next item. False at the end of the round.
static bool advance(struct collector *collector) {
    if (collector->work.channel) {
        collect_read(collector);
        return true;
    }
    for (;;) {
        struct collect_channel *channel =
            collector->draining < collector->channel_count ? collector->channels[collector->draining] : NULL;
        if (collect_begin(collector))
            return true;
        // What is due is handed out before anything else is done: the builders of the next steps may be full.
        if (channel && channel->state == COLLECT_GONE && channel->last_scan)
            finish_channel(collector, channel);
        if (collector->draining + 1 >= collector->channel_count || collector->channel_count == 0)
            return false;
        collector->draining++;
        channel = collector->channels[collector->draining];
        if (channel->state == COLLECT_DONE)
            continue;
        look_whether_gone(collector, channel);
        channel->last_scan = channel->state == COLLECT_GONE;
        collect_channel_read_table(collector, channel);
        collect_reported_losses(collector, channel);
        collect_scan(collector, channel, collector->peek || channel->last_scan);
    }
}

static void update_heartbeat(struct collector *collector, int64_t now) {
    atomic_store_explicit(&collector->control->heartbeat, now, memory_order_relaxed);
    CONTROL_FILE_WRITE(collector->file, heartbeat);
}

// A segment is written before the number that announces it.
static void write_segments(struct collector *collector) {
    const struct layout_control *control = collector->control;
    const uint32_t count = atomic_load_explicit(&control->segment_count, memory_order_relaxed);
    const uint32_t from = collector->segments_written;
    if (count <= from)
        return;
    control_file_write(collector->file,
                       offsetof(struct layout_control, segments) + from * sizeof control->segments[0],
                       (count - from) * sizeof control->segments[0]);
    CONTROL_FILE_WRITE(collector->file, segment_count);
    CONTROL_FILE_WRITE(collector->file, host_offsets);
    collector->segments_written = count;
}

static void begin_round(struct collector *collector) {
    collector->begun = true;
    collector->now = clock_trace_now();
    if (!collector->recover) {
        control_file_repair(collector->file);
        session_clock_advance(&collector->clock, collector->dictionary);
        write_segments(collector);
        update_heartbeat(collector, collector->now);
    }
    look_for_channels(collector);
    collector->peek = collector->settling || collector->now - collector->peeked > PEEK_INTERVAL;
    if (collector->peek)
        collector->peeked = collector->now;
    collector->round_over = false;
    collector->progress = false;
    collector->settled_round = collector->settling;
    collector->draining = UINT32_MAX; // the next one is the first
    collector->found_count = collector->found_next = 0;
}

static struct builder *due_builder(struct collector *collector) {
    struct builder *due = collector->due;
    if (!due && collector->pressure) {
        due = oldest_builder(collector);
        if (!due)
            collector->pressure = false;
    }
    return due;
}

// At the end of a round: what has waited long enough, or everything when this is the end.
static struct builder *aged_builder(struct collector *collector, bool all) {
    for (uint32_t i = 0; i < collector->builder_count; i++) {
        struct builder *builder = collector->builders[i];
        if (builder && builder->fresh && (all || collector->now - builder->opened_at > FLUSH_AFTER))
            return builder;
    }
    return NULL;
}

static bool at_the_end(const struct collector *collector) {
    if (!collector->closing || generation_of(collector) != collector->generation)
        return false;
    for (uint32_t i = 0; i < collector->channel_count; i++)
        if (collector->channels[i]->state != COLLECT_DONE)
            return false;
    return true;
}

static tsmith_status end_of_stream(const struct collector *collector, tsmith_error *error) {
    if (collector->unreadable == 0)
        return TSMITH_END;
    return status_set(
        error, TSMITH_TRUNCATED,
        "the files of %u recorded processes are damaged from their first page on; the others were read",
        collector->unreadable);
}

static uint64_t oldest_serial(const struct collector *collector) {
    const struct builder *oldest = oldest_builder(collector);
    return oldest ? oldest->first_serial : UINT64_MAX;
}

// What is read, freed and handed out needs neither files nor descriptors any more.
static void free_delivered(struct collector *collector) {
    uint64_t oldest = oldest_serial(collector);
    for (uint32_t i = 0; i < collector->channel_count; i++) {
        struct collect_channel *channel = collector->channels[i];
        if (channel->state != COLLECT_DONE || channel->held > 0 || channel->removed ||
            oldest <= channel->done_serial)
            continue;
        if (collector->journal)
            journal_finish_channel(collector->journal, channel->journal);
        if (!collector->recover)
            remove_files(collector, channel);
        collect_channel_release(channel);
        channel->removed = true;
    }
}

tsmith_status collector_next(struct collector *collector, const tsmith_batch **out, tsmith_error *error) {
    tsmith_status status = TSMITH_OK;
    // The consumer has returned and owns the last batch. However long that took, threads that wait for room keep waiting.
    collector->totals.delivered += collector->handed_out;
    collector->handed_out = 0;
    if (!collector->recover)
        update_heartbeat(collector, clock_trace_now());
    if (!collector->begun)
        begin_round(collector);
    free_held(collector);
    collector->pressure = collector->pressure && under_pressure(collector);
    for (;;) {
        struct builder *due = due_builder(collector);
        struct builder *losses = NULL;
        bool final = collector->round_over && at_the_end(collector);
        if (!due && collector->round_over)
            due = aged_builder(collector, final || collector->settling);
        // Report losses before events, so that a reader knows of every gap that precedes an event.
        if (due && collector->journal && (losses = collect_waiting_losses(collector)))
            due = losses;
        if (due) {
            if (due == collector->due)
                collector->due = NULL;
            status = flush(collector, due);
            if (status == TSMITH_OK) {
                *out = collector->batch;
                PROBE2(batch, tsmith_batch_track(*out), tsmith_batch_count(*out));
                return TSMITH_OK;
            }
            if (status != TSMITH_END)
                break;
            // Only open ranges: their records are in the next batch, or the one after.
            due->records += collector->handed_out;
            collector->handed_out = 0;
            due->fresh = false;
        } else if (collector->out_of_memory || tsmith_dictionary_failed(collector->dictionary)) {
            status = TSMITH_ERROR_NO_MEMORY;
            break;
        } else if (collector->round_over) {
            bool idle = !collector->progress && !collector->closing;
            bool settled = idle && collector->settling && collector->settled_round;
            free_held(collector);
            free_delivered(collector);
            if (final) {
                collector->delivered = true;
                return end_of_stream(collector, error);
            }
            begin_round(collector);
            if (settled)
                return TSMITH_END;
            if (idle && !collector->settling)
                return TSMITH_AGAIN;
        } else {
            uint64_t kept = collector->totals.kept;
            collector->round_over = !advance(collector);
            collector->progress |= collector->totals.kept != kept;
        }
    }
    return status_set(error, status, "the collector is out of memory");
}

// Only between rounds: `draining` is where it begins.
bool collector_can_rest(const struct collector *collector) {
    const struct layout_control *control = collector->control;
    if (collector->draining != UINT32_MAX || collector->due || collector->pressure || collector->rescan ||
        clock_trace_now() - collector->now > REST || generation_of(collector) != collector->generation ||
        control_file_waiters(collector->file) > 0)
        return false;
    for (uint32_t i = 0; i < collector->channel_count; i++) {
        struct collect_channel *channel = collector->channels[i];
        if (channel->state != COLLECT_DONE && REST_SHARE * collect_full(channel) >= control->ring_sub_buffers)
            return false;
    }
    return true;
}

// ---- life

tsmith_status collector_create(const struct session_directory *directory, enum collect_mode mode,
                               struct collector **out, tsmith_error *error) {
    struct layout_control *control = directory->control;
    tsmith_status status = TSMITH_OK;
    // A copy of a sub-buffer's head is in it, which is aligned to cache lines; calloc does not align to them.
    struct collector *collector = aligned_alloc(alignof(struct collector), sizeof *collector);
    if (!collector)
        goto fail;
    memset(collector, 0, sizeof *collector);
    collector->directory = directory->fd;
    collector->file = mode == COLLECT_SESSION ? &directory->file : NULL;
    collector->control = control;
    collector->recover = mode != COLLECT_SESSION;
    collector->closing = collector->recover;
    collector->before_boot = mode == COLLECT_BEFORE_BOOT;
    collector->draining = UINT32_MAX;
    if (tsmith_dictionary_create(&collector->dictionary) || tsmith_batch_create(&collector->batch))
        goto fail;
    collector->now = clock_trace_now();
    if (mode == COLLECT_SESSION) {
        status = control->output[0] ? journal_create(directory->fd, &collector->journal, error) : TSMITH_OK;
        if (status)
            goto fail_told;
        session_clock_start(&collector->clock, control);
        begin_round(collector);
    } else {
        session_clock_load(&collector->clock, control, collector->dictionary);
    }
    *out = collector;
    return TSMITH_OK;
fail:
    status = status_set(error, TSMITH_ERROR_NO_MEMORY, "out of memory while creating the collector");
fail_told:
    collector_destroy(collector);
    return status;
}

void collector_destroy(struct collector *collector) {
    if (!collector)
        return;
    for (uint32_t i = 0; i < collector->channel_count; i++)
        collect_channel_close(collector->channels[i]);
    for (uint32_t i = 0; i < collector->builder_count; i++) {
        if (collector->builders[i])
            builder_finish(collector->builders[i]);
        free(collector->builders[i]);
    }
    free(collector->channels);
    free(collector->builders);
    free(collector->identities);
    free(collector->clocks);
    free(collector->clock_of_track);
    free(collector->found);
    free(collector->held);
    free(collector->copy);
    free(collector->marks);
    journal_destroy(collector->journal);
    tsmith_batch_destroy(collector->batch);
    tsmith_dictionary_destroy(collector->dictionary);
    free(collector);
}

tsmith_dictionary *collector_dictionary(struct collector *collector) {
    return collector->dictionary;
}

void collector_skip(struct collector *collector, const struct journal_state *state) {
    collector->known = state;
}

void collector_set_closing(struct collector *collector, bool closing) {
    collector->closing = closing;
}

void collector_set_settling(struct collector *collector, bool settling) {
    // The round under way may have begun before what is to be handed out was recorded.
    if (settling && !collector->settling)
        collector->settled_round = false;
    collector->settling = settling;
}

void collector_program_started(struct collector *collector, uint64_t pid) {
    collector->program = pid;
}

void collector_program_ended(struct collector *collector, int wait_status) {
    collector->program_ended = true;
    collector->program_status = wait_status;
}

static bool still_records(const struct collector *collector, struct collect_channel *channel) {
    return channel->state == COLLECT_LIVE && !is_program(collector, channel) &&
           collect_look_at_head(channel) && !collect_is_closed(channel) && process_is_alive(&channel->seen);
}

uint32_t collector_live_processes(struct collector *collector) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < collector->channel_count; i++)
        count += still_records(collector, collector->channels[i]);
    return count;
}

bool collector_delivered(const struct collector *collector) {
    return collector->delivered;
}

struct collect_totals collector_totals(const struct collector *collector) {
    return collector->totals;
}

static bool has_api(const struct collect_channel *channel, uint32_t before, const char *name) {
    for (uint32_t i = 0; i < before; i++)
        if (strcmp(channel->apis[i].name, name) == 0)
            return true;
    return false;
}

bool collector_api(const struct collector *collector, size_t index, const char **name, uint32_t *processes) {
    size_t seen = 0;
    for (uint32_t i = 0; i < collector->channel_count; i++)
        for (uint32_t api = 0; api < collector->channels[i]->api_count; api++) {
            const char *this = collector->channels[i]->apis[api].name;
            bool first = !has_api(collector->channels[i], api, this);
            for (uint32_t j = 0; j < i && first; j++)
                first = !has_api(collector->channels[j], collector->channels[j]->api_count, this);
            if (!first || seen++ != index)
                continue;
            *name = this;
            *processes = 0;
            for (uint32_t j = i; j < collector->channel_count; j++)
                *processes += has_api(collector->channels[j], collector->channels[j]->api_count, this);
            return true;
        }
    return false;
}
