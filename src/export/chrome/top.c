// SPDX-License-Identifier: Apache-2.0
// Writes the top-level keys of a Chrome trace: metadata, stack frames and other data. chrome.c calls it.
#include "export/chrome/top.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "tracesmith/stacks.h"

enum { INLINED_MAX = 64, NAME_SIZE = 4096 };

static bool is_producer(tsmith_string key, tsmith_string value) {
    return strcmp(key.bytes, "trace.producer") == 0 && strcmp(value.bytes, "\"" CATEGORY_PRODUCER "\"") == 0;
}

bool chrome_by_us(const tsmith_dictionary *dictionary) {
    uint32_t count = tsmith_dictionary_attribute_count(dictionary);
    for (uint32_t id = 1; id < count; id++) {
        const tsmith_attribute *attribute = tsmith_dictionary_attribute(dictionary, id);
        if (is_producer(tsmith_dictionary_string(dictionary, attribute->key),
                        tsmith_dictionary_string(dictionary, attribute->value)))
            return true;
    }
    return false;
}

void chrome_put_top_keys(struct json_out *json, const tsmith_dictionary *dictionary, bool without_producer) {
    struct output *output = json->output;
    uint32_t count = tsmith_dictionary_attribute_count(dictionary);
    for (uint32_t id = 1; id < count; id++) {
        const tsmith_attribute *attribute = tsmith_dictionary_attribute(dictionary, id);
        tsmith_string key = tsmith_dictionary_string(dictionary, attribute->key);
        if (key.length < 6 || memcmp(key.bytes, "trace.", 6) != 0 ||
            (without_producer && is_producer(key, tsmith_dictionary_string(dictionary, attribute->value))))
            continue;
        output_text(output, ",\n");
        json_out_string(output, key.bytes + 6, key.length - 6);
        output_char(output, ':');
        json_out_raw_id(json, dictionary, attribute->value);
    }
}

void chrome_put_other_data(struct json_out *json, const tsmith_dictionary *dictionary) {
    struct output *output = json->output;
    uint32_t count = tsmith_dictionary_attribute_count(dictionary);
    output_text(output, ",\n\"displayTimeUnit\":\"ns\",\n\"otherData\":{");
    for (uint32_t id = 1; id < count; id++) {
        const tsmith_attribute *attribute = tsmith_dictionary_attribute(dictionary, id);
        if (id > 1)
            output_char(output, ',');
        json_out_string_id(json, dictionary, attribute->key);
        output_char(output, ':');
        json_out_string_id(json, dictionary, attribute->value);
    }
    output_char(output, '}');
}

static void put_id(struct output *output, uint32_t stack, size_t inlined) {
    char text[40];
    (void)snprintf(text, sizeof text, inlined ? "\"%" PRIu32 ".%zu\"" : "\"%" PRIu32 "\"", stack, inlined);
    output_text(output, text);
}

static void put_line(struct output *output, const tsmith_dictionary *dictionary,
                     const tsmith_stack_line *line) {
    char name[NAME_SIZE];
    tsmith_string function = tsmith_dictionary_string(dictionary, line->function);
    tsmith_string file = tsmith_dictionary_string(dictionary, line->file);
    const tsmith_module *module = tsmith_dictionary_module(dictionary, line->module);
    tsmith_string path = tsmith_dictionary_string(dictionary, module ? module->path : 0);
    if (!function.length) {
        size_t length = tsmith_stack_line_text(dictionary, line, name, sizeof name);
        function = (tsmith_string){name, length < sizeof name ? length : sizeof name - 1};
    }
    output_text(output, "{\"name\":");
    json_out_string(output, function.bytes, function.length);
    output_text(output, ",\"category\":");
    json_out_string(output, path.bytes, path.length);
    if (file.length) {
        output_text(output, ",\"file\":");
        json_out_string(output, file.bytes, file.length);
    }
    if (line->line) {
        output_text(output, ",\"line\":");
        json_out_u64(output, line->line);
    }
}

bool chrome_put_stacks(struct output *output, const tsmith_dictionary *dictionary) {
    tsmith_stack_line lines[INLINED_MAX];
    tsmith_stack_names *names;
    if (tsmith_stack_names_create(dictionary, &names) != TSMITH_OK)
        return false;
    output_text(output, ",\n\"stackFrames\":{");
    for (uint32_t id = 1; id < tsmith_dictionary_stack_count(dictionary); id++) {
        const tsmith_stack *stack = tsmith_dictionary_stack(dictionary, id);
        size_t count = tsmith_frame_lines(names, stack->frame, lines, INLINED_MAX);
        count = count < INLINED_MAX ? count : INLINED_MAX;
        if (!count) { // a frame that is not there: its path continues
            lines[0] = (tsmith_stack_line){.frame = stack->frame};
            count = 1;
        }
        for (size_t i = 0; i < count; i++) {
            output_text(output, id > 1 || i ? ",\n" : "\n");
            put_id(output, id, i);
            output_char(output, ':');
            put_line(output, dictionary, &lines[i]);
            if (i + 1 < count || stack->parent) {
                output_text(output, ",\"parent\":");
                put_id(output, i + 1 < count ? id : stack->parent, i + 1 < count ? i + 1 : 0);
            }
            output_char(output, '}');
        }
    }
    output_text(output, "\n}");
    tsmith_stack_names_destroy(names);
    return true;
}
