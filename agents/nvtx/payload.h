// SPDX-License-Identifier: Apache-2.0
// Structured payloads: schemas that the program registers, and data laid out by them, which become one text of JSON. Memory
// of the program is read within its call only, and no more of it than the schema and the size that was given allow.
#ifndef NVTX_PAYLOAD_H
#define NVTX_PAYLOAD_H

#include "agent.h"
#include "payload_abi.h"

enum { PAYLOAD_ENTRIES_MAX = 128, PAYLOAD_SCHEMAS_MAX = 4096 };

struct payload_entry {
    uint64_t flags, type, detail, offset;
    char *name; // NULL: it has none
};

struct payload_choice { // of an enum
    char *name;
    uint64_t value;
    bool is_flag;
};

struct payload_schema {
    struct payload_schema *next; // of the same bucket
    uint32_t domain;
    uint64_t id;
    char *name;
    bool is_enum, has_handles; // something of it only we know: a registered string
    size_t bytes, align, pack; // bytes 0: not known before the data is
    size_t count;
    struct payload_entry *entries;
    struct payload_choice *choices;
};

// NULL when the domain has no such schema. Any thread, no lock.
const struct payload_schema *payload_schema_find(uint32_t domain, uint64_t id);
// Bytes and alignment of a type, predefined or registered. 0: not known.
size_t payload_type_bytes(uint32_t domain, uint64_t type, size_t *align);

// The text of an event's payloads, as a string id; 0 when there is none. `message`: the string of the entry that names the
// event, else the first schema's name; may be NULL.
uint32_t payload_text(struct thread *thread, const struct domain *domain, const struct nvtx_data *data,
                      size_t count, uint32_t *message);
// Whether the next tool may be given this data.
bool payload_is_plain(const struct domain *domain, const struct nvtx_data *data, size_t count);

#define PAYLOAD_DECLARE(name, type, arguments) type nvtx_##name arguments;
NVTX_PAYLOAD_FUNCTIONS(PAYLOAD_DECLARE)
#undef PAYLOAD_DECLARE
// Those of the next tool; NULL where there is none.
struct payload_next {
#define PAYLOAD_POINTER(name, type, arguments) type(*name) arguments;
    NVTX_PAYLOAD_FUNCTIONS(PAYLOAD_POINTER)
#undef PAYLOAD_POINTER
};
extern struct payload_next payload_next;

#endif
