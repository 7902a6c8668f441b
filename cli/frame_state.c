// SPDX-License-Identifier: Apache-2.0
// What `view --frame N` shows of a captured frame of Vulkan besides its events.
#include "frame_state.h"

#include <inttypes.h>
#include <stdlib.h>

#include "cli/options/command.h"
#include "cli/present/terminal.h"
#include "tracesmith/replay.h"

struct state {
    struct text resources, calls, descriptors;
    bool json;
    size_t resource_count, call_count, descriptor_count;
};

static void add_resource_json(struct text *text, const tsmith_recorded_resource *resource) {
    text_add_format(text, "{\"object\":%" PRIu64 ",\"kind\":", resource->object);
    text_add_json_cstr(text, resource->kind);
    text_add_cstr(text, ",\"function\":");
    text_add_json_cstr(text, resource->function);
    text_add_format(text, ",\"bytes\":%" PRIu64 ",\"usage\":%" PRIu64, resource->bytes, resource->usage);
    if (resource->memory)
        text_add_format(text, ",\"memory\":%" PRIu64 ",\"offset\":%" PRIu64, resource->memory,
                        resource->offset);
    if (resource->width)
        text_add_format(text,
                        ",\"width\":%u,\"height\":%u,\"depth\":%u,\"levels\":%u,\"layers\":%u,\"format\":%u",
                        (unsigned)resource->width, (unsigned)resource->height, (unsigned)resource->depth,
                        (unsigned)resource->levels, (unsigned)resource->layers, (unsigned)resource->format);
    if (resource->samples)
        text_add_format(text, ",\"samples\":%u", (unsigned)resource->samples);
    if (resource->format_name) {
        text_add_cstr(text, ",\"format_name\":");
        text_add_json_cstr(text, resource->format_name);
    }
    if (resource->of)
        text_add_format(text, ",\"of\":%" PRIu64, resource->of);
    if (resource->has_content)
        text_add_format(text, ",\"hash\":\"%016" PRIx64 "%016" PRIx64 "\"", resource->hash[1],
                        resource->hash[0]);
    text_add_char(text, '}');
}

static void add_resource_text(struct text *text, const tsmith_recorded_resource *resource) {
    const size_t from = text->length;
    text_add_format(text, "  #%" PRIu64, resource->object);
    text_pad_right(text, text->length - from, 8);
    text_add_safe(text, text_string(resource->kind), 40);
    if (resource->width)
        text_add_format(text, ", %ux%ux%u", (unsigned)resource->width, (unsigned)resource->height,
                        (unsigned)resource->depth);
    if (resource->levels > 1)
        text_add_format(text, ", %u levels", (unsigned)resource->levels);
    if (resource->layers > 1)
        text_add_format(text, ", %u layers", (unsigned)resource->layers);
    if (resource->samples > 1)
        text_add_format(text, ", %u samples", (unsigned)resource->samples);
    if (resource->of)
        text_add_format(text, " of #%" PRIu64, resource->of);
    if (resource->format_name)
        text_add_format(text, ", %s", resource->format_name);
    else if (resource->width)
        text_add_format(text, ", format %u", (unsigned)resource->format);
    if (resource->bytes) {
        text_add_cstr(text, ", ");
        text_add_bytes(text, (double)resource->bytes);
    }
    if (resource->memory)
        text_add_format(text, ", memory #%" PRIu64 " at %" PRIu64, resource->memory, resource->offset);
    if (resource->has_content)
        text_add_format(text, ", content %016" PRIx64, resource->hash[1]);
    text_add_char(text, '\n');
}

static void take_resource(void *context, const tsmith_recorded_resource *resource) {
    struct state *state = context;
    if (state->json && state->resource_count)
        text_add_cstr(&state->resources, ",\n");
    state->resource_count++;
    if (state->json)
        add_resource_json(&state->resources, resource);
    else
        add_resource_text(&state->resources, resource);
}

static void take_call(void *context, const tsmith_recorded_call *call) {
    struct state *state = context;
    struct text *text = &state->calls;
    if (!state->json) {
        text_add_format(text, "  command buffer #%" PRIu64 "  ", call->buffer);
        text_add_safe(text, text_string(call->text), 0);
        text_add_char(text, '\n');
        if (call->bound)
            text_add_format(text, "    with %s\n", call->bound);
    } else {
        text_add_format(text,
                        "%s{\"correlation\":%" PRIu64 ",\"submission\":%" PRIu64
                        ",\"command_buffer\":%" PRIu64 ",\"command\":",
                        state->call_count ? ",\n" : "", call->correlation, call->submission, call->buffer);
        text_add_json_cstr(text, call->text);
        if (call->bound) {
            text_add_cstr(text, ",\"bound\":");
            text_add_json_cstr(text, call->bound);
        }
        text_add_char(text, '}');
    }
    state->call_count++;
}

static void add_descriptor_json(struct text *text, const tsmith_recorded_descriptor *descriptor) {
    text_add_format(text,
                    "{\"set\":%" PRIu64 ",\"submission\":%" PRIu64 ",\"binding\":%u,\"element\":%u,\"type\":",
                    descriptor->set, descriptor->submission, (unsigned)descriptor->binding,
                    (unsigned)descriptor->element);
    text_add_json_cstr(text, descriptor->type);
    if (descriptor->resource)
        text_add_format(text, ",\"object\":%" PRIu64, descriptor->resource);
    if (descriptor->view)
        text_add_format(text, ",\"view\":%" PRIu64, descriptor->view);
    if (descriptor->sampler)
        text_add_format(text, ",\"sampler\":%" PRIu64, descriptor->sampler);
    if (descriptor->bytes)
        text_add_format(text, ",\"offset\":%" PRIu64, descriptor->offset);
    if (descriptor->bytes && descriptor->bytes != UINT64_MAX)
        text_add_format(text, ",\"bytes\":%" PRIu64, descriptor->bytes);
    text_add_char(text, '}');
}

static void add_descriptor_text(struct text *text, const tsmith_recorded_descriptor *descriptor) {
    text_add_format(text, "  set #%" PRIu64 ", binding %u", descriptor->set, (unsigned)descriptor->binding);
    if (descriptor->element)
        text_add_format(text, " [%u]", (unsigned)descriptor->element);
    text_add_format(text, ": %s", descriptor->type);
    if (descriptor->resource)
        text_add_format(text, " #%" PRIu64, descriptor->resource);
    if (descriptor->view)
        text_add_format(text, ", view #%" PRIu64, descriptor->view);
    if (descriptor->sampler)
        text_add_format(text, ", sampler #%" PRIu64, descriptor->sampler);
    if (descriptor->bytes == UINT64_MAX)
        text_add_format(text, ", from %" PRIu64, descriptor->offset);
    else if (descriptor->bytes)
        text_add_format(text, ", %" PRIu64 " bytes from %" PRIu64, descriptor->bytes, descriptor->offset);
    text_add_char(text, '\n');
}

static void take_descriptor(void *context, const tsmith_recorded_descriptor *descriptor) {
    struct state *state = context;
    if (state->json && state->descriptor_count)
        text_add_cstr(&state->descriptors, ",\n");
    state->descriptor_count++;
    if (state->json)
        add_descriptor_json(&state->descriptors, descriptor);
    else
        add_descriptor_text(&state->descriptors, descriptor);
}

static void add_state(struct text *text, struct state *state) {
    text_add_cstr(text, state->json ? "\"resources\":[\n" : "\nResources before its first submission\n");
    text_add(text, text_cstr(&state->resources), state->resources.length);
    if (state->json || state->descriptor_count)
        text_add_cstr(text, state->json ? "],\n\"descriptors\":[\n" : "\nDescriptors of its sets\n");
    text_add(text, text_cstr(&state->descriptors), state->descriptors.length);
    text_add_cstr(text, state->json ? "],\n\"commands\":[\n" : "\nCommands of its submissions\n");
    text_add(text, text_cstr(&state->calls), state->calls.length);
    text_add_cstr(text, state->json ? "],\n" : "");
}

int frame_state_add(struct text *text, const struct trace *trace, const struct frame_filter *filter,
                    bool json) {
    struct state state = {.json = json};
    tsmith_recording *recording = NULL;
    tsmith_error error;
    size_t count = 0;
    if (!filter->frame || tsmith_recording_open(trace->file, &recording, &error) != TSMITH_OK)
        return EXIT_DONE; // nothing is captured
    const tsmith_process *process = tsmith_dictionary_process(trace->dictionary, filter->frame->process);
    uint64_t *calls = frame_calls(filter->frames, filter->frame, &count);
    tsmith_status status = calls ? tsmith_recording_frame(recording, process ? process->pid : 0, calls, count,
                                                          take_resource, take_call, &state, &error)
                                 : TSMITH_ERROR_NO_MEMORY;
    if (status == TSMITH_OK)
        status = tsmith_recording_descriptors(recording, process ? process->pid : 0, calls, count,
                                              take_descriptor, &state, &error);
    if (status == TSMITH_OK && (state.resource_count || state.call_count))
        add_state(text, &state);
    if (status != TSMITH_OK)
        complain("out of memory");
    free(calls);
    text_finish(&state.resources);
    text_finish(&state.calls);
    text_finish(&state.descriptors);
    tsmith_recording_close(recording);
    return status == TSMITH_OK ? EXIT_DONE : EXIT_LACKING;
}
