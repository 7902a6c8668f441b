// SPDX-License-Identifier: Apache-2.0
// Partials: what a comparison of ranks keeps of traces, as bytes, so that each machine reads its own traces and one joins
// the results (`analyze --partial`). The layout is described in docs/partials.md. A partial is untrusted input.
#include <stdlib.h>
#include <string.h>

#include "analyze/ranks.h"
#include "base/array.h"
#include "base/bytes.h"
#include "base/destination.h"
#include "base/hash.h"
#include "state/sweep.h"

static const char MAGIC[8] = {'T', 'S', 'P', 'A', 'R', 'T', '\r', '\n'};
enum {
    VERSION = 4, // 1 has no collectives with numbers of their own, 2 no clocks, 3 no error of ticks
    OLDEST = 1,
    HEAD_SIZE = 24,       // magic, version, entries, bytes behind the head
    ENTRY_SIZE = 8,       // length, CRC32C
    FLAG_ABSENT = 1,      // label and reason, nothing else
    FLAG_TRUNCATED = 2,   // the trace ended early
    FLAG_JOB = 4,         // the trace states a job
    FLAG_MESSAGES = 8,    // it has messages
    FLAG_CLOCK = 16,      // it states its clock
    FLAG_TICKS = 32,      // it states an error of the times of calls
    FLAG_PLACE = 64,      // the topology of its machine and the identity of its device, each may be ""
    FLAG_TRANSFERS = 128, // it has collectives of NCCL with their bytes
    FLAG_BEGUN = 256,     // with messages: it has the call in which MPI began
    FLAGS = 511,
    SMALLEST_CLAIM = 3,    // bytes
    VARINT_MAX = 10,       // bytes
    SMALLEST_INTERVAL = 2, // bytes
    SMALLEST_MESSAGE = 7,
    SMALLEST_TRANSFER = 7,
};

// ---- writing

struct bytes {
    uint8_t *data;
    size_t size, capacity;
    bool failed;
};

static void add(struct bytes *bytes, const void *data, size_t size) {
    if (bytes->failed || !ARRAY_RESERVE(bytes->data, bytes->capacity, bytes->size + size)) {
        bytes->failed = true;
        return;
    }
    memcpy(bytes->data + bytes->size, data, size);
    bytes->size += size;
}

static void add_varint(struct bytes *bytes, uint64_t value) {
    if (bytes->failed || (bytes->capacity - bytes->size < VARINT_MAX &&
                          !ARRAY_RESERVE(bytes->data, bytes->capacity, bytes->size + VARINT_MAX))) {
        bytes->failed = true;
        return;
    }
    uint8_t *at = bytes->data + bytes->size;
    for (; value >= 0x80; value >>= 7)
        *at++ = (uint8_t)(value | 0x80);
    *at++ = (uint8_t)value;
    bytes->size = (size_t)(at - bytes->data);
}

static void add_signed(struct bytes *bytes, int64_t value) {
    add_varint(bytes, ((uint64_t)value << 1) ^ (uint64_t)(value >> 63));
}

static void add_string(struct bytes *bytes, const char *string, size_t length) {
    add_varint(bytes, length);
    add(bytes, string, length);
}

// An interval by its distance from the start of the one before it; both wrap, so that every pair of times is possible.
static void add_interval(struct bytes *bytes, int64_t *before, int64_t start, int64_t end) {
    add_signed(bytes, (int64_t)((uint64_t)start - (uint64_t)*before));
    add_varint(bytes, (uint64_t)end - (uint64_t)start);
    *before = start;
}

struct key_run {
    tsmith_string name;
    size_t first, count; // collectives of the rank
};

static int by_name(const void *left, const void *right) {
    const struct key_run *a = left, *b = right;
    const size_t shorter = a->name.length < b->name.length ? a->name.length : b->name.length;
    const int order = memcmp(a->name.bytes, b->name.bytes, shorter);
    return order ? order : a->name.length < b->name.length ? -1 : a->name.length > b->name.length;
}

// The collectives are sorted by key already; the keys are written in the order of their bytes.
static void add_collectives(struct bytes *bytes, const tsmith_ranks *ranks, const struct rank *rank) {
    struct key_run *runs = NULL;
    size_t count = 0, capacity = 0;
    for (size_t i = 0; i < rank->collective_count; i++) {
        if (i && rank->collectives[i].key == rank->collectives[i - 1].key) {
            runs[count - 1].count++;
            continue;
        }
        struct key_run *run = ARRAY_PUSH(runs, count, capacity);
        if (!run) {
            bytes->failed = true;
            free(runs);
            return;
        }
        *run = (struct key_run){tsmith_dictionary_string(ranks->keys, rank->collectives[i].key), i, 1};
    }
    if (count)
        qsort(runs, count, sizeof *runs, by_name);
    add_varint(bytes, count);
    for (size_t i = 0; i < count; i++) {
        int64_t before = 0;
        add_string(bytes, runs[i].name.bytes, runs[i].name.length);
        add_varint(bytes, runs[i].count);
        const bool is_numbered = ranks_key_is_numbered(runs[i].name);
        for (size_t k = 0; k < runs[i].count; k++) {
            const struct rank_collective *one = &rank->collectives[runs[i].first + k];
            add_interval(bytes, &before, one->start, one->end);
            if (is_numbered)
                add_varint(bytes, one->number);
        }
    }
    free(runs);
}

static void add_messages(struct bytes *bytes, const struct rank *rank) {
    int64_t before = 0;
    if (rank->message_count)
        add_varint(bytes, rank->message_count);
    for (size_t i = 0; i < rank->message_count; i++) {
        const struct rank_message *message = &rank->messages[i];
        const uint8_t sends = message->sends;
        add_varint(bytes, i ? message->comm - rank->messages[i - 1].comm : message->comm);
        add_signed(bytes, message->peer);
        add_signed(bytes, message->tag);
        add(bytes, &sends, 1);
        add_interval(bytes, &before, message->posted, message->end);
        add_varint(bytes, (uint64_t)message->end - (uint64_t)message->blocks);
    }
}

static void add_claims(struct bytes *bytes, const struct host_claims *claims) {
    add_string(bytes, claims->clock, strlen(claims->clock));
    if (claims->ticks_error)
        add_varint(bytes, (uint64_t)claims->ticks_error);
    add_varint(bytes, claims->count);
    for (size_t i = 0; i < claims->count; i++) {
        const struct host_claim_list *list = &claims->lists[i];
        uint64_t here = 0, offset = 0;
        add_string(bytes, list->of, strlen(list->of));
        add_varint(bytes, list->count);
        for (size_t k = 0; k < list->count; k++) {
            const struct host_claim *one = &list->items[k];
            const uint64_t between = (uint64_t)one->there - (uint64_t)one->here;
            add_signed(bytes, (int64_t)((uint64_t)one->here - here));
            add_signed(bytes, (int64_t)(between - offset));
            add_varint(bytes, (uint64_t)one->error);
            here = (uint64_t)one->here;
            offset = between;
        }
    }
}

static void add_place(struct bytes *bytes, const struct rank *rank) {
    const char *topology = rank->topology ? rank->topology : "", *device = rank->device ? rank->device : "";
    if (!rank->topology && !rank->device)
        return;
    add_string(bytes, topology, strlen(topology));
    add_string(bytes, device, strlen(device));
}

static void add_transfers(struct bytes *bytes, const tsmith_ranks *ranks, const struct rank *rank) {
    int64_t before = 0;
    uint64_t comm = 0, number = 0;
    uint32_t same = 0;
    if (rank->transfer_count)
        add_varint(bytes, rank->transfer_count);
    for (size_t i = 0; i < rank->transfer_count; i++) {
        const struct rank_transfer *one = &rank->transfers[i];
        const tsmith_string name = tsmith_dictionary_string(ranks->keys, one->name);
        add_string(bytes, name.bytes, one->name == same ? 0 : name.length); // none: that of the one before
        add_varint(bytes, one->comm - comm);
        add_signed(bytes, (int64_t)(one->number - number));
        add_varint(bytes, one->ranks);
        add_varint(bytes, one->bytes);
        add_interval(bytes, &before, one->start, one->end);
        same = one->name;
        comm = one->comm;
        number = one->number;
    }
}

static void add_rank(struct bytes *bytes, const tsmith_ranks *ranks, const struct rank *rank) {
    const unsigned flags = (rank->reason ? FLAG_ABSENT : 0U) | (rank->truncated ? FLAG_TRUNCATED : 0U) |
                           (rank->job ? FLAG_JOB : 0U) | (rank->message_count ? FLAG_MESSAGES : 0U) |
                           (rank->claims.clock ? FLAG_CLOCK : 0U) |
                           (rank->claims.clock && rank->claims.ticks_error ? FLAG_TICKS : 0U) |
                           (rank->topology || rank->device ? FLAG_PLACE : 0U) |
                           (rank->transfer_count ? FLAG_TRANSFERS : 0U) |
                           (rank->message_count && rank->is_begun ? FLAG_BEGUN : 0U);
    add_varint(bytes, flags);
    add_string(bytes, rank->label, strlen(rank->label));
    if (rank->reason) {
        add_string(bytes, rank->reason, strlen(rank->reason));
        return;
    }
    add_signed(bytes, rank->number);
    add_signed(bytes, rank->world);
    add_signed(bytes, rank->begin);
    add_signed(bytes, rank->window);
    add_signed(bytes, rank->missing);
    add_varint(bytes, rank->lost);
    add_signed(bytes, rank->compute);
    add_signed(bytes, rank->data);
    if (rank->job)
        add_string(bytes, rank->job, strlen(rank->job));
    if (rank->claims.clock)
        add_claims(bytes, &rank->claims);
    add_collectives(bytes, ranks, rank);
    add_varint(bytes, rank->step_count);
    int64_t before = 0;
    for (size_t i = 0; i < rank->step_count; i++) {
        const tsmith_string name = tsmith_dictionary_string(ranks->keys, rank->steps[i].name);
        add_string(bytes, name.bytes, name.length);
        add_interval(bytes, &before, rank->steps[i].start, rank->steps[i].end);
    }
    add_messages(bytes, rank);
    add_place(bytes, rank);
    add_transfers(bytes, ranks, rank);
}

struct entry {
    const struct rank *rank;
    struct bytes bytes;
};

static int by_rank(const void *left, const void *right) {
    const struct entry *a = left, *b = right;
    if (a->rank->number != b->rank->number)
        return a->rank->number < b->rank->number ? -1 : 1;
    const int order = ranks_compare_labels(a->rank->label, b->rank->label);
    if (order)
        return order;
    const size_t shorter = a->bytes.size < b->bytes.size ? a->bytes.size : b->bytes.size;
    const int content = memcmp(a->bytes.data, b->bytes.data, shorter);
    return content ? content : a->bytes.size < b->bytes.size ? -1 : a->bytes.size > b->bytes.size;
}

static void add_entries(struct bytes *all, struct entry *entries, size_t count) {
    uint8_t head[HEAD_SIZE] = {0};
    uint32_t kept = 0;
    add(all, head, sizeof head);
    for (size_t i = 0; i < count; i++) {
        uint8_t entry[ENTRY_SIZE];
        if (i && by_rank(&entries[i - 1], &entries[i]) == 0)
            continue;
        bytes_put_u32(entry, (uint32_t)entries[i].bytes.size);
        bytes_put_u32(entry + 4, crc32c(0, entries[i].bytes.data, entries[i].bytes.size));
        add(all, entry, sizeof entry);
        add(all, entries[i].bytes.data, entries[i].bytes.size);
        kept++;
    }
    if (all->failed)
        return;
    memcpy(all->data, MAGIC, sizeof MAGIC);
    bytes_put_u32(all->data + 8, VERSION);
    bytes_put_u32(all->data + 12, kept);
    bytes_put_u64(all->data + 16, all->size - HEAD_SIZE);
}

tsmith_status tsmith_ranks_write_partial(const tsmith_ranks *ranks, const tsmith_output *output,
                                         tsmith_error *error) {
    tsmith_status status = destination_check(output, error);
    if (status != TSMITH_OK)
        return status;
    if (ranks->finished)
        return status_set(error, TSMITH_ERROR_STATE,
                          "A comparison of ranks that is finished cannot be written as a partial.");
    struct bytes all = {0};
    struct entry *entries = calloc(ranks->count + 1, sizeof *entries);
    for (size_t i = 0; entries && i < ranks->count; i++) {
        entries[i].rank = &ranks->items[i];
        add_rank(&entries[i].bytes, ranks, &ranks->items[i]);
        all.failed |= entries[i].bytes.failed || entries[i].bytes.size > UINT32_MAX;
    }
    if (entries && !all.failed) {
        qsort(entries, ranks->count, sizeof *entries, by_rank);
        add_entries(&all, entries, ranks->count);
    }
    if (!entries || all.failed)
        status = status_set(error, TSMITH_ERROR_NO_MEMORY, "out of memory while writing a partial");
    else
        status = destination_write(&(struct destination){.fd = -1, .output = *output}, "partial", all.data,
                                   all.size, error);
    for (size_t i = 0; entries && i < ranks->count; i++)
        free(entries[i].bytes.data);
    free(entries);
    free(all.data);
    return status;
}

// ---- reading

struct cursor {
    const uint8_t *at, *end;
    bool damaged;
};

static uint64_t take_varint(struct cursor *cursor) {
    uint64_t value = 0;
    for (unsigned shift = 0; cursor->at < cursor->end && shift < 64; shift += 7) {
        const uint8_t byte = *cursor->at++;
        if (shift == 63 && byte > 1)
            break;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80))
            return value;
    }
    cursor->damaged = true;
    return 0;
}

static int64_t take_signed(struct cursor *cursor) {
    const uint64_t value = take_varint(cursor);
    return (int64_t)((value >> 1) ^ (0 - (value & 1)));
}

static tsmith_string take_string(struct cursor *cursor) {
    const uint64_t length = take_varint(cursor);
    if (cursor->damaged || length > (uint64_t)(cursor->end - cursor->at)) {
        cursor->damaged = true;
        return (tsmith_string){"", 0};
    }
    const tsmith_string string = {(const char *)cursor->at, (size_t)length};
    cursor->at += length;
    return string;
}

// A copy that ends with a null byte; NULL when memory is exhausted. A null byte within is damage.
static char *take_text(struct cursor *cursor) {
    const tsmith_string string = take_string(cursor);
    char *text = malloc(string.length + 1);
    if (!text)
        return NULL;
    memcpy(text, string.bytes, string.length);
    text[string.length] = 0;
    cursor->damaged |= strlen(text) != string.length;
    return text;
}

static tsmith_interval take_interval(struct cursor *cursor, int64_t *before) {
    tsmith_interval interval;
    interval.from = (int64_t)((uint64_t)*before + (uint64_t)take_signed(cursor));
    interval.to = (int64_t)((uint64_t)interval.from + take_varint(cursor));
    cursor->damaged |= interval.to <= interval.from;
    *before = interval.from;
    return interval;
}

// A number of things of at least `size` bytes each.
static size_t take_count(struct cursor *cursor, size_t size) {
    const uint64_t count = take_varint(cursor);
    if (count <= (uint64_t)(cursor->end - cursor->at) / size)
        return (size_t)count;
    cursor->damaged = true;
    return 0;
}

// False when memory is exhausted.
static bool take_collectives(struct cursor *cursor, tsmith_ranks *ranks, struct rank *rank) {
    for (size_t keys = take_count(cursor, 1 + SMALLEST_INTERVAL); keys && !cursor->damaged; keys--) {
        const tsmith_string name = take_string(cursor);
        size_t count = take_count(cursor, SMALLEST_INTERVAL);
        int64_t before = 0;
        cursor->damaged |= !name.length;
        if (cursor->damaged)
            break;
        const uint32_t key = tsmith_dictionary_intern(ranks->keys, name.bytes, name.length);
        const bool is_numbered = ranks_key_is_numbered(name);
        if (!key ||
            !ARRAY_RESERVE(rank->collectives, rank->collective_capacity, rank->collective_count + count))
            return false;
        for (; count && !cursor->damaged; count--) {
            const tsmith_interval one = take_interval(cursor, &before);
            const uint64_t number = is_numbered ? take_varint(cursor) : 0;
            cursor->damaged |= number > UINT32_MAX;
            rank->collectives[rank->collective_count++] =
                (struct rank_collective){one.from, one.to, key, (uint32_t)number};
        }
    }
    return true;
}

static bool take_steps(struct cursor *cursor, tsmith_ranks *ranks, struct rank *rank) {
    size_t count = take_count(cursor, 1 + SMALLEST_INTERVAL);
    int64_t before = 0;
    if (!ARRAY_RESERVE(rank->steps, rank->step_capacity, count))
        return false;
    for (; count && !cursor->damaged; count--) {
        const tsmith_string name = take_string(cursor);
        const tsmith_interval one = take_interval(cursor, &before);
        cursor->damaged |= !name.length;
        const uint32_t id = tsmith_dictionary_intern(ranks->keys, name.bytes, name.length);
        if (!id && !cursor->damaged)
            return false;
        rank->steps[rank->step_count++] = (struct rank_step){one.from, one.to, id};
    }
    return true;
}

static bool take_messages(struct cursor *cursor, struct rank *rank) {
    size_t count = take_count(cursor, SMALLEST_MESSAGE);
    int64_t before = 0;
    uint64_t comm = 0;
    cursor->damaged |= !count;
    if (!ARRAY_RESERVE(rank->messages, rank->message_capacity, count))
        return false;
    for (; count && !cursor->damaged; count--) {
        struct rank_message message = {.comm = comm += take_varint(cursor)};
        message.peer = take_signed(cursor);
        message.tag = take_signed(cursor);
        const uint64_t sends = take_varint(cursor);
        message.sends = sends;
        // A message may take no time.
        message.posted = before = (int64_t)((uint64_t)before + (uint64_t)take_signed(cursor));
        const uint64_t length = take_varint(cursor), waited = take_varint(cursor);
        message.end = (int64_t)((uint64_t)message.posted + length);
        message.blocks = (int64_t)((uint64_t)message.end - waited);
        cursor->damaged |= sends > 1 || message.end < message.posted || waited > length;
        rank->messages[rank->message_count++] = message;
    }
    return true;
}

// False when memory is exhausted.
static bool take_claims(struct cursor *cursor, struct host_claims *claims, bool has_ticks) {
    claims->clock = take_text(cursor);
    if (!claims->clock)
        return false;
    claims->ticks_error = has_ticks ? (int64_t)take_varint(cursor) : 0;
    cursor->damaged |= claims->ticks_error < 0;
    for (size_t lists = take_count(cursor, 2); lists && !cursor->damaged; lists--) {
        const tsmith_string of = take_string(cursor);
        size_t count = take_count(cursor, SMALLEST_CLAIM);
        uint64_t here = 0, offset = 0;
        if (cursor->damaged)
            break;
        struct host_claim_list *list = host_claims_add_list(claims, of.bytes, of.length);
        if (!list || !ARRAY_RESERVE(list->items, list->capacity, count))
            return false;
        for (; count && !cursor->damaged; count--) {
            here += (uint64_t)take_signed(cursor);
            offset += (uint64_t)take_signed(cursor);
            const uint64_t error = take_varint(cursor);
            cursor->damaged |=
                error > INT64_MAX || (list->count && list->items[list->count - 1].here > (int64_t)here);
            list->items[list->count++] =
                (struct host_claim){(int64_t)(here + offset), (int64_t)here, (int64_t)error};
        }
    }
    return true;
}

// NULL for an empty one; false when memory is exhausted.
static bool take_optional(struct cursor *cursor, char **out) {
    *out = take_text(cursor);
    if (!*out)
        return false;
    if (!**out) {
        free(*out);
        *out = NULL;
    }
    return true;
}

static bool take_transfers(struct cursor *cursor, tsmith_ranks *ranks, struct rank *rank) {
    size_t count = take_count(cursor, SMALLEST_TRANSFER);
    int64_t before = 0;
    uint64_t comm = 0, number = 0;
    uint32_t same = 0;
    cursor->damaged |= !count;
    if (!ARRAY_RESERVE(rank->transfers, rank->transfer_capacity, count))
        return false;
    for (; count && !cursor->damaged; count--) {
        const tsmith_string name = take_string(cursor);
        struct rank_transfer one = {.comm = comm += take_varint(cursor)};
        number += (uint64_t)take_signed(cursor);
        const uint64_t of = take_varint(cursor);
        one.bytes = take_varint(cursor);
        const tsmith_interval time = take_interval(cursor, &before);
        cursor->damaged |= (!name.length && !same) || number > UINT32_MAX || of > UINT32_MAX || !one.bytes;
        if (cursor->damaged)
            break;
        one.number = (uint32_t)number;
        one.ranks = (uint32_t)of;
        one.start = time.from;
        one.end = time.to;
        if (name.length)
            same = tsmith_dictionary_intern(ranks->keys, name.bytes, name.length);
        one.name = same;
        if (!same)
            return false;
        rank->transfers[rank->transfer_count++] = one;
    }
    return true;
}

static bool take_contents(struct cursor *cursor, tsmith_ranks *ranks, struct rank *rank, uint64_t flags) {
    rank->number = take_signed(cursor);
    rank->world = take_signed(cursor);
    rank->begin = take_signed(cursor);
    rank->window = take_signed(cursor);
    rank->missing = take_signed(cursor);
    rank->lost = take_varint(cursor);
    rank->compute = take_signed(cursor);
    rank->data = take_signed(cursor);
    rank->job = flags & FLAG_JOB ? take_text(cursor) : NULL;
    if (((flags & FLAG_JOB) && !rank->job) ||
        ((flags & FLAG_CLOCK) && !take_claims(cursor, &rank->claims, flags & FLAG_TICKS)))
        return false;
    cursor->damaged |= rank->number < -1 || rank->number > UINT32_MAX || rank->world < -1 ||
                       rank->world > UINT32_MAX || rank->window < 0 || rank->missing < 0 ||
                       rank->compute < 0 || rank->data < 0;
    return take_collectives(cursor, ranks, rank) && take_steps(cursor, ranks, rank) &&
           (!(flags & FLAG_MESSAGES) || take_messages(cursor, rank)) &&
           (!(flags & FLAG_PLACE) ||
            (take_optional(cursor, &rank->topology) && take_optional(cursor, &rank->device))) &&
           (!(flags & FLAG_TRANSFERS) || take_transfers(cursor, ranks, rank));
}

// The first trace of the cursor; false when memory is exhausted. `rank` is filled as far as it was read.
static bool take_rank(struct cursor *cursor, tsmith_ranks *ranks, struct rank *rank) {
    const uint64_t flags = take_varint(cursor);
    cursor->damaged |=
        ((flags & FLAG_TICKS) && !(flags & FLAG_CLOCK)) || ((flags & FLAG_BEGUN) && !(flags & FLAG_MESSAGES));
    cursor->damaged |=
        flags > FLAGS || ((flags & FLAG_ABSENT) && (flags & ~(uint64_t)(FLAG_ABSENT | FLAG_TRUNCATED)));
    *rank = (struct rank){.label = take_text(cursor), .number = -1, .world = -1};
    rank->truncated = flags & FLAG_TRUNCATED;
    rank->is_begun = flags & FLAG_BEGUN;
    if (rank->label && (flags & FLAG_ABSENT))
        rank->reason = take_text(cursor);
    const bool done = rank->label && (flags & FLAG_ABSENT ? rank->reason != NULL
                                                          : take_contents(cursor, ranks, rank, flags));
    cursor->damaged |= cursor->at != cursor->end;
    return done;
}

static tsmith_status damaged(const char *label, uint64_t offset, uint64_t record, tsmith_error *error) {
    tsmith_status status = status_set(
        error, TSMITH_ERROR_CORRUPT,
        "%s: the partial is damaged at byte %llu, in trace %llu of it. Make it again with 'tracesmith "
        "analyze --partial'.",
        label, (unsigned long long)offset, (unsigned long long)record);
    if (error) {
        error->offset = offset;
        error->record = record;
    }
    return status;
}

static tsmith_status check_head(const char *label, const uint8_t *bytes, size_t size, tsmith_error *error) {
    if (!tsmith_ranks_is_partial(bytes, size))
        return status_set(error, TSMITH_ERROR_FORMAT, "%s: it is not a partial of 'tracesmith analyze'.",
                          label);
    if (size < HEAD_SIZE)
        return damaged(label, size, 0, error);
    if (bytes_get_u32(bytes + 8) < OLDEST || bytes_get_u32(bytes + 8) > VERSION)
        return status_set(
            error, TSMITH_ERROR_UNSUPPORTED,
            "%s: the partial has version %u, and this TraceSmith reads versions up to %d. Use the "
            "TraceSmith that wrote it.",
            label, bytes_get_u32(bytes + 8), VERSION);
    return bytes_get_u64(bytes + 16) == size - HEAD_SIZE ? TSMITH_OK : damaged(label, size, 0, error);
}

static tsmith_status add_entry(tsmith_ranks *ranks, const char *label, struct cursor cursor, uint64_t offset,
                               uint64_t record, tsmith_error *error) {
    struct rank rank = {0};
    bool done = take_rank(&cursor, ranks, &rank);
    if (done && !cursor.damaged) {
        if (rank_number_collectives(ranks, &rank) && ranks_push(ranks, &rank))
            return TSMITH_OK;
        done = false;
    }
    rank_finish(&rank);
    return done ? damaged(label, offset, record, error)
                : status_set(error, TSMITH_ERROR_NO_MEMORY, "%s: out of memory while reading the partial.",
                             label);
}

int tsmith_ranks_is_partial(const void *bytes, size_t size) {
    return size >= sizeof MAGIC && memcmp(bytes, MAGIC, sizeof MAGIC) == 0;
}

tsmith_status tsmith_ranks_add_partial(tsmith_ranks *ranks, const char *label, const void *bytes, size_t size,
                                       tsmith_error *error) {
    const uint8_t *data = bytes;
    if (ranks->finished)
        return status_set(error, TSMITH_ERROR_STATE,
                          "The comparison of ranks is finished and accepts no more traces.");
    tsmith_status status = check_head(label, data, size, error);
    if (status != TSMITH_OK)
        return status;
    const size_t before = ranks->count;
    const uint32_t count = bytes_get_u32(data + 12);
    size_t at = HEAD_SIZE;
    for (uint32_t i = 0; status == TSMITH_OK && (i < count || at < size); i++) {
        if (i == count || size - at < ENTRY_SIZE || size - at - ENTRY_SIZE < bytes_get_u32(data + at)) {
            status = damaged(label, at, i, error);
            break;
        }
        const size_t length = bytes_get_u32(data + at);
        const struct cursor cursor = {data + at + ENTRY_SIZE, data + at + ENTRY_SIZE + length, false};
        if (crc32c(0, cursor.at, length) != bytes_get_u32(data + at + 4))
            status = damaged(label, at, i, error);
        else
            status = add_entry(ranks, label, cursor, at, i, error);
        at += ENTRY_SIZE + length;
    }
    while (status < 0 && ranks->count > before) // all of it or nothing
        rank_finish(&ranks->items[--ranks->count]);
    return status;
}
