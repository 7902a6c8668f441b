// SPDX-License-Identifier: Apache-2.0
// `replay --contents COMMAND`: the memory that a command writes, before and after it. replay.c calls it.
//
// Of large memory only a part is shown, from near the first change on, so that an answer stays small.
#include "replay_contents.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/opened_trace.h"
#include "cli/options/quantity.h"
#include "cli/present/terminal.h"
#include "replay_say.h"

enum { SHOWN_MOST = 1 << 20, ALL_MOST = 8 << 20, PART = 4096, VALUES_MOST = 16, MEMORIES_MOST = 64 };

struct memory {
    tsmith_replay_memory about; // its bytes are not there any more
    uint8_t *before, *after;
    size_t before_size, after_size;
    char before_reason[200], after_reason[200];
};

struct contents {
    struct memory memories[MEMORIES_MOST];
    size_t count, left_out;
    bool failed;
};

static void add_piece(void *context, const tsmith_replay_memory *memory) {
    struct contents *contents = context;
    struct memory *found = NULL;
    for (size_t i = 0; i < contents->count && !found; i++)
        found = contents->memories[i].about.buffer == memory->buffer ? &contents->memories[i] : NULL;
    if (!found && contents->count == MEMORIES_MOST) {
        contents->left_out += memory->after != 0;
        return;
    }
    if (!found)
        found = &contents->memories[contents->count++];
    found->about = *memory;
    char *reason = memory->after ? found->after_reason : found->before_reason;
    (void)snprintf(reason, sizeof found->after_reason, "%s", memory->reason ? memory->reason : "");
    if (!memory->bytes)
        return;
    uint8_t *copy = malloc(memory->size + 1);
    contents->failed |= !copy;
    if (copy)
        memcpy(copy, memory->bytes, memory->size);
    free(memory->after ? found->after : found->before);
    *(memory->after ? &found->after : &found->before) = copy;
    *(memory->after ? &found->after_size : &found->before_size) = memory->size;
}

bool replay_check_contents(const struct invocation *invocation) {
    static const char *const others[] = {"mode",         "against",  "range",        "hazards",
                                         "permute",      "validate", "times",        "timing",
                                         "instructions", "check",    "save-results", "save-source",
                                         "html",         "markdown", "tolerance",    "speed"};
    const char *word = invocation_value(invocation, "contents");
    const char *pid = invocation_value(invocation, "pid");
    uint64_t number;
    if (pid && !word && !invocation_flag(invocation, "emit-c")) {
        complain("--pid %s is for --contents and --emit-c", pid);
        return false;
    }
    if (!word)
        return true;
    if (!quantity_count(word, &number)) {
        complain("--contents: '%s' is not the number of a command", word);
        return false;
    }
    if (pid && (!quantity_count(pid, &number) || !number)) {
        complain("--pid: '%s' is not the number of a process", pid);
        return false;
    }
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (invocation_flag(invocation, others[i])) {
            complain("--%s has no effect with --contents", others[i]);
            return false;
        }
    return true;
}

// ---- text

static size_t bytes_of(tsmith_element element) {
    static const uint8_t sizes[TSMITH_ELEMENT_LIMIT] = {
#define SIZE_ROW(NAME, number, name, bytes) [number] = bytes,
        TSMITH_ELEMENT_TABLE(SIZE_ROW)
#undef SIZE_ROW
    };
    return element < TSMITH_ELEMENT_LIMIT ? sizes[element] : 1;
}

static uint64_t bits_at(const uint8_t *bytes, size_t size) {
    uint64_t bits = 0;
    for (size_t i = 0; i < size; i++)
        bits |= (uint64_t)bytes[i] << 8 * i;
    return bits;
}

static void add_memory_text(struct text *text, const struct memory *memory) {
    const size_t size = bytes_of(memory->about.element);
    const size_t both = memory->before && memory->after && memory->before_size == memory->after_size
                            ? memory->after_size / size
                            : 0;
    size_t changed = 0;
    text_add_format(text, "buffer %" PRIu64 ", ", memory->about.buffer);
    text_add_bytes(text, (double)memory->about.size);
    text_add_format(text, " of %s", tsmith_element_name(memory->about.element));
    if (memory->about.width)
        text_add_format(text, ", an image of %" PRIu64 " x %" PRIu64 " pixels", memory->about.width,
                        memory->about.height);
    if (!memory->before || !memory->after) {
        text_add_cstr(text, ": ");
        text_add_safe(text, text_string(memory->before ? memory->after_reason : memory->before_reason), 200);
        text_add_char(text, '\n');
        return;
    }
    for (size_t i = 0; i < both; i++)
        changed += memcmp(memory->before + i * size, memory->after + i * size, size) != 0;
    text_add_cstr(text, ": ");
    text_add_count(text, changed);
    text_add_cstr(text, " of ");
    text_add_counted(text, both, "element changes", "elements change");
    text_add_char(text, '\n');
    for (size_t i = 0, shown = 0; i < both && shown < VALUES_MOST; i++) {
        if (memcmp(memory->before + i * size, memory->after + i * size, size) == 0)
            continue;
        text_add_format(text, "  [%zu]  ", i);
        say_value(text, memory->about.element, bits_at(memory->before + i * size, size));
        text_add_cstr(text, " -> ");
        say_value(text, memory->about.element, bits_at(memory->after + i * size, size));
        text_add_char(text, '\n');
        shown++;
    }
    if (changed > VALUES_MOST)
        text_add_format(text, "  ... and %zu more (--json has up to 1 MiB of it)\n", changed - VALUES_MOST);
}

// ---- JSON

static void add_base64(struct text *text, const uint8_t *bytes, size_t size) {
    static const char DIGITS[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < size; i += 3) {
        const uint32_t group = (uint32_t)bytes[i] << 16 | (i + 1 < size ? (uint32_t)bytes[i + 1] << 8 : 0) |
                               (i + 2 < size ? (uint32_t)bytes[i + 2] : 0);
        const char four[4] = {DIGITS[group >> 18], DIGITS[group >> 12 & 63],
                              i + 1 < size ? DIGITS[group >> 6 & 63] : '=',
                              i + 2 < size ? DIGITS[group & 63] : '='};
        text_add(text, four, sizeof four);
    }
}

static void add_side(struct text *text, const char *name, const uint8_t *bytes, size_t offset, size_t size,
                     const char *reason) {
    text_add_format(text, ",\"%s\":", name);
    if (bytes) {
        text_add_char(text, '"');
        add_base64(text, bytes + offset, size);
        text_add_char(text, '"');
        return;
    }
    text_add_format(text, "null,\"%s_reason\":", name);
    text_add_json_cstr(text, reason);
}

// `room`: bytes that may still be shown of all memories.
static void add_memory_json(struct text *text, const struct memory *memory, size_t *room) {
    const tsmith_replay_memory *about = &memory->about;
    size_t size = about->size, offset = 0;
    if (memory->before && memory->before_size < size)
        size = memory->before_size;
    if (memory->after && memory->after_size < size)
        size = memory->after_size;
    const size_t most = *room < SHOWN_MOST ? *room : SHOWN_MOST;
    if (size > most && memory->before && memory->after)
        while (offset < size && memory->before[offset] == memory->after[offset])
            offset++;
    offset = offset < size ? offset / PART * PART : 0;
    const size_t shown = size - offset < most ? size - offset : most;
    *room -= shown;
    text_add_format(text,
                    "{\"buffer\":%" PRIu64 ",\"element\":\"%s\",\"bytes\":%zu,\"offset\":%zu,\"shown\":%zu",
                    about->buffer, tsmith_element_name(about->element), about->size, offset, shown);
    if (about->width)
        text_add_format(
            text, ",\"image\":{\"width\":%" PRIu64 ",\"height\":%" PRIu64 ",\"pixel_bytes\":%" PRIu64 "}",
            about->width, about->height, about->pixel_bytes);
    else
        text_add_cstr(text, ",\"image\":null");
    add_side(text, "before", memory->before, offset, shown, memory->before_reason);
    add_side(text, "after", memory->after, offset, shown, memory->after_reason);
    text_add_char(text, '}');
}

static void add_all(struct text *text, const struct contents *contents, uint64_t command, bool json) {
    size_t room = ALL_MOST;
    if (json)
        text_add_format(text, ",\"contents\":{\"command\":%" PRIu64 ",\"left_out\":%zu,\"memories\":[",
                        command, contents->left_out);
    else if (!contents->count)
        text_add_format(text, "command %" PRIu64 " writes no known memory\n", command);
    for (size_t i = 0; i < contents->count; i++) {
        text_add_cstr(text, json && i ? ",\n" : "");
        json ? add_memory_json(text, &contents->memories[i], &room)
             : add_memory_text(text, &contents->memories[i]);
    }
    text_add_cstr(text, json ? "]}" : "");
}

int replay_add_contents(struct text *text, const struct invocation *invocation, tsmith_recording *recording,
                        const tsmith_replay_options *options, bool json) {
    struct contents *contents = calloc(1, sizeof *contents);
    const char *process = invocation_value(invocation, "pid");
    uint64_t command = 0, pid = 0; // of any process
    tsmith_error error;
    int code = EXIT_DONE;
    (void)quantity_count(invocation_value(invocation, "contents"), &command);
    if (process)
        (void)quantity_count(process, &pid);
    const tsmith_status status =
        contents ? tsmith_replay_inspect(recording, pid, command, options, add_piece, contents, &error)
                 : TSMITH_ERROR_NO_MEMORY;
    if (!contents || contents->failed) {
        complain("out of memory");
        code = EXIT_LACKING;
    } else if (status != TSMITH_OK) {
        complain("--contents: %s", error.message);
        code = status == TSMITH_ERROR_NOT_FOUND ? EXIT_USAGE : exit_code_of_input(status);
    } else {
        add_all(text, contents, command, json);
    }
    for (size_t i = 0; contents && i < contents->count; i++) {
        free(contents->memories[i].before);
        free(contents->memories[i].after);
    }
    free(contents);
    return code;
}
