// SPDX-License-Identifier: Apache-2.0
// Any bytes as schemas of NVTX payloads and as data that is read by them: nothing beyond the data is read, and the text is
// bounded. Strings that are pointers, and handles, are the program's to be right, and not made here.
//
//     count of entries | entries: flags (2), type, detail, offset | the same again, nested | count of choices | data
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// The agent's own files, with their references to other files replaced here.
#include "../agents/nvtx/payload.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char last[4096];
static uint32_t keep_string(struct channel *channel, const char *bytes, size_t length) {
    (void)channel;
    if (length >= sizeof last)
        abort(); // the text is bounded
    memcpy(last, bytes, length);
    return (uint32_t)length + 1;
}
static uint32_t keep_text(struct thread *thread, const char *text) {
    (void)thread;
    return keep_string(NULL, text, strlen(text));
}
static void keep_loss(struct channel *channel, tsmith_reason reason, uint64_t count) {
    (void)channel, (void)reason, (void)count;
}
#define channel_string keep_string
#define channel_lose keep_loss
#define text_ascii keep_text
struct agent agent;
struct payload_next payload_next;
#include "../agents/nvtx/payload_decode.c"
#include "../agents/nvtx/payload_schema.c"

enum { ENTRIES = 12, ENTRY_BYTES = 5 };

struct input {
    const uint8_t *at, *end;
};

static uint8_t take(struct input *input) {
    return input->at < input->end ? *input->at++ : 0;
}

// `nested`: the number of a schema that an entry may be of, and of an enum after it.
static uint64_t register_schema(struct domain *domain, struct input *input, uint64_t nested,
                                uint64_t choices) {
    struct nvtx_entry entries[ENTRIES] = {{0}};
    const size_t count = take(input) % (ENTRIES + 1);
    for (size_t i = 0; i < count; i++) {
        struct nvtx_entry *entry = &entries[i];
        entry->flags = take(input);
        entry->flags |= (uint64_t)take(input) << 8;
        entry->type = take(input);
        entry->detail = take(input);
        entry->offset = take(input);
        entry->name = i % 3 ? "n\"ame" : NULL;
        if (entry->type == NVTX_TYPE_REGISTERED)
            entry->type = NVTX_TYPE_UINT64;
        if (is_text(entry->type) && !(entry->flags & NVTX_ENTRY_ARRAY))
            entry->detail |= 1;
        if (entry->type >= 240)
            entry->type = entry->type % 2 && nested ? nested : choices;
    }
    const struct nvtx_schema schema = {
        .mask = NVTX_SCHEMA_TYPE | NVTX_SCHEMA_ENTRIES | NVTX_SCHEMA_COUNT | NVTX_SCHEMA_NAME |
                NVTX_SCHEMA_PACK | NVTX_SCHEMA_BYTES,
        .name = "schema",
        .type = take(input) % 3,
        .entries = entries,
        .count = count,
        .bytes = take(input),
        .pack = take(input) % 9,
    };
    return nvtx_PayloadSchemaRegister(domain, &schema);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static struct domain domain;
    struct input input = {data, data + size};
    static const struct nvtx_enum_entry entries[] = {
        {"one", 1, 1}, {"four", 4, 1}, {NULL, 8, 1}, {"nine", 9, 0}};
    domain.number = 1;
    made = 0; // a table of its own for every input, which the last one's are forgotten in
    memset(buckets, 0, sizeof buckets);
    const struct nvtx_enum choices = {.mask = NVTX_ENUM_ENTRIES | NVTX_ENUM_COUNT | NVTX_ENUM_BYTES,
                                      .entries = entries,
                                      .count = 4,
                                      .bytes = take(&input)};
    const uint64_t chosen = nvtx_PayloadEnumRegister(&domain, &choices);
    const uint64_t inner = register_schema(&domain, &input, 0, chosen);
    const uint64_t outer = register_schema(&domain, &input, inner, chosen);
    const size_t left = (size_t)(input.end - input.at);
    uint8_t *copy = malloc(left + !left); // so that a sanitizer sees its end
    if (!copy)
        return 0;
    memcpy(copy, input.at, left);
    const struct nvtx_data payloads[] = {
        {outer, left, copy}, {inner, left, copy}, {chosen, left, copy}, {77, left, copy}};
    uint32_t name = 0;
    (void)payload_text(NULL, &domain, payloads, 1, &name);
    (void)payload_text(NULL, &domain, payloads, 4, NULL);
    (void)payload_is_plain(&domain, payloads, 4);
    free(copy);
    for (size_t i = 0; i < BUCKETS; i++)
        for (struct payload_schema *at = buckets[i], *next; at; at = next) {
            next = at->next;
            for (size_t e = 0; e < at->count; e++)
                free(at->is_enum ? at->choices[e].name : at->entries[e].name);
            free(at->choices);
            free(at->entries);
            free(at->name);
            free(at);
        }
    return 0;
}
