// SPDX-License-Identifier: Apache-2.0
// Texts of a sequence, each defined once: a hash table from the key of a text to its number in the
// sequence.
#include <stdlib.h>

#include "base/table.h"
#include "event/category.h"
#include "export/perfetto/perfetto.h"

enum { FIRST_SLOTS = 64, INTERNED_FLUSH = 1 << 16 };

static uint64_t hash_of(uint64_t key) {
    return key * 0x9e3779b97f4a7c15u >> 32;
}

struct interned *perfetto_slot(struct perfetto *perfetto, struct sequence *sequence, enum space space,
                               uint64_t key) {
    key |= (uint64_t)(space + 1) << 56;
    if (!TABLE_ROOM(sequence->slots, sequence->slot_count, sequence->slots_used, FIRST_SLOTS, slot, slot->key,
                    hash_of(slot->key))) {
        perfetto->failed = true;
        return NULL;
    }
    struct interned *found =
        TABLE_SLOT(sequence->slots, sequence->slot_count, hash_of(key), slot, !slot->key || slot->key == key);
    if (!found->key) {
        *found = (struct interned){.key = key};
        sequence->slots_used++;
    }
    return found;
}

static void write_interned(struct sequence *sequence, enum space space, uint32_t iid, const char *bytes,
                           size_t length) {
    static const uint32_t fields[SPACE_COUNT] = {
        [SPACE_NAME] = INTERNED_NAME,         [SPACE_CATEGORY] = INTERNED_CATEGORY,
        [SPACE_STRING] = INTERNED_STRING,     [SPACE_ANNOTATION] = INTERNED_ANNOTATION,
        [SPACE_FUNCTION] = INTERNED_FUNCTION, [SPACE_SOURCE] = INTERNED_SOURCE,
        [SPACE_BUILD_ID] = INTERNED_BUILD_ID, [SPACE_PATH] = INTERNED_PATH,
    };
    struct proto_out *out = &sequence->interned;
    size_t entry = proto_open(out);
    proto_add_uint(out, 1, iid);
    proto_add_bytes(out, 2, bytes, length);
    proto_close(out, entry, fields[space]);
}

const struct interned *perfetto_intern(struct perfetto *perfetto, struct sequence *sequence, enum space space,
                                       uint64_t key, const char *bytes, size_t length) {
    struct interned *slot = perfetto_slot(perfetto, sequence, space, key);
    if (!slot || slot->iid)
        return slot;
    slot->iid = ++sequence->next_iid[space];
    tsmith_string text = {bytes, length};
    if (space == SPACE_CATEGORY)
        slot->kind = category_own_kind(text, TSMITH_KIND_NONE);
    else if (space == SPACE_NAME && length)
        slot->kind = tsmith_kind_find(bytes);
    write_interned(sequence, space, slot->iid, bytes, length);
    return slot;
}

void perfetto_put_interned(struct perfetto *perfetto, uint32_t track, struct sequence *sequence) {
    if (sequence->interned.used == 0)
        return;
    struct proto_out *out = &perfetto->scratch;
    proto_add_uint(out, PACKET_SEQUENCE, track);
    proto_add_bytes(out, PACKET_INTERNED, sequence->interned.bytes, sequence->interned.used);
    proto_add_uint(out, PACKET_SEQUENCE_FLAGS, FLAG_NEEDS_STATE);
    perfetto->failed |= sequence->interned.failed;
    sequence->interned.used = 0;
    perfetto_put_packet(perfetto);
}

void perfetto_forget(struct perfetto *perfetto, struct sequence *sequence) {
    struct interned *slots = sequence->slots;
    size_t count = sequence->slot_count;
    sequence->slots = NULL;
    sequence->slot_count = sequence->slots_used = 0;
    for (size_t i = 0; i < count; i++) {
        if (slots[i].key >> 56 != SPACE_COUNTER + 1)
            continue; // counters are tracks: those stay
        struct interned *kept = perfetto_slot(perfetto, sequence, SPACE_COUNTER, slots[i].key);
        if (kept)
            *kept = slots[i];
    }
    free(slots);
    for (int space = 0; space < SPACE_COUNT; space++)
        sequence->next_iid[space] = 0;
    sequence->begun = false; // its clock continues
}
