// SPDX-License-Identifier: Apache-2.0
// Schemas and enums that the program registers, copied: they may be on its stack. The table only grows, and is read
// without a lock. If another tool follows, a schema has that tool's number, so that data can be passed on unchanged.
// Rules: agent.h.
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "payload.h"

enum { BUCKETS = 256, NAME_MAX_BYTES = 128 };

static struct payload_schema *_Atomic buckets[BUCKETS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t made;

static size_t bucket_of(uint32_t domain, uint64_t id) {
    return ((id ^ id >> 32) + domain) % BUCKETS;
}

const struct payload_schema *payload_schema_find(uint32_t domain, uint64_t id) {
    const struct payload_schema *at =
        atomic_load_explicit(&buckets[bucket_of(domain, id)], memory_order_acquire);
    while (at && (at->id != id || at->domain != domain))
        at = at->next;
    return at;
}

// ---- types

size_t payload_type_bytes(uint32_t domain, uint64_t type, size_t *align) {
    static const uint8_t sizes[NVTX_TYPE_LIMIT] = {[1] = sizeof(char),
                                                   [2] = 1,
                                                   [3] = sizeof(short),
                                                   [4] = sizeof(short),
                                                   [5] = sizeof(int),
                                                   [6] = sizeof(int),
                                                   [7] = sizeof(long),
                                                   [8] = sizeof(long),
                                                   [9] = 8,
                                                   [10] = 8,
                                                   [11] = 1,
                                                   [12] = 1,
                                                   [13] = 2,
                                                   [14] = 2,
                                                   [15] = 4,
                                                   [16] = 4,
                                                   [17] = 8,
                                                   [18] = 8,
                                                   [19] = 4,
                                                   [20] = 8,
                                                   [21] = sizeof(long double),
                                                   [22] = sizeof(size_t),
                                                   [23] = sizeof(void *),
                                                   [24] = sizeof(wchar_t),
                                                   [25] = 1,
                                                   [26] = 2,
                                                   [27] = 4,
                                                   [32] = 1,
                                                   [33] = 16,
                                                   [34] = 16,
                                                   [42] = 2,
                                                   [43] = 4,
                                                   [44] = 8,
                                                   [45] = 16,
                                                   [50] = 2,
                                                   [52] = 4,
                                                   [68] = 4,
                                                   [69] = 4,
                                                   [70] = 8,
                                                   [71] = 4,
                                                   [72] = 8,
                                                   [73] = 4,
                                                   [74] = 8,
                                                   [75] = sizeof(char *),
                                                   [76] = sizeof(char *),
                                                   [77] = sizeof(char *),
                                                   [78] = sizeof(char *),
                                                   [80] = sizeof(void *)};
    if (type < NVTX_TYPE_LIMIT)
        return *align = sizes[type];
    const struct payload_schema *schema = payload_schema_find(domain, type);
    *align = schema ? schema->align : 1;
    return schema ? schema->bytes : 0;
}

// ---- registering

static char *copy_name(const char *name) {
    return name ? strndup(name, NAME_MAX_BYTES) : NULL;
}

static struct payload_schema *schema_new(const char *name, size_t count, bool is_enum) {
    struct payload_schema *schema = calloc(1, sizeof *schema);
    if (!schema)
        return NULL;
    schema->name = copy_name(name);
    schema->is_enum = is_enum;
    schema->count = count;
    schema->align = 1;
    if (is_enum)
        schema->choices = calloc(count + 1, sizeof *schema->choices);
    else
        schema->entries = calloc(count + 1, sizeof *schema->entries);
    if (schema->choices || schema->entries)
        return schema;
    free(schema->name);
    free(schema);
    return NULL;
}

// Keeps a schema that is whole. Its number; 0 when there are too many.
static uint64_t keep_schema(struct payload_schema *schema, const struct domain *domain, uint64_t id) {
    pthread_mutex_lock(&lock);
    const bool room = schema && made < PAYLOAD_SCHEMAS_MAX;
    if (room) {
        schema->domain = domain_number(domain);
        schema->id = id ? id : NVTX_SCHEMA_DYNAMIC_START + made;
        made++;
        struct payload_schema *_Atomic *bucket = &buckets[bucket_of(schema->domain, schema->id)];
        schema->next = atomic_load_explicit(bucket, memory_order_relaxed);
        atomic_store_explicit(bucket, schema, memory_order_release);
        id = schema->id;
    }
    pthread_mutex_unlock(&lock);
    if (!room)
        channel_lose(agent.channel, TSMITH_REASON_TABLE_FULL, 1);
    return room ? id : 0;
}

static void copy_entry(struct payload_schema *schema, uint32_t domain, const struct nvtx_entry *from,
                       struct payload_entry *to) {
    size_t align = 1;
    *to = (struct payload_entry){from->flags, from->type, from->detail, from->offset, copy_name(from->name)};
    (void)payload_type_bytes(domain, from->type, &align);
    if (schema->pack && align > schema->pack)
        align = schema->pack;
    if (align > schema->align)
        schema->align = align;
    const struct payload_schema *nested = payload_schema_find(domain, from->type);
    schema->has_handles |= from->type == NVTX_TYPE_REGISTERED || (nested && nested->has_handles);
}

// How long a struct of these entries is; 0 when the data would have to be asked.
static size_t natural_bytes(const struct payload_schema *schema, uint32_t domain) {
    size_t end = 0;
    for (size_t i = 0; i < schema->count; i++) {
        const struct payload_entry *entry = &schema->entries[i];
        const uint64_t kind = entry->flags & NVTX_ENTRY_ARRAY;
        const bool text = entry->type == NVTX_TYPE_CSTRING || entry->type == NVTX_TYPE_CSTRING_UTF8;
        const bool embedded = text && entry->detail;
        size_t align = 1, bytes = payload_type_bytes(domain, entry->type, &align);
        const size_t count = kind == NVTX_ENTRY_FIXED || embedded ? entry->detail : 1;
        bytes = embedded ? 1 : bytes;
        align = embedded ? 1 : schema->pack && align > schema->pack ? schema->pack : align;
        if (!bytes || !align || kind > NVTX_ENTRY_FIXED || count > UINT32_MAX)
            return 0;
        end = (entry->offset ? entry->offset : (end + align - 1) / align * align) + count * bytes;
    }
    return (end + schema->align - 1) / schema->align * schema->align;
}

uint64_t nvtx_PayloadSchemaRegister(void *handle, const struct nvtx_schema *given) {
    const struct domain *domain = handle;
    enum { NEEDED = NVTX_SCHEMA_TYPE | NVTX_SCHEMA_ENTRIES | NVTX_SCHEMA_COUNT };
    if (!given || (given->mask & NEEDED) != NEEDED || !given->entries)
        return 0;
    uint64_t id = given->mask & NVTX_SCHEMA_ID ? given->id : 0;
    if (payload_next.PayloadSchemaRegister) {
        const uint64_t theirs = payload_next.PayloadSchemaRegister(domain_next(domain), given);
        id = id ? id : theirs;
    }
    const size_t count = given->count < PAYLOAD_ENTRIES_MAX ? given->count : PAYLOAD_ENTRIES_MAX;
    struct payload_schema *schema =
        schema_new(given->mask & NVTX_SCHEMA_NAME ? given->name : NULL, count, false);
    if (schema) {
        schema->pack = given->mask & NVTX_SCHEMA_PACK ? given->pack : 0;
        for (size_t i = 0; i < count; i++)
            copy_entry(schema, domain_number(domain), &given->entries[i], &schema->entries[i]);
        if (given->type == NVTX_SCHEMA_STATIC)
            schema->bytes = given->mask & NVTX_SCHEMA_BYTES && given->bytes
                                ? given->bytes
                                : natural_bytes(schema, domain_number(domain));
    }
    return keep_schema(schema, domain, id);
}

uint64_t nvtx_PayloadEnumRegister(void *handle, const struct nvtx_enum *given) {
    const struct domain *domain = handle;
    enum { NEEDED = NVTX_ENUM_ENTRIES | NVTX_ENUM_COUNT };
    if (!given || (given->mask & NEEDED) != NEEDED || !given->entries)
        return 0;
    uint64_t id = given->mask & NVTX_ENUM_ID ? given->id : 0;
    if (payload_next.PayloadEnumRegister) {
        const uint64_t theirs = payload_next.PayloadEnumRegister(domain_next(domain), given);
        id = id ? id : theirs;
    }
    const size_t count = given->count < PAYLOAD_ENTRIES_MAX ? given->count : PAYLOAD_ENTRIES_MAX;
    struct payload_schema *schema = schema_new(NULL, count, true);
    for (size_t i = 0; schema && i < count; i++)
        schema->choices[i] = (struct payload_choice){copy_name(given->entries[i].name),
                                                     given->entries[i].value, given->entries[i].is_flag != 0};
    if (schema)
        schema->bytes = schema->align =
            given->mask & NVTX_ENUM_BYTES && given->bytes ? given->bytes : sizeof(int);
    return keep_schema(schema, domain, id);
}

uint8_t nvtx_DomainIsEnabled(void *domain) {
    (void)domain;
    return 1;
}
