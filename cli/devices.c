// SPDX-License-Identifier: Apache-2.0
// `tracesmith devices`: what there is to profile on.
#include <inttypes.h>

#include "command.h"
#include "terminal.h"
#include "trace.h"
#include "tracesmith/capture.h"

static void write_device(const struct trace *trace, uint32_t id) {
    const tsmith_device *device = tsmith_dictionary_device(trace->dictionary, id);
    struct text line = {0};
    text_add_format(&line, "%" PRIu32 "  ", id);
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
    output_text(&line);
    text_finish(&line);
}

int command_devices(const struct invocation *invocation) {
    struct trace trace = {.path = ""}; // no file: only its dictionary is used
    struct text json = {0};
    tsmith_dictionary *dictionary = NULL;
    tsmith_error error;
    int code = EXIT_LACKING;
    if (tsmith_dictionary_create(&dictionary) < 0) {
        complain("out of memory");
        return code;
    }
    tsmith_status status = tsmith_devices_enumerate(NULL, dictionary, &error);
    trace.dictionary = dictionary;
    uint32_t count = tsmith_dictionary_device_count(dictionary);
    if (invocation_flag(invocation, "json")) {
        text_add_char(&json, '{');
        trace_add_json_devices(&json, &trace);
        text_add_cstr(&json, "}\n");
        output_text(&json);
    } else {
        for (uint32_t id = 1; id < count; id++)
            write_device(&trace, id);
    }
    if (status < 0)
        complain("%s", error.message);
    else if (count <= 1)
        complain("no device was found: a CPU can be one (Debian: apt install pocl-opencl-icd)");
    else
        code = EXIT_DONE;
    text_finish(&json);
    tsmith_dictionary_destroy(dictionary);
    return code;
}
