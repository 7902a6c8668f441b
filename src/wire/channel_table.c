// SPDX-License-Identifier: Apache-2.0
// A channel's table: the append-only file of what its records refer to. An entry is written whole, then
// `committed` moves past it by a release store; the entries before `committed` are never touched again.
#include "base/table.h"
#include "wire/channel_private.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/hash.h"
#include "wire/memory.h"

static const uint64_t FIRST_BYTES = 64 * 1024;
static const size_t STRING_MAX = 1u << 20; // longer ones are cut: they are of no use, and would fill a ring
enum { FIRST_PLACES = 256 };

// Makes room for `bytes` more: the file grows, and is mapped anew.
static bool reserve(struct channel_process *process, int fd, uint64_t bytes) {
    uint64_t wanted = process->entries_bytes ? process->entries_bytes : FIRST_BYTES;
    while (wanted < process->entries_used + bytes)
        wanted *= 2;
    if (wanted > LAYOUT_ENTRIES_MAX)
        return false;
    if (!file_reserve(fd, LAYOUT_ENTRIES_AT, wanted))
        return false;
    void *at = mmap(NULL, wanted, PROT_READ | PROT_WRITE, MAP_SHARED, fd, LAYOUT_ENTRIES_AT);
    if (at == MAP_FAILED)
        return false;
    // A forked child has the old mapping or the new one, and no more bytes of it than there are.
    char *before = process->entries;
    const uint64_t before_bytes = process->entries_bytes;
    process->entries = at;
    atomic_thread_fence(memory_order_release);
    process->entries_bytes = wanted;
    atomic_thread_fence(memory_order_release);
    if (before)
        munmap(before, before_bytes);
    return true;
}

static bool ensure_room(struct channel_process *process, uint64_t bytes) {
    if (process->entries_used + bytes <= process->entries_bytes)
        return true;
    int fd = open(process->path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    bool room = fd >= 0 && reserve(process, fd, bytes);
    if (fd >= 0)
        close(fd);
    return room;
}

bool channel_table_create(struct channel_process *process) {
    bool done = false;
    char *inherited = process->entries;
    uint64_t inherited_bytes = process->entries_bytes;
    process->entries = NULL;
    process->entries_bytes = 0;
    int fd = open(process->path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0 || !file_reserve(fd, 0, LAYOUT_PAGE) || !reserve(process, fd, process->entries_used))
        goto done;
    void *head = mmap(process->head, LAYOUT_ENTRIES_AT, PROT_READ | PROT_WRITE,
                      MAP_SHARED | (process->head ? MAP_FIXED : 0), fd, 0);
    if (head == MAP_FAILED)
        goto done;
    process->head = head;
    if (inherited)
        memcpy(process->entries, inherited, process->entries_used);
    atomic_store_explicit(&process->head->committed, process->entries_used, memory_order_release);
    done = true;
done:
    if (inherited)
        munmap(inherited, inherited_bytes);
    if (fd >= 0)
        close(fd);
    if (!done) {
        if (process->entries)
            munmap(process->entries, process->entries_bytes);
        process->entries = NULL;
        process->entries_bytes = 0;
        if (fd >= 0)
            unlink(process->path);
    }
    return done;
}

bool channel_table_inherit(struct channel_process *process, const struct channel_process *from) {
    char *copy = from->kept ? memory_take(from->kept_bytes) : NULL;
    if (!copy)
        return false;
    memcpy(copy, from->kept, from->kept_bytes);
    process->entries = copy;
    process->entries_bytes = process->entries_used = from->kept_bytes;
    return true;
}

void channel_table_forget(struct channel_process *process) {
    if (process->kept)
        munmap(process->kept, process->kept_bytes);
    process->kept = NULL;
}

// What agents still know the ids of, which are counted by type. Tracks, devices and attributes are of the session: with them it
// would grow from session to session.
static bool is_lasting(uint32_t type) {
    return type == LAYOUT_ENTRY_STRING || type == LAYOUT_ENTRY_FIELD || type == LAYOUT_ENTRY_SHAPE ||
           type == LAYOUT_ENTRY_MODULE;
}

// How many bytes; copies them to `into` unless it is NULL.
static uint64_t lasting_entries(const struct channel_process *process, char *into) {
    struct layout_entry entry;
    uint64_t bytes = 0;
    for (uint64_t at = 0; at + sizeof entry <= process->entries_used; at += entry.bytes) {
        memcpy(&entry, process->entries + at, sizeof entry);
        if (entry.bytes < sizeof entry || entry.bytes > process->entries_used - at)
            break; // the program has written into it
        if (!is_lasting(entry.type))
            continue;
        if (into)
            memcpy(into + bytes, process->entries + at, entry.bytes);
        bytes += entry.bytes;
    }
    return bytes;
}

static void keep_entries(struct channel_process *process) {
    process->kept_bytes = lasting_entries(process, NULL);
    process->kept = process->kept_bytes ? memory_take(process->kept_bytes) : NULL;
    if (process->kept)
        lasting_entries(process, process->kept);
}

void channel_table_detach(struct channel_process *process) {
    if (process->keeps)
        keep_entries(process);
    munmap(process->entries, process->entries_bytes);
    if (process->interned)
        munmap(process->interned, process->interned_places * sizeof *process->interned);
    process->entries = NULL;
    process->interned = NULL;
    process->interned_places = 0;
    // channel_lose may still count here.
    ring_pool_make_private(process->head, LAYOUT_ENTRIES_AT);
}

bool channel_table_reserve_ledger(struct channel_process *process, uint32_t ledger) {
    int fd = open(process->path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    bool room = fd >= 0 && file_reserve(fd, (uint64_t)ledger * LAYOUT_PAGE, LAYOUT_PAGE);
    if (fd >= 0)
        close(fd);
    return room;
}

// Appends an entry of two parts. Its id, or 0.
static uint32_t append(struct channel *channel, uint32_t type, const void *first, size_t first_bytes,
                       const void *second, size_t second_bytes) {
    struct channel_process *process = channel->process;
    int saved = errno;
    uint32_t id = 0;
    size_t bytes = (sizeof(struct layout_entry) + first_bytes + second_bytes + 7) & ~(size_t)7;
    if (ensure_room(process, bytes)) {
        char *at = process->entries + process->entries_used;
        struct layout_entry entry = {.bytes = (uint32_t)bytes, .type = type};
        memcpy(at, &entry, sizeof entry);
        memcpy(at + sizeof entry, first, first_bytes);
        if (second_bytes)
            memcpy(at + sizeof entry + first_bytes, second, second_bytes);
        atomic_thread_fence(memory_order_release);
        process->entries_used += bytes;
        id = ++process->counts[type];
        atomic_store_explicit(&process->head->committed, process->entries_used, memory_order_release);
    } else {
        channel_lose(channel, TSMITH_REASON_TABLE_FULL, 1);
    }
    errno = saved;
    return id;
}

uint32_t channel_table_add(struct channel *channel, uint32_t type, const void *payload, size_t bytes) {
    return append(channel, type, payload, bytes, NULL, 0);
}

// ---- strings

static bool is_same_string(const struct channel_process *process, const struct channel_interned *place,
                           const char *bytes, uint32_t length) {
    const char *at = process->entries + place->offset + sizeof(struct layout_entry);
    uint32_t there;
    memcpy(&there, at, sizeof there);
    return there == length && memcmp(at + 8, bytes, length) == 0;
}

static bool grow_interned(struct channel_process *process) {
    size_t places = process->interned_places ? 2 * process->interned_places : FIRST_PLACES;
    struct channel_interned *table = memory_take(places * sizeof *table);
    if (!table)
        return false;
    TABLE_MOVE(process->interned, process->interned_places, table, places, slot, slot->id, slot->hash);
    if (process->interned)
        munmap(process->interned, process->interned_places * sizeof *process->interned);
    process->interned = table;
    process->interned_places = places;
    return true;
}

// A string that is in the table. Without memory for it, it is added again when it is wanted again.
static void remember_string(struct channel_process *process, uint64_t offset, uint32_t id) {
    uint32_t length;
    memcpy(&length, process->entries + offset + sizeof(struct layout_entry), sizeof length);
    const uint32_t hash =
        (uint32_t)hash_bytes(process->entries + offset + sizeof(struct layout_entry) + 8, length);
    if (2 * (size_t)id >= process->interned_places && !grow_interned(process))
        return;
    *TABLE_SLOT(process->interned, process->interned_places, hash, slot, !slot->id) =
        (struct channel_interned){.id = id, .hash = hash, .offset = offset};
}

// Another thread of the parent may have been changing all but the entries themselves: that memory is left alone.
void channel_table_rebuild(struct channel_process *process) {
    struct layout_entry entry;
    memset(process->counts, 0, sizeof process->counts);
    process->interned = NULL;
    process->interned_places = 0;
    for (uint64_t at = 0; at < process->entries_used; at += entry.bytes) {
        memcpy(&entry, process->entries + at, sizeof entry);
        if (entry.bytes < sizeof entry || entry.type >= sizeof process->counts / sizeof process->counts[0])
            break; // the program has written into it
        const uint32_t id = ++process->counts[entry.type];
        if (entry.type == LAYOUT_ENTRY_STRING)
            remember_string(process, at, id);
    }
}

static uint32_t intern(struct channel *channel, const char *bytes, size_t length, uint32_t flags) {
    struct channel_process *process = channel->process;
    uint32_t kept = (uint32_t)(length < STRING_MAX ? length : STRING_MAX);
    uint32_t hash = (uint32_t)hash_bytes(bytes, kept);
    if (kept == 0)
        return 0;
    if (2 * (size_t)process->counts[LAYOUT_ENTRY_STRING] >= process->interned_places &&
        !grow_interned(process)) {
        channel_lose(channel, TSMITH_REASON_TABLE_FULL, 1);
        return 0;
    }
    struct channel_interned *found =
        TABLE_SLOT(process->interned, process->interned_places, hash, slot,
                   !slot->id || (slot->hash == hash && is_same_string(process, slot, bytes, kept)));
    if (found->id)
        return found->id;
    uint64_t offset = process->entries_used;
    const uint32_t head[2] = {kept, flags};
    uint32_t id = append(channel, LAYOUT_ENTRY_STRING, head, sizeof head, bytes, kept);
    if (id)
        *found = (struct channel_interned){.id = id, .hash = hash, .offset = offset};
    return id;
}

uint32_t channel_table_string(struct channel *channel, const char *bytes, size_t length) {
    return intern(channel, bytes, length, 0);
}

// ---- what agents register

uint32_t channel_string(struct channel *channel, const char *bytes, size_t length) {
    uint32_t id = channel_lock(channel) ? channel_table_string(channel, bytes, length) : 0;
    channel_unlock(channel);
    return id;
}

uint32_t channel_function(struct channel *channel, const char *name) {
    uint32_t id = channel_lock(channel) ? intern(channel, name, strlen(name), LAYOUT_STRING_MANGLED) : 0;
    channel_unlock(channel);
    return id;
}

uint32_t channel_string_cstr(struct channel *channel, const char *text) {
    return text ? channel_string(channel, text, strlen(text)) : 0;
}

static uint32_t add(struct channel *channel, uint32_t type, const void *payload, size_t bytes) {
    uint32_t id = channel_lock(channel) ? channel_table_add(channel, type, payload, bytes) : 0;
    channel_unlock(channel);
    return id;
}

uint32_t channel_device(struct channel *channel, const tsmith_device *device) {
    return channel_device_identified(channel, device, NULL);
}

uint32_t channel_device_identified(struct channel *channel, const tsmith_device *device,
                                   const char *identity) {
    return channel_device_described(channel, 0, device, identity);
}

uint32_t channel_device_described(struct channel *channel, uint32_t before, const tsmith_device *device,
                                  const char *identity) {
    struct channel_device entry = {.device = *device, .more_of = before};
    entry.device.identity = identity && *identity ? channel_string_cstr(channel, identity) : 0;
    return add(channel, LAYOUT_ENTRY_DEVICE, &entry, sizeof entry);
}

uint32_t channel_track(struct channel *channel, const tsmith_track *track) {
    return add(channel, LAYOUT_ENTRY_TRACK, track, sizeof *track);
}

void channel_name_track(struct channel *channel, uint32_t track, uint32_t name) {
    const uint32_t entry[2] = {track, name};
    add(channel, LAYOUT_ENTRY_NAME, entry, sizeof entry);
}

void channel_attribute(struct channel *channel, const char *key, const char *value) {
    if (channel_lock(channel)) {
        const uint32_t payload[2] = {channel_table_string(channel, key, strlen(key)),
                                     channel_table_string(channel, value, strlen(value))};
        channel_table_add(channel, LAYOUT_ENTRY_ATTRIBUTE, payload, sizeof payload);
    }
    channel_unlock(channel);
}

uint16_t channel_field(struct channel *channel, const char *name, tsmith_type type, const char *unit) {
    uint32_t id = 0;
    if (channel_lock(channel)) {
        uint32_t payload[4] = {channel_table_string(channel, name, strlen(name)), (uint32_t)type,
                               unit ? channel_table_string(channel, unit, strlen(unit)) : 0, 0};
        if (channel->process->counts[LAYOUT_ENTRY_FIELD] < UINT16_MAX - TSMITH_FIELD_DYNAMIC)
            id = channel_table_add(channel, LAYOUT_ENTRY_FIELD, payload, sizeof payload);
    }
    channel_unlock(channel);
    return (uint16_t)id;
}

uint16_t channel_shape(struct channel *channel, const struct record_shape *shape) {
    size_t bytes = offsetof(struct record_shape, fields) + shape->field_count * sizeof shape->fields[0];
    uint32_t id = 0;
    if (shape->field_count > RECORD_MAX_FIELDS)
        return 0;
    if (channel_lock(channel) && channel->process->counts[LAYOUT_ENTRY_SHAPE] + 1 < RECORD_MAX_SHAPES)
        id = channel_table_add(channel, LAYOUT_ENTRY_SHAPE, shape, bytes);
    channel_unlock(channel);
    return (uint16_t)id;
}

// Copies up to `size` bytes of the entry of this type and number.
static bool find_entry(struct channel *channel, uint32_t type, uint32_t id, void *out, size_t size) {
    struct layout_entry entry;
    bool found = false;
    const struct channel_process *process = channel_lock(channel) ? channel->process : NULL;
    for (uint64_t at = 0; process && id && !found && at + sizeof entry <= process->entries_used;
         at += entry.bytes) {
        memcpy(&entry, process->entries + at, sizeof entry);
        if (entry.bytes < sizeof entry || entry.bytes > process->entries_used - at)
            break; // the program has written into it
        found = entry.type == type && --id == 0;
        if (found)
            memcpy(out, process->entries + at + sizeof entry,
                   entry.bytes - sizeof entry < size ? entry.bytes - sizeof entry : size);
    }
    channel_unlock(channel);
    return found;
}

bool channel_find_track(struct channel *channel, uint32_t id, tsmith_track *out) {
    return find_entry(channel, LAYOUT_ENTRY_TRACK, id, out, sizeof *out);
}

bool channel_find_shape(struct channel *channel, uint16_t id, struct record_shape *out) {
    *out = (struct record_shape){.kind = 0};
    return find_entry(channel, LAYOUT_ENTRY_SHAPE, id, out, sizeof *out) &&
           out->field_count <= RECORD_MAX_FIELDS;
}

static void count_loss(struct layout_ledger *ledger, uint64_t now, tsmith_reason reason, uint64_t count) {
    uint64_t first = atomic_load_explicit(&ledger->lost_first, memory_order_relaxed);
    if (!first)
        atomic_compare_exchange_strong_explicit(&ledger->lost_first, &first, now, memory_order_relaxed,
                                                memory_order_relaxed);
    atomic_store_explicit(&ledger->lost_last, now, memory_order_relaxed);
    if ((uint32_t)reason < LAYOUT_REASONS)
        atomic_fetch_add_explicit(&ledger->lost[reason], count, memory_order_relaxed);
    atomic_fetch_add_explicit(&ledger->lost_reported, 1, memory_order_release);
}

void channel_lose(struct channel *channel, tsmith_reason reason, uint64_t count) {
    channel_enter();
    struct layout_ledger *ledger = channel->gate.ledger;
    const struct channel_process *process = channel->process;
    if (ledger && process)
        count_loss(ledger, clock_tick(process->control->tick_is_tsc != 0), reason, count);
    channel_leave();
}
