// SPDX-License-Identifier: Apache-2.0
// `tracesmith devices`: what there is to profile on.
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/opened_trace.h"
#include "cli/options/command.h"
#include "cli/present/terminal.h"
#include "devices_topology.h"
#include "tracesmith/capture.h"

// Numbers are those that replay --device takes: from 0, OpenCL's first.

// The KEY of an attribute "device.ID.KEY", and whose; of another one all of it, and 0.
static tsmith_string split_fact(tsmith_string key, uint32_t *id) {
    static const char before[] = "device.";
    char *end = NULL;
    *id = 0;
    if (key.length <= sizeof before || memcmp(key.bytes, before, sizeof before - 1) != 0)
        return key;
    const unsigned long number = strtoul(key.bytes + sizeof before - 1, &end, 10);
    if (*end != '.' || number > UINT32_MAX)
        return key;
    *id = (uint32_t)number;
    return (tsmith_string){end + 1, key.length - (size_t)(end + 1 - key.bytes)};
}

// What is known beyond the entry.
static void write_facts(struct text *line, const struct trace *trace, uint32_t id) {
    for (uint32_t at = 1; at < tsmith_dictionary_attribute_count(trace->dictionary); at++) {
        const tsmith_attribute *fact = tsmith_dictionary_attribute(trace->dictionary, at);
        uint32_t of;
        const tsmith_string key = split_fact(trace_string(trace, fact->key), &of);
        if (of != id)
            continue;
        text_add_cstr(line, "     ");
        text_add_safe(line, key, 0);
        text_add_cstr(line, ": ");
        text_add_safe(line, trace_string(trace, fact->value), 0);
        text_add_char(line, '\n');
    }
}

static void write_device(const struct trace *trace, uint32_t id) {
    const tsmith_device *device = tsmith_dictionary_device(trace->dictionary, id);
    struct text line = {0};
    text_add_format(&line, "%" PRIu32 "  ", id - 1);
    text_add_safe(&line, trace_string(trace, device->name), 0);
    text_add_cstr(&line, "\n     ");
    text_add_safe(&line, trace_string(trace, device->api), 0);
    text_add_char(&line, ' ');
    text_add_safe(&line, trace_string(trace, device->type), 0);
    if (device->compute_units)
        text_add_format(&line, ", %" PRIu32 " compute units", device->compute_units);
    if (device->clock_mhz)
        text_add_format(&line, " at %" PRIu32 " MHz", device->clock_mhz);
    if (device->memory_bytes) {
        text_add_cstr(&line, ", ");
        text_add_bytes(&line, (double)device->memory_bytes);
    }
    text_add_cstr(&line, "\n     ");
    text_add_safe(&line, trace_string(trace, device->vendor), 0);
    text_add_cstr(&line, ", driver ");
    text_add_safe(&line, trace_string(trace, device->driver), 0);
    text_add_char(&line, '\n');
    write_facts(&line, trace, id);
    output_text(&line);
    text_finish(&line);
}

static void add_json_subject(struct text *json, tsmith_string key) {
    struct text subject = {0};
    uint32_t id;
    const tsmith_string rest = split_fact(key, &id);
    if (id)
        text_add_format(&subject, "device.%" PRIu32 ".", id - 1);
    text_add(&subject, rest.bytes, rest.length);
    text_add_cstr(json, "{\"of\":");
    text_add_json_cstr(json, text_cstr(&subject));
    text_finish(&subject);
}

static void write_json(const struct trace *trace) {
    struct text json = {0};
    bool any = false;
    text_add_cstr(&json, "{\"devices\":[");
    for (uint32_t id = 1; id < tsmith_dictionary_device_count(trace->dictionary); id++) {
        text_add_cstr(&json, id > 1 ? ",\n" : "\n");
        trace_add_json_device(&json, trace, id, id - 1);
    }
    text_add_cstr(&json, "],\n\"facts\":[");
    for (uint32_t id = 1; id < tsmith_dictionary_attribute_count(trace->dictionary); id++) {
        const tsmith_attribute *fact = tsmith_dictionary_attribute(trace->dictionary, id);
        text_add_cstr(&json, any ? ",\n" : "\n");
        add_json_subject(&json, trace_string(trace, fact->key));
        text_add_cstr(&json, ",\"text\":");
        text_add_json(&json, trace_string(trace, fact->value));
        text_add_char(&json, '}');
        any = true;
    }
    text_add_cstr(&json, "]}\n");
    output_text(&json);
    text_finish(&json);
}

static void say_problems(const struct trace *trace) {
    for (uint32_t id = 1; id < tsmith_dictionary_attribute_count(trace->dictionary); id++) {
        const tsmith_attribute *fact = tsmith_dictionary_attribute(trace->dictionary, id);
        tsmith_string key = trace_string(trace, fact->key), value = trace_string(trace, fact->value);
        if (key.length > 8 && memcmp(key.bytes, "problem.", 8) == 0)
            complain("%s: %s", key.bytes + 8, value.bytes);
    }
}

// Of APIs without devices: "MPI: Open MPI v4.1.4 (libmpi.so.40)".
static void write_libraries(const struct trace *trace) {
    static const char before[] = "library.";
    for (uint32_t id = 1; id < tsmith_dictionary_attribute_count(trace->dictionary); id++) {
        const tsmith_attribute *fact = tsmith_dictionary_attribute(trace->dictionary, id);
        const tsmith_string key = trace_string(trace, fact->key);
        struct text line = {0};
        if (key.length < sizeof before || memcmp(key.bytes, before, sizeof before - 1) != 0)
            continue;
        text_add_safe(&line, trace_string(trace, fact->value), 0);
        text_add_char(&line, '\n');
        output_text(&line);
        text_finish(&line);
    }
}

int command_devices(const struct invocation *invocation) {
    struct trace trace = {.path = ""}; // no file: only its dictionary is used
    tsmith_dictionary *dictionary = NULL;
    tsmith_error error;
    int code = EXIT_LACKING;
    if (invocation_flag(invocation, "topology"))
        return devices_topology(invocation);
    const char *needing = invocation_value(invocation, "file")      ? "--file"
                          : invocation_value(invocation, "sysroot") ? "--sysroot"
                          : invocation_flag(invocation, "xml")      ? "--xml"
                                                                    : NULL;
    if (needing) {
        complain("%s needs --topology", needing);
        return EXIT_USAGE;
    }
    if (tsmith_dictionary_create(&dictionary) < 0) {
        complain("out of memory");
        return code;
    }
    tsmith_status status = tsmith_devices_enumerate(NULL, dictionary, &error);
    trace.dictionary = dictionary;
    uint32_t count = tsmith_dictionary_device_count(dictionary);
    if (invocation_flag(invocation, "json")) {
        write_json(&trace);
    } else {
        for (uint32_t id = 1; id < count; id++)
            write_device(&trace, id);
        write_libraries(&trace);
    }
    say_problems(&trace);
    if (status < 0)
        complain("%s", error.message);
    else if (count <= 1)
        complain(
            "no device was found; PoCL makes the CPU an OpenCL device (Debian: apt install pocl-opencl-icd)");
    else
        code = EXIT_DONE;
    tsmith_dictionary_destroy(dictionary);
    return code;
}
