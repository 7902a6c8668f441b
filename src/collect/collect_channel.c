// SPDX-License-Identifier: Apache-2.0
// A process's files as the collector sees them, and its table: entries are copied out, checked, and become
// entries of the dictionary.
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "collect/collect_private.h"
#include "demangle/demangle.h"
#include "wire/channel.h"

static bool add_id(struct collect_ids *ids, uint32_t id) {
    if (ids->count == 0)
        ids->count = 1;
    bool room = ARRAY_RESERVE(ids->items, ids->capacity, ids->count + 1u);
    if (!room)
        return false;
    ids->items[0] = 0;
    ids->items[ids->count++] = id;
    return true;
}

static uint32_t find_id(const struct collect_ids *ids, uint32_t local) {
    return local < ids->count ? ids->items[local] : 0;
}

// ---- processes

static void add_process(struct collector *collector, struct collect_channel *channel) {
    tsmith_dictionary *dictionary = collector->dictionary;
    tsmith_process process = {.pid = channel->seen.pid,
                              .parent_pid = channel->head->parent_pid,
                              .start =
                                  channel->process_start ? channel->process_start : channel->head->attached,
                              .name = find_id(&channel->strings, channel->head->name),
                              .command_line = find_id(&channel->strings, channel->head->command_line),
                              .host = find_id(&channel->strings, channel->head->host)};
    // The same process under another API; a program that replaced itself by another (exec) is not the same.
    for (uint32_t i = 0; i < collector->channel_count; i++) {
        const struct collect_channel *other = collector->channels[i];
        const tsmith_process *known = tsmith_dictionary_process(dictionary, other->process);
        if (known && other->seen.pid == channel->seen.pid &&
            other->seen.start_time == channel->seen.start_time && other->seen.space == channel->seen.space &&
            known->name == process.name) {
            channel->process = other->process;
            channel->process_track = other->process_track;
            channel->loss_track = other->loss_track;
            channel->shares = true;
            return;
        }
    }
    channel->process = tsmith_dictionary_add_process(dictionary, &process);
    channel->process_track = tsmith_dictionary_add_track(
        dictionary,
        &(tsmith_track){.kind = TSMITH_TRACK_PROCESS, .name = process.name, .process = channel->process});
    channel->loss_track = tsmith_dictionary_add_track(
        dictionary, &(tsmith_track){.kind = TSMITH_TRACK_LOSS,
                                    .name = tsmith_dictionary_intern_cstr(dictionary, "loss ledger"),
                                    .process = channel->process});
    collect_process_event(collector, channel, TSMITH_OPERATION_PROCESS_START, process.start);
}

// ---- the table

static bool read_string(struct collector *collector, struct collect_channel *channel, const char *payload,
                        size_t bytes) {
    uint32_t head[2]; // length, flags
    char text[4096];
    if (bytes < sizeof head)
        return false;
    memcpy(head, payload, sizeof head);
    const char *string = payload + sizeof head;
    size_t length = head[0];
    if (length > bytes - sizeof head)
        return false;
    if (head[1] & LAYOUT_STRING_MANGLED && length < sizeof text) {
        char mangled[sizeof text];
        memcpy(mangled, string, length);
        mangled[length] = '\0';
        size_t demangled = demangle(mangled, text, sizeof text);
        string = demangled ? text : string;
        length = demangled ? demangled : length;
    }
    return add_id(&channel->strings, tsmith_dictionary_intern(collector->dictionary, string, length));
}

enum { RECENT = 4096 };

// A thread that another API of the same process records too is one row. 0: there is none.
static uint32_t find_thread(const struct collector *collector, const struct collect_channel *channel,
                            uint64_t tid) {
    for (uint32_t i = 0; i < collector->channel_count; i++) {
        const struct collect_channel *other = collector->channels[i];
        if (other == channel || other->process != channel->process)
            continue;
        // Of thousands of threads only those that began last: the others have ended.
        const uint32_t oldest = other->tracks.count > RECENT ? other->tracks.count - RECENT : 1;
        for (uint32_t id = other->tracks.count; id > oldest; id--) {
            const tsmith_track *track =
                tsmith_dictionary_track(collector->dictionary, other->tracks.items[id - 1]);
            if (track && track->kind == TSMITH_TRACK_THREAD && track->tid == tid)
                return other->tracks.items[id - 1];
        }
    }
    return 0;
}

static bool read_track(struct collector *collector, struct collect_channel *channel, const char *payload,
                       size_t bytes) {
    tsmith_track track;
    if (bytes < sizeof track)
        return false;
    memcpy(&track, payload, sizeof track);
    track.name = find_id(&channel->strings, track.name);
    track.device = find_id(&channel->devices, track.device);
    track.parent = find_id(&channel->tracks, track.parent);
    track.process = channel->process;
    track.reserved = 0;
    track.reserved2 = 0;
    if (track.kind == TSMITH_TRACK_KIND_NONE || track.kind > TSMITH_TRACK_CUSTOM)
        track.kind = TSMITH_TRACK_CUSTOM;
    uint32_t thread =
        track.kind == TSMITH_TRACK_THREAD && track.tid ? find_thread(collector, channel, track.tid) : 0;
    return add_id(&channel->tracks,
                  thread ? thread : tsmith_dictionary_add_track(collector->dictionary, &track));
}

static bool read_name(struct collector *collector, struct collect_channel *channel, const char *payload,
                      size_t bytes) {
    uint32_t entry[2];
    if (bytes < sizeof entry)
        return false;
    memcpy(entry, payload, sizeof entry);
    const uint32_t track = find_id(&channel->tracks, entry[0]), name = find_id(&channel->strings, entry[1]);
    if (track && name)
        tsmith_dictionary_rename_track(collector->dictionary, track, name);
    return true;
}

// The device that has an identity already; 0: it is new.
static uint32_t find_identity(const struct collector *collector, uint32_t text) {
    for (size_t i = 0; text && i < collector->identity_count; i++)
        if (collector->identities[i].text == text)
            return collector->identities[i].device;
    return 0;
}

// Makes `text` one more identity of the device.
static bool keep_identity(struct collector *collector, uint32_t text, uint32_t device) {
    if (!text || !device || find_identity(collector, text))
        return true;
    if (!ARRAY_RESERVE(collector->identities, collector->identity_capacity, collector->identity_count + 1))
        return false;
    collector->identities[collector->identity_count++] = (struct identity){text, device};
    return true;
}

static bool read_device(struct collector *collector, struct collect_channel *channel, const char *payload,
                        size_t bytes) {
    struct channel_device entry;
    if (bytes < sizeof entry)
        return false;
    memcpy(&entry, payload, sizeof entry);
    tsmith_device device = entry.device;
    device.identity = find_id(&channel->strings, device.identity);
    const uint32_t before = find_id(&channel->devices, entry.more_of);
    uint32_t known = before ? before : find_identity(collector, device.identity);
    device.name = find_id(&channel->strings, device.name);
    device.vendor = find_id(&channel->strings, device.vendor);
    device.driver = find_id(&channel->strings, device.driver);
    device.api = find_id(&channel->strings, device.api);
    device.type = find_id(&channel->strings, device.type);
    // A device with an identity is the machine's: other processes use it too.
    device.process = device.identity ? 0 : channel->process;
    if (known)
        tsmith_dictionary_complete_device(collector->dictionary, known, &device);
    else
        known = tsmith_dictionary_add_device(collector->dictionary, &device);
    return add_id(&channel->devices, known) && keep_identity(collector, device.identity, known);
}

static bool read_field(struct collector *collector, struct collect_channel *channel, const char *payload,
                       size_t bytes) {
    uint32_t field[4];
    if (bytes < sizeof field)
        return false;
    memcpy(field, payload, sizeof field);
    if (field[1] == 0 || field[1] >= TSMITH_TYPE_LIMIT || field[1] == TSMITH_TYPE_LIST)
        return false;
    tsmith_dictionary *dictionary = collector->dictionary;
    // A name with a NUL in it is cut there: fields are named by programmers.
    tsmith_string name = tsmith_dictionary_string(dictionary, find_id(&channel->strings, field[0]));
    tsmith_string unit = tsmith_dictionary_string(dictionary, find_id(&channel->strings, field[2]));
    return add_id(&channel->fields,
                  tsmith_dictionary_field(dictionary, name.bytes, (tsmith_type)field[1], unit.bytes));
}

// One step of a shape; false when it makes no sense.
static bool make_step(const struct collector *collector, const struct collect_channel *channel,
                      const struct record_field *field, struct collect_step *step) {
    uint8_t encoding = field->encoding & (uint8_t)~RECORD_ZERO_IS_NONE;
    tsmith_field_info info;
    *step = (struct collect_step){.encoding = encoding,
                                  .zero_is_none = (field->encoding & RECORD_ZERO_IS_NONE) != 0};
    if (encoding == RECORD_NOT_BEFORE || encoding == RECORD_NOT_AFTER)
        return true;
    step->field = encoding == RECORD_DYNAMIC ? find_id(&channel->fields, field->field) : field->field;
    if (step->field == 0 || !tsmith_dictionary_describe_field(collector->dictionary, step->field, &info))
        return false;
    step->type = info.type;
    // No other number of a stack means anything.
    if (step->field == TSMITH_FIELD_STACK && encoding == RECORD_VALUE)
        step->encoding = encoding = RECORD_STACK;
    switch (encoding) {
    case RECORD_VALUE:
        return info.type != TSMITH_TYPE_LIST && info.type != TSMITH_TYPE_STRING &&
               info.type != TSMITH_TYPE_TRACK && step->field != TSMITH_FIELD_KIND;
    case RECORD_TICK:
    case RECORD_DEVICE_TIME:
        return info.type == TSMITH_TYPE_TIME;
    case RECORD_TICK_END:
    case RECORD_DEVICE_END:
        return step->field == TSMITH_FIELD_DURATION;
    case RECORD_STRING:
        return info.type == TSMITH_TYPE_STRING;
    case RECORD_STACK:
        return step->field == TSMITH_FIELD_STACK;
    case RECORD_TRACK:
        return info.type == TSMITH_TYPE_TRACK;
    case RECORD_DYNAMIC:
        return info.type != TSMITH_TYPE_LIST;
    case RECORD_LIST:
        return info.type == TSMITH_TYPE_LIST;
    default:
        return false;
    }
}

static void note_step(struct collect_plan *plan, uint8_t i) {
    const struct collect_step *step = &plan->steps[i];
    plan->list |= step->encoding == RECORD_LIST;
    if (step->encoding == RECORD_DEVICE_TIME && step->field == TSMITH_FIELD_QUEUED)
        plan->queued = i + 1;
    else if (step->encoding == RECORD_NOT_BEFORE)
        plan->not_before = i + 1;
    else if (step->encoding == RECORD_NOT_AFTER)
        plan->not_after = i + 1;
}

static bool make_plan(const struct collector *collector, const struct collect_channel *channel,
                      const struct record_shape *shape, struct collect_plan *plan) {
    memset(plan, 0, sizeof *plan);
    if (shape->kind == TSMITH_KIND_NONE || shape->kind >= TSMITH_KIND_LIMIT || shape->role < RECORD_EVENT ||
        shape->role > RECORD_END || shape->subject < RECORD_SUBJECT_NAME ||
        shape->subject > RECORD_SUBJECT_TRACK || shape->field_count == 0 ||
        shape->field_count > RECORD_MAX_FIELDS || shape->fields[0].field != TSMITH_FIELD_START)
        return false;
    plan->kind = shape->kind;
    plan->role = shape->role;
    plan->subject = shape->subject;
    plan->step_count = shape->field_count;
    for (uint8_t i = 0; i < shape->field_count; i++) {
        if (!make_step(collector, channel, &shape->fields[i], &plan->steps[i]))
            return false;
        note_step(plan, i);
        if (plan->steps[i].encoding == RECORD_LIST && i + 1 != shape->field_count)
            return false;
    }
    // A range uses the host's clock.
    return plan->role == RECORD_EVENT || plan->steps[0].encoding == RECORD_TICK;
}

static bool read_shape(struct collector *collector, struct collect_channel *channel, const char *payload,
                       size_t bytes) {
    struct record_shape shape = {0};
    size_t head = offsetof(struct record_shape, fields);
    if (bytes < head)
        return false;
    memcpy(&shape, payload, head);
    size_t needed = shape.field_count * sizeof shape.fields[0];
    if (shape.field_count > RECORD_MAX_FIELDS || bytes - head < needed ||
        channel->plan_count >= RECORD_MAX_SHAPES)
        return false;
    memcpy(shape.fields, payload + head, needed);
    struct collect_plan *plan = &channel->plans[channel->plan_count++];
    // A shape that makes no sense keeps its number; its records are counted as damaged.
    if (!make_plan(collector, channel, &shape, plan))
        plan->kind = TSMITH_KIND_NONE;
    plan->number = ++collector->plan_count;
    return true;
}

static bool read_attribute(struct collector *collector, struct collect_channel *channel, const char *payload,
                           size_t bytes) {
    tsmith_attribute attribute;
    if (bytes < sizeof attribute)
        return false;
    memcpy(&attribute, payload, sizeof attribute);
    attribute.key = find_id(&channel->strings, attribute.key);
    attribute.value = find_id(&channel->strings, attribute.value);
    return !attribute.key || tsmith_dictionary_add_attribute(collector->dictionary, &attribute);
}

static bool has_rank(const tsmith_dictionary *dictionary, uint32_t process) {
    for (uint32_t id = 1; id < tsmith_dictionary_rank_count(dictionary); id++)
        if (tsmith_dictionary_rank(dictionary, id)->process == process)
            return true;
    return false;
}

// The channels of one process state the same: once is enough.
static bool read_rank(struct collector *collector, struct collect_channel *channel, const char *payload,
                      size_t bytes) {
    tsmith_rank rank;
    if (bytes < sizeof rank)
        return false;
    memcpy(&rank, payload, sizeof rank);
    if (!channel->process || has_rank(collector->dictionary, channel->process))
        return true;
    rank.process = channel->process;
    rank.launcher = find_id(&channel->strings, rank.launcher);
    rank.job = find_id(&channel->strings, rank.job);
    return tsmith_dictionary_add_rank(collector->dictionary, &rank) != 0;
}

static bool read_entry(struct collector *collector, struct collect_channel *channel, uint32_t type,
                       const char *payload, size_t bytes) {
    // The strings that describe the process come first, and everything else belongs to it.
    if (type != LAYOUT_ENTRY_STRING && !channel->process)
        add_process(collector, channel);
    switch (type) {
    case LAYOUT_ENTRY_STRING:
        return read_string(collector, channel, payload, bytes);
    case LAYOUT_ENTRY_TRACK:
        return read_track(collector, channel, payload, bytes);
    case LAYOUT_ENTRY_DEVICE:
        return read_device(collector, channel, payload, bytes);
    case LAYOUT_ENTRY_FIELD:
        return read_field(collector, channel, payload, bytes);
    case LAYOUT_ENTRY_NAME:
        return read_name(collector, channel, payload, bytes);
    case LAYOUT_ENTRY_SHAPE:
        return read_shape(collector, channel, payload, bytes);
    case LAYOUT_ENTRY_ATTRIBUTE:
        return read_attribute(collector, channel, payload, bytes);
    case LAYOUT_ENTRY_MODULE:
        return collect_read_module(collector, channel, payload, bytes);
    case LAYOUT_ENTRY_RANK:
        return read_rank(collector, channel, payload, bytes);
    default:
        return false;
    }
}

// More than the longest entry has: that of a string.
enum { PIECE = 2 << 20 };

static bool read_bytes(int fd, char *to, uint64_t from, uint64_t bytes) {
    for (uint64_t done = 0; done < bytes;) {
        ssize_t got = pread(fd, to + done, bytes - done, (off_t)(from + done));
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        done += (uint64_t)got;
    }
    return true;
}

// The entries in `bytes` of a table, up to one that is not whole. False: one is damaged. `used`: how far they go.
static bool read_entries(struct collector *collector, struct collect_channel *channel, const char *text,
                         uint64_t bytes, uint64_t *used) {
    struct layout_entry entry;
    for (*used = 0; bytes - *used >= sizeof entry; *used += entry.bytes) {
        memcpy(&entry, text + *used, sizeof entry);
        if (entry.bytes < sizeof entry || entry.bytes % 8 || entry.bytes > PIECE)
            return false;
        if (entry.bytes > bytes - *used)
            break;
        if (!read_entry(collector, channel, entry.type, text + *used + sizeof entry,
                        entry.bytes - sizeof entry))
            return false;
    }
    return true;
}

// The entries from table_read to `committed`, in pieces: a process may state any number of bytes, and make its file as long, without
// writing them. False: they are damaged, or not all there.
static bool read_new_entries(struct collector *collector, struct collect_channel *channel,
                             uint64_t committed) {
    struct stat status;
    if (fstat(channel->table_fd, &status) || (uint64_t)status.st_size < LAYOUT_ENTRIES_AT ||
        committed > (uint64_t)status.st_size - LAYOUT_ENTRIES_AT) {
        channel->files_damaged |= channel->live;
        return false;
    }
    const uint64_t left = committed - channel->table_read;
    char *text = malloc(left < PIECE ? left : PIECE);
    bool sound = text != NULL;
    for (uint64_t at = channel->table_read, used; sound && at < committed; at += used) {
        const uint64_t bytes = committed - at < PIECE ? committed - at : PIECE;
        if (!read_bytes(channel->table_fd, text, LAYOUT_ENTRIES_AT + at, bytes)) {
            channel->files_damaged |= channel->live;
            sound = false;
        } else {
            sound = read_entries(collector, channel, text, bytes, &used) && used > 0;
        }
    }
    free(text);
    return sound;
}

static void read_apis(struct collect_channel *channel) {
    for (; channel->api_count < collect_ledger_count(channel); channel->api_count++) {
        struct collect_api *api = &channel->apis[channel->api_count];
        memcpy(api->name, layout_ledger_at(channel->head, channel->api_count)->api, sizeof api->name - 1);
    }
}

void collect_channel_read_table(struct collector *collector, struct collect_channel *channel) {
    (void)collect_look_at_head(channel);
    read_apis(channel);
    uint64_t committed = atomic_load_explicit(&channel->head->committed, memory_order_acquire);
    if (committed <= channel->table_read || channel->table_bad)
        return;
    channel->table_bad = !read_new_entries(collector, channel, committed);
    channel->table_read = committed;
    if (!channel->process)
        add_process(collector, channel);
    if (channel->table_bad && !channel->table_told)
        collect_lose(collector, channel, TSMITH_REASON_CORRUPT, 1, channel->head->attached,
                     channel->head->attached, 0); // what follows in the table is not known
}

// ---- opening

int collect_open_file(int directory, const char *name, const char *suffix, uint64_t least) {
    char path[512];
    struct stat status;
    if ((size_t)snprintf(path, sizeof path, "%s%s", name, suffix) >= sizeof path)
        return -1;
    int fd = openat(directory, path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd >= 0 && (fstat(fd, &status) || !S_ISREG(status.st_mode) || (uint64_t)status.st_size < least)) {
        close(fd);
        fd = -1;
    }
    return fd;
}

static void copy_part(int fd, char *to, size_t from, size_t bytes) {
    for (size_t done = 0; done < bytes;) {
        ssize_t got = pread(fd, to + from + done, bytes - done, (off_t)(from + done));
        if (got <= 0)
            break; // what is not there reads as zeros
        done += (size_t)got;
    }
}

// A private copy of a head, which no other process can change. Of the long head only the used part is copied.
static void *copy_head_of_file(int fd, size_t bytes) {
    void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED)
        return NULL;
    copy_part(fd, at, 0, bytes == LAYOUT_DATA_AT ? LAYOUT_PAGE : bytes);
    if (bytes == LAYOUT_DATA_AT) {
        struct layout_rings *rings = at;
        uint32_t slots = atomic_load(&rings->slot_count), subs = atomic_load(&rings->sub_count);
        copy_part(fd, at, LAYOUT_SLOTS_AT,
                  (slots < LAYOUT_SLOTS ? slots : LAYOUT_SLOTS) * sizeof(struct layout_slot));
        copy_part(fd, at, LAYOUT_SUBS_AT,
                  (subs < LAYOUT_SUBS ? subs : LAYOUT_SUBS) * sizeof(struct layout_sub));
    }
    return at;
}

static bool map_files(const struct collector *collector, struct collect_channel *channel) {
    struct stat status;
    channel->table_fd =
        collect_open_file(collector->directory, channel->name, LAYOUT_CHANNEL_SUFFIX, LAYOUT_PAGE);
    channel->rings_fd =
        collect_open_file(collector->directory, channel->name, LAYOUT_RINGS_SUFFIX, LAYOUT_DATA_AT);
    if (channel->table_fd < 0 || channel->rings_fd < 0)
        return false;
    channel->live = !collector->recover;
    channel->head = copy_head_of_file(channel->table_fd, LAYOUT_ENTRIES_AT);
    if (!collector->recover && fstat(channel->rings_fd, &status) == 0)
        channel->local = channel_local_pool(status.st_dev, status.st_ino);
    // Of this process itself: the same memory, so that there is one order of things in it (and race detectors
    // see).
    channel->rings =
        channel->local ? channel->local->rings : copy_head_of_file(channel->rings_fd, LAYOUT_DATA_AT);
    if (channel->live && !channel->local) {
        void *at = mmap(NULL, LAYOUT_DATA_AT, PROT_READ | PROT_WRITE, MAP_SHARED, channel->rings_fd, 0);
        channel->shared = at == MAP_FAILED ? NULL : at;
        return channel->head && channel->rings && channel->shared;
    }
    return channel->head && channel->rings;
}

tsmith_status collect_channel_open(struct collector *collector, const char *name,
                                   struct collect_channel **out) {
    tsmith_status status = TSMITH_ERROR_NO_MEMORY;
    struct collect_channel *channel = calloc(1, sizeof *channel);
    if (!channel)
        return status;
    channel->table_fd = channel->rings_fd = channel->stacks_fd = -1;
    channel->name = strdup(name);
    channel->plans = calloc(RECORD_MAX_SHAPES, sizeof *channel->plans);
    if (!channel->name || !channel->plans)
        goto fail;
    channel->plan_count = 1;
    channel->journal = UINT32_MAX;
    collect_journal_look_up(collector, channel);
    status = TSMITH_ERROR_CORRUPT;
    if (!map_files(collector, channel))
        goto fail;
    uint64_t magic = *(const volatile uint64_t *)&channel->head->magic;
    atomic_thread_fence(memory_order_acquire);
    if (magic == 0) {
        status = TSMITH_AGAIN;
        goto fail;
    }
    if (magic != LAYOUT_CHANNEL_MAGIC || channel->head->version != LAYOUT_VERSION ||
        channel->rings->magic != LAYOUT_RINGS_MAGIC || channel->rings->version != LAYOUT_VERSION ||
        channel->rings->sub_buffer_bytes != collector->control->sub_buffer_bytes)
        goto fail;
    channel->sub_bytes = collector->control->sub_buffer_bytes;
    channel->seen = (struct process_seen){.pid = channel->head->pid,
                                          .start_time = channel->head->start_time,
                                          .space = channel->head->pid_namespace};
    channel->elsewhere = process_is_elsewhere(&channel->seen);
    collect_channel_read_table(collector, channel);
    if (!channel->process)
        add_process(collector, channel);
    *out = channel;
    return TSMITH_OK;
fail:
    collect_channel_close(channel);
    return status;
}

void collect_channel_release(struct collect_channel *channel) {
    if (channel->head)
        munmap(channel->head, LAYOUT_ENTRIES_AT);
    if (channel->rings && !channel->local)
        munmap(channel->rings, LAYOUT_DATA_AT);
    if (channel->shared)
        munmap(channel->shared, LAYOUT_DATA_AT);
    if (channel->table_fd >= 0)
        close(channel->table_fd);
    if (channel->rings_fd >= 0)
        close(channel->rings_fd);
    if (channel->stacks_fd >= 0)
        close(channel->stacks_fd);
    channel->head = NULL;
    channel->rings = NULL;
    channel->shared = NULL;
    channel->table_fd = channel->rings_fd = channel->stacks_fd = -1;
}

void collect_channel_close(struct collect_channel *channel) {
    collect_channel_release(channel);
    free(channel->strings.items);
    free(channel->tracks.items);
    free(channel->devices.items);
    free(channel->fields.items);
    free(channel->plans);
    free(channel->ring_states);
    free(channel->modules);
    free(channel->stacks);
    free(channel->stack_words);
    free(channel->frames);
    free(channel->name);
    free(channel);
}
