// SPDX-License-Identifier: Apache-2.0
// Invariant: `first` has, for every frame that a symbol below `seen` names, the first of its rows; rows of a frame follow
// one another. `python` has a byte for each of the first `looked_at` stacks.
#include "event/stacks.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "event/fold.h"

enum { FRAMES_MAX = 1 << 15 }; // twice what is recorded at most: a deeper stack was made to be one

struct tsmith_stack_names {
    const tsmith_dictionary *dictionary;
    uint32_t *first; // symbol by frame, 0: none
    size_t capacity;
    uint32_t seen;            // symbols
    tsmith_stack_line *lines; // of the stack whose path was asked for last
    size_t line_capacity;
    bool hides_interpreter;
    uint8_t *python; // by stack: whether it has a Python function
    size_t python_capacity;
    uint32_t looked_at; // stacks
};

tsmith_status tsmith_stack_names_create(const tsmith_dictionary *dictionary, tsmith_stack_names **out) {
    *out = calloc(1, sizeof **out);
    if (!*out)
        return TSMITH_ERROR_NO_MEMORY;
    (*out)->dictionary = dictionary;
    (*out)->seen = 1;
    return TSMITH_OK;
}

void tsmith_stack_names_destroy(tsmith_stack_names *names) {
    if (!names)
        return;
    free(names->first);
    free(names->lines);
    free(names->python);
    free(names);
}

void tsmith_stack_names_hide_interpreter(tsmith_stack_names *names, int hide) {
    names->hides_interpreter = hide != 0;
}

// ---- the Python interpreter

static bool begins_with(const char *name, const char *end, const char *with) {
    const size_t length = strlen(with);
    return (size_t)(end - name) >= length && memcmp(name, with, length) == 0;
}

static const char *base_of(tsmith_string path) {
    const char *name = path.bytes;
    for (const char *at = path.bytes; at < path.bytes + path.length; at++)
        if (*at == '/')
            name = at + 1;
    return name;
}

// "libpython3.11.so.1.0", "python3", "python3.11d"; not "python3-config" or "libpythonish.so".
static bool is_python_file(tsmith_string path) {
    static const char python[] = "python3";
    const char *name = base_of(path), *const end = path.bytes + path.length;
    if (begins_with(name, end, "lib"))
        name += 3;
    if (!begins_with(name, end, python))
        return false;
    name += strlen(python);
    return name == end || *name == '.';
}

// And what calls C functions for it: ctypes, cffi, and libffi, which PyPI's packages name "libffi-7d4e6b2a.so.8". Programs of other
// languages have libffi, too.
static bool is_interpreter_file(tsmith_string path) {
    const char *name = base_of(path), *const end = path.bytes + path.length;
    return begins_with(name, end, "_ctypes.") || begins_with(name, end, "_cffi_backend.") ||
           begins_with(name, end, "libffi.so") || begins_with(name, end, "libffi-") || is_python_file(path);
}

static void catch_up(tsmith_stack_names *names);

// Of Python's own map for perf: "py::function:file".
static bool is_python_name(tsmith_string name) {
    return name.length > 4 && memcmp(name.bytes, "py::", 4) == 0;
}

bool stacks_is_python(const tsmith_stack_names *names, uint32_t frame) {
    const tsmith_frame *entry = tsmith_dictionary_frame(names->dictionary, frame);
    const tsmith_symbol *symbol = frame < names->capacity && names->first[frame]
                                      ? tsmith_dictionary_symbol(names->dictionary, names->first[frame])
                                      : NULL;
    return (entry && entry->flags & TSMITH_FRAME_PYTHON) ||
           (symbol && is_python_name(tsmith_dictionary_string(names->dictionary, symbol->function)));
}

bool stacks_hide(tsmith_stack_names *names, uint32_t stack) {
    const uint32_t count = tsmith_dictionary_stack_count(names->dictionary);
    if (!names->hides_interpreter || stack >= count ||
        !ARRAY_RESERVE(names->python, names->python_capacity, count))
        return false; // without memory nothing is hidden
    catch_up(names);
    for (; names->looked_at < count; names->looked_at++) {
        const tsmith_stack *entry = tsmith_dictionary_stack(names->dictionary, names->looked_at);
        // A parent is an earlier stack.
        names->python[names->looked_at] =
            (entry && stacks_is_python(names, entry->frame)) ||
            (entry && entry->parent < names->looked_at && names->python[entry->parent]);
    }
    return names->python[stack];
}

bool stacks_is_interpreter(const tsmith_stack_names *names, uint32_t number) {
    const tsmith_frame *frame = tsmith_dictionary_frame(names->dictionary, number);
    enum {
        STAYS = TSMITH_FRAME_PYTHON | TSMITH_FRAME_KERNEL | TSMITH_FRAME_GUESSED | TSMITH_FRAME_TRUNCATED
    };
    if (!frame || frame->flags & STAYS)
        return false;
    const tsmith_module *module = tsmith_dictionary_module(names->dictionary, frame->module);
    return module && module->path &&
           is_interpreter_file(tsmith_dictionary_string(names->dictionary, module->path));
}

bool stacks_runs_python(const tsmith_stack_names *names, uint32_t stack) {
    const tsmith_stack *entry;
    for (int i = 0; i < FRAMES_MAX && (entry = tsmith_dictionary_stack(names->dictionary, stack)); i++) {
        const tsmith_frame *frame = tsmith_dictionary_frame(names->dictionary, entry->frame);
        const tsmith_module *module = tsmith_dictionary_module(names->dictionary, frame ? frame->module : 0);
        if (module && module->path &&
            is_python_file(tsmith_dictionary_string(names->dictionary, module->path)))
            return true;
        stack = entry->parent;
    }
    return false;
}

// ---- names

// Without memory the rest stays without names.
static void catch_up(tsmith_stack_names *names) {
    uint32_t count = tsmith_dictionary_symbol_count(names->dictionary),
             frames = tsmith_dictionary_frame_count(names->dictionary);
    if (names->seen >= count)
        return;
    size_t had = names->capacity;
    if (!ARRAY_RESERVE(names->first, names->capacity, frames))
        return;
    memset(names->first + had, 0, (names->capacity - had) * sizeof *names->first);
    for (; names->seen < count; names->seen++) {
        uint32_t frame = tsmith_dictionary_symbol(names->dictionary, names->seen)->frame;
        if (frame < names->capacity && !names->first[frame])
            names->first[frame] = names->seen;
    }
}

size_t stacks_frame_lines(tsmith_stack_names *names, uint32_t frame, bool hide, tsmith_stack_line *lines,
                          size_t limit) {
    const tsmith_frame *entry = tsmith_dictionary_frame(names->dictionary, frame);
    size_t count = 0;
    if (!entry || (hide && stacks_is_interpreter(names, frame)))
        return 0;
    catch_up(names);
    tsmith_stack_line line = {
        .frame = frame, .flags = entry->flags, .module = entry->module, .address = entry->address};
    uint32_t at = frame < names->capacity ? names->first[frame] : 0;
    for (; at; at++) {
        const tsmith_symbol *symbol = tsmith_dictionary_symbol(names->dictionary, at);
        if (!symbol || symbol->frame != frame)
            break;
        if (count && count <= limit)
            lines[count - 1].inlined = 1;
        line.function = symbol->function;
        line.file = symbol->file;
        line.line = symbol->line;
        if (count < limit)
            lines[count] = line;
        count++;
    }
    if (count)
        return count;
    if (limit)
        lines[0] = line;
    return 1;
}

size_t tsmith_frame_lines(tsmith_stack_names *names, uint32_t frame, tsmith_stack_line *lines, size_t limit) {
    return stacks_frame_lines(names, frame, false, lines, limit);
}

size_t tsmith_stack_lines(tsmith_stack_names *names, uint32_t stack, tsmith_stack_line *lines, size_t limit) {
    const bool hide = stacks_hide(names, stack);
    size_t count = 0;
    const tsmith_stack *entry;
    // A parent is an earlier stack, so that this ends.
    for (int i = 0; i < FRAMES_MAX && (entry = tsmith_dictionary_stack(names->dictionary, stack)); i++) {
        size_t room = count < limit ? limit - count : 0;
        count += stacks_frame_lines(names, entry->frame, hide, room ? lines + count : NULL, room);
        stack = entry->parent;
    }
    return count;
}

size_t tsmith_stack_line_text(const tsmith_dictionary *dictionary, const tsmith_stack_line *line, char *text,
                              size_t size) {
    tsmith_string name = tsmith_dictionary_string(dictionary, line->function);
    if (name.length) {
        size_t shown = name.length < size ? name.length : size - 1;
        if (size) {
            memcpy(text, name.bytes, shown);
            text[shown] = '\0';
        }
        return name.length;
    }
    const tsmith_module *module = tsmith_dictionary_module(dictionary, line->module);
    tsmith_string path = tsmith_dictionary_string(dictionary, module ? module->path : 0);
    const char *slash = path.length ? memrchr(path.bytes, '/', path.length) : NULL;
    const char *base = slash ? slash + 1 : path.bytes;
    int length = path.length ? snprintf(text, size, "%.*s[+%" PRIx64 "]",
                                        (int)(path.bytes + path.length - base), base, line->address)
                             : snprintf(text, size, "[%" PRIx64 "]", line->address);
    return length > 0 ? (size_t)length : 0;
}

// Adds to a text of `length`, cut to `size`; returns the new length.
static size_t add_text(char *text, size_t size, size_t length, const char *more, size_t more_length) {
    if (length + 1 < size) {
        const size_t room = size - length - 1, shown = more_length < room ? more_length : room;
        memcpy(text + length, more, shown);
        text[length + shown] = '\0';
    }
    return length + more_length;
}

size_t tsmith_stack_path(tsmith_stack_names *names, uint32_t stack, char *text, size_t size) {
    size_t count = tsmith_stack_lines(names, stack, NULL, 0), length = 0;
    if (size)
        text[0] = '\0';
    if (!ARRAY_RESERVE(names->lines, names->line_capacity, count))
        return 0;
    (void)tsmith_stack_lines(names, stack, names->lines, count);
    for (size_t i = count; i-- > 0;) {
        if (!names->lines[i].inlined && names->lines[i].flags & TSMITH_FRAME_TRUNCATED)
            length = add_text(text, size, length, FOLD_TRUNCATED ";", sizeof FOLD_TRUNCATED);
        size_t room = length < size ? size - length : 0;
        size_t name =
            tsmith_stack_line_text(names->dictionary, &names->lines[i], room ? text + length : NULL, room);
        for (size_t at = 0; at + 1 < room && at < name; at++)
            if (text[length + at] == ';')
                text[length + at] = ':';
        length += name;
        if (names->lines[i].flags & TSMITH_FRAME_GUESSED)
            length = add_text(text, size, length, FOLD_GUESSED, sizeof FOLD_GUESSED - 1);
        length = add_text(text, size, length, ";", i ? 1 : 0);
    }
    return length;
}
