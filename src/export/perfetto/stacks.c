// SPDX-License-Identifier: Apache-2.0
// Call stacks, as Perfetto has them: modules, frames and stacks, each defined once in a sequence and referred to by
// number. A function that was inlined is a frame of its own, at the place of the one that it is in.
#include <stdlib.h>

#include "export/perfetto/perfetto.h"

enum {
    FRAME_INTERPRETED = 3, // kinds
    FRAME_KERNEL = 2,
    INLINED_MOST = 255 // distinct functions at one place
};

static uint32_t intern_text(struct perfetto *perfetto, struct sequence *sequence, enum space space,
                            uint32_t string) {
    tsmith_string text = tsmith_dictionary_string(perfetto->dictionary, string);
    if (!text.length)
        return 0;
    const struct interned *it = perfetto_intern(perfetto, sequence, space, string, text.bytes, text.length);
    return it ? it->iid : 0;
}

// The bytes whose digits a build id is; what is no such thing goes as it is.
static uint32_t intern_build_id(struct perfetto *perfetto, struct sequence *sequence, uint32_t string) {
    tsmith_string text = tsmith_dictionary_string(perfetto->dictionary, string);
    char bytes[64];
    size_t length = text.length / 2;
    if (!text.length)
        return 0;
    if (text.length % 2 || length > sizeof bytes)
        return intern_text(perfetto, sequence, SPACE_BUILD_ID, string);
    for (size_t i = 0; i < length; i++) {
        const char pair[3] = {text.bytes[2 * i], text.bytes[2 * i + 1], '\0'};
        char *end;
        bytes[i] = (char)strtoul(pair, &end, 16);
        if (end != pair + 2 || !strchr("0123456789abcdef", pair[0]))
            return intern_text(perfetto, sequence, SPACE_BUILD_ID, string);
    }
    const struct interned *it = perfetto_intern(perfetto, sequence, SPACE_BUILD_ID, string, bytes, length);
    return it ? it->iid : 0;
}

// New numbers are assigned before their definitions are written, because that assigns further numbers.
static uint32_t new_number(struct sequence *sequence, enum space space, struct interned *slot) {
    return slot->iid = ++sequence->next_iid[space];
}

static uint32_t intern_module(struct perfetto *perfetto, struct sequence *sequence, uint32_t id) {
    const tsmith_module *module = tsmith_dictionary_module(perfetto->dictionary, id);
    struct interned *slot = module ? perfetto_slot(perfetto, sequence, SPACE_MAPPING, id) : NULL;
    if (!slot || slot->iid)
        return slot ? slot->iid : 0;
    uint32_t iid = new_number(sequence, SPACE_MAPPING, slot), parts[2] = {0};
    uint32_t build_id = intern_build_id(perfetto, sequence, module->build_id);
    tsmith_string path = tsmith_dictionary_string(perfetto->dictionary, module->path);
    // Readers put a slash before each part of a path; where that does not give the path, it is one part.
    const char *last = path.length > 2 && path.bytes[0] == '/' && path.bytes[1] != '/'
                           ? memrchr(path.bytes + 1, '/', path.length - 1)
                           : NULL;
    const tsmith_string pieces[2] = {
        last ? (tsmith_string){path.bytes + 1, (size_t)(last - path.bytes) - 1} : path,
        last ? (tsmith_string){last + 1, (size_t)(path.bytes + path.length - last) - 1}
             : (tsmith_string){"", 0}};
    for (size_t i = 0; i < (last ? 2 : 1) && path.length; i++) {
        const struct interned *it = perfetto_intern(perfetto, sequence, SPACE_PATH, (uint64_t)id << 1 | i,
                                                    pieces[i].bytes, pieces[i].length);
        parts[i] = it ? it->iid : 0;
    }
    struct proto_out *out = &sequence->interned;
    size_t entry = proto_open(out);
    proto_add_uint(out, 1, iid);
    if (build_id)
        proto_add_uint(out, 2, build_id);
    for (size_t i = 0; i < 2; i++)
        if (parts[i])
            proto_add_uint(out, 7, parts[i]);
    proto_close(out, entry, INTERNED_MAPPING);
    return iid;
}

static void add_kind(struct proto_out *out, uint32_t flags) {
    const bool guessed = flags & TSMITH_FRAME_GUESSED;
    const char *own = flags & TSMITH_FRAME_TRUNCATED
                          ? guessed ? FRAME_TRUNCATED_GUESSED_TEXT : FRAME_TRUNCATED_TEXT
                      : guessed ? FRAME_GUESSED_TEXT
                                : NULL;
    if (own)
        proto_add_bytes(out, 8, own, strlen(own));
    else if (flags & (TSMITH_FRAME_PYTHON | TSMITH_FRAME_KERNEL))
        proto_add_uint(out, 7, flags & TSMITH_FRAME_PYTHON ? FRAME_INTERPRETED : FRAME_KERNEL);
}

static uint32_t intern_frame(struct perfetto *perfetto, struct sequence *sequence,
                             const tsmith_stack_line *line, uint32_t index) {
    struct interned *slot =
        perfetto_slot(perfetto, sequence, SPACE_FRAME,
                      (uint64_t)line->frame << 8 | (index < INLINED_MOST ? index : INLINED_MOST));
    if (!slot || slot->iid)
        return slot ? slot->iid : 0;
    uint32_t iid = new_number(sequence, SPACE_FRAME, slot);
    bool python = line->flags & TSMITH_FRAME_PYTHON;
    uint32_t function = intern_text(perfetto, sequence, SPACE_FUNCTION, line->function),
             file = intern_text(perfetto, sequence, SPACE_SOURCE, line->file),
             module = python ? 0 : intern_module(perfetto, sequence, line->module);
    struct proto_out *out = &sequence->interned;
    size_t entry = proto_open(out);
    proto_add_uint(out, 1, iid);
    if (function)
        proto_add_uint(out, 2, function);
    if (module)
        proto_add_uint(out, 3, module);
    if (!python)
        proto_add_uint(out, 4, line->address);
    if (file)
        proto_add_uint(out, 5, file);
    if (line->line)
        proto_add_uint(out, 6, line->line);
    add_kind(out, line->flags);
    proto_close(out, entry, INTERNED_FRAME);
    return iid;
}

static size_t take_lines(struct perfetto *perfetto, uint32_t stack) {
    size_t count = tsmith_stack_lines(perfetto->stacks, stack, perfetto->lines, perfetto->line_capacity);
    if (count <= perfetto->line_capacity)
        return count;
    if (!ARRAY_RESERVE(perfetto->lines, perfetto->line_capacity, count)) {
        perfetto->failed = true;
        return 0;
    }
    return tsmith_stack_lines(perfetto->stacks, stack, perfetto->lines, perfetto->line_capacity);
}

uint32_t perfetto_stack(struct perfetto *perfetto, struct sequence *sequence, uint32_t stack) {
    struct interned *slot = perfetto_slot(perfetto, sequence, SPACE_STACK, stack);
    if (!slot || slot->iid)
        return slot ? slot->iid : 0;
    uint32_t iid = new_number(sequence, SPACE_STACK, slot), index = 0;
    size_t count = take_lines(perfetto, stack);
    // The frames first, in the place of their lines: a message is open only while nothing else is written.
    for (size_t i = 0; i < count; i++) {
        tsmith_stack_line *line = &perfetto->lines[i];
        uint32_t frame = intern_frame(perfetto, sequence, line, index);
        index = line->inlined ? index + 1 : 0;
        line->frame = frame;
    }
    struct proto_out *out = &sequence->interned;
    size_t entry = proto_open(out);
    proto_add_uint(out, 1, iid);
    while (count-- > 0)
        proto_add_uint(out, 2, perfetto->lines[count].frame);
    proto_close(out, entry, INTERNED_CALLSTACK);
    return iid;
}
