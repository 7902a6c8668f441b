// SPDX-License-Identifier: Apache-2.0
// Packs events for the rows, and takes them apart again. String ids are those of the reader's dictionary inside of a block, and
// those of the trace's dictionary outside. reader.c packs, pipeline.c takes apart.
#include "import/chrome/block.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "import/chrome/rows.h"

// A block that is larger than this, for a large value, does not keep its memory.
enum { BLOCK_FULL = 192 << 10, BLOCK_KEEP = 1 << 20, ALIGNMENT = 8 };

// In front of each event (values and text follow) and each key (its bytes and text follow).
struct record {
    size_t text_length;
    size_t key_length; // of a key of the file
    bool is_key;
    bool in_ns; // of an event: the file's times are nanoseconds
    struct event event;
};

static size_t aligned(size_t bytes) {
    return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

void block_reset(struct block *block) {
    if (block->capacity > BLOCK_KEEP) {
        free(block->bytes);
        block->bytes = NULL;
        block->capacity = 0;
    }
    block->used = block->at = block->word_count = 0;
    block->status = TSMITH_OK;
}

void block_finish(struct block *block) {
    free(block->bytes);
    free(block->words);
    *block = (struct block){0};
}

// Room for a record and `bytes` behind it; NULL when memory is exhausted.
static struct record *add_record(struct chrome *chrome, struct block *block, size_t bytes) {
    const size_t size = sizeof(struct record) + aligned(bytes);
    // Texts are read from here by json_scan.h, which looks behind their end.
    if (!ARRAY_RESERVE(block->bytes, block->capacity, block->used + size + INPUT_PADDING)) {
        chrome->texts.failed = true;
        return NULL;
    }
    struct record *record = (struct record *)(void *)(block->bytes + block->used);
    block->used += size;
    return record;
}

bool block_add_event(struct chrome *chrome, struct block *block, const struct event *event, const char *text,
                     size_t length) {
    const bool needs_text = event->too_large || event->ph == 'M';
    const size_t count = event->too_large ? 0 : event->count, values = count * sizeof *event->values;
    const size_t text_length = needs_text ? length : 0;
    struct record *record = add_record(chrome, block, values + text_length);
    if (!record)
        return false;
    record->text_length = text_length;
    record->is_key = false;
    record->in_ns = chrome->in_ns;
    record->event = *event;
    record->event.count = count;
    record->event.roles = count ? event->roles : 0;
    char *behind = (char *)(record + 1);
    if (values)
        memcpy(behind, event->values, values);
    if (text_length)
        memcpy(behind + values, text, text_length);
    return block->used < BLOCK_FULL;
}

bool block_add_top(struct chrome *chrome, struct block *block, const char *key, size_t key_length,
                   const char *text, size_t length) {
    struct record *record = add_record(chrome, block, key_length + length);
    if (!record)
        return false;
    *record = (struct record){.text_length = length, .key_length = key_length, .is_key = true};
    char *behind = (char *)(record + 1);
    memcpy(behind, key, key_length);
    memcpy(behind + key_length, text, length);
    return block->used < BLOCK_FULL;
}

bool block_add_words(struct block *block, const tsmith_dictionary *words, uint32_t *published) {
    const uint32_t count = tsmith_dictionary_string_count(words);
    if (!ARRAY_RESERVE(block->words, block->word_capacity, (size_t)(count - *published)))
        return false;
    for (; *published < count; (*published)++)
        block->words[block->word_count++] = tsmith_dictionary_string(words, *published);
    return true;
}

// ---- taking it apart

void unpacked_finish(struct unpacked *unpacked) {
    free(unpacked->words);
}

bool unpacked_learn(struct unpacked *unpacked, const struct block *block) {
    if (!ARRAY_RESERVE(unpacked->words, unpacked->word_capacity, unpacked->word_count + block->word_count))
        return false;
    for (size_t i = 0; i < block->word_count; i++)
        unpacked->words[unpacked->word_count++] = (struct word){block->words[i], 0};
    return true;
}

static uint32_t word_id(struct unpacked *unpacked, struct chrome *chrome, uint32_t index) {
    struct word *word = &unpacked->words[index];
    if (!word->id)
        word->id = tsmith_dictionary_intern(chrome->dictionary, word->text.bytes, word->text.length);
    return word->id;
}

static uint64_t bits_of(struct unpacked *unpacked, struct chrome *chrome, uint32_t form, uint64_t bits) {
    return form == FORM_STRING || form == FORM_JSON ? word_id(unpacked, chrome, (uint32_t)bits) : bits;
}

static void translate_ident(struct unpacked *unpacked, struct chrome *chrome, struct ident *ident) {
    ident->bits = bits_of(unpacked, chrome, ident->form, ident->bits);
}

static void translate_moment(struct unpacked *unpacked, struct chrome *chrome, struct moment *moment) {
    if (moment->odd)
        moment->text = word_id(unpacked, chrome, moment->text);
}

static void translate_value(struct unpacked *unpacked, struct chrome *chrome, struct value *value) {
    struct key *key = &chrome->keys[value->key];
    if (!key->name)
        key->name = word_id(unpacked, chrome, key->text);
    value->bits = bits_of(unpacked, chrome, value->form, value->bits);
}

// The event becomes one of the trace, and goes to the rows.
static bool hand_on(struct unpacked *unpacked, struct chrome *chrome, struct event *event, bool in_ns,
                    const char *text, size_t length) {
    if (event->has_name)
        event->name = word_id(unpacked, chrome, event->name);
    if (event->has_category)
        event->category = word_id(unpacked, chrome, event->category);
    translate_ident(unpacked, chrome, &event->pid);
    translate_ident(unpacked, chrome, &event->tid);
    translate_ident(unpacked, chrome, &event->id);
    translate_moment(unpacked, chrome, &event->start);
    translate_moment(unpacked, chrome, &event->duration);
    for (size_t i = 0; i < event->count; i++)
        translate_value(unpacked, chrome, &event->values[i]);
    if (in_ns && !chrome->in_ns) {
        chrome->in_ns = true;
        tsmith_dictionary_set_attribute(chrome->dictionary, "import.time_unit", "ns");
    }
    return rows_add(chrome, event, text, length);
}

bool unpacked_add_event(struct unpacked *unpacked, struct chrome *chrome, const tsmith_dictionary *words,
                        struct event *event, bool in_ns, const char *text, size_t length) {
    const uint32_t count = tsmith_dictionary_string_count(words);
    if (!ARRAY_RESERVE(unpacked->words, unpacked->word_capacity, (size_t)count)) {
        chrome->texts.failed = true;
        return false;
    }
    while (unpacked->word_count < count) {
        unpacked->words[unpacked->word_count] =
            (struct word){tsmith_dictionary_string(words, (uint32_t)unpacked->word_count), 0};
        unpacked->word_count++;
    }
    if (event->too_large) {
        event->count = 0;
        event->roles = 0;
    }
    return hand_on(unpacked, chrome, event, in_ns, text, length) && !chrome->texts.failed;
}

bool unpacked_next(struct unpacked *unpacked, struct chrome *chrome, struct block *block) {
    struct record *record = (struct record *)(void *)(block->bytes + block->at);
    char *behind = (char *)(record + 1);
    const size_t first = record->is_key ? record->key_length : record->event.count * sizeof(struct value);
    block->at += sizeof *record + aligned(first + record->text_length);
    if (!record->is_key) {
        record->event.values = (struct value *)(void *)behind;
        return hand_on(unpacked, chrome, &record->event, record->in_ns, behind + first, record->text_length);
    }
    rows_add_top(chrome, behind, record->key_length, behind + record->key_length, record->text_length);
    return true;
}
