// SPDX-License-Identifier: Apache-2.0
// The keys of a Chrome trace and what was seen between their values.
#include <string.h>

#include "import/chrome/reader.h"
#include "import/chrome/rows.h"

static uint8_t find_role(const char *text, size_t length, uint8_t place) {
    static const struct {
        const char *text;
        uint8_t place, role;
    } roles[] = {
#define ROW(NAME, place, key) {key, place, ROLE_##NAME},
        ROLE_TABLE(ROW)
#undef ROW
    };
    for (size_t i = 0; i < sizeof roles / sizeof *roles; i++)
        if (roles[i].place == place && strlen(roles[i].text) == length &&
            memcmp(roles[i].text, text, length) == 0)
            return roles[i].role;
    return ROLE_NONE;
}

// An argument is needed if it is asked for, or decides what its event is.
static bool is_unread(const struct chrome *chrome, const char *text, uint8_t place, uint8_t role) {
    if (!chrome->arguments || place != PLACE_ARGUMENT ||
        (role != ROLE_NONE && role != ROLE_BANDWIDTH && role != ROLE_GRID && role != ROLE_BLOCK &&
         role != ROLE_DEVICE && role != ROLE_STREAM))
        return false;
    for (size_t i = 0; i < chrome->argument_count; i++)
        if (strcmp(chrome->arguments[i], text) == 0)
            return false;
    return true;
}

uint32_t reader_find_key(struct chrome *chrome, const char *raw, size_t length, bool plain, uint8_t place) {
    struct reader *reader = chrome->reader;
    uint32_t text = texts_string(&chrome->texts, raw, length, plain);
    uint32_t mask = KEY_SLOTS - 1;
    uint32_t at = (text * 0x9e3779b1u + place) & mask;
    for (; reader->slots[at]; at = (at + 1) & mask) {
        const struct key *key = &reader->keys[reader->slots[at]];
        if (key->text == text && key->place == place)
            return reader->slots[at];
    }
    if (reader->key_count >= KEYS_MAX)
        return 0;
    uint32_t index = reader->key_count++;
    tsmith_string decoded = tsmith_dictionary_string(chrome->dictionary, text);
    const uint8_t role = find_role(decoded.bytes, decoded.length, place);
    reader->keys[index] =
        (struct key){.text = text,
                     .name = chrome->rows ? text : 0, // without rows, the dictionary is not that of the trace
                     .place = place,
                     .role = role,
                     .is_unread = is_unread(chrome, decoded.bytes, place, role),
                     .own_field = place == PLACE_ARGUMENT ? own_field(decoded) : TSMITH_FIELD_NONE};
    reader->slots[at] = (uint16_t)index;
    return index;
}

void reader_remember(struct reader *reader, uint32_t from, const struct transition *seen, const char *text,
                     size_t length) {
    struct key *key = &reader->keys[from];
    if (length == 0 || length > TRANSITION_TEXT || from == KEY_OVERFLOW || (seen->flags & NOT_TO_KEEP))
        return;
    uint32_t slot = key->successor_count;
    if (slot == KEY_SUCCESSORS) {
        slot = KEY_SUCCESSORS - 1; // the least likely one makes room
    } else {
        if (reader->transition_count >= TRANSITIONS_MAX)
            return;
        key->successors[slot] = reader->transition_count++;
        key->successor_count++;
    }
    struct transition *transition = &reader->transitions[key->successors[slot]];
    *transition = *seen;
    transition->length = (uint8_t)length;
    memcpy(transition->text, text, length);
}

// ---- phrases

// Where a phrase out of `key` goes: before the one that it is longer than, else behind all. The least likely one makes room.
// NULL: nowhere.
static struct transition *phrase_place(struct reader *reader, struct key *key,
                                       const struct transition *first) {
    if (key->phrase_count == key->phrases_made && key->phrases_made < KEY_PHRASES) {
        if (reader->transition_count >= TRANSITIONS_MAX)
            return NULL;
        key->phrases[key->phrases_made++] = reader->transition_count++;
    }
    if (key->phrase_count < key->phrases_made)
        key->phrase_count++;
    uint32_t at = key->phrase_count - 1u;
    const uint16_t place = key->phrases[at];
    for (uint32_t shorter = 0; shorter < at; shorter++)
        if (&reader->transitions[key->phrases[shorter]] == first) {
            memmove(&key->phrases[shorter + 1], &key->phrases[shorter],
                    (at - shorter) * sizeof *key->phrases);
            at = shorter;
        }
    key->phrases[at] = place;
    return &reader->transitions[place];
}

void reader_add_phrase(struct reader *reader, uint32_t from, const struct transition *first, const char *text,
                       size_t length, const struct transition *next) {
    const size_t values = (size_t)first->value_count + 1 + next->value_count;
    // A phrase of the key that it leads to could take the place of `next`.
    if (first->length + length + next->length > TRANSITION_TEXT || values > PHRASE_VALUES || next->flags ||
        from == KEY_OVERFLOW || first->key == from)
        return;
    struct transition made = *first;
    char *behind = made.text + made.length;
    memcpy(behind, text, length);
    memcpy(behind + length, next->text, next->length);
    made.length = (uint8_t)(first->length + length + next->length);
    made.values[made.value_count++] = (struct value){first->key, (uint8_t)first->seen.form,
                                                     reader->keys[first->key].role, first->seen.bits};
    memcpy(made.values + made.value_count, next->values, next->value_count * sizeof *next->values);
    made.value_count = (uint8_t)values;
    made.key = next->key;
    made.misses = 0;
    made.seen = (struct seen){.form = FORM_NONE};
    struct transition *place = phrase_place(reader, &reader->keys[from], first);
    if (place)
        *place = made;
}

void reader_drop_phrase(struct key *key, uint32_t phrase) {
    const uint16_t dropped = key->phrases[phrase];
    key->phrases[phrase] = key->phrases[--key->phrase_count];
    key->phrases[key->phrase_count] = dropped; // for the next phrase
}
