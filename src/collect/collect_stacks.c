// SPDX-License-Identifier: Apache-2.0
// A process's stacks in the collector: the words of a stack number are read from the process's file once, become
// frames of the dictionary by means of the modules that the process reported, and then a stack of the dictionary.
// Everything in the file is checked.
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/table.h"
#include "collect/collect_private.h"
#include "wire/stack_table.h"
#include "wire/stack_words.h"

// ---- modules

bool collect_read_module(struct collector *collector, struct collect_channel *channel, const char *payload,
                         size_t bytes) {
    struct layout_module entry;
    if (bytes < sizeof entry)
        return false;
    memcpy(&entry, payload, sizeof entry);
    bool room = ARRAY_RESERVE(channel->modules, channel->module_capacity, channel->module_count + 1u);
    if (!room)
        return false;
    const struct collect_ids *strings = &channel->strings;
    tsmith_module module = {.path = entry.path < strings->count ? strings->items[entry.path] : 0,
                            .build_id = entry.build_id < strings->count ? strings->items[entry.build_id] : 0,
                            .process = channel->process};
    channel->modules[channel->module_count++] =
        (struct collect_module){.begin = entry.begin,
                                .end = entry.end,
                                .bias = entry.bias,
                                .epoch = entry.epoch,
                                .id = tsmith_dictionary_intern_module(collector->dictionary, &module)};
    return true;
}

static const struct collect_module *find_module(const struct collect_channel *channel, uint64_t pc,
                                                uint64_t epoch) {
    for (uint32_t i = channel->module_count; i-- > 0;) {
        const struct collect_module *module = &channel->modules[i];
        if (pc >= module->begin && pc < module->end && module->epoch <= epoch)
            return module;
    }
    return NULL;
}

// Compilers that generate code at run time write its symbols to a file of this name.
static uint32_t find_generated(struct collector *collector, struct collect_channel *channel) {
    char path[64];
    if (channel->generated || channel->generated_looked == collector->now)
        return channel->generated;
    channel->generated_looked = collector->now;
    int length = snprintf(path, sizeof path, "/tmp/perf-%" PRIu64 ".map", channel->seen.pid);
    if (access(path, F_OK))
        return 0;
    tsmith_module module = {
        .path = tsmith_dictionary_intern(collector->dictionary, path, (size_t)length),
        .process = channel->process,
        .flags = TSMITH_MODULE_GENERATED,
    };
    channel->generated = tsmith_dictionary_intern_module(collector->dictionary, &module);
    return channel->generated;
}

// ---- frames

static uint32_t make_frame(struct collector *collector, struct collect_channel *channel, uint64_t word,
                           uint64_t epoch, uint32_t flags) {
    uint64_t pc = (word & STACKS_PC) - !(word & STACKS_STRUCK);
    const struct collect_module *module = find_module(channel, pc, epoch);
    tsmith_frame frame = {.module = module ? module->id : find_generated(collector, channel),
                          .flags = flags | (word & STACKS_GUESSED ? TSMITH_FRAME_GUESSED : 0),
                          .address = module ? pc - module->bias : pc};
    return tsmith_dictionary_intern_frame(collector->dictionary, &frame);
}

static uint32_t native_frame(struct collector *collector, struct collect_channel *channel, uint64_t word,
                             uint64_t epoch, uint32_t flags) {
    struct collect_frame *place = &channel->frames[word * UINT64_C(0x9e3779b97f4a7c15) >> 52];
    if (flags)
        return make_frame(collector, channel, word, epoch, flags);
    if (!place->id || place->word != word || place->epoch != epoch)
        *place = (struct collect_frame){word, epoch, make_frame(collector, channel, word, epoch, 0)};
    return place->id;
}

// A function of Python: two words, and its name at once, as nothing else will know it.
static uint32_t python_frame(struct collector *collector, struct collect_channel *channel, uint64_t code,
                             uint64_t file, uint32_t flags) {
    tsmith_dictionary *dictionary = collector->dictionary;
    const struct collect_ids *strings = &channel->strings;
    uint32_t name = (uint32_t)code, path = (uint32_t)file;
    name = name < strings->count ? strings->items[name] : 0;
    path = path < strings->count ? strings->items[path] : 0;
    tsmith_module module = {.path = path, .flags = TSMITH_MODULE_PYTHON};
    tsmith_frame frame = {.module = tsmith_dictionary_intern_module(dictionary, &module),
                          .flags = flags | TSMITH_FRAME_PYTHON,
                          .address = (uint64_t)name << 32 | PYTHON_LINE(code)};
    uint32_t known = tsmith_dictionary_frame_count(dictionary);
    uint32_t id = tsmith_dictionary_intern_frame(dictionary, &frame);
    tsmith_symbol symbol = {.frame = id, .function = name, .file = path, .line = PYTHON_LINE(code)};
    if (id >= known)
        (void)tsmith_dictionary_add_symbol(dictionary, &symbol);
    return id;
}

// The words, from the outermost on.
static uint32_t make_stack(struct collector *collector, struct collect_channel *channel,
                           const uint64_t *words, uint32_t count, bool partial) {
    uint32_t frames[STACK_TABLE_FRAMES_MAX], made = 0, flags = partial ? TSMITH_FRAME_TRUNCATED : 0;
    uint64_t epoch = 0;
    if (count && words[count - 1] >> 56 == STACKS_EPOCH >> 56)
        epoch = words[--count] & STACKS_PC;
    for (; count > 0; made++, flags = 0) {
        uint64_t word = words[--count];
        if (PYTHON_WORD(word) == PYTHON_WORD(PYTHON_FILE) && count > 0 &&
            PYTHON_WORD(words[count - 1]) == PYTHON_WORD(PYTHON_CODE))
            frames[made] = python_frame(collector, channel, words[--count], word, flags);
        else
            frames[made] = native_frame(collector, channel, word, epoch, flags);
        if (!frames[made])
            return 0;
    }
    return tsmith_dictionary_intern_path(collector->dictionary, 0, frames, made);
}

// ---- the file

// Reads the words of a stack at its position; returns their number.
static uint32_t read_words(const struct collect_channel *channel, uint64_t number, uint64_t *words,
                           uint32_t count) {
    size_t done = 0, wanted = count * sizeof *words;
    while (done < wanted) {
        ssize_t got = pread(channel->stacks_fd, (char *)words + done, wanted - done,
                            (off_t)(number * sizeof *words + done));
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            break;
        done += (size_t)got;
    }
    return (uint32_t)(done / sizeof *words);
}

// `count` words of a stack at its position; NULL: not in the file. Stacks that are new come one after the other, and
// are read many at once; words that were read before the records that refer to them may have been incomplete.
static const uint64_t *borrow_words(struct collect_channel *channel, uint64_t number, uint32_t count) {
    enum { FREQUENT = 64 };
    uint64_t at = channel->stack_words_at;
    if (number < at || number + count > at + channel->stack_words_count) {
        bool goes_on = number >= at && number - at <= 2 * COLLECT_WORDS;
        uint32_t wanted = goes_on ? COLLECT_WORDS : count < FREQUENT ? FREQUENT : count;
        channel->stack_words_at = at = number;
        channel->stack_words_count = read_words(channel, number, channel->stack_words, wanted);
    }
    return count <= channel->stack_words_count - (number - at) ? channel->stack_words + (number - at) : NULL;
}

static uint32_t read_stack(struct collector *collector, struct collect_channel *channel, uint32_t number) {
    _Static_assert((int)COLLECT_WORDS > (int)STACK_TABLE_FRAMES_MAX, "a stack fits");
    uint32_t count, flags;
    if (channel->stacks_fd < 0)
        channel->stacks_fd =
            collect_open_file(collector->directory, channel->name, LAYOUT_STACKS_SUFFIX, LAYOUT_PAGE);
    if (!channel->frames)
        channel->frames = calloc(COLLECT_FRAMES, sizeof *channel->frames);
    if (!channel->stack_words)
        channel->stack_words = calloc(COLLECT_WORDS, sizeof *channel->stack_words);
    if (!channel->frames || !channel->stack_words || channel->stacks_fd < 0 ||
        number < LAYOUT_PAGE / sizeof *channel->stack_words)
        return 0;
    const uint64_t *words = borrow_words(channel, number, 1);
    if (!words || !stack_table_head(words[0], &count, &flags))
        return 0;
    words = borrow_words(channel, number, 1 + count);
    return words ? make_stack(collector, channel, words + 1, count, flags & STACK_PARTIAL) : 0;
}

// ---- numbers

static uint32_t hash_of(uint32_t number) {
    return number * 2654435761u;
}

// A file has room for so much of a dictionary; what comes later has no stack.
static bool has_room(const struct collector *collector) {
    enum { STACKS_MOST = 5 << 20, FRAMES_MOST = 1 << 19 };
    return tsmith_dictionary_stack_count(collector->dictionary) < STACKS_MOST &&
           tsmith_dictionary_frame_count(collector->dictionary) < FRAMES_MOST;
}

uint32_t collect_stack(struct collector *collector, struct collect_channel *channel, uint64_t word) {
    if (word == 0 || word > UINT32_MAX ||
        !TABLE_ROOM(channel->stacks, channel->stack_places, channel->stack_count, 256, slot, slot->number,
                    hash_of(slot->number)))
        return 0;
    const uint32_t number = (uint32_t)word;
    struct collect_stack *place = TABLE_SLOT(channel->stacks, channel->stack_places, hash_of(number), slot,
                                             !slot->number || slot->number == number);
    if (!place->number) {
        *place = (struct collect_stack){
            .number = number, .id = has_room(collector) ? read_stack(collector, channel, number) : 0};
        channel->stack_count++;
    }
    return place->id;
}
