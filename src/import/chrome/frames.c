// SPDX-License-Identifier: Apache-2.0
// "stackFrames": {"7": {"name": "f", "category": "libx.so", "parent": "5"}, ..}, and events with "sf": 7. Most programs
// write the frames after the events. When an event refers to a frame and none is known, the rest of a file is searched for
// them, once (impossible for a pipe). Stacks are made when an event refers to them, so that unused frames become no stacks.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/array.h"
#include "base/file.h"
#include "import/chrome/rows.h"
#include "import/json_scan.h"

enum { FRAMES_MAX = 1 << 24, DEPTH_MAX = 4096, FIRST_SLOTS = 1024 };

// Ids are numbers or strings: both are strings here.
struct stack_frame {
    uint32_t id, parent; // strings; id 0: empty
    uint32_t name, category, file, line;
    uint32_t stack; // 0: not made yet
};

static struct stack_frame *slot_of(struct stack_frame *frames, size_t slots, uint32_t id) {
    size_t at = (id * (size_t)0x9e3779b1u) & (slots - 1);
    while (frames[at].id && frames[at].id != id)
        at = (at + 1) & (slots - 1);
    return &frames[at];
}

static bool add(struct stacks *stacks, const struct stack_frame *frame) {
    if (stacks->frame_count * 2 >= stacks->frame_slots) {
        size_t slots = stacks->frame_slots ? stacks->frame_slots * 2 : FIRST_SLOTS;
        struct stack_frame *frames = slots <= FRAMES_MAX ? calloc(slots, sizeof *frames) : NULL;
        if (!frames)
            return false;
        for (size_t i = 0; i < stacks->frame_slots; i++)
            if (stacks->frames[i].id)
                *slot_of(frames, slots, stacks->frames[i].id) = stacks->frames[i];
        free(stacks->frames);
        stacks->frames = frames;
        stacks->frame_slots = slots;
    }
    struct stack_frame *slot = slot_of(stacks->frames, stacks->frame_slots, frame->id);
    stacks->frame_count += slot->id == 0;
    *slot = *frame;
    return true;
}

// ---- reading

// A string, or a number as it is written; just past it, NULL when it is neither.
static const char *take_text(struct chrome *chrome, const char *at, const char *end, uint32_t *id) {
    bool plain;
    if (*at == '"') {
        const char *quote = json_string_end(at + 1, end, &plain);
        if (quote)
            *id = texts_string(&chrome->texts, at + 1, (size_t)(quote - at - 1), plain);
        return quote ? quote + 1 : NULL;
    }
    struct json_number number;
    const char *after = json_number_read(at, end, &number);
    if (after)
        *id = texts_string(&chrome->texts, at, (size_t)(after - at), true);
    return after;
}

// Just past any value.
static const char *skip_value(const char *at, const char *end) {
    bool plain;
    if (*at == '{' || *at == '[')
        return json_nested_end(at, end);
    if (*at == '"') {
        const char *quote = json_string_end(at + 1, end, &plain);
        return quote ? quote + 1 : NULL;
    }
    while (at < end && !strchr(",}]", *at))
        at++;
    return at < end ? at : NULL;
}

// Up to the value of the next member, whose key is key[0 .. *length); NULL when the object ends, or is none.
static const char *next_member(const char *at, const char *end, const char **key, size_t *length) {
    bool plain;
    at = json_skip_space(at, end);
    if (at < end && *at == ',')
        at = json_skip_space(at + 1, end);
    if (at >= end || *at != '"')
        return NULL;
    const char *quote = json_string_end(at + 1, end, &plain);
    if (!quote)
        return NULL;
    *key = at + 1;
    *length = (size_t)(quote - *key);
    at = json_skip_space(quote + 1, end);
    if (at >= end || *at != ':')
        return NULL;
    at = json_skip_space(at + 1, end);
    return at < end ? at : NULL;
}

static bool is_key(const char *key, size_t length, const char *text) {
    return length == strlen(text) && memcmp(key, text, length) == 0;
}

static uint32_t number_at(const char *at, const char *end) {
    struct json_number number;
    return json_number_read(at, end, &number) && number.integral && number.exact && !number.negative &&
                   number.mantissa <= UINT32_MAX
               ? (uint32_t)number.mantissa
               : 0;
}

static void read_frame(struct chrome *chrome, struct stack_frame *frame, const char *at, const char *end) {
    const char *key;
    size_t length;
    for (at++; (at = next_member(at, end, &key, &length)) != NULL && (at = skip_value(at, end)) != NULL;) {
        const char *value = json_skip_space(key + length + 1, end);
        value = json_skip_space(value + 1, end); // behind the colon
        uint32_t *field = is_key(key, length, "name")       ? &frame->name
                          : is_key(key, length, "category") ? &frame->category
                          : is_key(key, length, "parent")   ? &frame->parent
                          : is_key(key, length, "file")     ? &frame->file
                                                            : NULL;
        if (field)
            (void)take_text(chrome, value, end, field);
        else if (is_key(key, length, "line"))
            frame->line = number_at(value, end);
    }
}

void frames_read(struct chrome *chrome, const char *text, size_t length) {
    const char *at = text + 1, *end = text + length, *key;
    size_t key_length;
    if (*text != '{')
        return;
    while ((at = next_member(at, end, &key, &key_length)) != NULL) {
        struct stack_frame frame = {
            .id = texts_string(&chrome->texts, key, key_length, !memchr(key, '\\', key_length))};
        const char *after = skip_value(at, end);
        if (!after)
            break;
        if (*at == '{')
            read_frame(chrome, &frame, at, after);
        at = after;
        if (frame.id && frame.name && !add(&chrome->rows->stacks, &frame))
            break; // too many: events that name another one are counted
    }
}

// ---- looking ahead

// The object that follows the key at `found`; false when more of the file is needed to see.
static bool read_found(struct chrome *chrome, const char *found, size_t key_length, const char *end) {
    const char *at = json_skip_space(found + key_length, end);
    if (at < end && *at == ':')
        at = json_skip_space(at + 1, end);
    if (at >= end)
        return false;
    const char *after = *at == '{' ? json_nested_end(at, end) : at;
    if (after > at)
        frames_read(chrome, at, (size_t)(after - at));
    return after != NULL;
}

static void look_through(struct chrome *chrome, struct input *input) {
    static const char KEY[] = "\"stackFrames\"";
    enum { KEY_LENGTH = sizeof KEY - 1 };
    bool more = true;
    while (more) {
        const char *from = input->window + input->begin, *end = input->window + input->end;
        const char *found = memmem(from, (size_t)(end - from), KEY, KEY_LENGTH);
        if (found && read_found(chrome, found, KEY_LENGTH, end)) {
            input->begin += (size_t)(found - from) + KEY_LENGTH;
            continue;
        }
        if (found)
            input->begin = (size_t)(found - input->window);
        else if (end - from >= KEY_LENGTH)
            input->begin = input->end - (KEY_LENGTH - 1);
        more = input_more(input, NULL) == TSMITH_OK;
    }
}

static void look_ahead(struct chrome *chrome) {
    struct stat stat;
    struct input input;
    chrome->rows->stacks.looked = true;
    if (chrome->fd < 0 || fstat(chrome->fd, &stat) != 0 || !S_ISREG(stat.st_mode))
        return;
    const int fd = file_reopen(chrome->fd);
    if (fd < 0 || input_open(&input, fd, true, chrome->name, NULL, 0, NULL) != TSMITH_OK)
        return;
    look_through(chrome, &input);
    input_close(&input);
}

// ---- stacks

static uint32_t add_stack(struct chrome *chrome, const struct stack_frame *frame, uint32_t parent) {
    tsmith_dictionary *dictionary = chrome->dictionary;
    tsmith_string category = tsmith_dictionary_string(dictionary, frame->category);
    const tsmith_module module = {.path = frame->category};
    // The location of the code is unknown, so its symbol name is used.
    uint64_t place = ((uint64_t)frame->file << 32 | frame->line) * 0x9e3779b97f4a7c15u;
    const tsmith_frame made = {.module =
                                   category.length ? tsmith_dictionary_intern_module(dictionary, &module) : 0,
                               .address = frame->name + place};
    uint32_t had = tsmith_dictionary_frame_count(dictionary);
    uint32_t id = tsmith_dictionary_intern_frame(dictionary, &made);
    if (id && id == had)
        (void)tsmith_dictionary_add_symbol(
            dictionary,
            &(tsmith_symbol){.frame = id, .function = frame->name, .file = frame->file, .line = frame->line});
    return id ? tsmith_dictionary_intern_stack(dictionary, &(tsmith_stack){parent, id}) : 0;
}

uint32_t frames_stack(struct chrome *chrome, const struct value *id) {
    struct stacks *stacks = &chrome->rows->stacks;
    struct stack_frame *path[DEPTH_MAX];
    char text[24];
    size_t depth = 0;
    if (!stacks->frame_slots && !stacks->looked)
        look_ahead(chrome);
    if (!stacks->frame_slots || (id->form != FORM_STRING && id->form != FORM_I64))
        return 0;
    uint32_t at = (uint32_t)id->bits, stack = 0;
    if (id->form == FORM_I64) {
        int length = snprintf(text, sizeof text, "%lld", (long long)id->bits);
        at = tsmith_dictionary_intern(chrome->dictionary, text, (size_t)length);
    }
    while (at && depth < DEPTH_MAX) {
        struct stack_frame *frame = slot_of(stacks->frames, stacks->frame_slots, at);
        if (!frame->id || frame->stack) {
            stack = frame->stack;
            break;
        }
        path[depth++] = frame;
        at = frame->parent;
    }
    if (depth == DEPTH_MAX) // or parents that go round in a ring
        return 0;
    while (depth-- > 0)
        stack = path[depth]->stack = add_stack(chrome, path[depth], stack);
    return stack;
}
